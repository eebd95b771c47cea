/*
 * The tree of a source rewritten so that it checks itself; see instrument.h. Expressions become names whose text is C, from the leaves up,
 * and the printer does the rest.
 */
#include "kernel/check/instrument.h"

#include "base/error.h"
#include "base/memory.h"
#include "kernel/check/marks.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct work {
    sti_unit *u;
    sti_sites *sites;
    size_t site_room, root_room;
    stet_result result;
    const sti_node *function;
    bool apart; /* within each or items: threads of a team may part */
} work;

/* What an expression is for. */
enum { WRITTEN = 1, AS_INDEX = 2 };

/* ---- texts -------------------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static const char *say(work *w, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(NULL, 0, format, list);
    va_end(list);
    char *text = sti_unit_take(w->u, (size_t)n + 1);
    if (!text) return "";
    va_start(list, format);
    (void)vsnprintf(text, (size_t)n + 1, format, list);
    va_end(list);
    return text;
}

static const char *text_of(work *w, const sti_node *e) { return sti_text_whole(w->u, e); }

static const char *type_text(work *w, const sti_type *t)
{
    char text[160];
    sti_type_text(t, text, sizeof text);
    return say(w, "%s", text);
}

static sti_node *raw_node(work *w, const char *text)
{
    sti_node *e = sti_unit_take(w->u, sizeof *e);
    sti_name *name = sti_unit_take(w->u, sizeof *name);
    if (!e || !name) return NULL;
    *name = (sti_name){.text = text, .length = (uint32_t)strlen(text)};
    *e = (sti_node){.kind = STI_NODE_NAME, .name = name};
    return e;
}

/* An expression becomes this text, which holds together by itself. */
static void become(work *w, sti_node *e, const char *text)
{
    sti_node *raw = raw_node(w, text);
    if (!raw) return;
    raw->next = e->next;
    raw->type = e->type;
    raw->place = e->place;
    *e = *raw;
}

static sti_node *raw_statement(work *w, const char *text)
{
    sti_node *s = sti_unit_take(w->u, sizeof *s);
    if (!s) return NULL;
    *s = (sti_node){.kind = STI_NODE_EXPRESSION, .a = raw_node(w, text)};
    return s;
}

/* ---- sites and roots ---------------------------------------------------------------------------------------------- */

static char *kept(work *w, const char *text)
{
    char *copy = NULL;
    if (w->result == STET_OK) w->result = sti_strdup(&copy, text);
    return copy;
}

/* Before the expression is rewritten. */
static int site_of(work *w, const sti_node *e, sti_site_kind kind)
{
    sti_sites *s = w->sites;
    if (s->nsite == STI_SITES && w->result == STET_OK)
        w->result =
            sti_error(STET_LIMIT, "checked mode: more than %d places of the source would be checked", STI_SITES);
    if (w->result == STET_OK && (size_t)s->nsite == w->site_room) {
        w->site_room = 2 * w->site_room + 64;
        w->result = sti_realloc(&s->site, w->site_room * sizeof *s->site, "places that are checked");
    }
    if (w->result != STET_OK) return 0;
    s->site[s->nsite] = (sti_site){.kind = kind, .line = (int)e->place.line, .column = e->place.column};
    s->site[s->nsite].file = kept(w, w->u->file[e->place.file]);
    s->site[s->nsite].text = kept(w, sti_text(w->u, e));
    return s->nsite++;
}

static int new_root(work *w, const char *name, int64_t count)
{
    sti_sites *s = w->sites;
    if (s->nroot == STI_ROOTS || w->result != STET_OK) return 0;
    if ((size_t)s->nroot == w->root_room) {
        w->root_room = 2 * w->root_room + 16;
        w->result = sti_realloc(&s->root, w->root_room * sizeof *s->root, "arrays that are checked");
        if (w->result != STET_OK) return 0;
    }
    s->root[s->nroot].name = kept(w, name);
    s->root[s->nroot].count = count;
    return STI_ROOT + s->nroot++;
}

