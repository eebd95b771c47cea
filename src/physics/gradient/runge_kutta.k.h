/*
 * The gradient of a time step of Runge-Kutta's integrator (integrate.k.h): its four stages are made again, with their
 * accelerations, and their bars go from the last one to the first. Part of the kernels that include it, in step.k.h.
 *
 * Stage k moves the state before the step for a time h_k with the rates and accelerations of the stage before. Rates
 * are velocities, but of rotations those of the rotation vector u since the step began, so they depend on u (ph_turn_rate).
 */

/* What a stage keeps, in the order of the memory. */
#define PH_KEPT_QVEL(k) (PH_RK_STAGE(k) + m[M_NQ])
#define PH_KEPT_RATE(k) (PH_KEPT_QVEL(k) + m[M_NV])
#define PH_KEPT_QACC(k) (PH_KEPT_RATE(k) + m[M_NV])
#define PH_KEPT_ACT(k) (PH_KEPT_QACC(k) + m[M_NV])
#define PH_KEPT_DOT(k) (PH_KEPT_ACT(k) + m[M_NA])

LFN ureal ph_stage_weight(int stage) { return (ureal)(stage == 0 || stage == 3 ? 1.0 / 6 : 1.0 / 3); }
/* How long stage k moves the state before the step, as a part of a time step. */
LFN ureal ph_stage_part(int stage) { return (ureal)(stage == 3 ? 1 : 0.5); }

/* The stages of the step again. */
LFN void ph_repeat_stages(const int *m, const ureal *f, const real *v, real *w, int *s, mask on, mask bad)
{
    lint most[1];
    most[0] = isplat(0);
    for (int k = 0; k < 4; ++k) {
        if (k > 0) ph_stage_state(m, f, v, w, k);
        ph_forward(m, f, v, w, s, on, bad, m[M_STEP_NGEOM], m[M_STEP_NSITE], 0, 0, most);
        each (i, m[M_NQ]) PH_RK_STAGE(k)[i] = PH_AT(W_QPOS)[i];
        each (d, m[M_NV]) {
            PH_KEPT_QVEL(k)[d] = PH_AT(W_QVEL)[d];
            PH_KEPT_QACC(k)[d] = PH_AT(W_QACC)[d];
        }
        each (i, m[M_NA]) {
            PH_KEPT_ACT(k)[i] = PH_AT(W_ACT)[i];
            PH_KEPT_DOT(k)[i] = PH_AT(W_ACT_DOT)[i];
        }
        sync();
        ph_stage_add(m, w, k);
        each (d, m[M_NV]) PH_KEPT_RATE(k)[d] = PH_AT(W_QVEL)[d];
        sync();
    }
}

/* Bars of the sums over stages, and of the state before the step by itself, from gradients of the state after it. */
LFN void ph_pull_stages(const int *m, const ureal *f, const real *v, real *w, const real *qpos_grad,
                        const real *qvel_grad, const real *act_grad)
{
    real h = par(m, f, v, M_TIMESTEP, 0);
    const real *sum = PH_AT(W_RK) + m[M_NQ] + m[M_NV] + m[M_NA];
    ph_stage_back(m, w);
    each (d, m[M_NV]) {
        PH_RK_BARS(GR_ACCS)[d] = h * qvel_grad[d];
        PH_RK_BARS(GR_SPEED)[d] = qvel_grad[d];
        PH_RK_BARS(GR_RATES)[d] = splat(0);
        PH_RK_BARS(GR_TURN)[d] = splat(0);
        PH_RK_BARS(GR_RATE)[d] = splat(0);
        PH_RK_BARS(GR_ACC)[d] = splat(0);
    }
    each (j, m[M_NJNT]) ph_pull_positions(m, w, j, sum, qpos_grad, h, PH_DOFS(GD_AFTER));
    sync();
    each (j, m[M_NJNT]) ph_pull_move(m, j, sum, PH_DOFS(GD_AFTER), h, PH_RK_BARS(GR_TURN), PH_RK_BARS(GR_RATES));
    ph_pull_activations(m, f, v, w, sum + 2 * m[M_NV], act_grad, PH_RK_ACTS(GA_ACT), PH_RK_ACTS(GA_DOT));
    each (i, m[M_NA]) PH_ACTS(GA_DOT)[i] = splat(0);
    sync();
}

/* The state of a stage, and the bars of its acceleration and of act_dot. */
LFN void ph_pull_stage_begin(const int *m, const ureal *f, const real *v, real *w, int stage, mask bad)
{
    real weight = splat(ph_stage_weight(stage));
    each (i, m[M_NQ]) PH_AT(W_QPOS)[i] = PH_RK_STAGE(stage)[i];
    each (d, m[M_NV]) {
        PH_AT(W_QVEL)[d] = PH_KEPT_QVEL(stage)[d];
        PH_DOFS(GD_Z)[d] = fma(weight, PH_RK_BARS(GR_ACCS)[d], PH_RK_BARS(GR_ACC)[d]);
        PH_DOFS(GD_W)[d] = splat(0);
        PH_DOFS(GD_MORE)[d] = splat(0);
        PH_DOFS(GD_TURN)[d] = splat(0);
        PH_DOFS(GD_SPEED)[d] = splat(0);
    }
    each (i, m[M_NA]) {
        PH_AT(W_ACT)[i] = PH_KEPT_ACT(stage)[i];
        PH_ACTS(GA_ACT)[i] = splat(0);
        PH_ACTS(GA_DOT)[i] = fma(weight, PH_RK_ACTS(GA_DOT)[i], PH_ACTS(GA_DOT)[i]);
    }
    sync();
    ph_prepare(m, f, v, w, bad);
    each (d, m[M_NV]) PH_AT(W_QACC)[d] = PH_KEPT_QACC(stage)[d];
    sync();
}

