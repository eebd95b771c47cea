/* Frames: what is rendered, what is extracted, what stands; counted exactly, and the same bytes however it is done. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/dice.h"
#include "tiles/scene.h"

/* ---- what comes out ---- */

static void every_request_holds_its_pixels(void **state)
{
    const char *const isas[] = {"portable", "w1", "avx2", "avx512"};
    for (int i = 0; i < 4; ++i) {
        stet_device_def def = stet_default_device_def();
        stet_device *probe;
        scene s;
        def.isa = isas[i];
        if (stet_device_create(&def, &probe) != STET_OK) continue;
        stet_device_destroy(probe);
        open_device(&s, isas[i], 0, true);
        open_tiles(&s, mixed, NMIXED, 2);
        for (int64_t f = 0; f < 5; ++f) {
            assert_int_equal(render(&s, NULL), f);
            check_frame(&s, &s.painter, mixed, NMIXED, f);
            check_frame(&s, &s.painter, mixed, NMIXED, -1);
            move(&s, (int)f);
            move(&s, 20);
        }
        close_scene(&s);
    }
}

/* A long random story, told once plainly and then with mechanisms off, audited: always the expected bytes. */
static void tell_story(uint64_t seed, uint32_t disabled, bool audit, bool toggle)
{
    scene s;
    uint8_t mask[NWORLD];
    uint64_t dice = seed;
    open_device(&s, NULL, disabled, audit);
    open_tiles(&s, mixed, NMIXED, 2);
    painter seen = remember(&s);
    memset(seen.value, 0, NWORLD * sizeof *seen.value);
    uint64_t dice_toggle = seed + 1;
    for (int step = 0; step < 20; ++step) {
        bool masked = step > 0 && dice_below(&dice, 2);
        for (int w = 0; w < NWORLD; ++w) {
            if (dice_below(&dice, 4) == 0) move(&s, w);
            mask[w] = (uint8_t)(dice_below(&dice, 3) * 40);
        }
        if (toggle) {
            stet_mechanism_options o = stet_device_get_mechanisms(s.device);
            o.disabled = (uint32_t)dice_below(&dice_toggle, 8) << STET_MECHANISM_TILES;
            assert_int_equal(stet_device_set_mechanisms(s.device, &o), STET_OK);
        }
        render(&s, masked ? mask : NULL);
        for (int w = 0; w < NWORLD; ++w)
            if (!masked || mask[w]) seen.value[w] = s.painter.value[w];
        size_t read = dice_below(&dice, 3);
        if (read == 1) check_frame(&s, &seen, mixed, NMIXED, -1);
        if (read == 2) check_tensor(&s, &seen, &mixed[step % NMIXED], -1, step % NMIXED);
        for (int w = 0; w < NWORLD; ++w)
            assert_int_equal(stet_tiles_is_stale(s.tiles, w), seen.value[w] != s.painter.value[w]);
    }
    free(seen.value);
    close_scene(&s);
}

static void each_switch_leaves_the_bytes_as_they_are(void **state)
{
    uint64_t seed = dice_seed("each_switch_leaves_the_bytes_as_they_are");
    assert_true(STET_MECHANISM_DEFERRED_TILES == STET_MECHANISM_TILES + 1 &&
                STET_MECHANISM_FRAME == STET_MECHANISM_TILES + 2);
    for (uint32_t off = 0; off < 8; ++off)
        for (int audit = 0; audit < 2; ++audit) tell_story(seed, off << STET_MECHANISM_TILES, audit, false);
    tell_story(seed, 0, false, true);
    tell_story(seed, 0, true, true);
}

/* ---- counters ---- */

