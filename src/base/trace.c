/* Traces: events at their begin and end, and reading them. Rows and memory: trace_rows.c. Invariants: trace.h. */
#include "base/trace_rows.h"

#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <string.h>
#include <time.h>

struct sti_trace_event {
    const sti_trace_row *row;
    int64_t begin, duration, device_begin, device_duration, amount;
    uint64_t id;
    bool comparison, failed;
};

struct sti_trace {
    bool wanted; /* events are kept, not only totals */
    bool alone;  /* neither are kept; events only become ranges */
    sti_trace_ranges ranges;
    bool comparing;
    bool stopped;
    int open; /* TRACE-4 */
    int64_t start, duration, dropped;
    sti_trace_memory memory;
    sti_trace_store events; /* of sti_trace_event */
    sti_trace_rows rows;
};

/* ---- kinds ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *unit;
} kinds[] = {
#define KIND(id, name, unit) {name, unit},
    STET_TRACE_KINDS(KIND)
#undef KIND
};

const char *stet_trace_kind_name(stet_trace_kind kind)
{
    return (unsigned)kind < STET_TRACE_COUNT ? kinds[kind].name : "unknown";
}

const char *stet_trace_kind_unit(stet_trace_kind kind)
{
    return (unsigned)kind < STET_TRACE_COUNT ? kinds[kind].unit : "";
}

/* ---- beginning and ending ---------------------------------------------------------------------------------------- */

static int64_t nanoseconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

stet_result sti_trace_new(bool events, int64_t limit, sti_trace **out)
{
    assert(limit >= 0);
    STI_TRY(sti_alloc(out, sizeof **out, "trace"));
    sti_trace *t = *out;
    t->wanted = events;
    t->memory = (sti_trace_memory){.limit = limit, .bytes = (int64_t)sizeof *t};
    t->events.item = sizeof(sti_trace_event);
    sti_trace_rows_init(&t->rows, &t->memory);
    t->start = nanoseconds();
    return STET_OK;
}

void sti_trace_free(sti_trace *t)
{
    if (!t) return;
    assert(!t->open && "TRACE-4");
    sti_trace_rows_free(&t->rows);
    sti_trace_store_free(&t->events);
    sti_free(t);
}

bool sti_trace_is_open(const sti_trace *t) { return t->open > 0; }

int64_t sti_trace_now(const sti_trace *t) { return nanoseconds() - t->start; }

bool sti_trace_stop(sti_trace *t)
{
    if (t->open) return false;
    t->duration = sti_trace_now(t);
    t->stopped = true;
    return true;
}

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

void sti_trace_show(sti_trace *t, const sti_trace_ranges *ranges, bool alone)
{
    assert(!t->open && "a range that was pushed is popped by whom it was pushed");
    t->ranges = ranges ? *ranges : (sti_trace_ranges){0};
    t->alone = alone;
}

/* Copies are no ranges: profilers see them by themselves. */
static bool is_range(stet_trace_kind kind)
{
    return kind == STET_TRACE_PHASE || kind == STET_TRACE_REPLAY || kind == STET_TRACE_LAUNCH ||
           kind == STET_TRACE_COMPILE;
}

static void begin_range(const sti_trace *t, const sti_trace_what *w)
{
    if (t->ranges.push && is_range(w->kind)) (void)t->ranges.push(w->name ? w->name : "");
}

static void end_range(const sti_trace *t, stet_trace_kind kind)
{
    if (t->ranges.pop && is_range(kind)) (void)t->ranges.pop();
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* An event that is not kept still has a row, which marks it as open. */
static sti_trace_mark open_alone(sti_trace *t, const sti_trace_what *w)
{
    ++t->open;
    begin_range(t, w);
    return (sti_trace_mark){.row = &t->rows.other[w->kind]};
}

sti_trace_mark sti_trace_open(sti_trace *t, const sti_trace_what *w)
{
    assert((unsigned)w->kind < STET_TRACE_COUNT && !t->stopped);
    if (t->alone) return open_alone(t, w);
    sti_trace_mark mark = {.row = sti_trace_find_row(&t->rows, w), .amount = w->amount};
    begin_range(t, w);
    if (t->wanted) {
        mark.event = sti_trace_add(&t->memory, &t->events);
        t->dropped += !mark.event;
    }
    mark.begin = sti_trace_now(t);
    if (mark.event)
        *mark.event = (sti_trace_event){.row = mark.row,
                                        .begin = mark.begin,
                                        .device_begin = -1,
                                        .device_duration = -1,
                                        .amount = w->amount,
                                        .id = w->id};
    ++t->open;
    return mark;
}

static void close_event(sti_trace *t, const sti_trace_mark *mark, int64_t duration, bool failed)
{
    assert(t->open > 0 && mark->row && "an event that was opened is closed once");
    assert(duration >= 0);
    stet_profile_row *r = &mark->row->total;
    end_range(t, r->kind);
    --t->open;
    if (t->alone) return;
    r->calls++;
    r->comparisons += t->comparing;
    r->failed += failed;
    r->amount += mark->amount;
    r->duration += duration;
    if (!mark->event) return;
    mark->event->duration = duration;
    mark->event->amount = mark->amount;
    mark->event->comparison = t->comparing;
    mark->event->failed = failed;
}

void sti_trace_close(sti_trace *t, sti_trace_mark mark, stet_result result)
{
    close_event(t, &mark, t->alone ? 0 : sti_trace_now(t) - mark.begin, result != STET_OK);
}

void sti_trace_instant(sti_trace *t, const sti_trace_what *w)
{
    sti_trace_mark mark = sti_trace_open(t, w);
    close_event(t, &mark, 0, false);
}

void sti_trace_device_time(sti_trace_mark mark, int64_t begin, int64_t duration)
{
    assert(mark.row && duration >= 0);
    mark.row->total.device_calls++;
    mark.row->total.device_duration += duration;
    if (!mark.event) return;
    mark.event->device_begin = begin;
    mark.event->device_duration = duration;
}

bool sti_trace_compare(sti_trace *t, bool comparing)
{
    bool was = t->comparing;
    t->comparing = comparing;
    return was;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

void sti_trace_stats(const sti_trace *t, stet_trace_stats *out)
{
    *out = (stet_trace_stats){.events = t->events.count,
                              .dropped = t->dropped,
                              .unnamed = t->rows.unnamed,
                              .rows = sti_trace_count_rows(&t->rows),
                              .bytes = t->memory.bytes,
                              .duration = t->stopped ? t->duration : sti_trace_now(t)};
}

bool sti_trace_get(const sti_trace *t, int64_t i, stet_trace_event *out)
{
    assert(t->events.item == sizeof(sti_trace_event));
    *out = (stet_trace_event){0};
    if (i < 0 || i >= t->events.count) return false;
    const sti_trace_event *e = sti_trace_item(&t->events, i);
    const stet_profile_row *r = &e->row->total;
    *out = (stet_trace_event){.kind = r->kind,
                              .name = r->name,
                              .file = r->file,
                              .line = r->line,
                              .reason = r->reason,
                              .begin = e->begin,
                              .duration = e->duration,
                              .device_begin = e->device_begin,
                              .device_duration = e->device_duration,
                              .amount = e->amount,
                              .id = e->id,
                              .comparison = e->comparison,
                              .failed = e->failed};
    return true;
}

bool sti_trace_get_row(const sti_trace *t, int64_t i, stet_profile_row *out)
{
    *out = (stet_profile_row){0};
    const sti_trace_row *row = sti_trace_row_at(&t->rows, i);
    if (row) *out = row->total;
    return row != NULL;
}
