/*
 * All kernels of the project: they pass the checker; what is printed of them reads as an equal tree and compiles; and
 * whatever a mutation makes of them, the checker says what is wrong and goes on living.
 */
#include "check_case.h"

#include "base/memory.h"
#include "kernel/compile/user_source.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

enum { MOST = 128, PATH = 1024 };

static char paths[MOST][PATH]; /* from the top of the checkout */
static int npath;
static const char *const folders[] = {STET_TEST_SOURCE_DIR "/src",
                                      STET_TEST_BINARY_DIR "/language",
                                      STET_TEST_SOURCE_DIR "/include",
                                      STET_TEST_SOURCE_DIR "/python/stet/gym",
                                      STET_TEST_SOURCE_DIR "/python/stet/gym/tasks",
                                      STET_TEST_SOURCE_DIR};

/* The path of something in the checkout; valid until the next call. */
static const char *whole_path(const char *path)
{
    static char whole[2 * PATH];
    int n = snprintf(whole, sizeof whole, "%s/%s", STET_TEST_SOURCE_DIR, path);
    assert_in_range(n, 1, sizeof whole - 1);
    return whole;
}

static char *read_text(const char *path)
{
    FILE *f = fopen(whole_path(path), "rb");
    if (!f) fail_msg("%s: cannot be opened", path);
    char *text = calloc(1, 1 << 18);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 18) - 1, f) < (1 << 18) - 1);
    assert_int_equal(fclose(f), 0);
    return text;
}

/* Every .k.h below a folder; those without an #include are parts of others and come with them. */
static void find_kernels(const char *folder)
{
    DIR *d = opendir(whole_path(folder));
    if (!d) return; /* a file */
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[PATH];
        size_t n = strlen(e->d_name);
        if (e->d_name[0] == '.' || snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= (int)sizeof path)
            continue;
        if (n < 4 || strcmp(e->d_name + n - 4, ".k.h") != 0) {
            find_kernels(path);
            continue;
        }
        char *text = read_text(path);
        if (strstr(text, "\n#include ") || strncmp(text, "#include ", 9) == 0) {
            assert_true(npath < MOST);
            (void)snprintf(paths[npath++], PATH, "%s", path);
        }
        free(text);
    }
    (void)closedir(d);
}

static int find_all(void **state)
{
    find_kernels("src");
    find_kernels("python/stet");
    find_kernels("test");
    return npath < 8; /* there were a dozen when this was written */
}

static sti_check_options options_for(int lanes, bool gpu) { return (sti_check_options){.lanes = lanes, .gpu = gpu}; }

/* Checks a text, or with none a file. */
static stet_result check(const char *text, const char *path, const sti_check_options *options, sti_unit **out)
{
    const sti_user_source_def def = {
        .text = text, .path = path, .includes = folders, .ninclude = sizeof folders / sizeof folders[0]};
    return sti_user_source_unit(&def, options, out);
}

static sti_unit *unit_of(const char *text, const char *name, const sti_check_options *options)
{
    sti_unit *unit;
    if (check(text, name, options, &unit) != STET_OK) fail_msg("%s", stet_get_last_error());
    return unit;
}

static void all_kernels_pass(void **state)
{
    const sti_check_options options[] = {options_for(1, false), options_for(4, false), options_for(16, false),
                                         options_for(1, true)};
    for (int i = 0; i < npath; ++i)
        for (int k = 0; k < 4; ++k) {
            sti_unit *unit = unit_of(NULL, whole_path(paths[i]), &options[k]);
            assert_null(sti_unit_diagnostics(unit));
            sti_unit_destroy(unit);
        }
    print_message("%d kernel sources\n", npath);
}

static void what_is_printed_reads_as_an_equal_tree(void **state)
{
    for (int i = 0; i < 2 * npath; ++i) {
        sti_check_options options = options_for(i < npath ? 16 : 1, i >= npath);
        char *text = read_text(paths[i % npath]), *printed, *again;
        sti_unit *first = unit_of(text, paths[i % npath], &options);
        OK(sti_unit_print(first, &printed));
        sti_unit *second = unit_of(printed, "printed", &options);
        if (!sti_unit_equal(first, second)) fail_msg("%s: the printed tree differs", paths[i % npath]);
        OK(sti_unit_print(second, &again));
        assert_string_equal(printed, again);
        sti_unit_destroy(first);
        sti_unit_destroy(second);
        sti_free(printed);
        sti_free(again);
        free(text);
    }
}

