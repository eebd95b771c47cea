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

typedef enum stet_device_type {
    STET_DEVICE_AUTO, /* CUDA if there is one, else HIP, else CPU; CPU if an isa is asked for. The name tells which */
    STET_DEVICE_CPU,
    STET_DEVICE_NULL, /* for tests: runs no kernel, counts calls, fails where it is told to; never picked by itself */
    STET_DEVICE_CUDA, /* an NVIDIA GPU */
    STET_DEVICE_HIP   /* an AMD GPU */
} stet_device_type;

/* What a kind of device can be asked for, a slot of its table each. `any`: all that can fail, which is all but `free`. */
#define STET_SLOTS(X)                                                                                                  \
    X(ANY, "any")                                                                                                      \
    X(ALLOC, "alloc")                                                                                                  \
    X(FREE, "free")                                                                                                    \
    X(UPLOAD, "upload")                                                                                                \
    X(DOWNLOAD, "download")                                                                                            \
    X(COPY, "copy")                                                                                                    \
    X(LAUNCH, "launch")                                                                                                \
    X(SYNCHRONIZE, "synchronize")
typedef enum stet_slot {
#define STET_SLOT_ENUM(id, name) STET_SLOT_##id,
    STET_SLOTS(STET_SLOT_ENUM)
#undef STET_SLOT_ENUM
        STET_SLOT_COUNT
} stet_slot;
STET_API const char *stet_slot_name(stet_slot slot); /* "alloc" */

/*
 * How to make a null device: its memory is the host's, zeroed, and copies move bytes, so what is written can be read
 * back; launches do nothing. Of the device's def it takes `threads` (for work on the host; 0: 1) and `mechanisms`.
 */
typedef struct stet_null_def {
    int lanes;     /* B: 1 (as on a GPU; 0 is the same), 4, 8 or 16 */
    bool no_reuse; /* a round (stet/round.h) finds nothing of the one before: all is set up again */
    bool apart;    /* its addresses are none of the host's: a touch that is no call of the device ends the program */
    stet_slot fail_slot; /* the slot whose call fails (STET_DEVICE), once */
    int64_t fail_at;     /* which of its calls, from 1; 0: none */
} stet_null_def;

/*
 * Which GPU. Its driver and its run-time compiler are found when the device is made, nothing of them is needed to build;
 * the two paths are for those that are somewhere unusual (and for tests).
 */
typedef struct stet_gpu_def {
    int index;                    /* from 0, as the driver counts those that this process may see */
    const char *library;          /* the driver's file; NULL: found by its name (libcuda.so.1; libamdhip64.so.7 …) */
    const char *compiler_library; /* likewise (libnvrtc.so.13 …; libhiprtc.so.7 …) */
} stet_gpu_def;

/*
 * How to make a device; start from stet_default_device_def().
 *
 * Threads that help the caller's belong to the process: all devices share them. None is started before there is work that pays for it, and fewer than
 * `threads` work where other processes keep them from it. In a forked child a CPU's device works on, with threads of the child's own; one of a GPU that
 * was opened before the fork fails with STATE, and so does opening another: drivers cannot be used there. Start the process anew instead.
 */
typedef struct stet_device_def {
    uint32_t cookie;       /* set by stet_default_device_def */
    stet_device_type type; /* AUTO: the best that can be used */
    int threads; /* that work at most, the caller's among them; 0: one a processor that this process may use; at most 4096 */
    const char
        *isa; /* CPU: "portable", "avx2", "avx512"; for tests "w1", "f64"; NULL: the widest that this machine has */
    stet_null_def null;       /* NULL device */
    stet_gpu_def gpu;         /* CUDA, HIP */
    const char *cache_folder; /* of kernels that are compiled when first used, on GPUs; NULL: as in stet_kernel_def */
    stet_mechanism_options mechanisms;
    /*
     * Kernels of the caller's (kernel.h) are made in checked mode: each access is held to the bounds of its array, and what would go beyond
     * is not done but told, as STET_FAULT of the launch (or of the list that it was in) with kernel, line, array, index and world. The
     * same bits, several times slower. Also on where the environment says STET_CHECKED=1.
     */
    bool checked;
} stet_device_def;

STET_API stet_device_def stet_default_device_def(void);
/* The caller owns *out. A STET_DISABLE that names no mechanism is an error here. */
STET_API stet_result stet_device_create(const stet_device_def *def, stet_device **out);
/*
 * What the library made on it (worlds, stages, steps) must have been destroyed. Arrays, kernels and exported tensors may live on: so does what they
 * need of the device, and they can be destroyed, no more. NULL is fine.
 */
STET_API void stet_device_destroy(stet_device *device);

STET_API const char *stet_device_name(const stet_device *device); /* "cpu (avx512, 16 lanes, 2 threads)" */
STET_API stet_device_type stet_device_get_type(const stet_device *device);
STET_API const char *
stet_device_isa(const stet_device *device);                /* a GPU's architecture: "sm_90"; "none" on a null device */
STET_API int stet_device_lanes(const stet_device *device); /* B: worlds of a block of the layout */
STET_API int stet_device_threads(const stet_device *device);

