/*
 * A humanoid moves as a recorded motion does (tracking.py). Arrays of worlds:
 *
 *   frame [1]   which frame of the motion the robot is to be like
 *   tick [1]    steps of the episode
 *   clock [1]   seconds until the next push
 *   bias [nu]   of the joints' encoders, rad
 *   place, turn xpos [nbody][3], xquat [nbody][4]
 *   sensor      step_sensordata: of each tracked body its velocity and angular velocity from `at` on, then the largest
 *               contact of the robot with itself [found, force 3]
 *
 * Plain: motion [nframe][width]: of each frame qpos, qvel, then of each tracked body place 3, quaternion 4, velocity 3
 * and angular velocity 3; body [ntrack]: the tracked bodies; tip [ntip]: which of them are hands and feet; anchor:
 * the number of the torso among them. joint [3][nu]: the keyframe, softened limits; noise: of the policy's observation;
 * number: of the task, in the order of tracking.py.
 */
#include "common.k.h"

#define START 1 /* purposes of random numbers */
#define PUSH 4
#define SCATTER 8
#define NOISE 64

#define TR_DT 0      /* places in `number` */
#define TR_PUSH 1    /* widths of velocities, and then seconds from one to the next */
#define TR_SCATTER 9 /* widths of places (m) and angles (rad) where an episode begins, of joints */
#define TR_LOST 16   /* from where on it has lost the motion: height of the torso (m), tilt, height of hands and feet */
#define TR_WEIGHT 19

#define TRACKED 13 /* numbers of a body in a frame */

/* p * q and conj(p) * q of quaternions. */
LFN void tr_times(const real *p, const real *q, real out[4])
{
    out[0] = p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3];
    out[1] = p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2];
    out[2] = p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1];
    out[3] = p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0];
}

LFN void tr_from(const real *p, const real *q, real out[4])
{
    real back[4] = {p[0], -p[1], -p[2], -p[3]};
    tr_times(back, q, out);
}

/* The square of the angle between two rotations. */
LFN real tr_angle(const real *p, const real *q)
{
    real d[4];
    tr_from(p, q, d);
    return tk_square(splat(2) * atan2(tk_norm(d + 1, 3), rabs(d[0])));
}

/* The part of a rotation about the vertical. */
LFN void tr_yaw(const real *q, real out[4])
{
    real length = sqrt(q[0] * q[0] + q[3] * q[3]), still = splat((ureal)1e-6);
    mask turns = gt(length, still);
    real over = splat(1) / select(turns, length, splat(1));
    out[0] = select(turns, q[0] * over, splat(1));
    out[1] = splat(0);
    out[2] = splat(0);
    out[3] = select(turns, q[3] * over, splat(0));
}

LFN void tr_read(const ureal *motion, lint from, real *out, int n)
{
    for (int i = 0; i < n; ++i) out[i] = gather(motion, from + isplat(i));
}

/* The state of a frame, scattered within the widths (none: `scatter` is 0), in the worlds of the mask. */
LFN void tr_begin(mask fresh, const ureal *motion, lint from, const real *dice, lint tick, const ureal *number,
                  int scatter, real *qpos, real *qvel, real *previous, int nq, int nv, int nu)
{
    real u[8], angle[3], small[4], q[4], at[4];
    tk_draw(dice, tick, SCATTER, u);
    tk_draw(dice, tick, SCATTER + 1, u + 4);
    real on = splat((ureal)scatter);
    for (int i = 0; i < 3; ++i) {
        real x = gather(motion, from + isplat(i));
        tk_put(fresh, qpos, i, fma(on * splat(number[TR_SCATTER + i]), u[i], x));
        angle[i] = on * splat((ureal)0.5 * number[TR_SCATTER + 3 + i]) * u[3 + i];
    }
    real over = splat(1) / sqrt(splat(1) + tk_sum(angle, 3));
    small[0] = over;
    for (int i = 0; i < 3; ++i) small[1 + i] = angle[i] * over;
    tr_read(motion, from + isplat(3), at, 4);
    tr_times(small, at, q);
    for (int i = 0; i < 4; ++i) tk_put(fresh, qpos, 3 + i, q[i]);
    for (int i = 7; i < nq; i += 4) {
        tk_draw(dice, tick, SCATTER + 2 + i / 4, u);
        for (int k = 0; k < 4; ++k) {
            if (i + k >= nq) continue;
            real x = gather(motion, from + isplat(i + k));
            tk_put(fresh, qpos, i + k, fma(on * splat(number[TR_SCATTER + 6]), u[k], x));
        }
    }
    for (int i = 0; i < nv; ++i) tk_put(fresh, qvel, i, gather(motion, from + isplat(nq + i)));
    for (int i = 0; i < nu; ++i) tk_put(fresh, previous, i, splat(0));
}

