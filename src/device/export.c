/*
 * Exports arrays as tensors for other libraries, through DLPack. See stet/dlpack.h, and device/share.h for who owns the
 * memory.
 */
#include "device/dlpack.h"
#include "device/plain_view.h"
#include "device/share.h"

#include <string.h>

enum { EXPORT_COOKIE = 0x57e7e001 };

/* An exported tensor is one block of memory; its context points to itself. */
typedef struct exported {
    DLManagedTensorVersioned tensor;
    int64_t shape[STET_MAX_DIMS], strides[STET_MAX_DIMS];
    sti_share *share; /* NULL: the tensor is a copy or a plain view */
    sti_plain_view *view;
    void *copy;
    bool writer;
} exported;

stet_export_def stet_default_export_def(void) { return (stet_export_def){.cookie = EXPORT_COOKIE}; }

static stet_result check_export(const stet_array *a, const stet_export_def *def)
{
    if (def->cookie != EXPORT_COOKIE)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "array %s: the def of its export is not initialised; start from stet_default_export_def()",
                         a->name);
    if ((unsigned)def->ready > STET_READY_UNORDERED)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "array %s: there is no way %d of being ready", a->name,
                         (int)def->ready);
    if (!def->writable) return STET_OK;
    if (def->copy)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "array %s: writes to a copy would be lost; export it as it is, or the copy for reading",
                         a->name);
    if (a->read_only)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "array %s: it was imported for reading; export it for reading, too", a->name);
    if (a->borrowed)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "array %s: it is a view of pictures that stet keeps; export it for reading, or a copy",
                         a->name);
    if (a->producer && !def->announced)
        return sti_error(
            STET_ERROR_INVALID_ARGUMENT,
            "array %s: stet works it out when it is read, so an unannounced writer would keep it as it is for "
            "good; export it for reading, or announced",
            a->name);
    return STET_OK;
}

static void delete_exported(DLManagedTensorVersioned *tensor)
{
    exported *e = tensor->manager_ctx;
    if (e->share) sti_share_end(e->share, e->writer);
    if (e->view) sti_plain_view_close(e->view);
    sti_free(e->copy);
    sti_free(e);
}

/* Returns the array that owns the memory of a view. */
static stet_array *owner_of(stet_array *a)
{
    while (a->base) a = a->base;
    return a;
}

/* Makes the tensor's receiver wait for the work that was issued. */
static stet_result make_ready(stet_device *device, const stet_export_def *def)
{
    switch (def->ready) {
    case STET_READY_IN_STREAM: return sti_device_signal(device, def->stream);
    case STET_READY_UNORDERED: return STET_OK;
    default: return sti_device_wait_idle(device);
    }
}

static stet_result share_memory(stet_array *a, const stet_export_def *def, exported *e)
{
    stet_array *own = owner_of(a);
    STI_TRY(sti_array_to_device(a));
    STI_TRY(make_ready(a->device, def));
    if (!own->share) STI_TRY(sti_share_create(own->device, own->data, NULL, &own->share));
    e->share = own->share;
    e->writer = def->writable && !def->announced;
    sti_share_begin(e->share, e->writer);
    e->tensor.dl_tensor.data = a->data;
    e->tensor.flags = def->writable ? 0 : DLPACK_FLAG_BITMASK_READ_ONLY;
    return STET_OK;
}

static stet_result share_plain_view(stet_array *a, const stet_export_def *def, exported *e)
{
    STI_TRY(sti_plain_view_open(a, def->writable, &e->view));
    e->tensor.dl_tensor.data = e->view->rows;
    e->tensor.flags = def->writable ? 0 : DLPACK_FLAG_BITMASK_READ_ONLY;
    return STET_OK;
}

static stet_result copy_memory(const stet_array *a, exported *e)
{
    size_t size = stet_array_get_bytes(a);
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

static void fill_shape(const stet_array *a, bool blocked, exported *e)
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
    if (empty) t->data = NULL; /* as the specification demands */
    int64_t stride = 1;
    for (int k = t->ndim - 1; k >= 0; --k) {
        e->strides[k] = stride;
        /* of an empty tensor a stride means nothing, and may overflow */
        if (!empty) stride *= e->shape[k];
    }
    t->dtype = sti_dlpack_type(a->device, a->dtype);
    t->device = e->copy ? (DLDevice){kDLCPU, 0} : sti_dlpack_place(a->device);
    t->shape = e->shape;
    t->strides = e->strides;
    e->tensor.version = (DLPackVersion){STI_DLPACK_MAJOR, STI_DLPACK_MINOR};
    e->tensor.manager_ctx = e;
    e->tensor.deleter = delete_exported;
}

stet_result stet_array_export(stet_array *a, const stet_export_def *def, struct DLManagedTensorVersioned **out)
{
    if (!a || !def || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_array_export: array, def and out must not be NULL");
    *out = NULL;
    STI_TRY(check_export(a, def));
    STI_TRY(sti_array_ensure(a));
    exported *e;
    STI_TRY(sti_alloc(&e, sizeof *e, "an exported tensor"));
    bool plain = def->copy || def->plain || !sti_array_blocked(a);
    stet_result result = def->copy                            ? copy_memory(a, e)
                         : def->plain && sti_array_blocked(a) ? share_plain_view(a, def, e)
                                                              : share_memory(a, def, e);
    if (result != STET_OK) {
        sti_free(e);
        return result;
    }
    fill_shape(a, !plain, e);
    *out = &e->tensor;
    return STET_OK;
}
