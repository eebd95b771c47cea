/*
 * Traced work of a device that may run later than the call that asks for it: an event of the trace (base/trace.h), which has the host's
 * times, between two moments of the device (device.h, "times"), from which come the device's. Where a device has no moments an event has the
 * host's times alone.
 *
 *     sti_device_mark mark = sti_device_trace_open(device, &what);
 *     stet_result result = ...;
 *     sti_device_trace_close(device, mark, result);
 *
 * Invariants:
 *   DEVTRACE-1  no result depends on a moment, and no message of work that failed: what cannot be measured has no time on the device
 *   DEVTRACE-2  no moment is noted, and nothing is waited for, while the stream in use is being captured
 *   DEVTRACE-3  moments are worked out when the trace ends, when STI_TIMES_PENDING events wait for it, or after a second: then the device is waited
 *       for, and the clocks are aligned anew
 *   DEVTRACE-4  times of the device are on the trace's clock, too late by what a wait takes, never too early: no event begins on the device before
 *       it was asked for
 */
#ifndef STI_DEVICE_TRACE_H
#define STI_DEVICE_TRACE_H

#include "base/trace.h"
#include "device/device.h"

enum { STI_TIMES_PENDING = 2048 };
typedef struct sti_times sti_times;

typedef struct sti_device_mark {
    sti_trace_mark host; /* its amount may be set before the close */
    int depth;           /* of the open span in the device's times; -1: it has none */
} sti_device_mark;

/* The device is being traced. Marks are closed in the reverse order of their opening. */
sti_device_mark sti_device_trace_open(stet_device *device, const sti_trace_what *what);
void sti_device_trace_close(stet_device *device, sti_device_mark mark, stet_result result);

/* At the beginning and the end of a trace; without moments, or memory for them, there are no times. */
void sti_times_begin(stet_device *device);
void sti_times_end(stet_device *device); /* works out what pends; events that are still open go without */

#endif
