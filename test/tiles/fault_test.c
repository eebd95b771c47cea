/* What goes wrong: changes that nobody announced, renders and allocations that fail, bad input. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/failing.h"
#include "tiles/scene.h"

/* ---- failures ---- */

static void a_change_that_is_not_announced_is_found_by_the_audit(void **state)
{
    scene s;
    int64_t frame = -1;
    open_device(&s, NULL, 0, true);
    open_tiles(&s, mixed, NMIXED, 2);
    render(&s, NULL);
    s.painter.secret = 1;
    assert_int_equal(stet_tiles_render(s.tiles, NULL, &frame), STET_ERROR_AUDIT);
    assert_non_null(strstr(stet_get_last_error(), "frame"));
    assert_int_equal(frame, -1); /* none was made */
    close_scene(&s);

    open_device(&s, NULL, 0, true); /* the same, where one world moved and the others stand */
    open_tiles(&s, mixed, NMIXED, 2);
    render(&s, NULL);
    s.painter.secret = 1;
    move(&s, 2);
    assert_int_equal(stet_tiles_render(s.tiles, NULL, &frame), STET_ERROR_AUDIT);
    assert_non_null(strstr(stet_get_last_error(), "did not move"));
    assert_int_equal(frame, 1); /* it was made before the others were looked at */
    close_scene(&s);

    open_device(&s, NULL, 0, true); /* a tensor that was written behind stet's back */
    stet_array *a;
    open_tiles(&s, mixed, NMIXED, 2);
    render(&s, NULL);
    assert_int_equal(stet_tiles_get_array(s.tiles, 0, 1, &a), STET_OK);
    unsigned char *bytes = bytes_take(a);
    bytes[77] ^= 1;
    bytes_give(a, bytes, true);
    assert_int_equal(stet_tiles_get_array(s.tiles, 0, 1, &a), STET_ERROR_AUDIT);
    assert_non_null(strstr(stet_get_last_error(), "deferred_tiles"));
    close_scene(&s);

    open_device(&s, NULL, 0, true); /* a direct tensor that is not where the table says */
    open_tiles(&s, mixed, NMIXED, 2);
    render(&s, NULL);
    stet_array *table = s.tiles->table.first;
    int64_t *first = bytes_take(table), *row = first + s.tiles->table.row[STI_BUFFER_DEPTH] * s.tiles->table.ntile;
    row[1] = row[3];
    bytes_give(table, first, true);
    assert_int_equal(stet_tiles_get_array(s.tiles, 0, 3, &a), STET_ERROR_AUDIT);
    assert_non_null(strstr(stet_get_last_error(), "tiles: "));
    close_scene(&s);
}

/* After a failure the frames before it are there, and the next render is right. */
static void a_failed_render_leaves_the_frames_before_it(void **state)
{
    for (int at = 1; at <= 5; ++at) {
        scene s;
        uint8_t mask[NWORLD] = {[2] = 1, [9] = 1};
        int64_t frame;
        open_device(&s, NULL, 0, false);
        open_tiles(&s, mixed, NMIXED, 2);
        painter seen = remember(&s);
        memset(seen.value, 0, NWORLD * sizeof *seen.value);
        for (int f = 1; f < at; ++f) {
            render(&s, NULL);
            memcpy(seen.value, s.painter.value, NWORLD * sizeof *seen.value);
            move_all(&s);
        }
        s.painter.fail_at = at;
        assert_int_equal(stet_tiles_render(s.tiles, NULL, &frame), STET_ERROR_DEVICE);
        if (at > 1) check_frame(&s, &seen, mixed, NMIXED, at - 2);
        for (int w = 0; w < NWORLD; ++w) assert_true(stet_tiles_is_stale(s.tiles, w));
        assert_int_equal(render(&s, mask),
                         at - 1); /* the others have the pixels of the frame before; before the first: zeros */
        seen.value[2] = s.painter.value[2];
        seen.value[9] = s.painter.value[9];
        if (at > 1)
            check_frame(&s, &seen, mixed, NMIXED, at - 1);
        else {
            unsigned char *bytes = bytes_take(s.tiles->place[0].tensor[0]);
            assert_int_equal(bytes[13 * 9 * 4 * 5], 0);
            bytes_give(s.tiles->place[0].tensor[0], bytes, false);
        }
        free(seen.value);
        close_scene(&s);
    }
}

