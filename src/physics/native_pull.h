/*
 * Gradients through time steps of native physics: k_native_pull (pull.k.h), which models have them, and what it is
 * launched with. Why it is done so: doc/design/gradients.md.
 */
#ifndef STI_PHYSICS_GRADIENT_PULL_H
#define STI_PHYSICS_GRADIENT_PULL_H

#include "physics/native.h"

#include <stdbool.h>

/* Arrays of worlds as they were before a time step, and the acceleration that it found (qacc_warmstart after it). */
typedef struct sti_native_before {
    stet_array *qpos, *qvel, *act, *ctrl, *qfrc_applied, *xfrc_applied, *mocap_pos, *mocap_quat, *eq_active, *qacc;
} sti_native_before;

/* Of the state: gradients of that after the step become those of that before it. To the others the step's is added. */
typedef struct sti_native_gradients {
    stet_array *qpos, *qvel, *act, *ctrl, *qfrc_applied, *xfrc_applied, *mocap_pos, *mocap_quat;
} sti_native_gradients;

/*
 * Parameters whose gradients are asked for: tables of layout.k.h (M_DOF_DAMPING …), in the layout that steps read them
 * in. What MuJoCo derives from a parameter (inverse weights, what blocks of constraints are made of) is a number of its
 * own here. Of a table that this does not know (sti_gradient_has_parameter) the gradient stays as it is.
 */
typedef struct sti_native_wanted {
    stet_array *places;   /* [PH_MEMORY_FIRST - PH_PARAMETER_FIRST], ints */
    stet_array *gradient; /* [nworld][numbers of all of them]: the step's are added */
    int *begin;           /* where the table of each number asked for begins there, and behind them the end */
    int n;
} sti_native_wanted;

/* The caller frees it, also after an error. */
stet_result sti_native_want(sti_native *n, const int *numbers, int count, sti_native_wanted *out);
void sti_native_wanted_free(sti_native_wanted *wanted);
/* Has a step the gradient of this table? */
bool sti_gradient_has_parameter(int number);

/*
 * A gradient is that of a solver that has converged. Where the model ends it early (sti_physics_ends_early), all steps
 * from this call on have the iterations that it needs, which a warning says.
 */
stet_result sti_native_converge(sti_native *native);
/* Memory and code for sti_native_pull, which can be listed then. */
stet_result sti_native_prepare_pull(sti_native *native);
/*
 * Gradients of one time step of the worlds whose number in `stepped` [nworld][1] is not 0; wanted: NULL, or parameters,
 * too.
 */
stet_result sti_native_pull(sti_native *native, stet_array *stepped, const sti_native_before *before,
                            const sti_native_gradients *gradients, const sti_native_wanted *wanted);
/*
 * Gradients of a list of what was read of the state `before` (or of its poses) are added. grad [nworld][items]: of the
 * list's numbers; due [nworld][1]: of these worlds; solves: some of it depends on accelerations. All is prepared.
 */
stet_result sti_native_pull_reads(const sti_native *native, stet_array *due, stet_array *list, int nlist,
                                  const sti_native_before *before, stet_array *grad,
                                  const sti_native_gradients *gradients, bool solves);
/* Memory and code for that; also for models whose steps have no gradient. */
stet_result sti_native_prepare_pull_reads(sti_native *native);
/* sti_native_pull for `count` worlds of arrays of others, with parameters v of theirs, or NULL. All is prepared. */
stet_result sti_native_pull_spread(const sti_native *native, int64_t count, stet_array *v, stet_array *stepped,
                                   const sti_native_before *before, const sti_native_gradients *gradients);
/* sti_native_pull_reads of one quantity for `count` worlds of arrays of others, as sti_native_pull_spread. */
stet_result sti_native_pull_reads_spread(const sti_native *native, int64_t count, stet_array *v, stet_array *due,
                                         stet_array *list, const sti_native_before *before, stet_array *grad,
                                         const sti_native_gradients *gradients, bool solves);
/* Has some sensor with a gradient one by accelerations or forces? */
bool sti_sensors_solve(const mjModel *model);
void sti_native_pull_free(sti_native *native);

enum { STI_GRADIENT_LACKS_SIZE = 2048 };
/* Writes what of a model's steps has no gradient, "noslip iterations, fluid forces", cut at `size`; false: nothing. */
bool sti_gradient_lacks(const mjModel *model, char *text, size_t size);
/* UNSUPPORTED with all of that, if there is something. */
stet_result sti_gradient_check_model(const mjModel *model);

#endif