/* Of a variable, once. */
static int root_of(work *w, sti_symbol *s)
{
    int64_t count = 1;
    for (const sti_type *t = s->type; t && t->kind == STI_TYPE_ARRAY; t = t->of) count *= t->count;
    if (s->kind == STI_SYMBOL_STAGED) (void)sti_constant(w->u, s->node->b, false, &count);
    if (s->value == 0) s->value = new_root(w, s->name->text, count);
    return (int)s->value;
}

void sti_sites_free(sti_sites *s)
{
    for (int i = 0; i < s->nsite; ++i) {
        sti_free(s->site[i].file);
        sti_free(s->site[i].text);
    }
    for (int i = 0; i < s->nroot; ++i) sti_free(s->root[i].name);
    sti_free(s->site);
    sti_free(s->root);
    *s = (sti_sites){0};
}

/* ---- expressions: each returns the span of a pointer, else NULL ---------------------------------------------------- */

static const char *change(work *w, sti_node *e, int use);

static void change_list(work *w, sti_node *e)
{
    for (; e; e = e->next) (void)change(w, e, 0);
}

static bool is_array(const sti_node *e) { return e->type && e->type->kind == STI_TYPE_ARRAY; }
static bool points(const sti_node *e) { return e->type && sti_type_points(e->type); }

static sti_site_kind access_kind(int use) { return use & WRITTEN ? STI_SITE_WRITE : STI_SITE_READ; }

static const char *span_of_name(work *w, const sti_node *e)
{
    sti_symbol *s = e->symbol;
    if (!s || !s->type) return NULL;
    if (s->type->kind == STI_TYPE_POINTER) return say(w, "sti_s_%s", s->name->text);
    if (s->type->kind != STI_TYPE_ARRAY) return NULL;
    if (s->kind == STI_SYMBOL_SHARED) /* a pointer, on a GPU */
        return say(w, "sti_span_of(%s, %lldll * (i64)sizeof(%s), %d)", s->name->text, (long long)s->type->count,
                   type_text(w, s->type->of), root_of(w, s));
    return say(w, "sti_span_of(%s, sizeof %s, %d)", s->name->text, s->name->text, root_of(w, s));
}

/* The root of an array that is indexed by its name, or is a part of something that is. */
static int root_below(work *w, const sti_node *e)
{
    for (; e; e = e->a)
        if (e->kind == STI_NODE_NAME)
            return e->symbol && e->symbol->kind != STI_SYMBOL_LIBRARY && is_array(e) ? root_of(w, e->symbol) : 0;
        else if (e->kind != STI_NODE_INDEX)
            return 0;
    return 0;
}

static const char *change_index(work *w, sti_node *e, int use)
{
    bool array = is_array(e->a), row = is_array(e);
    int64_t count = array ? e->a->type->count : 0, value;
    int root = array ? root_below(w, e->a) : 0;
    bool known = array && sti_constant(w->u, e->b, false, &value) && value >= 0 && value < count;
    int site = known ? 0 : site_of(w, e, access_kind(use));
    const char *element = row ? NULL : type_text(w, e->type);
    const char *span = change(w, e->a, use & WRITTEN);
    (void)change(w, e->b, AS_INDEX);
    if (known) return row ? span : NULL;
    const char *a = text_of(w, e->a), *b = text_of(w, e->b);
    if (row)
        become(w, e, say(w, "%s[sti_row(sti_c, %s, %lld, %d, %d)]", a, b, (long long)count, root, site));
    else if (array)
        become(w, e,
               say(w, "(*(%s *)sti_in(sti_c, %s, %s, %lld, sizeof(%s), %d, %d))", element, a, b, (long long)count,
                   element, root, site));
    else
        become(w, e, say(w, "(*(%s *)sti_at(sti_c, %s, %s, %s, sizeof(%s), %d))", element, a, span, b, element, site));
    return row ? span : NULL;
}

static void change_pointee(work *w, sti_node *e, int use)
{
    int site = site_of(w, e, access_kind(use));
    const char *element = type_text(w, e->type), *span = change(w, e->a, 0);
    become(w, e,
           say(w, "(*(%s *)sti_at(sti_c, %s, %s, 0, sizeof(%s), %d))", element, text_of(w, e->a), span, element, site));
}

