/*
 * Host mirrors: the host's side of arrays, in the device's own layout, for host code that reads or writes what kernels write or read.
 *
 * Where the host can address the device's memory, the host mirror is that memory and all of this is one test. Elsewhere it is memory of its own,
 * made when first asked for, and content crosses only when the other side needs it (mechanism readback). Which side is current is told by
 * versions: what the host mirror holds, and what both sides held when last it crossed.
 *
 * Invariants:
 *   MIRROR-1  content is on the device, or in the host mirror, or both; a copy that fails leaves it where it was, and the next ask tries again
 *   MIRROR-2  a host mirror that was written goes to the device before anything on the device touches the array: a launch, a copy, a tensor of others
 *   MIRROR-3  nothing can fail between taking a host mirror for writing and announcing it, and nothing else touches the array meanwhile
 *   MIRROR-4  while tensors of others show the array's memory, or a graph of theirs holds its address, a written host mirror goes there at once: what
 *       they do later is on top of it, and finds it
 *   MIRROR-5  a view has no host mirror; reads of it, and what is sent ahead of its launches, are its owner's
 */
#ifndef STI_DEVICE_HOST_MIRROR_H
#define STI_DEVICE_HOST_MIRROR_H

#include "device/device.h"

/* The content, current and in the device's layout; borrowed until the array is touched otherwise. No producer is asked, no list played. */
stet_result sti_mirror_bring(stet_array *array, void **out);
static inline stet_result sti_array_mirror(stet_array *array, void **out)
{
    *out = array->data;
    return array->device->host_memory ? STET_OK : sti_mirror_bring(array, out);
}

/* sti_array_produce would find nothing to do: the answer for most arguments of most launches. */
static inline bool sti_array_is_current(const stet_array *a)
{
    return !a->producer && !a->share && !a->base && !a->mirror;
}

/* The same for a reader: brings the content up to date first. */
static inline stet_result sti_array_mirror_read(stet_array *array, void **out)
{
    *out = NULL;
    STI_TRY(sti_array_ensure(array));
    return sti_array_mirror(array, out);
}

/* For writing in place, all of it or a part: launches that touch the array and were listed run first; no producer is asked. */
static inline stet_result sti_array_mirror_write(stet_array *array, void **out)
{
    *out = NULL;
    STI_TRY(sti_before(array->device, STI_ACT_WRITE, array, array->name));
    return sti_array_mirror(array, out);
}

/* The same for writing all of it: what the device has is not fetched first. Not while launches are listed. */
stet_result sti_mirror_overwrite(stet_array *array, void **out);
/* Does the host have the content already? */
bool sti_array_host_has(const stet_array *array);
/* `bytes` (the array's size, in its layout) are what the device's memory got just now by a copy: where the host has a side, both hold it. */
void sti_array_host_gets(stet_array *array, const void *bytes);
/* A host mirror that was taken for writing has been written. */
void sti_mirror_announce(stet_array *array);
static inline void sti_array_mirror_written(stet_array *array)
{
    if (array->device->host_memory)
        sti_version_bump(&array->version);
    else
        sti_mirror_announce(array);
}

/*
 * Launches over the array became a part of somebody else's graph, which may run at any time, and stet hears of it only afterwards: from here on
 * what the host writes does not wait for stet's next launch (MIRROR-4).
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
 * A few bytes of the device's memory alone, at an offset in it, for those who touch little of a large array: worth it if `n` such pieces cross
 * faster than all of it does, and the host does not have it. Whoever puts announces (sti_version_bump), after sti_before.
 */
bool sti_mirror_in_parts(const stet_array *array, int64_t n);
stet_result sti_mirror_get_part(stet_array *array, size_t offset, void *to, size_t size);
stet_result sti_mirror_put_part(stet_array *array, size_t offset, const void *from, size_t size);

/* What an audit saves and compares: the array's content, wherever it is. */
sti_span sti_array_span(const stet_array *array);

/* ---- inside the layer ---- */

/* Only the host mirror has the content. */
bool sti_mirror_ahead(const stet_array *array);
/* The host mirror's place of the array's data (also of a view's), if the content can be read there, or (`writes`) written; else NULL. */
stet_result sti_mirror_reach(stet_array *array, bool writes, size_t bytes, char **out);
void sti_mirror_free(stet_array *array);
/*
 * The generation moves because somebody else says that he wrote. Who writes had what the host wrote before (MIRROR-4): a host mirror that is ahead all the
 * same is the later one, and stays the content.
 */
void sti_mirror_external_write(stet_array *array);

#endif
