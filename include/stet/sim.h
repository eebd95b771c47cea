/*
 * The whole loop behind one handle: worlds, physics, stage, cameras, outputs.
 *
 * The parts can be reached and used directly; the sim sees what is done to them. A sim is used by one thread at a
 * time; several sims may live in one process, each with a device of its own.
 */
#ifndef STET_SIM_H
#define STET_SIM_H

#include "kernel.h"
#include "render.h"
#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stet_sim stet_sim;

/* How to make a sim; start from stet_default_sim_def(). */
typedef struct stet_sim_def {
    uint32_t cookie;        /* set by stet_default_sim_def */
    stet_device_def device; /* the sim makes a device of its own */
    int64_t nworld;         /* at least 1; default 1 */
    stet_physics physics;   /* default AUTO */
    uint64_t seed;          /* of noise at resets and of control noise */
    int keyframe; /* initial state; -1: qpos0; -2 (default): "home" if there is one, else the first, else qpos0 */
    /*
     * Names of cameras, each once. NULL with ncamera 0: the first of the model. One name "all": all of the model.
     * "free", or a model without cameras: one that shows the whole model from the front and above. Camera i without a
     * name is called "camera<i>".
     */
    const char *const *cameras;
    int ncamera;
    int width, height;    /* pixels of each camera, at most 16384; 0 (default): 128 */
    uint32_t outputs;     /* bits 1u << STET_OUTPUT_x; 0 (default): no rendering */
    int frames_in_flight; /* frames that can be read after they were started, 1 to 16; default 2 */
} stet_sim_def;
STET_API stet_sim_def stet_default_sim_def(void);
/*
 * The caller owns *out; the model is kept alive. INVALID_ARGUMENT, NOT_FOUND (a camera; lists those that exist),
 * LIMIT (more than fits this machine, too large pictures), OUT_OF_MEMORY; all name what, where and what to do, and
 * leave nothing behind.
 */
STET_API stet_result stet_sim_create(stet_model *model, const stet_sim_def *def, stet_sim **out);
STET_API void stet_sim_destroy(stet_sim *sim); /* drops frames that nobody has read; NULL is fine */

/* The parts; borrowed, until the sim is destroyed. */
STET_API stet_device *stet_sim_device(stet_sim *sim);
STET_API stet_worlds *stet_sim_worlds(stet_sim *sim);
STET_API stet_stage *stet_sim_stage(stet_sim *sim);
STET_API stet_model *stet_sim_model(stet_sim *sim);
STET_API stet_physics stet_sim_physics(const stet_sim *sim); /* never AUTO */
STET_API int stet_sim_keyframe(const stet_sim *sim);         /* of the initial state; -1: qpos0 */
STET_API uint32_t stet_sim_outputs(const stet_sim *sim);     /* bits 1u << STET_OUTPUT_x */
STET_API int stet_sim_ncamera(const stet_sim *sim);
STET_API const stet_camera *stet_sim_camera(const stet_sim *sim, int camera); /* NULL: there is no such camera */

/*
 * Advances all worlds by n time steps; n 0 does nothing. With STET_PHYSICS_EXTERNAL only time goes on. Poses and
 * scene transforms are not brought up to date, unless mechanism pose_sync is switched off: then after each time step.
 *
 * With kernels in the step (below), a failure ends it where it is: what came before has happened, what came after has not, and the
 * next call begins with BEFORE_PHYSICS. Of kernels that are one list, either those before the one that failed have run, or, if the
 * list could not be made, none; external physics in the middle of a list lets time go on in either case.
 */
STET_API stet_result stet_sim_step(stet_sim *sim, int n);
/*
 * The same, with physics only in the worlds whose byte in mask [nworld] is not 0 (NULL: all); the others stay as they are, their time too.
 * Kernels in the step run over all worlds; an empty mask is no physics at all.
 */
STET_API stet_result stet_sim_step_worlds(stet_sim *sim, const uint8_t *mask, int n);

/*
 * Lets a long step end early. In a stet_sim_step of more than one time step, `ask` is called between two of them, in the caller's
 * thread, about every 10 ms (less often only where one time step takes longer). If it returns true, the call ends there with
 * STET_INTERRUPTED: all worlds have made the same number of time steps (stet_sim_steps_made), kernels after the physics have not run,
 * and the sim can be used as ever; stepping on gives the bits of a step that was not interrupted. `ask` may not call anything of this
 * sim but stet_sim_steps_made. `context` is given to it, borrowed until another is set. NULL (the default): nobody is asked.
 */
