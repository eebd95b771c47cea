/*
 * Controllers (control.py) as kernels before the physics of a step: forces of n joints, and controls by which actuators
 * have them. Arrays of worlds, unless they say plain:
 *
 *   at [3][n] plain   where each joint is in qpos, in qvel, and where its number goes in `out`
 *   gains [2][n]      kp, kd; limit [n]: the greatest force either way
 *   motor [4][n]      out = motor[0] force + motor[1] + motor[2] q + motor[3] v
 *   target            what the caller writes: of k_joints positions, velocities and accelerations [3][n]; of k_end
 *                     position, quaternion (w x y z, of any length above 0) and velocity of the end, [13]
 *   qM [nv][nv], jacobian [6][nv], bias, passive [nv]   MuJoCo's quantities of the present state
 *   work              what k_end works in: n n + n m + m m + m + n numbers
 */
#include "stet/lang.h"

LFN void ct_put(real *out, const real *motor, const real *limit, const int *at, real force, real q, real v, int i,
                int n)
{
    force = clamp(force, -limit[i], limit[i]);
    real u = fma(motor[i], force, motor[n + i]) + (motor[2 * n + i] * q + motor[3 * n + i] * v);
    put(out, at[2 * n + i], u);
}

/* kp (target - q) + kd (its velocity - v). */
LFN real ct_pull(const real *qpos, const real *qvel, const real *target, const real *gains, const int *at, int i, int n)
{
    real away = target[i] - qpos[at[i]], slow = target[n + i] - qvel[at[n + i]];
    return fma(gains[i], away, gains[n + i] * slow);
}

world_kernel void k_joints(const real *qpos, const real *qvel, const real *target, const real *gains, const real *limit,
                           const real *motor, const int *at, real *out, int n)
{
    each (i, n) {
        real force = ct_pull(qpos, qvel, target, gains, at, i, n);
        ct_put(out, motor, limit, at, force, qpos[at[i]], qvel[at[n + i]], i, n);
    }
}

/* The same as accelerations, whatever inertia and load the joints have (computed torque). */
world_kernel void k_joints_torque(const real *qpos, const real *qvel, const real *qM, const real *bias,
                                  const real *passive, const real *target, const real *gains, const real *limit,
                                  const real *motor, const int *at, real *out, int n, int nv)
{
    each (i, n) {
        int row = at[n + i];
        real force = bias[row] - passive[row];
        for (int j = 0; j < n; ++j) {
            real wish = ct_pull(qpos, qvel, target, gains, at, j, n) + target[2 * n + j];
            force = fma(qM[row * nv + at[n + j]], wish, force);
        }
        ct_put(out, motor, limit, at, force, qpos[at[i]], qvel[row], i, n);
    }
}

/* The symmetric matrix a [n][n] becomes L (lower triangle) of L L^T = a. Pivots are above 0. */
LFN void ct_factor(real *a, int n)
{
    for (int j = 0; j < n; ++j) {
        real pivot = a[j * n + j];
        for (int k = 0; k < j; ++k) pivot = pivot - a[j * n + k] * a[j * n + k];
        pivot = sqrt(pivot);
        put(a, j * n + j, pivot);
        for (int i = j + 1; i < n; ++i) {
            real x = a[i * n + j];
            for (int k = 0; k < j; ++k) x = x - a[i * n + k] * a[j * n + k];
            put(a, i * n + j, x / pivot);
        }
    }
}

/* x [n], in steps of `stride`, becomes the solution of L L^T y = x. */
LFN void ct_solve(const real *l, real *x, int n, int stride)
{
    for (int i = 0; i < n; ++i) {
        real y = x[i * stride];
        for (int k = 0; k < i; ++k) y = y - l[i * n + k] * x[k * stride];
        put(x, i * stride, y / l[i * n + i]);
    }
    for (int i = n - 1; i >= 0; --i) {
        real y = x[i * stride];
        for (int k = i + 1; k < n; ++k) y = y - l[k * n + i] * x[k * stride];
        put(x, i * stride, y / l[i * n + i]);
    }
}

