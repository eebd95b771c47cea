/*
 * The worlds: arrays of the state, MuJoCo's data behind them, and the poses that follow.
 *
 * Invariants:
 *   WORLDS-1  mjData of a world is touched by one thread at a time, and never by a kinematics pass (that has scratch data of its own)
 *   WORLDS-2  an array element equal to the rounding of the exact number lets the exact number stand
 *   WORLDS-3  moved[w] grows whenever the pose of world w may have changed (a step, a reset, a write to qpos, mocap or poses)
 *   WORLDS-4  poses that the caller wrote stand until their world moves; every other world's are those of mj_kinematics
 *   WORLDS-5  whoever moves worlds takes what the caller wrote before (sti_worlds_take_dirty, sti_worlds_sync), so the later of a write
 *       and a move wins
 *   WORLDS-7  passes over worlds touch fields through `host mirror`, which is taken before a pass, when nothing has been changed yet: a pass cannot fail
 *   WORLDS-8  without MuJoCo's data, on a device whose memory the host cannot reach: what a field begins with, on both sides, so that beginning again
 *       sends nothing
 *   WORLDS-9  likewise the poses that follow from what they begin with, under a key that names the content of qpos and mocap poses
 */
#ifndef STI_WORLDS_WORLDS_H
#define STI_WORLDS_WORLDS_H

#include "device/device.h"
#include "device/host_mirror.h"
#include "model/guard.h"
#include "model/model.h"
#include "stet/worlds.h"
#include "worlds/parameter.h"

#include <stdatomic.h>

/*
 * Fields: name, items a world (an expression over `const mjModel *m`), the numbers in `mjData *d`, who writes it: CALLER (pushed to
 * the physics before a step), PHYSICS (pulled after each step), BOTH, POSES (the pose pass, on demand).
 */
#define STI_FIELDS(X)                                                                                                  \
    X(qpos, m->nq, d->qpos, BOTH)                                                                                      \
    X(qvel, m->nv, d->qvel, BOTH)                                                                                      \
    X(act, m->na, d->act, BOTH)                                                                                        \
    X(ctrl, m->nu, d->ctrl, CALLER)                                                                                    \
    X(qfrc_applied, m->nv, d->qfrc_applied, CALLER)                                                                    \
    X(xfrc_applied, m->nbody * 6, d->xfrc_applied, CALLER)                                                             \
    X(mocap_pos, m->nmocap * 3, d->mocap_pos, CALLER)                                                                  \
    X(mocap_quat, m->nmocap * 4, d->mocap_quat, CALLER)                                                                \
    X(time, 1, &d->time, BOTH)                                                                                         \
    X(sensordata, m->nsensordata, d->sensordata, PHYSICS)                                                              \
    X(xpos, m->nbody * 3, d->xpos, POSES)                                                                              \
    X(xquat, m->nbody * 4, d->xquat, POSES)

typedef enum sti_field {
#define STI_FIELD_ENUM(name, items, member, writer) STI_FIELD_##name,
    STI_FIELDS(STI_FIELD_ENUM)
#undef STI_FIELD_ENUM
        STI_FIELD_COUNT
} sti_field;

/* Who writes a field, as bits: a BOTH field has both. */
enum { STI_WRITER_CALLER = 1, STI_WRITER_PHYSICS = 2, STI_WRITER_BOTH = 3, STI_WRITER_POSES = 4 };
extern const int sti_field_writer[STI_FIELD_COUNT];
/* The numbers of a field in MuJoCo's data. */
mjtNum *sti_field_exact(mjData *d, sti_field field);
int64_t sti_field_items(const mjModel *m, sti_field field);

enum { STI_POSE_INPUTS = 3 }; /* qpos, mocap_pos, mocap_quat */

