/*
 * The worlds: arrays of the state, MuJoCo's data behind them, and the poses computed from them.
 *
 * Invariants:
 *   WORLDS-1  one thread at a time touches the mjData of a world, and a kinematics pass never does (it has scratch data
 *       of its own)
 *   WORLDS-2  an array element that equals the rounding of the exact number leaves the exact number as it is
 *   WORLDS-3  a world's generation in `moved` grows when its pose may have changed (a step, a reset, a write to qpos,
 *       mocap or poses)
 *   WORLDS-4  poses that the caller wrote are valid until their world moves; every other world's are those of
 *       kinematics. Those of the worlds that have not moved since generation `caller` are the caller's
 *   WORLDS-5  a function that moves worlds first takes what the caller wrote (sti_worlds_take_dirty, sti_worlds_sync),
 *       so the later of a write and a move wins
 *   WORLDS-7  passes over worlds access fields through `mirror`, which is filled before a pass, when nothing has
 *       changed yet: a pass cannot fail
 *   WORLDS-8  without MuJoCo's data, on a device whose memory the host cannot access: `initial` keeps the initial
 *       content of fields on both sides, so that beginning again uploads nothing
 *   WORLDS-9  `poses.first` likewise keeps the poses computed from the initial fields, under a key that names the
 *       content of qpos and mocap poses
 *   WORLDS-10 physics whose state is the arrays computes poses on the device, in kernels; elsewhere mj_kinematics does
 *       on the host. Its steps and resets leave faults, time and numbers of resets on the device: whoever reads or
 *       changes them here calls sti_worlds_pull_physics first
 *   WORLDS-11  whoever makes poses those of a later generation of `moved` says in which worlds they have other bits: a
 *       world's generation in `poses.stamps.moved` grows in these alone. In doubt it grows: where poses are not
 *       compared, because nobody asks, or because only a device has them
 */
#ifndef STI_WORLDS_WORLDS_H
#define STI_WORLDS_WORLDS_H

#include "base/generations.h"
#include "device/device.h"
#include "device/host_mirror.h"
#include "model/guard.h"
#include "model/model.h"
#include "stet/worlds.h"
#include "worlds/parameter.h"
#include "worlds/quantities.h"

#include <stdatomic.h>

/*
 * Fields: name, items per world (an expression over `const mjModel *m`), the numbers in `mjData *d`, and who writes it:
 * CALLER (pushed to the physics before a step), PHYSICS (pulled after each step), BOTH, POSES (computed on demand).
 * eq_active has bytes in MuJoCo's data, and no pointer here. qacc_warmstart has no items in worlds with MuJoCo's data,
 * which keep it to themselves. step_sensordata is what the last step left of the quantity sensordata.
 * history has ages in worlds without MuJoCo's data (history.h).
 */
#define STI_FIELDS(X)                                                                                                  \
    X(qpos, m->nq, d->qpos, BOTH)                                                                                      \
    X(qvel, m->nv, d->qvel, BOTH)                                                                                      \
    X(act, m->na, d->act, BOTH)                                                                                        \
    X(history, m->nhistory, d->history, BOTH)                                                                          \
    X(ctrl, m->nu, d->ctrl, CALLER)                                                                                    \
    X(qfrc_applied, m->nv, d->qfrc_applied, CALLER)                                                                    \
    X(xfrc_applied, m->nbody * 6, d->xfrc_applied, CALLER)                                                             \
    X(mocap_pos, m->nmocap * 3, d->mocap_pos, CALLER)                                                                  \
    X(mocap_quat, m->nmocap * 4, d->mocap_quat, CALLER)                                                                \
    X(eq_active, m->neq, NULL, CALLER)                                                                                 \
    X(time, 1, &d->time, BOTH)                                                                                         \
    X(step_sensordata, m->nsensordata, d->sensordata, PHYSICS)                                                         \
    X(qacc_warmstart, m->nv, d->qacc_warmstart, PHYSICS)                                                               \
    X(xpos, m->nbody * 3, d->xpos, POSES)                                                                              \
    X(xquat, m->nbody * 4, d->xquat, POSES)

