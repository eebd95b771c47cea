/*
 * The host's interface to arrays: reads and writes of rows, the copy that lets a second read skip the work, hashes.
 *
 * Invariant: the padding of the last block of worlds is never part of what the host reads or hashes.
 */
#include "base/hash.h"
#include "base/plural.h"
#include "device/array.h"
#include "device/host_mirror.h"

#include <string.h>

/* Checks a range of rows (worlds, or the first dimension): `first`, `n`. */
static stet_result check_range(const stet_array *a, int64_t first, int64_t n, size_t size, size_t *expected)
{
    if (first < 0 || n < 0 || first > a->shape[0] || n > a->shape[0] - first)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "array %s: %lld row%s from row %lld on, of %lld", a->name,
                         (long long)n, STI_S(n), (long long)first, (long long)a->shape[0]);
    size_t rows = (size_t)stet_array_get_nelement(a);
    if (a->shape[0]) rows = rows / (size_t)a->shape[0] * (size_t)n;
    *expected = rows * stet_dtype_size(a->device, a->dtype);
    if (size != *expected)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "array %s: %zu bytes given, not the %zu of %lld row%s", a->name,
                         size, *expected, (long long)n, STI_S(n));
    return STET_OK;
}

/* Zero bytes need no memory. */
static stet_result check_pointers(const stet_array *a, const void *memory, size_t size, const char *call)
{
    if (a && (memory || size == 0)) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: %s must not be NULL", call, a ? "the place in memory" : "array");
}

stet_result stet_array_read_worlds(const stet_array *array, int64_t first, int64_t n, void *out, size_t size)
{
    stet_array *a = (stet_array *)array; /* producing content is no change of the array to the caller */
    size_t expected;
    char *mirror = NULL;
    STI_TRY(check_pointers(a, out, size, "stet_array_read_worlds"));
    STI_TRY(check_range(a, first, n, size, &expected));
    STI_TRY(sti_array_ensure(a));
    if (!a->device->can.host_memory) STI_TRY(sti_mirror_address(a, false, size, &mirror));
    a->device->mechanisms.counters.bytes_copied += (int64_t)size;
    return sti_rows_read(a, mirror, first, n, out, size);
}

stet_result stet_array_read(const stet_array *array, void *out, size_t size)
{
    STI_TRY(check_pointers(array, out, size, "stet_array_read"));
    return stet_array_read_worlds(array, 0, array->shape[0], out, size);
}

stet_result stet_array_write_worlds(stet_array *a, int64_t first, int64_t n, const void *data, size_t size)
{
    size_t expected;
    char *mirror = NULL;
    STI_TRY(check_pointers(a, data, size, "stet_array_write_worlds"));
    if (a->read_only)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "array %s: it was imported for reading and cannot be written",
                         a->name);
    STI_TRY(check_range(a, first, n, size, &expected));
    /*
     * The write goes on top of the other rows' up-to-date content, and is later than what the producer has not taken
     * yet.
     */
    STI_TRY(sti_before_host_access(a->device, STI_ACT_WRITE, a, a->name));
    STI_TRY(sti_array_call_producer(a));
    if (size == 0) return STET_OK;
    if (!a->device->can.host_memory) STI_TRY(sti_mirror_address(a, true, size, &mirror));
    STI_TRY(sti_rows_write(a, mirror, first, n, data, size));
    a->device->mechanisms.counters.bytes_copied += (int64_t)size;
    if (mirror)
        sti_array_mirror_written(a);
    else
        sti_version_bump(&a->version);
    return STET_OK;
}

stet_result stet_array_write(stet_array *a, const void *data, size_t size)
{
    STI_TRY(check_pointers(a, data, size, "stet_array_write"));
    return stet_array_write_worlds(a, 0, a->shape[0], data, size);
}

stet_result sti_array_prepare_put(stet_array *a)
{
    void *mirror;
    return sti_mirror_overwrite(a, &mirror);
}

stet_result sti_array_put(stet_array *a, const void *data, size_t size)
{
    void *mirror;
    STI_TRY(sti_before_host_access(a->device, STI_ACT_WRITE, a, a->name));
    STI_TRY(sti_mirror_overwrite(a, &mirror));
    if (sti_mirror_is_current(a) && memcmp(mirror, data, size) == 0) return STET_OK;
    if (a->device->can.host_memory) return stet_array_write(a, data, size);
    memcpy(mirror, data, size);
    a->device->mechanisms.counters.bytes_copied += (int64_t)size;
    sti_array_mirror_written(a);
    return STET_OK;
}

