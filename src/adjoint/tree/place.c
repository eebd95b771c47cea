/* Questions about the tree; see place.h. */
#include "adjoint/tree/place.h"
#include "kernel/check/type.h"

#include <string.h>

/* ---- walks ------------------------------------------------------------------------------------------------------- */

void sti_walk(sti_transform *t, const sti_node *list, sti_visit *visit)
{
    for (const sti_node *n = list; n; n = n->next) {
        visit(t, n);
        sti_walk(t, n->a, visit);
        sti_walk(t, n->b, visit);
        sti_walk(t, n->c, visit);
        sti_walk(t, n->d, visit);
    }
}

bool sti_any(sti_transform *t, const sti_node *list, sti_test *test, const void *context)
{
    for (const sti_node *n = list; n; n = n->next)
        if (test(t, n, context) || sti_any(t, n->a, test, context) || sti_any(t, n->b, test, context) ||
            sti_any(t, n->c, test, context) || sti_any(t, n->d, test, context))
            return true;
    return false;
}

static bool names(sti_transform *t, const sti_node *n, const void *symbol)
{
    (void)t;
    return n->kind == STI_NODE_NAME && n->symbol == symbol;
}

bool sti_mentions(const sti_node *list, const sti_symbol *symbol) { return sti_any(NULL, list, names, symbol); }

static bool declares(sti_transform *t, const sti_node *n, const void *symbol)
{
    (void)t;
    return sti_declares(n) && n->symbol == symbol;
}

