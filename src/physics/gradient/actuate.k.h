/*
 * Gradients of actuators: of their lengths, velocities, controls and activations. Part of the kernels that include it,
 * after passive.k.h.
 */

/* Derivatives of a muscle's dependence on length: see ph_muscle_length, ph_muscle_gain, ph_muscle_bias. */
LFN real ph_muscle_length_slope(real x, real low, real high)
{
    real one = splat(1), half = splat((ureal)0.5), least = splat(PHYSICS_MINVAL);
    mask shorter = le(x, one);
    real end = select(shorter, low, high), middle = half * (end + one);
    real by_end = rmax(rabs(middle - end), least), by_one = rmax(rabs(middle - one), least);
    mask outer = m_or(m_and(shorter, le(x, middle)), m_andnot(gt(x, middle), shorter));
    real y = select(outer, (x - end) / (by_end * by_end), -((x - one) / (by_one * by_one)));
    return select(m_and(le(low, x), le(x, high)), y, splat(0));
}

/* The derivative of a muscle's force by the actuator's length, for the activation u. */
LFN real ph_muscle_by_length(ph_world w, int i, real u, int gain, int bias)
{
    real p[9], force, optimum, length, slope = splat(0), sum = splat(0), one = splat(1), least = splat(PHYSICS_MINVAL);
    if (gain) {
        ph_muscle(w, M_MUSCLE_GAIN, i, p, &force, &optimum, &length);
        real size = ph_muscle_length(length, p[4], p[5]);
        mask none = eq(size, splat(0));
        real all = ph_muscle_gain(w, i, &slope);
        all = all / select(none, one, size);
        real by = ph_muscle_length_slope(length, p[4], p[5]) / rmax(optimum, least);
        sum = select(none, splat(0), all * by * u);
    }
    if (bias) {
        ph_muscle(w, M_MUSCLE_BIAS, i, p, &force, &optimum, &length);
        real middle = splat((ureal)0.5) * (one + p[5]), width = rmax(middle - one, least);
        real by = select(le(length, middle), (length - one) / width, one) / (width * rmax(optimum, least));
        sum = sum - select(le(length, one), splat(0), force * p[7] * by);
    }
    return sum;
}

/* The derivatives of a muscle's act_dot by its control and its activation. */
LFN void ph_muscle_dot_slopes(ph_world w, int i, real act, real u, real *by_u, real *by_act)
{
    real p[3], zero = splat(0), one = splat(1), least = splat(PHYSICS_MINVAL);
    pars(w, M_MUSCLE_DYN, 3 * i, 3, p);
    real scale = fma(splat((ureal)1.5), clamp(act, zero, one), splat((ureal)0.5));
    mask moves = m_and(gt(act, zero), lt(act, one)), follows = m_and(gt(u, zero), lt(u, one));
    real scale_by = select(moves, splat((ureal)1.5), zero), u_by = select(follows, one, zero);
    real rise = p[0] * scale, fall = p[1] / scale, excess = clamp(u, zero, one) - act;
    real rise_by = p[0] * scale_by, fall_by = -(fall / scale) * scale_by;
    mask hard = lt(p[2], least), up = gt(excess, zero);
    real width = select(hard, one, p[2]), x = clamp(excess / width + splat((ureal)0.5), zero, one);
    real smooth = x * x * x * fma(x, fma(splat(6), x, splat(-15)), splat(10));
    real smooth_by = splat(30) * (x * x) * ((one - x) * (one - x)) / width; /* by excess; 0 where x is clamped */
    real tau = select(hard, select(up, rise, fall), fma(smooth, rise - fall, fall));
    real tau_by = select(hard, select(up, rise_by, fall_by), fma(smooth, rise_by - fall_by, fall_by)); /* by act */
    real tau_over = select(hard, zero, smooth_by * (rise - fall));                                     /* by excess */
    mask least_tau = le(tau, least);
    tau = rmax(tau, least);
    tau_by = select(least_tau, zero, tau_by);
    tau_over = select(least_tau, zero, tau_over);
    real dot = excess / tau, by_excess = (one - dot * tau_over) / tau;
    *by_u = u_by * by_excess;
    *by_act = -by_excess - dot * tau_by / tau;
}

