/* Notes of a function's symbols; see analysis.h. */
#include "adjoint/analysis/analysis.h"
#include "kernel/check/type.h"

static void note_assigned(sti_transform *t, const sti_node *n);

static void note_passed(sti_symbol *s, void *context) { sti_note_of(context, s)->passed = true; }

/* The third part of a loop with a variable of its own: the step of that variable is no assignment. */
static void note_step(sti_transform *t, const sti_node *e, const sti_symbol *own)
{
    if (!e) return;
    if (e->kind == STI_NODE_COMMA) {
        note_step(t, e->a, own);
        note_step(t, e->b, own);
    } else if (!e->a || e->a->kind != STI_NODE_NAME || e->a->symbol != own) {
        note_assigned(t, e);
    }
}

/*
 * Notes assigned variables and the variables of loops. `&x` counts as an assignment, because code may write through it.
 */
static void note_assigned(sti_transform *t, const sti_node *n)
{
    for (; n; n = n->next) {
        const sti_node *to = n->kind == STI_NODE_UNARY && n->op == STI_OP_AND ? n->a : sti_assigned_place(n);
        if (to && to->kind == STI_NODE_NAME && to->symbol) sti_note_of(t, to->symbol)->assigned = true;
        if (n->kind == STI_NODE_VARIABLE && n->a && n->type && n->type->kind == STI_TYPE_POINTER)
            sti_origins(n->a, note_passed, t);
        for (const sti_node *a = sti_is_own_call(n) ? n->a : NULL; a; a = a->next)
            if (a->type && sti_type_points(a->type)) sti_origins((sti_node *)(uintptr_t)a, note_passed, t);
        note_assigned(t, n->a);
        note_assigned(t, n->b);
        bool own_step = n->kind == STI_NODE_FOR && n->a && n->a->kind == STI_NODE_DECLARE;
        if (own_step && n->a->a->symbol) sti_note_of(t, n->a->a->symbol)->loop = n;
        if (own_step)
            note_step(t, n->c, n->a->a->symbol);
        else
            note_assigned(t, n->c);
        note_assigned(t, n->d);
    }
}

void sti_take_notes(sti_transform *t, sti_node *f)
{
    note_assigned(t, f->b->a);
    sti_vary_parameters(t, f);
    while (sti_vary(t, f->b->a) && !t->u->failed) {
    }
    while (sti_need_statement(t, f->b->a) && !t->u->failed) {
    }
    sti_note_order(t, f);
}
