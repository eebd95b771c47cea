/*
 * Arrays: creation, what the host sees of them, versions.
 *
 * Invariant: the padding of the last block of worlds is never part of what the host reads or hashes.
 */
#include "base/hash.h"
#include "device/device.h"
#include "device/face.h"
#include "device/share.h"

#include <stdio.h>
#include <string.h>

enum { ARRAY_COOKIE = 0x57e7a001 };

size_t stet_dtype_size(const stet_device *device, stet_dtype dtype)
{
    switch (dtype) {
    case STET_REAL: return device->real_size;
    case STET_INT:
    case STET_U32: return 4;
    case STET_I64: return 8;
    case STET_U16:
    case STET_F16: return 2;
    case STET_U8: return 1;
    default: return 0;
    }
}

const char *stet_dtype_name(stet_dtype dtype)
{
    static const char *const names[] = {"real", "int", "i64", "u32", "u16", "u8", "f16"};
    return (unsigned)dtype < STET_DTYPE_COUNT ? names[dtype] : "?";
}

stet_array_def stet_default_array_def(void)
{
    return (stet_array_def){.cookie = ARRAY_COOKIE, .name = "array", .dtype = STET_REAL, .ndim = 1};
}

static stet_result check_def(const stet_array_def *def)
{
    if (def->cookie != ARRAY_COOKIE)
        return sti_error(STET_INVALID_ARGUMENT,
                         "array: the def is not initialised; start from stet_default_array_def()");
    const char *name = def->name ? def->name : "array";
    if ((unsigned)def->dtype >= STET_DTYPE_COUNT)
        return sti_error(STET_INVALID_ARGUMENT, "array %s: there is no element type %d", name, (int)def->dtype);
    if (def->ndim < 1 || def->ndim > STET_MAX_DIMS)
        return sti_error(STET_INVALID_ARGUMENT, "array %s: %d dimensions; 1 to %d are possible", name, def->ndim,
                         STET_MAX_DIMS);
    if (def->worlds && def->dtype != STET_REAL && def->dtype != STET_INT)
        return sti_error(STET_INVALID_ARGUMENT, "array %s: an array of worlds holds real or int, not %s", name,
                         stet_dtype_name(def->dtype));
    for (int k = 0; k < def->ndim; ++k)
        if (def->shape[k] < 0)
            return sti_error(STET_INVALID_ARGUMENT, "array %s: dimension %d is %lld", name, k,
                             (long long)def->shape[k]);
    return STET_OK;
}

/* Items, blocks and bytes from the shape. */
static stet_result measure(stet_array *a)
{
    size_t nitem = 1, count, block = (size_t)a->device->lanes;
    for (int k = a->worlds ? 1 : 0; k < a->ndim; ++k)
        STI_TRY(sti_mul_size(nitem, (size_t)a->shape[k], &nitem, a->name));
    size_t nblock = a->worlds ? ((size_t)a->shape[0] + block - 1) / block : 1;
    STI_TRY(sti_mul_size(nitem, nblock, &count, a->name));
    if (a->worlds) STI_TRY(sti_mul_size(count, block, &count, a->name));
    STI_TRY(sti_mul_size(count, stet_dtype_size(a->device, a->dtype), &a->size, a->name));
    if (a->size > (size_t)INT64_MAX / 2)
        return sti_error(STET_LIMIT, "array %s: %zu bytes are more than can be addressed", a->name, a->size);
    a->nitem = (int64_t)nitem;
    a->nblock = (int64_t)nblock;
    return STET_OK;
}

static stet_result describe(stet_array *a, const stet_array_def *def)
{
    snprintf(a->name, sizeof a->name, "%s", def->name ? def->name : "array");
    a->dtype = def->dtype;
    a->worlds = def->worlds;
    a->ndim = def->ndim;
    memcpy(a->shape, def->shape, sizeof a->shape);
    a->version = sti_version_new();
    return measure(a);
}

stet_result sti_array_make(stet_device *device, const stet_array_def *def, stet_array **out)
{
    *out = NULL;
    STI_TRY(check_def(def));
    STI_TRY(sti_before(device, STI_ACT_CREATE, NULL, def->name ? def->name : "array"));
    stet_array *a;
    STI_TRY(sti_alloc(&a, sizeof *a, "array"));
    a->device = device;
    stet_result result = describe(a, def);
    if (result != STET_OK) {
        sti_free(a);
        return result;
    }
    device->narray++;
    sti_device_retain(device); /* destroyed after its device, an array still has one to give its memory back to */
    *out = a;
    return STET_OK;
}

