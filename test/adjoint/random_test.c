/*
 * Random programs: their adjoints give the gradients that differences give. `random_test [SOURCES [SEED]]`; a source has PROGRAMS programs.
 */
#include "kernel/user_rig.h"

#include "stet/adjoint.h"
#include "programs.h"

static int sources = 1;
static uint64_t first_seed = 1;

static void check_seed(uint64_t seed)
{
    sti_buffer text = {0};
    stet_gradcheck_result r;
    stet_gradcheck_def def = stet_default_gradcheck_def();
    const stet_gradcheck_value values[] = {{.name = "x", .items = 6},
                                           {.name = "y", .items = 3 * PROGRAMS},
                                           {.name = "at", .items = PROGRAM_COUNTS, .value = program_counts},
                                           {.name = "t", .items = 6},
                                           {.name = "a", .items = 4},
                                           {.name = "z", .items = 4},
                                           {.name = "u", .items = 2},
                                           {.name = "count", .items = PROGRAM_COUNTS, .value = program_counts}};
    programs_write(seed, &text);
    assert_int_equal(text.result, STET_OK);
    def.source = text.data;
    def.value = values;
    def.nvalue = sizeof values / sizeof *values;
    def.seed = seed;
    def.cache_folder = in_folder("cache");
    if (stet_gradcheck(&def, &r) != STET_OK) fail_msg("seed %llu: %s", (unsigned long long)seed, stet_last_error());
    if (r.wrong > 0)
        fail_msg("seed %llu: %lld of %lld gradients are wrong: %s", (unsigned long long)seed, (long long)r.wrong,
                 (long long)r.compared, r.where);
    if (r.unfit > 0) fail_msg("seed %llu: %lld gradients are unfit", (unsigned long long)seed, (long long)r.unfit);
    assert_true(r.compared > 12);
    sti_buffer_free(&text);
}

static void gradients_of_random_programs_are_right(void **state)
{
    (void)state;
    print_message("%d sources of %d programs, seeds from %llu\n", sources, PROGRAMS, (unsigned long long)first_seed);
    for (int i = 0; i < sources; ++i) check_seed(first_seed + (uint64_t)i);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {TEST(gradients_of_random_programs_are_right)};
    if (argc > 1) sources = atoi(argv[1]);
    if (argc > 2) first_seed = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
