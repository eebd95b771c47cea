/*
 * Adjoints of calls: of the source's own functions, and of the language's stores; see transform.h.
 */
#include "adjoint/transform/transform.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

#include <string.h>

/* ---- the source's own functions ---------------------------------------------------------------------------------- */

/* Gradients of arguments that are no variables: the call fills them, then they are passed on. */
enum { MOST_FILLED = 48, MOST_WINDOW = 64 };
typedef struct filled {
    const sti_node *argument[MOST_FILLED];
    const char *name[MOST_FILLED];
    int64_t low[MOST_FILLED], high[MOST_FILLED]; /* an array's range of elements; for a number high is -1 */
    int count;
} filled;

static bool is_local(const sti_node *a)
{
    return a->kind == STI_NODE_NAME && a->symbol && a->symbol->kind != STI_SYMBOL_TABLE && !sti_type_points(a->type);
}

static const char *number_gradient(sti_transform *t, const sti_node *a, filled *f)
{
    bool active = sti_active_value(t, a);
    if (active && is_local(a)) return sti_say(t, "&%s", sti_gradient_name(t, a->symbol));
    if (a->type->kind == STI_TYPE_STRUCT) {
        if (active) return sti_say(t, "&%s", sti_closed(t, sti_gradient_place(t, a)));
        sti_report_mistake(t->u, a->place, "`%s` has no gradient, but the function that it is given to wants one",
                           sti_text(t->u, a));
        return "";
    }
    const char *name = sti_fresh(t, "g");
    sti_emit(t, "real %s = splat(0);", name);
    if (active && f->count < MOST_FILLED) {
        f->high[f->count] = -1;
        f->argument[f->count] = a;
        f->name[f->count++] = name;
    }
    return sti_say(t, "&%s", name);
}

static void refuse_array(sti_transform *t, const sti_node *call, const sti_node *a, const sti_symbol *array,
                         bool writes)
{
    sti_report_mistake(
        t->u, a->place,
        writes ? "`%s` writes `%s`, an array of this kernel, where several iterations may: let it write a local "
                 "array, and put that"
               : "`%s` reads `%s`, an array of this kernel, and the adjoint does not know which elements: load them "
                 "before the call and pass a local array",
        call->name->text, array->name->text);
}

/* Elements of an array that several iterations may touch: their gradients go through a local array. */
static const char *window_gradient(sti_transform *t, const sti_node *call, const sti_node *a, const sti_symbol *p,
                                   const sti_symbol *array, filled *f)
{
    sti_window w;
    bool known = sti_window_of(t, p, call->symbol, &w) && w.low >= 0 && w.high < MOST_WINDOW;
    if (!known || p->written || f->count == MOST_FILLED || !sti_type_real(p->type->of) ||
        p->type->of->kind == STI_TYPE_WREAL) {
        refuse_array(t, call, a, array, p->written);
        return "0";
    }
    const char *name = sti_fresh(t, "g"), *k = sti_fresh(t, "k");
    sti_emit(t, "real %s[%lld];", name, (long long)w.high + 1);
    sti_emit(t, "for (int %s = 0; %s < %lld; ++%s) %s[%s] = splat(0);", k, k, (long long)w.high + 1, k, name, k);
    f->argument[f->count] = a;
    f->low[f->count] = w.low;
    f->high[f->count] = w.high;
    f->name[f->count++] = name;
    return name;
}

static const char *array_gradient(sti_transform *t, const sti_node *call, const sti_node *a, const sti_symbol *p,
                                  filled *f)
{
    bool only;
    const sti_symbol *s = sti_origin_of(a, &only);
    if (!sti_active_value(t, a)) return "0";
    if (t->kernel && s && sti_is_array_symbol(s) && !sti_team_owns(t, s)) return window_gradient(t, call, a, p, s, f);
    (void)sti_mark(t, a, STI_NOTE(graded));
    return sti_gradient_place(t, a);
}

