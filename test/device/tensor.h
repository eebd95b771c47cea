/*
 * What the tests of tensors share: exports by their options, tensors of somebody else that count how often they were
 * ended.
 */
#ifndef TEST_DEVICE_TENSOR_H
#define TEST_DEVICE_TENSOR_H

#include "device/rig.h"

#include "stet/dlpack.h"

#include <stdlib.h>

typedef struct DLManagedTensorVersioned tensor;

static inline tensor *export_as(stet_array *a, bool writable, bool announced, bool copy)
{
    stet_export_def def = stet_default_export_def();
    def.writable = writable;
    def.announced = announced;
    def.copy = copy;
    tensor *t;
    OK(stet_array_export(a, &def, &t));
    return t;
}

static inline void end(tensor *t) { t->deleter(t); }

static inline int64_t blocks(void) { return stet_get_memory_stats().blocks; }

static inline void check_header(const tensor *t, uint64_t flags, int ndim, const int64_t *shape)
{
    const DLTensor *d = &t->dl_tensor;
    int64_t stride = 1;
    assert_int_equal(t->version.major, 1);
    assert_true(t->flags == flags);
    assert_int_equal(d->device.device_type, kDLCPU);
    assert_int_equal(d->device.device_id, 0);
    assert_int_equal(d->byte_offset, 0);
    assert_int_equal(d->dtype.lanes, 1);
    assert_int_equal(d->ndim, ndim);
    for (int k = ndim - 1; k >= 0; --k) {
        assert_int_equal(d->shape[k], shape[k]);
        assert_int_equal(d->strides[k], stride);
        stride *= shape[k];
    }
}

static inline int first_number(stet_array *a)
{
    const void *host;
    OK(stet_array_get_host(a, &host));
    return *(const int *)host;
}

/* A tensor of somebody else; counts how often it was ended. */
typedef struct foreign {
    tensor tensor;
    int64_t shape[8], strides[8];
    int ended;
    _Alignas(64) char data[4096];
} foreign;

static inline void count_end(tensor *t) { ((foreign *)t->manager_ctx)->ended++; }

static inline foreign *make_foreign(int code, int bits, int ndim, const int64_t *shape)
{
    foreign *f = aligned_alloc(64, (sizeof *f + 63) / 64 * 64);
    assert_non_null(f);
    memset(f, 0, sizeof *f);
    f->tensor = (tensor){.version = {1, 0}, .manager_ctx = f, .deleter = count_end};
    f->tensor.dl_tensor = (DLTensor){.data = f->data,
                                     .device = {kDLCPU, 0},
                                     .ndim = ndim,
                                     .dtype = {(uint8_t)code, (uint8_t)bits, 1},
                                     .shape = f->shape,
                                     .strides = f->strides};
    int64_t stride = 1;
    for (int k = ndim - 1; k >= 0; --k) {
        f->shape[k] = shape[k];
        f->strides[k] = stride;
        stride *= shape[k];
    }
    return f;
}
#define FOREIGN(code, bits, ...)                                                                                       \
    make_foreign((code), (bits), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

static inline stet_array *import(stet_device *device, tensor *t, bool announced)
{
    stet_import_def def = stet_default_import_def();
    def.announced = announced;
    stet_array *a;
    OK(stet_array_import(device, t, &def, &a));
    return a;
}

#endif
