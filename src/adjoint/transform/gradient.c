/*
 * Reverse of expressions: from the gradient of a value to those of its parts; see transform.h.
 */
#include "adjoint/transform/transform.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

#include <string.h>

/* ---- places ------------------------------------------------------------------------------------------------------ */

/* Splits the gradient of an element behind a pointer into array and index. */
static void split_element(sti_transform *t, const sti_node *place, const char **array, const char **index)
{
    *array = sti_gradient_place(t, place->a);
    *index = place->kind == STI_NODE_INDEX ? sti_value(t, place->b) : "0";
}

/* For a parameter of a function that may come without a gradient: the name to test. NULL: no test is needed. */
static const char *guard_of(sti_transform *t, const sti_node *place)
{
    bool only;
    const sti_symbol *s = sti_origin_of(place, &only);
    return s && !t->kernel && sti_note_of(t, s)->absent ? sti_gradient_name(t, s) : NULL;
}

static void set_gradient(sti_transform *t, const sti_node *place, const char *value)
{
    const char *array, *index, *guard = guard_of(t, place), *when = guard ? sti_say(t, "if (%s) ", guard) : "";
    (void)sti_mark(t, place, STI_NOTE(graded));
    if (!sti_through_pointer(place)) {
        sti_emit(t, "%s%s = %s;", when, sti_gradient_place(t, place), value);
        return;
    }
    split_element(t, place, &array, &index);
    sti_emit(t, "%sput(%s, %s, %s);", when, array, index, value);
}

void sti_accumulate(sti_transform *t, const sti_node *place, const char *g)
{
    if (sti_item_accumulate(t, place, g)) return;
    const char *sum = sti_say(t, "%s %s", sti_gradient_place(t, place), *g == '-' ? "- " : "+ ");
    sum = *g == '-' ? sti_say(t, "%s%s", sum, sti_closed(t, g + 1)) : sti_say(t, "%s%s", sum, g);
    const char *array, *index = NULL;
    if (sti_through_pointer(place)) {
        split_element(t, place, &array, &index);
        if (sti_team_accumulate(t, place, array, index, g)) return;
    } else if (place->kind == STI_NODE_INDEX) {
        array = sti_gradient_place(t, place->a);
        if (sti_team_accumulate(t, place, array, sti_value(t, place->b), g)) return;
    }
    set_gradient(t, place, sum);
}

/* ---- elements behind a pointer that selects one of two arrays ---- */

/* Returns one branch of a pointer's first selection; *test is its condition. NULL: the pointer selects nothing. */
static sti_node *chosen(sti_transform *t, const sti_node *e, bool first, const sti_node **test)
{
    if (e->kind == STI_NODE_CONDITION) {
        *test = e->a;
        return first ? e->b : e->c;
    }
    if (e->kind == STI_NODE_NAME && e->symbol && e->symbol->kind == STI_SYMBOL_VARIABLE) {
        const sti_node *v = e->symbol->node;
        bool stays = v && v->a && v->type->kind == STI_TYPE_POINTER && !sti_note_of(t, e->symbol)->assigned;
        return stays ? chosen(t, v->a, first, test) : NULL;
    }
    if (!sti_is_offset(e)) return NULL;
    sti_node *left = chosen(t, e->a, first, test), *sum = left ? sti_build_copy(t, e) : NULL;
    if (sum) sum->a = left;
    return sum;
}

void sti_accumulate_selected(sti_transform *t, const sti_node *place, const char *g)
{
    const sti_node *test = NULL;
    sti_node way[2];
    for (int k = 0; k < 2; ++k) {
        way[k] = *place;
        way[k].a = chosen(t, place->a, k == 0, &test);
        way[k].next = NULL;
        if (!way[k].a || !sti_is_fixed(t, test)) {
            sti_report_mistake(
                t->u, place->place,
                "`%s` may be an element of several arrays, and iterations may touch the same one: write the "
                "array",
                sti_text(t->u, place));
            return;
        }
    }
    sti_emit(t, "if (%s) {", sti_value(t, test));
    if (sti_active_value(t, way[0].a)) sti_accumulate(t, &way[0], g);
    sti_emit(t, "} else {");
    if (sti_active_value(t, way[1].a)) sti_accumulate(t, &way[1], g);
    sti_emit(t, "}");
}

