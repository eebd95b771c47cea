/*
 * The upload stream: a second stream of a GPU's own, for uploads that run while kernels run. The next round's inputs
 * are uploaded while the present round computes.
 *
 * Invariants:
 *   UPLOAD-1  only uploads go to the upload stream. It waits for events and for nothing else of the device. Two orders
 *       are its only ties to the stream in use: UPLOADS_AFTER (behind the work issued before) and AFTER_UPLOADS (in
 *       front of the work issued later)
 *   UPLOAD-2  it is created at its first use, behind all work issued until then; before that both orders do nothing
 *   UPLOAD-3  its page-locked pieces are its own (staging.h): neither stream waits for the other's pieces
 *   UPLOAD-4  `busy` means that it has uploads which nothing was ordered behind yet; only an order that succeeded, or a
 *       wait, clears it
 */
#ifndef STI_DEVICE_GPU_UPLOAD_STREAM_H
#define STI_DEVICE_GPU_UPLOAD_STREAM_H

#include "stet/device.h"

struct sti_gpu;

typedef struct sti_gpu_upload_stream {
    void *stream; /* NULL: not made yet */
    void *event;  /* for work that is ordered behind it; NULL: not made yet */
    bool busy;    /* UPLOAD-4 */
} sti_gpu_upload_stream;

/* The device's function `stream_upload`. */
stet_result sti_gpu_stream_upload(stet_device *device, void *to, const void *from, size_t size);
/* If `behind`, STI_ORDER_AFTER_UPLOADS; else STI_ORDER_UPLOADS_AFTER. */
stet_result sti_gpu_order_upload_stream(struct sti_gpu *gpu, bool behind);
/* Waits for its uploads. Inside enter and leave. */
stet_result sti_gpu_upload_stream_wait(struct sti_gpu *gpu);

#endif
