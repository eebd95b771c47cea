/* Host mirrors: creating them, and copying between them and the device; see host_mirror.h for the invariants. */
#include "device/host_mirror.h"

#include "device/share.h"

#include <assert.h>
#include <string.h>

typedef struct sti_host_mirror {
    void *memory;   /* of the array's size */
    sti_stamp held; /* version of the content that it holds */
    /* version of the content that it and the device held after the last copy, in either direction */
    sti_stamp sent;
} sti_host_mirror;

/* The array whose memory a view shows (MIRROR-5). */
static stet_array *owner(const stet_array *a)
{
    while (a->base) a = a->base;
    assert(a->device);
    return (stet_array *)a;
}

static size_t offset_in(const stet_array *own, const stet_array *a)
{
    assert((char *)a->data >= (char *)own->data && (char *)a->data + a->size <= (char *)own->data + own->size);
    return (size_t)((uintptr_t)a->data - (uintptr_t)own->data);
}

static bool mirror_holds(const stet_array *a) { return a->mirror && sti_stamp_is(&a->mirror->held, &a->version); }

bool sti_mirror_is_dirty(const stet_array *a)
{
    return mirror_holds(a) && !sti_stamp_is(&a->mirror->sent, &a->version);
}

/* May something outside of stet read or write the array's memory at any time (MIRROR-4)? */
static bool is_shown(const stet_array *a) { return a->outside || (a->share && sti_share_shown(a->share)); }

static bool enabled(const stet_array *a) { return sti_enabled(&a->device->mechanisms, STET_MECHANISM_READBACK); }

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static stet_result alloc_mirror_memory(stet_device *device, size_t size, const char *what, void **out)
{
    return device->ops->host_alloc ? device->ops->host_alloc(device, size, what, out) : sti_alloc(out, size, what);
}

static stet_result make_mirror(stet_array *a)
{
    assert(!a->mirror && !a->base && !a->device->can.host_memory && a->size > 0 && "MIRROR-5");
    sti_host_mirror *mirror;
    STI_TRY(sti_alloc(&mirror, sizeof *mirror, "the host's side of an array"));
    stet_result result = alloc_mirror_memory(a->device, a->size, a->name, &mirror->memory);
    if (result != STET_OK) {
        sti_free(mirror);
        return result;
    }
    sti_count_held(&a->device->mechanisms, STET_MECHANISM_READBACK, (int64_t)a->size);
    a->mirror = mirror;
    return STET_OK;
}

void sti_mirror_free(stet_array *a)
{
    sti_host_mirror *mirror = a->mirror;
    if (!mirror) return;
    a->mirror = NULL;
    sti_count_held(&a->device->mechanisms, STET_MECHANISM_READBACK, -(int64_t)a->size);
    if (a->device->ops->host_free)
        a->device->ops->host_free(a->device, mirror->memory);
    else
        sti_free(mirror->memory);
    sti_stamp_free(&mirror->held);
    sti_stamp_free(&mirror->sent);
    sti_free(mirror);
}

/* ---- crossing ---------------------------------------------------------------------------------------------------- */

/* Both sides hold the same content now. */
static void note_copy(stet_array *a)
{
    assert(a->mirror && a->size > 0);
    a->device->mechanisms.counters.bytes_copied += (int64_t)a->size;
    sti_stamp_keep_version(&a->mirror->sent, &a->version);
}

static stet_result download(void *context)
{
    stet_array *a = context;
    STI_TRY(sti_device_download_of(a->device, a->name, a->mirror->memory, a->data, a->size));
    note_copy(a);
    return STET_OK;
}

static stet_result upload(void *context)
{
    stet_array *a = context;
    STI_TRY(sti_device_upload_of(a->device, a->name, a->data, a->mirror->memory, a->size));
    note_copy(a);
    return STET_OK;
}

static stet_result copy_if_stale(stet_array *a, sti_stamp *kept, stet_reason why, stet_result (*make)(void *context),
                                 const sti_span *output)
{
    sti_stamp now = {0};
    sti_stamp_keep_version(&now, &a->version);
    sti_work work = {.mechanism = STET_MECHANISM_READBACK,
                     .why = why,
                     .what = a->name,
                     .kept = kept,
                     .now = &now,
                     .make = make,
                     .context = a,
                     .outputs = output,
                     .noutput = 1,
                     .bytes = (int64_t)a->size};
    return sti_let_stand(&a->device->mechanisms, &work);
}

