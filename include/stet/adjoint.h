/*
 * Gradients: the adjoint of a kernel, and tapes of launches that run backwards.
 *
 *     stet_tape_begin(tape);
 *     for (int i = 0; result == STET_OK && i < steps; ++i) {
 *         result = stet_tape_step(tape);
 *         if (result == STET_OK) result = launches();              // stet_kernel_launch, stet_array_copy
 *     }
 *     result = stet_tape_end(tape, result);
 *     stet_tape_gradient(tape, loss, &gradient);                    // write 1 into it
 *     result = stet_tape_backward(tape);                            // the gradients of all that the launches read are there now
 *
 * How adjoints are made, and what they cost, is in doc/design/adjoint.md.
 */
#ifndef STET_ADJOINT_H
#define STET_ADJOINT_H

#include "kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- one kernel --------------------------------------------------------------------------------------------------- */

/*
 * The adjoint of a kernel: what takes gradients of what the kernel wrote to gradients of what it read (reverse mode).
 * stet_kernel_def.constant names parameters that get no gradient. Made once a kernel and owned by it; borrowed.
 */
typedef struct stet_adjoint stet_adjoint;

/*
 * The adjoint of a kernel. Where select, rmin, rmax, a mask or a branch did not take a value, its gradient is 0, whatever the slope there is (infinite, no number). Pointers that
 * are assigned and arguments that may overlap are refused; doc/design/adjoint.md has all that is. UNSUPPORTED: something in it cannot be differentiated; the sentence
 * has file, line, column and what to do.
 */
STET_API stet_result stet_kernel_adjoint(stet_kernel *kernel, stet_adjoint **out);
/* The adjoint's source, in the kernel language; borrowed from the kernel. */
STET_API const char *stet_adjoint_source(const stet_adjoint *adjoint);
/* False where parameter i has no gradient: whole numbers, constants, masks. INVALID_ARGUMENT if there is no parameter i. */
STET_API stet_result stet_adjoint_has_gradient(const stet_adjoint *adjoint, int i, bool *out);
/*
 * Runs the adjoint. `args` as in the kernel's launch, arrays holding what they held before the kernel ran; `gradients` [narg], NULL where the
 * parameter has none. The gradient of an array of worlds is an array of worlds with as many items, REAL; that of a plain array, too: each world has
 * its own share of it (stet_adjoint_sum_worlds adds them up); that of a number is an array of worlds with one item. In an item kernel, whose items
 * are no worlds, the gradient of a plain array is a plain array of the same shape. What they hold before and after: doc/design/adjoint.md.
 * INVALID_ARGUMENT: one array in two places, and the kernel writes it.
 *
 * Stacks are sized from the data (mechanism `adstack`). LIMIT: a stack was too short, twice, or would be beyond the device's memory; the sentence
 * names kernel, loop, line, what it needed and had.
 */
STET_API stet_result stet_adjoint_launch(stet_adjoint *adjoint, int64_t count, const stet_arg *args,
                                         stet_array *const *gradients, int narg);
/* sum [items], plain = the shares of all worlds [nworld][items], added in an order that no width, team or device changes. */
STET_API stet_result stet_adjoint_sum_worlds(stet_array *sum, const stet_array *shares);

/* ---- tapes -------------------------------------------------------------------------------------------------------- */

typedef struct stet_tape stet_tape;

typedef struct stet_tape_def {
    uint32_t cookie; /* set by stet_default_tape_def */
    int64_t every;   /* steps between two checkpoints; 0: the square root of their number, as steps come in */
} stet_tape_def;

STET_API stet_tape_def stet_default_tape_def(void);

/* The caller owns *out and destroys it before the device. */
STET_API stet_result stet_tape_create(stet_device *device, const stet_tape_def *def, stet_tape **out);
/* NULL is fine. Its gradients go with it. */
STET_API void stet_tape_destroy(stet_tape *tape);
/*
 * From here to the end the launches of the device's kernels and stet_array_copy are taken down, and run as always. What a tape held before is
 * forgotten; its memory stays, and so do its gradients. STATE: another tape of this device is open.
 */
STET_API stet_result stet_tape_begin(stet_tape *tape);
/* A step begins here: checkpoints lie between steps. A sequence without steps is one step. Not while launches are listed (STATE). */
STET_API stet_result stet_tape_step(stet_tape *tape);
/*
 * `result` STET_OK: the tape is complete. Else it is empty and `result` is returned. Each begin that succeeded needs its end. UNSUPPORTED:
 * something was launched that cannot be differentiated, and writes what later launches read; a launch has one array in two places and writes it; a loop
 * of launches; the sentence names it. STATE: the host wrote, between two launches, what they read (put what varies by step into one array, and pass the
 * step), or may have, through a tensor; something that was launched did not run.
 */
