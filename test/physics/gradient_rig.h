/*
 * Gradients of time steps held against central differences: one world for each number that is moved up or down.
 *
 * A number is set aside as a kink where the differences upwards and downwards are not the same: a row, a clamp or a
 * contact begins or ends between them. The error of a gradient is its difference to the central one, divided by the
 * sizes of what that sums up, or by the greatest gradient by a number of the same array, if that is more.
 */
#ifndef TEST_PHYSICS_GRADIENT_RIG_H
#define TEST_PHYSICS_GRADIENT_RIG_H

#include "worlds/rig.h"

#include "physics/native_pull.h"
#include "physics/native.h"

/* Of rig_wave, with which gradient_collect weighs qpos after a step. */
enum { GRADIENT_LOSSES = 2, GRADIENT_FIELDS = 8 };

/* What was compared so far. */
typedef struct gradient_errors {
    int models, refused, compared, kinks, wrong;
    double worst, limit;
    char where[96];
} gradient_errors;

typedef struct gradient_rig {
    rig r;
    sti_native *native;
    int ncolumn;  /* numbers of the state and the inputs */
    double *base; /* [ncolumn]: theirs before the step */
    double *warm; /* [nv]: where the solver begins */
    stet_array *before[10], *gradient[8], *stepped;
} gradient_rig;

/* A draw of a state and its inputs: qpos is up to `size` from qpos0. */
typedef struct gradient_draw {
    double size, speed;
    int settle; /* steps before the one that is looked at */
    bool pushed;
} gradient_draw;

/* false: steps of this model have no gradient; why is the last error. */
bool gradient_open(const char *scene, const char *isa, int64_t nworld, gradient_rig *g);
void gradient_close(gradient_rig *g);
/* The same state in all worlds. */
void gradient_state(gradient_rig *g, const gradient_draw *draw, uint64_t *dice);
/* Compares all gradients of one step from the state. */
void gradient_compare(gradient_rig *g, const char *name, uint64_t *dice, gradient_errors *errors);
/*
 * The same of parameters that are not 0, in the layout that steps read: `numbers`, the last one 0. A world or more.
 */
void gradient_compare_parameters(gradient_rig *g, const int *numbers, const char *name, uint64_t *dice,
                                 gradient_errors *errors);
/*
 * The gradient by item `item` of a parameter that is 0 in the model `none`, against the model `some`, where it is `by`.
 */
void gradient_check_zero(const char *name, const char *none, const char *some, double by, int number, int item,
                         uint64_t *dice, gradient_errors *errors);
/*
 * Row w of out [nworld][ncolumn]: the gradients of number w of the state after a step, of a rig with as many worlds as
 * there are such numbers.
 */
void gradient_rows(gradient_rig *g, double *out);
/*
 * All gradients of each world, [nworld][ncolumn], after a step from a state of its own: the rig's world i is number
 * first + i.
 */
void gradient_collect(gradient_rig *g, const gradient_draw *draw, int64_t first, double *out);
/* All of it for a model: `rounds` states. */
void gradient_check(const char *name, const char *scene, const gradient_draw *draw, int rounds, uint64_t *dice,
                    gradient_errors *errors);
void gradient_print(const gradient_errors *errors, const char *what);
/*
 * Fails where something is wrong, or more than so many of a hundred are kinks. In models that hold themselves with more
 * rows than they have dofs the rounding of stiff rows looks like kinks, too.
 */
void gradient_limit(const gradient_errors *errors, int kinks, const char *what);

#endif
