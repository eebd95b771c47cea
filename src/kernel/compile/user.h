/*
 * The user's kernels from inside the library.
 */
#ifndef STI_KERNEL_COMPILE_USER_H
#define STI_KERNEL_COMPILE_USER_H

#include "kernel/launch/kernel.h"
#include "kernel/compile/kernel_source.h"

/*
 * As if it were one of the library's own, for sti_launch_on: only the entry of its device's instruction set is
 * filled. Borrowed.
 */
const sti_kernel *sti_user_kernel(const stet_kernel *kernel);
stet_device *sti_user_kernel_device(const stet_kernel *kernel);
/* The arguments of a caller's launch as the library has them; how many and of which kind they may be, and no more, is checked. */
stet_result sti_user_args(const stet_kernel *kernel, const stet_arg *args, int narg, sti_arg own[STI_MAX_PARAMS]);
/* 32 hexadecimal digits made from all that its code depends on: equal in all processes. Borrowed. */
const char *sti_user_kernel_id(const stet_kernel *kernel);
/* What it was made from; borrowed. */
const sti_kernel_source *sti_user_kernel_source(const stet_kernel *kernel);
/* How a source is read for a device: what `#if` sees. */
sti_check_options sti_user_check_options(const stet_device *device);

/* Something of a layer above that a kernel owns: it goes just before the kernel. */
typedef struct sti_attachment {
    void (*destroy)(struct sti_attachment *attachment);
} sti_attachment;
/* Where the kernel keeps it; NULL there: it has none. */
sti_attachment **sti_user_kernel_attachment(stet_kernel *kernel);

#endif
