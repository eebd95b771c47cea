/*
 * Tapes (stet/adjoint.h): what was launched between begin and end, and what it takes to go through it backwards. doc/design/tapes.md says why.
 *
 * Invariants:
 *   TAPE-1  what is on the tape has run, each operation once and in the order of the tape; else the tape is broken, and its end says so
 *   TAPE-2  what an array held when a step with a checkpoint began is in the latest of its copies that is of that step or of one before it
 *   TAPE-3  `expected` is the generation that an array has when all that was taken down has run: one beyond it was moved by somebody else
 *   TAPE-4  a backward pass makes what it needs before it changes anything; what the launches wrote is put back, also where it fails
 *   TAPE-5  numbers of arrays and kernels stay as they are until the next begin
 */
#ifndef STI_ADJOINT_TAPE_TAPE_H
#define STI_ADJOINT_TAPE_TAPE_H

#include "kernel/launch/signature.h"
#include "kernel/launch/launch_observer.h"
#include "stet/adjoint.h"

/* Arrays that are made as they are needed, and stay. */
typedef struct sti_tape_pool {
    stet_array **array;
    int64_t n, room;
} sti_tape_pool;

/* What an array held when `step` began (TAPE-2). */
typedef struct sti_tape_copy {
    int64_t step;
    stet_array *copy;
} sti_tape_copy;

/* How the gradient of a plain array is held: by shares of this many worlds, or as a plain array; worked out at the end. */
enum { STI_SHARES_UNKNOWN = 0, STI_SHARES_NONE = -1 };

/* An array that something touched. */
typedef struct sti_tape_array {
    stet_array *array; /* NULL: it is gone */
    uint64_t id;
    char name[48];
    bool touched, written, dirty; /* by the tape; dirty: since its latest copy */
    bool asked;                   /* the caller has its gradient */
    uint64_t expected;            /* TAPE-3 */
    char other[80];               /* what else wrote it since begin, and has no adjoint; "": nothing */
    sti_tape_copy *copy;          /* with rising steps */
    int64_t ncopy, copy_room;
    sti_tape_pool spare;   /* copies that are free */
    sti_tape_pool undo;    /* what it held before launches of a segment */
    sti_tape_pool scratch; /* gradients of a launch that has it in several places; all 0 between two launches */
    stet_array *final;     /* what it holds, while a pass goes backwards */
    int64_t shares;
    stet_array *gradient;
    int blocked;    /* the kernel without an adjoint that wrote it last; -1: none */
    int64_t undone; /* most of its old contents that a segment needs */
    /* while a segment is planned, or gone through */
    bool needed;
    int64_t slots;
    stet_array *holder; /* of its content as it was here */
    int seen;           /* places in the present launch */
} sti_tape_array;

typedef struct sti_tape_param {
    char name[STI_MAX_NAME];
    bool array, written, worlds, real, graded;
    bool read;          /* of an array: the adjoint looks at what it held */
    stet_array *number; /* gradient of a number */
} sti_tape_param;

/* A kernel that was launched. */
typedef struct sti_tape_kernel {
    stet_kernel *kernel; /* NULL: it is gone */
    char name[STI_MAX_NAME];
    bool items;
    bool used, writes_reals; /* used: on this tape */
    int64_t count;           /* of its launches, that the gradients of numbers have */
    int nparam;
    sti_tape_param param[STI_MAX_PARAMS];
    stet_adjoint *adjoint; /* NULL: it writes no reals, or: */
    char why[256];         /* it cannot be differentiated */
} sti_tape_kernel;

typedef struct sti_tape_arg {
    stet_arg_kind kind;
    bool written;
    int array; /* -1: absent, or no array */
    int slot;  /* of what is written: where its old content goes (undo); -1: nobody needs it */
    union {
        int64_t i;
        double f;
    } value;
} sti_tape_arg;

typedef struct sti_tape_op {
    int kernel; /* -1: a copy, to and from */
    int narg;
    int64_t arg, count;
} sti_tape_op;

