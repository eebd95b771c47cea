/*
 * Derives the sizes of tapes; see extent.h.
 *
 * Within one iteration of an each (or in the team's own code) loops one after the other use the same slots, and nested
 * loops add up their slots: a loop's iterations are reversed from last to first, and each runs its inner loops again.
 * Entries in the list of gradients stay until the iteration ends, so their numbers are multiplied by the trips.
 */
#include "adjoint/sizing/extent.h"

#include "kernel/check/flow.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

#include <string.h>

/*
 * Sizes of a statement: slots while its adjoint runs; entries in the list of gradients; entries that a plain run logs.
 */
typedef struct sizes {
    sti_bound *slots, *listed, *logged;
} sizes;

static sti_bound *add(sti_extent *x, sti_bound *a, sti_bound *b)
{
    return sti_extent_operation(x, STI_BOUND_ADD, a, b);
}

static sti_bound *multiply(sti_extent *x, sti_bound *a, sti_bound *b)
{
    return sti_extent_operation(x, STI_BOUND_MUL, a, b);
}

static sti_bound *number(sti_extent *x, int64_t value) { return sti_extent_number(x, value); }

static sizes nothing(sti_extent *x)
{
    sti_bound *zero = number(x, 0);
    return (sizes){zero, zero, zero};
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static sizes list_sizes(sti_extent *x, const sti_node *list);

static sti_range open_range(sti_extent *x, const sti_symbol *s, sti_bound *from, sti_bound *to)
{
    sti_range r = {sti_extent_bound(x, STI_BOUND_VARIABLE), from, to};
    r.variable->name = s->name->text;
    sti_extent_bind(x, s, from && to ? r.variable : NULL, NULL);
    return r;
}

static sti_bound *trips_of(sti_extent *x, const sti_counted *c, sti_bound **from, sti_bound **to)
{
    int64_t by = c->step > 0 ? c->step : -c->step;
    sti_bound *first = sti_extent_value(x, c->from), *last = sti_extent_value(x, c->to);
    if (!first || !last) return NULL;
    if (c->step > 0) {
        *from = first;
        *to = c->included ? add(x, last, number(x, 1)) : last;
    } else {
        *from = c->included ? last : add(x, last, number(x, 1));
        *to = add(x, first, number(x, 1));
    }
    sti_bound *way = sti_extent_operation(x, STI_BOUND_SUB, *to, *from);
    if (by > 1) way = sti_extent_operation(x, STI_BOUND_DIV, add(x, way, number(x, by - 1)), number(x, by));
    return way && way->kind != STI_BOUND_NUMBER ? sti_extent_operation(x, STI_BOUND_MAX, way, number(x, 0)) : way;
}

static void refuse_loop(sti_extent *x, const sti_node *n)
{
    if (x->complained) return;
    x->complained = true;
    sti_complain(
        x->t->u, n->place,
        "how often this loop runs does not follow from the arguments, and its adjoint has to keep something of "
        "each iteration: write for (int i = 0; i < n; ++i) with a count that does, and break");
}

static sizes loop_sizes(sti_extent *x, const sti_node *n)
{
    sti_counted c;
    const sti_region_note *note = sti_region_note_of(x->t, n);
    int scope = x->count;
    sti_bound *from = NULL, *to = NULL, *trips = sti_count_loop(x->t, n, &c) ? trips_of(x, &c, &from, &to) : NULL;
    sti_range r = c.variable ? open_range(x, c.variable, from, to) : (sti_range){0};
    sizes body = list_sizes(x, n->d->a);
    x->count = scope;
    sti_bound *slots = sti_extent_over(x, &r, body.slots);
    sti_bound *listed = sti_extent_over(x, &r, add(x, body.listed, number(x, note->listed)));
    if (listed && !sti_is_number(listed, 0)) listed = multiply(x, trips, listed);
    if (note->slots > 0) slots = add(x, slots, multiply(x, trips, number(x, note->slots)));
    sti_bound *logged = sti_extent_over(x, &r, body.logged);
    if (logged && !sti_is_number(logged, 0)) logged = multiply(x, trips, logged);
    if (note->slots > 0) /* the log of each iteration stays while the loop is reversed */
        slots = add(x, slots, logged);
    if (slots && listed && logged) return (sizes){slots, listed, logged};
    refuse_loop(x, n);
    return nothing(x);
}

static void bind_parameters(sti_extent *x, const sti_node *call, const sti_node *function)
{
    const sti_node *v = function->a;
    for (const sti_node *a = call->a; a && v; a = a->next, v = v->next) {
        const char *name = NULL;
        sti_bound *value = NULL;
        if (!v->symbol) continue;
        if (!sti_type_points(v->type) && sti_type_integer(v->type) && !sti_note_of(x->t, v->symbol)->assigned)
            value = sti_extent_value(x, a);
        else if (sti_type_points(v->type) && !sti_type_carries(v->type) && !sti_extent_array(x, a, &name, &value))
            name = NULL;
        sti_extent_bind(x, v->symbol, value, name);
    }
}

static sizes call_sizes(sti_extent *x, const sti_node *call)
{
    const sti_node *f = call->symbol->node;
    int scope = x->count;
    if (!f || !sti_function_note_of(x->t, call->symbol)->taped) return nothing(x);
    bind_parameters(x, call, f);
    sizes out = list_sizes(x, f->b->a);
    x->count = scope;
    out.logged = number(x, 0); /* its adjoint logs; the call itself does not */
    return out;
}

static void bind_variable(sti_extent *x, const sti_node *v)
{
    const char *name = NULL;
    sti_bound *value = NULL;
    if (!v->symbol || !v->a || sti_type_carries(v->type)) return;
    if (v->type->kind == STI_TYPE_POINTER) {
        if (sti_note_of(x->t, v->symbol)->assigned || !sti_extent_array(x, v->a, &name, &value)) return;
    } else if (!sti_type_integer(v->type) || sti_note_of(x->t, v->symbol)->assigned) {
        return;
    } else {
        value = sti_extent_value(x, v->a);
    }
    sti_extent_bind(x, v->symbol, value, name);
}

static sizes statement_sizes(sti_extent *x, const sti_node *n)
{
    sizes none = nothing(x), other;
    const sti_node *call = sti_call_of_statement(n);
    if (x->work++ > MOST_WORK) {
        refuse_loop(x, n);
        return none;
    }
    if (call) none = call_sizes(x, call);
    switch (n->kind) {
    case STI_NODE_DECLARE: bind_variable(x, n->a); return none;
    case STI_NODE_BLOCK: return list_sizes(x, n->a);
    case STI_NODE_FOR: return loop_sizes(x, n);
    case STI_NODE_IF:
        none = list_sizes(x, n->b->a);
        if (!n->c) return none;
        other = list_sizes(x, n->c->a);
        return (sizes){sti_extent_greatest(x, none.slots, other.slots), add(x, none.listed, other.listed),
                       add(x, none.logged, other.logged)};
    case STI_NODE_EXPRESSION: none.logged = number(x, (int64_t)2 * sti_log_entries(x->t, n->a)); return none;
    default: return none;
    }
}

/* The sizes of a list. What its statements log in the forward part stays while the adjoint of one of them runs. */
static sizes list_sizes(sti_extent *x, const sti_node *list)
{
    sizes out = nothing(x);
    sti_bound *stays = out.logged;
    int scope = x->count;
    for (const sti_node *n = list; n && !x->t->u->failed; n = n->next) {
        sizes s = statement_sizes(x, n);
        bool plain =
            /* otherwise it is saved in variables, or does not run */
            n->kind != STI_NODE_EXPRESSION && !sti_last_of_list(n);
        if (plain) stays = add(x, stays, s.logged);
        out.slots = sti_extent_greatest(x, out.slots, s.slots);
        out.listed = add(x, out.listed, s.listed);
        out.logged = add(x, out.logged, s.logged);
    }
    out.slots = add(x, out.slots, stays);
    x->count = scope;
    return out;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* The greatest sizes that a list's statements need. Entries of items' lists are added up, as they stay to the end. */
typedef struct kernel_sizes {
    sti_bound *width, *depth, *entries;
    sti_bound *logged; /* slots that the team's log takes in a plain run */
} kernel_sizes;

static kernel_sizes team_list(sti_extent *x, const sti_node *list);

static kernel_sizes no_size(sti_extent *x)
{
    sti_bound *zero = number(x, 0);
    return (kernel_sizes){zero, zero, zero, zero};
}

/* The depth of an each. Its shares reuse the slots of its loops; the list needs slots beyond both. */
static kernel_sizes each_sizes(sti_extent *x, const sti_node *n)
{
    int scope = x->count;
    const sti_region_note *note = sti_region_note_of(x->t, n);
    sti_bound *count = sti_extent_value(x, n->a);
    sti_range r = open_range(x, n->symbol, number(x, 0), count);
    sizes body = list_sizes(x, n->b->a);
    sti_bound *slots = sti_extent_over(x, &r, sti_extent_greatest(x, body.slots, number(x, note->slots)));
    sti_bound *listed = sti_extent_over(x, &r, add(x, body.listed, number(x, note->listed)));
    x->count = scope;
    kernel_sizes out = no_size(x);
    bool items = n->kind == STI_NODE_ITEMS;
    sti_bound *depth = items ? slots : add(x, slots, listed);
    sti_bound *logged = sti_extent_over(x, &r, body.logged);
    bool known = depth && listed && logged, team = !items && known && sti_each_logs(x->t, n);
    bool kept = known && (team || !sti_is_number(depth, 0) || !sti_is_number(listed, 0));
    if (!known || (kept && !count)) {
        refuse_loop(x, n);
        return out;
    }
    out.depth = depth;
    if (items) out.entries = listed;
    if (team) out.logged = add(x, logged, number(x, STI_TEAM_LOG_SLOTS));
    if (kept) out.width = items ? sti_extent_groups(x, count) : count;
    return out;
}

static kernel_sizes team_loop(sti_extent *x, const sti_node *n)
{
    sti_counted c;
    int scope = x->count, kept = sti_region_note_of(x->t, n)->slots;
    sti_bound *from = NULL, *to = NULL, *trips = sti_count_loop(x->t, n, &c) ? trips_of(x, &c, &from, &to) : NULL;
    sti_range r = c.variable ? open_range(x, c.variable, from, to) : (sti_range){0};
    kernel_sizes body = team_list(x, n->d->a);
    x->count = scope;
    kernel_sizes out = {sti_extent_over(x, &r, body.width), sti_extent_over(x, &r, body.depth),
                        sti_extent_over(x, &r, body.entries), sti_extent_over(x, &r, body.logged)};
    sti_bound *own = multiply(x, number(x, kept), trips);
    if (kept > 0) out.depth = add(x, out.depth, own);
    if (out.entries && !sti_is_number(out.entries, 0)) out.entries = multiply(x, trips, out.entries);
    if (out.logged && !sti_is_number(out.logged, 0)) {
        out.logged = multiply(x, trips, out.logged);
        if (kept > 0) out.depth = add(x, out.depth, out.logged);
    }
    if (!out.width || !out.depth || !out.entries || !out.logged) {
        refuse_loop(x, n);
        return no_size(x);
    }
    return out;
}

static kernel_sizes greatest_of(sti_extent *x, const kernel_sizes *a, const kernel_sizes *b)
{
    return (kernel_sizes){sti_extent_greatest(x, a->width, b->width), sti_extent_greatest(x, a->depth, b->depth),
                          add(x, a->entries, b->entries), add(x, a->logged, b->logged)};
}

static kernel_sizes team_statement(sti_extent *x, const sti_node *n)
{
    kernel_sizes one = no_size(x), other;
    switch (n->kind) {
    case STI_NODE_DECLARE: bind_variable(x, n->a); return one;
    case STI_NODE_EACH:
    case STI_NODE_ITEMS: return each_sizes(x, n);
    case STI_NODE_BLOCK: return team_list(x, n->a);
    case STI_NODE_IF:
        one = team_list(x, n->b->a);
        if (!n->c) return one;
        other = team_list(x, n->c->a);
        return greatest_of(x, &one, &other);
    case STI_NODE_FOR: return team_loop(x, n);
    default: {
        sizes s = statement_sizes(x, n);
        one.depth = add(x, s.slots, s.listed);
        return one;
    }
    }
}

static kernel_sizes team_list(sti_extent *x, const sti_node *list)
{
    kernel_sizes out = no_size(x);
    int scope = x->count;
    for (const sti_node *n = list; n && !x->t->u->failed; n = n->next) {
        kernel_sizes s = team_statement(x, n);
        out = greatest_of(x, &out, &s);
    }
    out.depth = add(x, out.depth, out.logged);
    x->count = scope;
    return out;
}

/* `world` and `block` are no arguments: their range is the launch's count. */
static sti_range bind_number(sti_extent *x, const sti_node *v)
{
    sti_bound *count = sti_extent_bound(x, STI_BOUND_ARGUMENT);
    count->name = STI_BOUND_COUNT;
    return open_range(x, v->symbol, number(x, 0), count);
}

static sti_range bind_arguments(sti_extent *x, const sti_node *kernel)
{
    sti_range all = {0};
    for (const sti_node *v = kernel->a; v; v = v->next) {
        if (!v->symbol || sti_type_carries(v->type)) continue;
        if (strcmp(v->name->text, "world") == 0 || strcmp(v->name->text, "block") == 0) {
            if (!sti_note_of(x->t, v->symbol)->assigned) all = bind_number(x, v);
            continue;
        }
        if (sti_type_points(v->type)) {
            if (!v->symbol->written) sti_extent_bind(x, v->symbol, number(x, 0), v->name->text);
        } else if (!sti_note_of(x->t, v->symbol)->assigned) {
            sti_bound *b = sti_extent_bound(x, STI_BOUND_ARGUMENT);
            b->name = v->name->text;
            sti_extent_bind(x, v->symbol, b, NULL);
        }
    }
    return all;
}

void sti_extent_of(sti_transform *t, const sti_node *kernel, bool lists, sti_extents *out)
{
    sti_extent *x = sti_unit_alloc(t->u, sizeof *x);
    if (!x) return;
    x->t = t;
    sti_range all = bind_arguments(x, kernel);
    kernel_sizes s = team_list(x, kernel->b->a);
    out->width = sti_extent_greatest(x, number(x, 1), sti_extent_over(x, &all, s.width));
    out->depth = sti_extent_over(x, &all, s.depth);
    if (lists) /* the first slot holds the number of entries */
        out->entries = add(x, sti_extent_over(x, &all, s.entries), number(x, 1));
}
