/*
 * The adjoint of one kernel as an object: its text, its code once it was launched, and the parameters that a launch
 * passes.
 *
 * Invariants:
 *   HANDLE-1  the kernel owns its adjoint and destroys it
 *   HANDLE-2  the text is made when it is first requested. The code is compiled at the first launch, through the kernel
 *       cache
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
    STI_PASSED_GRADIENT, /* the gradient of argument `number` */
    STI_PASSED_RESULT,   /* what the kernel left in argument `number` */
    STI_PASSED_STACK,    /* sti_stack `number` */
    STI_PASSED_FLAGS,
    STI_PASSED_WIDTH,
    STI_PASSED_DEPTH,
    STI_PASSED_LIST_DEPTH,
    STI_PASSED_ROOM,       /* what a world has of sti_stack `number`, if that stack is plain */
    STI_PASSED_FLAGS_ROOM, /* the same for the flags */
    STI_PASSED_PLAN,       /* the gather plan, or NULL */
    STI_PASSED_PLANNED     /* 1 if there is a gather plan */
} sti_passed;

typedef struct sti_passing {
    sti_passed what;
    int number;
    bool written; /* an argument or gradient that is written */
} sti_passing;

/* The last launch, for error messages about it. */
typedef struct sti_last_launch {
    int64_t count, size[STI_SIZES];
    stet_arg args[STI_MAX_PARAMS];
    bool valid; /* all of its arrays still exist */
} sti_last_launch;

struct stet_adjoint {
    sti_attachment attachment;
    stet_kernel *kernel; /* the owner */
    stet_kernel *code;   /* NULL: not launched yet */
    sti_unit *unit;      /* owns the memory that k points to */
    sti_adjoint made;
    sti_adjoint_kernel given; /* *k, if the source itself has the adjoint */
    const sti_adjoint_kernel *k;
    int nparam; /* parameters of the kernel */
    stet_kernel_param param[STI_MAX_PARAMS];
    bool has_gradient[STI_MAX_PARAMS];
    bool has_result[STI_MAX_PARAMS]; /* the adjoint that the source has reads what the kernel left there */
    int listed[STI_MAX_PARAMS];      /* code of its listing; -1: not listed */
    int npassing;
    sti_passing passing[STI_MAX_PARAMS];
    sti_stacks *stacks; /* shared by all adjoints of the device */
    sti_sizing sizing;
    sti_planning planning;
    stet_array *flags; /* tape_overs: 0 except where a stack was too short; NULL: not needed so far */
    sti_stamp checked; /* the versions when the flags were read last */
    sti_last_launch last;
    sti_watcher watcher; /* is notified when an array of `last` is destroyed */
    /* Copies for a launch that may have to run again (launch.c), by parameter of the code. */
    stet_array *saved[STI_MAX_PARAMS];
    struct stet_adjoint *next; /* the device's next adjoint */
    int nid;                   /* ids that it has in the registry: its own and those of its reductions */
};

/* A launch of an adjoint. */
typedef struct sti_adjoint_call {
    stet_adjoint *adjoint;
    int64_t count;
    const stet_arg *args;
    stet_array *const *results; /* [nparam], where has_result; NULL: not known */
    stet_array *const *gradients;
    int64_t size[STI_SIZES];
    stet_array *destinations, *values; /* the lists that it writes */
    stet_array *plan;                  /* the gather plan; NULL: none */
} sti_adjoint_call;

/* stet_adjoint_launch with what the kernel left in its arrays, of those that has_result tells. */
stet_result sti_adjoint_launch(stet_adjoint *adjoint, int64_t count, const stet_arg *args, stet_array *const *results,
                               stet_array *const *gradients, int narg);
/* Compiles the code if that was not done yet. */
stet_result sti_adjoint_code(stet_adjoint *adjoint);

#endif