struct stet_worlds {
    stet_device *device;
    stet_model *model;
    stet_worlds_def def;
    int64_t nworld;
    stet_array *field[STI_FIELD_COUNT];
    void *mirror[STI_FIELD_COUNT];     /* WORLDS-7: of each field, as long as nothing else touches its array */
    mjData **data;                     /* [nworld], exact only */
    double *time;                      /* [nworld], not exact only: seconds, the number behind the array */
    mjModel *pose_model;               /* the model without sleeping, where it has that; else NULL */
    mjData **scratch;                  /* [threads], for kinematics, and for resets of worlds without data */
    uint32_t *faults;                  /* [nworld] */
    uint64_t *moved;                   /* [nworld], WORLDS-3 */
    uint64_t *resets;                  /* [nworld], number of resets, for the noise */
    uint64_t clock;                    /* last value given to moved */
    sti_version moved_version;         /* bumped with every change of moved */
    sti_stamp pushed[STI_FIELD_COUNT]; /* versions of arrays that MuJoCo's data already has */
    bool external_poses;       /* physics is external: steps move no world, qpos none whose poses the caller wrote */
    sti_stamp pose_stamp;      /* what the poses were brought up to date with */
    sti_stamp pose_written;    /* versions of xpos and xquat that are no news */
    stet_reason pose_why;      /* of the last move */
    uint64_t *posed;           /* [nworld]: moved[w] that xpos and xquat were made from */
    uint8_t *caller_poses;     /* [nworld], WORLDS-4 */
    uint8_t *marks;            /* [nworld], work space of one call */
    atomic_int *pending;       /* [blocks of the layout], the same: worlds of a block that are not done yet */
    sti_parameters parameters; /* of the physics, world by world */
    stet_array *initial[STI_FIELD_COUNT]; /* WORLDS-8; NULL: not needed yet */
    stet_array *first_poses[2];           /* WORLDS-9: xpos, xquat; NULL: not needed yet */
    uint64_t first_key[STI_POSE_INPUTS],
        begun_key[STI_POSE_INPUTS]; /* content that first_poses was made from, and of the latest beginning */
    uint64_t begun;                 /* clock of that beginning; 0: there was none, or it is not known from what */
    bool first_valid;
    stet_array *noise, *draws; /* of resets: [nworld][nq + nv], [nworld][1]; made when first needed */
};

/* Blocks of the layout, of `lanes` worlds each; the last may not be full. */
static inline int64_t sti_worlds_blocks(const stet_worlds *worlds)
{
    return (worlds->nworld + worlds->device->lanes - 1) / worlds->device->lanes;
}

/*
 * Runs f for each world over the device's threads; thread is 0 … threads - 1. Neighbours in a block of the layout share cache lines, so they
 * stay together where there are worlds enough for it; with `uneven`, for worlds that take long and not equally long, hardly ever.
 */
typedef void sti_worlds_fn(void *context, int64_t w, int thread);
void sti_worlds_parallel(stet_worlds *worlds, sti_worlds_fn *f, void *context, bool uneven);

/*
 * For the physics: one thread, one world. push copies what the caller changed (WORLDS-2, only fields with dirty set) into mjData; true if qpos
 * or mocap poses changed. pull copies what the physics writes into the arrays, and with `all` what the caller writes too. After a
 * parallel pass, the pulled arrays are marked once with sti_worlds_written. Before it, the host mirrors of what is written are taken with
 * sti_worlds_take_mirrors, and those of what is read with sti_worlds_take_dirty, in this order.
 */
stet_result sti_worlds_take_mirrors(stet_worlds *worlds, int writers);
bool sti_worlds_push(stet_worlds *worlds, int64_t w, const bool dirty[STI_FIELD_COUNT]);
void sti_worlds_pull(stet_worlds *worlds, int64_t w, mjData *d, bool all);
void sti_worlds_written(stet_worlds *worlds, bool all);
/* The same for the fields that are marked, whoever writes them. */
void sti_worlds_pull_fields(stet_worlds *worlds, int64_t w, mjData *d, const bool fields[STI_FIELD_COUNT]);
/* The array of one field was written from the exact numbers. */
void sti_worlds_field_written(stet_worlds *worlds, sti_field field);
/* Which fields were written since the last push, remembered as pushed from now on; takes poses that the caller wrote (WORLDS-5), and host mirrors. */
stet_result sti_worlds_take_dirty(stet_worlds *worlds, bool dirty[STI_FIELD_COUNT]);
/* Takes all that the caller wrote: take_dirty and push; worlds whose qpos or mocap poses changed have moved. */
stet_result sti_worlds_sync(stet_worlds *worlds);

/* World w, or all, may have moved. From one thread. */
void sti_worlds_moved(stet_worlds *worlds, int64_t w);
void sti_worlds_all_moved(stet_worlds *worlds);

#endif
