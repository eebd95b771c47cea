/*
 * A part of a program's tests: with STET_TEST_DRAW=K in the environment a group runs one in K of its tests, in their
 * order, which the run's seed draws (stet_test_drawn, cmake/StetTests.cmake). Linked in place of cmocka's own function.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/dice.h"

int __real__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t n, CMFixtureFunction setup,
                                   CMFixtureFunction teardown);
int __wrap__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t n, CMFixtureFunction setup,
                                   CMFixtureFunction teardown);

int __wrap__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t n, CMFixtureFunction setup,
                                   CMFixtureFunction teardown)
{
    const char *draw = getenv("STET_TEST_DRAW");
    size_t step = draw ? strtoul(draw, NULL, 10) : 1, wanted, kept = 0;
    struct CMUnitTest *some;
    if (step <= 1 || n <= 1 || !(some = malloc(n * sizeof *some)))
        return __real__cmocka_run_group_tests(group, tests, n, setup, teardown);
    uint64_t dice = dice_seed(group);
    for (const char *c = group; *c; ++c) dice = (dice ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    wanted = (n + step - 1) / step;
    for (size_t i = 0; i < n; ++i)
        if (dice_below(&dice, n - i) < wanted - kept) some[kept++] = tests[i];
    print_message("%zu of %zu tests, drawn by the seed; <test>_whole runs all (LABEL=whole)\n", kept, n);
    int failed = __real__cmocka_run_group_tests(group, some, kept, setup, teardown);
    free(some);
    return failed;
}
