/*
 * Loops whose iterations overwrite elements that no other iteration touches; see transform.h.
 *
 * An index is stride * (the loop's variable) + terms that do not change while the loop runs + a number in a range. If
 * all places of an array in the loop have the same stride and terms, and all their ranges together are narrower than
 * the stride, then each iteration has elements of its own. Before an iteration its elements are as they were before the
 * loop, whichever iterations ran already. So such a loop is reversed without running it first, and nothing of it is
 * saved.
 */
#include "adjoint/analysis/notes.h"
#include "kernel/check/flow.h"
#include "kernel/check/type.h"

#include <string.h>

enum { MOST_TERMS = 8 };
/* Limits of numbers in indices, and of their factors, so that nothing overflows here. */
static const int64_t max_value = 1LL << 40, max_times = 1LL << 22;

typedef struct position {
    int64_t stride, low, high;
    int nterm;
    struct {
        const char *text;
        int64_t times;
    } term[MOST_TERMS];
} position;

typedef struct looking {
    sti_transform *t;
    const sti_node *loop;
    const sti_symbol *variable, *array;
    position first; /* of the places so far; a stride of 0: no place so far */
    bool found;
} looking;

/* ---- indices ----------------------------------------------------------------------------------------------------- */

/* True if an expression names something that is declared in the loop. */
static bool names_own(const looking *l, const sti_node *e)
{
    for (; e; e = e->next) {
        if (e->kind == STI_NODE_NAME && e->symbol && sti_declared_in(l->loop, e->symbol)) return true;
        if (names_own(l, e->a) || names_own(l, e->b) || names_own(l, e->c)) return true;
    }
    return false;
}

/* A text for an expression. It includes what the names mean, because a name may mean something else elsewhere. */
static const char *key_of(sti_transform *t, const sti_node *e, const char *text)
{
    for (; e; e = e->next) {
        if (e->kind == STI_NODE_NAME) text = sti_say(t, "%s %p", text, (const void *)e->symbol);
        text = key_of(t, e->a, text);
        text = key_of(t, e->b, text);
        text = key_of(t, e->c, text);
    }
    return text;
}

static bool add_term(sti_transform *t, position *out, const sti_node *e, int64_t times)
{
    int k = 0;
    sti_node alone = *e;
    alone.next = NULL;
    const char *text = key_of(t, &alone, sti_value(t, e));
    while (k < out->nterm && strcmp(out->term[k].text, text) != 0) ++k;
    if (k == MOST_TERMS) return false;
    if (k == out->nterm) {
        out->term[out->nterm].text = text;
        out->term[out->nterm++].times = 0;
    }
    out->term[k].times += times;
    return out->term[k].times > -max_value && out->term[k].times < max_value;
}

static bool add_range(position *out, int64_t low, int64_t high, int64_t times)
{
    if (low > high || low <= -max_value || high >= max_value) return false;
    int64_t a = low * times, b = high * times;
    out->low += a < b ? a : b;
    out->high += a < b ? b : a;
    return out->low > -max_value && out->high < max_value;
}

static bool add_index(const looking *l, const sti_node *e, int64_t times, position *out);

/*
 * Adds a variable: that of an inner loop with constant ends, or one with the value of its declaration. Others that are
 * declared in this loop are unknown.
 */
static bool add_variable(const looking *l, const sti_node *e, int64_t times, position *out)
{
    sti_counted c;
    int64_t low, high;
    const sti_symbol *s = e->symbol;
    const sti_note *note = sti_note_of(l->t, s);
    const sti_node *v = s->node;
    bool inside = sti_declared_in(l->loop, s);
    if (inside && note->loop)
        return sti_count_loop(l->t, note->loop, &c) && sti_loop_range(l->t, &c, &low, &high) &&
               add_range(out, low, high, times);
    bool fixed = !note->loop && !note->assigned && v && v->kind == STI_NODE_VARIABLE && v->a &&
                 sti_saves_index(v->type) && (inside || sti_is_fixed(l->t, v->a));
    if (fixed) return add_index(l, v->a, times, out);
    return !inside && sti_stable(l->t, l->loop, e) && add_term(l->t, out, e, times);
}

