/*
 * A hand turns the cube that lies in it (rotate.py). The hand's joints come first in qpos, the cube is the free joint
 * behind them. Arrays of worlds: tick [1] steps of the episode; place: site_xpos. Plain: joint [nq]: the keyframe;
 * site [1 + ntip]: numbers of the palm's site and of the fingertips'; noise: of each number of the policy's
 * observation; number: of the task, in the order of rotate.py.
 */
#include "common.k.h"

#define HAND 16 /* purposes of random numbers */
#define CUBE 1
#define NOISE 64

#define RT_DT 0 /* places in `number` */
#define RT_SPREAD 1
#define RT_PLACE 2
#define RT_LOWEST 5
#define RT_WEIGHT 6

/* A rotation, each as likely as any other. Shoemake, "Uniform random rotations" (1992). */
LFN void rt_any_turn(const real u[3], real q[4])
{
    real x = fma(splat((ureal)0.5), u[0], splat((ureal)0.5)), pi = splat((ureal)3.14159265358979324);
    real a = sqrt(splat(1) - x), b = sqrt(x);
    q[0] = a * sin(pi * u[1]);
    q[1] = a * cos(pi * u[1]);
    q[2] = b * sin(pi * u[2]);
    q[3] = b * cos(pi * u[2]);
}

/* After the physics, and, with begins, where episodes have just begun. nq: joints of the hand, one servo each. */
world_kernel void k_turn_cube(real *qpos, const real *qvel, const real *place, real *previous, const real *change,
                              const lint *begun, const real *dice, lint *tick, const ureal *joint, const int *site,
                              const ureal *noise, const ureal *number, real *seen, real *worth, lint *failed, int ntip,
                              int nq, int disturb, int begins)
{
    each (one, 1) {
        real u[4], v[4], q[4], turn[9], off = splat(0);
        mask fresh = begins ? tk_where(begun) : m_none();
        real *cube = qpos + nq;
        const real *spin = qvel + nq;
        if (begins) {
            tick[0] = iselect(fresh, isplat(0), tick[0]);
            for (int i = 0; i < nq; i += 4) {
                tk_draw(dice, isplat(0), HAND + i / 4, u);
                for (int k = 0; k < 4; ++k) {
                    if (i + k >= nq) continue;
                    tk_put(fresh, qpos, i + k, fma(splat(number[RT_SPREAD]), u[k], qpos[i + k]));
                    tk_put(fresh, previous, i + k, splat(0));
                }
            }
            tk_draw(dice, isplat(0), CUBE, u);
            tk_draw(dice, isplat(0), CUBE + 1, v);
            rt_any_turn(u, q);
            for (int i = 0; i < 3; ++i)
                tk_put(fresh, cube, i, fma(splat((ureal)0.01), v[i], splat(number[RT_PLACE + i])));
            for (int i = 0; i < 4; ++i) tk_put(fresh, cube, 3 + i, q[i]);
        }
        tk_turn(cube + 3, turn);
        real turning = turn[6] * spin[3] + turn[7] * spin[4] + turn[8] * spin[5];
        if (!begins) {
            mask dropped = lt(cube[2], splat(number[RT_LOWEST]));
            for (int i = 0; i < nq; ++i) off = off + tk_square(qpos[i] - splat(joint[i]));
            real term[5] = {turning, tk_flag(dropped), tk_sum(change, nq), off,
                            rabs(spin[0]) + rabs(spin[1]) + rabs(spin[2])};
            for (int k = 0; k < 5; ++k) put(worth, k, splat(number[RT_DT] * number[RT_WEIGHT + k]) * term[k]);
            put(worth, 5, -turning);
            failed[0] = iselect(dropped, isplat(1), isplat(0));
            tick[0] = tick[0] + isplat(1);
        }
        for (int i = 0; i < nq; ++i) {
            put(seen, i, qpos[i]);
            put(seen, nq + i, previous[i]);
        }
        real *critic = seen + 2 * nq;
        for (int i = 0; i < 2 * nq; ++i) put(critic, i, seen[i]);
        for (int i = 0; i < nq; ++i) put(critic, 2 * nq + i, qvel[i]);
        critic = critic + 3 * nq;
        for (int i = 0; i < 3; ++i) {
            real palm = place[3 * site[0] + i];
            for (int f = 0; f < ntip; ++f) put(critic, 3 * f + i, place[3 * site[1 + f] + i] - palm);
            put(critic, 3 * ntip + i, palm - cube[i]);
        }
        for (int i = 0; i < 4; ++i) put(critic, 3 * ntip + 3 + i, cube[3 + i]);
        for (int i = 0; i < 6; ++i) put(critic, 3 * ntip + 7 + i, spin[i]);
        if (disturb) tk_blur(dice, tick[0], NOISE, noise, seen, 2 * nq);
    }
}