/* The scene goes back to what it was after a failure: all worlds are carried over, and copies on the host follow. */
static void a_frame_of_carried_worlds_only(void **state)
{
    scene s;
    int64_t frame;
    open_device(&s, NULL, 0, false);
    open_tiles(&s, mixed, NMIXED, 1);
    for (int f = 0; f < 2; ++f) {
        move_all(&s);
        render(&s, NULL);
        check_frame(&s, &s.painter, mixed, NMIXED, f);
    }
    s.painter.value[3] += 7;
    s.painter.fail_at = s.painter.calls + 1;
    assert_int_equal(stet_tiles_render(s.tiles, NULL, &frame), STET_ERROR_DEVICE);
    s.painter.value[3] -= 7;
    assert_int_equal(render(&s, NULL), 2);
    check_frame(&s, &s.painter, mixed, NMIXED, 2);
    close_scene(&s);
}

static stet_result whole_life(void)
{
    scene s = {0};
    stet_device_def device_def = stet_default_device_def();
    device_def.type = STET_DEVICE_CPU; /* allocations of the host are the subject */
    device_def.threads = 1;
    STI_TRY(stet_device_create(&device_def, &s.device));
    painter_init(&s.painter, s.device, NWORLD, NCAMERA, sizes);
    stet_camera cameras[NCAMERA];
    stet_tiles_def def = def_of(mixed, NMIXED, 1, cameras);
    stet_result result = sti_tiles_create_with(&s.painter.base, &def, &s.tiles);
    for (int f = 0; f < 3 && result == STET_OK; ++f) {
        stet_array *a;
        move(&s, f);
        result = stet_tiles_render(s.tiles, NULL, NULL);
        if (result == STET_OK) result = stet_tiles_get_array(s.tiles, -1, f, &a);
    }
    stet_tiles_destroy(s.tiles);
    painter_free(&s.painter);
    stet_device_destroy(s.device);
    return result;
}

static void each_allocation_may_fail(void **state)
{
    assert_true(fail_each_allocation(whole_life, true) > 50); /* a stamp that found no memory is only not current */
}

static void expect_refusal(const scene *s, const stet_tiles_def *def, stet_result expected, const char *sentence)
{
    stet_tiles *tiles = (stet_tiles *)(uintptr_t)1;
    stet_memory_stats before = stet_get_memory_stats();
    assert_int_equal(sti_tiles_create_with(&s->painter.base, def, &tiles), expected);
    assert_null(tiles);
    if (!strstr(stet_get_last_error(), sentence)) fail_msg("'%s' is not in: %s", sentence, stet_get_last_error());
    assert_int_equal(stet_get_memory_stats().blocks, before.blocks);
    assert_false(s->painter.destroyed);
}

static void bad_input_is_refused_in_one_sentence(void **state)
{
    scene s;
    stet_camera cameras[NCAMERA];
    open_device(&s, NULL, 0, false);
    const stet_tiles_def good = def_of(mixed, NMIXED, 2, cameras);
    stet_tiles_def bad = {0};
    expect_refusal(&s, &bad, STET_ERROR_INVALID_ARGUMENT, "stet_default_tiles_def");
    for (int k = 0; k < 2; ++k) {
        bad = good;
        bad.frames_in_flight = k ? 17 : 0;
        expect_refusal(&s, &bad, STET_ERROR_INVALID_ARGUMENT, "1 to 16");
    }
    bad = good;
    bad.samples = 3;
    expect_refusal(&s, &bad, STET_ERROR_INVALID_ARGUMENT, "3 samples a pixel; 1, 4 or 16");
    bad = good;
    bad.mode = STET_RENDER_MODE_COUNT;
    expect_refusal(&s, &bad, STET_ERROR_INVALID_ARGUMENT, "no mode 2 of pictures");
    bad = good;
    bad.ncamera = 0;
    expect_refusal(&s, &bad, STET_ERROR_INVALID_ARGUMENT, "no camera");
    bad = good;
    bad.nrequest = 0;
    expect_refusal(&s, &bad, STET_ERROR_INVALID_ARGUMENT, "nothing is requested");
    cameras[1].width = 20000;
    expect_refusal(&s, &good, STET_ERROR_INVALID_ARGUMENT, "20000 x 4");
    cameras[1].width = 16;
    stet_tile_request r = {2, STET_OUTPUT_RGB, STET_DTYPE_U8, 0, NULL, false};
    bad = good;
    bad.requests = &r;
    bad.nrequest = 1;
    expect_refusal(&s, &bad, STET_ERROR_INVALID_ARGUMENT, "camera 2");
    r = (stet_tile_request){0, (stet_output)99, STET_DTYPE_U8, 0, NULL, false};
    expect_refusal(&s, &bad, STET_ERROR_INVALID_ARGUMENT, "no output 99");
    r = (stet_tile_request){0, STET_OUTPUT_DEPTH, STET_DTYPE_I64, 0, NULL, false};
    expect_refusal(&s, &bad, STET_ERROR_INVALID_ARGUMENT, "request 0: depth as i64");
    close_scene(&s);
}

