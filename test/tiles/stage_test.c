/* Tiles over a real stage and the renderer: what moved is rendered, and only that; a reset without a step is seen. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "device/device.h"
#include "device/picked.h"
#include "stet/tiles.h"

#include <stdlib.h>
#include <string.h>

enum { NWORLD = 6, WIDTH = 24, HEIGHT = 16 };

static const char xml[] =
    "<mujoco><worldbody><light pos='0 0 3'/><geom type='plane' size='2 2 .1' rgba='.3 .5 .3 1'/>"
    "<body pos='0 0 .5'><joint type='slide' axis='1 0 0'/><geom type='box' size='.2 .2 .2' rgba='.8 .2 .1 1'/></body>"
    "<camera name='side' pos='0 -2 .6' xyaxes='1 0 0 0 0 1'/></worldbody></mujoco>";

typedef struct room {
    stet_device *device;
    stet_model *model;
    stet_worlds *worlds;
    stet_stage *stage;
    stet_tiles *tiles;
} room;

static stet_result open_room(room *r, uint32_t disabled, bool audit, const stet_tile_request *requests, int nrequest)
{
    stet_device_def device_def = stet_default_device_def();
    stet_worlds_def worlds_def = stet_default_worlds_def();
    stet_tiles_def def = stet_default_tiles_def();
    memset(r, 0, sizeof *r);
    device_def.mechanisms = (stet_mechanism_options){.disabled = disabled, .audit = audit};
    worlds_def.nworld = NWORLD;
    picked_device(&device_def);
    assert_int_equal(stet_device_create(&device_def, &r->device), STET_OK);
    assert_int_equal(stet_model_load_string(xml, &r->model), STET_OK);
    assert_int_equal(stet_worlds_create(r->device, r->model, &worlds_def, &r->worlds), STET_OK);
    assert_int_equal(stet_stage_create(r->worlds, &r->stage), STET_OK);
    /* Camera 0 is wanted by nobody: it costs nothing. */
    stet_camera cameras[] = {{0, 4000, 4000, 45, "unused", false, false}, {0, WIDTH, HEIGHT, 45, "side", false, false}};
    for (int c = 0; c < 2; ++c)
        assert_int_equal(stet_stage_get_prim(r->stage, STET_PRIM_CAMERA, 0, &cameras[c].prim), STET_OK);
    def.cameras = cameras;
    def.ncamera = 2;
    def.requests = requests;
    def.nrequest = nrequest;
    return stet_tiles_create(r->stage, &def, &r->tiles);
}

static void close_room(room *r)
{
    stet_tiles_destroy(r->tiles);
    stet_stage_destroy(r->stage);
    stet_worlds_destroy(r->worlds);
    stet_model_destroy(r->model);
    assert_int_equal(r->device->narray, 0);
    stet_device_destroy(r->device);
}

/* Puts the box of one world somewhere, without a step. */
static void push(room *r, int64_t world, float x)
{
    stet_array *qpos;
    assert_int_equal(stet_worlds_get_array(r->worlds, "qpos", &qpos), STET_OK);
    assert_int_equal(stet_array_write_worlds(qpos, world, 1, &x, sizeof x), STET_OK);
}

static uint64_t hash_of(room *r, int request)
{
    stet_array *a;
    uint64_t hash;
    assert_int_equal(stet_tiles_get_array(r->tiles, -1, request, &a), STET_OK);
    assert_int_equal(stet_array_hash(a, &hash), STET_OK);
    return hash;
}

static const stet_tile_request requests[] = {
    {1, STET_OUTPUT_RGBA, STET_DTYPE_U8, 0, NULL, false},    {1, STET_OUTPUT_RGB, STET_DTYPE_U8, 0, NULL, false},
    {1, STET_OUTPUT_DEPTH, STET_DTYPE_REAL, 0, NULL, false}, {1, STET_OUTPUT_SEG_GEOM, STET_DTYPE_U8, 0, NULL, false},
    {1, STET_OUTPUT_NORMAL, STET_DTYPE_F16, 0, NULL, false},
};
enum { NREQUEST = sizeof requests / sizeof *requests };

