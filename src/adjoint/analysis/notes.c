/* Notes of a function's symbols; see transform.h and notes.h. */
#include "adjoint/analysis/notes.h"
#include "kernel/check/flow.h"
#include "kernel/check/type.h"

/* And which variables are loops' own. `&x` counts: somebody may write there. */
static void note_assigned(sti_transform *t, const sti_node *n)
{
    for (; n; n = n->next) {
        bool writes = n->kind == STI_NODE_ASSIGN || n->kind == STI_NODE_POSTFIX || n->kind == STI_NODE_UNARY;
        bool reads =
            n->kind == STI_NODE_UNARY && n->op != STI_OP_AND && n->op != STI_OP_INCREMENT && n->op != STI_OP_DECREMENT;
        if (writes && !reads && n->a->kind == STI_NODE_NAME && n->a->symbol)
            sti_note_of(t, n->a->symbol)->assigned = true;
        note_assigned(t, n->a);
        note_assigned(t, n->b);
        bool own_step = n->kind == STI_NODE_FOR && n->a && n->a->kind == STI_NODE_DECLARE;
        if (own_step && n->a->a->symbol) sti_note_of(t, n->a->a->symbol)->loop = n;
        if (!own_step) note_assigned(t, n->c);
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
    for (const sti_node *v = f->a; v; v = v->next)
        if (v->symbol && sti_type_points(v->type)) sti_note_order(t, f, v->symbol);
    sti_note_shared(t, f, f->b->a);
}
