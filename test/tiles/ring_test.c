/* Frames in flight, and arrays that the caller bound: what is kept, for how long, and what never happens in silence. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tiles/scene.h"

/* ---- frames in flight ---- */

static void kf20_rendering_without_reading_loses_nothing(void **state)
{
    for (int depth = 1; depth <= 4; ++depth) {
        scene s;
        painter seen[8];
        open_device(&s, NULL, 0, true);
        open_tiles(&s, mixed, NMIXED, depth);
        for (int f = 0; f < depth; ++f) {
            seen[f] = remember(&s);
            assert_int_equal(render(&s, NULL), f);
            move_all(&s);
        }
        assert_int_equal(taken(&s).mechanism[STET_MECHANISM_DEFERRED_TILES].misses, 0);
        /* One more than fits: the oldest is extracted first, and it is counted; it is still there. */
        seen[depth] = remember(&s);
        assert_int_equal(render(&s, NULL), depth);
        stet_counters c = taken(&s);
        assert_int_equal(c.reason[STET_REASON_DEFERRED_TILES_RING_FULL], 1);
        assert_int_equal(c.mechanism[STET_MECHANISM_DEFERRED_TILES].misses, 1);
        for (int f = 0; f <= depth; ++f) check_frame(&s, &seen[f], mixed, NMIXED, f);
        assert_int_equal(taken(&s).reason[STET_REASON_DEFERRED_TILES_FIRST_READ], depth);
        /* All were read: the next one has nothing to extract first; the oldest is gone, and says so. */
        move_all(&s);
        assert_int_equal(render(&s, NULL), depth + 1);
        assert_int_equal(taken(&s).mechanism[STET_MECHANISM_DEFERRED_TILES].misses, 0);
        stet_array *a;
        assert_int_equal(stet_tiles_get_array(s.tiles, 0, 0, &a), STET_ERROR_NOT_FOUND);
        assert_non_null(strstr(stet_get_last_error(), "no longer kept"));
        for (int f = 1; f <= depth; ++f) check_frame(&s, &seen[f], mixed, NMIXED, f);
        for (int f = 0; f <= depth; ++f) free(seen[f].value);
        close_scene(&s);
    }
}

/* However long nobody reads: each frame that falls out of flight is extracted and counted, place after place. */
static void kf20_a_long_run_without_a_read(void **state)
{
    for (int depth = 1; depth <= 3; ++depth) {
        scene s;
        open_device(&s, NULL, 0, false);
        open_tiles(&s, mixed, NMIXED, depth);
        for (int f = 0; f < 12; ++f) {
            move_all(&s);
            assert_int_equal(render(&s, NULL), f);
            stet_counters c = taken(&s);
            assert_int_equal(c.reason[STET_REASON_DEFERRED_TILES_RING_FULL], f >= depth);
        }
        check_frame(&s, &s.painter, mixed, NMIXED, 11);
        close_scene(&s);
    }
}

/* A tensor that is held keeps its bytes until K further frames were started, whoever wrote it. */
static void a_tensor_outlives_its_frame_by_k(void **state)
{
    for (int depth = 1; depth <= 3; ++depth) {
        scene s;
        open_device(&s, NULL, 0, false);
        open_tiles(&s, mixed, NMIXED, depth);
        render(&s, NULL);
        for (int k = 0; k < NMIXED; ++k) {
            stet_array *a;
            size_t size;
            assert_int_equal(stet_tiles_get_array(s.tiles, -1, k, &a), STET_OK);
            unsigned char *expected = expect_tensor(&s.painter, &mixed[k], NWORLD, &size);
            for (int f = 0; f < depth; ++f) {
                move_all(&s);
                render(&s, NULL);
                check_frame(&s, &s.painter, mixed, NMIXED, -1);
                assert_true(bytes_equal(a, expected, size));
            }
            free(expected);
        }
        close_scene(&s);
    }
}

