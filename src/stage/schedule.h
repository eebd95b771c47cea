/*
 * The schedule: prims in the order in which transforms are propagated, and selections from it.
 *
 * Invariants:
 *   SCHEDULE-1  the schedule is a function of connectivity, and of whether any body may move, alone
 *   SCHEDULE-2  a prim's level is one more than its parent's; the parents of level 0 are rigid
 *   SCHEDULE-3  with each prim that moved, a selection contains all prims below it down to the next rigid ones
 */
#ifndef STI_STAGE_SCHEDULE_H
#define STI_STAGE_SCHEDULE_H

#include "device/device.h"
#include "stage/tree.h"

/* Some of the prims that are propagated forward, by level. */
typedef struct sti_selection {
    sti_stamp from;
    uint64_t used; /* when it was last requested */
    int nprim, nlevel;
    stet_array *prim;  /* INT [capacity], nprim in use */
    stet_array *level; /* INT [capacity + 1]: index in prim of each level's first, then nprim */
} sti_selection;

/* kept besides `all` and `poses`; the least recently used one is replaced */
enum { STI_SELECTIONS = 8 };

typedef struct sti_schedule {
    sti_stamp from, asked; /* asked: stamp of the latest request */
    uint64_t clock;        /* last value given to used */
    int capacity;          /* of the arrays below */
    int *order;            /* [capacity]: all forward prims, by level and then by number; norder of them */
    int *depth;            /* [capacity]: level of each forward prim */
    int *scratch;          /* [capacity + 1] */
    uint8_t *moving;       /* [capacity]: 1 if physics may move the prim, directly or through its parents */
    uint8_t *picked;       /* [capacity]: 1 for prims of the selection made last */
    int norder;
    stet_array *parent; /* INT [capacity]; the root: -1 */
    stet_array *body;   /* INT [nbody]: prims of bodies, first those that may move */
    stet_array *rigid;  /* INT [capacity]: rigid prims, last the bodies that cannot move */
    int nbody, nbody_moving, nrigid, nrigid_moving;
    /* everything; what moves with poses; other selections */
    sti_selection all, poses, some[STI_SELECTIONS];
} sti_schedule;

/*
 * Brings the schedule up to date. *built counts what had to be built. external: any body may move. After a failure the
 * next call builds it anew.
 */
stet_result sti_schedule_update(sti_schedule *s, stet_device *device, const sti_tree *tree, bool external, int *built);
/*
 * Selects what depends on the prims with root[prim] non-zero and, with `poses`, on moving poses. The schedule must be
 * up to date.
 */
stet_result sti_schedule_select(sti_schedule *s, const sti_tree *tree, const uint8_t *root, bool poses,
                                const sti_selection **out, int *built);
void sti_schedule_free(sti_schedule *s);

#endif
