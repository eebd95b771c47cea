/*
 * Embree 4, the ray tracer that meshes are compared with. Only benchmarks use it, through its C interface: the library
 * that `tools/setup.sh bench` installs, or the system's.
 */
#ifndef STET_BENCH_EMBREE_H
#define STET_BENCH_EMBREE_H

#include "bench/picture.h"

typedef struct bench_embree bench_embree;

/* Returns NULL, or a sentence that says why there is none. */
const char *bench_embree_load(bench_embree **out);
/*
 * A scene of one mesh: triangles [ntri * 9], the coordinates of three corners each, in the frame of the rays. The rays
 * are kept as packets. One thread.
 */
stet_result bench_embree_set(bench_embree *e, const float *triangles, int ntri, bench_rays *rays);
void bench_embree_close(bench_embree *e);
/* A bench_work: casts all rays, one by one, and as packets of 16; each fills the rays' depth. */
stet_result bench_embree_single(void *embree);
stet_result bench_embree_packets(void *embree);

#endif
