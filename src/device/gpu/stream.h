/*
 * The stream that a GPU's work goes to: the device's own, or one of somebody else's, which may be captured into a graph of theirs.
 *
 * Invariants:
 *   STREAM-1  work goes to one stream at a time, the one in use; all that was issued outside of captures is in one order, whichever streams it went
 *       to: a stream that comes into use is put behind the one before it
 *   STREAM-2  so there is a front, after which comes all that was issued outside of captures: the stream in use; or, where that was captured when it
 *       came into use (joined), the device's own, until the capture has ended
 *   STREAM-3  what is captured is ordered with nothing outside of it. While the stream in use is captured, nothing is waited for, no event is
 *       recorded but for `order` within the capture, and only launches and copies on the device are issued
 *   STREAM-4  the caller's stream is asked whether it is captured where that matters only: not for launches and copies, unless joined
 */
#ifndef STI_DEVICE_GPU_STREAM_H
#define STI_DEVICE_GPU_STREAM_H

#include "device/device.h"

#include <stdbool.h>

struct sti_gpu;
typedef struct sti_gpu_later sti_gpu_later;

typedef struct sti_gpu_streams {
    bool joined;          /* STREAM-2 */
    uint64_t capture;     /* that the stream in use was a part of when it was last asked; 0: none */
    uint64_t ncapture;    /* numbers given to captures of drivers that give none */
    void *event;          /* for orders; NULL: not made yet */
    void *foreign;        /* for capture.c; NULL: not made yet */
    sti_gpu_later *later; /* what could not go while a capture was on */
} sti_gpu_streams;

/* ---- slots ---- */

stet_result sti_gpu_use_stream(stet_device *device, void *stream, bool own);
stet_result sti_gpu_order(stet_device *device, void *stream, sti_order how);
stet_result sti_gpu_capturing(stet_device *device, uint64_t *out);

/* ---- inside enter and leave ---- */

/* What `to` gets from now on comes after what `from` has got. */
stet_result sti_gpu_put_behind(struct sti_gpu *gpu, void *to, void *from);
/* Has the driver say whether the stream in use is captured (streams.capture); leaves a capture that stet had joined and that has ended. */
stet_result sti_gpu_poll_capture(struct sti_gpu *gpu);
/* Before all that cannot be captured. UNSUPPORTED, with a sentence about `what` ("an upload"): the stream in use is being captured. */
stet_result sti_gpu_outside(struct sti_gpu *gpu, const char *what);

/* Calls drop(thing) once all that was issued has run: now, waiting for it, or when a capture that forbids to wait has ended. */
typedef int sti_gpu_drop(void *thing);
void sti_gpu_drop_behind(struct sti_gpu *gpu, sti_gpu_drop *drop, void *thing);

stet_result sti_gpu_streams_begin(struct sti_gpu *gpu);
void sti_gpu_streams_wait(struct sti_gpu *gpu); /* for all, as well as can be; before the rest of the device goes */
void sti_gpu_streams_end(struct sti_gpu *gpu);

#endif