stet_result stet_array_create(stet_device *device, const stet_array_def *def, stet_array **out)
{
    stet_array *a;
    if (!device || !def || !out)
        return sti_error(STET_INVALID_ARGUMENT, "stet_array_create: device, def and out must not be NULL");
    *out = NULL;
    STI_TRY(sti_array_make(device, def, &a));
    stet_result result = device->ops->alloc(device, a->size, a->name, &a->data);
    if (result != STET_OK) {
        stet_array_destroy(a);
        return result;
    }
    device->array_bytes += (int64_t)a->size;
    a->counted = true;
    *out = a;
    return STET_OK;
}

stet_result sti_array_new(stet_device *device, const char *name, stet_dtype dtype, bool worlds, int ndim,
                          const int64_t *shape, stet_array **out)
{
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
    if (device->keeper) device->keeper->array_gone(device, a);
    sti_device_tell_gone(device, a);
    sti_face_free(a);
    if (a->share)
        sti_share_leave(a->share);
    else if (!a->borrowed && a->data)
        device->ops->free(device, a->data);
    if (a->host) device->mechanisms.counters.mechanism[STET_MECH_readback].held_bytes -= (int64_t)stet_array_bytes(a);
    if (a->holder) device->mechanisms.counters.mechanism[a->holder - 1].held_bytes -= (int64_t)a->size;
    sti_free(a->host);
    sti_stamp_free(&a->host_stamp);
    device->narray--;
    if (a->counted) device->array_bytes -= (int64_t)a->size;
    sti_free(a);
    sti_device_release(device);
}

const char *stet_array_name(const stet_array *a) { return a->name; }

stet_dtype stet_array_dtype(const stet_array *a) { return a->dtype; }

int stet_array_ndim(const stet_array *a) { return a->ndim; }

const int64_t *stet_array_shape(const stet_array *a) { return a->shape; }

int64_t stet_array_count(const stet_array *a) { return a->worlds ? a->nitem * a->shape[0] : a->nitem; }

size_t stet_array_bytes(const stet_array *a)
{
    return (size_t)stet_array_count(a) * stet_dtype_size(a->device, a->dtype);
}

stet_device *stet_array_device(const stet_array *a) { return a->device; }

uint64_t stet_array_id(const stet_array *a) { return a->version.id; }

uint64_t stet_array_generation(const stet_array *a)
{
    /* Equal generations must mean equal content here, too. */
    (void)sti_array_look((stet_array *)a);
    return a->version.generation;
}

void stet_array_mark_written(stet_array *a) { sti_face_told(a); }

void sti_array_set_producer(stet_array *a, sti_producer *producer, void *context)
{
    a->producer = producer;
    a->producer_context = context;
}

void sti_array_held_by(stet_array *a, stet_mechanism mechanism)
{
    a->holder = 1 + (int)mechanism;
    a->device->mechanisms.counters.mechanism[mechanism].held_bytes += (int64_t)a->size;
}

bool sti_array_look(stet_array *a)
{
    bool writer = false;
    if (!a->share) return false;
    /* A face that did not reach the device yet is the later one: it goes there when that is possible. */
    if (sti_face_ahead(a)) return sti_share_writer(a->share);
    if (sti_share_look(a->share, &writer)) sti_version_bump(&a->version);
    return writer;
}

/* What a producer launches runs at once, whatever is being listed around it. */
static stet_result follow(stet_array *a)
{
    (void)sti_array_look(a);
    if (!a->producer || a->producing) return STET_OK;
    STI_TRY(sti_before(a->device, STI_ACT_PRODUCE, a, a->name));
    bool listing = a->device->listing;
    a->device->listing = false;
    a->producing = true;
    stet_result result = a->producer(a->producer_context);
    a->producing = false;
    a->device->listing = listing;
    return result;
}

stet_result sti_array_produce(stet_array *a)
{
    STI_TRY(follow(a));
    return a->device->host_memory ? STET_OK : sti_array_to_device(a);
}

stet_result sti_array_ensure(stet_array *a)
{
    STI_TRY(sti_before(a->device, STI_ACT_READ, a, a->name));
    if (a->device->doubt) STI_TRY(a->device->doubt(a->device));
    return follow(a);
}

static stet_result update(stet_array *a, const char *call)
{
    if (!a) return sti_error(STET_INVALID_ARGUMENT, "%s: array must not be NULL", call);
    STI_TRY(sti_array_ensure(a));
    return sti_array_to_device(a);
}

stet_result stet_array_update(stet_array *a)
{
    STI_TRY(update(a, "stet_array_update"));
    return sti_device_settle(a->device);
}

