/*
 * Controls of actuators as their forces see them, and where an actuator's own forces are. Part of the kernels that
 * include it, before muscle.k.h.
 *
 * An actuator has M_ACT_CTRLNUM controls from M_ACT_CTRLADR on, and one output or, on a relative orientation, three,
 * from ph_out on: lengths, velocities, moments and forces of actuators are of outputs, all else is of actuators.
 */

/* The first output of actuator i. */
LFN int ph_out(const int *m, int i) { return (m + m[M_ACT_OUTADR])[i]; }

/* Control k, clamped. */
LFN real ph_control(const int *m, const ureal *f, const real *v, const real *w, int k)
{
    real u = PH_AT(W_CTRL)[k];
    if (!((m + m[M_CTRL_LIMITED])[k] & 1)) return u;
    real low = par(m, f, v, M_ACT_CTRLRANGE, 2 * k), high = par(m, f, v, M_ACT_CTRLRANGE, 2 * k + 1);
    return select(lt(u, low), low, select(gt(u, high), high, u));
}

/* NaN, or beyond MuJoCo's mjMAXVAL. */
LFN mask ph_is_bad(real x) { return m_not(le(rabs(x), splat((ureal)1e10))); }

LFN mask ph_bad_controls(const int *m, const ureal *f, const real *v, const real *w)
{
    mask bad = m_none();
    if (m[M_FLAGS] & PH_NO_ACTUATION) return bad;
    rolled for (int k = 0; k < m[M_NU]; ++k) bad = m_or(bad, ph_is_bad(ph_control(m, f, v, w, k)));
    return bad;
}

/* The angle of a whole turn of actuator i, which turns a ball or a site, as its length tells it. */
LFN real ph_turn(const int *m, const ureal *f, const real *v, int i)
{
    real gear[3];
    pars(m, f, v, M_ACT_GEAR, 6 * ph_out(m, i) + ((m + m[M_ACT_TRNTYPE])[i] == 4 ? 3 : 0), 3, gear);
    return splat((ureal)6.28318530717958647692) * sqrt(v3_dot(gear, gear));
}

/* What differs from u by whole turns and is nearest to x; u, where actuator i has no setpoint on a circle. */
LFN real ph_nearest_setpoint(const int *m, const ureal *f, const real *v, int i, real u, real x)
{
    if (!((m + m[M_ACT_FLAGS])[i] & PH_ACT_CIRCLE)) return u;
    real turn = ph_turn(m, f, v, i), near = fma(-rint((u - x) / turn), turn, u);
    if ((m + m[M_ACT_GAINTYPE])[i] == PH_GAIN_PID) return near;
    mask servo = eq(par(m, f, v, M_ACT_GAINPRM, 3 * i), -par(m, f, v, M_ACT_BIASPRM, 3 * i + 1));
    return select(servo, near, u);
}

/* The activation `adr` of actuator i, which is no motor, after a time step in which its derivative is `dot`. */
LFN real ph_next_activation(const int *m, const ureal *f, const real *v, const real *w, int i, int adr, real dot)
{
    real act = PH_AT(W_ACT)[adr], h = par(m, f, v, M_TIMESTEP, 0);
    if ((m + m[M_ACT_DYNTYPE])[i] == 3) { /* filterexact */
        real tau = rmax(splat(PHYSICS_MINVAL), par(m, f, v, M_ACT_DYNPRM, i));
        act = fma(dot * tau, splat(1) - exp(-h / tau), act);
    } else {
        act = fma(dot, h, act);
    }
    if (!((m + m[M_ACT_FLAGS])[i] & PH_ACT_ACTRANGE)) return act;
    real low = par(m, f, v, M_ACT_ACTRANGE, 2 * i), high = par(m, f, v, M_ACT_ACTRANGE, 2 * i + 1);
    return select(lt(act, low), low, select(gt(act, high), high, act));
}
