/*
 * Arrays as tensors of other libraries and the other way round, without a copy, through DLPack.
 *
 * The structures are those of DLPack 1.1 (https://dmlc.github.io/dlpack/latest/c_api.html), and every version 1 is
 * understood. A program that uses DLPack's own header includes it before this one.
 */
#ifndef STET_DLPACK_H
#define STET_DLPACK_H

#include "device.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef DLPACK_DLPACK_H_

/* Where data lies; those that stet knows. */
enum { kDLCPU = 1, kDLCUDA = 2, kDLROCM = 10, kDLExtDev = 12, kDLCUDAManaged = 13 };
typedef struct DLDevice {
    int32_t device_type; /* kDL… */
    int32_t device_id;   /* which of them; 0 for the CPU */
} DLDevice;

/* Element types; those that stet knows. */
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

#define DLPACK_FLAG_BITMASK_READ_ONLY (UINT64_C(1) << 0) /* whoever gets it must not write */
#define DLPACK_FLAG_BITMASK_IS_COPIED (UINT64_C(1) << 1) /* it shares its data with nobody */

typedef struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx; /* of who made it */
    void (*deleter)(
        struct DLManagedTensorVersioned *tensor); /* called once by who got it, from any thread; NULL: not needed */
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;

#endif

/*
 * From when on whoever is given a tensor on a GPU may use it. On other devices that is at once, whatever is asked for.
 *
 * Streams are handles of the driver (a CUstream or cudaStream_t, a hipStream_t; NULL is the legacy default stream), not the numbers that
 * Python's __dlpack__ takes.
 */
typedef enum stet_ready {
    STET_READY_NOW,       /* at once, in any stream: all work on it is done. An export waits for that on the host */
    STET_READY_IN_STREAM, /* in `stream`: what it gets from now on comes after the work on it; nobody waits */
    STET_READY_UNORDERED  /* not yet: whoever asks orders the work himself (stet_device_signal_stream) */
} stet_ready;

/* How to export an array; start from stet_default_export_def(). */
typedef struct stet_export_def {
    uint32_t cookie;
    bool writable; /* whoever gets the tensor may write through it; default: read-only */
    /*
     * Of a writable one: every write is announced by stet_array_mark_written. Otherwise, while the tensor lives, the
     * array counts as written at each time that stet reads it, and nothing that is made of it stands.
     */
    bool announced;
    /*
     * Where an array of worlds lies in blocks of lanes (a CPU): a tensor [world][…] over a plain view of it, in memory of its own that is kept
     * in step with the array by stet_device_take_views and stet_device_show_views. Elsewhere it means nothing: the memory is plain.
     */
    bool plain;
    bool copy;        /* a copy of what the host sees, which later writes do not change; its bytes count as copied */
    stet_ready ready; /* for whoever gets the tensor; default: now. A copy is ready now */
    void *stream;     /* of ready: in stream */
} stet_export_def;
STET_API stet_export_def stet_default_export_def(void);

/*
 * Hands out a tensor over the array's own memory, or a copy. The caller owns *out, and ends it with its deleter, from
 * any thread: it may outlive the array and the device, whose memory lives as long. The array is brought up to date
 * first; it changes when the array does, but what stet works out only when it is read is current only after
 * stet_array_update. It lies where the device's memory does: kDLCPU, kDLCUDA, kDLROCM, and kDLExtDev for a null device
 * whose memory is apart; a copy is the CPU's.
 *
 * On a GPU stet works in a stream of its own, or in the caller's (stet_device_use_stream). The def's `ready` says what waits
 * for it now, and stet_array_update or stet_array_update_in_stream each later time. The other way it is the caller's to
 * order: what other streams than that one have still to do with the tensor is done, or stet_device_wait_stream was called
 * for them, before stet is called again, and before the tensor is ended.
 *
 * Its shape is the array's. An array of worlds on a device of B > 1 lanes is exported as it lies, [block][item][B],
 * with world block * B + lane; its last block is padded with what is no world's. A copy and a plain one are [world][…]. Element
 * types: REAL float32 (float64 on a device with isa "f64"), INT int32, I64 int64, U32, U16, U8 the same, F16 float16.
 *
 * INVALID_ARGUMENT, if writable: the array was imported read-only; it is a view of pictures that stet keeps; a copy; or
 * stet itself makes its content when it is read, and the export is not announced (it would be the caller's for good).
 * DEVICE, OUT_OF_MEMORY.
 */
STET_API stet_result stet_array_export(stet_array *array, const stet_export_def *def,
                                       struct DLManagedTensorVersioned **out);

/*
 * Brings plain views (stet_export_def.plain) of the device's arrays in step. Others read and write a view's memory as they like while stet is not at
 * work; take_views is called after that and before the next call of stet's: numbers that they changed are written to the arrays. show_views is
 * called after calls of stet's and before others look: views of arrays that moved are filled again (mechanism plain_view), and poses are worked out
 * first. While launches are being listed it does nothing: call it when the list has ended. Python does both, around each call.
 *
 * All views are seen to, whatever fails; the first failure is the result. STATE: a tensor that was given out for reading was written; it has its
 * content back. Otherwise failures of what brings an array up to date.
 */
STET_API stet_result stet_device_take_views(stet_device *device);
STET_API stet_result stet_device_show_views(stet_device *device);

/* How to import a tensor; start from stet_default_import_def(). */
typedef struct stet_import_def {
    uint32_t cookie;
    const char *name; /* for messages; copied */
    bool worlds;    /* an array of worlds: its first dimension; with B > 1 lanes the tensor must be [block][item][B] */
    int64_t nworld; /* of such an array, where the last block may be padded; 0: as many as there is room for */
    /*
     * Whoever else holds the data announces his writes by stet_array_mark_written. Otherwise the array counts as
     * written at each time that stet reads it.
     */
    bool announced;
    /*
     * For stet, of a tensor on a GPU: ready now (the default) is the caller's word that the work on it is done or ordered; in
     * stream, stet's work from now on comes after what `stream` has got so far.
     */
    stet_ready ready;
    void *stream;
} stet_import_def;
STET_API stet_import_def stet_default_import_def(void);

/*
 * Makes an array of a tensor's own memory: kDLCPU on the CPU and null devices, on a GPU kDLCUDA or kDLROCM of the device's
 * own number (on CUDA kDLCUDAManaged, too). The tensor is stet's from here on, also when this fails: its deleter is called
 * once, at the end of the array and of its exports, or before this returns. The caller owns *out.
 *
 * On a GPU the end of the array waits on the host until stet's work is done, since then the memory may go; but not where
 * the tensor came ready in the stream that stet works in at the end: what goes, goes in that stream's order.
 *
 * The tensor must be C-contiguous, of a type in the table above (bool is U8), with at most STET_MAX_DIMS dimensions
 * (none is a shape of 1), aligned to its elements; one of worlds, to B of them. One that is flagged read-only makes an
 * array that no kernel and no stet_array_write may change. INVALID_ARGUMENT, UNSUPPORTED (another version, device,
 * layout or type), LIMIT, DEVICE, OUT_OF_MEMORY.
 */
STET_API stet_result stet_array_import(stet_device *device, struct DLManagedTensorVersioned *tensor,
                                       const stet_import_def *def, stet_array **out);

#ifdef __cplusplus
}
#endif
#endif
