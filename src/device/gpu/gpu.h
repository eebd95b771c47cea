/*
 * A GPU as a device: what its files share.
 *
 * Invariants:
 *   GPU-1  all work goes to the stream in use, in the order in which it was asked for (stream.h): by default to a private one that does not
 *       wait for the legacy stream. Nothing here uses another stream, but for uploads aside (upload_stream.h), or a call that acts on all of them
 *   GPU-2  whatever device or context the calling thread had made current is current again when a call returns: other libraries
 *       in the process count on theirs. A capture that one of them has begun is not broken by stet's calls, which work meanwhile
 *   GPU-3  after a fault on the device (a kernel that went wrong) every call fails with the first one's sentence, which names the
 *       last launches; the driver is not asked any more but to let go
 *   GPU-4  nothing that the caller's memory holds is read after the call has returned
 */
#ifndef STI_DEVICE_GPU_GPU_H
#define STI_DEVICE_GPU_GPU_H

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
    char where[96]; /* for messages: "cuda:0 (NVIDIA H200)" */
    void *context;
    void *own;    /* the device's own stream */
    void *stream; /* in use */
    sti_gpu_streams streams;
    sti_gpu_upload_stream upload_stream;
    sti_gpu_pool pool;
    sti_gpu_staging staging;
    sti_gpu_clock clock;
    const char *launches[STI_GPU_LAUNCHES]; /* names of the last ones */
    char graphs[STI_GPU_LAUNCHES][64];      /* those of graphs */
    uint64_t nlaunch;
    void *ran[STI_GPU_RAN]; /* functions that were launched and not unloaded since: their code is loaded */
    _Atomic bool losing;    /* one thread writes `why` … */
    _Atomic bool lost;      /* … and then it does not change any more (GPU-3) */
    char why[700];
} sti_gpu;

/* The result of a driver call, with a sentence if it failed; notices a device that is lost. */
stet_result sti_gpu_check(sti_gpu *gpu, int code, const char *call);
#define STI_GPU_CALL(gpu, name, ...) sti_gpu_check((gpu), (gpu)->driver.api.name(__VA_ARGS__), #name)

/* Around all driver calls of a slot: GPU-2, and the error of a device that is lost. leave's value is `result`, or its own failure. */
stet_result sti_gpu_enter(sti_gpu *gpu, sti_gpu_current *was);
stet_result sti_gpu_leave(sti_gpu *gpu, const sti_gpu_current *was, stet_result result);
/*
 * For a call that drivers allow whatever is being captured elsewhere: the thread's mode is left as it is, which saves two calls of the driver.
 * A launch of a function that ran before is one: the first may load code, which a capture forbids.
 */
stet_result sti_gpu_enter_in_any_mode(sti_gpu *gpu, sti_gpu_current *was);
/* The two without looking whether the device is lost, for what only lets go. Values are the driver's codes. */
int sti_gpu_go_in(sti_gpu *gpu, sti_gpu_current *was);
int sti_gpu_go_out(sti_gpu *gpu, const sti_gpu_current *was);

/* A slot's body between enter and leave. */
#define STI_GPU_WITHIN(gpu, expression)                                                                                \
    do {                                                                                                               \
        sti_gpu_current was_;                                                                                          \
        STI_TRY(sti_gpu_enter((gpu), &was_));                                                                          \
        return sti_gpu_leave((gpu), &was_, (expression));                                                              \
    } while (0)

/* Before launches and copies on the device, which may be captured: what was issued before is in front of them (STREAM-2 in stream.h). */
static inline stet_result sti_gpu_may_issue(sti_gpu *gpu)
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
 * What a launch for `count` worlds or blocks comes to, but for its arguments: within all limits. Of none (0) it is that of one: entries leave where
 * their world or block is not below count.
 */
stet_result sti_gpu_kernel_of(const sti_gpu *gpu, const sti_code *code, int nslot, int64_t count, bool in_block,
                              sti_gpu_kernel *out);
stet_result sti_gpu_allow_shared(sti_gpu *gpu, const sti_gpu_kernel *kernel);
/* Code is about to be unloaded: `ran` is empty. */
void sti_gpu_forget_functions(sti_gpu *gpu);
/* For the sentence of a fault; the name lives as long as the device. */
static inline void sti_gpu_remember(sti_gpu *gpu, const char *name)
{
    gpu->launches[gpu->nlaunch++ % STI_GPU_LAUNCHES] = name;
}

/* ---- graph.c ---- */

stet_result sti_gpu_graph_make(stet_device *device, const sti_graph_op *ops, int nop, const sti_edge *edges, int nedge,
                               const char *what, void **out);
stet_result sti_gpu_graph_set(stet_device *device, void *graph, int op, const sti_slot *slots, int nslot,
                              int64_t number);
stet_result sti_gpu_graph_launch(stet_device *device, void *graph);
void sti_gpu_graph_free(stet_device *device, void *graph);

/* ---- capture.c ---- */

/* Has somebody's work captured on a stream of its own; *graph is the caller's to destroy. Inside enter and leave. */
stet_result sti_gpu_capture(sti_gpu *gpu, stet_foreign *work, void *context, const char *name, void **graph);

#endif