/* A step that began with a checkpoint: the segment from here to the next one is what is run again. */
typedef struct sti_tape_check {
    int64_t step, op;
} sti_tape_check;

struct stet_tape {
    sti_launch_observer launch_observer;
    sti_watcher watcher;
    stet_device *device;
    int64_t given; /* the def's every */
    bool open, complete, stepped;
    bool unclean;       /* a backward pass failed: scratch may not be 0 */
    bool listed;        /* a backward pass has a list open */
    stet_result broken; /* why there will be no tape */
    char why[512];
    int64_t step, every;
    sti_tape_array *array;
    int64_t narray, array_room;
    int *place; /* of arrays by identity: [nplace], a power of two; -1: free */
    int64_t nplace;
    sti_tape_kernel **kernel;
    int64_t nkernel, kernel_room;
    sti_tape_op *op;
    int64_t nop, op_room;
    sti_tape_arg *arg;
    int64_t narg, arg_room;
    sti_tape_check *check;
    int64_t ncheck, check_room;
};

/* ---- tape_table.c: arrays and kernels by number ---- */

/* Room for n items of a growing block. */
stet_result sti_tape_reserve(void *block, int64_t *room, int64_t n, size_t item);
stet_result sti_tape_find_array(stet_tape *t, const stet_array *array, int *out);
int sti_tape_known_array(const stet_tape *t, const stet_array *array); /* -1: it is not known */
stet_result sti_tape_find_kernel(stet_tape *t, const sti_kernel *kernel, int *out);
/* Something goes: what was made for it goes with it. */
void sti_tape_gone(sti_watcher *watcher, const void *thing);
/* Nothing is on the tape; records of what is gone are forgotten. */
void sti_tape_forget(stet_tape *t);
void sti_tape_free_tables(stet_tape *t);
/* An array of the pool's, the n-th; like `like`. */
stet_result sti_tape_pooled(sti_tape_pool *pool, int64_t n, const stet_array *like);

/* ---- tape_record.c: taking down ---- */

extern const sti_launch_observer sti_tape_observer;
/* TAPE-1: keeps the first reason, which is the thread's message. */
void sti_tape_break(stet_tape *t, stet_result result);

/* ---- tape_checkpoints.c: checkpoints ---- */

/* What an array holds before the tape writes it for the first time. */
stet_result sti_tape_first_copy(stet_tape *t, sti_tape_array *a);
/* A step begins. */
stet_result sti_tape_checkpoint(stet_tape *t);
/* What an array held at the beginning of the segment of a checkpoint. */
const stet_array *sti_tape_copy_at(const sti_tape_array *a, int64_t step);

/* ---- tape_end.c: whether it can be differentiated, and how ---- */

stet_result sti_tape_finish(stet_tape *t);

/* ---- tape_reads.c ---- */

/* Fills `read` of the parameters of a kernel that has an adjoint. */
void sti_tape_find_reads(sti_tape_kernel *k);

/* ---- tape_gradient.c ---- */

stet_result sti_tape_make_gradient(stet_tape *t, sti_tape_array *a);
stet_result sti_tape_make_number(stet_tape *t, sti_tape_kernel *k, sti_tape_param *p);
/* sum += part, part = 0. */
stet_result sti_tape_add(stet_array *sum, stet_array *part);
stet_result sti_tape_clear(stet_array *a);

/* Elements of a plain gradient that a block of a launch has: as in tape.k.h. */
enum { STI_TAPE_BLOCK = 256 };

static inline bool sti_tape_real(const sti_tape_array *a)
{
    return a->array && stet_array_dtype(a->array) == STET_REAL;
}
/* Do its gradients go through an adjoint? */
static inline bool sti_tape_differs(const stet_tape *t, const sti_tape_op *op)
{
    return op->kernel >= 0 && t->kernel[op->kernel]->adjoint;
}

#endif
