/*
 * Types names, calls and places; see typing.h.
 */
#include "kernel/check/library.h"
#include "base/plural.h"
#include "kernel/check/typing.h"

#include <stdio.h>
#include <string.h>

static bool is_function(const sti_symbol *s) { return s->kind == STI_SYMBOL_FUNCTION || s->kind == STI_SYMBOL_LIBRARY; }

static const sti_type *type_name(sti_typing *t, sti_node *e)
{
    sti_symbol *s = e->name->symbol;
    if (!s) {
        sti_report_mistake(t->u, e->place, "`%s` is not declared", e->name->text);
        return NULL;
    }
    e->symbol = s;
    if (s->kind == STI_SYMBOL_BUNDLE) {
        sti_report_mistake(t->u, e->place, "`%s` is a structure with pointers: pass it to a function, or name a field",
                           e->name->text);
        return NULL;
    }
    if (!is_function(s)) return s->type;
    sti_report_mistake(t->u, e->place, "`%s` is a function: it can only be called", e->name->text);
    return NULL;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static bool is_defined_later(const sti_unit *u, const sti_name *name)
{
    for (const sti_node *n = u->top; n; n = n->next)
        if (n->kind == STI_NODE_FUNCTION && n->name == name) return true;
    return false;
}

static sti_symbol *called(sti_typing *t, const sti_node *e)
{
    sti_symbol *s = e->name->symbol;
    const char *name = e->name->text, *hint = sti_library_hint(name);
    if (!s && hint)
        sti_report_mistake(t->u, e->place, "`%s` is no function of the language: use %s", name, hint);
    else if (!s && is_defined_later(t->u, e->name))
        sti_report_mistake(t->u, e->place, "`%s` is defined further down: define it before its first use", name);
    else if (!s)
        sti_report_mistake(t->u, e->place,
                           "`%s` is no function of the language or this source: define it with LFN before its use",
                           name);
    else if (!is_function(s))
        sti_report_mistake(t->u, e->place, "`%s` is no function", name);
    else if (s == t->function)
        sti_report_mistake(t->u, e->place,
                           "`%s` calls itself: there is no recursion; write a for with a stack of constant size", name);
    else if (s->kind == STI_SYMBOL_FUNCTION && s->word != STI_WORD_LFN)
        sti_report_mistake(t->u, e->place,
                           "`%s` is a kernel: kernels are launched, not called; put what they share into an LFN", name);
    else
        return s;
    return NULL;
}

static int count_arguments(const sti_node *e)
{
    int n = 0;
    for (const sti_node *a = e->a; a; a = a->next) ++n;
    return n;
}

/*
 * of_world(array, items, world, i): an element of an array of all worlds, which can be written if the array is not
 * const.
 */
static const sti_type *type_of_world(sti_typing *t, sti_node *e)
{
    static const sti_type_kind kinds[] = {STI_TYPE_I64, STI_TYPE_INT, STI_TYPE_INT};
    static const char *const what[] = {"the number of items", "the world", "the item"};
    if (count_arguments(e) != 4) {
        sti_report_mistake(t->u, e->place, "of_world takes 4 arguments, not %d: array, items, world, i",
                           count_arguments(e));
        return NULL;
    }
    const sti_type *array = sti_type_decayed(t, e->a);
    const sti_node *a = e->a->next;
    for (int i = 0; i < 3; ++i, a = a->next) {
        const sti_type *type = sti_type_decayed(t, (sti_node *)(uintptr_t)a);
        (void)sti_type_convert(t, a, type, sti_type_basic(kinds[i], false), what[i], NULL);
    }
    if (!array) return NULL;
    if (array->kind != STI_TYPE_POINTER || (array->of->kind != STI_TYPE_WREAL && array->of->kind != STI_TYPE_WINT)) {
        sti_report_mistake(t->u, e->a->place, "of_world reads wreal * and wint *, not `%s`", sti_text(t->u, e->a));
        return NULL;
    }
    return sti_type_basic(array->of->kind == STI_TYPE_WREAL ? STI_TYPE_UREAL : STI_TYPE_INT, array->of->is_const);
}

/* A parameter that is a bundle takes the name of one, and no other parameter does. False: a mistake was reported. */
static bool same_bundle(sti_typing *t, const sti_node *call, const sti_node *a, const sti_symbol *p, int n)
{
    const sti_structure *given = sti_bundle_of(a);
    if (given == p->bundle) return true;
    if (p->bundle)
        sti_report_mistake(t->u, a->place, "argument %d of %s is a variable that is %s, not `%s`", n, call->name->text,
                           p->bundle->name->text, sti_text(t->u, a));
    else
        sti_report_mistake(t->u, a->place, "`%s` is %s, a structure with pointers, and argument %d of %s is none",
                           a->name->text, given->name->text, n, call->name->text);
    return false;
}

const sti_type *sti_type_call(sti_typing *t, sti_node *e)
{
    sti_symbol *s = called(t, e);
    e->symbol = s;
    if (s && s->kind == STI_SYMBOL_LIBRARY && !s->type) return type_of_world(t, e);
    const sti_symbol *p = s ? s->parameter : NULL;
    int n = 0, left = 0, found = count_arguments(e);
    sti_node **link = &e->a;
    for (sti_node *a = e->a; a; a = *(link = &a->next)) {
        if (left == 0) ++n;
        if (left > 0)
            --left;
        else if (p && !same_bundle(t, e, a, p, n))
            return s->type;
        else if (p && p->bundle && !(a = *link = sti_bundle_argument(t, a)))
            return s->type;
        else if (p && p->bundle)
            left = sti_bundle_fields(p->bundle) - 1;
        const sti_type *type = sti_type_decayed(t, a);
        if (!p) continue;
        char what[128];
        (void)snprintf(what, sizeof what, "argument %d of %.80s", n, e->name->text);
        (void)sti_type_convert(t, a, type, p->type, what, s->twin);
        p = p->next;
    }
    if (s && found != s->nparameter)
        sti_report_mistake(t->u, e->place, "%s takes %d argument%s, not %d", e->name->text, s->nparameter,
                           STI_S(s->nparameter), found);
    return s ? s->type : NULL;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static bool named_place(sti_typing *t, const sti_node *e)
{
    const sti_symbol *s = e->symbol;
    const char *name = e->name->text;
    if (s->kind == STI_SYMBOL_LOOP)
        sti_report_mistake(t->u, e->place, "`%s` belongs to its loop: it is not assigned", name);
    else if (s->kind == STI_SYMBOL_SETTING)
        sti_report_mistake(t->u, e->place, "`%s` is a constant", name);
    else if (e->name->shown)
        sti_report_mistake(t->u, e->place, "`%s` keeps its value: make another structure, or a variable",
                           e->name->shown);
    else if (s->type->kind == STI_TYPE_ARRAY || s->kind == STI_SYMBOL_STAGED || s->kind == STI_SYMBOL_SHARED)
        sti_report_mistake(t->u, e->place, "`%s` is an array: assign its elements", name);
    else if (s->type->is_const)
        sti_report_mistake(t->u, e->place, "`%s` is const: it is only read", name);
    else
        return true;
    return false;
}

const sti_type *sti_type_place(sti_typing *t, sti_node *e)
{
    const sti_type *type = sti_type_of(t, e);
    if (!type) return NULL;
    bool world = e->kind == STI_NODE_CALL && e->symbol && e->symbol->kind == STI_SYMBOL_LIBRARY && !e->symbol->type;
    bool place = e->kind == STI_NODE_NAME || e->kind == STI_NODE_INDEX || e->kind == STI_NODE_MEMBER ||
                 (e->kind == STI_NODE_UNARY && e->op == STI_OP_MUL) || world;
    if (!place) {
        sti_report_mistake(t->u, e->place, "`%s` is a value: only variables and elements are assigned",
                           sti_text(t->u, e));
        return NULL;
    }
    if (e->kind == STI_NODE_NAME) return named_place(t, e) ? type : NULL;
    if (type->is_const)
        sti_report_mistake(t->u, e->place, "`%s` is const: it is only read", sti_text(t->u, e));
    else if (type->kind == STI_TYPE_ARRAY)
        sti_report_mistake(t->u, e->place, "`%s` is an array: assign its elements", sti_text(t->u, e));
    else
        return type;
    return NULL;
}

/* ---- values and effects ------------------------------------------------------------------------------------------ */

const sti_type *sti_type_of(sti_typing *t, sti_node *e)
{
    if (e->kind == STI_NODE_NAME)
        e->type = type_name(t, e);
    else if (e->kind == STI_NODE_CALL)
        e->type = sti_type_call(t, e);
    else
        e->type = sti_type_operation(t, e);
    return e->type;
}

const sti_type *sti_type_decayed(sti_typing *t, sti_node *e)
{
    const sti_type *type = sti_type_of(t, e);
    return type ? sti_type_decay(t->u, type) : NULL;
}

static void type_assignment(sti_typing *t, sti_node *e)
{
    const sti_type *to = sti_type_place(t, e->a), *from = sti_type_decayed(t, e->b);
    sti_operator op = sti_op_compound((sti_operator)e->op);
    if (!to || !from) return;
    bool into_plain = sti_type_plain(to) && sti_type_lanes(from);
    if (op != STI_OP_NONE && !into_plain) from = sti_type_binary(t, e, op, to, from);
    char what[160];
    (void)snprintf(what, sizeof what, "`%s`", e->a->kind == STI_NODE_NAME ? e->a->name->text : sti_text(t->u, e->a));
    /* A compound assignment of plain numbers converts its result back without a cast, as in C. */
    bool back = op != STI_OP_NONE && from && sti_type_integer(from) && sti_type_integer(to);
    if (from && !back && !sti_type_convert(t, e->b, from, to, what, NULL)) return;
    e->type = to;
}

void sti_type_effect(sti_typing *t, sti_node *e)
{
    if (e->kind == STI_NODE_COMMA) {
        sti_type_effect(t, e->a);
        sti_type_effect(t, e->b);
    } else if (e->kind == STI_NODE_ASSIGN) {
        type_assignment(t, e);
    } else {
        bool step = e->kind == STI_NODE_POSTFIX ||
                    (e->kind == STI_NODE_UNARY && (e->op == STI_OP_INCREMENT || e->op == STI_OP_DECREMENT));
        bool unused = e->kind == STI_NODE_CAST && e->named->kind == STI_TYPE_VOID && e->op == STI_OP_NONE;
        const sti_type *type = step ? (e->type = sti_type_step(t, e)) : sti_type_of(t, e);
        if (type && !step && !unused && e->kind != STI_NODE_CALL)
            sti_report_mistake(t->u, e->place, "`%s` does nothing: assign it, or leave it out", sti_text(t->u, e));
    }
}