/* The same story with each mechanism off, and audited: the same pixels at each point of it. */
static void the_pixels_do_not_depend_on_the_mechanisms(void **state)
{
    uint64_t first[3][NREQUEST];
    for (uint32_t off = 0; off < 9; ++off) {
        room r;
        bool audit = off == 8;
        assert_int_equal(open_room(&r, (audit ? 0 : off) << STET_MECHANISM_TILES, audit, requests, NREQUEST), STET_OK);
        for (int f = 0; f < 3; ++f) {
            int64_t frame;
            push(&r, f, 0.2f + 0.1f * (float)f);
            assert_int_equal(stet_tiles_render(r.tiles, NULL, &frame), STET_OK);
            assert_int_equal(frame, f);
            for (int k = 0; k < NREQUEST; ++k) {
                uint64_t hash = hash_of(&r, k);
                if (off == 0)
                    first[f][k] = hash;
                else
                    assert_int_equal(hash, first[f][k]);
                if (f > 0) assert_int_not_equal(first[f][k], first[f - 1][k]);
            }
        }
        close_room(&r);
    }
}

static void only_worlds_that_moved_are_rendered(void **state)
{
    room r;
    int64_t frame;
    stet_counters c;
    assert_int_equal(open_room(&r, 0, false, requests, 1), STET_OK);
    assert_int_equal(stet_tiles_render(r.tiles, NULL, &frame), STET_OK);
    for (int64_t w = 0; w < NWORLD; ++w) assert_false(stet_tiles_is_stale(r.tiles, w));
    push(&r, 4, 0.3f);
    stet_device_clear_counters(r.device);
    assert_int_equal(stet_tiles_render(r.tiles, NULL, &frame), STET_OK);
    assert_int_equal(stet_tiles_render(r.tiles, NULL, &frame), STET_OK);
    assert_int_equal(frame, 1);
    c = stet_device_get_counters(r.device);
    assert_int_equal(c.mechanism[STET_MECHANISM_FRAME].done_bytes, WIDTH * HEIGHT * 4);
    assert_int_equal(c.mechanism[STET_MECHANISM_FRAME].misses, 1);
    assert_int_equal(c.mechanism[STET_MECHANISM_FRAME].hits, 1);
    close_room(&r);
}

static void kf18_a_reset_without_a_step_is_seen(void **state)
{
    room r;
    const uint8_t which[NWORLD] = {0, 0, 1};
    stet_reset_def reset = stet_default_reset_def();
    assert_int_equal(open_room(&r, 0, false, requests, NREQUEST), STET_OK);
    assert_int_equal(stet_tiles_render(r.tiles, NULL, NULL), STET_OK);
    uint64_t start = hash_of(&r, 2);
    push(&r, 2, 0.4f);
    assert_int_equal(stet_tiles_render(r.tiles, NULL, NULL), STET_OK);
    assert_int_not_equal(hash_of(&r, 2), start);
    reset.mask = which;
    assert_int_equal(stet_worlds_reset(r.worlds, &reset), STET_OK);
    for (int64_t w = 0; w < NWORLD; ++w) assert_int_equal(stet_tiles_is_stale(r.tiles, w), w == 2);
    assert_int_not_equal(hash_of(&r, 2), start); /* stale until it is rendered again */
    assert_int_equal(stet_tiles_render(r.tiles, NULL, NULL), STET_OK);
    assert_false(stet_tiles_is_stale(r.tiles, 2));
    assert_int_equal(hash_of(&r, 2), start);
    close_room(&r);
}

static void bad_defs_are_refused(void **state)
{
    room r;
    const stet_tile_request wrong[] = {{2, STET_OUTPUT_RGBA, STET_DTYPE_U8, 0, NULL, false},
                                       {1, STET_OUTPUT_RGB, STET_DTYPE_U8, 4, NULL, false}};
    for (int k = 0; k < 2; ++k) {
        assert_int_equal(open_room(&r, 0, false, &wrong[k], 1), STET_ERROR_INVALID_ARGUMENT);
        assert_null(r.tiles);
        close_room(&r);
    }
    assert_int_equal(stet_tiles_create(NULL, NULL, &r.tiles), STET_ERROR_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pixels_do_not_depend_on_the_mechanisms),
        cmocka_unit_test(only_worlds_that_moved_are_rendered),
        cmocka_unit_test(kf18_a_reset_without_a_step_is_seen),
        cmocka_unit_test(bad_defs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
