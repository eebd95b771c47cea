/*
 * Need: whose values partial derivatives, addresses or conditions use; see analysis.h. A value is not needed if it goes
 * only through sums, and through products with values that have no gradient.
 */
#include "adjoint/analysis/analysis.h"
#include "adjoint/tree/derivative.h"
#include "kernel/check/type.h"

#include <string.h>

/* `read`: an element of it, too. */
static bool mark_needed(sti_transform *t, const sti_node *place, bool read)
{
    bool changed = read && sti_mark(t, place, STI_NOTE(read));
    return sti_mark(t, place, STI_NOTE(needed)) || changed;
}

static bool need(sti_transform *t, const sti_node *e, bool value);

static bool need_list(sti_transform *t, const sti_node *e, bool value)
{
    bool changed = false;
    for (; e; e = e->next) changed |= need(t, e, value);
    return changed;
}

static bool need_product(sti_transform *t, const sti_node *e, bool value)
{
    bool a = sti_active_value(t, e->a), b = sti_active_value(t, e->b), quotient = e->op == STI_OP_DIV;
    bool changed = need(t, e->a, value || b);
    return need(t, e->b, value || a || (quotient && b)) || changed;
}

static bool need_call(sti_transform *t, const sti_node *e, bool value)
{
    const sti_derivative *d = sti_derivative_of(e);
    const sti_node *a = e->a, *b = a ? a->next : NULL, *c = b ? b->next : NULL;
    if (d && (strcmp(d->name, "fma") == 0 || strcmp(d->name, "ufma") == 0)) {
        bool first = sti_active_value(t, a), second = sti_active_value(t, b);
        bool changed = need(t, a, value || second);
        changed |= need(t, b, value || first);
        return need(t, c, value) || changed;
    }
    if (d && strcmp(d->name, "select") == 0) {
        bool changed = need(t, a, true);
        changed |= need(t, b, value);
        return need(t, c, value) || changed;
    }
    if (d && d->kind == STI_DERIVATIVE_LINEAR) return need(t, a, value);
    if (d && d->kind == STI_DERIVATIVE_MEMORY && sti_store_of(e) < 0) {
        bool changed = need_list(t, b, true);
        if (value) return mark_needed(t, a, true) || need(t, a, false) || changed;
        (void)sti_mark(t, a, STI_NOTE(read));
        return need(t, a, false) || changed;
    }
    return need_list(t, e->a, value || !d || d->kind != STI_DERIVATIVE_SMOOTH || sti_active_value(t, e));
}

/* `value`: the value of e is needed, not only its effect on the gradients of its parts. */
static bool need(sti_transform *t, const sti_node *e, bool value)
{
    bool changed = false;
    if (!e) return false;
    switch (e->kind) {
    case STI_NODE_NAME:
        if (e->type && e->type->kind == STI_TYPE_POINTER && !value) return false;
        value |= e->type && !sti_type_carries(e->type);
        return value && e->symbol && mark_needed(t, e, e->type && sti_type_points(e->type));
    case STI_NODE_INDEX:
        changed = need(t, e->b, true);
        value |= e->type && !sti_type_carries(e->type);
        if (value) return mark_needed(t, e->a, true) || need(t, e->a, false) || changed;
        (void)sti_mark(t, e->a, STI_NOTE(read));
        return need(t, e->a, false) || changed;
    case STI_NODE_MEMBER: value |= e->type && !sti_type_carries(e->type); return need(t, e->a, value);
    case STI_NODE_UNARY:
        if (e->op == STI_OP_MUL) {
            if (value) changed = mark_needed(t, e->a, true);
            (void)sti_mark(t, e->a, STI_NOTE(read));
            return need(t, e->a, false) || changed;
        }
        return need(t, e->a, value);
    case STI_NODE_POSTFIX: return need(t, e->a, true);
    case STI_NODE_CALL: return need_call(t, e, value);
    case STI_NODE_BINARY:
        if (e->type && sti_type_points(e->type)) { /* its place is needed, not its value */
            const sti_node *pointer = sti_is_offset(e) ? e->a : e->b;
            changed = need(t, pointer, value);
            return need(t, pointer == e->a ? e->b : e->a, true) || changed;
        }
        if (e->type && !sti_type_carries(e->type)) {
            changed = need(t, e->a, true);
            return need(t, e->b, true) || changed;
        }
        if (e->op == STI_OP_MUL || e->op == STI_OP_DIV) return need_product(t, e, value);
        changed = need(t, e->a, value);
        return need(t, e->b, value) || changed;
    case STI_NODE_CONDITION:
        changed = need(t, e->a, true);
        changed |= need(t, e->b, value);
        return need(t, e->c, value) || changed;
    case STI_NODE_CAST: return need(t, e->a, value || (e->type && !sti_type_carries(e->type)));
    case STI_NODE_LIST: return need_list(t, e->a, value);
    default: return false;
    }
}