typedef enum sti_field {
#define STI_FIELD_ENUM(name, items, member, writer) STI_FIELD_##name,
    STI_FIELDS(STI_FIELD_ENUM)
#undef STI_FIELD_ENUM
        STI_FIELD_COUNT
} sti_field;

/* Who writes a field, as bits; a BOTH field has both. */
enum { STI_WRITER_CALLER = 1, STI_WRITER_PHYSICS = 2, STI_WRITER_BOTH = 3, STI_WRITER_POSES = 4 };
extern const int sti_field_writer[STI_FIELD_COUNT];
/* The numbers of a field in MuJoCo's data; NULL: eq_active, which has bytes there. */
mjtNum *sti_field_exact(mjData *d, sti_field field);
int64_t sti_field_items(const mjModel *m, sti_field field);
/* Those that worlds have: with MuJoCo's data (`exact`) some are there and not in a field. */
int64_t sti_worlds_items(const mjModel *m, bool exact, sti_field field);

/* What physics to the right of the worlds does when the worlds ask for it. Zeroed: there is none (WORLDS-10). */
typedef struct sti_worlds_physics {
    void *context;
    /* xpos and xquat of the worlds whose byte in due [nworld] is not 0; NULL: of all */
    stet_result (*make_poses)(void *context, const uint8_t *due);
    /* brings `faults` and `time` up to date; with `drop` forgets what steps left to do for them */
    stet_result (*pull)(void *context, bool drop);
    /*
     * puts worlds back as stet_worlds_reset says, to keyframe (-1: qpos0): those whose number in mask (as
     * stet_reset_def.mask_array) is not 0; NULL: those of def->mask
     */
    stet_result (*reset)(void *context, stet_array *mask, const stet_reset_def *def, int keyframe);
    /* the quantities of worlds->quantities.list with in_pass, of all worlds (quantities.h) */
    stet_result (*fill_quantities)(void *context);
    /* somebody asks for a quantity of the step: steps keep what it takes from now on */
    stet_result (*keep_steps)(void *context);
    /* QUANTITY-4: the worlds of mask [nworld] (NULL: all) began anew, on the host */
    stet_result (*begun)(void *context, const uint8_t *mask);
    /* somebody has asked for a quantity, and is going to read it */
    void (*expect_quantities)(void *context);
    /* how many contacts of a world a step has memory for, if that has grown, else 0; and that it has so many again */
    int (*grown_room)(void *context);
    stet_result (*restore_room)(void *context, int room);
} sti_worlds_physics;

enum { STI_POSE_INPUTS = 3 }; /* qpos, mocap_pos, mocap_quat */

/* The state and inputs of all worlds, and what MuJoCo's data has of them. */
typedef struct sti_worlds_state {
    stet_array *field[STI_FIELD_COUNT];
    /* WORLDS-7: the host mirror of each field, valid while nothing else touches its array */
    void *mirror[STI_FIELD_COUNT];
    mjData **data;       /* [nworld], exact only */
    double *time;        /* [nworld], not exact only: seconds, the number that the array is rounded from */
    double step_seconds; /* recent duration of a time step of one world; 0: not known */
    uint32_t *faults;    /* [nworld] */
    uint64_t *resets;    /* [nworld], number of resets, for the noise */
    stet_array *initial[STI_FIELD_COUNT]; /* WORLDS-8; NULL: not needed yet */
    stet_array *noise, *draws;            /* for resets: [nworld][nq + nv], [nworld][1]; made when first needed */
    struct {
        sti_stamp pushed[STI_FIELD_COUNT]; /* versions of arrays that MuJoCo's data already has */
        sti_generations moved;             /* WORLDS-3, */
        sti_version version;               /* and their version */
        sti_version resets;                /* bumped by every change of resets but those of resets themselves */
    } stamps;
} sti_worlds_state;

