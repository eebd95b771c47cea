/*
 * Tensors of other libraries: export and import through DLPack. See stet/dlpack.h, and device/share.h for who holds the memory.
 *
 * Invariant: a tensor given to stet_array_import is ended exactly once, and nothing of it but its deleter is looked at where its
 * version is unknown.
 */
#include "stet/dlpack.h"

#include "device/share.h"

#include <stdio.h>
#include <string.h>

enum { EXPORT_COOKIE = 0x57e7e001, IMPORT_COOKIE = 0x57e71001, MAJOR = 1, MINOR = 1 };

/* Which element types are which. The first row of a dtype is what it is exported as. */
static const struct {
    stet_dtype dtype;
    uint8_t code, bits;
} types[] = {
    {STET_REAL, kDLFloat, 32}, {STET_REAL, kDLFloat, 64}, {STET_INT, kDLInt, 32},
    {STET_I64, kDLInt, 64},    {STET_U32, kDLUInt, 32},   {STET_U16, kDLUInt, 16},
    {STET_U8, kDLUInt, 8},     {STET_U8, kDLBool, 8},     {STET_F16, kDLFloat, 16},
};

static bool is_type(size_t k, const stet_device *device)
{
    return types[k].bits == 8 * stet_dtype_size(device, types[k].dtype);
}

/* ---- export ------------------------------------------------------------------------------------------------------- */

/* One block holds all of an exported tensor; its context is itself. */
typedef struct exported {
    DLManagedTensorVersioned tensor;
    int64_t shape[STET_MAX_DIMS], strides[STET_MAX_DIMS];
    sti_share *share; /* NULL: a copy */
    void *copy;
    bool writer;
} exported;

stet_export_def stet_default_export_def(void) { return (stet_export_def){.cookie = EXPORT_COOKIE}; }

static stet_result check_export(const stet_array *a, const stet_export_def *def)
{
    if (def->cookie != EXPORT_COOKIE)
        return sti_error(STET_INVALID_ARGUMENT,
                         "array %s: the def of its export is not initialised; start from stet_default_export_def()",
                         a->name);
    if (!def->writable) return STET_OK;
    if (def->copy)
        return sti_error(STET_INVALID_ARGUMENT,
                         "array %s: writes to a copy would be lost; export it as it is, or the copy for reading",
                         a->name);
    if (a->read_only)
        return sti_error(STET_INVALID_ARGUMENT, "array %s: it was imported for reading; export it for reading, too",
                         a->name);
    if (a->borrowed)
        return sti_error(STET_INVALID_ARGUMENT,
                         "array %s: it is a view of pictures that stet keeps; export it for reading, or a copy",
                         a->name);
    if (a->producer && !def->announced)
        return sti_error(
            STET_INVALID_ARGUMENT,
            "array %s: stet works it out when it is read, so an unannounced writer would keep it as it is for "
            "good; export it for reading, or announced",
            a->name);
    return STET_OK;
}

static void delete_exported(DLManagedTensorVersioned *tensor)
{
    exported *e = tensor->manager_ctx;
    if (e->share) sti_share_end(e->share, e->writer);
    sti_free(e->copy);
    sti_free(e);
}

/* The array that owns the memory of a view. */
static stet_array *owner(stet_array *a)
{
    while (a->base) a = a->base;
    return a;
}

static stet_result share_memory(stet_array *a, const stet_export_def *def, exported *e)
{
    stet_array *own = owner(a);
    STI_TRY(sti_array_to_device(a));
    STI_TRY(sti_device_settle(a->device));
    if (!own->share) STI_TRY(sti_share_create(own->device, own->data, NULL, &own->share));
    e->share = own->share;
    e->writer = def->writable && !def->announced;
    sti_share_begin(e->share, e->writer);
    e->tensor.dl_tensor.data = a->data;
    e->tensor.flags = def->writable ? 0 : DLPACK_FLAG_BITMASK_READ_ONLY;
    return STET_OK;
}

