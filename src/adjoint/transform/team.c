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
#include "kernel/check/flow.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

#include <string.h>

bool sti_team_level(const sti_transform *t) { return t->kernel && !t->each; }

/* ---- the list ---------------------------------------------------------------------------------------------------- */

const char *sti_offset_of(sti_transform *t, const sti_node *e)
{
    if (e->kind == STI_NODE_NAME && e->symbol) {
        const sti_node *v = e->symbol->node;
        if (e->symbol->kind == STI_SYMBOL_STAGED) return sti_offset_of(t, v->a);
        if (e->symbol->kind != STI_SYMBOL_VARIABLE || e->type->kind == STI_TYPE_ARRAY) return "0";
        if (v && v->a) return sti_offset_of(t, v->a);
    }
    if (e->kind == STI_NODE_BINARY && e->a->type && sti_type_points(e->a->type)) {
        const char *before = sti_offset_of(t, e->a), *own = sti_closed(t, sti_value(t, e->b));
        bool minus = e->op == STI_OP_SUB;
        if (strcmp(before, "0") == 0 && !minus) return own;
        return sti_say(t, "%s %c %s", before, minus ? '-' : '+', own);
    }
    sti_complain(t->u, e->place, "where `%s` points is not followed: write the array with an index", sti_text(t->u, e));
    return "0";
}

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
    sti_note_of(t, (const sti_symbol *)(const void *)t->inner)->listed++;
    t->listing = true;
    t->taped |= 1u << STI_SPILL_REAL | 1u << STI_SPILL_INT | 1u << STI_SPILL_OVER;
    sti_emit(t, "if (nmax(top, %s + %d) < tape_depth) {", t->base, t->kept);
    sti_emit(t, "tape_depth -= 1;");
    sti_emit(t, "if (%s) {", STI_TEAM_LISTS);
}

void sti_team_close_entry(sti_transform *t, sti_source_place place)
{
    sti_emit(t, "}");
    sti_emit(t, "} else {");
    sti_emit(t, "tape_over[0] = %u;", sti_mark_of(place));
    sti_emit(t, "}");
}

static void list_entry(sti_transform *t, const sti_node *place, const sti_symbol *array, const char *g)
{
    const char *index = place->kind == STI_NODE_INDEX ? sti_closed(t, sti_value(t, place->b)) : "0";
    const char *offset = sti_offset_of(t, place->a);
    if (strcmp(offset, "0") != 0) index = sti_say(t, "(%s + %s)", offset, index);
    sti_team_open_entry(t);
    sti_emit(t, "put(tape, (i64)tape_depth * tape_width, %s);", g);
    sti_emit(t, "if (!gather_planned) wtape[(i64)tape_depth * tape_width] = listed_place(%s, %s);",
             sti_gradient_name(t, array), index);
    (void)sti_planned_array(t, array);
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
        sti_complain(t->u, place->place, "`%s` may be an element of several arrays, and it is written: write the array",
                     sti_text(t->u, place));
        return;
    }
    const char *index = place->kind == STI_NODE_INDEX ? sti_closed(t, sti_value(t, place->b)) : "0";
    const char *offset = sti_offset_of(t, place->a), *own = sti_fresh(t, "own"), *k = sti_fresh(t, "k");
    const char *slot = sti_fresh(t, "slot");
    if (strcmp(offset, "0") != 0) index = sti_say(t, "(%s + %s)", offset, index);
    t->taped |= 1u << STI_SPILL_REAL | 1u << STI_SPILL_INT;
    t->listing = t->unplanned = true;
    sti_emit(t, "i64 %s = listed_place(%s, %s);", own, sti_gradient_name(t, s), index);
    sti_emit(t, "for (int %s = %s - 1; %s >= (%s ? tape_depth : %s); --%s) {", k, t->end, k, STI_TEAM_LISTS, t->end, k);
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
    sti_note_graded(t, place);
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
    if (sti_note_of(t, s)->code == -2) return false;
    list_entry(t, place, s, g);
    return true;
}

/* One warp adds up the list in its order, so the number of threads changes no sum (stet/lang_list.h). */
static void add_listed(sti_transform *t, const char *count)
{
    t->nlist++;
    sti_emit(t, "if (gather_planned) {");
    sti_add_planned(t);
    sti_emit(t, "} else {");
    if (t->lists)
        sti_emit(t, "add_listed_lanes(tape, ltape, wtape, top, %s, tape_width, tape_depth);", count);
    else
        sti_emit(t, "add_listed(tape, wtape, top, %s, tape_width, tape_depth);", count);
    sti_emit(t, "}");
    sti_emit(t, "sync();");
}

