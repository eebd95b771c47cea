/*
 * Checks what a function's adjoint assumes of its callers: if one argument is written, no other argument reaches the
 * same elements. Also checks that pointers are not assigned after their declaration. See analysis.h.
 */
#include "adjoint/analysis/analysis.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

/* ---- pointers that move ------------------------------------------------------------------------------------------ */

static void refuse_move(sti_transform *t, const sti_node *n)
{
    const sti_node *place = sti_assigned_place(n);
    if (place && place->type && place->type->kind == STI_TYPE_POINTER)
        sti_report_mistake(
            t->u, n->place,
            "`%s` is a pointer that moves, and its gradient would have to: give it its value where it is "
            "declared, and move an index",
            sti_text(t->u, place));
}

void sti_refuse_moving_pointers(sti_transform *t, const sti_node *f) { sti_walk(t, f->b, refuse_move); }

/* ---- where an argument points ------------------------------------------------------------------------------------ */

enum { MOST_ORIGINS = 64, MOST_LEVELS = 4 };

/* A path: the root, plus so many elements, a field of that structure, plus so many elements, … */
typedef struct path {
    sti_transform *t;
    const sti_symbol *root, *field[MOST_LEVELS]; /* field[k] is taken behind offset[k] */
    sti_affine offset[MOST_LEVELS];
    int levels;
    bool known;
} path;

static void add_offset(path *p, const sti_node *e, int64_t times)
{
    const sti_affine_rules rules = {.t = p->t, .texts = true};
    p->known = p->known && sti_affine_add(&rules, e, times, &p->offset[p->levels]);
}

/* The number of innermost elements in a value. */
static int64_t elements_of(const sti_type *type)
{
    int64_t n = 1;
    for (; type && type->kind == STI_TYPE_ARRAY; type = type->of) n *= type->count;
    return n;
}

static bool writes(sti_transform *t, const sti_node *n, const void *symbol)
{
    const sti_node *to = n->kind == STI_NODE_UNARY && n->op == STI_OP_AND ? n->a : sti_assigned_place(n);
    (void)t;
    return to && to->kind == STI_NODE_NAME && to->symbol == symbol;
}

/* True if an offset has the same value at any place of the function. */
static bool lasts(const path *p, const sti_node *e)
{
    if (e->kind == STI_NODE_NUMBER) return true;
    if (e->kind == STI_NODE_BINARY || e->kind == STI_NODE_CAST) return lasts(p, e->a) && (!e->b || lasts(p, e->b));
    if (e->kind == STI_NODE_UNARY && e->op == STI_OP_AND) return lasts(p, e->a);
    if (e->kind == STI_NODE_INDEX) return e->a->type && e->a->type->kind == STI_TYPE_ARRAY && lasts(p, e->b);
    bool array = e->type && e->type->kind == STI_TYPE_ARRAY;
    return e->kind == STI_NODE_NAME && e->symbol && (array || !sti_any(p->t, p->t->function->b, writes, e->symbol));
}

static void follow_place(path *p, const sti_node *e);

static void follow_pointer(path *p, const sti_node *e)
{
    if (e->type && e->type->kind == STI_TYPE_ARRAY) {
        follow_place(p, e);
    } else if (e->kind == STI_NODE_NAME) {
        const sti_node *v = e->symbol && e->symbol->kind == STI_SYMBOL_VARIABLE ? e->symbol->node : NULL;
        if (v && v->a && lasts(p, v->a))
            follow_pointer(p, v->a);
        else
            p->root = e->symbol;
    } else if (sti_is_offset(e)) {
        follow_pointer(p, e->a);
        add_offset(p, e->b, e->op == STI_OP_SUB ? -1 : 1);
    } else if (e->kind == STI_NODE_BINARY) {
        follow_pointer(p, e->b);
        add_offset(p, e->a, 1);
    } else if (e->kind == STI_NODE_UNARY && e->op == STI_OP_AND) {
        follow_place(p, e->a);
    } else {
        p->known = false;
    }
}

