/*
 * Types operators on plain values, pointers and places; see typing.h.
 */
#include "kernel/check/typing.h"

#include <stdio.h>

static bool is_world_array(const sti_type *t)
{
    return t->kind == STI_TYPE_POINTER && (t->of->kind == STI_TYPE_WREAL || t->of->kind == STI_TYPE_WINT);
}

static const sti_type *refuse_world_array(sti_typing *t, const sti_node *e)
{
    sti_report_mistake(t->u, e->place, "`%s` is an array of all worlds: write of_world(%s, items, world, i)",
                       sti_text(t->u, e), sti_text(t->u, e));
    return NULL;
}

void sti_type_test(sti_typing *t, sti_node *e, const char *what)
{
    const sti_type *type = sti_type_decayed(t, e);
    if (!type || sti_type_plain(type) || type->kind == STI_TYPE_POINTER) return;
    const char *text = sti_text(t->u, e);
    if (sti_type_lanes(type))
        sti_report_mistake(t->u, e->place,
                           "`%s` on lanes: `%s` may differ between them; write any(%s), or select values", what, text,
                           text);
    else
        sti_report_mistake(t->u, e->place, "`%s` takes a plain number, not `%s`", what, text);
}

/* ---- between values ---------------------------------------------------------------------------------------------- */

static bool is_comparison(sti_operator op)
{
    return op == STI_OP_LT || op == STI_OP_GT || op == STI_OP_LE || op == STI_OP_GE || op == STI_OP_EQ ||
           op == STI_OP_NE;
}

static bool is_whole_only(sti_operator op)
{
    return op == STI_OP_MOD || op == STI_OP_SHL || op == STI_OP_SHR || op == STI_OP_AND || op == STI_OP_OR ||
           op == STI_OP_XOR;
}

/* The common type of two plain numbers. A double combines with constants only. */
static const sti_type *together(sti_typing *t, const sti_node *left, const sti_node *right, const sti_type *a,
                                const sti_type *b)
{
    const sti_type *both = sti_type_common(a, b);
    if (both->kind != STI_TYPE_DOUBLE || (sti_is_constant(left) && sti_is_constant(right))) return both;
    const sti_node *number = a->kind == STI_TYPE_DOUBLE ? left : right;
    bool simple = number->kind == STI_NODE_NUMBER;
    const char *text = sti_text(t->u, number);
    sti_report_mistake(t->u, number->place, "`%s` is double: write (ureal)%s%s%s", text, simple ? "" : "(", text,
                       simple ? "" : ")");
    return NULL;
}

static const sti_type *plain_operation(sti_typing *t, const sti_node *e, sti_operator op, const sti_type *a,
                                       const sti_type *b)
{
    if (op == STI_OP_BOTH || op == STI_OP_EITHER) return sti_type_basic(STI_TYPE_INT, false);
    if (is_whole_only(op) && !(sti_type_integer(a) && sti_type_integer(b))) {
        sti_report_mistake(t->u, e->place, "`%s`: %s takes whole numbers", sti_text(t->u, e), sti_op_text(op));
        return NULL;
    }
    const sti_type *both = together(t, e->a, e->b, a, b);
    if (both && is_comparison(op)) return sti_type_basic(STI_TYPE_INT, false);
    if (both && (op == STI_OP_SHL || op == STI_OP_SHR)) return sti_type_common(a, a);
    return both;
}

static const sti_type *pointer_operation(sti_typing *t, const sti_node *e, sti_operator op, const sti_type *a,
                                         const sti_type *b)
{
    const sti_type *pointer = a->kind == STI_TYPE_POINTER ? a : b, *other = pointer == a ? b : a;
    int64_t value;
    if (op == STI_OP_BOTH || op == STI_OP_EITHER) return sti_type_basic(STI_TYPE_INT, false);
    if ((op == STI_OP_ADD || (op == STI_OP_SUB && pointer == a)) && sti_type_integer(other)) {
        if (is_world_array(pointer)) return refuse_world_array(t, pointer == a ? e->a : e->b);
        return pointer;
    }
    if (op == STI_OP_EQ || op == STI_OP_NE) {
        bool null = sti_constant(t->u, pointer == a ? e->b : e->a, false, &value) && value == 0;
        if (null || sti_type_same(a, b, false)) return sti_type_basic(STI_TYPE_INT, false);
    }
    sti_report_mistake(t->u, e->place, "`%s`: pointers have + and - of a plain number, == and !=", sti_text(t->u, e));
    return NULL;
}

