/*
 * Brings an array's content up to date before a read: its producer, writes through tensors, its host mirror.
 *
 * Invariant: a producer is never called again while it runs, and what it launches runs at once.
 */
#include "device/array.h"
#include "device/host_mirror.h"

uint64_t stet_array_get_generation(const stet_array *a)
{
    if (!a) return 0;
    /* Equal generations must mean equal content for the caller, too. */
    (void)sti_array_poll_external_writes((stet_array *)a);
    return a->version.generation;
}

void stet_array_mark_written(stet_array *a)
{
    if (a) sti_mirror_external_write(a);
}

void sti_array_set_producer(stet_array *a, sti_producer *producer, void *context)
{
    a->producer = producer;
    a->producer_context = context;
}

stet_result sti_array_call_producer(stet_array *a)
{
    (void)sti_array_poll_external_writes(a);
    if (!a->producer || a->producing) return STET_OK;
    STI_TRY(sti_before_host_access(a->device, STI_ACT_PRODUCE, a, a->name));
    bool listing = a->device->listing;
    a->device->listing = false;
    a->producing = true;
    stet_result result = a->producer(a->producer_context);
    a->producing = false;
    a->device->listing = listing;
    return result;
}

stet_result sti_array_produce(stet_array *a)
{
    sti_validate_array(a);
    STI_TRY(sti_array_call_producer(a));
    return a->device->can.host_memory ? STET_OK : sti_array_to_device(a);
}

stet_result sti_array_ensure(stet_array *a)
{
    sti_validate_array(a);
    STI_TRY(sti_before_host_access(a->device, STI_ACT_READ, a, a->name));
    if (a->device->check_overflow) STI_TRY(a->device->check_overflow(a->device));
    return sti_array_call_producer(a);
}

static stet_result update_device(stet_array *a, const char *call)
{
    if (!a) return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: array must not be NULL", call);
    STI_TRY(sti_array_ensure(a));
    return sti_array_to_device(a);
}

stet_result stet_array_update(stet_array *a)
{
    STI_TRY(update_device(a, "stet_array_update"));
    return sti_device_wait_idle(a->device);
}

stet_result stet_array_update_in_stream(stet_array *a, void *stream)
{
    STI_TRY(update_device(a, "stet_array_update_in_stream"));
    return sti_device_signal(a->device, stream);
}
