/*
 * Worlds: the state of N copies of a model.
 *
 * Each field is an array [nworld][items] on the device, named as in MuJoCo (qpos, qvel, act, ctrl, …). With MuJoCo's physics the
 * exact state (double) stands behind the arrays: a number in an array that still is the rounding of the exact one stands for it, a
 * number that the caller has changed replaces it at the next step.
 */
#ifndef STET_WORLDS_H
#define STET_WORLDS_H

#include "device.h"
#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stet_worlds stet_worlds;

typedef struct stet_worlds_def {
    uint32_t cookie;
    int64_t nworld; /* at least 1 */
    uint64_t seed;  /* of the noise at reset */
    int keyframe;   /* initial state; -1: the model's qpos0 */
    bool exact;     /* keep MuJoCo's own data (mjData) of each world: needed for physics `mujoco`; default true */
} stet_worlds_def;
STET_API stet_worlds_def stet_default_worlds_def(void);
/* The caller owns *out; the model is kept alive. Errors: INVALID_ARGUMENT, LIMIT, OUT_OF_MEMORY. */
STET_API stet_result stet_worlds_create(stet_device *device, stet_model *model, const stet_worlds_def *def,
                                        stet_worlds **out);
STET_API void stet_worlds_destroy(stet_worlds *worlds);
STET_API int64_t stet_worlds_count(const stet_worlds *worlds);

/* Names of the fields, NULL-terminated. */
STET_API const char *const *stet_worlds_fields(void);
/*
 * The array of a field; borrowed, the same for the life of the worlds. Reading it through stet gives the present state; xpos and xquat
 * (poses of bodies, world frame, metres and unit quaternions w x y z) are worked out when they are read. Poses that the caller writes
 * stand until their world moves again: by a step, a reset, a restore, or a write to qpos or mocap poses; with external physics only by a reset or
 * restore. sensordata is that of the last step, and 0 after a reset.
 */
STET_API stet_result stet_worlds_array(stet_worlds *worlds, const char *field, stet_array **out);

/*
 * Parameters of MuJoCo's physics that may differ from world to world, in double: their names, NULL-terminated, and what they hold.
 *
 *     gravity    [3]  m/s^2, world frame; in place of the model's
 *     friction   [1]  factor on all friction coefficients of geoms and of pairs of geoms, 0 or more
 *     damping    [1]  factor on the damping of all joints, 0 or more
 *     stiffness  [1]  factor on the stiffness of all joints, 0 or more
 */
STET_API const char *const *stet_worlds_parameters(void);
/*
 * Gives a parameter for all steps to come: n numbers, which are copied, as many as it has (all worlds alike) or [nworld] times that. NULL: the
 * model's own again. Resets, snapshots and hashes of the state do not hold parameters. Errors: NOT_FOUND; INVALID_ARGUMENT (how many, not finite,
 * negative); STATE: worlds without exact data; and then the parameter is what it was.
 */
STET_API stet_result stet_worlds_set_parameter(stet_worlds *worlds, const char *name, const double *values, int64_t n);

/*
 * Puts worlds back. Which: `worlds` a list of n indices, or `mask` of nworld bytes (non-zero: reset), or neither: all. To `keyframe`
 * (-1: qpos0; -2: that of the def). Noise: qpos and qvel get uniform noise of that half-width from (seed, world, number of resets of
 * that world), quaternions are renormalised; controls go to the keyframe's. Faults of these worlds are cleared. An empty list or mask
 * changes nothing. Errors: INVALID_ARGUMENT, and then nothing is reset.
 */
typedef struct stet_reset_def {
    uint32_t cookie;
    const int64_t *worlds;
    int64_t nworlds;
    const uint8_t *mask;
    int keyframe;
    double qpos_noise, qvel_noise;
} stet_reset_def;
STET_API stet_reset_def stet_default_reset_def(void);
STET_API stet_result stet_worlds_reset(stet_worlds *worlds, const stet_reset_def *def);

/*
 * Faults of a world, a bit each; the world goes on and the others never notice. After bad_qpos, bad_qvel and bad_qacc
 * MuJoCo has put it back to qpos0, with its inputs (`ctrl`, forces, mocap poses), which the arrays say, too; what is
 * written then holds again.
 */
#define STET_FAULTS(X)                                                                                                 \
    X(BAD_QPOS, "positions became NaN or huge")                                                                        \
    X(BAD_QVEL, "velocities became NaN or huge")                                                                       \
    X(BAD_QACC, "accelerations became NaN or huge")                                                                    \
    X(BAD_CTRL, "controls were NaN or huge")                                                                           \
    X(CONTACTS_FULL, "more contacts or constraints than memory for them")                                              \
    X(PHYSICS_ERROR, "the physics engine reported an error")
typedef enum stet_fault {
#define STET_FAULT_ENUM(name, sentence) STET_FAULT_##name,
    STET_FAULTS(STET_FAULT_ENUM)
#undef STET_FAULT_ENUM
        STET_FAULT_COUNT
} stet_fault;
STET_API const char *stet_fault_name(stet_fault fault); /* "bad_qpos" */
/* Bits of each world since its last reset, [nworld]; borrowed until the next step or reset. */
STET_API const uint32_t *stet_worlds_faults(const stet_worlds *worlds);

/*
 * A copy of the whole state, exact; restore gives the same bits as before, whatever happened in between. The caller owns *out. Restoring needs
 * the same number of worlds and the same model, or one of equal content (the snapshot keeps its model). UNSUPPORTED: the model's option flags sleep
 * or ipc are on (MuJoCo's state is not complete then).
 */
typedef struct stet_snapshot stet_snapshot;
STET_API stet_result stet_worlds_snapshot(stet_worlds *worlds, stet_snapshot **out);
STET_API stet_result stet_worlds_restore(stet_worlds *worlds, const stet_snapshot *snapshot);
STET_API void stet_snapshot_destroy(stet_snapshot *snapshot);
/*
 * The same in a file, versioned and checksummed, written under another name and then renamed. Only a plain file is
 * replaced, which may be written to, through links, which stay: all else is STET_IO. Loading takes plain files, checks
 * that sizes and the model's own fingerprint agree, and says what does not.
 */
STET_API stet_result stet_worlds_save(stet_worlds *worlds, const char *path);
STET_API stet_result stet_worlds_resume(stet_worlds *worlds, const char *path);

/* Hash of the exact state in canonical order (world by world). */
STET_API stet_result stet_worlds_hash(stet_worlds *worlds, uint64_t *out);

#ifdef __cplusplus
}
#endif
#endif
