/*
 * Controls of actuators as their forces see them, and where an actuator's own forces are. Part of the kernels that
 * include it, before muscle.k.h.
 *
 * An actuator has M_ACT_CTRLNUM controls from M_ACT_CTRLADR on, and one output or, on a relative orientation, three,
 * from ph_out on: lengths, velocities, moments and forces of actuators are of outputs, all else is of actuators.
 */

/* The first output of actuator i. */
LFN int ph_out(ph_world w, int i) { return actuator_outadr(w)[i]; }

/* Control k, clamped; what it is now comes from ph_take_controls. */
LFN real ph_control(ph_world w, int k)
{
    real u = nhistory(w) > 0 ? late_ctrl(w)[k] : ctrl(w)[k];
    if (!(ctrl_limited(w)[k] & 1)) return u;
    real low = actuator_ctrlrange(w, 2 * k), high = actuator_ctrlrange(w, 2 * k + 1);
    return select(lt(u, low), low, select(gt(u, high), high, u));
}

/* NaN, or beyond MuJoCo's mjMAXVAL. */
LFN mask ph_is_bad(real x) { return m_not(le(rabs(x), splat((ureal)1e10))); }

LFN mask ph_bad_controls(ph_world w)
{
    mask bad = m_none();
    if (model_flags(w) & PH_NO_ACTUATION) return bad;
    rolled
    for (int k = 0; k < nu(w); ++k) bad = m_or(bad, ph_is_bad(ph_control(w, k)));
    return bad;
}

/* The angle of a whole turn of actuator i, which turns a ball or a site, as its length tells it. */
LFN real ph_turn(ph_world w, int i)
{
    real gear[3];
    pars(w, M_ACT_GEAR, 6 * ph_out(w, i) + (actuator_trntype(w)[i] == PH_TRN_SITE ? 3 : 0), 3, gear);
    return splat((ureal)6.28318530717958647692) * sqrt(v3_dot(gear, gear));
}

/* What differs from u by whole turns and is nearest to x; u, where actuator i has no setpoint on a circle. */
LFN real ph_nearest_setpoint(ph_world w, int i, real u, real x)
{
    if (!(actuator_flags(w)[i] & PH_ACT_CIRCLE)) return u;
    real turn = ph_turn(w, i), near = fma(-rint((u - x) / turn), turn, u);
    if (actuator_gaintype(w)[i] == PH_GAIN_PID) return near;
    mask servo = eq(actuator_gainprm(w, 3 * i), -actuator_biasprm(w, 3 * i + 1));
    return select(servo, near, u);
}

/* The activation `adr` of actuator i, which is no motor, after a time step in which its derivative is `dot`. */
LFN real ph_next_activation(ph_world w, int i, int adr, real dot)
{
    real act = act(w)[adr], h = timestep(w, 0);
    if (actuator_dyntype(w)[i] == PH_DYN_FILTEREXACT) {
        real tau = rmax(splat(PHYSICS_MINVAL), actuator_dynprm(w, i));
        act = fma(dot * tau, splat(1) - exp(-h / tau), act);
    } else {
        act = fma(dot, h, act);
    }
    if (!(actuator_flags(w)[i] & PH_ACT_ACTRANGE)) return act;
    real low = actuator_actrange(w, 2 * i), high = actuator_actrange(w, 2 * i + 1);
    return select(lt(act, low), low, select(gt(act, high), high, act));
}
