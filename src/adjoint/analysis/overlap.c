/*
 * Checks what a function's adjoint assumes of its callers: if one argument is written, no other argument reaches the
 * same elements. Also checks that pointers are not assigned after their declaration. See transform.h.
 */
#include "adjoint/transform/transform.h"
#include "kernel/check/flow.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

#include <string.h>

/* ---- pointers that move ------------------------------------------------------------------------------------------ */

void sti_refuse_moving_pointers(sti_transform *t, const sti_node *n)
{
    for (; n; n = n->next) {
        bool step = n->kind == STI_NODE_POSTFIX ||
                    (n->kind == STI_NODE_UNARY && (n->op == STI_OP_INCREMENT || n->op == STI_OP_DECREMENT));
        if ((n->kind == STI_NODE_ASSIGN || step) && n->a->type && n->a->type->kind == STI_TYPE_POINTER)
            sti_complain(t->u, n->place,
                         "`%s` is a pointer that moves, and its gradient would have to: give it its value where it is "
                         "declared, and move an index",
                         sti_text(t->u, n->a));
        sti_refuse_moving_pointers(t, n->a);
        sti_refuse_moving_pointers(t, n->b);
        sti_refuse_moving_pointers(t, n->c);
        sti_refuse_moving_pointers(t, n->d);
    }
}

/* ---- where an argument points ------------------------------------------------------------------------------------ */

enum {
    MOST_ORIGINS = 64,
    MOST_TERMS = 16,
    MOST_LEVELS = 4,
    FAR_OFF = 1 << 24 /* larger constants are not computed with */
};

/* A sum of whole numbers: factor * (the value of a text), and a constant. */
typedef struct sum {
    const char *text[MOST_TERMS];
    int64_t factor[MOST_TERMS], constant;
    int count;
} sum;

/* A path: the root, plus so many elements, a field of that structure, plus so many elements, … */
typedef struct path {
    sti_transform *t;
    const sti_symbol *root, *field[MOST_LEVELS]; /* field[k] is taken behind offset[k] */
    sum offset[MOST_LEVELS];
    int levels;
    bool known;
} path;

static void add_term(path *p, sum *s, const sti_node *e, int64_t factor)
{
    const char *text = sti_text_whole(p->t->u, e);
    for (int i = 0; i < s->count; ++i)
        if (strcmp(s->text[i], text) == 0) {
            s->factor[i] += factor;
            return;
        }
    p->known &= s->count < MOST_TERMS;
    if (!p->known) return;
    s->text[s->count] = text;
    s->factor[s->count++] = factor;
}

static void add_sum(path *p, sum *s, const sti_node *e, int64_t factor)
{
    int64_t value;
    if (sti_constant(p->t->u, e, false, &value)) {
        p->known &= value > -FAR_OFF && value < FAR_OFF;
        if (p->known) s->constant += value * factor;
    } else if (e->kind == STI_NODE_BINARY && (e->op == STI_OP_ADD || e->op == STI_OP_SUB)) {
        add_sum(p, s, e->a, factor);
        add_sum(p, s, e->b, e->op == STI_OP_ADD ? factor : -factor);
    } else if (e->kind == STI_NODE_BINARY && e->op == STI_OP_MUL && sti_constant(p->t->u, e->b, false, &value) &&
               value > -FAR_OFF && value < FAR_OFF) {
        add_sum(p, s, e->a, factor * value);
    } else {
        add_term(p, s, e, factor);
    }
    p->known &= factor > -FAR_OFF && factor < FAR_OFF;
}

/* The number of innermost elements in a value. */
static int64_t elements_of(const sti_type *type)
{
    int64_t n = 1;
    for (; type && type->kind == STI_TYPE_ARRAY; type = type->of) n *= type->count;
    return n;
}

static bool is_written(const sti_node *n, const sti_symbol *s)
{
    for (; n; n = n->next) {
        bool step = n->kind == STI_NODE_POSTFIX ||
                    (n->kind == STI_NODE_UNARY &&
                     (n->op == STI_OP_INCREMENT || n->op == STI_OP_DECREMENT || n->op == STI_OP_AND));
        if ((n->kind == STI_NODE_ASSIGN || step) && n->a->kind == STI_NODE_NAME && n->a->symbol == s) return true;
        if (is_written(n->a, s) || is_written(n->b, s) || is_written(n->c, s) || is_written(n->d, s)) return true;
    }
    return false;
}

/* True if an offset has the same value at any place of the function. */
static bool lasts(const path *p, const sti_node *e)
{
    if (e->kind == STI_NODE_NUMBER) return true;
    if (e->kind == STI_NODE_BINARY || e->kind == STI_NODE_CAST) return lasts(p, e->a) && (!e->b || lasts(p, e->b));
    if (e->kind == STI_NODE_UNARY && e->op == STI_OP_AND) return lasts(p, e->a);
    if (e->kind == STI_NODE_INDEX) return e->a->type && e->a->type->kind == STI_TYPE_ARRAY && lasts(p, e->b);
    bool array = e->type && e->type->kind == STI_TYPE_ARRAY;
    return e->kind == STI_NODE_NAME && e->symbol && (array || !is_written(p->t->function->b, e->symbol));
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
    } else if (e->kind == STI_NODE_BINARY && e->a->type && sti_type_points(e->a->type)) {
        follow_pointer(p, e->a);
        add_sum(p, &p->offset[p->levels], e->b, e->op == STI_OP_SUB ? -1 : 1);
    } else if (e->kind == STI_NODE_BINARY) {
        follow_pointer(p, e->b);
        add_sum(p, &p->offset[p->levels], e->a, 1);
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
        add_sum(p, &p->offset[p->levels], e->b, elements_of(e->type));
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

static void compare_overlap(sti_symbol *s, void *context)
{
    meeting *m = context;
    for (int i = 0; i < m->count; ++i)
        if (m->symbol[i] == s) m->common = s;
}

static sti_symbol *common_origin(const sti_node *a, const sti_node *b)
{
    meeting m = {.count = 0};
    sti_origins((sti_node *)(uintptr_t)a, collect, &m);
    sti_origins((sti_node *)(uintptr_t)b, compare_overlap, &m);
    return m.common;
}

/* a - b, if that is constant. */
static bool difference(const sum *a, const sum *b, int64_t *out)
{
    sum d = *a;
    for (int i = 0; i < b->count; ++i) {
        int k = 0;
        while (k < d.count && strcmp(d.text[k], b->text[i]) != 0) ++k;
        if (k == d.count) return false;
        d.factor[k] -= b->factor[i];
    }
    for (int k = 0; k < d.count; ++k)
        if (d.factor[k] != 0) return false;
    *out = a->constant - b->constant;
    return true;
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
        int64_t d;
        sti_window first, second;
        if (!difference(&p[0].offset[k], &p[1].offset[k], &d)) return false;
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
    sti_complain(t->u, b->node->place,
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
            sti_complain(t->u, e->place, "more than %d arguments that point: its adjoint is not made", MOST);
            return;
        }
        list[count] = (argument){e, p};
        for (int k = 0; k < count; ++k)
            if (p->written || list[k].parameter->written) check_pair(t, call, &list[k], &list[count]);
        ++count;
    }
}
