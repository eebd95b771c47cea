/*
 * The sim: worlds, physics, stage, cameras and outputs behind one handle.
 *
 * The caller can get the parts and use them directly; the sim sees those changes. Use a sim from one thread at a time.
 * A process may have several sims, each with its own device.
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
    stet_device_def device; /* the sim makes and owns its device */
    int64_t nworld;         /* at least 1; default 1 */
    int64_t first_world;    /* as in stet_worlds_def; default 0 */
    stet_physics physics;   /* default AUTO: NATIVE, if it covers the model and is as fast; else MUJOCO */
    uint64_t seed;          /* seed of the noise of resets and controls */
    /* initial state; -1: qpos0; -2 (default): the keyframe "home" if there is one, else the first, else qpos0 */
    int keyframe;
    /*
     * Names of cameras, each once. NULL with ncamera 0: the model's first camera. The single name "all": all cameras of
     * the model. "free", or a model without cameras: a camera where MuJoCo's viewer begins.
     * "free:AZIMUTH,ELEVATION,DISTANCE[,X,Y,Z]": a camera that looks at a point (default: the model's centre) from
     * there, as MuJoCo's mjvCamera, degrees and metres; elevation -90 looks straight down. "free:AZIMUTH,ELEVATION" is
     * as near as all geoms but planes are visible from in the initial state; "free:fit" the same with MuJoCo's angles.
     * Free cameras stand still, until stet_sim_place_camera. Camera i without a name is called "camera<i>".
     */
    const char *const *cameras;
    int ncamera;
    int width, height;     /* of each camera, pixels, at most 16384; 0 (default): 128 */
    const int (*sizes)[2]; /* widths and heights of single cameras; NULL (default): all have those above */
    int nsize;             /* as many as the sim has cameras, or 0 */
    /* vertical angles of view of single cameras that are fisheyes (render.h), degrees; 0: it is none; default NULL */
    const float *fisheyes;
    int nfisheye;          /* one for all cameras, as many as the sim has, or 0 */
    int samples;           /* rays a pixel for colours, 1, 4 or 16; default 1 */
    uint32_t outputs;      /* bits 1u << STET_OUTPUT_x; 0 (default): no rendering */
    int frames_in_flight;  /* how many frames stay readable after they were started, 1 to 16; default 2 */
    uint32_t groups;       /* of geoms that are drawn, bits 1u << group; default STET_GROUPS_DEFAULT */
    stet_render_mode mode; /* of colours; default STET_RENDER_MODE_MUJOCO */
    bool fog;              /* in colours (render.h); default false */
    uint32_t decorations;  /* as of stet_stage_decorate, which changes them later; default 0 */
} stet_sim_def;
STET_API stet_sim_def stet_default_sim_def(void);
/*
 * The caller owns *out; the sim keeps the model alive. A failure leaves nothing behind. INVALID_ARGUMENT; NOT_FOUND: a
 * camera (the message lists those that exist); LIMIT: pictures too large, or more memory than this machine has;
 * OUT_OF_MEMORY. All messages say what failed, where, and what to do.
 */
STET_API stet_result stet_sim_create(stet_model *model, const stet_sim_def *def, stet_sim **out);
STET_API void stet_sim_destroy(stet_sim *sim); /* drops frames that were not read; NULL is fine */

/* Bytes that a sim holds: its arrays and their host mirrors, copies of inputs, and MuJoCo's data. */
STET_API int64_t stet_sim_get_bytes(const stet_sim *sim);

