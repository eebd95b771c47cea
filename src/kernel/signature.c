/*
 * Parses the signatures of kernels; see signature.h.
 */
#include "kernel/signature.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct reader {
    const char *text;
    size_t at;
    char *message;
    size_t message_size;
} reader;

static int fail(reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fail(reader *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->message, r->message_size, format, args);
    va_end(args);
    return -1;
}

static int line_of(const char *text, size_t at)
{
    int line = 1;
    for (size_t i = 0; i < at; ++i) line += text[i] == '\n';
    return line;
}

/* Skips white space and comments. Strings do not occur in signatures. */
static void skip_space(reader *r)
{
    for (;;) {
        const char *p = r->text + r->at;
        if (isspace((unsigned char)*p)) {
            r->at++;
        } else if (p[0] == '/' && p[1] == '*') {
            const char *end = strstr(p + 2, "*/");
            r->at = end ? (size_t)(end + 2 - r->text) : strlen(r->text);
        } else if (p[0] == '/' && p[1] == '/') {
            while (r->text[r->at] && r->text[r->at] != '\n') r->at++;
        } else {
            return;
        }
    }
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Reads the next word into out, which is empty if there is none. */
static void next_word(reader *r, char out[STI_MAX_NAME])
{
    skip_space(r);
    size_t n = 0;
    while (is_word(r->text[r->at])) {
        if (n + 1 < STI_MAX_NAME) out[n++] = r->text[r->at];
        r->at++;
    }
    out[n] = 0;
}

static bool next_char(reader *r, char c)
{
    skip_space(r);
    if (r->text[r->at] != c) return false;
    r->at++;
    return true;
}

static bool find_type(const char *word, sti_param_type *type)
{
    for (int t = 0; t < STI_PARAM_TYPE_COUNT; ++t)
        if (strcmp(word, sti_param_type_name((sti_param_type)t)) == 0) {
            *type = (sti_param_type)t;
            return true;
        }
    return false;
}

static int read_param(reader *r, sti_signature *sig)
{
    if (sig->nparam == STI_MAX_PARAMS)
        return fail(r, "kernel %s has more than %d parameters", sig->name, STI_MAX_PARAMS);
    sti_param *p = &sig->param[sig->nparam];
    memset(p, 0, sizeof *p);
    char word[STI_MAX_NAME];
    next_word(r, word);
    bool is_const = strcmp(word, "const") == 0;
    if (is_const) next_word(r, word);
    if (!find_type(word, &p->type))
        return fail(r,
                    "kernel %s: '%s' is not a type of a parameter (real, lint, wreal, wint, treal, tlint, tint, ureal, "
                    "int, i64, u32, u16, u8)",
                    sig->name, word);
    p->pointer = next_char(r, '*');
    p->written = p->pointer && !is_const;
    next_word(r, p->name);
    if (!p->name[0]) return fail(r, "kernel %s: parameter %d has no name", sig->name, sig->nparam + 1);
    const char *index = sig->kind == STI_KERNEL_WORLD ? "world" : "block";
    p->index = !p->pointer && p->type == STI_PARAM_INT && strcmp(p->name, index) == 0;
    sig->nparam++;
    return 1;
}

static int read_signature(reader *r, sti_signature *sig)
{
    char word[STI_MAX_NAME];
    next_word(r, word);
    if (strcmp(word, "void") != 0) return fail(r, "a kernel returns void, not '%s'", word);
    next_word(r, sig->name);
    sig->line = line_of(r->text, r->at);
    if (!sig->name[0]) return fail(r, "a kernel without a name");
    if (!next_char(r, '(')) return fail(r, "kernel %s: '(' expected after the name", sig->name);
    do {
        if (read_param(r, sig) < 0) return -1;
    } while (next_char(r, ','));
    if (!next_char(r, ')'))
        return fail(r, "kernel %s: ',' or ')' expected after parameter %s", sig->name,
                    sig->param[sig->nparam - 1].name);
    return 1;
}

int sti_signature_next(const char *text, size_t *cursor, sti_signature *out, char *message, size_t message_size)
{
    reader r = {text, *cursor, message, message_size};
    char word[STI_MAX_NAME];
    memset(out, 0, sizeof *out);
    for (;;) {
        skip_space(&r);
        if (!r.text[r.at]) break;
        if (!is_word(r.text[r.at])) {
            if (r.text[r.at] == '#') { /* skip directives: `#define world_kernel` is not code */
                while (r.text[r.at] && (r.text[r.at] != '\n' || r.text[r.at - 1] == '\\')) r.at++;
            } else {
                r.at++;
            }
            continue;
        }
        next_word(&r, word);
        if (strcmp(word, "world_kernel") != 0 && strcmp(word, "item_kernel") != 0) continue;
        out->kind = word[0] == 'w' ? STI_KERNEL_WORLD : STI_KERNEL_ITEM;
        out->line = line_of(text, r.at);
        int result = read_signature(&r, out);
        *cursor = r.at;
        return result;
    }
    *cursor = r.at;
    return 0;
}

const char *sti_param_type_name(sti_param_type type)
{
    static const char *const names[] = {
#define STI_PARAM_NAME(name, worlds, tag) #name,
        STI_PARAM_TYPES(STI_PARAM_NAME)
#undef STI_PARAM_NAME
    };
    return names[type];
}

bool sti_param_type_worlds(sti_param_type type)
{
    static const bool is_worlds[] = {
#define STI_PARAM_WORLDS(name, worlds, tag) worlds,
        STI_PARAM_TYPES(STI_PARAM_WORLDS)
#undef STI_PARAM_WORLDS
    };
    return is_worlds[type];
}

uint64_t sti_team_slots(const sti_param *param, int nparam)
{
    uint64_t slots = 0;
    for (int i = 0, at = 0; i < nparam; ++i) {
        if (param[i].index) continue;
        if (sti_param_type_team(param[i].type)) slots |= (uint64_t)1 << at;
        ++at;
    }
    return slots;
}