/* Downloads the device's content, whatever the host mirror holds. */
static stet_result fetch_device(const void *array, size_t size, void *to)
{
    const stet_array *a = array;
    return sti_device_download_of(a->device, a->name, to, a->data, size);
}

/*
 * No listed launch that touches the array is pending: such launches ran before the host mirror was taken for writing,
 * and a launch that is listed later uploads the host mirror first.
 */
static stet_result send_host_mirror(stet_array *a)
{
    /* With the mechanism off each read downloads; but only a dirty mirror needs an upload. */
    bool ahead = sti_mirror_is_dirty(a);
    if (!ahead && !enabled(a)) return STET_OK;
    /* Each launch calls this for each argument, so the hit is counted without making a stamp. */
    if (!ahead && !a->device->mechanisms.options.audit) {
        sti_count_hit(&a->device->mechanisms, STET_MECHANISM_READBACK, 0, (int64_t)a->size);
        return STET_OK;
    }
    sti_span output = {a, a->size, fetch_device};
    return copy_if_stale(a, &a->mirror->sent, STET_REASON_READBACK_UPLOADED, upload, &output);
}

stet_result sti_array_to_device(stet_array *a)
{
    stet_array *own = owner(a);
    if (own->mirror) sti_validate_mirror(own);
    if (!mirror_holds(own)) return STET_OK;
    STI_TRY(send_host_mirror(own));
    /* a write to the view does not move its owner's version */
    if (own != a) sti_stamp_invalidate(&own->mirror->held);
    return STET_OK;
}

stet_result sti_mirror_download(stet_array *a, void **out)
{
    *out = a->data; /* an empty array has no content anywhere */
    if (a->size == 0) return STET_OK;
    *out = NULL;
    bool exported = sti_array_poll_external_writes(a);
    if (!a->mirror) STI_TRY(make_mirror(a));
    /* If the host mirror will be downloaded again although it is valid, the device must first have its content. */
    if (sti_mirror_is_dirty(a) && (!enabled(a) || a->device->mechanisms.options.audit)) STI_TRY(send_host_mirror(a));
    sti_span output = {a->mirror->memory, a->size, NULL};
    stet_reason why = exported ? STET_REASON_READBACK_EXPORTED : STET_REASON_READBACK_MOVED;
    STI_TRY(copy_if_stale(a, &a->mirror->held, why, download, &output));
    sti_validate_mirror(a);
    *out = a->mirror->memory;
    return STET_OK;
}

stet_result sti_mirror_overwrite(stet_array *a, void **out)
{
    *out = a->data;
    if (a->device->can.host_memory || a->size == 0) return STET_OK;
    *out = NULL;
    if (!a->mirror) STI_TRY(make_mirror(a));
    *out = a->mirror->memory;
    return STET_OK;
}

bool sti_mirror_is_current(const stet_array *a)
{
    return a->device->can.host_memory || a->size == 0 || mirror_holds(a);
}

void sti_mirror_fill(stet_array *a, const void *bytes)
{
    if (!a->mirror || a->size == 0) return;
    memcpy(a->mirror->memory, bytes, a->size);
    sti_stamp_keep_version(&a->mirror->held, &a->version);
    sti_stamp_keep_version(&a->mirror->sent, &a->version);
}

/* MIRROR-4. A failed upload is only logged: the next use of the array uploads again, and reports the error. */
void sti_mirror_mark_written(stet_array *a)
{
    sti_version_bump(&a->version);
    if (!a->mirror) return; /* an empty array */
    sti_stamp_keep_version(&a->mirror->held, &a->version);
    if (!is_shown(a)) return;
    if (sti_array_to_device(a) != STET_OK)
        sti_log(STET_LOG_WARNING, "array %s: what was written on the host did not reach the device: %s", a->name,
                stet_get_last_error());
}

void sti_mirror_external_write(stet_array *a)
{
    bool ahead = sti_mirror_is_dirty(a);
    sti_version_bump(&a->version);
    if (ahead) sti_stamp_keep_version(&a->mirror->held, &a->version);
}

bool sti_array_poll_external_writes(stet_array *a)
{
    bool writer = false;
    if (!a->share) return false;
    /* A dirty host mirror is the later write: it is uploaded when that is possible. */
    if (sti_mirror_is_dirty(a)) return sti_share_writer(a->share);
    if (sti_share_poll_external_writes(a->share, &writer)) sti_version_bump(&a->version);
    return writer;
}

