/*
 * What tests of the pilots share: their recorded hashes, and pilots that a test compiles by itself, which have to give
 * the bits of the library's.
 */
#ifndef TEST_KERNEL_LANG_PILOTS_H
#define TEST_KERNEL_LANG_PILOTS_H

#include "device/rig.h"

#include "bench/pilot/pilot.h"

#include <stdlib.h>

/* Recorded once; an NVIDIA H200 gives the same. */
static const struct {
    sti_pilot_kind kind;
    int64_t size;
    uint64_t hash;
} golden[] = {
    {STI_PILOT_NEWTON, 1000, UINT64_C(0x446dd9b6108c24d3)},
    {STI_PILOT_RAYS, 512, UINT64_C(0x2446aa6f4c3a91b5)},
    {STI_PILOT_LEVEL, 1000, UINT64_C(0x105a48450cd9a323)},
};

/* The pilots compiled with one lane. Arguments as in the kernels' signatures, one world or block a call. */
typedef struct own_pilots {
    void (*newton)(const float *M, const float *J, const float *D, const float *g, float *x);
    void (*rays)(const float *cam, const float *prims, int nprim, float *depth, int *id, int width, int height,
                 int block);
    void (*level)(const float *local, float *world, const int *parent, const int *level, int nlevel);
} own_pilots;

static inline sti_pilot open_pilot(stet_device *device, sti_pilot_kind kind, int64_t size)
{
    sti_pilot p;
    OK(sti_pilot_create(device, kind, size, &p));
    return p;
}

/* A copy of an argument; free it. */
static inline void *copy_of(const sti_pilot *p, int arg)
{
    stet_array *a = p->arg[arg].array;
    void *out = malloc(stet_array_get_bytes(a));
    assert_non_null(out);
    OK(stet_array_read(a, out, stet_array_get_bytes(a)));
    return out;
}

static inline void newton_has_the_same_bits(const own_pilots *own)
{
    enum { N = 100, NV = 27, NR = 50 };
    stet_device *device = open_device(STI_ISA_portable, 2);
    sti_pilot p = open_pilot(device, STI_PILOT_NEWTON, N);
    float *in[5], x[N][NV] = {{0}};
    OK(sti_pilot_run(device, &p));
    for (int a = 0; a < 5; ++a) in[a] = copy_of(&p, a);
    for (int w = 0; w < N; ++w)
        own->newton(in[0] + w * NV * NV, in[1] + w * NR * NV, in[2] + w * NR, in[3] + w * NV, x[w]);
    assert_memory_equal(x, in[4], sizeof x);
    for (int a = 0; a < 5; ++a) free(in[a]);
    sti_pilot_destroy(&p);
    stet_device_destroy(device);
}

static inline void rays_have_the_same_bits(const own_pilots *own)
{
    enum { N = 128 };
    static float depth_now[N * N];
    static int id_now[N * N];
    stet_device *device = open_device(STI_ISA_portable, 2);
    sti_pilot p = open_pilot(device, STI_PILOT_RAYS, N);
    OK(sti_pilot_run(device, &p));
    float *cam = copy_of(&p, 0), *prims = copy_of(&p, 1), *depth = copy_of(&p, 3);
    int *id = copy_of(&p, 4);
    for (int b = 0; b < (int)p.count; ++b) own->rays(cam, prims, STI_PILOT_PRIMS, depth_now, id_now, N, N, b);
    assert_memory_equal(depth_now, depth, sizeof depth_now);
    assert_memory_equal(id_now, id, sizeof id_now);
    free(cam);
    free(prims);
    free(depth);
    free(id);
    sti_pilot_destroy(&p);
    stet_device_destroy(device);
}

static inline void level_has_the_same_bits(const own_pilots *own)
{
    enum { N = 50, SIZE = STI_PILOT_TREE * 12 };
    stet_device *device = open_device(STI_ISA_portable, 2);
    sti_pilot p = open_pilot(device, STI_PILOT_LEVEL, N);
    float *local = copy_of(&p, 0), *world = copy_of(&p, 1);
    int *parent = copy_of(&p, 2), *level = copy_of(&p, 3);
    OK(sti_pilot_run(device, &p));
    float *want = copy_of(&p, 1);
    for (int w = 0; w < N; ++w) own->level(local + w * SIZE, world + w * SIZE, parent, level, STI_PILOT_LEVEL_SIZE);
    assert_memory_equal(world, want, sizeof(float[N][SIZE]));
    free(local);
    free(world);
    free(parent);
    free(level);
    free(want);
    sti_pilot_destroy(&p);
    stet_device_destroy(device);
}

#endif
