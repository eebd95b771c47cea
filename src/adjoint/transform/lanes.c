/*
 * Reads of world kernels at places that differ by lane, in an array that all worlds share: load, gather. See
 * transform.h.
 *
 * The gradient of such an array is an array of worlds, so a lane adds to its own world's share and never meets another
 * lane. If several iterations of an each may read one element, its gradient is listed (team.c), with its place in the
 * part of the tape that holds lanes of whole numbers.
 */
#include "adjoint/transform/transform.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

void sti_lane_helpers(sti_transform *t)
{
    sti_emit(t, "/* a[i] grows by x in the lanes where m is true, each in its own world. */\n"
                "LFN void lane_add(mask m, real *a, i64 base, lint i, real x)\n{\n"
                "    int on[STET_W], at[STET_W];\n"
                "    istore(on, iselect(m, isplat(1), isplat(0)));\n"
                "    istore(at, i);\n"
                "    for (int l = 0; l < STET_W; ++l) {\n"
                "        i64 k = base + at[l];\n"
                "        if (on[l]) put(a, k, a[k] + select(ieq(lane(), isplat(l)), x, splat(0)));\n"
                "    }\n}\n");
}

/* The places that the lanes read, as a text of lanes, counted from the pointer. */
static const char *lanes_of(sti_transform *t, const sti_node *call)
{
    return sti_is_call_of(call, "load") ? "lane()" : sti_value(t, sti_argument(call, 1));
}

static void list_lanes(sti_transform *t, const sti_node *call, const sti_symbol *array, const char *offset,
                       const char *g)
{
    const char *at = "(i64)tape_depth * tape_width", *lanes = sti_closed(t, lanes_of(t, call));
    const char *places = sti_say(t, "isplat((int)(%s)) + %s", offset, lanes), *to = sti_gradient_name(t, array);
    t->list->by_lanes = t->list->unplanned = true;
    sti_team_open_entry(t);
    t->tape->taped |= 1u << STI_SPILL_LINT;
    sti_emit(t, "put(tape, %s, %s);", at, g);
    sti_emit(t, "ltape[%s] = %s;", at, places);
    sti_emit(t, "wtape[%s] = listed_lanes(%s, %s);", at, to, places);
    sti_emit(t, "} else {");
    sti_emit(t, "lane_add(m_all(), %s, 0, %s, %s);", to, places, g);
    sti_team_close_entry(t, call->place);
}

void sti_lane_reverse_read(sti_transform *t, const sti_node *call, const char *g)
{
    bool only;
    const sti_symbol *s = sti_origin_of(call->a, &only);
    if (!s || !only || s->kind != STI_SYMBOL_PARAMETER) {
        sti_report_mistake(
            t->u, call->place,
            "`%s`: the gradient of what lanes read at different places is made for an array that is a parameter",
            sti_text(t->u, call));
        return;
    }
    const char *offset = sti_offset_of(t, call->a), *gradient = sti_gradient_name(t, s), *lanes = lanes_of(t, call);
    bool absent = !t->kernel && sti_note_of(t, s)->absent;
    (void)sti_mark(t, call->a, STI_NOTE(graded));
    if (t->kernel && t->each && !sti_team_owns(t, s)) {
        list_lanes(t, call, s, offset, g);
        return;
    }
    if (sti_team_level(t)) sti_emit(t, "each (%s, 1) {", sti_fresh(t, "one"));
    sti_emit(t, "%slane_add(m_all(), %s, (i64)(%s), %s, %s);", absent ? sti_say(t, "if (%s) ", gradient) : "", gradient,
             offset, lanes, g);
    if (sti_team_level(t)) sti_emit(t, "}");
}
