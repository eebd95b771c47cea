/*
 * Runs a kernel now: finds its code and passes it to the device.
 */
#ifndef STI_KERNEL_LAUNCH_RUN_H
#define STI_KERNEL_LAUNCH_RUN_H

#include "kernel/kernel.h"

/* The one way to a device's `launch`. The arguments are not checked. */
stet_result sti_kernel_run(stet_device *device, const sti_kernel *kernel, const sti_slot *slots, int nslot,
                           int64_t nblock, bool in_block);
/* The same for a launch that is bound, with its arguments by value. */
stet_result sti_kernel_run_launch(stet_device *device, const sti_launch *launch);

#endif
