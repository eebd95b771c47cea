/*
 * The adjoint of one kernel as a thing: its text, its code once it was launched, and what a launch of it passes.
 *
 * Invariants:
 *   HANDLE-1  it is owned by its kernel, and goes with it
 *   HANDLE-2  its text is made when it is asked for; its code when it is first launched, through the cache of kernels
 *   HANDLE-3  each parameter of the code has one source, known before the first launch
 */
#ifndef STI_ADJOINT_LAUNCH_HANDLE_H
#define STI_ADJOINT_LAUNCH_HANDLE_H

#include "adjoint/transform/adjoint.h"
#include "adjoint/launch/gather_plan.h"
#include "adjoint/sizing/sizes.h"
#include "adjoint/launch/stacks.h"

typedef enum sti_passed {
    STI_PASSED_ARGUMENT, /* the kernel's argument `number` */
    STI_PASSED_GRADIENT, /* its gradient */
    STI_PASSED_STACK,    /* sti_stack `number` */
    STI_PASSED_FLAGS,
    STI_PASSED_WIDTH,
    STI_PASSED_DEPTH,
    STI_PASSED_LIST_DEPTH,
    STI_PASSED_ROOM,       /* what a world has of sti_stack `number`, which is plain */
    STI_PASSED_FLAGS_ROOM, /* the same of the flags */
    STI_PASSED_PLAN,       /* of gathers, or NULL; and … */
    STI_PASSED_PLANNED     /* … whether there is one */
} sti_passed;

typedef struct sti_passing {
    sti_passed what;
    int number;
    bool written; /* of an argument or gradient */
} sti_passing;

/* The launch that ran last; for sentences about it. */
typedef struct sti_last_launch {
    int64_t count, size[STI_SIZES];
    stet_arg args[STI_MAX_PARAMS];
    bool valid; /* its arrays are all there */
} sti_last_launch;

struct stet_adjoint {
    sti_attachment attachment;
    stet_kernel *kernel; /* owns it */
    stet_kernel *code;   /* NULL: it was not launched yet */
    sti_unit *unit;      /* owns what k points to */
    sti_adjoint made;
    sti_adjoint_kernel given; /* k, where the source has the adjoint */
    const sti_adjoint_kernel *k;
    int nparam; /* of the kernel */
    stet_kernel_param param[STI_MAX_PARAMS];
    bool has_gradient[STI_MAX_PARAMS];
    int listed[STI_MAX_PARAMS]; /* code of its listing; -1: it is not listed */
    int npassing;
    sti_passing passing[STI_MAX_PARAMS];
    sti_stacks *stacks; /* its device's */
    sti_sizing sizing;
    sti_planning planning;
    stet_array *flags; /* tape_overs, 0 but where a stack was too short; NULL: none were needed yet */
    sti_stamp looked;  /* at the flags, when they were this */
    sti_last_launch last;
    sti_watcher watcher; /* tells when an array of `last` goes */
    stet_array
        *saved[STI_MAX_PARAMS]; /* for a launch that may have to be done again (overflow.h); by parameter of the code */
    struct stet_adjoint *next;  /* of the device's */
    int nid;                    /* ids that it has in the registry: its own, and those of its reductions */
};

/* The sentence about a stack that was too short. */
stet_result sti_overflow_error(const stet_adjoint *adjoint, int64_t mark, int64_t had, const char *needed);
/* Makes the code if there is none. */
stet_result sti_adjoint_code(stet_adjoint *adjoint);

#endif
