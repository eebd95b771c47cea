/*
 * Somebody who is told of what is issued to a device: launches, copies, work of others, loops, in the order in which they run, whether
 * they run at once or are listed first. A device has one at most (device->witness).
 *
 * Told before it runs and before it is listed, what a launch reads is current then, but for what was listed and did not run yet. What cannot
 * be told back is kept by the witness: no call of it fails.
 */
#ifndef STI_KERNEL_LAUNCH_LAUNCH_OBSERVER_H
#define STI_KERNEL_LAUNCH_LAUNCH_OBSERVER_H

#include "kernel/record/list.h"

typedef struct sti_launch_observer {
    /* kernel->user: a person's own; else the library launches for itself. `count` as it was given, not 0. */
    void (*launch)(struct sti_launch_observer *launch_observer, const sti_kernel *kernel, int64_t count,
                   const sti_arg *args, int narg);
    void (*copy)(struct sti_launch_observer *launch_observer, stet_array *to, stet_array *from);
    void (*foreign)(struct sti_launch_observer *launch_observer, const sti_foreign *foreign);
    void (*loop)(struct sti_launch_observer
                     *launch_observer); /* a loop of launches begins: how often its body runs is not told */
    /* Of what it was told of, something has not run and never will; `what` names it. */
    void (*lost)(struct sti_launch_observer *launch_observer, const char *what);
} sti_launch_observer;

static inline void sti_observe_launch(stet_device *device, const sti_launch *l, int64_t count)
{
    sti_launch_observer *w = device->launch_observer;
    if (w) w->launch(w, l->kernel, count, l->args, sti_kernel_narg(l->kernel));
}

static inline void sti_observe_lost(stet_device *device, const char *what)
{
    if (device->launch_observer) device->launch_observer->lost(device->launch_observer, what);
}

#endif
