/*
 * The stage's state, and bringing its transforms up to date (mechanism hierarchy).
 *
 * Invariants:
 *   FLUSH-1  a transform follows from poses, local transforms and connectivity alone, so making it again changes no bit
 *   FLUSH-2  what is due is forgotten only after it was made: a failure is made good by the next flush
 *   FLUSH-3  a write to the arrays that the stage did not make itself makes everything due
 *   FLUSH-4  changed[w] grows only with a world whose inputs may have moved, not with work done again (audit, switched off)
 */
#ifndef STI_STAGE_FLUSH_H
#define STI_STAGE_FLUSH_H

#include "stage/schedule.h"
#include "stage/stage.h"
#include "stage/track.h"

struct stet_stage {
    stet_worlds *worlds; /* borrowed, like its device and model */
    stet_device *device;
    sti_tree tree;
    sti_schedule schedule;
    sti_track track;
    stet_array *local, *world; /* REAL [nworld][capacity][12] */
    stet_array *stale;         /* INT [nworld]: worlds that a launch visits */
    int *visit;                /* [nworld]: stale on the host */
    bool flushing;             /* inside a flush: its own reads of local and world go straight through */
    bool free_poses;           /* the caller wrote poses: no body can be taken for fixed any more */

    /* What is due, G2. */
    bool due_all;        /* every prim of every world */
    stet_reason due_why; /* of the next miss; none: values */
    uint8_t *due_prim;   /* [capacity]: local (rigid: world) transform was written */
    uint8_t *due_world;  /* [nworld]: some of these transforms were this world's */
    uint64_t *flushed;   /* [nworld]: worlds->moved that the world transforms were made from */

    uint64_t *changed, *localised; /* [nworld]: FLUSH-4, and the value that local transforms of rigid prims were made from */
    uint64_t clock;                /* last value given to changed */
    sti_version values;            /* bumped with each write through the stage, and with each that was found out (FLUSH-3) */
    sti_version changes;           /* bumped with changed */
    sti_version foreign;           /* bumped with each write found out: locals of all rigid prims are due */
    sti_stamp poses_seen;          /* moves of worlds in which nobody had written poses */
    sti_stamp own;                 /* versions of local and world after the stage's own last write */
    sti_stamp kept_world, kept_local;
    sti_stamp prepared;                /* connectivity for which a flush has taken its memory */
    sti_stamp local_base;              /* connectivity that local transforms of rigid prims were made from */
    uint64_t local_foreign;            /* and generation of foreign */
    int64_t cost_launches, cost_bytes; /* of the last flush that did something, for what hits save */
};

/* Brings world transforms up to date; force: every prim of every world. */
stet_result sti_stage_flush(stet_stage *stage, bool force);
/* Producers of the arrays; the context is the stage. Reading local ones needs those of rigid prims, which follow from world transforms. */
stet_result sti_stage_produce_world(void *context);
stet_result sti_stage_produce_local(void *context);

/* Before and after the stage itself writes to local or world: finds out what others wrote; takes the own write as known. */
void sti_stage_before_write(stet_stage *stage);
void sti_stage_after_write(stet_stage *stage);
/* A transform of a prim was written in worlds first … first + n - 1. */
void sti_stage_due(stet_stage *stage, int prim, int64_t first, int64_t n);
/* Connectivity changed. */
void sti_stage_due_connectivity(stet_stage *stage);

#endif
