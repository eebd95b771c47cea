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

#endif