STET_API stet_result stet_tape_end(stet_tape *tape, stet_result result);
/*
 * The array that holds the gradient with respect to `array`: of the same shape for an array of worlds; for a plain one [nworld][items], shares of the worlds.
 * Made at the first call, all 0; owned by the tape, and gone with the array. (A plain array that only item kernels touch has a plain one of its own shape.)
 * INVALID_ARGUMENT: not an array of REAL. STATE: of a plain array, before a tape that touches it has ended: nobody knows the worlds.
 */
STET_API stet_result stet_tape_gradient(stet_tape *tape, stet_array *array, stet_array **out);
/*
 * The gradient with respect to a number of a launch, by the parameter's name ("stiffness"): [nworld][1], over all launches of this kernel; of an item kernel plain, [1].
 * Owned by the tape, and gone with the kernel. NOT_FOUND: it has no such number. STATE: it is not on the tape.
 */
STET_API stet_result stet_tape_number_gradient(stet_tape *tape, stet_kernel *kernel, const char *parameter,
                                               stet_array **out);
/* All gradients become 0. */
STET_API stet_result stet_tape_zero(stet_tape *tape);
/*
 * Goes through the launches backwards: from gradients with respect to what the sequence left, as they are now, to gradients with respect to what it
 * began with. Arrays that the launches wrote hold the same afterwards as before. May be called again and again after one forward pass, and is a
 * recording then (mechanism `graph_replay`). STATE: nothing is on the tape; what it needs was written since, or destroyed: the sentence names the array. Other
 * failures: arrays are put back, gradients are not to be used (stet_tape_zero, and again).
 */
STET_API stet_result stet_tape_backward(stet_tape *tape);

/* What a tape holds. */
typedef struct stet_tape_info {
    int64_t steps, launches;    /* taken down */
    int64_t checkpoints, every; /* kept; steps from one to the next */
    int64_t checkpoint_bytes, undo_bytes, gradient_bytes;
    int64_t stack_bytes; /* of all adjoints of the device */
} stet_tape_info;
STET_API stet_tape_info stet_tape_get_info(const stet_tape *tape);

/* ---- checking ----------------------------------------------------------------------------------------------------- */

/* What a parameter is for a check; those that are not named get the usual. */
typedef struct stet_gradcheck_value {
    const char *name;
    int64_t number;       /* of a whole number its value */
    int64_t items;        /* of an array its size; 0: the usual */
    const int64_t *value; /* of an array of whole numbers: its content, `items` of them; NULL: the usual */
    double low, high;     /* of reals: from where to where they lie; equal: the usual */
} stet_gradcheck_value;

typedef struct stet_gradcheck_def {
    uint32_t cookie;    /* set by stet_default_gradcheck_def */
    const char *source; /* NULL: the file `path` */
    const char *path;   /* for messages, too */
    const char *const *includes;
    int ninclude;
    const char *kernel; /* NULL: all that the source has */
    const char *const *constant;
    int nconstant;
    const stet_gradcheck_value *value;
    int nvalue;
    int64_t number;   /* the usual value of whole numbers: 3 */
    int64_t items;    /* the usual size of arrays: 32 */
    int worlds;       /* 2; of an item kernel also its blocks */
    double low, high; /* the usual range of reals: 0.1 … 0.9 */
    double tolerance; /* of |difference| / (1 + |gradient|): 1e-5 */
    uint64_t seed;
    const char *cache_folder; /* of compiled kernels; NULL: the usual */
} stet_gradcheck_def;

STET_API stet_gradcheck_def stet_default_gradcheck_def(void);

typedef struct stet_gradcheck_result {
    int64_t compared, wrong; /* elements */
    int64_t moving;          /* of them: not 0 by differences */
    int64_t
        unfit; /* not compared: what is computed there is not finite, has a kink, or is too large, so differences say nothing */
    int64_t rounded; /* of them: too large, so a difference cannot be told from its rounding */
    double worst;    /* |difference| / (1 + |gradient|) */
    char where[160]; /* of the worst: "k_x: pos[7] of world 1: 0.25 by the adjoint, 0.5 by differences" */
} stet_gradcheck_result;

/*
 * Compares a kernel's gradients with central differences, in double, for random inputs. The function is L = sum over the arrays that the kernel writes of (a random weight) * (what it wrote); L of each world by
 * itself, of an item kernel one. A kernel k_x whose source has its k_x_adj is checked with that. An element beside a kink is compared with smaller steps. STET_OK also where
 * gradients are wrong: look at out->wrong and out->unfit. Other results: the source cannot be read, differentiated or compiled; a kernel reaches beyond its arrays.
 */
STET_API stet_result stet_gradcheck(const stet_gradcheck_def *def, stet_gradcheck_result *out);

#ifdef __cplusplus
}
#endif
#endif
