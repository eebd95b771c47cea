/*
 * Gradients: adjoints of kernels, and tapes of launches that run backwards.
 *
 *     stet_tape_begin(tape);
 *     for (int i = 0; result == STET_OK && i < steps; ++i) {
 *         result = stet_tape_step(tape);
 *         if (result == STET_OK) result = launches();              // stet_kernel_launch, stet_array_copy
 *     }
 *     result = stet_tape_end(tape, result);
 *     stet_tape_get_gradient(tape, loss, &gradient);                    // write 1 into it
 *     result = stet_tape_backward(tape);                            // now all gradients are there
 *
 * doc/design/adjoint.md says how adjoints are made and what they cost.
 */
#ifndef STET_ADJOINT_H
#define STET_ADJOINT_H

#include "kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- one kernel -------------------------------------------------------------------------------------------------- */

/*
 * The adjoint of a kernel (reverse mode). It turns gradients of what the kernel wrote into gradients of what the kernel
 * read. stet_kernel_def.constant names parameters that get no gradient. It is made once per kernel; the kernel owns it.
 */
typedef struct stet_adjoint stet_adjoint;

/*
 * Gets the adjoint of a kernel; *out is borrowed from the kernel. A value that select, rmin, rmax, a mask or a branch
 * did not choose gets the gradient 0, even where its slope is infinite or NaN. Assigned pointers and arguments that may
 * overlap are refused; doc/design/adjoint.md lists everything that is. UNSUPPORTED: something in the kernel cannot be
 * differentiated; the message has file, line, column and what to do.
 */
STET_API stet_result stet_kernel_get_adjoint(stet_kernel *kernel, stet_adjoint **out);
/* The source of the adjoint in the kernel language; borrowed from the kernel. */
STET_API const char *stet_adjoint_get_source(const stet_adjoint *adjoint);
/*
 * Sets *out to false if parameter i has no gradient: an integer, a constant, a mask. INVALID_ARGUMENT: there is no
 * parameter i.
 */
STET_API stet_result stet_adjoint_has_gradient(const stet_adjoint *adjoint, int i, bool *out);
/*
 * Runs the adjoint. `args` are those of the kernel's launch, with arrays that hold what they held before the kernel
 * ran. `gradients` has narg entries; an entry is NULL where the parameter has no gradient. Shapes of gradients:
 *
 *     world kernel, array of worlds   REAL array of worlds with as many items
 *     world kernel, plain array       REAL array of worlds, one share per world (stet_adjoint_sum_worlds adds them)
 *     world kernel, number            REAL array of worlds with one item
 *     item kernel, plain array        REAL plain array of the same shape
 *
 * doc/design/adjoint.md says what the gradients hold before and after. INVALID_ARGUMENT: one array is passed in two
 * places, and the kernel writes it. UNSUPPORTED: the source brings the adjoint, which reads what the kernel left
 * (doc/kernels.md); that is known on a tape only.
 *
 * Stack sizes are computed from the data (mechanism `adstack`). LIMIT: a stack overflowed twice, or would not fit into
 * the device's memory; the message names kernel, loop, line, and the sizes that it needed and had. In a list, in a
 * capture and where nothing outside of stet is known to write, it is the next read of the host that fails so; on the
 * device the gradients are NaN until then.
 */
STET_API stet_result stet_adjoint_launch(stet_adjoint *adjoint, int64_t count, const stet_arg *args,
                                         stet_array *const *gradients, int narg);
/*
 * sum [items], a plain array = the shares of all worlds [nworld][items], added in an order that does not depend on lane
 * width, team size or device.
 */
STET_API stet_result stet_adjoint_sum_worlds(stet_array *sum, const stet_array *shares);

/* ---- tapes ------------------------------------------------------------------------------------------------------- */

typedef struct stet_tape stet_tape;

typedef struct stet_tape_def {
    uint32_t cookie; /* set by stet_default_tape_def */
    int64_t every;   /* steps from one checkpoint to the next; 0: about the square root of the number of steps, */
    int64_t memory;  /* or fewer with native physics: as few as this many bytes of checkpoints allow; default 1 GiB */
} stet_tape_def;

STET_API stet_tape_def stet_default_tape_def(void);

/* The caller owns *out and destroys it before the device. */
STET_API stet_result stet_tape_create(stet_device *device, const stet_tape_def *def, stet_tape **out);
/* NULL is fine. Its gradients go with it. */
STET_API void stet_tape_destroy(stet_tape *tape);
/*
 * Starts a tape. Launches of the device's kernels, stet_array_copy, and time steps and resets of native physics run as
 * always and are recorded until stet_tape_end (doc/gradients.md). The tape's former content is dropped; its memory and
 * its gradients stay. STATE: another tape of this device is open.
 */
STET_API stet_result stet_tape_begin(stet_tape *tape);
/*
 * Begins a step; checkpoints lie between steps. A sequence without steps counts as one step. STATE: launches are being
 * listed.
 */
STET_API stet_result stet_tape_step(stet_tape *tape);
/*
 * Ends a tape. Each successful begin needs its end. With `result` STET_OK the tape is complete; otherwise it is emptied
 * and `result` is returned. UNSUPPORTED names the launch: a later launch reads what a launch without an adjoint wrote;
 * a launch that writes an array has it in two places; there is a loop of launches. STATE: between two launches the host
 * wrote what they read, or may have written it through a tensor; or a recorded launch did not run. To vary a value by
 * step, put all values into one array and pass the step.
 */
