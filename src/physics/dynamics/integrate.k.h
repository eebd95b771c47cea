/*
 * Stages acceleration and integrate, and the checks of the state. Part of the kernels that include it, after
 * actuation.k.h.
 */

/* Where some force is applied to a body of the world. */
LFN mask ph_any_xfrc(ph_world w)
{
    const real *x = xfrc_applied(w);
    mask some = m_none();
    rolled
    for (int b = 1; b < nbody(w); ++b)
        for (int k = 6 * b; k < 6 * b + 6; ++k) some = m_or(some, m_not(eq(x[k], splat(0))));
    return some;
}

/* Adds xfrc_applied, forces and torques at the bodies' centres of mass, to out [nv] in the lanes `some`. */
LFN void ph_add_xfrc(ph_world w, mask some, real *out)
{
    each (i, nbody(w) - 1) {
        int b = i + 1;
        const real *x = xfrc_applied(w) + 6 * b;
        real *to = cfrc(w) + 6 * b;
        ph_place_force(w, b, x);
        for (int k = 0; k < 3; ++k) to[k] = to[k] + x[3 + k];
    }
    sync();
    ph_gather_forces(w);
    each (d, nv(w)) {
        real x = ph_dot6(cdof(w) + 6 * d, cfrc(w) + 6 * dof_bodyid(w)[d]);
        out[d] = select(some, out[d] + x, out[d]);
    }
    sync();
}

/* qfrc_smooth and qacc_smooth. */
LFN void ph_acceleration(ph_world w)
{
    real *smooth = qfrc_smooth(w), *qacc = qacc_smooth(w);
    mask some = ph_any_xfrc(w);
    each (d, nv(w)) smooth[d] = (qfrc_passive(w)[d] - qfrc_bias(w)[d]) + (qfrc_applied(w)[d] + qfrc_actuator(w)[d]);
    sync();
    if (any(some)) ph_add_xfrc(w, some, smooth);
    if (integrator(w) == PH_DISCRETE) ph_metric(w);
    each (d, nv(w)) qacc[d] = integrator(w) == PH_DISCRETE ? smooth[d] + shift(w)[d] : smooth[d];
    sync();
    int solved = ph_solve_pattern(w, PH_METRIC, qacc);
    if (PH_BY_ROWS && solved) ph_put_thin(w, m_none());
    if (integrator(w) == PH_DISCRETE && !solved) ph_factor_metric(w);
    if (integrator(w) != PH_DISCRETE && PH_BY_ROWS && !solved) ph_factor_inertia(w);
    if (!solved) ph_solve(w, qLD(w), qLDiagInv(w), qacc);
}

/* ---- integrators ------------------------------------------------------------------------------------------------- */

/* x = A^-1 x for a matrix of 6 by 6 that is close to a positive definite one; A is destroyed. */
LFN void ph_solve6(real *A, real *x)
{
    for (int k = 0; k < 6; ++k) {
        real inv = splat(1) / A[7 * k];
        for (int i = k + 1; i < 6; ++i) {
            real c = -(A[6 * i + k] * inv);
            for (int j = k + 1; j < 6; ++j) A[6 * i + j] = fma(c, A[6 * k + j], A[6 * i + j]);
            x[i] = fma(c, x[k], x[i]);
        }
    }
    for (int i = 5; i >= 0; --i) {
        real s = x[i];
        for (int j = i + 1; j < 6; ++j) s = fma(-A[6 * i + j], x[j], s);
        x[i] = s / A[7 * i];
    }
}

/* The derivative of qfrc_bias by qvel of dof k of a body that is solved for apart, as a force on the body. */
LFN void ph_free_bias_slope(ph_world w, int b, int k, real *out)
{
    int first = body_dofadr(w)[b];
    const real *I = crb(w) + 10 * b, *cvel = cvel(w) + 6 * b, *cdof = cdof(w) + 6 * first;
    const real *qvel = qvel(w) + first;
    real rotation[6], a[6], t[6];
    if (k < 3 && body_flags(w)[b] & PH_BODY_FREE) {
        ph_zero(rotation, 6);
        ph_add_motion(rotation, cdof + 18, qvel + 3, 3);
        ph_cross_motion(cdof + 6 * k, rotation, a);
    } else {
        ph_copy(a, cdof_dot(w) + 6 * (first + k), 6);
    }
    ph_inertia_mul(I, a, out);
    ph_inertia_mul(I, cvel, t);
    ph_add_cross_force(cdof + 6 * k, t, out);
    ph_inertia_mul(I, cdof + 6 * k, t);
    ph_add_cross_force(cvel, t, out);
}

