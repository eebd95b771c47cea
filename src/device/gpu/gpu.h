/*
 * A GPU as a device: what the files of this folder share.
 *
 * Invariants:
 *   GPU-1  all work goes to the stream in use, in the order in which it was issued (stream.h): by default to a private
 *       stream that does not wait for the legacy stream. Only uploads in the upload stream (upload_stream.h) and calls
 *       that act on all streams are an exception
 *   GPU-2  the device or context that the calling thread had made current is current again when a call returns, because
 *       other libraries in the process rely on theirs. stet's calls work while another library captures, and do not
 *       break its capture
 *   GPU-3  after a fault on the device (a kernel that went wrong) every call fails with the first fault's message,
 *       which names the last launches; the driver is only called to free things
 *   GPU-4  nothing in the caller's memory is read after the call has returned
 *   GPU-5  in a forked child, where drivers hang or fail, no driver call is made: every call fails with a message that
 *       says what to do, and destroying a device only drops stet's own records of it
 */
#ifndef STI_DEVICE_GPU_GPU_H
#define STI_DEVICE_GPU_GPU_H

#include "base/process.h"
#include "device/device.h"
#include "device/gpu/upload_stream.h"
#include "device/gpu/clock.h"
#include "device/gpu/driver.h"
#include "device/gpu/pool.h"
#include "device/gpu/staging.h"
#include "device/gpu/stream.h"

enum { STI_GPU_LAUNCHES = 16, STI_GPU_ARGUMENT_BYTES = 4096, STI_GPU_RAN = 64 };

typedef struct sti_gpu {
    sti_gpu_driver driver;
    sti_gpu_facts facts;
    int forks;      /* sti_forks() when it was opened (GPU-5) */
    char where[96]; /* for messages: "cuda:0 (NVIDIA H200)" */
    void *context;
    void *own;    /* the device's own stream */
    void *stream; /* the stream in use */
    sti_gpu_streams streams;
    sti_gpu_upload_stream upload_stream;
    sti_gpu_pool pool;
    sti_gpu_staging staging;
    sti_gpu_clock clock;
    const char *launches[STI_GPU_LAUNCHES]; /* names of the last launches */
    char graphs[STI_GPU_LAUNCHES][64];      /* names of launched graphs */
    uint64_t nlaunch;
    struct sti_gpu_graph *joined; /* lists that joined captures (graph.h) */
    /* functions that were launched and not unloaded since: their code is loaded */
    void *ran[STI_GPU_RAN];
    _Atomic bool losing; /* one thread writes `why` … */
    _Atomic bool lost;   /* … and once this is set it does not change any more (GPU-3) */
    char why[700];
} sti_gpu;

/* ---- context.c ---- */

/* Turns a driver result into stet's, with a message if the call failed. Notices a lost device. */
stet_result sti_gpu_check(sti_gpu *gpu, int code, const char *call);
#define STI_GPU_CALL(gpu, name, ...) sti_gpu_check((gpu), (gpu)->driver.api.name(__VA_ARGS__), #name)

/* GPU-5: this process is a forked child of the one that opened the device. */
static inline bool sti_gpu_is_forked(const sti_gpu *gpu) { return sti_forks() != gpu->forks; }

/*
 * Around all driver calls of a device function: GPU-2, and the error of a lost device. leave returns `result`, or its
 * own error.
 */
stet_result sti_gpu_enter(sti_gpu *gpu, sti_gpu_current *was);
stet_result sti_gpu_leave(sti_gpu *gpu, const sti_gpu_current *was, stet_result result);
/*
 * The same for a call that drivers allow during any capture: leaves the thread's capture mode alone, which saves two
 * driver calls. A launch of a function that ran before is such a call. A first launch is not: it may load code, which a
 * capture forbids.
 */
stet_result sti_gpu_enter_in_any_mode(sti_gpu *gpu, sti_gpu_current *was);
/* The two without the check for a lost device, for calls that only free things. They return driver codes. */
int sti_gpu_enter_unchecked(sti_gpu *gpu, sti_gpu_current *was);
int sti_gpu_leave_unchecked(sti_gpu *gpu, const sti_gpu_current *was);

/* The body of a device function between enter and leave. */
#define STI_GPU_WITHIN(gpu, expression)                                                                                \
    do {                                                                                                               \
        sti_gpu_current was_;                                                                                          \
        STI_TRY(sti_gpu_enter((gpu), &was_));                                                                          \
        return sti_gpu_leave((gpu), &was_, (expression));                                                              \
    } while (0)

/*
 * Call it before launches and copies on the device, which can be captured: they run after what was issued before
 * (STREAM-2 in stream.h).
 */
static inline stet_result sti_gpu_before_issue(sti_gpu *gpu)
{
    return gpu->streams.joined ? sti_gpu_poll_capture(gpu) : STET_OK;
}

/* ---- code.c ---- */

stet_result sti_gpu_load(stet_device *device, const void *image, size_t size, const char *what, void **module);
void sti_gpu_unload(stet_device *device, void *module);
stet_result sti_gpu_function(stet_device *device, void *module, const char *symbol, void **out);
stet_result sti_gpu_attribute(stet_device *device, void *function, sti_attribute attribute, int *out);

/* ---- launch.c ---- */

stet_result sti_gpu_launch(stet_device *device, const sti_code *code, const sti_slot *slots, int nslot, int64_t nblock,
                           bool in_block);
/*
 * Computes the launch parameters for `count` worlds or blocks, without arguments, and checks all limits. `slots` is
 * read for memory of teams only, which launches with arguments in a block do not have. For count 0
 * they are those for 1: entries return if their world or block is not below count.
 */
stet_result sti_gpu_kernel_of(const sti_gpu *gpu, const sti_code *code, const sti_slot *slots, int nslot, int64_t count,
                              bool in_block, sti_gpu_kernel *out);
/* Bytes of shared memory that a block can have. */
uint64_t sti_gpu_most_shared(const sti_gpu *gpu);
stet_result sti_gpu_allow_shared(sti_gpu *gpu, const sti_gpu_kernel *kernel);
/* Empties `ran`, because code is about to be unloaded. */
void sti_gpu_forget_functions(sti_gpu *gpu);
/* Keeps a launch's name for the message of a fault; the name must live as long as the device. */
static inline void sti_gpu_remember(sti_gpu *gpu, const char *name)
{
    gpu->launches[gpu->nlaunch++ % STI_GPU_LAUNCHES] = name;
}

/* ---- graph.c ---- */

const char *sti_gpu_instead(const stet_device *device, stet_reuse reuse);
stet_result sti_gpu_graph_make(stet_device *device, const sti_graph_op *ops, int nop, const sti_edge *edges, int nedge,
                               const char *what, void **out);
stet_result sti_gpu_graph_join(stet_device *device, const sti_graph_op *ops, int nop, const sti_edge *edges, int nedge,
                               const char *what);
void sti_gpu_graphs_end(stet_device *device); /* those that joined captures */
stet_result sti_gpu_graph_set(stet_device *device, void *graph, int op, const sti_slot *slots, int nslot,
                              int64_t number);
stet_result sti_gpu_graph_launch(stet_device *device, void *graph);
void sti_gpu_graph_free(stet_device *device, void *graph);

/* ---- capture.c ---- */

/* Captures the caller's work on a stream of its own; the caller destroys *graph. Inside enter and leave. */
stet_result sti_gpu_capture(sti_gpu *gpu, stet_foreign_fn *work, void *context, const char *name, void **graph);

#endif
