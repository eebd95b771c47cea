/*
 * User kernels, as the rest of the library sees them.
 */
#ifndef STI_KERNEL_USER_USER_H
#define STI_KERNEL_USER_USER_H

#include "kernel/record/launch.h"
#include "kernel/user/kernel_source.h"

/*
 * The kernel as one of the library's own, for sti_launch_on. Only the function for the device's instruction set is set.
 * Borrowed.
 */
const sti_kernel *sti_user_kernel(const stet_kernel *kernel);
stet_device *sti_user_kernel_device(const stet_kernel *kernel);
/* Converts a caller's arguments. Checks their number and kinds only. */
stet_result sti_user_args(const stet_kernel *kernel, const stet_arg *args, int narg, sti_arg own[STI_MAX_PARAMS]);
/* 32 hexadecimal digits made from everything that the code depends on; equal in all processes. Borrowed. */
const char *sti_user_kernel_id(const stet_kernel *kernel);
/* Source and settings of the kernel; borrowed. */
const sti_kernel_source *sti_user_kernel_source(const stet_kernel *kernel);
/* The options for checking a source for this device, which `#if` can see. */
sti_check_options sti_user_check_options(const stet_device *device);

/* An object of a higher layer that a kernel owns. It is destroyed just before the kernel. */
typedef struct sti_attachment {
    void (*destroy)(struct sti_attachment *attachment);
} sti_attachment;
/* The place for the kernel's attachment; it holds NULL if there is none. */
sti_attachment **sti_user_kernel_attachment(stet_kernel *kernel);

#endif
