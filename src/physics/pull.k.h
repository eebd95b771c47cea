/*
 * The gradient of a time step of native physics, by its residual (doc/design/gradients.md). Kind world. Backward of
 * k_native_step with one step in it, without its iterations: what a step needs is computed again from the state before
 * it, and its acceleration is taken as it was.
 */
#define STET_CALLS 1
#include "stet/lang.h"

#define PH_PULLED 1
#include "physics/gradient/memory.k.h"
#include "physics/forward.k.h"
#include "physics/gradient/tree.k.h"
#include "physics/gradient/links.k.h"
#include "physics/gradient/passive.k.h"
#include "physics/gradient/actuate.k.h"
#include "physics/gradient/contact/contacts.k.h"
#include "physics/gradient/contacts.k.h"
#include "physics/gradient/parameters.k.h"
#include "physics/gradient/touch.k.h"
#include "physics/gradient/rows.k.h"
#include "physics/gradient/shown.k.h"

/* ---- the integrator ---------------------------------------------------------------------------------------------- */

/* Is what the integrator adds to qvel not the time step times qacc? */
LFN int ph_is_damped(ph_world w) { return integrator(w) != 0 || model_flags(w) & PH_EULERDAMP; }

/*
 * The accelerations that the integrator makes of qacc, in qacc_step; the matrix that it uses stays factored. It solves
 * (M + h D) step = M qacc, where M qacc is the sum of all forces.
 */
LFN void ph_repeat_step(ph_world w)
{
    ph_mul_inertia(w, qacc(w), qfrc_smooth(w));
    each (d, nv(w)) qfrc_constraint(w)[d] = splat(0);
    sync();
    ph_step_acceleration(w);
}

/* x = the transposed inverse of the integrator's matrix times x. Standalone free bodies have one of six rows each. */
LFN void ph_solve_transposed(ph_world w, real *x, real *free)
{
    each (i, nfree(w)) {
        int b = free_body(w)[i], first = body_dofadr(w)[b];
        for (int k = 0; k < 6; ++k) {
            real column[6];
            ph_zero(column, 6);
            column[k] = splat(1);
            ph_free_step(w, b, 6, column);
            free[first + k] = ph_dot6(column, x + first);
        }
    }
    sync();
    int solved = ph_solve_pattern(w, qH(w), x);
    if (!solved) ph_solve(w, qLD(w), qLDiagInv(w), x);
    each (i, nfree(w)) {
        int first = body_dofadr(w)[free_body(w)[i]];
        ph_copy(x + first, free + first, 6);
    }
    sync();
}

/*
 * Bars of the state after the step: of positions before it go to GD_TURN, of qvel to GD_SPEED, w to GD_W; z becomes the
 * bar of qacc. Without damping w belongs to that which there may be.
 */
LFN void ph_pull_integration(ph_world w, const real *qpos_grad, const real *qvel_grad, int wanted)
{
    real h = timestep(w, 0), *z = PH_DOFS(GD_Z), *step = PH_DOFS(GD_STEP), *x = PH_DOFS(GD_W);
    real *after = solver_grad(w); /* of the solver, which does not run */
    ph_repeat_step(w);
    each (d, nv(w)) {
        PH_DOFS(GD_MORE)[d] = qacc_step(w)[d] - qacc(w)[d];
        after[d] = fma(h, qacc_step(w)[d], qvel(w)[d]);
    }
    sync();
    each (j, njnt(w)) ph_pull_positions(w, j, after, qpos_grad, h, PH_DOFS(GD_AFTER));
    each (d, nv(w)) {
        PH_DOFS(GD_TURN)[d] = splat(0);
        step[d] = splat(0);
    }
    sync();
    each (j, njnt(w)) ph_pull_move(w, j, after, PH_DOFS(GD_AFTER), h, PH_DOFS(GD_TURN), step);
    sync();
    each (d, nv(w)) {
        step[d] = step[d] + qvel_grad[d];
        PH_DOFS(GD_SPEED)[d] = -step[d];
        PH_DOFS(GD_TURN)[d] = -PH_DOFS(GD_TURN)[d]; /* these are of z' r, which is subtracted */
        x[d] = h * step[d];
        z[d] = x[d];
    }
    sync();
    if (ph_is_damped(w)) {
        ph_solve_transposed(w, x, z);
        ph_mul_inertia(w, x, z);
    } else if (wanted == PH_WANTED_DAMPED) {
        ph_solve(w, qLD(w), qLDiagInv(w), x);
    } else {
        each (d, nv(w)) x[d] = splat(0);
    }
    sync();
}