/* Adds times * e to out. */
static bool add_index(const looking *l, const sti_node *e, int64_t times, position *out)
{
    int64_t by;
    if (times <= -max_times || times >= max_times) return false;
    if (sti_constant(l->t->u, e, false, &by)) return add_range(out, by, by, times);
    if (e->kind == STI_NODE_NAME && e->symbol == l->variable) {
        out->stride += times;
        return true;
    }
    if (e->kind == STI_NODE_NAME && e->symbol) return add_variable(l, e, times, out);
    if (e->kind == STI_NODE_CAST && sti_saves_index(e->named)) return add_index(l, e->a, times, out);
    if (e->kind == STI_NODE_BINARY && (e->op == STI_OP_ADD || e->op == STI_OP_SUB))
        return add_index(l, e->a, times, out) && add_index(l, e->b, e->op == STI_OP_ADD ? times : -times, out);
    if (e->kind == STI_NODE_BINARY && e->op == STI_OP_MUL) {
        bool right = sti_constant(l->t->u, e->b, false, &by);
        if ((right || sti_constant(l->t->u, e->a, false, &by)) && by > -max_times && by < max_times)
            return add_index(l, right ? e->a : e->b, times * by, out);
    }
    return sti_stable(l->t, l->loop, e) && !names_own(l, e) && add_term(l->t, out, e, times);
}

/* Adds the offset of a pointer in its array. A pointer from outside of the loop has an unknown but constant offset. */
static bool add_pointer(const looking *l, const sti_node *e, position *out)
{
    if (e->kind == STI_NODE_BINARY && e->a->type && sti_type_points(e->a->type))
        return add_pointer(l, e->a, out) && add_index(l, e->b, e->op == STI_OP_ADD ? 1 : -1, out);
    if (e->kind != STI_NODE_NAME || !e->symbol) return false;
    const sti_symbol *s = e->symbol;
    if (s == l->array) return true;
    if (s->kind != STI_SYMBOL_VARIABLE || sti_note_of(l->t, s)->assigned) return false;
    if (!sti_declared_in(l->loop, s)) return add_term(l->t, out, e, 1);
    return s->node && s->node->a && add_pointer(l, s->node->a, out);
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static bool same_terms(const position *a, const position *b)
{
    for (int i = 0; i < a->nterm; ++i) {
        int64_t times = 0;
        for (int k = 0; k < b->nterm; ++k)
            if (strcmp(a->term[i].text, b->term[k].text) == 0) times = b->term[k].times;
        if (times != a->term[i].times) return false;
    }
    return true;
}

/* Adds a place of `more` + 1 elements. Returns true if each iteration still has elements of its own. */
static bool add_place(looking *l, const sti_node *place, int64_t more)
{
    position i = {0};
    const sti_node *pointer = place->a, *at = place->kind == STI_NODE_INDEX ? place->b : NULL;
    if (!add_pointer(l, pointer, &i) || (at && !add_index(l, at, 1, &i)) || i.stride == 0) return false;
    i.high += more;
    if (l->first.stride == 0) l->first = i;
    if (l->first.stride != i.stride || !same_terms(&l->first, &i) || !same_terms(&i, &l->first)) return false;
    if (i.low < l->first.low) l->first.low = i.low;
    if (i.high > l->first.high) l->first.high = i.high;
    return l->first.high - l->first.low < (i.stride < 0 ? -i.stride : i.stride);
}

static void is_array(sti_symbol *s, void *context)
{
    looking *l = context;
    if (s->kind == STI_SYMBOL_STAGED)
        sti_origins(s->node->a, is_array, l);
    else
        l->found |= s == l->array;
}

static bool touches(looking *l, const sti_node *place)
{
    l->found = false;
    sti_origins((sti_node *)(uintptr_t)place, is_array, l);
    return l->found;
}

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
    bool place = n->kind == STI_NODE_INDEX || (n->kind == STI_NODE_UNARY && n->op == STI_OP_MUL);
    if (place && n->type && !sti_type_points(n->type) && touches(l, n))
        return add_place(l, n, 0) && indices_disjoint(l, n);
    if (n->kind == STI_NODE_CALL && strncmp(n->name->text, "put", 3) == 0 && sti_store_of(n) == 0 && touches(l, n->a))
        return add_place(l, sti_stored_element(l->t, n, 0), n->name->text[3] == '4' ? 3 : 0) &&
               indices_disjoint(l, n->a) && all_disjoint(l, n->a->next);
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
    looking l = {.t = t, .loop = loop, .variable = variable, .array = array};
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