const sti_type *sti_type_binary(sti_typing *t, const sti_node *e, sti_operator op, const sti_type *a, const sti_type *b)
{
    if (!a || !b) return NULL;
    const sti_type *types[] = {a, b};
    for (int i = 0; i < 2; ++i)
        if (types[i]->kind == STI_TYPE_VOID || types[i]->kind == STI_TYPE_STRUCT) {
            sti_report_mistake(t->u, e->place, "`%s` has no operators", sti_text(t->u, i == 0 ? e->a : e->b));
            return NULL;
        }
    if (sti_type_lanes(a) || sti_type_lanes(b)) return sti_type_lanes_operation(t, e, op, a, b);
    if (a->kind == STI_TYPE_POINTER || b->kind == STI_TYPE_POINTER) return pointer_operation(t, e, op, a, b);
    return plain_operation(t, e, op, a, b);
}

static const sti_type *type_condition(sti_typing *t, sti_node *e)
{
    const sti_type *test = sti_type_decayed(t, e->a), *a = sti_type_decayed(t, e->b), *b = sti_type_decayed(t, e->c);
    if (!test || !a || !b) return NULL;
    if (sti_type_lanes(test)) {
        sti_report_mistake(t->u, e->place, "`?:` on lanes: write %s(%s, %s, %s)",
                           sti_type_whole(a) ? "iselect" : "select", sti_text(t->u, e->a), sti_text(t->u, e->b),
                           sti_text(t->u, e->c));
        return NULL;
    }
    if (!sti_type_plain(test) && test->kind != STI_TYPE_POINTER) {
        sti_report_mistake(t->u, e->place, "`?:` takes a plain number, not `%s`", sti_text(t->u, e->a));
        return NULL;
    }
    if (sti_type_plain(a) && sti_type_plain(b)) return together(t, e->b, e->c, a, b);
    if (a->kind == STI_TYPE_POINTER && b->kind == STI_TYPE_POINTER && sti_type_same(a, b, false))
        return a->of->is_const ? a : b;
    const char *what = "the other value of `?:`";
    bool null_first = a->kind != STI_TYPE_POINTER && b->kind == STI_TYPE_POINTER;
    if (null_first) return sti_type_convert(t, e->b, a, b, what, NULL) ? b : NULL;
    if (sti_type_plain(a) && sti_type_lanes(b)) return sti_type_convert(t, e->b, a, b, what, NULL) ? b : NULL;
    if (a->kind == STI_TYPE_VOID && b->kind == STI_TYPE_VOID) {
        sti_report_mistake(t->u, e->place, "`?:` chooses between values: write if");
        return NULL;
    }
    return sti_type_convert(t, e->c, b, a, what, NULL) ? a : NULL;
}

/* ---- before and behind a value ----------------------------------------------------------------------------------- */

static const sti_type *type_number(sti_typing *t, sti_node *e)
{
    uint64_t value;
    sti_type_kind kind;
    if (sti_integer(e->name->text, &value, &kind) || sti_floating(e->name->text, &kind))
        return sti_type_basic(kind, false);
    sti_report_mistake(t->u, e->place, "`%.80s` is not a number of the language: 12, 0x1fu, 3ll, 0.5, 1e-3f are",
                       e->name->text);
    return NULL;
}

static const sti_type *type_address(sti_typing *t, sti_node *e)
{
    const sti_type *of = sti_type_of(t, e->a);
    if (!of) return NULL;
    const char *text = sti_text(t->u, e->a);
    bool place = e->a->kind == STI_NODE_NAME || e->a->kind == STI_NODE_INDEX || e->a->kind == STI_NODE_MEMBER;
    if (!place || (e->a->symbol && (e->a->symbol->kind == STI_SYMBOL_LOOP || e->a->symbol->kind == STI_SYMBOL_SETTING)))
        sti_report_mistake(t->u, e->place, "`%s` has no address", text);
    else if (of->kind == STI_TYPE_ARRAY)
        sti_report_mistake(t->u, e->place, "`&%s`: an array is passed by its name alone", text);
    else if (of->kind == STI_TYPE_POINTER)
        sti_report_mistake(t->u, e->place, "`&%s`: nothing points to pointers", text);
    else
        return sti_type_pointer(t->u, of);
    return NULL;
}

static const sti_type *type_not(sti_typing *t, sti_node *e, const sti_type *a)
{
    if (sti_type_lanes(a)) {
        sti_report_mistake(t->u, e->place, "`%s` on lanes: write m_not(%s)", sti_text(t->u, e), sti_text(t->u, e->a));
        return NULL;
    }
    if (sti_type_plain(a) || a->kind == STI_TYPE_POINTER) return sti_type_basic(STI_TYPE_INT, false);
    sti_report_mistake(t->u, e->place, "`!` takes a plain number");
    return NULL;
}

