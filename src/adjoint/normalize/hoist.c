/*
 * Moves expressions into variables of their own: calls of the source's own functions, so that each is a statement's
 * whole value, and offsets of pointers that would change later; see normalize.h.
 */
#include "adjoint/normalize/normalize.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

/* True for a call whose gradients or writes need a statement of its own. */
static bool stands_alone(const sti_node *e)
{
    return sti_is_own_call(e) && e->type &&
           (sti_type_real(e->type) || e->type->kind == STI_TYPE_STRUCT || sti_flow_writes(e->symbol));
}

static bool is_alone(sti_transform *t, const sti_node *n, const void *context)
{
    (void)t, (void)context;
    return stands_alone(n);
}

/* True if such a call is in an expression, itself included. */
static bool has_own_call(const sti_node *e)
{
    sti_node alone = *e;
    alone.next = NULL;
    return sti_any(NULL, &alone, is_alone, NULL);
}

/* Makes a call the first value of a variable, before the statement at *at, which moves on behind it. */
static void take_out(sti_transform *t, sti_node ***at, sti_node *e)
{
    sti_symbol *s = sti_build_symbol(t, e->name->text, e->type, e->place);
    sti_node *d = sti_build_declare(t, s, sti_build_copy(t, e)), *name = sti_build_name(t, s, e->place);
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
    if (chooses && (has_own_call(e->b) || (e->c && has_own_call(e->c)))) {
        sti_report_mistake(
            t->u, e->place,
            "the adjoint of `%s`, which calls a function where it chooses, is not made: write if, and the call "
            "as a statement",
            sti_text(t->u, e));
        return;
    }
    sti_node *part[] = {e->a, e->b, e->c};
    for (int i = 0; i < 3; ++i)
        for (sti_node *a = part[i]; a && !t->u->failed; a = a->next) sti_take_out_calls(t, at, a, false);
    if (!root && stands_alone(e)) take_out(t, at, e);
}

/* ---- where pointers point ---------------------------------------------------------------------------------------- */

/* The declaration of a pointer is written again where gradients of its elements go, so its offset must not change. */
static bool fix_offset(sti_transform *t, sti_node **at, sti_node *e)
{
    bool changed = false;
    for (; sti_is_offset(e); e = e->a) {
        bool known = e->b->type && sti_type_integer(sti_type_value(e->b->type));
        if (!known || sti_is_fixed(t, e->b)) continue;
        sti_symbol *s = sti_build_symbol(t, "offset", sti_type_value(e->b->type), e->b->place);
        sti_node *d = sti_build_declare(t, s, e->b);
        e->b = sti_build_name(t, s, e->b->place);
        d->next = *at;
        *at = d;
        changed = true;
    }
    return changed;
}

bool sti_fix_pointer_offsets(sti_transform *t, sti_node **list)
{
    bool changed = false;
    for (; *list && !t->u->failed; list = &(*list)->next) {
        sti_node *n = *list, **body[] = {&n->a, &n->b, &n->c, &n->d};
        const sti_node *v = n->kind == STI_NODE_DECLARE ? n->a : NULL;
        if (v && v->type->kind == STI_TYPE_POINTER && v->a) {
            changed |= fix_offset(t, list, v->a);
            while (*list != n) list = &(*list)->next;
        }
        for (int i = 0; sti_nests(n) && i < 4; ++i) changed |= sti_fix_pointer_offsets(t, body[i]);
    }
    return changed;
}
