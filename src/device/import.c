/*
 * Imports tensors of other libraries as arrays, through DLPack. See stet/dlpack.h, and device/share.h for who owns the
 * memory.
 *
 * Invariant: a tensor given to stet_array_import is deleted exactly once; if its version is unknown, nothing of it but
 * its deleter is read.
 */
#include "device/dlpack.h"
#include "base/plural.h"
#include "device/share.h"

#include <stdio.h>
#include <string.h>

enum { IMPORT_COOKIE = 0x57e71001 };

/* ---- import: what the tensor is ---------------------------------------------------------------------------------- */

stet_import_def stet_default_import_def(void) { return (stet_import_def){.cookie = IMPORT_COOKIE, .name = "tensor"}; }

static stet_result find_type(const stet_device *device, const char *name, DLDataType type, stet_dtype *out)
{
    static const char *const codes[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
    if (type.lanes != 1)
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "tensor %s: elements of %d lanes; give the lanes a dimension of their own", name, type.lanes);
    if (sti_dlpack_find_type(device, type, out)) return STET_OK;
    char what[40];
    if (type.code < sizeof codes / sizeof *codes)
        (void)snprintf(what, sizeof what, "%s%d", codes[type.code], type.bits);
    else
        (void)snprintf(what, sizeof what, "of code %d and %d bits", type.code, type.bits);
    return sti_error(
        STET_ERROR_UNSUPPORTED,
        "tensor %s: elements are %s; this device knows float%d, float16, int32, int64, uint32, uint16, uint8 and bool; "
        "convert it first",
        name, what, (int)device->real_size * 8);
}

/* Computes bytes from the shape. */
static stet_result measure_import(const char *name, const DLTensor *t, size_t element, size_t *size)
{
    if (t->ndim < 0 || t->ndim > STET_MAX_DIMS)
        return sti_error(STET_ERROR_UNSUPPORTED, "tensor %s: %d dimensions; at most %d are possible", name, t->ndim,
                         STET_MAX_DIMS);
    if (t->ndim > 0 && !t->shape)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tensor %s: %d dimensions, but shape is NULL", name, t->ndim);
    *size = element;
    for (int k = 0; k < t->ndim; ++k)
        if (t->shape[k] < 0)
            return sti_error(STET_ERROR_INVALID_ARGUMENT, "tensor %s: dimension %d is %lld", name, k,
                             (long long)t->shape[k]);
    for (int k = 0; k < t->ndim; ++k)
        if (t->shape[k] == 0) *size = 0;
    for (int k = 0; k < t->ndim; ++k) STI_TRY(sti_mul_size(*size, (size_t)t->shape[k], size, name));
    if (*size > (size_t)INT64_MAX / 2)
        return sti_error(STET_ERROR_LIMIT, "tensor %s: %zu bytes are more than can be addressed", name, *size);
    return STET_OK;
}

/* The stride of a dimension of 1 is never used, so it is not checked. */
static stet_result check_strides(const char *name, const DLTensor *t, size_t size)
{
    int64_t expected = 1;
    if (!t->strides || size == 0) return STET_OK;
    for (int k = t->ndim - 1; k >= 0; --k) {
        if (t->shape[k] != 1 && t->strides[k] != expected)
            return sti_error(STET_ERROR_UNSUPPORTED,
                             "tensor %s: it is not C-contiguous: the stride of dimension %d is %lld, not %lld; make a "
                             "contiguous copy first",
                             name, k, (long long)t->strides[k], (long long)expected);
        expected *= t->shape[k];
    }
    return STET_OK;
}

