/*
 * The adjoint of an each, whose iterations are distributed over a team; see transform.h.
 *
 * The reverse of an each is an each: an iteration runs forward and back. Gradients leave it in one of three ways:
 *   own      an element that only this iteration touches gets its gradient at once
 *   shares   for a variable from outside each iteration writes its share to the tape; all threads add up the shares, in
 *            the order of the iterations
 *   listed   for an element that several iterations may touch (place, gradient) goes to the far end of the tape's
 *            columns. Then one warp adds up the entries (stet/lang_list.h): iterations in their order, and the entries
 *            of an iteration in the order of its reverse
 * So no sum depends on the number of threads or on their timing. Where iterations run one after the other and in order
 * (a CPU's lanes, not permuted), adding at once gives the same order, entry by entry. There only the list's length is
 * counted, so that a tape that is too short is detected on every device.
 */
#include "adjoint/transform/transform.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

#include <string.h>

bool sti_team_level(const sti_transform *t) { return t->kernel && !t->each; }

/* ---- the list ---------------------------------------------------------------------------------------------------- */

/* Adds `more` to a listed element. */
static void add_to(sti_transform *t, const sti_symbol *array, const char *index, const char *more)
{
    if (sti_sum_add(t, array, index, more)) return;
    const char *g = sti_gradient_name(t, array);
    bool shared = array->kind == STI_SYMBOL_SHARED;
    sti_emit(t, shared ? "%s[%s] = %s[%s] + %s;" : "put(%s, %s, %s[%s] + %s);", g, index, g, index, more);
}

/*
 * Begins an entry. It takes the last slot of the iteration's column, which gets one shorter. There is no room if the
 * last slots are those of the iteration's shares and its count.
 */
void sti_team_open_entry(sti_transform *t)
{
    sti_region_note_of(t, t->tape->inner)->listed++;
    t->list->listing = true;
    t->tape->taped |= 1u << STI_SPILL_REAL | 1u << STI_SPILL_INT | 1u << STI_SPILL_OVER;
    sti_emit(t, "if (nmax(top, %s + %d) < tape_depth) {", t->list->base, t->list->kept);
    sti_emit(t, "tape_depth -= 1;");
    sti_emit(t, "if (%s) {", STI_TEAM_LISTS);
}

void sti_team_close_entry(sti_transform *t, sti_source_place place)
{
    sti_emit(t, "}");
    sti_else_overflow(t, place);
}

/* Gives an array that is listed a number in plans (launch/gather_plan.h). */
static void plan_array(sti_transform *t, const sti_symbol *array)
{
    if (array->kind != STI_SYMBOL_PARAMETER) t->list->unplanned = true;
    for (int i = 0; i < t->list->nplanned; ++i)
        if (t->list->planned[i] == array) return;
    if (t->list->nplanned == STI_ADJOINT_CODES) {
        t->list->unplanned = true;
        return;
    }
    t->list->planned[t->list->nplanned++] = array;
}

static void list_entry(sti_transform *t, const sti_node *place, const sti_symbol *array, const char *g)
{
    const char *index = sti_element_index(t, place);
    sti_team_open_entry(t);
    sti_emit(t, "put(tape, (i64)tape_depth * tape_width, %s);", g);
    sti_emit(t, "if (!gather_planned) wtape[(i64)tape_depth * tape_width] = listed_place(%s, %s);",
             sti_gradient_name(t, array), index);
    plan_array(t, array);
    sti_emit(t, "} else {");
    add_to(t, array, index, sti_closed(t, g));
    sti_team_close_entry(t, place->place);
}

