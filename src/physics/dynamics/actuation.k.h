/*
 * Stages transmission and actuation: lengths and moments of actuators, activations, forces. Part of the kernels that
 * include it, after velocity.k.h.
 */

/* The gear of an actuator on a ball or free joint, turned to the child's frame. trntype 1: given in the parent's. */
LFN void ph_turned_gear(ph_world w, int i, const real *quat, real *out)
{
    real gear[3], back[4];
    int first = 6 * ph_out(w, i) + (jnt_type(w)[actuator_trnid(w)[i]] == PH_FREE ? 3 : 0);
    pars(w, M_ACT_GEAR, first, 3, gear);
    if (actuator_trntype(w)[i] == PH_TRN_JOINT) {
        ph_copy(out, gear, 3);
        return;
    }
    back[0] = quat[0];
    for (int k = 1; k < 4; ++k) back[k] = -quat[k];
    ph_rotate(back, gear, out);
}

/* Length and moment of actuator i. */
LFN void ph_transmit(ph_world w, int i)
{
    int type = actuator_trntype(w)[i], id = actuator_trnid(w)[i];
    int out = ph_out(w, i);
    real *moment = actuator_moment(w) + moment_rowadr(w)[out], *length = actuator_length(w) + out;
    real quat[4], turned[3], x[3];
    if (nso3(w) > 0 && type == PH_TRN_SO3) {
        ph_transmit_orientation(w, i);
        return;
    }
    if (type == PH_TRN_TENDON) {
        int first = ten_J_rowadr(w)[id], n = ten_J_rowadr(w)[id + 1] - first;
        real gear = actuator_gear(w, 6 * out);
        for (int k = 0; k < n; ++k) moment[k] = gear * ph_ten_j(w, first + k);
        *length = gear * ten_length(w)[id];
        return;
    }
    if (nadhesion(w) > 0 && type == PH_TRN_BODY) { /* its moment comes with contacts */
        *length = splat(0);
        return;
    }
    if (nsiteactuator(w) > 0 && type == PH_TRN_SITE) {
        ph_transmit_site(w, i);
        return;
    }
    if (nsiteactuator(w) > 0 && type == PH_TRN_SLIDERCRANK) {
        ph_transmit_crank(w, i);
        return;
    }
    int joint = jnt_type(w)[id];
    const real *qpos = qpos(w) + jnt_qposadr(w)[id];
    if (joint >= PH_SLIDE) {
        real gear = actuator_gear(w, 6 * out);
        moment[0] = gear;
        *length = gear * qpos[0];
        return;
    }
    ph_copy(quat, qpos + (joint == PH_FREE ? 3 : 0), 4);
    ph_quat_unit(quat);
    ph_turned_gear(w, i, quat, turned);
    if (joint == PH_FREE) {
        pars(w, M_ACT_GEAR, 6 * out, 3, moment);
        ph_copy(moment + 3, turned, 3);
        *length = splat(0);
    } else {
        ph_copy(moment, turned, 3);
        ph_quat_log(quat, x);
        *length = v3_dot(x, turned);
    }
}

/* Lengths, moments and velocities; as MuJoCo has it, velocities are 0 where actuation is disabled. */
LFN void ph_transmission(ph_world w)
{
    const int *adr = moment_rowadr(w), *col = moment_colind(w);
    each (i, nactuator(w)) {
        int out = ph_out(w, i), n = nso3(w) > 0 && actuator_trntype(w)[i] == PH_TRN_SO3 ? 3 : 1;
        ph_transmit(w, i);
        for (int o = out; o < out + n; ++o) {
            real velocity = splat(0);
            int end = model_flags(w) & PH_NO_ACTUATION ? adr[o] : adr[o + 1];
            rolled
            for (int e = adr[o]; e < end; ++e) velocity = fma(actuator_moment(w)[e], qvel(w)[col[e]], velocity);
            actuator_velocity(w)[o] = velocity;
        }
    }
    sync();
}

/* What an affine or fixed gain or bias (type, three parameters from `name`) is, and its derivative by velocity. */
LFN real ph_affine(ph_world w, int name, int affine, int i)
{
    real c = par(w, name, 3 * i);
    if (!affine) return c;
    c = fma(par(w, name, 3 * i + 1), actuator_length(w)[ph_out(w, i)], c);
    return fma(par(w, name, 3 * i + 2), actuator_velocity(w)[ph_out(w, i)], c);
}

