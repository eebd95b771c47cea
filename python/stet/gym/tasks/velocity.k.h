/*
 * A robot with legs goes as it is commanded (velocity.py). Arrays of worlds:
 *
 *   command [3]       forward, left (m/s), turning (rad/s), in the frame of the trunk
 *   aim [2]           1 where turning follows a heading, and that heading (rad, of the world)
 *   clock [2]         seconds until the next command, until the next push
 *   tick [1]          steps of the episode
 *   feet [nfoot][3]   of each foot: seconds in the air, how high it was meanwhile (m), 1 where it touches the ground
 *   bias [nu]         of the joints' encoders, rad
 *   ground [nfoot]    height of the ground below each foot, m
 *   level, column [1] the tile of terrain that the world is on
 *   sensor            step_sensordata: of each foot [contact, force 3, place 3, velocity 3] from `feet_at` on; then the
 *                     torso's z axis, its angular velocity, the robot's angular momentum, the largest contact of the
                     robot with itself [found, force 3]
 *   seen              the policy's observation, then what the critic sees
 *
 * Plain: joint [6][nu]: angles of the keyframe, softened limits (low, high), tolerances of the pose standing, walking,
 * running; noise: of each number of the policy's observation; number: of the task, in the order of NUMBERS in
 * velocity.py.
 */
#include "common.k.h"

#define COMMAND 1 /* purposes of random numbers */
#define PUSH 3
#define BEGIN 5
#define LEVEL 6
#define NOISE 16
#define SCAN 64

#define VL_DT 0 /* places in `number` */
#define VL_RANGE 1
#define VL_TIMES 7
#define VL_SHARES 9
#define VL_STIFF 12
#define VL_PUSH 13 /* widths, and then seconds from one to the next */
#define VL_PERIOD 19
#define VL_SPEEDS 21
#define VL_SWING 23
#define VL_TILT 24
#define VL_WEIGHT 25
#define VL_TILE 38
#define VL_SECONDS 39

#define FOOT 10 /* numbers of a foot among the sensors */

typedef struct robot {
    const real *qpos;
    const real *qvel;
    const real *sensor;
    const real *turn;
    const real *velocity; /* of the trunk, in its frame */
    const real *command;
    const real *previous;
    const real *change;
    const real *bias;
    const real *feet;
    const ureal *joint;
    const ureal *number;
    int nu;
    int nfoot;
} robot;

LFN real vl_speed(const real *command) { return tk_norm(command, 2) + rabs(command[2]); }

/* A new command where it is due: some stand, some go straight on, some turn towards a heading. */
LFN void vl_command(mask due, const real *dice, lint tick, const ureal *number, real *command, real *aim, real *clock)
{
    real u[4], v[4];
    tk_draw(dice, tick, COMMAND, u);
    tk_draw(dice, tick, COMMAND + 1, v);
    real share = fma(splat((ureal)0.5), v[1], splat((ureal)0.5));
    mask stands = lt(share, splat(number[VL_SHARES]));
    real rest = fma(splat((ureal)0.5), v[2], splat((ureal)0.5));
    mask aims = m_andnot(lt(rest, splat(number[VL_SHARES + 1])), stands);
    mask ahead = m_andnot(lt(fma(splat((ureal)0.5), v[3], splat((ureal)0.5)), splat(number[VL_SHARES + 2])), stands);
    for (int i = 0; i < 3; ++i) {
        real x = tk_between(u[i], number[VL_RANGE + 2 * i], number[VL_RANGE + 2 * i + 1]);
        x = select(ahead, i == 0 ? rmin(rabs(x), splat(number[VL_RANGE + 1])) : splat(0), x);
        tk_put(due, command, i, select(stands, splat(0), x));
    }
    tk_put(due, aim, 0, tk_flag(m_andnot(aims, ahead)));
    tk_put(due, aim, 1, splat((ureal)3.14159265358979324) * v[0]);
    tk_put(due, clock, 0, tk_between(u[3], number[VL_TIMES], number[VL_TIMES + 1]));
}

