/*
 * Controls of all worlds: the hold position, and smooth noise around it.
 *
 * Noise is linear between knots. A knot is a function of (seed, world, knot), so worlds have no state for it.
 */
#include "stet/lang.h"

#define STET_IN_EVERY_SIM /* its code for a GPU is made with that of the others */

#include "worlds/random.k.h"

/* ctrl [nu] = hold [nu]. */
world_kernel void k_control_hold(real *ctrl, const ureal *hold, int nu)
{
    each (i, nu) put(ctrl, i, splat(hold[i]));
}

/* Four numbers of a knot; knot 0 is the hold position itself. */
LFN void ck_knot(real u[4], int group, lint world, int stream, int knot, int seed_low, int seed_high)
{
    lint c[4] = {isplat(group), isplat(stream), world, isplat(knot)};
    rk_philox(c, isplat(seed_low), isplat(seed_high));
    for (int k = 0; k < 4; ++k) u[k] = knot == 0 ? splat(0) : rk_uniform(c[k]);
}

/*
 * ctrl [nu] = clamp(hold + scale * half * u, low … high). u is interpolated: the part t of the way from a knot to the
 * next. hold, half, low, high [nu] are plain.
 */
world_kernel void k_control_noise(real *ctrl, const ureal *hold, const ureal *half, const ureal *low, const ureal *high,
                                  int nu, ureal scale, int knot, int next, ureal t, int stream, int seed_low,
                                  int seed_high, int first, int world)
{
    each (g, (nu + 3) / 4) {
        real from[4], to[4];
        ck_knot(from, g, rk_world(first, world), stream, knot, seed_low, seed_high);
        ck_knot(to, g, rk_world(first, world), stream, next, seed_low, seed_high);
        for (int k = 0; k < 4; ++k) {
            int i = 4 * g + k;
            if (i >= nu) continue;
            real u = fma(splat(t), to[k] - from[k], from[k]);
            real x = fma(splat(scale * half[i]), u, splat(hold[i]));
            put(ctrl, i, clamp(x, splat(low[i]), splat(high[i])));
        }
    }
}

/* ctrl [nu] = the numbers from `first` on of this world's rows [frames * nu]. */
world_kernel void k_control_row(real *ctrl, const real *rows, int first, int nu)
{
    each (i, nu) put(ctrl, i, rows[first + i]);
}

/* The same for rows that all worlds share. */
world_kernel void k_control_row_alike(real *ctrl, const ureal *rows, int first, int nu)
{
    each (i, nu) put(ctrl, i, splat(rows[first + i]));
}