/*
 * A -= h times the derivative of the forces of dof i's actuators, or of its tendons' dampers, by the n velocities of
 * its body, whose first dof is `first`.
 */
LFN void ph_add_free_slopes(ph_world w, int first, int n, int i, int tendons, real h, real *A)
{
    const int *adr = PH_TABLE(w, tendons ? M_DOF_TEN_ADR : M_DOF_ACT_ADR),
              *pair = PH_TABLE(w, tendons ? M_DOF_TEN : M_DOF_ACT);
    const int *row = PH_TABLE(w, tendons ? M_TEN_J_ROWADR : M_MOMENT_ROWADR);
    const int *col = PH_TABLE(w, tendons ? M_TEN_J_COLIND : M_MOMENT_COLIND);
    const real *moment = actuator_moment(w);
    rolled
    for (int k = adr[first + i]; k < adr[first + i + 1]; ++k) {
        int a = pair[2 * k], at = pair[2 * k + 1];
        real slope = tendons ? -ph_tendon_slope(w, a) : actuator_deriv(w)[a];
        real s = -(h * slope) * (tendons ? ph_ten_j(w, at) : moment[at]);
        rolled
        for (int e = row[a]; e < row[a + 1]; ++e) {
            int j = col[e] - first;
            real other = tendons ? ph_ten_j(w, e) : moment[e];
            if (j >= 0 && j < n) A[6 * i + j] = fma(s, other, A[6 * i + j]);
        }
    }
}

/*
 * The accelerations of the n dofs of body b, of six that x has, with all that moves the body apart from constraints,
 * also where qM has no entry, and with the exact derivative of its gyroscopic forces.
 */
LFN void ph_free_step(ph_world w, int b, int n, real *x)
{
    int first = body_dofadr(w)[b];
    const int *nnz = M_rownnz(w), *adr = M_rowadr(w), *col = M_colind(w);
    const real *M = PH_METRIC;
    int late = integrator(w) == PH_DISCRETE;
    real A[36], force[6], h = timestep(w, 0);
    ph_zero(A, 36);
    for (int i = 0; i < 6; ++i) A[7 * i] = splat((ureal)(i >= n));
    for (int i = 0; i < n; ++i) {
        rolled
        for (int e = adr[first + i]; e < adr[first + i] + nnz[first + i]; ++e) {
            int j = col[e] - first;
            A[6 * i + j] = M[e];
            A[6 * j + i] = M[e];
        }
    }
    for (int i = 0; i < n && !late; ++i) {
        A[7 * i] = fma(h, ph_dof_slope(w, first + i), A[7 * i]);
        ph_add_free_slopes(w, first, n, i, 0, h, A);
        if (ntendon(w) > 0) ph_add_free_slopes(w, first, n, i, 1, h, A);
    }
    for (int k = 0; k < n; ++k) {
        ph_free_bias_slope(w, b, k, force);
        for (int i = 0; i < n; ++i) A[6 * i + k] = fma(h, ph_dot6(cdof(w) + 6 * (first + i), force), A[6 * i + k]);
    }
    if (slope(w) > 0 && !late) {
        for (int k = 0; k < n; ++k) {
            const real *T = slope_body(w) + 36 * b;
            for (int r = 0; r < 6; ++r) force[r] = ph_dot6(T + 6 * r, cdof(w) + 6 * (first + k));
            for (int i = 0; i < n; ++i) A[6 * i + k] = fma(-h, ph_dot6(cdof(w) + 6 * (first + i), force), A[6 * i + k]);
        }
    }
    ph_solve6(A, x);
}

