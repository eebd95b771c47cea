/* A ray gets the same bits at every width and in any company; rays that are no numbers hit nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "geom/rays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BITS_RAYS = 2003 };

/* What one device makes of one scene of each kind and its rays, which depend on the seed only. */
static void cast_kinds(const char *test, stet_device *device, void (*change)(rays *r, int kind, void *context),
                       void *context, uint64_t *hashes)
{
    random_state r = start(test);
    char *xml = malloc(XML_SIZE);
    assert_non_null(xml);
    for (int kind = 0; kind < KINDS; ++kind) {
        kinds[kind].xml(&r, xml, XML_SIZE);
        scene s = scene_create(device, xml);
        rays all = rays_create(BITS_RAYS);
        for (int k = 0; k < all.n; ++k) random_ray(&r, s.bounds, all.origin + 3 * k, all.direction + 3 * k);
        rays_cast(device, s.geoms, 0, FAR, &all, &hashes[kind]);
        if (change) {
            rays kept = all;
            all = rays_create(BITS_RAYS);
            memcpy(all.origin, kept.origin, (size_t)all.n * 3 * sizeof(float));
            memcpy(all.direction, kept.direction, (size_t)all.n * 3 * sizeof(float));
            change(&all, kind, context);
            rays_cast(device, s.geoms, 0, FAR, &all, NULL);
            const int *place = context;
            for (int i = 0; i < all.n; ++i) {
                int from = place[i];
                if (from < 0) {
                    assert_true(all.t[i] == -1);
                    from = i;
                    assert_memory_equal(all.normal + 3 * i, ((const float[]){0, 0, 0}), 3 * sizeof(float));
                } else {
                    assert_memory_equal(&all.t[i], &kept.t[from], sizeof(float));
                    assert_memory_equal(all.normal + 3 * i, kept.normal + 3 * from, 3 * sizeof(float));
                }
            }
            rays_destroy(&kept);
        }
        rays_destroy(&all);
        scene_destroy(&s);
    }
    free(xml);
}

static void test_widths(void **state)
{
    static const char *const isas[] = {"w1", "portable", "avx2", "avx512"};
    uint64_t first[KINDS] = {0}, hashes[KINDS];
    int seen = 0;
    for (size_t i = 0; i < sizeof isas / sizeof *isas; ++i) {
        stet_device *device = make_device(isas[i]);
        if (!device) {
            print_message("  %s: not on this machine\n", isas[i]);
            continue;
        }
        cast_kinds(isas[i], device, NULL, NULL, hashes);
        if (seen++ == 0) memcpy(first, hashes, sizeof first);
        for (int k = 0; k < KINDS; ++k)
            if (hashes[k] != first[k]) fail_msg("%s: %s has other bits", kinds[k].name, isas[i]);
        stet_device_destroy(device);
    }
    assert_true(seen >= 2);
}

static void shuffle(rays *r, int kind, void *context)
{
    int *place = context;
    random_state random = {(uint64_t)kind};
    for (int i = 0; i < r->n; ++i) place[i] = i;
    for (int i = r->n - 1; i > 0; --i) {
        int j = (int)(random_bits(&random) % (uint64_t)(i + 1)), p = place[i];
        place[i] = place[j];
        place[j] = p;
    }
    rays old = rays_create(r->n);
    memcpy(old.origin, r->origin, (size_t)r->n * 3 * sizeof(float));
    memcpy(old.direction, r->direction, (size_t)r->n * 3 * sizeof(float));
    for (int i = 0; i < r->n; ++i) {
        memcpy(r->origin + 3 * i, old.origin + 3 * place[i], 3 * sizeof(float));
        memcpy(r->direction + 3 * i, old.direction + 3 * place[i], 3 * sizeof(float));
    }
    rays_destroy(&old);
}

/* A ray gets the same whatever its neighbours are (RAY-1). */
static void test_neighbours(void **state)
{
    stet_device *device = make_device(NULL);
    static int place[BITS_RAYS];
    uint64_t hashes[KINDS];
    cast_kinds("neighbours", device, shuffle, place, hashes);
    stet_device_destroy(device);
}

/*
 * From the middle of a ball through its vertices, where several triangles are equally far: the same one is hit in any
 * order and width (RAY-4).
 */
static void test_ties(void **state)
{
    random_state r = start("ties");
    surface s = ball_create(&r, 4, 0.1);
    rays first = rays_create(s.nvertex), other = rays_create(s.nvertex);
    int *place = malloc((size_t)s.nvertex * sizeof *place);
    assert_non_null(place);
    for (int i = 0; i < s.nvertex; ++i) {
        const float *v = s.vertices + 3 * i;
        aim(&first, i, (const double[]){0, 0, 0}, (const double[]){(double)v[0], (double)v[1], (double)v[2]});
    }
    static const char *const isas[] = {"w1", NULL};
    for (int i = 0; i < 2; ++i) {
        stet_device *device = make_device(isas[i]);
        sti_geoms *geoms = surface_geoms(device, &s);
        if (i == 0) rays_cast(device, geoms, 0, FAR, &first, NULL);
        memcpy(other.origin, first.origin, (size_t)first.n * 3 * sizeof(float));
        memcpy(other.direction, first.direction, (size_t)first.n * 3 * sizeof(float));
        shuffle(&other, i, place);
        rays_cast(device, geoms, 0, FAR, &other, NULL);
        for (int k = 0; k < other.n; ++k) {
            assert_true(other.t[k] == first.t[place[k]]);
            assert_memory_equal(other.normal + 3 * k, first.normal + 3 * place[k], 3 * sizeof(float));
        }
        sti_geoms_destroy(geoms);
        stet_device_destroy(device);
    }
    rays_destroy(&first);
    rays_destroy(&other);
    free(place);
    surface_destroy(&s);
}

static void spoil(rays *r, int kind, void *context)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    int *place = context;
    for (int i = 0; i < r->n; ++i) {
        place[i] = (i + kind) % 5 ? i : -1;
        if (place[i] >= 0) continue;
        float x = bad[i / 5 % 3];
        int what = i / 15 % 8;
        if (what < 3)
            r->origin[3 * i + what] = x;
        else if (what < 6)
            r->direction[3 * i + what - 3] = x;
        else if (what == 6)
            memset(r->direction + 3 * i, 0, 3 * sizeof(float));
        else
            for (int k = 0; k < 3; ++k) r->origin[3 * i + k] = r->direction[3 * i + k] = NAN;
    }
}

/* Rays of NaN, infinity or no direction hit nothing and disturb no other (RAY-2). */
static void kf44_rays_that_are_no_numbers(void **state)
{
    stet_device *device = make_device(NULL);
    static int place[BITS_RAYS];
    uint64_t hashes[KINDS];
    cast_kinds("no numbers", device, spoil, place, hashes);
    stet_device_destroy(device);
}

int main(int argc, char **argv)
{
    rays_seed(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(kf44_rays_that_are_no_numbers),
    };
    return cmocka_run_group_tests_name("geom/same", tests, NULL, NULL);
}
