/*
 * The store of a trace: events, and rows of totals. stet/trace.h describes them.
 *
 * Invariants:
 *   TRACE-1  a row is found or made when its event begins, so every event counts in exactly one row, kept or not
 *   TRACE-2  nothing here fails or sets a message: without memory, or at the limit, an event is dropped and counted
 *   TRACE-3  events are kept in the order in which they began; nothing that is kept moves
 *   TRACE-4  a trace does not end, and so is not freed, while an event of it is open
 */
#ifndef STI_BASE_TRACE_H
#define STI_BASE_TRACE_H

#include "stet/trace.h"

typedef struct sti_trace sti_trace;
typedef struct sti_trace_row sti_trace_row;
typedef struct sti_trace_event sti_trace_event;

/*
 * Receives phases, replays, launches and compilations as nested ranges: `push` at their begin, `pop` at their end.
 * Returned values are ignored.
 */
typedef struct sti_trace_ranges {
    int (*push)(const char *name);
    int (*pop)(void);
} sti_trace_ranges;

stet_result sti_trace_new(bool events, int64_t limit, sti_trace **out);
/* Sets the receiver; NULL: none. `alone`: the trace keeps, names and times nothing itself. No event may be open. */
void sti_trace_show(sti_trace *trace, const sti_trace_ranges *ranges, bool alone);
void sti_trace_free(sti_trace *trace); /* NULL does nothing */
/* Stops the clock for stats. Returns false if an event is open (TRACE-4). */
bool sti_trace_stop(sti_trace *trace);
bool sti_trace_is_open(const sti_trace *trace); /* an event of it is open */
int64_t sti_trace_now(const sti_trace *trace);  /* nanoseconds since its beginning */

/* What an event is, when it begins; unused fields are zero. Texts are copied. */
typedef struct sti_trace_what {
    stet_trace_kind kind;
    const char *name, *file; /* name NULL counts as "" */
    int line;
    stet_reason reason;
    int64_t amount;
    uint64_t id;
} sti_trace_what;

/* An event that has begun. */
typedef struct sti_trace_mark {
    sti_trace_row *row;
    sti_trace_event *event; /* NULL: dropped, or only totals are wanted */
    int64_t begin;
    int64_t amount; /* may be set before the close, if it is known only then */
} sti_trace_mark;

sti_trace_mark sti_trace_open(sti_trace *trace, const sti_trace_what *what);
/* Events close in the reverse order of their opening. */
void sti_trace_close(sti_trace *trace, sti_trace_mark mark, stet_result result);
void sti_trace_instant(sti_trace *trace, const sti_trace_what *what);
/*
 * Sets the time at which an event ran on a device, once it is known. May be called after the close, while the trace
 * lives. `begin` is in nanoseconds since the trace's beginning.
 */
void sti_trace_device_time(sti_trace_mark mark, int64_t begin, int64_t duration);
/* Sets whether events from now on are part of a comparison; returns the previous setting. */
bool sti_trace_compare(sti_trace *trace, bool comparing);

void sti_trace_stats(const sti_trace *trace, stet_trace_stats *out);
bool sti_trace_get(const sti_trace *trace, int64_t i, stet_trace_event *out);
bool sti_trace_get_row(const sti_trace *trace, int64_t i, stet_profile_row *out);

#endif
