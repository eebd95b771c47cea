/* Devices: creation, names, counters. What differs between kinds of device is behind sti_device_ops. */
#include "device/device.h"

#include <string.h>

enum { DEVICE_COOKIE = 0x57e7d001 };

stet_device_def stet_default_device_def(void)
{
    stet_device_def def = {.cookie = DEVICE_COOKIE, .type = STET_DEVICE_AUTO};
    /* A STET_DISABLE that is wrong is reported by stet_device_create, which reads it again. */
    if (stet_default_mechanism_options(&def.mechanisms) != STET_OK) def.cookie = ~(uint32_t)DEVICE_COOKIE;
    return def;
}

static stet_result check_options(const stet_mechanism_options *options)
{
    if (options->disabled >> STET_MECH_COUNT)
        return sti_error(STET_INVALID_ARGUMENT, "mechanisms: disabled has bits beyond the %d mechanisms",
                         STET_MECH_COUNT);
    return STET_OK;
}

static stet_result check_def(const stet_device_def *def)
{
    stet_mechanism_options options;
    STI_TRY(stet_default_mechanism_options(&options));
    if (def->cookie != DEVICE_COOKIE)
        return sti_error(STET_INVALID_ARGUMENT,
                         "device: the def is not initialised; start from stet_default_device_def()");
    if (def->type != STET_DEVICE_AUTO && def->type != STET_DEVICE_CPU)
        return sti_error(STET_INVALID_ARGUMENT, "device: there is no type %d", (int)def->type);
    return check_options(&def->mechanisms);
}

stet_result stet_device_create(const stet_device_def *def, stet_device **out)
{
    if (!def || !out) return sti_error(STET_INVALID_ARGUMENT, "stet_device_create: def and out must not be NULL");
    *out = NULL;
    STI_TRY(check_def(def));
    stet_device *device;
    STI_TRY(sti_alloc(&device, sizeof *device, "device"));
    device->mechanisms.options = def->mechanisms;
    stet_result result = sti_cpu_device_init(device, def);
    if (result != STET_OK) {
        sti_free(device);
        return result;
    }
    *out = device;
    return STET_OK;
}

void stet_device_destroy(stet_device *device)
{
    if (!device) return;
    if (device->narray)
        sti_log(STET_LOG_ERROR, "device: %lld arrays still exist; destroy them first", (long long)device->narray);
    device->ops->destroy(device);
    sti_free(device);
}

const char *stet_device_name(const stet_device *device) { return device->name; }

stet_device_type stet_device_get_type(const stet_device *device) { return device->type; }

const char *stet_device_isa(const stet_device *device) { return sti_isa_name(device->isa); }

int stet_device_lanes(const stet_device *device) { return device->lanes; }

int stet_device_threads(const stet_device *device) { return device->threads; }

void stet_device_counters(const stet_device *device, stet_counters *out) { *out = device->mechanisms.counters; }

void stet_device_clear_counters(stet_device *device)
{
    memset(&device->mechanisms.counters, 0, sizeof device->mechanisms.counters);
}

stet_mechanism_options stet_device_mechanisms(const stet_device *device) { return device->mechanisms.options; }

stet_result stet_device_set_mechanisms(stet_device *device, const stet_mechanism_options *options)
{
    STI_TRY(check_options(options));
    device->mechanisms.options = *options;
    return STET_OK;
}