/* The bodies of a frame in the frame of the robot: where its torso is, and turned about the vertical as that is. */
LFN void tr_align(const real *torso_turn, const real *about, real offset[4])
{
    real back[4] = {about[3], -about[4], -about[5], -about[6]}, heading[4];
    tr_times(torso_turn, back, heading);
    tr_yaw(heading, offset);
}

/* After the physics: what the step was worth, which is of the frame that comes next. */
world_kernel void k_rate_motion(const real *qpos, const real *place, const real *turn, const real *sensor,
                                const real *change, lint *frame, lint *tick, real *clock, const ureal *motion,
                                const int *body, const int *tip, const ureal *joint, const ureal *number, real *worth,
                                lint *failed, int ntrack, int ntip, int anchor, int at, int width, int first, int nu)
{
    each (one, 1) {
        real zero = splat(0), about[7], offset[4], rotation[9], sum[5] = {zero, zero, zero, zero, zero}, beyond = zero;
        const real *torso = place + 3 * body[anchor], *torso_turn = turn + 4 * body[anchor];
        mask lost = m_none();
        frame[0] = frame[0] + isplat(1);
        tick[0] = tick[0] + isplat(1);
        put(clock, 0, clock[0] - splat(number[TR_DT]));
        lint bodies = isplat(width) * frame[0] + isplat(first);
        tr_read(motion, bodies + isplat(TRACKED * anchor), about, 7);
        tr_align(torso_turn, about, offset);
        tk_turn(offset, rotation);
        for (int b = 0; b < ntrack; ++b) {
            real now[TRACKED], want[4], gap[3], spin[3], way[3], slip[3];
            const real *p = place + 3 * body[b], *v = sensor + at + 6 * b;
            tr_read(motion, bodies + isplat(TRACKED * b), now, TRACKED);
            tr_times(offset, now + 3, want);
            for (int i = 0; i < 3; ++i) way[i] = now[i] - about[i];
            for (int i = 0; i < 3; ++i) {
                real x = rotation[3 * i] * way[0] + rotation[3 * i + 1] * way[1] + rotation[3 * i + 2] * way[2];
                gap[i] = (i < 2 ? torso[i] : about[2]) + x - p[i];
                slip[i] = now[7 + i] - v[i];
                spin[i] = now[10 + i] - v[3 + i];
            }
            sum[0] = sum[0] + tk_sum(gap, 3);
            sum[1] = sum[1] + tr_angle(want, turn + 4 * body[b]);
            sum[2] = sum[2] + tk_sum(slip, 3);
            sum[3] = sum[3] + tk_sum(spin, 3);
            sum[4] = sum[4] + tk_norm(gap, 3);
            for (int k = 0; k < ntip; ++k)
                if (tip[k] == b) lost = m_or(lost, gt(rabs(gap[2]), splat(number[TR_LOST + 2])));
        }
        for (int i = 0; i < nu; ++i)
            beyond = beyond + rmax(splat(joint[nu + i]) - qpos[7 + i], zero) +
                     rmax(qpos[7 + i] - splat(joint[2 * nu + i]), zero);
        real away[3], up[9], upright[9], n = splat((ureal)ntrack);
        for (int i = 0; i < 3; ++i) away[i] = about[i] - torso[i];
        tk_turn(torso_turn, up);
        tk_turn(about + 3, upright);
        lost = m_or(lost, gt(rabs(away[2]), splat(number[TR_LOST])));
        lost = m_or(lost, gt(rabs(up[8] - upright[8]), splat(number[TR_LOST + 1])));
        real term[9] = {tk_near(tk_sum(away, 3), (ureal)0.3),
                        tk_near(tr_angle(about + 3, torso_turn), (ureal)0.4),
                        tk_near(sum[0] / n, (ureal)0.3),
                        tk_near(sum[1] / n, (ureal)0.4),
                        tk_near(sum[2] / n, (ureal)1),
                        tk_near(sum[3] / n, (ureal)3.14),
                        tk_sum(change, nu),
                        beyond,
                        tk_flag(gt(tk_norm(sensor + at + 6 * ntrack + 1, 3), splat((ureal)10)))};
        for (int k = 0; k < 9; ++k) put(worth, k, splat(number[TR_DT] * number[TR_WEIGHT + k]) * term[k]);
        put(worth, 9, sum[4] / n);
        failed[0] = iselect(lost, isplat(1), isplat(0));
    }
}

