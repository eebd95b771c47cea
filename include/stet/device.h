/*
 * Devices, and the arrays that live on them.
 *
 * A device runs kernels and owns memory. An array has a shape, an element type, an identity and a generation. This
 * header also orders stet's work against the caller's GPU streams.
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
    /* CUDA if there is one, else HIP, else CPU; CPU if an isa is given. stet_device_get_name says which it is */
    STET_DEVICE_AUTO,
    STET_DEVICE_CPU,
    STET_DEVICE_NULL, /* for tests: zeroed host memory, copies move bytes, launches do nothing; AUTO never picks it */
    STET_DEVICE_CUDA, /* an NVIDIA GPU */
    STET_DEVICE_HIP   /* an AMD GPU */
} stet_device_type;

/*
 * Which GPU to use. stet loads the driver when the device is created, and the run-time compiler when there is something
 * to compile; building stet needs neither. The two paths are for libraries in unusual places, and for tests.
 */
typedef struct stet_gpu_def {
    int index;           /* from 0, in the driver's order of the GPUs that this process can see */
    const char *library; /* file of the driver; NULL: found by name (libcuda.so.1; libamdhip64.so.7 …) */
    /* file of the run-time compiler; NULL: found by name (libnvrtc.so.13 …; libhiprtc.so.7 …) */
    const char *compiler_library;
} stet_gpu_def;

/*
 * How to make a device; start from stet_default_device_def().
 *
 * All devices of a process share one set of worker threads. Workers start only when there is work that is worth it.
 * Fewer than `threads` work when other processes keep the processors busy.
 *
 * After a fork, the child can go on using a CPU device; the child starts threads of its own. A GPU device that was
 * opened before the fork fails with STET_ERROR_STATE in the child, and so does opening another, because drivers do not
 * work there. Start a new process instead.
 */
typedef struct stet_device_def {
    uint32_t cookie;       /* set by stet_default_device_def */
    stet_device_type type; /* AUTO: the best device that works */
    /*
     * most threads that work, the calling thread included; 0: one per processor that this process may use (affinity,
     * and the CPU quota of its control groups, rounded up); at most 4096
     */
    int threads;
    /*
     * CPU: "portable", "avx2", "avx512", "w1" (one lane; needs AVX2); for tests "f64"; NULL: the one of this machine's
     * with the fewest lanes that hold nworld worlds, else with the most
     */
    const char *isa;
    int64_t nworld;   /* CPU: worlds that kernels work on at a time; 0: many */
    stet_gpu_def gpu; /* used by CUDA and HIP devices */
    /* disk cache of the library's kernels that a GPU compiles on first use; NULL: as in stet_kernel_def */
    const char *cache_folder;
    const struct sti_null_def *null; /* of stet's own tests (src/device/null/null.h); NULL: none */
    stet_mechanism_options mechanisms;
    /*
     * Compiles the caller's kernels (kernel.h) in checked mode: each access is compared with the bounds of its array.
     * An access out of bounds is not made. The launch, or the list that it is in, returns STET_ERROR_FAULT with kernel,
     * line, array, index and world. Results have the same bits; the kernels are several times slower. The environment
     * variable STET_CHECKED=1 turns this on, too.
     */
    bool checked;
    /*
     * On a GPU, a step of native physics with many worlds and a picture run code that is compiled for their model or
     * scene, which takes up to a minute once. Until it is there, code for all models and scenes runs, with the same
     * bits. true: each call waits for its own code instead, as a measurement wants, or a test that counts launches.
     * The environment variable STET_WAIT_FOR_CODE=1 turns this on, too.
     */
    bool wait_for_code;
} stet_device_def;

STET_API stet_device_def stet_default_device_def(void);
/* The caller owns *out. An unknown name in STET_DISABLE is an error here. */
STET_API stet_result stet_device_create(const stet_device_def *def, stet_device **out);
/*
 * Destroy the worlds, stages and steps of a device before the device. Arrays, kernels and exported tensors may outlive
 * it: they keep alive what they need of the device, and can only be destroyed. NULL is fine.
 */
STET_API void stet_device_destroy(stet_device *device);

STET_API const char *stet_device_get_name(const stet_device *device); /* "cpu (avx512, 16 lanes, 2 threads)" */
STET_API stet_device_type stet_device_get_type(const stet_device *device);
STET_API const char *
stet_device_get_isa(const stet_device *device); /* a GPU's architecture, "sm_90"; "none" on a null device */
STET_API int stet_device_get_lanes(const stet_device *device); /* B, the number of worlds in a block of the layout */
STET_API int stet_device_get_threads(const stet_device *device);