/* Needs the indices in a place. */
static bool need_where(sti_transform *t, const sti_node *place)
{
    bool changed = false;
    switch (place->kind) {
    case STI_NODE_INDEX: changed = need(t, place->b, true); return need_where(t, place->a) || changed;
    case STI_NODE_MEMBER:
    case STI_NODE_UNARY: return need_where(t, place->a);
    case STI_NODE_CALL: return place->a && need_list(t, place->a->next, true);
    case STI_NODE_BINARY: return need(t, place, false);
    case STI_NODE_CONDITION:
        changed = need(t, place->a, true);
        changed |= need_where(t, place->b);
        return need_where(t, place->c) || changed;
    default: return false;
    }
}

static bool need_store(sti_transform *t, const sti_node *call)
{
    int array = sti_store_of(call), n = 0;
    const sti_node *to = sti_argument(call, array);
    bool wanted = sti_ask(t, to, STI_NOTE(needed)), changed = need_where(t, to);
    for (const sti_node *a = call->a; a; a = a->next, ++n) {
        if (n == array) continue;
        bool carries = a->type && sti_type_carries(a->type);
        if (carries && a->type->kind == STI_TYPE_POINTER) {
            changed |= need(t, a, false);
            (void)sti_mark(t, a, STI_NOTE(read));
            if (wanted) changed |= mark_needed(t, a, true);
        } else {
            changed |= need(t, a, !carries || wanted);
        }
    }
    return changed;
}

/* A call of the source's own function: needs what the function reads, and its numbers. */
static bool need_own_call(sti_transform *t, const sti_node *call)
{
    bool changed = false;
    int n = 0;
    for (const sti_node *a = call->a; a; a = a->next, ++n) {
        const sti_symbol *p = sti_flow_parameter(call, n);
        bool points = p && sti_type_points(p->type);
        const sti_note *inside = p && call->symbol->kind == STI_SYMBOL_FUNCTION ? sti_note_of(t, p) : NULL;
        changed |= need_where(t, a);
        if (!points)
            changed |= need(t, a, true);
        else if (!inside || inside->read || !sti_type_carries(p->type))
            changed |= mark_needed(t, a, true);
    }
    return changed;
}

bool sti_need_statement(sti_transform *t, const sti_node *n)
{
    bool changed = false;
    for (; n; n = n->next) {
        switch (n->kind) {
        case STI_NODE_VARIABLE: {
            bool pointer = n->type && n->type->kind == STI_TYPE_POINTER;
            bool wanted = n->symbol && !pointer && sti_note_of(t, n->symbol)->needed;
            if (sti_is_own_call(n->a))
                changed |= need_own_call(t, n->a);
            else
                changed |= need(t, n->a, wanted);
            continue;
        }
        case STI_NODE_EXPRESSION: changed |= sti_need_statement(t, n->a); continue;
        case STI_NODE_ASSIGN: {
            bool pointer = n->type && n->type->kind == STI_TYPE_POINTER;
            changed |= need_where(t, n->a);
            if (n->op != STI_OP_ASSIGN) changed |= need(t, n->a, true);
            if (sti_is_own_call(n->b))
                changed |= need_own_call(t, n->b);
            else
                changed |= need(t, n->b, !pointer && (n->op != STI_OP_ASSIGN || sti_ask(t, n->a, STI_NOTE(needed))));
            continue;
        }
        case STI_NODE_CALL:
            if (sti_store_of(n) >= 0)
                changed |= need_store(t, n);
            else if (sti_is_own_call(n))
                changed |= need_own_call(t, n);
            else
                changed |= need_list(t, n->a, true);
            continue;
        case STI_NODE_COMMA:
            changed |= sti_need_statement(t, n->a);
            changed |= sti_need_statement(t, n->b);
            continue;
        case STI_NODE_UNARY:
        case STI_NODE_POSTFIX: changed |= need(t, n->a, true); continue;
        case STI_NODE_RETURN: changed |= need(t, n->a, false); continue;
        case STI_NODE_IF:
            changed |= need(t, n->a, true);
            changed |= sti_need_statement(t, n->b);
            changed |= sti_need_statement(t, n->c);
            continue;
        case STI_NODE_FOR:
            changed |= sti_need_statement(t, n->a);
            changed |= need(t, n->b, true);
            changed |= sti_need_statement(t, n->c);
            changed |= sti_need_statement(t, n->d);
            continue;
        case STI_NODE_EACH:
        case STI_NODE_ITEMS:
            changed |= need(t, n->a, true);
            changed |= sti_need_statement(t, n->b);
            continue;
        default: changed |= sti_need_statement(t, n->a); /* BLOCK, DECLARE */
        }
    }
    return changed;
}
