/*
 * A caller who has streams and graphs of his own on a GPU, beside stet's: his calls of the driver, each checked.
 * `caller_can` says whether the device is one where there is such a thing.
 */
#ifndef TEST_KERNEL_CALLER_H
#define TEST_KERNEL_CALLER_H

#include "device/rig.h"

#include "device/gpu/gpu.h"
#include "stet/kernel.h"

static inline bool caller_can(const stet_device *device) { return device->can.compiles; }

/* One call of the driver, whose result must be 0. */
#define CALLER(device, name, ...)                                                                                      \
    do {                                                                                                               \
        sti_gpu *gpu_ = (device)->state;                                                                               \
        sti_gpu_current was_;                                                                                          \
        assert_int_equal(sti_gpu_enter_unchecked(gpu_, &was_), 0);                                                     \
        int code_ = gpu_->driver.api.name(__VA_ARGS__);                                                                \
        assert_int_equal(sti_gpu_leave_unchecked(gpu_, &was_), 0);                                                     \
        if (code_ != 0) fail_msg("the caller's %s: %d", #name, code_);                                                 \
    } while (0)

static inline void *caller_stream(stet_device *device)
{
    void *stream = NULL;
    CALLER(device, stream_create, &stream, STI_GPU_STREAM_NON_BLOCKING);
    return stream;
}
static inline void caller_stream_end(stet_device *device, void *stream)
{
    CALLER(device, stream_synchronize, stream);
    CALLER(device, stream_destroy, stream);
}

/* His stream becomes stet's, and all that stet issues a part of his graph. */
static inline void caller_capture(stet_device *device, void *stream)
{
    OK(stet_device_use_stream(device, stream));
    CALLER(device, capture_begin, stream, STI_GPU_CAPTURE_RELAXED);
}
/* What can be launched, of all that came since; stet has its own stream back. */
static inline void *caller_captured(stet_device *device, void *stream)
{
    void *graph = NULL, *executable = NULL;
    CALLER(device, capture_end, stream, &graph);
    OK(stet_device_use_own_stream(device));
    CALLER(device, graph_instantiate, &executable, graph, 0);
    CALLER(device, graph_destroy, graph);
    return executable;
}
/* Runs it behind stet's work, and stet's further work behind it. */
static inline void caller_launch(stet_device *device, void *executable, void *stream)
{
    OK(stet_device_signal_stream(device, stream));
    CALLER(device, graph_launch, executable, stream);
    OK(stet_device_wait_stream(device, stream));
}
static inline void caller_graph_end(stet_device *device, void *executable, void *stream)
{
    CALLER(device, stream_synchronize, stream);
    CALLER(device, graph_exec_destroy, executable);
}

/* ---- his own work, for stet_record_foreign ----------------------------------------------------------------------- */

typedef struct caller_work {
    stet_array *to, *from; /* copies all of it; from NULL: fills it … */
    unsigned char byte;    /* … with this */
    bool waits;            /* for the stream, which no capture allows */
    stet_result
        captured; /* what it says to a stream that is not the one in use: to one that is captured for a recording */
    stet_result result;
    int calls;
} caller_work;

static inline stet_result caller_waits(stet_device *device, void *stream)
{
    sti_gpu *gpu = device->state;
    sti_gpu_current was;
    assert_int_equal(sti_gpu_enter_unchecked(gpu, &was), 0);
    int code = gpu->driver.api.stream_synchronize(stream);
    assert_int_equal(sti_gpu_leave_unchecked(gpu, &was), 0);
    return code == 0 ? STET_OK : STET_ERROR_DEVICE;
}

static inline stet_result caller_does(void *context, void *stream)
{
    caller_work *w = context;
    const stet_array *to = w->to, *from = w->from;
    w->calls++;
    if (w->result != STET_OK) return w->result;
    if (w->captured != STET_OK && caller_can(to->device) && stream != stet_device_get_stream(to->device))
        return w->captured;
    if (!caller_can(to->device)) {
        assert_null(stream);
        if (from)
            memmove(to->data, from->data, to->size);
        else
            memset(to->data, w->byte, to->size);
        return STET_OK;
    }
    if (from)
        CALLER(to->device, copy_async, to->data, from->data, to->size, stream);
    else
        CALLER(to->device, fill_async, to->data, w->byte, to->size, stream);
    return w->waits ? caller_waits(to->device, stream) : STET_OK;
}

static inline stet_result record_work(stet_device *device, caller_work *w)
{
    const stet_use uses[] = {{w->to, true}, {w->from, false}};
    return stet_record_foreign(device, "the caller's", caller_does, w, uses, w->from ? 2 : 1);
}

#endif
