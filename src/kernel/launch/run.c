/* Runs kernels; see run.h. */
#include "kernel/launch/run.h"

#include "device/trace.h"
#include "kernel/gpu/programs.h"

#include <assert.h>

static inline stet_result launch(stet_device *device, const sti_kernel *k, const sti_code *code, const sti_slot *slots,
                                 int nslot, int64_t nblock, bool in_block)
{
    assert(nblock >= 0 && (slots || nslot == 0));
    if (!device->mechanisms.trace) return device->ops->launch(device, code, slots, nslot, nblock, in_block);
    sti_device_mark mark = sti_device_trace_open(
        device, &(sti_trace_what){STET_TRACE_LAUNCH, k->name, k->file, k->line, STET_REASON_NONE, nblock, 0});
    stet_result result = device->ops->launch(device, code, slots, nslot, nblock, in_block);
    sti_device_trace_close(device, mark, result);
    return result;
}

stet_result sti_kernel_run(stet_device *device, const sti_kernel *k, const sti_slot *slots, int nslot, int64_t nblock,
                           bool in_block)
{
    if (device->can.compiles) {
        const sti_code *compiled;
        STI_TRY(sti_program_code(device, k, in_block, &compiled));
        return launch(device, k, compiled, slots, nslot, nblock, in_block);
    }
    assert(!in_block || !k->team_slots);
    assert(k->call[device->isa] && "a kernel that this instruction set has");
    sti_code code = {.name = k->name, .call = k->call[device->isa], .team_slots = k->team_slots};
    return launch(device, k, &code, slots, nslot, nblock, in_block);
}

stet_result sti_kernel_run_launch(stet_device *device, const sti_launch *l)
{
    if (l->code) return launch(device, l->kernel, l->code, l->slot, l->nslot, l->nblock, false);
    return sti_kernel_run(device, l->kernel, l->slot, l->nslot, l->nblock, false);
}
