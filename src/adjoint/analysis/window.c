/*
 * Finds which elements of an array parameter a function touches: those from low to high, if its indices are constants
 * and variables of loops with constant ends. See transform.h.
 */
#include "adjoint/transform/transform.h"
#include "kernel/check/flow.h"
#include "kernel/check/type.h"

#include <string.h>

typedef struct looking {
    sti_transform *t;
    const sti_symbol *parameter;
    sti_window *out;
    bool known, some;
} looking;

static void widen(looking *l, int64_t low, int64_t high)
{
    if (!l->some || low < l->out->low) l->out->low = low;
    if (!l->some || high > l->out->high) l->out->high = high;
    l->some = true;
}

static bool is_of(const looking *l, const sti_node *e)
{
    bool only;
    return sti_origin_of(e, &only) == l->parameter || !only;
}

static void look_at_place(looking *l, const sti_node *place, int more)
{
    int64_t low, high;
    if (!is_of(l, place)) return;
    l->known &= sti_constant_range(l->t, place, &low, &high);
    if (l->known) widen(l, low, high + more);
}

/* For a pointer that is passed on: the called function's window, moved by the offset. */
static void look_at_call(looking *l, const sti_node *call)
{
    int n = 0;
    for (const sti_node *a = call->a; a; a = a->next, ++n) {
        const sti_symbol *p = sti_flow_parameter(call, n);
        sti_window inside;
        int64_t low, high;
        if (!p || !a->type || !sti_type_points(a->type) || !is_of(l, a)) continue;
        l->known &= call->symbol->kind == STI_SYMBOL_FUNCTION && sti_window_of(l->t, p, call->symbol, &inside) &&
                    sti_constant_range(l->t, a, &low, &high);
        if (l->known) widen(l, low + inside.low, high + inside.high);
    }
}

static void look_window(looking *l, const sti_node *n)
{
    for (; n && l->known; n = n->next) {
        bool element = n->kind == STI_NODE_INDEX || (n->kind == STI_NODE_UNARY && n->op == STI_OP_MUL);
        bool store = sti_store_of(n) >= 0;
        if (n->kind == STI_NODE_MEMBER && n->op == STI_OP_ARROW && is_of(l, n)) widen(l, 0, 0);
        if (element) look_at_place(l, n, 0);
        if (store && strncmp(n->name->text, "put", 3) == 0)
            look_at_place(l, sti_stored_element(l->t, n, 0), n->name->text[3] == '4' ? 3 : 0);
        else if (store && strcmp(n->name->text, "load4") == 0)
            look_at_place(l, sti_loaded_element(l->t, n, 0), 3);
        else if (n->kind == STI_NODE_CALL)
            look_at_call(l, n);
        look_window(l, n->a);
        look_window(l, n->b);
        look_window(l, n->c);
        look_window(l, n->d);
    }
}

bool sti_window_of(sti_transform *t, const sti_symbol *parameter, const sti_symbol *function, sti_window *out)
{
    looking l = {.t = t, .parameter = parameter, .out = out, .known = true};
    *out = (sti_window){0};
    if (!function->node || sti_note_of(t, function)->given) return false;
    look_window(&l, function->node->b->a);
    return l.known;
}
