/* Expressions and calls of a source in checked mode; see work.h. */
#include "kernel/checked/rewrite.h"

#include "base/error.h"
#include "base/memory.h"
#include "kernel/checked/marks.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- texts ------------------------------------------------------------------------------------------------------- */

const char *sti_rewrite_format(sti_rewrite *w, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(NULL, 0, format, list);
    va_end(list);
    char *text = sti_unit_alloc(w->u, (size_t)n + 1);
    if (!text) return "";
    va_start(list, format);
    (void)vsnprintf(text, (size_t)n + 1, format, list);
    va_end(list);
    return text;
}

const char *sti_rewrite_text(sti_rewrite *w, const sti_node *e) { return sti_text_whole(w->u, e); }

const char *sti_rewrite_type(sti_rewrite *w, const sti_type *t)
{
    char text[160];
    sti_type_text(t, text, sizeof text);
    return sti_rewrite_format(w, "%s", text);
}

sti_node *sti_rewrite_node(sti_rewrite *w, const char *text)
{
    sti_node *e = sti_unit_alloc(w->u, sizeof *e);
    sti_name *name = sti_unit_alloc(w->u, sizeof *name);
    if (!e || !name) return NULL;
    *name = (sti_name){.text = text, .length = (uint32_t)strlen(text)};
    *e = (sti_node){.kind = STI_NODE_NAME, .name = name};
    return e;
}

/* An expression becomes this text, which holds together by itself. */
void sti_rewrite_replace(sti_rewrite *w, sti_node *e, const char *text)
{
    sti_node *raw = sti_rewrite_node(w, text);
    if (!raw) return;
    raw->next = e->next;
    raw->type = e->type;
    raw->place = e->place;
    *e = *raw;
}

sti_node *sti_rewrite_statement(sti_rewrite *w, const char *text)
{
    sti_node *s = sti_unit_alloc(w->u, sizeof *s);
    if (!s) return NULL;
    *s = (sti_node){.kind = STI_NODE_EXPRESSION, .a = sti_rewrite_node(w, text)};
    return s;
}

/* ---- sites and roots --------------------------------------------------------------------------------------------- */

static char *kept(sti_rewrite *w, const char *text)
{
    char *copy = NULL;
    if (w->result == STET_OK) w->result = sti_strdup(&copy, text);
    return copy;
}

/* Before the expression is rewritten. */
int sti_rewrite_site(sti_rewrite *w, const sti_node *e, sti_site_kind kind)
{
    sti_sites *s = w->sites;
    if (s->nsite == STI_SITES && w->result == STET_OK)
        w->result =
            sti_error(STET_ERROR_LIMIT, "checked mode: more than %d places of the source would be checked", STI_SITES);
    if (w->result == STET_OK && (size_t)s->nsite == w->site_room) {
        w->site_room = 2 * w->site_room + 64;
        w->result = sti_realloc(&s->site, w->site_room * sizeof *s->site, "places that are checked");
    }
    if (w->result != STET_OK) return 0;
    s->site[s->nsite] = (sti_site){.kind = kind, .line = (int)e->place.line, .column = e->place.column};
    s->site[s->nsite].file = kept(w, w->u->file[e->place.file]);
    s->site[s->nsite].text = kept(w, sti_text(w->u, e));
    return s->nsite++ | (kind == STI_SITE_WRITE ? STI_SITE_WRITES : 0);
}

static int new_root(sti_rewrite *w, const char *name, int64_t count)
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
int sti_rewrite_root(sti_rewrite *w, sti_symbol *s)
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

/* ---- expressions: each returns the span of a pointer, else NULL -------------------------------------------------- */

static void change_list(sti_rewrite *w, sti_node *e)
{
    for (; e; e = e->next) (void)sti_rewrite_change(w, e, 0);
}

static bool is_array(const sti_node *e) { return e->type && e->type->kind == STI_TYPE_ARRAY; }
static bool points(const sti_node *e) { return e->type && sti_type_points(e->type); }

