/*
 * The tasks of robots (robots.py), in kernels of a step. Arrays of worlds:
 *
 *   previous, change [nu]  the last action, and how far it is from the one before
 *   observed [observed], worth [terms], failed [1], begun [1]  as in mujoco.k.h
 *
 * home [nq] is plain: the keyframe. dt: seconds of a step. Quaternions in qpos are of length 1.
 */
#include "stet/lang.h"

#include "tolerance.k.h"

LFN mask rb_begun(const lint *begun, int begins) { return begins ? m_not(ieq(begun[0], isplat(0))) : m_none(); }

/* The rotation of the body whose quaternion is at this place of qpos; rows. */
LFN void rb_turn(const real *qpos, int at, real turn[9])
{
    real w = qpos[at], x = qpos[at + 1], y = qpos[at + 2], z = qpos[at + 3];
    turn[0] = splat(1) - splat(2) * (y * y + z * z);
    turn[1] = splat(2) * (x * y - w * z);
    turn[2] = splat(2) * (x * z + w * y);
    turn[3] = splat(2) * (x * y + w * z);
    turn[4] = splat(1) - splat(2) * (x * x + z * z);
    turn[5] = splat(2) * (y * z - w * x);
    turn[6] = splat(2) * (x * z - w * y);
    turn[7] = splat(2) * (y * z + w * x);
    turn[8] = splat(1) - splat(2) * (x * x + y * y);
}

LFN real rb_square_sum(const real *x, int n)
{
    real sum = splat(0);
    for (int i = 0; i < n; ++i) sum = fma(x[i], x[i], sum);
    return sum;
}

LFN real rb_square(real x) { return x * x; }

/* observed [at …]: the last action; 0 in worlds that just begin. */
LFN void rb_see_previous(const lint *begun, real *previous, real *observed, int at, int nu, int begins)
{
    mask fresh = rb_begun(begun, begins);
    for (int i = 0; i < nu; ++i) {
        real u = select(fresh, splat(0), previous[i]);
        put(previous, i, u);
        put(observed, at + i, u);
    }
}

/* The last action of worlds that just begin is 0. */
LFN void rb_forget(const lint *begun, real *previous, int nu, int begins)
{
    mask fresh = rb_begun(begun, begins);
    for (int i = 0; i < nu; ++i) put(previous, i, select(fresh, splat(0), previous[i]));
}

/* 1 within 2 cm, less with the distance. */
LFN real rb_near(const real *gap) { return tol_gaussian(sqrt(rb_square_sum(gap, 3)), 0, (ureal)0.02, (ureal)0.3); }

/* ctrl [nu]: an action, then its control: hold + reach * half * action, in the actuator's range. hold … are plain. */
world_kernel void k_control(real *ctrl, real *previous, real *change, const ureal *hold, const ureal *half,
                            const ureal *low, const ureal *high, ureal reach, int nu)
{
    each (i, nu) {
        real u = clamp(ctrl[i], splat(-1), splat(1));
        put(change, i, u - previous[i]);
        put(previous, i, u);
        put(ctrl, i, clamp(fma(splat(reach * half[i]), u, splat(hold[i])), splat(low[i]), splat(high[i])));
    }
}

/* command [3]: forward, left (m/s), turning (rad/s). worth: velocity, turning, bouncing, rolling, tilt, change. */
world_kernel void k_joystick(const real *qpos, const real *qvel, real *previous, const real *change,
                             const real *command, const lint *begun, const ureal *home, real *observed, real *worth,
                             lint *failed, ureal dt, int nu, int begins)
{
    each (one, 1) {
        real turn[9], velocity[3];
        rb_turn(qpos, 3, turn);
        for (int i = 0; i < 3; ++i) {
            velocity[i] = turn[i] * qvel[0] + turn[3 + i] * qvel[1] + turn[6 + i] * qvel[2];
            put(observed, i, velocity[i]);
            put(observed, 3 + i, qvel[3 + i]);
            put(observed, 6 + i, -turn[6 + i]);
            put(observed, 9 + 3 * nu + i, command[i]);
        }
        for (int i = 0; i < nu; ++i) {
            put(observed, 9 + i, qpos[7 + i] - splat(home[7 + i]));
            put(observed, 9 + nu + i, qvel[6 + i]);
        }
        rb_see_previous(begun, previous, observed, 9 + 2 * nu, nu, begins);
        real miss = rb_square(velocity[0] - command[0]) + rb_square(velocity[1] - command[1]);
        put(worth, 0, splat(dt) * exp(splat(-4) * miss));
        put(worth, 1, splat((ureal)0.5 * dt) * exp(splat(-4) * rb_square(qvel[5] - command[2])));
        put(worth, 2, splat((ureal)-0.5 * dt) * rb_square(velocity[2]));
        put(worth, 3, splat((ureal)-0.05 * dt) * (rb_square(qvel[3]) + rb_square(qvel[4])));
        put(worth, 4, splat(-dt) * (rb_square(turn[6]) + rb_square(turn[7])));
        put(worth, 5, splat((ureal)-0.01 * dt) * rb_square_sum(change, nu));
        failed[0] = iselect(lt(turn[8], splat((ureal)0.3)), isplat(1), isplat(0));
    }
}

/*
 * velocity [nbody][3]: subtree_linvel; places [nsite][3]: site_xpos; turns [nbody][9]: xmat. pelvis, torso, head: the
 * numbers of two bodies and a site. The speed is to be from least to most. worth: one term.
 */
