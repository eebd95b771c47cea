/*
 * Stages acceleration and integrate, and the checks of the state. Part of the kernels that include it, after
 * actuation.k.h.
 */

/* Where some force is applied to a body of the world. */
LFN mask ph_any_xfrc(const int *m, const real *w)
{
    const real *x = PH_AT(W_XFRC_APPLIED);
    mask some = m_none();
    rolled for (int b = 1; b < m[M_NBODY]; ++b) for (int k = 6 * b; k < 6 * b + 6; ++k) some =
        m_or(some, m_not(eq(x[k], splat(0))));
    return some;
}

/* Adds xfrc_applied, forces and torques at the bodies' centres of mass, to out [nv] in the lanes `some`. */
LFN void ph_add_xfrc(const int *m, real *w, mask some, real *out)
{
    each (i, m[M_NBODY] - 1) {
        int b = i + 1;
        const real *x = PH_AT(W_XFRC_APPLIED) + 6 * b;
        real *to = PH_AT(W_CFRC) + 6 * b;
        ph_place_force(m, w, b, x);
        for (int k = 0; k < 3; ++k) to[k] = to[k] + x[3 + k];
    }
    sync();
    ph_gather_forces(m, w);
    each (d, m[M_NV]) {
        real x = ph_dot6(PH_AT(W_CDOF) + 6 * d, PH_AT(W_CFRC) + 6 * (m + m[M_DOF_BODYID])[d]);
        out[d] = select(some, out[d] + x, out[d]);
    }
    sync();
}