/* The parts of the sim; borrowed until the sim is destroyed. */
STET_API stet_device *stet_sim_get_device(stet_sim *sim);
STET_API stet_worlds *stet_sim_get_worlds(stet_sim *sim);
STET_API stet_stage *stet_sim_get_stage(stet_sim *sim);
STET_API stet_model *stet_sim_get_model(stet_sim *sim);
STET_API stet_physics stet_sim_get_physics(const stet_sim *sim); /* never AUTO */
/* Why it is this physics: "asked for", or why AUTO took it; borrowed from the sim. */
STET_API const char *stet_sim_get_physics_reason(const stet_sim *sim);
/* As stet_step_get_faults, of the sim's step. */
STET_API stet_result stet_sim_get_step_faults(stet_sim *sim, stet_array **out);
/* As stet_step_linearize, of the sim's step. */
STET_API stet_result stet_sim_linearize(stet_sim *sim, double *A, int64_t nA, double *B, int64_t nB);
STET_API stet_result stet_sim_linearize_sensors(stet_sim *sim, double *C, int64_t nC, double *D, int64_t nD);
/* As stet_step_set_touch and stet_step_get_touches, of the sim's step. */
STET_API stet_result stet_sim_set_touch(stet_sim *sim, stet_touch touch);
STET_API stet_result stet_sim_get_touches(stet_sim *sim, stet_array **out);
/* As stet_step_take_parameters and stet_step_get_parameter_gradient, of the sim's step. */
STET_API stet_result stet_sim_take_parameters(stet_sim *sim, const char *const *names, int n);
STET_API stet_result stet_sim_get_parameter_gradient(stet_sim *sim, stet_tape *tape, const char *name, double *out,
                                                     int64_t nout);
STET_API int stet_sim_get_keyframe(const stet_sim *sim);     /* keyframe of the initial state; -1: qpos0 */
STET_API uint32_t stet_sim_get_outputs(const stet_sim *sim); /* bits 1u << STET_OUTPUT_x */
STET_API int stet_sim_get_ncamera(const stet_sim *sim);
STET_API const stet_camera *stet_sim_get_camera(const stet_sim *sim, int camera); /* NULL: no such camera */
/*
 * Puts a free camera elsewhere, in all worlds; the next frame shows it. `name` is that of a free camera of a def, such
 * as "free:90,-30,2.5,0,0,1", and "free:fit" and "free:90,-30" show the first world as it is now. The camera keeps its
 * own name, and the height of what an orthographic one shows. placed (may be NULL) gets its azimuth and elevation in
 * degrees, its distance in metres from the point that it looks at, and that point. NOT_FOUND: no such camera.
 * INVALID_ARGUMENT: a camera of the model, or another kind of name.
 */
STET_API stet_result stet_sim_place_camera(stet_sim *sim, int camera, const char *name, double placed[6]);

/*
 * Advances all worlds by nstep time steps; 0 does nothing. With STET_PHYSICS_EXTERNAL only time advances. Poses and
 * scene transforms are not updated, unless mechanism pose_sync is switched off: then they are, after each time step.
 *
 * With kernels in the step (below), a failure stops the step where it is. What ran before stays done, nothing later
 * runs, and the next call starts with BEFORE_PHYSICS. If the failing kernel is in a list, the kernels before it have
 * run, or none of the list if the list could not be built. External physics in the middle of a list advances time in
 * either case.
 */
STET_API stet_result stet_sim_step(stet_sim *sim, int nstep);
/*
 * The same, with physics only in the worlds whose byte in mask [nworld] is not 0 (NULL: all). The other worlds do not
 * change, nor does their time. Kernels in the step run over all worlds. An empty mask means no physics.
 */
STET_API stet_result stet_sim_step_worlds(stet_sim *sim, const uint8_t *mask, int nstep);

/*
 * stet_step_forward of the sim's step: what step quantities and step_sensordata say becomes what follows from the
 * present state, in the worlds of mask [nworld], or of mask_array (on the device); both NULL: in all.
 */
STET_API stet_result stet_sim_forward(stet_sim *sim, const uint8_t *mask, stet_array *mask_array);

/*
 * Lets a long step end early. During a stet_sim_step of more than one time step, stet calls `ask` between time steps,
 * in the caller's thread, about every 10 ms (less often only if one time step takes longer). If it returns true, the
 * call returns STET_ERROR_INTERRUPTED. All worlds have then made the same number of time steps
 * (stet_sim_get_steps_made), and kernels after the physics have not run. The sim remains usable: stepping on gives the
 * bits of an uninterrupted step. `ask` may call nothing of this sim but stet_sim_get_steps_made. `context` is passed to
 * `ask` and borrowed until another is set. NULL (the default): no interruption.
 */
