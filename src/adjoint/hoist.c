/* Calls of the source's own functions out of expressions, so that each is a statement's whole value; see transform.h. */
#include "adjoint/transform.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

static bool is_own_call(const sti_node *e)
{
    return e->kind == STI_NODE_CALL && e->symbol && e->symbol->kind == STI_SYMBOL_FUNCTION && e->type &&
           (sti_type_real(e->type) || e->type->kind == STI_TYPE_STRUCT);
}

static bool has_own_call(const sti_node *e)
{
    for (; e; e = e->next)
        if (is_own_call(e) || has_own_call(e->a) || has_own_call(e->b) || has_own_call(e->c)) return true;
    return false;
}

static bool has_own_call_alone(const sti_node *e)
{
    return is_own_call(e) || has_own_call(e->a) || has_own_call(e->b) || has_own_call(e->c);
}

/* The call becomes a variable's first value, before the statement at *at, which moves on behind it. */
static void take_out(sti_transform *t, sti_node ***at, sti_node *e)
{
    sti_node *call = sti_build(t, STI_NODE_CALL, e->place);
    sti_symbol *s = sti_build_symbol(t, e->name->text, e->type, e->place);
    *call = *e;
    call->next = NULL;
    sti_node *d = sti_build_declare(t, s, call), *name = sti_build_name(t, s, e->place);
    name->next = e->next;
    *e = *name;
    d->next = **at;
    **at = d;
    *at = &d->next;
}

void sti_take_out_calls(sti_transform *t, sti_node ***at, sti_node *e, bool root)
{
    bool chooses = e->kind == STI_NODE_CONDITION ||
                   (e->kind == STI_NODE_BINARY && (e->op == STI_OP_BOTH || e->op == STI_OP_EITHER));
    if (chooses && (has_own_call_alone(e->b) || (e->c && has_own_call_alone(e->c)))) {
        sti_complain(
            t->u, e->place,
            "the adjoint of `%s`, which calls a function where it chooses, is not made: write if, and the call "
            "as a statement",
            sti_text(t->u, e));
        return;
    }
    sti_node *part[] = {e->a, e->b, e->c};
    for (int i = 0; i < 3; ++i)
        for (sti_node *a = part[i]; a && !t->u->failed; a = a->next) sti_take_out_calls(t, at, a, false);
    if (!root && is_own_call(e)) take_out(t, at, e);
}