/* The state of a frame where an episode begins (begins), or the motion is over; and pushes. */
world_kernel void k_set_motion(real *qpos, real *qvel, real *previous, const lint *begun, const real *dice, lint *frame,
                               lint *tick, real *clock, const ureal *motion, const ureal *number, int nframe, int width,
                               int nq, int nv, int nu, int disturb, int begins)
{
    each (one, 1) {
        real u[4];
        mask set = begins ? tk_where(begun) : m_not(ilt(frame[0], isplat(nframe - 1)));
        lint first = isplat(0);
        if (begins) {
            tk_draw(dice, isplat(0), START, u);
            real share = fma(splat((ureal)0.5), u[0], splat((ureal)0.5)) * splat((ureal)(nframe - 1));
            if (disturb) first = imin(to_int(share), isplat(nframe - 2));
            tick[0] = iselect(set, isplat(0), tick[0]);
            tk_put(set, clock, 0, tk_between(u[1], number[TR_PUSH + 6], number[TR_PUSH + 7]));
        }
        frame[0] = iselect(set, first, frame[0]);
        if (any(set))
            tr_begin(set, motion, isplat(width) * frame[0], dice, tick[0], number, disturb, qpos, qvel, previous, nq,
                     nv, nu);
        mask kicked = disturb && !begins ? m_not(gt(clock[0], splat(0))) : m_none();
        if (any(kicked)) tk_push(kicked, dice, tick[0], PUSH, number + TR_PUSH, qvel, clock, 0);
    }
}

/* What is seen: of the policy [15 + 5 nu], then of the critic. */
world_kernel void k_see_motion(const real *qpos, const real *qvel, const real *place, const real *turn,
                               const real *previous, const real *dice, const real *bias, const lint *frame,
                               const lint *tick, const ureal *motion, const int *body, const ureal *joint,
                               const ureal *noise, real *seen, int ntrack, int anchor, int width, int nq, int nv,
                               int nu, int disturb)
{
    each (one, 1) {
        real pelvis[9], velocity[3], mine[9], about[7], way[3], inside[3], q[4], rotation[9];
        int n = 15 + 5 * nu;
        lint from = isplat(width) * frame[0];
        const real *torso = place + 3 * body[anchor], *torso_turn = turn + 4 * body[anchor];
        real *critic = seen + n;
        tk_turn(qpos + 3, pelvis);
        tk_into(pelvis, qvel, velocity);
        tk_turn(torso_turn, mine);
        tr_read(motion, from + isplat(nq + nv + TRACKED * anchor), about, 7);
        for (int i = 0; i < nu; ++i) {
            put(critic, i, gather(motion, from + isplat(7 + i)));
            put(critic, nu + i, gather(motion, from + isplat(nq + 6 + i)));
            put(critic, 2 * nu + 15 + i, qpos[7 + i] - splat(joint[i]));
            put(critic, 3 * nu + 15 + i, qvel[6 + i]);
            put(critic, 4 * nu + 15 + i, previous[i]);
        }
        for (int i = 0; i < 3; ++i) {
            put(critic, 2 * nu + 9 + i, velocity[i]);
            put(critic, 2 * nu + 12 + i, qvel[3 + i]);
        }
        /* in the robot's torso: where the motion's torso is, and, for the critic, its own bodies */
        for (int b = -1; b < ntrack; ++b) {
            int first = b < 0 ? 2 * nu : n + 9 * b, number = body[nmax(b, 0)];
            for (int i = 0; i < 3; ++i) way[i] = (b < 0 ? about[i] : place[3 * number + i]) - torso[i];
            if (b < 0)
                tr_from(torso_turn, about + 3, q);
            else
                tr_from(torso_turn, turn + 4 * number, q);
            tk_into(mine, way, inside);
            tk_turn(q, rotation);
            for (int i = 0; i < 3; ++i) {
                put(critic, first + i, inside[i]);
                put(critic, first + 3 + 2 * i, rotation[3 * i]);
                put(critic, first + 4 + 2 * i, rotation[3 * i + 1]);
            }
        }
        for (int i = 0; i < n; ++i) put(seen, i, critic[i]);
        for (int i = 0; i < nu; ++i) put(seen, 2 * nu + 15 + i, critic[2 * nu + 15 + i] + bias[i]);
        if (disturb) tk_blur(dice, tick[0], NOISE, noise, seen, n);
    }
}