static const sti_type *type_pointee(sti_typing *t, sti_node *e, const sti_type *a)
{
    if (a->kind != STI_TYPE_POINTER) {
        sti_report_mistake(t->u, e->place, "`%s` is no pointer", sti_text(t->u, e->a));
        return NULL;
    }
    return is_world_array(a) ? refuse_world_array(t, e->a) : a->of;
}

static const sti_type *type_sign(sti_typing *t, sti_node *e, const sti_type *a)
{
    bool whole = sti_type_whole(a), lanes = sti_type_lanes(a), invert = e->op == STI_OP_INVERT;
    if (sti_type_plain(a) && (!invert || sti_type_integer(a))) return sti_type_common(a, a);
    if (lanes && invert && whole) return a;
    if (lanes && e->op == STI_OP_SUB && a->kind != STI_TYPE_MASK)
        return whole ? sti_type_basic(STI_TYPE_LINT, false) : a;
    const char *text = sti_text(t->u, e);
    if (lanes && e->op == STI_OP_SUB)
        sti_report_mistake(t->u, e->place, "`%s` calculates with a mask: write m & isplat(1), or iselect", text);
    else
        sti_report_mistake(t->u, e->place, "`%s`: %s is not for `%s`", text, sti_op_text((sti_operator)e->op),
                           sti_text(t->u, e->a));
    return NULL;
}

const sti_type *sti_type_step(sti_typing *t, sti_node *e)
{
    const sti_type *a = sti_type_place(t, e->a);
    if (!a) return NULL;
    if (sti_type_integer(a) || (a->kind == STI_TYPE_POINTER && !is_world_array(a))) return a;
    sti_report_mistake(t->u, e->place, "`%s`: %s is for whole plain numbers and pointers", sti_text(t->u, e),
                       sti_op_text((sti_operator)e->op));
    return NULL;
}

/* RULES-EFFECT-1: refuses a step inside of a value. */
static const sti_type *refuse_step(sti_typing *t, const sti_node *e)
{
    sti_report_mistake(t->u, e->place,
                       "`%s` within an expression: a step is a statement of its own, before or after this one",
                       sti_text(t->u, e));
    return NULL;
}

static const sti_type *type_unary(sti_typing *t, sti_node *e)
{
    if (e->op == STI_OP_INCREMENT || e->op == STI_OP_DECREMENT) return refuse_step(t, e);
    if (e->op == STI_OP_AND) return type_address(t, e);
    const sti_type *a = sti_type_decayed(t, e->a);
    if (!a) return NULL;
    if (e->op == STI_OP_NOT) return type_not(t, e, a);
    if (e->op == STI_OP_MUL) return type_pointee(t, e, a);
    return type_sign(t, e, a);
}

static const sti_type *type_index(sti_typing *t, sti_node *e)
{
    const sti_type *a = sti_type_decayed(t, e->a), *b = sti_type_decayed(t, e->b);
    if (!a || !b) return NULL;
    bool good = a->kind == STI_TYPE_POINTER && sti_type_integer(b) && !is_world_array(a);
    if (good) return a->of;
    const char *text = sti_text(t->u, e->a), *index = sti_text(t->u, e->b);
    if (sti_type_lanes(a)) {
        sti_report_mistake(t->u, e->place, "`%s`: no lane is picked out of others; work on all of them, with select",
                           sti_text(t->u, e));
    } else if (a->kind != STI_TYPE_POINTER) {
        sti_report_mistake(t->u, e->place, "`%s` is no array", text);
    } else if (sti_type_lanes(b) && (a->of->kind == STI_TYPE_UREAL || a->of->kind == STI_TYPE_INT)) {
        sti_report_mistake(t->u, e->place, "`%s[%s]` with an index of lanes: write %s(%s, %s)", text, index,
                           a->of->kind == STI_TYPE_INT ? "igather" : "gather", text, index);
    } else if (!sti_type_integer(b)) {
        sti_report_mistake(t->u, e->place, "`%s[%s]`: an index is a plain whole number", text, index);
    } else {
        sti_report_mistake(t->u, e->place, "`%s` is an array of all worlds: write of_world(%s, items, world, %s)", text,
                           text, index);
    }
    return NULL;
}

/* A field of a const structure is const. */
static const sti_type *made_const(sti_typing *t, const sti_type *type)
{
    if (type->kind == STI_TYPE_ARRAY) {
        const sti_type *of = made_const(t, type->of);
        return of ? sti_type_array(t->u, of, type->count) : NULL;
    }
    if (type->kind == STI_TYPE_STRUCT) return sti_type_structure(type->structure, true);
    return sti_type_basic(type->kind, true);
}

