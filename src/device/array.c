/*
 * Arrays: how they are defined, created and destroyed.
 */
#include "device/device.h"
#include "device/host_mirror.h"
#include "device/plain_view.h"
#include "device/share.h"

#include <stdio.h>
#include <string.h>

enum { ARRAY_COOKIE = 0x57e7a001 };

stet_array_def stet_default_array_def(void)
{
    return (stet_array_def){.cookie = ARRAY_COOKIE, .name = "array", .dtype = STET_DTYPE_REAL, .ndim = 1};
}

static stet_result check_def(const stet_array_def *def)
{
    if (def->cookie != ARRAY_COOKIE)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "array: the def is not initialised; start from stet_default_array_def()");
    const char *name = def->name ? def->name : "array";
    if ((unsigned)def->dtype >= STET_DTYPE_COUNT)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "array %s: there is no element type %d", name, (int)def->dtype);
    if (def->ndim < 1 || def->ndim > STET_MAX_DIMS)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "array %s: %d dimensions; 1 to %d are possible", name, def->ndim,
                         STET_MAX_DIMS);
    if (def->worlds && def->dtype != STET_DTYPE_REAL && def->dtype != STET_DTYPE_INT)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "array %s: an array of worlds holds real or int, not %s", name,
                         stet_dtype_name(def->dtype));
    for (int k = 0; k < def->ndim; ++k)
        if (def->shape[k] < 0)
            return sti_error(STET_ERROR_INVALID_ARGUMENT, "array %s: dimension %d is %lld", name, k,
                             (long long)def->shape[k]);
    return STET_OK;
}

static stet_result read_def(stet_array *a, const stet_array_def *def)
{
    snprintf(a->name, sizeof a->name, "%s", def->name ? def->name : "array");
    a->dtype = def->dtype;
    a->worlds = def->worlds;
    a->ndim = def->ndim;
    memcpy(a->shape, def->shape, sizeof a->shape);
    a->version = sti_version_new();
    return sti_array_measure(a, &a->nitem, &a->nblock, &a->size);
}

stet_result sti_array_make(stet_device *device, const stet_array_def *def, stet_array **out)
{
    *out = NULL;
    STI_TRY(check_def(def));
    STI_TRY(sti_before_host_access(device, STI_ACT_CREATE, NULL, def->name ? def->name : "array"));
    stet_array *a;
    STI_TRY(sti_alloc(&a, sizeof *a, "array"));
    a->device = device;
    stet_result result = read_def(a, def);
    if (result != STET_OK) {
        sti_free(a);
        return result;
    }
    assert(device->narray >= 0);
    device->narray++;
    sti_device_retain(device); /* an array that outlives its device can still free its memory */
    *out = a;
    return STET_OK;
}

stet_result stet_array_create(stet_device *device, const stet_array_def *def, stet_array **out)
{
    stet_array *a;
    if (!device || !def || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_array_create: device, def and out must not be NULL");
    *out = NULL;
    STI_TRY(sti_array_make(device, def, &a));
    stet_result result = device->ops->alloc(device, a->size, a->name, &a->data);
    if (result != STET_OK) {
        stet_array_destroy(a);
        return result;
    }
    device->array_bytes += (int64_t)a->size;
    a->counted = true;
    sti_validate_array(a);
    *out = a;
    return STET_OK;
}

stet_result sti_array_new(stet_device *device, const char *name, stet_dtype dtype, bool worlds, int ndim,
                          const int64_t *shape, stet_array **out)
{
    assert(ndim >= 1 && shape && out);
    stet_array_def def = stet_default_array_def();
    def.name = name;
    def.dtype = dtype;
    def.worlds = worlds;
    def.ndim = ndim;
    if (ndim <= STET_MAX_DIMS) memcpy(def.shape, shape, sizeof *shape * (size_t)ndim);
    return stet_array_create(device, &def, out);
}

void stet_array_destroy(stet_array *a)
{
    if (!a) return;
    stet_device *device = a->device;
    assert(!a->producing && "a producer must not destroy its array");
    assert(device->narray > 0 && "destroyed before?");
    if (device->list_hooks) device->list_hooks->array_gone(device, a);
    sti_device_notify_destroyed(device, a);
    sti_mirror_free(a);
    sti_plain_view_detach(a);
    if (a->share)
        sti_share_detach(a->share);
    else if (!a->borrowed && a->data)
        device->ops->free(device, a->data);
    if (a->host) sti_count_held(&device->mechanisms, STET_MECHANISM_READBACK, -(int64_t)stet_array_get_bytes(a));
    if (a->holder) sti_count_held(&device->mechanisms, (stet_mechanism)(a->holder - 1), -(int64_t)a->size);
    sti_free(a->host);
    sti_stamp_free(&a->host_stamp);
    device->narray--;
    if (a->counted) device->array_bytes -= (int64_t)a->size;
    assert(device->array_bytes >= 0 && "bytes that were given are given back once");
    sti_free(a);
    sti_device_release(device);
}

void sti_array_held_by(stet_array *a, stet_mechanism mechanism)
{
    assert((unsigned)mechanism < STET_MECHANISM_COUNT && a->holder == 0);
    a->holder = 1 + (int)mechanism;
    sti_count_held(&a->device->mechanisms, mechanism, (int64_t)a->size);
}
