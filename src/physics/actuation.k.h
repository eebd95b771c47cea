/*
 * Stages transmission and actuation: lengths and moments of actuators, activations, forces. Part of the kernels that
 * include it, after velocity.k.h.
 */

/* The gear of an actuator on a ball or free joint, turned to the child's frame. trntype 1: given in the parent's. */
LFN void ph_turned_gear(const int *m, const ureal *f, const real *v, int i, const real *quat, real *out)
{
    real gear[3], back[4];
    int first = 6 * ph_out(m, i) + ((m + m[M_JNT_TYPE])[(m + m[M_ACT_TRNID])[i]] == 0 ? 3 : 0);
    pars(m, f, v, M_ACT_GEAR, first, 3, gear);
    if ((m + m[M_ACT_TRNTYPE])[i] == 0) {
        ph_copy(out, gear, 3);
        return;
    }
    back[0] = quat[0];
    for (int k = 1; k < 4; ++k) back[k] = -quat[k];
    ph_rotate(back, gear, out);
}

/* Length and moment of actuator i. */
LFN void ph_transmit(const int *m, const ureal *f, const real *v, real *w, int i)
{
    int type = (m + m[M_ACT_TRNTYPE])[i], id = (m + m[M_ACT_TRNID])[i];
    int out = ph_out(m, i);
    real *moment = PH_AT(W_ACTUATOR_MOMENT) + (m + m[M_MOMENT_ROWADR])[out], *length = PH_AT(W_ACTUATOR_LENGTH) + out;
    real quat[4], turned[3], x[3];
    if (m[M_NSO3] > 0 && type == 6) {
        ph_transmit_orientation(m, f, v, w, i);
        return;
    }
    if (type == 3) { /* tendon */
        int first = (m + m[M_TEN_J_ROWADR])[id], n = (m + m[M_TEN_J_ROWADR])[id + 1] - first;
        real gear = par(m, f, v, M_ACT_GEAR, 6 * out);
        for (int k = 0; k < n; ++k) moment[k] = gear * ph_ten_j(m, f, v, w, first + k);
        *length = gear * PH_AT(W_TEN_LENGTH)[id];
        return;
    }
    if (m[M_NADHESION] > 0 && type == 5) { /* its moment comes with contacts */
        *length = splat(0);
        return;
    }
    if (m[M_NSITEACTUATOR] > 0 && type == 4) {
        ph_transmit_site(m, f, v, w, i);
        return;
    }
    if (m[M_NSITEACTUATOR] > 0 && type == 2) {
        ph_transmit_crank(m, f, v, w, i);
        return;
    }
    int joint = (m + m[M_JNT_TYPE])[id];
    const real *qpos = PH_AT(W_QPOS) + (m + m[M_JNT_QPOSADR])[id];
    if (joint >= 2) {
        real gear = par(m, f, v, M_ACT_GEAR, 6 * out);
        moment[0] = gear;
        *length = gear * qpos[0];
        return;
    }
    ph_copy(quat, qpos + (joint == 0 ? 3 : 0), 4);
    ph_quat_unit(quat);
    ph_turned_gear(m, f, v, i, quat, turned);
    if (joint == 0) {
        pars(m, f, v, M_ACT_GEAR, 6 * out, 3, moment);
        ph_copy(moment + 3, turned, 3);
        *length = splat(0);
    } else {
        ph_copy(moment, turned, 3);
        ph_quat_log(quat, x);
        *length = v3_dot(x, turned);
    }
}

/* Lengths, moments and velocities; as MuJoCo has it, velocities are 0 where actuation is disabled. */
LFN void ph_transmission(const int *m, const ureal *f, const real *v, real *w)
{
    const int *adr = m + m[M_MOMENT_ROWADR], *col = m + m[M_MOMENT_COLIND];
    each (i, m[M_NACTUATOR]) {
        int out = ph_out(m, i), n = m[M_NSO3] > 0 && (m + m[M_ACT_TRNTYPE])[i] == 6 ? 3 : 1;
        ph_transmit(m, f, v, w, i);
        for (int o = out; o < out + n; ++o) {
            real velocity = splat(0);
            int end = m[M_FLAGS] & PH_NO_ACTUATION ? adr[o] : adr[o + 1];
            rolled for (int e = adr[o]; e < end; ++e) velocity =
                fma(PH_AT(W_ACTUATOR_MOMENT)[e], PH_AT(W_QVEL)[col[e]], velocity);
            PH_AT(W_ACTUATOR_VELOCITY)[o] = velocity;
        }
    }
    sync();
}