/* The derivatives of the force of output i are 0 where it is at a limit. */
LFN void ph_drop_slopes(ph_world w, int i, mask at)
{
    actuator_deriv(w)[i] = select(at, splat(0), actuator_deriv(w)[i]);
    if (integrator(w) == PH_DISCRETE) actuator_stiff(w)[i] = select(at, splat(0), actuator_stiff(w)[i]);
}

/* Forces of actuator i before limits of tendons, act_dot, and the derivatives of the forces by velocity and length. */
LFN void ph_actuate(ph_world w, int i, mask bad)
{
    int flags = actuator_flags(w)[i], adr = actuator_actadr(w)[i], out = ph_out(w, i);
    int gain = actuator_gaintype(w)[i], bias = actuator_biastype(w)[i];
    real x, s = splat(0), *force = actuator_force(w) + out, *slope = actuator_deriv(w) + out;
    if (nso3(w) > 0 && gain == PH_GAIN_SO3) {
        ph_orient(w, i, bad);
        return;
    }
    if (nmotor(w) > 0 && (gain == PH_GAIN_DCMOTOR || gain == PH_GAIN_PID)) {
        if (gain == PH_GAIN_PID) x = ph_pid(w, i, bad, &s);
        if (gain == PH_GAIN_DCMOTOR) x = ph_motor(w, i, bad, &s);
        *force = flags & PH_ACT_DISABLED ? splat(0) : x;
        *slope = flags & PH_ACT_DISABLED ? splat(0) : s;
        return;
    }
    if (npluginpid(w) > 0 && flags & PH_ACT_PLUGIN) {
        x = ph_plugin_pid(w, i, bad);
        *force = x;
        *slope = splat(0);
        return;
    }
    real u = select(bad, splat(0), ph_control(w, actuator_ctrladr(w)[i]));
    if (adr >= 0) {
        real dot = ph_activation_dot(w, i, u);
        act_dot(w)[adr] = dot;
        u = flags & PH_ACT_EARLY ? ph_next_activation(w, i, adr, dot) : act(w)[adr];
    }
    *slope = splat(0);
    *force = splat(0);
    if (integrator(w) == PH_DISCRETE) actuator_stiff(w)[out] = splat(0);
    if (flags & PH_ACT_DISABLED) return;
    u = ph_nearest_setpoint(w, i, u, actuator_length(w)[out]);
    if (nmuscle(w) > 0 && gain == PH_GAIN_MUSCLE) {
        x = ph_muscle_gain(w, i, &s);
        x = x * u;
        s = s * u;
    } else {
        x = ph_affine(w, M_ACT_GAINPRM, gain == PH_GAIN_AFFINE, i) * u;
        if (gain == PH_GAIN_AFFINE) s = actuator_gainprm(w, 3 * i + 2) * u;
    }
    if (nmuscle(w) > 0 && bias == PH_BIAS_MUSCLE) x = x + ph_muscle_bias(w, i);
    if (bias == PH_BIAS_AFFINE) {
        x = x + ph_affine(w, M_ACT_BIASPRM, 1, i);
        s = s + actuator_biasprm(w, 3 * i + 2);
    }
    *force = x;
    *slope = s;
    if (integrator(w) == PH_DISCRETE) {
        real stiff = gain == PH_GAIN_AFFINE ? actuator_gainprm(w, 3 * i + 1) * u : splat(0);
        if (bias == PH_BIAS_AFFINE) stiff = stiff + actuator_biasprm(w, 3 * i + 1);
        actuator_stiff(w)[out] = stiff;
    }
}

/* Clamps the force of actuator i: by the tendon's limit on the sum of its actuators' forces, and by its own. */
LFN void ph_limit_force(ph_world w, int i)
{
    int flags = actuator_flags(w)[i], id = actuator_trnid(w)[i], out = ph_out(w, i);
    if (nso3(w) > 0 && actuator_trntype(w)[i] == PH_TRN_SO3) {
        if (flags & PH_ACT_FORCERANGE) ph_limit_torque(w, i);
        return;
    }
    real x = actuator_force(w)[out];
    if (actuator_trntype(w)[i] == PH_TRN_TENDON && tendon_flags(w)[id] & PH_TEN_FORCERANGE) {
        real sum = ten_force(w)[id];
        real low = tendon_actfrcrange(w, 2 * id), high = tendon_actfrcrange(w, 2 * id + 1);
        x = select(lt(sum, low), x * (low / sum), select(gt(sum, high), x * (high / sum), x));
    }
    if (flags & PH_ACT_FORCERANGE) {
        real low = actuator_forcerange(w, 2 * i), high = actuator_forcerange(w, 2 * i + 1);
        ph_drop_slopes(w, out, m_or(le(x, low), ge(x, high)));
        x = select(lt(x, low), low, select(gt(x, high), high, x));
    }
    actuator_force(w)[out] = x;
}

