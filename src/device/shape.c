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

/*
 * Counts the items of a world, or of a whole plain array. A dimension that is too large does no harm where another one
 * is 0.
 */
static stet_result count_items(const stet_array *a, size_t *out)
{
    int first = a->worlds ? 1 : 0;
    bool none = false;
    for (int k = 0; k < a->ndim; ++k) none = none || a->shape[k] == 0;
    *out = 1;
    for (int k = first; k < a->ndim; ++k)
        if (a->shape[k] == 0) *out = 0;
    for (int k = first; k < a->ndim && *out; ++k)
        if (__builtin_mul_overflow(*out, (size_t)a->shape[k], out)) {
            *out = 0;
            return none ? STET_OK
                        : sti_error(STET_ERROR_LIMIT, "array %s: its dimensions are more than this machine can address",
                                    a->name);
        }
    return STET_OK;
}

stet_result sti_array_measure(const stet_array *a, int64_t *nitem, int64_t *nblock, size_t *size)
{
    size_t items, count, lanes = (size_t)a->device->lanes;
    STI_TRY(count_items(a, &items));
    size_t blocks = a->worlds ? ((size_t)a->shape[0] + lanes - 1) / lanes : 1;
    STI_TRY(sti_mul_size(items, blocks, &count, a->name));
    if (a->worlds) STI_TRY(sti_mul_size(count, lanes, &count, a->name));
    STI_TRY(sti_mul_size(count, stet_dtype_size(a->device, a->dtype), size, a->name));
    if (*size > (size_t)INT64_MAX / 2)
        return sti_error(STET_ERROR_LIMIT, "array %s: %zu bytes are more than can be addressed", a->name, *size);
    *nitem = (int64_t)items;
    *nblock = (int64_t)blocks;
    return STET_OK;
}

#ifndef NDEBUG

static void validate_shape(const stet_array *a)
{
    int64_t nitem, nblock;
    size_t size;
    assert(a->ndim >= 1 && a->ndim <= STET_MAX_DIMS);
    assert((unsigned)a->dtype < STET_DTYPE_COUNT);
    assert((!a->worlds || a->dtype == STET_DTYPE_REAL || a->dtype == STET_DTYPE_INT) &&
           "an array of worlds holds lanes");
    for (int k = 0; k < a->ndim; ++k) assert(a->shape[k] >= 0);
    assert(sti_array_measure(a, &nitem, &nblock, &size) == STET_OK);
    assert(a->nitem == nitem && a->nblock == nblock && a->size == size);
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
    assert(!a->mirror || (!a->base && !a->device->can.host_memory && a->size > 0));
    assert(!a->view || a->view->array == a);
}

#endif
