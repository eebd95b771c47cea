/*
 * Bindings: what a handle launched last, its arguments checked and put into slots, so that the same arguments are not
 * checked again. Arguments are compared one by one: if one number differs, only that number is bound again.
 *
 * Invariants:
 *   BINDING-1  an argument is reused if its kind and value are equal, bit for bit, and, for an array, its identity and
 *       the address of its memory. An equal pointer to the array is not enough: another array may have it by now. An
 *       array that the caller did not pass this time is not accessed: it may be destroyed
 *   BINDING-2  type, shape and device belong to an array's identity and do not change, so they are checked once. Its
 *       producer may change; whether the array is up to date is checked at each launch, in the order of the
 *       arguments
 *   BINDING-3  a binding holds for one kernel of one device, and one number of worlds or blocks; another number is
 *       bound again completely
 *   BINDING-4  while a launch uses it, it does not change: a launch from inside that launch does not use the binding
 *   BINDING-5  a launch that is refused leaves nothing bound
 */
#ifndef STI_KERNEL_LAUNCH_BINDING_H
#define STI_KERNEL_LAUNCH_BINDING_H

#include "kernel/launch/bind.h"
#include "stet/kernel.h"

/* The zeroed struct has nothing bound. */
typedef struct sti_binding {
    sti_launch launch; /* its arguments are `arg` */
    int64_t count;
    bool known; /* there was a launch that was not refused */
    bool busy;  /* BINDING-4 */
    sti_arg arg[STI_MAX_PARAMS];
    uint64_t id[STI_MAX_PARAMS];            /* of the arrays; 0: absent, or no array */
    const sti_param *param[STI_MAX_PARAMS]; /* of the arguments */
} sti_binding;

/*
 * Fills b->launch: binds the arguments that differ from those of the last launch. count is not 0. Always for the same
 * device and kernel (BINDING-3), and not while the binding is busy.
 */
stet_result sti_binding_update(sti_binding *b, stet_device *device, const sti_kernel *kernel, int64_t count,
                               const stet_arg *args, int narg);

/* A caller's arguments as the library has them; how many and of which kind they may be, and no more, is checked. */
stet_result sti_args_of(const sti_kernel *kernel, const stet_arg *args, int narg, sti_arg own[STI_MAX_PARAMS]);

#endif