/* The bars of a velocity x and of u, from that of the rate that ph_turn_rate makes of them: x gets its own. */
LFN void ph_pull_turn_rate(const real *u, const real *rate, real *x, real *u_bar)
{
    real half = splat((ureal)0.5), t = v3_dot(u, u), once[3], twice[3], y[3], out[3];
    real c = fma(t, splat((ureal)(1.0 / 47900160)), splat((ureal)(1.0 / 1209600)));
    real slope = fma(t, splat((ureal)(4.0 / 47900160)), splat((ureal)(3.0 / 1209600)));
    c = fma(t, fma(t, c, splat((ureal)(1.0 / 30240))), splat((ureal)(1.0 / 720)));
    c = fma(t, c, splat((ureal)(1.0 / 12)));
    slope = fma(t, fma(t, slope, splat((ureal)(2.0 / 30240))), splat((ureal)(1.0 / 720)));
    v3_cross(u, x, once);
    v3_cross(u, once, twice);
    /* by u: of u x x / 2, and of c u x (u x x) */
    v3_cross(x, rate, y);
    v3_scale(y, half, u_bar);
    v3_cross(once, rate, y);
    ph_add_scaled(u_bar, y, c, 3);
    v3_cross(rate, u, out);
    v3_cross(x, out, y);
    ph_add_scaled(u_bar, y, c, 3);
    ph_add_scaled(u_bar, u, splat(2) * slope * v3_dot(rate, twice), 3);
    ph_copy(x, rate, 3);
    ph_add_turns(u, -half, c, x);
}

/*
 * The bars of a stage go to the stage before it, and to the state before the step. After the first stage they are in
 * GD_TURN, GD_SPEED and GA_ACT, with the signs that a step of other integrators leaves.
 */
LFN void ph_pull_stage_end(const int *m, const ureal *f, const real *v, real *w, int stage)
{
    real weight = splat(ph_stage_weight(stage)), h = splat(ph_stage_part(stage)) * par(m, f, v, M_TIMESTEP, 0);
    real *rate = PH_RK_BARS(GR_RATE), *speed = PH_DOFS(GD_SPEED), *turn = PH_RK_BARS(GR_TURN);
    each (d, m[M_NV]) {
        rate[d] = fma(weight, PH_RK_BARS(GR_RATES)[d], rate[d]);
        PH_DOFS(GD_AFTER)[d] = -PH_DOFS(GD_TURN)[d];
        speed[d] = -speed[d];
    }
    sync();
    each (j, m[M_NJNT]) {
        int type = (m + m[M_JNT_TYPE])[j], d = (m + m[M_JNT_DOFADR])[j];
        real x[6], u[3], u_bar[3];
        int n = type == 0 ? 6 : type == 1 ? 3 : 1, from = type == 0 ? 3 : 0;
        ph_copy(x, rate + d, n);
        ph_zero(u_bar, 3);
        if (type < 2 && stage > 0) {
            v3_scale(PH_KEPT_RATE(stage - 1) + d + from, h, u);
            ph_copy(x + from, PH_KEPT_QVEL(stage) + d + from, 3);
            ph_pull_turn_rate(u, rate + d + from, x + from, u_bar);
        }
        for (int k = 0; k < n; ++k) {
            speed[d + k] = speed[d + k] + x[k];
            rate[d + k] = splat(0);
        }
        if (type < 2) v3_scale(u_bar, h, rate + d + from);
        if (stage > 0)
            ph_pull_move(m, j, PH_KEPT_RATE(stage - 1), PH_DOFS(GD_AFTER), h, turn, rate);
        else
            for (int k = d; k < d + n; ++k) turn[k] = turn[k] + PH_DOFS(GD_AFTER)[k];
    }
    sync();
    each (d, m[M_NV]) {
        PH_RK_BARS(GR_SPEED)[d] = PH_RK_BARS(GR_SPEED)[d] + speed[d];
        PH_RK_BARS(GR_ACC)[d] = h * speed[d];
        PH_DOFS(GD_TURN)[d] = -turn[d];
        speed[d] = -PH_RK_BARS(GR_SPEED)[d];
    }
    each (i, m[M_NA]) {
        real x = PH_ACTS(GA_ACT)[i];
        PH_ACTS(GA_DOT)[i] = h * x;
        PH_RK_ACTS(GA_ACT)[i] = PH_RK_ACTS(GA_ACT)[i] + x;
        PH_ACTS(GA_ACT)[i] = PH_RK_ACTS(GA_ACT)[i];
    }
    sync();
}
