/*
 * The launch observer: an object that is notified of everything that is issued to a device (launches, copies, foreign
 * work, loops), in the order in which it runs, whether it runs at once or is listed first. A device has at most one
 * (device->launch_observer).
 *
 * The observer is called before the operation runs or is listed. The arrays that a launch reads are up to date then,
 * except for what listed operations still have to write. The calls cannot fail: an observer keeps its own errors.
 */
#ifndef STI_KERNEL_RECORD_LAUNCH_OBSERVER_H
#define STI_KERNEL_RECORD_LAUNCH_OBSERVER_H

#include "kernel/record/list.h"
#include "kernel/record/operation.h"

typedef struct sti_launch_observer {
    uint64_t serial; /* another for each time that it begins to observe, in the process; never 0 */
    /*
     * A launch. kernel->user is set if the kernel is a user's own; otherwise the library launches for itself. `count`
     * is the caller's, never 0.
     */
    void (*launch)(struct sti_launch_observer *launch_observer, const sti_kernel *kernel, int64_t count,
                   const sti_arg *args, int narg);
    void (*copy)(struct sti_launch_observer *launch_observer, stet_array *to, stet_array *from);
    void (*foreign)(struct sti_launch_observer *launch_observer, const sti_foreign *foreign);
    /* A loop of launches begins. The observer does not learn how often the body runs. */
    void (*loop)(struct sti_launch_observer *launch_observer);
    /* The host computed an array from others. `by` says what did. */
    void (*host)(struct sti_launch_observer *launch_observer, const stet_array *array, const char *by);
    /* Operations that the observer was notified of have not run and never will. `what` names them. */
    void (*lost)(struct sti_launch_observer *launch_observer, const char *what);
    /* An operation with an adjoint of its own begins. What is issued up to its end belongs to it. */
    void (*begin)(struct sti_launch_observer *launch_observer, const sti_operation *operation, const sti_arg *args);
    void (*end)(struct sti_launch_observer *launch_observer);
} sti_launch_observer;

static inline void sti_observe_launch(stet_device *device, const sti_launch *l, int64_t count)
{
    sti_launch_observer *w = device->launch_observer;
    if (w) w->launch(w, l->kernel, count, l->args, sti_kernel_narg(l->kernel));
}

/*
 * What follows from other arrays is computed when somebody reads it, if it is old. An observer must learn of it at the
 * first read that it observes, too: true once for each time that one begins to observe.
 */
static inline bool sti_observer_is_new(const stet_device *device, uint64_t *serial)
{
    const sti_launch_observer *w = device->launch_observer;
    if (!w || w->serial == *serial) return false;
    *serial = w->serial;
    return true;
}

static inline void sti_observe_host(const stet_array *array, const char *by)
{
    sti_launch_observer *w = array->device->launch_observer;
    if (w) w->host(w, array, by);
}

static inline void sti_observe_lost(stet_device *device, const char *what)
{
    if (device->launch_observer) device->launch_observer->lost(device->launch_observer, what);
}

#endif
