/*
 * Parses definitions and declarations, with what all parts of the parser use; see parser.h.
 */
#include "kernel/check/parser.h"

#include "kernel/check/type.h"

enum { MOST_SIZES = 8 };

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

bool sti_parser_is(const sti_parser *p, sti_operator op) { return p->t->kind == STI_TOKEN_OP && p->t->op == op; }

bool sti_parser_word(const sti_parser *p, sti_word word)
{
    return p->t->kind == STI_TOKEN_NAME && p->t->name->word == word;
}

void sti_parser_pass(sti_parser *p)
{
    p->parens += sti_parser_is(p, STI_OP_OPEN) - sti_parser_is(p, STI_OP_CLOSE);
    if (p->t->kind != STI_TOKEN_END) ++p->t;
}

bool sti_parser_take(sti_parser *p, sti_operator op)
{
    if (!sti_parser_is(p, op)) return false;
    sti_parser_pass(p);
    return true;
}

static const char *text_of(const sti_token *t)
{
    return t->kind == STI_TOKEN_END  ? "the end"
           : t->kind == STI_TOKEN_OP ? sti_op_text((sti_operator)t->op)
                                     : t->name->text;
}

void sti_parser_unexpected(sti_parser *p, const char *wanted)
{
    if (p->t->kind == STI_TOKEN_NAME && p->t->name->word == STI_WORD_REFUSED)
        sti_report_mistake(p->u, p->t->place, "`%s` is not in the language: %s", p->t->name->text, p->t->name->advice);
    else
        sti_report_mistake(p->u, p->t->place, "%s expected, not `%.80s`", wanted, text_of(p->t));
}

bool sti_parser_expect(sti_parser *p, sti_operator op, const char *where)
{
    if (sti_parser_take(p, op)) return true;
    if (p->t->kind == STI_TOKEN_NAME && p->t->name->word == STI_WORD_REFUSED)
        sti_parser_unexpected(p, "");
    else
        sti_report_mistake(p->u, p->t->place, "`%s` expected %s, not `%.80s`", sti_op_text(op), where, text_of(p->t));
    return false;
}

