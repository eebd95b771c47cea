/*
 * Launches of a kernel's adjoint: its arguments and their gradients, its stacks, the gradients that it lists.
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
    stet_array *destinations, *values; /* the lists that it writes */
    stet_array *plan;                  /* the gather plan; NULL: none */
} sti_adjoint_call;

/* Runs the code, or lists it. Its stacks have c->size. The overflow flags are not read. */
stet_result sti_adjoint_run(sti_adjoint_call *c);
/* Adds up the listed gradients. */
stet_result sti_adjoint_add_up(const sti_adjoint_call *c);
/* overflow.c: the same, for a launch that runs again with larger stacks if one was too short. */
bool sti_overflow_possible(const sti_adjoint_call *c);
stet_result sti_overflow_run(sti_adjoint_call *c);

#endif
