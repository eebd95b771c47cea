/*
 * Tapes (stet/adjoint.h): what was launched between begin and end, and what it takes to go through it backwards. doc/design/tapes.md says why.
 *
 * Invariants:
 *   P1  what is on the tape has run, each operation once and in the order of the tape; else the tape is broken, and its end says so
 *   P2  what an array held when a step with a checkpoint began is in the latest of its copies that is of that step or of one before it
 *   P3  `expected` is the generation that an array has when all that was taken down has run: one beyond it was moved by somebody else
 *   P4  a backward pass makes what it needs before it changes anything; what the launches wrote is put back, also where it fails
 *   P5  numbers of arrays and kernels stay as they are until the next begin
 */
#ifndef STI_ADJOINT_PASS_H
#define STI_ADJOINT_PASS_H

#include "kernel/signature.h"
#include "kernel/witness.h"
#include "stet/adjoint.h"

/* Arrays that are made as they are needed, and stay. */
typedef struct sti_pass_pool {
    stet_array **array;
    int64_t n, room;
} sti_pass_pool;

/* What an array held when `step` began (P2). */
typedef struct sti_pass_copy {
    int64_t step;
    stet_array *copy;
} sti_pass_copy;

/* How the gradient of a plain array is held: by shares of this many worlds, or as a plain array; worked out at the end. */
enum { STI_SHARES_UNKNOWN = 0, STI_SHARES_NONE = -1 };

/* An array that something touched. */
typedef struct sti_pass_array {
    stet_array *array; /* NULL: it is gone */
    uint64_t id;
    char name[48];
    bool touched, written, dirty; /* by the tape; dirty: since its latest copy */
    bool asked;                   /* the caller has its gradient */
    uint64_t expected;            /* P3 */
    char other[80];               /* what else wrote it since begin, and has no adjoint; "": nothing */
    sti_pass_copy *copy;          /* with rising steps */
    int64_t ncopy, copy_room;
    sti_pass_pool spare;   /* copies that are free */
    sti_pass_pool undo;    /* what it held before launches of a segment */
    sti_pass_pool scratch; /* gradients of a launch that has it in several places; all 0 between two launches */
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
} sti_pass_array;

typedef struct sti_pass_param {
    char name[STI_MAX_NAME];
    bool array, written, worlds, real, graded;
    bool read;          /* of an array: the adjoint looks at what it held */
    stet_array *number; /* gradient of a number */
} sti_pass_param;

/* A kernel that was launched. */
typedef struct sti_pass_kernel {
    stet_kernel *kernel; /* NULL: it is gone */
    char name[STI_MAX_NAME];
    bool items;
    bool used, writes_reals; /* used: on this tape */
    int64_t count;           /* of its launches, that the gradients of numbers have */
    int nparam;
    sti_pass_param param[STI_MAX_PARAMS];
    stet_adjoint *adjoint; /* NULL: it writes no reals, or: */
    char why[256];         /* it cannot be differentiated */
} sti_pass_kernel;

typedef struct sti_pass_arg {
    stet_arg_kind kind;
    bool written;
    int array; /* -1: absent, or no array */
    int slot;  /* of what is written: where its old content goes (undo); -1: nobody needs it */
    union {
        int64_t i;
        double f;
    } value;
} sti_pass_arg;

typedef struct sti_pass_op {
    int kernel; /* -1: a copy, to and from */
    int narg;
    int64_t arg, count;
} sti_pass_op;

/* A step that began with a checkpoint: the segment from here to the next one is what is run again. */
typedef struct sti_pass_check {
    int64_t step, op;
} sti_pass_check;

struct stet_tape {
    sti_witness witness;
    sti_watcher watcher;
    stet_device *device;
    int64_t given; /* the def's every */
    bool open, complete, stepped;
    bool unclean;       /* a backward pass failed: scratch may not be 0 */
    bool listed;        /* a backward pass has a list open */
    stet_result broken; /* why there will be no tape */
    char why[512];
    int64_t step, every;
    sti_pass_array *array;
    int64_t narray, array_room;
    int *place; /* of arrays by identity: [nplace], a power of two; -1: free */
    int64_t nplace;
    sti_pass_kernel **kernel;
    int64_t nkernel, kernel_room;
    sti_pass_op *op;
    int64_t nop, op_room;
    sti_pass_arg *arg;
    int64_t narg, arg_room;
    sti_pass_check *check;
    int64_t ncheck, check_room;
};

/* ---- pass_table.c: arrays and kernels by number ---- */

/* Room for n items of a growing block. */
stet_result sti_pass_reserve(void *block, int64_t *room, int64_t n, size_t item);
stet_result sti_pass_find_array(stet_tape *t, const stet_array *array, int *out);
int sti_pass_known_array(const stet_tape *t, const stet_array *array); /* -1: it is not known */
stet_result sti_pass_find_kernel(stet_tape *t, const sti_kernel *kernel, int *out);
/* Something goes: what was made for it goes with it. */
void sti_pass_gone(sti_watcher *watcher, const void *thing);
/* Nothing is on the tape; records of what is gone are forgotten. */
void sti_pass_forget(stet_tape *t);
void sti_pass_free_tables(stet_tape *t);
/* An array of the pool's, the n-th; like `like`. */
stet_result sti_pass_pooled(sti_pass_pool *pool, int64_t n, const stet_array *like);

/* ---- pass_take.c: taking down ---- */

extern const sti_witness sti_pass_witness;
/* P1: keeps the first reason, which is the thread's message. */
void sti_pass_break(stet_tape *t, stet_result result);

/* ---- pass_copies.c: checkpoints ---- */

/* What an array holds before the tape writes it for the first time. */
stet_result sti_pass_first_copy(stet_tape *t, sti_pass_array *a);
/* A step begins. */
stet_result sti_pass_checkpoint(stet_tape *t);
/* What an array held at the beginning of the segment of a checkpoint. */
const stet_array *sti_pass_copy_at(const sti_pass_array *a, int64_t step);

/* ---- pass_end.c: whether it can be differentiated, and how ---- */

stet_result sti_pass_finish(stet_tape *t);

/* ---- pass_reads.c ---- */

/* Fills `read` of the parameters of a kernel that has an adjoint. */
void sti_pass_find_reads(sti_pass_kernel *k);

/* ---- pass_gradient.c ---- */

stet_result sti_pass_make_gradient(stet_tape *t, sti_pass_array *a);
stet_result sti_pass_make_number(stet_tape *t, sti_pass_kernel *k, sti_pass_param *p);
/* sum += part, part = 0. */
stet_result sti_pass_add(stet_array *sum, stet_array *part);
stet_result sti_pass_clear(stet_array *a);

/* Elements of a plain gradient that a block of a launch has: as in pass.k.h. */
enum { STI_PASS_BLOCK = 256 };

static inline bool sti_pass_real(const sti_pass_array *a)
{
    return a->array && stet_array_dtype(a->array) == STET_REAL;
}
/* Do its gradients go through an adjoint? */
static inline bool sti_pass_differs(const stet_tape *t, const sti_pass_op *op)
{
    return op->kernel >= 0 && t->kernel[op->kernel]->adjoint;
}

#endif
