/*
 * The log of a team: the values that eaches overwrite; see transform.h and log.c.
 *
 * An each that runs with a log makes a group. Iteration i logs to column i of the tape, from the slot after the group's
 * first one on. The first slot holds the number of slots that the iteration took. Above the longest column there are
 * two more slots, in column 0 only: where the group begins, and how many iterations it has. So groups can be undone
 * from the last to the first without knowing which loops made them. The thread that runs an iteration undoes its
 * entries.
 */
#include "adjoint/transform/transform.h"

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

void sti_team_log_undo(sti_transform *t, const sti_effects *e, const char *mark)
{
    const char *first = sti_fresh(t, "first"), *count = sti_fresh(t, "n"), *i = sti_fresh(t, "i");
    unsigned taped = t->tape->taped;
    sti_text_buffer outer = sti_capture(t, 3);
    t->tape->taped = 1u << STI_SPILL_INT;
    sti_log_undo_entry(t, e);
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
