/*
 * The stage's state, and the flush that brings its transforms up to date (mechanism hierarchy).
 *
 * Invariants:
 *   FLUSH-1  a transform is a function of poses, local transforms and connectivity alone (that of a decoration also of
 *       the worlds' quantities, DECOR-2), so computing it again changes no bit
 *   FLUSH-2  a dirty mark is cleared only after the transforms were computed: after a failure the next flush does the
 *       work
 *   FLUSH-3  a write to the arrays that the stage did not make itself marks everything dirty
 *   FLUSH-4  a world's generation in `changed` grows only if its inputs may have moved, not for work that is repeated
 *       (audit, mechanism off)
 */
#ifndef STI_STAGE_FLUSH_H
#define STI_STAGE_FLUSH_H

#include "stage/decor.h"
#include "stage/place.h"
#include "stage/schedule.h"
#include "stage/shape.h"
#include "stage/stage.h"
#include "stage/tendon.h"
#include "stage/track.h"
#include "stage/transforms.h"
#include "worlds/mask.h"

struct stet_stage {
    stet_worlds *worlds; /* borrowed, like its device and model */
    stet_device *device;
    sti_tree tree;
    sti_schedule schedule;
    sti_track track;
    sti_tendons tendons;
    sti_shapes shapes;
    sti_decor decor;
    sti_places places;
    stet_array *local, *world; /* REAL [nworld][capacity][12] */
    sti_mask stale;            /* worlds that a launch visits */
    uint8_t *visit;            /* [nworld], scratch: worlds to visit */
    sti_host_transforms host;  /* of a GPU without the mechanism */
    bool flushing;             /* a flush is running: its own reads of local and world do not flush again */
    bool free_poses;           /* the caller gave poses or body_pos: any body may move from now on */

    /* Dirty marks (FLUSH-2). */
    bool due_all;        /* every prim of every world is dirty */
    stet_reason due_why; /* reason of the next miss; none: values were written */
    uint8_t *due_prim;   /* [capacity]: the prim's local (rigid prims: world) transform was written */
    /* bumped by each write through the stage, and by each detected write (FLUSH-3) */
    sti_version values;
    sti_generations written; /* generation of `values` at a world's latest write through the stage */
    uint64_t flushed,
        flushed_moved; /* generations of `values` and worlds->poses.stamps.moved up to which all is computed */

    sti_generations changed; /* FLUSH-4, */
    sti_version changes;     /* and their version */
    uint64_t localised;      /* its generation up to which local transforms of rigid prims are computed */
    /* bumped by each detected write: local transforms of all rigid prims are dirty */
    sti_version foreign;
    sti_stamp poses_seen; /* moves of worlds for which no caller had written poses */
    sti_stamp own;        /* versions of local and world after the stage's own last write */
    sti_stamp kept_world, kept_local;
    sti_stamp prepared;                /* connectivity for which a flush has allocated its memory */
    sti_stamp local_base;              /* connectivity that local transforms of rigid prims were computed from … */
    uint64_t local_foreign;            /* … and generation of `foreign` */
    int64_t cost_launches, cost_bytes; /* of the last flush that did something: what a hit saves */
};

/* Brings world transforms up to date. force: every prim of every world. */
stet_result sti_stage_flush(stet_stage *stage, bool force);
/*
 * Producers of the two arrays; the context is the stage. Local transforms of rigid prims are computed from world
 * transforms.
 */
stet_result sti_stage_produce_world(void *context);
stet_result sti_stage_produce_local(void *context);

/*
 * Called before and after the stage itself writes to local or world. Before: detects writes of others. After: the
 * stage's write is known.
 */
void sti_stage_before_write(stet_stage *stage);
void sti_stage_after_write(stet_stage *stage);
/* Marks a prim's transform dirty, which was written in worlds first … first + n - 1. */
void sti_stage_due(stet_stage *stage, int prim, int64_t first, int64_t n);
/* Adds a prim of a kind, XFORM or SHAPE, that has the same local transform in all worlds. */
stet_result sti_stage_add_prim(stet_stage *stage, int parent, stet_prim_kind kind, const char *name, const float *local,
                               bool rigid, const char *call, int *prim);
/* Writes a local transform, of any prim. */
stet_result sti_stage_write_local(stet_stage *stage, int prim, int64_t first, int64_t n, const float *values);
stet_result sti_stage_check_range(const stet_stage *stage, int prim, int64_t first, int64_t n, const void *values,
                                  const char *call);
/* A number for a prim that is added next; the stage grows if all are in use. */
stet_result sti_stage_vacant_prim(stet_stage *stage, int *prim);
/* Connectivity has changed. */
void sti_stage_due_connectivity(stet_stage *stage);
STI_VALIDATE(stage, stet_stage)

#endif