/* Turning towards a heading, where one is aimed at. */
LFN void vl_aim(const real *turn, const real *aim, const ureal *number, real *command)
{
    real off = aim[1] - atan2(turn[3], turn[0]), round = splat((ureal)6.28318530717958648);
    off = off - round * rint(off / round);
    off = clamp(splat(number[VL_STIFF]) * off, splat(number[VL_RANGE + 4]), splat(number[VL_RANGE + 5]));
    tk_put(gt(aim[0], splat(0)), command, 2, off);
}

/* The terms of the reward, as a sum a second (weights: from VL_WEIGHT on); in the order of TERMS in velocity.py. */
LFN void vl_rate(robot r, const real *torso, const mask *landed, const real *height, real *worth)
{
    const ureal *n = r.number;
    real speed = vl_speed(r.command), term[13], zero = splat(0);
    mask walks = gt(speed, splat(n[VL_SPEEDS])), runs = m_not(lt(speed, splat(n[VL_SPEEDS + 1])));
    real miss[4] = {r.velocity[0] - r.command[0], r.velocity[1] - r.command[1], r.velocity[2],
                    r.qvel[5] - r.command[2]};
    term[0] = tk_near(tk_sum(miss, 3), (ureal)0.5);
    term[1] = exp(splat(-2) * (tk_square(miss[3]) + tk_sum(r.qvel + 3, 2)));
    term[2] = exp(splat(-5) * (tk_square(torso[0]) + tk_square(torso[1])));
    real off = zero, beyond = zero;
    for (int i = 0; i < r.nu; ++i) {
        real q = r.qpos[7 + i], d = q - splat(r.joint[i]);
        real spread = select(runs, splat(r.joint[5 * r.nu + i]),
                             select(walks, splat(r.joint[4 * r.nu + i]), splat(r.joint[3 * r.nu + i])));
        off = off + tk_square(d / spread);
        beyond = beyond + rmax(splat(r.joint[r.nu + i]) - q, zero) + rmax(q - splat(r.joint[2 * r.nu + i]), zero);
    }
    term[3] = exp(-off / splat((ureal)r.nu));
    term[4] = beyond;
    term[5] = tk_sum(r.change, r.nu);
    for (int k = 6; k < 10; ++k) term[k] = zero;
    for (int f = 0; f < r.nfoot; ++f) {
        const real *s = r.sensor + FOOT * f;
        real slip = tk_sum(s + 7, 2), touch = tk_flag(gt(s[0], zero));
        term[6] = term[6] + rabs(height[f] - splat(n[VL_SWING])) * sqrt(slip);
        term[7] = term[7] + select(landed[f], tk_square(r.feet[3 * f + 1] / splat(n[VL_SWING]) - splat(1)), zero);
        term[8] = term[8] + slip * touch;
        term[9] = term[9] + select(landed[f], tk_norm(s + 1, 3), zero);
    }
    for (int k = 6; k < 10; ++k) term[k] = select(walks, term[k], zero);
    term[10] = tk_sum(torso + 3, 2);
    term[11] = tk_sum(torso + 6, 3);
    term[12] = tk_flag(gt(tk_norm(torso + 10, 3), splat((ureal)10)));
    for (int k = 0; k < 13; ++k) put(worth, k, splat(n[VL_DT] * n[VL_WEIGHT + k]) * term[k]);
    put(worth, 13, tk_norm(miss, 2));
}

/* What policy and critic have in common: [9 + 3 nu + 3]. */
LFN void vl_see(robot r, int biased, real *seen)
{
    for (int i = 0; i < 3; ++i) {
        put(seen, i, r.velocity[i]);
        put(seen, 3 + i, r.qvel[3 + i]);
        put(seen, 6 + i, -r.turn[6 + i]);
        put(seen, 9 + 3 * r.nu + i, r.command[i]);
    }
    for (int i = 0; i < r.nu; ++i) {
        real q = r.qpos[7 + i] - splat(r.joint[i]);
        put(seen, 9 + i, biased ? q + r.bias[i] : q);
        put(seen, 9 + r.nu + i, r.qvel[6 + i]);
        put(seen, 9 + 2 * r.nu + i, r.previous[i]);
    }
}