static void one_launch_extracts_all_and_direct_ones_are_free(void **state)
{
    scene s;
    open_device(&s, NULL, 0, false);
    open_tiles(&s, mixed, NMIXED, 2);
    render(&s, NULL);
    stet_counters c = taken(&s);
    assert_int_equal(c.mechanism[STET_MECHANISM_FRAME].misses, 1);
    assert_int_equal(c.reason[STET_REASON_FRAME_FIRST], 1);
    assert_int_equal(c.mechanism[STET_MECHANISM_FRAME].done_bytes, NWORLD * pixel_bytes());
    assert_int_equal(c.launches, 0); /* the painter is no launch; nothing was extracted */
    assert_int_equal(s.painter.painted, NWORLD);

    stet_array *a;
    assert_int_equal(stet_tiles_get_array(s.tiles, 0, 0, &a), STET_OK);
    c = taken(&s);
    int64_t converted = tensor_bytes(&s, 1) + tensor_bytes(&s, 2) + tensor_bytes(&s, 5);
    int64_t direct = tensor_bytes(&s, 0) + tensor_bytes(&s, 3) + tensor_bytes(&s, 4) + tensor_bytes(&s, 6);
    assert_int_equal(c.launches, 1);
    assert_int_equal(c.mechanism[STET_MECHANISM_TILES].hits, NDIRECT);
    assert_int_equal(c.mechanism[STET_MECHANISM_TILES].saved_bytes, NWORLD * direct);
    assert_int_equal(c.mechanism[STET_MECHANISM_TILES].saved_launches, NWORLD * NDIRECT);
    assert_int_equal(c.mechanism[STET_MECHANISM_TILES].misses, NMIXED - NDIRECT);
    assert_int_equal(c.reason[STET_REASON_TILES_NOT_DIRECT], NMIXED - NDIRECT);
    assert_int_equal(c.mechanism[STET_MECHANISM_TILES].done_bytes, NWORLD * converted);
    assert_int_equal(c.mechanism[STET_MECHANISM_TILES].done_launches, 1);
    assert_int_equal(c.reason[STET_REASON_DEFERRED_TILES_FIRST_READ], 1);
    assert_int_equal(c.mechanism[STET_MECHANISM_DEFERRED_TILES].done_bytes, NWORLD * converted);

    for (int k = 0; k < NMIXED; ++k) assert_int_equal(stet_tiles_get_array(s.tiles, -1, k, &a), STET_OK);
    c = taken(&s);
    assert_int_equal(c.launches, 0);
    assert_int_equal(c.mechanism[STET_MECHANISM_DEFERRED_TILES].hits, NMIXED);
    assert_int_equal(c.mechanism[STET_MECHANISM_DEFERRED_TILES].saved_bytes, NMIXED * NWORLD * converted);
    assert_int_equal(c.mechanism[STET_MECHANISM_TILES].misses + c.mechanism[STET_MECHANISM_TILES].hits, 0);
    close_scene(&s);
}

static void a_direct_request_costs_no_launch_and_no_byte(void **state)
{
    const stet_tile_request r[] = {{0, STET_OUTPUT_RGBA, STET_DTYPE_U8, 4, NULL, false},
                                   {1, STET_OUTPUT_RGBA, STET_DTYPE_U8, 0, NULL, false}};
    scene s;
    stet_array *a;
    open_device(&s, NULL, 0, false);
    open_tiles(&s, r, 2, 1);
    render(&s, NULL);
    taken(&s);
    for (int k = 0; k < 2; ++k) {
        assert_int_equal(stet_tiles_get_array(s.tiles, 0, k, &a), STET_OK);
        assert_ptr_equal(a->data, (char *)s.tiles->place[0].pixels[STI_BUFFER_COLOUR]->data +
                                      s.tiles->layout[STI_BUFFER_COLOUR].part[k].origin * 4);
    }
    stet_counters c = taken(&s);
    assert_int_equal(c.launches, 0);
    assert_int_equal(c.bytes_copied, 0);
    assert_int_equal(c.mechanism[STET_MECHANISM_TILES].hits, 2);
    assert_int_equal(c.mechanism[STET_MECHANISM_TILES].done_bytes, 0);
    check_frame(&s, &s.painter, r, 2, 0);
    close_scene(&s);
}

