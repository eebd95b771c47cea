/* Launches: listed, or run now; see launch.h. */
#include "kernel/record/launch.h"

#include "kernel/record/launch_observer.h"
#include "kernel/record/record.h"

#include <assert.h>

/* Lists the launch or runs it now, and notifies the device's launch observer. */
static stet_result issue(stet_device *device, const sti_launch *launch, int64_t count, bool listed)
{
    assert(launch->nblock > 0 && launch->kernel && launch->nslot >= 0 && launch->nslot <= STI_MAX_PARAMS);
    sti_observe_launch(device, launch, count);
    stet_result result = listed ? sti_record_launch(device, launch) : sti_launch_run(device, launch);
    if (result != STET_OK) sti_observe_lost(device, launch->kernel->name);
    return result;
}

stet_result sti_launch_on(stet_device *device, const sti_kernel *k, int64_t count, const sti_arg *args, int narg)
{
    sti_launch launch;
    STI_TRY(sti_launch_prepare(device, k, count, args, narg, &launch));
    return launch.nblock == 0 ? STET_OK : issue(device, &launch, count, device->listing);
}

stet_result sti_launch_beside(stet_device *device, const sti_kernel *k, int64_t count, const sti_arg *args, int narg)
{
    sti_launch launch;
    bool listing = device->listing;
    device->listing = false;
    stet_result result = sti_launch_prepare(device, k, count, args, narg, &launch);
    device->listing = listing;
    if (result != STET_OK || launch.nblock == 0) return result;
    return issue(device, &launch, count, listing);
}

/* ---- a caller's arguments ---------------------------------------------------------------------------------------- */

static stet_result launch_apart(stet_device *device, const sti_kernel *k, int64_t count, const stet_arg *args, int narg)
{
    sti_arg own[STI_MAX_PARAMS];
    STI_TRY(sti_args_of(k, args, narg, own));
    return sti_launch_on(device, k, count, own, narg);
}

stet_result sti_binding_launch(sti_binding *b, stet_device *device, const sti_kernel *k, int64_t count,
                               const stet_arg *args, int narg)
{
    if (count <= 0 || b->busy) return launch_apart(device, k, count, args, narg); /* refused, no launch, or BINDING-4 */
    assert((!b->known || b->launch.kernel == k) && "a binding is of one kernel");
    b->busy = true;
    stet_result result = sti_binding_update(b, device, k, count, args, narg);
    if (result == STET_OK) result = issue(device, &b->launch, count, device->listing);
    b->busy = false;
    return result;
}
