/*
 * Lists of gradients where iterations are permuted (STET_PERMUTE): add_listed adds entries in the lists' order. Four
 * lanes.
 */
#include "device/rig.h"

#define STET_W 4
#define STET_PERMUTE 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#include "stet/lang.h"
#pragma GCC diagnostic pop

enum { WIDTH = 5, DEPTH = 9, TOP = 1 };

static real values[DEPTH * WIDTH], sums[8];
static lint at[DEPTH * WIDTH];
static i64 places[DEPTH * WIDTH];

/* An entry more of iteration j. */
static i64 list(int j, i64 place, ureal value)
{
    i64 slot = (i64)(DEPTH - 1 - (int)places[TOP * WIDTH + j]++) * WIDTH + j;
    places[slot] = place;
    values[slot] = splat(value) * (real){1, 2, 4, 8};
    return slot;
}

static void begin(void)
{
    for (int i = 0; i < DEPTH * WIDTH; ++i) places[i] = i / WIDTH == TOP ? 0 : -77; /* nobody may look at these */
    for (int i = 0; i < 8; ++i) sums[i] = splat(0);
}

static int is(real found, real wanted) { return all(eq(found, wanted)); }

/* A sum of floats whose order shows: beside 2^24 floats are even, and 2^24 + 3, halfway, becomes 2^24 + 4. */
static void entries_are_added_in_the_lists_order(void **state)
{
    const ureal large = 16777216;
    begin();
    list(1, listed_place(sums, 3), 1);
    list(1, listed_place(sums, 2), 5);
    list(1, listed_place(sums, 3), 1);
    list(3, listed_place(sums, 3), large);
    list(4, listed_place(sums, 3), 1);
    list(4, listed_place(sums, 3), -large);
    add_listed(values, places, TOP, WIDTH, WIDTH, DEPTH);
    assert_true(is(sums[3], splat(4) * (real){1, 2, 4, 8}));
    assert_true(is(sums[2], splat(5) * (real){1, 2, 4, 8}));
    assert_true(is(sums[0], splat(0)));
}

static void what_was_taken_back_is_not_added(void **state)
{
    begin();
    list(0, listed_place(sums, 1), 3);
    places[list(0, listed_place(sums, 1), 100)] = -1;
    list(2, listed_place(sums, 1), 4);
    add_listed(values, places, TOP, WIDTH, WIDTH, DEPTH);
    assert_true(is(sums[1], splat(7) * (real){1, 2, 4, 8}));
}

/* Each lane has an element of its own, beside entries that are for all. */
static void lanes_have_their_own_elements(void **state)
{
    begin();
    at[list(0, listed_lanes(sums, lane()), 3)] = lane();
    list(1, listed_place(sums, 0), 5);
    add_listed_lanes(values, at, places, TOP, WIDTH, WIDTH, DEPTH);
    assert_true(is(sums[0], (real){8, 10, 20, 40}));
    assert_true(is(sums[1], (real){0, 6, 0, 0}));
    assert_true(is(sums[3], (real){0, 0, 0, 24}));
}

static void nan_is_stored_canonically(void **state)
{
    begin();
    list(0, listed_place(sums, 1), from_bits(isplat((int)0xffc12345u))[0]);
    add_listed(values, places, TOP, WIDTH, WIDTH, DEPTH);
    for (int l = 0; l < 4; ++l) assert_int_equal(as_bits(sums[1])[l], 0x7fc00000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_added_in_the_lists_order),
        cmocka_unit_test(what_was_taken_back_is_not_added),
        cmocka_unit_test(lanes_have_their_own_elements),
        cmocka_unit_test(nan_is_stored_canonically),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
