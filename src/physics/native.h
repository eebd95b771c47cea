/*
 * Native physics: MuJoCo's dynamics as one kernel a step. The arrays of the worlds are the state; worlds have no
 * mjData.
 *
 *   NATIVE-1  the result of a world depends on that world alone: not on lanes, threads, neighbours, or the number of
 *       time steps of a call
 *   NATIVE-2  a world whose state or acceleration is bad goes on as MuJoCo's data do: from qpos0, without inputs, also
 *       in the arrays
 *   NATIVE-3  a step needs nothing from the host: faults and time steps add up on the device, and are pulled when
 *       somebody asks for faults, time or the whole state
 *   NATIVE-4  a reset is one launch, whose mask may be an array on the device; numbers of resets are pulled with the
 *       faults
 *   NATIVE-5  room for contacts grows before a world needs all of it, where steps let it: what the most of all worlds
 *       was is read with the faults, and every few hundred calls. It decides how fast a step is
 *   NATIVE-6  on a GPU steps of many worlds run code for their model (model_code.h); until it is compiled, the code for
 *       all models runs, in the same memory and with the same bits, also after room or parameters changed the tables
 *   NATIVE-7  a time step may be launches of groups of its stages instead (stages.k.h), with the same bits. What they
 *       hand on is in memory of each world. It is there to be measured
 *   NATIVE-8  room decides nothing else: a world without it is held at the state before that time step, and a launch
 *       behind the call's, in the same list or capture, makes the steps that it owes, in memory with all the room that
 *       there can be. What follows a call sees no world that was held. A call that lacks memory has stepped no world.
 *       Only at the limit of room a world goes on with its deepest contacts, and gets the fault contacts_full
 *   NATIVE-9  once somebody has asked for a quantity of the step, a step keeps the state and the inputs before its last
 *       time step, and a forward the present ones: what such quantities are computed from when they are read. Of a
 *       world that was put back in that time step, as it went wrong, it is the state after it
 */
#ifndef STI_PHYSICS_NATIVE_H
#define STI_PHYSICS_NATIVE_H

#include "worlds/worlds.h"

typedef struct sti_native sti_native;

/* The caller owns *out and destroys it before the worlds. UNSUPPORTED: the model needs more than is covered; STATE. */
stet_result sti_native_create(stet_worlds *worlds, sti_native **out);
void sti_native_destroy(sti_native *native);
/* [world][1] Bits of faults that were not pulled (NATIVE-3); borrowed. */
stet_array *sti_native_faults(const sti_native *native);
/* n time steps of the worlds whose byte in mask is not 0 (NULL: all). */
stet_result sti_native_steps(sti_native *native, const uint8_t *mask, int n);

/*
 * What step quantities and step_sensordata say becomes what follows from the present state, in the worlds of mask, or
 * of mask_array (as stet_reset_def has them); both NULL: in all.
 */
stet_result sti_native_forward(sti_native *native, const uint8_t *mask, stet_array *mask_array);

/* The part of the first step that the host looks at: it would split a list. */
stet_result sti_native_prepare(sti_native *native);

/*
 * Which launches a time step is, from the next call on (NATIVE-7): "whole", a part of one for all steps of a call;
 * "single", the same kernel for it alone; "one", all stages, with memory of worlds; "three", smooth dynamics, contacts
 * with their rows, the rest; "apart", each stage. INVALID_ARGUMENT. New ones have what STET_STAGES says.
 */
stet_result sti_native_set_stages(sti_native *native, const char *stages);

/* Room for so many contacts, within the model's limits, from the next step on (NATIVE-5). */
stet_result sti_native_set_room(sti_native *native, int room);

/*
 * Derivatives of the next time step of each world at its present state, as mjd_transitionFD has them: A [nworld][n][n],
 * B [nworld][n][nu], n = 2 nv + na. UNSUPPORTED: the model's steps have none.
 */
stet_result sti_native_linearize(sti_native *native, double *A, double *B);
/* Do rows that begin count in gradients of steps? stet_step_set_touch, stet_step_get_touches (NULL: they do not). */
stet_result sti_native_set_touch(sti_native *native, bool touches);
stet_array *sti_native_touches(const sti_native *native);
/* As stet_step_linearize_sensors. */
stet_result sti_native_linearize_sensors(sti_native *native, double *C, double *D);

/*
 * From now on tapes get gradients of steps by these parameters (worlds/parameter.h), and only by these; count 0: by
 * none. NOT_FOUND; UNSUPPORTED: the model's steps have no gradients.
 */
stet_result sti_native_take_parameters(sti_native *native, const char *const *names, int count);
/*
 * What steps on a tape depend on for that: the tape's gradient of it is what the next function goes on from; or NULL.
 */
stet_array *sti_native_table_numbers(const sti_native *native);
/* out [nworld][items]: gradients by a parameter, from those of the numbers of tables. */
stet_result sti_native_parameter_gradient(sti_native *native, const char *name, stet_array *gradient, double *out);

/*
 * A quantity of the present state by MuJoCo's name, as an array [nworld][items] that the caller owns: forward dynamics
 * without a step. "qM" is sparse, as mjData.M. NOT_FOUND.
 */
stet_result sti_native_quantity(sti_native *native, const char *name, stet_array **out);

#endif