typedef bool stet_interrupt_fn(void *context);
STET_API void stet_sim_set_interrupt(stet_sim *sim, stet_interrupt_fn *ask, void *context);
/* Time steps that the latest stet_sim_step made: all, or fewer after a failure or an interruption. */
STET_API int stet_sim_get_steps_made(const stet_sim *sim);

/* ---- the caller's kernels in a step ------------------------------------------------------------------------------ */

/*
 * When a kernel runs in stet_sim_step(sim, nstep). Each phase runs once per call for any nstep but 0. Within a phase,
 * kernels run in the order in which they were added.
 *
 *     BEFORE_PHYSICS   the policy: writes ctrl; or, with external physics, the poses
 *     (nstep time steps of physics)
 *     AFTER_PHYSICS    observation, reward, termination, length of the episode
 *     (the reset by mask, see stet_sim_set_reset)
 *     AFTER_RESET      initial values of worlds that were reset: the first observation, counters to 0
 */
typedef enum stet_phase {
    STET_PHASE_BEFORE_PHYSICS,
    STET_PHASE_AFTER_PHYSICS,
    STET_PHASE_AFTER_RESET,
    STET_PHASE_COUNT
} stet_phase;

/*
 * Adds a launch to each step. Kernel, count and args are as for stet_kernel_launch; they are checked now, and args are
 * copied. The kernel must have been created on stet_sim_get_device(sim). *id (may be NULL) is its number: 0, 1, 2 …,
 * never reused.
 *
 * Kernels without host work between them form one list, which is replayed when it comes again (mechanism
 * `graph_replay`). With native physics, or external physics and no reset by mask, the whole step is one list. These end
 * a list:
 *
 * - MuJoCo's physics
 * - a reset by mask, but with native physics, if no parameters are drawn (stet_worlds_randomize)
 * - a kernel that reads poses (xpos, xquat) after one that wrote qpos or mocap poses
 * - a kernel that reads scene transforms, unless another one of the list did and no kernel wrote poses since
 * - native physics, if only some worlds step, or if it may be interrupted
 * - native physics, before a kernel that takes `time`
 * - external physics, if a kernel before it reads or writes `time`
 * - any physics, if pose_sync is switched off
 *
 * The caller keeps the ownership of the kernel and the arrays, and should keep them alive while they are part of the
 * step. If one is destroyed, the next step returns STATE before anything runs, until the kernel is removed or gets
 * other arguments. They may be destroyed before or after the sim.
 */
STET_API stet_result stet_sim_add_kernel(stet_sim *sim, stet_phase phase, stet_kernel *kernel, int64_t count,
                                         const stet_arg *args, int narg, int *id);
/*
 * Changes the arguments from the next step on. Changed numbers do not rebuild a recording; changed arrays do. After an
 * error the old arguments apply. NOT_FOUND: no such number.
 */
STET_API stet_result stet_sim_set_kernel_args(stet_sim *sim, int id, const stet_arg *args, int narg);
STET_API stet_result stet_sim_remove_kernel(stet_sim *sim, int id); /* NOT_FOUND: no such number */
STET_API void stet_sim_clear_kernels(stet_sim *sim);                /* removes all kernels; the reset by mask stays */
/*
 * Sets the reset by mask: in each step after AFTER_PHYSICS, worlds whose mask is not 0 are reset as by
 * stet_worlds_reset with `def` (NULL: the default; the def's own mask must be NULL). Each write of the mask resets
 * worlds once: the mask is looked at only if it was written since, by native physics on the device. stet does not
 * change the mask, so it can be read after the step (`done`). `mask` is as stet_reset_def.mask_array; the caller owns
 * it (see stet_sim_add_kernel). NULL removes the reset.
 */
STET_API stet_result stet_sim_set_reset(stet_sim *sim, stet_array *mask, const stet_reset_def *def);

/* ---- putting worlds back ----------------------------------------------------------------------------------------- */

/* See stet_worlds_reset. Keyframe -2 is that of the initial state. */
STET_API stet_result stet_sim_reset(stet_sim *sim, const stet_reset_def *def);
/*
 * See stet_worlds_restore and stet_worlds_resume. Snapshots and files come from stet_snapshot_create and
 * stet_worlds_save.
 */