/* Counters of everything on this device. */
STET_API void stet_device_counters(const stet_device *device, stet_counters *out);
STET_API void stet_device_clear_counters(stet_device *device); /* all but held_bytes, which says what is held now */
STET_API stet_mechanism_options stet_device_mechanisms(const stet_device *device);
STET_API stet_result stet_device_set_mechanisms(stet_device *device, const stet_mechanism_options *options);

/* Calls of a slot of a null device since it was made; -1: no null device, or no such slot. */
STET_API int64_t stet_device_null_calls(const stet_device *device, stet_slot slot);
/*
 * The at-th call from now of this slot of a null device fails, once, as STET_DEVICE and without having done anything;
 * 0: none does. Takes the place of what was asked for before. INVALID_ARGUMENT: no null device, no slot that can fail.
 */
STET_API stet_result stet_device_null_fail(stet_device *device, stet_slot slot, int64_t at);

/* ---- streams ------------------------------------------------------------------------------------------------------ */

/*
 * On a GPU work is issued to a stream (a CUstream or cudaStream_t, a hipStream_t; NULL is the legacy default stream), by default to one of the
 * device's own that waits for nobody. On other devices work is done when a call returns: these calls check their arguments, and that is all.
 *
 * Calls that hand something to the host (reads, hashes) wait for what was issued. All else returns when it is issued.
 */

/*
 * From now on stet issues its work to the caller's stream, which must live until another is used or the device is destroyed. It comes after
 * all that stet issued before, in whatever stream.
 *
 * If the stream is being captured into a graph (by torch.cuda.graph, say), stet joins: launches and copies on the device become a part of
 * that graph, and nothing is waited for or allocated. What would need the host or an allocation is refused (UNSUPPORTED) and leaves the capture
 * intact. Work outside of the capture is not ordered against it: the graph must run after it (stet_device_signal_stream). Each run of
 * the graph is announced with stet_recording_replayed(device, stet_recording_last(device)).
 */
STET_API stet_result stet_device_use_stream(stet_device *device, void *stream);
STET_API stet_result stet_device_use_own_stream(stet_device *device);
STET_API void *stet_device_stream(const stet_device *device); /* in use now; NULL also on devices without streams */
/* What stet issues from now on comes after all that the caller's stream has got so far. */
STET_API stet_result stet_device_wait_stream(stet_device *device, void *stream);
/* What the caller's stream gets from now on comes after all that stet has issued so far. */
STET_API stet_result stet_device_signal_stream(stet_device *device, void *stream);
/* Waits until all that was issued is done. DEVICE: what went wrong on the device meanwhile. */
STET_API stet_result stet_device_synchronize(stet_device *device);

/*
 * Work that stet does not launch itself (see stet_record_foreign): issues it to `stream` (NULL on devices without streams: then it does it) and
 * returns without waiting. What it returns other than STET_OK is the result of the call that made it run.
 */
typedef stet_result stet_foreign(void *context, void *stream);

/* ---- arrays ------------------------------------------------------------------------------------------------------- */

/*
 * Element types. REAL is the device's real (float, or double on a device with isa "f64"): what kernels call real or
 * ureal; the host always reads and writes it as float, or as double on such a device.
 */
typedef enum stet_dtype {
    STET_REAL,
    STET_INT,
    STET_I64,
    STET_U32,
    STET_U16,
    STET_U8,
    STET_F16,
    STET_DTYPE_COUNT
} stet_dtype;
STET_API size_t stet_dtype_size(const stet_device *device, stet_dtype dtype);
STET_API const char *stet_dtype_name(stet_dtype dtype);

enum { STET_MAX_DIMS = 6 };

/*
 * An array: element type, shape, identity, generation. `worlds` arrays have the number of worlds as their first
 * dimension and are stored blocked, [world / B][item][B]; the host always sees [world][item] in C order. Other arrays
 * are stored in C order.
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
STET_API stet_result stet_array_write_worlds(stet_array *array, int64_t first, int64_t n, const void *data,
                                             size_t size);
/*
 * A host copy in C order that the array keeps: asked again while nothing was written, it is the same memory and nothing
 * is copied (mechanism `readback`). Borrowed until the array is written or destroyed.
 */
STET_API stet_result stet_array_host(stet_array *array, const void **out);
/*
 * Brings the content up to date, for a reader that stet cannot see (of an exported tensor): what stet works out only
 * when it is read (poses, scene transforms). Where stet itself reads, it does this by itself.
 */
STET_API stet_result stet_array_update(stet_array *array);
/*
 * The same for a reader in a stream of a GPU: what the stream gets from now on comes after it, and nobody waits. That is nothing at all for
 * the stream that stet works in (stet_device_use_stream). On other devices it is stet_array_update.
 */
STET_API stet_result stet_array_update_in_stream(stet_array *array, void *stream);
/* Announces a write that stet could not see. */
STET_API void stet_array_mark_written(stet_array *array);
/* Hash of the content in C order, equal on every device and at every lane width. */
STET_API stet_result stet_array_hash(const stet_array *array, uint64_t *out);

#ifdef __cplusplus
}
#endif
#endif