/* Passes on the gradients that a call filled. */
static void hand_on(sti_transform *t, const filled *f)
{
    for (int i = 0; i < f->count; ++i) {
        const sti_node *a = f->argument[i];
        if (f->high[i] < 0) {
            sti_reverse_value(t, a, f->name[i]);
            continue;
        }
        for (int64_t k = f->low[i]; k <= f->high[i]; ++k) {
            sti_node *index = sti_build_number(t, (int)k, a->place);
            const sti_node *place = sti_build_element(t, a, index, a->type->of, a->place);
            sti_accumulate(t, place, sti_say(t, "%s[%lld]", f->name[i], (long long)k));
        }
    }
}

void sti_reverse_call(sti_transform *t, const sti_node *call, const char *g)
{
    sti_refuse_overlaps(t, call);
    sti_adjoint_function(t, call->symbol->node);
    filled f = {.count = 0};
    bool given = sti_function_note_of(t, call->symbol)->given;
    const char *args = "", *comma = "";
    int n = 0;
    for (const sti_node *a = call->a; a; a = a->next, ++n) {
        const sti_symbol *p = sti_flow_parameter(call, n);
        args = sti_say(t, "%s%s%s", args, comma, sti_closed(t, sti_value(t, a)));
        comma = ", ";
        if (!p || !a->type) continue;
        bool writes = sti_type_points(p->type) && (given ? p->written : sti_note_of(t, p)->stored);
        if (writes) (void)sti_mark(t, a, STI_NOTE(stored));
        if (!sti_type_carries(p->type)) continue;
        const char *more = sti_type_points(p->type) ? array_gradient(t, call, a, p, &f) : number_gradient(t, a, &f);
        args = sti_say(t, "%s, %s", args, more);
    }
    if (call->type && sti_type_carries(call->type)) args = sti_say(t, "%s%s%s", args, comma, g ? g : "splat(0)");
    unsigned taped = sti_function_note_of(t, call->symbol)->taped;
    t->tape->taped |= taped;
    if (taped && sti_team_level(t)) /* its loops would use slots again while other threads still read them */
        sti_report_mistake(
            t->u, call->place,
            "the adjoint of `%s` keeps values of its loops, and here the whole team would keep them in one place: "
            "call it within an each",
            call->name->text);
    if (taped) args = sti_say(t, "%s, %s", args, sti_spill_arguments(t, taped));
    sti_emit(t, "%s_adj%s(%s);", call->name->text, t->items && !given ? "_item" : "", args);
    hand_on(t, &f);
}

/* ---- stores ------------------------------------------------------------------------------------------------------ */

/* v[k] of load4 and put4. */
static sti_node *quarter(sti_transform *t, const sti_node *v, int k)
{
    return sti_build_element(t, v, sti_build_number(t, k, v->place), sti_type_basic(STI_TYPE_REAL, false), v->place);
}

void sti_reverse_store(sti_transform *t, const sti_node *call)
{
    const char *name = call->name->text;
    const sti_node *value = sti_argument(call, 2);
    if (strcmp(name, "put") == 0) {
        sti_reverse_value(t, value, sti_take_gradient(t, sti_loaded_element(t, call, 0)));
    } else if (strcmp(name, "put4") == 0) {
        for (int k = 3; k >= 0; --k) {
            const char *g = sti_take_gradient(t, sti_loaded_element(t, call, k));
            if (sti_active_value(t, value)) sti_accumulate(t, quarter(t, value, k), g);
        }
    } else if (strcmp(name, "load4") == 0) {
        for (int k = 3; k >= 0; --k) {
            const char *g = sti_take_gradient(t, quarter(t, value, k));
            if (sti_active_value(t, call->a)) sti_accumulate(t, sti_loaded_element(t, call, k), g);
        }
    } else if (t->items && t->kernel) {
        sti_item_reverse_store(t, call);
    } else {
        sti_report_mistake(
            t->u, call->place,
            "`%s`: lanes write different places of an array that all worlds share, and its gradient is not "
            "made: write put to an array of worlds",
            sti_text(t->u, call));
    }
}