static const char *change_member(work *w, sti_node *e, int use)
{
    if (e->op == STI_OP_ARROW) {
        int site = site_of(w, e, access_kind(use));
        const sti_type *structure = e->a->type->of;
        const char *element = type_text(w, structure), *span = change(w, e->a, 0);
        become(
            w, e->a,
            say(w, "((%s *)sti_at(sti_c, %s, %s, 0, sizeof(%s), %d))", element, text_of(w, e->a), span, element, site));
    } else {
        (void)change(w, e->a, use & WRITTEN);
    }
    const char *own = text_of(w, e);
    return is_array(e) ? say(w, "sti_span_of(%s, sizeof(%s), %d)", own, own, new_root(w, e->name->text, e->type->count))
                       : NULL;
}

static const char *change_address(work *w, sti_node *e)
{
    sti_node *x = e->a;
    if (x->kind == STI_NODE_INDEX) {
        const char *span = change(w, x->a, 0);
        (void)change(w, x->b, AS_INDEX);
        return span;
    }
    if (x->kind == STI_NODE_NAME)
        return say(w, "sti_span_of(&%s, sizeof %s, %d)", x->name->text, x->name->text,
                   x->symbol ? root_of(w, x->symbol) : 0);
    (void)change(w, x, 0);
    const char *text = text_of(w, x);
    return say(w, "sti_span_of(&%s, sizeof(%s), 0)", text, text);
}

static bool is_signed(const sti_type *t) { return t && (t->kind == STI_TYPE_INT || t->kind == STI_TYPE_I64); }

static bool whole(const sti_node *e) { return e->type && sti_type_integer(e->type); }

/* a / b and a % b of whole numbers. */
static void change_division(work *w, sti_node *e)
{
    int64_t value;
    bool known = sti_constant(w->u, e->b, false, &value) && value != 0 && value != -1, rest = e->op == STI_OP_MOD;
    int site = known ? 0 : site_of(w, e, STI_SITE_DIVISION);
    (void)change(w, e->a, 0);
    (void)change(w, e->b, 0);
    if (known) return;
    const char *a = text_of(w, e->a), *b = text_of(w, e->b), *type = type_text(w, sti_type_value(e->type));
    if (e->type->kind == STI_TYPE_U64)
        become(w, e, say(w, "((u64)(%s) %s sti_udivisor(sti_c, (u64)(%s), %d))", a, rest ? "%" : "/", b, site));
    else if (rest)
        become(w, e, say(w, "((%s)sti_rest(sti_c, (%s)(%s), (%s)(%s), %d))", type, type, a, type, b, site));
    else
        become(w, e,
               say(w, "((%s)sti_quotient(sti_c, (%s)(%s), (%s)(%s), %s, %d))", type, type, a, type, b,
                   e->type->kind == STI_TYPE_I64 ? "-0x7fffffffffffffffll - 1" : "-2147483647ll - 1", site));
}

/* + - * whose value becomes an index. */
static void change_sum(work *w, sti_node *e)
{
    int64_t value;
    bool known = sti_constant(w->u, e, false, &value), wide = e->type->kind == STI_TYPE_I64;
    int site = known ? 0 : site_of(w, e, STI_SITE_OVERFLOW);
    (void)change(w, e->a, AS_INDEX);
    (void)change(w, e->b, AS_INDEX);
    if (known) return;
    const char *a = text_of(w, e->a), *b = text_of(w, e->b);
    if (wide)
        become(w, e,
               say(w, "sti_%s(sti_c, %s, %s, %d)",
                   e->op == STI_OP_ADD   ? "add"
                   : e->op == STI_OP_SUB ? "sub"
                                         : "mul",
                   a, b, site));
    else
        become(w, e, say(w, "sti_int(sti_c, (i64)(%s) %s (i64)(%s), %d)", a, sti_op_text((sti_op)e->op), b, site));
}

static const char *change_binary(work *w, sti_node *e, int use)
{
    bool numbers = whole(e->a) && whole(e->b), sums = e->op == STI_OP_ADD || e->op == STI_OP_SUB || e->op == STI_OP_MUL;
    if (numbers && (e->op == STI_OP_DIV || e->op == STI_OP_MOD)) return change_division(w, e), NULL;
    if (numbers && sums && use & AS_INDEX && is_signed(e->type)) return change_sum(w, e), NULL;
    bool pointer = points(e);
    const char *a = change(w, e->a, pointer && whole(e->a) ? AS_INDEX : 0);
    const char *b = change(w, e->b, pointer && whole(e->b) ? AS_INDEX : 0);
    return pointer ? (a ? a : b) : NULL;
}

