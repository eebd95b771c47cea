/*
 * DC motors and PID controllers, as MuJoCo has them. Part of the kernels that include it, before actuation.k.h.
 *
 * Such an actuator has those of four inputs that M_ACT_INPUT names, in this order: setpoints of position and velocity,
 * a force, a voltage; what is absent is 0. Of five activations it has those whose place in act M_ACT_SLOT names (-1:
 * none): the setpoint as its rate of change is limited, the integral of the position error, the temperature of the
 * winding above that around it, the deflection of bristles (LuGre friction), the current.
 */

LFN int ph_slot_of(ph_world w, int i, int which) { return actuator_slot(w)[PH_MOTOR_SLOTS * i + which]; }

/* Parameter k of actuator i: of dynprm, gainprm, biasprm. */
#define MOTOR_DYN(k) motor_dyn(w, PH_MOTOR_DYN *i + (k))
#define MOTOR_GAIN(k) motor_gain(w, PH_MOTOR_GAIN *i + (k))
#define MOTOR_BIAS(k) motor_bias(w, PH_MOTOR_BIAS *i + (k))

/* How fast bristles go back per unit of their deflection (LuGre, with the curve of Stribeck). */
LFN real ph_bristle_rate(ph_world w, int i, real velocity)
{
    real least = splat(PHYSICS_MINVAL), part = velocity / rmax(least, MOTOR_BIAS(5));
    real friction = fma(MOTOR_BIAS(4) - MOTOR_BIAS(3), exp(-(part * part)), MOTOR_BIAS(3));
    return -(MOTOR_DYN(5) * rabs(velocity)) / rmax(least, friction);
}

/* The activation `adr` of actuator i, a motor, after a time step in which its derivative is `dot`. */
LFN real ph_next_motor(ph_world w, int i, int adr, real dot)
{
    real act = act(w)[adr], h = timestep(w, 0), one = splat(1), zero = splat(0);
    if (adr == ph_slot_of(w, i, PH_CURRENT)) {
        real te = rmax(splat(PHYSICS_MINVAL), MOTOR_DYN(0));
        return fma(dot * te, one - exp(-h / te), act);
    }
    if (adr == ph_slot_of(w, i, PH_BRISTLE)) { /* exact for a velocity that does not change */
        real velocity = actuator_velocity(w)[ph_out(w, i)], a = ph_bristle_rate(w, i, velocity);
        mask fast = gt(rabs(a), splat(PHYSICS_MINVAL));
        real left = exp(a * h), share = select(fast, (left - one) / select(fast, a, one), h);
        return fma(left, act, share * velocity);
    }
    act = fma(dot, h, act);
    if (adr == ph_slot_of(w, i, PH_INTEGRAL)) {
        real most = MOTOR_DYN(8);
        act = select(gt(most, zero), clamp(act, -most, most), act);
    }
    return act;
}

/* The controls of actuator i: the four inputs. The first one follows the control only so fast, if that is limited. */
LFN void ph_motor_inputs(ph_world w, int i, mask bad, real *x)
{
    int spec = actuator_ctrlspec(w)[i], from = actuator_ctrladr(w)[i], slew = ph_slot_of(w, i, PH_SLEW), first = -1;
    for (int k = 0; k < 4; ++k) {
        x[k] = splat(0);
        if (!(spec >> k & 1)) continue;
        x[k] = select(bad, splat(0), ph_control(w, from));
        from = from + 1;
        if (first < 0) first = k;
    }
    if (slew < 0 || first < 0) return;
    real before = act(w)[slew], h = timestep(w, 0), zero = splat(0), now = zero;
    int pid = actuator_gaintype(w)[i] == PH_GAIN_PID;
    real step = (pid ? MOTOR_DYN(1) : MOTOR_DYN(7)) * h;
    for (int k = 0; k < 4; ++k)
        if (k == first) now = ph_nearest_setpoint(w, i, x[k], before);
    real low = before - step, high = before + step;
    now = select(lt(now, low), low, select(gt(now, high), high, now));
    act_dot(w)[slew] = (now - before) / h;
    for (int k = 0; k < 4; ++k)
        if (k == first) x[k] = now;
}

/* The derivative of the integral of the error; it does not grow beyond `most`, if that is not 0. */
LFN real ph_wind_up(real error, real integral, real most)
{
    real zero = splat(0), up = select(ge(integral, most), rmin(error, zero), error);
    real both = select(m_andnot(le(integral, -most), ge(integral, most)), rmax(error, zero), up);
    return select(gt(most, zero), both, error);
}