/* Bars of actuator i's activation and of its derivative `dot`, from that of the activation after a time step. */
LFN void ph_pull_next_activation(ph_world w, int i, real dot, real bar, real *act_bar, real *dot_bar)
{
    real h = timestep(w, 0), by_dot = h, act = act(w)[actuator_actadr(w)[i]];
    real tau = rmax(splat(PHYSICS_MINVAL), actuator_dynprm(w, i));
    if (actuator_dyntype(w)[i] == PH_DYN_FILTEREXACT) by_dot = tau * (splat(1) - exp(-h / tau));
    if (actuator_flags(w)[i] & PH_ACT_ACTRANGE) {
        real next = fma(dot, by_dot, act);
        mask low = lt(next, actuator_actrange(w, 2 * i));
        mask high = gt(next, actuator_actrange(w, 2 * i + 1));
        bar = select(m_or(low, high), splat(0), bar);
    }
    *act_bar = *act_bar + bar;
    *dot_bar = fma(by_dot, bar, *dot_bar);
}

/*
 * The same of all activations after a time step with the derivatives `dot`: act_grad are their gradients, and bars of
 * activations become those in the memory. A disabled actuator's activation stands.
 */
LFN void ph_pull_activations(ph_world w, const real *dot, const real *act_grad, real *act_bar, real *dot_bar)
{
    each (i, na(w)) {
        act_bar[i] = splat(0);
        dot_bar[i] = splat(0);
    }
    sync();
    if (model_flags(w) & PH_NO_ACTUATION) {
        each (i, na(w)) act_bar[i] = act_grad[i];
    } else {
        each (i, nactuator(w)) {
            int at = actuator_actadr(w)[i], still = actuator_flags(w)[i] & PH_ACT_DISABLED;
            if (at >= 0) {
                real x = still ? splat(0) : dot[at], a = splat(0), b = splat(0);
                ph_pull_next_activation(w, i, x, act_grad[at], &a, &b);
                act_bar[at] = a;
                dot_bar[at] = still ? splat(0) : b;
            }
        }
    }
    sync();
}

/*
 * Bars of actuator i's control, and of its activation in the memory, from those of its derivative there and of what its
 * force reads, `input`.
 */
LFN void ph_pull_activation(ph_world w, int i, real u, real input, real *u_bar)
{
    int adr = actuator_actadr(w)[i], type = actuator_dyntype(w)[i];
    real act = act(w)[adr], act_bar = PH_ACTS(GA_ACT)[adr], dot_bar = PH_ACTS(GA_DOT)[adr], by_u, by_act;
    if (actuator_flags(w)[i] & PH_ACT_EARLY)
        ph_pull_next_activation(w, i, act_dot(w)[adr], input, &act_bar, &dot_bar);
    else
        act_bar = act_bar + input;
    if (type == PH_DYN_INTEGRATOR) {
        by_u = splat(1);
        by_act = splat(0);
    } else if (nmuscle(w) > 0 && type == PH_DYN_MUSCLE) {
        ph_muscle_dot_slopes(w, i, act, u, &by_u, &by_act);
    } else {
        by_u = splat(1) / rmax(splat(PHYSICS_MINVAL), actuator_dynprm(w, i));
        by_act = -by_u;
    }
    *u_bar = fma(by_u, dot_bar, *u_bar);
    PH_ACTS(GA_ACT)[adr] = fma(by_act, dot_bar, act_bar);
}

/*
 * Where a clamp of the actuator's force holds it: its own, or that of its tendon, which it was scaled and rounded to.
 */
LFN mask ph_force_is_held(ph_world w, int i)
{
    int t = actuator_trnid(w)[i];
    real x = actuator_force(w)[i], near = splat((ureal)1e-5);
    mask held = m_none();
    if (actuator_flags(w)[i] & PH_ACT_FORCERANGE)
        held = m_or(le(x, actuator_forcerange(w, 2 * i)), ge(x, actuator_forcerange(w, 2 * i + 1)));
    if (actuator_trntype(w)[i] == PH_TRN_TENDON && tendon_flags(w)[t] & PH_TEN_FORCERANGE) {
        real low = tendon_actfrcrange(w, 2 * t), high = tendon_actfrcrange(w, 2 * t + 1);
        held = m_or(held, le(x, fma(near, rabs(low), low)));
        held = m_or(held, ge(x, fma(-near, rabs(high), high)));
    }
    return held;
}

