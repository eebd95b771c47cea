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

const own_pilots permuted_pilots = {k_newton, k_pilot_rays, k_pilot_level};

void permuted_order(int n, int *out)
{
    int k = 0;
    each (i, n) out[k++] = i;
}
