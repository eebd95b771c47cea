/* Tokens of a text; see lexer.h. */
#include "kernel/check/lexer.h"

#include <string.h>

static const char *const texts[] = {
#define TEXT(tag, text, precedence) text,
    STI_OPS(TEXT)
#undef TEXT
};

const char *sti_op_text(sti_operator op) { return texts[op]; }

int sti_op_precedence(sti_operator op)
{
    static const int precedences[] = {
#define PRECEDENCE(tag, text, precedence) precedence,
        STI_OPS(PRECEDENCE)
#undef PRECEDENCE
    };
    return precedences[op];
}

sti_operator sti_op_compound(sti_operator op)
{
    switch (op) {
    case STI_OP_MUL_ASSIGN: return STI_OP_MUL;
    case STI_OP_DIV_ASSIGN: return STI_OP_DIV;
    case STI_OP_MOD_ASSIGN: return STI_OP_MOD;
    case STI_OP_ADD_ASSIGN: return STI_OP_ADD;
    case STI_OP_SUB_ASSIGN: return STI_OP_SUB;
    case STI_OP_SHL_ASSIGN: return STI_OP_SHL;
    case STI_OP_SHR_ASSIGN: return STI_OP_SHR;
    case STI_OP_AND_ASSIGN: return STI_OP_AND;
    case STI_OP_XOR_ASSIGN: return STI_OP_XOR;
    case STI_OP_OR_ASSIGN: return STI_OP_OR;
    default: return STI_OP_NONE;
    }
}

/* Letters and digits of ASCII, whatever the locale. */
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

static void pass(sti_lexer *l, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        if (l->text[l->at++] == '\n') {
            l->place.line++;
            l->place.column = 1;
        } else if (l->place.column < UINT16_MAX) {
            l->place.column++;
        }
    }
}

size_t sti_skip_splice(const char *text, size_t at)
{
    const char *p = text + at;
    if (p[0] != '\\') return at;
    return p[1] == '\n' ? at + 2 : p[1] == '\r' && p[2] == '\n' ? at + 3 : at;
}

static size_t skip_splices(const char *text, size_t at)
{
    while (sti_skip_splice(text, at) > at) at = sti_skip_splice(text, at);
    return at;
}

size_t sti_skip_comment(const char *text, size_t at, bool *closed)
{
    if (closed) *closed = true;
    if (text[at] != '/') return at;
    size_t p = skip_splices(text, at + 1);
    if (text[p] == '*') {
        for (++p; text[p]; ++p) {
            size_t next = text[p] == '*' ? skip_splices(text, p + 1) : p;
            if (text[next] == '/' && next > p) return next + 1;
        }
        if (closed) *closed = false;
        return p;
    }
    if (text[p] != '/') return at;
    while (text[p] && text[p] != '\n') p = sti_skip_splice(text, p) > p ? sti_skip_splice(text, p) : p + 1;
    return p;
}

size_t sti_skip_quoted(const char *text, size_t at)
{
    char quote = text[at++];
    while (text[at] && text[at] != '\n' && text[at] != quote) {
        size_t spliced = sti_skip_splice(text, at);
        if (spliced == at && text[at] == '\\' && text[at + 1]) at++;
        at = spliced > at ? spliced : at + 1;
    }
    return text[at] == quote ? at + 1 : at;
}

static bool skip_comment(sti_lexer *l)
{
    bool closed;
    size_t end = sti_skip_comment(l->text, l->at, &closed);
    if (end == l->at) return false;
    if (!closed) sti_report_mistake(l->u, l->place, "this comment has no end: write */");
    pass(l, end - l->at);
    return true;
}

/* Skips white space, comments and splices. Returns true if there were any. */
static bool skip_space(sti_lexer *l)
{
    size_t start = l->at;
    for (;;) {
        char c = l->text[l->at];
        if (c == '\n') l->first = true;
        if (c == '\n' || is_space(c))
            pass(l, 1);
        else if (sti_skip_splice(l->text, l->at) > l->at)
            pass(l, sti_skip_splice(l->text, l->at) - l->at);
        else if (!skip_comment(l))
            return l->at > start;
    }
}

static size_t name_length(const char *p)
{
    size_t n = 0;
    while (is_letter(p[n]) || is_digit(p[n])) ++n;
    return n;
}

/* As in C's preprocessor: takes what looks like a number; the parser checks it. */
static size_t number_length(const char *p)
{
    size_t n = 0;
    for (;;) {
        bool sign =
            (p[n] == '+' || p[n] == '-') && n > 0 && (p[n - 1] == 'e' || p[n - 1] == 'E') && p[1] != 'x' && p[1] != 'X';
        if (!is_letter(p[n]) && !is_digit(p[n]) && p[n] != '.' && !sign) return n;
        ++n;
    }
}

static sti_operator operator_at(const char *p)
{
    sti_operator best = STI_OP_NONE;
    for (int op = 1; op < STI_OP_COUNT; ++op)
        if (strncmp(p, texts[op], strlen(texts[op])) == 0 && strlen(texts[op]) > strlen(texts[best]))
            best = (sti_operator)op;
    return best;
}

bool sti_lex(sti_lexer *l, sti_token *out)
{
    *out = (sti_token){.kind = STI_TOKEN_END};
    out->spaced = skip_space(l);
    out->first = l->first;
    out->place = l->place;
    const char *p = l->text + l->at;
    size_t n = 1;
    if (!*p) return true;
    l->first = false;
    sti_operator op = STI_OP_NONE;
    if (is_letter(*p)) {
        out->kind = STI_TOKEN_NAME;
        n = name_length(p);
    } else if (is_digit(*p) || (*p == '.' && is_digit(p[1]))) {
        out->kind = STI_TOKEN_NUMBER;
        n = number_length(p);
    } else if (*p == '"' || *p == '\'') {
        out->kind = STI_TOKEN_TEXT;
        n = sti_skip_quoted(p, 0);
    } else if ((op = operator_at(p)) != STI_OP_NONE) {
        out->kind = STI_TOKEN_OP;
        out->op = (uint8_t)op;
        n = strlen(texts[op]);
    } else {
        out->kind = STI_TOKEN_OTHER;
        while (((unsigned char)p[n] & 0xc0) == 0x80) ++n; /* the rest of a character in UTF-8 */
    }
    pass(l, n);
    if (out->kind == STI_TOKEN_OP) return true;
    out->name = sti_unit_name(l->u, p, n);
    return out->name != NULL;
}
