/*
 * Ranges for profilers: what a trace calls events with a duration, pushed and popped in a library of the profiler's vendor (NVIDIA's NVTX,
 * AMD's ROCTX), which is found when they are asked for. stet/trace.h is the public side.
 *
 * Invariants:
 *   RANGES-1  what is pushed is popped, in order: ranges begin and end only while no event is open
 *   RANGES-2  ranges change no result and keep nothing; without a trace of the user's the events go to one of their own (`alone`), which is
 *       `mechanisms.trace` then and never `traced`
 *   RANGES-3  a library is used only if it has both entry points of one vendor
 */
#ifndef STI_DEVICE_RANGES_H
#define STI_DEVICE_RANGES_H

#include "base/trace.h"
#include "device/device.h"

typedef struct sti_ranges sti_ranges;

/* What the environment asks for (STET_RANGES), of a new device. What is missing is a warning, never an error. */
void sti_ranges_begin_asked(stet_device *device);
void sti_ranges_free(stet_device *device);
/* Between traces of the user's: where events go then; NULL: nowhere. */
sti_trace *sti_ranges_alone(const stet_device *device);
/* A trace of the user's begins: its events are ranges, too. */
void sti_ranges_join(const stet_device *device, sti_trace *trace);

#endif