static void kf28_more_channels_is_an_error(void **state)
{
    scene s;
    stet_camera cameras[NCAMERA];
    stet_tile_request r[] = {mixed[0], {1, STET_OUTPUT_RGB, STET_DTYPE_U8, 4, NULL, false}};
    open_device(&s, NULL, 0, false);
    stet_tiles_def def = def_of(r, 2, 2, cameras);
    expect_refusal(&s, &def, STET_ERROR_INVALID_ARGUMENT, "request 1: rgb with 4 channels: it has 3");
    r[1] = (stet_tile_request){1, STET_OUTPUT_DEPTH, STET_DTYPE_REAL, 2, NULL, false};
    expect_refusal(&s, &def, STET_ERROR_INVALID_ARGUMENT, "depth with 2 channels: it has 1");
    close_scene(&s);
}

static void a_bound_array_must_be_the_tensor(void **state)
{
    scene s;
    stet_camera cameras[NCAMERA];
    open_device(&s, NULL, 0, false);
    bound b = bind(&s);
    stet_tile_request r[2] = {b.request[0], b.request[0]};
    stet_tiles_def def = def_of(r, 1, 2, cameras);
    r[0].channels = 3;
    expect_refusal(&s, &def, STET_ERROR_INVALID_ARGUMENT, "must have the shape 21 x 9 x 13 x 3");
    r[0] = b.request[0];
    r[0].dtype = STET_DTYPE_REAL;
    expect_refusal(&s, &def, STET_ERROR_INVALID_ARGUMENT, "holds u8, but real is requested");
    r[0] = b.request[0];
    def.nrequest = 2;
    expect_refusal(&s, &def, STET_ERROR_INVALID_ARGUMENT, "bind one each");
    stet_array *worlds;
    assert_int_equal(STI_ARRAY(s.device, "blocked", STET_DTYPE_REAL, true, &worlds, NWORLD, 9, 13, 1), STET_OK);
    r[0] = (stet_tile_request){0, STET_OUTPUT_DEPTH, STET_DTYPE_REAL, 1, worlds, false};
    def.nrequest = 1;
    expect_refusal(&s, &def, STET_ERROR_INVALID_ARGUMENT, "array of worlds");
    stet_array_destroy(worlds);
    close_bound(&s, &b);
}

static void kf25_too_much_is_an_error(void **state)
{
    scene s;
    stet_camera cameras[NCAMERA];
    stet_tiles *tiles;
    open_device(&s, NULL, 0, false);
    stet_tiles_def def = def_of(mixed, NMIXED, 2, cameras);
    s.painter.base.nworld = INT32_MAX / 2 + 1;
    assert_int_equal(sti_tiles_create_with(&s.painter.base, &def, &tiles), STET_ERROR_LIMIT);
    assert_null(tiles);
    assert_non_null(strstr(stet_get_last_error(), "worlds"));
    close_scene(&s);
}

static void reads_of_what_is_not_there(void **state)
{
    scene s;
    stet_array *a;
    open_device(&s, NULL, 0, false);
    open_tiles(&s, mixed, NMIXED, 2);
    assert_int_equal(stet_tiles_get_array(s.tiles, -1, 0, &a), STET_ERROR_NOT_FOUND);
    assert_non_null(strstr(stet_get_last_error(), "nothing was rendered"));
    render(&s, NULL);
    assert_int_equal(stet_tiles_get_array(s.tiles, 1, 0, &a), STET_ERROR_NOT_FOUND);
    assert_int_equal(stet_tiles_get_array(s.tiles, -2, 0, &a), STET_ERROR_NOT_FOUND);
    assert_int_equal(stet_tiles_get_array(s.tiles, 0, NMIXED, &a), STET_ERROR_INVALID_ARGUMENT);
    assert_int_equal(stet_tiles_get_array(s.tiles, 0, -1, &a), STET_ERROR_INVALID_ARGUMENT);
    assert_int_equal(stet_tiles_get_array(NULL, 0, 0, &a), STET_ERROR_INVALID_ARGUMENT);
    assert_int_equal(stet_tiles_render(NULL, NULL, NULL), STET_ERROR_INVALID_ARGUMENT);
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_that_is_not_announced_is_found_by_the_audit),
        cmocka_unit_test(a_failed_render_leaves_the_frames_before_it),
        cmocka_unit_test(a_frame_of_carried_worlds_only),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(bad_input_is_refused_in_one_sentence),
        cmocka_unit_test(kf28_more_channels_is_an_error),
        cmocka_unit_test(a_bound_array_must_be_the_tensor),
        cmocka_unit_test(kf25_too_much_is_an_error),
        cmocka_unit_test(reads_of_what_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
