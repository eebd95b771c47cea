/*
 * Data flow of pointers and iterations; see flow.h.
 */
#include "kernel/check/flow.h"

#include "kernel/check/type.h"

enum { MOST_ORIGINS = 64, MOST_ROUNDS = 64 };

const sti_symbol *sti_flow_parameter(const sti_node *call, int n)
{
    const sti_symbol *p = call->symbol ? call->symbol->parameter : NULL;
    while (p && n-- > 0) p = p->next;
    return p;
}

bool sti_flow_writes(const sti_symbol *function)
{
    for (const sti_symbol *p = function ? function->parameter : NULL; p; p = p->next)
        if (p->written) return true;
    return false;
}

/* ---- where pointers point ---------------------------------------------------------------------------------------- */

static bool points(const sti_node *e) { return e->type && sti_type_points(e->type); }

static bool is_local_pointer(const sti_symbol *s)
{
    return s->kind == STI_SYMBOL_VARIABLE && s->type && s->type->kind == STI_TYPE_POINTER;
}

static sti_symbol *leader_of(sti_symbol *s)
{
    while (s->leader) {
        if (s->leader->leader) s->leader = s->leader->leader; /* shortens the path for the next search */
        s = s->leader;
    }
    return s;
}

static void symbol_origins(sti_symbol *s, sti_origin_fn *call, void *context)
{
    if (!is_local_pointer(s)) {
        call(s, context);
        return;
    }
    for (sti_reach *o = leader_of(s)->origin; o; o = o->next) call(o->symbol, context);
}

void sti_origins(sti_node *e, sti_origin_fn *call, void *context)
{
    switch (e->kind) {
    case STI_NODE_NAME:
        if (e->symbol) symbol_origins(e->symbol, call, context);
        break;
    case STI_NODE_BINARY: sti_origins(points(e->a) ? e->a : e->b, call, context); break;
    case STI_NODE_CONDITION:
        sti_origins(e->b, call, context);
        sti_origins(e->c, call, context);
        break;
    case STI_NODE_CALL: /* of_world; no function returns a pointer */
        if (e->a) sti_origins(e->a, call, context);
        break;
    case STI_NODE_INDEX:
    case STI_NODE_MEMBER:
    case STI_NODE_UNARY:
    case STI_NODE_POSTFIX:
    case STI_NODE_CAST: sti_origins(e->a, call, context); break;
    default: break;
    }
}

static void add_origin(sti_unit *u, sti_symbol *pointer, sti_symbol *symbol)
{
    sti_symbol *leader = leader_of(pointer);
    int n = 0;
    for (const sti_reach *o = leader->origin; o; o = o->next, ++n)
        if (o->symbol == symbol) return;
    sti_reach *o = n < MOST_ORIGINS ? sti_unit_alloc(u, sizeof *o) : NULL;
    if (o) {
        *o = (sti_reach){symbol, leader->origin};
        leader->origin = o;
    } else if (n == MOST_ORIGINS && !u->failed) {
        sti_report_mistake(u, pointer->place, "`%s` may point to more than %d arrays: use more pointers",
                           pointer->name->text, MOST_ORIGINS);
    }
}

static void join(sti_unit *u, sti_symbol *a, sti_symbol *b)
{
    a = leader_of(a);
    b = leader_of(b);
    if (a == b) return;
    b->leader = a;
    for (const sti_reach *o = b->origin; o; o = o->next) add_origin(u, a, o->symbol);
}

/* Adds what an assigned value may point to. */
static void link_pointer(sti_unit *u, sti_symbol *pointer, sti_node *e)
{
    if (e->kind == STI_NODE_NAME) {
        if (e->symbol && is_local_pointer(e->symbol))
            join(u, pointer, e->symbol);
        else if (e->symbol)
            add_origin(u, pointer, e->symbol);
        return;
    }
    if (e->kind == STI_NODE_CONDITION) {
        link_pointer(u, pointer, e->b);
        link_pointer(u, pointer, e->c);
        return;
    }
    sti_node *below = e->kind == STI_NODE_BINARY && !points(e->a) ? e->b : e->a;
    if (below && e->kind != STI_NODE_NUMBER) link_pointer(u, pointer, below);
}

/* Visits all expressions and statements below a node: its four parts and their lists. */
static void note_pointers(sti_unit *u, sti_node *n)
{
    for (; n; n = n->next) {
        if (n->kind == STI_NODE_VARIABLE && n->a && n->symbol && is_local_pointer(n->symbol))
            link_pointer(u, n->symbol, n->a);
        if (n->kind == STI_NODE_ASSIGN && n->op == STI_OP_ASSIGN && n->a->kind == STI_NODE_NAME && n->a->symbol &&
            is_local_pointer(n->a->symbol))
            link_pointer(u, n->a->symbol, n->b);
        note_pointers(u, n->a);
        note_pointers(u, n->b);
        note_pointers(u, n->c);
        note_pointers(u, n->d);
    }
}

bool sti_flow_pointers(sti_unit *u, sti_node *body)
{
    note_pointers(u, body);
    return !u->failed;
}

