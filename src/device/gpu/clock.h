/*
 * Moments in a GPU's streams: events of the driver that record the time. Events are created when they are first needed
 * and reused after moments were dropped, so recording a moment is a single driver call.
 *
 * Invariants:
 *   CLOCK-1  moment i is event[i] while i < used; a moment that could not be recorded has no number
 *   CLOCK-2  at most STI_GPU_MOMENTS are kept at a time; one more is STET_ERROR_LIMIT
 */
#ifndef STI_DEVICE_GPU_CLOCK_H
#define STI_DEVICE_GPU_CLOCK_H

#include "stet/device.h"

enum { STI_GPU_MOMENTS = 1 << 16 };

struct sti_gpu;

typedef struct sti_gpu_clock {
    void **event; /* [room]; the first `made` exist */
    int64_t used, made, room;
} sti_gpu_clock;

/*
 * The device's functions `moment` and `between`. UNSUPPORTED: the driver's events have no times. id NULL: drops all
 * moments.
 */
stet_result sti_gpu_moment(stet_device *device, int64_t *id);
stet_result sti_gpu_between(stet_device *device, int64_t from, int64_t to, int64_t *ns);

void sti_gpu_clock_end(struct sti_gpu *gpu); /* inside go_in and go_out */

#endif
