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

enum { MOST_WORK = 20000, MOST_SCOPE = 256 };

/* The value of a variable at this place in terms of arguments; NULL: unknown. */
typedef struct binding {
    const sti_symbol *symbol;
    sti_bound *value;
    const char *array; /* of a pointer: the kernel's parameter that it points into; `value` is the offset */
} binding;

typedef struct extent {
    sti_transform *t;
    binding scope[MOST_SCOPE];
    int count;
    int work;
    bool complained;
} extent;

/* The variable of a loop and its range. */
typedef struct range {
    sti_bound *variable, *from, *to;
} range;

/* ---- making bounds ----------------------------------------------------------------------------------------------- */

/* Makes a bound in the unit's memory. A NULL operand (unknown) gives NULL in what follows. */
static sti_bound *new_bound(extent *x, sti_bound_kind kind)
{
    static _Thread_local sti_bound none;
    sti_bound *b = sti_unit_alloc(x->t->u, sizeof *b);
    if (!b) {
        none = (sti_bound){.kind = STI_BOUND_NUMBER};
        return &none;
    }
    b->kind = kind;
    return b;
}

static sti_bound *number(extent *x, int64_t value)
{
    sti_bound *b = new_bound(x, STI_BOUND_NUMBER);
    b->number = value;
    return b;
}

static bool is_number(const sti_bound *b, int64_t value) { return b->kind == STI_BOUND_NUMBER && b->number == value; }

static sti_bound *operation(extent *x, sti_bound_kind kind, sti_bound *a, sti_bound *b)
{
    if (!a || !b) return NULL;
    if (kind == STI_BOUND_ADD && is_number(a, 0)) return b;
    if ((kind == STI_BOUND_ADD || kind == STI_BOUND_SUB) && is_number(b, 0)) return a;
    if (kind == STI_BOUND_MUL && (is_number(a, 0) || is_number(b, 1))) return a;
    if (kind == STI_BOUND_MUL && (is_number(b, 0) || is_number(a, 1))) return b;
    if (a->kind == STI_BOUND_NUMBER && b->kind == STI_BOUND_NUMBER && kind <= STI_BOUND_MUL && a->number < 1 << 24 &&
        b->number < 1 << 24 && a->number > -(1 << 24) && b->number > -(1 << 24))
        return number(x, kind == STI_BOUND_ADD   ? a->number + b->number
                         : kind == STI_BOUND_SUB ? a->number - b->number
                                                 : a->number * b->number);
    sti_bound *r = new_bound(x, kind);
    r->a = a;
    r->b = b;
    return r;
}

static bool same(const sti_bound *a, const sti_bound *b)
{
    return a == b || (a->kind == STI_BOUND_NUMBER && b->kind == STI_BOUND_NUMBER && a->number == b->number);
}

static sti_bound *greatest(extent *x, sti_bound *a, sti_bound *b)
{
    if (!a || !b) return NULL;
    if (is_number(a, 0) || same(a, b)) return b;
    if (is_number(b, 0)) return a;
    if (a->kind == STI_BOUND_NUMBER && b->kind == STI_BOUND_NUMBER) return a->number > b->number ? a : b;
    return operation(x, STI_BOUND_MAX, a, b);
}

/* Items come in groups of up to 16 lanes. If a constant limits their number, that limit is the count. */
static sti_bound *groups_of(extent *x, sti_bound *count)
{
    sti_bound *lanes = number(x, 16);
    while (count && count->kind == STI_BOUND_MIN) {
        bool left = count->a->kind == STI_BOUND_NUMBER;
        if (!left && count->b->kind != STI_BOUND_NUMBER) break;
        count = left ? count->a : count->b;
    }
    if (count && count->kind == STI_BOUND_NUMBER) return number(x, (count->number + 15) / 16 * 16);
    count = operation(x, STI_BOUND_ADD, count, number(x, 15));
    return operation(x, STI_BOUND_MUL, operation(x, STI_BOUND_DIV, count, lanes), lanes);
}