stet_result stet_array_update_in_stream(stet_array *a, void *stream)
{
    STI_TRY(update(a, "stet_array_update_in_stream"));
    return sti_device_signal(a->device, stream);
}

/* Rows of an array as the host sees it: worlds, or the first dimension; `first`, `n` within them. */
static stet_result check_range(const stet_array *a, int64_t first, int64_t n, size_t size, size_t *expected)
{
    if (first < 0 || n < 0 || first > a->shape[0] || n > a->shape[0] - first)
        return sti_error(STET_INVALID_ARGUMENT, "array %s: %lld rows from row %lld on, of %lld", a->name, (long long)n,
                         (long long)first, (long long)a->shape[0]);
    size_t rows = (size_t)stet_array_count(a);
    if (a->shape[0]) rows = rows / (size_t)a->shape[0] * (size_t)n;
    *expected = rows * stet_dtype_size(a->device, a->dtype);
    if (size != *expected)
        return sti_error(STET_INVALID_ARGUMENT, "array %s: %zu bytes given for %lld rows that have %zu", a->name, size,
                         (long long)n, *expected);
    return STET_OK;
}

/* Between the blocked layout of memory that the host can reach and [world][item]; the element is 4 or 8 bytes. */
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

/* Whole blocks of worlds in host memory, of a device whose memory the host cannot touch. */
typedef struct staged {
    char *host, *device; /* the blocks here and there */
    size_t size;
    int64_t first; /* world that the first lane holds */
} staged;

/* Blocks that hold the worlds first … first + n - 1; with their content, or zero. */
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

/* Lanes of the first and last block that are not written stay as they are. */
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

/* The same in the array's own memory, as the copy that it is. */
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

/* Rows between the caller's memory and a face. */
static void move_rows(const stet_array *a, char *face, char *rows, int64_t first, int64_t n, size_t size, bool to_rows)
{
    char *at = face + (n > 0 ? size / (size_t)n * (size_t)first : 0);
    if (a->worlds && a->device->lanes > 1)
        transpose_worlds(a, face, rows, first, n, to_rows);
    else
        memcpy(to_rows ? rows : at, to_rows ? at : rows, size);
}

/* face: where the content can be read on the host, NULL: nowhere. */
static stet_result read_raw(const stet_array *a, char *face, int64_t first, int64_t n, void *out, size_t size)
{
    if (size == 0) return STET_OK;
    if (face) {
        move_rows(a, face, out, first, n, size, true);
        return STET_OK;
    }
    if (a->worlds && a->device->lanes > 1) {
        if (!a->device->host_memory) return read_blocks(a, first, n, out);
        transpose_traced(a, out, first, n, size, true);
        return STET_OK;
    }
    size_t row = a->shape[0] ? stet_array_bytes(a) / (size_t)a->shape[0] : 0;
    return sti_device_download_of(a->device, a->name, out, (const char *)a->data + (size_t)first * row, size);
}

static stet_result write_raw(stet_array *a, char *face, int64_t first, int64_t n, const void *data, size_t size)
{
    if (face) {
        move_rows(a, face, (char *)(uintptr_t)data, first, n, size, false);
        return STET_OK;
    }
    if (a->worlds && a->device->lanes > 1) {
        if (!a->device->host_memory) return write_blocks(a, first, n, data);
        transpose_traced(a, (char *)(uintptr_t)data, first, n, size, false);
        return STET_OK;
    }
    size_t row = a->shape[0] ? stet_array_bytes(a) / (size_t)a->shape[0] : 0;
    return sti_device_upload_of(a->device, a->name, (char *)a->data + (size_t)first * row, data, size);
}

stet_result stet_array_read_worlds(const stet_array *array, int64_t first, int64_t n, void *out, size_t size)
{
    stet_array *a = (stet_array *)array; /* producing content is not a change of the array as the caller knows it */
    size_t expected;
    char *face = NULL;
    STI_TRY(check_range(a, first, n, size, &expected));
    STI_TRY(sti_array_ensure(a));
    if (!a->device->host_memory) STI_TRY(sti_face_reach(a, false, size, &face));
    a->device->mechanisms.counters.bytes_copied += (int64_t)size;
    return read_raw(a, face, first, n, out, size);
}

stet_result stet_array_read(const stet_array *array, void *out, size_t size)
{
    return stet_array_read_worlds(array, 0, array->shape[0], out, size);
}

