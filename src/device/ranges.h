/*
 * Ranges for profilers: events of a trace that have a duration are pushed to and popped from the profiler vendor's
 * library (NVIDIA's NVTX, AMD's ROCTX), which is found at run time when ranges are wanted. The public side is
 * stet/trace.h.
 *
 * Invariants:
 *   RANGES-1  each pushed range is popped, in order: ranges are switched on and off only while no event is open
 *   RANGES-2  ranges change no result and keep no events; without a trace of the caller, events go to an internal trace
 *       (`alone`), which is then `mechanisms.trace` and never `traced`
 *   RANGES-3  a library is used only if it has both entry points of one vendor
 */
#ifndef STI_DEVICE_RANGES_H
#define STI_DEVICE_RANGES_H

#include "base/trace.h"
#include "device/device.h"

typedef struct sti_ranges sti_ranges;

/*
 * Switches ranges on for a new device if the environment (STET_RANGES) says so. A missing library is a warning, never
 * an error.
 */
void sti_ranges_begin_asked(stet_device *device);
void sti_ranges_free(stet_device *device);
/* The trace that events go to between traces of the caller; NULL: none. */
sti_trace *sti_ranges_alone(const stet_device *device);
/* A trace of the caller begins: its events become ranges, too. */
void sti_ranges_join(const stet_device *device, sti_trace *trace);

#endif