/* Under the warnings of written kernels, at two widths. */
static void what_is_printed_compiles(void **state)
{
    sti_check_options options = options_for(16, false);
    (void)mkdir(STET_TEST_BINARY_DIR "/check", 0777);
    for (int i = 0; i < npath; ++i) {
        char *text = read_text(paths[i]), *printed, file[2 * PATH], command[8 * PATH];
        sti_unit *unit = unit_of(text, paths[i], &options);
        OK(sti_unit_print(unit, &printed));
        (void)snprintf(file, sizeof file, "%s/check/%d.k.h", STET_TEST_BINARY_DIR, i);
        FILE *f = fopen(file, "wb");
        assert_non_null(f);
        assert_true(fputs(printed, f) >= 0);
        assert_int_equal(fclose(f), 0);
        (void)snprintf(command, sizeof command,
                       "for w in 1 4; do '%s' -std=gnu11 -fsyntax-only -Wall -Wextra -Wvla -Werror -Wno-psabi "
                       "-DSTET_W=$w -I '%s/include' -include '%s' -x "
                       "c /dev/null || exit 1; done",
                       STET_TEST_CC, STET_TEST_SOURCE_DIR, file);
        if (system(command) != 0) fail_msg("%s: what is printed does not compile: %s", paths[i], file);
        sti_unit_destroy(unit);
        sti_free(printed);
        free(text);
    }
}

static void trees_that_differ_are_not_equal(void **state)
{
    static const char *const texts[] = {
        "LFN int f(int a) { return a + 1; }",
        "LFN int f(int a) { return a + 2; }",
        "LFN int f(int a) { return a - 1; }",
        "LFN int f(int a) { return 1 + a; }",
        "LFN int f(int b) { return b + 1; }",
        "LFN int f(i64 a) { return (int)a + 1; }",
        "LFN ureal f(int a) { return a + 1; }",
        "LFN int f(int a) { { return a + 1; } }",
        "LFN int f(int a) { a = a; return a + 1; }",
        "world_kernel void f(int a) { return; }",
        "LFN int f(int a) { return a + 1; }\nLFN int g(int a) { return a; }",
        "typedef struct s { int a; } s;\nLFN int f(int a) { return a + 1; }",
        "typedef struct s { ureal a; } s;\nLFN int f(int a) { return a + 1; }",
    };
    enum { N = sizeof texts / sizeof *texts };
    for (int i = 0; i < N; ++i)
        for (int k = 0; k < N; ++k) {
            sti_unit *a = check_text(texts[i], NULL), *b = check_text(texts[k], NULL);
            assert_int_equal(sti_unit_mistakes(a), 0);
            assert_int_equal(sti_unit_equal(a, b), i == k);
            sti_unit_destroy(a);
            sti_unit_destroy(b);
        }
    sti_unit *a = check_text("LFN int f(int a)\n{\n    return ((a + 1));\n}", NULL), *b = check_text(texts[0], NULL);
    assert_true(sti_unit_equal(a, b)); /* places and parentheses make no difference */
    sti_unit_destroy(a);
    sti_unit_destroy(b);
}

/* ---- mutations --------------------------------------------------------------------------------------------------- */

static uint64_t random_state;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % n;
}

static const char *const pieces[] = {"(",        ")",
                                     "{",        "}",
                                     ";",        ",",
                                     "[",        "]",
                                     "*",        "&",
                                     "->",       "each (",
                                     "items",    "sync();",
                                     "real ",    "lint ",
                                     "const ",   "return ",
                                     "++",       "=",
                                     "#if ",     "#endif\n",
                                     "#define ", "\\\n",
                                     "/*",       "\"",
                                     "0x",       "1e",
                                     "else ",    "for (;;)",
                                     "? ",       ": ",
                                     "shared(",  "\xc3",
                                     "STET_W",   "LFN ",
                                     "static ",  "typedef struct "};

