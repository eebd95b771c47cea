/*
 * Copies rows of arrays between the device's layout, wherever the content is, and the host's [world][item].
 *
 * Invariant: the padding of the last block of worlds is never part of what the host reads.
 */
#include "device/array.h"

#include <string.h>

/* Copies between blocked memory that the host can access and [world][item]; an element is 4 or 8 bytes. */
static void transpose_worlds(const stet_array *a, char *blocked, char *rows, int64_t first, int64_t n, bool to_rows)
{
    size_t e = stet_dtype_size(a->device, a->dtype), b = (size_t)a->device->lanes, nitem = (size_t)a->nitem;
    for (int64_t w = first; w < first + n; ++w) {
        char *p = blocked + ((size_t)w / b * nitem * b + (size_t)w % b) * e;
        char *row = rows + (size_t)(w - first) * nitem * e;
        if (e == 4 && to_rows)
            for (size_t i = 0; i < nitem; ++i)
                ((uint32_t *)(void *)row)[i] = ((const uint32_t *)(const void *)p)[i * b];
        else if (e == 4)
            for (size_t i = 0; i < nitem; ++i)
                ((uint32_t *)(void *)p)[i * b] = ((const uint32_t *)(const void *)row)[i];
        else if (to_rows)
            for (size_t i = 0; i < nitem; ++i)
                ((uint64_t *)(void *)row)[i] = ((const uint64_t *)(const void *)p)[i * b];
        else
            for (size_t i = 0; i < nitem; ++i)
                ((uint64_t *)(void *)p)[i * b] = ((const uint64_t *)(const void *)row)[i];
    }
}

/* Whole blocks of worlds staged in host memory, of a device whose memory the host cannot access. */
typedef struct staged {
    char *host, *device; /* the blocks' two addresses */
    size_t size;
    int64_t first; /* world of the first lane */
} staged;

/* Stages the blocks of the worlds first … first + n - 1, with their content or zeroed. */
static stet_result stage(const stet_array *a, int64_t first, int64_t n, bool content, staged *out)
{
    int64_t lanes = a->device->lanes, block = first / lanes, end = (first + n + lanes - 1) / lanes;
    size_t one = (size_t)(a->nitem * lanes) * stet_dtype_size(a->device, a->dtype);
    out->first = block * lanes;
    out->size = (size_t)(end - block) * one;
    out->device = (char *)a->data + (size_t)block * one;
    STI_TRY(sti_alloc(&out->host, out->size, a->name));
    stet_result result =
        content ? sti_device_download_of(a->device, a->name, out->host, out->device, out->size) : STET_OK;
    if (result != STET_OK) sti_free(out->host);
    return result;
}

static stet_result read_blocks(const stet_array *a, int64_t first, int64_t n, void *out)
{
    staged s;
    if (n == 0) return STET_OK;
    STI_TRY(stage(a, first, n, true, &s));
    transpose_worlds(a, s.host, out, first - s.first, n, true);
    sti_free(s.host);
    return STET_OK;
}

/* Lanes of the first and last block that are not written keep their content. */
static stet_result write_blocks(stet_array *a, int64_t first, int64_t n, const void *rows)
{
    staged s;
    int64_t lanes = a->device->lanes;
    STI_TRY(stage(a, first, n, first % lanes != 0 || n % lanes != 0, &s));
    transpose_worlds(a, s.host, (char *)(uintptr_t)rows, first - s.first, n, false);
    stet_result result = sti_device_upload_of(a->device, a->name, s.device, s.host, s.size);
    sti_free(s.host);
    return result;
}

/* The same within the array's own memory; it is traced as a copy. */
static void transpose_traced(const stet_array *a, char *rows, int64_t first, int64_t n, size_t size, bool to_rows)
{
    sti_trace *trace = a->device->mechanisms.trace;
    sti_trace_mark mark = {0};
    if (trace)
        mark = sti_trace_open(trace, &(sti_trace_what){.kind = to_rows ? STET_TRACE_DOWNLOAD : STET_TRACE_UPLOAD,
                                                       .name = a->name,
                                                       .amount = (int64_t)size});
    transpose_worlds(a, a->data, rows, first, n, to_rows);
    if (trace) sti_trace_close(trace, mark, STET_OK);
}

/* Copies rows between the caller's memory and a host mirror. */
static void move_rows(const stet_array *a, char *mirror, char *rows, int64_t first, int64_t n, size_t size,
                      bool to_rows)
{
    char *at = mirror + (n > 0 ? size / (size_t)n * (size_t)first : 0);
    if (a->worlds && a->device->lanes > 1)
        transpose_worlds(a, mirror, rows, first, n, to_rows);
    else
        memcpy(to_rows ? rows : at, to_rows ? at : rows, size);
}

stet_result sti_rows_read(const stet_array *a, char *mirror, int64_t first, int64_t n, void *out, size_t size)
{
    if (size == 0) return STET_OK;
    if (mirror) {
        move_rows(a, mirror, out, first, n, size, true);
        return STET_OK;
    }
    if (a->worlds && a->device->lanes > 1) {
        if (!a->device->can.host_memory) return read_blocks(a, first, n, out);
        transpose_traced(a, out, first, n, size, true);
        return STET_OK;
    }
    size_t row = a->shape[0] ? stet_array_get_bytes(a) / (size_t)a->shape[0] : 0;
    return sti_device_download_of(a->device, a->name, out, (const char *)a->data + (size_t)first * row, size);
}

stet_result sti_rows_write(stet_array *a, char *mirror, int64_t first, int64_t n, const void *data, size_t size)
{
    if (mirror) {
        move_rows(a, mirror, (char *)(uintptr_t)data, first, n, size, false);
        return STET_OK;
    }
    if (a->worlds && a->device->lanes > 1) {
        if (!a->device->can.host_memory) return write_blocks(a, first, n, data);
        transpose_traced(a, (char *)(uintptr_t)data, first, n, size, false);
        return STET_OK;
    }
    size_t row = a->shape[0] ? stet_array_get_bytes(a) / (size_t)a->shape[0] : 0;
    return sti_device_upload_of(a->device, a->name, (char *)a->data + (size_t)first * row, data, size);
}
