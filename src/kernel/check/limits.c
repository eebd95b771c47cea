/* Constants and sizes that no target can do; see limits.h. */
#include "kernel/check/limits.h"

#include "kernel/check/printer.h"
#include "kernel/check/type.h"

enum { WIDEST = 16 };

/* Bytes of variables: on a CPU's stack, in a GPU thread's own memory, in what its block shares. */
typedef enum place { STACK, LOCAL, SHARED, PLACES } place;

typedef struct taken {
    int64_t bytes[PLACES];
    const sti_node *largest[PLACES]; /* the variable that takes most */
    int64_t most[PLACES];
} taken;

/* What a function and all that it calls take. */
typedef struct chain {
    const sti_symbol *function;
    taken taken;
    struct chain *next;
} chain;

typedef struct limits {
    sti_unit *u;
    chain *first;
} limits;

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/*
 * With lanes of so many numbers; fields are as far apart as the largest of them, which is at least what compilers do.
 */
static int64_t bytes_of(const sti_type *t, int lanes)
{
    if (t->kind == STI_TYPE_ARRAY) return t->count * bytes_of(t->of, lanes);
    if (sti_type_lanes(t)) return (int64_t)lanes * 4;
    if (t->kind == STI_TYPE_STRUCT) {
        int64_t sum = 0, align = 1;
        for (const sti_symbol *f = t->structure->field; f; f = f->next) {
            const sti_type *one = f->type;
            while (one->kind == STI_TYPE_ARRAY) one = one->of;
            int64_t own = one->kind == STI_TYPE_STRUCT ? 8 : bytes_of(one, lanes);
            if (own > align) align = own;
            sum = (sum + own - 1) / own * own + bytes_of(f->type, lanes);
        }
        return (sum + align - 1) / align * align;
    }
    return t->kind == STI_TYPE_U8                                                              ? 1
           : t->kind == STI_TYPE_U16                                                           ? 2
           : t->kind == STI_TYPE_I64 || t->kind == STI_TYPE_U64 || t->kind == STI_TYPE_POINTER ? 8
                                                                                               : 4;
}

static void take_limits(taken *t, place p, const sti_node *variable, int64_t bytes)
{
    t->bytes[p] += bytes;
    if (bytes <= t->most[p]) return;
    t->most[p] = bytes;
    t->largest[p] = variable;
}

/* The larger of two that are never there at the same time. */
static void larger(taken *t, const taken *other)
{
    for (int p = 0; p < PLACES; ++p) {
        if (other->bytes[p] <= t->bytes[p]) continue;
        t->bytes[p] = other->bytes[p];
        t->most[p] = other->most[p];
        t->largest[p] = other->largest[p];
    }
}