static stet_result copy_memory(const stet_array *a, exported *e)
{
    size_t size = stet_array_bytes(a);
    STI_TRY(sti_alloc(&e->copy, size, "an exported copy of an array"));
    stet_result result = stet_array_read(a, e->copy, size);
    if (result != STET_OK) {
        sti_free(e->copy);
        return result;
    }
    e->tensor.dl_tensor.data = e->copy;
    e->tensor.flags = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED;
    return STET_OK;
}

static DLDevice place_of(const stet_device *device)
{
    switch (device->type) {
    case STET_DEVICE_CUDA: return (DLDevice){kDLCUDA, device->index};
    case STET_DEVICE_HIP: return (DLDevice){kDLROCM, device->index};
    default: return (DLDevice){device->apart ? kDLExtDev : kDLCPU, 0};
    }
}

static void describe(const stet_array *a, bool blocked, exported *e)
{
    DLTensor *t = &e->tensor.dl_tensor;
    if (blocked) {
        memcpy(e->shape, (int64_t[]){a->nblock, a->nitem, a->device->lanes}, 3 * sizeof *e->shape);
        t->ndim = 3;
    } else {
        memcpy(e->shape, a->shape, sizeof e->shape);
        t->ndim = a->ndim;
    }
    bool empty = a->size == 0;
    if (empty) t->data = NULL; /* so says the specification */
    int64_t stride = 1;
    for (int k = t->ndim - 1; k >= 0; --k) {
        e->strides[k] = stride;
        if (!empty) stride *= e->shape[k]; /* else it means nothing, and may be too large */
    }
    for (size_t k = sizeof types / sizeof *types; k-- > 0;)
        if (types[k].dtype == a->dtype && is_type(k, a->device))
            t->dtype = (DLDataType){types[k].code, types[k].bits, 1};
    t->device = e->copy ? (DLDevice){kDLCPU, 0} : place_of(a->device);
    t->shape = e->shape;
    t->strides = e->strides;
    e->tensor.version = (DLPackVersion){MAJOR, MINOR};
    e->tensor.manager_ctx = e;
    e->tensor.deleter = delete_exported;
}

stet_result stet_array_export(stet_array *a, const stet_export_def *def, struct DLManagedTensorVersioned **out)
{
    if (!a || !def || !out)
        return sti_error(STET_INVALID_ARGUMENT, "stet_array_export: array, def and out must not be NULL");
    *out = NULL;
    STI_TRY(check_export(a, def));
    STI_TRY(sti_array_ensure(a));
    exported *e;
    STI_TRY(sti_alloc(&e, sizeof *e, "an exported tensor"));
    stet_result result = def->copy ? copy_memory(a, e) : share_memory(a, def, e);
    if (result != STET_OK) {
        sti_free(e);
        return result;
    }
    describe(a, !def->copy && a->worlds && a->device->lanes > 1, e);
    *out = &e->tensor;
    return STET_OK;
}

/* ---- import: what the tensor is ------------------------------------------------------------------------------------ */

stet_import_def stet_default_import_def(void) { return (stet_import_def){.cookie = IMPORT_COOKIE, .name = "tensor"}; }

