/*
 * Unrolls loops with few constant trips that overwrite elements after they were read; see normalize.h.
 *
 * What such a loop overwrites would go to the tape, element by element. Once it is unrolled, each statement saves what
 * it overwrites in a variable. A loop whose iterations have elements of their own and that is last in its list saves
 * nothing anyway (disjoint.c), and is not unrolled.
 */
#include "adjoint/normalize/normalize.h"
#include "kernel/check/type.h"

enum { MOST_TRIPS = 16, MOST_KEPT = 32 /* values */, MOST_NODES = 2000 /* of all trips */ };

static int nodes_of(const sti_node *n)
{
    int count = 0;
    for (; n && count < MOST_NODES; n = n->next)
        count += 1 + nodes_of(n->a) + nodes_of(n->b) + nodes_of(n->c) + nodes_of(n->d);
    return count;
}

/* True for a store by items to an array whose elements they overwrite. */
static bool item_overwrites(sti_transform *t, const sti_node *e)
{
    bool only;
    const sti_symbol *s = sti_store_of(e) >= 0 ? sti_origin_of(sti_argument(e, sti_store_of(e)), &only) : NULL;
    return s && sti_is_array_symbol(s) && sti_note_of(t, s)->needed && sti_note_of(t, s)->overwritten;
}

/* The number of values that the statements of a list overwrite, without those inside of regions. */
static int kept_of(sti_transform *t, const sti_node *list, bool items)
{
    int count = 0;
    for (const sti_node *n = list; n; n = n->next)
        if (n->kind == STI_NODE_EXPRESSION) count += items ? item_overwrites(t, n->a) : sti_log_entries(t, n->a);
    return count;
}

static bool is_own_call(sti_transform *t, const sti_node *n, const void *context)
{
    (void)t, (void)context;
    return sti_is_own_call(n);
}

static bool is_wanted(sti_transform *t, const sti_node *loop, bool items, sti_counted *c, int *trips)
{
    int kept = kept_of(t, loop->d->a, items);
    if (kept == 0 || !sti_count_loop(t, loop, c) || c->early) return false;
    int64_t n = sti_constant_trips(t, c), low, high;
    bool few = n > 0 && n <= MOST_TRIPS && n * kept <= MOST_KEPT && n * nodes_of(loop->d->a) <= MOST_NODES;
    if (!few || !sti_loop_range(t, c, &low, &high) || low < INT32_MIN || high > INT32_MAX) return false;
    *trips = (int)n;
    if (items || !sti_last_of_list(loop) || sti_any(t, loop->d, is_own_call, NULL)) return true;
    sti_effects changed;
    sti_effects_of(t, loop, &changed);
    return !sti_disjoint(t, loop, c, &changed);
}

/* Replaces the loop at *at by the statements of all trips. */
static void unroll(sti_transform *t, sti_node **at, const sti_counted *c, int trips)
{
    const sti_node *loop = *at;
    sti_node *rest = loop->next, *first = NULL, **end = &first;
    int64_t value;
    if (!sti_constant(t->u, c->from, false, &value)) return;
    for (int k = 0; k < trips && !t->u->failed; ++k, value += c->step) {
        sti_symbol *v = sti_build_symbol(t, c->variable->name->text, sti_type_value(c->variable->type), loop->place);
        *end = sti_build_declare(t, v, sti_build_number(t, (int)value, loop->place));
        end = &(*end)->next;
        *end = sti_copy_body(t, loop->d->a, c->variable, v);
        end = sti_end_of(end);
    }
    *end = rest;
    *at = first;
}

/* The context of a list: reached by the whole team; inside one iteration of an each, or in a function; inside items. */
typedef enum where { TEAM, ALONE, ITEMS } where;

static bool look_through(sti_transform *t, sti_node **list, where at)
{
    bool changed = false;
    for (sti_node **s = list; *s && !t->u->failed; s = &(*s)->next) {
        sti_node *n = *s;
        sti_counted c;
        int trips;
        where inside = n->kind == STI_NODE_EACH ? ALONE : n->kind == STI_NODE_ITEMS ? ITEMS : at;
        if (n->kind == STI_NODE_BLOCK) changed |= look_through(t, &n->a, at);
        if (n->kind == STI_NODE_IF && n->c) changed |= look_through(t, &n->c->a, at);
        if (n->kind == STI_NODE_IF || inside != at) changed |= look_through(t, &n->b->a, inside);
        if (n->kind != STI_NODE_FOR) continue;
        changed |= look_through(t, &n->d->a, at);
        if (at == TEAM || !is_wanted(t, n, at == ITEMS, &c, &trips)) continue;
        const sti_node *rest = n->next;
        unroll(t, s, &c, trips);
        changed = true;
        while ((*s)->next != rest) s = &(*s)->next;
    }
    return changed;
}

bool sti_unroll(sti_transform *t, sti_node *f)
{
    return look_through(t, &f->b->a, t->kernel || f->symbol->team ? TEAM : ALONE);
}
