/* Physics: advances worlds by time steps. */
#ifndef STET_STEP_H
#define STET_STEP_H

#include "adjoint.h"
#include "worlds.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum stet_physics {
    /* NATIVE, if it covers the model, is on a CPU as fast by an estimate, and worlds have no exact data; else MUJOCO */
    STET_PHYSICS_AUTO,
    STET_PHYSICS_MUJOCO,   /* MuJoCo's mj_step, one call per world and time step, over the device's threads */
    STET_PHYSICS_EXTERNAL, /* the caller writes xpos and xquat; a step only advances time */
    STET_PHYSICS_NATIVE    /* MuJoCo's dynamics as a kernel, a lane or a team of threads per world; not every model */
} stet_physics;

typedef struct stet_step stet_step;
/*
 * The caller owns *out and destroys it before the worlds. MUJOCO needs worlds with exact data, NATIVE worlds without
 * (stet_worlds_def.exact). UNSUPPORTED: native physics lacks something that the model needs; the sentence lists it.
 */
STET_API stet_result stet_step_create(stet_worlds *worlds, stet_physics physics, stet_step **out);
STET_API void stet_step_destroy(stet_step *step);
STET_API stet_physics stet_step_get_physics(const stet_step *step); /* never AUTO */
/* Why it is this physics: "asked for", or why AUTO took it; borrowed from the step. */
STET_API const char *stet_step_get_reason(const stet_step *step);
STET_API const char *stet_physics_name(stet_physics physics);
/*
 * The i-th feature that the model needs of the physics, as words; NULL after the last. *covered (may be NULL): native
 * physics has it.
 */
STET_API const char *stet_native_get_feature(const stet_model *model, int i, bool *covered);
/*
 * Advances all worlds by nstep time steps, with the controls in `ctrl`. With native physics (and pose_sync switched on)
 * this is a launch, which may be part of a list (stet_record_begin) and of a graph that the caller captures. Other
 * calls of steps are not: STATE.
 */
STET_API stet_result stet_step_run(stet_step *step, int nstep);
/*
 * The same for the worlds whose byte in mask [nworld] is not 0 (NULL: all). The other worlds do not change, nor does
 * their time.
 */
STET_API stet_result stet_step_run_worlds(stet_step *step, const uint8_t *mask, int nstep);
/*
 * What follows from the present state, without a step (mj_forward): quantities of the step
 * (stet_worlds_get_step_quantity) and step_sensordata become those of the present state and inputs, in the worlds whose
 * byte in mask [nworld] is not 0, or whose number in mask_array is (stet_reset_def has both; both NULL: in all worlds).
 * The state does not change. With native physics it is one launch of forward dynamics for all of them, which may be
 * part of a list and of a captured graph. Quantities of the present state need no call. INVALID_ARGUMENT; UNSUPPORTED:
 * external physics.
 */
STET_API stet_result stet_step_forward(stet_step *step, const uint8_t *mask, stet_array *mask_array);
/*
 * Faults on the device, for kernels behind the step: int32 [world][1], bits of stet_fault that steps found since the
 * world's last reset; with NATIVE, since the host last asked, too (stet_worlds_get_faults, the time, a snapshot). Bits
 * from 1 << STET_FAULT_COUNT on are the physics' own. Only for reading; borrowed from the step. EXTERNAL: UNSUPPORTED.
 */
STET_API stet_result stet_step_get_faults(stet_step *step, stet_array **out);

/*
 * Derivatives of the next time step of each world at its present state and inputs, as MuJoCo's mjd_transitionFD has
 * them, but exact: A [nworld][n][n] and B [nworld][n][nu], n = 2 nv + na, in the order of positions (by small turns of
 * quaternions), velocities, activations. The worlds stay as they are. nA, nB: numbers that there is room for.
 * UNSUPPORTED: not native physics, no joints, or steps of the model have no gradients.
 */
STET_API stet_result stet_step_linearize(stet_step *step, double *A, int64_t nA, double *B, int64_t nB);
/*
 * Derivatives of sensordata at the present state and inputs, as mjd_transitionFD has them: C [nworld][nsensordata][n],
 * D [nworld][nsensordata][nu]. The row of a number that has no derivative is NaN (doc/gradients.md says which have
 * one).
 */
STET_API stet_result stet_step_linearize_sensors(stet_step *step, double *C, int64_t nC, double *D, int64_t nD);

/*
 * What gradients say where a contact or a limit begins. STEPS: what the derivatives of the steps as they were taken
 * say, nothing of the jump that velocities make there. SALTATION: what moves the time of touch moves that jump,
 * averaged over where in a time step it falls (doc/gradients.md). Backward passes from now on; UNSUPPORTED: SALTATION
 * with integrator RK4, or not native physics.
 */
typedef enum stet_touch { STET_TOUCH_STEPS, STET_TOUCH_SALTATION } stet_touch;
STET_API stet_result stet_step_set_touch(stet_step *step, stet_touch touch);
/* int32 [nworld][1]: contacts and limits that began, in backward passes since SALTATION was set. Borrowed. */
STET_API stet_result stet_step_get_touches(stet_step *step, stet_array **out);

/*
 * Tapes that begin from now on get gradients of time steps by these parameters of worlds (stet_worlds_set_parameter),
 * and by no others; n 0: by none. UNSUPPORTED: not native physics, or steps of the model have no gradients.
 */
STET_API stet_result stet_step_take_parameters(stet_step *step, const char *const *names, int n);
/*
 * After stet_tape_backward: out [nworld][items], gradients by a parameter of each world, at the values that it has,
 * through all that MuJoCo derives from it (by central differences in double, on the host). STATE: the parameter was not
 * named before the tape; UNSUPPORTED: it changes something by which steps have no gradient, which the message names.
 */
STET_API stet_result stet_step_get_parameter_gradient(stet_step *step, stet_tape *tape, const char *name, double *out,
                                                      int64_t nout);

#ifdef __cplusplus
}
#endif
#endif
