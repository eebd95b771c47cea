/*
 * Saves values in variables of the adjoint before a statement overwrites them; see save_restore.h.
 */
#include "adjoint/transform/save_restore.h"
#include "kernel/check/flow.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

#include <string.h>

static void *take_memory(sti_transform *t, size_t size)
{
    static _Thread_local _Alignas(16) char nothing[256];
    void *p = sti_unit_alloc(t->u, size);
    return p || size > sizeof nothing ? p : memset(nothing, 0, sizeof nothing);
}

/* ---- keeping and bringing back ----------------------------------------------------------------------------------- */

void sti_copy(sti_transform *t, const char *to, const char *from, const sti_type *type)
{
    if (type->kind != STI_TYPE_ARRAY) {
        sti_emit(t, "%s = %s;", to, from);
        return;
    }
    const char *k = sti_fresh(t, "k");
    sti_emit(t, "for (int %s = 0; %s < %lld; ++%s) {", k, k, (long long)type->count, k);
    sti_copy(t, sti_say(t, "%s[%s]", to, k), sti_say(t, "%s[%s]", from, k), type->of);
    sti_emit(t, "}");
}

static void save_value(sti_transform *t, sti_step *s, const char *stem, const char *place, const sti_type *type,
                       const sti_node *store)
{
    sti_saved *k = take_memory(t, sizeof *k);
    type = sti_type_value(type);
    *k = (sti_saved){.type = type, .place = place, .name = sti_fresh(t, stem), .store = store, .next = s->saved};
    s->saved = k;
    const char *word = sti_type_word(t, type->kind == STI_TYPE_ARRAY ? sti_type_value(sti_type_element(type)) : type);
    if (type->kind != STI_TYPE_ARRAY) {
        bool star = word[strlen(word) - 1] == '*';
        sti_emit(t, "%s%s%s = %s;", word, star ? "" : " ", k->name, place);
        return;
    }
    sti_emit(t, "%s %s%s;", word, k->name, sti_type_sizes(t, type));
    sti_copy(t, k->name, place, type);
}

void sti_restore_by(sti_transform *t, sti_step *s, const char *statement)
{
    sti_saved *k = take_memory(t, sizeof *k);
    *k = (sti_saved){.back = statement, .next = s->saved};
    s->saved = k;
}

void sti_restore(sti_transform *t, const sti_saved *k)
{
    for (; k; k = k->next) {
        if (k->back) {
            sti_emit(t, "%s", k->back);
        } else if (k->store) {
            (void)sti_mark(t, k->store->a, STI_NOTE(stored));
            sti_emit(t, "put(%s, %s, %s);", sti_value(t, k->store->a), sti_value(t, k->store->b), k->name);
        } else {
            sti_copy(t, k->place, k->name, k->type);
        }
    }
}

/*
 * True if a variable of this list has no value yet before a statement: it was declared without one and not touched
 * since.
 */
static bool untouched(const sti_step *first, const sti_step *s, const sti_symbol *symbol)
{
    for (const sti_step *p = s; p-- > first;) {
        if (p->n->kind == STI_NODE_DECLARE && p->n->a->symbol == symbol) return !p->n->a->a;
        sti_node alone = *p->n;
        alone.next = NULL;
        if (sti_mentions(&alone, symbol)) return false;
    }
    return false;
}

void sti_save_variable(sti_transform *t, const sti_step *first, sti_step *s, const sti_symbol *symbol)
{
    if (!sti_note_of(t, symbol)->needed || untouched(first, s, symbol)) return;
    save_value(t, s, symbol->name->text, symbol->name->text, symbol->type, NULL);
}

void sti_save_effects(sti_transform *t, const sti_step *first, sti_step *s)
{
    sti_effects_of(t, s->n, &s->effects);
    for (int i = 0; i < s->effects.count; ++i) sti_save_variable(t, first, s, s->effects.symbol[i]);
}

/* The field of a structure that a place is in; NULL: it is in none. */
static const sti_node *field_of(const sti_node *place)
{
    const sti_node *field = NULL;
    for (const sti_node *p = place; p && p->kind != STI_NODE_NAME; p = p->a)
        if (p->kind == STI_NODE_MEMBER) field = p;
    return field;
}

typedef struct reaching {
    const sti_symbol *array;
    bool reaches;
} reaching;

static void find_reached(sti_symbol *s, void *context)
{
    reaching *r = context;
    r->reaches |= s == r->array;
}

/* True if `e` is another field of a named structure of the same type: these lie apart. */
static bool is_other_field(const sti_node *e, const sti_node *field)
{
    if (!field || e->kind != STI_NODE_MEMBER || strcmp(e->name->text, field->name->text) == 0) return false;
    const sti_node *of = e->a->kind == STI_NODE_UNARY ? e->a->a : e->a;
    return of->kind == STI_NODE_NAME && e->a->type && field->a->type &&
           sti_type_element(e->a->type)->structure == sti_type_element(field->a->type)->structure;
}

/* True for the address of a variable, or of an element at a constant index. */
static bool is_address(const sti_node *e)
{
    if (!e->type || !sti_type_points(e->type)) return false;
    if (e->kind == STI_NODE_UNARY && e->op == STI_OP_AND) e = e->a;
    while (e->kind == STI_NODE_INDEX && sti_is_constant(e->b)) e = e->a;
    return e->kind == STI_NODE_NAME;
}

/* True if an expression reads the array, itself or by a pointer, and not only in other fields. */
static bool reads_array(const sti_node *e, const sti_symbol *array, const sti_node *field)
{
    for (; e; e = e->next) {
        reaching r = {.array = array};
        bool compares = e->kind == STI_NODE_BINARY && is_address(e->a) && is_address(e->b);
        if (compares || is_other_field(e, field)) continue;
        if (e->kind == STI_NODE_NAME && e->symbol) sti_origins((sti_node *)(uintptr_t)e, find_reached, &r);
        if (r.reaches || reads_array(e->a, array, field) || reads_array(e->b, array, field) ||
            reads_array(e->c, array, field))
            return true;
    }
    return false;
}

/*
 * True if no index of a place reads what the statement writes, so the place is the same when it is restored.
 */
static bool index_is_safe(const sti_node *place, const sti_symbol *array)
{
    const sti_node *field = field_of(place);
    for (const sti_node *p = place; p && p->kind != STI_NODE_NAME; p = p->a)
        if (p->b && reads_array(p->b, array, field)) return false;
    return true;
}

void sti_save_element(sti_transform *t, const sti_step *first, sti_step *s, sti_node *place)
{
    bool only;
    const sti_symbol *array = sti_origin_of(place, &only);
    if (!array || !sti_ask(t, place, STI_NOTE(needed))) return;
    if (sti_is_array_symbol(array) ? !sti_note_of(t, array)->overwritten : untouched(first, s, array)) return;
    if (!index_is_safe(place, array)) {
        sti_report_mistake(t->u, place->place,
                           "`%s` is assigned where it says itself: take the index into a variable first",
                           sti_text(t->u, place));
        return;
    }
    bool lanes = place->type && place->type->kind == STI_TYPE_REAL && sti_through_pointer(place) && t->kernel &&
                 place->kind == STI_NODE_INDEX;
    save_value(t, s, array->name->text, sti_value(t, place), place->type, lanes ? place : NULL);
}