static sti_site_kind access_kind(int use) { return use & STI_WRITTEN ? STI_SITE_WRITE : STI_SITE_READ; }

static const char *span_of_name(sti_rewrite *w, const sti_node *e)
{
    sti_symbol *s = e->symbol;
    if (!s || !s->type) return NULL;
    if (s->type->kind == STI_TYPE_POINTER) return sti_rewrite_format(w, "sti_s_%s", s->name->text);
    if (s->type->kind != STI_TYPE_ARRAY) return NULL;
    if (s->kind == STI_SYMBOL_SHARED) /* a pointer, on a GPU */
        return sti_rewrite_format(w, "sti_span_of(%s, %lldll * (i64)sizeof(%s), %d | STI_SHARED_ROOT)", s->name->text,
                                  (long long)s->type->count, sti_rewrite_type(w, s->type->of), sti_rewrite_root(w, s));
    return sti_rewrite_format(w, "sti_span_of(%s, sizeof %s, %d)", s->name->text, s->name->text,
                              sti_rewrite_root(w, s));
}

/* The root of an array that is indexed by its name, or is a part of something that is; *shared: by a team. */
static int root_below(sti_rewrite *w, const sti_node *e, bool *shared)
{
    *shared = false;
    for (; e; e = e->a)
        if (e->kind == STI_NODE_NAME) {
            if (!e->symbol || e->symbol->kind == STI_SYMBOL_LIBRARY || !is_array(e)) return 0;
            *shared = e->symbol->kind == STI_SYMBOL_SHARED;
            return sti_rewrite_root(w, e->symbol);
        } else if (e->kind != STI_NODE_INDEX)
            return 0;
    return 0;
}

static const char *change_index(sti_rewrite *w, sti_node *e, int use)
{
    bool array = is_array(e->a), row = is_array(e), shared = false;
    int64_t count = array ? e->a->type->count : 0, value;
    int root = array ? root_below(w, e->a, &shared) : 0;
    bool known = array && !shared && sti_constant(w->u, e->b, false, &value) && value >= 0 && value < count;
    int site = known ? 0 : sti_rewrite_site(w, e, access_kind(use));
    const char *element = row ? NULL : sti_rewrite_type(w, e->type);
    const char *span = sti_rewrite_change(w, e->a, use & STI_WRITTEN);
    (void)sti_rewrite_change(w, e->b, STI_AS_INDEX);
    if (known) return row ? span : NULL;
    const char *a = sti_rewrite_text(w, e->a), *b = sti_rewrite_text(w, e->b);
    if (row)
        sti_rewrite_replace(
            w, e, sti_rewrite_format(w, "%s[sti_row(sti_c, %s, %lld, %d, %d)]", a, b, (long long)count, root, site));
    else if (array)
        sti_rewrite_replace(w, e,
                            sti_rewrite_format(w, "(*(%s *)sti_in(sti_c, %s, %s, %lld, sizeof(%s), %d%s, %d))", element,
                                               a, b, (long long)count, element, root,
                                               shared ? " | STI_SHARED_ROOT" : "", site));
    else
        sti_rewrite_replace(w, e,
                            sti_rewrite_format(w, "(*(%s *)sti_at(sti_c, %s, %s, %s, sizeof(%s), %d))", element, a,
                                               span, b, element, site));
    return row ? span : NULL;
}

static void change_pointee(sti_rewrite *w, sti_node *e, int use)
{
    int site = sti_rewrite_site(w, e, access_kind(use));
    const char *element = sti_rewrite_type(w, e->type), *span = sti_rewrite_change(w, e->a, 0);
    sti_rewrite_replace(w, e,
                        sti_rewrite_format(w, "(*(%s *)sti_at(sti_c, %s, %s, 0, sizeof(%s), %d))", element,
                                           sti_rewrite_text(w, e->a), span, element, site));
}