/* What `span` asks for: the lowest element, counted from the first one, and the number of elements to the highest. */
static stet_result find_span(const char *name, const DLTensor *t, int64_t *low, int64_t *count)
{
    int64_t high = 0, expected = 1;
    *low = *count = 0;
    for (int k = t->ndim - 1; k >= 0; --k) {
        int64_t reach, stride = t->strides ? t->strides[k] : expected;
        if (t->shape[k] == 0) { /* no element is lower than the first */
            *low = 0;
            return STET_OK;
        }
        if (__builtin_mul_overflow(stride, t->shape[k] - 1, &reach) || reach < INT64_MIN / 16 || reach > INT64_MAX / 16)
            return sti_error(STET_ERROR_LIMIT, "tensor %s: dimension %d reaches further than can be addressed", name,
                             k);
        *(reach < 0 ? low : &high) += reach;
        expected *= t->shape[k];
    }
    *count = high - *low + 1;
    return STET_OK;
}

static stet_result find_data(const char *name, const DLTensor *t, size_t size, size_t align, void **out)
{
    uintptr_t at = (uintptr_t)t->data;
    /* the address of arrays without elements on every device; nobody owns it */
    *out = (void *)(uintptr_t)STI_ALIGN;
    if (size == 0) return STET_OK;
    if (!t->data) return sti_error(STET_ERROR_INVALID_ARGUMENT, "tensor %s: %zu bytes, but data is NULL", name, size);
    if (t->byte_offset > UINTPTR_MAX - at || size > UINTPTR_MAX - at - t->byte_offset)
        return sti_error(STET_ERROR_LIMIT, "tensor %s: %zu bytes at offset %llu do not fit behind its address", name,
                         size, (unsigned long long)t->byte_offset);
    if ((at + t->byte_offset) % align != 0)
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "tensor %s: its data is not aligned to %zu bytes; make an aligned copy first", name, align);
    *out = (char *)t->data + t->byte_offset;
    return STET_OK;
}

/* ---- import: what the array is ----------------------------------------------------------------------------------- */

/* Computes worlds and items of a tensor in [block][item][B] order. */
static stet_result unblock_shape(const stet_device *device, const DLTensor *t, const stet_import_def *def,
                                 stet_array_def *out)
{
    int64_t lanes = device->lanes;
    if (t->ndim != 3 || t->shape[2] != lanes)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "tensor %s: arrays of worlds lie as [block][item][%lld] on %s, which it does not", out->name,
                         (long long)lanes, device->name);
    if (t->shape[0] > INT64_MAX / lanes)
        return sti_error(STET_ERROR_LIMIT, "tensor %s: %lld blocks of worlds are too many", out->name,
                         (long long)t->shape[0]);
    int64_t room = t->shape[0] * lanes;
    if (def->nworld < 0 || def->nworld > room || (def->nworld > 0 && def->nworld <= room - lanes))
        return sti_error(
            STET_ERROR_INVALID_ARGUMENT, "tensor %s: it cannot be of %lld world%s with %lld block%s of %lld", out->name,
            (long long)def->nworld, STI_S(def->nworld), (long long)t->shape[0], STI_S(t->shape[0]), (long long)lanes);
    out->ndim = 2;
    out->shape[0] = def->nworld ? def->nworld : room;
    out->shape[1] = t->shape[1];
    return STET_OK;
}

static stet_result shape_of(const stet_device *device, const DLTensor *t, const stet_import_def *def,
                            stet_array_def *out)
{
    if (def->worlds && device->lanes > 1) return unblock_shape(device, t, def, out);
    out->ndim = t->ndim > 0 ? t->ndim : 1;
    out->shape[0] = 1;
    if (t->ndim > 0) memcpy(out->shape, t->shape, (size_t)t->ndim * sizeof *t->shape);
    if (def->nworld && (!def->worlds || t->ndim == 0 || def->nworld != t->shape[0]))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tensor %s: nworld is %lld, but it is %s", out->name,
                         (long long)def->nworld,
                         def->worlds ? "not its first dimension" : "not to be an array of worlds");
    return STET_OK;
}

static stet_result check_version(const DLManagedTensorVersioned *tensor, const char *name)
{
    if (tensor->version.major == STI_DLPACK_MAJOR) return STET_OK;
    return sti_error(STET_ERROR_UNSUPPORTED, "tensor %s: DLPack version %u.%u; version %d is understood", name,
                     tensor->version.major, tensor->version.minor, STI_DLPACK_MAJOR);
}