const char *sti_take_gradient(sti_transform *t, const sti_node *place)
{
    const char *g = sti_fresh(t, "g"), *guard = guard_of(t, place), *now = sti_gradient_place(t, place);
    bool only, together = sti_team_level(t);
    const sti_symbol *s = sti_origin_of(place, &only);
    together = together && s && sti_is_array_symbol(s);
    if (together) sti_emit(t, "sync();");
    sti_emit(t, guard ? "real %s = %s%s%s : splat(0);" : "real %s = %s%s%s;", g, guard ? guard : "", guard ? " ? " : "",
             now);
    sti_team_take_listed(t, place, g);
    if (together) {
        sti_emit(t, "sync();");
        sti_emit(t, "each (%s, 1) {", sti_fresh(t, "one"));
    }
    set_gradient(t, place, "splat(0)");
    if (together) {
        sti_emit(t, "}");
        sti_emit(t, "sync();");
    }
    return g;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* The text of a partial derivative with its $a, $b, $c, $r and $g filled in. */
static const char *fill_gradient(sti_transform *t, const char *form, const sti_node *const arg[3], const sti_node *e,
                                 const char *g)
{
    const char *out = "";
    for (const char *p = form; *p;) {
        size_t n = strcspn(p, "$");
        out = sti_say(t, "%s%.*s", out, (int)n, p);
        p += n;
        if (!*p) break;
        const char *text = p[1] == 'g'   ? sti_closed(t, g)
                           : p[1] == 'r' ? sti_lanes(t, e)
                                         : sti_lanes(t, arg[p[1] - 'a']);
        out = sti_say(t, "%s%s", out, text);
        p += 2;
    }
    return out;
}

static bool is_place(const sti_node *e)
{
    return e->kind == STI_NODE_NAME || e->kind == STI_NODE_INDEX || e->kind == STI_NODE_MEMBER ||
           (e->kind == STI_NODE_UNARY && e->op == STI_OP_MUL);
}

/* The gradient of a compound part is stored in a variable, so that it is computed once. */
static void reverse_part(sti_transform *t, const sti_node *e, const char *text)
{
    bool name = strcspn(text, " ([-") == strlen(text);
    if (is_place(e) || name) {
        sti_reverse_value(t, e, text);
        return;
    }
    const char *g = sti_fresh(t, "g");
    sti_emit(t, "real %s = %s;", g, text);
    sti_reverse_value(t, e, g);
}

static bool is_number(const sti_node *e) { return sti_is_constant(sti_is_call_of(e, "splat") ? e->a : e); }

/* True if a partial derivative may be infinite or NaN: it is a factor, and made of more than numbers. */
static bool is_boundless(const char *form, const sti_node *const arg[3])
{
    if (!strpbrk(form, "*/")) return false;
    for (const char *p = strchr(form, '$'); p; p = strchr(p + 1, '$'))
        if (p[1] == 'r' || (p[1] != 'g' && !is_number(arg[p[1] - 'a']))) return true;
    return false;
}

/*
 * TRANSFORM-5: a gradient of 0 gives its parts gradients of 0, whatever the partial derivative is. So values that
 * select, rmin or a mask did not take add nothing.
 */
static const char *guarded(sti_transform *t, const char *g, const char *text)
{
    return sti_say(t, "select(eq(%s, splat(0)), splat(0), %s)", g, text);
}

static void reverse_operation(sti_transform *t, const sti_node *e, const sti_derivative *d, const char *g)
{
    const sti_node *arg[3] = {e->a, e->b, NULL};
    if (e->kind == STI_NODE_CALL) {
        arg[1] = sti_argument(e, 1);
        arg[2] = sti_argument(e, 2);
    }
    for (int i = 0; i < 3 && arg[i]; ++i) {
        if (!*d->partial[i] || !sti_active_value(t, arg[i])) continue;
        const char *text = fill_gradient(t, d->partial[i], arg, e, g);
        reverse_part(t, arg[i], is_boundless(d->partial[i], arg) ? guarded(t, g, text) : text);
    }
}

static void reverse_condition(sti_transform *t, const sti_node *e, const char *g)
{
    sti_emit(t, "if (%s) {", sti_value(t, e->a));
    sti_reverse_value(t, e->b, g);
    sti_emit(t, "} else {");
    sti_reverse_value(t, e->c, g);
    sti_emit(t, "}");
}

static void reverse_call_value(sti_transform *t, const sti_node *e, const char *g)
{
    const sti_derivative *d = sti_derivative_of(e);
    if (sti_is_own_call(e)) {
        sti_reverse_call(t, e, g);
    } else if (!d) {
        sti_report_mistake(t->u, e->place,
                           "`%s` has no derivative that is known: give the adjoint of a function that calls it",
                           e->name->text);
    } else if (d->kind == STI_DERIVATIVE_MEMORY && t->items && t->kernel) {
        sti_item_reverse_read(t, e, g);
    } else if (d->kind == STI_DERIVATIVE_MEMORY && !t->items && sti_lane_read(e)) {
        sti_lane_reverse_read(t, e, g);
    } else if (d->kind == STI_DERIVATIVE_MEMORY) {
        sti_report_mistake(
            t->u, e->place,
            "`%s`: the gradient of what a function reads there is not made: read it before the call, within items",
            sti_text(t->u, e));
    } else {
        reverse_operation(t, e, d, g);
    }
}

void sti_reverse_value(sti_transform *t, const sti_node *e, const char *g)
{
    if (!sti_active_value(t, e) || t->u->failed) return;
    if (is_place(e)) {
        sti_accumulate(t, e, g);
        return;
    }
    switch (e->kind) {
    case STI_NODE_CALL: reverse_call_value(t, e, g); break;
    case STI_NODE_CAST: sti_reverse_value(t, e->a, g); break;
    case STI_NODE_CONDITION: reverse_condition(t, e, g); break;
    case STI_NODE_UNARY:
    case STI_NODE_BINARY: {
        const sti_derivative *d = sti_derivative_of(e);
        if (d)
            reverse_operation(t, e, d, g);
        else
            sti_reverse_value(t, e->a, g); /* + before a value */
        break;
    }
    default: sti_report_mistake(t->u, e->place, "the derivative of `%s` is not known", sti_text(t->u, e));
    }
}
