/*
 * Finds which elements of an array parameter a function touches: those from low to high, if its indices are constants
 * and variables of loops with constant ends. See analysis.h.
 */
#include "adjoint/analysis/analysis.h"
#include "kernel/check/type.h"

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

static bool look_at_node(sti_transform *t, const sti_node *n, const void *context)
{
    looking *l = (looking *)(uintptr_t)context;
    int put = sti_put_width(n);
    if (n->kind == STI_NODE_MEMBER && n->op == STI_OP_ARROW && is_of(l, n)) widen(l, 0, 0);
    if (sti_is_element(n)) look_at_place(l, n, 0);
    if (put > 0)
        look_at_place(l, sti_stored_element(t, n, 0), put - 1);
    else if (sti_is_call_of(n, "load4"))
        look_at_place(l, sti_loaded_element(t, n, 0), 3);
    else if (n->kind == STI_NODE_CALL)
        look_at_call(l, n);
    return !l->known;
}

bool sti_window_of(sti_transform *t, const sti_symbol *parameter, const sti_symbol *function, sti_window *out)
{
    looking l = {.t = t, .parameter = parameter, .out = out, .known = true};
    *out = (sti_window){0};
    if (!function->node || sti_function_note_of(t, function)->given) return false;
    (void)sti_any(t, function->node->b->a, look_at_node, &l);
    return l.known;
}
