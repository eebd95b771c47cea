/*
 * The tape: rows of slots with a column for each iteration of an each (or for the team). A slot has room for one number
 * of each part, so one `top` counts the slots of all parts. See transform.h.
 *
 *   part    holds                 in a kernel                             of an iteration
 *   tape    lanes of reals        real *tapes: array of worlds            tapes + column
 *   ltape   lint, mask            lint *ltapes: array of worlds           ltapes + column
 *   utape   ureal                 ureal *utapes: [world][slot][column]    utapes + (world's) + column
 *   wtape   plain whole numbers   i64 *wtapes: the same                   wtapes + (world's) + column
 *
 * In an item kernel lanes are columns side by side. All parts are plain, [block][slot][column]; `real *` is `ureal *`
 * and `lint *` is `int *`.
 *
 * Slot s is at [s * tape_width]. tape_over [world][column] is the overflow flag: the line of the loop whose tape was
 * too short.
 *
 * Plain arrays of a world kernel are divided among the worlds. utape_room, wtape_room and over_room are the numbers of
 * elements of a world. They are the same in each launch over as many worlds, whatever the size of its tape, so a world
 * has the same part in all of them.
 */
#include "adjoint/transform/transform.h"
#include "kernel/check/type.h"

#include <assert.h>

enum { MOST_NUMBERS = 4096 /* of one variable, on the tape */ };

static const struct part {
    const char *word, *name;
    const char *room; /* the parameter with a world's elements, in a world kernel; NULL: it is an array of worlds */
} parts[STI_SPILL_COUNT + 1] = {{"real", "tape", NULL},
                                {"lint", "ltape", NULL},
                                {"ureal", "utape", "utape_room"},
                                {"i64", "wtape", "wtape_room"},
                                [STI_SPILL_OVER] = {"int", "tape_over", "over_room"}};

int sti_spill_of(const sti_type *type)
{
    if (type->kind == STI_TYPE_REAL) return STI_SPILL_REAL;
    if (type->kind == STI_TYPE_LINT || type->kind == STI_TYPE_MASK) return STI_SPILL_LINT;
    if (type->kind == STI_TYPE_UREAL) return STI_SPILL_UREAL;
    return sti_type_integer(type) ? STI_SPILL_INT : -1;
}

int sti_slots_count(const sti_slots *slots)
{
    int most = 0;
    for (int p = 0; p < STI_SPILL_COUNT; ++p) most = slots->used[p] > most ? slots->used[p] : most;
    return most;
}

void sti_spill_count(const sti_type *type, int64_t times, sti_slots *slots)
{
    if (type->kind == STI_TYPE_ARRAY) {
        sti_spill_count(type->of, times * type->count, slots);
    } else if (type->kind == STI_TYPE_STRUCT) {
        for (const sti_symbol *f = type->structure->field; f; f = f->next) sti_spill_count(f->type, times, slots);
    } else {
        int part = sti_spill_of(type);
        if (part >= 0) slots->used[part] += times < MOST_NUMBERS ? (int)times : MOST_NUMBERS;
    }
}

void sti_spill_put(sti_transform *t, sti_spill_kind part, const char *at, const char *value)
{
    assert((unsigned)part < STI_SPILL_COUNT);
    const char *name = parts[part].name;
    t->tape->taped |= 1u << part;
    if (part == STI_SPILL_REAL)
        sti_emit(t, t->items ? "store(%s + %s, %s);" : "put(%s, %s, %s);", name, at, value);
    else if (part == STI_SPILL_LINT)
        sti_emit(t, t->items ? "istore(%s + %s, (lint)%s);" : "%s[%s] = (lint)%s;", name, at, value);
    else
        sti_emit(t, "%s[%s] = %s;", name, at, value);
}

const char *sti_spill_get(sti_transform *t, sti_spill_kind part, const char *at)
{
    const char *form = !t->items || part > STI_SPILL_LINT ? "%s[%s]"
                       : part == STI_SPILL_REAL           ? "load(%s + %s)"
                                                          : "iload(%s + %s)";
    return sti_say(t, form, parts[part].name, at);
}

