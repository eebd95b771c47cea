/*
 * The tasks of gymnasium's MuJoCo environments, version 5 (mujoco.py), in kernels of a step. Arrays of worlds:
 *
 *   observed [observed]  what the policy sees
 *   worth [terms]        terms of the reward, then what info shows
 *   failed [1]           1 where the episode ends
 *   begun [1]            1 in worlds whose episode has just begun; it counts where `begins` is not 0
 *
 * xipos [nbody][3], xmat [nbody][9], cfrc_ext [nbody][6] … are as the step left them. A progress is a difference of
 * numbers of two steps, which is exact, and only then anything else.
 */
#include "stet/lang.h"

LFN mask mj_begun(const lint *begun, int begins) { return begins ? m_not(ieq(begun[0], isplat(0))) : m_none(); }

/* low < x < high. */
LFN mask mj_inside(real x, ureal low, ureal high) { return m_and(lt(splat(low), x), lt(x, splat(high))); }

/* x in [low, high]; NaN stays. */
LFN real mj_clip(real x, ureal low, ureal high) { return select(is_nan(x), x, clamp(x, splat(low), splat(high))); }

LFN real mj_square_sum(const real *x, int n)
{
    real sum = splat(0);
    for (int i = 0; i < n; ++i) sum = fma(x[i], x[i], sum);
    return sum;
}

/* out [at …]: n numbers of a source from `first` on, within [low, high]; 0 in worlds that just begin, if begins. */
world_kernel void k_part(const real *source, const lint *begun, real *out, int first, int n, int at, ureal low,
                         ureal high, int begins)
{
    each (i, n) {
        real x = mj_clip(source[first + i], low, high);
        put(out, at + i, select(mj_begun(begun, begins), splat(0), x));
    }
}

/* ---- how far a robot came in a step: moved [n]; before: what that takes of the last step ------------------------- */

/* By its first positions. */
world_kernel void k_move_state(const real *qpos, real *before, real *moved, int n)
{
    each (i, n) {
        put(moved, i, qpos[i] - before[i]);
        put(before, i, qpos[i]);
    }
}

/* By the frame of body b, in x and y. offset [nbody][3], plain: body_ipos. before [2][4]: xipos, a row of xmat. */
world_kernel void k_move_body(const real *xipos, const real *xmat, const ureal *offset, real *before, real *moved,
                              int b)
{
    each (i, 2) {
        real came = xipos[3 * b + i] - before[4 * i], turned = splat(0);
        for (int k = 0; k < 3; ++k) {
            real row = xmat[9 * b + 3 * i + k];
            turned = fma(row - before[4 * i + 1 + k], splat(offset[3 * b + k]), turned);
            put(before, 4 * i + 1 + k, row);
        }
        put(moved, i, came - turned);
        put(before, 4 * i, xipos[3 * b + i]);
    }
}

/* By the centre of mass, in x and y. share [nbody], plain: parts of the mass. before [2][nbody]. */
world_kernel void k_move_mass(const real *xipos, const ureal *share, real *before, real *moved, int nbody)
{
    each (i, 2) {
        real sum = splat(0);
        for (int b = 0; b < nbody; ++b) {
            real x = xipos[3 * b + i];
            sum = fma(splat(share[b]), x - before[nbody * i + b], sum);
            put(before, nbody * i + b, x);
        }
        put(moved, i, sum);
    }
}

/* ---- terms ------------------------------------------------------------------------------------------------------- */

/* worth [0], [1]: speed along x, effort. */
world_kernel void k_run(const real *moved, const real *action, real *worth, ureal forward, ureal effort, ureal dt,
                        int nu)
{
    each (i, 1) {
        put(worth, 0, splat(forward) * (moved[0] / splat(dt)));
        put(worth, 1, splat(-effort) * mj_square_sum(action, nu));
    }
}

/* worth [0] to [2]: height over the length of a time step, effort, 1. */
world_kernel void k_stand_up(const real *qpos, const real *action, real *worth, ureal timestep, ureal effort, int nu)
{
    each (i, 1) {
        put(worth, 0, qpos[2] / splat(timestep));
        put(worth, 1, splat(-effort) * mj_square_sum(action, nu));
        put(worth, 2, splat(1));
    }
}

/*
 * worth [at …] for info: position and speed along x; with two coordinates also along y, and the distance from the
 * origin; with `risen` how far position `risen` is from where it begins.
 */
world_kernel void k_tell(const real *qpos, const real *moved, real *worth, int at, int coordinates, int risen,
                         ureal home, ureal dt)
{
    each (i, 1) {
        int next = at + 2 * coordinates;
        for (int k = 0; k < coordinates; ++k) {
            put(worth, at + 2 * k, qpos[k]);
            put(worth, at + 2 * k + 1, moved[k] / splat(dt));
        }
        if (coordinates == 2) {
            put(worth, next, sqrt(mj_square_sum(qpos, 2)));
            ++next;
        }
        if (risen > 0) put(worth, next, qpos[risen] - splat(home));
    }
}

/*
 * worth [2]: the reward of a healthy state, in which position z is in its range (with `closed` also at its ends), so is
 * position 2 (if `leans`), and all further numbers from `first` on are in theirs (if first is not negative).
 */