/* From the end's pose to the target: the way, then the rotation, at most a half turn, as axis times angle. */
LFN void ct_gap(const real *place, const real *turn, const real *target, real gap[6])
{
    real goal[4], axis[3], size = splat(0);
    for (int i = 0; i < 4; ++i) size = fma(target[3 + i], target[3 + i], size);
    size = sqrt(size);
    for (int i = 0; i < 4; ++i) goal[i] = target[3 + i] / size;
    real same = goal[0] * turn[0] + (goal[1] * turn[1] + goal[2] * turn[2] + goal[3] * turn[3]);
    for (int i = 0; i < 3; ++i) {
        int j = 1 + (i + 1) % 3, k = 1 + (i + 2) % 3;
        axis[i] = turn[0] * goal[1 + i] - goal[0] * turn[1 + i] - (goal[j] * turn[k] - goal[k] * turn[j]);
        gap[i] = target[i] - place[i];
    }
    real sine = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    mask small = lt(sine, splat((ureal)1e-9));
    real angle = splat(2) * atan2(sine, rabs(same)) / select(small, splat(1), sine);
    real scale = copysign_(select(small, splat(2), angle), same);
    for (int i = 0; i < 3; ++i) gap[3 + i] = scale * axis[i];
}

/*
 * The end goes to a pose as if it were a body of its own, the joints to a posture in what is left (OperationalSpace).
 * Of the pose's six numbers m from `first` on count. place [.][3], turn [.][4]: of all sites, bodies or geoms; `end` is
 * the number of the one. gains [12 + n]: kp and kd of the six, then the posture.
 */
world_kernel void k_end(const real *qpos, const real *qvel, const real *qM, const real *jacobian, const real *place,
                        const real *turn, const real *bias, const real *passive, const real *target, const real *gains,
                        const real *limit, const real *motor, const int *at, real *work, real *out, ureal damping,
                        ureal posture_kp, ureal posture_kd, int first, int m, int end, int n, int nv)
{
    each (one, 1) {
        real *mass = work, *eased = mass + n * n, *mobility = eased + n * m, *wish = mobility + m * m;
        real *still = wish + m, gap[6];
        const int *dof = at + n;
        ct_gap(place + 3 * end, turn + 4 * end, target, gap);
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) put(mass, i * n + j, qM[dof[i] * nv + dof[j]]);
            for (int k = 0; k < m; ++k) put(eased, i * m + k, jacobian[(first + k) * nv + dof[i]]);
            real away = gains[12 + i] - qpos[at[i]];
            put(still, i, splat(posture_kp) * away - splat(posture_kd) * qvel[dof[i]]);
        }
        ct_factor(mass, n);
        for (int k = 0; k < m; ++k) ct_solve(mass, eased + k, n, m);
        for (int k = 0; k < m; ++k) {
            const real *row = jacobian + (first + k) * nv;
            real speed = splat(0), taken = splat(0);
            for (int l = 0; l < m; ++l) {
                real sum = splat(k == l ? damping * damping : 0);
                for (int i = 0; i < n; ++i) sum = fma(row[dof[i]], eased[i * m + l], sum);
                put(mobility, k * m + l, sum);
            }
            for (int i = 0; i < n; ++i) {
                speed = fma(row[dof[i]], qvel[dof[i]], speed);
                taken = fma(row[dof[i]], still[i], taken);
            }
            real slow = target[7 + first + k] - speed;
            put(wish, k, fma(gains[first + k], gap[first + k], gains[6 + first + k] * slow) - taken);
        }
        ct_factor(mobility, m);
        ct_solve(mobility, wish, m, 1);
        for (int i = 0; i < n; ++i) {
            real force = bias[dof[i]] - passive[dof[i]];
            for (int k = 0; k < m; ++k) force = fma(jacobian[(first + k) * nv + dof[i]], wish[k], force);
            for (int j = 0; j < n; ++j) force = fma(qM[dof[i] * nv + dof[j]], still[j], force);
            ct_put(out, motor, limit, at, force, qpos[at[i]], qvel[dof[i]], i, n);
        }
    }
}