static bool depends(const sti_bound *b, const sti_bound *variable)
{
    return b && (b == variable || depends(b->a, variable) || depends(b->b, variable) || depends(b->c, variable));
}

static bool has_elements(const sti_bound *b)
{
    return b && (b->kind == STI_BOUND_ELEMENT || has_elements(b->a) || has_elements(b->b) || has_elements(b->c));
}

static bool is_data_of(const sti_bound *b, const sti_bound *variable)
{
    return has_elements(b) && depends(b, variable);
}

/*
 * The maximum of two data-dependent bounds is taken over each by itself, so that a change of the inputs of one does not
 * cause the other to be computed again.
 */
static sti_bound *greatest_over(extent *x, const range *r, sti_bound *b)
{
    if (!b || !r->variable || !depends(b, r->variable)) return b;
    if (b->kind == STI_BOUND_MAX && is_data_of(b->a, r->variable) && is_data_of(b->b, r->variable)) {
        sti_bound *left = greatest_over(x, r, b->a);
        return operation(x, STI_BOUND_MAX, left, greatest_over(x, r, b->b));
    }
    sti_bound *out = new_bound(x, STI_BOUND_OVER);
    out->variable = r->variable;
    out->a = r->from;
    out->b = r->to;
    out->c = b;
    return out;
}

/* ---- scope ------------------------------------------------------------------------------------------------------- */

/*
 * Sets the value of a symbol from here on. For a pointer: `array` is the kernel's parameter that it points into,
 * `value` the offset in elements.
 */
static void bind(extent *x, const sti_symbol *s, sti_bound *value, const char *array)
{
    if (x->count < MOST_SCOPE) x->scope[x->count++] = (binding){s, value, array};
}

static const binding *bound_to(const extent *x, const sti_symbol *s)
{
    for (int i = x->count; i-- > 0;)
        if (x->scope[i].symbol == s) return &x->scope[i];
    return NULL;
}

static sti_bound *value_of(extent *x, const sti_node *e);

/* Finds the parameter and the offset of an array of whole numbers. */
static bool find_array(extent *x, const sti_node *e, const char **name, sti_bound **offset)
{
    if (e->kind == STI_NODE_NAME && e->symbol) {
        const binding *b = bound_to(x, e->symbol);
        if (!b || !b->array) return false;
        *name = b->array;
        *offset = b->value;
        return true;
    }
    if (e->kind != STI_NODE_BINARY || !find_array(x, e->a, name, offset)) return false;
    *offset = operation(x, e->op == STI_OP_ADD ? STI_BOUND_ADD : STI_BOUND_SUB, *offset, value_of(x, e->b));
    return *offset != NULL;
}

static sti_bound *element_of(extent *x, const sti_node *e)
{
    const char *name;
    sti_bound *offset;
    if (e->type && sti_type_carries(e->type)) return NULL;
    if (!find_array(x, e->a, &name, &offset)) return NULL;
    sti_bound *index = operation(x, STI_BOUND_ADD, offset, value_of(x, e->b));
    if (!index) return NULL;
    sti_bound *b = new_bound(x, STI_BOUND_ELEMENT);
    b->name = name;
    b->a = index;
    return b;
}

static sti_bound *binary_of(extent *x, const sti_node *e)
{
    sti_bound_kind kind = e->op == STI_OP_ADD   ? STI_BOUND_ADD
                          : e->op == STI_OP_SUB ? STI_BOUND_SUB
                          : e->op == STI_OP_MUL ? STI_BOUND_MUL
                          : e->op == STI_OP_DIV ? STI_BOUND_DIV
                          : e->op == STI_OP_MOD ? STI_BOUND_MOD
                                                : STI_BOUND_NUMBER;
    if (kind == STI_BOUND_NUMBER || !e->type || !sti_type_integer(e->type)) return NULL;
    return operation(x, kind, value_of(x, e->a), value_of(x, e->b));
}