/* What an affine or fixed gain or bias (type, three parameters from `name`) is, and its derivative by velocity. */
LFN real ph_affine(const int *m, const ureal *f, const real *v, const real *w, int name, int affine, int i)
{
    real c = par(m, f, v, name, 3 * i);
    if (!affine) return c;
    c = fma(par(m, f, v, name, 3 * i + 1), PH_AT(W_ACTUATOR_LENGTH)[ph_out(m, i)], c);
    return fma(par(m, f, v, name, 3 * i + 2), PH_AT(W_ACTUATOR_VELOCITY)[ph_out(m, i)], c);
}

/* The derivatives of the force of output i are 0 where it is at a limit. */
LFN void ph_drop_slopes(const int *m, real *w, int i, mask at)
{
    PH_AT(W_ACTUATOR_DERIV)[i] = select(at, splat(0), PH_AT(W_ACTUATOR_DERIV)[i]);
    if (m[M_INTEGRATOR] == PH_DISCRETE) PH_AT(W_ACTUATOR_STIFF)[i] = select(at, splat(0), PH_AT(W_ACTUATOR_STIFF)[i]);
}

/* Forces of actuator i before limits of tendons, act_dot, and the derivatives of the forces by velocity and length. */
LFN void ph_actuate(const int *m, const ureal *f, const real *v, real *w, int i, mask bad)
{
    int flags = (m + m[M_ACT_FLAGS])[i], adr = (m + m[M_ACT_ACTADR])[i], out = ph_out(m, i);
    int gain = (m + m[M_ACT_GAINTYPE])[i], bias = (m + m[M_ACT_BIASTYPE])[i];
    real x, s = splat(0), *force = PH_AT(W_ACTUATOR_FORCE) + out, *slope = PH_AT(W_ACTUATOR_DERIV) + out;
    if (m[M_NSO3] > 0 && gain == PH_GAIN_SO3) {
        ph_orient(m, f, v, w, i, bad);
        return;
    }
    if (m[M_NMOTOR] > 0 && (gain == PH_GAIN_DCMOTOR || gain == PH_GAIN_PID)) {
        if (gain == PH_GAIN_PID) x = ph_pid(m, f, v, w, i, bad, &s);
        if (gain == PH_GAIN_DCMOTOR) x = ph_motor(m, f, v, w, i, bad, &s);
        *force = flags & PH_ACT_DISABLED ? splat(0) : x;
        *slope = flags & PH_ACT_DISABLED ? splat(0) : s;
        return;
    }
    if (m[M_NPLUGINPID] > 0 && flags & PH_ACT_PLUGIN) {
        x = ph_plugin_pid(m, f, v, w, i, bad);
        *force = x;
        *slope = splat(0);
        return;
    }
    real u = select(bad, splat(0), ph_control(m, f, v, w, (m + m[M_ACT_CTRLADR])[i]));
    if (adr >= 0) {
        real dot = ph_activation_dot(m, f, v, w, i, u);
        PH_AT(W_ACT_DOT)[adr] = dot;
        u = flags & PH_ACT_EARLY ? ph_next_activation(m, f, v, w, i, adr, dot) : PH_AT(W_ACT)[adr];
    }
    *slope = splat(0);
    *force = splat(0);
    if (m[M_INTEGRATOR] == PH_DISCRETE) PH_AT(W_ACTUATOR_STIFF)[out] = splat(0);
    if (flags & PH_ACT_DISABLED) return;
    u = ph_nearest_setpoint(m, f, v, i, u, PH_AT(W_ACTUATOR_LENGTH)[out]);
    if (m[M_NMUSCLE] > 0 && gain == 2) {
        x = ph_muscle_gain(m, f, v, w, i, &s);
        x = x * u;
        s = s * u;
    } else {
        x = ph_affine(m, f, v, w, M_ACT_GAINPRM, gain == 1, i) * u;
        if (gain == 1) s = par(m, f, v, M_ACT_GAINPRM, 3 * i + 2) * u;
    }
    if (m[M_NMUSCLE] > 0 && bias == 2) x = x + ph_muscle_bias(m, f, v, w, i);
    if (bias == 1) {
        x = x + ph_affine(m, f, v, w, M_ACT_BIASPRM, 1, i);
        s = s + par(m, f, v, M_ACT_BIASPRM, 3 * i + 2);
    }
    *force = x;
    *slope = s;
    if (m[M_INTEGRATOR] == PH_DISCRETE) {
        real stiff = gain == 1 ? par(m, f, v, M_ACT_GAINPRM, 3 * i + 1) * u : splat(0);
        if (bias == 1) stiff = stiff + par(m, f, v, M_ACT_BIASPRM, 3 * i + 1);
        PH_AT(W_ACTUATOR_STIFF)[out] = stiff;
    }
}