stet_result sti_array_stream_upload(stet_array *a, const void *data, size_t size)
{
    if (!a->device->ops->stream_upload || a->device->lanes > 1) return stet_array_write(a, data, size);
    if (size == 0) return STET_OK;
    STI_TRY(sti_device_stream_upload(a->device, a->name, a->data, data, size));
    a->device->mechanisms.counters.bytes_copied += (int64_t)size;
    sti_version_bump(&a->version);
    return STET_OK;
}

static stet_result fill_mirror(void *context)
{
    stet_array *a = context;
    char *mirror = NULL;
    if (!a->device->can.host_memory) STI_TRY(sti_mirror_address(a, false, stet_array_get_bytes(a), &mirror));
    a->device->mechanisms.counters.bytes_copied += (int64_t)stet_array_get_bytes(a);
    return sti_rows_read(a, mirror, 0, a->shape[0], a->host, stet_array_get_bytes(a));
}

/* For arrays whose order on the device is the host's order, but whose device memory is not the host's. */
static stet_result show_mirror(stet_array *a, const void **out)
{
    void *mirror;
    STI_TRY(sti_array_mirror_read(a, &mirror));
    *out = mirror;
    return STET_OK;
}

stet_result stet_array_get_host(stet_array *a, const void **out)
{
    STI_TRY(check_pointers(a, out, 1, "stet_array_get_host"));
    *out = NULL;
    if (!a->device->can.host_memory && !a->base && (!a->worlds || a->device->lanes == 1)) return show_mirror(a, out);
    bool exported = sti_array_poll_external_writes(a);
    STI_TRY(sti_array_ensure(a));
    if (!a->host) {
        STI_TRY(sti_alloc(&a->host, stet_array_get_bytes(a), a->name));
        sti_count_held(&a->device->mechanisms, STET_MECHANISM_READBACK, (int64_t)stet_array_get_bytes(a));
    }
    sti_stamp now = {0};
    sti_stamp_begin(&now);
    sti_stamp_add(&now, &a->version);
    sti_span span = {a->host, stet_array_get_bytes(a), NULL};
    sti_work work = {
        .mechanism = STET_MECHANISM_READBACK,
        .why = exported ? STET_REASON_READBACK_EXPORTED : STET_REASON_READBACK_MOVED,
        .what = a->name,
        .kept = &a->host_stamp,
        .now = &now,
        .make = fill_mirror,
        .context = a,
        .outputs = &span,
        .noutput = 1,
        .bytes = (int64_t)stet_array_get_bytes(a),
    };
    STI_TRY(sti_let_stand(&a->device->mechanisms, &work));
    *out = a->host;
    return STET_OK;
}

stet_result stet_array_hash(const stet_array *array, uint64_t *out)
{
    STI_TRY(check_pointers(array, out, 1, "stet_array_hash"));
    stet_array *a = (stet_array *)array;
    size_t row = a->shape[0] ? stet_array_get_bytes(a) / (size_t)a->shape[0] : 0;
    int64_t some = row ? (int64_t)((1u << 20) / row) + 1 : 1; /* about a megabyte at a time */
    char *buffer, *mirror = NULL;
    STI_TRY(sti_array_ensure(a));
    if (!a->device->can.host_memory) STI_TRY(sti_mirror_address(a, false, stet_array_get_bytes(a), &mirror));
    STI_TRY(sti_alloc(&buffer, (size_t)some * row, "hash of an array"));
    sti_hash h;
    sti_hash_begin(&h);
    stet_result result = STET_OK;
    for (int64_t w = 0; row > 0 && w < a->shape[0] && result == STET_OK; w += some) {
        int64_t n = a->shape[0] - w < some ? a->shape[0] - w : some;
        result = sti_rows_read(a, mirror, w, n, buffer, (size_t)n * row);
        sti_hash_add(&h, buffer, (size_t)n * row);
    }
    sti_free(buffer);
    *out = sti_hash_end(&h);
    return result;
}