/* Poses of bodies, which kinematics compute from the state. */
typedef struct sti_worlds_poses {
    /* physics is external: steps move no world; a write to qpos moves none whose poses the caller wrote */
    bool external;
    mjModel *model;       /* a copy of the model without sleeping, if the model has sleeping; else NULL */
    mjData **scratch;     /* [threads], for kinematics, and for resets of worlds without data */
    stet_reason why;      /* reason of the last move */
    uint64_t observer;    /* serial of the last observer that learnt of a pass */
    int readers;          /* stages, which ask for it */
    char *before;         /* scratch of a pass: poses as they were; NULL: not needed yet */
    uint8_t *marks;       /* [nworld], the same: worlds whose poses have other bits */
    stet_array *first[2]; /* WORLDS-9: xpos, xquat; NULL: not needed yet */
    /* content that the first ones were computed from, and content of the latest beginning */
    uint64_t first_key[STI_POSE_INPUTS], begun_key[STI_POSE_INPUTS];
    bool first_valid;
    struct {
        sti_stamp made;        /* what the poses were last computed from */
        sti_stamp written;     /* known versions of xpos and xquat */
        sti_generations moved; /* WORLDS-11, */
        sti_version version;   /* and their version */
        uint64_t posed;        /* the generation of the state's version up to which xpos and xquat were computed, */
        uint64_t caller;       /* and up to which they are the caller's (WORLDS-4), which is not later; 0: none are */
        uint64_t begun;        /* the same at the latest beginning; 0: there was none, or its content is not known */
    } stamps;
} sti_worlds_poses;

/* What MuJoCo computes of the state, as far as somebody asked for it (quantities.h). */
typedef struct sti_worlds_quantities {
    sti_quantity *list;
    int contact_slots; /* 0: the default */
    int64_t forwards;  /* worlds whose forward dynamics MuJoCo's library ran for quantities */
    bool any_begun;    /* some world may have begun anew */
    struct {
        sti_generations changed;     /* QUANTITY-3, */
        sti_version version;         /* and their version */
        sti_generations stepped;     /* QUANTITY-4: `changed` after the last step or forward; 0: it began anew since */
        sti_version stepped_version; /* bumped by each of these */
    } stamps;
} sti_worlds_quantities;

struct stet_worlds {
    stet_device *device;
    stet_model *model;
    stet_worlds_def def;
    int64_t nworld;
    sti_worlds_state state;
    sti_worlds_poses poses;
    sti_parameters parameters; /* of the physics, per world */
    sti_worlds_quantities quantities;
    sti_worlds_physics physics;
    uint8_t *marks;  /* [nworld], scratch of one call */
    uint8_t *chosen; /* [nworld], the mask of a reset by an array, on the host */
    /* [blocks of the layout], scratch of one call: worlds of a block that are not done yet */
    atomic_int *pending;
};

/* Number of blocks of the layout, of `lanes` worlds each; the last may not be full. */
static inline int64_t sti_worlds_blocks(const stet_worlds *worlds)
{
    return (worlds->nworld + worlds->device->lanes - 1) / worlds->device->lanes;
}

/*
 * Runs f for each world over the device's threads; thread is 0 … threads - 1. Neighbours in a block of the layout share
 * cache lines, so a thread takes whole blocks if there are enough worlds. Worlds that are known to take long, and
 * unequally long, are split more finely. `seconds` is what all worlds take together (see sti_loop_def); 0: not much.
 */
typedef void sti_worlds_fn(void *context, int64_t w, int thread);
void sti_worlds_parallel(stet_worlds *worlds, sti_worlds_fn *f, void *context, double seconds);

