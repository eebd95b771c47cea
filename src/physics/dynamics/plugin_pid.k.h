/*
 * MuJoCo's plugin "mujoco.pid": a PID controller whose setpoint is the control or, with dynamics, the last activation.
 * Part of the kernels that include it, before actuation.k.h.
 *
 * It has an activation for the integral of the error and one for the last setpoint, if it has those (M_ACT_SLOT:
 * PH_INTEGRAL, PH_SLEW). Five numbers of M_PLUGIN_PID: gains of the error, its integral, its derivative; the integral's
 * limit and the setpoint's rate of change, -1: none.
 */

/* The setpoint: `u`, no faster than it may change, but in the first step of all. */
LFN real ph_plugin_setpoint(ph_world w, int i, real u, real rate)
{
    int slot = ph_slot_of(w, i, PH_SLEW);
    if (slot < 0) return u;
    real step = rate * timestep(w, 0), before = act(w)[slot];
    real low = before - step, high = before + step, kept = select(lt(u, low), low, select(gt(u, high), high, u));
    return select(gt(time(w)[0], splat(0)), kept, u);
}

/* The integral after a time step with this error. */
LFN real ph_plugin_integral(ph_world w, int i, real error, real most)
{
    real z = fma(error, timestep(w, 0), act(w)[ph_slot_of(w, i, PH_INTEGRAL)]);
    return select(lt(most, splat(0)), z, select(lt(z, -most), -most, select(gt(z, most), most, z)));
}

/*
 * Force of actuator i and its act_dot. The control counts, `bad` or not: MuJoCo's plugin looks at it itself. Groups
 * that are disabled are no matter to it, either.
 */
LFN real ph_plugin_pid(ph_world w, int i, mask bad)
{
    int last = actuator_actadr(w)[i], out = ph_out(w, i), from = actuator_ctrladr(w)[i];
    int moves = actuator_dyntype(w)[i] != PH_DYN_NONE, early = actuator_flags(w)[i] & PH_ACT_EARLY;
    int integral = ph_slot_of(w, i, PH_INTEGRAL), slew = ph_slot_of(w, i, PH_SLEW);
    real p[5], h = timestep(w, 0), zero = splat(0), rate = zero, u = ctrl(w)[from], now, error;
    real *dot = act_dot(w), length = actuator_length(w)[out];
    pars(w, M_PLUGIN_PID, 5 * i, 5, p);
    if (ctrl_limited(w)[from]) {
        real low = actuator_ctrlrange(w, 2 * from), high = actuator_ctrlrange(w, 2 * from + 1);
        u = select(lt(u, low), low, select(gt(u, high), high, u));
    }
    if (moves) {
        rate = ph_activation_dot(w, i, select(bad, zero, ph_control(w, from)));
        dot[last] = rate;
        u = act(w)[last];
    }
    now = ph_plugin_setpoint(w, i, u, p[4]);
    if (integral >= 0) {
        real z = ph_plugin_integral(w, i, now - length, p[3]);
        dot[integral] = (z - act(w)[integral]) / h;
    }
    if (slew >= 0) dot[slew] = (now - act(w)[slew]) / h;
    if (moves && early) now = ph_plugin_setpoint(w, i, ph_next_activation(w, i, last, rate), p[4]);
    error = now - length;
    real force = fma(p[2], rate - actuator_velocity(w)[out], p[0] * error);
    if (integral < 0) return force;
    return fma(p[1], ph_plugin_integral(w, i, error, p[3]), force);
}
