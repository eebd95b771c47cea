/* See transforms.h. */
#include "stage/transforms.h"

#include "device/host_mirror.h"
#include "kernel/record/launch.h"

#include <assert.h>

extern const sti_kernel sti_k_body_world, sti_k_track, sti_k_forward;

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static sti_arg arg_of(const sti_transforms *t, int which) { return sti_arg_array(t->array[which]); }

stet_result sti_transforms_launch(const sti_transforms *t, int64_t *launches)
{
    assert(t->nbody >= 0 && t->ntrack >= 0 && t->nprim >= 0 && (t->nprim == 0 || t->nlevel > 0));
    for (int k = 0; k < STI_TRANSFORMS_ARRAYS; ++k) assert(!t->array[k] || t->array[k]->device == t->device);
    if (t->nbody > 0) {
        STI_TRY(STI_LAUNCH(sti_k_body_world, t->device, t->nworld, arg_of(t, STI_TRANSFORMS_STALE),
                           arg_of(t, STI_TRANSFORMS_XPOS), arg_of(t, STI_TRANSFORMS_XQUAT),
                           arg_of(t, STI_TRANSFORMS_WORLD), arg_of(t, STI_TRANSFORMS_BODY), sti_arg_int(t->nbody)));
        ++*launches;
    }
    if (t->ntrack > 0) {
        STI_TRY(STI_LAUNCH(sti_k_track, t->device, t->nworld, arg_of(t, STI_TRANSFORMS_STALE),
                           arg_of(t, STI_TRANSFORMS_XPOS), arg_of(t, STI_TRANSFORMS_XQUAT),
                           arg_of(t, STI_TRANSFORMS_WORLD), arg_of(t, STI_TRANSFORMS_ENTRY),
                           arg_of(t, STI_TRANSFORMS_FRAME), arg_of(t, STI_TRANSFORMS_FOLLOWED),
                           arg_of(t, STI_TRANSFORMS_PART), sti_arg_int(t->ntrack)));
        ++*launches;
    }
    if (t->nprim == 0) return STET_OK;
    ++*launches;
    return STI_LAUNCH(sti_k_forward, t->device, t->nworld, arg_of(t, STI_TRANSFORMS_STALE),
                      arg_of(t, STI_TRANSFORMS_LOCAL), arg_of(t, STI_TRANSFORMS_WORLD),
                      arg_of(t, STI_TRANSFORMS_PARENT), arg_of(t, STI_TRANSFORMS_PRIM), arg_of(t, STI_TRANSFORMS_LEVEL),
                      sti_arg_int(t->nlevel));
}

/* ---- on the host ------------------------------------------------------------------------------------------------- */

static stet_result open_host(sti_host_transforms *host, const stet_device *device)
{
    stet_device_def def = stet_default_device_def();
    if (host->device) return STET_OK;
    def.type = STET_DEVICE_CPU;
    def.threads = stet_device_get_threads(device);
    return stet_device_create(&def, &host->device);
}

/* Brings the copy of one array up to date. */
static stet_result follow(sti_host_transforms *host, int which, stet_array *from, stet_array **out)
{
    stet_array **copy = &host->copy[which].array;
    sti_stamp *kept = &host->copy[which].from;
    const void *content;
    *out = NULL;
    if (!from) return STET_OK;
    bool exported = sti_array_poll_external_writes(from);
    if (*copy && !exported && sti_stamp_is(kept, &from->version)) return *out = *copy, STET_OK;
    if (*copy && stet_array_get_bytes(*copy) != stet_array_get_bytes(from)) {
        stet_array_destroy(*copy);
        *copy = NULL;
    }
    if (!*copy)
        STI_TRY(sti_array_new(host->device, from->name, from->dtype, from->worlds, from->ndim, from->shape, copy));
    sti_stamp_invalidate(kept);
    STI_TRY(stet_array_get_host(from, &content));
    STI_TRY(stet_array_write(*copy, content, stet_array_get_bytes(from)));
    sti_stamp_keep_version(kept, &from->version);
    *out = *copy;
    assert(stet_array_get_bytes(*copy) == stet_array_get_bytes(from) && (*copy)->dtype == from->dtype);
    return STET_OK;
}

static stet_result put_back(sti_host_transforms *host, stet_array *world)
{
    void *mirror;
    STI_TRY(sti_mirror_overwrite(world, &mirror));
    STI_TRY(stet_array_read(host->copy[STI_TRANSFORMS_WORLD].array, mirror, stet_array_get_bytes(world)));
    sti_array_mirror_written(world);
    sti_stamp_keep_version(&host->copy[STI_TRANSFORMS_WORLD].from, &world->version);
    return STET_OK;
}

stet_result sti_transforms_on_host(const sti_transforms *t, sti_host_transforms *host, int64_t *launches)
{
    sti_transforms here = *t;
    assert(!t->device->listing && "the host cannot wait for what is listed");
    STI_TRY(open_host(host, t->device));
    here.device = host->device;
    for (int k = 0; k < STI_TRANSFORMS_ARRAYS; ++k) STI_TRY(follow(host, k, t->array[k], &here.array[k]));
    sti_stamp_invalidate(&host->copy[STI_TRANSFORMS_WORLD].from); /* until it went back */
    STI_TRY(sti_transforms_launch(&here, launches));
    STI_TRY(put_back(host, t->array[STI_TRANSFORMS_WORLD]));
    /* As launches there would: what follows may be captured, and then nothing can be uploaded. */
    for (int k = 0; k < STI_TRANSFORMS_ARRAYS; ++k)
        if (t->array[k]) STI_TRY(sti_array_to_device(t->array[k]));
    return STET_OK;
}

void sti_host_transforms_free(sti_host_transforms *host)
{
    for (int k = 0; k < STI_TRANSFORMS_ARRAYS; ++k) {
        stet_array_destroy(host->copy[k].array);
        sti_stamp_free(&host->copy[k].from);
    }
    stet_device_destroy(host->device);
}
