/* Notifies launch observers of operations; see operation.h. */
#include "kernel/record/operation.h"

#include "kernel/record/launch_observer.h"

void sti_operation_begin(stet_device *device, const sti_operation *operation, const sti_arg *args)
{
    sti_launch_observer *w = device->launch_observer;
    if (w) w->begin(w, operation, args);
}

stet_result sti_operation_end(stet_device *device, const sti_operation *operation, stet_result result)
{
    sti_launch_observer *w = device->launch_observer;
    if (w) w->end(w);
    if (result != STET_OK) sti_observe_lost(device, operation->name);
    return result;
}
