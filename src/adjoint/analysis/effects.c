/*
 * Finds what a statement changes of what is declared outside of it; see transform.h.
 */
#include "adjoint/transform/transform.h"
#include "kernel/check/flow.h"
#include "kernel/check/type.h"

typedef struct collecting {
    sti_transform *t;
    const sti_node *statement;
    sti_effects *out;
    sti_source_place place; /* of the write */
    bool call;              /* a called function writes */
    bool quiet;             /* report no errors */
} collecting;

static bool declared_in(const sti_node *n, const sti_symbol *s)
{
    for (; n; n = n->next) {
        bool declares = n->kind == STI_NODE_VARIABLE || n->kind == STI_NODE_SHARED || n->kind == STI_NODE_STAGED ||
                        n->kind == STI_NODE_EACH || n->kind == STI_NODE_ITEMS;
        if (declares && n->symbol == s) return true;
        if (declared_in(n->a, s) || declared_in(n->b, s) || declared_in(n->c, s) || declared_in(n->d, s)) return true;
    }
    return false;
}

bool sti_declared_in(const sti_node *statement, const sti_symbol *s)
{
    sti_node alone = *statement;
    alone.next = NULL;
    return declared_in(&alone, s);
}

/* Memory that other threads see is logged, but not arrays that a team shares, nor writes by a called function. */
static void collect_array(collecting *c, sti_symbol *s)
{
    if (!sti_note_of(c->t, s)->overwritten || c->quiet) return;
    if (c->call || (c->t->items && c->t->kernel)) {
        sti_complain(c->t->u, c->place,
                     c->call
                         ? "`%s` is overwritten by a function after it was read, and the adjoint needs what it held: "
                           "let it write a local array"
                         : "`%s` is overwritten after it was read, and the adjoint needs what it held: write to "
                           "another array",
                     s->name->text);
        return;
    }
    for (int i = 0; i < c->out->narray; ++i)
        if (c->out->array[i] == s) return;
    if (c->out->narray < STI_ADJOINT_CODES) c->out->array[c->out->narray++] = s;
}

static void collect(sti_symbol *s, void *context)
{
    collecting *c = context;
    if (!sti_note_of(c->t, s)->needed || s->kind == STI_SYMBOL_TABLE || sti_declared_in(c->statement, s)) return;
    if (sti_is_array_symbol(s)) {
        collect_array(c, s);
        return;
    }
    for (int i = 0; i < c->out->count; ++i)
        if (c->out->symbol[i] == s) return;
    if (c->out->count == STI_ADJOINT_CHANGED) {
        if (c->quiet) return;
        sti_complain(c->t->u, c->place, "more than %d variables change within one statement: its adjoint is not made",
                     c->out->count);
        return;
    }
    c->out->symbol[c->out->count++] = s;
}

static void collect_place(collecting *c, const sti_node *place, sti_source_place where)
{
    c->place = where;
    c->call = false;
    if (place->kind == STI_NODE_NAME && place->symbol) /* the pointer itself, not the memory behind it */
        collect(place->symbol, c);
    else
        sti_origins((sti_node *)(uintptr_t)place, collect, c);
}

static void collect_call(collecting *c, const sti_node *call)
{
    int n = 0;
    for (const sti_node *a = call->a; a; a = a->next, ++n) {
        const sti_symbol *p = sti_flow_parameter(call, n);
        if (!p || !p->written || !a->type) continue;
        c->place = a->place;
        c->call = call->symbol->kind == STI_SYMBOL_FUNCTION;
        sti_origins((sti_node *)(uintptr_t)a, collect, c);
    }
}

static void walk(collecting *c, const sti_node *n)
{
    for (; n && !c->t->u->failed; n = n->next) {
        bool step = n->kind == STI_NODE_POSTFIX ||
                    (n->kind == STI_NODE_UNARY && (n->op == STI_OP_INCREMENT || n->op == STI_OP_DECREMENT));
        if (n->kind == STI_NODE_ASSIGN || step) collect_place(c, n->a, n->place);
        if (n->kind == STI_NODE_CALL) collect_call(c, n);
        walk(c, n->a);
        walk(c, n->b);
        walk(c, n->c);
        walk(c, n->d);
    }
}

void sti_effects_of(sti_transform *t, const sti_node *statement, sti_effects *out)
{
    collecting c = {.t = t, .statement = statement, .out = out};
    out->count = out->narray = 0;
    sti_node alone = *statement;
    alone.next = NULL;
    walk(&c, &alone);
}

bool sti_changes(sti_transform *t, const sti_node *statement, const sti_symbol *symbol)
{
    sti_effects e = {.count = 0};
    collecting c = {.t = t, .statement = statement, .out = &e, .quiet = true};
    sti_node alone = *statement;
    alone.next = NULL;
    walk(&c, &alone);
    for (int i = 0; i < e.count; ++i)
        if (e.symbol[i] == symbol) return true;
    return e.count == STI_ADJOINT_CHANGED;
}
