/*
 * MuJoCo's plugin "mujoco.pid": a PID controller whose setpoint is the control or, with dynamics, the last activation.
 * Part of the kernels that include it, before actuation.k.h.
 *
 * It has an activation for the integral of the error and one for the last setpoint, if it has those (M_ACT_SLOT:
 * PH_INTEGRAL, PH_SLEW). Five numbers of M_PLUGIN_PID: gains of the error, its integral, its derivative; the integral's
 * limit and the setpoint's rate of change, -1: none.
 */

/* The setpoint: `u`, no faster than it may change, but in the first step of all. */
LFN real ph_plugin_setpoint(const int *m, const ureal *f, const real *v, const real *w, int i, real u, real rate)
{
    int slot = ph_slot_of(m, i, PH_SLEW);
    if (slot < 0) return u;
    real step = rate * par(m, f, v, M_TIMESTEP, 0), before = PH_AT(W_ACT)[slot];
    real low = before - step, high = before + step, kept = select(lt(u, low), low, select(gt(u, high), high, u));
    return select(gt(PH_AT(W_TIME)[0], splat(0)), kept, u);
}

/* The integral after a time step with this error. */
LFN real ph_plugin_integral(const int *m, const ureal *f, const real *v, const real *w, int i, real error, real most)
{
    real z = fma(error, par(m, f, v, M_TIMESTEP, 0), PH_AT(W_ACT)[ph_slot_of(m, i, PH_INTEGRAL)]);
    return select(lt(most, splat(0)), z, select(lt(z, -most), -most, select(gt(z, most), most, z)));
}

/*
 * Force of actuator i and its act_dot. The control counts, `bad` or not: MuJoCo's plugin looks at it itself. Groups
 * that are disabled are no matter to it, either.
 */
LFN real ph_plugin_pid(const int *m, const ureal *f, const real *v, real *w, int i, mask bad)
{
    int last = (m + m[M_ACT_ACTADR])[i], out = ph_out(m, i), from = (m + m[M_ACT_CTRLADR])[i];
    int moves = (m + m[M_ACT_DYNTYPE])[i] != 0, early = (m + m[M_ACT_FLAGS])[i] & PH_ACT_EARLY;
    int integral = ph_slot_of(m, i, PH_INTEGRAL), slew = ph_slot_of(m, i, PH_SLEW);
    real p[5], h = par(m, f, v, M_TIMESTEP, 0), zero = splat(0), rate = zero, u = PH_AT(W_CTRL)[from], now, error;
    real *dot = PH_AT(W_ACT_DOT), length = PH_AT(W_ACTUATOR_LENGTH)[out];
    pars(m, f, v, M_PLUGIN_PID, 5 * i, 5, p);
    if ((m + m[M_CTRL_LIMITED])[from]) {
        real low = par(m, f, v, M_ACT_CTRLRANGE, 2 * from), high = par(m, f, v, M_ACT_CTRLRANGE, 2 * from + 1);
        u = select(lt(u, low), low, select(gt(u, high), high, u));
    }
    if (moves) {
        rate = ph_activation_dot(m, f, v, w, i, select(bad, zero, ph_control(m, f, v, w, from)));
        dot[last] = rate;
        u = PH_AT(W_ACT)[last];
    }
    now = ph_plugin_setpoint(m, f, v, w, i, u, p[4]);
    if (integral >= 0) {
        real z = ph_plugin_integral(m, f, v, w, i, now - length, p[3]);
        dot[integral] = (z - PH_AT(W_ACT)[integral]) / h;
    }
    if (slew >= 0) dot[slew] = (now - PH_AT(W_ACT)[slew]) / h;
    if (moves && early) now = ph_plugin_setpoint(m, f, v, w, i, ph_next_activation(m, f, v, w, i, last, rate), p[4]);
    error = now - length;
    real force = fma(p[2], rate - PH_AT(W_ACTUATOR_VELOCITY)[out], p[0] * error);
    if (integral < 0) return force;
    return fma(p[1], ph_plugin_integral(m, f, v, w, i, error, p[3]), force);
}
