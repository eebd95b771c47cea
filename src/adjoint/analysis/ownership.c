/*
 * Finds which elements of an array belong to one iteration of an each, by their indices: stride * (the each's variable)
 * + a number in a range that is narrower than the stride. See analysis.h.
 */
#include "adjoint/analysis/analysis.h"
#include "kernel/check/type.h"

enum { MOST_LANES = 16 };

bool sti_team_owns(sti_transform *t, const sti_symbol *array)
{
    return t->each && sti_access_note_of(t, array)->places == STI_PLACES_OWN;
}

/* Widens the known range of an array by the places where it is used. */
static void note_range(sti_transform *t, const sti_symbol *array, bool known, const sti_affine *l)
{
    sti_access_note *n = sti_access_note_of(t, array);
    sti_places places = !known || l->block || l->lane ? STI_PLACES_SHARED
                        : l->stride == 0              ? STI_PLACES_FIXED
                                                      : STI_PLACES_OWN;
    if (places == STI_PLACES_SHARED || (n->places != STI_PLACES_NONE && n->places != places)) {
        n->places = STI_PLACES_SHARED;
        return;
    }
    if (n->places == STI_PLACES_NONE) {
        n->places = places;
        n->stride = l->stride;
        n->low = l->low;
        n->high = l->high;
    }
    if (n->stride != l->stride) n->places = STI_PLACES_SHARED;
    n->low = l->low < n->low ? l->low : n->low;
    n->high = l->high > n->high ? l->high : n->high;
    int64_t stride = n->stride < 0 ? -n->stride : n->stride;
    if (stride > 0 && n->high - n->low >= stride) n->places = STI_PLACES_SHARED;
}

static void share(sti_symbol *s, void *context) { sti_access_note_of(context, s)->places = STI_PLACES_SHARED; }

static void note_place(sti_transform *t, const sti_node *place, int64_t less, int64_t more)
{
    bool only;
    sti_affine l = {0};
    const sti_affine_rules rules = sti_affine_each(t);
    const sti_symbol *array = sti_origin_of(place, &only);
    if (!array || !sti_is_array_symbol(array)) return;
    if (!only) { /* it may be any of them */
        sti_owners(place, share, t);
        return;
    }
    bool known = sti_affine_add_place(&rules, place, &l);
    if (known) l.low += less, l.high += more;
    note_range(t, array, known, &l);
}

/* load and gather: the elements of all lanes. */
static void note_lanes(sti_transform *t, const sti_node *call)
{
    bool only;
    sti_affine l = {0};
    const sti_affine_rules rules = sti_affine_each(t);
    const sti_symbol *array = sti_origin_of(call->a, &only);
    if (!array || !sti_is_array_symbol(array)) return;
    bool known = only && sti_affine_add_place(&rules, call->a, &l);
    if (sti_is_call_of(call, "gather"))
        known = known && sti_affine_add(&rules, sti_argument(call, 1), 1, &l);
    else
        l.lane++;
    l.low += l.lane < 0 ? l.lane * (MOST_LANES - 1) : 0;
    l.high += l.lane > 0 ? l.lane * (MOST_LANES - 1) : 0;
    l.lane = 0;
    note_range(t, array, known, &l);
}

/* Arrays that are passed to functions: notes the elements that the functions touch. */
static void note_arguments(sti_transform *t, const sti_node *call)
{
    int n = 0;
    for (const sti_node *a = call->a; a; a = a->next, ++n) {
        const sti_symbol *p = sti_flow_parameter(call, n);
        sti_window w;
        bool only;
        if (!p || !a->type || !sti_type_points(a->type) || !sti_type_carries(a->type)) continue;
        sti_symbol *array = sti_origin_of(a, &only);
        if (sti_window_of(t, p, call->symbol, &w))
            note_place(t, a, w.low, w.high);
        else if (array && sti_is_array_symbol(array))
            share(array, t);
    }
}

static void note_access(sti_transform *t, const sti_node *n)
{
    int put = sti_put_width(n);
    if (sti_is_element(n) && n->type && sti_type_real(n->type)) note_place(t, n, 0, 0);
    if (put > 0) note_place(t, sti_stored_element(t, n, 0), 0, put - 1);
    if (sti_lane_read(n)) note_lanes(t, n);
    if (sti_is_call_of(n, "load4")) note_place(t, sti_loaded_element(t, n, 0), 0, 3);
    if (sti_is_own_call(n)) note_arguments(t, n);
}

void sti_note_accesses(sti_transform *t)
{
    sti_forget_accesses(t);
    sti_walk(t, t->each->b->a, note_access);
}