/* With Euler, worlds of which no dof is damped have qacc itself. */
LFN void ph_keep_undamped(ph_world w, real *qacc)
{
    mask damped = m_none();
    rolled
    for (int d = 0; d < nv(w); ++d) {
        real p[2];
        int poly = dof_flags(w)[d] & PH_DOF_POLY;
        real b = ph_coefficients(w, M_DOF_DAMPING, M_DOF_DAMPINGPOLY, poly, d, p);
        damped = m_or(damped, m_not(eq(rabs(b) + (rabs(p[0]) + rabs(p[1])), splat(0))));
    }
    each (d, nv(w)) qacc[d] = select(damped, qacc[d], qacc(w)[d]);
    sync();
}

/* qacc_step: what qvel grows by in a time step, divided by it. */
LFN void ph_step_acceleration(ph_world w)
{
    const int *nnz = M_rownnz(w), *adr = M_rowadr(w);
    real *qacc = qacc_step(w), *L = qLD(w), *inv = qLDiagInv(w), h = timestep(w, 0);
    if (integrator(w) == PH_DISCRETE || (integrator(w) == 0 && !(model_flags(w) & PH_EULERDAMP))) {
        each (d, nv(w)) qacc[d] = qacc(w)[d];
        sync();
        return;
    }
    ph_slopes(w);
    each (d, nv(w)) {
        qacc[d] = qfrc_smooth(w)[d] + qfrc_constraint(w)[d];
        int last = adr[d] + nnz[d] - 1;
        rolled
        for (int e = adr[d]; e <= last; ++e) {
            real x = qM(w)[e] + splat(0);
            if (ph_is_implicit(w, e, last)) x = fma(h, ph_implicit_slope(w, d, e), qM(w)[e]);
            qH(w)[e] = x;
            L[e] = x;
            if (integrator(w) == PH_IMPLICIT) {
                int j = M_colind(w)[e];
                real more = ph_slope_below(w, d, j) - ph_slope_above(w, d, j);
                qu(w)[e] = ph_is_alone(w, d) ? x + splat(0) : fma(h, more, x);
            }
        }
    }
    sync();
    int uneven = integrator(w) == PH_IMPLICIT, solved = 0;
    if (uneven) ph_solve_uneven(w, L, qu(w), qacc);
    if (!uneven) solved = ph_solve_pattern(w, qH(w), qacc);
    if (!uneven && !solved) {
        ph_factor(w, L, inv);
        mask thin = ph_any_thin(w, qH(w), inv);
        if (any(thin)) ph_mend_implicit(w, thin, qH(w));
        ph_solve(w, L, inv, qacc);
    }
    if (integrator(w) == 0 && PH_NUMBER(w, M_DOF_DAMPING) < 0) ph_keep_undamped(w, qacc);
    each (i, nfree(w)) {
        int b = free_body(w)[i], first = body_dofadr(w)[b];
        int n = body_dofnum(w)[b];
        real x[6];
        ph_zero(x, 6);
        for (int k = 0; k < n; ++k) x[k] = qfrc_smooth(w)[first + k] + qfrc_constraint(w)[first + k];
        ph_free_step(w, b, n, x);
        ph_copy(qacc + first, x, n);
    }
    sync();
}

/* Positions of joint j after a time h with the velocities in qvel. */
LFN void ph_move_joint(ph_world w, int j, real h)
{
    int type = jnt_type(w)[j];
    real *qpos = qpos(w) + jnt_qposadr(w)[j];
    const real *qvel = qvel(w) + jnt_dofadr(w)[j];
    if (type >= PH_SLIDE) {
        qpos[0] = fma(h, qvel[0], qpos[0]);
        return;
    }
    if (type == PH_FREE) ph_add_scaled(qpos, qvel, h, 3);
    ph_quat_integrate(qpos + (type == PH_FREE ? 3 : 0), qvel + (type == PH_FREE ? 3 : 0), h);
}

