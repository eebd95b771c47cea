/*
 * The content of arrays as it is: nothing is brought up to date, no generation moves. Where the host cannot touch the
 * device's memory, what is written goes there as another's write would: past stet.
 */
#ifndef TEST_DEVICE_REALS_H
#define TEST_DEVICE_REALS_H

#include "device/host_mirror.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* All bytes in the device's layout: the memory itself, or a copy of it. */
static inline void *bytes_take(const stet_array *a)
{
    stet_device *device = a->device;
    if (device->can.host_memory) return a->data;
    void *copy = malloc(a->size);
    stet_result result = copy ? device->ops->download(device, copy, a->data, a->size) : STET_ERROR_OUT_OF_MEMORY;
    if (result != STET_OK) abort();
    return copy;
}
/* Gives them back; with `written` they go to the device. */
static inline void bytes_give(const stet_array *a, void *bytes, bool written)
{
    stet_device *device = a->device;
    if (device->can.host_memory) return;
    if (written && device->ops->upload(device, a->data, bytes, a->size) != STET_OK) abort();
    free(bytes);
}

static inline bool bytes_equal(const stet_array *a, const void *want, size_t size)
{
    void *bytes = bytes_take(a);
    bool equal = memcmp(bytes, want, size) == 0;
    bytes_give(a, bytes, false);
    return equal;
}

/* Item i of world w, wherever the content is. */
static inline double reals_get(const stet_array *a, int64_t w, int64_t i)
{
    void *mirror;
    if (sti_array_mirror((stet_array *)(uintptr_t)a, &mirror) != STET_OK) abort();
    return sti_mirror_get(a, mirror, w, i);
}
/* On the device, behind stet's back. */
static inline void reals_set(stet_array *a, int64_t w, int64_t i, double x)
{
    int64_t k = a->worlds ? sti_array_index(a, w, i) : i;
    float f = (float)x;
    bool wide = a->device->real_size == 8;
    size_t size = a->device->real_size;
    char *to = (char *)a->data + (size_t)k * size;
    const void *from = wide ? (const void *)&x : (const void *)&f;
    if (a->device->can.host_memory)
        memcpy(to, from, size);
    else if (a->device->ops->upload(a->device, to, from, size) != STET_OK)
        abort();
}

#endif