static const char *change_member(sti_rewrite *w, sti_node *e, int use)
{
    if (e->op == STI_OP_ARROW) {
        int site = sti_rewrite_site(w, e, access_kind(use));
        const sti_type *structure = e->a->type->of;
        const char *element = sti_rewrite_type(w, structure), *span = sti_rewrite_change(w, e->a, 0);
        sti_rewrite_replace(w, e->a,
                            sti_rewrite_format(w, "((%s *)sti_at(sti_c, %s, %s, 0, sizeof(%s), %d))", element,
                                               sti_rewrite_text(w, e->a), span, element, site));
    } else {
        (void)sti_rewrite_change(w, e->a, use & STI_WRITTEN);
    }
    const char *own = sti_rewrite_text(w, e);
    return is_array(e) ? sti_rewrite_format(w, "sti_span_of(%s, sizeof(%s), %d)", own, own,
                                            new_root(w, e->name->text, e->type->count))
                       : NULL;
}

static const char *change_address(sti_rewrite *w, sti_node *e)
{
    sti_node *x = e->a;
    if (x->kind == STI_NODE_INDEX) {
        const char *span = sti_rewrite_change(w, x->a, 0);
        (void)sti_rewrite_change(w, x->b, STI_AS_INDEX);
        return span;
    }
    if (x->kind == STI_NODE_NAME)
        return sti_rewrite_format(w, "sti_span_of(&%s, sizeof %s, %d)", x->name->text, x->name->text,
                                  x->symbol ? sti_rewrite_root(w, x->symbol) : 0);
    (void)sti_rewrite_change(w, x, 0);
    const char *text = sti_rewrite_text(w, x);
    return sti_rewrite_format(w, "sti_span_of(&%s, sizeof(%s), 0)", text, text);
}

static bool is_signed(const sti_type *t) { return t && (t->kind == STI_TYPE_INT || t->kind == STI_TYPE_I64); }

static bool whole(const sti_node *e) { return e->type && sti_type_integer(e->type); }

/* a / b and a % b of whole numbers. */
static void change_division(sti_rewrite *w, sti_node *e)
{
    int64_t value;
    bool known = sti_constant(w->u, e->b, false, &value) && value != 0 && value != -1, rest = e->op == STI_OP_MOD;
    int site = known ? 0 : sti_rewrite_site(w, e, STI_SITE_DIVISION);
    (void)sti_rewrite_change(w, e->a, 0);
    (void)sti_rewrite_change(w, e->b, 0);
    if (known) return;
    const char *a = sti_rewrite_text(w, e->a), *b = sti_rewrite_text(w, e->b),
               *type = sti_rewrite_type(w, sti_type_value(e->type));
    if (e->type->kind == STI_TYPE_U64)
        sti_rewrite_replace(
            w, e,
            sti_rewrite_format(w, "((u64)(%s) %s sti_udivisor(sti_c, (u64)(%s), %d))", a, rest ? "%" : "/", b, site));
    else if (rest)
        sti_rewrite_replace(
            w, e, sti_rewrite_format(w, "((%s)sti_rest(sti_c, (%s)(%s), (%s)(%s), %d))", type, type, a, type, b, site));
    else
        sti_rewrite_replace(
            w, e,
            sti_rewrite_format(w, "((%s)sti_quotient(sti_c, (%s)(%s), (%s)(%s), %s, %d))", type, type, a, type, b,
                               e->type->kind == STI_TYPE_I64 ? "-0x7fffffffffffffffll - 1" : "-2147483647ll - 1",
                               site));
}

/* + - * whose value becomes an index. */
static void change_sum(sti_rewrite *w, sti_node *e)
{
    int64_t value;
    bool known = sti_constant(w->u, e, false, &value), wide = e->type->kind == STI_TYPE_I64;
    int site = known ? 0 : sti_rewrite_site(w, e, STI_SITE_OVERFLOW);
    (void)sti_rewrite_change(w, e->a, STI_AS_INDEX);
    (void)sti_rewrite_change(w, e->b, STI_AS_INDEX);
    if (known) return;
    const char *a = sti_rewrite_text(w, e->a), *b = sti_rewrite_text(w, e->b);
    if (wide)
        sti_rewrite_replace(w, e,
                            sti_rewrite_format(w, "sti_%s(sti_c, %s, %s, %d)",
                                               e->op == STI_OP_ADD   ? "add"
                                               : e->op == STI_OP_SUB ? "sub"
                                                                     : "mul",
                                               a, b, site));
    else
        sti_rewrite_replace(w, e,
                            sti_rewrite_format(w, "sti_int(sti_c, (i64)(%s) %s (i64)(%s), %d)", a,
                                               sti_op_text((sti_operator)e->op), b, site));
}

