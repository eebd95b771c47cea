/*
 * The log: the values of array elements before they were overwritten inside of a loop or branch; see transform.h.
 *
 * An entry takes one slot of the tape: (index, array) in wtape, and the old value in the part of its type. It is
 * written when a region is run plainly. Before reverse enters that region, the entries are undone, from the last one to
 * a mark.
 *
 * An each that runs with a log makes a group. Iteration i logs to column i of the tape, from the slot after the group's
 * first one on. The first slot holds the number of slots that the iteration took. Above the longest column there are
 * two more slots, in column 0 only: where the group begins, and how many iterations it has. So groups can be undone
 * from the last to the first without knowing which loops made them. The thread that runs an iteration undoes its
 * entries.
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
        sti_report_mistake(
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
        sti_report_mistake(
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

/* Undoes the entry below `top`. */
static void undo_entry(sti_transform *t, const sti_effects *e)
{
    const char *at = sti_fresh(t, "at");
    sti_emit(t, "top -= 1;");
    sti_emit(t, "i64 %s = wtape[(i64)top * tape_width];", at);
    for (int i = 0; i < e->narray; ++i) undo_array(t, e->array[i], at);
}

/* ---- the log of a team ------------------------------------------------------------------------------------------- */

/*
 * If there is no room for the group, iterations run on a tape without free slots: their entries are lost, and the
 * launch fails.
 */
static void check_room(sti_transform *t, const sti_node *n, const char *count, const char *room)
{
    sti_emit(t, "int %s = %s, %s = top + %d <= tape_depth && %s <= tape_width;", count, sti_value(t, n->a), room,
             STI_TEAM_LOG_SLOTS, count);
    sti_emit(t, "if (!%s) tape_over[0] = %u;", room, sti_mark_of(n->place));
}

/* Finds the longest column and writes above it where the group begins and how many iterations it has. */
static void end_group(sti_transform *t, const sti_node *n, const char *first, const char *count)
{
    const char *j = sti_fresh(t, "j");
    sti_emit(t, "top = %s + 1;", first);
    sti_emit(t, "for (int %s = 0; %s < %s; ++%s) top = nmax(top, %s + 1 + (int)wtape[(i64)%s * tape_width + %s]);", j,
             j, count, j, first, first, j);
    sti_emit(t, "if (top + 2 > tape_depth) {");
    sti_emit(t, "tape_over[0] = %u;", sti_mark_of(n->place));
    sti_emit(t, "top = tape_depth - 2;");
    sti_emit(t, "}");
    sti_emit(t, "each (%s, 1) {", sti_fresh(t, "one"));
    sti_emit(t, "wtape[(i64)top * tape_width] = %s;", first);
    sti_emit(t, "wtape[(i64)(top + 1) * tape_width] = %s;", count);
    sti_emit(t, "}");
    sti_emit(t, "sync();");
    sti_emit(t, "top += 2;");
}

void sti_team_log_each(sti_transform *t, const sti_node *n)
{
    const char *first = sti_fresh(t, "first"), *count = sti_fresh(t, "n"), *room = sti_fresh(t, "room");
    const char *i = n->name->text;
    unsigned taped = t->tape->taped;
    t->each = (sti_node *)(uintptr_t)n;
    t->tape->taped = 1u << STI_SPILL_INT | 1u << STI_SPILL_OVER;
    sti_text_buffer outer = sti_capture(t, 1);
    sti_run_block(t, n->b);
    sti_text_buffer body = sti_captured(t, outer, 1);
    t->each = NULL;
    check_room(t, n, count, room);
    sti_emit(t, "int %s = top;", first);
    sti_emit(t, "each (%s, %s) {", i, sti_value(t, n->a));
    sti_spill_begin(t, sti_say(t, "(%s ? %s : 0)", room, i));
    sti_emit(t, "int top = %s ? %s + 1 : tape_depth;", room, first);
    sti_take_text(&t->output->text, &body);
    sti_emit(t, "if (%s) wtape[(i64)%s * tape_width] = top - %s - 1;", room, first, first);
    sti_emit(t, "}");
    sti_emit(t, "sync();");
    sti_emit(t, "if (%s) {", room);
    end_group(t, n, first, count);
    sti_emit(t, "}");
    t->tape->taped |= taped;
}

/* Undoes everything that eaches logged above a mark. */
static void undo_groups(sti_transform *t, const sti_effects *e, const char *mark)
{
    const char *first = sti_fresh(t, "first"), *count = sti_fresh(t, "n"), *i = sti_fresh(t, "i");
    unsigned taped = t->tape->taped;
    sti_text_buffer outer = sti_capture(t, 3);
    t->tape->taped = 1u << STI_SPILL_INT;
    undo_entry(t, e);
    sti_text_buffer body = sti_captured(t, outer, 3);
    sti_emit(t, "sync();");
    sti_emit(t, "if (tape_over[0] != 0) top = %s;", mark);
    sti_emit(t, "for (; top > %s;) {", mark);
    sti_emit(t, "top -= 2;");
    sti_emit(t, "int %s = (int)wtape[(i64)top * tape_width], %s = (int)wtape[(i64)(top + 1) * tape_width];", first,
             count);
    sti_emit(t, "each (%s, %s) {", i, count);
    sti_spill_begin(t, i);
    sti_emit(t, "int top = %s + 1 + (int)wtape[(i64)%s * tape_width];", first, first);
    sti_emit(t, "for (; top > %s + 1;) {", first);
    sti_take_text(&t->output->text, &body);
    sti_emit(t, "}");
    sti_emit(t, "}");
    sti_emit(t, "sync();");
    sti_emit(t, "top = %s;", first);
    sti_emit(t, "}");
    t->tape->taped |= taped | 1u << STI_SPILL_OVER;
}

void sti_log_undo(sti_transform *t, const sti_effects *e, const char *mark)
{
    if (e->narray == 0) return;
    t->tape->taped |= 1u << STI_SPILL_INT;
    if (sti_team_level(t)) {
        undo_groups(t, e, mark);
        return;
    }
    sti_emit(t, "for (; top > %s;) {", mark);
    undo_entry(t, e);
    sti_emit(t, "}");
}
