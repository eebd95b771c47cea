/*
 * Launching the adjoint of a kernel: its arguments and their gradients, its stacks, the gradients that it lists.
 */
#ifndef STI_ADJOINT_LAUNCH_LAUNCH_H
#define STI_ADJOINT_LAUNCH_LAUNCH_H

#include "adjoint/launch/handle.h"

typedef struct sti_adjoint_call {
    stet_adjoint *adjoint;
    int64_t count;
    const stet_arg *args;
    stet_array *const *gradients;
    int64_t size[STI_SIZES];
    stet_array *destinations, *values; /* what it listed */
    stet_array *plan;                  /* of its gathers; NULL: it has none */
} sti_adjoint_call;

/* Runs the code, or lists it; its stacks have c->size. Nothing is looked at. */
stet_result sti_adjoint_run(sti_adjoint_call *c);
/* Adds up what it listed. */
stet_result sti_adjoint_add_up(const sti_adjoint_call *c);
/* overflow.c: the same, in a way that it can be done again if a stack was too short. */
bool sti_overflow_possible(const sti_adjoint_call *c);
stet_result sti_overflow_run(sti_adjoint_call *c);

#endif
