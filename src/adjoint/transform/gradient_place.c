/* Where gradients are: their places, types and declarations; see transform.h. */
#include "adjoint/transform/transform.h"
#include "kernel/check/printer.h"

static const char *unknown(sti_transform *t, const sti_node *e)
{
    sti_report_mistake(t->u, e->place, "the gradient of `%s` is not made: write it as an array with an index",
                       sti_text(t->u, e));
    return "";
}

const char *sti_gradient_place(sti_transform *t, const sti_node *e)
{
    const char *a, *b;
    const sti_node *share = e->kind == STI_NODE_NAME ? sti_pointed_share(t, e) : NULL;
    if (share) return sti_gradient_place(t, share);
    switch (e->kind) {
    case STI_NODE_NAME: return sti_gradient_name(t, e->symbol);
    case STI_NODE_INDEX:
        a = sti_gradient_place(t, e->a);
        return sti_say(t, "%s[%s]", sti_closed(t, a), sti_value(t, e->b));
    case STI_NODE_MEMBER:
        a = sti_gradient_place(t, e->a);
        return sti_say(t, "%s%s%s", sti_closed(t, a), sti_op_text((sti_operator)e->op), e->name->text);
    case STI_NODE_UNARY:
        if (e->op != STI_OP_MUL && e->op != STI_OP_AND) return unknown(t, e);
        a = sti_gradient_place(t, e->a);
        return sti_say(t, "%s%s", sti_op_text((sti_operator)e->op), sti_closed(t, a));
    case STI_NODE_BINARY: {
        bool left = sti_is_offset(e);
        a = left ? sti_gradient_place(t, e->a) : sti_value(t, e->a);
        b = left ? sti_closed(t, sti_value(t, e->b)) : sti_gradient_place(t, e->b);
        return sti_say(t, "%s %s %s", a, sti_op_text((sti_operator)e->op), b);
    }
    case STI_NODE_CONDITION:
        a = sti_gradient_place(t, e->b);
        b = sti_gradient_place(t, e->c);
        return sti_say(t, "%s ? %s : %s", sti_closed(t, sti_value(t, e->a)), sti_closed(t, a), sti_closed(t, b));
    default: return unknown(t, e);
    }
}

const char *sti_gradient_type(sti_transform *t, const sti_type *type)
{
    type = sti_type_element(type);
    return type->kind == STI_TYPE_STRUCT ? sti_joined(t, type->structure->name->text, "grad") : "real";
}

static void emit_zero(sti_transform *t, const char *place, const sti_type *type)
{
    if (type->kind == STI_TYPE_ARRAY) {
        const char *k = sti_fresh(t, "k");
        sti_emit(t, "for (int %s = 0; %s < %lld; ++%s) {", k, k, (long long)type->count, k);
        emit_zero(t, sti_say(t, "%s[%s]", place, k), type->of);
        sti_emit(t, "}");
    } else if (type->kind == STI_TYPE_STRUCT) {
        for (const sti_symbol *f = type->structure->field; f; f = f->next)
            if (sti_type_carries(f->type)) emit_zero(t, sti_say(t, "%s.%s", place, f->name->text), f->type);
    } else {
        sti_emit(t, "%s = splat(0);", place);
    }
}

void sti_declare_gradient(sti_transform *t, const sti_symbol *s)
{
    const char *name = sti_gradient_name(t, s), *type = sti_gradient_type(t, s->type);
    if (s->type->kind != STI_TYPE_ARRAY && s->type->kind != STI_TYPE_STRUCT) {
        sti_emit(t, "real %s = splat(0);", name);
        return;
    }
    sti_emit(t, "%s %s%s;", type, name, sti_type_sizes(t, s->type));
    emit_zero(t, name, s->type);
}

typedef struct sum {
    const char *to, *from;
    bool clear;
} sum;

static void add_number(sti_transform *t, const char *suffix, const sti_type *type, void *context)
{
    const sum *s = context;
    (void)type;
    if (s->to) sti_emit(t, "%s%s = %s%s + %s%s;", s->to, suffix, s->to, suffix, s->from, suffix);
    if (s->clear) sti_emit(t, "%s%s = splat(0);", s->from, suffix);
}

void sti_add_numbers(sti_transform *t, const char *to, const char *from, const sti_type *type, bool clear)
{
    sum s = {to, from, clear};
    sti_each_number(t, "", type, true, add_number, &s);
}
