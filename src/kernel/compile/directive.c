/* Directives that bring in files; see directive.h. */
#include "kernel/compile/directive.h"

#include "kernel/check/lexer.h"

#include <string.h>

enum { CLEAN_SIZE = 512 };

/* Letters, digits and space of ASCII, whatever the locale. Loops over them: strspn makes a table at each call. */
static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

/* Neither the end of a line, nor what may begin a comment, a splice or a quoted text. */
static bool is_plain(char c) { return c && c != '\n' && c != '/' && c != '\\' && c != '"' && c != '\''; }

typedef struct clean_text {
    char *at;
    size_t n, room;
    bool begun; /* there is something other than space */
} clean_text;

static void put_clean(clean_text *clean, char c)
{
    if (clean->n < clean->room) clean->at[clean->n++] = c;
    if (clean->begun || is_space(c)) return;
    clean->begun = true;
    if (c != '#' && c != '%') clean->room = clean->n; /* no directive */
}

/*
 * Copies the logical line at `at`, without comments and splices, into clean, as much as fits; of a line that is no
 * directive, only as much as shows that. Returns where the next one begins.
 */
static size_t clean_line(const char *text, size_t at, char clean[CLEAN_SIZE])
{
    clean_text out = {.at = clean, .room = CLEAN_SIZE - 1};
    while (text[at]) {
        if (is_plain(text[at])) {
            put_clean(&out, text[at++]);
            continue;
        }
        size_t end = sti_skip_comment(text, at, NULL), from = at;
        if (end > at) {
            put_clean(&out, ' ');
            at = end;
            continue;
        }
        if (text[at] == '\n') {
            at++;
            break;
        }
        if (sti_skip_splice(text, at) > at) {
            at = sti_skip_splice(text, at);
            continue;
        }
        end = text[at] == '"' || text[at] == '\'' ? sti_skip_quoted(text, at) : at + 1;
        for (; from < end; ++from) {
            if (sti_skip_splice(text, from) > from)
                from = sti_skip_splice(text, from) - 1;
            else
                put_clean(&out, text[from]);
        }
        at = end;
    }
    clean[out.n] = 0;
    return at;
}

static const char *skip_space(const char *p)
{
    while (is_space(*p)) ++p;
    return p;
}

static size_t word_length(const char *p)
{
    size_t n = 0;
    while (is_word(p[n])) ++n;
    return n;
}

/* Returns what follows `word` and spaces if it is at p as a whole word, else NULL. */
static const char *after_word(const char *p, const char *word)
{
    for (; *word; ++p, ++word)
        if (*p != *word) return NULL;
    return is_word(*p) ? NULL : skip_space(p);
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
    } else if (after_word(p, "if") || after_word(p, "ifdef") || after_word(p, "ifndef")) {
        out->kind = STI_DIRECTIVE_IF;
    } else if (after_word(p, "else") || after_word(p, "elif")) {
        out->kind = STI_DIRECTIVE_ELSE;
    } else if (after_word(p, "endif")) {
        out->kind = STI_DIRECTIVE_ENDIF;
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

const char *sti_directive_value(const char *text, const char *macro)
{
    char name[STI_DIRECTIVE_NAME];
    for (size_t from = 0, at = 0; sti_directive_macro(text, &at, name); from = at)
        if (strcmp(name, macro) == 0) return strstr(text + from, macro) + strlen(macro);
    return NULL;
}

bool sti_directive_uses(const char *text, const char *const *identifier, int n)
{
    for (size_t at = 0; text[at];) {
        size_t length = word_length(text + at), end;
        for (int i = 0; i < n && length > 0; ++i)
            if (strncmp(text + at, identifier[i], length) == 0 && !identifier[i][length]) return true;
        if (length > 0)
            end = at + length;
        else if ((end = sti_skip_comment(text, at, NULL)) == at)
            end = text[at] == '"' || text[at] == '\'' ? sti_skip_quoted(text, at) : at + 1;
        at = end;
    }
    return false;
}