static sti_bound *value_of(extent *x, const sti_node *e)
{
    int64_t value;
    if (++x->work > MOST_WORK) return NULL;
    if (sti_constant(x->t->u, e, false, &value)) return number(x, value);
    switch (e->kind) {
    case STI_NODE_NAME: {
        const binding *b = e->symbol ? bound_to(x, e->symbol) : NULL;
        return b && !b->array ? b->value : NULL;
    }
    case STI_NODE_INDEX: return element_of(x, e);
    case STI_NODE_BINARY: return binary_of(x, e);
    case STI_NODE_CAST: return e->type && sti_type_integer(e->type) ? value_of(x, e->a) : NULL;
    case STI_NODE_CALL:
        if (strcmp(e->name->text, "nmin") == 0)
            return operation(x, STI_BOUND_MIN, value_of(x, e->a), value_of(x, e->a->next));
        if (strcmp(e->name->text, "nmax") == 0)
            return operation(x, STI_BOUND_MAX, value_of(x, e->a), value_of(x, e->a->next));
        return NULL;
    default: return NULL;
    }
}

static sti_bound *add(extent *x, sti_bound *a, sti_bound *b) { return operation(x, STI_BOUND_ADD, a, b); }

static sti_bound *multiply(extent *x, sti_bound *a, sti_bound *b) { return operation(x, STI_BOUND_MUL, a, b); }

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/*
 * Sizes of a statement: slots while its adjoint runs; entries in the list of gradients; entries that a plain run logs.
 */
typedef struct sizes {
    sti_bound *slots, *listed, *logged;
} sizes;