static void add_limits(taken *t, const taken *other)
{
    for (int p = 0; p < PLACES; ++p) {
        t->bytes[p] += other->bytes[p];
        if (other->most[p] <= t->most[p]) continue;
        t->most[p] = other->most[p];
        t->largest[p] = other->largest[p];
    }
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

static int bits_of(const sti_type *t)
{
    int64_t bytes = bytes_of(t, 1);
    return bytes < 4 ? 32 : (int)(8 * bytes);
}

static void check_division(limits *l, const sti_node *e)
{
    int64_t value;
    bool whole = e->a->type && e->b->type && sti_type_integer(e->a->type) && sti_type_integer(e->b->type);
    if (!whole || !sti_constant(l->u, e->b, false, &value) || value != 0) return;
    sti_report_mistake(l->u, e->place, "`%s` divides by 0: whole numbers have no such value", sti_text(l->u, e));
}

static void check_shift(limits *l, const sti_node *e)
{
    int64_t value;
    if (!e->a->type || !sti_type_integer(e->a->type) || !sti_constant(l->u, e->b, false, &value)) return;
    int bits = bits_of(e->a->type);
    if (value >= 0 && value < bits) return;
    sti_report_mistake(l->u, e->place, "`%s` shifts a number of %d bits by %lld: 0 to %d are possible",
                       sti_text(l->u, e), bits, (long long)value, bits - 1);
}

/* `beyond`: its address is taken, which may be that behind the last element. */
static void check_index(limits *l, const sti_node *e, bool beyond)
{
    const sti_type *array = e->a->type;
    int64_t value;
    if (!array || array->kind != STI_TYPE_ARRAY || !sti_constant(l->u, e->b, false, &value)) return;
    if (value >= 0 && value < array->count + beyond) return;
    sti_report_mistake(l->u, e->place, "`%s`: there is no element %lld, `%s` has %lld", sti_text(l->u, e),
                       (long long)value, sti_text(l->u, e->a), (long long)array->count);
}

static void check_operation(limits *l, const sti_node *e)
{
    switch (e->op) {
    case STI_OP_DIV:
    case STI_OP_MOD:
    case STI_OP_DIV_ASSIGN:
    case STI_OP_MOD_ASSIGN: check_division(l, e); break;
    case STI_OP_SHL:
    case STI_OP_SHR:
    case STI_OP_SHL_ASSIGN:
    case STI_OP_SHR_ASSIGN: check_shift(l, e); break;
    default: break;
    }
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

static void walk_list(limits *l, const sti_node *n, taken *own, taken *within);

static void walk_call(limits *l, const sti_node *e, taken *within)
{
    for (const chain *c = l->first; c; c = c->next)
        if (c->function == e->symbol) larger(within, &c->taken);
}

/* What stands in one scope goes with it. */
static void walk_scope(limits *l, const sti_node *n, taken *within)
{
    taken own = {0}, deeper = {0};
    walk_list(l, n, &own, &deeper);
    add_limits(&own, &deeper);
    larger(within, &own);
}

/* Only the side that a constant chooses. */
static bool chosen(const limits *l, const sti_node *test, bool *side)
{
    int64_t value;
    if (!sti_constant(l->u, test, false, &value)) return false;
    *side = value != 0;
    return true;
}

static void walk_variable(const sti_node *v, taken *own, bool shared)
{
    if (!v->type) return;
    take_limits(own, STACK, v, bytes_of(v->type, WIDEST));
    take_limits(own, shared ? SHARED : LOCAL, v, bytes_of(v->type, 1));
}

/* shared(T, name, n): its type points to T. */
static void walk_shared(limits *l, const sti_node *n, taken *own)
{
    int64_t count;
    const sti_node *size = n->kind == STI_NODE_SHARED ? n->a : n->b;
    if (!sti_constant(l->u, size, false, &count)) return;
    if (n->kind == STI_NODE_SHARED) take_limits(own, STACK, n, count * bytes_of(n->named, WIDEST));
    take_limits(own, SHARED, n, count * bytes_of(n->named, 1));
}

static void walk_if(limits *l, const sti_node *n, taken *own, taken *within)
{
    bool side, known = chosen(l, n->a, &side);
    walk_list(l, n->a, own, within);
    if (!known || side) walk_list(l, n->b, own, within);
    if (n->c && !(known && side)) walk_list(l, n->c, own, within);
}

static void walk(limits *l, const sti_node *n, taken *own, taken *within)
{
    switch (n->kind) {
    case STI_NODE_BLOCK: walk_scope(l, n->a, within); return;
    case STI_NODE_IF:
    case STI_NODE_CONDITION: walk_if(l, n, own, within); return;
    case STI_NODE_VARIABLE: walk_variable(n, own, false); break;
    case STI_NODE_SHARED:
    case STI_NODE_STAGED: walk_shared(l, n, own); break;
    case STI_NODE_CALL: walk_call(l, n, within); break;
    case STI_NODE_ASSIGN: check_operation(l, n); break;
    case STI_NODE_INDEX: check_index(l, n, false); break;
    case STI_NODE_UNARY:
        if (n->op != STI_OP_AND || n->a->kind != STI_NODE_INDEX) break;
        check_index(l, n->a, true);
        walk_list(l, n->a->a, own, within);
        walk_list(l, n->a->b, own, within);
        return;
    case STI_NODE_BINARY: {
        bool side, jumps = n->op == STI_OP_BOTH || n->op == STI_OP_EITHER;
        check_operation(l, n);
        walk_list(l, n->a, own, within);
        if (!(jumps && chosen(l, n->a, &side) && side == (n->op == STI_OP_EITHER))) walk_list(l, n->b, own, within);
        return;
    }
    default: break;
    }
    walk_list(l, n->a, own, within);
    walk_list(l, n->b, own, within);
    walk_list(l, n->c, own, within);
    walk_list(l, n->d, own, within);
}

static void walk_list(limits *l, const sti_node *n, taken *own, taken *within)
{
    for (; n; n = n->next) walk(l, n, own, within);
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* L2. What was complained about counts no more, so that callers are not complained about for it. */
static void check_taken(limits *l, const sti_node *f, taken *t)
{
    static const int64_t limit[] = {STI_LIMIT_STACK, STI_LIMIT_LOCAL, STI_LIMIT_SHARED};
    static const char *const where[] = {"on the stack of a CPU's thread with the widest lanes",
                                        "in the local memory of a GPU's thread",
                                        "in the shared memory of a GPU's team"};
    for (int p = 0; p < PLACES; ++p) {
        const sti_node *v = t->largest[p];
        if (t->bytes[p] <= limit[p] || !v) continue;
        sti_report_mistake(
            l->u, v->place,
            "`%s` takes %lld bytes %s, %s with all that it calls %lld of at most %lld: make it smaller, or pass "
            "an array to the kernel",
            v->name->text, (long long)t->most[p], where[p], f->name->text, (long long)t->bytes[p], (long long)limit[p]);
        *t = (taken){0};
    }
}

void sti_check_limits(sti_unit *u)
{
    limits l = {.u = u};
    for (const sti_node *f = u->top; f && !u->failed; f = f->next) {
        if (f->kind != STI_NODE_FUNCTION || !f->symbol) continue;
        chain *c = sti_unit_alloc(u, sizeof *c);
        if (!c) return;
        *c = (chain){.function = f->symbol, .next = l.first};
        walk_scope(&l, f->b->a, &c->taken);
        check_taken(&l, f, &c->taken);
        l.first = c;
    }
}
