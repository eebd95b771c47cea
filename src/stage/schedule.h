/*
 * The schedule: prims in the order in which transforms are propagated, and selections from it.
 *
 * Invariants:
 *   SCHEDULE-1  it follows from connectivity, and from whether somebody else's physics writes poses, and from nothing else
 *   SCHEDULE-2  a prim's level is one more than its parent's; the parents of level 0 are rigid
 *   SCHEDULE-3  a selection holds, with each prim that moved, all prims below it down to the next rigid ones
 */
#ifndef STI_STAGE_SCHEDULE_H
#define STI_STAGE_SCHEDULE_H

#include "device/device.h"
#include "stage/tree.h"

/* Some prims that are propagated forward, by level. */
typedef struct sti_selection {
    sti_stamp from;
    uint64_t used; /* when it was last wanted */
    int nprim, nlevel;
    stet_array *prim;  /* INT [capacity], nprim in use */
    stet_array *level; /* INT [capacity + 1]: first of each level in prim, then nprim */
} sti_selection;

enum { STI_SELECTIONS = 8 }; /* kept besides those of everything and of poses; the one not used for longest goes */

typedef struct sti_schedule {
    sti_stamp from, asked; /* asked: of the selection wanted last */
    uint64_t clock;        /* last value given to used */
    int capacity;          /* of the arrays below */
    int *order;            /* [capacity]: all forward prims, by level and then by number; norder */
    int *depth;            /* [capacity]: level of each forward prim */
    int *scratch;          /* [capacity + 1] */
    uint8_t *moving;       /* [capacity]: 1 if physics may move the prim: directly, or through its parents */
    uint8_t *picked;       /* [capacity]: of the selection made last */
    int norder;
    stet_array *parent; /* INT [capacity]; the root: -1 */
    stet_array *body;   /* INT [nbody]: prims of bodies, those that may move first */
    stet_array *rigid;  /* INT [capacity]: rigid prims, bodies that cannot move last */
    int nbody, nbody_moving, nrigid, nrigid_moving;
    sti_selection all, poses, some[STI_SELECTIONS]; /* everything; what moves with poses; what else was wanted */
} sti_schedule;

/*
 * Brings the schedule up to date. *built counts what had to be built. external: any body may move. A failure leaves a schedule that the
 * next call builds anew.
 */
stet_result sti_schedule_update(sti_schedule *s, stet_device *device, const sti_tree *tree, bool external, int *built);
/* What follows from the prims with root[prim] non-zero, and from moving poses if wanted. The schedule must be current. */
stet_result sti_schedule_select(sti_schedule *s, const sti_tree *tree, const uint8_t *root, bool poses,
                                const sti_selection **out, int *built);
void sti_schedule_free(sti_schedule *s);

#endif