static const char *change_condition(work *w, sti_node *e, int use)
{
    (void)change(w, e->a, 0);
    const char *b = change(w, e->b, use & AS_INDEX), *c = change(w, e->c, use & AS_INDEX);
    if (!points(e)) return NULL;
    return say(w, "((%s) ? %s : %s)", text_of(w, e->a), b ? b : "sti_span_none()", c ? c : "sti_span_none()");
}

static void change_assigned_division(work *w, sti_node *e)
{
    int64_t value;
    if (!whole(e->a) || !whole(e->b) || (sti_constant(w->u, e->b, false, &value) && value != 0)) {
        (void)change(w, e->b, 0);
        return;
    }
    int site = site_of(w, e, STI_SITE_DIVISION);
    const char *type = type_text(w, sti_type_value(e->b->type));
    (void)change(w, e->b, 0);
    become(w, e->b, say(w, "((%s)sti_divisor(sti_c, (i64)(%s), %d))", type, text_of(w, e->b), site));
}

static const char *change_assignment(work *w, sti_node *e)
{
    bool pointer = points(e->a), index = e->a->kind == STI_NODE_NAME && sti_is_marked(e->a->symbol);
    sti_op within = sti_op_compound((sti_op)e->op);
    if (e->op == STI_OP_DIV_ASSIGN || e->op == STI_OP_MOD_ASSIGN) {
        (void)change(w, e->a, WRITTEN);
        change_assigned_division(w, e);
        return NULL;
    }
    bool sums = within == STI_OP_ADD || within == STI_OP_SUB || within == STI_OP_MUL;
    bool steps =
        index && sums && is_signed(e->a->type) && is_signed(e->b->type) && e->b->type->kind == e->a->type->kind;
    int site = steps ? site_of(w, e, STI_SITE_OVERFLOW) : 0;
    (void)change(w, e->a, WRITTEN);
    const char *span = change(w, e->b, index || (pointer && within != STI_OP_NONE) ? AS_INDEX : 0);
    const char *a = text_of(w, e->a), *b = text_of(w, e->b);
    if (pointer && e->op == STI_OP_ASSIGN)
        become(w, e, say(w, "(%s = %s, sti_s_%s = %s)", a, b, a, span ? span : "sti_span_none()"));
    else if (steps && e->a->type->kind == STI_TYPE_INT)
        become(w, e, say(w, "(%s = sti_int(sti_c, (i64)%s %s (i64)(%s), %d))", a, a, sti_op_text(within), b, site));
    return NULL;
}

/* ---- calls -------------------------------------------------------------------------------------------------------- */

static bool called(const sti_node *e, const char *name) { return strcmp(e->name->text, name) == 0; }

static void change_of_world(work *w, sti_node *e, int use)
{
    (void)use;
    int site = site_of(w, e, STI_SITE_WORLDS);
    sti_node *a = e->a, *n = a->next, *world = n->next, *i = world->next;
    const char *element = type_text(w, a->type->of), *span = change(w, a, 0);
    (void)change(w, n, AS_INDEX);
    (void)change(w, world, AS_INDEX);
    (void)change(w, i, AS_INDEX);
    become(w, e,
           say(w, "(*(%s *)sti_world(sti_c, %s, %s, %s, %s, %s, sizeof(%s), %d))", element, text_of(w, a), span,
               text_of(w, n), text_of(w, world), text_of(w, i), element, site));
}

/* How an argument of the language's functions is touched. */
typedef enum touch {
    NONE,
    WIDE,    /* lanes that follow each other, from the pointer */
    WORDS,   /* STET_WIDE of them */
    QUARTET, /* items i … i + 3, i the next argument */
    FOUR,    /* four from the pointer */
    OWN      /* STET_WIDE from the pointer, of lanes */
} touch;

