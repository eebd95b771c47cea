/* Streams of the caller: which one a device works in, and the order of work. See stet/device.h. */
#include "device/device.h"

stet_result stet_device_use_stream(stet_device *device, void *stream)
{
    if (!device) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_device_use_stream: device must not be NULL");
    STI_TRY(sti_not_listing(device, "stet_device_use_stream"));
    return device->ops->use_stream ? device->ops->use_stream(device, stream, false) : STET_OK;
}

stet_result stet_device_use_own_stream(stet_device *device)
{
    if (!device) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_device_use_own_stream: device must not be NULL");
    STI_TRY(sti_not_listing(device, "stet_device_use_own_stream"));
    return device->ops->use_stream ? device->ops->use_stream(device, NULL, true) : STET_OK;
}

void *stet_device_get_stream(const stet_device *device) { return device ? device->stream : NULL; }

static stet_result order(stet_device *device, void *stream, sti_order how, const char *call)
{
    if (!device) return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: device must not be NULL", call);
    STI_TRY(sti_not_listing(device, call));
    return device->ops->order ? device->ops->order(device, stream, how) : STET_OK;
}

stet_result stet_device_wait_stream(stet_device *device, void *stream)
{
    return order(device, stream, STI_ORDER_BEHIND_STREAM, "stet_device_wait_stream");
}

stet_result stet_device_signal_stream(stet_device *device, void *stream)
{
    return order(device, stream, STI_ORDER_STREAM_BEHIND, "stet_device_signal_stream");
}

uint64_t sti_device_capture(stet_device *device)
{
    uint64_t capture = 0;
    if (!device->ops->capturing || device->ops->capturing(device, &capture) != STET_OK) return 0;
    return capture;
}

stet_result stet_device_synchronize(stet_device *device)
{
    if (!device) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_device_synchronize: device must not be NULL");
    STI_TRY(sti_not_listing(device, "stet_device_synchronize"));
    return device->ops->synchronize(device);
}