STET_API stet_result stet_tape_end(stet_tape *tape, stet_result result);
/*
 * The gradient with respect to `array`: of the same shape for an array of worlds; [nworld][items] for a plain array,
 * one share per world. A plain array that only item kernels touch has a plain gradient of its own shape. The first call
 * makes the gradient and fills it with 0. The tape owns it; it is destroyed with the array. INVALID_ARGUMENT: not an
 * array of REAL. STATE: a plain array that no ended tape has touched, so that the number of worlds is unknown.
 */
STET_API stet_result stet_tape_get_gradient(stet_tape *tape, stet_array *array, stet_array **out);
/*
 * The gradient with respect to a number of a kernel, by the parameter's name ("stiffness"), summed over all its
 * launches: [nworld][1], or a plain [1] for an item kernel. The tape owns it; it is destroyed with the kernel.
 * NOT_FOUND: the kernel has no such number. STATE: the kernel is not on the tape.
 */
STET_API stet_result stet_tape_get_number_gradient(stet_tape *tape, stet_kernel *kernel, const char *parameter,
                                                   stet_array **out);
/* Sets all gradients to 0. */
STET_API stet_result stet_tape_zero(stet_tape *tape);
/*
 * Runs the launches backwards: turns gradients with respect to the final values into gradients with respect to the
 * initial values. Arrays that the launches wrote have the same content afterwards. It may be called several times after
 * one forward pass; it is then replayed as a recording (mechanism `graph_replay`). STATE: the tape is empty, or an
 * array that it needs was written or destroyed since; the message names the array. After any other failure arrays are
 * restored, and gradients are invalid: call stet_tape_zero and start again.
 */
STET_API stet_result stet_tape_backward(stet_tape *tape);

/* What a tape holds. */
typedef struct stet_tape_info {
    int64_t steps, launches;    /* that were recorded */
    int64_t checkpoints, every; /* checkpoints that are kept; steps from one to the next */
    int64_t checkpoint_bytes, undo_bytes, gradient_bytes;
    int64_t stack_bytes; /* memory of all adjoint stacks of the device */
} stet_tape_info;
STET_API stet_tape_info stet_tape_get_info(const stet_tape *tape);

/* ---- checking ---------------------------------------------------------------------------------------------------- */

/* A parameter's value in a gradient check. Parameters without an entry use the defaults of the def. */
typedef struct stet_gradcheck_value {
    const char *name;
    int64_t number;       /* value of an integer */
    int64_t nitem;        /* size of an array; 0: the default */
    const int64_t *value; /* content of an integer array, `nitem` values; NULL: the default */
    double low, high;     /* range of reals; equal values: the default */
} stet_gradcheck_value;

typedef struct stet_gradcheck_def {
    uint32_t cookie;    /* set by stet_default_gradcheck_def */
    const char *source; /* text; NULL: read the file `path` */
    const char *path;   /* the file; also its name in messages */
    const char *const *includes;
    int ninclude;
    const char *kernel; /* NULL: all kernels of the source */
    const char *const *constant;
    int nconstant;
    const stet_gradcheck_value *value;
    int nvalue;
    int64_t number;   /* default value of integers: 3 */
    int64_t nitem;    /* default size of arrays: 32 */
    int nworld;       /* number of worlds, or of blocks of an item kernel: 2 */
    double low, high; /* default range of reals: 0.1 … 0.9 */
    double tolerance; /* largest |difference| / (1 + |gradient|) that passes: 1e-5 */
    uint64_t seed;
    const char *cache_folder; /* disk cache of compiled kernels; NULL: the default folder */
} stet_gradcheck_def;

STET_API stet_gradcheck_def stet_default_gradcheck_def(void);

typedef struct stet_gradcheck_result {
    int64_t compared, wrong; /* numbers of elements */
    int64_t moving;          /* of the compared: not 0 by differences */
    /* not compared: the result there is not finite, has a kink, or is too large or changes too fast for differences */
    int64_t unfit;
    int64_t rounded; /* of the unfit: so large that a difference cannot be told from rounding */
    /* of the unfit: differences do not converge to an accuracy that could tell (a jump, a fast change, rounding) */
    int64_t undecided;
    double worst;    /* |difference| / (1 + |gradient|) */
    char where[160]; /* place of the worst: "k_x: pos[7] of world 1: 0.25 by the adjoint, 0.5 by differences" */
} stet_gradcheck_result;

/*
 * Compares a kernel's gradients with central differences in double, for random inputs. The function is L = sum over the
 * arrays that the kernel writes of (random weight) * (written value): one L per world for a world kernel, one in all
 * for an item kernel. If the source of a kernel k_x contains k_x_adj, that adjoint is checked. Smaller steps are used
 * next to a kink. The result is STET_OK even where gradients are wrong: read out->wrong and out->unfit. Other results:
 * the source cannot be read, differentiated or compiled, or a kernel goes out of the bounds of its arrays.
 */
STET_API stet_result stet_gradcheck(const stet_gradcheck_def *def, stet_gradcheck_result *out);

#ifdef __cplusplus
}
#endif
#endif
