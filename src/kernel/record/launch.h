/*
 * Launches of kernels, with checked arguments: listed if the device is listing, else run now.
 *
 * The signature says what a launch reads and what it writes, so the launch itself moves the generations of written
 * arrays.
 */
#ifndef STI_KERNEL_RECORD_LAUNCH_H
#define STI_KERNEL_RECORD_LAUNCH_H

#include "kernel/launch/bind.h"
#include "kernel/launch/binding.h"

/*
 * Launches a kernel. `count` is the number of worlds (kind world; it must be the number that the arrays of worlds have:
 * use a mask to leave worlds alone) or of blocks of items (kind item). With count 0 nothing is launched. Brings the
 * arrays that the kernel reads up to date and moves the generation of each array that it writes. Errors name the kernel
 * and the parameter: wrong number or kind of arguments, wrong element type, an array of worlds where a plain one is
 * wanted or the other way round, another number of worlds, another device.
 */
stet_result sti_launch_on(stet_device *device, const sti_kernel *kernel, int64_t count, const sti_arg *args, int narg);
#define STI_LAUNCH(kernel, device, count, ...)                                                                         \
    sti_launch_on((device), &(kernel), (count), (const sti_arg[]){__VA_ARGS__},                                        \
                  (int)(sizeof((const sti_arg[]){__VA_ARGS__}) / sizeof(sti_arg)))

/*
 * Like sti_launch_on, but brings the arrays that it reads up to date at once, without splitting the list. For a caller
 * who knows that the producers of its arrays neither need the listed operations nor touch what those read.
 */
stet_result sti_launch_beside(stet_device *device, const sti_kernel *kernel, int64_t count, const sti_arg *args,
                              int narg);
/*
 * As sti_launch_on, for arguments as a caller gives them; the binding is always used for the same device and kernel
 * (BINDING-3).
 */
stet_result sti_binding_launch(sti_binding *b, stet_device *device, const sti_kernel *kernel, int64_t count,
                               const stet_arg *args, int narg);

#endif