STET_API stet_result stet_sim_restore(stet_sim *sim, const stet_snapshot *snapshot);
STET_API stet_result stet_sim_resume(stet_sim *sim, const char *path);

/*
 * Sets the controls of all worlds to their hold position: those of the initial keyframe (0 where it has none, or
 * without a keyframe), clamped to the actuators' ranges. The caller's own controls go to the worlds' array `ctrl`.
 */
STET_API stet_result stet_sim_control_zero(stet_sim *sim);
/*
 * Sets the controls of all worlds to hold position + scale * half of the actuator's range * u, clamped to the range. An
 * actuator without a range has half 1 and is not clamped. u is in [-1, 1) and a function of (seed, global number of the
 * world, actuator, frame): a new random value every 25 frames, 0 at frame 0, and linear in between. scale and frame
 * must be at least 0.
 */
STET_API stet_result stet_sim_control_noise(stet_sim *sim, double scale, int64_t frame);
/*
 * Tables of the actuators for kernels that write controls: plain REAL arrays [max(nu, 1)] in the units of ctrl. "hold"
 * is the hold position, "half" half of the range (1 without a range), "low" and "high" the range (-inf and inf without
 * one). Borrowed until the sim is destroyed; do not write them. NOT_FOUND lists these names.
 */
STET_API stet_result stet_sim_get_control_table(stet_sim *sim, const char *name, stet_array **out);

/*
 * Starts a frame of all cameras and worlds. *frame (may be NULL) is its number; if nothing moved, it is the last
 * frame's. STATE: the sim has no outputs.
 */
STET_API stet_result stet_sim_render(stet_sim *sim, int64_t *frame);
/*
 * The same for the worlds whose byte in mask [nworld] is not 0 (NULL: all). The other worlds keep their pixels, even if
 * they have moved.
 */
STET_API stet_result stet_sim_render_worlds(stet_sim *sim, const uint8_t *mask, int64_t *frame);
/* Number of the latest frame; -1: there is none yet. */
STET_API int64_t stet_sim_get_latest_frame(const stet_sim *sim);

/*
 * Instead of a frame's number: LATEST is the present picture of all worlds. If anything moved since all were rendered,
 * those that moved are rendered first, in a new frame, also those that stet_sim_render_worlds left out. DRAWN is the
 * newest frame as it was drawn, whatever has moved since.
 */
enum { STET_FRAME_LATEST = -1, STET_FRAME_DRAWN = -2 };
/*
 * The tensor of a camera's output in a frame, [nworld][height][width][channels], on the device. Borrowed until
 * frames_in_flight further frames were started; it does not follow the worlds. STATE: the sim has no outputs, or, for
 * LATEST, launches are being listed. NOT_FOUND: no such frame, or no longer kept; no such camera; an output that the
 * sim does not have.
 */
STET_API stet_result stet_sim_get_array(stet_sim *sim, int64_t frame, int camera, stet_output output, stet_array **out);
/* The same, copied to the host; size must be its bytes. REAL is float, or double on a device with isa "f64". */
STET_API stet_result stet_sim_read(stet_sim *sim, int64_t frame, int camera, stet_output output, void *out,
                                   size_t size);
/* Bytes of one camera's output for stet_sim_read; 0: the sim does not have the output. */
STET_API size_t stet_sim_get_output_bytes(const stet_sim *sim, int camera, stet_output output);
/*
 * Hash of all outputs of a frame in canonical order: by camera, then by output in the order of stet_output, then by
 * world. It is equal for any number of threads, on every isa but "f64", and with any mechanism switched off.
 */
STET_API stet_result stet_sim_hash_frame(stet_sim *sim, int64_t frame, uint64_t *out);

/*
 * Seconds spent in calls of this sim since it was created or the timing was cleared, on the monotonic clock. With
 * pose_sync or hierarchy switched off, and in audit mode, poses and scene transforms have no time of their own: they
 * count for the reader that caused them.
 */
typedef struct stet_sim_timing {
    double control;   /* stet_sim_control_… */
    double step;      /* physics */
    double pose;      /* poses of bodies, before rendering */
    double hierarchy; /* scene transforms, before rendering */
    double render;    /* pixels */
    double extract;   /* extraction of tensors from the tiled frame */
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