/* Activations after a time step; setpoints on circles stay near what they are setpoints of. */
LFN void ph_integrate_activations(ph_world w)
{
    real *act = act(w);
    if (model_flags(w) & PH_NO_ACTUATION) return;
    each (i, nactuator(w)) {
        int last = actuator_actadr(w)[i], disabled = actuator_flags(w)[i] & PH_ACT_DISABLED;
        int motor = nmotor(w) > 0 && actuator_gaintype(w)[i] == PH_GAIN_DCMOTOR;
        for (int adr = last - actuator_actnum(w)[i] + 1; adr <= last; ++adr) {
            real dot = disabled ? splat(0) : act_dot(w)[adr];
            act[adr] = motor ? ph_next_motor(w, i, adr, dot) : ph_next_activation(w, i, adr, dot);
        }
        if (last >= 0 && actuator_gaintype(w)[i] != PH_GAIN_PID && actuator_flags(w)[i] & PH_ACT_CIRCLE)
            act[last] = ph_nearest_setpoint(w, i, act[last], actuator_length(w)[ph_out(w, i)]);
        if (nso3(w) > 0 && last >= 0 && actuator_trntype(w)[i] == PH_TRN_SO3) ph_anchor(w, i);
    }
}

/* ---- Runge-Kutta of fourth order --------------------------------------------------------------------------------- */

/*
 * Makes an angular velocity x in the frame of a body the rate of its rotation vector u since the step began: rates of a
 * rotation vector can be summed, angular velocities in frames that turn cannot (Runge-Kutta-Munthe-Kaas). c is the
 * series of (1 - a / 2 cot(a / 2)) / a^2 for an angle a, which is short of a turn in a step; t is a^2.
 */
LFN void ph_turn_rate(const real *u, real *x)
{
    real once[3], twice[3], t = v3_dot(u, u);
    v3_cross(u, x, once);
    v3_cross(u, once, twice);
    real c = fma(t, splat((ureal)(1.0 / 47900160)), splat((ureal)(1.0 / 1209600)));
    c = fma(t, c, splat((ureal)(1.0 / 30240)));
    c = fma(t, c, splat((ureal)(1.0 / 720)));
    c = fma(t, c, splat((ureal)(1.0 / 12)));
    ph_add_scaled(x, once, splat((ureal)0.5), 3);
    ph_add_scaled(x, twice, c, 3);
}

/* The angular velocities of a stage after the first, as rates. */
LFN void ph_stage_turn(ph_world w)
{
    const real *turn = runge_kutta(w) + nq(w) + 3 * nv(w) + 2 * na(w);
    each (j, njnt(w)) {
        int type = jnt_type(w)[j], d = jnt_dofadr(w)[j] + (type == PH_FREE ? 3 : 0);
        if (type < PH_SLIDE) ph_turn_rate(turn + d, qvel(w) + d);
    }
    sync();
}

/*
 * Adds what a stage found to the sums; stage 0 keeps the state, too, in the order that it has in w, and at the end, if
 * there are activations, the lengths and velocities of actuators, at which these are integrated.
 */
LFN void ph_stage_add(ph_world w, int stage)
{
    int nq = nq(w), nv = nv(w), na = na(w);
    real weight = splat((ureal)(stage == 0 || stage == 3 ? 1.0 / 6 : 1.0 / 3)), *sum = runge_kutta(w) + nq + nv + na;
    if (stage > 0) ph_stage_turn(w);
    each (i, na > 0 && stage == 0 ? nout(w) : 0) {
        real *kept = runge_kutta(w) + nq + 4 * nv + 2 * na;
        kept[i] = actuator_length(w)[i];
        kept[nout(w) + i] = actuator_velocity(w)[i];
    }
    each (i, nq) runge_kutta(w)[i] = stage ? runge_kutta(w)[i] : qpos(w)[i];
    each (d, nv) {
        real *kept = runge_kutta(w) + nq;
        kept[d] = stage ? kept[d] : qvel(w)[d];
        sum[d] = fma(weight, qvel(w)[d], stage ? sum[d] : splat(0));
        sum[nv + d] = fma(weight, qacc(w)[d], stage ? sum[nv + d] : splat(0));
    }
    each (i, na) {
        real *kept = runge_kutta(w) + nq + nv, *dot = sum + 2 * nv;
        kept[i] = stage ? kept[i] : act(w)[i];
        dot[i] = fma(weight, act_dot(w)[i], stage ? dot[i] : splat(0));
    }
    sync();
}

/* The positions of the state before the step, moved for a time h with the velocities in qvel. */
LFN void ph_stage_move(ph_world w, real h)
{
    each (i, nq(w)) qpos(w)[i] = runge_kutta(w)[i];
    sync();
    each (j, njnt(w)) ph_move_joint(w, j, h);
    sync();
}