static void nothing_moved_is_no_work(void **state)
{
    scene s;
    open_device(&s, NULL, 0, false);
    open_tiles(&s, mixed, NMIXED, 2);
    assert_int_equal(render(&s, NULL), 0);
    taken(&s);
    assert_int_equal(render(&s, NULL), 0);
    stet_counters c = taken(&s);
    assert_int_equal(s.painter.calls, 1);
    assert_int_equal(c.mechanism[STET_MECHANISM_FRAME].hits, 1);
    assert_int_equal(c.mechanism[STET_MECHANISM_FRAME].saved_launches, 1);
    assert_int_equal(c.mechanism[STET_MECHANISM_FRAME].saved_bytes, NWORLD * pixel_bytes());

    move(&s, 3); /* one world: it alone is rendered, and alone extracted */
    move(&s, 7);
    assert_int_equal(render(&s, NULL), 1);
    c = taken(&s);
    assert_int_equal(s.painter.painted, NWORLD + 2);
    assert_int_equal(c.reason[STET_REASON_FRAME_MOVED], 1);
    assert_int_equal(c.mechanism[STET_MECHANISM_FRAME].done_bytes, 2 * pixel_bytes());
    check_frame(&s, &s.painter, mixed, NMIXED, 1);

    sti_version_bump(&s.painter.appearance); /* a material: all of them */
    assert_int_equal(render(&s, NULL), 2);
    assert_int_equal(s.painter.painted, 2 * NWORLD + 2);
    check_frame(&s, &s.painter, mixed, NMIXED, 2);
    sti_version_bump(&s.painter.connectivity);
    assert_int_equal(render(&s, NULL), 3);
    assert_int_equal(s.painter.painted, 3 * NWORLD + 2);
    close_scene(&s);
}

/* The second time a place comes round, only worlds whose pixels it does not have are copied or extracted. */
static void worlds_that_stand_are_not_extracted_again(void **state)
{
    scene s;
    stet_array *a;
    open_device(&s, NULL, 0, false);
    open_tiles(&s, mixed, NMIXED, 1);
    for (int f = 0; f < 3; ++f) {
        move(&s, 5);
        render(&s, NULL);
        taken(&s);
        assert_int_equal(stet_tiles_get_array(s.tiles, -1, 1, &a), STET_OK);
    }
    stet_counters c = taken(&s);
    int64_t converted = tensor_bytes(&s, 1) + tensor_bytes(&s, 2) + tensor_bytes(&s, 5);
    assert_int_equal(c.mechanism[STET_MECHANISM_TILES].done_bytes, converted); /* one world */
    assert_int_equal(c.launches, 1);
    check_frame(&s, &s.painter, mixed, NMIXED, 2);
    close_scene(&s);
}

