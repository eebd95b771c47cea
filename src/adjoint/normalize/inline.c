/*
 * Inlines calls in a kernel. A call is inlined if the whole team calls the function, or if the function touches an
 * array of the kernel at elements that its adjoint, made once for all callers, could not determine; see normalize.h.
 *
 * The function is in normal form already, so its one return is its last statement. Parameters become variables with the
 * arguments as first values. Its own variables get names that the source does not have.
 */
#include "adjoint/normalize/normalize.h"
#include "kernel/check/type.h"

enum { MOST_SYMBOLS = 256, MOST_CALLS = 512, MOST_WINDOW = 64 };

typedef struct copying {
    sti_transform *t;
    const sti_symbol *from[MOST_SYMBOLS];
    sti_symbol *to[MOST_SYMBOLS];
    const sti_type *type[MOST_SYMBOLS]; /* of an array that replaces a parameter */
    int count;
} copying;

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static void replace(copying *c, const sti_symbol *from, sti_symbol *to, const sti_type *type, sti_source_place place)
{
    if (c->count == MOST_SYMBOLS) {
        sti_report_mistake(c->t->u, place, "a function with more than %d variables: its adjoint is not made here",
                           MOST_SYMBOLS);
        return;
    }
    c->from[c->count] = from;
    c->type[c->count] = type;
    c->to[c->count++] = to;
}

static sti_symbol *copy_symbol(copying *c, const sti_symbol *s, sti_symbol_kind kind, sti_source_place place)
{
    sti_symbol *own = sti_build_symbol(c->t, s->name->text, s->type, s->place);
    own->written = s->written; /* through pointers to it, which are not const for that */
    own->kind = kind;
    sti_note_of(c->t, own)->flag = sti_note_of(c->t, s)->flag;
    replace(c, s, own, NULL, place);
    return own;
}

static void mean(const copying *c, sti_node *own)
{
    for (int i = c->count; i-- > 0;)
        if (c->from[i] == own->symbol) {
            own->symbol = c->to[i];
            own->name = own->symbol->name;
            if (c->type[i]) own->type = c->type[i];
            return;
        }
}

static sti_node *copy_list(copying *c, const sti_node *n);

static sti_node *copy_one(copying *c, const sti_node *n)
{
    sti_node *own = sti_build_copy(c->t, n);
    own->a = copy_list(c, n->a); /* a variable's first value and an each's count come before the variable */
    if (sti_declares(n) && n->symbol) {
        own->symbol = copy_symbol(c, n->symbol, n->symbol->kind, n->place);
        own->symbol->node = own;
        own->name = own->symbol->name;
    } else if (n->symbol) {
        mean(c, own);
    }
    own->b = copy_list(c, n->b);
    own->c = copy_list(c, n->c);
    own->d = copy_list(c, n->d);
    return own;
}

static sti_node *copy_list(copying *c, const sti_node *n)
{
    sti_node *first = NULL, **at = &first;
    for (; n && !c->t->u->failed; n = n->next) {
        *at = copy_one(c, n);
        at = &(*at)->next;
    }
    return first;
}

sti_node *sti_copy_body(sti_transform *t, const sti_node *body, const sti_symbol *from, sti_symbol *to)
{
    copying *c = sti_unit_alloc(t->u, sizeof *c);
    if (!c) return NULL;
    c->t = t;
    replace(c, from, to, NULL, to->place);
    sti_node *copy = copy_list(c, body);
    (void)sti_flow_pointers(t->u, copy);
    return copy;
}

/* ---- one call ---------------------------------------------------------------------------------------------------- */

static sti_node *parameter(copying *c, const sti_node *v, const sti_node *argument)
{
    sti_symbol *s = copy_symbol(c, v->symbol, STI_SYMBOL_VARIABLE, v->place);
    if (!sti_type_points(v->type)) s->type = sti_type_value(v->type);
    sti_node *d = sti_build_declare(c->t, s, sti_build_copy(c->t, argument));
    d->a->named = d->named = sti_type_points(v->type) ? v->named : sti_type_value(v->named);
    d->a->op = v->op;
    return d;
}