/* ten_force = the sum of the forces of each tendon's actuators. */
LFN void ph_sum_tendons(ph_world w)
{
    const int *adr = tendon_act_adr(w), *act = tendon_act(w);
    each (t, ntendon(w)) {
        real sum = splat(0);
        rolled
        for (int k = adr[t]; k < adr[t + 1]; ++k) sum = sum + actuator_force(w)[act[k]];
        ten_force(w)[t] = sum;
    }
    sync();
}

/*
 * Actuators of a tendon whose force is at its limit get no derivative. The sum was scaled to the limit and then
 * rounded, so what is within 1e-5 of it counts.
 */
LFN void ph_limit_slopes(ph_world w)
{
    each (i, nactuator(w)) {
        int t = actuator_trnid(w)[i];
        if (actuator_trntype(w)[i] == PH_TRN_TENDON && tendon_flags(w)[t] & PH_TEN_FORCERANGE) {
            real sum = ten_force(w)[t], near = splat((ureal)1e-5);
            real low = tendon_actfrcrange(w, 2 * t), high = tendon_actfrcrange(w, 2 * t + 1);
            mask at = m_or(le(sum, fma(near, rabs(low), low)), ge(sum, fma(-near, rabs(high), high)));
            ph_drop_slopes(w, ph_out(w, i), at);
        }
    }
    sync();
}

/* qfrc_actuator of dof d, before the limit of its joint. */
LFN real ph_dof_actuation(ph_world w, int d)
{
    const int *adr = dof_act_adr(w), *pair = dof_act(w);
    real x = splat(0);
    rolled
    for (int k = adr[d]; k < adr[d + 1]; ++k)
        x = fma(actuator_moment(w)[pair[2 * k + 1]], actuator_force(w)[pair[2 * k]], x);
    if (jnt_flags(w)[dof_jntid(w)[d]] & PH_JNT_ACTGRAVCOMP) x = x + qfrc_gravcomp(w)[d];
    return x;
}

/* Clamps qfrc_actuator to the limits of joints; a joint at its limit gets no derivative from its actuators. */
LFN void ph_limit_joints(ph_world w)
{
    real *qfrc = qfrc_actuator(w);
    each (i, nactuator(w)) {
        int j = actuator_trnid(w)[i];
        if (actuator_trntype(w)[i] <= PH_TRN_JOINTINPARENT && jnt_flags(w)[j] & PH_JNT_FORCERANGE) {
            real x = qfrc[jnt_dofadr(w)[j]];
            mask under = lt(x, jnt_actfrcrange(w, 2 * j));
            ph_drop_slopes(w, ph_out(w, i), m_or(under, gt(x, jnt_actfrcrange(w, 2 * j + 1))));
        }
    }
    sync();
    each (d, nv(w)) {
        int j = dof_jntid(w)[d];
        if (jnt_flags(w)[j] & PH_JNT_FORCERANGE) {
            real low = jnt_actfrcrange(w, 2 * j), high = jnt_actfrcrange(w, 2 * j + 1);
            qfrc[d] = select(lt(qfrc[d], low), low, select(gt(qfrc[d], high), high, qfrc[d]));
        }
    }
    sync();
}

LFN void ph_actuation(ph_world w, mask bad)
{
    int limits = model_flags(w) & PH_TEN_LIMITS;
    if (model_flags(w) & PH_NO_ACTUATION) {
        each (i, nout(w)) {
            actuator_force(w)[i] = splat(0);
            ph_drop_slopes(w, i, m_all());
        }
        each (i, na(w)) act_dot(w)[i] = splat(0);
        each (d, nv(w)) qfrc_actuator(w)[d] = splat(0);
        sync();
        return;
    }
    each (i, na(w)) act_dot(w)[i] = splat(0);
    sync();
    each (i, nactuator(w)) ph_actuate(w, i, bad);
    sync();
    if (limits) ph_sum_tendons(w);
    each (i, nactuator(w)) ph_limit_force(w, i);
    sync();
    if (limits) {
        ph_sum_tendons(w);
        ph_limit_slopes(w);
    }
    if (nmotor(w) > 0) ph_motor_frictions(w);
    each (d, nv(w)) qfrc_actuator(w)[d] = ph_dof_actuation(w, d);
    sync();
    if (model_flags(w) & PH_JNT_LIMITS) ph_limit_joints(w);
}