static sizes nothing(extent *x)
{
    sti_bound *zero = number(x, 0);
    return (sizes){zero, zero, zero};
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static sizes list_sizes(extent *x, const sti_node *list);

static range open_range(extent *x, const sti_symbol *s, sti_bound *from, sti_bound *to)
{
    range r = {new_bound(x, STI_BOUND_VARIABLE), from, to};
    r.variable->name = s->name->text;
    bind(x, s, from && to ? r.variable : NULL, NULL);
    return r;
}

static sti_bound *trips_of(extent *x, const sti_counted *c, sti_bound **from, sti_bound **to)
{
    int64_t by = c->step > 0 ? c->step : -c->step;
    sti_bound *first = value_of(x, c->from), *last = value_of(x, c->to);
    if (!first || !last) return NULL;
    if (c->step > 0) {
        *from = first;
        *to = c->included ? add(x, last, number(x, 1)) : last;
    } else {
        *from = c->included ? last : add(x, last, number(x, 1));
        *to = add(x, first, number(x, 1));
    }
    sti_bound *way = operation(x, STI_BOUND_SUB, *to, *from);
    if (by > 1) way = operation(x, STI_BOUND_DIV, add(x, way, number(x, by - 1)), number(x, by));
    if (way && way->kind == STI_BOUND_NUMBER) return way->number > 0 ? way : number(x, 0);
    return operation(x, STI_BOUND_MAX, way, number(x, 0));
}

static void refuse_loop(extent *x, const sti_node *n)
{
    if (x->complained) return;
    x->complained = true;
    sti_report_mistake(
        x->t->u, n->place,
        "how often this loop runs does not follow from the arguments, and its adjoint has to keep something of "
        "each iteration: write for (int i = 0; i < n; ++i) with a count that does, and break");
}

static sizes loop_sizes(extent *x, const sti_node *n)
{
    sti_counted c;
    const sti_region_note *note = sti_region_note_of(x->t, n);
    int scope = x->count;
    sti_bound *from = NULL, *to = NULL, *trips = sti_count_loop(x->t, n, &c) ? trips_of(x, &c, &from, &to) : NULL;
    range r = c.variable ? open_range(x, c.variable, from, to) : (range){0};
    sizes body = list_sizes(x, n->d->a);
    x->count = scope;
    sti_bound *slots = greatest_over(x, &r, body.slots);
    sti_bound *listed = greatest_over(x, &r, add(x, body.listed, number(x, note->listed)));
    if (listed && !is_number(listed, 0)) listed = multiply(x, trips, listed);
    if (note->slots > 0) slots = add(x, slots, multiply(x, trips, number(x, note->slots)));
    sti_bound *logged = greatest_over(x, &r, body.logged);
    if (logged && !is_number(logged, 0)) logged = multiply(x, trips, logged);
    if (note->slots > 0) /* the log of each iteration stays while the loop is reversed */
        slots = add(x, slots, logged);
    if (slots && listed && logged) return (sizes){slots, listed, logged};
    refuse_loop(x, n);
    return nothing(x);
}

static void bind_parameters(extent *x, const sti_node *call, const sti_node *function)
{
    const sti_node *v = function->a;
    for (const sti_node *a = call->a; a && v; a = a->next, v = v->next) {
        const char *name = NULL;
        sti_bound *value = NULL;
        if (!v->symbol) continue;
        if (!sti_type_points(v->type) && sti_type_integer(v->type) && !sti_note_of(x->t, v->symbol)->assigned)
            value = value_of(x, a);
        else if (sti_type_points(v->type) && !sti_type_carries(v->type) && !find_array(x, a, &name, &value))
            name = NULL;
        bind(x, v->symbol, value, name);
    }
}

static sizes call_sizes(extent *x, const sti_node *call)
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

static void bind_variable(extent *x, const sti_node *v)
{
    const char *name = NULL;
    sti_bound *value = NULL;
    if (!v->symbol || !v->a || sti_type_carries(v->type)) return;
    if (v->type->kind == STI_TYPE_POINTER) {
        if (sti_note_of(x->t, v->symbol)->assigned || !find_array(x, v->a, &name, &value)) return;
    } else if (!sti_type_integer(v->type) || sti_note_of(x->t, v->symbol)->assigned) {
        return;
    } else {
        value = value_of(x, v->a);
    }
    bind(x, v->symbol, value, name);
}

static sizes statement_sizes(extent *x, const sti_node *n)
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
        return (sizes){greatest(x, none.slots, other.slots), add(x, none.listed, other.listed),
                       add(x, none.logged, other.logged)};
    case STI_NODE_EXPRESSION: none.logged = number(x, (int64_t)2 * sti_log_entries(x->t, n->a)); return none;
    default: return none;
    }
}

/* The sizes of a list. What its statements log in the forward part stays while the adjoint of one of them runs. */
static sizes list_sizes(extent *x, const sti_node *list)
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
        out.slots = greatest(x, out.slots, s.slots);
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

static kernel_sizes team_list(extent *x, const sti_node *list);

static kernel_sizes no_size(extent *x)
{
    sti_bound *zero = number(x, 0);
    return (kernel_sizes){zero, zero, zero, zero};
}

/* The depth of an each. Its shares reuse the slots of its loops; the list needs slots beyond both. */
static kernel_sizes each_sizes(extent *x, const sti_node *n)
{
    int scope = x->count;
    const sti_region_note *note = sti_region_note_of(x->t, n);
    sti_bound *count = value_of(x, n->a);
    range r = open_range(x, n->symbol, number(x, 0), count);
    sizes body = list_sizes(x, n->b->a);
    sti_bound *slots = greatest_over(x, &r, greatest(x, body.slots, number(x, note->slots)));
    sti_bound *listed = greatest_over(x, &r, add(x, body.listed, number(x, note->listed)));
    x->count = scope;
    kernel_sizes out = no_size(x);
    bool items = n->kind == STI_NODE_ITEMS;
    sti_bound *depth = items ? slots : add(x, slots, listed);
    sti_bound *logged = greatest_over(x, &r, body.logged);
    bool known = depth && listed && logged, team = !items && known && sti_each_logs(x->t, n);
    bool kept = known && (team || !is_number(depth, 0) || !is_number(listed, 0));
    if (!known || (kept && !count)) {
        refuse_loop(x, n);
        return out;
    }
    out.depth = depth;
    if (items) out.entries = listed;
    if (team) out.logged = add(x, logged, number(x, STI_TEAM_LOG_SLOTS));
    if (kept) out.width = items ? groups_of(x, count) : count;
    return out;
}