/* ---- reads and writes of the caller ------------------------------------------------------------------------------ */

stet_result sti_mirror_address(stet_array *a, bool writes, size_t bytes, char **out)
{
    sti_mechanisms *m = &a->device->mechanisms;
    stet_array *own = owner(a);
    void *memory;
    *out = NULL;
    if (!mirror_holds(own)) return STET_OK;
    /* A write to a view, and a write that must be visible outside of stet at once, go to the device. */
    if (!enabled(own) || (writes && (own != a || is_shown(own)))) return sti_array_to_device(a);
    memory = own->mirror->memory;
    if (!writes && m->options.audit)
        STI_TRY(sti_mirror_download(own, &memory));
    else if (!writes)
        sti_count_hit(m, STET_MECHANISM_READBACK, 0, (int64_t)bytes);
    *out = (char *)memory + offset_in(own, a);
    return STET_OK;
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* A large copy of this many bytes takes as long as a small one: some ten microseconds. */
enum { SMALL_COPY = 128 << 10 };

bool sti_mirror_in_parts(const stet_array *a, int64_t n)
{
    bool rows = a->device->lanes == 1 && !a->base; /* elsewhere a row is not contiguous */
    return !a->device->can.host_memory && rows && n <= (int64_t)(a->size / SMALL_COPY) && !mirror_holds(a);
}

stet_result sti_mirror_get_part(stet_array *a, size_t offset, void *to, size_t size)
{
    assert(offset + size <= a->size && !mirror_holds(a));
    STI_TRY(sti_device_download_of(a->device, a->name, to, (const char *)a->data + offset, size));
    a->device->mechanisms.counters.bytes_copied += (int64_t)size;
    return STET_OK;
}

stet_result sti_mirror_put_part(stet_array *a, size_t offset, const void *from, size_t size)
{
    assert(offset + size <= a->size && !mirror_holds(a));
    STI_TRY(sti_device_upload_of(a->device, a->name, (char *)a->data + offset, from, size));
    a->device->mechanisms.counters.bytes_copied += (int64_t)size;
    return STET_OK;
}

/* ---- audits ------------------------------------------------------------------------------------------------------ */

static stet_result fetch_content(const void *array, size_t size, void *to)
{
    const stet_array *a = array, *own = owner(a);
    if (!mirror_holds(own)) return fetch_device(a, size, to);
    memcpy(to, (const char *)own->mirror->memory + offset_in(own, a), size);
    return STET_OK;
}

/* Lanes beyond the last world hold any number: kernels write them and no producer makes them again. */
static stet_result fetch_worlds(const void *array, size_t size, void *to)
{
    const stet_array *a = array;
    size_t e = stet_dtype_size(a->device, a->dtype), b = (size_t)a->device->lanes, used = (size_t)a->shape[0] % b;
    char *last = (char *)to + size - (size_t)a->nitem * b * e;
    memcpy(to, a->data, size);
    for (size_t i = 0; i < (size_t)a->nitem; ++i) memset(last + (i * b + used) * e, 0, (b - used) * e);
    return STET_OK;
}

sti_span sti_array_span(const stet_array *a)
{
    if (a->device->can.host_memory && a->worlds && a->shape[0] % a->device->lanes != 0)
        return (sti_span){a, a->size, fetch_worlds};
    if (a->device->can.host_memory) return (sti_span){a->data, a->size, NULL};
    return (sti_span){a, a->size, fetch_content};
}

#ifndef NDEBUG

/* A stamp of a mirror is of its array, and not of a later generation. */
static void validate_mirror_stamp(const stet_array *a, const sti_stamp *s)
{
    sti_validate_stamp(s);
    if (!s->valid) return;
    assert(s->count == 2 && s->capacity == 0);
    assert(s->few[0] == a->version.id && s->few[1] <= a->version.generation);
}

void sti_validate_mirror(const stet_array *a)
{
    assert(!a->base && "MIRROR-5: a view has no host mirror");
    assert(!a->device->can.host_memory && a->size > 0);
    assert(a->mirror->memory);
    validate_mirror_stamp(a, &a->mirror->held);
    validate_mirror_stamp(a, &a->mirror->sent);
}

#endif
