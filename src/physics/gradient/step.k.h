/*
 * The gradient of a time step of native physics, by its residual (doc/design/gradients.md). Kind world. Backward of
 * k_native_step with one step in it, without its iterations: what a step needs is computed again from the state before
 * it, and its acceleration is taken as it was.
 */
#define STET_CALLS 1
#include "stet/lang.h"

#include "physics/forward.k.h"
#include "physics/gradient/memory.k.h"
#include "physics/gradient/tree.k.h"
#include "physics/gradient/passive.k.h"
#include "physics/gradient/actuate.k.h"
#include "physics/gradient/contact/contacts.k.h"
#include "physics/gradient/contacts.k.h"
#include "physics/gradient/parameters.k.h"
#include "physics/gradient/rows.k.h"

/* ---- the integrator ---------------------------------------------------------------------------------------------- */

/* Is what the integrator adds to qvel not the time step times qacc? */
LFN int ph_is_damped(const int *m) { return m[M_INTEGRATOR] != 0 || m[M_FLAGS] & PH_EULERDAMP; }

/*
 * The accelerations that the integrator makes of qacc, in qacc_step; the matrix that it uses stays factored. It solves
 * (M + h D) step = M qacc, where M qacc is the sum of all forces.
 */
LFN void ph_repeat_step(const int *m, const ureal *f, const real *v, real *w)
{
    ph_mul_inertia(m, w, PH_AT(W_QACC), PH_AT(W_QFRC_SMOOTH));
    each (d, m[M_NV]) PH_AT(W_QFRC_CONSTRAINT)[d] = splat(0);
    sync();
    ph_step_acceleration(m, f, v, w);
}

/* x = the transposed inverse of the integrator's matrix times x. Standalone free bodies have one of six rows each. */
LFN void ph_solve_transposed(const int *m, const ureal *f, const real *v, real *w, real *x, real *free)
{
    each (i, m[M_NFREE]) {
        int b = (m + m[M_FREE_BODY])[i], first = (m + m[M_BODY_DOFADR])[b];
        for (int k = 0; k < 6; ++k) {
            real column[6];
            ph_zero(column, 6);
            column[k] = splat(1);
            ph_free_step(m, f, v, w, b, 6, column);
            free[first + k] = ph_dot6(column, x + first);
        }
    }
    sync();
    int solved = ph_solve_pattern(m, w, PH_AT(W_QH), x);
    if (!solved) ph_solve(m, PH_AT(W_QLD), PH_AT(W_QLDIAGINV), x);
    each (i, m[M_NFREE]) {
        int first = (m + m[M_BODY_DOFADR])[(m + m[M_FREE_BODY])[i]];
        ph_copy(x + first, free + first, 6);
    }
    sync();
}

/*
 * Bars of the state after the step: of positions before it go to GD_TURN, of qvel to GD_SPEED, w to GD_W; z becomes the
 * bar of qacc. Without damping w belongs to that which there may be.
 */
LFN void ph_pull_integration(const int *m, const ureal *f, const real *v, real *w, const real *qpos_grad,
                             const real *qvel_grad, int wanted)
{
    real h = par(m, f, v, M_TIMESTEP, 0), *z = PH_DOFS(GD_Z), *step = PH_DOFS(GD_STEP), *x = PH_DOFS(GD_W);
    real *after = PH_AT(W_GRAD); /* of the solver, which does not run */
    ph_repeat_step(m, f, v, w);
    each (d, m[M_NV]) {
        PH_DOFS(GD_MORE)[d] = PH_AT(W_QACC_STEP)[d] - PH_AT(W_QACC)[d];
        after[d] = fma(h, PH_AT(W_QACC_STEP)[d], PH_AT(W_QVEL)[d]);
    }
    sync();
    each (j, m[M_NJNT]) ph_pull_positions(m, w, j, after, qpos_grad, h, PH_DOFS(GD_AFTER));
    each (d, m[M_NV]) {
        PH_DOFS(GD_TURN)[d] = splat(0);
        step[d] = splat(0);
    }
    sync();
    each (j, m[M_NJNT]) ph_pull_move(m, j, after, PH_DOFS(GD_AFTER), h, PH_DOFS(GD_TURN), step);
    sync();
    each (d, m[M_NV]) {
        step[d] = step[d] + qvel_grad[d];
        PH_DOFS(GD_SPEED)[d] = -step[d];
        PH_DOFS(GD_TURN)[d] = -PH_DOFS(GD_TURN)[d]; /* these are of z' r, which is subtracted */
        x[d] = h * step[d];
        z[d] = x[d];
    }
    sync();
    if (ph_is_damped(m)) {
        ph_solve_transposed(m, f, v, w, x, z);
        ph_mul_inertia(m, w, x, z);
    } else if (wanted == PH_WANTED_DAMPED) {
        ph_solve(m, PH_AT(W_QLD), PH_AT(W_QLDIAGINV), x);
    } else {
        each (d, m[M_NV]) x[d] = splat(0);
    }
    sync();
}

