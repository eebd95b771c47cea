/* Directives; see reader.h. */
#include "kernel/check/parser.h"
#include "kernel/check/reader.h"
#include "kernel/check/tree.h"

#include <string.h>

static bool is_op(const sti_token *t, sti_operator op) { return t->kind == STI_TOKEN_OP && t->op == op; }

/* Returns the number of a file with this name; -1: too many files (reported), or no memory. */
static int add_file(sti_reader *r, const char *name, sti_source_place place)
{
    sti_unit *u = r->u;
    if (u->nfile == STI_CHECK_FILES) {
        sti_report_mistake(u, place, "more than %d files are included: put some together", STI_CHECK_FILES);
        return -1;
    }
    u->file[u->nfile] = sti_unit_copy(u, name);
    return u->file[u->nfile] ? u->nfile++ : -1;
}

/* Reads the tokens up to the end of the line. */
static bool read_line(sti_reader *r, sti_tokens *out)
{
    for (;;) {
        sti_lexer before = r->lexer;
        sti_token t;
        if (!sti_lex(&r->lexer, &t)) return false;
        if (t.kind == STI_TOKEN_END || t.first) {
            r->lexer = before;
            return true;
        }
        if (!sti_tokens_add(r->u, out, &t)) return false;
    }
}

/* ---- macros ------------------------------------------------------------------------------------------------------ */

/* Reads the parameters behind a macro's name and moves *at behind them. *good: they are well formed. */
static bool read_parameters(sti_reader *r, const sti_tokens *line, size_t *at, sti_macro *m, bool *good)
{
    size_t i = *at;
    *good = false;
    bool empty = i < line->count && is_op(&line->token[i], STI_OP_CLOSE);
    for (; !empty && i < line->count; ++i) {
        if (line->token[i].kind != STI_TOKEN_NAME) return true;
        if (!sti_tokens_add(r->u, &m->param, &line->token[i++])) return false;
        if (i == line->count || !is_op(&line->token[i], STI_OP_COMMA)) break;
    }
    *good = i < line->count && is_op(&line->token[i], STI_OP_CLOSE);
    m->nparam = (int)m->param.count;
    *at = i + 1;
    return true;
}

static bool same_macro(const sti_macro *a, const sti_macro *b)
{
    if (a->function != b->function || a->nparam != b->nparam || a->body.count != b->body.count) return false;
    for (int i = 0; i < a->nparam; ++i)
        if (a->param.token[i].name != b->param.token[i].name) return false;
    for (size_t i = 0; i < a->body.count; ++i) {
        const sti_token *s = &a->body.token[i], *t = &b->body.token[i];
        if (s->kind != t->kind || s->op != t->op || s->name != t->name) return false;
    }
    return true;
}

static void check_macro(sti_reader *r, sti_source_place place, const sti_macro *m)
{
    for (size_t i = 0; i < m->body.count; ++i)
        if (is_op(&m->body.token[i], STI_OP_HASH) || is_op(&m->body.token[i], STI_OP_PASTE))
            sti_report_mistake(r->u, m->body.token[i].place, "macros have no # and ##: write the names out");
    if (m->name->word != STI_WORD_NONE || m->name->symbol)
        sti_report_mistake(r->u, place, "%s belongs to the language: give the macro another name", m->name->text);
    else if (m->name->macro && !same_macro(m->name->macro, m))
        sti_report_mistake(r->u, place, "%s is defined already, as something else: write #undef %s first",
                           m->name->text, m->name->text);
    else
        m->name->macro = (sti_macro *)(uintptr_t)m;
}

static bool define(sti_reader *r, const sti_token *directive, const sti_tokens *line)
{
    if (line->count < 2 || line->token[1].kind != STI_TOKEN_NAME) {
        sti_report_mistake(r->u, directive->place, "#define needs a name");
        return true;
    }
    sti_macro *m = sti_unit_alloc(r->u, sizeof *m);
    if (!m) return false;
    m->name = line->token[1].name;
    size_t at = 2;
    m->function = at < line->count && is_op(&line->token[at], STI_OP_OPEN) && !line->token[at].spaced;
    bool good = true;
    ++at;
    if (!m->function)
        at = 2;
    else if (!read_parameters(r, line, &at, m, &good))
        return false;
    if (!good) {
        sti_report_mistake(r->u, directive->place,
                           "the parameters of macro %s are names with commas between them, then )", m->name->text);
        return true;
    }
    m->body.count = line->count - at;
    m->body.token = line->token + at;
    check_macro(r, line->token[1].place, m);
    return true;
}

