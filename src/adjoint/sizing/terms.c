/*
 * Derives bounds over a kernel's arguments from expressions of its source; see extent.h.
 */
#include "adjoint/sizing/extent.h"
#include "kernel/check/type.h"

#include <string.h>

/* ---- making bounds ----------------------------------------------------------------------------------------------- */

sti_bound *sti_extent_bound(sti_extent *x, sti_bound_kind kind)
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

sti_bound *sti_extent_number(sti_extent *x, int64_t value)
{
    sti_bound *b = sti_extent_bound(x, STI_BOUND_NUMBER);
    b->number = value;
    return b;
}

bool sti_is_number(const sti_bound *b, int64_t value) { return b->kind == STI_BOUND_NUMBER && b->number == value; }

sti_bound *sti_extent_operation(sti_extent *x, sti_bound_kind kind, sti_bound *a, sti_bound *b)
{
    if (!a || !b) return NULL;
    if (kind == STI_BOUND_ADD && sti_is_number(a, 0)) return b;
    if ((kind == STI_BOUND_ADD || kind == STI_BOUND_SUB) && sti_is_number(b, 0)) return a;
    if (kind == STI_BOUND_MUL && (sti_is_number(a, 0) || sti_is_number(b, 1))) return a;
    if (kind == STI_BOUND_MUL && (sti_is_number(b, 0) || sti_is_number(a, 1))) return b;
    if (a->kind == STI_BOUND_NUMBER && b->kind == STI_BOUND_NUMBER && kind <= STI_BOUND_MUL && a->number < 1 << 24 &&
        b->number < 1 << 24 && a->number > -(1 << 24) && b->number > -(1 << 24))
        return sti_extent_number(x, kind == STI_BOUND_ADD   ? a->number + b->number
                                    : kind == STI_BOUND_SUB ? a->number - b->number
                                                            : a->number * b->number);
    sti_bound *r = sti_extent_bound(x, kind);
    r->a = a;
    r->b = b;
    return r;
}

static bool same(const sti_bound *a, const sti_bound *b)
{
    return a == b || (a->kind == STI_BOUND_NUMBER && b->kind == STI_BOUND_NUMBER && a->number == b->number);
}

sti_bound *sti_extent_greatest(sti_extent *x, sti_bound *a, sti_bound *b)
{
    if (!a || !b) return NULL;
    if (sti_is_number(a, 0) || same(a, b)) return b;
    if (sti_is_number(b, 0)) return a;
    if (a->kind == STI_BOUND_NUMBER && b->kind == STI_BOUND_NUMBER) return a->number > b->number ? a : b;
    return sti_extent_operation(x, STI_BOUND_MAX, a, b);
}

