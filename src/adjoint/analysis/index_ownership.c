/*
 * Finds which elements of an array belong to one iteration of an each, by their indices: stride * (the each's variable)
 * + a number in a range that is narrower than the stride. See transform.h.
 */
#include "adjoint/transform/transform.h"
#include "kernel/check/flow.h"
#include "kernel/check/type.h"

#include <string.h>

typedef sti_linear linear;

static bool add_index_ownership(linear *sum, const linear *b, int64_t times)
{
    int64_t one = b->low * times, other = b->high * times;
    sum->stride += b->stride * times;
    sum->block += b->block * times;
    sum->lane += b->lane * times;
    sum->low += one < other ? one : other;
    sum->high += one < other ? other : one;
    const int64_t all[] = {sum->low, sum->high, sum->stride, sum->block, sum->lane};
    for (int i = 0; i < 5; ++i)
        if (all[i] <= -(1LL << 40) || all[i] >= 1LL << 40) return false;
    return true;
}

static bool is_fixed(const linear *l) { return !l->stride && !l->block && !l->lane && l->low == l->high; }

static bool linear_of(sti_transform *t, const sti_node *e, linear *out);

bool sti_saves_index(const sti_type *type)
{
    return type->kind == STI_TYPE_INT || type->kind == STI_TYPE_I64 || type->kind == STI_TYPE_LINT;
}

/* A variable: that of a loop with constant ends, or one with the value of its declaration. */
static bool linear_of_name(sti_transform *t, const sti_node *e, linear *out)
{
    sti_counted c;
    const sti_note *n = sti_note_of(t, e->symbol);
    *out = (linear){0};
    if (t->each && e->symbol == t->each->symbol) {
        out->stride = 1;
        return true;
    }
    if (t->items && e->symbol->kind == STI_SYMBOL_PARAMETER && strcmp(e->symbol->name->text, "block") == 0) {
        out->block = 1;
        return !n->assigned;
    }
    if (n->loop)
        return sti_count_loop(t, n->loop, &c) && sti_loop_range(t, &c, &out->low, &out->high) &&
               out->low > -(1 << 30) && out->high < 1 << 30;
    const sti_node *v = e->symbol->node;
    bool fixed = !n->assigned && v && v->kind == STI_NODE_VARIABLE && v->a && sti_saves_index(v->type);
    return fixed && linear_of(t, v->a, out);
}

/* lane(), and plain numbers as lanes. */
static bool linear_of_call(sti_transform *t, const sti_node *e, linear *out)
{
    if (!e->symbol || e->symbol->kind != STI_SYMBOL_LIBRARY) return false;
    if (strcmp(e->name->text, "isplat") == 0) return linear_of(t, e->a, out);
    out->lane = strcmp(e->name->text, "lane") == 0;
    return out->lane == 1;
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
    if (e->kind == STI_NODE_CAST) return sti_saves_index(e->named) && linear_of(t, e->a, out);
    if (e->kind == STI_NODE_CALL) return linear_of_call(t, e, out);
    if (e->kind != STI_NODE_BINARY) return false;
    if (e->op == STI_OP_ADD || e->op == STI_OP_SUB) {
        if (!linear_of(t, e->a, &a) || !linear_of(t, e->b, &b)) return false;
        return add_index_ownership(out, &a, 1) && add_index_ownership(out, &b, e->op == STI_OP_ADD ? 1 : -1);
    }
    if (e->op != STI_OP_MUL) return false;
    if (!linear_of(t, e->a, &a) || !linear_of(t, e->b, &b)) return false;
    if (is_fixed(&b)) return add_index_ownership(out, &a, b.low);
    return is_fixed(&a) && add_index_ownership(out, &b, a.low);
}

bool sti_linear_of_value(sti_transform *t, const sti_node *e, sti_linear *out) { return linear_of(t, e, out); }