/* Where the limit of a joint holds the sum of the forces of its actuators. */
LFN mask ph_limit_is_held(ph_world w, int j)
{
    real x = qfrc_actuator(w)[jnt_dofadr(w)[j]];
    if (!(jnt_flags(w)[j] & PH_JNT_FORCERANGE)) return m_none();
    mask low = le(x, jnt_actfrcrange(w, 2 * j));
    return m_or(low, ge(x, jnt_actfrcrange(w, 2 * j + 1)));
}
LFN mask ph_joint_is_held(ph_world w, int i)
{
    return actuator_trntype(w)[i] <= PH_TRN_JOINTINPARENT ? ph_limit_is_held(w, actuator_trnid(w)[i]) : m_none();
}

/* The bars of what turns a ball or free joint: of an actuator's moment and, of a ball, its length. */
LFN void ph_pull_ball_gear(ph_world w, int i, real force, real length_bar, real speed_bar)
{
    int id = actuator_trnid(w)[i], freed = jnt_type(w)[id] == PH_FREE;
    int d = jnt_dofadr(w)[id] + (freed ? 3 : 0);
    const real *zc = PH_DOFS(GD_ACT) + d, *qvel = qvel(w) + d;
    real quat[4], turned[3], x[3], bar[3], *turn = PH_DOFS(GD_TURN) + d;
    ph_copy(quat, qpos(w) + jnt_qposadr(w)[id] + (freed ? 3 : 0), 4);
    ph_quat_unit(quat);
    ph_turned_gear(w, i, quat, turned);
    for (int k = 0; k < 3; ++k) bar[k] = fma(speed_bar, qvel[k], -(force * zc[k]));
    if (!freed) {
        ph_quat_log(quat, x);
        ph_add_scaled(bar, x, length_bar, 3);
        real by[3];
        v3_scale(turned, length_bar, by);
        ph_pull_log(x, by);
        v3_add(turn, by, turn);
    }
    if (actuator_trntype(w)[i] == PH_TRN_JOINTINPARENT)
        ph_add_cross(bar, turned, turn); /* the parent's axes turn the other way */
}

/* The bars of a wrench at a site along its own axes: all of it turns with the body. */
LFN void ph_pull_site_gear(ph_world w, int i, real force, real speed_bar)
{
    int site = actuator_trnid(w)[i], b = site_bodyid(w)[site];
    const real *R = site_xmat(w) + 9 * site;
    real gear[6], push[3], turn[3], wrench[6];
    pars(w, M_ACT_GEAR, 6 * i, 6, gear);
    m3_mul(R, gear, push);
    m3_mul(R, gear + 3, turn);
    ph_wrench(w, b, site_xpos(w) + 3 * site, turn, push, wrench);
    ph_add_scaled(PH_BODIES(GB_FORCE) + 6 * b, wrench, -force, 6);
    ph_add_scaled(PH_BODIES(GB_SPEED) + 6 * b, wrench, speed_bar, 6);
}

/* Bars of what moves actuator i, from those of its length and velocity, and of its force at z. */
LFN void ph_pull_transmission(ph_world w, int i, real force, real length_bar, real speed_bar)
{
    int type = actuator_trntype(w)[i], id = actuator_trnid(w)[i];
    real gear = actuator_gear(w, 6 * i);
    if (type == PH_TRN_TENDON) {
        real *length = PH_TENDONS(GT_LENGTH) + id, *by_z = PH_TENDONS(GT_BY_Z) + id;
        real *speed = PH_TENDONS(GT_SPEED) + id;
        *length = fma(gear, length_bar, *length);
        *by_z = fma(-gear, force, *by_z);
        *speed = fma(gear, speed_bar, *speed);
    } else if (type == PH_TRN_SITE) {
        ph_pull_site_gear(w, i, force, speed_bar);
    } else if (jnt_type(w)[id] >= PH_SLIDE) {
        real *turn = PH_DOFS(GD_TURN) + jnt_dofadr(w)[id];
        *turn = fma(gear, length_bar, *turn);
    } else {
        ph_pull_ball_gear(w, i, force, length_bar, speed_bar);
    }
    if (type == PH_TRN_TENDON || type == PH_TRN_SITE) return;
    const int *adr = moment_rowadr(w), *col = moment_colind(w);
    real *speed = PH_DOFS(GD_SPEED);
    rolled
    for (int e = adr[i]; e < adr[i + 1]; ++e) speed[col[e]] = fma(actuator_moment(w)[e], speed_bar, speed[col[e]]);
}