static const struct {
    const char *name;
    touch first, second; /* its pointers, in their order */
    bool written;        /* the first one is, the second is not; or the other way round */
} library[] = {
    {"load", WIDE, NONE, false},   {"iload", WIDE, NONE, false},     {"store", WIDE, NONE, true},
    {"istore", WIDE, NONE, true},  {"istream", WIDE, NONE, true},    {"load4", QUARTET, FOUR, false},
    {"put4", QUARTET, FOUR, true}, {"wide_load", WORDS, OWN, false}, {"wide_store", WORDS, OWN, true},
};

/* A pointer that is passed becomes one that may be touched. */
static void change_pointer(work *w, sti_node *p, touch how, sti_node *index, const char *span, bool written, int site)
{
    const char *type = type_text(w, p->type->of);
    const char *text = text_of(w, p), *count = how == WIDE    ? "STET_W"
                                               : how == WORDS ? "STET_W * STET_WIDE"
                                               : how == OWN   ? "STET_WIDE"
                                                              : "4";
    if (how == WIDE || how == WORDS) {
        become(w, p,
               say(w, "(%s *)sti_wide(sti_c, %s, %s, sizeof(%s), %s, %d, %d)", type, text, span, type, count, !written,
                   site));
        return;
    }
    become(w, p,
           say(w, "(%s *)sti_range(sti_c, %s, %s, %s, sizeof(%s), %s, 0, -1, %d)", type, text, span,
               index ? text_of(w, index) : "0", type, count, site));
    if (index) become(w, index, "0");
}

static bool change_access(work *w, sti_node *e)
{
    for (size_t k = 0; k < sizeof library / sizeof *library; ++k) {
        if (!called(e, library[k].name)) continue;
        sti_node *p = e->a, *q = NULL, *index = library[k].first == QUARTET ? p->next : NULL;
        if (library[k].second != NONE) q = index ? index->next : p->next;
        int site = site_of(w, e, library[k].written ? STI_SITE_WRITE : STI_SITE_READ);
        int other = q ? site_of(w, e, library[k].written ? STI_SITE_READ : STI_SITE_WRITE) : 0;
        const char *span = NULL, *second = NULL;
        for (sti_node *a = e->a; a; a = a->next) {
            const char *s = change(w, a, a == index ? AS_INDEX : 0);
            if (a == p) span = s;
            if (a == q) second = s;
        }
        change_pointer(w, p, library[k].first, index, span, library[k].written, site);
        if (q) change_pointer(w, q, library[k].second, NULL, second, !library[k].written, other);
        return true;
    }
    return false;
}

static void change_put(work *w, sti_node *e)
{
    int site = site_of(w, e, STI_SITE_WRITE);
    sti_node *a = e->a, *i = a->next, *x = i->next;
    const char *span = change(w, a, 0);
    (void)change(w, i, AS_INDEX);
    (void)change(w, x, 0);
    become(w, e,
           say(w, "(*(real *)sti_at(sti_c, %s, %s, %s, sizeof(real), %d) = canon(%s))", text_of(w, a), span,
               text_of(w, i), site, text_of(w, x)));
}

/* store_if, istore_if, scatter_if, bstore_if: lanes that may not lose their bit of the mask. */
static void change_masked(work *w, sti_node *e)
{
    int site = site_of(w, e, STI_SITE_WRITE);
    sti_node *m = e->a, *p = m->next, *i = called(e, "scatter_if") || called(e, "bstore_if") ? p->next : NULL;
    const char *span = NULL, *type = type_text(w, p->type->of);
    for (sti_node *a = e->a; a; a = a->next) {
        const char *s = change(w, a, 0);
        if (a == p) span = s;
    }
    become(w, m,
           say(w, "sti_allowed(sti_c, %s, %s, %s, %s, sizeof(%s), %d)", text_of(w, m), text_of(w, p), span,
               i ? text_of(w, i) : "lane()", type, site));
}

static void change_gather(work *w, sti_node *e)
{
    int site = site_of(w, e, STI_SITE_READ);
    sti_node *p = e->a, *i = p->next;
    const char *span = change(w, p, 0);
    (void)change(w, i, 0);
    become(w, e,
           say(w, "sti_%s(sti_c, %s, %s, %s, %d)", called(e, "gather") ? "gather" : "igather", text_of(w, p), span,
               text_of(w, i), site));
}

