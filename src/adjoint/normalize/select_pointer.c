/*
 * Elements behind a pointer that selects one of two arrays by a condition; see transform.h.
 */
#include "adjoint/transform/transform.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

bool sti_is_fixed(sti_transform *t, const sti_node *e)
{
    for (; e; e = e->next) {
        if (e->kind == STI_NODE_NAME && e->symbol && sti_note_of(t, e->symbol)->assigned) return false;
        bool pointed = e->kind == STI_NODE_UNARY && e->op == STI_OP_MUL;
        if (e->kind == STI_NODE_INDEX || e->kind == STI_NODE_CALL || e->kind == STI_NODE_MEMBER || pointed)
            return false;
        if (!sti_is_fixed(t, e->a) || !sti_is_fixed(t, e->b) || !sti_is_fixed(t, e->c)) return false;
    }
    return true;
}

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
    if (e->kind != STI_NODE_BINARY || !e->a->type || !sti_type_points(e->a->type)) return NULL;
    sti_node *left = chosen(t, e->a, first, test), *sum = left ? sti_build(t, STI_NODE_BINARY, e->place) : NULL;
    if (!sum) return NULL;
    *sum = *e;
    sum->next = NULL;
    sum->a = left;
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
            sti_complain(t->u, place->place,
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
