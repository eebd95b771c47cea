/*
 * What is known of an array without its content: element type, shape, size, name.
 */
#include "device/device.h"

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
