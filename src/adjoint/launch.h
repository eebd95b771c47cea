/*
 * Launching the adjoint of a kernel: its arguments by the names of its parameters, its tape sized from the bounds.
 */
#ifndef STI_ADJOINT_LAUNCH_H
#define STI_ADJOINT_LAUNCH_H

#include "adjoint/adjoint.h"
#include "stet/kernel.h"

/* An argument of the kernel, and where its gradient is; a gradient is NULL where the parameter has none. */
typedef struct sti_adjoint_arg {
    const char *name; /* of the kernel's parameter */
    stet_arg value;
    stet_array *gradient;
} sti_adjoint_arg;

/*
 * Runs `adjoint` (the kernel k->name with _adj) over `count` worlds. Arrays hold what they held before the kernel ran. Bounds that
 * need elements of arrays read them on the host. STET_INVALID_ARGUMENT: an argument or gradient is missing, or a bound cannot be
 * worked out. STET_LIMIT: the tape was too short after all; the message names the kernel and the line of the loop.
 */
stet_result sti_adjoint_launch(stet_kernel *adjoint, const sti_adjoint_kernel *k, int64_t count,
                               const sti_adjoint_arg *args, int narg);

#endif