static void change_library(work *w, sti_node *e, int use)
{
    if (called(e, "of_world"))
        change_of_world(w, e, use);
    else if (called(e, "put"))
        change_put(w, e);
    else if (called(e, "gather") || called(e, "igather"))
        change_gather(w, e);
    else if (called(e, "store_if") || called(e, "istore_if") || called(e, "scatter_if") || called(e, "bstore_if"))
        change_masked(w, e);
    else if (!change_access(w, e))
        change_list(w, e->a);
}

/* The watch and the spans of its pointers go behind the arguments. */
static void change_call(work *w, sti_node *e)
{
    sti_node *first = raw_node(w, "sti_c"), *last = first, *end = NULL;
    const sti_symbol *p = e->symbol->parameter;
    for (sti_node *a = e->a; a; a = a->next) {
        const char *span = change(w, a, p && sti_is_marked(p) ? AS_INDEX : 0);
        if (p && p->type && p->type->kind == STI_TYPE_POINTER && last) {
            last->next = raw_node(w, span ? span : "sti_span_none()");
            last = last->next;
        }
        if (p) p = p->next;
        end = a;
    }
    if (end)
        end->next = first;
    else
        e->a = first;
}

static const char *change_unary(work *w, sti_node *e, int use)
{
    switch (e->op) {
    case STI_OP_AND: return change_address(w, e);
    case STI_OP_MUL: change_pointee(w, e, use); return NULL;
    case STI_OP_INCREMENT:
    case STI_OP_DECREMENT: return change(w, e->a, WRITTEN);
    default: (void)change(w, e->a, use & AS_INDEX); return NULL;
    }
}

static const char *change(work *w, sti_node *e, int use)
{
    if (w->result != STET_OK || w->u->failed) return "";
    switch (e->kind) {
    case STI_NODE_NAME: return span_of_name(w, e);
    case STI_NODE_INDEX: return change_index(w, e, use);
    case STI_NODE_MEMBER: return change_member(w, e, use);
    case STI_NODE_UNARY: return change_unary(w, e, use);
    case STI_NODE_POSTFIX: return change(w, e->a, WRITTEN);
    case STI_NODE_BINARY: return change_binary(w, e, use);
    case STI_NODE_CONDITION: return change_condition(w, e, use);
    case STI_NODE_CAST: return change(w, e->a, use & AS_INDEX);
    case STI_NODE_ASSIGN: return change_assignment(w, e);
    case STI_NODE_COMMA: (void)change(w, e->a, 0); return change(w, e->b, use);
    case STI_NODE_LIST: change_list(w, e->a); return NULL;
    case STI_NODE_CALL:
        if (e->symbol->kind == STI_SYMBOL_FUNCTION)
            change_call(w, e);
        else
            change_library(w, e, use);
        return NULL;
    default: return NULL;
    }
}

/* ---- statements --------------------------------------------------------------------------------------------------- */

static void change_block(work *w, sti_node *block);

/* The variables of a declaration, each for itself, a pointer with its span behind it; returns the last. */
static sti_node *change_declaration(work *w, sti_node *n)
{
    sti_node *after = n->next;
    for (sti_node *v = n->a; v;) {
        sti_node *rest = v->next;
        bool index = v->symbol && sti_is_marked(v->symbol);
        const char *span = v->a ? change(w, v->a, index ? AS_INDEX : 0) : NULL;
        if (v->type && v->type->kind == STI_TYPE_POINTER) {
            n->next =
                raw_statement(w, say(w, "sti_span sti_s_%s = %s", v->name->text, span ? span : "sti_span_none()"));
            if (!n->next) return n;
            n = n->next;
            n->next = after;
        }
        v->next = NULL;
        if (rest) {
            sti_node *d = sti_unit_take(w->u, sizeof *d);
            if (!d) return n;
            *d = (sti_node){.kind = STI_NODE_DECLARE, .named = v->named ? v->named : NULL, .a = rest, .next = after};
            n->next = d;
            n = d;
        }
        v = rest;
    }
    return n;
}

