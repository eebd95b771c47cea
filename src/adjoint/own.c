/*
 * Which elements of an array belong to one iteration of an each, by their indices: stride * (its variable) + something in a range that is
 * narrower than the stride. See transform.h.
 */
#include "adjoint/transform.h"
#include "kernel/check/flow.h"
#include "kernel/check/type.h"

#include <string.h>

typedef sti_linear linear;

static bool add(linear *sum, const linear *b, int64_t times)
{
    int64_t one = b->low * times, other = b->high * times;
    sum->stride += b->stride * times;
    sum->low += one < other ? one : other;
    sum->high += one < other ? other : one;
    return sum->low > -(1LL << 40) && sum->high < 1LL << 40 && sum->stride > -(1LL << 40) && sum->stride < 1LL << 40;
}

static bool linear_of(sti_transform *t, const sti_node *e, linear *out);

/* A variable of a loop with constant ends, or one that is what it was declared to be. */
static bool linear_of_name(sti_transform *t, const sti_node *e, linear *out)
{
    sti_counted c;
    int64_t from, to;
    const sti_note *n = sti_note_of(t, e->symbol);
    *out = (linear){0};
    if (t->each && e->symbol == t->each->symbol) {
        out->stride = 1;
        return true;
    }
    if (n->loop && sti_count_loop(t, n->loop, &c) && c.variable == e->symbol) {
        if (!sti_constant(t->u, c.from, false, &from) || !sti_constant(t->u, c.to, false, &to)) return false;
        *out = c.step > 0 ? (linear){0, from, to - 1 + c.included} : (linear){0, to + 1 - c.included, from};
        return out->low <= out->high && out->low > -(1 << 30) && out->high < 1 << 30;
    }
    const sti_node *v = e->symbol->node;
    if (n->assigned || !v || v->kind != STI_NODE_VARIABLE || !v->a || !sti_type_integer(sti_type_value(v->type)))
        return false;
    return linear_of(t, v->a, out);
}

static bool linear_of(sti_transform *t, const sti_node *e, linear *out)
{
    int64_t value;
    linear a, b;
    *out = (linear){0};
    if (sti_constant(t->u, e, false, &value)) {
        out->low = out->high = value;
        return value > -(1LL << 30) && value < 1LL << 30;
    }
    if (e->kind == STI_NODE_NAME && e->symbol) return linear_of_name(t, e, out);
    if (e->kind == STI_NODE_CAST) return linear_of(t, e->a, out);
    if (e->kind != STI_NODE_BINARY) return false;
    if (e->op == STI_OP_ADD || e->op == STI_OP_SUB) {
        if (!linear_of(t, e->a, &a) || !linear_of(t, e->b, &b)) return false;
        return add(out, &a, 1) && add(out, &b, e->op == STI_OP_ADD ? 1 : -1);
    }
    if (e->op != STI_OP_MUL) return false;
    if (sti_constant(t->u, e->b, false, &value)) return linear_of(t, e->a, &a) && add(out, &a, value);
    if (sti_constant(t->u, e->a, false, &value)) return linear_of(t, e->b, &b) && add(out, &b, value);
    return false;
}

/* Where a pointer points in its array. */
static bool linear_of_pointer(sti_transform *t, const sti_node *e, linear *out)
{
    linear a, b;
    *out = (linear){0};
    if (e->kind == STI_NODE_NAME && e->symbol) {
        const sti_node *v = e->symbol->node;
        if (e->symbol->kind == STI_SYMBOL_STAGED) return linear_of_pointer(t, v->a, out);
        if (e->symbol->kind != STI_SYMBOL_VARIABLE || e->type->kind == STI_TYPE_ARRAY) return true;
        return v && v->a && !sti_note_of(t, e->symbol)->assigned && linear_of_pointer(t, v->a, out);
    }
    if (e->kind != STI_NODE_BINARY || !e->a->type || !sti_type_points(e->a->type)) return false;
    if (!linear_of_pointer(t, e->a, &a) || !linear_of(t, e->b, &b)) return false;
    return add(out, &a, 1) && add(out, &b, e->op == STI_OP_ADD ? 1 : -1);
}