/* ---- smooth forces ----------------------------------------------------------------------------------------------- */

/* Bars of all forces but those of constraints. */
LFN void ph_pull_smooth(ph_world w, mask on, mask bad, real *ctrl_grad, real *xfrc_grad)
{
    if (!(model_flags(w) & PH_NO_ACTUATION)) {
        ph_release_limits(w);
        each (one, 1) {
            for (int i = one; i < nactuator(w); ++i) ph_pull_actuator(w, i, on, bad, ctrl_grad);
        }
        sync();
    }
    ph_pull_tendons(w);
    each (j, njnt(w)) ph_pull_joint_spring(w, j);
    each (i, nbody(w) - 1) {
        if (model_flags(w) & PH_GRAVCOMP) ph_pull_gravcomp(w, i + 1);
        if (model_flags(w) & PH_FLUID) ph_pull_fluid(w, i + 1);
        ph_pull_applied(w, i + 1, on, xfrc_grad);
    }
    sync();
    each (d, nv(w)) ph_pull_dof_damper(w, d);
    sync();
    each (i, nfree(w)) ph_pull_free(w, i);
    sync();
    ph_pull_tree(w);
}

/* A mocap body's pose moves all that is below it. */
LFN void ph_pull_mocap(ph_world w, int b, mask on, real *pos_grad, real *quat_grad)
{
    int mocap = body_mocapid(w)[b];
    const real *quat = mocap_quat(w) + 4 * mocap, *at = xpos(w) + 3 * b, *R = xmat(w) + 9 * b;
    real above[6 * PH_CARRIED], bars[6 * PH_CARRIED], motion[6], off[3], turn[3], x[4];
    const int own[PH_CARRIED] = {GB_FORCE, GB_SPEED, GB_MOMENTUM, GB_PUSH, GB_W_FORCE, GB_W_MOMENTUM};
    ph_carried(w, b, above);
    for (int k = 0; k < PH_CARRIED; ++k) ph_copy(bars + 6 * k, PH_BODIES(own[k]) + 6 * b, 6);
    ph_pull_motion(above, bars, PH_BODIES(GB_POSE) + 6 * b, motion);
    ph_offset(w, b, at, off);
    v3_cross(off, motion + 3, x);
    for (int k = 0; k < 3; ++k) x[k] = motion[k] - x[k];
    m3_mul_transposed(R, x, turn);
    ph_zero(x, 4);
    ph_push_quat(quat, turn, x);
    for (int k = 0; k < 3; ++k) ph_put_gradient(pos_grad, 3 * mocap + k, pos_grad[3 * mocap + k] - motion[3 + k], on);
    for (int k = 0; k < 4; ++k) ph_put_gradient(quat_grad, 4 * mocap + k, quat_grad[4 * mocap + k] - x[k], on);
}

