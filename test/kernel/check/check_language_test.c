/*
 * The checker's table of functions against the language's own header: each row has the header's types, and the header
 * has no function that the table lacks. The types are compared by this compiler, for four lanes, where real, lint and
 * plain types all differ.
 */
#include "device/rig.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel/check/library.inl"

#define STET_W 4
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#include "stet/lang.h"
#pragma GCC diagnostic pop

/*
 * A row's function has the row's type. A macro's own name comes with parentheses, so &inner names the function behind
 * it.
 */
#define SAME(result, name, inner, parameters, twin)                                                                    \
    _Static_assert(_Generic(&inner, result(*) parameters : 1, default : 0), #name " has other types in stet/lang.h");
STI_LIBRARY_FUNCTIONS(SAME)

/* Where a name is a macro, it calls that function. */
#define QUOTE(x) #x
#define QUOTED(x) QUOTE(x)
#define CALLS_1 QUOTED(sqrt(1)) QUOTED(floor(1)) QUOTED(rint(1)) QUOTED(sin(1)) QUOTED(cos(1)) QUOTED(tan(1))
#define CALLS_2 QUOTED(asin(1)) QUOTED(acos(1)) QUOTED(atan(1)) QUOTED(exp(1)) QUOTED(exp2(1)) QUOTED(log(1))
#define CALLS_3                                                                                                        \
    QUOTED(log2(1)) QUOTED(tanh(1)) QUOTED(pow(1, 2)) QUOTED(atan2(1, 2)) QUOTED(fma(1, 2, 3)) QUOTED(select(1, 2, 3))
static const char calls[] = CALLS_1 CALLS_2 CALLS_3;
/* of_world reads the place that it computes. */
_Static_assert(_Generic(of_world((const wreal *)0, (i64)1, 0, 0), float : 1, default : 0), "of_world gives ureal");
_Static_assert(_Generic(of_world((wint *)0, (i64)1, 0, 0), int : 1, default : 0), "of_world gives int");
_Static_assert(sizeof(sti_bits) == sizeof(lint), "sti_bits is lint where real is float");

static const struct {
    const char *name, *inner, *twin;
} rows[] = {
#define ROW(result, name, inner, parameters, twin) {#name, #inner, twin},
    STI_LIBRARY_FUNCTIONS(ROW)
#undef ROW
};
enum { ROWS = sizeof rows / sizeof *rows };

static bool in_table(const char *name, size_t length)
{
    for (int i = 0; i < ROWS; ++i)
        if (strlen(rows[i].name) == length && strncmp(rows[i].name, name, length) == 0) return true;
    return false;
}

static char *read_header(const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/include/stet/%s", STET_TEST_SOURCE_DIR, name);
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s: cannot be opened", path);
    char *text = calloc(1, 1 << 17);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 17) - 1, f) > 0);
    assert_int_equal(fclose(f), 0);
    return text;
}

/* Behind the word that a function of the language begins with; NULL: no function begins here. */
static const char *after_word(const char *line)
{
    static const char *const words[] = {"LFN ", "STI_LIST_FUNCTION "};
    for (int i = 0; i < 2; ++i)
        if (strncmp(line, words[i], strlen(words[i])) == 0) return line + strlen(words[i]);
    return NULL;
}

/* `LFN type name(` at the beginning of a line, for every name that does not begin with sti_. */
static int functions_in(const char *header)
{
    char *text = read_header(header);
    int found = 0;
    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *type = after_word(line);
        if (type) {
            const char *name = strchr(type, ' ');
            assert_non_null(name);
            size_t n = strcspn(++name, "(");
            if (strncmp(name, "sti_", 4) != 0) {
                ++found;
                if (!in_table(name, n))
                    fail_msg("%s has %.*s, which src/kernel/check/library.inl has not", header, (int)n, name);
            }
        }
        if (!*line) break;
    }
    free(text);
    return found;
}

/* `#define name(`, in lower case: functions that are macros. */
static int macros_in(const char *header)
{
    char *text = read_header(header);
    int found = 0;
    for (char *p = text; (p = strstr(p, "\n#define ")) != NULL;) {
        p += 9;
        size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789_");
        if (n == 0 || p[n] != '(' || strncmp(p, "of_world(", 9) == 0) continue;
        ++found;
        if (!in_table(p, n))
            fail_msg("%s has the macro %.*s, which src/kernel/check/library.inl has not", header, (int)n, p);
    }
    free(text);
    return found;
}

static void the_table_has_all_functions(void **state)
{
    assert_true(functions_in("lang_cpu.h") > 20);
    assert_true(functions_in("lang_gpu.h") > 20);
    assert_true(functions_in("lang_common.h") > 20);
    assert_true(functions_in("lang_list.h") >= 10); /* for GPUs, and for CPUs */
    assert_int_equal(functions_in("lang_math.h"), 0);
    assert_int_equal(macros_in("lang_common.h"), 5);
    assert_int_equal(macros_in("lang_math.h"), 13);
}

static void macros_call_what_the_table_says(void **state)
{
    int macros = 0;
    for (int i = 0; i < ROWS; ++i) {
        if (strcmp(rows[i].name, rows[i].inner) == 0) continue;
        char call[64];
        (void)snprintf(call, sizeof call, "%s(1", rows[i].inner);
        if (!strstr(calls, call)) fail_msg("%s does not call %s", rows[i].name, rows[i].inner);
        ++macros;
    }
    assert_int_equal(macros, 18);
}

static void twins_are_functions(void **state)
{
    int twins = 0;
    for (int i = 0; i < ROWS; ++i) {
        if (!rows[i].twin[0]) continue;
        int back = -1;
        for (int k = 0; k < ROWS; ++k)
            if (strcmp(rows[k].name, rows[i].twin) == 0) back = k;
        if (back < 0 || strcmp(rows[back].twin, rows[i].name) != 0)
            fail_msg("%s and %s are no twins", rows[i].name, rows[i].twin);
        ++twins;
    }
    assert_int_equal(twins, 14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_has_all_functions),
        cmocka_unit_test(macros_call_what_the_table_says),
        cmocka_unit_test(twins_are_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
