/*
 * Gather plans: where what the iterations of an each list goes, worked out once (mechanism gather_plan).
 *
 * An adjoint whose iterations gather lists (element, gradient), and one warp adds the list up in its order (stet/lang_list.h). Where the elements follow from plain
 * data alone, as in most kernels they do (indices of a mesh, of a tree), they are the same for all worlds and in each launch until that data
 * changes. A *plan* is that list turned around: of each element the slots of the tape that hold what is added to it, in the list's order. With a plan
 * nothing is listed but values, and elements are summed side by side: the same sums, in the same order.
 *
 * Invariants:
 *   PLAN-1  a plan is made from what the adjoint itself lists, in a launch over one world whose reals are all 0, so there are no two notions of what it lists
 *   PLAN-2  a plan's stamp has all that its elements depend on: numbers, plain arrays of whole numbers, sizes of the tape, what was absent
 *   PLAN-3  what depends on a world or on reals is found in the source (uniform.c), and has no plan
 */
#ifndef STI_ADJOINT_LAUNCH_GATHER_PLAN_H
#define STI_ADJOINT_LAUNCH_GATHER_PLAN_H

#include "device/device.h"

enum { STI_PLANS = 4 };

/* The plan of one stamp, on the host and on the device. */
typedef struct sti_gather_plan {
    sti_stamp stamp;
    int32_t *words; /* as add_planned reads them (stet/lang_list.h) */
    int64_t nword;
    stet_array *array;
    uint64_t used;
    bool again; /* it served more than one launch */
} sti_gather_plan;

typedef struct sti_planning {
    sti_gather_plan kept[STI_PLANS];
    uint64_t clock;
    int wasted;    /* plans, one after the other, that no second launch wanted */
    sti_stamp now, /* of the launch that asks */
        seen;      /* of the launch that asked last, while plans are wasted */
} sti_planning;

struct sti_adjoint_call;
/* The plan of a launch whose sizes are known; *out NULL: it has none, and lists. Counts which, and why. */
stet_result sti_gather_plan_find(const struct sti_adjoint_call *call, stet_array **out);
void sti_gather_plans_free(sti_planning *planning);

/* ---- inside: for gather_plan.c, gather_places.c and tests ---- */

/* One entry of a list. */
typedef struct sti_place_listed {
    int32_t array, element, slot;
    int32_t order; /* of the entry in the list */
} sti_place_listed;

/* What a launch lists, in its order; the caller frees *out. STET_LIMIT: more, or further away, than a plan can say. */
stet_result sti_places_of(const struct sti_adjoint_call *call, sti_place_listed **out, int64_t *n);
/* The words of a plan of these entries, which are sorted; the caller frees *out. */
stet_result sti_plan_words(sti_place_listed *entry, int64_t n, int narray, int32_t **out, int64_t *nword);

#endif
