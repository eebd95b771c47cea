/*
 * A second stream of a GPU's own, for uploads that shall run while kernels do: what comes next is brought while the present is worked on.
 *
 * Invariants:
 *   UPLOAD-1  it gets uploads alone, and waits for events and for nothing else of the device: two orders are all that ties it to the stream in use,
 *       what was issued before it (ASIDE_BEHIND), and what comes after it (BEHIND_ASIDE)
 *   UPLOAD-2  it is made when it is first used, behind all that was issued until then; before that both orders are nothing
 *   UPLOAD-3  its pieces of page-locked memory are its own (staging.h): neither stream waits for the other's
 *   UPLOAD-4  `busy` says that something went there which nothing was put behind yet; only an order that succeeded, or a wait, takes it back
 */
#ifndef STI_DEVICE_GPU_UPLOAD_STREAM_H
#define STI_DEVICE_GPU_UPLOAD_STREAM_H

#include "stet/device.h"

struct sti_gpu;

typedef struct sti_gpu_upload_stream {
    void *stream; /* NULL: not made yet */
    void *event;  /* for what comes behind it; NULL: not made yet */
    bool busy;    /* UPLOAD-4 */
} sti_gpu_upload_stream;

/* Slot of the device. */
stet_result sti_gpu_stream_upload(stet_device *device, void *to, const void *from, size_t size);
/* behind: what is issued from now on comes after what went aside; else what goes aside from now on after all that was issued. */
stet_result sti_gpu_order_upload_stream(struct sti_gpu *gpu, bool behind);
/* Waits for what went aside. Inside enter and leave. */
stet_result sti_gpu_upload_stream_wait(struct sti_gpu *gpu);

#endif
