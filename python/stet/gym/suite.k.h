/*
 * Tasks of dm_control's suite (suite.py), in kernels of a step. Arrays of worlds: qpos, qvel; xmat [nbody][9]; xpos,
 * xipos, velocity (subtree_linvel) [nbody][3]; geoms [ngeom][3] (geom_xpos), sites [nsite][3] (site_xpos), all of the
 * present state; action [nu]; observed; worth [1], the reward. No episode ends but by its time limit.
 */
#include "stet/lang.h"

#include "tolerance.k.h"

#define DC_FAR ((ureal)1e30) /* for ranges without an end */

/* 1 for no control, 1 - 1 / parts for controls of 1. */
LFN real dc_small_control(const real *action, int nu, int parts)
{
    real sum = splat(0);
    for (int i = 0; i < nu; ++i) sum = sum + tol_quadratic(action[i], 0, 0, 1);
    return (splat((ureal)(parts - 1)) + sum / splat((ureal)nu)) / splat((ureal)parts);
}

/* observed [at …]: n numbers from `first` on. */
LFN void dc_see(const real *from, int first, int n, real *observed, int at)
{
    for (int i = 0; i < n; ++i) put(observed, at + i, from[first + i]);
}

LFN real dc_gap(const real *places, int a, int b, int n)
{
    real sum = splat(0);
    for (int i = 0; i < n; ++i) {
        real gap = places[3 * a + i] - places[3 * b + i];
        sum = sum + gap * gap;
    }
    return sqrt(sum);
}

/* Body 2 is the pole. */
world_kernel void k_cartpole(const real *qpos, const real *qvel, const real *xmat, const real *action, real *observed,
                             real *worth, int sparse)
{
    each (one, 1) {
        real upright = xmat[26], slow, worthy;
        put(observed, 0, qpos[0]);
        put(observed, 1, upright);
        put(observed, 2, xmat[20]);
        dc_see(qvel, 0, 2, observed, 3);
        slow = (splat(1) + tol_gaussian(qvel[1], 0, 0, 5)) / splat(2);
        worthy = (upright + splat(1)) / splat(2) * ((splat(1) + tol_gaussian(qpos[0], 0, 0, 2)) / splat(2)) *
                 dc_small_control(action, 1, 5) * slow;
        if (sparse) worthy = tol_inside(qpos[0], (ureal)-0.25, (ureal)0.25) * tol_inside(upright, (ureal)0.995, 1);
        put(worth, 0, worthy);
    }
}

/* Body 1 is the pole. least: cosine of the angle from upright that is good enough. */
world_kernel void k_pendulum(const real *qvel, const real *xmat, real *observed, real *worth, ureal least)
{
    each (one, 1) {
        put(observed, 0, xmat[17]);
        put(observed, 1, xmat[11]);
        put(observed, 2, qvel[0]);
        put(worth, 0, tol_inside(xmat[17], least, 1));
    }
}

/* Bodies 1 and 2 are the arms. target, tip: numbers of sites. */
world_kernel void k_acrobot(const real *qvel, const real *xmat, const real *sites, real *observed, real *worth,
                            int target, int tip, ureal radius, int sparse)
{
    each (one, 1) {
        real gap = dc_gap(sites, target, tip, 3);
        for (int b = 0; b < 2; ++b) {
            put(observed, b, xmat[9 * (b + 1) + 2]);
            put(observed, 2 + b, xmat[9 * (b + 1) + 8]);
        }
        dc_see(qvel, 0, 2, observed, 4);
        put(worth, 0, sparse ? tol_inside(gap, 0, radius) : tol_gaussian(gap, 0, radius, 1));
    }
}

world_kernel void k_cheetah(const real *qpos, const real *qvel, const real *velocity, real *observed, real *worth,
                            int torso, int nq, int nv)
{
    each (one, 1) {
        dc_see(qpos, 1, nq - 1, observed, 0);
        dc_see(qvel, 0, nv, observed, nq - 1);
        put(worth, 0, tol_linear(velocity[3 * torso], 10, DC_FAR, 10, 0));
    }
}

/* speed: m/s, 0: it stands. Body 1 is the torso. */
world_kernel void k_walker(const real *qvel, const real *xmat, const real *xpos, const real *velocity, real *observed,
                           real *worth, ureal speed, int nbody, int nv)
{
    each (one, 1) {
        for (int b = 1; b < nbody; ++b) {
            put(observed, 2 * b - 2, xmat[9 * b]);
            put(observed, 2 * b - 1, xmat[9 * b + 2]);
        }
        put(observed, 2 * nbody - 2, xpos[5]);
        dc_see(qvel, 0, nv, observed, 2 * nbody - 1);
        real standing = tol_gaussian(xpos[5], (ureal)1.2, DC_FAR, (ureal)0.6);
        real worthy = (splat(3) * standing + (splat(1) + xmat[17]) / splat(2)) / splat(4);
        if (speed > 0) {
            real going = tol_linear(velocity[3], speed, DC_FAR, speed / 2, (ureal)0.5);
            worthy = worthy * (splat(5) * going + splat(1)) / splat(6);
        }
        put(worth, 0, worthy);
    }
}

/*
 * touch: the place in sensordata of the toe's and the heel's sensor. dm_control has those that the last step left; in a
 * world that has not moved since its reset (its time is 0) those of its state.
 */
world_kernel void k_hopper(const real *time, const real *qpos, const real *qvel, const real *sensordata,
                           const real *step_sensordata, const real *xipos, const real *velocity, const real *action,
                           real *observed, real *worth, int hops, int touch, int torso, int foot, int nq, int nv,
                           int nu)
{
    each (one, 1) {
        mask begins = eq(time[0], splat(0));
        dc_see(qpos, 1, nq - 1, observed, 0);
        dc_see(qvel, 0, nv, observed, nq - 1);
        for (int i = touch; i < touch + 2; ++i) {
            real force = select(begins, sensordata[i], step_sensordata[i]);
            put(observed, nq - 1 + nv + i - touch, log(splat(1) + force));
        }
        real standing = tol_inside(xipos[3 * torso + 2] - xipos[3 * foot + 2], (ureal)0.6, 2);
        real hopping = tol_linear(velocity[3 * torso], 2, DC_FAR, 1, (ureal)0.5);
        put(worth, 0, standing * (hops ? hopping : dc_small_control(action, nu, 5)));
    }
}

/* mass, target: numbers of geoms. */
world_kernel void k_point(const real *qpos, const real *qvel, const real *geoms, const real *action, real *observed,
                          real *worth, int mass, int target, ureal radius, int nu)
{
    each (one, 1) {
        dc_see(qpos, 0, 2, observed, 0);
        dc_see(qvel, 0, 2, observed, 2);
        put(worth, 0,
            tol_gaussian(dc_gap(geoms, mass, target, 3), 0, radius, radius) * dc_small_control(action, nu, 5));
    }
}

/* target [2]. finger: the number of its geom. */
world_kernel void k_reacher(const real *qpos, const real *qvel, const real *geoms, const real *target, real *observed,
                            real *worth, int finger, ureal radius)
{
    each (one, 1) {
        real x = target[0] - geoms[3 * finger], y = target[1] - geoms[3 * finger + 1];
        dc_see(qpos, 0, 2, observed, 0);
        put(observed, 2, x);
        put(observed, 3, y);
        dc_see(qvel, 0, 2, observed, 4);
        put(worth, 0, tol_inside(sqrt(x * x + y * y), 0, radius));
    }
}