static void switched_off_each_world_and_request_is_a_launch(void **state)
{
    scene s;
    stet_array *a;
    open_device(&s, NULL, 1u << STET_MECHANISM_TILES, false);
    open_tiles(&s, mixed, NMIXED, 2);
    render(&s, NULL);
    taken(&s);
    assert_int_equal(stet_tiles_get_array(s.tiles, 0, 0, &a), STET_OK);
    stet_counters c = taken(&s);
    int64_t bytes = 0;
    for (int k = 0; k < NMIXED; ++k) bytes += NWORLD * tensor_bytes(&s, k);
    assert_int_equal(c.launches, NWORLD * NMIXED);
    assert_int_equal(c.mechanism[STET_MECHANISM_TILES].hits, 0);
    assert_int_equal(c.mechanism[STET_MECHANISM_TILES].done_launches, NWORLD * NMIXED);
    assert_int_equal(c.mechanism[STET_MECHANISM_TILES].done_bytes, bytes);
    assert_int_equal(c.reason[STET_REASON_TILES_DISABLED], NMIXED);
    const sti_extractor *x = &sti_place_of(s.tiles, 0)->extractor;
    size_t tables = stet_array_get_bytes(x->job) + stet_array_get_bytes(x->place);
    size_t times = s.device->can.compiles ? 2 : 1; /* into the host's memory of the array, and on to the GPU */
    assert_int_equal(c.bytes_copied, times * NMIXED * tables); /* a launch gets its world as a number */
    close_scene(&s);

    open_device(&s, NULL, 1u << STET_MECHANISM_DEFERRED_TILES, false);
    open_tiles(&s, mixed, NMIXED, 2);
    render(&s, NULL);
    c = taken(&s);
    assert_int_equal(c.launches, 1);
    assert_int_equal(c.reason[STET_REASON_DEFERRED_TILES_DISABLED], 1);
    assert_int_equal(stet_tiles_get_array(s.tiles, 0, 1, &a), STET_OK);
    assert_int_equal(render(&s, NULL), 0);
    c = taken(&s);
    assert_int_equal(c.launches, 0);
    assert_int_equal(c.mechanism[STET_MECHANISM_DEFERRED_TILES].misses, 0);
    close_scene(&s);

    open_device(&s, NULL, 1u << STET_MECHANISM_FRAME, false);
    open_tiles(&s, mixed, NMIXED, 2);
    for (int64_t f = 0; f < 3; ++f) assert_int_equal(render(&s, NULL), f);
    c = taken(&s);
    assert_int_equal(s.painter.painted, 3 * NWORLD);
    assert_int_equal(c.reason[STET_REASON_FRAME_DISABLED], 3);
    assert_int_equal(c.mechanism[STET_MECHANISM_FRAME].done_bytes, 3 * NWORLD * pixel_bytes());
    close_scene(&s);
}

static void the_steady_state_allocates_nothing(void **state)
{
    scene s;
    open_device(&s, NULL, 0, false);
    open_tiles(&s, mixed, NMIXED, 2);
    int64_t allocations = 0;
    for (int f = 0; f < 12; ++f) {
        stet_array *a;
        if (f == 6) allocations = stet_get_memory_stats().allocations;
        move_all(&s);
        render(&s, NULL);
        move(&s, f);
        render(&s, NULL);
        for (int k = 0; k < NMIXED; ++k) assert_int_equal(stet_tiles_get_array(s.tiles, -1, k, &a), STET_OK);
    }
    assert_int_equal(stet_get_memory_stats().allocations, allocations);
    close_scene(&s);
}

/* ---- subsets ---- */

static void a_mask_renders_some_and_keeps_the_rest(void **state)
{
    scene s;
    uint8_t mask[NWORLD] = {[4] = 1, [20] = 255};
    open_device(&s, NULL, 0, true);
    open_tiles(&s, mixed, NMIXED, 3);
    assert_int_equal(render(&s, mask), 0);
    assert_int_equal(s.painter.painted, 2);
    assert_false(stet_tiles_is_stale(s.tiles, 4));
    assert_true(stet_tiles_is_stale(s.tiles, 5)); /* never drawn: zeros */
    stet_array *a;
    unsigned char got[NWORLD * 13 * 9 * 4];
    assert_int_equal(stet_tiles_get_array(s.tiles, 0, 0, &a), STET_OK);
    assert_int_equal(stet_array_read(a, got, sizeof got), STET_OK);
    for (int k = 5 * 13 * 9 * 4; k < 20 * 13 * 9 * 4; ++k) assert_int_equal(got[k], 0);

    assert_int_equal(render(&s, NULL), 1);
    painter seen = remember(&s);
    move_all(&s);
    assert_int_equal(render(&s, mask), 2);
    seen.value[4] = s.painter.value[4];
    seen.value[20] = s.painter.value[20];
    check_frame(&s, &seen, mixed, NMIXED, 2);
    for (int w = 0; w < NWORLD; ++w) assert_int_equal(stet_tiles_is_stale(s.tiles, w), w != 4 && w != 20);
    free(seen.value);
    close_scene(&s);
}