/* A copy of what is staged, on every device, made with checks. */
static void change_staged(work *w, sti_node *n)
{
    int site = site_of(w, n->a, STI_SITE_READ);
    const char *type = type_text(w, n->named), *name = n->name->text, *size = text_of(w, n->b);
    const char *span = change(w, n->a, 0), *from = text_of(w, n->a);
    int root = n->symbol ? root_of(w, n->symbol) : 0;
    n->kind = STI_NODE_EXPRESSION;
    n->a =
        raw_node(w, say(w,
                        "shared(%s, sti_g_%s, %s); each (%s_i, %s) sti_g_%s[%s_i] = "
                        "*(const %s *)sti_at(sti_c, %s, %s, %s_i, sizeof(%s), %d); sync(); "
                        "const %s *%s = sti_g_%s; sti_span sti_s_%s = sti_span_of(%s, (i64)(%s) * (i64)sizeof(%s), %d)",
                        type, name, size, name, size, name, name, type, from, span, name, type, site, type, name, name,
                        name, name, size, type, root));
    n->b = NULL;
}

static void stop_in(work *w, sti_node *block, bool team)
{
    sti_node *stop = raw_statement(w, team ? "if (STI_STOP_TEAM) break" : "if (STI_STOP) break");
    if (!stop) return;
    stop->next = block->a;
    block->a = stop;
}

static void change_each(work *w, sti_node *n)
{
    int64_t value;
    bool known = sti_constant(w->u, n->a, false, &value);
    int site = known ? 0 : site_of(w, n->a, STI_SITE_COUNT);
    (void)change(w, n->a, AS_INDEX);
    if (!known) become(w, n->a, say(w, "sti_count(sti_c, %s, %d)", text_of(w, n->a), site));
    w->apart = true;
    change_block(w, n->b);
    w->apart = false;
    stop_in(w, n->b, false);
}

/* Pointers that begin in a for come before it, with their spans. */
static void change_for(work *w, sti_node *n)
{
    bool pointers = false;
    for (const sti_node *v = n->a && n->a->kind == STI_NODE_DECLARE ? n->a->a : NULL; v; v = v->next)
        pointers |= v->type && v->type->kind == STI_TYPE_POINTER;
    if (pointers) {
        sti_node *loop = sti_unit_take(w->u, sizeof *loop), *begin = n->a;
        if (!loop) return;
        *loop = *n;
        loop->a = loop->next = NULL;
        begin->next = loop;
        *n = (sti_node){.kind = STI_NODE_BLOCK, .place = n->place, .a = begin, .next = n->next};
        change_block(w, n);
        return;
    }
    if (n->a && n->a->kind == STI_NODE_DECLARE)
        for (sti_node *v = n->a->a; v; v = v->next) {
            if (v->a) (void)change(w, v->a, v->symbol && sti_is_marked(v->symbol) ? AS_INDEX : 0);
        }
    else if (n->a)
        (void)change(w, n->a->a, 0);
    if (n->b) (void)change(w, n->b, 0);
    if (n->c) (void)change(w, n->c, 0);
    change_block(w, n->d);
    stop_in(w, n->d, !w->apart && w->function->symbol->team);
}

static sti_node *change_statement(work *w, sti_node *n)
{
    switch (n->kind) {
    case STI_NODE_BLOCK: change_block(w, n); break;
    case STI_NODE_DECLARE: return change_declaration(w, n);
    case STI_NODE_IF:
        (void)change(w, n->a, 0);
        change_block(w, n->b);
        if (n->c) change_block(w, n->c);
        break;
    case STI_NODE_FOR: change_for(w, n); break;
    case STI_NODE_EACH:
    case STI_NODE_ITEMS: change_each(w, n); break;
    case STI_NODE_STAGED: change_staged(w, n); break;
    case STI_NODE_EXPRESSION:
    case STI_NODE_RETURN:
        if (n->a) (void)change(w, n->a, 0);
        break;
    default: break;
    }
    return n;
}

static void change_block(work *w, sti_node *block)
{
    for (sti_node *n = block->a; n && w->result == STET_OK && !w->u->failed; n = n->next) n = change_statement(w, n);
}

/* ---- functions ---------------------------------------------------------------------------------------------------- */