/*
 * What devices can reuse from one round of a sim to the next (round.h): id, name, meaning. Each device states what it
 * does in place of reuse: stet_device_get_instead.
 */
#define STET_REUSES(X)                                                                                                 \
    X(CONTENT, "content", "a set-up and inputs that are there are not made and copied in again")                       \
    X(GRAPHS, "graphs", "lists of copies and launches that come back are one graph of the driver's")                   \
    X(STAGING, "staging", "inputs of the next round are uploaded while one runs")
typedef enum stet_reuse {
#define STET_REUSE_ENUM(id, name, sentence) STET_REUSE_##id,
    STET_REUSES(STET_REUSE_ENUM)
#undef STET_REUSE_ENUM
        STET_REUSE_COUNT
} stet_reuse;
STET_API const char *stet_reuse_name(stet_reuse reuse); /* "content"; never NULL */
/* Why this device cannot reuse it, and what happens instead: one clause. NULL: it is reused. */
STET_API const char *stet_device_get_instead(const stet_device *device, stet_reuse reuse);

/*
 * Waits until all code that is being compiled beside the run (stet_device_def.wait_for_code) is there; the next calls
 * use it. Call it before work is captured into a graph of your own, which goes on with the code that it began with.
 */
STET_API stet_result stet_device_wait_for_code(stet_device *device);
/*
 * What is still being compiled beside the run holds up the end of the process by exit(), because a vendor's compiler
 * cannot be stopped. After this call it does not: the process ends at once, with its exit code and with its output
 * written, but functions that were given to atexit() before the first such compilation are not called. For programs
 * that have none which matter; the Python package calls it for the interpreter.
 */
STET_API void stet_leave_code_at_exit(void);

/* Counters of all work on this device. */
STET_API stet_counters stet_device_get_counters(const stet_device *device);
STET_API void stet_device_clear_counters(stet_device *device); /* all but held_bytes, which is the present value */
STET_API stet_mechanism_options stet_device_get_mechanisms(const stet_device *device);
STET_API stet_result stet_device_set_mechanisms(stet_device *device, const stet_mechanism_options *options);

/* ---- streams ----------------------------------------------------------------------------------------------------- */

/*
 * A GPU device issues its work to one stream (a CUstream or cudaStream_t, a hipStream_t; NULL is the legacy default
 * stream). By default that is a stream of the device's own, which does not synchronise with any other. On other devices
 * work is done when a call returns; there the functions below only check their arguments.
 *
 * Calls that return data to the host (reads, hashes) wait for the work that was issued. All other calls return once
 * their work is issued.
 */

/*
 * Makes stet issue its work to the caller's stream from now on. The stream must live until another one is used or the
 * device is destroyed. The new work is ordered after all work that stet issued before, in any stream.
 *
 * If the stream is being captured into a graph (for example by torch.cuda.graph), stet's launches and device copies
 * become part of that graph; stet waits for nothing and allocates nothing. A call that needs the host or an allocation
 * returns STET_ERROR_UNSUPPORTED and leaves the capture intact. Work outside the capture is not ordered against it: the
 * caller must run the graph after that work (stet_device_signal_stream). Announce each run of the graph with
 * stet_recording_mark_replayed(device, stet_recording_get_last(device)).
 */
STET_API stet_result stet_device_use_stream(stet_device *device, void *stream);
STET_API stet_result stet_device_use_own_stream(stet_device *device);
/* the stream in use now; NULL also on devices without streams */
STET_API void *stet_device_get_stream(const stet_device *device);
/* Orders stet's later work after all work that the caller's stream has got so far. */
STET_API stet_result stet_device_wait_stream(stet_device *device, void *stream);
/* Orders the later work of the caller's stream after all work that stet has issued so far. */
STET_API stet_result stet_device_signal_stream(stet_device *device, void *stream);
/* Waits until all issued work is done. DEVICE: an error that the device reported meanwhile. */
STET_API stet_result stet_device_synchronize(stet_device *device);

/*
 * When the consumer of a tensor on a GPU may use it (stet/dlpack.h, stet_tiles_accept). On other devices a tensor can
 * always be used at once.
 *
 * Streams are handles of the driver (a CUstream or cudaStream_t, a hipStream_t; NULL is the legacy default stream), not
 * the numbers of Python's __dlpack__.
 */