/* Clamps the force of actuator i: by the tendon's limit on the sum of its actuators' forces, and by its own. */
LFN void ph_limit_force(const int *m, const ureal *f, const real *v, real *w, int i)
{
    int flags = (m + m[M_ACT_FLAGS])[i], id = (m + m[M_ACT_TRNID])[i], out = ph_out(m, i);
    if (m[M_NSO3] > 0 && (m + m[M_ACT_TRNTYPE])[i] == 6) {
        if (flags & PH_ACT_FORCERANGE) ph_limit_torque(m, f, v, w, i);
        return;
    }
    real x = PH_AT(W_ACTUATOR_FORCE)[out];
    if ((m + m[M_ACT_TRNTYPE])[i] == 3 && (m + m[M_TEN_FLAGS])[id] & PH_TEN_FORCERANGE) {
        real sum = PH_AT(W_TEN_FORCE)[id];
        real low = par(m, f, v, M_TEN_ACTFRCRANGE, 2 * id), high = par(m, f, v, M_TEN_ACTFRCRANGE, 2 * id + 1);
        x = select(lt(sum, low), x * (low / sum), select(gt(sum, high), x * (high / sum), x));
    }
    if (flags & PH_ACT_FORCERANGE) {
        real low = par(m, f, v, M_ACT_FORCERANGE, 2 * i), high = par(m, f, v, M_ACT_FORCERANGE, 2 * i + 1);
        ph_drop_slopes(m, w, out, m_or(le(x, low), ge(x, high)));
        x = select(lt(x, low), low, select(gt(x, high), high, x));
    }
    PH_AT(W_ACTUATOR_FORCE)[out] = x;
}

/* ten_force = the sum of the forces of each tendon's actuators. */
LFN void ph_sum_tendons(const int *m, real *w)
{
    const int *adr = m + m[M_TEN_ACT_ADR], *act = m + m[M_TEN_ACT];
    each (t, m[M_NTENDON]) {
        real sum = splat(0);
        rolled for (int k = adr[t]; k < adr[t + 1]; ++k) sum = sum + PH_AT(W_ACTUATOR_FORCE)[act[k]];
        PH_AT(W_TEN_FORCE)[t] = sum;
    }
    sync();
}

/*
 * Actuators of a tendon whose force is at its limit get no derivative. The sum was scaled to the limit and then
 * rounded, so what is within 1e-5 of it counts.
 */
LFN void ph_limit_slopes(const int *m, const ureal *f, const real *v, real *w)
{
    each (i, m[M_NACTUATOR]) {
        int t = (m + m[M_ACT_TRNID])[i];
        if ((m + m[M_ACT_TRNTYPE])[i] == 3 && (m + m[M_TEN_FLAGS])[t] & PH_TEN_FORCERANGE) {
            real sum = PH_AT(W_TEN_FORCE)[t], near = splat((ureal)1e-5);
            real low = par(m, f, v, M_TEN_ACTFRCRANGE, 2 * t), high = par(m, f, v, M_TEN_ACTFRCRANGE, 2 * t + 1);
            mask at = m_or(le(sum, fma(near, rabs(low), low)), ge(sum, fma(-near, rabs(high), high)));
            ph_drop_slopes(m, w, ph_out(m, i), at);
        }
    }
    sync();
}

