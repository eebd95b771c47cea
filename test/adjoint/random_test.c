/*
 * Random programs: each has the gradients that differences give, or is refused by a sentence that names file and line.
 *
 *     random_test [SOURCES [SEED [LEAST [TABLE]]]]      a source has PROGRAMS programs
 *
 * A table says how often each production of the grammar was drawn, in programs that are right, refused and wrong. One
 * that is not refused has to be drawn and right LEAST times; 0 is for a part of a run, whose table
 * tools/random_adjoints.sh adds to those of the other parts: TABLE is the file to which its rows go, with tabs between
 * columns.
 *
 * Nearly all of the time goes into compiling, so here the compiler does not optimise, and calls the language's
 * functions instead of putting them in: the bits are the same. clang, where there is one, takes a third of the time of
 * gcc.
 */
#include "adjoint/rig.h"
#include "base/part.h"

#include "programs.h"

enum { MOST_PRODUCTIONS = 1024 };

static int sources = 8;
static uint64_t first_seed = 1;
static int64_t least = 1;
static const char *table;

typedef enum { RIGHT, REFUSED, WRONG, VERDICTS } verdict;

static struct {
    int64_t drawn[MOST_PRODUCTIONS][VERDICTS];
    char said[MOST_PRODUCTIONS][400]; /* how a production was refused */
    int64_t programs[VERDICTS], compared, moving, unfit, undecided;
} sum;

/* ---- a set of programs ------------------------------------------------------------------------------------------- */

static stet_result check(uint64_t seed, const programs *p, uint64_t which, sti_text_buffer *text,
                         stet_gradcheck_result *r)
{
    stet_gradcheck_def def = stet_default_gradcheck_def();
    const stet_gradcheck_value values[] = {{.name = "x", .nitem = 4 * FUNCTIONS},
                                           {.name = "y", .nitem = 2 * PLACES * ROOM},
                                           {.name = "w", .nitem = TEAM_ITEMS * TEAMS},
                                           {.name = "p", .nitem = TEAM_ITEMS * TEAMS},
                                           {.name = "g", .nitem = TEAM_ITEMS},
                                           {.name = "at", .nitem = PROGRAM_COUNTS, .value = program_counts},
                                           {.name = "t", .nitem = 2 * FUNCTIONS},
                                           {.name = "a", .nitem = PROGRAM_ITEMS},
                                           {.name = "z", .nitem = PROGRAM_ITEMS},
                                           {.name = "made", .nitem = PROGRAM_ITEMS},
                                           {.name = "u", .nitem = 2},
                                           {.name = "lints", .nitem = 2},
                                           {.name = "fours", .nitem = 8},
                                           {.name = "other", .nitem = PROGRAM_ITEMS},
                                           {.name = "wides", .nitem = 4 * PROGRAM_ITEMS},
                                           {.name = "whole", .nitem = PROGRAM_ITEMS},
                                           {.name = "bytes", .nitem = PROGRAM_ITEMS},
                                           {.name = "count", .nitem = PROGRAM_COUNTS, .value = program_counts}};
    programs_put(p, which, text);
    assert_int_equal(text->result, STET_OK);
    def.source = text->data;
    def.value = values;
    def.nvalue = sizeof values / sizeof *values;
    def.number = 2;
    def.seed = seed;
    def.cache_folder = in_folder("cache");
    stet_gradcheck_value known[sizeof values / sizeof *values];
    known_values(&def, known);
    return stet_gradcheck(&def, r);
}

static void note(const programs *p, int program, verdict v)
{
    sum.programs[v]++;
    for (int k = 0; k < programs_productions(); ++k) sum.drawn[k][v] += programs_draws(p, program, k);
}