static void copy_number(sti_transform *t, const char *place, const sti_type *type, bool back, sti_slots *slots)
{
    int part = sti_spill_of(type);
    if (part < 0) {
        sti_report_mistake(t->u, t->function->place, "`%s` changes in a loop and cannot be kept: only numbers can",
                           place);
        return;
    }
    int slot = slots->used[part]++;
    const char *at = sti_say(t, slot ? "(i64)(top + %d) * tape_width" : "(i64)top * tape_width", slot);
    t->tape->taped |= 1u << part;
    if (!back)
        sti_spill_put(t, (sti_spill_kind)part, at, place);
    else if (part == STI_SPILL_REAL)
        sti_emit(t, "%s = %s;", place, sti_spill_get(t, STI_SPILL_REAL, at));
    else
        sti_emit(t, "%s = (%s)%s;", place, sti_type_word(t, sti_type_value(type)),
                 sti_spill_get(t, (sti_spill_kind)part, at));
}

void sti_spill_copy(sti_transform *t, const char *place, const sti_type *type, bool back, sti_slots *slots)
{
    if (type->kind == STI_TYPE_ARRAY) {
        for (int64_t k = 0; k < type->count && k < MOST_NUMBERS; ++k)
            sti_spill_copy(t, sti_say(t, "%s[%lld]", place, (long long)k), type->of, back, slots);
        if (type->count > MOST_NUMBERS)
            sti_report_mistake(t->u, t->function->place, "`%s` changes in a loop and is too large to be kept on a tape",
                               place);
    } else if (type->kind == STI_TYPE_STRUCT) {
        for (const sti_symbol *f = type->structure->field; f; f = f->next)
            sti_spill_copy(t, sti_say(t, "%s.%s", place, f->name->text), f->type, back, slots);
    } else {
        copy_number(t, place, type, back, slots);
    }
}

void sti_else_overflow(sti_transform *t, sti_source_place place)
{
    sti_emit(t, "} else {");
    sti_emit(t, "tape_over[0] = %u;", sti_mark_of(place));
    sti_emit(t, "}");
}

/* In an item kernel lanes are columns. */
static const char *word_of(const sti_transform *t, int part)
{
    if (t->items && part <= STI_SPILL_LINT) return part == STI_SPILL_REAL ? "ureal" : "int";
    return parts[part].word;
}

const char *sti_spill_parameters(sti_transform *t, bool kernel)
{
    const char *out = "";
    for (int p = 0; p <= STI_SPILL_OVER; ++p)
        if (t->tape->taped & 1u << p)
            out = sti_say(t, "%s, %s *%s%s", out, word_of(t, p), parts[p].name, kernel ? "s" : "");
    out = sti_say(t, "%s, int tape_width, int tape_depth%s", out, kernel ? "" : ", int top");
    for (int p = 0; p <= STI_SPILL_OVER; ++p)
        if (kernel && !t->items && t->tape->taped & 1u << p && parts[p].room)
            out = sti_say(t, "%s, i64 %s", out, parts[p].room);
    return out;
}

const char *sti_spill_arguments(sti_transform *t, unsigned used)
{
    const char *out = "";
    for (int p = 0; p < STI_SPILL_COUNT; ++p)
        if (used & 1u << p) out = sti_say(t, "%s%s, ", out, parts[p].name);
    if (used & 1u << STI_SPILL_OVER) out = sti_say(t, "%stape_over, ", out);
    return sti_say(t, "%stape_width, tape_depth, top", out);
}

/* The beginning of the tape of a world or block, in an array for all of them. */
static const char *begin_of(sti_transform *t, int part)
{
    if (!t->items) return parts[part].room ? sti_say(t, "(i64)world * %s + ", parts[part].room) : "";
    return part == STI_SPILL_OVER ? "(i64)block * tape_width + " : "(i64)block * tape_depth * tape_width + ";
}

void sti_spill_begin(sti_transform *t, const char *column)
{
    for (int p = 0; p <= STI_SPILL_OVER; ++p)
        if (t->tape->taped & 1u << p)
            sti_emit(t, "%s *%s = %ss + %s%s;", word_of(t, p), parts[p].name, parts[p].name, begin_of(t, p), column);
}
