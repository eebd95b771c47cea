/*
 * Tapes (stet/adjoint.h): the launches between begin and end, and what is needed to run them backwards.
 * doc/design/tapes.md gives the reasons.
 *
 * Invariants:
 *   TAPE-1  every operation on the tape has run, once and in the order of the tape. Otherwise the tape is broken, and
 *       its end reports it
 *   TAPE-2  the content that an array had at the beginning of a step with a checkpoint is in its latest copy of that
 *       step or of an earlier one
 *   TAPE-3  `expected` is the generation that an array has after all recorded operations have run. A higher one means
 *       that something else wrote the array
 *   TAPE-4  a backward pass allocates everything before it changes anything. The arrays that the launches wrote are
 *       restored, also after a failure
 *   TAPE-5  the numbers of arrays and kernels do not change until the next begin
 */
#ifndef STI_ADJOINT_TAPE_TAPE_H
#define STI_ADJOINT_TAPE_TAPE_H

#include "kernel/signature.h"
#include "kernel/record/launch_observer.h"
#include "stet/adjoint.h"

/* Arrays that are made when needed and reused. */
typedef struct sti_tape_pool {
    stet_array **array;
    int64_t n, room;
} sti_tape_pool;

/* The content of an array at the beginning of `step` (TAPE-2). */
typedef struct sti_tape_copy {
    int64_t step;
    stet_array *copy;
} sti_tape_copy;

/* How the gradient of a plain array is held: as shares of this many worlds, or as a plain array. Decided at the end. */
enum { STI_SHARES_UNKNOWN = 0, STI_SHARES_NONE = -1 };

/* An array that an operation touched. */
typedef struct sti_tape_array {
    stet_array *array; /* NULL: destroyed */
    uint64_t id;
    char name[48];
    bool touched, written, dirty; /* by the tape; dirty: since its latest copy */
    bool asked;                   /* the caller requested its gradient */
    bool behind;                  /* of what is computed when it is read: it was, since the tape ended */
    bool stands;                  /* before a backward pass: it holds what the tape left */
    uint64_t expected;            /* TAPE-3 */
    char other[80];               /* another writer since begin that has no adjoint; "": none */
    sti_tape_copy *copy;          /* ordered by step */
    int64_t ncopy, copy_room;
    sti_tape_pool spare;   /* copies that are free */
    sti_tape_pool undo;    /* its contents before the launches of a segment */
    sti_tape_pool scratch; /* gradients for a launch that has it at several places; all 0 between two launches */
    stet_array *final;     /* its content at the end, during a backward pass */
    stet_array *ahead;     /* its content at the end of a segment whose last writer is not run again */
    int64_t shares;
    stet_array *gradient;
    int blocked;    /* the kernel without an adjoint that wrote it last; -1: none */
    int64_t undone; /* the most old contents that a segment needs */
    bool foreseen;  /* a segment needs its content from the next checkpoint */
    /* while a segment is planned or run */
    bool needed;
    int64_t slots;
    stet_array *holder;                                             /* holds its content of this point */
    int seen;                                                       /* places in the current launch */
    enum { STI_TAPE_LEFT, STI_TAPE_WRITTEN, STI_TAPE_SAVED } later; /* what later launches of a segment do with it */
} sti_tape_array;

typedef struct sti_tape_param {
    char name[STI_MAX_NAME];
    bool array, written, worlds, real, graded;
    bool read;          /* of an array: the adjoint reads its content */
    bool result;        /* and what the launch left in it */
    stet_array *number; /* the gradient of a number */
} sti_tape_param;

/* A kernel that was launched, or an operation of the library. */
typedef struct sti_tape_kernel {
    stet_kernel *kernel;            /* NULL: destroyed, or an operation */
    const sti_operation *operation; /* NULL: destroyed, or a kernel */
    char name[STI_MAX_NAME];
    bool items;
    bool used, writes_reals; /* `used`: on this tape */
    int64_t latest;          /* of an operation: 1 + the latest step that has it; 0: none */
    int64_t count;           /* of its launches, for the gradients of numbers */
    int nparam;
    sti_tape_param param[STI_MAX_PARAMS];
    stet_adjoint *adjoint; /* NULL: it writes no reals, it cannot be differentiated, or it is an operation */
    char why[256];         /* why it cannot be differentiated */
} sti_tape_kernel;

typedef struct sti_tape_arg {
    stet_arg_kind kind;
    bool written;
    bool ahead; /* what is left in the array is taken from the next checkpoint */
    int array;  /* -1: absent, or no array */
    int slot;   /* of a written array: the slot for its old content (undo); -1: not needed */
    union {
        int64_t i;
        double f;
    } value;
} sti_tape_arg;

typedef struct sti_tape_op {
    int kernel; /* or operation; -1: a copy, with arguments to and from */
    int narg;
    int64_t arg, count;
} sti_tape_op;

