/*
 * Tracing: what a device did and when, as a list of events, and as totals by kernel, copied array, phase and reason.
 *
 *     stet_trace_def def = stet_default_trace_def();
 *     stet_trace_begin(device, &def);
 *     ...                                         steps, frames, launches
 *     stet_trace_end(device);
 *     for (int64_t i = 0; stet_trace_get_event(device, i, &event); ++i) ...
 *
 * Tracing does not change any result. It waits for a GPU when a trace begins and ends, and now and then between. When
 * memory runs out or the limit is reached, events are dropped and counted; nothing else fails.
 */
#ifndef STET_TRACE_H
#define STET_TRACE_H

#include "mechanisms.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stet_device stet_device; /* device.h */

/* Kinds of events: id, name, unit of stet_trace_event.amount. */
#define STET_TRACE_KINDS(X)                                                                                            \
    X(PHASE, "phase", "")                                                                                              \
    X(LAUNCH, "launch", "blocks")                                                                                      \
    X(UPLOAD, "upload", "bytes")                                                                                       \
    X(STAGE, "stage", "bytes")                                                                                         \
    X(DOWNLOAD, "download", "bytes")                                                                                   \
    X(COPY, "copy", "bytes")                                                                                           \
    X(REPLAY, "replay", "launches")                                                                                    \
    X(COMPILE, "compile", "bytes")                                                                                     \
    X(CACHED, "cached", "bytes")                                                                                       \
    X(MISS, "miss", "bytes")                                                                                           \
    X(FALLBACK, "fallback", "")

/*
 * PHASE: a part of a sim's loop (the rows of stet_sim_timing). LAUNCH: a launch of a kernel. UPLOAD, DOWNLOAD, COPY:
 * copies host to device, device to host, device to device; on a device that shares the host's memory, conversions
 * between layouts. STAGE: host to device in the upload stream, beside running work (stet_sim_round_stage). REPLAY: a
 * recording. COMPILE: a compiler run for one of the caller's kernels. Instants, without a duration: CACHED, such a
 * kernel was in the disk cache; MISS and FALLBACK of a mechanism, with a reason.
 */
typedef enum stet_trace_kind {
#define STET_TRACE_ENUM(id, name, unit) STET_TRACE_##id,
    STET_TRACE_KINDS(STET_TRACE_ENUM)
#undef STET_TRACE_ENUM
        STET_TRACE_COUNT
} stet_trace_kind;
STET_API const char *stet_trace_kind_name(stet_trace_kind kind); /* "launch" */
STET_API const char *stet_trace_kind_unit(stet_trace_kind kind); /* "blocks"; "" for kinds without an amount */

/* What to trace; start from stet_default_trace_def(). */
typedef struct stet_trace_def {
    uint32_t cookie; /* set by stet_default_trace_def */
    bool events;     /* keep each event (default); false: totals only */
    int64_t limit;   /* limit for the memory of the trace, bytes; default 64 MiB, some 800,000 events */
} stet_trace_def;
STET_API stet_trace_def stet_default_trace_def(void);

/*
 * Starts tracing this device; an earlier trace of it is dropped. STATE: it is being traced already. OUT_OF_MEMORY: not
 * enough memory to start.
 */
STET_API stet_result stet_trace_begin(stet_device *device, const stet_trace_def *def);
/*
 * Stops tracing. The trace can be read until the next begin or until the device is destroyed. STATE: the device is not
 * being traced.
 */
STET_API stet_result stet_trace_end(stet_device *device);
STET_API bool stet_trace_is_on(const stet_device *device);

/* What a trace holds, during tracing and after it; all zero without a trace. */
typedef struct stet_trace_stats {
    int64_t events;  /* kept */
    int64_t dropped; /* dropped for the limit or for lack of memory; the totals contain them */
    int64_t unnamed; /* in the totals under the name "(others)" of their kind, for the same causes */
    int64_t rows;
    int64_t bytes;    /* held */
    int64_t duration; /* nanoseconds from begin to end, or until now */
} stet_trace_stats;
STET_API stet_trace_stats stet_trace_get_stats(const stet_device *device);

/*
 * An event. Times are nanoseconds on the monotonic clock since the trace began. Events are sorted by `begin`; an event
 * inside another lies within its times. Strings are borrowed until the next begin or until the device is destroyed.
 */
typedef struct stet_trace_event {
    stet_trace_kind kind;
    const char *name;   /* kernel, array, phase, recording, or mechanism (MISS); "" for a copy without an array */
    const char *file;   /* LAUNCH, COMPILE: source file of the kernel; else NULL */
    int line;           /* line in that file */
    stet_reason reason; /* MISS, FALLBACK */
    int64_t begin;      /* on the host */
    int64_t duration;   /* of the call, on the host; 0 for instants */
    /*
     * Times on the device, available after the trace has ended; -1 if they are not known apart from the host's. A
     * launch inside a replay has none if the replay is one graph of the device. Where the device waits for the host to
     * issue the launch, that time is included.
     */
    int64_t device_begin;
    int64_t device_duration;
    int64_t amount; /* in stet_trace_kind_unit() */
    uint64_t id;    /* REPLAY: the recording */
    bool
        /*
         * an audit's comparison of a recording with single launches; stet_counters do not count its launches and array
         * copies
         */
        comparison;
    bool failed;
} stet_trace_event;
/* False: there is no event i. */
STET_API bool stet_trace_get_event(const stet_device *device, int64_t i, stet_trace_event *out);

/*
 * Ranges: phases, replays, launches and compilations of a device as named, nested ranges in the timelines of NVIDIA's
 * and AMD's profilers (NVTX, ROCTX). They work with and without a trace. Without a profiler they cost two empty library
 * calls each. The environment variable STET_RANGES=1 starts them on each new device, STET_RANGES=FILE with that
 * library; a missing library is then a warning.
 */
typedef struct stet_ranges_def {
    uint32_t cookie;     /* set by stet_default_ranges_def */
    const char *library; /* file of NVTX or ROCTX; NULL: found by name */
} stet_ranges_def;
STET_API stet_ranges_def stet_default_ranges_def(void);
/* NOT_FOUND: no such library. UNSUPPORTED: the given file is not one. STATE: ranges are on. */
STET_API stet_result stet_ranges_begin(stet_device *device, const stet_ranges_def *def);
STET_API stet_result stet_ranges_end(stet_device *device);               /* STATE: ranges are off */
STET_API const char *stet_ranges_get_library(const stet_device *device); /* the loaded file; NULL: ranges are off */

/* Totals of all events of one kind, name, source and reason, including dropped events. */
typedef struct stet_profile_row {
    stet_trace_kind kind;
    const char *name;
    const char *file;
    int line;
    stet_reason reason;
    int64_t calls;
    int64_t comparisons, failed; /* numbers of calls */
    int64_t amount;
    int64_t duration;        /* nanoseconds on the host, including nested events */
    int64_t device_calls;    /* calls whose time on the device is known */
    int64_t device_duration; /* nanoseconds of those calls on the device */
} stet_profile_row;
/* Rows in the order of their first call. False: there is no row i. */
STET_API bool stet_profile_get_row(const stet_device *device, int64_t i, stet_profile_row *out);

#ifdef __cplusplus
}
#endif
#endif
