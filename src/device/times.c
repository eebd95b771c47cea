/* Device times of traced work; see trace.h for the invariants. */
#include "device/trace.h"

enum { DEPTH = 8, TRIES = 3, ALIGNED_FOR = 1000000000 /* ns: clocks drift apart after that */ };

/* The time between two moments, of an event that is closed or (`to` not set yet) open. */
typedef struct span {
    sti_trace_mark mark;
    int64_t from, to; /* moments */
    /* on the trace's clock, if `from` is -1: that moment was evaluated before; -1: its evaluation failed */
    int64_t begin;
} span;

struct sti_times {
    bool aligned, broken; /* broken: a moment failed, so no more are recorded */
    int64_t base, base_time;
    int depth, npending;
    span open[DEPTH], pending[STI_TIMES_PENDING];
};

/* ---- the two clocks ---------------------------------------------------------------------------------------------- */

static bool is_captured(stet_device *device)
{
    uint64_t capture = 0;
    if (!device->ops->capturing) return false;
    return device->ops->capturing(device, &capture) != STET_OK || capture != 0;
}

static bool record_moment(stet_device *device, int64_t *id)
{
    sti_times *t = device->times;
    t->broken = t->broken || device->ops->moment(device, id) != STET_OK;
    return !t->broken;
}

/*
 * Finds a moment whose time on the trace's clock is known: right after a wait for it; the shortest of some waits
 * (DEVTRACE-4).
 */
static bool align_clocks(stet_device *device)
{
    sti_times *t = device->times;
    int64_t shortest = INT64_MAX;
    t->aligned = false;
    t->broken = t->broken || device->ops->synchronize(device) != STET_OK;
    for (int i = 0; i < TRIES && !t->broken; ++i) {
        int64_t id, before = sti_trace_now(device->mechanisms.trace);
        if (!record_moment(device, &id)) break;
        t->broken = device->ops->synchronize(device) != STET_OK;
        int64_t now = sti_trace_now(device->mechanisms.trace);
        if (now - before >= shortest) continue;
        shortest = now - before;
        t->base = id;
        t->base_time = now;
    }
    t->aligned = !t->broken;
    return t->aligned;
}

static bool trace_time_of(stet_device *device, int64_t moment, int64_t *out)
{
    const sti_times *t = device->times;
    int64_t ns;
    if (device->ops->between(device, t->base, moment, &ns) != STET_OK) return false;
    *out = t->base_time + ns;
    return true;
}

/* ---- evaluating moments (DEVTRACE-3) ----------------------------------------------------------------------------- */

static void evaluate_span(stet_device *device, const span *s)
{
    int64_t begin = s->begin, end, duration;
    if (s->from >= 0) {
        if (!trace_time_of(device, s->from, &begin) ||
            device->ops->between(device, s->from, s->to, &duration) != STET_OK)
            return;
    } else {
        if (begin < 0 || !trace_time_of(device, s->to, &end)) return;
        duration = end > begin ? end - begin : 0;
    }
    sti_trace_device_time(s->mark, begin, duration);
}

/* Evaluates all pending moments; of open events only the beginning. Afterwards no moment is kept. */
static void evaluate_moments(stet_device *device)
{
    sti_times *t = device->times;
    for (int i = 0; i < t->npending && !t->broken; ++i) evaluate_span(device, &t->pending[i]);
    t->npending = 0;
    for (int i = 0; i < t->depth; ++i) {
        span *s = &t->open[i];
        if (s->from >= 0 && (t->broken || !trace_time_of(device, s->from, &s->begin))) s->begin = -1;
        s->from = -1;
    }
    (void)device->ops->moment(device, NULL); /* cannot fail */
    t->aligned = false;
}

/* DEVTRACE-2. Also makes room for one more event, and aligns the clocks. */
static bool is_ready(stet_device *device)
{
    sti_times *t = device->times;
    if (!t || t->broken || is_captured(device)) return false;
    bool old = t->aligned && sti_trace_now(device->mechanisms.trace) - t->base_time > ALIGNED_FOR;
    if (old || t->npending + t->depth >= STI_TIMES_PENDING) evaluate_moments(device);
    return t->aligned || align_clocks(device);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

sti_device_mark sti_device_trace_open(stet_device *device, const sti_trace_what *what)
{
    sti_times *t = device->times;
    int64_t from;
    bool timed = is_ready(device) && t->depth < DEPTH;
    sti_device_mark mark = {.host = sti_trace_open(device->mechanisms.trace, what), .depth = -1};
    if (!timed || !record_moment(device, &from)) return mark;
    mark.depth = t->depth;
    t->open[t->depth++] = (span){.from = from};
    return mark;
}

void sti_device_trace_close(stet_device *device, sti_device_mark mark, stet_result result)
{
    sti_times *t = device->times;
    sti_trace_close(device->mechanisms.trace, mark.host, result);
    if (!t || mark.depth < 0) return;
    span *s = &t->open[mark.depth];
    t->depth = mark.depth;
    s->mark = mark.host;
    if (result == STET_OK && !is_captured(device) && record_moment(device, &s->to)) t->pending[t->npending++] = *s;
}

void sti_times_begin(stet_device *device)
{
    if (!device->ops->moment) return;
    device->times = sti_alloc_or_null(sizeof *device->times);
    if (device->times && !is_captured(device)) (void)align_clocks(device);
}

void sti_times_end(stet_device *device)
{
    if (!device->times) return;
    if (is_captured(device)) device->times->broken = true;
    evaluate_moments(device);
    sti_free(device->times);
    device->times = NULL;
}