/* Items come in groups of up to 16 lanes. If a constant limits their number, that limit is the count. */
sti_bound *sti_extent_groups(sti_extent *x, sti_bound *count)
{
    sti_bound *lanes = sti_extent_number(x, 16);
    while (count && count->kind == STI_BOUND_MIN) {
        bool left = count->a->kind == STI_BOUND_NUMBER;
        if (!left && count->b->kind != STI_BOUND_NUMBER) break;
        count = left ? count->a : count->b;
    }
    if (count && count->kind == STI_BOUND_NUMBER) return sti_extent_number(x, (count->number + 15) / 16 * 16);
    count = sti_extent_operation(x, STI_BOUND_ADD, count, sti_extent_number(x, 15));
    return sti_extent_operation(x, STI_BOUND_MUL, sti_extent_operation(x, STI_BOUND_DIV, count, lanes), lanes);
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
sti_bound *sti_extent_over(sti_extent *x, const sti_range *r, sti_bound *b)
{
    if (!b || !r->variable || !depends(b, r->variable)) return b;
    if (b->kind == STI_BOUND_MAX && is_data_of(b->a, r->variable) && is_data_of(b->b, r->variable)) {
        sti_bound *left = sti_extent_over(x, r, b->a);
        return sti_extent_operation(x, STI_BOUND_MAX, left, sti_extent_over(x, r, b->b));
    }
    sti_bound *out = sti_extent_bound(x, STI_BOUND_OVER);
    out->variable = r->variable;
    out->a = r->from;
    out->b = r->to;
    out->c = b;
    return out;
}

/* ---- scope ------------------------------------------------------------------------------------------------------- */

void sti_extent_bind(sti_extent *x, const sti_symbol *s, sti_bound *value, const char *array)
{
    if (x->count < MOST_SCOPE) x->scope[x->count++] = (sti_extent_variable){s, value, array};
}

static const sti_extent_variable *bound_to(const sti_extent *x, const sti_symbol *s)
{
    for (int i = x->count; i-- > 0;)
        if (x->scope[i].symbol == s) return &x->scope[i];
    return NULL;
}

sti_bound *sti_extent_value(sti_extent *x, const sti_node *e);

/* Finds the parameter and the offset of an array of whole numbers. */
bool sti_extent_array(sti_extent *x, const sti_node *e, const char **name, sti_bound **offset)
{
    if (e->kind == STI_NODE_NAME && e->symbol) {
        const sti_extent_variable *b = bound_to(x, e->symbol);
        if (!b || !b->array) return false;
        *name = b->array;
        *offset = b->value;
        return true;
    }
    if (e->kind != STI_NODE_BINARY || !sti_extent_array(x, e->a, name, offset)) return false;
    *offset = sti_extent_operation(x, e->op == STI_OP_ADD ? STI_BOUND_ADD : STI_BOUND_SUB, *offset,
                                   sti_extent_value(x, e->b));
    return *offset != NULL;
}

static sti_bound *element_of(sti_extent *x, const sti_node *e)
{
    const char *name;
    sti_bound *offset;
    if (e->type && sti_type_carries(e->type)) return NULL;
    if (!sti_extent_array(x, e->a, &name, &offset)) return NULL;
    sti_bound *index = sti_extent_operation(x, STI_BOUND_ADD, offset, sti_extent_value(x, e->b));
    if (!index) return NULL;
    sti_bound *b = sti_extent_bound(x, STI_BOUND_ELEMENT);
    b->name = name;
    b->a = index;
    return b;
}

static sti_bound *binary_of(sti_extent *x, const sti_node *e)
{
    sti_bound_kind kind = e->op == STI_OP_ADD   ? STI_BOUND_ADD
                          : e->op == STI_OP_SUB ? STI_BOUND_SUB
                          : e->op == STI_OP_MUL ? STI_BOUND_MUL
                          : e->op == STI_OP_DIV ? STI_BOUND_DIV
                          : e->op == STI_OP_MOD ? STI_BOUND_MOD
                                                : STI_BOUND_NUMBER;
    if (kind == STI_BOUND_NUMBER || !e->type || !sti_type_integer(e->type)) return NULL;
    return sti_extent_operation(x, kind, sti_extent_value(x, e->a), sti_extent_value(x, e->b));
}

sti_bound *sti_extent_value(sti_extent *x, const sti_node *e)
{
    int64_t value;
    if (++x->work > MOST_WORK) return NULL;
    if (sti_constant(x->t->u, e, false, &value)) return sti_extent_number(x, value);
    switch (e->kind) {
    case STI_NODE_NAME: {
        const sti_extent_variable *b = e->symbol ? bound_to(x, e->symbol) : NULL;
        return b && !b->array ? b->value : NULL;
    }
    case STI_NODE_INDEX: return element_of(x, e);
    case STI_NODE_BINARY: return binary_of(x, e);
    case STI_NODE_CAST: return e->type && sti_type_integer(e->type) ? sti_extent_value(x, e->a) : NULL;
    case STI_NODE_CALL:
        if (strcmp(e->name->text, "nmin") == 0)
            return sti_extent_operation(x, STI_BOUND_MIN, sti_extent_value(x, e->a), sti_extent_value(x, e->a->next));
        if (strcmp(e->name->text, "nmax") == 0)
            return sti_extent_operation(x, STI_BOUND_MAX, sti_extent_value(x, e->a), sti_extent_value(x, e->a->next));
        return NULL;
    default: return NULL;
    }
}