bool sti_declared_in(const sti_node *statement, const sti_symbol *symbol)
{
    sti_node alone = *statement;
    alone.next = NULL;
    return sti_any(NULL, &alone, declares, symbol);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static bool calls(const sti_node *e, sti_symbol_kind kind)
{
    return e && e->kind == STI_NODE_CALL && e->symbol && e->symbol->kind == kind;
}

bool sti_is_own_call(const sti_node *e) { return calls(e, STI_SYMBOL_FUNCTION); }

bool sti_is_library_call(const sti_node *e) { return calls(e, STI_SYMBOL_LIBRARY); }

bool sti_is_call_of(const sti_node *e, const char *name)
{
    return sti_is_library_call(e) && strcmp(e->name->text, name) == 0;
}

bool sti_lane_read(const sti_node *e) { return sti_is_call_of(e, "load") || sti_is_call_of(e, "gather"); }

sti_node *sti_argument(const sti_node *call, int n)
{
    sti_node *a = call->a;
    while (a && n-- > 0) a = a->next;
    return a;
}

sti_node *sti_call_of_statement(const sti_node *n)
{
    sti_node *e = n->kind == STI_NODE_DECLARE ? n->a->a : n->kind == STI_NODE_EXPRESSION ? n->a : NULL;
    if (e && e->kind == STI_NODE_ASSIGN) e = e->b;
    return sti_is_own_call(e) ? e : NULL;
}

sti_node *sti_assigned_place(const sti_node *e)
{
    bool step = e->kind == STI_NODE_POSTFIX ||
                (e->kind == STI_NODE_UNARY && (e->op == STI_OP_INCREMENT || e->op == STI_OP_DECREMENT));
    return step || e->kind == STI_NODE_ASSIGN ? e->a : NULL;
}

bool sti_declares(const sti_node *n)
{
    return n->kind == STI_NODE_VARIABLE || n->kind == STI_NODE_SHARED || n->kind == STI_NODE_STAGED ||
           n->kind == STI_NODE_EACH || n->kind == STI_NODE_ITEMS;
}

bool sti_nests(const sti_node *n)
{
    return n->kind == STI_NODE_IF || n->kind == STI_NODE_FOR || n->kind == STI_NODE_EACH || n->kind == STI_NODE_ITEMS ||
           n->kind == STI_NODE_BLOCK;
}

bool sti_last_of_list(const sti_node *n)
{
    for (n = n->next; n; n = n->next)
        if (n->kind != STI_NODE_SYNC) return false;
    return true;
}

bool sti_is_offset(const sti_node *e)
{
    return e->kind == STI_NODE_BINARY && e->a->type && sti_type_points(e->a->type);
}

bool sti_is_element(const sti_node *e)
{
    return e->kind == STI_NODE_INDEX || (e->kind == STI_NODE_UNARY && e->op == STI_OP_MUL);
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

const sti_type *sti_type_element(const sti_type *type)
{
    while (type->of) type = type->of;
    return type;
}

bool sti_type_real(const sti_type *type)
{
    return type->kind == STI_TYPE_REAL || type->kind == STI_TYPE_UREAL || type->kind == STI_TYPE_WREAL;
}

bool sti_type_carries(const sti_type *type)
{
    type = sti_type_element(type);
    if (type->kind != STI_TYPE_STRUCT) return sti_type_real(type);
    for (const sti_symbol *f = type->structure->field; f; f = f->next)
        if (sti_type_carries(f->type)) return true;
    return false;
}

bool sti_saves_index(const sti_type *type)
{
    return type->kind == STI_TYPE_INT || type->kind == STI_TYPE_I64 || type->kind == STI_TYPE_LINT;
}

int64_t sti_type_numbers(const sti_type *type, bool reals)
{
    int64_t sum = 0;
    if (type->kind == STI_TYPE_ARRAY) return type->count * sti_type_numbers(type->of, reals);
    if (type->kind != STI_TYPE_STRUCT) return 1;
    for (const sti_symbol *f = type->structure->field; f; f = f->next)
        if (!reals || sti_type_carries(f->type)) sum += sti_type_numbers(f->type, reals);
    return sum;
}

/* ---- places and arrays ------------------------------------------------------------------------------------------- */

bool sti_is_array_symbol(const sti_symbol *s)
{
    return s->kind == STI_SYMBOL_SHARED || (s->kind == STI_SYMBOL_PARAMETER && s->type && sti_type_points(s->type));
}

bool sti_through_pointer(const sti_node *place)
{
    if (place->kind == STI_NODE_INDEX) return place->a->type && place->a->type->kind == STI_TYPE_POINTER;
    return place->kind == STI_NODE_UNARY && place->op == STI_OP_MUL;
}

typedef struct following {
    sti_origin_fn *call;
    void *context;
} following;

static void follow(sti_symbol *s, void *context)
{
    const following *f = context;
    if (s->kind == STI_SYMBOL_STAGED)
        sti_origins(s->node->a, follow, context);
    else
        f->call(s, f->context);
}

void sti_owners(const sti_node *place, sti_origin_fn *call, void *context)
{
    following f = {call, context};
    sti_origins((sti_node *)(uintptr_t)place, follow, &f);
}

typedef struct finding {
    const sti_symbol *wanted;
    sti_symbol *last;
    int count;
    bool found, written;
} finding;

static void find_owner(sti_symbol *s, void *context)
{
    finding *f = context;
    f->found |= s == f->wanted;
    f->written |= s->written;
    f->last = s;
    f->count++;
}

static finding find_owners(const sti_node *place, const sti_symbol *wanted)
{
    finding f = {.wanted = wanted};
    sti_owners(place, find_owner, &f);
    return f;
}

bool sti_may_belong(const sti_node *place, const sti_symbol *symbol) { return find_owners(place, symbol).found; }

bool sti_place_written(const sti_node *place) { return find_owners(place, NULL).written; }

sti_symbol *sti_origin_of(const sti_node *place, bool *only)
{
    finding f = find_owners(place, NULL);
    *only = f.count == 1;
    return f.last;
}

/* ---- notes of the owners ----------------------------------------------------------------------------------------- */

typedef struct asking {
    sti_transform *t;
    size_t member;
    bool set, any, changed;
} asking;

static void ask_symbol(sti_symbol *s, void *context)
{
    asking *a = context;
    bool *member = (bool *)((char *)sti_note_of(a->t, s) + a->member);
    a->any |= *member;
    if (!a->set) return;
    a->changed |= !*member;
    *member = true;
}

bool sti_ask(sti_transform *t, const sti_node *place, size_t member)
{
    asking a = {.t = t, .member = member};
    sti_owners(place, ask_symbol, &a);
    return a.any;
}

bool sti_mark(sti_transform *t, const sti_node *place, size_t member)
{
    asking a = {.t = t, .member = member, .set = true};
    sti_owners(place, ask_symbol, &a);
    return a.changed;
}

/* ---- stores ------------------------------------------------------------------------------------------------------ */

int sti_store_of(const sti_node *call)
{
    static const struct {
        const char *name;
        int array;
    } stores[] = {{"put", 0}, {"store", 0}, {"store_if", 1}, {"scatter_if", 1}, {"load4", 2}, {"put4", 0}};
    for (size_t i = 0; sti_is_library_call(call) && i < sizeof stores / sizeof *stores; ++i)
        if (strcmp(stores[i].name, call->name->text) == 0) return stores[i].array;
    return -1;
}

int sti_put_width(const sti_node *call)
{
    return sti_is_call_of(call, "put") ? 1 : sti_is_call_of(call, "put4") ? 4 : 0;
}
