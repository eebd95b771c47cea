/*
 * What the integrator takes implicitly of the gyroscopic forces of standalone free bodies. Part of the kernels that
 * include it, after tree.k.h.
 *
 * These forces c are a quadratic form of the body's six velocities, and the integrator's matrix has its derivative.
 * So w' dc/dqvel(qvel) step, a bilinear form of qvel and step, is L(qvel + step) - L(qvel) - L(step), where L(u) is
 * w' c(u), and its derivative by qvel is w' dc/dqvel at `step`.
 */

/*
 * Adds `by` times the gradient of L(u) by the six turns and moves of body b to turn [6] and, if `speed` is not NULL,
 * that by u to it. The dofs begin at d.
 */
LFN void ph_pull_gyro(const int *m, const real *w, int b, int d, const real *u, real by, int speeds, real *turn,
                      real *speed)
{
    const real *I = PH_AT(W_CRB) + 10 * b, *cdof = PH_AT(W_CDOF) + 6 * d, *x = PH_DOFS(GD_W) + d;
    real moved[6], V[6], W[6], A[6], F[6], P[6], B[6], above[6], momentum[6], t[6], dot[18];
    ph_zero(moved, 6);
    ph_zero(above, 6);
    ph_zero(A, 6);
    ph_add_motion(moved, cdof, u, 3);
    ph_add_motion(above, cdof, x, 3);
    ph_copy(V, moved, 6);
    ph_copy(W, above, 6);
    for (int k = 0; k < 3; ++k) ph_cross_motion(moved, cdof + 6 * (3 + k), dot + 6 * k);
    ph_add_motion(A, dot, u + 3, 3);
    ph_add_motion(V, cdof + 18, u + 3, 3);
    ph_add_motion(W, cdof + 18, x + 3, 3);
    ph_inertia_mul(I, A, F);
    ph_inertia_mul(I, V, momentum);
    ph_add_cross_force(V, momentum, F);
    ph_inertia_mul(I, W, P);
    ph_cross_motion(V, W, t);
    ph_inertia_mul(I, t, B);
    for (int k = 0; k < 6; ++k) B[k] = -B[k];
    ph_take_cross_force(W, momentum, B);
    for (int k = 0; speeds && k < 3; ++k)
        speed[3 + k] = fma(by, ph_dot6(cdof + 18 + 6 * k, B) + ph_dot6(dot + 6 * k, P), speed[3 + k]);
    for (int k = 0; k < 3; ++k) {
        ph_zero(t, 6);
        ph_add_cross_force(cdof + 18 + 6 * k, P, t);
        ph_add_scaled(B, t, u[3 + k], 6);
    }
    for (int k = 0; speeds && k < 3; ++k) speed[k] = fma(by, ph_dot6(cdof + 6 * k, B), speed[k]);
    ph_zero(t, 6);
    ph_take_cross_force(above, F, t);
    ph_take_cross_force(moved, B, t);
    for (int k = 0; k < 3; ++k) turn[3 + k] = fma(by, ph_dot6(cdof + 18 + 6 * k, t), turn[3 + k]);
}

/* Standalone free body i. */
LFN void ph_pull_free(const int *m, const ureal *f, const real *v, real *w, int i)
{
    int b = (m + m[M_FREE_BODY])[i], d = (m + m[M_BODY_DOFADR])[b];
    real h = par(m, f, v, M_TIMESTEP, 0), step[6], both[6], *turn = PH_DOFS(GD_TURN) + d,
         *speed = PH_DOFS(GD_SPEED) + d;
    const real *qvel = PH_AT(W_QVEL) + d;
    for (int k = 0; k < 6; ++k) {
        step[k] = PH_AT(W_QACC)[d + k] + PH_DOFS(GD_MORE)[d + k];
        both[k] = qvel[k] + step[k];
    }
    ph_pull_gyro(m, w, b, d, both, h, 0, turn, speed);
    ph_pull_gyro(m, w, b, d, qvel, -h, 0, turn, speed);
    ph_pull_gyro(m, w, b, d, step, -h, 0, turn, speed);
    real none[6];
    ph_zero(none, 6);
    ph_pull_gyro(m, w, b, d, step, h, 1, none, speed);
}
