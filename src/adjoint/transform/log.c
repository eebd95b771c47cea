/*
 * The log: the values of array elements before they were overwritten inside of a loop or branch; see transform.h.
 *
 * An entry takes one slot of the tape: (index, array) in wtape, and the old value in the part of its type. It is
 * written when a region is run plainly. Before reverse enters that region, the entries are undone, from the last one to
 * a mark.
 */
#include "adjoint/transform/transform.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

enum { CODES = STI_ADJOINT_CODES };

static int code_of(sti_transform *t, const sti_symbol *s)
{
    for (int i = 0; i < t->tape->nlogged; ++i)
        if (t->tape->logged[i] == s) return i;
    if (t->tape->nlogged == CODES) return 0; /* a function has fewer parameters than this array has room for */
    t->tape->logged[t->tape->nlogged] = s;
    return t->tape->nlogged++;
}

static const char *part_of(const sti_type *type)
{
    static const char *const names[] = {"tape", "ltape", "utape", "wtape"};
    int part = sti_spill_of(type);
    return part < 0 ? NULL : names[part];
}

/* A whole number is in the same part as its index, one slot before it. */
static int slots_of(const sti_type *type) { return sti_spill_of(type) == STI_SPILL_INT ? 2 : 1; }

static void log_place(sti_transform *t, const sti_node *place)
{
    bool only;
    const sti_symbol *s = sti_origin_of(place, &only);
    if (!s || !sti_is_logged(t, s)) return;
    const sti_type *type = place->type ? sti_type_value(place->type) : s->type;
    const char *part = part_of(type);
    bool simple = only && part && place->a->type && place->kind != STI_NODE_MEMBER && place->a->kind != STI_NODE_INDEX;
    if (!simple) {
        sti_complain(
            t->u, place->place,
            "`%s` is overwritten in a loop or branch after it was read, and what it held is not kept: write it "
            "as an element of one array",
            sti_text(t->u, place));
        return;
    }
    const char *index = sti_element_index(t, place);
    int slots = slots_of(type);
    t->tape->taped |= 1u << STI_SPILL_INT | 1u << sti_spill_of(type) | 1u << STI_SPILL_OVER;
    sti_emit(t, "if (top + %d <= tape_depth) {", slots);
    const char *at = "(i64)top * tape_width", *value = sti_value(t, place);
    sti_spill_put(t, (sti_spill_kind)sti_spill_of(type), at, value);
    sti_emit(t,
             slots == 2 ? "wtape[(i64)(top + 1) * tape_width] = (i64)%s * %d + %d;"
                        : "wtape[(i64)top * tape_width] = (i64)%s * %d + %d;",
             index, CODES, code_of(t, s));
    sti_emit(t, "top += %d;", slots);
    sti_else_overflow(t, place->place);
}

void sti_log_write(sti_transform *t, const sti_node *e)
{
    const sti_node *place;
    if (t->log && sti_team_level(t) && sti_log_entries(t, e) > 0) {
        sti_complain(
            t->u, e->place,
            "`%s`: the whole team overwrites this after it was read, and what it held is not kept: write it in an "
            "each (i, 1)",
            sti_text(t->u, e));
        return;
    }
    for (int k = 0; t->log && (place = sti_written_place(t, e, k)); ++k) log_place(t, place);
}

static void undo_array(sti_transform *t, const sti_symbol *s, const char *at)
{
    const sti_type *type = sti_type_value(sti_type_element(s->type));
    const char *part = part_of(type);
    bool whole = slots_of(type) == 2;
    if (!part) return;
    const char *index = sti_say(t, "%s / %d", at, CODES);
    const char *old = sti_spill_get(t, (sti_spill_kind)sti_spill_of(type), "(i64)top * tape_width");
    bool puts = type->kind == STI_TYPE_REAL && s->kind == STI_SYMBOL_PARAMETER && (t->kernel || !s->written_plainly);
    const char *word =
        type->kind == STI_TYPE_REAL || type->kind == STI_TYPE_LINT ? "" : sti_say(t, "(%s)", sti_type_word(t, type));
    t->tape->taped |= 1u << sti_spill_of(type);
    sti_note_of(t, s)->stored = true;
    sti_emit(t, "if (%s %% %d == %d) {", at, CODES, code_of(t, s));
    if (whole) sti_emit(t, "top -= 1;");
    if (puts)
        sti_emit(t, "put(%s, %s, %s);", s->name->text, index, old);
    else
        sti_emit(t, "%s[%s] = %s%s;", s->name->text, index, word, old);
    sti_emit(t, "}");
}

void sti_log_undo_entry(sti_transform *t, const sti_effects *e)
{
    const char *at = sti_fresh(t, "at");
    sti_emit(t, "top -= 1;");
    sti_emit(t, "i64 %s = wtape[(i64)top * tape_width];", at);
    for (int i = 0; i < e->narray; ++i) undo_array(t, e->array[i], at);
}

void sti_log_undo(sti_transform *t, const sti_effects *e, const char *mark)
{
    if (e->narray == 0) return;
    t->tape->taped |= 1u << STI_SPILL_INT;
    if (sti_team_level(t)) {
        sti_team_log_undo(t, e, mark);
        return;
    }
    sti_emit(t, "for (; top > %s;) {", mark);
    sti_log_undo_entry(t, e);
    sti_emit(t, "}");
}