/* qfrc_actuator of dof d, before the limit of its joint. */
LFN real ph_dof_actuation(const int *m, const real *w, int d)
{
    const int *adr = m + m[M_DOF_ACT_ADR], *pair = m + m[M_DOF_ACT];
    real x = splat(0);
    rolled for (int k = adr[d]; k < adr[d + 1]; ++k) x =
        fma(PH_AT(W_ACTUATOR_MOMENT)[pair[2 * k + 1]], PH_AT(W_ACTUATOR_FORCE)[pair[2 * k]], x);
    if ((m + m[M_JNT_FLAGS])[(m + m[M_DOF_JNTID])[d]] & PH_JNT_ACTGRAVCOMP) x = x + PH_AT(W_QFRC_GRAVCOMP)[d];
    return x;
}

/* Clamps qfrc_actuator to the limits of joints; a joint at its limit gets no derivative from its actuators. */
LFN void ph_limit_joints(const int *m, const ureal *f, const real *v, real *w)
{
    real *qfrc = PH_AT(W_QFRC_ACTUATOR);
    each (i, m[M_NACTUATOR]) {
        int j = (m + m[M_ACT_TRNID])[i];
        if ((m + m[M_ACT_TRNTYPE])[i] <= 1 && (m + m[M_JNT_FLAGS])[j] & PH_JNT_FORCERANGE) {
            real x = qfrc[(m + m[M_JNT_DOFADR])[j]];
            mask under = lt(x, par(m, f, v, M_JNT_ACTFRCRANGE, 2 * j));
            ph_drop_slopes(m, w, ph_out(m, i), m_or(under, gt(x, par(m, f, v, M_JNT_ACTFRCRANGE, 2 * j + 1))));
        }
    }
    sync();
    each (d, m[M_NV]) {
        int j = (m + m[M_DOF_JNTID])[d];
        if ((m + m[M_JNT_FLAGS])[j] & PH_JNT_FORCERANGE) {
            real low = par(m, f, v, M_JNT_ACTFRCRANGE, 2 * j), high = par(m, f, v, M_JNT_ACTFRCRANGE, 2 * j + 1);
            qfrc[d] = select(lt(qfrc[d], low), low, select(gt(qfrc[d], high), high, qfrc[d]));
        }
    }
    sync();
}

LFN void ph_actuation(const int *m, const ureal *f, const real *v, real *w, mask bad)
{
    int limits = m[M_FLAGS] & PH_TEN_LIMITS;
    if (m[M_FLAGS] & PH_NO_ACTUATION) {
        each (i, m[M_NOUT]) {
            PH_AT(W_ACTUATOR_FORCE)[i] = splat(0);
            ph_drop_slopes(m, w, i, m_all());
        }
        each (i, m[M_NA]) PH_AT(W_ACT_DOT)[i] = splat(0);
        each (d, m[M_NV]) PH_AT(W_QFRC_ACTUATOR)[d] = splat(0);
        sync();
        return;
    }
    each (i, m[M_NA]) PH_AT(W_ACT_DOT)[i] = splat(0);
    sync();
    each (i, m[M_NACTUATOR]) ph_actuate(m, f, v, w, i, bad);
    sync();
    if (limits) ph_sum_tendons(m, w);
    each (i, m[M_NACTUATOR]) ph_limit_force(m, f, v, w, i);
    sync();
    if (limits) {
        ph_sum_tendons(m, w);
        ph_limit_slopes(m, f, v, w);
    }
    if (m[M_NMOTOR] > 0) ph_motor_frictions(m, f, v, w);
    each (d, m[M_NV]) PH_AT(W_QFRC_ACTUATOR)[d] = ph_dof_actuation(m, w, d);
    sync();
    if (m[M_FLAGS] & PH_JNT_LIMITS) ph_limit_joints(m, f, v, w);
}