/* A parameter whose type is this text. */
static void add_parameter(work *w, sti_node *f, const char *type, const char *name)
{
    sti_node **at = &f->a, *v = raw_node(w, name);
    sti_structure *s = sti_unit_take(w->u, sizeof *s);
    sti_node *written = raw_node(w, type);
    if (!v || !s || !written) return;
    s->name = written->name;
    s->type[0] = (sti_type){.kind = STI_TYPE_STRUCT, .structure = s};
    v->kind = STI_NODE_VARIABLE;
    v->named = &s->type[0];
    while (*at) at = &(*at)->next;
    *at = v;
}

static void open_function(work *w, sti_node *f)
{
    add_parameter(w, f, "sti_watch *", "sti_c");
    for (const sti_symbol *p = f->symbol->parameter; p; p = p->next)
        if (p->type && p->type->kind == STI_TYPE_POINTER)
            add_parameter(w, f, "sti_span", say(w, "sti_s_%s", p->name->text));
}

/* Room for the largest thing that an access may be of. */
static const char *sink_text(work *w)
{
    const char *text = "union { real sti_r[16]; i64 sti_i[16];";
    int k = 0;
    for (const sti_node *n = w->u->top; n; n = n->next)
        if (n->kind == STI_NODE_STRUCT) text = say(w, "%s %s sti_m%d;", text, n->name->text, k++);
    return say(w, "%s } __attribute__((aligned(16))) sti_sink", text);
}

static void open_kernel(work *w, sti_node *f)
{
    bool world = f->op == STI_WORD_WORLD_KERNEL;
    const char *given = world ? "world" : "block";
    int slot = 0;
    sti_node *first = raw_statement(w, sink_text(w)), *last = first;
    sti_node *spans = NULL, **at = &spans;
    for (const sti_node *v = f->a; v; v = v->next) {
        const sti_type *t = v->type;
        if (t->kind == STI_TYPE_INT && strcmp(v->name->text, given) == 0) continue;
        if (t->kind == STI_TYPE_POINTER) {
            *at = raw_statement(w,
                                say(w, "sti_span sti_s_%s = sti_span_array(%s, sti_slots, %d, sizeof(%s), %d)",
                                    v->name->text, v->name->text, slot, type_text(w, sti_type_value(t->of)), slot + 1));
            if (*at) at = &(*at)->next;
        }
        ++slot;
    }
    if (!last) return;
    last->next = raw_statement(w, say(w,
                                      "sti_watch sti_watched = sti_watch_open(sti_slots, %d, sti_block, %d, &sti_sink, "
                                      "sizeof sti_sink), *sti_c = &sti_watched",
                                      slot, world));
    if (!last->next) return;
    *at = f->b->a;
    last->next->next = spans;
    f->b->a = first;
    add_parameter(w, f, "const void *", "sti_slots");
    add_parameter(w, f, "i64", "sti_block");
}

static stet_result change_unit(work *w)
{
    for (sti_node *f = w->u->top; f; f = f->next) {
        if (f->kind != STI_NODE_FUNCTION) continue;
        w->function = f;
        sti_mark_indices(f);
        change_block(w, f->b);
        if (w->result != STET_OK || w->u->failed) break;
        if (f->op == STI_WORD_LFN)
            open_function(w, f);
        else
            open_kernel(w, f);
    }
    if (w->u->failed && w->result == STET_OK)
        return sti_error(STET_OUT_OF_MEMORY, "checked mode: out of memory while a kernel was printed");
    return w->result;
}

stet_result sti_unit_instrument(sti_unit *unit, char **text, sti_sites *sites)
{
    static const char language[] = "#include \"stet/lang.h\"\n", own[] = "#include \"stet/lang_checked.h\"\n";
    *text = NULL;
    *sites = (sti_sites){0};
    work w = {.u = unit, .sites = sites};
    char *printed = NULL;
    STI_TRY(change_unit(&w));
    STI_TRY(sti_unit_print(unit, &printed));
    size_t head = sizeof language - 1, more = sizeof own - 1, size = strlen(printed);
    stet_result result = sti_alloc(text, size + more + 1, "the text of a checked kernel");
    if (result == STET_OK) {
        memcpy(*text, printed, head);
        memcpy(*text + head, own, more);
        memcpy(*text + head + more, printed + head, size - head + 1);
    }
    sti_free(printed);
    return result;
}