/* What the caller left in an array before it was bound, or wrote into it before the first read, is no picture. */
static void a_bound_array_that_was_not_empty_is_filled(void **state)
{
    for (int audit = 0; audit < 2; ++audit) {
        scene s;
        uint8_t mask[NWORLD] = {[4] = 1};
        stet_tile_request request = {0, STET_OUTPUT_RGBA, STET_DTYPE_U8, 0, NULL, false};
        enum { WORLD = 13 * 9 * 4 };
        static unsigned char got[NWORLD * WORLD];
        stet_array *a;
        open_device(&s, NULL, 0, audit);
        assert_int_equal(STI_ARRAY(s.device, "bound", STET_DTYPE_U8, false, &request.bound, NWORLD, 9, 13, 4), STET_OK);
        memset(got, 0x5a, sizeof got);
        assert_int_equal(stet_array_write(request.bound, got, sizeof got), STET_OK);
        open_tiles(&s, &request, 1, 2);
        assert_int_equal(render(&s, mask), 0);
        assert_int_equal(stet_array_write(request.bound, got, sizeof got), STET_OK);
        assert_int_equal(stet_tiles_get_array(s.tiles, 0, 0, &a), STET_OK);
        assert_ptr_equal(a, request.bound);
        assert_int_equal(stet_array_read(a, got, sizeof got), STET_OK);
        int drawn = 0;
        for (int k = 0; k < NWORLD * WORLD; ++k) {
            if (k / WORLD == 4)
                drawn += got[k] != 0;
            else
                assert_int_equal(got[k], 0); /* never drawn */
        }
        assert_true(drawn > WORLD / 2);
        stet_tiles_destroy(s.tiles);
        s.tiles = NULL;
        stet_array_destroy(request.bound);
        close_scene(&s);
    }
}

static void kf17_an_empty_selection_counts_as_done(void **state)
{
    scene s;
    const uint8_t none[NWORLD] = {0};
    open_device(&s, NULL, 0, false);
    open_tiles(&s, mixed, NMIXED, 2);
    assert_int_equal(render(&s, none), 0);
    move_all(&s);
    assert_int_equal(render(&s, none), 0);
    assert_int_equal(s.painter.calls, 0);
    assert_int_equal(taken(&s).mechanism[STET_MECHANISM_FRAME].hits, 1);
    assert_int_equal(render(&s, NULL), 1);
    check_frame(&s, &s.painter, mixed, NMIXED, 1);
    close_scene(&s);
}

static void kf18_a_reset_makes_pixels_stale(void **state)
{
    scene s;
    open_device(&s, NULL, 0, false);
    open_tiles(&s, mixed, NMIXED, 2);
    assert_true(stet_tiles_is_stale(s.tiles, 0));
    render(&s, NULL);
    for (int w = 0; w < NWORLD; ++w) assert_false(stet_tiles_is_stale(s.tiles, w));
    move(&s, 6);
    for (int w = 0; w < NWORLD; ++w) assert_int_equal(stet_tiles_is_stale(s.tiles, w), w == 6);
    assert_int_equal(render(&s, NULL), 1); /* without a step in between */
    assert_false(stet_tiles_is_stale(s.tiles, 6));
    check_frame(&s, &s.painter, mixed, NMIXED, 1);
    assert_true(stet_tiles_is_stale(s.tiles, -1));
    assert_true(stet_tiles_is_stale(s.tiles, NWORLD));
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_request_holds_its_pixels),
        cmocka_unit_test(each_switch_leaves_the_bytes_as_they_are),
        cmocka_unit_test(one_launch_extracts_all_and_direct_ones_are_free),
        cmocka_unit_test(a_direct_request_costs_no_launch_and_no_byte),
        cmocka_unit_test(nothing_moved_is_no_work),
        cmocka_unit_test(worlds_that_stand_are_not_extracted_again),
        cmocka_unit_test(switched_off_each_world_and_request_is_a_launch),
        cmocka_unit_test(the_steady_state_allocates_nothing),
        cmocka_unit_test(a_mask_renders_some_and_keeps_the_rest),
        cmocka_unit_test(a_bound_array_that_was_not_empty_is_filled),
        cmocka_unit_test(kf17_an_empty_selection_counts_as_done),
        cmocka_unit_test(kf18_a_reset_makes_pixels_stale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