typedef enum stet_ready {
    STET_READY_NOW, /* at once, in any stream; an export waits on the host until all work on the tensor is done */
    /* in `stream`: later work of that stream is ordered after the work on the tensor; the host does not wait */
    STET_READY_IN_STREAM,
    STET_READY_UNORDERED /* not yet: the consumer orders the work itself (stet_device_signal_stream) */
} stet_ready;

/*
 * Work that stet does not launch itself (see stet_record_foreign). The function issues the work to `stream` and returns
 * without waiting; on a device without streams `stream` is NULL, and the function does the work before it returns. A
 * result other than STET_OK becomes the result of the stet call that ran it.
 */
typedef stet_result stet_foreign_fn(void *context, void *stream);

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/*
 * Element types. REAL is the device's real: float, or double on a device with isa "f64". Kernels call it real or ureal.
 * The host reads and writes REAL in that same type.
 */
typedef enum stet_dtype {
    STET_DTYPE_REAL,
    STET_DTYPE_INT,
    STET_DTYPE_I64,
    STET_DTYPE_U32,
    STET_DTYPE_U16,
    STET_DTYPE_U8,
    STET_DTYPE_F16,
    STET_DTYPE_COUNT
} stet_dtype;
STET_API size_t stet_dtype_size(const stet_device *device, stet_dtype dtype);
STET_API const char *stet_dtype_name(stet_dtype dtype);

enum { STET_MAX_DIMS = 6 };

/*
 * How to make an array. The first dimension of an array with `worlds` is the number of worlds; it is stored in blocks,
 * [world / B][item][B], and the host always sees [world][item] in C order. Any other array is stored in C order.
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
/* Creates a zeroed array. The caller owns *out and destroys it before the device. LIMIT: the size does not fit. */
STET_API stet_result stet_array_create(stet_device *device, const stet_array_def *def, stet_array **out);
STET_API void stet_array_destroy(stet_array *array);

STET_API const char *stet_array_get_name(const stet_array *array);
STET_API stet_dtype stet_array_get_dtype(const stet_array *array);
STET_API int stet_array_get_ndim(const stet_array *array);
STET_API const int64_t *stet_array_get_shape(const stet_array *array);
STET_API int64_t stet_array_get_nelement(const stet_array *array); /* number of elements that the host sees */
STET_API size_t stet_array_get_bytes(const stet_array *array);     /* bytes of those elements */
STET_API stet_device *stet_array_get_device(const stet_array *array);
STET_API uint64_t stet_array_get_id(const stet_array *array);
STET_API uint64_t stet_array_get_generation(const stet_array *array);

/*
 * Copy all elements to or from the host, in C order. `size` must be stet_array_get_bytes(). A write increases the
 * generation.
 */
STET_API stet_result stet_array_read(const stet_array *array, void *out, size_t size);
STET_API stet_result stet_array_write(stet_array *array, const void *data, size_t size);
/* The same for the worlds first … first + nworld - 1 of the first dimension. */
STET_API stet_result stet_array_read_worlds(const stet_array *array, int64_t first, int64_t nworld, void *out,
                                            size_t size);
STET_API stet_result stet_array_write_worlds(stet_array *array, int64_t first, int64_t nworld, const void *data,
                                             size_t size);
/*
 * A host copy in C order that the array owns. While the array is not written, later calls return the same memory and
 * copy nothing (mechanism `readback`). Borrowed until the array is written or destroyed.
 */
STET_API stet_result stet_array_get_host(stet_array *array, const void **out);
/*
 * Brings an array that is computed on demand (poses, scene transforms) up to date. Call it before a reader that stet
 * cannot see, such as the user of an exported tensor. Reads through stet do this by themselves.
 */
STET_API stet_result stet_array_update(stet_array *array);
/*
 * The same for a reader in a GPU stream: later work of that stream is ordered after the update, and the host does not
 * wait. For the stream that stet works in (stet_device_use_stream) no ordering is needed. On other devices it is
 * stet_array_update.
 */
STET_API stet_result stet_array_update_in_stream(stet_array *array, void *stream);
/* Announces a write that stet could not see. */
STET_API void stet_array_mark_written(stet_array *array);
/* Hash of the content in C order. It is equal on every device and at every lane width. */
STET_API stet_result stet_array_hash(const stet_array *array, uint64_t *out);

#ifdef __cplusplus
}
#endif
#endif
