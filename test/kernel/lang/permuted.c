/* See permuted.h. Kernels convert int to real on purpose, and `each (one, 1)` needs no `one`: no warnings of that. */
#include "permuted.h"

#define STET_W 1
#define STET_PERMUTE 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#include "bench/pilot/hierarchy.k.h"
#include "bench/pilot/newton.k.h"
#include "bench/pilot/rays.k.h"
#pragma GCC diagnostic pop

void permuted_newton(const float *M, const float *J, const float *D, const float *g, float *x)
{
    k_newton(M, J, D, g, x);
}

void permuted_rays(const float *cam, const float *prims, int nprim, float *depth, int *id, int width, int height,
                   int block)
{
    k_pilot_rays(cam, prims, nprim, depth, id, width, height, block);
}

void permuted_level(const float *local, float *world, const int *parent, const int *level, int nlevel)
{
    k_pilot_level(local, world, parent, level, nlevel);
}

void permuted_order(int n, int *out)
{
    int k = 0;
    each (i, n) out[k++] = i;
}
