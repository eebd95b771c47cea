/*
 * Bindings: a handle's last launch, with its arguments checked and put into slots. Arguments that did not change are
 * not checked again (mechanism bindings). Each argument is compared by itself: if one number differs, only that one is
 * bound again.
 *
 * Invariants:
 *   BINDING-1  an argument is reused if its kind and its value are equal, bit for bit. For an array, its identity and
 *       the address of its memory must be equal too; the address of the stet_array alone is not enough, because it may
 *       belong to another array by now. An array that the caller does not pass this time is not touched: it may be
 *       destroyed
 *   BINDING-2  type, shape and device of an array belong to its identity and do not change, so one check holds for it.
 *       Its producer may change; each launch runs the producers, in the order of the arguments
 *   BINDING-3  a binding is for one kernel of one device and one number of worlds or blocks. Another number binds all
 *       arguments again
 *   BINDING-4  while a launch through a binding runs, the binding does not change: a launch from inside that launch is
 *       checked without it
 *   BINDING-5  a launch that is refused leaves nothing bound
 */
#ifndef STI_KERNEL_LAUNCH_BINDING_H
#define STI_KERNEL_LAUNCH_BINDING_H

#include "kernel/launch/kernel.h"
#include "stet/kernel.h"

/* The zeroed struct has nothing bound. */
typedef struct sti_binding {
    sti_launch launch; /* its arguments are `arg` */
    int64_t count;
    bool known; /* a launch succeeded, so `launch` is valid */
    bool busy;  /* a launch through it is running (BINDING-4) */
    sti_arg arg[STI_MAX_PARAMS];
    uint64_t id[STI_MAX_PARAMS];            /* identities of the arrays; 0: absent, or no array */
    const sti_param *param[STI_MAX_PARAMS]; /* the parameter of each argument */
} sti_binding;

/*
 * Like sti_launch_on, for a caller's arguments. The caller always uses a binding with the same device and kernel
 * (BINDING-3).
 */
stet_result sti_binding_launch(sti_binding *b, stet_device *device, const sti_kernel *kernel, int64_t count,
                               const stet_arg *args, int narg);

/* Converts a caller's arguments. Checks their number and kinds only. */
stet_result sti_args_of(const sti_kernel *kernel, const stet_arg *args, int narg, sti_arg own[STI_MAX_PARAMS]);

#endif
