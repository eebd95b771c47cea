/* The tile table: every tile has its own pixels, at every size, also at sizes that no memory here could hold. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/dice.h"
#include "tiles/table.h"

#include <string.h>

enum { MOST = 6 };

/* Marks each pixel of each tile; none may be marked twice or lie outside. Returns how many were. */
static int64_t mark_all(const sti_tile_layout *l, unsigned char *mark)
{
    int64_t n = 0;
    for (int64_t w = 0; w < l->nworld; ++w)
        for (int c = 0; c < l->ncamera; ++c)
            for (int y = 0; y < l->part[c].size.height; ++y)
                for (int x = 0; x < l->part[c].size.width; ++x, ++n) {
                    int64_t at = sti_tile_first(l, w, c) + (int64_t)y * l->part[c].pitch + x;
                    assert_in_range(at, 0, l->npixel - 1);
                    assert_int_equal(mark[at], 0);
                    mark[at] = 1;
                }
    return n;
}

static void no_two_tiles_share_a_pixel(void **state)
{
    uint64_t dice = dice_seed("no_two_tiles_share_a_pixel");
    for (int round = 0; round < 60; ++round) {
        sti_tile_size size[MOST];
        bool direct[MOST];
        sti_tile_part part[MOST];
        sti_tile_layout l;
        int ncamera = 1 + (int)dice_below(&dice, MOST);
        int64_t nworld = 1 + (int64_t)dice_below(&dice, 40), wanted = 0;
        for (int c = 0; c < ncamera; ++c) {
            size[c] = (sti_tile_size){1 + (int)dice_below(&dice, 20), 1 + (int)dice_below(&dice, 20)};
            direct[c] = dice_below(&dice, 2);
            wanted += nworld * size[c].width * size[c].height;
        }
        assert_int_equal(sti_tile_plan(size, direct, ncamera, nworld, part, &l), STET_OK);
        unsigned char *mark = calloc((size_t)l.npixel, 1);
        assert_int_equal(mark_all(&l, mark), wanted);
        for (int c = 0; c < ncamera; ++c) {
            assert_int_equal(part[c].origin % STI_PART_ALIGN * direct[c], 0);
            if (direct[c])
                assert_int_equal(sti_tile_first(&l, nworld - 1, c) - part[c].origin,
                                 (nworld - 1) * size[c].width * size[c].height);
        }
        free(mark);
    }
}

static void no_row_is_longer_than_a_frame(void **state)
{
    sti_tile_size size[] = {{16384, 2}, {5000, 1}, {3, 7}};
    bool direct[3] = {false, false, false};
    sti_tile_part part[3];
    sti_tile_layout l;
    assert_int_equal(sti_tile_plan(size, direct, 3, 100000, part, &l), STET_OK);
    assert_int_equal(l.image_width, STI_FRAME_WIDTH);
    for (int c = 0; c < 3; ++c) {
        assert_int_equal(part[c].pitch, l.image_width);
        assert_true(part[c].columns * size[c].width <= STI_FRAME_WIDTH);
    }
    assert_int_equal(part[0].columns, 1);
    assert_int_equal(part[1].columns, 3);
}

/* Offsets are worked out here in 128 bits. */
static void kf26_offsets_beyond_32_bits(void **state)
{
    const int64_t nworlds[] = {5000, 40000, 2000000};
    sti_tile_size size[] = {{1024, 1024}, {640, 480}};
    for (int variant = 0; variant < 2; ++variant)
        for (int i = 0; i < 3; ++i) {
            bool direct[2] = {variant == 0, false};
            sti_tile_part part[2];
            sti_tile_layout l;
            assert_int_equal(sti_tile_plan(size, direct, 2, nworlds[i], part, &l), STET_OK);
            assert_true(l.npixel > INT32_MAX && l.npixel >= nworlds[i] * (1024 * 1024 + 640 * 480));
            for (int c = 0; c < 2; ++c) {
                int64_t w = nworlds[i] - 1;
                __extension__ typedef __int128 wide;
                wide first = (wide)part[c].origin + (wide)(w / part[c].columns) * size[c].height * part[c].pitch +
                             (wide)(w % part[c].columns) * size[c].width;
                assert_true(first == sti_tile_first(&l, w, c));
                assert_true(first > INT32_MAX);
                assert_true(first + (wide)(size[c].height - 1) * part[c].pitch + size[c].width <= l.npixel);
            }
        }
}

