/*
 * Loops whose iterations overwrite elements that no other iteration touches; see analysis.h.
 *
 * An index is stride * (the loop's variable) + terms that do not change while the loop runs + a number in a range. If
 * all places of an array in the loop have the same stride and terms, and all their ranges together are narrower than
 * the stride, then each iteration has elements of its own. Before an iteration its elements are as they were before the
 * loop, whichever iterations ran already. So such a loop is reversed without running it first, and nothing of it is
 * saved.
 */
#include "adjoint/analysis/analysis.h"
#include "kernel/check/type.h"

typedef struct looking {
    sti_affine_rules rules; /* of the array */
    sti_affine first;       /* of the places so far; a stride of 0: no place so far */
} looking;

/* Adds a place of `more` + 1 elements. Returns true if each iteration still has elements of its own. */
static bool add_place(looking *l, const sti_node *place, int64_t more)
{
    sti_affine i = {0};
    if (!sti_affine_add_place(&l->rules, place, &i) || i.stride == 0) return false;
    i.high += more;
    if (l->first.stride == 0) l->first = i;
    if (l->first.stride != i.stride || !sti_affine_same_terms(&l->first, &i)) return false;
    if (i.low < l->first.low) l->first.low = i.low;
    if (i.high > l->first.high) l->first.high = i.high;
    return l->first.high - l->first.low < (i.stride < 0 ? -i.stride : i.stride);
}

static bool touches(const looking *l, const sti_node *place) { return sti_may_belong(place, l->rules.array); }

static bool all_disjoint(looking *l, const sti_node *n);

/* Checks the indices inside of a place or pointer. */
static bool indices_disjoint(looking *l, const sti_node *e)
{
    for (; e && e->kind != STI_NODE_NAME; e = e->a) {
        if (e->kind != STI_NODE_INDEX && e->kind != STI_NODE_BINARY && e->kind != STI_NODE_UNARY) return false;
        if (e->b && !all_disjoint(l, e->b)) return false;
    }
    return true;
}

static bool one_disjoint(looking *l, const sti_node *n)
{
    int put = sti_put_width(n);
    if (sti_is_element(n) && n->type && !sti_type_points(n->type) && touches(l, n))
        return add_place(l, n, 0) && indices_disjoint(l, n);
    if (put > 0 && touches(l, n->a))
        return add_place(l, sti_stored_element(l->rules.t, n, 0), put - 1) && indices_disjoint(l, n->a) &&
               all_disjoint(l, n->a->next);
    if (n->kind == STI_NODE_VARIABLE && n->type && n->type->kind == STI_TYPE_POINTER && n->a && touches(l, n->a))
        return indices_disjoint(l, n->a); /* its uses are checked where they occur */
    if (n->kind == STI_NODE_NAME && n->type && sti_type_points(n->type) && touches(l, n)) return false;
    return all_disjoint(l, n->a) && all_disjoint(l, n->b) && all_disjoint(l, n->c) && all_disjoint(l, n->d);
}

static bool all_disjoint(looking *l, const sti_node *n)
{
    for (; n; n = n->next)
        if (!one_disjoint(l, n)) return false;
    return true;
}

static bool is_disjoint(sti_transform *t, const sti_node *loop, const sti_symbol *variable, const sti_symbol *array)
{
    looking l = {.rules = {.t = t, .loop = loop, .variable = variable, .array = array}};
    return all_disjoint(&l, loop->d);
}

bool sti_disjoint(sti_transform *t, const sti_node *loop, const sti_counted *c, const sti_effects *changed)
{
    if (c->early) return false;
    for (int i = 0; i < changed->count; ++i) {
        const sti_symbol *s = changed->symbol[i];
        if (s->type->kind != STI_TYPE_ARRAY || !is_disjoint(t, loop, c->variable, s)) return false;
    }
    for (int i = 0; i < changed->narray; ++i)
        if (!is_disjoint(t, loop, c->variable, changed->array[i])) return false;
    return true;
}
