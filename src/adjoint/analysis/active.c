/* Activity: which symbols depend on something that has a gradient; see analysis.h. */
#include "adjoint/analysis/analysis.h"
#include "adjoint/tree/derivative.h"

static bool call_active(sti_transform *t, const sti_node *e)
{
    const sti_derivative *d = sti_derivative_of(e);
    if (d && d->kind == STI_DERIVATIVE_MEMORY) return sti_ask(t, e->a, STI_NOTE(active));
    if (d && d->kind != STI_DERIVATIVE_SMOOTH && d->kind != STI_DERIVATIVE_LINEAR) return false;
    int i = 0;
    for (const sti_node *a = e->a; a; a = a->next, ++i)
        if ((!d || (i < 3 && *d->partial[i])) && sti_active_value(t, a)) return true;
    return false;
}

bool sti_active_value(sti_transform *t, const sti_node *e)
{
    if (!e || !e->type) return false;
    if (e->kind == STI_NODE_LIST) {
        for (const sti_node *v = e->a; v; v = v->next)
            if (sti_active_value(t, v)) return true;
        return false;
    }
    if (!sti_type_carries(e->type)) return false;
    switch (e->kind) {
    case STI_NODE_NAME:
    case STI_NODE_INDEX:
    case STI_NODE_MEMBER: return sti_ask(t, e, STI_NOTE(active));
    case STI_NODE_CALL: return call_active(t, e);
    case STI_NODE_UNARY:
        return e->op == STI_OP_MUL || e->op == STI_OP_AND ? sti_ask(t, e, STI_NOTE(active)) : sti_active_value(t, e->a);
    case STI_NODE_BINARY: return sti_active_value(t, e->a) || sti_active_value(t, e->b);
    case STI_NODE_CONDITION: return sti_active_value(t, e->b) || sti_active_value(t, e->c);
    case STI_NODE_CAST: return sti_active_value(t, e->a);
    default: return false;
    }
}

static bool mark_active(sti_transform *t, const sti_node *place)
{
    return (!place->type || sti_type_carries(place->type)) && sti_mark(t, place, STI_NOTE(active));
}

static bool any_argument_active(sti_transform *t, const sti_node *call)
{
    for (const sti_node *a = call->a; a; a = a->next)
        if (sti_active_value(t, a)) return true;
    return false;
}

static bool vary_call(sti_transform *t, const sti_node *call)
{
    bool changed = false;
    int n = 0;
    if (!any_argument_active(t, call)) return false;
    for (const sti_node *a = call->a; a; a = a->next, ++n) {
        const sti_symbol *p = sti_flow_parameter(call, n);
        if (p && p->written && sti_type_carries(p->type)) changed |= mark_active(t, a);
    }
    return changed;
}

bool sti_vary(sti_transform *t, const sti_node *n)
{
    bool changed = false;
    for (; n; n = n->next) {
        if (n->kind == STI_NODE_VARIABLE && n->symbol && n->a && sti_active_value(t, n->a)) {
            sti_note *v = sti_note_of(t, n->symbol);
            changed |= !v->active && n->type->kind != STI_TYPE_POINTER;
            v->active = true;
        }
        if (n->kind == STI_NODE_ASSIGN && sti_active_value(t, n->b)) changed |= mark_active(t, n->a);
        if (n->kind == STI_NODE_CALL) changed |= vary_call(t, n);
        changed |= sti_vary(t, n->a);
        changed |= sti_vary(t, n->b);
        changed |= sti_vary(t, n->c);
        changed |= sti_vary(t, n->d);
    }
    return changed;
}

void sti_vary_parameters(sti_transform *t, const sti_node *f)
{
    for (const sti_node *v = f->a; v; v = v->next)
        if (v->symbol && sti_type_carries(v->type) && !sti_note_of(t, v->symbol)->constant)
            sti_note_of(t, v->symbol)->active = true;
}

bool sti_active_statement(sti_transform *t, const sti_node *n)
{
    if (n->kind == STI_NODE_VARIABLE) return n->a && sti_active_value(t, n->a);
    if (n->kind == STI_NODE_ASSIGN)
        return n->type && sti_type_carries(n->type) && n->type->kind != STI_TYPE_POINTER &&
               sti_ask(t, n->a, STI_NOTE(active));
    int i = 0;
    for (const sti_node *a = n->kind == STI_NODE_CALL ? n->a : NULL; a; a = a->next, ++i) {
        const sti_symbol *p = sti_flow_parameter(n, i);
        if (p && p->written && sti_type_carries(p->type) && sti_ask(t, a, STI_NOTE(active))) return true;
    }
    const sti_node *part[] = {n->a, n->b, n->c, n->d};
    for (i = 0; i < 4; ++i)
        for (const sti_node *e = part[i]; e; e = e->next)
            if (sti_active_statement(t, e)) return true;
    return false;
}