/*
 * Where the world begins on terrain: origins [levels][columns][3], plain. A level up for who went farther than half a
 * tile from there, one down for who did not go half as far as commanded; beyond the last level a random one.
 */
LFN void vl_place(mask fresh, const real *dice, const ureal *number, const real *command, const lint *tick, lint *level,
                  const lint *column, const ureal *origins, int levels, int columns, const real *walked, real *qpos)
{
    real u[4], far = tk_norm(walked, 2), seconds = splat(number[VL_SECONDS]);
    tk_draw(dice, isplat(0), LEVEL, u);
    mask went = m_and(fresh, igt(tick[0], isplat(0))), up = gt(far, splat((ureal)0.5 * number[VL_TILE]));
    mask down = m_andnot(lt(far, splat((ureal)0.5) * tk_norm(command, 2) * seconds), up);
    lint next =
        level[0] + iselect(m_and(went, up), isplat(1), isplat(0)) - iselect(m_and(went, down), isplat(1), isplat(0));
    lint other = to_int(tk_between(u[0], 0, (ureal)levels));
    next = iselect(ilt(next, isplat(levels)), imax(next, isplat(0)), imin(other, isplat(levels - 1)));
    level[0] = next;
    lint at = isplat(3) * (next * isplat(columns) + column[0]);
    for (int k = 0; k < 3; ++k) tk_put(fresh, qpos, k, qpos[k] + gather(origins, at + isplat(k)));
}

/* A world that begins: where it stands, and nothing is remembered. */
LFN void vl_begin(mask fresh, const real *dice, const ureal *number, real *qpos, real *previous, real *feet,
                  real *clock, lint *tick, int nu, int nfoot)
{
    real u[4], zero = splat(0);
    tk_draw(dice, isplat(0), BEGIN, u);
    real half = splat((ureal)1.57079632679489662) * u[3];
    for (int i = 0; i < 2; ++i) tk_put(fresh, qpos, i, fma(splat((ureal)0.5), u[i], qpos[i]));
    tk_put(fresh, qpos, 2, qpos[2] + tk_between(u[2], (ureal)0.01, (ureal)0.05));
    tk_put(fresh, qpos, 3, cos(half));
    tk_put(fresh, qpos, 6, sin(half));
    for (int i = 0; i < nu; ++i) tk_put(fresh, previous, i, zero);
    for (int i = 0; i < 3 * nfoot; ++i) tk_put(fresh, feet, i, zero);
    tk_put(fresh, clock, 0, zero);
    tk_draw(dice, isplat(0), PUSH, u);
    tk_put(fresh, clock, 1, tk_between(u[2], number[VL_PERIOD], number[VL_PERIOD + 1]));
    tick[0] = iselect(fresh, isplat(0), tick[0]);
}

