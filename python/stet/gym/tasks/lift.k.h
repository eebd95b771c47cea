/*
 * An arm lifts a box to a point (lift.py). Joints of the arm and its gripper come first in qpos, the box is the free
 * joint behind them. Arrays of worlds:
 *
 *   target [3]    where the box is to be, m
 *   clock [1]     seconds until the box lies elsewhere and another target is drawn
 *   tick [1]      steps of the episode
 *   reached [1]   1 once the gripper has been at the box
 *   place         site_xpos; `grasp` is the number of the gripper's site
 *   sensor        step_sensordata: the force between gripper and ground is behind the number at `touch`
 *
 * Plain: joint [4][nq]: the keyframe, softened limits (low, high), 1 for the arm's own joints; noise: of each number of
 * the policy's observation; number: of the task, in the order of lift.py.
 */
#include "common.k.h"

#define BEGIN 1 /* purposes of random numbers */
#define NOISE 16

#define LF_DT 0 /* places in `number` */
#define LF_BOX 1
#define LF_TARGET 7
#define LF_TIMES 13
#define LF_FORCE 15
#define LF_FAST 16
#define LF_NEAR 17
#define LF_TURN 18
#define LF_WEIGHT 19

/* The box lies somewhere, turned about the vertical, and another target is given, where it is due. */
LFN void lf_draw(mask due, const real *dice, lint tick, const ureal *number, real *box, real *spin, real *target,
                 real *clock)
{
    real u[8];
    tk_draw(dice, tick, BEGIN, u);
    tk_draw(dice, tick, BEGIN + 1, u + 4);
    real half = splat((ureal)0.5 * number[LF_TURN]) * u[6];
    for (int i = 0; i < 3; ++i) {
        tk_put(due, box, i, tk_between(u[i], number[LF_BOX + 2 * i], number[LF_BOX + 2 * i + 1]));
        tk_put(due, target, i, tk_between(u[3 + i], number[LF_TARGET + 2 * i], number[LF_TARGET + 2 * i + 1]));
    }
    tk_put(due, box, 3, cos(half));
    for (int i = 4; i < 6; ++i) tk_put(due, box, i, splat(0));
    tk_put(due, box, 6, sin(half));
    for (int i = 0; i < 6; ++i) tk_put(due, spin, i, splat(0));
    tk_put(due, clock, 0, tk_between(u[7], number[LF_TIMES], number[LF_TIMES + 1]));
}

/* After the physics, and, with begins, where episodes have just begun. nq: joints of arm and gripper; nu: actuators. */
world_kernel void k_lift(real *qpos, real *qvel, const real *place, const real *sensor, real *previous,
                         const real *change, const lint *begun, const real *dice, real *target, real *clock, lint *tick,
                         real *reached, const ureal *joint, const ureal *noise, const ureal *number, real *seen,
                         real *worth, lint *failed, int grasp, int touch, int nq, int nu, int disturb, int begins)
{
    each (one, 1) {
        real zero = splat(0), turn[9], to_box[3], to_target[3];
        mask fresh = begins ? tk_where(begun) : m_none();
        if (begins) {
            tick[0] = iselect(fresh, isplat(0), tick[0]);
            tk_put(fresh, reached, 0, zero);
            for (int i = 0; i < nu; ++i) tk_put(fresh, previous, i, zero);
        }
        real *box = qpos + nq;
        for (int i = 0; i < 3; ++i) {
            to_box[i] = box[i] - place[3 * grasp + i];
            to_target[i] = target[i] - box[i];
        }
        real near = tk_sum(to_box, 3), far = tk_sum(to_target, 3), force = tk_norm(sensor + touch + 1, 3);
        if (!begins) {
            real beyond = zero, fast = zero, off = zero;
            tk_turn(box + 3, turn);
            for (int i = 0; i < nq; ++i) {
                beyond = beyond + rmax(splat(joint[nq + i]) - qpos[i], zero) +
                         rmax(qpos[i] - splat(joint[2 * nq + i]), zero);
                fast = fast + tk_square(rmax(rabs(qvel[i]) - splat(number[LF_FAST]), zero));
                off = off + splat(joint[3 * nq + i]) * tk_square(qpos[i] - splat(joint[i]));
            }
            real one = splat(1), five = splat(5), square = splat(0);
            for (int i = 0; i < 6; ++i) square = square + tk_square(turn[i] - splat(i == 0 || i == 4 ? 1 : 0));
            tk_put(lt(near, splat(number[LF_NEAR] * number[LF_NEAR])), reached, 0, one);
            real reaching = tk_near(near, (ureal)0.2);
            real away = splat((ureal)0.9) * sqrt(far) + splat((ureal)0.1) * sqrt(square);
            real term[9] = {reaching * (one + tk_near(far, (ureal)0.3)),
                            tk_near(far, (ureal)0.05),
                            tk_sum(change, nu),
                            beyond,
                            fast,
                            one - tanh(five * sqrt(near)),
                            reached[0] * (one - tanh(five * away)),
                            tk_flag(m_not(gt(sensor[touch], zero))),
                            one - tanh(sqrt(off))};
            for (int k = 0; k < 9; ++k) put(worth, k, splat(number[LF_DT] * number[LF_WEIGHT + k]) * term[k]);
            put(worth, 9, sqrt(far));
            mask lost = m_or(gt(rmax(rabs(box[0]), rabs(box[1])), one), lt(box[2], zero));
            failed[0] = iselect(m_or(lost, gt(force, splat(number[LF_FORCE]))), isplat(1), isplat(0));
            tick[0] = tick[0] + isplat(1);
            put(clock, 0, clock[0] - splat(number[LF_DT]));
        }
        mask due = begins ? fresh : m_not(gt(clock[0], zero));
        if (any(due)) lf_draw(due, dice, tick[0], number, box, qvel + nq, target, clock);
        int n = 2 * nq + 6 + nu;
        real *critic = seen + n;
        for (int i = 0; i < nq; ++i) {
            put(seen, i, qpos[i] - splat(joint[i]));
            put(seen, nq + i, qvel[i]);
        }
        for (int i = 0; i < 3; ++i) {
            put(seen, 2 * nq + i, box[i] - place[3 * grasp + i]);
            put(seen, 2 * nq + 3 + i, target[i] - box[i]);
        }
        for (int i = 0; i < nu; ++i) put(seen, 2 * nq + 6 + i, previous[i]);
        for (int i = 0; i < n; ++i) put(critic, i, seen[i]);
        for (int i = 0; i < 7; ++i) put(critic, n + i, box[i]);
        for (int i = 0; i < 6; ++i) put(critic, n + 7 + i, qvel[nq + i]);
        if (disturb) tk_blur(dice, tick[0], NOISE, noise, seen, n);
    }
}