void sti_team_take_listed(sti_transform *t, const sti_node *place, const char *g)
{
    bool only;
    const sti_symbol *s = t->kernel && t->each && !t->items ? sti_origin_of(place, &only) : NULL;
    if (!s || !sti_is_array_symbol(s) || sti_team_owns(t, s) || !sti_note_of(t, s)->read) return;
    if (!only) {
        sti_report_mistake(t->u, place->place,
                           "`%s` may be an element of several arrays, and it is written: write the array",
                           sti_text(t->u, place));
        return;
    }
    const char *index = sti_element_index(t, place), *own = sti_fresh(t, "own"), *k = sti_fresh(t, "k");
    const char *slot = sti_fresh(t, "slot");
    t->tape->taped |= 1u << STI_SPILL_REAL | 1u << STI_SPILL_INT;
    t->list->listing = t->list->unplanned = true;
    sti_emit(t, "i64 %s = listed_place(%s, %s);", own, sti_gradient_name(t, s), index);
    sti_emit(t, "for (int %s = %s - 1; %s >= (%s ? tape_depth : %s); --%s) {", k, t->list->end, k, STI_TEAM_LISTS,
             t->list->end, k);
    sti_emit(t, "i64 %s = (i64)%s * tape_width;", slot, k);
    sti_emit(t, "if (wtape[%s] != %s) continue;", slot, own);
    sti_emit(t, "%s = %s + tape[%s];", g, g, slot);
    sti_emit(t, "wtape[%s] = -1;", slot);
    sti_emit(t, "}");
}

bool sti_team_accumulate(sti_transform *t, const sti_node *place, const char *array, const char *index, const char *g)
{
    bool only;
    const sti_symbol *s = t->kernel ? sti_origin_of(place, &only) : NULL;
    if (!s || !sti_is_array_symbol(s)) return false;
    (void)sti_mark(t, place, STI_NOTE(graded));
    if (!t->each) {
        bool pointer = sti_through_pointer(place);
        const char *sum = sti_say(t, "%s[%s] + %s", sti_closed(t, array), index, sti_closed(t, g));
        sti_emit(t, pointer ? "each (%s, 1) put(%s, %s, %s);" : "each (%s, 1) %s[%s] = %s;", sti_fresh(t, "one"), array,
                 index, sum);
        return true;
    }
    if (!only) {
        sti_accumulate_selected(t, place, g);
        return true;
    }
    if (sti_access_note_of(t, s)->places == STI_PLACES_OWN) return false;
    list_entry(t, place, s, g);
    return true;
}

/* Writes the statements that add up by the plan, instead of the list. */
static void add_planned(sti_transform *t)
{
    for (int i = 0; i < t->list->nplanned; ++i)
        if (t->list->planned[i]->kind == STI_SYMBOL_PARAMETER)
            sti_emit(t, "add_planned(%s, tape, gather_plan, %d);", sti_gradient_name(t, t->list->planned[i]), i);
}

/* One warp adds up the list in its order, so the number of threads changes no sum (stet/lang_list.h). */
static void add_listed(sti_transform *t, const char *count)
{
    t->list->nlist++;
    sti_emit(t, "if (gather_planned) {");
    add_planned(t);
    sti_emit(t, "} else {");
    if (t->list->by_lanes)
        sti_emit(t, "add_listed_lanes(tape, ltape, wtape, top, %s, tape_width, tape_depth);", count);
    else
        sti_emit(t, "add_listed(tape, wtape, top, %s, tape_width, tape_depth);", count);
    sti_emit(t, "}");
    sti_emit(t, "sync();");
}

/* ---- an each ----------------------------------------------------------------------------------------------------- */

/* Makes the body's text first, because only the text shows which kinds of spill memory the body takes. */
static sti_text_buffer body_of(sti_transform *t, sti_node *n, const sti_shares *s)
{
    sti_text_buffer outer = sti_capture(t, 1);
    const sti_node *inner = t->tape->inner;
    t->tape->inner = n;
    sti_open_shares(t, s);
    sti_adjoint_list(t, n->b->a);
    sti_close_shares(t, s);
    if (t->list->listing)
        sti_emit(t, "if ((%s) && !gather_planned) wtape[(i64)top * tape_width] = %s - tape_depth;", STI_TEAM_LISTS,
                 t->list->end);
    t->tape->inner = inner;
    return sti_captured(t, outer, 1);
}

