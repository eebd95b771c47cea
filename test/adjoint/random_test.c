/*
 * Random programs: their adjoints give the gradients that differences give. `random_test [SOURCES [SEED]]`; a source has PROGRAMS programs.
 *
 * Nearly all of the time goes into compiling, so here the compiler does not optimise, and calls the language's functions instead of putting them in: the
 * bits are the same. clang, where there is one, takes a third of the time of gcc.
 */
#include "kernel/user_rig.h"

#include "stet/adjoint.h"
#include "programs.h"

static int sources = 8;
static uint64_t first_seed = 1;

static void quick_compiler(void)
{
    static char path[4096];
    const char *found = getenv("PATH"), *wanted = system("clang --version >/dev/null 2>&1") == 0 ? "clang" : "gcc";
    char script[5000];
    if (system("gcc --version >/dev/null 2>&1") != 0 && strcmp(wanted, "gcc") == 0) return;
    (void)snprintf(script, sizeof script, "#!/bin/sh\nPATH='%s'\nexec %s \"$@\" -O0 -Dalways_inline=unused\n",
                   found ? found : "", wanted);
    assert_int_equal(mkdir(in_folder("bin"), 0700), 0);
    assert_int_equal(chmod(write_file("bin/cc", script), 0700), 0);
    (void)snprintf(path, sizeof path, "%s:%s", in_folder("bin"), found ? found : "");
    assert_int_equal(setenv("PATH", path, 1), 0);
}

/* ---- one source --------------------------------------------------------------------------------------------------- */

static stet_result check(uint64_t seed, int only, sti_text_buffer *text, stet_gradcheck_result *r)
{
    stet_gradcheck_def def = stet_default_gradcheck_def();
    const stet_gradcheck_value values[] = {{.name = "x", .items = 4 * FUNCTIONS},
                                           {.name = "y", .items = TEAM_ITEMS},
                                           {.name = "w", .items = TEAM_ITEMS * TEAMS},
                                           {.name = "p", .items = TEAM_ITEMS * TEAMS},
                                           {.name = "g", .items = TEAM_ITEMS},
                                           {.name = "at", .items = PROGRAM_COUNTS, .value = program_counts},
                                           {.name = "t", .items = 2 * FUNCTIONS},
                                           {.name = "a", .items = PROGRAM_ITEMS},
                                           {.name = "z", .items = PROGRAM_ITEMS},
                                           {.name = "u", .items = 2},
                                           {.name = "count", .items = PROGRAM_COUNTS, .value = program_counts}};
    programs_write(seed, only, text);
    assert_int_equal(text->result, STET_OK);
    def.source = text->data;
    def.value = values;
    def.nvalue = sizeof values / sizeof *values;
    def.number = 2;
    def.seed = seed;
    def.cache_folder = in_folder("cache");
    return stet_gradcheck(&def, r);
}

/* Which program of a source is wrong: the first that is, alone. */
static void tell(uint64_t seed, const char *all)
{
    for (int i = 0; i < PROGRAMS; ++i) {
        stet_gradcheck_result r;
        sti_text_buffer text = {0};
        stet_result result = check(seed, i, &text, &r);
        if (result != STET_OK || r.wrong > 0)
            fail_msg("seed %llu, program %d: %s\n%s", (unsigned long long)seed, i,
                     result != STET_OK ? stet_last_error() : r.where, text.data);
        sti_text_buffer_free(&text);
    }
    fail_msg("seed %llu: %s; none of its programs alone", (unsigned long long)seed, all);
}

static void check_seed(uint64_t seed, stet_gradcheck_result *sum)
{
    char said[400];
    stet_gradcheck_result r;
    sti_text_buffer text = {0};
    stet_result result = check(seed, ALL_PROGRAMS, &text, &r);
    (void)snprintf(said, sizeof said, "%s", result != STET_OK ? stet_last_error() : r.where);
    if (result != STET_OK || r.wrong > 0) tell(seed, said);
    sti_text_buffer_free(&text);
    sum->compared += r.compared;
    sum->moving += r.moving;
    sum->unfit += r.unfit;
}

static void gradients_of_random_programs_are_right(void **state)
{
    (void)state;
    stet_gradcheck_result sum = {0};
    quick_compiler();
    print_message("%d sources of %d programs, seeds from %llu\n", sources, PROGRAMS, (unsigned long long)first_seed);
    for (int i = 0; i < sources; ++i) check_seed(first_seed + (uint64_t)i, &sum);
    print_message("%d programs: %lld gradients compared, %lld of them not 0; %lld not compared\n", sources * PROGRAMS,
                  (long long)sum.compared, (long long)sum.moving, (long long)sum.unfit);
    assert_true(sum.unfit * 100 <= sum.compared); /* kinks are rare */
    assert_true(sum.moving * 100 >=
                sum.compared * 60); /* the rest are what is only written, or what no branch reaches */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {TEST(gradients_of_random_programs_are_right)};
    if (argc > 1) sources = atoi(argv[1]);
    if (argc > 2) first_seed = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
