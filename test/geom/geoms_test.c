/* The arrays of a model's shapes: bounds, no shapes, lack of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "device/reals.h"
#include "geom/rays.h"

#include <math.h>
#include <stdlib.h>

static void test_bounds(void **state)
{
    random_state r = start("bounds");
    stet_device *device = make_device(NULL);
    char *xml = malloc(XML_SIZE);
    assert_non_null(xml);
    for (int kind = 1; kind < KINDS; ++kind) {
        kinds[kind].xml(&r, xml, XML_SIZE);
        scene s = scene_create(device, xml);
        const double *b = s.bounds, radius = reals_get(s.geoms->size, 0, 3);
        rays all = rays_create(1000);
        for (int k = 0; k < all.n; ++k) random_ray(&r, b, all.origin + 3 * k, all.direction + 3 * k);
        rays_cast(device, s.geoms, 0, FAR, &all, NULL);
        int hits = 0;
        for (int i = 0; i < all.n; ++i) {
            if (all.t[i] < 0) continue;
            ++hits;
            double r2 = 0, margin = 1e-5 * (radius + (double)all.t[i]);
            for (int k = 0; k < 3; ++k) {
                double p = (double)all.origin[3 * i + k] + (double)all.t[i] * (double)all.direction[3 * i + k];
                assert_true(fabs(p - b[k]) <= b[3 + k] + margin);
                r2 += p * p;
            }
            assert_true(sqrt(r2) <= radius + margin);
        }
        assert_true(hits > 100);
        rays_destroy(&all);
        scene_destroy(&s);
    }
    free(xml);
    stet_device_destroy(device);
}

static void test_no_geoms(void **state)
{
    stet_device *device = make_device(NULL);
    stet_memory_stats before = stet_get_memory_stats();
    scene s = scene_create(device, "<mujoco/>");
    assert_int_equal(s.geoms->ngeom, 0);
    scene_destroy(&s);
    assert_int_equal(stet_get_memory_stats().blocks, before.blocks);
    stet_device_destroy(device);
}

static int nallocation, failing;
static void *counted_alloc(size_t size, size_t align, void *context)
{
    (void)context;
    void *memory = NULL;
    if (++nallocation == failing || posix_memalign(&memory, align, size) != 0) return NULL;
    return memory;
}
static void plain_free(void *memory, void *context)
{
    (void)context;
    free(memory);
}

/* Each allocation fails once; nothing is left behind. */
static void test_out_of_memory(void **state)
{
    random_state r = start("out of memory");
    char *xml = malloc(XML_SIZE);
    assert_non_null(xml);
    kinds[6].xml(&r, xml, XML_SIZE);
    GOOD(stet_set_allocator(counted_alloc, plain_free, NULL));
    stet_device *device = make_device(NULL);
    stet_model *model = NULL;
    GOOD(stet_model_load_string(xml, &model));
    stet_memory_stats before = stet_get_memory_stats();
    stet_result result = STET_ERROR_OUT_OF_MEMORY;
    int n = 1;
    for (; result != STET_OK && n < 1000; ++n) {
        sti_geoms *geoms = NULL;
        nallocation = 0;
        failing = n;
        result = sti_geoms_create(device, model, NULL, &geoms);
        failing = 0;
        if (result == STET_OK)
            sti_geoms_destroy(geoms);
        else
            assert_int_equal(result, STET_ERROR_OUT_OF_MEMORY);
        assert_int_equal(stet_get_memory_stats().blocks, before.blocks);
    }
    assert_int_equal(result, STET_OK);
    assert_true(n > 15);
    stet_model_destroy(model);
    stet_device_destroy(device);
    GOOD(stet_set_allocator(NULL, NULL, NULL));
    free(xml);
}

int main(int argc, char **argv)
{
    rays_seed(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_no_geoms),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("geom/geoms", tests, NULL, NULL);
}
