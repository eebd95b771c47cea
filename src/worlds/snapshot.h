/*
 * A copy of the whole state of worlds in one block: a head, and a payload of tables whose sizes follow from the head.
 *
 * Invariant: nothing in a snapshot but the room for contacts depends on the layout, the threads or the element type of
 * the device that it was taken on.
 */
#ifndef STI_WORLDS_SNAPSHOT_H
#define STI_WORLDS_SNAPSHOT_H

#include "worlds/worlds.h"

/* What the state of worlds is: the arrays alone, MuJoCo's data, or the arrays and what native physics keeps there. */
enum { STI_STATE_ARRAYS, STI_STATE_EXACT, STI_STATE_NATIVE };
const char *sti_state_words(uint64_t kind); /* "with exact data" */

/* Sizes, and what else the restored worlds must match. All words, so equal heads have equal bytes. */
typedef struct sti_snapshot_head {
    uint32_t kind; /* STI_STATE_… */
    uint32_t room; /* for contacts, if it has grown (sti_worlds_physics); no state, so in no hash of worlds */
    uint64_t nworld;
    uint64_t nstate;  /* numbers in a world's state */
    uint64_t nsensor; /* numbers in its sensor data */
    uint64_t npose;   /* numbers in its poses; 0 if the caller wrote none */
    uint64_t seed;
} sti_snapshot_head;

struct stet_snapshot {
    stet_model *model;    /* retained; NULL: it came from bytes, and has the model's fingerprint */
    uint64_t fingerprint; /* where model is NULL */
    sti_snapshot_head head;
    size_t size; /* bytes of the payload */
    char *payload;
    /* Tables of the payload, in this order. */
    double *state;    /* [nworld][nstate] */
    double *sensor;   /* [nworld][nsensor] */
    double *pose;     /* [nworld][npose]: positions of all bodies, then quaternions; zero where caller is 0 */
    uint64_t *resets; /* [nworld] */
    uint32_t *faults; /* [nworld] */
    uint8_t *caller;  /* [nworld]: 1 where the poses are the caller's */
};

/* Returns STET_ERROR_UNSUPPORTED if a snapshot could not hold everything that the next step depends on. */
stet_result sti_snapshot_check(const mjModel *m);
/* The head of a snapshot of these worlds, without poses. */
sti_snapshot_head sti_snapshot_head_of(const stet_worlds *worlds);
/* Numbers in a world's poses. */
uint64_t sti_snapshot_pose_items(const stet_worlds *worlds);
/* Creates an all-zero snapshot of the sizes in its head; the model may be NULL. The caller owns *out. */
stet_result sti_snapshot_new(stet_model *model, const sti_snapshot_head *head, stet_snapshot **out);
/*
 * Takes a snapshot of any model, also of one whose state it cannot hold (sti_snapshot_check); poses: with room for
 * them, also if the caller wrote none.
 */
stet_result sti_snapshot_take(stet_worlds *worlds, bool poses, stet_snapshot **out);
/* The hash that stet_worlds_hash has for worlds in this state; replaces NaN by one of its bit patterns. */
uint64_t sti_snapshot_hash(stet_snapshot *s);
/* file.c: stet_worlds_save of a snapshot; stet_worlds_resume of those worlds of a file of `all` from `first` on. */
stet_result sti_snapshot_save(const stet_snapshot *s, const char *path);
stet_result sti_worlds_resume_block(stet_worlds *worlds, const char *path, int64_t all, int64_t first);
/* The fingerprint of a snapshot's model. */
stet_result sti_snapshot_fingerprint(const stet_snapshot *s, uint64_t *out);

#endif
