/*
 * Muscles: force as a function of length, velocity and activation, and the activation's dynamics, as MuJoCo has them.
 * Part of the kernels that include it, before actuation.k.h.
 */

/* Of muscle i: nine parameters p, peak force, optimal length, and the length as a multiple of that. */
LFN void ph_muscle(ph_world w, int name, int i, real *p, real *force, real *optimum, real *length)
{
    real low = muscle_lengthrange(w, 2 * ph_out(w, i)), high = muscle_lengthrange(w, 2 * ph_out(w, i) + 1);
    real least = splat(PHYSICS_MINVAL), derived;
    pars(w, name, 9 * i, 9, p);
    derived = p[3] / rmax(muscle_acc0(w, ph_out(w, i)), least);
    *force = select(lt(p[2], splat(0)), derived, p[2]);
    *optimum = (high - low) / rmax(p[1] - p[0], least);
    *length = p[0] + (actuator_length(w)[ph_out(w, i)] - low) / rmax(*optimum, least);
}

/* What a muscle's length makes of its force: two parabolas on each side of its optimum at 1, 0 beyond low and high. */
LFN real ph_muscle_length(real x, real low, real high)
{
    real one = splat(1), half = splat((ureal)0.5), least = splat(PHYSICS_MINVAL);
    mask shorter = le(x, one);
    real end = select(shorter, low, high), middle = half * (end + one);
    real from_end = rabs(x - end) / rmax(rabs(middle - end), least);
    real from_one = rabs(x - one) / rmax(rabs(middle - one), least);
    mask outer = m_or(m_and(shorter, le(x, middle)), m_andnot(gt(x, middle), shorter));
    real y = select(outer, half * (from_end * from_end), fma(-half * from_one, from_one, one));
    return select(m_and(le(low, x), le(x, high)), y, splat(0));
}

/* The gain of muscle i, and its derivative by velocity. */
LFN real ph_muscle_gain(ph_world w, int i, real *slope)
{
    real p[9], force, optimum, length, one = splat(1), zero = splat(0), least = splat(PHYSICS_MINVAL);
    ph_muscle(w, M_MUSCLE_GAIN, i, p, &force, &optimum, &length);
    real fastest = rmax(optimum * p[6], least), V = actuator_velocity(w)[ph_out(w, i)] / fastest;
    real y = p[8] - one, left = y - V, inverse = one / rmax(y, least), up = V + one;
    real part = select(le(V, zero), up * up, select(le(V, y), fma(-(left * left), inverse, p[8]), p[8]));
    real rate = select(le(V, zero), splat(2) * up, select(le(V, y), splat(2) * left * inverse, zero));
    mask still = le(V, splat(-1));
    real size = force * ph_muscle_length(length, p[4], p[5]);
    *slope = select(still, zero, -size * rate / fastest);
    return select(still, zero, -size * part);
}

/* The passive force of muscle i: a parabola from its optimum on, then straight. */
LFN real ph_muscle_bias(ph_world w, int i)
{
    real p[9], force, optimum, length, one = splat(1), half = splat((ureal)0.5);
    ph_muscle(w, M_MUSCLE_BIAS, i, p, &force, &optimum, &length);
    real middle = half * (one + p[5]), width = rmax(middle - one, splat(PHYSICS_MINVAL));
    real x = (length - one) / width, beyond = (length - middle) / width;
    real y = select(le(length, middle), half * (x * x), half + beyond);
    return select(le(length, one), splat(0), -(force * p[7]) * y);
}

/* The derivative of muscle i's activation: faster up than down, or in between where that is smoothed. */
LFN real ph_muscle_dot(ph_world w, int i, real act, real u)
{
    real p[3], zero = splat(0), one = splat(1), least = splat(PHYSICS_MINVAL);
    pars(w, M_MUSCLE_DYN, 3 * i, 3, p);
    real scale = fma(splat((ureal)1.5), clamp(act, zero, one), splat((ureal)0.5));
    real rise = p[0] * scale, fall = p[1] / scale, excess = clamp(u, zero, one) - act;
    mask hard = lt(p[2], least);
    real x = clamp(excess / select(hard, one, p[2]) + splat((ureal)0.5), zero, one);
    real smooth = x * x * x * fma(x, fma(splat(6), x, splat(-15)), splat(10));
    real tau = select(hard, select(gt(excess, zero), rise, fall), fma(smooth, rise - fall, fall));
    return excess / rmax(tau, least);
}

/* The derivative of actuator i's activation. */
LFN real ph_activation_dot(ph_world w, int i, real u)
{
    int type = actuator_dyntype(w)[i];
    if (type == PH_DYN_INTEGRATOR) return u;
    if (nmuscle(w) > 0 && type == PH_DYN_MUSCLE) return ph_muscle_dot(w, i, act(w)[actuator_actadr(w)[i]], u);
    real tau = rmax(splat(PHYSICS_MINVAL), actuator_dynprm(w, i)), act = act(w)[actuator_actadr(w)[i]];
    return (ph_nearest_setpoint(w, i, u, act) - act) / tau;
}