/* What forces are made of, of the state in w: all stages of forward dynamics but the accelerations. */
LFN void ph_prepare(ph_world w, mask bad)
{
    ph_kinematics(w, step_ngeom(w), step_nsite(w));
    ph_com(w);
    ph_tendon(w);
    ph_inertia(w);
    ph_tendon_armature(w);
    ph_factor_inertia(w); /* which finds thin pivots */
    ph_transmission(w);
    ph_velocity(w);
    ph_passive(w);
    ph_bias(w);
    ph_actuation(w, bad);
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
#define PH_KEPT_QVEL(k) (PH_RK_STAGE(k) + nq(w))
#define PH_KEPT_RATE(k) (PH_KEPT_QVEL(k) + nv(w))
#define PH_KEPT_QACC(k) (PH_KEPT_RATE(k) + nv(w))
#define PH_KEPT_ACT(k) (PH_KEPT_QACC(k) + nv(w))
#define PH_KEPT_DOT(k) (PH_KEPT_ACT(k) + na(w))

LFN ureal ph_stage_weight(int stage) { return (ureal)(stage == 0 || stage == 3 ? 1.0 / 6 : 1.0 / 3); }
/* How long stage k moves the state before the step, as a part of a time step. */
LFN ureal ph_stage_part(int stage) { return (ureal)(stage == 3 ? 1 : 0.5); }

/* The stages of the step again. */
LFN void ph_repeat_stages(ph_world w, mask on, mask bad)
{
    lint most[1];
    most[0] = isplat(0);
    for (int k = 0; k < 4; ++k) {
        if (k > 0) ph_stage_state(w, k);
        ph_forward(w, on, bad, step_ngeom(w), step_nsite(w), 0, 0, most);
        each (i, nq(w)) PH_RK_STAGE(k)[i] = qpos(w)[i];
        each (d, nv(w)) {
            PH_KEPT_QVEL(k)[d] = qvel(w)[d];
            PH_KEPT_QACC(k)[d] = qacc(w)[d];
        }
        each (i, na(w)) {
            PH_KEPT_ACT(k)[i] = act(w)[i];
            PH_KEPT_DOT(k)[i] = act_dot(w)[i];
        }
        sync();
        ph_stage_add(w, k);
        each (d, nv(w)) PH_KEPT_RATE(k)[d] = qvel(w)[d];
        sync();
    }
}

/* Bars of the sums over stages, and of the state before the step by itself, from gradients of the state after it. */
LFN void ph_pull_stages(ph_world w, const real *qpos_grad, const real *qvel_grad, const real *act_grad)
{
    real h = timestep(w, 0);
    const real *sum = runge_kutta(w) + nq(w) + nv(w) + na(w);
    ph_stage_back(w);
    each (d, nv(w)) {
        PH_RK_BARS(GR_ACCS)[d] = h * qvel_grad[d];
        PH_RK_BARS(GR_SPEED)[d] = qvel_grad[d];
        PH_RK_BARS(GR_RATES)[d] = splat(0);
        PH_RK_BARS(GR_TURN)[d] = splat(0);
        PH_RK_BARS(GR_RATE)[d] = splat(0);
        PH_RK_BARS(GR_ACC)[d] = splat(0);
    }
    each (j, njnt(w)) ph_pull_positions(w, j, sum, qpos_grad, h, PH_DOFS(GD_AFTER));
    sync();
    each (j, njnt(w)) ph_pull_move(w, j, sum, PH_DOFS(GD_AFTER), h, PH_RK_BARS(GR_TURN), PH_RK_BARS(GR_RATES));
    ph_pull_activations(w, sum + 2 * nv(w), act_grad, PH_RK_ACTS(GA_ACT), PH_RK_ACTS(GA_DOT));
    each (i, na(w)) PH_ACTS(GA_DOT)[i] = splat(0);
    sync();
}

/* The state of a stage, and the bars of its acceleration and of act_dot. */
LFN void ph_pull_stage_begin(ph_world w, int stage, mask bad)
{
    real weight = splat(ph_stage_weight(stage));
    each (i, nq(w)) qpos(w)[i] = PH_RK_STAGE(stage)[i];
    each (d, nv(w)) {
        qvel(w)[d] = PH_KEPT_QVEL(stage)[d];
        PH_DOFS(GD_Z)[d] = fma(weight, PH_RK_BARS(GR_ACCS)[d], PH_RK_BARS(GR_ACC)[d]);
        PH_DOFS(GD_W)[d] = splat(0);
        PH_DOFS(GD_MORE)[d] = splat(0);
        PH_DOFS(GD_TURN)[d] = splat(0);
        PH_DOFS(GD_SPEED)[d] = splat(0);
    }
    each (i, na(w)) {
        act(w)[i] = PH_KEPT_ACT(stage)[i];
        PH_ACTS(GA_ACT)[i] = splat(0);
        PH_ACTS(GA_DOT)[i] = fma(weight, PH_RK_ACTS(GA_DOT)[i], PH_ACTS(GA_DOT)[i]);
    }
    sync();
    ph_prepare(w, bad);
    each (d, nv(w)) qacc(w)[d] = PH_KEPT_QACC(stage)[d];
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
LFN void ph_pull_stage_end(ph_world w, int stage)
{
    real weight = splat(ph_stage_weight(stage)), h = splat(ph_stage_part(stage)) * timestep(w, 0);
    real *rate = PH_RK_BARS(GR_RATE), *speed = PH_DOFS(GD_SPEED), *turn = PH_RK_BARS(GR_TURN);
    each (d, nv(w)) {
        rate[d] = fma(weight, PH_RK_BARS(GR_RATES)[d], rate[d]);
        PH_DOFS(GD_AFTER)[d] = -PH_DOFS(GD_TURN)[d];
        speed[d] = -speed[d];
    }
    sync();
    each (j, njnt(w)) {
        int type = jnt_type(w)[j], d = jnt_dofadr(w)[j];
        real x[6], u[3], u_bar[3];
        int n = type == PH_FREE ? 6 : type == PH_BALL ? 3 : 1, from = type == PH_FREE ? 3 : 0;
        ph_copy(x, rate + d, n);
        ph_zero(u_bar, 3);
        if (type < PH_SLIDE && stage > 0) {
            v3_scale(PH_KEPT_RATE(stage - 1) + d + from, h, u);
            ph_copy(x + from, PH_KEPT_QVEL(stage) + d + from, 3);
            ph_pull_turn_rate(u, rate + d + from, x + from, u_bar);
        }
        for (int k = 0; k < n; ++k) {
            speed[d + k] = speed[d + k] + x[k];
            rate[d + k] = splat(0);
        }
        if (type < PH_SLIDE) v3_scale(u_bar, h, rate + d + from);
        if (stage > 0)
            ph_pull_move(w, j, PH_KEPT_RATE(stage - 1), PH_DOFS(GD_AFTER), h, turn, rate);
        else
            for (int k = d; k < d + n; ++k) turn[k] = turn[k] + PH_DOFS(GD_AFTER)[k];
    }
    sync();
    each (d, nv(w)) {
        PH_RK_BARS(GR_SPEED)[d] = PH_RK_BARS(GR_SPEED)[d] + speed[d];
        PH_RK_BARS(GR_ACC)[d] = h * speed[d];
        PH_DOFS(GD_TURN)[d] = -turn[d];
        speed[d] = -PH_RK_BARS(GR_SPEED)[d];
    }
    each (i, na(w)) {
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
 * parameters.k.h. touch: rows that begin count (touch.k.h); their number is added to touched [1].
 */
world_kernel void k_native_pull(const int *tables, const ureal *reals, const real *own, const lint *stepped,
                                treal *memory, tint *ints, const real *qpos, const real *qvel, const real *act,
                                const real *ctrl, const real *qfrc_applied, const real *xfrc_applied,
                                const real *mocap_pos, const real *mocap_quat, const real *eq_active, const real *qacc,
                                real *qpos_grad, real *qvel_grad, real *act_grad, real *ctrl_grad,
                                real *qfrc_applied_grad, real *xfrc_applied_grad, real *mocap_pos_grad,
                                real *mocap_quat_grad, const int *places, real *parameters_grad, lint *touched,
                                int wanted, int touch)
{
    ph_world w = {tables, reals, own, memory, ints};
    mask on = m_not(ieq(stepped[0], isplat(0)));
    if (!any(on)) return;
    ph_inputs inputs = {qpos, qvel, act, ctrl, qfrc_applied, xfrc_applied, mocap_pos, mocap_quat, qacc, eq_active};
    ph_take(w, inputs);
    mask bad = ph_bad_controls(w);
    int nstage = integrator(w) == PH_RK4 ? 4 : 1;
    if (nstage > 1) {
        ph_repeat_stages(w, on, bad);
        ph_pull_stages(w, qpos_grad, qvel_grad, act_grad);
    } else {
        ph_prepare(w, bad);
        if (touch) ph_acceleration(w);
        each (d, nv(w)) qacc(w)[d] = qacc[d];
        sync();
        ph_pull_integration(w, qpos_grad, qvel_grad, wanted);
        ph_pull_activations(w, act_dot(w), act_grad, PH_ACTS(GA_ACT), PH_ACTS(GA_DOT));
    }
    for (int stage = nstage - 1; stage >= 0; --stage) {
        if (nstage > 1) ph_pull_stage_begin(w, stage, bad);
        ph_pull_rows(w, on, touch, touched, places, parameters_grad, wanted);
        ph_pull_smooth(w, on, bad, ctrl_grad, xfrc_applied_grad);
        if (wanted) ph_pull_parameters(w, bad, on, places, parameters_grad);
        each (i, nbody(w) - 1)
            if (body_mocapid(w)[i + 1] >= 0) ph_pull_mocap(w, i + 1, on, mocap_pos_grad, mocap_quat_grad);
        each (d, nv(w)) ph_put_gradient(qfrc_applied_grad, d, qfrc_applied_grad[d] + PH_DOFS(GD_Z)[d], on);
        sync();
        if (nstage > 1) ph_pull_stage_end(w, stage);
    }
    each (d, nv(w)) {
        ph_put_gradient(qvel_grad, d, -PH_DOFS(GD_SPEED)[d], on);
        PH_DOFS(GD_TURN)[d] = -PH_DOFS(GD_TURN)[d];
    }
    each (i, na(w)) ph_put_gradient(act_grad, i, PH_ACTS(GA_ACT)[i], on);
    sync();
    each (j, njnt(w)) ph_push_joint(w, j, on, PH_DOFS(GD_TURN), qpos_grad);
}

/*
 * Gradients of what is read of the present state of the worlds whose `due` [1] is not 0: quantities (or poses) of a
 * list, whose gradients lie one after the other in grad. The gradients of the state and the inputs are added. `solves`:
 * some depend on qacc, which is found again; otherwise on positions and velocities alone.
 */
world_kernel void k_native_pull_reads(const int *tables, const ureal *reals, const real *own, const lint *due,
                                      const int *list, treal *memory, tint *ints, const real *qpos, const real *qvel,
                                      const real *act, const real *ctrl, const real *qfrc_applied,
                                      const real *xfrc_applied, const real *mocap_pos, const real *mocap_quat,
                                      const real *warm, const real *eq_active, const real *grad, real *qpos_grad,
                                      real *qvel_grad, real *act_grad, real *ctrl_grad, real *qfrc_applied_grad,
                                      real *xfrc_applied_grad, real *mocap_pos_grad, real *mocap_quat_grad, int nlist,
                                      int solves)
{
    ph_world w = {tables, reals, own, memory, ints};
    mask on = m_not(ieq(due[0], isplat(0)));
    if (!any(on)) return;
    ph_inputs inputs = {qpos, qvel, act, ctrl, qfrc_applied, xfrc_applied, mocap_pos, mocap_quat, warm, eq_active};
    ph_take(w, inputs);
    mask bad = ph_bad_controls(w);
    real *lost = solver_niter(w);
    if (solves) {
        lint most[1];
        most[0] = isplat(0);
        ph_forward(w, on, bad, ngeom(w), nsite(w), 0, 0, most);
        each (d, nv(w)) PH_DOFS(GD_AFTER)[d] = qacc(w)[d];
        ph_prepare(w, bad);
        each (d, nv(w)) qacc(w)[d] = PH_DOFS(GD_AFTER)[d];
    } else {
        ph_kinematics(w, ngeom(w), nsite(w));
        ph_com(w);
        ph_tendon(w);
        ph_transmission(w);
        ph_velocity(w);
        each (d, nv(w)) qacc(w)[d] = splat(0);
        each (i, 6 * nbody(w)) cacc(w)[i] = splat(0);
    }
    each (i, GD_VECTORS * nv(w)) PH_DOFS(0)[i] = splat(0);
    each (i, GA_VECTORS * na(w)) PH_ACTS(0)[i] = splat(0);
    each (one, 1) lost[one] = splat(0);
    sync();
    ph_pull_begin(w, m_all());
    if (solves) {
        ph_pull_shown(w, list, nlist, grad, 1, lost);
        ph_gather_accelerations(w);
        each (d, nv(w)) {
            PH_DOFS(GD_TURN)[d] = splat(0);
            PH_DOFS(GD_SPEED)[d] = splat(0);
        }
        sync();
        ph_pull_read_rows(w, on, list, nlist, grad);
    }
    ph_pull_shown(w, list, nlist, grad, 0, lost);
    if (solves) {
        ph_pull_smooth(w, on, bad, ctrl_grad, xfrc_applied_grad);
    } else {
        ph_pull_tendons(w);
        ph_pull_fields(w);
    }
    each (i, nbody(w) - 1)
        if (body_mocapid(w)[i + 1] >= 0) ph_pull_mocap(w, i + 1, on, mocap_pos_grad, mocap_quat_grad);
    each (d, nv(w)) {
        real none = select(eq(lost[0], splat(0)), splat(0), splat(0) / splat(0));
        PH_DOFS(GD_TURN)[d] = none - PH_DOFS(GD_TURN)[d];
        ph_put_gradient(qvel_grad, d, qvel_grad[d] + (none - PH_DOFS(GD_SPEED)[d]), on);
        ph_put_gradient(qfrc_applied_grad, d, qfrc_applied_grad[d] + PH_DOFS(GD_Z)[d], on);
    }
    each (i, na(w)) ph_put_gradient(act_grad, i, act_grad[i] + PH_ACTS(GA_ACT)[i], on);
    sync();
    each (j, njnt(w)) ph_push_joint(w, j, on, PH_DOFS(GD_TURN), cdof(w));
    sync();
    each (i, nq(w)) ph_put_gradient(qpos_grad, i, qpos_grad[i] + cdof(w)[i], on);
}

/* The gradient `part` of n numbers that are read goes to the list's from `at` on, and ends there. */
world_kernel void k_native_give(const lint *due, real *part, real *grad, int at, int n)
{
    mask on = m_not(ieq(due[0], isplat(0)));
    each (i, n) {
        put(grad, at + i, part[i]);
        put(part, i, select(on, splat(0), part[i]));
    }
}