static kernel_sizes team_loop(extent *x, const sti_node *n)
{
    sti_counted c;
    int scope = x->count, kept = sti_region_note_of(x->t, n)->slots;
    sti_bound *from = NULL, *to = NULL, *trips = sti_count_loop(x->t, n, &c) ? trips_of(x, &c, &from, &to) : NULL;
    range r = c.variable ? open_range(x, c.variable, from, to) : (range){0};
    kernel_sizes body = team_list(x, n->d->a);
    x->count = scope;
    kernel_sizes out = {greatest_over(x, &r, body.width), greatest_over(x, &r, body.depth),
                        greatest_over(x, &r, body.entries), greatest_over(x, &r, body.logged)};
    sti_bound *own = multiply(x, number(x, kept), trips);
    if (kept > 0) out.depth = add(x, out.depth, own);
    if (out.entries && !is_number(out.entries, 0)) out.entries = multiply(x, trips, out.entries);
    if (out.logged && !is_number(out.logged, 0)) {
        out.logged = multiply(x, trips, out.logged);
        if (kept > 0) out.depth = add(x, out.depth, out.logged);
    }
    if (!out.width || !out.depth || !out.entries || !out.logged) {
        refuse_loop(x, n);
        return no_size(x);
    }
    return out;
}

static kernel_sizes greatest_of(extent *x, const kernel_sizes *a, const kernel_sizes *b)
{
    return (kernel_sizes){greatest(x, a->width, b->width), greatest(x, a->depth, b->depth),
                          add(x, a->entries, b->entries), add(x, a->logged, b->logged)};
}

static kernel_sizes team_statement(extent *x, const sti_node *n)
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

static kernel_sizes team_list(extent *x, const sti_node *list)
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
static range bind_number(extent *x, const sti_node *v)
{
    sti_bound *count = new_bound(x, STI_BOUND_ARGUMENT);
    count->name = STI_BOUND_COUNT;
    return open_range(x, v->symbol, number(x, 0), count);
}

static range bind_arguments(extent *x, const sti_node *kernel)
{
    range all = {0};
    for (const sti_node *v = kernel->a; v; v = v->next) {
        if (!v->symbol || sti_type_carries(v->type)) continue;
        if (strcmp(v->name->text, "world") == 0 || strcmp(v->name->text, "block") == 0) {
            if (!sti_note_of(x->t, v->symbol)->assigned) all = bind_number(x, v);
            continue;
        }
        if (sti_type_points(v->type)) {
            if (!v->symbol->written) bind(x, v->symbol, number(x, 0), v->name->text);
        } else if (!sti_note_of(x->t, v->symbol)->assigned) {
            sti_bound *b = new_bound(x, STI_BOUND_ARGUMENT);
            b->name = v->name->text;
            bind(x, v->symbol, b, NULL);
        }
    }
    return all;
}

void sti_extent_of(sti_transform *t, const sti_node *kernel, bool lists, sti_extents *out)
{
    extent *x = sti_unit_alloc(t->u, sizeof *x);
    if (!x) return;
    x->t = t;
    range all = bind_arguments(x, kernel);
    kernel_sizes s = team_list(x, kernel->b->a);
    out->width = greatest(x, number(x, 1), greatest_over(x, &all, s.width));
    out->depth = greatest_over(x, &all, s.depth);
    if (lists) /* the first slot holds the number of entries */
        out->entries = add(x, greatest_over(x, &all, s.entries), number(x, 1));
}