typedef bool stet_interrupt_fn(void *context);
STET_API void stet_sim_set_interrupt(stet_sim *sim, stet_interrupt_fn *ask, void *context);
/* Time steps that the latest stet_sim_step has made: all that it was asked for, or fewer if it failed or was interrupted. */
STET_API int stet_sim_steps_made(const stet_sim *sim);

/* ---- the caller's kernels in a step ------------------------------------------------------------------------------ */

/*
 * When a kernel runs in stet_sim_step(sim, n). Each phase once a call, whatever n is (0: nothing runs); in a phase, in the order
 * of adding.
 *
 *     BEFORE_PHYSICS   the policy: writes ctrl; or, with external physics, the poses
 *     (n time steps of physics)
 *     AFTER_PHYSICS    observation, reward, termination, length of the episode
 *     (the reset by mask, see stet_sim_set_reset)
 *     AFTER_RESET      what a world that was put back begins with: its first observation, counters to 0
 */
typedef enum stet_phase {
    STET_PHASE_BEFORE_PHYSICS,
    STET_PHASE_AFTER_PHYSICS,
    STET_PHASE_AFTER_RESET,
    STET_PHASE_COUNT
} stet_phase;

/*
 * Makes a launch a part of each step: see stet_kernel_launch for the kernel, count and args, which are checked now and copied. The
 * kernel is made for stet_sim_device(sim). *id (may be NULL) is its number, 0, 1, 2 …, never used again.
 *
 * Kernels with no work of the host between them are one list, which is replayed when it comes back (mechanism `graph_replay`): with
 * external physics and no reset by mask, the whole step. The host works, and a list ends, at MuJoCo's physics; at a reset by mask; at a
 * kernel that takes poses (xpos, xquat) after one that wrote qpos or mocap poses; at one that takes scene transforms, unless another of
 * its list did and none wrote poses since; at external
 * physics if a kernel before it writes or reads `time`. With pose_sync switched off, physics of any kind ends a list.
 *
 * The caller still owns the kernel and the arrays. While they are a part of the step they should live; if one is destroyed all the
 * same, the next step says so (STATE) before anything has run, until the kernel is removed or gets other arguments. They may be
 * destroyed before the sim or after it.
 */
STET_API stet_result stet_sim_add_kernel(stet_sim *sim, stet_phase phase, stet_kernel *kernel, int64_t count,
                                         const stet_arg *args, int narg, int *id);
/*
 * Other arguments from the next step on. Numbers that change reach a recording without building it anew; other arrays are another
 * recording. On an error the old ones stay. NOT_FOUND: no such number.
 */
STET_API stet_result stet_sim_set_kernel_args(stet_sim *sim, int id, const stet_arg *args, int narg);
STET_API stet_result stet_sim_remove_kernel(stet_sim *sim, int id); /* NOT_FOUND: no such number */
STET_API void stet_sim_clear_kernels(stet_sim *sim);                /* removes all; the reset by mask stays */
/*
 * The reset by mask: in each step after AFTER_PHYSICS, worlds whose mask is not 0 are put back as by stet_worlds_reset with `def`
 * (NULL: the default; its own list and mask must be empty). Worlds are put back once for each write of the mask: it is read on the
 * host only if it was written since, and a mask that nobody writes again puts nobody back again. It is left as it is, so that it
 * can be read after the step (`done`). mask: INT, an array of worlds, [nworld][1]; the caller's, see stet_sim_add_kernel; NULL: no
 * reset any more. A picture read after the step shows the worlds after the reset, as after stet_sim_reset.
 */
STET_API stet_result stet_sim_set_reset(stet_sim *sim, stet_array *mask, const stet_reset_def *def);

/* ---- putting worlds back ----------------------------------------------------------------------------------------- */

/* See stet_worlds_reset. Keyframe -2: that of the initial state. */
STET_API stet_result stet_sim_reset(stet_sim *sim, const stet_reset_def *def);
/*
 * See stet_worlds_restore and stet_worlds_resume; snapshots and files come from stet_worlds_snapshot and
 * stet_worlds_save. The latest frame follows, as after a reset (restored directly, it follows at the next
 * stet_sim_render).
 */
