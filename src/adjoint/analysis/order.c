/* Finds which arrays are overwritten after they were read, in the order of the text; see analysis.h. */
#include "adjoint/analysis/analysis.h"
#include "kernel/check/type.h"

typedef struct order {
    sti_transform *t;
    const sti_symbol *array;
    bool read, overwritten; /* read: before this place, or anywhere in a loop around it */
    int loops;              /* the number of loops around this place */
} order;

static void read_in(order *o, const sti_node *e);

static void write_to(order *o, const sti_node *place)
{
    if (sti_may_belong(place, o->array)) o->overwritten |= o->read;
    for (const sti_node *p = place; p; p = p->kind == STI_NODE_NAME || p->kind == STI_NODE_CALL ? NULL : p->a)
        if (p->b) read_in(o, p->b);
}

static void read_in_call(order *o, const sti_node *e)
{
    int store = sti_store_of(e), n = 0;
    bool own = sti_is_own_call(e);
    for (const sti_node *a = e->a; a; a = a->next, ++n) {
        const sti_symbol *p = sti_flow_parameter(e, n);
        bool stores = n == store || (!own && p && p->written); /* the language's functions only write what they write */
        bool reads = !stores && (!own || !p || sti_note_of(o->t, p)->read || !sti_type_carries(p->type));
        if (!a->type || !sti_type_points(a->type))
            read_in(o, a);
        else if (reads && sti_may_belong(a, o->array))
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
        bool element = sti_is_element(e) || (e->kind == STI_NODE_MEMBER && e->op == STI_OP_ARROW);
        if (element && sti_may_belong(e, o->array)) o->read = true;
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

static void note_array(sti_transform *t, const sti_symbol *array)
{
    order o = {.t = t, .array = array};
    read_in(&o, t->function->b);
    sti_note_of(t, array)->overwritten = o.overwritten;
}

static void note_shared(sti_transform *t, const sti_node *n)
{
    if (n->kind == STI_NODE_SHARED && n->symbol) note_array(t, n->symbol);
}

void sti_note_order(sti_transform *t, const sti_node *f)
{
    for (const sti_node *v = f->a; v; v = v->next)
        if (v->symbol && sti_type_points(v->type)) note_array(t, v->symbol);
    sti_walk(t, f->b->a, note_shared);
}