static const char *change_binary(sti_rewrite *w, sti_node *e, int use)
{
    bool numbers = whole(e->a) && whole(e->b), sums = e->op == STI_OP_ADD || e->op == STI_OP_SUB || e->op == STI_OP_MUL;
    if (numbers && (e->op == STI_OP_DIV || e->op == STI_OP_MOD)) return change_division(w, e), NULL;
    if (numbers && sums && use & STI_AS_INDEX && is_signed(e->type)) return change_sum(w, e), NULL;
    bool pointer = points(e);
    const char *a = sti_rewrite_change(w, e->a, pointer && whole(e->a) ? STI_AS_INDEX : 0);
    const char *b = sti_rewrite_change(w, e->b, pointer && whole(e->b) ? STI_AS_INDEX : 0);
    return pointer ? (a ? a : b) : NULL;
}

static const char *change_condition(sti_rewrite *w, sti_node *e, int use)
{
    (void)sti_rewrite_change(w, e->a, 0);
    const char *b = sti_rewrite_change(w, e->b, use & STI_AS_INDEX),
               *c = sti_rewrite_change(w, e->c, use & STI_AS_INDEX);
    if (!points(e)) return NULL;
    return sti_rewrite_format(w, "((%s) ? %s : %s)", sti_rewrite_text(w, e->a), b ? b : "sti_span_none()",
                              c ? c : "sti_span_none()");
}

static void change_assigned_division(sti_rewrite *w, sti_node *e)
{
    int64_t value;
    if (!whole(e->a) || !whole(e->b) || (sti_constant(w->u, e->b, false, &value) && value != 0)) {
        (void)sti_rewrite_change(w, e->b, 0);
        return;
    }
    int site = sti_rewrite_site(w, e, STI_SITE_DIVISION);
    const char *type = sti_rewrite_type(w, sti_type_value(e->b->type));
    (void)sti_rewrite_change(w, e->b, 0);
    sti_rewrite_replace(
        w, e->b,
        sti_rewrite_format(w, "((%s)sti_divisor(sti_c, (i64)(%s), %d))", type, sti_rewrite_text(w, e->b), site));
}