/* Puts the function's statements before the statement at *at. *value is the value that it returns. */
static void put_in(sti_transform *t, sti_node **at, sti_node *call, sti_node **value)
{
    copying *c = sti_unit_alloc(t->u, sizeof *c);
    const sti_node *f = call->symbol->node, *v = f->a;
    sti_node *rest = *at, *first = NULL, **end = &first;
    if (!c) return;
    c->t = t;
    for (const sti_node *a = call->a; a && v; a = a->next, v = v->next) {
        if (!v->symbol) continue;
        bool name = sti_type_points(v->type) && a->kind == STI_NODE_NAME && !sti_note_of(t, v->symbol)->assigned;
        if (name) { /* the array itself, so that analyses see which array it is */
            replace(c, v->symbol, a->symbol, a->type, a->place);
            continue;
        }
        *end = parameter(c, v, a);
        end = &(*end)->next;
    }
    *end = copy_list(c, f->b->a);
    *value = NULL;
    for (; *end; end = &(*end)->next)
        if ((*end)->kind == STI_NODE_RETURN && !(*end)->next) {
            *value = (*end)->a;
            *end = NULL;
            break;
        }
    (void)sti_flow_pointers(t->u, first);
    *sti_end_of(&first) = rest;
    *at = first;
}

/* ---- which calls ------------------------------------------------------------------------------------------------- */

static bool is_loop(sti_transform *t, const sti_node *n, const void *context)
{
    (void)t, (void)context;
    return n->kind == STI_NODE_FOR;
}

/*
 * `alone`: inside of an each or items. Loops in a function that the whole team calls save their values with the team's.
 */
static bool is_wanted(sti_transform *t, const sti_node *call, bool alone)
{
    int n = 0;
    const sti_symbol *f = call->symbol;
    if (!f->node || sti_function_note_of(t, f)->given) return false;
    if (f->team || (!alone && sti_any(t, f->node->b, is_loop, NULL))) return true;
    for (const sti_node *a = call->a; a; a = a->next, ++n) {
        bool only;
        sti_window w;
        const sti_symbol *p = sti_flow_parameter(call, n);
        if (!p || !a->type || !sti_type_points(a->type) || !sti_type_carries(a->type)) continue;
        const sti_symbol *s = sti_origin_of(a, &only);
        if (!s || (!sti_is_array_symbol(s) && s->kind != STI_SYMBOL_STAGED)) continue;
        bool known = sti_window_of(t, p, f, &w) && w.low >= 0 && w.high < MOST_WINDOW;
        if (p->written || !known) return true;
    }
    return false;
}

static sti_node **call_in(sti_node *s)
{
    sti_node **e = s->kind == STI_NODE_DECLARE && s->a && !s->a->next ? &s->a->a
                   : s->kind == STI_NODE_EXPRESSION                   ? &s->a
                                                                      : NULL;
    if (e && *e && (*e)->kind == STI_NODE_ASSIGN && (*e)->op == STI_OP_ASSIGN) e = &(*e)->b;
    return e && *e && sti_is_own_call(*e) ? e : NULL;
}

static void look_through(sti_transform *t, sti_node **list, int *left, bool alone)
{
    for (sti_node **at = list; *at && !t->u->failed;) {
        sti_node *s = *at, **call = call_in(s), *value = NULL;
        if (call && *call && is_wanted(t, *call, alone)) {
            if (--*left < 0) {
                sti_report_mistake(t->u, s->place, "more than %d calls of functions that touch the kernel's arrays",
                                   MOST_CALLS);
                return;
            }
            put_in(t, at, *call, &value);
            if (value) {
                *call = value;
            } else { /* a call whose result is not used */
                sti_node **gone = at;
                while (*gone != s) gone = &(*gone)->next;
                *gone = s->next;
            }
            continue; /* the inlined statements may contain calls, too */
        }
        if (s->kind == STI_NODE_BLOCK) look_through(t, &s->a, left, alone);
        if (s->kind == STI_NODE_IF && s->c) look_through(t, &s->c->a, left, alone);
        bool shares = s->kind == STI_NODE_EACH || s->kind == STI_NODE_ITEMS;
        if (s->kind == STI_NODE_IF || shares) look_through(t, &s->b->a, left, alone || shares);
        if (s->kind == STI_NODE_FOR) look_through(t, &s->d->a, left, alone);
        at = &s->next;
    }
}

void sti_inline_calls(sti_transform *t, sti_node *kernel)
{
    int left = MOST_CALLS;
    look_through(t, &kernel->b->a, &left, false);
}
