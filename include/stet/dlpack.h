/*
 * Arrays as tensors of other libraries, and tensors of other libraries as arrays, without a copy, through DLPack.
 *
 * The structures are those of DLPack 1.1 (https://dmlc.github.io/dlpack/latest/c_api.html); stet reads every version 1.
 * A program that uses DLPack's own header must include it before this one.
 */
#ifndef STET_DLPACK_H
#define STET_DLPACK_H

#include "device.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef DLPACK_DLPACK_H_

/* Device types that stet supports. */
enum { kDLCPU = 1, kDLCUDA = 2, kDLROCM = 10, kDLExtDev = 12, kDLCUDAManaged = 13 };
typedef struct DLDevice {
    int32_t device_type; /* kDL… */
    int32_t device_id;   /* number of the device; 0 for the CPU */
} DLDevice;

/* Element types that stet supports. */
enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBool = 6 };
typedef struct DLDataType {
    uint8_t code; /* kDL… */
    uint8_t bits; /* of one lane */
    uint16_t lanes;
} DLDataType;

typedef struct DLTensor {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;   /* [ndim] */
    int64_t *strides; /* [ndim], in elements; NULL: C order without gaps */
    uint64_t byte_offset;
} DLTensor;

typedef struct DLPackVersion {
    uint32_t major, minor;
} DLPackVersion;

#define DLPACK_FLAG_BITMASK_READ_ONLY (UINT64_C(1) << 0) /* the consumer must not write */
#define DLPACK_FLAG_BITMASK_IS_COPIED (UINT64_C(1) << 1) /* the data is shared with nobody */

typedef struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx; /* context of the producer */
    void (*deleter)(
        struct DLManagedTensorVersioned *tensor); /* the consumer calls it once, from any thread; NULL: not needed */
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;

#endif

/* How to export an array; start from stet_default_export_def(). */
typedef struct stet_export_def {
    uint32_t cookie;
    bool writable; /* the consumer may write through the tensor; default: read-only */
    /*
     * For a writable tensor: the consumer announces each write by stet_array_mark_written. Otherwise, while the tensor
     * lives, the array counts as written at each read by stet, and nothing that is derived from it is reused.
     */
    bool announced;
    /*
     * For an array of worlds in blocks of lanes (a CPU): export a tensor [world][…] over a plain view, a second copy in
     * memory of its own. stet_device_take_views and stet_device_show_views synchronise it with the array. If the layout
     * is plain already, this has no effect.
     */
    bool plain;
    bool copy;        /* a copy of the host's view, which later writes do not change; its bytes count as copied */
    stet_ready ready; /* when the consumer may use it; default: now. A copy is always ready now */
    void *stream;     /* for STET_READY_IN_STREAM */
} stet_export_def;
STET_API stet_export_def stet_default_export_def(void);

/*
 * Exports an array as a tensor over the array's own memory, or as a copy. The caller owns *out and calls its deleter,
 * from any thread. The tensor may outlive the array and the device; it keeps the memory alive. The array is brought up
 * to date first. The tensor shows later changes of the array; content that stet computes on demand is up to date only
 * after stet_array_update. Device types: kDLCPU, kDLCUDA, kDLROCM as the device's memory, kDLExtDev for a null device
 * with `apart` memory; a copy is kDLCPU.
 *
 * On a GPU stet works in its own stream or in the caller's (stet_device_use_stream). `ready` orders the consumer after
 * stet's work now; stet_array_update or stet_array_update_in_stream do it later. The caller orders the other direction:
 * before the next call of stet and before the deleter, work of other streams on the tensor must be done, or ordered by
 * stet_device_wait_stream.
 *
 * The shape is the array's. On a device of B > 1 lanes an array of worlds has its stored layout, [block][item][B], with
 * world = block * B + lane; the last block is padded. A copy and a plain view have [world][…]. Element types: REAL
 * float32 (float64 on a device with isa "f64"), INT int32, I64 int64, U32, U16, U8 the same, F16 float16.
 *
 * INVALID_ARGUMENT, for a writable tensor: the array was imported read-only; it is a picture in stet's ring; a copy; or
 * stet computes the content on demand and the export is not announced. DEVICE, OUT_OF_MEMORY.
 */
STET_API stet_result stet_array_export(stet_array *array, const stet_export_def *def,
                                       struct DLManagedTensorVersioned **out);

/*
 * Synchronise the plain views (stet_export_def.plain) of the device's arrays. Consumers may read and write a view's
 * memory between calls of stet. Call take_views after such writes and before the next call of stet: it writes changed
 * numbers to the arrays. Call show_views after calls of stet and before consumers read: it fills the views of arrays
 * that were written (mechanism plain_view), after computing poses. While launches are being listed it does nothing;
 * call it after the list. Python calls both around each call of stet.
 *
 * A failure does not stop the other views; the first failure is the result. STATE: a read-only tensor was written; its
 * content has been restored. Other errors are those of bringing an array up to date.
 */
STET_API stet_result stet_device_take_views(stet_device *device);
STET_API stet_result stet_device_show_views(stet_device *device);

/* How to import a tensor; start from stet_default_import_def(). */
typedef struct stet_import_def {
    uint32_t cookie;
    const char *name; /* for messages; copied */
    /* an array of worlds: the first dimension is the world; with B > 1 lanes the tensor must be [block][item][B] */
    bool worlds;
    int64_t nworld; /* number of worlds, if the last block is padded; 0: as many as fit */
    /*
     * Other writers of the data announce their writes by stet_array_mark_written. Otherwise the array counts as written
     * at each read by stet.
     */
    bool announced;
    /*
     * The tensor may have any strides: the array is one-dimensional and has all elements from the tensor's lowest
     * address to its highest, what lies between the tensor's own too (stet_foreign_picture). The tensor's first element
     * is number 0 of it, unless strides are negative. Not for an array of worlds.
     */
    bool span;
    /*
     * When stet may use a tensor on a GPU. Now (the default): the work on it is done, or ordered by the caller. In
     * stream: stet's later work is ordered after what `stream` has got so far.
     */
    stet_ready ready;
    void *stream;
} stet_import_def;
STET_API stet_import_def stet_default_import_def(void);

/*
 * Makes an array over a tensor's own memory. Devices: kDLCPU on CPU and null devices; on a GPU kDLCUDA or kDLROCM with
 * the device's own number (on CUDA also kDLCUDAManaged). stet owns the tensor from now on, also when the import fails:
 * its deleter is called once, when the array and its exports are destroyed, or before this function returns an error.
 * The caller owns *out.
 *
 * On a GPU destroying the array waits on the host until stet's work is done, because the memory may be freed then. It
 * does not wait if the tensor was ready in the stream that stet works in at that time: the stream orders the release.
 *
 * The tensor must be C-contiguous (but for def->span), of an element type above (bool is U8), with at most
 * STET_MAX_DIMS dimensions (none counts as shape 1), and aligned to its elements; one of worlds to B elements. A tensor
 * that is flagged read-only makes an array that no kernel and no stet_array_write may change. INVALID_ARGUMENT;
 * UNSUPPORTED (another version, device, layout or type); LIMIT; DEVICE; OUT_OF_MEMORY.
 */
STET_API stet_result stet_array_import(stet_device *device, struct DLManagedTensorVersioned *tensor,
                                       const stet_import_def *def, stet_array **out);

#ifdef __cplusplus
}
#endif
#endif
