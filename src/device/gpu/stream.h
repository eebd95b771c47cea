/*
 * The stream that a GPU's work goes to: the device's own, or one of the caller's, which may be captured into a graph of
 * the caller.
 *
 * Invariants:
 *   STREAM-1  work goes to one stream at a time, the one in use; all work issued outside of captures has one order over
 *       all streams: a stream that comes into use is ordered behind the one before it
 *   STREAM-2  so there is always a front stream, behind which all work issued outside of captures comes: the stream in
 *       use or, if that was being captured when it came into use (joined), the device's own, until the capture has
 *       ended
 *   STREAM-3  captured work is ordered with nothing outside of its capture. While the stream in use is captured,
 *       nothing is waited for, no event is recorded except by `order` within the capture, and only launches and copies
 *       on the device are issued
 *   STREAM-4  the driver is asked whether the caller's stream is being captured only where that matters: not for
 *       launches and copies, unless joined
 *   STREAM-5  an exception to STREAM-1 is work between sti_gpu_second_begin and _end: it comes after all work issued
 *       before, and what is issued later comes after it once sti_gpu_second_join was called. Nothing is allocated or
 *       freed in between, because the pool relies on STREAM-1
 */
#ifndef STI_DEVICE_GPU_STREAM_H
#define STI_DEVICE_GPU_STREAM_H

#include "device/device.h"

#include <stdbool.h>

struct sti_gpu;
typedef struct sti_gpu_later sti_gpu_later;

typedef struct sti_gpu_streams {
    bool joined;          /* STREAM-2 */
    uint64_t capture;     /* the capture that the stream in use was part of at the last query; 0: none */
    uint64_t ncapture;    /* last number given to a capture, for drivers that give none */
    void *event;          /* for orders; NULL: not made yet */
    void *foreign;        /* for capture.c; NULL: not made yet */
    sti_gpu_later *later; /* what could not be dropped during a capture */
} sti_gpu_streams;

/* ---- functions of the device ---- */

stet_result sti_gpu_use_stream(stet_device *device, void *stream, bool own);
stet_result sti_gpu_capturing(stet_device *device, uint64_t *out);

/*
 * STREAM-5. *second: a stream that the caller keeps, made the first time; *used: for the end. UNSUPPORTED: the stream
 * in use is being captured.
 */
stet_result sti_gpu_second_begin(stet_device *device, void **second, void **used);
void sti_gpu_second_end(stet_device *device, void *used);
stet_result sti_gpu_second_join(stet_device *device, void *second);
void sti_gpu_second_destroy(stet_device *device, void *second); /* waits for it; NULL is fine */

/* ---- inside enter and leave ---- */

/* Orders the stream in use after all that the other stream has got so far (`behind`), or the other way round. */
stet_result sti_gpu_order_stream(struct sti_gpu *gpu, void *other, bool behind);
/* What `to` gets from now on runs after what `from` has got. */
stet_result sti_gpu_make_stream_wait(struct sti_gpu *gpu, void *to, void *from);
/*
 * Queries whether the stream in use is being captured (streams.capture). Leaves a capture that stet had joined and that
 * has ended.
 */
stet_result sti_gpu_poll_capture(struct sti_gpu *gpu);
/*
 * Call it before work that cannot be captured. UNSUPPORTED, with a message about `what` ("an upload"): the stream in
 * use is being captured.
 */
stet_result sti_gpu_require_no_capture(struct sti_gpu *gpu, const char *what);

/*
 * Calls drop(thing) once all work issued has run: now, after a wait, or when a capture that forbids waiting has ended.
 */
typedef int sti_gpu_drop(void *thing);
void sti_gpu_drop_after_work(struct sti_gpu *gpu, sti_gpu_drop *drop, void *thing);

stet_result sti_gpu_streams_begin(struct sti_gpu *gpu);
/* Waits for all streams as far as possible; call it before the rest of the device is freed. */
void sti_gpu_streams_wait(struct sti_gpu *gpu);
void sti_gpu_streams_end(struct sti_gpu *gpu);

#endif