/* Force of actuator i, a PID controller, its act_dot, and the derivative of the force by velocity. */
LFN real ph_pid(ph_world w, int i, mask bad, real *slope)
{
    int slot = ph_slot_of(w, i, PH_INTEGRAL), out = ph_out(w, i);
    real x[4], length = actuator_length(w)[out], p[3];
    pars(w, M_ACT_BIASPRM, 3 * i, 3, p);
    ph_motor_inputs(w, i, bad, x);
    real near = ph_nearest_setpoint(w, i, x[0], length);
    real force = x[2] + p[0];
    force = fma(-p[1], near - length, force);
    force = fma(p[2], actuator_velocity(w)[out] - x[1], force);
    *slope = p[2];
    if (slot < 0) return force;
    real z = act(w)[slot], dot = ph_wind_up(near - length, z, MOTOR_DYN(0));
    act_dot(w)[slot] = dot;
    if (actuator_flags(w)[i] & PH_ACT_EARLY) z = ph_next_activation(w, i, slot, dot);
    return fma(MOTOR_GAIN(0), z, force);
}

/*
 * The voltage at a motor's terminals: that of its controller, which makes up for what the motion induces, and its own.
 * slope: its derivative by velocity.
 */
LFN real ph_voltage(ph_world w, int i, const real *x, real *slope)
{
    int slot = ph_slot_of(w, i, PH_INTEGRAL), out = ph_out(w, i);
    real velocity = actuator_velocity(w)[out], R = MOTOR_GAIN(0), K = MOTOR_GAIN(1), most = MOTOR_GAIN(7);
    *slope = splat(0);
    if (!(actuator_ctrlspec(w)[i] & 7)) return x[3];
    real torque = fma(MOTOR_GAIN(4), x[0] - actuator_length(w)[out], fma(MOTOR_GAIN(6), x[1] - velocity, x[2]));
    if (slot >= 0) torque = fma(MOTOR_GAIN(5), act(w)[slot], torque);
    real u = fma(R / K, torque, K * velocity), kept = clamp(u, -most, most);
    mask limited = gt(most, splat(0));
    *slope = select(m_and(limited, gt(rabs(u), most)), splat(0), K - MOTOR_GAIN(6) * R / K);
    return select(limited, kept, u) + x[3];
}

/*
 * Force of actuator i, a DC motor, without cogging and friction (ph_motor_frictions), its act_dot, and the force's
 * derivative by velocity.
 */
LFN real ph_motor(ph_world w, int i, mask bad, real *slope)
{
    int integral = ph_slot_of(w, i, PH_INTEGRAL), warm = ph_slot_of(w, i, PH_TEMPERATURE);
    int bristle = ph_slot_of(w, i, PH_BRISTLE), flow = ph_slot_of(w, i, PH_CURRENT), out = ph_out(w, i);
    real x[4], velocity = actuator_velocity(w)[out], K = MOTOR_GAIN(1), R = MOTOR_GAIN(0), zero = splat(0);
    real *dot = act_dot(w);
    const real *act = act(w);
    ph_motor_inputs(w, i, bad, x);
    if (integral >= 0) dot[integral] = ph_wind_up(x[0] - actuator_length(w)[out], act[integral], MOTOR_DYN(8));
    real by, u = ph_voltage(w, i, x, &by);
    if (warm >= 0) R = R * fma(MOTOR_GAIN(2), act[warm] + MOTOR_DYN(4) - MOTOR_GAIN(3), splat(1));
    if (bristle >= 0) dot[bristle] = fma(ph_bristle_rate(w, i, velocity), act[bristle], velocity);
    real current = (u - K * velocity) / R, rate = (by - K) / R;
    if (flow >= 0) {
        real most = MOTOR_DYN(1), te = MOTOR_DYN(0), y = (u / R - K / R * velocity - act[flow]) / te;
        mask slow = m_and(gt(most, zero), gt(rabs(y), most));
        dot[flow] = select(slow, copysign_(most, y), y);
        rate = select(slow, zero, rate * (splat(1) - exp(-timestep(w, 0) / te)));
        current = act[flow];
    }
    if (warm >= 0) dot[warm] = (R * current * current - act[warm] / MOTOR_DYN(2)) / MOTOR_DYN(3);
    *slope = K * rate;
    if (flow >= 0) return K * ph_next_motor(w, i, flow, dot[flow]);
    real gain = K / rmax(splat(PHYSICS_MINVAL), R);
    return gain * u - gain * K * velocity;
}

/* What cogging and friction add to the forces of motors, of which limits of forces know nothing. */
LFN void ph_motor_frictions(ph_world w)
{
    each (i, nactuator(w)) {
        int bristle = ph_slot_of(w, i, PH_BRISTLE), out = ph_out(w, i), flags = actuator_flags(w)[i];
        if (actuator_gaintype(w)[i] == PH_GAIN_DCMOTOR && !(flags & PH_ACT_DISABLED)) {
            real size = MOTOR_BIAS(0), x = fma(MOTOR_BIAS(1), actuator_length(w)[out], MOTOR_BIAS(2));
            real force = actuator_force(w)[out] + select(eq(size, splat(0)), splat(0), size * sin(x));
            if (bristle >= 0) force = force - fma(MOTOR_DYN(5), act(w)[bristle], MOTOR_DYN(6) * act_dot(w)[bristle]);
            actuator_force(w)[out] = force;
            actuator_deriv(w)[out] = actuator_deriv(w)[out] - MOTOR_DYN(6);
        }
    }
    sync();
}