/* ---- an each ----------------------------------------------------------------------------------------------------- */

void sti_forget_codes(sti_transform *t)
{
    for (int i = 0; i < STI_ADJOINT_BUCKETS; ++i)
        for (sti_note *n = t->note[i]; n; n = n->next) n->code = 0;
    t->ncode = 0;
}

/* Makes the body's text first, because only the text shows which kinds of spill memory the body takes. */
static sti_text_buffer body_of(sti_transform *t, sti_node *n, const sti_shares *s)
{
    sti_text_buffer outer = sti_capture(t, 1);
    const sti_node *inner = t->inner;
    t->inner = n;
    sti_open_shares(t, s);
    sti_adjoint_list(t, n->b->a);
    sti_close_shares(t, s);
    if (t->listing)
        sti_emit(t, "if ((%s) && !gather_planned) wtape[(i64)top * tape_width] = %s - tape_depth;", STI_TEAM_LISTS,
                 t->end);
    t->inner = inner;
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
const char *sti_team_count(sti_transform *t, const sti_node *each, int slots)
{
    const char *n, *count = sti_value(t, each->a), *full = "";
    if (is_argument(t, each->a) && t->inner == t->function && t->nlogged == 0) return count;
    n = sti_fresh(t, "n");
    if (slots > 0) full = sti_say(t, " || (%s > 0 && top + %d > tape_depth)", n, slots);
    t->taped |= 1u << STI_SPILL_OVER;
    sti_emit(t, "int %s = %s;", n, count);
    sti_emit(t, "if (%s > tape_width%s) {", n, full);
    sti_emit(t, "tape_over[0] = %u;", sti_mark_of(each->place));
    sti_emit(t, "%s = 0;", n);
    sti_emit(t, "}");
    return n;
}

static void refuse_items(sti_transform *t, const sti_node *n)
{
    sti_complain(
        t->u, n->place,
        "an each of an item kernel gives values to something that has a gradient, and its adjoint is not made: "
        "write items");
}

/* Prepares the state that the each's text refers to. */
static void begin_each(sti_transform *t, sti_node *n, sti_shares *s)
{
    t->each = n;
    t->taped = 0;
    t->listing = t->lists = false;
    t->base = sti_fresh(t, "base");
    t->end = sti_fresh(t, "end");
    sti_forget_codes(t);
    sti_note_places(t, n->b->a);
    sti_find_shares(t, n->b->a, s);
    t->kept = (int)sti_count_shares(s);
    if (t->kept == 0) t->kept = 1; /* the count of a list */
}

void sti_adjoint_each(sti_transform *t, sti_node *n)
{
    sti_shares s = {.count = 0};
    unsigned taped = t->taped;
    if (t->items) {
        refuse_items(t, n);
        return;
    }
    begin_each(t, n, &s);
    sti_text_buffer body = body_of(t, n, &s);
    t->each = NULL;
    int slots = s.count > 0 || t->listing ? t->kept : 0;
    sti_note_of(t, (const sti_symbol *)(const void *)n)->slots = slots;
    sti_emit(t, "sync();");
    const char *count = t->taped ? sti_team_count(t, n, slots) : sti_value(t, n->a);
    if (t->taped) sti_emit(t, "int %s = top;", t->base);
    if (t->listing) sti_emit(t, "int %s = tape_depth;", t->end);
    bool one = n->a->kind == STI_NODE_NUMBER; /* the checker of the text looks for each (one, 1) */
    const char *some = one && strcmp(count, sti_value(t, n->a)) != 0 ? sti_say(t, "if (%s > 0) ", count) : "";
    sti_emit(t, "each (%s, %s) %s{", n->name->text, one ? sti_value(t, n->a) : count, some);
    if (t->taped) {
        sti_spill_begin(t, n->name->text);
        sti_emit(t, "int top = %s;", t->base);
    }
    if (t->listing) sti_emit(t, "int tape_depth = %s;", t->end);
    sti_take_text(&t->out, &body);
    sti_emit(t, "}");
    sti_emit(t, "sync();");
    sti_add_shares(t, &s, count);
    if (t->listing) add_listed(t, count);
    t->taped |= taped;
}