static void follow_place(path *p, const sti_node *e)
{
    if (e->kind == STI_NODE_NAME) {
        p->root = e->symbol;
    } else if (e->kind == STI_NODE_INDEX) {
        follow_pointer(p, e->a);
        add_offset(p, e->b, elements_of(e->type));
    } else if (e->kind == STI_NODE_UNARY && e->op == STI_OP_MUL) {
        follow_pointer(p, e->a);
    } else if (e->kind == STI_NODE_MEMBER && p->levels + 1 < MOST_LEVELS) {
        if (e->op == STI_OP_ARROW)
            follow_pointer(p, e->a);
        else
            follow_place(p, e->a);
        if (p->levels + 1 < MOST_LEVELS) p->field[p->levels++] = e->symbol;
    } else {
        p->known = false;
    }
}

/* ---- two arguments ----------------------------------------------------------------------------------------------- */

typedef struct argument {
    const sti_node *node;
    const sti_symbol *parameter;
} argument;

typedef struct meeting {
    sti_symbol *symbol[MOST_ORIGINS];
    int count;
    sti_symbol *common;
} meeting;

static void collect(sti_symbol *s, void *context)
{
    meeting *m = context;
    if (m->count < MOST_ORIGINS) m->symbol[m->count++] = s;
}

static void note_common(sti_symbol *s, void *context)
{
    meeting *m = context;
    for (int i = 0; i < m->count; ++i)
        if (m->symbol[i] == s) m->common = s;
}

static sti_symbol *common_origin(const sti_node *a, const sti_node *b)
{
    meeting m = {.count = 0};
    sti_origins((sti_node *)(uintptr_t)a, collect, &m);
    sti_origins((sti_node *)(uintptr_t)b, note_common, &m);
    return m.common;
}

/*
 * The elements that a call touches from the end of the path at a level. A longer path touches the elements that it
 * passes.
 */
static bool reach(sti_transform *t, const sti_node *call, const argument *a, const path *p, int level, sti_window *out)
{
    *out = (sti_window){0};
    if (level < p->levels) return true;
    const sti_type *of = a->parameter->type->of;
    return call->symbol->kind == STI_SYMBOL_FUNCTION && of->kind != STI_TYPE_ARRAY &&
           sti_window_of(t, a->parameter, call->symbol, out);
}

static bool are_apart(sti_transform *t, const sti_node *call, const argument *a, const argument *b)
{
    path p[2] = {{.t = t, .known = true}, {.t = t, .known = true}};
    follow_pointer(&p[0], a->node);
    follow_pointer(&p[1], b->node);
    if (!p[0].known || !p[1].known || !p[0].root || p[0].root != p[1].root) return false;
    for (int k = 0; k < MOST_LEVELS; ++k) {
        const sti_affine *at = &p[0].offset[k], *other = &p[1].offset[k];
        sti_window first, second;
        if (!sti_affine_same_terms(at, other)) return false;
        int64_t d = at->low - other->low;
        bool ends = k == p[0].levels || k == p[1].levels;
        if (!reach(t, call, a, &p[0], k, &first) || !reach(t, call, b, &p[1], k, &second)) return false;
        if (d + first.low > second.high || d + first.high < second.low) return true;
        if (ends) return false;
        if (p[0].field[k] != p[1].field[k]) return true;
    }
    return false;
}

static void check_pair(sti_transform *t, const sti_node *call, const argument *a, const argument *b)
{
    const sti_symbol *common = common_origin(a->node, b->node);
    if (!common || are_apart(t, call, a, b)) return;
    sti_report_mistake(
        t->u, b->node->place,
        "`%s` writes where one of two arguments points, and both may reach the same elements of `%s`: pass a "
        "copy, in a local array or variable of its own",
        sti_text(t->u, call), common->name->text);
}

void sti_refuse_overlaps(sti_transform *t, const sti_node *call)
{
    enum { MOST = 64 };
    argument list[MOST];
    int count = 0, n = 0;
    for (const sti_node *e = call->a; e; e = e->next, ++n) {
        const sti_symbol *p = sti_flow_parameter(call, n);
        if (!p || !p->type || !sti_type_points(p->type) || !e->type) continue;
        if (count == MOST) {
            sti_report_mistake(t->u, e->place, "more than %d arguments that point: its adjoint is not made", MOST);
            return;
        }
        list[count] = (argument){e, p};
        for (int k = 0; k < count; ++k)
            if (p->written || list[k].parameter->written) check_pair(t, call, &list[k], &list[count]);
        ++count;
    }
}
