/*
 * Faces: the host's side of arrays, in the device's own layout, for host code that reads or writes what kernels write or read.
 *
 * Where the host can address the device's memory, the face is that memory and all of this is one test. Elsewhere it is memory of its own,
 * made when first asked for, and content crosses only when the other side needs it (mechanism readback). Which side is current is told by
 * versions: what the face holds, and what both sides held when last it crossed.
 *
 * Invariants:
 *   F1  content is on the device, or in the face, or both; a copy that fails leaves it where it was, and the next ask tries again
 *   F2  a face that was written goes to the device before anything on the device touches the array: a launch, a copy, a tensor of others
 *   F3  nothing can fail between taking a face for writing and announcing it, and nothing else touches the array meanwhile
 *   F4  while tensors of others show the array's memory, or a graph of theirs holds its address, a written face goes there at once: what
 *       they do later is on top of it, and finds it
 *   F5  a view has no face; reads of it, and what is sent ahead of its launches, are its owner's
 */
#ifndef STI_DEVICE_FACE_H
#define STI_DEVICE_FACE_H

#include "device/device.h"

/* The content, current and in the device's layout; borrowed until the array is touched otherwise. No producer is asked, no list played. */
stet_result sti_face_bring(stet_array *array, void **out);
static inline stet_result sti_array_face(stet_array *array, void **out)
{
    *out = array->data;
    return array->device->host_memory ? STET_OK : sti_face_bring(array, out);
}

/* sti_array_produce would find nothing to do: the answer for most arguments of most launches. */
static inline bool sti_array_settled(const stet_array *a) { return !a->producer && !a->share && !a->base && !a->face; }

/* The same for a reader: brings the content up to date first. */
static inline stet_result sti_array_face_read(stet_array *array, void **out)
{
    *out = NULL;
    STI_TRY(sti_array_ensure(array));
    return sti_array_face(array, out);
}

/* For writing in place, all of it or a part: launches that touch the array and were listed run first; no producer is asked. */
static inline stet_result sti_array_face_write(stet_array *array, void **out)
{
    *out = NULL;
    STI_TRY(sti_before(array->device, STI_ACT_WRITE, array, array->name));
    return sti_array_face(array, out);
}

/* The same for writing all of it: what the device has is not fetched first. Not while launches are listed. */
stet_result sti_face_overwrite(stet_array *array, void **out);
/* Does the host have the content already? */
bool sti_array_host_has(const stet_array *array);
/* `bytes` (the array's size, in its layout) are what the device's memory got just now by a copy: where the host has a side, both hold it. */
void sti_array_host_gets(stet_array *array, const void *bytes);
/* A face that was taken for writing has been written. */
void sti_face_announce(stet_array *array);
static inline void sti_array_face_written(stet_array *array)
{
    if (array->device->host_memory)
        sti_version_bump(&array->version);
    else
        sti_face_announce(array);
}

/*
 * Launches over the array became a part of somebody else's graph, which may run at any time, and stet hears of it only afterwards: from here on
 * what the host writes does not wait for stet's next launch (F4).
 */
static inline void sti_array_set_outside(stet_array *array)
{
    while (array->base) array = array->base;
    array->outside = true;
}

/* Item i of world w (of a plain array: item i) as float or double. */
static inline double sti_face_get(const stet_array *a, const void *face, int64_t w, int64_t i)
{
    int64_t k = a->worlds ? sti_array_index(a, w, i) : i;
    return a->device->real_size == 8 ? ((const double *)face)[k] : (double)((const float *)face)[k];
}
static inline void sti_face_set(const stet_array *a, void *face, int64_t w, int64_t i, double x)
{
    int64_t k = a->worlds ? sti_array_index(a, w, i) : i;
    if (a->device->real_size == 8)
        ((double *)face)[k] = x;
    else
        ((float *)face)[k] = (float)x;
}

/*
 * A few bytes of the device's memory alone, at an offset in it, for those who touch little of a large array: worth it if `n` such pieces cross
 * faster than all of it does, and the host does not have it. Whoever puts announces (sti_version_bump), after sti_before.
 */
bool sti_face_in_parts(const stet_array *array, int64_t n);
stet_result sti_face_get_part(stet_array *array, size_t offset, void *to, size_t size);
stet_result sti_face_put_part(stet_array *array, size_t offset, const void *from, size_t size);

/* What an audit saves and compares: the array's content, wherever it is. */
sti_span sti_array_span(const stet_array *array);

/* ---- inside the layer ---- */

/* Only the face has the content. */
bool sti_face_ahead(const stet_array *array);
/* The face's place of the array's data (also of a view's), if the content can be read there, or (`writes`) written; else NULL. */
stet_result sti_face_reach(stet_array *array, bool writes, size_t bytes, char **out);
void sti_face_free(stet_array *array);
/*
 * The generation moves because somebody else says that he wrote. Who writes had what the host wrote before (F4): a face that is ahead all the
 * same is the later one, and stays the content.
 */
void sti_face_told(stet_array *array);

#endif
