/*
 * Devices, and arrays that live on them.
 */
#ifndef STET_DEVICE_H
#define STET_DEVICE_H

#include "mechanisms.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stet_device stet_device;
typedef struct stet_array stet_array;

typedef enum stet_device_type { STET_DEVICE_AUTO, STET_DEVICE_CPU } stet_device_type;

/* How to make a device; start from stet_default_device_def(). */
typedef struct stet_device_def {
    uint32_t cookie;       /* set by stet_default_device_def */
    stet_device_type type; /* AUTO: the best that exists */
    int threads;           /* 0: one a processor that this process may use; at most 4096 */
    const char *isa;       /* CPU: "portable", "avx2", "avx512"; for tests "w1", "f64"; NULL: the widest that this machine has */
    stet_mechanism_options mechanisms;
} stet_device_def;

STET_API stet_device_def stet_default_device_def(void);
/* The caller owns *out. A STET_DISABLE that names no mechanism is an error here. */
STET_API stet_result stet_device_create(const stet_device_def *def, stet_device **out);
/* All that lives on the device must have been destroyed; NULL is fine. */
STET_API void stet_device_destroy(stet_device *device);

STET_API const char *stet_device_name(const stet_device *device);  /* "cpu (avx512, 16 lanes, 2 threads)" */
STET_API stet_device_type stet_device_get_type(const stet_device *device);
STET_API const char *stet_device_isa(const stet_device *device);
STET_API int stet_device_lanes(const stet_device *device);   /* B: worlds of a block of the layout */
STET_API int stet_device_threads(const stet_device *device);

/* Counters of everything on this device. */
STET_API void stet_device_counters(const stet_device *device, stet_counters *out);
STET_API void stet_device_clear_counters(stet_device *device);
STET_API stet_mechanism_options stet_device_mechanisms(const stet_device *device);
STET_API stet_result stet_device_set_mechanisms(stet_device *device, const stet_mechanism_options *options);

/*
 * Element types. REAL is the device's real (float, or double on a device with isa "f64"): what kernels call real or
 * ureal; the host always reads and writes it as float, or as double on such a device.
 */
typedef enum stet_dtype { STET_REAL, STET_INT, STET_I64, STET_U32, STET_U16, STET_U8, STET_F16, STET_DTYPE_COUNT } stet_dtype;
STET_API size_t stet_dtype_size(const stet_device *device, stet_dtype dtype);
STET_API const char *stet_dtype_name(stet_dtype dtype);

enum { STET_MAX_DIMS = 6 };

/*
 * An array: element type, shape, identity, generation. `worlds` arrays have the number of worlds as their first dimension and
 * are stored blocked, [world / B][item][B]; the host always sees [world][item] in C order. Other arrays are stored in C order.
 */
typedef struct stet_array_def {
    uint32_t cookie;
    const char *name; /* for messages; copied */
    stet_dtype dtype;
    bool worlds;
    int ndim;
    int64_t shape[STET_MAX_DIMS];
} stet_array_def;

STET_API stet_array_def stet_default_array_def(void);
/* Zeroed. The caller owns *out and destroys it before the device. STET_LIMIT if the size does not fit. */
STET_API stet_result stet_array_create(stet_device *device, const stet_array_def *def, stet_array **out);
STET_API void stet_array_destroy(stet_array *array);

STET_API const char *stet_array_name(const stet_array *array);
STET_API stet_dtype stet_array_dtype(const stet_array *array);
STET_API int stet_array_ndim(const stet_array *array);
STET_API const int64_t *stet_array_shape(const stet_array *array);
STET_API int64_t stet_array_count(const stet_array *array); /* elements that the host sees */
STET_API size_t stet_array_bytes(const stet_array *array);  /* of those */
STET_API stet_device *stet_array_device(const stet_array *array);
STET_API uint64_t stet_array_id(const stet_array *array);
STET_API uint64_t stet_array_generation(const stet_array *array);

/* Copies all elements from or to the host, in C order; size must be stet_array_bytes(). A write bumps the generation. */
STET_API stet_result stet_array_read(const stet_array *array, void *out, size_t size);
STET_API stet_result stet_array_write(stet_array *array, const void *data, size_t size);
/* The same for the worlds first … first + n - 1 (first dimension). */
STET_API stet_result stet_array_read_worlds(const stet_array *array, int64_t first, int64_t n, void *out, size_t size);
STET_API stet_result stet_array_write_worlds(stet_array *array, int64_t first, int64_t n, const void *data, size_t size);
/*
 * A host copy in C order that the array keeps: asked again while nothing was written, it is the same memory and nothing is copied
 * (mechanism `readback`). Borrowed until the array is written or destroyed.
 */
STET_API stet_result stet_array_host(stet_array *array, const void **out);
/* Announces a write that stet could not see. */
STET_API void stet_array_mark_written(stet_array *array);
/* Hash of the content in C order, equal on every device and at every lane width. */
STET_API stet_result stet_array_hash(const stet_array *array, uint64_t *out);

#ifdef __cplusplus
}
#endif
#endif