static const sti_type *type_member(sti_typing *t, sti_node *e)
{
    const sti_structure *bundle = sti_bundle_of(e->a);
    if (bundle) {
        if (sti_bundle_member(t, e)) return sti_type_of(t, e);
        if (e->op == STI_OP_DOT)
            sti_report_mistake(t->u, e->place, "%s has no field `%s`", bundle->name->text, e->name->text);
        else
            sti_report_mistake(t->u, e->place, "`%s` is no pointer: write `.`", e->a->name->text);
        return NULL;
    }
    const sti_type *a = sti_type_of(t, e->a);
    if (!a) return NULL;
    if (e->op == STI_OP_ARROW && sti_type_points(a))
        a = a->of;
    else if (e->op == STI_OP_ARROW) {
        sti_report_mistake(t->u, e->place, "`%s` is no pointer: write `.`", sti_text(t->u, e->a));
        return NULL;
    }
    if (a->kind != STI_TYPE_STRUCT) {
        sti_report_mistake(t->u, e->place,
                           sti_type_points(a) ? "`%s` is a pointer: write `->`" : "`%s` is no structure",
                           sti_text(t->u, e->a));
        return NULL;
    }
    for (sti_symbol *f = a->structure->field; f; f = f->next)
        if (f->name == e->name) {
            e->symbol = f;
            return a->is_const ? made_const(t, f->type) : f->type;
        }
    sti_report_mistake(t->u, e->place, "%s has no field `%s`", a->structure->name->text, e->name->text);
    return NULL;
}

static const sti_type *type_cast(sti_typing *t, sti_node *e)
{
    const sti_type *from = sti_type_decayed(t, e->a);
    const sti_type *to = e->op == STI_OP_MUL ? sti_type_pointer(t->u, e->named) : sti_type_value(e->named);
    if (!from || !to) return NULL;
    if (to->kind == STI_TYPE_VOID) return to;
    if (sti_type_plain(from) && sti_type_plain(to) && to->kind != STI_TYPE_WREAL && to->kind != STI_TYPE_WINT)
        return to;
    if (sti_type_whole(from) && sti_type_whole(to)) return to;
    if (sti_type_lanes(from) || sti_type_lanes(to)) {
        if (!(from->kind == STI_TYPE_REAL && to->kind == STI_TYPE_REAL))
            (void)sti_type_convert(t, e->a, from, to, "what it is cast to", NULL);
        return from->kind == STI_TYPE_REAL && to->kind == STI_TYPE_REAL ? to : NULL;
    }
    bool plain = from->kind == STI_TYPE_POINTER && to->kind == STI_TYPE_POINTER && sti_type_plain(from->of) &&
                 sti_type_plain(to->of) && !is_world_array(from) && !is_world_array(to);
    if (plain && (to->of->is_const || !from->of->is_const)) return to;
    const char *text = sti_text(t->u, e->a);
    char name[128];
    sti_type_text(to, name, sizeof name);
    if (plain)
        sti_report_mistake(t->u, e->place, "`(%s)%s` takes const away: what is const is only read", name, text);
    else
        sti_report_mistake(t->u, e->place, "`(%s)%s`: casts are between plain numbers, and between pointers to them",
                           name, text);
    return NULL;
}

static const sti_type *type_sizeof(sti_typing *t, const sti_node *e)
{
    int64_t size;
    if (sti_is_bundle(e->named)) {
        sti_report_mistake(t->u, e->place, "sizeof: a structure with pointers is no memory of its own");
        return NULL;
    }
    if (sti_type_size(t->u, e->named, &size)) return sti_type_basic(STI_TYPE_U64, false);
    sti_report_mistake(t->u, e->place, "sizeof takes a plain type: lanes have another size on each device");
    return NULL;
}

const sti_type *sti_type_operation(sti_typing *t, sti_node *e)
{
    switch (e->kind) {
    case STI_NODE_NUMBER: return type_number(t, e);
    case STI_NODE_INDEX: return type_index(t, e);
    case STI_NODE_MEMBER: return type_member(t, e);
    case STI_NODE_UNARY: return type_unary(t, e);
    case STI_NODE_POSTFIX: return refuse_step(t, e);
    case STI_NODE_BINARY: {
        const sti_type *a = sti_type_decayed(t, e->a), *b = sti_type_decayed(t, e->b);
        return sti_type_binary(t, e, (sti_operator)e->op, a, b);
    }
    case STI_NODE_CONDITION: return type_condition(t, e);
    case STI_NODE_CAST: return type_cast(t, e);
    case STI_NODE_SIZEOF: return type_sizeof(t, e);
    case STI_NODE_ASSIGN:
        sti_report_mistake(t->u, e->place, "`%s`: an assignment is a statement of its own", sti_text(t->u, e));
        return NULL;
    case STI_NODE_COMMA:
        sti_report_mistake(t->u, e->place, "a comma stands between assignments, not in a value");
        return NULL;
    default: return NULL;
    }
}
