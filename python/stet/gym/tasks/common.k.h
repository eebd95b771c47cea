/*
 * What kernels of tasks share: rotations, random numbers within an episode, observations with noise.
 *
 *   TASK-1  a random number is a function of (the dice of the episode, step of the episode, purpose), so neither other
 *       worlds nor what is drawn for other purposes change it
 */
#include "stet/lang.h"

#include "worlds/random.k.h"

LFN mask tk_where(const lint *x) { return m_not(ieq(x[0], isplat(0))); }

LFN real tk_square(real x) { return x * x; }

LFN real tk_sum(const real *x, int n)
{
    real sum = splat(0);
    for (int i = 0; i < n; ++i) sum = fma(x[i], x[i], sum);
    return sum;
}

LFN real tk_norm(const real *x, int n) { return sqrt(tk_sum(x, n)); }

/* 1 for 0, less for more: exp(-x / spread²). */
LFN real tk_near(real x, ureal spread) { return exp(-x / splat(spread * spread)); }

LFN real tk_flag(mask m) { return select(m, splat(1), splat(0)); }

/* Writes where the mask is true. */
LFN void tk_put(mask m, real *a, int i, real x) { put(a, i, select(m, x, a[i])); }

/* The rotation of a unit quaternion; rows. */
LFN void tk_turn(const real *q, real turn[9])
{
    real w = q[0], x = q[1], y = q[2], z = q[3], one = splat(1), two = splat(2);
    turn[0] = one - two * (y * y + z * z);
    turn[1] = two * (x * y - w * z);
    turn[2] = two * (x * z + w * y);
    turn[3] = two * (x * y + w * z);
    turn[4] = one - two * (x * x + z * z);
    turn[5] = two * (y * z - w * x);
    turn[6] = two * (x * z - w * y);
    turn[7] = two * (y * z + w * x);
    turn[8] = one - two * (x * x + y * y);
}

/* A vector of the world in the frame of a rotation. */
LFN void tk_into(const real *turn, const real *v, real out[3])
{
    for (int i = 0; i < 3; ++i) out[i] = turn[i] * v[0] + turn[3 + i] * v[1] + turn[6 + i] * v[2];
}

/*
 * Four numbers in [-1, 1). dice [2]: whole numbers below 2^24, drawn for each episode; tick: step of the episode;
 * purpose: what they are for.
 */
LFN void tk_draw(const real *dice, lint tick, int purpose, real out[4])
{
    lint c[4] = {tick, isplat(purpose), isplat(0), isplat(0)};
    rk_philox(c, to_int(dice[0]), to_int(dice[1]));
    for (int k = 0; k < 4; ++k) out[k] = rk_uniform(c[k]);
}

/* A number in [-1, 1) as one between low and high. */
LFN real tk_between(real u, ureal low, ureal high)
{
    return fma(splat((ureal)0.5 * (high - low)), u, splat((ureal)0.5 * (high + low)));
}

/* To seen [n]: noise within each number's width, plain, in blocks of four numbers that are purposes from `first` on. */
LFN void tk_blur(const real *dice, lint tick, int first, const ureal *width, real *seen, int n)
{
    for (int i = 0; i < n; i += 4) {
        real u[4];
        tk_draw(dice, tick, first + i / 4, u);
        for (int k = 0; k < 4; ++k)
            if (i + k < n) put(seen, i + k, fma(splat(width[i + k]), u[k], seen[i + k]));
    }
}

/*
 * Kicks a free body where it is due: its velocities grow by numbers within the first six of push [8], which is plain;
 * the last two are the least and the most seconds until the next time, which go to clock [at]. Two purposes, from
 * `purpose` on.
 */
LFN void tk_push(mask due, const real *dice, lint tick, int purpose, const ureal *push, real *qvel, real *clock, int at)
{
    real u[8];
    tk_draw(dice, tick, purpose, u);
    tk_draw(dice, tick, purpose + 1, u + 4);
    for (int i = 0; i < 6; ++i) tk_put(due, qvel, i, fma(splat(push[i]), u[i], qvel[i]));
    tk_put(due, clock, at, tk_between(u[6], push[6], push[7]));
}

/* ctrl [nu]: an action, then its control: hold + scale * action. hold, scale are plain; actions are within `most`. */
world_kernel void k_act(real *ctrl, real *previous, real *change, const ureal *hold, const ureal *scale, ureal most,
                        int nu)
{
    each (i, nu) {
        real u = clamp(ctrl[i], splat(-most), splat(most));
        put(change, i, u - previous[i]);
        put(previous, i, u);
        put(ctrl, i, fma(splat(scale[i]), u, splat(hold[i])));
    }
}

/*
 * The same, but that an action moves what is held [nu] by step * action, within range [nu][2], from `hold` on where an
 * episode begins (tick [1] is 0).
 */
world_kernel void k_nudge(real *ctrl, real *previous, real *change, real *held, const lint *tick, const ureal *hold,
                          const ureal *range, ureal step, ureal most, int nu)
{
    each (i, nu) {
        real u = clamp(ctrl[i], splat(-most), splat(most));
        real from = select(ieq(tick[0], isplat(0)), splat(hold[i]), held[i]);
        real to = clamp(fma(splat(step), u, from), splat(range[2 * i]), splat(range[2 * i + 1]));
        put(change, i, u - previous[i]);
        put(previous, i, u);
        put(held, i, to);
        put(ctrl, i, to);
    }
}
