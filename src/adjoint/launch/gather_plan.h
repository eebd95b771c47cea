/*
 * Gather plans: the destinations of an each's gathered gradients, computed once (mechanism gather_plan).
 *
 * An adjoint whose iterations gather lists (element, gradient), and one warp adds up the list in its order
 * (stet/lang_list.h). In most kernels the elements depend only on plain data, such as the indices of a mesh or a tree.
 * Then they are the same for all worlds and in each launch, until that data changes. A *plan* is that list inverted:
 * for each element the slots of the tape that hold its terms, in the list's order. With a plan only values are listed,
 * and elements are summed in parallel: the same sums, in the same order.
 *
 * Invariants:
 *   PLAN-1  a plan is made from what the adjoint itself lists, in a launch over one world whose reals are all 0. So the
 *       list and the plan cannot disagree
 *   PLAN-2  a plan's stamp contains everything that its elements depend on: numbers, plain arrays of whole numbers,
 *       sizes of the tape, absent arrays
 *   PLAN-3  uniform.c finds in the source which elements depend on a world or on reals. Such a kernel has no plan
 */
#ifndef STI_ADJOINT_LAUNCH_GATHER_PLAN_H
#define STI_ADJOINT_LAUNCH_GATHER_PLAN_H

#include "device/device.h"

enum { STI_PLANS = 4 };

/* The plan for one stamp, on the host and on the device. */
typedef struct sti_gather_plan {
    sti_stamp stamp;
    int32_t *words; /* in the format of add_planned (stet/lang_list.h) */
    int64_t nword;
    stet_array *array;
    uint64_t used;
    bool again; /* more than one launch used it */
} sti_gather_plan;

typedef struct sti_planning {
    sti_gather_plan kept[STI_PLANS];
    uint64_t clock;
    int wasted;    /* consecutive plans that only one launch used */
    sti_stamp now, /* of the current launch */
        seen;      /* of the previous launch, while plans are wasted */
} sti_planning;

struct sti_adjoint_call;
/*
 * Finds or makes the plan of a launch whose sizes are known. *out NULL: there is none, and the launch lists. Counts the
 * hit or the reason.
 */
stet_result sti_gather_plan_find(const struct sti_adjoint_call *call, stet_array **out);
void sti_gather_plans_free(sti_planning *planning);

/* ---- inside: for gather_plan.c, gather_places.c and tests ---- */

/* One entry of a list. */
typedef struct sti_place_listed {
    int32_t array, element, slot;
    int32_t order; /* the entry's position in the list */
} sti_place_listed;

/*
 * Lists what a launch lists, in its order. The caller frees *out. STET_ERROR_LIMIT: more entries, or larger numbers,
 * than a plan can hold.
 */
stet_result sti_places_of(const struct sti_adjoint_call *call, sti_place_listed **out, int64_t *n);
/* Sorts the entries and makes the words of a plan from them. The caller frees *out. */
stet_result sti_plan_words(sti_place_listed *entry, int64_t n, int narray, int32_t **out, int64_t *nword);

#endif
