/*
 * The pilots compiled with one lane and every `each` in a scrambled order: what races would show without a GPU.
 * Arguments as in the kernels' signatures, one world or block a call.
 */
#ifndef TEST_KERNEL_PERMUTED_H
#define TEST_KERNEL_PERMUTED_H

void permuted_newton(const float *M, const float *J, const float *D, const float *g, float *x);
void permuted_rays(const float *cam, const float *prims, int nprim, float *depth, int *id, int width, int height,
                   int block);
void permuted_level(const float *local, float *world, const int *parent, const int *level, int nlevel);
/* The order that each(i, n) takes. */
void permuted_order(int n, int *out);

#endif