/* ---- what varies ------------------------------------------------------------------------------------------------- */

static bool list_varies(const sti_node *e, unsigned number)
{
    for (; e; e = e->next)
        if (sti_flow_varies(e, number)) return true;
    return false;
}

bool sti_flow_varies(const sti_node *e, unsigned number)
{
    if (e->kind == STI_NODE_NAME) return e->symbol && e->symbol->varies == number;
    return list_varies(e->a, number) || list_varies(e->b, number) || list_varies(e->c, number) ||
           list_varies(e->d, number);
}

typedef struct marking {
    unsigned number;
    bool changed;
} marking;

static void mark(sti_symbol *s, void *context)
{
    marking *m = context;
    if (s->inside != m->number || s->varies == m->number) return;
    s->varies = m->number;
    m->changed = true;
}

/* Marks what is assigned: a variable, or the symbols that an element or pointer belongs to. */
static void mark_place(sti_node *e, marking *m)
{
    if (e->kind == STI_NODE_NAME && e->symbol)
        mark(e->symbol, m);
    else
        sti_origins(e, mark, m);
}

/*
 * True if a loop has a break or continue that only some iterations of the each reach: then what follows in the loop
 * runs for only some of them.
 */
static bool jumps(const sti_node *n, unsigned number, bool some)
{
    for (; n; n = n->next) {
        if (some && (n->kind == STI_NODE_BREAK || n->kind == STI_NODE_CONTINUE)) return true;
        if (n->kind == STI_NODE_IF) {
            bool here = some || sti_flow_varies(n->a, number);
            if (jumps(n->b, number, here) || (n->c && jumps(n->c, number, here))) return true;
        }
        if (n->kind == STI_NODE_BLOCK && jumps(n->a, number, some)) return true;
    }
    return false;
}

static void mark_list(sti_node *n, marking *m, bool some);

static void mark_call(sti_node *call, marking *m, bool some)
{
    bool varies = some || list_varies(call->a, m->number);
    int n = 0;
    for (sti_node *a = call->a; a && varies; a = a->next, ++n) {
        const sti_symbol *p = sti_flow_parameter(call, n);
        if (p && p->written) sti_origins(a, mark, m);
    }
}

static void mark_for(sti_node *n, marking *m, bool some)
{
    if (n->a) mark_list(n->a, m, some);
    bool own = some || (n->b && sti_flow_varies(n->b, m->number)) || jumps(n->d, m->number, false);
    if (n->b) mark_list(n->b, m, own);
    if (n->c) mark_list(n->c, m, own);
    mark_list(n->d, m, own);
}

/* `some`: only some iterations reach this node. */
static void mark_node(sti_node *n, marking *m, bool some)
{
    bool step = n->kind == STI_NODE_POSTFIX ||
                (n->kind == STI_NODE_UNARY && (n->op == STI_OP_INCREMENT || n->op == STI_OP_DECREMENT));
    if (n->kind == STI_NODE_FOR) {
        mark_for(n, m, some);
        return;
    }
    if (n->kind == STI_NODE_IF) {
        bool own = some || sti_flow_varies(n->a, m->number);
        mark_list(n->a, m, some);
        mark_list(n->b, m, own);
        if (n->c) mark_list(n->c, m, own);
        return;
    }
    if (n->kind == STI_NODE_VARIABLE && n->a && n->symbol && sti_flow_varies(n->a, m->number)) mark(n->symbol, m);
    if (n->kind == STI_NODE_ASSIGN && (some || sti_flow_varies(n->a, m->number) || sti_flow_varies(n->b, m->number)))
        mark_place(n->a, m);
    if (step && some) mark_place(n->a, m);
    if (n->kind == STI_NODE_CALL) mark_call(n, m, some);
    mark_list(n->a, m, some);
    mark_list(n->b, m, some);
    mark_list(n->c, m, some);
    mark_list(n->d, m, some);
}

static void mark_list(sti_node *n, marking *m, bool some)
{
    for (; n; n = n->next) mark_node(n, m, some);
}

static void place_inside(sti_node *n, unsigned number, bool varies)
{
    for (; n; n = n->next) {
        if (n->kind == STI_NODE_VARIABLE && n->symbol) n->symbol->inside = number;
        if (n->kind == STI_NODE_VARIABLE && n->symbol && varies) n->symbol->varies = number;
        place_inside(n->a, number, varies);
        place_inside(n->b, number, varies);
        place_inside(n->c, number, varies);
        place_inside(n->d, number, varies);
    }
}

void sti_flow_each(sti_node *loop, unsigned number)
{
    place_inside(loop->b, number, false);
    if (loop->symbol) loop->symbol->inside = loop->symbol->varies = number;
    marking m = {number, true};
    for (int round = 0; m.changed && round < MOST_ROUNDS; ++round) {
        m.changed = false;
        mark_list(loop->b, &m, false);
    }
    if (m.changed) place_inside(loop->b, number, true); /* too long a chain of variables: treat all as different */
}