static stet_result find_type(const stet_device *device, const char *name, DLDataType type, stet_dtype *out)
{
    static const char *const codes[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
    if (type.lanes != 1)
        return sti_error(STET_UNSUPPORTED, "tensor %s: elements of %d lanes; give the lanes a dimension of their own",
                         name, type.lanes);
    for (size_t k = 0; k < sizeof types / sizeof *types; ++k)
        if (types[k].code == type.code && types[k].bits == type.bits && is_type(k, device)) {
            *out = types[k].dtype;
            return STET_OK;
        }
    char what[40];
    if (type.code < sizeof codes / sizeof *codes)
        (void)snprintf(what, sizeof what, "%s%d", codes[type.code], type.bits);
    else
        (void)snprintf(what, sizeof what, "of code %d and %d bits", type.code, type.bits);
    return sti_error(
        STET_UNSUPPORTED,
        "tensor %s: elements are %s; this device knows float%d, float16, int32, int64, uint32, uint16, uint8 and bool; "
        "convert it first",
        name, what, (int)device->real_size * 8);
}

/* Bytes from the shape. */
static stet_result measure(const char *name, const DLTensor *t, size_t element, size_t *size)
{
    if (t->ndim < 0 || t->ndim > STET_MAX_DIMS)
        return sti_error(STET_UNSUPPORTED, "tensor %s: %d dimensions; at most %d are possible", name, t->ndim,
                         STET_MAX_DIMS);
    if (t->ndim > 0 && !t->shape)
        return sti_error(STET_INVALID_ARGUMENT, "tensor %s: %d dimensions, but shape is NULL", name, t->ndim);
    *size = element;
    for (int k = 0; k < t->ndim; ++k)
        if (t->shape[k] < 0)
            return sti_error(STET_INVALID_ARGUMENT, "tensor %s: dimension %d is %lld", name, k, (long long)t->shape[k]);
    for (int k = 0; k < t->ndim; ++k)
        if (t->shape[k] == 0) *size = 0;
    for (int k = 0; k < t->ndim; ++k) STI_TRY(sti_mul_size(*size, (size_t)t->shape[k], size, name));
    if (*size > (size_t)INT64_MAX / 2)
        return sti_error(STET_LIMIT, "tensor %s: %zu bytes are more than can be addressed", name, *size);
    return STET_OK;
}

/* A dimension of 1 is stepped over by no one, so its stride means nothing. */
static stet_result check_strides(const char *name, const DLTensor *t, size_t size)
{
    int64_t expected = 1;
    if (!t->strides || size == 0) return STET_OK;
    for (int k = t->ndim - 1; k >= 0; --k) {
        if (t->shape[k] != 1 && t->strides[k] != expected)
            return sti_error(STET_UNSUPPORTED,
                             "tensor %s: it is not C-contiguous: the stride of dimension %d is %lld, not %lld; make a "
                             "contiguous copy first",
                             name, k, (long long)t->strides[k], (long long)expected);
        expected *= t->shape[k];
    }
    return STET_OK;
}

static stet_result find_data(const char *name, const DLTensor *t, size_t size, size_t align, void **out)
{
    static _Alignas(STI_ALIGN) char nothing[STI_ALIGN]; /* where arrays without elements begin; nobody writes there */
    uintptr_t at = (uintptr_t)t->data;
    *out = nothing;
    if (size == 0) return STET_OK;
    if (!t->data) return sti_error(STET_INVALID_ARGUMENT, "tensor %s: %zu bytes, but data is NULL", name, size);
    if (t->byte_offset > UINTPTR_MAX - at || size > UINTPTR_MAX - at - t->byte_offset)
        return sti_error(STET_LIMIT, "tensor %s: %zu bytes at offset %llu do not fit behind its address", name, size,
                         (unsigned long long)t->byte_offset);
    if ((at + t->byte_offset) % align != 0)
        return sti_error(STET_UNSUPPORTED,
                         "tensor %s: its data is not aligned to %zu bytes; make an aligned copy first", name, align);
    *out = (char *)t->data + t->byte_offset;
    return STET_OK;
}

/* ---- import: what the array is ------------------------------------------------------------------------------------- */

/* Worlds and items of a tensor that lies [block][item][B]. */
static stet_result unblock(const stet_device *device, const DLTensor *t, const stet_import_def *def,
                           stet_array_def *out)
{
    int64_t lanes = device->lanes;
    if (t->ndim != 3 || t->shape[2] != lanes)
        return sti_error(STET_INVALID_ARGUMENT,
                         "tensor %s: arrays of worlds lie as [block][item][%lld] on %s, which it does not", out->name,
                         (long long)lanes, device->name);
    if (t->shape[0] > INT64_MAX / lanes)
        return sti_error(STET_LIMIT, "tensor %s: %lld blocks of worlds are too many", out->name,
                         (long long)t->shape[0]);
    int64_t room = t->shape[0] * lanes;
    if (def->nworld < 0 || def->nworld > room || (def->nworld > 0 && def->nworld <= room - lanes))
        return sti_error(STET_INVALID_ARGUMENT, "tensor %s: %lld worlds are not what %lld blocks of %lld hold",
                         out->name, (long long)def->nworld, (long long)t->shape[0], (long long)lanes);
    out->ndim = 2;
    out->shape[0] = def->nworld ? def->nworld : room;
    out->shape[1] = t->shape[1];
    return STET_OK;
}

static stet_result shape_of(const stet_device *device, const DLTensor *t, const stet_import_def *def,
                            stet_array_def *out)
{
    if (def->worlds && device->lanes > 1) return unblock(device, t, def, out);
    out->ndim = t->ndim > 0 ? t->ndim : 1;
    out->shape[0] = 1;
    if (t->ndim > 0) memcpy(out->shape, t->shape, (size_t)t->ndim * sizeof *t->shape);
    if (def->nworld && (!def->worlds || t->ndim == 0 || def->nworld != t->shape[0]))
        return sti_error(STET_INVALID_ARGUMENT, "tensor %s: nworld is %lld, but it is %s", out->name,
                         (long long)def->nworld,
                         def->worlds ? "not its first dimension" : "not to be an array of worlds");
    return STET_OK;
}

static stet_result check_version(const DLManagedTensorVersioned *tensor, const char *name)
{
    if (tensor->version.major == MAJOR) return STET_OK;
    return sti_error(STET_UNSUPPORTED, "tensor %s: DLPack version %u.%u; version %d is understood", name,
                     tensor->version.major, tensor->version.minor, MAJOR);
}

/* The array's def, data and size; nothing is owned yet. */
static stet_result understand(const stet_device *device, const DLManagedTensorVersioned *tensor,
                              const stet_import_def *def, stet_array_def *out, void **data)
{
    const DLTensor *t = &tensor->dl_tensor;
    const char *name = out->name;
    size_t size, element;
    STI_TRY(check_version(tensor, name));
    if (t->device.device_type != kDLCPU)
        return sti_error(STET_UNSUPPORTED,
                         "tensor %s: it lies on a device of DLPack's type %d, and %s takes those of the CPU (%d)", name,
                         (int)t->device.device_type, device->name, (int)kDLCPU);
    STI_TRY(find_type(device, name, t->dtype, &out->dtype));
    element = stet_dtype_size(device, out->dtype);
    STI_TRY(measure(name, t, element, &size));
    STI_TRY(check_strides(name, t, size));
    STI_TRY(find_data(name, t, size, def->worlds ? element * (size_t)device->lanes : element, data));
    return shape_of(device, t, def, out);
}

static stet_result make_array(stet_device *device, DLManagedTensorVersioned *tensor, const stet_import_def *def,
                              stet_array **out)
{
    if (def->cookie != IMPORT_COOKIE)
        return sti_error(STET_INVALID_ARGUMENT,
                         "tensor: the def of its import is not initialised; start from stet_default_import_def()");
    stet_array_def array = stet_default_array_def();
    stet_array *a;
    void *data = NULL;
    array.name = def->name ? def->name : "tensor";
    array.worlds = def->worlds;
    STI_TRY(understand(device, tensor, def, &array, &data));
    STI_TRY(sti_array_make(device, &array, &a));
    stet_result result = sti_share_create(device, data, tensor, &a->share);
    if (result != STET_OK) {
        stet_array_destroy(a);
        return result;
    }
    if (!def->announced) atomic_store(&a->share->writers, 1); /* whoever made the tensor, as long as the array lives */
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
        result = sti_error(STET_INVALID_ARGUMENT, "stet_array_import: device, tensor, def and out must not be NULL");
    else if (device->type != STET_DEVICE_CPU && device->type != STET_DEVICE_NULL)
        result = sti_error(STET_UNSUPPORTED, "stet_array_import: %s cannot take tensors", device->name);
    else
        result = make_array(device, tensor, def, out);
    if (result != STET_OK && tensor && tensor->deleter) tensor->deleter(tensor);
    return result;
}