static void kf21_closing_drops_what_is_pending(void **state)
{
    scene s;
    stet_memory_stats start = stet_get_memory_stats();
    open_device(&s, NULL, 0, false);
    open_tiles(&s, mixed, NMIXED,
               3); /* once before: a GPU loads its kernels when they are first used, and keeps them */
    render(&s, NULL);
    check_frame(&s, &s.painter, mixed, NMIXED, -1);
    stet_tiles_destroy(s.tiles);
    s.painter.destroyed = false;
    stet_memory_stats before = stet_get_memory_stats();
    open_tiles(&s, mixed, NMIXED, 3);
    for (int f = 0; f < 3; ++f) {
        move_all(&s);
        render(&s, NULL);
    }
    taken(&s);
    assert_true(stet_get_memory_stats().bytes > before.bytes);
    stet_tiles_destroy(s.tiles);
    assert_true(s.painter.destroyed);
    s.tiles = NULL;
    assert_int_equal(taken(&s).launches, 0); /* dropped, not extracted */
    assert_int_equal(stet_get_memory_stats().bytes, before.bytes);
    assert_int_equal(stet_get_memory_stats().blocks, before.blocks);
    close_scene(&s);
    assert_int_equal(stet_get_memory_stats().bytes, start.bytes);
    stet_tiles_destroy(NULL);
}

/* ---- bound arrays ---- */

static void a_bound_array_gets_the_frame_when_it_is_read(void **state)
{
    for (int audit = 0; audit < 2; ++audit) {
        scene s;
        stet_array *a;
        open_device(&s, NULL, 0, audit);
        bound b = bind(&s);
        open_tiles(&s, b.request, 3, 2);
        uint64_t generation = stet_array_get_generation(b.rgba);
        render(&s, NULL);
        assert_int_equal(stet_array_get_generation(b.rgba), generation);
        assert_int_equal(stet_tiles_get_array(s.tiles, -1, 0, &a), STET_OK);
        assert_ptr_equal(a, b.rgba);
        assert_true(stet_array_get_generation(b.rgba) > generation);
        check_frame(&s, &s.painter, b.request, 3, 0);
        if (!audit) {
            stet_counters c = taken(&s);
            assert_int_equal(c.reason[STET_REASON_TILES_EXTRACTED], 1); /* the native pixel, into another allocation */
            assert_int_equal(c.reason[STET_REASON_TILES_NOT_DIRECT], 2);
            assert_int_equal(c.launches, 1);
        }
        /* Somebody writes it: the next read puts the frame back. */
        unsigned char *zero = calloc(1, stet_array_get_bytes(b.rgba));
        assert_int_equal(stet_array_write(b.rgba, zero, stet_array_get_bytes(b.rgba)), STET_OK);
        free(zero);
        check_frame(&s, &s.painter, b.request, 3, 0);
        close_bound(&s, &b);
    }
}

static void a_bound_array_never_goes_back(void **state)
{
    scene s;
    stet_array *a;
    open_device(&s, NULL, 0, true);
    bound b = bind(&s);
    open_tiles(&s, b.request, 3, 3);
    painter first = remember(&s);
    render(&s, NULL);
    move_all(&s);
    render(&s, NULL);
    check_frame(&s, &s.painter, b.request, 3, 1);
    /*
     * Frame 0 after frame 1: its bound arrays are refused, its ring tensor is there, and the bound ones keep frame 1.
     */
    assert_int_equal(stet_tiles_get_array(s.tiles, 0, 0, &a), STET_ERROR_STATE);
    assert_non_null(strstr(stet_get_last_error(), "holds frame 1 already"));
    assert_null(a);
    check_tensor(&s, &first, &b.request[2], 0, 2);
    check_frame(&s, &s.painter, b.request, 3, 1);
    check_tensor(&s, &first, &b.request[2], 0, 2);
    free(first.value);
    close_bound(&s, &b);
}

static void kf20_a_full_ring_delivers_into_bound_arrays(void **state)
{
    scene s;
    size_t size;
    open_device(&s, NULL, 0, false);
    bound b = bind(&s);
    open_tiles(&s, b.request, 2, 1);
    painter first = remember(&s);
    render(&s, NULL);
    move_all(&s);
    render(&s, NULL);
    unsigned char *expected = expect_tensor(&first, &b.request[0], NWORLD, &size);
    assert_true(bytes_equal(b.rgba, expected, size));
    free(expected);
    free(first.value);
    check_frame(&s, &s.painter, b.request, 2, 1);
    close_bound(&s, &b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kf20_rendering_without_reading_loses_nothing),
        cmocka_unit_test(kf20_a_long_run_without_a_read),
        cmocka_unit_test(a_tensor_outlives_its_frame_by_k),
        cmocka_unit_test(kf21_closing_drops_what_is_pending),
        cmocka_unit_test(a_bound_array_gets_the_frame_when_it_is_read),
        cmocka_unit_test(a_bound_array_never_goes_back),
        cmocka_unit_test(kf20_a_full_ring_delivers_into_bound_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
