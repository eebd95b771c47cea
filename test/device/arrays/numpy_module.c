/*
 * What numpy_test.py calls: a device and an array of worlds, out to NumPy and in from it. A module of its own, because
 * the library may be a static one.
 */
#include "stet/dlpack.h"

#include <stdlib.h>
#include <string.h>

#define CALLED_BY_PYTHON __attribute__((visibility("default")))

CALLED_BY_PYTHON const char *message(void);
CALLED_BY_PYTHON stet_device *device_open(const char *isa);
CALLED_BY_PYTHON void device_close(stet_device *device);
CALLED_BY_PYTHON int device_lanes(const stet_device *device);
CALLED_BY_PYTHON stet_array *array_make(stet_device *device, int dtype, int worlds, int64_t n, int64_t m);
CALLED_BY_PYTHON void array_end(stet_array *array);
CALLED_BY_PYTHON int array_read(const stet_array *array, void *to, size_t size);
CALLED_BY_PYTHON int array_write(stet_array *array, const void *from, size_t size);
CALLED_BY_PYTHON void array_announce(stet_array *array);
CALLED_BY_PYTHON uint64_t array_generation(const stet_array *array);
CALLED_BY_PYTHON struct DLManagedTensorVersioned *array_export(stet_array *array, int writable, int announced,
                                                               int copy);
CALLED_BY_PYTHON stet_array *array_import(stet_device *device, struct DLManagedTensorVersioned *tensor);
CALLED_BY_PYTHON int64_t array_shape(const stet_array *array, int k);
CALLED_BY_PYTHON void tensor_end(struct DLManagedTensorVersioned *tensor);
CALLED_BY_PYTHON int64_t blocks_held(void);

const char *message(void) { return stet_get_last_error(); }

stet_device *device_open(const char *isa)
{
    stet_device_def def = stet_default_device_def();
    stet_device *device = NULL;
    def.isa = isa;
    def.threads = 1;
    return stet_device_create(&def, &device) == STET_OK ? device : NULL;
}

void device_close(stet_device *device) { stet_device_destroy(device); }

int device_lanes(const stet_device *device) { return stet_device_get_lanes(device); }

stet_array *array_make(stet_device *device, int dtype, int worlds, int64_t n, int64_t m)
{
    stet_array_def def = stet_default_array_def();
    stet_array *array = NULL;
    def.dtype = (stet_dtype)dtype;
    def.worlds = worlds;
    def.ndim = 2;
    def.shape[0] = n;
    def.shape[1] = m;
    return stet_array_create(device, &def, &array) == STET_OK ? array : NULL;
}

void array_end(stet_array *array) { stet_array_destroy(array); }

int array_read(const stet_array *array, void *to, size_t size) { return (int)stet_array_read(array, to, size); }

int array_write(stet_array *array, const void *from, size_t size) { return (int)stet_array_write(array, from, size); }

void array_announce(stet_array *array) { stet_array_mark_written(array); }

uint64_t array_generation(const stet_array *array) { return stet_array_get_generation(array); }

struct DLManagedTensorVersioned *array_export(stet_array *array, int writable, int announced, int copy)
{
    stet_export_def def = stet_default_export_def();
    struct DLManagedTensorVersioned *tensor = NULL;
    def.writable = writable;
    def.announced = announced;
    def.copy = copy;
    return stet_array_export(array, &def, &tensor) == STET_OK ? tensor : NULL;
}

stet_array *array_import(stet_device *device, struct DLManagedTensorVersioned *tensor)
{
    stet_import_def def = stet_default_import_def();
    stet_array *array = NULL;
    return stet_array_import(device, tensor, &def, &array) == STET_OK ? array : NULL;
}

int64_t array_shape(const stet_array *array, int k)
{
    return k < stet_array_get_ndim(array) ? stet_array_get_shape(array)[k] : -1;
}

void tensor_end(struct DLManagedTensorVersioned *tensor) { tensor->deleter(tensor); }

int64_t blocks_held(void) { return stet_get_memory_stats().blocks; }