static stet_result check_place(const stet_device *device, const char *name, DLDevice place)
{
    char there[64], here[64];
    if (sti_dlpack_reaches(device, place)) return STET_OK;
    sti_dlpack_name_place(place, there, sizeof there);
    sti_dlpack_name_place(sti_dlpack_place(device), here, sizeof here);
    return sti_error(STET_ERROR_UNSUPPORTED, "tensor %s: it lies on %s, and %s takes those on %s; copy it there first",
                     name, there, device->name, here);
}

/* Reads the array's def, data and size from the tensor; nothing is owned yet. */
static stet_result read_tensor(const stet_device *device, const DLManagedTensorVersioned *tensor,
                               const stet_import_def *def, stet_array_def *out, void **data)
{
    const DLTensor *t = &tensor->dl_tensor;
    const char *name = out->name;
    size_t size, element;
    int64_t low = 0;
    STI_TRY(check_version(tensor, name));
    STI_TRY(check_place(device, name, t->device));
    STI_TRY(find_type(device, name, t->dtype, &out->dtype));
    element = stet_dtype_size(device, out->dtype);
    STI_TRY(measure_import(name, t, element, &size));
    if (!def->span) {
        STI_TRY(check_strides(name, t, size));
        STI_TRY(find_data(name, t, size, def->worlds ? element * (size_t)device->lanes : element, data));
        return shape_of(device, t, def, out);
    }
    out->ndim = 1;
    STI_TRY(find_span(name, t, &low, &out->shape[0]));
    STI_TRY(sti_mul_size((size_t)out->shape[0], element, &size, name));
    if (size > (size_t)INT64_MAX / 2)
        return sti_error(STET_ERROR_LIMIT, "tensor %s: %zu bytes are more than can be addressed", name, size);
    STI_TRY(find_data(name, t, size, element, data));
    *data = (char *)*data + low * (int64_t)element;
    return STET_OK;
}

static stet_result make_array(stet_device *device, DLManagedTensorVersioned *tensor, const stet_import_def *def,
                              stet_array **out)
{
    if (def->cookie != IMPORT_COOKIE)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "tensor: the def of its import is not initialised; start from stet_default_import_def()");
    if ((unsigned)def->ready > STET_READY_UNORDERED)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tensor: there is no way %d of being ready", (int)def->ready);
    if (def->span && (def->worlds || def->nworld))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tensor: an array of worlds cannot be the span of a tensor");
    stet_array_def array = stet_default_array_def();
    stet_array *a;
    void *data = NULL;
    array.name = def->name ? def->name : "tensor";
    array.worlds = def->worlds;
    STI_TRY(read_tensor(device, tensor, def, &array, &data));
    if (def->ready == STET_READY_IN_STREAM) STI_TRY(sti_device_wait_for_stream(device, def->stream));
    STI_TRY(sti_array_make(device, &array, &a));
    stet_result result = sti_share_create(device, data, tensor, &a->share);
    if (result != STET_OK) {
        stet_array_destroy(a);
        return result;
    }
    a->share->streamed = def->ready == STET_READY_IN_STREAM;
    a->share->stream = def->stream;
    /* the maker of the tensor may write, as long as the array lives */
    if (!def->announced) atomic_store(&a->share->writers, 1);
    a->data = data;
    a->read_only = (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
    *out = a;
    return STET_OK;
}

stet_result stet_array_import(stet_device *device, struct DLManagedTensorVersioned *tensor, const stet_import_def *def,
                              stet_array **out)
{
    stet_result result = STET_OK;
    if (out) *out = NULL;
    if (!device || !tensor || !def || !out)
        result =
            sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_array_import: device, tensor, def and out must not be NULL");
    else
        result = make_array(device, tensor, def, out);
    if (result != STET_OK && tensor && tensor->deleter) tensor->deleter(tensor);
    return result;
}