/* ---- conditions -------------------------------------------------------------------------------------------------- */

/* Replaces `defined X` and `defined(X)` by 1 or 0. */
static bool replace_defined(sti_reader *r, const sti_tokens *line, sti_tokens *out)
{
    for (size_t i = 1; i < line->count; ++i) {
        sti_token t = line->token[i];
        if (t.kind == STI_TOKEN_NAME && strcmp(t.name->text, "defined") == 0) {
            bool open = i + 1 < line->count && is_op(&line->token[i + 1], STI_OP_OPEN);
            size_t at = i + 1 + open;
            const sti_name *name = at < line->count ? line->token[at].name : NULL;
            bool is = name && (name->macro || (name->symbol && name->symbol->kind == STI_SYMBOL_SETTING));
            t.kind = STI_TOKEN_NUMBER;
            t.name = sti_unit_name(r->u, is ? "1" : "0", 1);
            if (!t.name) return false;
            i = at + open;
        }
        if (!sti_tokens_add(r->u, out, &t)) return false;
    }
    return true;
}

/* Evaluates the expression behind #if. */
static bool evaluate(sti_reader *r, const sti_token *directive, const sti_tokens *line, bool *out)
{
    sti_tokens plain = {0}, full = {0};
    *out = false;
    if (!replace_defined(r, line, &plain) || !sti_reader_expand(r, plain.token, plain.count, &full)) return false;
    sti_token end = {.kind = STI_TOKEN_END, .place = directive->place};
    if (!sti_tokens_add(r->u, &full, &end)) return false;
    sti_node *e = sti_parse_condition(r->u, full.token, full.count);
    int64_t value = 0;
    if (!e) return !r->u->failed;
    if (!sti_constant(r->u, e, true, &value))
        sti_report_mistake(r->u, directive->place, "#if takes a constant of whole numbers");
    *out = value != 0;
    return true;
}

static bool is_defined(const sti_tokens *line)
{
    const sti_name *name = line->count > 1 ? line->token[1].name : NULL;
    return name && (name->macro || (name->symbol && name->symbol->kind == STI_SYMBOL_SETTING));
}

static bool begins_condition(const char *word)
{
    return strcmp(word, "if") == 0 || strcmp(word, "ifdef") == 0 || strcmp(word, "ifndef") == 0;
}

/*
 * Skips to the #else, #elif or #endif of a condition that is not met. `taken`: an earlier branch was read. Stops after
 * that directive if its branch is to be read, or at the end of the condition.
 */
static bool skip_branches(sti_reader *r, bool taken)
{
    int nested = 0;
    for (;;) {
        sti_token t;
        if (!sti_lex(&r->lexer, &t)) return false;
        if (t.kind == STI_TOKEN_END) return true; /* a missing #endif is reported at the end of the text */
        if (!t.first || !is_op(&t, STI_OP_HASH)) continue;
        sti_tokens line = {0};
        if (!read_line(r, &line)) return false;
        if (line.count == 0 || line.token[0].kind != STI_TOKEN_NAME) continue;
        const char *word = line.token[0].name->text;
        bool elif = strcmp(word, "elif") == 0;
        nested += begins_condition(word);
        if (strcmp(word, "endif") == 0 && nested-- == 0) {
            r->conditions--;
            return true;
        }
        if (nested > 0 || taken) continue;
        if (strcmp(word, "else") == 0) return true;
        bool met = false;
        if (elif && !evaluate(r, &line.token[0], &line, &met)) return false;
        if (met) return true;
    }
}

static bool condition(sti_reader *r, const sti_token *directive, const sti_tokens *line, const char *word)
{
    bool met = is_defined(line) == (strcmp(word, "ifdef") == 0);
    if (strcmp(word, "if") == 0) {
        if (!evaluate(r, directive, line, &met)) return false;
    } else if (line->count < 2 || line->token[1].kind != STI_TOKEN_NAME) {
        sti_report_mistake(r->u, directive->place, "#%s needs a name", word);
    }
    r->conditions++;
    return met || skip_branches(r, false);
}

/* ---- directives -------------------------------------------------------------------------------------------------- */

/* True if the name of the language follows the word `include`, which begins at `start` or after white space there. */
static bool names_language(const sti_reader *r, size_t start)
{
    const char *p = r->lexer.text + start;
    p += strspn(p, " \t");
    p += strlen("include");
    p += strspn(p, " \t");
    return strncmp(p, "<stet/lang.h>", 13) == 0 || strncmp(p, "\"stet/lang.h\"", 13) == 0;
}