/* Cuts, drops, doubles, swaps or inserts something; the text has room for more. */
static void mutate(char *text, size_t room)
{
    size_t n = strlen(text);
    if (n < 4) return;
    size_t at = random_below((uint32_t)n - 1), length = 1 + random_below(40);
    if (at + length > n) length = n - at;
    const char *piece = pieces[random_below(sizeof pieces / sizeof *pieces)];
    switch (random_below(6)) {
    case 0: text[at] = 0; break;
    case 1: memmove(text + at, text + at + length, n - at - length + 1); break;
    case 2:
        if (n + length < room) memmove(text + at + length, text + at, n - at + 1);
        break;
    case 3: text[at] = (char)(1 + random_below(255)); break;
    case 4: memmove(text + random_below((uint32_t)(n - length) + 1), text + at, length); break;
    default:
        if (n + strlen(piece) < room) {
            memmove(text + at + strlen(piece), text + at, n - at + 1);
            memcpy(text + at, piece, strlen(piece));
        }
    }
}

static void check_mutant(const char *text, const sti_check_options *options, int *fine, int *wrong)
{
    sti_unit *unit;
    stet_result result = check(text, "mutant", options, &unit);
    if (result == STET_ERROR_PARSE) {
        ++*wrong;
        assert_true(sti_unit_mistakes(unit) > 0);
        for (const sti_diagnostic *d = sti_unit_diagnostics(unit); d; d = d->next)
            assert_true(d->line > 0 && d->message[0]);
    } else {
        ++*fine;
        assert_int_equal(result, STET_OK);
        char *printed;
        OK(sti_unit_print(unit, &printed));
        sti_unit *again = unit_of(printed, "printed", options);
        if (!sti_unit_equal(unit, again)) fail_msg("a mutant's printed tree differs:\n%s", printed);
        sti_unit_destroy(again);
        sti_free(printed);
    }
    sti_unit_destroy(unit);
}

static void mutants_are_survived(void **state)
{
    enum { ROOM = 1 << 18, EACH = 60 };
    const char *given = getenv("STET_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    print_message("seed %llu\n", (unsigned long long)seed);
    random_state = seed;
    int fine = 0, wrong = 0;
    for (int i = 0; i < npath; ++i) {
        char *text = read_text(paths[i]), *mutant = malloc(ROOM);
        assert_non_null(mutant);
        for (int k = 0; k < EACH; ++k) {
            memcpy(mutant, text, strlen(text) + 1);
            for (uint32_t times = 1 + random_below(4); times > 0; --times) mutate(mutant, ROOM);
            sti_check_options options = options_for(k % 3 ? 16 : 1, k % 3 == 0);
            check_mutant(mutant, &options, &fine, &wrong);
        }
        free(mutant);
        free(text);
    }
    print_message("%d mutants were fine, %d were not\n", fine, wrong);
    assert_true(fine > 0 && wrong > 0);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static int64_t allowed; /* allocations that still succeed */

static void *limited(size_t size, size_t align, void *context)
{
    (void)context;
    return allowed-- > 0 ? aligned_alloc(align, (size + align - 1) / align * align) : NULL;
}

static void release(void *memory, void *context)
{
    (void)context;
    free(memory);
}

/* The n-th allocation fails, for every n: a result with a sentence, nothing kept; with enough of them it works. */
static void each_allocation_may_fail(void **state)
{
    char *text = read_text("bench/pilot/newton.k.h");
    sti_check_options options = options_for(16, false);
    OK(stet_set_allocator(limited, release, NULL));
    int failures = 0;
    for (int64_t n = 0;; ++n) {
        sti_unit *unit;
        char *printed = NULL;
        allowed = n;
        stet_result result = check(text, "newton.k.h", &options, &unit);
        if (result == STET_OK) {
            result = sti_unit_print(unit, &printed);
            if (result != STET_OK) assert_null(printed);
            sti_unit_destroy(unit);
            sti_free(printed);
        } else {
            assert_null(unit);
        }
        assert_int_equal(stet_get_memory_stats().blocks, 0);
        if (result == STET_OK) break;
        assert_int_equal(result, STET_ERROR_OUT_OF_MEMORY);
        assert_true(strstr(stet_get_last_error(), "memory") != NULL);
        ++failures;
    }
    OK(stet_set_allocator(NULL, NULL, NULL));
    assert_true(failures > 3);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kernels_pass),         cmocka_unit_test(what_is_printed_reads_as_an_equal_tree),
        cmocka_unit_test(what_is_printed_compiles), cmocka_unit_test(trees_that_differ_are_not_equal),
        cmocka_unit_test(mutants_are_survived),     cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, find_all, NULL);
}
