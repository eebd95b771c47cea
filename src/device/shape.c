/*
 * What is known of an array without its content: element type, shape, size, name; and that it is in order.
 */
#include "device/plain_view.h"
#include "device/share.h"

size_t stet_dtype_size(const stet_device *device, stet_dtype dtype)
{
    switch (dtype) {
    case STET_DTYPE_REAL: return device ? device->real_size : 0;
    case STET_DTYPE_INT:
    case STET_DTYPE_U32: return 4;
    case STET_DTYPE_I64: return 8;
    case STET_DTYPE_U16:
    case STET_DTYPE_F16: return 2;
    case STET_DTYPE_U8: return 1;
    default: return 0;
    }
}

const char *stet_dtype_name(stet_dtype dtype)
{
    static const char *const names[] = {"real", "int", "i64", "u32", "u16", "u8", "f16"};
    return (unsigned)dtype < STET_DTYPE_COUNT ? names[dtype] : "?";
}

const char *stet_array_get_name(const stet_array *a) { return a ? a->name : ""; }

stet_dtype stet_array_get_dtype(const stet_array *a) { return a ? a->dtype : STET_DTYPE_COUNT; }

int stet_array_get_ndim(const stet_array *a) { return a ? a->ndim : 0; }

const int64_t *stet_array_get_shape(const stet_array *a) { return a ? a->shape : NULL; }

int64_t stet_array_get_nelement(const stet_array *a)
{
    if (!a) return 0;
    return a->worlds ? a->nitem * a->shape[0] : a->nitem;
}

size_t stet_array_get_bytes(const stet_array *a)
{
    return a ? (size_t)stet_array_get_nelement(a) * stet_dtype_size(a->device, a->dtype) : 0;
}

stet_device *stet_array_get_device(const stet_array *a) { return a ? a->device : NULL; }

uint64_t stet_array_get_id(const stet_array *a) { return a ? a->version.id : 0; }

#ifndef NDEBUG

static void validate_shape(const stet_array *a)
{
    int64_t nitem = 1;
    assert(a->ndim >= 1 && a->ndim <= STET_MAX_DIMS);
    assert((unsigned)a->dtype < STET_DTYPE_COUNT);
    assert((!a->worlds || a->dtype == STET_DTYPE_REAL || a->dtype == STET_DTYPE_INT) &&
           "an array of worlds holds lanes");
    for (int k = 0; k < a->ndim; ++k) assert(a->shape[k] >= 0);
    for (int k = a->worlds ? 1 : 0; k < a->ndim; ++k) /* the product of the others may be too large where one is 0 */
        if (__builtin_mul_overflow(nitem, a->shape[k], &nitem)) nitem = 0;
    assert(a->nitem == nitem);
    int64_t lanes = a->worlds ? a->device->lanes : 1;
    assert(a->nblock == (a->worlds ? (a->shape[0] + lanes - 1) / lanes : 1));
    assert(a->size == (size_t)(a->nitem * a->nblock * lanes) * stet_dtype_size(a->device, a->dtype));
}

void sti_validate_array(const stet_array *a)
{
    assert(a->device && a->name[sizeof a->name - 1] == '\0');
    sti_validate_version(&a->version);
    sti_validate_stamp(&a->host_stamp);
    validate_shape(a);
    assert((a->size == 0 || a->data) && "an array has memory");
    assert(a->borrowed == (a->base != NULL) && "only a view borrows");
    assert(!a->base || a->base->device == a->device);
    assert(!a->producing || a->producer);
    assert(a->holder >= 0 && a->holder <= STET_MECHANISM_COUNT);
    assert(!a->share || a->share->device == a->device);
    assert(!a->share || (atomic_load(&a->share->refs) > 0 && atomic_load(&a->share->writers) >= 0));
    assert(!a->mirror || (!a->base && !a->device->host_memory && a->size > 0));
    assert(!a->view || a->view->array == a);
}

#endif
