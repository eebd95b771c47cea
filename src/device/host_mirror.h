/*
 * Host mirrors: the host's copies of arrays, in the device's layout, for host code that shares arrays with kernels.
 *
 * Where the host can access the device's memory, the host mirror is that memory and every function here is a single
 * test. Elsewhere it is memory of its own, made when it is first needed. Content is copied only when the other side
 * needs it (mechanism readback). Two stamps say which side is current: the version that the mirror holds, and the
 * version that both sides held at the last copy.
 *
 * Invariants:
 *   MIRROR-1  the content is on the device, in the host mirror, or in both; a failed copy changes nothing, and the next
 *       call tries again
 *   MIRROR-2  a dirty host mirror is uploaded before anything on the device touches the array: a launch, a copy, a
 *       tensor of the caller
 *   MIRROR-3  nothing can fail between taking a host mirror for writing and announcing the write, and nothing else
 *       touches the array meanwhile
 *   MIRROR-4  while tensors show the array's memory, or a graph of the caller holds its address, a written host mirror
 *       is uploaded at once: later writes through them find it and win over it
 *   MIRROR-5  a view has no host mirror; its reads, and the uploads before its launches, use its owner's
 */
#ifndef STI_DEVICE_HOST_MIRROR_H
#define STI_DEVICE_HOST_MIRROR_H

#include "device/device.h"

/*
 * Returns the content, current and in the device's layout; valid until the array is touched in another way. Calls no
 * producer and runs no listed launches.
 */
stet_result sti_mirror_download(stet_array *array, void **out);
static inline stet_result sti_array_mirror(stet_array *array, void **out)
{
    *out = array->data;
    return array->device->can.host_memory ? STET_OK : sti_mirror_download(array, out);
}

/* True if sti_array_produce would do nothing, as for most arguments of most launches. */
static inline bool sti_array_is_current(const stet_array *a)
{
    return !a->producer && !a->share && !a->base && !a->mirror;
}

/* sti_array_mirror for a reader: brings the content up to date first. */
static inline stet_result sti_array_mirror_read(stet_array *array, void **out)
{
    *out = NULL;
    STI_TRY(sti_array_ensure(array));
    return sti_array_mirror(array, out);
}

/* sti_array_mirror for writing all or part in place; runs listed launches that touch the array. Calls no producer. */
static inline stet_result sti_array_mirror_write(stet_array *array, void **out)
{
    *out = NULL;
    STI_TRY(sti_before_host_access(array->device, STI_ACT_WRITE, array, array->name));
    return sti_array_mirror(array, out);
}

/* sti_array_mirror for overwriting all of it: downloads nothing. Not while launches are listed. */
stet_result sti_mirror_overwrite(stet_array *array, void **out);
/* True if the host already has the content. */
bool sti_mirror_is_current(const stet_array *array);
/*
 * A copy has just put `bytes` (the array's size, in its layout) into the device's memory. If there is a host mirror, it
 * gets them, too.
 */
void sti_mirror_fill(stet_array *array, const void *bytes);
/* Announces that a host mirror taken for writing has been written. */
void sti_mirror_mark_written(stet_array *array);
static inline void sti_array_mirror_written(stet_array *array)
{
    if (array->device->can.host_memory)
        sti_version_bump(&array->version);
    else
        sti_mirror_mark_written(array);
}

/*
 * Launches over the array became part of a graph of the caller, which may run at any time without a call of stet. From
 * now on a host write is uploaded at once instead of before stet's next launch (MIRROR-4).
 */
static inline void sti_array_set_outside(stet_array *array)
{
    while (array->base) array = array->base;
    array->outside = true;
}

/* Item i of world w (of a plain array: item i) as float or double. */
static inline double sti_mirror_get(const stet_array *a, const void *mirror, int64_t w, int64_t i)
{
    int64_t k = a->worlds ? sti_array_index(a, w, i) : i;
    return a->device->real_size == 8 ? ((const double *)mirror)[k] : (double)((const float *)mirror)[k];
}
static inline void sti_mirror_set(const stet_array *a, void *mirror, int64_t w, int64_t i, double x)
{
    int64_t k = a->worlds ? sti_array_index(a, w, i) : i;
    if (a->device->real_size == 8)
        ((double *)mirror)[k] = x;
    else
        ((float *)mirror)[k] = (float)x;
}

/*
 * Reads and writes a few bytes of the device's memory at an offset, for callers that need little of a large array.
 * sti_mirror_in_parts: `n` such copies are faster than copying all of it, and the host does not have the content. A
 * writer calls sti_before_host_access first and sti_version_bump afterwards.
 */
bool sti_mirror_in_parts(const stet_array *array, int64_t n);
stet_result sti_mirror_get_part(stet_array *array, size_t offset, void *to, size_t size);
stet_result sti_mirror_put_part(stet_array *array, size_t offset, const void *from, size_t size);

/* The array's content, wherever it is, as an audit saves and compares it. */
sti_span sti_array_span(const stet_array *array);

/* ---- inside the layer ---- */

/* True if only the host mirror has the content (it is dirty). */
bool sti_mirror_is_dirty(const stet_array *array);
/*
 * Returns the host mirror's address of the array's data (also of a view's) if the content can be read there or, with
 * `writes`, written there; else NULL.
 */
stet_result sti_mirror_address(stet_array *array, bool writes, size_t bytes, char **out);
void sti_mirror_free(stet_array *array);
/* Of an array with a host mirror. */
STI_VALIDATE(mirror, stet_array)
/*
 * Moves the generation because the caller says that it wrote the array outside of stet. Host writes were uploaded
 * before that (MIRROR-4). If the host mirror is still dirty, it is the later write and stays the content.
 */
void sti_mirror_external_write(stet_array *array);

#endif