static const char *change_assignment(sti_rewrite *w, sti_node *e)
{
    bool pointer = points(e->a), index = e->a->kind == STI_NODE_NAME && sti_is_marked(e->a->symbol);
    sti_operator within = sti_op_compound((sti_operator)e->op);
    if (e->op == STI_OP_DIV_ASSIGN || e->op == STI_OP_MOD_ASSIGN) {
        (void)sti_rewrite_change(w, e->a, STI_WRITTEN);
        change_assigned_division(w, e);
        return NULL;
    }
    bool sums = within == STI_OP_ADD || within == STI_OP_SUB || within == STI_OP_MUL;
    bool steps =
        index && sums && is_signed(e->a->type) && is_signed(e->b->type) && e->b->type->kind == e->a->type->kind;
    int site = steps ? sti_rewrite_site(w, e, STI_SITE_OVERFLOW) : 0;
    (void)sti_rewrite_change(w, e->a, STI_WRITTEN);
    const char *span = sti_rewrite_change(w, e->b, index || (pointer && within != STI_OP_NONE) ? STI_AS_INDEX : 0);
    const char *a = sti_rewrite_text(w, e->a), *b = sti_rewrite_text(w, e->b);
    if (pointer && e->op == STI_OP_ASSIGN)
        sti_rewrite_replace(
            w, e, sti_rewrite_format(w, "(%s = %s, sti_s_%s = %s)", a, b, a, span ? span : "sti_span_none()"));
    else if (steps && e->a->type->kind == STI_TYPE_INT)
        sti_rewrite_replace(w, e,
                            sti_rewrite_format(w, "(%s = sti_int(sti_c, (i64)%s %s (i64)(%s), %d))", a, a,
                                               sti_op_text(within), b, site));
    return NULL;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static bool called(const sti_node *e, const char *name) { return strcmp(e->name->text, name) == 0; }

static void change_of_world(sti_rewrite *w, sti_node *e, int use)
{
    (void)use;
    int site = sti_rewrite_site(w, e, STI_SITE_WORLDS);
    sti_node *a = e->a, *n = a->next, *world = n->next, *i = world->next;
    const char *element = sti_rewrite_type(w, a->type->of), *span = sti_rewrite_change(w, a, 0);
    (void)sti_rewrite_change(w, n, STI_AS_INDEX);
    (void)sti_rewrite_change(w, world, STI_AS_INDEX);
    (void)sti_rewrite_change(w, i, STI_AS_INDEX);
    sti_rewrite_replace(w, e,
                        sti_rewrite_format(w, "(*(%s *)sti_world(sti_c, %s, %s, %s, %s, %s, sizeof(%s), %d))", element,
                                           sti_rewrite_text(w, a), span, sti_rewrite_text(w, n),
                                           sti_rewrite_text(w, world), sti_rewrite_text(w, i), element, site));
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
static void change_pointer(sti_rewrite *w, sti_node *p, touch how, sti_node *index, const char *span, bool written,
                           int site)
{
    const char *type = sti_rewrite_type(w, p->type->of);
    const char *text = sti_rewrite_text(w, p), *count = how == WIDE    ? "STET_W"
                                                        : how == WORDS ? "STET_W * STET_WIDE"
                                                        : how == OWN   ? "STET_WIDE"
                                                                       : "4";
    if (how == WIDE || how == WORDS) {
        sti_rewrite_replace(w, p,
                            sti_rewrite_format(w, "(%s *)sti_wide(sti_c, %s, %s, sizeof(%s), %s, %d, %d)", type, text,
                                               span, type, count, !written, site));
        return;
    }
    sti_rewrite_replace(w, p,
                        sti_rewrite_format(w, "(%s *)sti_range(sti_c, %s, %s, %s, sizeof(%s), %s, 0, -1, %d)", type,
                                           text, span, index ? sti_rewrite_text(w, index) : "0", type, count, site));
    if (index) sti_rewrite_replace(w, index, "0");
}

static bool change_access(sti_rewrite *w, sti_node *e)
{
    for (size_t k = 0; k < sizeof library / sizeof *library; ++k) {
        if (!called(e, library[k].name)) continue;
        sti_node *p = e->a, *q = NULL, *index = library[k].first == QUARTET ? p->next : NULL;
        if (library[k].second != NONE) q = index ? index->next : p->next;
        int site = sti_rewrite_site(w, e, library[k].written ? STI_SITE_WRITE : STI_SITE_READ);
        int other = q ? sti_rewrite_site(w, e, library[k].written ? STI_SITE_READ : STI_SITE_WRITE) : 0;
        const char *span = NULL, *second = NULL;
        for (sti_node *a = e->a; a; a = a->next) {
            const char *s = sti_rewrite_change(w, a, a == index ? STI_AS_INDEX : 0);
            if (a == p) span = s;
            if (a == q) second = s;
        }
        if (p) change_pointer(w, p, library[k].first, index, span, library[k].written, site);
        if (q) change_pointer(w, q, library[k].second, NULL, second, !library[k].written, other);
        return true;
    }
    return false;
}

static void change_put(sti_rewrite *w, sti_node *e)
{
    int site = sti_rewrite_site(w, e, STI_SITE_WRITE);
    sti_node *a = e->a, *i = a->next, *x = i->next;
    const char *span = sti_rewrite_change(w, a, 0);
    (void)sti_rewrite_change(w, i, STI_AS_INDEX);
    (void)sti_rewrite_change(w, x, 0);
    sti_rewrite_replace(w, e,
                        sti_rewrite_format(w, "(*(real *)sti_at(sti_c, %s, %s, %s, sizeof(real), %d) = canon(%s))",
                                           sti_rewrite_text(w, a), span, sti_rewrite_text(w, i), site,
                                           sti_rewrite_text(w, x)));
}

/* store_if, istore_if, scatter_if, bstore_if: lanes that may not lose their bit of the mask. */
static void change_masked(sti_rewrite *w, sti_node *e)
{
    int site = sti_rewrite_site(w, e, STI_SITE_WRITE);
    sti_node *m = e->a, *p = m->next, *i = called(e, "scatter_if") || called(e, "bstore_if") ? p->next : NULL;
    const char *span = NULL, *type = sti_rewrite_type(w, p->type->of);
    for (sti_node *a = e->a; a; a = a->next) {
        const char *s = sti_rewrite_change(w, a, 0);
        if (a == p) span = s;
    }
    sti_rewrite_replace(w, m,
                        sti_rewrite_format(w, "sti_allowed(sti_c, %s, %s, %s, %s, sizeof(%s), %d)",
                                           sti_rewrite_text(w, m), sti_rewrite_text(w, p), span,
                                           i ? sti_rewrite_text(w, i) : "lane()", type, site));
}

static void change_gather(sti_rewrite *w, sti_node *e)
{
    int site = sti_rewrite_site(w, e, STI_SITE_READ);
    sti_node *p = e->a, *i = p->next;
    const char *span = sti_rewrite_change(w, p, 0);
    (void)sti_rewrite_change(w, i, 0);
    sti_rewrite_replace(w, e,
                        sti_rewrite_format(w, "sti_%s(sti_c, %s, %s, %s, %d)",
                                           called(e, "gather") ? "gather" : "igather", sti_rewrite_text(w, p), span,
                                           sti_rewrite_text(w, i), site));
}

static void change_library(sti_rewrite *w, sti_node *e, int use)
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
static void change_call(sti_rewrite *w, sti_node *e)
{
    sti_node *first = sti_rewrite_node(w, "sti_c"), *last = first, *end = NULL;
    const sti_symbol *p = e->symbol->parameter;
    for (sti_node *a = e->a; a; a = a->next) {
        const char *span = sti_rewrite_change(w, a, p && sti_is_marked(p) ? STI_AS_INDEX : 0);
        if (p && p->type && p->type->kind == STI_TYPE_POINTER && last) {
            last->next = sti_rewrite_node(w, span ? span : "sti_span_none()");
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

static const char *change_unary(sti_rewrite *w, sti_node *e, int use)
{
    switch (e->op) {
    case STI_OP_AND: return change_address(w, e);
    case STI_OP_MUL: change_pointee(w, e, use); return NULL;
    case STI_OP_INCREMENT:
    case STI_OP_DECREMENT: return sti_rewrite_change(w, e->a, STI_WRITTEN);
    default: (void)sti_rewrite_change(w, e->a, use & STI_AS_INDEX); return NULL;
    }
}

const char *sti_rewrite_change(sti_rewrite *w, sti_node *e, int use)
{
    if (w->result != STET_OK || w->u->failed) return "";
    switch (e->kind) {
    case STI_NODE_NAME: return span_of_name(w, e);
    case STI_NODE_INDEX: return change_index(w, e, use);
    case STI_NODE_MEMBER: return change_member(w, e, use);
    case STI_NODE_UNARY: return change_unary(w, e, use);
    case STI_NODE_POSTFIX: return sti_rewrite_change(w, e->a, STI_WRITTEN);
    case STI_NODE_BINARY: return change_binary(w, e, use);
    case STI_NODE_CONDITION: return change_condition(w, e, use);
    case STI_NODE_CAST: return sti_rewrite_change(w, e->a, use & STI_AS_INDEX);
    case STI_NODE_ASSIGN: return change_assignment(w, e);
    case STI_NODE_COMMA: (void)sti_rewrite_change(w, e->a, 0); return sti_rewrite_change(w, e->b, use);
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
