/*
 * The pilots as the checker prints them give the bits of those that were written.
 */
#include "check_printed.h"

static void newton(void **state) { newton_has_the_same_bits(&printed_pilots); }

static void rays(void **state) { rays_have_the_same_bits(&printed_pilots); }

static void level(void **state) { level_has_the_same_bits(&printed_pilots); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newton),
        cmocka_unit_test(rays),
        cmocka_unit_test(level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