world_kernel void k_walk(const real *qpos, const real *qvel, real *previous, const lint *begun, const real *velocity,
                         const real *places, const real *turns, real *observed, real *worth, lint *failed, ureal least,
                         ureal most, ureal margin, int pelvis, int torso, int head, int nq, int nv, int nu, int begins)
{
    each (one, 1) {
        real turn[9], small = splat(0);
        rb_turn(qpos, 3, turn);
        put(observed, 0, qpos[2]);
        for (int i = 0; i < 3; ++i) {
            put(observed, 1 + i, -turn[6 + i]);
            put(observed, 4 + i, velocity[3 * pelvis + i]);
        }
        for (int i = 7; i < nq; ++i) put(observed, i, qpos[i]);
        for (int i = 3; i < nv; ++i) put(observed, nq - 3 + i, qvel[i]);
        for (int i = 0; i < nu; ++i) small = small + (splat(1) - rb_square(previous[i]));
        rb_see_previous(begun, previous, observed, nq + nv - 3, nu, begins);
        small = (splat(4) + small / splat((ureal)nu)) / splat(5);
        real upright = tol_linear(turns[9 * torso + 8], (ureal)0.9, (ureal)2, (ureal)1.9, (ureal)0);
        real tall = tol_gaussian(places[3 * head + 2], (ureal)1.4, (ureal)1e6, (ureal)0.4);
        real speed = tol_linear(velocity[3 * pelvis], least, most, margin, (ureal)0);
        put(worth, 0, upright * tall * small * ((splat(1) + splat(5) * speed) / splat(6)));
        failed[0] = iselect(lt(qpos[2], splat((ureal)0.5)), isplat(1), isplat(0));
    }
}

/* The cube's free joint is at place `p` of qpos and `v` of qvel. worth: turning, change, dropped. */
world_kernel void k_rotate(const real *qpos, const real *qvel, real *previous, const real *change, const lint *begun,
                           const ureal *home, real *observed, real *worth, lint *failed, ureal dt, int p, int v, int nv,
                           int nu, int begins)
{
    each (one, 1) {
        real turn[9], away[3];
        rb_turn(qpos, p + 3, turn);
        for (int i = 0; i < p; ++i) put(observed, i, qpos[i] - splat(home[i]));
        for (int i = 0; i < nv; ++i) put(observed, p + i, qvel[i]);
        for (int i = 0; i < 3; ++i) {
            away[i] = qpos[p + i] - splat(home[p + i]);
            put(observed, p + nv + i, away[i]);
        }
        for (int i = 0; i < 4; ++i) put(observed, p + nv + 3 + i, qpos[p + 3 + i]);
        rb_see_previous(begun, previous, observed, p + nv + 7, nu, begins);
        real turning = turn[6] * qvel[v + 3] + turn[7] * qvel[v + 4] + turn[8] * qvel[v + 5];
        mask dropped = gt(rb_square_sum(away, 3), splat((ureal)0.01));
        put(worth, 0, splat(dt) * clamp(turning, splat(-5), splat(5)));
        put(worth, 1, splat((ureal)-0.01 * dt) * rb_square_sum(change, nu));
        put(worth, 2, select(dropped, splat(-1), splat(0)));
        failed[0] = iselect(dropped, isplat(1), isplat(0));
    }
}

/*
 * target [3]. places [nsite][3]: site_xpos; grasp: the number of the gripper's. box: the place of the box in qpos; -1:
 * it is only to reach. worth: near, change; or grip, place, change.
 */
world_kernel void k_arm(const real *qpos, const real *qvel, real *previous, const real *change, const lint *begun,
                        const real *target, const real *places, real *observed, real *worth, lint *failed, ureal dt,
                        int grasp, int box, int nu, int begins)
{
    each (one, 1) {
        real gap[3], to_box[3], to_target[3];
        rb_forget(begun, previous, nu, begins);
        for (int i = 0; i < 7; ++i) {
            put(observed, i, qpos[i]);
            put(observed, 7 + i, qvel[i]);
        }
        for (int i = 0; i < 3; ++i) {
            real hand = places[3 * grasp + i];
            gap[i] = target[i] - hand;
            put(observed, 14 + i, hand);
            put(observed, 17 + i, target[i]);
            put(observed, 20 + i, gap[i]);
            to_box[i] = box < 0 ? splat(0) : qpos[nmax(box, 0) + i] - hand;
            to_target[i] = box < 0 ? splat(0) : target[i] - qpos[nmax(box, 0) + i];
        }
        put(observed, 23, qpos[7]);
        real effort = splat((ureal)-0.01 * dt) * rb_square_sum(change, nu);
        if (box < 0) {
            put(worth, 0, splat(dt) * rb_near(gap));
            put(worth, 1, effort);
            failed[0] = isplat(0);
        } else {
            for (int i = 0; i < 3; ++i) put(observed, 24 + i, to_box[i]);
            for (int i = 0; i < 7; ++i) put(observed, 27 + i, qpos[box + i]);
            put(worth, 0, splat(dt) * rb_near(to_box));
            put(worth, 1, splat(4 * dt) * rb_near(to_target));
            put(worth, 2, effort);
            failed[0] = iselect(lt(qpos[box + 2], splat((ureal)0.3)), isplat(1), isplat(0));
        }
    }
}