/* True if a count depends only on numbers and on the kernel's arguments: then the tape was sized for it. */
static bool is_argument(sti_transform *t, const sti_node *e)
{
    if (e->kind == STI_NODE_NUMBER) return true;
    if (e->kind == STI_NODE_BINARY) return is_argument(t, e->a) && is_argument(t, e->b);
    if (e->kind != STI_NODE_NAME || !e->symbol || sti_note_of(t, e->symbol)->assigned) return false;
    if (e->symbol->kind == STI_SYMBOL_PARAMETER) return true;
    const sti_node *v = e->symbol->kind == STI_SYMBOL_VARIABLE ? e->symbol->node : NULL;
    return v && v->a && is_argument(t, v->a);
}

/*
 * The number of iterations that run. If it depends on data, or the tape already has content, it may be more than the
 * tape was sized for. Then no iteration runs if the tape is too small: each needs a column with room for its shares and
 * its count.
 */
static const char *team_count(sti_transform *t, const sti_node *each, int slots)
{
    const char *n, *count = sti_value(t, each->a), *full = "";
    if (is_argument(t, each->a) && t->tape->inner == t->function && t->tape->nlogged == 0) return count;
    n = sti_fresh(t, "n");
    if (slots > 0) full = sti_say(t, " || (%s > 0 && top + %d > tape_depth)", n, slots);
    t->tape->taped |= 1u << STI_SPILL_OVER;
    sti_emit(t, "int %s = %s;", n, count);
    sti_emit(t, "if (%s > tape_width%s) {", n, full);
    sti_emit(t, "tape_over[0] = %u;", sti_mark_of(each->place));
    sti_emit(t, "%s = 0;", n);
    sti_emit(t, "}");
    return n;
}

static void refuse_items(sti_transform *t, const sti_node *n)
{
    sti_report_mistake(
        t->u, n->place,
        "an each of an item kernel gives values to something that has a gradient, and its adjoint is not made: "
        "write items");
}

/* Prepares the state that the each's text refers to. */
static void begin_each(sti_transform *t, sti_node *n, sti_shares *s)
{
    t->each = n;
    t->tape->taped = 0;
    t->list->listing = t->list->by_lanes = false;
    t->list->base = sti_fresh(t, "base");
    t->list->end = sti_fresh(t, "end");
    sti_note_accesses(t);
    sti_find_shares(t, n->b->a, s);
    t->list->kept = (int)sti_count_shares(s);
    if (t->list->kept == 0) t->list->kept = 1; /* the count of a list */
}

void sti_adjoint_each(sti_transform *t, sti_node *n)
{
    sti_shares s = {.count = 0};
    unsigned taped = t->tape->taped;
    if (t->items) {
        refuse_items(t, n);
        return;
    }
    begin_each(t, n, &s);
    sti_text_buffer body = body_of(t, n, &s);
    t->each = NULL;
    int slots = s.count > 0 || t->list->listing ? t->list->kept : 0;
    sti_region_note_of(t, n)->slots = slots;
    sti_emit(t, "sync();");
    const char *count = t->tape->taped ? team_count(t, n, slots) : sti_value(t, n->a);
    if (t->tape->taped) sti_emit(t, "int %s = top;", t->list->base);
    if (t->list->listing) sti_emit(t, "int %s = tape_depth;", t->list->end);
    bool one = n->a->kind == STI_NODE_NUMBER; /* the checker of the text looks for each (one, 1) */
    const char *some = one && strcmp(count, sti_value(t, n->a)) != 0 ? sti_say(t, "if (%s > 0) ", count) : "";
    sti_emit(t, "each (%s, %s) %s{", n->name->text, one ? sti_value(t, n->a) : count, some);
    if (t->tape->taped) {
        sti_spill_begin(t, n->name->text);
        sti_emit(t, "int top = %s;", t->list->base);
    }
    if (t->list->listing) sti_emit(t, "int tape_depth = %s;", t->list->end);
    sti_take_text(&t->output->text, &body);
    sti_emit(t, "}");
    sti_emit(t, "sync();");
    sti_add_shares(t, &s, count);
    if (t->list->listing) add_listed(t, count);
    t->tape->taped |= taped;
}
