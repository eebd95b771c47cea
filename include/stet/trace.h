/*
 * Tracing: what a device did and when, as a list of events, and as totals a kernel, a copied array, a phase, a reason.
 *
 *     stet_trace_def def = stet_default_trace_def();
 *     stet_trace_begin(device, &def);
 *     ...                                         steps, frames, launches
 *     stet_trace_end(device);
 *     for (int64_t i = 0; stet_trace_get(device, i, &event); ++i) ...
 *
 * Tracing changes no result; a GPU is waited for when a trace begins and ends, and now and then between. Lack of memory, or the limit, costs
 * events, which are counted as dropped, and nothing else.
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
 * PHASE: a part of the loop of a sim (the rows of stet_sim_timing). LAUNCH: one launch of a kernel. UPLOAD, DOWNLOAD, COPY: host to
 * device, device to host, device to device; on a device that shares the host's memory, what is converted between their layouts.
 * STAGE: host to device in a stream of its own, beside what runs (stet_sim_round_stage). REPLAY: a recording. COMPILE: the caller's own kernel, by a compiler. Instants, without a duration: CACHED, such a kernel was in the disk
 * cache; MISS and FALLBACK of a mechanism, with a reason.
 */
typedef enum stet_trace_kind {
#define STET_TRACE_ENUM(id, name, unit) STET_TRACE_##id,
    STET_TRACE_KINDS(STET_TRACE_ENUM)
#undef STET_TRACE_ENUM
        STET_TRACE_KIND_COUNT
} stet_trace_kind;
STET_API const char *stet_trace_kind_name(stet_trace_kind kind); /* "launch" */
STET_API const char *stet_trace_kind_unit(stet_trace_kind kind); /* "blocks"; "" where amount says nothing */

/* What is traced; start from stet_default_trace_def(). */
typedef struct stet_trace_def {
    uint32_t cookie; /* set by stet_default_trace_def */
    bool events;     /* keep each event (default); false: totals only */
    int64_t limit;   /* bytes that the trace may hold; default 64 MiB, some 800,000 events */
} stet_trace_def;
STET_API stet_trace_def stet_default_trace_def(void);

/*
 * From now on what happens on this device is traced; a former trace of it is forgotten. STATE: it is being traced already. OUT_OF_MEMORY:
 * there is none even to begin.
 */
STET_API stet_result stet_trace_begin(stet_device *device, const stet_trace_def *def);
/* No more; what was traced can be read until the next begin, or the end of the device. STATE: it is not being traced. */
STET_API stet_result stet_trace_end(stet_device *device);
STET_API bool stet_trace_is_on(const stet_device *device);

/* What a trace holds, while it is on or after its end; all zero without one. */
typedef struct stet_trace_stats {
    int64_t events;  /* kept */
    int64_t dropped; /* not kept, though wanted: the limit, or lack of memory; the totals have them */
    int64_t unnamed; /* in the totals without a name, for the same causes: in a row "(others)" of their kind */
    int64_t rows;
    int64_t bytes;    /* held */
    int64_t duration; /* nanoseconds from begin to end, or until now */
} stet_trace_stats;
STET_API void stet_trace_get_stats(const stet_device *device, stet_trace_stats *out);

/*
 * An event. Times are in nanoseconds on the monotonic clock, from the beginning of the trace. Events are in order of `begin`; one that
 * happens inside another is inside its times. Texts are borrowed, until the next begin or the end of the device.
 */
typedef struct stet_trace_event {
    stet_trace_kind kind;
    const char
        *name; /* kernel, array or phase; what was replayed; mechanism (MISS); "" of a copy of what is no array */
    const char *file;   /* LAUNCH, COMPILE: source of the kernel; else NULL */
    int line;           /* in it */
    stet_reason reason; /* MISS, FALLBACK */
    int64_t begin;      /* on the host */
    int64_t duration;   /* of the call, on the host; 0 for instants */
    /*
     * On the device, where that is known apart from the host, once the trace has ended; else -1. A launch inside a replay has none where
     * the replay is one graph of the device. Where the device waits for the host, the time until the launch has come is a part of it.
     */
    int64_t device_begin;
    int64_t device_duration;
    int64_t amount; /* in stet_trace_kind_unit() */
    uint64_t id;    /* REPLAY: of the recording */
    bool
        comparison; /* of a recording with launches one by one: stet_counters leave out its launches and its copies of arrays */
    bool failed;
} stet_trace_event;
/* False: there is no event i. */
STET_API bool stet_trace_get(const stet_device *device, int64_t i, stet_trace_event *out);

/*
 * Ranges: the phases, replays, launches and compilations of a device, by name and nested, in the timelines of NVIDIA's and AMD's profilers
 * (NVTX, ROCTX), traced or not. Without a profiler they cost two calls of a library that do nothing. The environment's STET_RANGES=1 begins
 * them on each new device; STET_RANGES=FILE with that library; there what is missing is a warning.
 */
typedef struct stet_ranges_def {
    uint32_t cookie;     /* set by stet_default_ranges_def */
    const char *library; /* the file of NVTX or ROCTX; NULL: found by its name */
} stet_ranges_def;
STET_API stet_ranges_def stet_default_ranges_def(void);
/* NOT_FOUND: there is no such library. UNSUPPORTED: the one that was given is none. STATE: ranges are on. */
STET_API stet_result stet_ranges_begin(stet_device *device, const stet_ranges_def *def);
STET_API stet_result stet_ranges_end(stet_device *device); /* STATE: they are not on */
STET_API const char *
stet_ranges_library(const stet_device *device); /* the file that was found; NULL: they are not on */

/* Totals of all events of one kind, name, source and reason, also of those that were dropped. */
typedef struct stet_profile_row {
    stet_trace_kind kind;
    const char *name;
    const char *file;
    int line;
    stet_reason reason;
    int64_t calls;
    int64_t comparisons, failed; /* how many of the calls were such */
    int64_t amount;
    int64_t duration;        /* nanoseconds on the host, events inside it included */
    int64_t device_calls;    /* calls whose time on the device is known apart from the host's */
    int64_t device_duration; /* nanoseconds of these */
} stet_profile_row;
/* Rows in the order of their first call. False: there is no row i. */
STET_API bool stet_profile_get(const stet_device *device, int64_t i, stet_profile_row *out);

#ifdef __cplusplus
}
#endif
#endif