/* Whole: cmocka cuts its messages. */
static void print_wrong(uint64_t seed, int program, const char *why, const char *source)
{
    printf("seed %llu, program %d is wrong: %s\n%s\n", (unsigned long long)seed, program, why, source);
    (void)fflush(stdout);
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

/*
 * The sentence begins with the source and a line of it, speaks of nothing that was generated, and is one of this form.
 */
static bool is_good(const char *sentence, const char *source)
{
    int line = 0, lines = 1;
    for (const char *s = source; *s; ++s) lines += *s == '\n';
    return sscanf(sentence, "k:%d:", &line) == 1 && line >= 1 && line <= lines && !strstr(sentence, "_adj") &&
           !strstr(sentence, "no source of the language");
}

/* A refusal that is no odd production's, for people: STET_TEST_TELL=1. */
static void tell(const char *sentence, const char *source)
{
    int line = 0;
    if (!getenv("STET_TEST_TELL") || sscanf(sentence, "k:%d:", &line) != 1) return;
    for (; source && --line > 0; ++source) source = strchr(source, '\n');
    if (source) printf("%s\n    %.*s\n", sentence, (int)strcspn(source, "\n"), source);
}

/* RIGHT: it is not refused. */
static verdict ask(uint64_t seed, const programs *p, int program)
{
    made m = {0};
    sti_text_buffer text = {0};
    sti_check_options options = sti_default_check_options();
    programs_put(p, (uint64_t)1 << program, &text);
    assert_int_equal(text.result, STET_OK);
    stet_result result = sti_check_source(text.data, "k", &options, &m.unit);
    if (result == STET_OK) result = sti_adjoint_make(m.unit, NULL, &m.adjoint);
    verdict v = result == STET_OK ? RIGHT : is_good(stet_get_last_error(), text.data) ? REFUSED : WRONG;
    if (v == WRONG) print_wrong(seed, program, stet_get_last_error(), text.data);
    if (v == REFUSED) tell(stet_get_last_error(), text.data);
    for (int k = 0; v == REFUSED && k < programs_productions(); ++k)
        if (programs_is_odd(k) && programs_draws(p, program, k))
            (void)snprintf(sum.said[k], sizeof sum.said[k], "%s", stet_get_last_error());
    free_made(&m);
    sti_text_buffer_free(&text);
    return v;
}

/* ---- what is wrong ----------------------------------------------------------------------------------------------- */

static void judge(uint64_t seed, const programs *p, uint64_t which);

static void judge_halves(uint64_t seed, const programs *p, uint64_t which)
{
    uint64_t half = 0;
    int n = __builtin_popcountll(which) / 2;
    for (int i = 0; i < PROGRAMS && n > 0; ++i)
        if (which >> i & 1) {
            half |= (uint64_t)1 << i;
            --n;
        }
    judge(seed, p, half);
    judge(seed, p, which & ~half);
}

/*
 * Halves a set that is wrong, or cannot be compared, until each of its programs is right, or wrong alone. A set without
 * gradients has a program without.
 */
static void judge(uint64_t seed, const programs *p, uint64_t which)
{
    stet_gradcheck_result r;
    sti_text_buffer text = {0};
    char why[500] = "";
    stet_result result = check(seed, p, which, &text, &r);
    if (result != STET_OK) (void)snprintf(why, sizeof why, "%s", stet_get_last_error());
    int64_t wrong = sum.programs[WRONG];
    int first = __builtin_ctzll(which);
    bool alone = (which & (which - 1)) == 0, good = result == STET_OK && r.wrong == 0;
    bool blind =
        good && r.unfit * 20 > r.compared; /* one program may hide all others: its values are not finite, say */
    if (blind && alone)
        printf("seed %llu, program %d: %lld of its gradients could not be compared\n", (unsigned long long)seed, first,
               (long long)r.unfit);
    if (blind && alone && getenv("STET_TEST_TELL")) print_wrong(seed, first, "(not compared)", text.data);
    good &= alone || !blind;
    if (!good && alone) {
        print_wrong(seed, first, result != STET_OK ? why : r.where, text.data);
        note(p, first, WRONG);
    }
    sti_text_buffer_free(&text);
    if (good) {
        sum.compared += r.compared;
        sum.moving += r.moving;
        sum.unfit += r.unfit;
        sum.undecided += r.undecided;
        for (int i = 0; i < PROGRAMS; ++i)
            if (which >> i & 1) note(p, i, RIGHT);
    } else if (!alone) {
        judge_halves(seed, p, which);
        if (result != STET_OK && sum.programs[WRONG] == wrong)
            fail_msg("seed %llu: programs that are right in parts are not together: %s", (unsigned long long)seed, why);
    }
}

static bool has_odd(const programs *p, int program)
{
    for (int k = 0; k < programs_productions(); ++k)
        if (programs_is_odd(k) && programs_draws(p, program, k)) return true;
    return false;
}

/* Only a program that has something odd may be refused, and is asked alone. */
static void check_seed(uint64_t seed)
{
    programs *p = programs_create(seed);
    assert_non_null(p);
    uint64_t which = 0;
    for (int i = 0; i < PROGRAMS; ++i) {
        verdict v = has_odd(p, i) ? ask(seed, p, i) : RIGHT;
        if (v == RIGHT)
            which |= (uint64_t)1 << i;
        else
            note(p, i, v);
    }
    if (which) judge(seed, p, which);
    programs_destroy(p);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static int print_table(void)
{
    int poor = 0;
    print_message("%-46s %8s %8s %8s %8s\n", "production", "drawn", "right", "refused", "wrong");
    for (int k = 0; k < programs_productions(); ++k) {
        const int64_t *n = sum.drawn[k];
        bool refused = programs_is_odd(k) && n[REFUSED] > 0;
        bool enough = n[WRONG] == 0 && (refused || n[RIGHT] >= least);
        poor += !enough;
        print_message("%-46s %8lld %8lld %8lld %8lld%s%s\n", programs_production(k),
                      (long long)(n[RIGHT] + n[REFUSED] + n[WRONG]), (long long)n[RIGHT], (long long)n[REFUSED],
                      (long long)n[WRONG], enough ? "" : " <-- ", sum.said[k]);
    }
    return poor;
}

static void write_table(void)
{
    FILE *f = fopen(table, "w");
    assert_non_null(f);
    for (int k = 0; k < programs_productions(); ++k) {
        const int64_t *n = sum.drawn[k];
        (void)fprintf(f, "%s\t%s\t%lld\t%lld\t%lld\t%s\n", programs_production(k), programs_is_odd(k) ? "odd" : "plain",
                      (long long)n[RIGHT], (long long)n[REFUSED], (long long)n[WRONG], sum.said[k]);
    }
    assert_int_equal(fclose(f), 0);
}

static void gradients_of_random_programs_are_right(void **state)
{
    assert_true(programs_productions() <= MOST_PRODUCTIONS);
    print_message("%d sources of %d programs, seeds from %llu\n", sources, PROGRAMS, (unsigned long long)first_seed);
    for (int i = 0; i < sources; ++i) check_seed(first_seed + (uint64_t)i);
    int poor = print_table();
    if (table) write_table();
    print_message(
        "%lld programs right, %lld refused, %lld wrong: %lld gradients compared, %lld of them not 0; %lld not "
        "compared, %lld of them undecided\n",
        (long long)sum.programs[RIGHT], (long long)sum.programs[REFUSED], (long long)sum.programs[WRONG],
        (long long)sum.compared, (long long)sum.moving, (long long)sum.unfit, (long long)sum.undecided);
    assert_int_equal(sum.programs[WRONG], 0);
    if (poor > 0) fail_msg("%d productions are neither refused nor right %lld times", poor, (long long)least);
    assert_true(sum.unfit * 50 <= sum.compared); /* kinks are rare, and so are slopes too steep for differences */
    assert_true(sum.undecided * 500 <= sum.compared);
    assert_true(sum.moving * 2 >= sum.compared); /* the rest are what is only written, or what no branch reaches */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {TEST(gradients_of_random_programs_are_right)};
    if (in_part() && argc == 1) {
        sources = 3;
        first_seed = dice_seed("adjoint/random");
        least = 0;
    }
    if (argc > 1) sources = atoi(argv[1]);
    if (argc > 2) first_seed = strtoull(argv[2], NULL, 10);
    if (argc > 3) least = strtoll(argv[3], NULL, 10);
    if (argc > 4) table = argv[4];
    return cmocka_run_group_tests(tests, make_quick_folder_for_large, remove_folder);
}