STET_API stet_result stet_sim_restore(stet_sim *sim, const stet_snapshot *snapshot);
STET_API stet_result stet_sim_resume(stet_sim *sim, const char *path);

/*
 * Controls of all worlds to their hold position: those of the initial keyframe (0 where it has none, or without a
 * keyframe), clamped to the actuators' ranges. The caller's own controls go to the array `ctrl` of the worlds.
 */
STET_API stet_result stet_sim_control_zero(stet_sim *sim);
/*
 * Controls of all worlds to hold position + scale * half of the actuator's range * u, clamped to the range (an
 * actuator without one: half is 1, no clamping). u is in [-1, 1), a function of (seed, world, actuator, frame): drawn
 * anew each 25 frames, 0 at frame 0, linear in between. scale and frame must be at least 0.
 */
STET_API stet_result stet_sim_control_noise(stet_sim *sim, double scale, int64_t frame);
/*
 * Tables of the actuators, REAL [max(nu, 1)], plain, for kernels that write controls: "hold" (the hold position), "half" (half of the
 * range; 1 without one), "low" and "high" (the range; -inf and inf without one), all in the units of ctrl. Borrowed until the sim is
 * destroyed, and not to be written. NOT_FOUND lists these names.
 */
STET_API stet_result stet_sim_control_table(stet_sim *sim, const char *name, stet_array **out);

/*
 * Starts a frame of all cameras and worlds; *frame (may be NULL) is its number, equal to the last one's if nothing
 * moved. STATE: no outputs.
 */
STET_API stet_result stet_sim_render(stet_sim *sim, int64_t *frame);
/* The same for the worlds whose byte in mask [nworld] is not 0 (NULL: all); the others keep their pixels, however far they have moved. */
STET_API stet_result stet_sim_render_worlds(stet_sim *sim, const uint8_t *mask, int64_t *frame);
/* Number of the latest frame; -1: there is none yet. */
STET_API int64_t stet_sim_latest_frame(const stet_sim *sim);

enum { STET_FRAME_LATEST = -1 };
/*
 * The tensor of a camera's output in a frame, [nworld][height][width][channels], on the device; borrowed until
 * frames_in_flight further frames were started. Asked for STET_FRAME_LATEST, worlds that were reset (or restored)
 * since the latest frame are rendered again first, in a frame of their own; the others keep their pixels. NOT_FOUND:
 * no such frame, or no longer kept; no such camera; an output that the sim does not have.
 */
STET_API stet_result stet_sim_tensor(stet_sim *sim, int64_t frame, int camera, stet_output output, stet_array **out);
/* The same, copied to the host: size must be its bytes. REAL is float (double on a device with isa "f64"). */
STET_API stet_result stet_sim_read(stet_sim *sim, int64_t frame, int camera, stet_output output, void *out,
                                   size_t size);
/* Bytes of an output of one of the cameras for stet_sim_read; 0: the sim does not have it. */
STET_API size_t stet_sim_output_bytes(const stet_sim *sim, int camera, stet_output output);
/*
 * Hash of all outputs of a frame in canonical order: camera by camera, output by output in the order of stet_output,
 * world by world. Equal for any number of threads, on every isa but "f64", and with any mechanism switched off.
 */
STET_API stet_result stet_sim_frame_hash(stet_sim *sim, int64_t frame, uint64_t *out);

/*
 * Seconds spent in calls of this sim since it was made or cleared, on the monotonic clock. With pose_sync or
 * hierarchy switched off, and in audit mode, poses and scene transforms are not timed apart: they are part of what
 * asked for them.
 */
typedef struct stet_sim_timing {
    double control;   /* stet_sim_control_… */
    double step;      /* physics */
    double pose;      /* poses of bodies, before a render */
    double hierarchy; /* scene transforms, before a render */
    double render;    /* pixels */
    double extract;   /* tensors out of the tiled frame */
    double read;      /* copies to the host, and hashes */
    double kernels;   /* the caller's kernels in steps, and the reset by mask */
    double round;     /* beginning and ending rounds (stet/round.h) */
} stet_sim_timing;
STET_API stet_sim_timing stet_sim_get_timing(const stet_sim *sim);
STET_API void stet_sim_clear_timing(stet_sim *sim);

#ifdef __cplusplus
}
#endif
#endif
