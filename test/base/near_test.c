/* The name that was probably meant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/near.h"

static const char *nearest(const char *wanted, const char *const *names)
{
    sti_near near = sti_near_begin(wanted);
    for (; *names; ++names) sti_near_offer(&near, *names);
    return near.nearest;
}

static void test_nearest(void **state)
{
    static const char *const sensors[] = {"imu_gyro", "imu_acc", "touch_left", "touch_right", "Speed", NULL};
    assert_string_equal(nearest("gyro", sensors), "imu_gyro");
    assert_string_equal(nearest("imu_gryo", sensors), "imu_gyro"); /* neighbours swapped */
    assert_string_equal(nearest("imu_ac", sensors), "imu_acc");
    assert_string_equal(nearest("speed", sensors), "Speed");
    assert_string_equal(nearest("touch_rihgt", sensors), "touch_right");
    assert_string_equal(nearest("touch", sensors), "touch_left"); /* the fewer edits */
    assert_null(nearest("knee", sensors));
    assert_null(nearest("", sensors));
    assert_null(nearest("im", sensors)); /* a part of two characters says nothing */
}

static void test_ties_and_long_names(void **state)
{
    static const char *const two[] = {"leg_b", "leg_a", NULL};
    assert_string_equal(nearest("leg_c", two), "leg_b");
    char text[200], other[200];
    for (int i = 0; i < 199; ++i) text[i] = other[i] = 'x';
    text[199] = other[199] = 0;
    other[0] = 'y';
    const char *const one[] = {text, NULL};
    assert_null(nearest(other, one)); /* too long to be compared by edits */
    assert_string_equal(nearest(text + 20, one), text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_ties_and_long_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
