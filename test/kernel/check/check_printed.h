/*
 * The pilots as the checker prints them, compiled with one lane. Arguments as in the kernels' signatures, one world or block a
 * call.
 */
#ifndef TEST_KERNEL_CHECK_PRINTED_H
#define TEST_KERNEL_CHECK_PRINTED_H

void printed_newton(const float *M, const float *J, const float *D, const float *g, float *x);
void printed_rays(const float *cam, const float *prims, int nprim, float *depth, int *id, int width, int height,
                  int block);
void printed_level(const float *local, float *world, const int *parent, const int *level, int nlevel);

#endif