sti_name *sti_parser_name(sti_parser *p, const char *of_what)
{
    if (p->t->kind != STI_TOKEN_NAME) {
        sti_report_mistake(p->u, p->t->place, "the name of %s expected, not `%.80s`", of_what, text_of(p->t));
        return NULL;
    }
    sti_name *name = p->t->name;
    if (name->word == STI_WORD_REFUSED) {
        sti_parser_unexpected(p, "");
        return NULL;
    }
    if (name->word != STI_WORD_NONE || name->structure) {
        sti_report_mistake(p->u, p->t->place, "the name of %s expected, but `%s` is a word of the language or a type",
                           of_what, name->text);
        return NULL;
    }
    sti_parser_pass(p);
    return name;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

sti_node *sti_parser_node(sti_parser *p, sti_node_kind kind, sti_source_place place)
{
    sti_node *n = sti_unit_alloc(p->u, sizeof *n);
    if (n) *n = (sti_node){.kind = kind, .place = place, .depth = 1};
    return n;
}

sti_node *sti_parser_above(sti_parser *p, sti_node *n)
{
    const sti_node *below[] = {n->a, n->b, n->c, n->d};
    for (int i = 0; i < 4; ++i)
        if (below[i] && below[i]->depth >= n->depth) n->depth = below[i]->depth + 1;
    if (n->depth <= STI_CHECK_DEPTH) return n;
    sti_report_mistake(p->u, n->place, "nested more than %d deep: use variables and functions in between",
                       STI_CHECK_DEPTH);
    return NULL;
}

bool sti_parser_enter(sti_parser *p)
{
    if (p->depth < STI_CHECK_DEPTH) {
        ++p->depth;
        return true;
    }
    sti_report_mistake(p->u, p->t->place, "nested more than %d deep: use variables and functions in between",
                       STI_CHECK_DEPTH);
    return false;
}

void sti_parser_leave(sti_parser *p) { --p->depth; }

/* ---- types and variables ----------------------------------------------------------------------------------------- */

static bool is_type_word(sti_word word)
{
    switch (word) {
#define CASE(text, tag) case STI_WORD_##tag:
        STI_TYPE_WORDS(CASE)
#undef CASE
        return true;
    default: return false;
    }
}

bool sti_parser_at_type(const sti_parser *p)
{
    if (p->t->kind != STI_TOKEN_NAME) return false;
    sti_word word = p->t->name->word;
    return word == STI_WORD_CONST || word == STI_WORD_STATIC || word == STI_WORD_STRUCT || is_type_word(word) ||
           p->t->name->structure;
}

const sti_type *sti_parser_type(sti_parser *p)
{
    if (sti_parser_word(p, STI_WORD_STATIC)) {
        sti_report_mistake(p->u, p->t->place,
                           "static stands outside of functions only, before const tables of numbers");
        return NULL;
    }
    bool is_const = sti_parser_word(p, STI_WORD_CONST);
    if (is_const) sti_parser_pass(p);
    if (sti_parser_word(p, STI_WORD_STRUCT)) {
        sti_report_mistake(p->u, p->t->place,
                           "a structure is defined before the functions by typedef, and named without struct");
        return NULL;
    }
    const sti_name *name = p->t->kind == STI_TOKEN_NAME ? p->t->name : NULL;
    if (name && name->structure) {
        sti_parser_pass(p);
        return sti_type_structure(name->structure, is_const);
    }
    if (!name || !is_type_word(name->word)) {
        sti_parser_unexpected(p, "a type");
        return NULL;
    }
    sti_parser_pass(p);
    return sti_type_basic((sti_type_kind)(name->word - STI_WORD_VOID), is_const);
}

static sti_node *parse_list(sti_parser *p);

static sti_node *parse_initial(sti_parser *p)
{
    return sti_parser_is(p, STI_OP_BEGIN) ? parse_list(p) : sti_parse_conditional(p);
}

/* { value, … } */
static sti_node *parse_list(sti_parser *p)
{
    sti_node *list = sti_parser_node(p, STI_NODE_LIST, p->t->place);
    if (!list || !sti_parser_enter(p)) return NULL;
    sti_parser_pass(p);
    p->lists++;
    sti_node **at = &list->a;
    while (!sti_parser_is(p, STI_OP_END)) {
        if (sti_parser_is(p, STI_OP_DOT) || sti_parser_is(p, STI_OP_LEFT)) {
            sti_report_mistake(p->u, p->t->place, "values of a list stand in their order, without names and places");
            return NULL;
        }
        *at = parse_initial(p);
        if (!*at) return NULL;
        if ((*at)->depth >= list->depth) list->depth = (*at)->depth + 1;
        at = &(*at)->next;
        if (!sti_parser_take(p, STI_OP_COMMA)) break;
    }
    sti_parser_leave(p);
    if (!sti_parser_expect(p, STI_OP_END, "after the values")) return NULL;
    p->lists--;
    return list;
}

/* [*] name [size] … */
static sti_node *parse_declarator(sti_parser *p, const sti_type *named, const char *of_what)
{
    sti_node *v = sti_parser_node(p, STI_NODE_VARIABLE, p->t->place);
    if (!v) return NULL;
    v->named = named;
    v->op = sti_parser_take(p, STI_OP_MUL) ? STI_OP_MUL : STI_OP_NONE;
    if (sti_parser_is(p, STI_OP_MUL) || (v->op == STI_OP_MUL && sti_parser_word(p, STI_WORD_CONST))) {
        sti_report_mistake(
            p->u, p->t->place,
            "a pointer is `type *` or `const type *`: nothing points to pointers, and no pointer is const itself");
        return NULL;
    }
    v->place = p->t->place;
    v->name = sti_parser_name(p, of_what);
    if (!v->name) return NULL;
    int sizes = 0;
    for (sti_node **at = &v->b; sti_parser_take(p, STI_OP_LEFT); at = &(*at)->next) {
        if (++sizes > MOST_SIZES) {
            sti_report_mistake(p->u, v->place, "`%s` has more than %d sizes: use fewer", v->name->text, MOST_SIZES);
            return NULL;
        }
        *at = sti_parser_is(p, STI_OP_RIGHT) ? NULL : sti_parse_conditional(p);
        if (!*at) {
            if (sti_parser_is(p, STI_OP_RIGHT))
                sti_report_mistake(p->u, p->t->place, "the size of an array stands between [ and ]");
            return NULL;
        }
        if (!sti_parser_expect(p, STI_OP_RIGHT, "after the size")) return NULL;
    }
    return v;
}

static sti_node *parse_variables_as(sti_parser *p, const sti_type *named, sti_node_kind kind)
{
    sti_node *declare = sti_parser_node(p, kind, p->t->place);
    if (!declare) return NULL;
    declare->named = named;
    sti_node **at = &declare->a;
    do {
        sti_node *v = parse_declarator(p, named, "a variable");
        if (!v) return NULL;
        if (sti_parser_take(p, STI_OP_ASSIGN)) {
            v->a = parse_initial(p);
            if (!v->a) return NULL;
        }
        if (!sti_parser_above(p, v)) return NULL;
        if (v->depth >= declare->depth) declare->depth = v->depth + 1;
        *at = v;
        at = &v->next;
    } while (sti_parser_take(p, STI_OP_COMMA));
    return declare;
}

sti_node *sti_parse_variables(sti_parser *p, const sti_type *named)
{
    return parse_variables_as(p, named, STI_NODE_DECLARE);
}

/* ---- definitions ------------------------------------------------------------------------------------------------- */

static bool parse_parameters(sti_parser *p, sti_node *f)
{
    sti_node **at = &f->a;
    if (sti_parser_word(p, STI_WORD_VOID) && p->t[1].kind == STI_TOKEN_OP && p->t[1].op == STI_OP_CLOSE) {
        sti_parser_pass(p);
        return true;
    }
    if (sti_parser_is(p, STI_OP_CLOSE)) {
        sti_report_mistake(p->u, p->t->place, "a function without parameters says (void)");
        return false;
    }
    do {
        const sti_type *named = sti_parser_type(p);
        *at = named ? parse_declarator(p, named, "a parameter") : NULL;
        if (!*at) return false;
        at = &(*at)->next;
    } while (sti_parser_take(p, STI_OP_COMMA));
    return true;
}

/* At LFN, world_kernel or item_kernel. */
static sti_node *parse_function(sti_parser *p)
{
    sti_word word = p->t->name->word;
    sti_parser_pass(p);
    const sti_type *result = sti_parser_type(p);
    sti_node *f = result ? sti_parser_node(p, STI_NODE_FUNCTION, p->t->place) : NULL;
    if (!f) return NULL;
    f->op = (int)word;
    f->named = result;
    if (sti_parser_is(p, STI_OP_MUL)) {
        sti_report_mistake(p->u, p->t->place, "a function returns no pointer: let it return an index");
        return NULL;
    }
    f->name = sti_parser_name(p, "a function");
    if (!f->name || !sti_parser_expect(p, STI_OP_OPEN, "after the name of a function")) return NULL;
    if (!parse_parameters(p, f) || !sti_parser_expect(p, STI_OP_CLOSE, "after the parameters")) return NULL;
    if (sti_parser_is(p, STI_OP_SEMICOLON)) {
        sti_report_mistake(p->u, f->place, "%s has no body: a function is defined, once, before its first use",
                           f->name->text);
        return NULL;
    }
    f->b = sti_parse_block(p);
    return f->b ? f : NULL;
}

/* typedef struct name { fields } name; */
static sti_node *parse_structure(sti_parser *p)
{
    sti_parser_pass(p);
    bool good = sti_parser_word(p, STI_WORD_STRUCT);
    if (good) sti_parser_pass(p);
    const sti_name *tag = good && p->t->kind == STI_TOKEN_NAME ? p->t->name : NULL;
    if (tag) sti_parser_pass(p);
    if (!good || !sti_parser_take(p, STI_OP_BEGIN)) {
        sti_report_mistake(p->u, p->t->place, "a typedef is: typedef struct name { … } name;");
        return NULL;
    }
    sti_node *n = sti_parser_node(p, STI_NODE_STRUCT, p->t->place);
    if (!n) return NULL;
    for (sti_node **at = &n->a; !sti_parser_take(p, STI_OP_END); at = &(*at)->next) {
        const sti_type *named = sti_parser_type(p);
        *at = named ? sti_parse_variables(p, named) : NULL;
        if (!*at || !sti_parser_expect(p, STI_OP_SEMICOLON, "after a field")) return NULL;
    }
    n->place = p->t->place;
    n->name = sti_parser_name(p, "the structure");
    if (!n->name) return NULL;
    if (tag && tag != n->name) {
        sti_report_mistake(p->u, n->place, "a structure has one name: %s, not %s", tag->text, n->name->text);
        return NULL;
    }
    sti_structure *s = sti_unit_alloc(p->u, sizeof *s);
    if (!s) return NULL;
    s->name = n->name;
    for (int k = 0; k < 2; ++k) s->type[k] = (sti_type){.kind = STI_TYPE_STRUCT, .is_const = k == 1, .structure = s};
    s->name->structure = s;
    n->named = &s->type[0];
    return sti_parser_expect(p, STI_OP_SEMICOLON, "after the structure") ? n : NULL;
}

/* static const type name[…] = { … }; */
static sti_node *parse_table(sti_parser *p)
{
    sti_source_place place = p->t->place;
    bool is_static = sti_parser_word(p, STI_WORD_STATIC);
    if (is_static) sti_parser_pass(p);
    if (!is_static || !sti_parser_word(p, STI_WORD_CONST)) {
        sti_report_mistake(p->u, place,
                           "outside of functions stand LFN, world_kernel, item_kernel, typedef struct and static const "
                           "tables: nothing that changes");
        return NULL;
    }
    const sti_type *named = sti_parser_type(p);
    sti_node *n = named ? parse_variables_as(p, named, STI_NODE_TABLE) : NULL;
    return n && sti_parser_expect(p, STI_OP_SEMICOLON, "after the table") ? n : NULL;
}

static sti_node *parse_definition(sti_parser *p)
{
    sti_word word = p->t->kind == STI_TOKEN_NAME ? p->t->name->word : STI_WORD_NONE;
    if (word == STI_WORD_LFN || word == STI_WORD_WORLD_KERNEL || word == STI_WORD_ITEM_KERNEL) return parse_function(p);
    if (word == STI_WORD_TYPEDEF) return parse_structure(p);
    if (sti_parser_at_type(p)) return parse_table(p);
    sti_parser_unexpected(p, "LFN, world_kernel, item_kernel, typedef struct or static const");
    return NULL;
}

/* Skips to the place where the next definition seems to begin. */
static void recover(sti_parser *p)
{
    int braces = 0;
    while (p->t->kind != STI_TOKEN_END) {
        sti_word word = p->t->kind == STI_TOKEN_NAME ? p->t->name->word : STI_WORD_NONE;
        if (word == STI_WORD_LFN || word == STI_WORD_WORLD_KERNEL || word == STI_WORD_ITEM_KERNEL) return;
        bool end = sti_parser_is(p, STI_OP_END), semicolon = sti_parser_is(p, STI_OP_SEMICOLON);
        braces += sti_parser_is(p, STI_OP_BEGIN) - end;
        sti_parser_pass(p);
        if (braces <= 0 && (end || semicolon)) return;
    }
}

sti_node *sti_parse(sti_unit *u, const sti_token *token)
{
    sti_parser p = {.u = u, .t = token};
    sti_node *first = NULL, **at = &first;
    while (p.t->kind != STI_TOKEN_END && !u->failed) {
        if (sti_parser_take(&p, STI_OP_SEMICOLON)) continue;
        p.depth = p.parens = p.lists = 0;
        const sti_token *start = p.t;
        *at = parse_definition(&p);
        if (*at)
            at = &(*at)->next;
        else if (p.t == start) {
            sti_parser_pass(&p);
            recover(&p);
        } else {
            recover(&p);
        }
    }
    return first;
}

sti_node *sti_parse_condition(sti_unit *u, const sti_token *token, size_t count)
{
    sti_parser p = {.u = u, .t = token};
    sti_node *e = sti_parse_conditional(&p);
    if (!e || p.t == token + count - 1) return e;
    sti_parser_unexpected(&p, "the end of the line");
    return NULL;
}