static void kf25_a_limit_is_an_error(void **state)
{
    sti_tile_size size[] = {{16384, 16384}, {16384, 16384}};
    bool direct[] = {true, false};
    sti_tile_part part[2];
    sti_tile_layout l;
    assert_int_equal(sti_tile_plan(size, direct, 1, (int64_t)INT32_MAX + 1, part, &l), STET_ERROR_LIMIT);
    assert_non_null(strstr(stet_get_last_error(), "2147483648 worlds"));
    assert_int_equal(sti_tile_plan(size, direct, 2, INT32_MAX / 2 + 1, part, &l), STET_ERROR_LIMIT);
    assert_int_equal(sti_tile_plan(size, direct, 2, INT64_MAX, part, &l), STET_ERROR_LIMIT);
    assert_int_equal(sti_tile_plan(size, direct, 2, INT32_MAX / 2, part, &l), STET_OK);
    assert_true(l.npixel / 16384 / 16384 >= INT32_MAX / 2 * 2L);
    const sti_tile_size wrong[] = {{0, 1}, {1, 0}, {16385, 1}, {1, 16385}, {-1, 5}};
    for (int i = 0; i < 5; ++i) assert_int_equal(sti_tile_plan(&wrong[i], direct, 1, 1, part, &l), STET_ERROR_LIMIT);
    assert_int_equal(sti_tile_plan(size, direct, 0, 1, part, &l), STET_ERROR_INVALID_ARGUMENT);
    assert_int_equal(sti_tile_plan(size, direct, 1, 0, part, &l), STET_ERROR_INVALID_ARGUMENT);
}

static void the_table_on_the_device_is_the_layout(void **state)
{
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    def.type = STET_DEVICE_CPU;
    assert_int_equal(stet_device_create(&def, &device), STET_OK);
    sti_tile_size size[] = {{5, 3}, {8, 8}};
    bool direct[] = {false, true}, none[] = {false, false}, used[STI_BUFFER_COUNT] = {true, false, false, true};
    sti_tile_part part[2][2];
    sti_tile_layout l[STI_BUFFER_COUNT] = {0};
    sti_tile_table t;
    assert_int_equal(sti_tile_plan(size, direct, 2, 77, part[0], &l[0]), STET_OK);
    assert_int_equal(sti_tile_plan(size, none, 2, 77, part[1], &l[3]), STET_OK);
    assert_int_equal(sti_tile_table_create(device, l, used, &t), STET_OK);
    assert_int_equal(t.ntile, 154);
    int64_t firsts[2 * 154];
    int pitches[2 * 154];
    assert_int_equal(stet_array_read(t.first, firsts, sizeof firsts), STET_OK);
    assert_int_equal(stet_array_read(t.pitch, pitches, sizeof pitches), STET_OK);
    for (int b = 0; b < STI_BUFFER_COUNT; b += 3) {
        const int64_t *first = firsts + (ptrdiff_t)154 * t.row[b];
        const int *pitch = pitches + (ptrdiff_t)154 * t.row[b];
        if (!used[b]) continue;
        for (int64_t w = 0; w < 77; ++w)
            for (int c = 0; c < 2; ++c) {
                assert_int_equal(first[w * 2 + c], sti_tile_first(&l[b], w, c));
                assert_int_equal(pitch[w * 2 + c], l[b].part[c].pitch);
            }
    }
    assert_int_equal(t.row[1], -1);
    sti_tile_table_destroy(&t);
    stet_device_destroy(device);
    assert_int_equal(stet_get_memory_stats().blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_two_tiles_share_a_pixel),
        cmocka_unit_test(no_row_is_longer_than_a_frame),
        cmocka_unit_test(kf26_offsets_beyond_32_bits),
        cmocka_unit_test(kf25_a_limit_is_an_error),
        cmocka_unit_test(the_table_on_the_device_is_the_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