bool sti_linear_of_place(sti_transform *t, const sti_node *place, linear *out)
{
    linear a, b;
    if (place->kind == STI_NODE_UNARY) return linear_of_pointer(t, place->a, out);
    *out = (linear){0};
    if (place->kind != STI_NODE_INDEX && place->type && sti_type_points(place->type))
        return linear_of_pointer(t, place, out);
    if (place->kind != STI_NODE_INDEX || !linear_of_pointer(t, place->a, &a) || !linear_of(t, place->b, &b))
        return false;
    return add(out, &a, 1) && add(out, &b, 1);
}

bool sti_constant_range(sti_transform *t, const sti_node *place, int64_t *low, int64_t *high)
{
    linear l;
    const sti_node *each = t->each;
    t->each = NULL;
    bool known = sti_linear_of_place(t, place, &l);
    t->each = (sti_node *)(uintptr_t)each;
    *low = l.low;
    *high = l.high;
    return known;
}

bool sti_team_owns(sti_transform *t, const sti_symbol *array) { return t->each && sti_note_of(t, array)->code == -2; }

/* Widens what is known of an array by one place where it is used; a stride of 0: its elements belong to nobody. */
static void note_place(sti_transform *t, const sti_node *place, int64_t less, int64_t more)
{
    bool only;
    linear l;
    const sti_symbol *array = sti_origin_of(place, &only);
    if (!array || !sti_is_array_symbol(array)) return;
    sti_note *n = sti_note_of(t, array);
    if (!only || !sti_linear_of_place(t, place, &l) || l.stride == 0) {
        n->code = -1;
        return;
    }
    l.low += less;
    l.high += more;
    if (n->code == 0) {
        n->code = -2;
        n->stride = l.stride;
        n->low = l.low;
        n->high = l.high;
    }
    if (n->stride != l.stride) n->code = -1;
    n->low = l.low < n->low ? l.low : n->low;
    n->high = l.high > n->high ? l.high : n->high;
    int64_t stride = n->stride < 0 ? -n->stride : n->stride;
    if (n->high - n->low >= stride) n->code = -1;
}

/* Arrays that go into functions: what these touch of them. */
static void note_arguments(sti_transform *t, const sti_node *call)
{
    int n = 0;
    for (const sti_node *a = call->a; a; a = a->next, ++n) {
        const sti_symbol *p = sti_flow_parameter(call, n);
        sti_window w;
        bool only;
        if (!p || !a->type || !sti_type_points(a->type) || !sti_type_carries(a->type)) continue;
        sti_symbol *array = sti_origin_of(a, &only);
        if (sti_window_of(t, p, call->symbol, &w))
            note_place(t, a, w.low, w.high);
        else if (array && sti_is_array_symbol(array))
            sti_note_of(t, array)->code = -1;
    }
}

void sti_note_places(sti_transform *t, const sti_node *n)
{
    for (; n; n = n->next) {
        if (n->kind == STI_NODE_FOR && n->a && n->a->kind == STI_NODE_DECLARE && n->a->a->symbol)
            sti_note_of(t, n->a->a->symbol)->loop = n;
        bool place = n->kind == STI_NODE_INDEX || (n->kind == STI_NODE_UNARY && n->op == STI_OP_MUL);
        if (place && n->type && sti_type_real(n->type)) note_place(t, n, 0, 0);
        if (sti_store_of(n) >= 0 && n->kind == STI_NODE_CALL && strncmp(n->name->text, "put", 3) == 0)
            note_place(t, sti_stored_element(t, n, 0), 0, n->name->text[3] == '4' ? 3 : 0);
        if (n->kind == STI_NODE_CALL && strcmp(n->name->text, "load4") == 0)
            note_place(t, sti_loaded_element(t, n, 0), 0, 3);
        if (n->kind == STI_NODE_CALL && n->symbol && n->symbol->kind == STI_SYMBOL_FUNCTION) note_arguments(t, n);
        sti_note_places(t, n->a);
        sti_note_places(t, n->b);
        sti_note_places(t, n->c);
        sti_note_places(t, n->d);
    }
}
