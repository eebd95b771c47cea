/* A frame around an axis. Part of the kernels that include it. */
#ifndef STI_STAGE_AXIS_K_H
#define STI_STAGE_AXIS_K_H

#include "stet/lang.h"

/* Two unit vectors across the unit vector z. */
LFN void axis_across(const real *z, real *x, real *y)
{
    real side = copysign_(splat(1), z[2]), c = splat(-1) / (side + z[2]), d = z[0] * z[1] * c;
    x[0] = fma(side * z[0] * z[0], c, splat(1));
    x[1] = side * d;
    x[2] = -(side * z[0]);
    y[0] = d;
    y[1] = fma(z[1] * z[1], c, side);
    y[2] = -z[1];
}

#endif
