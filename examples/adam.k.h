/*
 * A step of Adam (D. P. Kingma, J. Ba, 2015) on numbers that each world has for itself; used by the examples. Kind
 * world.
 *
 * x, gradient, mean, square [n]; rate: how far a step goes at most, about; first, second: 1 - 0.9^t, 1 - 0.999^t at the
 * t-th step. A world whose gradient is not finite stays where it is.
 */
#include "stet/lang.h"

world_kernel void k_adam(real *x, const real *gradient, real *mean, real *square, ureal rate, ureal first, ureal second,
                         int n)
{
    each (i, n) {
        real g = gradient[i];
        mask finite = lt(rabs(g), splat(1e30f));
        real m = fma(splat(0.9f), mean[i], splat(0.1f) * g), s = fma(splat(0.999f), square[i], splat(0.001f) * g * g);
        real step = splat(rate) * (m / splat(first)) / (sqrt(s / splat(second)) + splat(1e-12f));
        put(mean, i, select(finite, m, mean[i]));
        put(square, i, select(finite, s, square[i]));
        put(x, i, select(finite, x[i] - step, x[i]));
    }
}