/* ---- smooth forces ----------------------------------------------------------------------------------------------- */

/* Bars of all forces but those of constraints. */
LFN void ph_pull_smooth(const int *m, const ureal *f, const real *v, real *w, mask on, mask bad, real *ctrl_grad,
                        real *xfrc_grad)
{
    if (!(m[M_FLAGS] & PH_NO_ACTUATION)) {
        ph_release_limits(m, f, v, w);
        each (one, 1) {
            for (int i = one; i < m[M_NACTUATOR]; ++i) ph_pull_actuator(m, f, v, w, i, on, bad, ctrl_grad);
        }
        sync();
    }
    ph_pull_tendons(m, f, v, w);
    each (j, m[M_NJNT]) ph_pull_joint_spring(m, f, v, w, j);
    each (i, m[M_NBODY] - 1) {
        if (m[M_FLAGS] & PH_GRAVCOMP) ph_pull_gravcomp(m, f, v, w, i + 1);
        if (m[M_FLAGS] & PH_FLUID) ph_pull_fluid(m, f, v, w, i + 1);
        ph_pull_applied(m, w, i + 1, on, xfrc_grad);
    }
    sync();
    each (d, m[M_NV]) ph_pull_dof_damper(m, f, v, w, d);
    sync();
    each (i, m[M_NFREE]) ph_pull_free(m, f, v, w, i);
    sync();
    ph_pull_tree(m, w);
}

/* A mocap body's pose moves all that is below it. */
LFN void ph_pull_mocap(const int *m, const real *w, int b, mask on, real *pos_grad, real *quat_grad)
{
    int mocap = (m + m[M_BODY_MOCAPID])[b];
    const real *quat = PH_AT(W_MOCAP_QUAT) + 4 * mocap, *at = PH_AT(W_XPOS) + 3 * b, *R = PH_AT(W_XMAT) + 9 * b;
    real above[6 * PH_CARRIED], bars[6 * PH_CARRIED], motion[6], off[3], turn[3], x[4];
    const int own[PH_CARRIED] = {GB_FORCE, GB_SPEED, GB_MOMENTUM, GB_PUSH, GB_W_FORCE, GB_W_MOMENTUM};
    ph_carried(m, w, b, above);
    for (int k = 0; k < PH_CARRIED; ++k) ph_copy(bars + 6 * k, PH_BODIES(own[k]) + 6 * b, 6);
    ph_pull_motion(above, bars, PH_BODIES(GB_POSE) + 6 * b, motion);
    ph_offset(m, w, b, at, off);
    v3_cross(off, motion + 3, x);
    for (int k = 0; k < 3; ++k) x[k] = motion[k] - x[k];
    m3_mul_transposed(R, x, turn);
    ph_zero(x, 4);
    ph_push_quat(quat, turn, x);
    for (int k = 0; k < 3; ++k) ph_put_gradient(pos_grad, 3 * mocap + k, pos_grad[3 * mocap + k] - motion[3 + k], on);
    for (int k = 0; k < 4; ++k) ph_put_gradient(quat_grad, 4 * mocap + k, quat_grad[4 * mocap + k] - x[k], on);
}

/* What forces are made of, of the state in w: all stages of forward dynamics but the accelerations. */
LFN void ph_prepare(const int *m, const ureal *f, const real *v, real *w, mask bad)
{
    ph_kinematics(m, f, v, w, m[M_STEP_NGEOM], m[M_STEP_NSITE]);
    ph_com(m, f, v, w);
    ph_tendon(m, f, v, w);
    ph_inertia(m, f, v, w);
    ph_tendon_armature(m, f, v, w);
    ph_factor_inertia(m, f, v, w); /* which finds thin pivots */
    ph_transmission(m, f, v, w);
    ph_velocity(m, w);
    ph_passive(m, f, v, w);
    ph_bias(m, f, v, w);
    ph_actuation(m, f, v, w, bad);
}