/*
 * For physics with mjData; one thread per world. push copies what the caller changed into it (WORLDS-2, only fields
 * with dirty set) and returns what that was, as bits STI_PUSHED_. pull copies what the physics writes into the arrays
 * and, with `all`, what the caller writes, too. Before a parallel pass, take the mirrors of written fields with
 * sti_worlds_take_mirrors, then those of read fields with sti_worlds_take_dirty. After it, mark the pulled arrays once
 * with sti_worlds_written.
 */
enum { STI_PUSHED_ANY = 1, STI_PUSHED_POSE = 2 }; /* a number; one of qpos or of mocap poses */
stet_result sti_worlds_take_mirrors(stet_worlds *worlds, int writers);
uint8_t sti_worlds_push(stet_worlds *worlds, int64_t w, const bool dirty[STI_FIELD_COUNT]);
void sti_worlds_pull(stet_worlds *worlds, int64_t w, mjData *d, bool all);
void sti_worlds_written(stet_worlds *worlds, bool all);
/* The same for the fields that are marked, whoever writes them. */
void sti_worlds_pull_fields(stet_worlds *worlds, int64_t w, mjData *d, const bool fields[STI_FIELD_COUNT]);
/* The array of one field was written from the exact numbers. */
void sti_worlds_field_written(stet_worlds *worlds, sti_field field);
/*
 * Returns which fields were written since the last push and counts them as pushed. Also takes poses that the caller
 * wrote (WORLDS-5) and host mirrors.
 */
stet_result sti_worlds_take_dirty(stet_worlds *worlds, bool dirty[STI_FIELD_COUNT]);
/* Takes everything that the caller wrote: take_dirty and push. Worlds whose qpos or mocap poses changed have moved. */
stet_result sti_worlds_sync(stet_worlds *worlds);
/*
 * WORLDS-5, for a launch that moves all worlds and may be listed: what the caller wrote to their state moves nothing
 * more then, so in a list nothing needs to be looked at but poses, which the launch ends. A list that writes them runs
 * first.
 */
stet_result sti_worlds_take_writes(stet_worlds *worlds);
/* The physics' own launch wrote the state and the inputs, so their versions are not the caller's writes. */
void sti_worlds_launch_wrote(stet_worlds *worlds);

/* Poses come from this physics from now on, but those that the caller wrote stay (WORLDS-10). */
void sti_worlds_set_physics(stet_worlds *worlds, sti_worlds_physics physics);
/* Is the arrays' content the state of native physics? */
static inline bool sti_worlds_are_native(const stet_worlds *worlds) { return worlds->physics.context != NULL; }
/* Brings `faults` and `time` up to date (WORLDS-10). Takes what the caller wrote to `time` first. */
stet_result sti_worlds_pull_physics(stet_worlds *worlds);
/* Takes what the caller wrote to the array of times, in worlds without MuJoCo's data. */
stet_result sti_worlds_take_time(stet_worlds *worlds);

/* STET_ERROR_LIMIT if worlds of `each` bytes do not fit into `have` bytes (0: not known). */
stet_result sti_worlds_check_memory(int64_t nworld, double each, double have);

/* The worlds of mask [nworld] (NULL: all) may have moved. One thread at a time. */
void sti_worlds_moved(stet_worlds *worlds, const uint8_t *mask);
/* The same, but for those whose poses the caller wrote, and whose quantities count as changed already. */
void sti_worlds_moved_unless_posed(stet_worlds *worlds, const uint8_t *mask);

STI_VALIDATE(worlds, stet_worlds)

/* WORLDS-4: are the poses of a world, or those of any, the caller's? */
static inline bool sti_worlds_is_caller_posed(const stet_worlds *worlds, int64_t w)
{
    return sti_generation_of(&worlds->state.stamps.moved, w) <= worlds->poses.stamps.caller;
}
static inline bool sti_worlds_any_caller_posed(const stet_worlds *worlds)
{
    return worlds->poses.stamps.caller > 0 &&
           sti_generations_since(&worlds->state.stamps.moved, worlds->poses.stamps.caller, NULL) < worlds->nworld;
}

#endif
