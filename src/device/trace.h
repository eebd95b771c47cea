/*
 * Traces of a device's work that may run later than the call that issues it. An event of the trace (base/trace.h) has
 * the host's times. Two moments of the device around it (device.h, "times") give the device's times. Where a device has
 * no moments, an event has the host's times only.
 *
 *     sti_device_mark mark = sti_device_trace_open(device, &what);
 *     stet_result result = ...;
 *     sti_device_trace_close(device, mark, result);
 *
 * Invariants:
 *   DEVTRACE-1  no result depends on a moment, nor does the message of work that failed: what cannot be measured has no
 *       device time
 *   DEVTRACE-2  no moment is recorded, and nothing is waited for, while the stream in use is being captured
 *   DEVTRACE-3  moments are evaluated when the trace ends, when STI_TIMES_PENDING events are pending, or after a
 *       second: then the device is waited for, and the clocks are aligned again
 *   DEVTRACE-4  device times are on the trace's clock and may be late by the duration of a wait, but never early: no
 *       event begins on the device before it was issued
 */
#ifndef STI_DEVICE_TRACE_H
#define STI_DEVICE_TRACE_H

#include "base/trace.h"
#include "device/device.h"

enum { STI_TIMES_PENDING = 2048 };
typedef struct sti_times sti_times;

typedef struct sti_device_mark {
    sti_trace_mark host; /* the caller may set its amount before the close */
    int depth;           /* of the open span in the device's times; -1: it has none */
} sti_device_mark;

/* For a device that is being traced. Marks are closed in the reverse order of opening. */
sti_device_mark sti_device_trace_open(stet_device *device, const sti_trace_what *what);
void sti_device_trace_close(stet_device *device, sti_device_mark mark, stet_result result);

/*
 * Called at the beginning and the end of a trace. Without moments, or without memory for them, there are no device
 * times.
 */
void sti_times_begin(stet_device *device);
/* Evaluates pending events; events that are still open get no device times. */
void sti_times_end(stet_device *device);

#endif
