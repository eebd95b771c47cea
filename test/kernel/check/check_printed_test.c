/*
 * The pilots as the checker prints them give the bits of those that were written.
 */
#include "device/rig.h"

#include "base/hash.h"
#include "check_printed.h"
#include "bench/pilot/pilot.h"

#include <stdlib.h>

/* The pilot after the library has run it, on the widest portable build. */
static sti_pilot open_pilot(stet_device *device, sti_pilot_kind kind, int64_t size)
{
    sti_pilot p;
    OK(sti_pilot_create(device, kind, size, &p));
    return p;
}

static void *copy_of(const sti_pilot *p, int arg)
{
    stet_array *a = p->arg[arg].array;
    void *out = malloc(stet_array_get_bytes(a));
    assert_non_null(out);
    OK(stet_array_read(a, out, stet_array_get_bytes(a)));
    return out;
}

static void newton(void **state)
{
    (void)state;
    enum { N = 100, NV = 27, NR = 50 };
    stet_device *device = open_device(STI_ISA_portable, 2);
    sti_pilot p = open_pilot(device, STI_PILOT_NEWTON, N);
    OK(sti_pilot_run(device, &p));
    float *in[5], x[N][NV] = {{0}};
    for (int a = 0; a < 5; ++a) in[a] = copy_of(&p, a);
    for (int w = 0; w < N; ++w)
        printed_newton(in[0] + w * NV * NV, in[1] + w * NR * NV, in[2] + w * NR, in[3] + w * NV, x[w]);
    assert_true(sti_hash_bytes(x, sizeof x) == sti_hash_bytes(in[4], sizeof x));
    for (int a = 0; a < 5; ++a) free(in[a]);
    sti_pilot_destroy(&p);
    stet_device_destroy(device);
}

static void rays(void **state)
{
    (void)state;
    enum { N = 128 };
    stet_device *device = open_device(STI_ISA_portable, 2);
    sti_pilot p = open_pilot(device, STI_PILOT_RAYS, N);
    OK(sti_pilot_run(device, &p));
    float *cam = copy_of(&p, 0), *prims = copy_of(&p, 1), *depth = copy_of(&p, 3);
    int *id = copy_of(&p, 4);
    static float depth_now[N * N];
    static int id_now[N * N];
    for (int b = 0; b < (int)p.count; ++b) printed_rays(cam, prims, STI_PILOT_PRIMS, depth_now, id_now, N, N, b);
    assert_true(sti_hash_bytes(depth_now, sizeof depth_now) == sti_hash_bytes(depth, sizeof depth_now));
    assert_true(sti_hash_bytes(id_now, sizeof id_now) == sti_hash_bytes(id, sizeof id_now));
    free(cam);
    free(prims);
    free(depth);
    free(id);
    sti_pilot_destroy(&p);
    stet_device_destroy(device);
}

static void level(void **state)
{
    (void)state;
    enum { N = 50, SIZE = STI_PILOT_TREE * 12 };
    stet_device *device = open_device(STI_ISA_portable, 2);
    sti_pilot p = open_pilot(device, STI_PILOT_LEVEL, N);
    float *local = copy_of(&p, 0), *world = copy_of(&p, 1);
    int *parent = copy_of(&p, 2), *order = copy_of(&p, 3);
    OK(sti_pilot_run(device, &p));
    float *want = copy_of(&p, 1);
    for (int w = 0; w < N; ++w) printed_level(local + w * SIZE, world + w * SIZE, parent, order, STI_PILOT_LEVEL_SIZE);
    assert_true(sti_hash_bytes(world, sizeof(float[N][SIZE])) == sti_hash_bytes(want, sizeof(float[N][SIZE])));
    free(local);
    free(world);
    free(parent);
    free(order);
    free(want);
    sti_pilot_destroy(&p);
    stet_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newton),
        cmocka_unit_test(rays),
        cmocka_unit_test(level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