/* Gradients of actuator i. */
LFN void ph_pull_actuator(ph_world w, int i, mask on, mask bad, real *ctrl_grad)
{
    int flags = actuator_flags(w)[i], adr = actuator_actadr(w)[i];
    int gain = actuator_gaintype(w)[i], bias = actuator_biastype(w)[i];
    const int *row = moment_rowadr(w), *col = moment_colind(w);
    int c = actuator_ctrladr(w)[i];
    real h = timestep(w, 0), zero = splat(0), u = select(bad, zero, ph_control(w, c));
    real force = actuator_force(w)[i], rate = zero, input = u, input_bar = zero, u_bar = zero;
    rolled
    for (int e = row[i]; e < row[i + 1]; ++e) rate = fma(actuator_moment(w)[e], PH_DOFS(GD_ACT)[col[e]], rate);
    if (adr >= 0) input = flags & PH_ACT_EARLY ? ph_next_activation(w, i, adr, act_dot(w)[adr]) : act(w)[adr];
    if (!(flags & PH_ACT_DISABLED)) {
        mask held = ph_force_is_held(w, i);
        real bar = select(held, zero, -rate), by_length = zero, slope = zero, by_input;
        if (nmuscle(w) > 0 && gain == PH_GAIN_MUSCLE) {
            by_input = ph_muscle_gain(w, i, &slope);
            slope = slope * input;
        } else {
            by_input = ph_affine(w, M_ACT_GAINPRM, gain == PH_GAIN_AFFINE, i);
            if (gain == PH_GAIN_AFFINE) by_length = actuator_gainprm(w, 3 * i + 1) * input;
            if (gain == PH_GAIN_AFFINE) slope = actuator_gainprm(w, 3 * i + 2) * input;
        }
        if (nmuscle(w) > 0 && (gain == PH_GAIN_MUSCLE || bias == PH_BIAS_MUSCLE))
            by_length = by_length + ph_muscle_by_length(w, i, input, gain == PH_GAIN_MUSCLE, bias == PH_BIAS_MUSCLE);
        if (bias == PH_BIAS_AFFINE) by_length = by_length + actuator_biasprm(w, 3 * i + 1);
        if (bias == PH_BIAS_AFFINE) slope = slope + actuator_biasprm(w, 3 * i + 2);
        input_bar = by_input * bar;
        if (integrator(w) != 0 && gain == PH_GAIN_AFFINE) { /* the integrator's matrix has -slope */
            real implicit = -h * ph_implicit_rate(w, i, 1);
            implicit = select(m_or(held, ph_joint_is_held(w, i)), zero, implicit);
            input_bar = fma(actuator_gainprm(w, 3 * i + 2), implicit, input_bar);
        }
        ph_pull_transmission(w, i, force, by_length * bar, slope * bar);
    }
    if (adr >= 0)
        ph_pull_activation(w, i, u, -input_bar, &u_bar);
    else
        u_bar = -input_bar;
    real x = ctrl(w)[c];
    mask free = m_not(bad);
    if (ctrl_limited(w)[c] & 1) {
        mask low = lt(x, actuator_ctrlrange(w, 2 * c));
        free = m_andnot(free, m_or(low, gt(x, actuator_ctrlrange(w, 2 * c + 1))));
    }
    ph_put_gradient(ctrl_grad, c, ctrl_grad[c] + select(free, u_bar, zero), on);
}

/* z of dofs, and 0 for actuators where the limit of a joint holds the sum of their forces. */
LFN void ph_release_limits(ph_world w)
{
    each (d, nv(w)) {
        mask held = ph_limit_is_held(w, dof_jntid(w)[d]);
        real z = PH_DOFS(GD_Z)[d];
        PH_DOFS(GD_ACT)[d] = select(held, splat(0), z);
    }
    sync();
}
