/*
 * Layouts of mosaics, also of more worlds than a test can render: whatever is asked for, a picture has sides that
 * readers of PNG take, shows the first worlds that fit, and has no column or row without a world.
 */
#include "base/dice.h"
#include "cli/pictures/mosaic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

enum { SIDE = 65500 };

static void check(int64_t nworld, int64_t cell, int height)
{
    mosaic_layout m = mosaic_plan(nworld, cell, height);
    int64_t places = (int64_t)m.columns * m.rows, pixels = (int64_t)m.width * m.height;
    assert_in_range(m.worlds, 1, nworld);
    assert_in_range(places, m.worlds, m.worlds + m.columns);
    assert_int_equal(m.columns, (m.worlds + m.rows - 1) / m.rows);
    assert_int_equal(m.width, m.columns * cell);
    assert_int_equal(m.height, (int64_t)m.rows * height);
    if (cell <= SIDE) assert_in_range(m.width, 1, SIDE);
    assert_in_range(m.height, 1, SIDE);
    if (m.worlds > 1) assert_in_range(pixels, 1, INT64_C(1) << 30);
    /* Fewer worlds than there are only where one more row or column would be too many. */
    if (m.worlds < nworld && cell <= SIDE)
        assert_true((m.worlds + 1) * cell * height > (INT64_C(1) << 29) || (m.rows + 1) * (int64_t)height > SIDE);
}

static void sizes_in_range(void **state)
{
    uint64_t dice = dice_seed("mosaic");
    for (int i = 0; i < 20000; ++i) {
        int64_t nworld = 1 + (int64_t)dice_below(&dice, (size_t)1 << (1 + dice_below(&dice, 30)));
        int64_t cell = 1 + (int64_t)dice_below(&dice, (size_t)1 << (1 + dice_below(&dice, 16)));
        int height = 1 + (int)dice_below(&dice, (size_t)1 << (1 + dice_below(&dice, 13)));
        check(nworld, cell, height);
    }
    check(1, 16384 * 64, 16384);
    check(INT32_MAX, 1, 1);
}

static void known_layouts(void **state)
{
    mosaic_layout m = mosaic_plan(64, 128, 128);
    assert_int_equal(m.columns, 8);
    assert_int_equal(m.rows, 8);
    assert_int_equal(m.width, 1024);
    assert_int_equal(m.worlds, 64);
    m = mosaic_plan(5, 40, 30);
    assert_int_equal(m.columns, 2);
    assert_int_equal(m.rows, 3);
    m = mosaic_plan(1000000, 128, 128); /* 2^29 pixels hold 32768 of them */
    assert_int_equal(m.worlds, 32768);
}

/* Three worlds, the first is number 9, in a grid of four cells of 30 x 20. */
static void numbers_and_lines(void **state)
{
    static const char *const nine[5] = {"###", "# #", "###", "  #", "###"}, *const one[5] = {" # ", "## ", " # ", " # ",
                                                                                             "###"};
    enum { WIDTH = 60, HEIGHT = 40, BEFORE = 7 };
    static uint8_t pixels[HEIGHT][WIDTH][3];
    mosaic_layout m = mosaic_plan(3, 30, 20);
    memset(pixels, BEFORE, sizeof pixels);
    m.first = 9;
    mosaic_number(&m, 3, &pixels[0][0][0]);
    for (int k = 0; k < 15; ++k) {
        assert_int_equal(pixels[2 + k / 3][2 + k % 3][0], nine[k / 3][k % 3] == '#' ? 255 : 32);
        assert_int_equal(pixels[2 + k / 3][32 + k % 3][2], one[k / 3][k % 3] == '#' ? 255 : 32);
    }
    for (int y = 0; y < HEIGHT; ++y)
        for (int x = 0; x < WIDTH; ++x) {
            bool shown = x < 30 || y < 20, line = shown && (x % 30 == 0 || y % 20 == 0);
            if (line || !shown || x % 30 > 10 || y % 20 > 7) assert_int_equal(pixels[y][x][1], line ? 128 : BEFORE);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes_in_range), cmocka_unit_test(known_layouts),
                                       cmocka_unit_test(numbers_and_lines)};
    return cmocka_run_group_tests_name("cli/mosaic", tests, NULL, NULL);
}