/* qfrc_smooth and qacc_smooth. */
LFN void ph_acceleration(const int *m, const ureal *f, const real *v, real *w)
{
    real *smooth = PH_AT(W_QFRC_SMOOTH), *qacc = PH_AT(W_QACC_SMOOTH);
    mask some = ph_any_xfrc(m, w);
    each (d, m[M_NV])
        smooth[d] =
            (PH_AT(W_QFRC_PASSIVE)[d] - PH_AT(W_QFRC_BIAS)[d]) + (PH_AT(W_QFRC_APPLIED)[d] + PH_AT(W_QFRC_ACTUATOR)[d]);
    sync();
    if (any(some)) ph_add_xfrc(m, w, some, smooth);
    if (m[M_INTEGRATOR] == PH_DISCRETE) ph_metric(m, f, v, w);
    each (d, m[M_NV]) qacc[d] = m[M_INTEGRATOR] == PH_DISCRETE ? smooth[d] + PH_AT(W_SHIFT)[d] : smooth[d];
    sync();
    int solved = ph_solve_pattern(m, w, PH_METRIC, qacc);
    if (PH_BY_ROWS && solved) ph_put_thin(m, w, m_none());
    if (m[M_INTEGRATOR] == PH_DISCRETE && !solved) ph_factor_metric(m, f, v, w);
    if (m[M_INTEGRATOR] != PH_DISCRETE && PH_BY_ROWS && !solved) ph_factor_inertia(m, f, v, w);
    if (!solved) ph_solve(m, PH_AT(W_QLD), PH_AT(W_QLDIAGINV), qacc);
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
LFN void ph_free_bias_slope(const int *m, const real *w, int b, int k, real *out)
{
    int first = (m + m[M_BODY_DOFADR])[b];
    const real *I = PH_AT(W_CRB) + 10 * b, *cvel = PH_AT(W_CVEL) + 6 * b, *cdof = PH_AT(W_CDOF) + 6 * first;
    const real *qvel = PH_AT(W_QVEL) + first;
    real rotation[6], a[6], t[6];
    if (k < 3 && (m + m[M_BODY_FLAGS])[b] & PH_BODY_FREE) {
        ph_zero(rotation, 6);
        ph_add_motion(rotation, cdof + 18, qvel + 3, 3);
        ph_cross_motion(cdof + 6 * k, rotation, a);
    } else {
        ph_copy(a, PH_AT(W_CDOF_DOT) + 6 * (first + k), 6);
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
LFN void ph_add_free_slopes(const int *m, const ureal *f, const real *v, const real *w, int first, int n, int i,
                            int tendons, real h, real *A)
{
    const int *adr = m + m[tendons ? M_DOF_TEN_ADR : M_DOF_ACT_ADR], *pair = m + m[tendons ? M_DOF_TEN : M_DOF_ACT];
    const int *row = m + m[tendons ? M_TEN_J_ROWADR : M_MOMENT_ROWADR];
    const int *col = m + m[tendons ? M_TEN_J_COLIND : M_MOMENT_COLIND];
    const real *moment = PH_AT(W_ACTUATOR_MOMENT);
    rolled for (int k = adr[first + i]; k < adr[first + i + 1]; ++k)
    {
        int a = pair[2 * k], at = pair[2 * k + 1];
        real slope = tendons ? -ph_tendon_slope(m, f, v, w, a) : PH_AT(W_ACTUATOR_DERIV)[a];
        real s = -(h * slope) * (tendons ? ph_ten_j(m, f, v, w, at) : moment[at]);
        rolled for (int e = row[a]; e < row[a + 1]; ++e)
        {
            int j = col[e] - first;
            real other = tendons ? ph_ten_j(m, f, v, w, e) : moment[e];
            if (j >= 0 && j < n) A[6 * i + j] = fma(s, other, A[6 * i + j]);
        }
    }
}

/*
 * The accelerations of the n dofs of body b, of six that x has, with all that moves the body apart from constraints,
 * also where qM has no entry, and with the exact derivative of its gyroscopic forces.
 */
LFN void ph_free_step(const int *m, const ureal *f, const real *v, const real *w, int b, int n, real *x)
{
    int first = (m + m[M_BODY_DOFADR])[b];
    const int *nnz = m + m[M_M_ROWNNZ], *adr = m + m[M_M_ROWADR], *col = m + m[M_M_COLIND];
    const real *M = PH_METRIC;
    int late = m[M_INTEGRATOR] == PH_DISCRETE;
    real A[36], force[6], h = par(m, f, v, M_TIMESTEP, 0);
    ph_zero(A, 36);
    for (int i = 0; i < 6; ++i) A[7 * i] = splat((ureal)(i >= n));
    for (int i = 0; i < n; ++i) {
        rolled for (int e = adr[first + i]; e < adr[first + i] + nnz[first + i]; ++e)
        {
            int j = col[e] - first;
            A[6 * i + j] = M[e];
            A[6 * j + i] = M[e];
        }
    }
    for (int i = 0; i < n && !late; ++i) {
        A[7 * i] = fma(h, ph_dof_slope(m, f, v, w, first + i), A[7 * i]);
        ph_add_free_slopes(m, f, v, w, first, n, i, 0, h, A);
        if (m[M_NTENDON] > 0) ph_add_free_slopes(m, f, v, w, first, n, i, 1, h, A);
    }
    for (int k = 0; k < n; ++k) {
        ph_free_bias_slope(m, w, b, k, force);
        for (int i = 0; i < n; ++i)
            A[6 * i + k] = fma(h, ph_dot6(PH_AT(W_CDOF) + 6 * (first + i), force), A[6 * i + k]);
    }
    if (m[M_SLOPE] > 0 && !late) {
        for (int k = 0; k < n; ++k) {
            const real *T = PH_AT(W_SLOPE_BODY) + 36 * b;
            for (int r = 0; r < 6; ++r) force[r] = ph_dot6(T + 6 * r, PH_AT(W_CDOF) + 6 * (first + k));
            for (int i = 0; i < n; ++i)
                A[6 * i + k] = fma(-h, ph_dot6(PH_AT(W_CDOF) + 6 * (first + i), force), A[6 * i + k]);
        }
    }
    ph_solve6(A, x);
}

/* With Euler, worlds of which no dof is damped have qacc itself. */
LFN void ph_keep_undamped(const int *m, const ureal *f, const real *v, const real *w, real *qacc)
{
    mask damped = m_none();
    rolled for (int d = 0; d < m[M_NV]; ++d)
    {
        real p[2];
        int poly = (m + m[M_DOF_FLAGS])[d] & PH_DOF_POLY;
        real b = ph_coefficients(m, f, v, M_DOF_DAMPING, M_DOF_DAMPINGPOLY, poly, d, p);
        damped = m_or(damped, m_not(eq(rabs(b) + (rabs(p[0]) + rabs(p[1])), splat(0))));
    }
    each (d, m[M_NV]) qacc[d] = select(damped, qacc[d], PH_AT(W_QACC)[d]);
    sync();
}

/* qacc_step: what qvel grows by in a time step, divided by it. */
LFN void ph_step_acceleration(const int *m, const ureal *f, const real *v, real *w)
{
    const int *nnz = m + m[M_M_ROWNNZ], *adr = m + m[M_M_ROWADR];
    real *qacc = PH_AT(W_QACC_STEP), *L = PH_AT(W_QLD), *inv = PH_AT(W_QLDIAGINV), h = par(m, f, v, M_TIMESTEP, 0);
    if (m[M_INTEGRATOR] == PH_DISCRETE || (m[M_INTEGRATOR] == 0 && !(m[M_FLAGS] & PH_EULERDAMP))) {
        each (d, m[M_NV]) qacc[d] = PH_AT(W_QACC)[d];
        sync();
        return;
    }
    ph_slopes(m, f, v, w);
    each (d, m[M_NV]) {
        qacc[d] = PH_AT(W_QFRC_SMOOTH)[d] + PH_AT(W_QFRC_CONSTRAINT)[d];
        int last = adr[d] + nnz[d] - 1;
        rolled for (int e = adr[d]; e <= last; ++e)
        {
            real x = PH_AT(W_QM)[e] + splat(0);
            if (ph_is_implicit(m, e, last)) x = fma(h, ph_implicit_slope(m, f, v, w, d, e), PH_AT(W_QM)[e]);
            PH_AT(W_QH)[e] = x;
            L[e] = x;
            if (m[M_INTEGRATOR] == PH_IMPLICIT) {
                int j = (m + m[M_M_COLIND])[e];
                real more = ph_slope_below(m, w, d, j) - ph_slope_above(m, w, d, j);
                PH_AT(W_QU)[e] = ph_is_alone(m, d) ? x + splat(0) : fma(h, more, x);
            }
        }
    }
    sync();
    int uneven = m[M_INTEGRATOR] == PH_IMPLICIT, solved = 0;
    if (uneven) ph_solve_uneven(m, L, PH_AT(W_QU), qacc);
    if (!uneven) solved = ph_solve_pattern(m, w, PH_AT(W_QH), qacc);
    if (!uneven && !solved) {
        ph_factor(m, L, inv);
        mask thin = ph_any_thin(m, PH_AT(W_QH), inv);
        if (any(thin)) ph_mend_implicit(m, f, v, w, thin, PH_AT(W_QH));
        ph_solve(m, L, inv, qacc);
    }
    if (m[M_INTEGRATOR] == 0 && m[M_DOF_DAMPING] < 0) ph_keep_undamped(m, f, v, w, qacc);
    each (i, m[M_NFREE]) {
        int b = (m + m[M_FREE_BODY])[i], first = (m + m[M_BODY_DOFADR])[b];
        int n = (m + m[M_BODY_DOFNUM])[b];
        real x[6];
        ph_zero(x, 6);
        for (int k = 0; k < n; ++k) x[k] = PH_AT(W_QFRC_SMOOTH)[first + k] + PH_AT(W_QFRC_CONSTRAINT)[first + k];
        ph_free_step(m, f, v, w, b, n, x);
        ph_copy(qacc + first, x, n);
    }
    sync();
}

/* Positions of joint j after a time h with the velocities in qvel. */
LFN void ph_move_joint(const int *m, real *w, int j, real h)
{
    int type = (m + m[M_JNT_TYPE])[j];
    real *qpos = PH_AT(W_QPOS) + (m + m[M_JNT_QPOSADR])[j];
    const real *qvel = PH_AT(W_QVEL) + (m + m[M_JNT_DOFADR])[j];
    if (type >= 2) {
        qpos[0] = fma(h, qvel[0], qpos[0]);
        return;
    }
    if (type == 0) ph_add_scaled(qpos, qvel, h, 3);
    ph_quat_integrate(qpos + (type == 0 ? 3 : 0), qvel + (type == 0 ? 3 : 0), h);
}

/* Activations after a time step; setpoints on circles stay near what they are setpoints of. */
LFN void ph_integrate_activations(const int *m, const ureal *f, const real *v, real *w)
{
    real *act = PH_AT(W_ACT);
    if (m[M_FLAGS] & PH_NO_ACTUATION) return;
    each (i, m[M_NACTUATOR]) {
        int last = (m + m[M_ACT_ACTADR])[i], disabled = (m + m[M_ACT_FLAGS])[i] & PH_ACT_DISABLED;
        int motor = m[M_NMOTOR] > 0 && (m + m[M_ACT_GAINTYPE])[i] == PH_GAIN_DCMOTOR;
        for (int adr = last - (m + m[M_ACT_ACTNUM])[i] + 1; adr <= last; ++adr) {
            real dot = disabled ? splat(0) : PH_AT(W_ACT_DOT)[adr];
            act[adr] = motor ? ph_next_motor(m, f, v, w, i, adr, dot) : ph_next_activation(m, f, v, w, i, adr, dot);
        }
        if (last >= 0 && (m + m[M_ACT_GAINTYPE])[i] != PH_GAIN_PID && (m + m[M_ACT_FLAGS])[i] & PH_ACT_CIRCLE)
            act[last] = ph_nearest_setpoint(m, f, v, i, act[last], PH_AT(W_ACTUATOR_LENGTH)[ph_out(m, i)]);
        if (m[M_NSO3] > 0 && last >= 0 && (m + m[M_ACT_TRNTYPE])[i] == 6) ph_anchor(m, w, i);
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
LFN void ph_stage_turn(const int *m, real *w)
{
    const real *turn = PH_AT(W_RK) + m[M_NQ] + 3 * m[M_NV] + 2 * m[M_NA];
    each (j, m[M_NJNT]) {
        int type = (m + m[M_JNT_TYPE])[j], d = (m + m[M_JNT_DOFADR])[j] + (type == 0 ? 3 : 0);
        if (type < 2) ph_turn_rate(turn + d, PH_AT(W_QVEL) + d);
    }
    sync();
}

/*
 * Adds what a stage found to the sums; stage 0 keeps the state, too, in the order that it has in w, and at the end, if
 * there are activations, the lengths and velocities of actuators, at which these are integrated.
 */
LFN void ph_stage_add(const int *m, real *w, int stage)
{
    int nq = m[M_NQ], nv = m[M_NV], na = m[M_NA];
    real weight = splat((ureal)(stage == 0 || stage == 3 ? 1.0 / 6 : 1.0 / 3)), *sum = PH_AT(W_RK) + nq + nv + na;
    if (stage > 0) ph_stage_turn(m, w);
    each (i, na > 0 && stage == 0 ? m[M_NOUT] : 0) {
        real *kept = PH_AT(W_RK) + nq + 4 * nv + 2 * na;
        kept[i] = PH_AT(W_ACTUATOR_LENGTH)[i];
        kept[m[M_NOUT] + i] = PH_AT(W_ACTUATOR_VELOCITY)[i];
    }
    each (i, nq) PH_AT(W_RK)[i] = stage ? PH_AT(W_RK)[i] : PH_AT(W_QPOS)[i];
    each (d, nv) {
        real *kept = PH_AT(W_RK) + nq;
        kept[d] = stage ? kept[d] : PH_AT(W_QVEL)[d];
        sum[d] = fma(weight, PH_AT(W_QVEL)[d], stage ? sum[d] : splat(0));
        sum[nv + d] = fma(weight, PH_AT(W_QACC)[d], stage ? sum[nv + d] : splat(0));
    }
    each (i, na) {
        real *kept = PH_AT(W_RK) + nq + nv, *dot = sum + 2 * nv;
        kept[i] = stage ? kept[i] : PH_AT(W_ACT)[i];
        dot[i] = fma(weight, PH_AT(W_ACT_DOT)[i], stage ? dot[i] : splat(0));
    }
    sync();
}

/* The positions of the state before the step, moved for a time h with the velocities in qvel. */
LFN void ph_stage_move(const int *m, real *w, real h)
{
    each (i, m[M_NQ]) PH_AT(W_QPOS)[i] = PH_AT(W_RK)[i];
    sync();
    each (j, m[M_NJNT]) ph_move_joint(m, w, j, h);
    sync();
}

/* The state before the step again. */
LFN void ph_stage_back(const int *m, real *w)
{
    const real *kept = PH_AT(W_RK);
    each (i, m[M_NQ]) PH_AT(W_QPOS)[i] = kept[i];
    each (d, m[M_NV]) PH_AT(W_QVEL)[d] = (kept + m[M_NQ])[d];
    each (i, m[M_NA]) PH_AT(W_ACT)[i] = (kept + m[M_NQ] + m[M_NV])[i];
    sync();
}

/* The state that a stage is evaluated at: that before the step, moved with what the last stage found. */
LFN void ph_stage_state(const int *m, const ureal *f, const real *v, real *w, int stage)
{
    const real *kept = PH_AT(W_RK) + m[M_NQ];
    real h = splat((ureal)(stage == 3 ? 1 : 0.5)) * par(m, f, v, M_TIMESTEP, 0);
    ph_stage_move(m, w, h);
    each (d, m[M_NV]) {
        (PH_AT(W_RK) + m[M_NQ] + 3 * m[M_NV] + 2 * m[M_NA])[d] = h * PH_AT(W_QVEL)[d];
        PH_AT(W_QVEL)[d] = fma(h, PH_AT(W_QACC)[d], kept[d]);
    }
    each (i, m[M_NA]) PH_AT(W_ACT)[i] = fma(h, PH_AT(W_ACT_DOT)[i], kept[m[M_NV] + i]);
    sync();
}

/* The state after the step, from the sums of all stages. */
LFN void ph_stage_end(const int *m, const ureal *f, const real *v, real *w)
{
    int nv = m[M_NV], na = m[M_NA];
    const real *kept = PH_AT(W_RK) + m[M_NQ], *sum = kept + nv + na;
    real h = par(m, f, v, M_TIMESTEP, 0);
    each (i, na) {
        PH_AT(W_ACT)[i] = kept[nv + i];
        PH_AT(W_ACT_DOT)[i] = sum[2 * nv + i];
    }
    each (d, nv) PH_AT(W_QVEL)[d] = sum[d];
    each (i, na > 0 ? m[M_NOUT] : 0) {
        const real *first = kept + 4 * nv + 2 * na;
        PH_AT(W_ACTUATOR_LENGTH)[i] = first[i];
        PH_AT(W_ACTUATOR_VELOCITY)[i] = first[m[M_NOUT] + i];
    }
    sync();
    ph_integrate_activations(m, f, v, w);
    ph_stage_move(m, w, h);
    each (d, nv) PH_AT(W_QVEL)[d] = fma(h, sum[nv + d], kept[d]);
    sync();
}

/* Activations, velocities, and with the new velocities positions, after a time step. */
LFN void ph_integrate(const int *m, const ureal *f, const real *v, real *w)
{
    real h = par(m, f, v, M_TIMESTEP, 0);
    if (m[M_INTEGRATOR] == PH_RK4) {
        ph_stage_end(m, f, v, w);
        return;
    }
    ph_step_acceleration(m, f, v, w);
    ph_integrate_activations(m, f, v, w);
    each (d, m[M_NV]) PH_AT(W_QVEL)[d] = fma(h, PH_AT(W_QACC_STEP)[d], PH_AT(W_QVEL)[d]);
    sync();
    each (j, m[M_NJNT]) ph_move_joint(m, w, j, h);
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
LFN void ph_reset(const int *m, const ureal *f, const real *v, real *w, mask which)
{
    int inputs = m[W_MOCAP_POS] - m[W_QVEL];
    real *rest = PH_AT(W_QVEL);
    sync(); /* all threads of the team have seen what led here */
    each (i, m[M_NQ]) PH_AT(W_QPOS)[i] = select(which, par(m, f, v, M_QPOS0, i), PH_AT(W_QPOS)[i]);
    each (i, inputs) rest[i] = select(which, splat(0), rest[i]);
    sync();
    each (k, m[M_NQUATCTRL]) {
        int i = (m + m[M_QUATCTRL])[k];
        PH_AT(W_CTRL)[i] = select(which, splat(1), PH_AT(W_CTRL)[i]);
    }
    each (i, m[M_NEQ]) PH_AT(W_EQ_ACTIVE)[i] = select(which, par(m, f, v, M_EQ_ACTIVE0, i), PH_AT(W_EQ_ACTIVE)[i]);
    each (i, m[M_NV]) PH_AT(W_QACC_WARMSTART)[i] = select(which, splat(0), PH_AT(W_QACC_WARMSTART)[i]);
    each (i, 3 * m[M_NMOCAP])
        PH_AT(W_MOCAP_POS)[i] = select(which, par(m, f, v, M_RESET_MOCAP_POS, i), PH_AT(W_MOCAP_POS)[i]);
    each (i, 4 * m[M_NMOCAP])
        PH_AT(W_MOCAP_QUAT)[i] = select(which, par(m, f, v, M_RESET_MOCAP_QUAT, i), PH_AT(W_MOCAP_QUAT)[i]);
    sync();
}