world_kernel void k_survive(const real *qpos, const real *qvel, real *worth, lint *failed, ureal reward, int z,
                            ureal z_low, ureal z_high, int closed, int leans, ureal angle_low, ureal angle_high,
                            int first, ureal low, ureal high, int nq, int nv, int ends)
{
    each (i, 1) {
        mask fine = mj_inside(qpos[z], z_low, z_high);
        if (closed) fine = m_and(le(splat(z_low), qpos[z]), le(qpos[z], splat(z_high)));
        if (leans) fine = m_and(fine, mj_inside(qpos[2], angle_low, angle_high));
        if (first >= 0) {
            for (int k = first; k < nq; ++k) fine = m_and(fine, mj_inside(qpos[k], low, high));
            for (int k = 0; k < nv; ++k) fine = m_and(fine, mj_inside(qvel[k], low, high));
        }
        put(worth, 2, select(fine, splat(reward), splat(0)));
        failed[i] = iselect(fine, isplat(0), isplat(ends));
    }
}

/* worth [3]: what contact forces cost, each within its bounds, all together within theirs. */
world_kernel void k_impact(const real *cfrc_ext, real *worth, ureal weight, ureal least, ureal most, ureal low,
                           ureal high, int n)
{
    each (i, 1) {
        real sum = splat(0);
        for (int k = 0; k < n; ++k) {
            real force = mj_clip(cfrc_ext[k], least, most);
            sum = fma(force, force, sum);
        }
        put(worth, 3, -mj_clip(splat(weight) * sum, low, high));
    }
}

/* ---- pendulums --------------------------------------------------------------------------------------------------- */

/* Where a number is none, or the pole leans too far, it ends. */
world_kernel void k_pendulum(const real *qpos, const real *qvel, real *worth, lint *failed, ureal most)
{
    each (i, 1) {
        real sum = (qpos[0] - qpos[0]) + (qvel[0] - qvel[0]) + (qvel[1] - qvel[1]);
        mask fine = m_and(eq(sum, splat(0)), le(rabs(qpos[1]), splat(most)));
        put(worth, i, select(fine, splat(1), splat(0)));
        failed[i] = iselect(fine, isplat(0), isplat(1));
    }
}

/* tip [3]: the end of the second pole. force [1]: of the constraint on the cart. */
world_kernel void k_double_pendulum(const real *qpos, const real *qvel, const real *tip, const real *force,
                                    real *observed, real *worth, lint *failed, ureal reward)
{
    each (i, 1) {
        put(observed, 0, qpos[0]);
        for (int k = 0; k < 2; ++k) {
            put(observed, 1 + k, sin(qpos[1 + k]));
            put(observed, 3 + k, cos(qpos[1 + k]));
        }
        for (int k = 0; k < 3; ++k) put(observed, 5 + k, mj_clip(qvel[k], -10, 10));
        put(observed, 8, mj_clip(force[0], -10, 10));
        mask down = le(tip[2], splat(1));
        real sunk = tip[2] - splat(2);
        put(worth, 0, select(down, splat(0), splat(reward)));
        put(worth, 1, -(splat((ureal)0.01) * tip[0] * tip[0] + sunk * sunk));
        put(worth, 2, -(splat((ureal)1e-3) * qvel[1] * qvel[1] + splat((ureal)5e-3) * qvel[2] * qvel[2]));
        failed[i] = iselect(down, isplat(1), isplat(0));
    }
}

/* ---- arms -------------------------------------------------------------------------------------------------------- */

/* places [at …]: where the frame of body b is. With begins: only in worlds that have just begun. */
world_kernel void k_place(const real *xipos, const real *xmat, const ureal *offset, const lint *begun, real *places,
                          int b, int at, int begins)
{
    each (i, 3) {
        real turned = splat(0);
        for (int k = 0; k < 3; ++k) turned = fma(xmat[9 * b + 3 * i + k], splat(offset[3 * b + k]), turned);
        real place = xipos[3 * b + i] - turned;
        put(places, at + i, begins ? select(mj_begun(begun, begins), place, places[at + i]) : place);
    }
}

LFN real mj_distance(const real *a, const real *b)
{
    real x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return sqrt(x * x + y * y + z * z);
}

/* places [2][3]: finger, target. */
world_kernel void k_reach(const real *qpos, const real *qvel, const real *action, const real *places, real *observed,
                          real *worth, ureal near, ureal effort, int nu)
{
    each (i, 1) {
        for (int k = 0; k < 2; ++k) {
            put(observed, k, cos(qpos[k]));
            put(observed, 2 + k, sin(qpos[k]));
            put(observed, 4 + k, qpos[2 + k]);
            put(observed, 6 + k, qvel[k]);
            put(observed, 8 + k, places[k] - places[3 + k]);
        }
        real gap[3];
        for (int k = 0; k < 3; ++k) gap[k] = places[k] - places[3 + k];
        put(worth, 0, splat(-near) * sqrt(mj_square_sum(gap, 3)));
        put(worth, 1, splat(-effort) * mj_square_sum(action, nu));
    }
}

/* places [3][3]: tips, object, goal. */
world_kernel void k_push(const real *qpos, const real *qvel, const real *action, const real *places, real *observed,
                         real *worth, ureal far, ureal effort, ureal near, int nu)
{
    each (i, 1) {
        for (int k = 0; k < 7; ++k) {
            put(observed, k, qpos[k]);
            put(observed, 7 + k, qvel[k]);
        }
        for (int k = 0; k < 9; ++k) put(observed, 14 + k, places[k]);
        real tips[3], object[3], goal[3];
        for (int k = 0; k < 3; ++k) {
            tips[k] = places[k];
            object[k] = places[3 + k];
            goal[k] = places[6 + k];
        }
        put(worth, 0, splat(-far) * mj_distance(object, goal));
        put(worth, 1, splat(-effort) * mj_square_sum(action, nu));
        put(worth, 2, splat(-near) * mj_distance(object, tips));
    }
}
