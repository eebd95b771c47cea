/*
 * Binding: a launch's arguments are checked against its kernel's signature, their arrays are brought up to date, and
 * the slots that the device gets are filled. Nothing is launched here.
 */
#ifndef STI_KERNEL_LAUNCH_BIND_H
#define STI_KERNEL_LAUNCH_BIND_H

#include "kernel/kernel.h"

/* Binds all arguments of a launch (record/launch.h says what is checked). out->args borrows `args`. */
stet_result sti_launch_prepare(stet_device *device, const sti_kernel *kernel, int64_t count, const sti_arg *args,
                               int narg, sti_launch *out);
/* Binds one argument: checks it, brings its array up to date and fills its slot. */
stet_result sti_launch_bind(const stet_device *device, const sti_kernel *kernel, const sti_param *param, int64_t count,
                            const sti_arg *arg, sti_slot *slot);
/* Fills `written` from the arguments. */
void sti_launch_list_written(sti_launch *launch);
/* Makes all checks of sti_launch_on. Brings nothing up to date, lists and launches nothing. */
stet_result sti_launch_check(const stet_device *device, const sti_kernel *kernel, int64_t count, const sti_arg *args,
                             int narg);

#endif
