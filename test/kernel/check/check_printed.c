/* See check_printed.h; the included files are made by kernelcheck --print (checker.cmake). */
#include "check_printed.h"

#define STET_W 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#include "printed/hierarchy.k.h"
#include "printed/newton.k.h"
#include "printed/rays.k.h"
#pragma GCC diagnostic pop

void printed_newton(const float *M, const float *J, const float *D, const float *g, float *x)
{
    k_newton(M, J, D, g, x);
}

void printed_rays(const float *cam, const float *prims, int nprim, float *depth, int *id, int width, int height,
                  int block)
{
    k_pilot_rays(cam, prims, nprim, depth, id, width, height, block);
}

void printed_level(const float *local, float *world, const int *parent, const int *level, int nlevel)
{
    k_pilot_level(local, world, parent, level, nlevel);
}