/* The state before the step again. */
LFN void ph_stage_back(ph_world w)
{
    const real *kept = runge_kutta(w);
    each (i, nq(w)) qpos(w)[i] = kept[i];
    each (d, nv(w)) qvel(w)[d] = (kept + nq(w))[d];
    each (i, na(w)) act(w)[i] = (kept + nq(w) + nv(w))[i];
    sync();
}

/* The state that a stage is evaluated at: that before the step, moved with what the last stage found. */
LFN void ph_stage_state(ph_world w, int stage)
{
    const real *kept = runge_kutta(w) + nq(w);
    real h = splat((ureal)(stage == 3 ? 1 : 0.5)) * timestep(w, 0);
    ph_stage_move(w, h);
    each (d, nv(w)) {
        (runge_kutta(w) + nq(w) + 3 * nv(w) + 2 * na(w))[d] = h * qvel(w)[d];
        qvel(w)[d] = fma(h, qacc(w)[d], kept[d]);
    }
    each (i, na(w)) act(w)[i] = fma(h, act_dot(w)[i], kept[nv(w) + i]);
    sync();
}

/* The state after the step, from the sums of all stages. */
LFN void ph_stage_end(ph_world w)
{
    int nv = nv(w), na = na(w);
    const real *kept = runge_kutta(w) + nq(w), *sum = kept + nv + na;
    real h = timestep(w, 0);
    each (i, na) {
        act(w)[i] = kept[nv + i];
        act_dot(w)[i] = sum[2 * nv + i];
    }
    each (d, nv) qvel(w)[d] = sum[d];
    each (i, na > 0 ? nout(w) : 0) {
        const real *first = kept + 4 * nv + 2 * na;
        actuator_length(w)[i] = first[i];
        actuator_velocity(w)[i] = first[nout(w) + i];
    }
    sync();
    ph_integrate_activations(w);
    ph_stage_move(w, h);
    each (d, nv) qvel(w)[d] = fma(h, sum[nv + d], kept[d]);
    sync();
}

/* Activations, velocities, and with the new velocities positions, after a time step. */
LFN void ph_integrate(ph_world w)
{
    real h = timestep(w, 0);
    if (integrator(w) == PH_RK4) {
        ph_stage_end(w);
        return;
    }
    ph_step_acceleration(w);
    ph_integrate_activations(w);
    each (d, nv(w)) qvel(w)[d] = fma(h, qacc_step(w)[d], qvel(w)[d]);
    sync();
    each (j, njnt(w)) ph_move_joint(w, j, h);
    sync();
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* Where one of n numbers is bad. */
LFN mask ph_any_bad(const real *x, int n)
{
    mask bad = m_none();
    for (int k = 0; k < n; ++k) bad = m_or(bad, ph_is_bad(x[k]));
    return bad;
}

/* The state and the inputs of the lanes `which` become those of MuJoCo's mj_resetData. */
LFN void ph_reset(ph_world w, mask which)
{
    int inputs = PH_NUMBER(w, W_MOCAP_POS) - PH_NUMBER(w, W_QVEL);
    real *rest = qvel(w);
    sync(); /* all threads of the team have seen what led here */
    each (i, nq(w)) qpos(w)[i] = select(which, qpos0(w, i), qpos(w)[i]);
    each (i, inputs) rest[i] = select(which, splat(0), rest[i]);
    sync();
    each (k, nquatctrl(w)) {
        int i = quatctrl(w)[k];
        ctrl(w)[i] = select(which, splat(1), ctrl(w)[i]);
    }
    each (i, neq(w)) eq_active(w)[i] = select(which, eq_active0(w, i), eq_active(w)[i]);
    each (i, nhistory(w)) history(w)[i] = select(which, history0(w, i), history(w)[i]);
    each (i, nv(w)) qacc_warmstart(w)[i] = select(which, splat(0), qacc_warmstart(w)[i]);
    each (i, 3 * nmocap(w)) mocap_pos(w)[i] = select(which, reset_mocap_pos(w, i), mocap_pos(w)[i]);
    each (i, 4 * nmocap(w)) mocap_quat(w)[i] = select(which, reset_mocap_quat(w, i), mocap_quat(w)[i]);
    sync();
}
