/*
 * How well a number keeps to a range, as rewards of dm_control's suite have it: 1 between low and high; beyond, it
 * falls with the distance, over `margin`.
 */
#include "stet/lang.h"

LFN real tol_distance(real x, ureal low, ureal high) { return rmax(rmax(splat(low) - x, x - splat(high)), splat(0)); }

/* Beyond the range 0. */
LFN real tol_inside(real x, ureal low, ureal high)
{
    return select(eq(tol_distance(x, low, high), splat(0)), splat(1), splat(0));
}

/* 0.1 at the margin. */
LFN real tol_gaussian(real x, ureal low, ureal high, ureal margin)
{
    real d = tol_distance(x, low, high) / splat(margin);
    return exp(splat((ureal)-2.302585092994045684) * d * d);
}

/* `at` at the margin, and on to 0. */
LFN real tol_linear(real x, ureal low, ureal high, ureal margin, ureal at)
{
    real d = tol_distance(x, low, high) / splat(margin);
    return rmax(fma(splat(at - (ureal)1), d, splat(1)), splat(0));
}

/* 0 from the margin on. */
LFN real tol_quadratic(real x, ureal low, ureal high, ureal margin)
{
    real d = tol_distance(x, low, high) / splat(margin);
    return rmax(splat(1) - d * d, splat(0));
}
