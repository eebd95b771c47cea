/*
 * Extracts errors from a compiler's output; see compiler_errors.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include "kernel/compile/compiler_errors.h"

#include "base/error.h"

#include <string.h>

enum { MAX_ERRORS = 3 };

static bool is_error(const char *line, size_t n)
{
    static const char *const signs[] = {"error: ", "error:", "undefined reference", "undefined symbol", "ptxas error"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; ++i)
        if (memmem(line, n, signs[i], strlen(signs[i]))) return true;
    return false;
}

/* Some compilers put the line's number in parentheses: "FILE(12): error" becomes "FILE:12: error". */
static void put_line(sti_text_buffer *out, const char *line, size_t n)
{
    const char *close = memmem(line, n, "): ", 3), *open = close;
    while (open && open > line && open[-1] >= '0' && open[-1] <= '9') --open;
    if (!close || open == close || open == line || open[-1] != '(') {
        sti_text_buffer_add(out, line, n);
        return;
    }
    sti_text_buffer_add(out, line, (size_t)(open - line) - 1);
    sti_text_buffer_put(out, ":");
    sti_text_buffer_add(out, open, (size_t)(close - open));
    sti_text_buffer_add(out, close + 1, n - (size_t)(close + 1 - line));
}

/* Takes the first few lines that are errors (`any`: the first few lines), joined by "; ". */
static int pick_lines(const sti_text_buffer *said, bool any, sti_text_buffer *out)
{
    int picked = 0, more = 0;
    for (const char *at = said->data; at && *at;) {
        size_t n = strcspn(at, "\n");
        bool wanted = n > 0 && (any || is_error(at, n));
        if (wanted && picked < MAX_ERRORS) {
            sti_text_buffer_put(out, picked++ ? "; " : "");
            sti_text_buffer_add(out, at, n);
        } else {
            more += wanted;
        }
        at += n + (at[n] != 0);
    }
    if (more) sti_text_buffer_format(out, "; and %d more", more);
    return picked;
}

/* The lines in put_line's form, with the files' own names. */
static void name_files(const sti_user_source *source, const sti_text_buffer *said, sti_text_buffer *out)
{
    sti_text_buffer lines = {0};
    for (const char *at = said->data; at && *at;) {
        size_t n = strcspn(at, "\n");
        put_line(&lines, at, n);
        sti_text_buffer_put(&lines, "\n");
        at += n + (at[n] != 0);
    }
    if (lines.data) sti_user_source_explain(source, lines.data, lines.size, out);
    if (lines.result != STET_OK) out->result = lines.result;
    sti_text_buffer_free(&lines);
}

stet_result sti_compiler_errors_report(const char *compiler, const sti_user_source *source, const sti_text_buffer *said)
{
    sti_text_buffer text = {0}, lines = {0};
    name_files(source, said, &text);
    bool about_source = pick_lines(&text, false, &lines) > 0;
    if (!about_source && pick_lines(&text, true, &lines) == 0) sti_text_buffer_put(&lines, "it does not say why");
    stet_result result = text.result != STET_OK ? text.result : lines.result;
    if (result == STET_OK && about_source)
        result = sti_error(STET_ERROR_PARSE, "%s", lines.data);
    else if (result == STET_OK)
        result = sti_error(STET_ERROR_IO, "%s on %s: %s", compiler, source->file[0].name, lines.data);
    sti_text_buffer_free(&text);
    sti_text_buffer_free(&lines);
    return result;
}
