/*
 * What the tests of the checker share: a source, and all that is wrong with it, "line:column: sentence" a line.
 */
#ifndef TEST_KERNEL_CHECK_CASE_H
#define TEST_KERNEL_CHECK_CASE_H

#include "device/rig.h"

#include "kernel/check/check.h"

#include <stdio.h>

typedef struct check_case {
    const char *source;
    const char *mistakes; /* "": it is fine */
} check_case;

/* NULL: the default options. */
static inline sti_unit *check_text(const char *text, const sti_check_options *options)
{
    sti_check_options standard = sti_default_check_options();
    sti_unit *unit = NULL;
    stet_result result = sti_check_source(text, "k", options ? options : &standard, &unit);
    if (result != STET_OK && result != STET_ERROR_PARSE) fail_msg("%s", stet_get_last_error());
    assert_non_null(unit);
    assert_int_equal(result == STET_ERROR_PARSE, sti_unit_mistakes(unit) > 0);
    return unit;
}

/* A unit has just these mistakes; their lines count behind the first `lines` ones. */
static inline void check_mistakes(const sti_unit *unit, int lines, const char *mistakes, const char *source)
{
    char found[4096] = "";
    size_t n = 0;
    for (const sti_diagnostic *d = sti_unit_diagnostics(unit); d && n < sizeof found; d = d->next) {
        assert_string_equal(d->file, "k");
        int more =
            snprintf(found + n, sizeof found - n, "%s%d:%d: %s", n ? "\n" : "", d->line - lines, d->column, d->message);
        assert_true(more > 0);
        n += (size_t)more;
    }
    if (strcmp(found, mistakes) != 0) fail_msg("%.400s\n-- wanted:\n%s\n-- found:\n%s", source, mistakes, found);
}

static inline void check_cases(const check_case *cases, size_t count, const char *before, const char *after)
{
    assert_true(count > 0);
    int lines = 0;
    for (const char *p = before; *p; ++p) lines += *p == '\n';
    for (size_t i = 0; i < count; ++i) {
        char text[8192];
        int n = snprintf(text, sizeof text, "%s%s%s", before, cases[i].source, after);
        assert_in_range(n, 1, sizeof text - 1);
        sti_unit *unit = check_text(text, NULL);
        check_mistakes(unit, lines, cases[i].mistakes, cases[i].source);
        sti_unit_destroy(unit);
    }
}

#define CHECK_CASES(cases, before, after) check_cases(cases, sizeof(cases) / sizeof *(cases), before, after)

#endif
