/*
 * Moments in a GPU's streams: the driver's events that note the time. They are made when they are first needed and used again after
 * they were dropped, so that noting one is a single call of the driver.
 *
 * Invariants:
 *   CLOCK-1  moment i is event[i] while i < used; a moment that could not be noted has no number
 *   CLOCK-2  at most STI_GPU_MOMENTS are kept at a time; one more is STET_LIMIT
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

/* Slots of the device. UNSUPPORTED: the driver has no times of events. Without an id: drops all. */
stet_result sti_gpu_moment(stet_device *device, int64_t *id);
stet_result sti_gpu_between(stet_device *device, int64_t from, int64_t to, int64_t *ns);

void sti_gpu_clock_end(struct sti_gpu *gpu); /* inside go_in and go_out */

#endif
