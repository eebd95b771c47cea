/*
 * Tests that are drawn (drawn.c): as many as asked for, in their order, each of them for some seed; without the
 * variable all. The groups are run one after the other, since cmocka runs none within another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { TESTS = 9, DRAWN = 3, SEEDS = 60 }; /* one in four */

static int ran[TESTS], nran;

#define NOTE(i)                                                                                                        \
    static void test_##i(void **state)                                                                                 \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        ran[nran++] = i;                                                                                               \
    }
NOTE(0)
NOTE(1)
NOTE(2)
NOTE(3)
NOTE(4)
NOTE(5)
NOTE(6)
NOTE(7)
NOTE(8)

static bool run_group(void)
{
    const struct CMUnitTest tests[TESTS] = {
        cmocka_unit_test(test_0), cmocka_unit_test(test_1), cmocka_unit_test(test_2),
        cmocka_unit_test(test_3), cmocka_unit_test(test_4), cmocka_unit_test(test_5),
        cmocka_unit_test(test_6), cmocka_unit_test(test_7), cmocka_unit_test(test_8),
    };
    nran = 0;
    return cmocka_run_group_tests(tests, NULL, NULL) == 0;
}

static bool in_order(void)
{
    for (int i = 1; i < nran; ++i)
        if (ran[i - 1] >= ran[i]) return false;
    return true;
}

static int report(const char *what)
{
    printf("[  FAILED  ] %s\n", what);
    return 1;
}

int main(void)
{
    bool seen[TESTS] = {false};
    (void)unsetenv("STET_TEST_DRAW");
    if (!run_group() || nran != TESTS || !in_order()) return report("without the variable, all tests run");
    (void)setenv("STET_TEST_DRAW", "4", 1);
    for (int seed = 0; seed < SEEDS; ++seed) {
        char text[16];
        (void)snprintf(text, sizeof text, "%d", seed);
        (void)setenv("STET_TEST_SEED", text, 1);
        if (!run_group() || nran != DRAWN || !in_order())
            return report("one in four of nine tests runs, rounded up, in their order");
        for (int i = 0; i < nran; ++i) seen[ran[i]] = true;
    }
    for (int i = 0; i < TESTS; ++i)
        if (!seen[i]) return report("each test is drawn for some seed");
    return 0;
}