/* After the physics, and, with begins, where episodes have just begun. disturb: with pushes and noise. */
world_kernel void k_velocity(real *qpos, real *qvel, const real *sensors, real *previous, const real *change,
                             const lint *begun, const real *dice, const real *bias, real *command, real *aim,
                             real *clock, lint *tick, real *feet, const ureal *joint, const ureal *noise,
                             const ureal *number, const real *ground, lint *level, const lint *column, real *walked,
                             const ureal *origins, real *seen, real *worth, lint *failed, int feet_at, int nu,
                             int nfoot, int levels, int columns, int nray, int disturb, int begins)
{
    each (one, 1) {
        real zero = splat(0), dt = splat(number[VL_DT]), turn[9], velocity[3], height[4];
        mask fresh = begins ? tk_where(begun) : m_none(), landed[4];
        if (begins && levels)
            vl_place(fresh, dice, number, command, tick, level, column, origins, levels, columns, walked, qpos);
        if (begins) vl_begin(fresh, dice, number, qpos, previous, feet, clock, tick, nu, nfoot);
        tk_turn(qpos + 3, turn);
        tk_into(turn, qvel, velocity);
        const real *sensor = sensors + feet_at, *torso = sensors + feet_at + FOOT * nfoot;
        robot r = {qpos, qvel, sensor, turn, velocity, command, previous, change, bias, feet, joint, number, nu, nfoot};
        for (int f = 0; f < nfoot; ++f) {
            height[f] = sensor[FOOT * f + 6] - ground[f];
            landed[f] = m_none();
            if (begins) continue;
            mask touch = gt(sensor[FOOT * f], zero);
            landed[f] = m_and(touch, gt(feet[3 * f], zero));
            put(feet, 3 * f, select(touch, zero, feet[3 * f] + dt));
            put(feet, 3 * f + 1, select(touch, feet[3 * f + 1], rmax(feet[3 * f + 1], height[f])));
            put(feet, 3 * f + 2, tk_flag(touch));
        }
        if (!begins) {
            vl_rate(r, torso, landed, height, worth);
            for (int f = 0; f < nfoot; ++f) put(feet, 3 * f + 1, select(landed[f], zero, feet[3 * f + 1]));
            lint at = isplat(3) * (level[0] * isplat(columns) + column[0]);
            for (int k = 0; k < 2; ++k) put(walked, k, qpos[k] - gather(origins, at + isplat(k)));
            failed[0] = iselect(lt(turn[8], splat(number[VL_TILT])), isplat(1), isplat(0));
            tick[0] = tick[0] + isplat(1);
            for (int k = 0; k < 2; ++k) put(clock, k, clock[k] - dt);
        }
        mask due = begins ? fresh : m_not(gt(clock[0], zero));
        if (any(due)) vl_command(due, dice, tick[0], number, command, aim, clock);
        if (disturb && !begins) {
            mask kicked = m_not(gt(clock[1], zero));
            if (any(kicked)) tk_push(kicked, dice, tick[0], PUSH, number + VL_PUSH, qvel, clock, 1);
            tk_into(turn, qvel, velocity);
        }
        vl_aim(turn, aim, number, command);
        int n = 12 + 3 * nu;
        vl_see(r, 1, seen);
        if (disturb) tk_blur(dice, tick[0], NOISE, noise, seen, n);
        real *critic = seen + n + nray;
        vl_see(r, 0, critic);
        for (int f = 0; f < nfoot; ++f) {
            const real *s = sensor + FOOT * f;
            put(critic, n + f, select(fresh, zero, height[f]));
            for (int k = 0; k < 2; ++k) put(critic, n + (1 + k) * nfoot + f, feet[3 * f + 2 * k]);
            for (int k = 0; k < 3; ++k) {
                real x = copysign_(log(splat(1) + rabs(s[1 + k])), s[1 + k]);
                put(critic, n + 3 * (nfoot + f) + k, select(fresh, zero, x));
            }
        }
    }
}

/* What is seen of the ground: scan [nray], heights of the trunk above it, a fifth of them; policy: with noise. */
world_kernel void k_see_ground(const real *scan, const real *dice, const lint *tick, real *seen, int policy, int critic,
                               int nray, int disturb)
{
    each (g, (nray + 3) / 4) {
        real u[4];
        if (disturb) tk_draw(dice, tick[0], SCAN + g, u);
        for (int k = 0; k < 4; ++k) {
            int i = 4 * g + k;
            if (i >= nray) continue;
            real x = splat((ureal)0.2) * scan[i], blur = disturb ? splat((ureal)0.02) * u[k] : splat(0);
            put(seen, policy + i, x + blur);
            put(seen, critic + i, x);
        }
    }
}
