/* Makes nodes that the source does not have; see build.h. */
#include "adjoint/tree/build.h"
#include "adjoint/tree/place.h"
#include "adjoint/tree/text.h"
#include "kernel/check/type.h"

#include <string.h>

/*
 * Used when memory runs out: a build goes on with one of these nodes, and the transformation ends with
 * STET_ERROR_OUT_OF_MEMORY (UNIT-2) at the next check. There are more of them than are built between two checks, so no
 * list becomes circular.
 */
static sti_node *spare(void)
{
    enum { SPARES = 256 };
    static _Thread_local sti_node nodes[SPARES];
    static _Thread_local unsigned next;
    sti_node *n = &nodes[next++ % SPARES];
    *n = (sti_node){.kind = STI_NODE_BLOCK};
    return n;
}

sti_node *sti_build(sti_transform *t, sti_node_kind kind, sti_source_place place)
{
    sti_node *n = sti_unit_alloc(t->u, sizeof *n);
    if (!n) n = spare();
    n->kind = kind;
    n->place = place;
    return n;
}

sti_node *sti_build_copy(sti_transform *t, const sti_node *n)
{
    sti_node *own = sti_build(t, n->kind, n->place);
    *own = *n;
    own->next = NULL;
    return own;
}

sti_node **sti_end_of(sti_node **list)
{
    while (*list) list = &(*list)->next;
    return list;
}

sti_symbol *sti_build_symbol(sti_transform *t, const char *stem, const sti_type *type, sti_source_place place)
{
    static _Thread_local sti_name no_name = {.text = ""};
    static _Thread_local sti_symbol no_symbol;
    const char *text = sti_fresh(t, stem);
    sti_symbol *s = sti_unit_alloc(t->u, sizeof *s);
    sti_name *name = sti_unit_name(t->u, text, strlen(text));
    if (!s || !name) {
        no_symbol = (sti_symbol){.kind = STI_SYMBOL_VARIABLE, .name = &no_name, .type = type};
        return &no_symbol;
    }
    *s = (sti_symbol){.kind = STI_SYMBOL_VARIABLE, .name = name, .type = type, .place = place};
    return s;
}

sti_node *sti_build_name(sti_transform *t, sti_symbol *symbol, sti_source_place place)
{
    sti_node *n = sti_build(t, STI_NODE_NAME, place);
    n->name = symbol->name;
    n->symbol = symbol;
    n->type = symbol->type;
    return n;
}

sti_node *sti_build_number(sti_transform *t, int value, sti_source_place place)
{
    static _Thread_local sti_name no_name = {.text = "0"};
    const char *text = sti_say(t, "%d", value);
    sti_node *n = sti_build(t, STI_NODE_NUMBER, place);
    n->name = sti_unit_name(t->u, text, strlen(text));
    if (!n->name) n->name = &no_name;
    n->type = sti_type_basic(STI_TYPE_INT, false);
    return n;
}

sti_node *sti_build_element(sti_transform *t, const sti_node *array, sti_node *index, const sti_type *type,
                            sti_source_place place)
{
    sti_node *n = sti_build(t, STI_NODE_INDEX, place);
    n->a = sti_build_copy(t, array);
    n->b = index;
    n->type = type;
    return n;
}

sti_node *sti_build_assign(sti_transform *t, sti_symbol *symbol, sti_node *value)
{
    sti_node *s = sti_build(t, STI_NODE_EXPRESSION, value->place), *a = sti_build(t, STI_NODE_ASSIGN, value->place);
    a->op = STI_OP_ASSIGN;
    a->a = sti_build_name(t, symbol, value->place);
    a->b = value;
    a->type = symbol->type;
    s->a = a;
    return s;
}

sti_node *sti_build_declare(sti_transform *t, sti_symbol *symbol, sti_node *value)
{
    sti_node *d = sti_build(t, STI_NODE_DECLARE, symbol->place), *v = sti_build(t, STI_NODE_VARIABLE, symbol->place);
    d->named = v->named = v->type = symbol->type;
    v->name = symbol->name;
    v->symbol = symbol;
    v->a = value;
    symbol->node = v;
    d->a = v;
    return d;
}

sti_node *sti_build_if(sti_transform *t, sti_node *test, sti_node *then)
{
    sti_node *n = sti_build(t, STI_NODE_IF, test->place), *block = sti_build(t, STI_NODE_BLOCK, test->place);
    n->a = test;
    n->b = block;
    block->a = then;
    return n;
}

/* ---- elements that stores write ---------------------------------------------------------------------------------- */

/* call->a[argument 1 + more] */
sti_node *sti_loaded_element(sti_transform *t, const sti_node *call, int more)
{
    sti_node *index = sti_build_copy(t, sti_argument(call, 1));
    if (more) {
        sti_node *sum = sti_build(t, STI_NODE_BINARY, call->place);
        sum->op = STI_OP_ADD;
        sum->type = sti_type_basic(STI_TYPE_I64, false);
        sum->a = index;
        sum->b = sti_build_number(t, more, call->place);
        index = sum;
    }
    return sti_build_element(t, call->a, index, sti_type_basic(STI_TYPE_REAL, false), call->place);
}

sti_node *sti_stored_element(sti_transform *t, const sti_node *call, int more)
{
    if (!sti_is_call_of(call, "load4")) return sti_loaded_element(t, call, more);
    const sti_node *to = sti_argument(call, 2);
    return sti_build_element(t, to, sti_build_number(t, more, to->place), sti_type_basic(STI_TYPE_REAL, false),
                             to->place);
}

sti_node *sti_written_place(sti_transform *t, const sti_node *e, int k)
{
    sti_node *place = sti_assigned_place(e);
    if (place) return k > 0 || place->kind == STI_NODE_NAME ? NULL : place;
    return k < (sti_is_call_of(e, "load4") ? 4 : sti_put_width(e)) ? sti_stored_element(t, e, k) : NULL;
}
