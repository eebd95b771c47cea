/*
 * Finds which arrays are overwritten after they were read, in the order of the text; see notes.h.
 */
#include "adjoint/analysis/notes.h"
#include "kernel/check/flow.h"
#include "kernel/check/type.h"

#include <string.h>

typedef struct order {
    sti_transform *t;
    const sti_symbol *array;
    bool read, overwritten; /* read: before this place, or anywhere in a loop around it */
    bool found;
    int loops; /* the number of loops around this place */
} order;

static void is_array(sti_symbol *s, void *context)
{
    order *o = context;
    if (s->kind == STI_SYMBOL_STAGED)
        sti_origins(s->node->a, is_array, o);
    else
        o->found |= s == o->array;
}

static bool belongs(order *o, const sti_node *e)
{
    o->found = false;
    sti_origins((sti_node *)(uintptr_t)e, is_array, o);
    return o->found;
}

static void read_in(order *o, const sti_node *e);

static void write_to(order *o, const sti_node *place)
{
    if (belongs(o, place)) o->overwritten |= o->read;
    for (const sti_node *p = place; p; p = p->kind == STI_NODE_NAME || p->kind == STI_NODE_CALL ? NULL : p->a)
        if (p->b) read_in(o, p->b);
}

static void read_in_call(order *o, const sti_node *e)
{
    int store = sti_store_of(e), n = 0;
    bool own = e->symbol && e->symbol->kind == STI_SYMBOL_FUNCTION;
    for (const sti_node *a = e->a; a; a = a->next, ++n) {
        const sti_symbol *p = sti_flow_parameter(e, n);
        bool stores = n == store || (!own && p && p->written); /* the language's functions only write what they write */
        bool reads = !stores && (!own || !p || sti_note_of(o->t, p)->read || !sti_type_carries(p->type));
        if (!a->type || !sti_type_points(a->type))
            read_in(o, a);
        else if (reads && belongs(o, a))
            o->read = true;
    }
    n = 0;
    for (const sti_node *a = e->a; a; a = a->next, ++n) {
        const sti_symbol *p = sti_flow_parameter(e, n);
        if (p && p->written && a->type && sti_type_points(a->type)) write_to(o, a);
    }
}

/* Visits the outermost loop twice, because the end of its body comes before the beginning in the next iteration. */
static void read_in_loop(order *o, const sti_node *n)
{
    read_in(o, n->a);
    for (int round = 0; round < (o->loops ? 1 : 2); ++round) {
        o->loops++;
        read_in(o, n->b);
        read_in(o, n->d);
        read_in(o, n->c);
        o->loops--;
    }
}

static void read_in(order *o, const sti_node *e)
{
    for (; e; e = e->next) {
        bool element = e->kind == STI_NODE_INDEX || (e->kind == STI_NODE_UNARY && e->op == STI_OP_MUL) ||
                       (e->kind == STI_NODE_MEMBER && e->op == STI_OP_ARROW);
        if (element && belongs(o, e)) o->read = true;
        if (e->kind == STI_NODE_CALL) {
            read_in_call(o, e);
            continue;
        }
        if (e->kind == STI_NODE_ASSIGN) {
            read_in(o, e->b);
            write_to(o, e->a);
            continue;
        }
        if (e->kind == STI_NODE_FOR) {
            read_in_loop(o, e);
            continue;
        }
        read_in(o, e->a);
        read_in(o, e->b);
        read_in(o, e->c);
        read_in(o, e->d);
    }
}

void sti_note_order(sti_transform *t, const sti_node *f, const sti_symbol *array)
{
    order o = {.t = t, .array = array};
    read_in(&o, f->b);
    sti_note_of(t, array)->overwritten = o.overwritten;
}

void sti_note_shared(sti_transform *t, const sti_node *f, const sti_node *n)
{
    for (; n; n = n->next) {
        if (n->kind == STI_NODE_SHARED && n->symbol) sti_note_order(t, f, n->symbol);
        sti_note_shared(t, f, n->a);
        sti_note_shared(t, f, n->b);
        sti_note_shared(t, f, n->c);
        sti_note_shared(t, f, n->d);
    }
}
