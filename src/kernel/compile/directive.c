/* Directives that bring in files; see directive.h. */
#include "kernel/compile/directive.h"

#include <string.h>

enum { CLEAN_SIZE = 512 };

/* The length of the line splice (backslash, end of line) at p, 0 if there is none. */
static size_t splice(const char *p)
{
    if (p[0] != '\\') return 0;
    return p[1] == '\n' ? 2 : p[1] == '\r' && p[2] == '\n' ? 3 : 0;
}

/*
 * Returns the end of the comment that begins at `at`, or `at` if there is none. A line comment ends before its newline.
 */
static size_t skip_comment(const char *text, size_t at)
{
    size_t second = at + 1;
    if (text[at] != '/') return at;
    while (splice(text + second)) second += splice(text + second);
    if (text[second] == '*') {
        size_t p = second + 1;
        while (text[p]) {
            size_t next = p + 1;
            while (text[p] == '*' && splice(text + next)) next += splice(text + next);
            if (text[p] == '*' && text[next] == '/') return next + 1;
            p++;
        }
        return p;
    }
    if (text[second] != '/') return at;
    size_t p = second;
    while (text[p] && text[p] != '\n') p += splice(text + p) ? splice(text + p) : 1;
    return p;
}

/* Returns the end of the string or character constant that begins at `at`. An unclosed one ends before the newline. */
static size_t skip_quoted(const char *text, size_t at)
{
    char quote = text[at++];
    while (text[at] && text[at] != '\n' && text[at] != quote) {
        size_t spliced = splice(text + at);
        if (!spliced && text[at] == '\\' && text[at + 1]) at++;
        at += spliced ? spliced : 1;
    }
    return text[at] == quote ? at + 1 : at;
}

/*
 * Copies the logical line at `at`, without comments and splices, into clean, as much as fits. Returns where the next
 * one begins.
 */
static size_t clean_line(const char *text, size_t at, char clean[CLEAN_SIZE])
{
    size_t n = 0;
    while (text[at]) {
        size_t end = skip_comment(text, at), from = at;
        if (end > at) {
            if (n + 1 < CLEAN_SIZE) clean[n++] = ' ';
            at = end;
            continue;
        }
        if (text[at] == '\n') {
            at++;
            break;
        }
        if (splice(text + at)) {
            at += splice(text + at);
            continue;
        }
        end = text[at] == '"' || text[at] == '\'' ? skip_quoted(text, at) : at + 1;
        for (; from < end; ++from) {
            if (splice(text + from))
                from += splice(text + from) - 1;
            else if (n + 1 < CLEAN_SIZE)
                clean[n++] = text[from];
        }
        at = end;
    }
    clean[n] = 0;
    return at;
}

static const char *skip_space(const char *p) { return p + strspn(p, " \t\r\f\v"); }

static size_t word_length(const char *p)
{
    return strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
}

/* Returns the end of `word` if it is at p as a whole word, else NULL. */
static const char *after_word(const char *p, const char *word)
{
    size_t n = word_length(p);
    return n == strlen(word) && strncmp(p, word, n) == 0 ? skip_space(p + n) : NULL;
}

static void read_name(const char *p, sti_directive *out)
{
    char close = p[0] == '<' ? '>' : '"';
    const char *end = p[0] == '<' || p[0] == '"' ? strchr(p + 1, close) : NULL;
    out->kind = STI_DIRECTIVE_OTHER_INCLUDE;
    if (!end || end == p + 1 || (size_t)(end - p) > sizeof out->name) return;
    memcpy(out->name, p + 1, (size_t)(end - p - 1));
    out->kind = p[0] == '<' ? STI_DIRECTIVE_SYSTEM_INCLUDE : STI_DIRECTIVE_INCLUDE;
}

/* Returns what follows the # of a directive; NULL if the line is none. */
static const char *directive_of(const char *clean)
{
    const char *p = skip_space(clean);
    if (p[0] == '#') return skip_space(p + 1);
    return p[0] == '%' && p[1] == ':' ? skip_space(p + 2) : NULL;
}

size_t sti_directive_next(const char *text, size_t at, sti_directive *out)
{
    char clean[CLEAN_SIZE];
    size_t end = clean_line(text, at, clean);
    memset(out, 0, sizeof *out);
    const char *p = directive_of(clean), *argument;
    if (!p) return end;
    if ((argument = after_word(p, "include"))) {
        read_name(argument, out);
    } else if (after_word(p, "include_next") || after_word(p, "import") || after_word(p, "embed")) {
        out->kind = STI_DIRECTIVE_OTHER_INCLUDE;
    } else if ((argument = after_word(p, "pragma")) && after_word(argument, "once")) {
        out->kind = STI_DIRECTIVE_ONCE;
    } else if (after_word(p, "else") || after_word(p, "elif") || after_word(p, "endif")) {
        out->kind = STI_DIRECTIVE_BRANCH;
    }
    return end;
}

bool sti_directive_says_once(const char *text)
{
    for (size_t at = 0; text[at];) {
        sti_directive d;
        at = sti_directive_next(text, at, &d);
        if (d.kind == STI_DIRECTIVE_ONCE) return true;
    }
    return false;
}

bool sti_directive_guard(const char *text, char name[STI_DIRECTIVE_NAME])
{
    char clean[CLEAN_SIZE];
    bool first = true, closed = false;
    for (size_t at = 0; text[at];) {
        at = clean_line(text, at, clean);
        const char *p = directive_of(clean), *macro = first && p ? after_word(p, "ifndef") : NULL;
        if (!p) {
            closed = closed && !*skip_space(clean); /* only space may follow */
            if (first && *skip_space(clean)) return false;
            continue;
        }
        if (first && !macro) return false;
        if (first) {
            size_t n = strcspn(macro, " \t\r\f\v");
            if (n == 0 || n >= STI_DIRECTIVE_NAME) return false;
            memcpy(name, macro, n);
            name[n] = 0;
            first = false;
        }
        closed = after_word(p, "endif") != NULL;
    }
    return closed;
}

bool sti_directive_macro(const char *text, size_t *at, char name[STI_DIRECTIVE_NAME])
{
    char clean[CLEAN_SIZE];
    while (text[*at]) {
        *at = clean_line(text, *at, clean);
        const char *p = directive_of(clean), *macro = p ? after_word(p, "define") : NULL;
        if (p && !macro) macro = after_word(p, "undef");
        size_t n = macro ? word_length(macro) : 0;
        if (n == 0) continue;
        if (n >= STI_DIRECTIVE_NAME) n = STI_DIRECTIVE_NAME - 1;
        memcpy(name, macro, n);
        name[n] = 0;
        return true;
    }
    return false;
}

bool sti_directive_uses(const char *text, const char *identifier)
{
    for (size_t at = 0; text[at];) {
        size_t n = word_length(text + at), end = skip_comment(text, at);
        if (n == strlen(identifier) && strncmp(text + at, identifier, n) == 0) return true;
        if (n > 0)
            end = at + n;
        else if (end == at)
            end = text[at] == '"' || text[at] == '\'' ? skip_quoted(text, at) : at + 1;
        at = end;
    }
    return false;
}
