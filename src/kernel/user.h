/*
 * The user's kernels from inside the library.
 */
#ifndef STI_KERNEL_USER_H
#define STI_KERNEL_USER_H

#include "kernel/kernel.h"
#include "stet/kernel.h"

/*
 * As if it were one of the library's own, for sti_launch_on: only the entry of its device's instruction set is
 * filled. Borrowed.
 */
const sti_kernel *sti_user_kernel(const stet_kernel *kernel);
stet_device *sti_user_kernel_device(const stet_kernel *kernel);
/* 32 hexadecimal digits made from all that its code depends on: equal in all processes. Borrowed. */
const char *sti_user_kernel_id(const stet_kernel *kernel);

#endif
