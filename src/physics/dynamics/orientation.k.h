/*
 * Actuators on the orientation of a ball joint, or of a site relative to another: three lengths, moments and forces, as
 * MuJoCo's servo "so3" has them. Part of the kernels that include it, before actuation.k.h.
 */

/* Lengths: the rotation vector; moments: along the axes of what turns. */
LFN void ph_transmit_orientation(ph_world w, int i)
{
    int id = actuator_trnid(w)[i], ref = actuator_refid(w)[i], out = ph_out(w, i);
    const int *adr = moment_rowadr(w) + out, *col = moment_colind(w), *side = moment_side(w);
    real x[3], quat[4], axis[3];
    if (ref < 0) {
        ph_copy(quat, qpos(w) + jnt_qposadr(w)[id], 4);
        ph_quat_unit(quat);
        ph_quat_log(quat, x);
    } else {
        ph_site_turn(w, id, ref, x);
    }
    for (int k = 0; k < 3; ++k) {
        actuator_length(w)[out + k] = x[k];
        if (ref >= 0) m3_column(site_xmat(w) + 9 * id, k, axis);
        rolled
        for (int e = adr[k]; e < adr[k + 1]; ++e)
            actuator_moment(w)[e] = ref < 0 ? splat(1) : splat((ureal)side[e]) * v3_dot(cdof(w) + 6 * col[e], axis);
    }
}

/* The unit quaternion of a rotation vector. */
LFN void ph_quat_exp(const real *x, real *q)
{
    real angle = sqrt(v3_dot(x, x)), half = splat((ureal)0.5) * angle, one = splat(1), zero = splat(0);
    mask turns = ge(angle, splat(PHYSICS_MINVAL));
    real part = select(turns, sin(half) / select(turns, angle, one), zero);
    q[0] = select(turns, cos(half), one);
    for (int k = 0; k < 3; ++k) q[k + 1] = part * x[k];
}

/* The three forces of actuator i, its act_dot, and their derivative by velocity. */
LFN void ph_orient(ph_world w, int i, mask bad)
{
    int from = actuator_ctrladr(w)[i], last = actuator_actadr(w)[i], out = ph_out(w, i);
    int n = actuator_ctrlnum(w)[i], flags = actuator_flags(w)[i];
    real u[4], target[4], now[4], error[3], gain = actuator_gainprm(w, 3 * i), zero = splat(0), p[3];
    for (int k = 0; k < 4; ++k) u[k] = k < n ? select(bad, zero, ph_control(w, from + nmin(k, n - 1))) : zero;
    for (int k = 0; k < 3 && last >= 0; ++k) {
        int adr = last - 2 + k;
        act_dot(w)[adr] = u[k];
        u[k] = flags & PH_ACT_EARLY ? ph_next_activation(w, i, adr, u[k]) : act(w)[adr];
    }
    if (n == 4) {
        ph_copy(target, u, 4);
        ph_quat_unit(target);
    } else {
        ph_quat_exp(u, target);
    }
    ph_quat_exp(actuator_length(w) + out, now);
    for (int k = 1; k < 4; ++k) now[k] = -now[k];
    ph_quat_mul(now, target);
    ph_quat_log(now, error);
    pars(w, M_ACT_BIASPRM, 3 * i, 3, p);
    for (int k = 0; k < 3; ++k) {
        real force = fma(p[2], actuator_velocity(w)[out + k], fma(gain, error[k], p[0]));
        actuator_force(w)[out + k] = flags & PH_ACT_DISABLED ? zero : force;
        actuator_deriv(w)[out + k] = flags & PH_ACT_DISABLED ? zero : p[2];
    }
}

/* Shortens the three forces of actuator i to their limit, in the direction that they have. */
LFN void ph_limit_torque(ph_world w, int i)
{
    int out = ph_out(w, i);
    real *force = actuator_force(w) + out, *slope = actuator_deriv(w) + out;
    real size = sqrt(v3_dot(force, force)), most = actuator_forcerange(w, 2 * i + 1);
    mask beyond = gt(size, most), at = ge(size, most);
    real part = select(beyond, most / select(beyond, size, splat(1)), splat(1));
    for (int k = 0; k < 3; ++k) {
        force[k] = part * force[k];
        slope[k] = select(at, splat(0), slope[k]);
    }
}

/* A setpoint that actuator i integrates turns by no more than half a turn: the same orientation. */
LFN void ph_anchor(ph_world w, int i)
{
    real *act = act(w) + actuator_actadr(w)[i] - 2, full = splat((ureal)6.28318530717958647692);
    real angle = sqrt(v3_dot(act, act));
    mask far = gt(angle, splat((ureal)3.14159265358979323846));
    real scale = fma(-full, rint(angle / full), angle) / select(far, angle, splat(1));
    for (int k = 0; k < 3; ++k) act[k] = select(far, scale * act[k], act[k]);
}