/* The offset of a pointer in its array. */
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
    return add_index_ownership(out, &a, 1) && add_index_ownership(out, &b, e->op == STI_OP_ADD ? 1 : -1);
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
    return add_index_ownership(out, &a, 1) && add_index_ownership(out, &b, 1);
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
    return known && !l.block && !l.lane;
}

bool sti_team_owns(sti_transform *t, const sti_symbol *array)
{
    return t->each && sti_note_of(t, array)->code == STI_PLACES_OWN;
}

/* Widens the known range of an array by the places where it is used. */
static void note_linear(sti_transform *t, const sti_symbol *array, bool known, const linear *l)
{
    sti_note *n = sti_note_of(t, array);
    int code = !known || l->block || l->lane ? STI_PLACES_SHARED : l->stride == 0 ? STI_PLACES_FIXED : STI_PLACES_OWN;
    if (code == STI_PLACES_SHARED || (n->code != 0 && n->code != code)) {
        n->code = STI_PLACES_SHARED;
        return;
    }
    if (n->code == 0) {
        n->code = code;
        n->stride = l->stride;
        n->low = l->low;
        n->high = l->high;
    }
    if (n->stride != l->stride) n->code = STI_PLACES_SHARED;
    n->low = l->low < n->low ? l->low : n->low;
    n->high = l->high > n->high ? l->high : n->high;
    int64_t stride = n->stride < 0 ? -n->stride : n->stride;
    if (stride > 0 && n->high - n->low >= stride) n->code = STI_PLACES_SHARED;
}

static void forget_owner(sti_symbol *s, void *context)
{
    sti_transform *t = context;
    if (s->kind == STI_SYMBOL_STAGED)
        sti_origins(s->node->a, forget_owner, t);
    else
        sti_note_of(t, s)->code = STI_PLACES_SHARED;
}

static void note_place(sti_transform *t, const sti_node *place, int64_t less, int64_t more)
{
    bool only;
    linear l;
    const sti_symbol *array = sti_origin_of(place, &only);
    if (!array || !sti_is_array_symbol(array)) return;
    if (!only) { /* it may be any of them */
        sti_origins((sti_node *)(uintptr_t)place, forget_owner, t);
        return;
    }
    bool known = sti_linear_of_place(t, place, &l);
    if (known) l.low += less, l.high += more;
    note_linear(t, array, known, &l);
}

static void note_lanes(sti_transform *t, const sti_node *call)
{
    bool only;
    linear l;
    const sti_symbol *array = sti_origin_of(call->a, &only);
    if (!array || !sti_is_array_symbol(array)) return;
    bool known = only && sti_linear_of_lanes(t, call, &l);
    note_linear(t, array, known, &l);
}

/* Arrays that are passed to functions: notes the elements that the functions touch. */
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
            sti_note_of(t, array)->code = STI_PLACES_SHARED;
    }
}

void sti_note_places(sti_transform *t, const sti_node *n)
{
    for (; n; n = n->next) {
        bool place = n->kind == STI_NODE_INDEX || (n->kind == STI_NODE_UNARY && n->op == STI_OP_MUL);
        if (place && n->type && sti_type_real(n->type)) note_place(t, n, 0, 0);
        if (sti_store_of(n) >= 0 && n->kind == STI_NODE_CALL && strncmp(n->name->text, "put", 3) == 0)
            note_place(t, sti_stored_element(t, n, 0), 0, n->name->text[3] == '4' ? 3 : 0);
        if (sti_lane_read(n)) note_lanes(t, n);
        if (n->kind == STI_NODE_CALL && strcmp(n->name->text, "load4") == 0)
            note_place(t, sti_loaded_element(t, n, 0), 0, 3);
        if (n->kind == STI_NODE_CALL && n->symbol && n->symbol->kind == STI_SYMBOL_FUNCTION) note_arguments(t, n);
        sti_note_places(t, n->a);
        sti_note_places(t, n->b);
        sti_note_places(t, n->c);
        sti_note_places(t, n->d);
    }
}