/* ---- Runge-Kutta ------------------------------------------------------------------------------------------------- */

/*
 * Its four stages (integrate.k.h) are made again, with their accelerations, and their bars go from the last one to the
 * first.
 *
 * Stage k moves the state before the step for a time h_k with the rates and accelerations of the stage before. Rates
 * are velocities, but of rotations those of the rotation vector u since the step began, so they depend on u
 * (ph_turn_rate).
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

/* ---- the kernel -------------------------------------------------------------------------------------------------- */

/*
 * Gradients of one time step of the worlds whose `stepped` [1] is not 0. The state and the inputs are those before the
 * step; qacc [nv] is the acceleration that it found (qacc_warmstart after it). qpos_grad, qvel_grad, act_grad: of the
 * state after the step, which become those of the state before it. To the gradients of inputs the step's part is added.
 * The memory w has PH_GRADIENT_MEMORY reals. wanted: PH_WANTED_…; then places and parameters_grad are as in
 * parameters.k.h.
 */
world_kernel void k_native_pull(const int *m, const ureal *f, const real *v, const lint *stepped, treal *w, tint *s,
                                const real *qpos, const real *qvel, const real *act, const real *ctrl,
                                const real *qfrc_applied, const real *xfrc_applied, const real *mocap_pos,
                                const real *mocap_quat, const real *eq_active, const real *qacc, real *qpos_grad,
                                real *qvel_grad, real *act_grad, real *ctrl_grad, real *qfrc_applied_grad,
                                real *xfrc_applied_grad, real *mocap_pos_grad, real *mocap_quat_grad, const int *places,
                                real *parameters_grad, int wanted)
{
    mask on = m_not(ieq(stepped[0], isplat(0)));
    if (!any(on)) return;
    ph_take(m, w, qpos, qvel, act, ctrl, qfrc_applied, xfrc_applied, mocap_pos, mocap_quat, qacc, eq_active);
    mask bad = ph_bad_controls(m, f, v, w);
    int nstage = m[M_INTEGRATOR] == PH_RK4 ? 4 : 1;
    if (nstage > 1) {
        ph_repeat_stages(m, f, v, w, s, on, bad);
        ph_pull_stages(m, f, v, w, qpos_grad, qvel_grad, act_grad);
    } else {
        ph_prepare(m, f, v, w, bad);
        each (d, m[M_NV]) PH_AT(W_QACC)[d] = qacc[d];
        sync();
        ph_pull_integration(m, f, v, w, qpos_grad, qvel_grad, wanted);
        ph_pull_activations(m, f, v, w, PH_AT(W_ACT_DOT), act_grad, PH_ACTS(GA_ACT), PH_ACTS(GA_DOT));
    }
    for (int stage = nstage - 1; stage >= 0; --stage) {
        if (nstage > 1) ph_pull_stage_begin(m, f, v, w, stage, bad);
        ph_pull_rows(m, f, v, w, s, on, places, parameters_grad, wanted);
        ph_pull_smooth(m, f, v, w, on, bad, ctrl_grad, xfrc_applied_grad);
        if (wanted) ph_pull_parameters(m, f, v, w, bad, on, places, parameters_grad);
        each (i, m[M_NBODY] - 1)
            if ((m + m[M_BODY_MOCAPID])[i + 1] >= 0) ph_pull_mocap(m, w, i + 1, on, mocap_pos_grad, mocap_quat_grad);
        each (d, m[M_NV]) ph_put_gradient(qfrc_applied_grad, d, qfrc_applied_grad[d] + PH_DOFS(GD_Z)[d], on);
        sync();
        if (nstage > 1) ph_pull_stage_end(m, f, v, w, stage);
    }
    each (d, m[M_NV]) {
        ph_put_gradient(qvel_grad, d, -PH_DOFS(GD_SPEED)[d], on);
        PH_DOFS(GD_TURN)[d] = -PH_DOFS(GD_TURN)[d];
    }
    each (i, m[M_NA]) ph_put_gradient(act_grad, i, PH_ACTS(GA_ACT)[i], on);
    sync();
    each (j, m[M_NJNT]) ph_push_joint(m, w, j, on, PH_DOFS(GD_TURN), qpos_grad);
}
