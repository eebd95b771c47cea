/*
 * Another library on the same device, for tests of tensors: a second device of stet's, whose stream and memory have
 * nothing to do with the first one's. Its tensors count how often they were ended.
 */
#ifndef TEST_DEVICE_FOREIGNER_H
#define TEST_DEVICE_FOREIGNER_H

#include "device/devices.h"

#include "device/dlpack.h"
#include "stet/dlpack.h"

#include <stdlib.h>

typedef struct DLManagedTensorVersioned tensor;

static inline stet_device *foreigner_open(const rig_device *rig)
{
    stet_device *other;
    OK(stet_device_create(&rig->def, &other));
    return other;
}

/* Its kernels and copies, as far as they matter here: they are in its stream, and not done when these return. */
static inline void foreigner_put(stet_device *other, void *to, const void *from, size_t size)
{
    OK(other->ops->upload(other, to, from, size));
}
static inline void foreigner_finish(stet_device *other) { OK(other->ops->synchronize(other)); }
/* Waits for its own stream, and for no other. */
static inline void foreigner_get(stet_device *other, void *to, const void *from, size_t size)
{
    OK(other->ops->download(other, to, from, size));
}
static inline int foreigner_int(stet_device *other, const tensor *t, int i)
{
    int x;
    foreigner_get(other, &x, (const int *)t->dl_tensor.data + i, sizeof x);
    return x;
}
static inline void foreigner_set(stet_device *other, const tensor *t, int i, int x)
{
    foreigner_put(other, (int *)t->dl_tensor.data + i, &x, sizeof x);
}

/* A plain tensor of n ints in its memory. */
typedef struct foreign_tensor {
    tensor tensor;
    stet_device *other;
    int64_t shape[2];
    int ended;
    int at_end[4]; /* the first ints when it was ended, for whoever asks: */
    bool looks;
} foreign_tensor;

static inline void foreign_ended(tensor *t)
{
    foreign_tensor *f = t->manager_ctx;
    f->ended++;
    if (f->looks) foreigner_get(f->other, f->at_end, t->dl_tensor.data, sizeof f->at_end);
}

static inline foreign_tensor *foreign_make(stet_device *other, int64_t n)
{
    foreign_tensor *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->other = other;
    f->shape[0] = n;
    f->tensor = (tensor){.version = {1, 0}, .manager_ctx = f, .deleter = foreign_ended};
    f->tensor.dl_tensor = (DLTensor){.device = sti_dlpack_place(other), .ndim = 1, .dtype = {kDLInt, 32, 1}};
    f->tensor.dl_tensor.shape = f->shape;
    OK(other->ops->alloc(other, (size_t)n * sizeof(int), "another library's", &f->tensor.dl_tensor.data));
    foreigner_finish(other);
    return f;
}

/* Ended once, and gone. */
static inline void foreign_drop(foreign_tensor *f)
{
    assert_int_equal(f->ended, 1);
    f->other->ops->free(f->other, f->tensor.dl_tensor.data);
    free(f);
}

/* ---- plain arrays of int, and tensors of them ---- */

static inline tensor *export_ints(stet_array *a, bool writable, bool announced)
{
    stet_export_def def = stet_default_export_def();
    def.writable = writable;
    def.announced = announced;
    tensor *t;
    OK(stet_array_export(a, &def, &t));
    return t;
}

static inline void end(tensor *t) { t->deleter(t); }

static inline stet_array *new_ints(stet_device *device, int64_t n)
{
    stet_array *a;
    OK(STI_ARRAY(device, "ints", STET_DTYPE_INT, false, &a, n));
    return a;
}

static inline stet_array *import_ints(stet_device *device, foreign_tensor *f, bool announced)
{
    stet_import_def def = stet_default_import_def();
    def.announced = announced;
    stet_array *a;
    OK(stet_array_import(device, &f->tensor, &def, &a));
    return a;
}

static inline int first_int(stet_array *a)
{
    const void *host;
    OK(stet_array_get_host(a, &host));
    return *(const int *)host;
}

#endif