/*
 * A step that began with a checkpoint, and the segment from here to the next one. Operations before `known` are run
 * again; what adjoints need of the others is in this checkpoint, in what is run again, or in the next checkpoint.
 */
typedef struct sti_tape_check {
    int64_t step, op, known;
    bool strayed; /* something else had written an array before it */
} sti_tape_check;

struct stet_tape {
    sti_launch_observer launch_observer;
    sti_watcher watcher;
    stet_device *device;
    int64_t given, memory; /* `every` and `memory` of the def */
    int64_t copied;        /* bytes of copies that checkpoints have */
    bool open, complete, stepped;
    bool operates;      /* operations of the library are on the tape */
    int64_t inside;     /* the operation whose launches are being issued; -1: none */
    bool unclean;       /* a backward pass failed: scratch arrays may not be 0 */
    bool listed;        /* a backward pass has an open list */
    stet_result broken; /* why the tape is broken */
    char why[512];
    int64_t step, every;
    sti_tape_array *array;
    int64_t narray, array_room;
    int *place; /* a hash table of arrays by identity: [nplace], a power of two; -1: free */
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

/* ---- tape.c ---- */

/* From here to the close the device's launches are recorded. */
void sti_tape_open(stet_tape *t);
void sti_tape_close(stet_tape *t);

/* Did operations of an ended tape touch the array? */
bool sti_tape_touches(const stet_tape *t, const stet_array *array);

/* ---- tape_table.c: arrays and kernels by number ---- */

/* Makes room for n items of a growing block. */
stet_result sti_tape_reserve(void *block, int64_t *room, int64_t n, size_t item);
stet_result sti_tape_find_array(stet_tape *t, const stet_array *array, int *out);
int sti_tape_known_array(const stet_tape *t, const stet_array *array); /* -1: unknown */
stet_result sti_tape_find_kernel(stet_tape *t, const sti_kernel *kernel, int *out);
stet_result sti_tape_find_operation(stet_tape *t, const sti_operation *operation, int *out);
/* Called when an array or kernel is destroyed: frees what was made for it. */
void sti_tape_gone(sti_watcher *watcher, const void *thing);
/* Empties the tape and removes the entries of destroyed arrays and kernels. */
void sti_tape_forget(stet_tape *t);
void sti_tape_free_tables(stet_tape *t);
/* Debug builds: the tables refer to each other as TAPE-2 and TAPE-5 say. */
void sti_validate_tape(const stet_tape *t);
/* Makes the n-th array of the pool if needed, shaped like `like`. */
stet_result sti_tape_pooled(sti_tape_pool *pool, int64_t n, const stet_array *like);

/* ---- tape_record.c: recording ---- */

extern const sti_launch_observer sti_tape_observer;
/* Breaks the tape. Keeps the first reason, which is the thread's last message (TAPE-1). */
void sti_tape_break(stet_tape *t, stet_result result);

/* ---- tape_checkpoints.c: checkpoints ---- */

/* Copies an array before the tape writes it for the first time. */
stet_result sti_tape_first_copy(stet_tape *t, sti_tape_array *a);
/* Makes a checkpoint at the beginning of a step. */
stet_result sti_tape_checkpoint(stet_tape *t);
/* Is the content of an array, as it is now, not what the tape left in it? */
bool sti_tape_strayed(const sti_tape_array *a);
/* The content of an array at the beginning of a checkpoint's segment. */
const stet_array *sti_tape_copy_at(const sti_tape_array *a, int64_t step);

/* ---- tape_end.c: can it be differentiated, and how ---- */

stet_result sti_tape_finish(stet_tape *t);
/* Why an array that is blocked has no gradient. */
const char *sti_tape_why(const stet_tape *t, const sti_tape_array *a);

/* ---- tape_gradient.c ---- */

stet_result sti_tape_make_gradient(stet_tape *t, sti_tape_array *a);
/* Of an open tape: what follows from other arrays, and has a gradient that was asked for, is computed on it. */
stet_result sti_tape_take_derived(stet_tape *t);
stet_result sti_tape_make_number(stet_tape *t, sti_tape_kernel *k, sti_tape_param *p);
/* sum += part, part = 0. */
stet_result sti_tape_add(stet_array *sum, stet_array *part);
stet_result sti_tape_clear(stet_array *a);

/* Elements of a plain gradient for each block of a launch, as in tape.k.h. */
enum { STI_TAPE_BLOCK = 256 };

static inline bool sti_tape_real(const sti_tape_array *a)
{
    return a->array && stet_array_get_dtype(a->array) == STET_DTYPE_REAL;
}
static inline bool sti_tape_has(const sti_tape_kernel *k) { return k->kernel || k->operation; }
/* True if the operation's gradients are computed by an adjoint. */
static inline bool sti_tape_differs(const stet_tape *t, const sti_tape_op *op)
{
    const sti_tape_kernel *k = op->kernel >= 0 ? t->kernel[op->kernel] : NULL;
    return k && (k->adjoint || (k->operation && !k->why[0]));
}

#endif
