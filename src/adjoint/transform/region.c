/*
 * Forward and reverse of lists of statements. Forward saves what is overwritten; reverse restores it. See transform.h.
 *
 * What is saved for a statement: the value of a variable; an element of an array; for a region everything that it
 * changes. Values that are not needed are neither saved nor computed.
 */
#include "adjoint/transform/save_restore.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

#include <string.h>

/* Runs a region in a way that all its changes can be undone. */
static void run_saved(sti_transform *t, const sti_step *first, sti_step *s)
{
    const sti_effects *log = t->log;
    sti_save_effects(t, first, s);
    t->log = s->effects.narray > 0 ? &s->effects : NULL;
    if (t->log) {
        s->mark = sti_fresh(t, "mark");
        t->tape->taped |= 1u << STI_SPILL_INT;
        sti_emit(t, "int %s = top;", s->mark);
    }
    sti_run_statement(t, s->n);
    t->log = log;
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static void forward_declaration(sti_transform *t, const sti_node *v)
{
    const sti_symbol *s = v->symbol;
    sti_run_declaration(t, v);
    bool carries = sti_type_carries(v->type), only;
    const sti_symbol *array =
        t->items && t->kernel && v->a && v->type->kind == STI_TYPE_POINTER ? sti_origin_of(v->a, &only) : NULL;
    if (array && sti_is_array_symbol(array)) return; /* its gradient is found by its offset */
    if (v->type->kind == STI_TYPE_POINTER && carries && v->a && sti_active_value(t, v->a)) {
        (void)sti_mark(t, v->a, STI_NOTE(graded));
        sti_emit(t, "%s *%s = %s;", sti_gradient_type(t, v->type), sti_gradient_name(t, s),
                 sti_gradient_place(t, v->a));
    } else if (carries && v->type->kind != STI_TYPE_POINTER && sti_note_of(t, s)->active) {
        sti_declare_gradient(t, s);
    }
}

static void forward_assignment(sti_transform *t, const sti_step *first, sti_step *s, sti_node *e)
{
    bool pointer = e->a->type && e->a->type->kind == STI_TYPE_POINTER;
    if (pointer && sti_type_carries(e->a->type)) {
        sti_report_mistake(t->u, e->place,
                           "`%s` is a pointer that moves, and its gradient would have to: write an index",
                           sti_text(t->u, e->a));
        return;
    }
    if (e->a->kind == STI_NODE_NAME)
        sti_save_variable(t, first, s, e->a->symbol);
    else
        sti_save_element(t, first, s, e->a);
}

static void forward_expression(sti_transform *t, const sti_step *first, sti_step *s)
{
    sti_node *e = s->n->a;
    bool moves = e->kind == STI_NODE_POSTFIX || e->kind == STI_NODE_UNARY;
    if (e->kind == STI_NODE_ASSIGN || moves) {
        forward_assignment(t, first, s, e);
        if (e->kind == STI_NODE_ASSIGN && e->b->kind == STI_NODE_CALL) sti_save_effects(t, first, s);
    } else if (sti_store_of(e) >= 0) {
        sti_node *place;
        int k = 0;
        for (; (place = sti_written_place(t, e, k)); ++k) sti_save_element(t, first, s, place);
        if (k == 0 && t->items && t->kernel) sti_item_save(t, s, e);
    } else if (e->kind == STI_NODE_CALL) {
        sti_save_effects(t, first, s);
    }
    const sti_effects *log = t->log;
    t->log = NULL; /* saved above */
    sti_run_expression(t, e);
    t->log = log;
}

static void forward_team_array(sti_transform *t, const sti_node *n)
{
    sti_declare_team_array(t, n);
    if (n->kind == STI_NODE_STAGED) {
        if (!sti_type_carries(n->named) || !sti_active_value(t, n->a) || t->items) return;
        sti_emit(t, "%s *%s = %s;", sti_writable(t, n, "real"), sti_gradient_name(t, n->symbol),
                 sti_gradient_place(t, n->a));
        return;
    }
    if (!sti_type_carries(n->named) || !sti_note_of(t, n->symbol)->active) return;
    if (t->items) {
        sti_report_mistake(
            t->u, n->place,
            "`%s` has a gradient that the items of a block would share, and it is not made: let each item work "
            "out what it needs",
            n->name->text);
        return;
    }
    const char *g = sti_gradient_name(t, n->symbol), *i = sti_fresh(t, "i");
    sti_emit(t, "shared(real, %s, %s);", g, sti_value(t, n->a));
    sti_emit(t, "each (%s, %s) %s[%s] = splat(0);", i, sti_value(t, n->a), g, i);
    sti_emit(t, "sync();");
}

static void forward(sti_transform *t, const sti_step *first, sti_step *s)
{
    sti_node *n = s->n;
    switch (n->kind) {
    case STI_NODE_DECLARE:
        if (n->a->a && n->a->a->kind == STI_NODE_CALL) sti_save_effects(t, first, s);
        forward_declaration(t, n->a);
        break;
    case STI_NODE_EXPRESSION:
        if (!sti_last_of_list(n) || sti_call_of_statement(n)) forward_expression(t, first, s);
        break;
    case STI_NODE_SHARED:
    case STI_NODE_STAGED: forward_team_array(t, n); break;
    case STI_NODE_SYNC: sti_emit(t, "sync();"); break;
    case STI_NODE_RETURN: break;
    default:
        if (sti_last_of_list(n)) break; /* nothing after it uses its results: reverse runs it again */
        run_saved(t, first, s);
    }
}

/* ---- reverse ----------------------------------------------------------------------------------------------------- */

/* x = s of structures. The gradient of x is cleared even if s has none. */
static void reverse_structure(sti_transform *t, const sti_node *value, const char *from, bool clear)
{
    if (sti_is_own_call(value) || value->kind == STI_NODE_CONDITION)
        sti_report_mistake(t->u, value->place, "`%s` is a structure: its adjoint is made for a copy of a variable only",
                           sti_text(t->u, value));
    else if (sti_active_value(t, value) || clear)
        sti_add_numbers(t, sti_active_value(t, value) ? sti_gradient_place(t, value) : NULL, from, value->type, clear);
}

static void reverse_list_value(sti_transform *t, const sti_node *list, const char *place, const sti_type *type)
{
    const sti_symbol *field = type->kind == STI_TYPE_STRUCT ? type->structure->field : NULL;
    int k = 0;
    for (const sti_node *v = list->a; v; v = v->next, ++k) {
        const char *at = field ? sti_say(t, "%s.%s", place, field->name->text) : sti_say(t, "%s[%d]", place, k);
        const sti_type *of = field ? field->type : type->of;
        if (v->kind == STI_NODE_LIST)
            reverse_list_value(t, v, at, of);
        else if (of->kind == STI_TYPE_STRUCT)
            reverse_structure(t, v, at, false);
        else
            sti_reverse_value(t, v, at);
        if (field) field = field->next;
    }
}

static void reverse_declaration(sti_transform *t, const sti_node *v)
{
    if (!v->a || v->type->kind == STI_TYPE_POINTER) return;
    const char *g = sti_gradient_name(t, v->symbol);
    if (v->a->kind == STI_NODE_LIST)
        reverse_list_value(t, v->a, g, v->type);
    else if (v->type->kind == STI_TYPE_STRUCT)
        reverse_structure(t, v->a, g, false);
    else if (sti_is_own_call(v->a) && (sti_note_of(t, v->symbol)->active || sti_active_statement(t, v->a)))
        sti_reverse_call(t, v->a, sti_note_of(t, v->symbol)->active ? g : NULL);
    else
        sti_reverse_value(t, v->a, g);
}

/*
 * For x = x + e or x = fma(a, b, x) returns the part e: the gradient of x does not change, and e gets it too. NULL: it
 * is neither.
 */
static const sti_node *added_to_itself(const sti_node *e)
{
    const sti_node *x = e->a, *sum = e->b;
    if (x->kind != STI_NODE_NAME || !x->symbol) return NULL;
    if (sum->kind == STI_NODE_BINARY && (sum->op == STI_OP_ADD || sum->op == STI_OP_SUB) &&
        sum->a->kind == STI_NODE_NAME && sum->a->symbol == x->symbol && !sti_mentions(sum->b, x->symbol))
        return sum;
    const sti_node *third = sum->kind == STI_NODE_CALL && sum->a && sum->a->next ? sum->a->next->next : NULL;
    bool fused = third && (strcmp(sum->name->text, "fma") == 0 || strcmp(sum->name->text, "ufma") == 0);
    if (!fused || third->kind != STI_NODE_NAME || third->symbol != x->symbol) return NULL;
    sti_node first = *sum->a, second = *sum->a->next;
    first.next = second.next = NULL;
    return sti_mentions(&first, x->symbol) || sti_mentions(&second, x->symbol) ? NULL : sum;
}

/* Reverses such a sum without x, whose gradient is hidden while the other parts take theirs. */
static void reverse_added(sti_transform *t, const sti_node *e)
{
    sti_note *x = sti_note_of(t, e->a->symbol);
    const char *g = sti_gradient_name(t, e->a->symbol);
    x->active = false;
    sti_reverse_value(t, e->b, g);
    x->active = true;
}

static void reverse_assignment(sti_transform *t, const sti_node *e)
{
    if (!e->type || !sti_type_carries(e->type) || e->type->kind == STI_TYPE_POINTER) return;
    bool only;
    const sti_symbol *s = sti_origin_of(e->a, &only);
    if (!s || !sti_note_of(t, s)->active) return;
    if (e->type->kind == STI_TYPE_STRUCT) {
        reverse_structure(t, e->b, sti_gradient_place(t, e->a), true);
    } else if (added_to_itself(e)) {
        reverse_added(t, e);
    } else {
        const char *g = sti_take_gradient(t, e->a);
        if (sti_is_own_call(e->b))
            sti_reverse_call(t, e->b, g);
        else
            sti_reverse_value(t, e->b, g);
    }
}

static void reverse_expression(sti_transform *t, const sti_node *e)
{
    if (e->kind == STI_NODE_ASSIGN) {
        reverse_assignment(t, e);
    } else if (e->kind == STI_NODE_CALL && sti_active_statement(t, e)) {
        if (sti_is_own_call(e))
            sti_reverse_call(t, e, NULL);
        else
            sti_reverse_store(t, e);
    }
}

static void reverse_if(sti_transform *t, sti_node *n)
{
    sti_emit(t, "if (%s) {", sti_value(t, n->a));
    sti_adjoint_list(t, n->b->a);
    if (n->c) {
        sti_emit(t, "} else {");
        sti_adjoint_list(t, n->c->a);
    }
    sti_emit(t, "}");
}

static void reverse_statement(sti_transform *t, sti_node *n)
{
    switch (n->kind) {
    case STI_NODE_DECLARE: reverse_declaration(t, n->a); break;
    case STI_NODE_EXPRESSION: reverse_expression(t, n->a); break;
    case STI_NODE_RETURN:
        if (n->a) sti_reverse_value(t, n->a, "result_grad");
        break;
    case STI_NODE_IF: reverse_if(t, n); break;
    case STI_NODE_FOR: sti_adjoint_for(t, n); break;
    case STI_NODE_EACH: sti_adjoint_summed_each(t, n); break;
    case STI_NODE_ITEMS: sti_adjoint_items(t, n); break;
    case STI_NODE_BLOCK:
        sti_emit(t, "{");
        sti_adjoint_list(t, n->a);
        sti_emit(t, "}");
        break;
    case STI_NODE_SYNC: sti_emit(t, "sync();"); break;
    default: break;
    }
}

/* Refuses code of an item kernel that computes for all items of a block. */
static bool refuse_block(sti_transform *t, const sti_node *n)
{
    const sti_node *v = n->kind == STI_NODE_DECLARE ? n->a : NULL;
    bool here = t->items && sti_team_level(t) && !sti_nests(n);
    bool active =
        v ? v->type->kind != STI_TYPE_POINTER && sti_type_carries(v->type) && sti_note_of(t, v->symbol)->active
          : n->kind != STI_NODE_SHARED && n->kind != STI_NODE_STAGED && sti_active_statement(t, n);
    if (!here || !active) return false;
    sti_report_mistake(
        t->u, n->place,
        "this has a gradient, and all items of a block would share it: work it out within items, for each item");
    return true;
}

static void reverse(sti_transform *t, const sti_step *s)
{
    if (s->mark) sti_log_undo(t, &s->effects, s->mark);
    sti_restore(t, s->saved);
    if (sti_nests(s->n) && !sti_active_statement(t, s->n)) return;
    if (refuse_block(t, s->n)) return;
    reverse_statement(t, s->n);
    if (sti_call_of_statement(s->n) && sti_active_statement(t, s->n))
        sti_restore(t, s->saved); /* its adjoint ran it again */
}

void sti_adjoint_list(sti_transform *t, sti_node *list)
{
    size_t count = 0, k = 0;
    for (const sti_node *n = list; n; n = n->next) ++count;
    sti_step *steps = count ? sti_unit_alloc(t->u, count * sizeof *steps) : NULL;
    if (!steps) return;
    for (sti_node *n = list; n; n = n->next, ++k) {
        steps[k].n = n;
        forward(t, steps, &steps[k]);
    }
    while (k-- > 0) reverse(t, &steps[k]);
}