stet_result stet_array_write_worlds(stet_array *a, int64_t first, int64_t n, const void *data, size_t size)
{
    size_t expected;
    char *face = NULL;
    if (a->read_only)
        return sti_error(STET_INVALID_ARGUMENT, "array %s: it was imported for reading and cannot be written", a->name);
    STI_TRY(check_range(a, first, n, size, &expected));
    /* A write is on top of what the other rows should be now, and later than what the producer has not looked at yet. */
    STI_TRY(sti_before(a->device, STI_ACT_WRITE, a, a->name));
    STI_TRY(follow(a));
    if (size == 0) return STET_OK;
    if (!a->device->host_memory) STI_TRY(sti_face_reach(a, true, size, &face));
    STI_TRY(write_raw(a, face, first, n, data, size));
    a->device->mechanisms.counters.bytes_copied += (int64_t)size;
    if (face)
        sti_array_face_written(a);
    else
        sti_version_bump(&a->version);
    return STET_OK;
}

stet_result stet_array_write(stet_array *a, const void *data, size_t size)
{
    return stet_array_write_worlds(a, 0, a->shape[0], data, size);
}

stet_result sti_array_write_aside(stet_array *a, const void *data, size_t size)
{
    if (!a->device->ops->upload_aside || a->device->lanes > 1) return stet_array_write(a, data, size);
    if (size == 0) return STET_OK;
    STI_TRY(sti_device_upload_aside(a->device, a->name, a->data, data, size));
    a->device->mechanisms.counters.bytes_copied += (int64_t)size;
    sti_version_bump(&a->version);
    return STET_OK;
}

static stet_result fill_mirror(void *context)
{
    stet_array *a = context;
    char *face = NULL;
    if (!a->device->host_memory) STI_TRY(sti_face_reach(a, false, stet_array_bytes(a), &face));
    a->device->mechanisms.counters.bytes_copied += (int64_t)stet_array_bytes(a);
    return read_raw(a, face, 0, a->shape[0], a->host, stet_array_bytes(a));
}

/* The host's order is the device's, and it has memory of its own for it. */
static stet_result show_face(stet_array *a, const void **out)
{
    void *face;
    STI_TRY(sti_array_face_read(a, &face));
    *out = face;
    return STET_OK;
}

stet_result stet_array_host(stet_array *a, const void **out)
{
    *out = NULL;
    if (!a->device->host_memory && !a->base && (!a->worlds || a->device->lanes == 1)) return show_face(a, out);
    bool exported = sti_array_look(a);
    STI_TRY(sti_array_ensure(a));
    if (!a->host) {
        STI_TRY(sti_alloc(&a->host, stet_array_bytes(a), a->name));
        a->device->mechanisms.counters.mechanism[STET_MECH_readback].held_bytes += (int64_t)stet_array_bytes(a);
    }
    sti_stamp now = {0};
    sti_stamp_begin(&now);
    sti_stamp_add(&now, &a->version);
    sti_span span = {a->host, stet_array_bytes(a), NULL};
    sti_work work = {
        .mechanism = STET_MECH_readback,
        .why = exported ? STET_REASON_readback_exported : STET_REASON_readback_moved,
        .what = a->name,
        .kept = &a->host_stamp,
        .now = &now,
        .make = fill_mirror,
        .context = a,
        .outputs = &span,
        .noutput = 1,
        .bytes = (int64_t)stet_array_bytes(a),
    };
    STI_TRY(sti_let_stand(&a->device->mechanisms, &work));
    *out = a->host;
    return STET_OK;
}

stet_result stet_array_hash(const stet_array *array, uint64_t *out)
{
    stet_array *a = (stet_array *)array;
    size_t row = a->shape[0] ? stet_array_bytes(a) / (size_t)a->shape[0] : 0;
    int64_t some = row ? (int64_t)((1u << 20) / row) + 1 : 1; /* about a megabyte at a time */
    char *buffer, *face = NULL;
    STI_TRY(sti_array_ensure(a));
    if (!a->device->host_memory) STI_TRY(sti_face_reach(a, false, stet_array_bytes(a), &face));
    STI_TRY(sti_alloc(&buffer, (size_t)some * row, "hash of an array"));
    sti_hash h;
    sti_hash_begin(&h);
    stet_result result = STET_OK;
    for (int64_t w = 0; row > 0 && w < a->shape[0] && result == STET_OK; w += some) {
        int64_t n = a->shape[0] - w < some ? a->shape[0] - w : some;
        result = read_raw(a, face, w, n, buffer, (size_t)n * row);
        sti_hash_add(&h, buffer, (size_t)n * row);
    }
    sti_free(buffer);
    *out = sti_hash_end(&h);
    return result;
}