/* stet/lang.h is the language itself. Other files are in the text already (compile/user_source.h). */
static void include(sti_reader *r, const sti_token *directive, size_t start)
{
    if (!names_language(r, start))
        sti_report_mistake(r->u, directive->place,
                           "a kernel includes \"stet/lang.h\" and other kernels by their names in quotes");
}

/* #line number "name": sets the number and file of the next line. */
static bool renumber(sti_reader *r, const sti_token *directive, const sti_tokens *line)
{
    uint64_t number = 0;
    sti_type_kind kind;
    bool good = line->count > 1 && line->token[1].kind == STI_TOKEN_NUMBER &&
                sti_integer(line->token[1].name->text, &number, &kind) && number > 0 && number <= INT32_MAX;
    if (!good) {
        sti_report_mistake(r->u, directive->place, "#line needs the number of the next line");
        return true;
    }
    r->lexer.place.line = (uint32_t)number - 1;
    const sti_name *text = line->count > 2 && line->token[2].kind == STI_TOKEN_TEXT ? line->token[2].name : NULL;
    if (!text || text->length < 2) return true;
    const sti_name *name = sti_unit_name(r->u, text->text + 1, text->length - 2);
    if (!name) return false;
    int file = 0;
    while (file < r->u->nfile && strcmp(r->u->file[file], name->text) != 0) ++file;
    if (file == r->u->nfile) file = add_file(r, name->text, directive->place);
    if (file >= 0) r->lexer.place.file = (uint16_t)file;
    return !r->u->failed;
}

/* #error: its text is the reported mistake. */
static void stop_with_error(sti_reader *r, const sti_token *directive, size_t start)
{
    const char *text = r->lexer.text + start;
    int n = (int)strcspn(text, "\r\n");
    sti_report_mistake(r->u, directive->place, "#%.*s", n < 200 ? n : 200, text);
}

/* Executes a directive. `start`: the position of its name in the file. */
static bool obey(sti_reader *r, const sti_token *directive, const sti_tokens *line, size_t start)
{
    const char *word = line->token[0].kind == STI_TOKEN_NAME ? line->token[0].name->text : "";
    if (strcmp(word, "define") == 0) return define(r, directive, line);
    if (begins_condition(word)) return condition(r, directive, line, word);
    if (strcmp(word, "line") == 0) return renumber(r, directive, line);
    bool open = r->conditions > 0;
    sti_name *name = line->count > 1 ? line->token[1].name : NULL;
    bool once = strcmp(word, "pragma") == 0 && line->count == 2 && name && strcmp(name->text, "once") == 0;
    if (open && (strcmp(word, "else") == 0 || strcmp(word, "elif") == 0)) return skip_branches(r, true);
    if (open && strcmp(word, "endif") == 0) {
        r->conditions--;
    } else if (strcmp(word, "undef") == 0 && name) {
        name->macro = NULL;
    } else if (strcmp(word, "include") == 0) {
        include(r, directive, start);
    } else if (strcmp(word, "error") == 0) {
        stop_with_error(r, directive, start);
    } else if (!once) {
        sti_report_mistake(r->u, directive->place,
                           "#%s has no meaning here: a kernel has #define, #undef, #include, #if … #endif and #error",
                           word);
    }
    return true;
}

bool sti_reader_text(sti_reader *r, sti_token *out)
{
    for (;;) {
        if (!sti_lex(&r->lexer, out)) return false;
        if (out->kind == STI_TOKEN_END) {
            if (r->conditions > 0)
                sti_report_mistake(r->u, r->lexer.place, "%d #if of this file without #endif", r->conditions);
            r->conditions = 0;
            return true;
        } else if (out->first && is_op(out, STI_OP_HASH)) {
            if (++r->steps > STI_CHECK_TOKENS) r->stopped = true;
            sti_tokens line = {0};
            size_t start = r->lexer.at;
            if (!read_line(r, &line)) return false;
            if (line.count > 0 && !obey(r, out, &line, start)) return false;
            if (r->stopped) {
                *out = (sti_token){.kind = STI_TOKEN_END, .place = out->place};
                return true;
            }
        } else {
            return true;
        }
    }
}

bool sti_read_tokens(sti_unit *u, const char *text, const char *name, sti_tokens *out)
{
    sti_reader r = {.u = u, .lexer = {.u = u, .text = text, .first = true, .place = {1, 1, 0}}};
    if (add_file(&r, name, r.lexer.place) < 0) return false;
    sti_token t;
    do {
        if (!sti_reader_next(&r, &t) || !sti_tokens_add(u, out, &t)) return false;
    } while (t.kind != STI_TOKEN_END);
    return true;
}
