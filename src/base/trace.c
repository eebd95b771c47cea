/*
 * Traces: events and rows lie in lists of blocks that never move; rows are found by a hash of what they are about.
 * Invariants: trace.h.
 */
#include "base/trace.h"

#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <string.h>
#include <time.h>

enum { BLOCK_SIZE = 64 * 1024, FIRST_SLOTS = 64 };

static const char *const others = "(others)";

struct sti_trace_row {
    stet_profile_row total; /* its texts are the row's own, behind it */
    uint64_t hash;
};

struct sti_trace_event {
    const sti_trace_row *row;
    int64_t begin, duration, device_begin, device_duration, amount;
    uint64_t id;
    bool comparison, failed;
};

/* Things of one size in blocks. */
typedef struct store {
    size_t item;
    void **block;
    int64_t nblock, room, count;
} store;

struct sti_trace {
    bool wanted; /* events, not only totals */
    bool comparing;
    bool stopped;
    int open; /* T4 */
    int64_t limit, bytes, start, duration, dropped, unnamed;
    store events, rows;   /* of sti_trace_event; of sti_trace_row * */
    sti_trace_row **slot; /* open addressing; nslot a power of two, less than all are used */
    int64_t nslot;
    sti_trace_row other[STET_TRACE_KIND_COUNT]; /* one of each kind, for what has no row of its own */
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
    return (unsigned)kind < STET_TRACE_KIND_COUNT ? kinds[kind].name : "unknown";
}

const char *stet_trace_kind_unit(stet_trace_kind kind)
{
    return (unsigned)kind < STET_TRACE_KIND_COUNT ? kinds[kind].unit : "";
}

/* ---- memory (T2) ------------------------------------------------------------------------------------------------- */

static void *take(sti_trace *t, size_t size)
{
    if ((int64_t)size > t->limit - t->bytes) return NULL;
    void *block = sti_alloc_or_null(size);
    if (block) t->bytes += (int64_t)size;
    return block;
}

static void give(sti_trace *t, void *block)
{
    t->bytes -= (int64_t)sti_block_size(block);
    sti_free(block);
}

static int64_t per_block(const store *s) { return (int64_t)(BLOCK_SIZE / s->item); }

static void *item_of(const store *s, int64_t i)
{
    return (char *)s->block[i / per_block(s)] + (size_t)(i % per_block(s)) * s->item;
}

static bool make_room(sti_trace *t, store *s)
{
    if (s->nblock == s->room) {
        int64_t room = s->room ? 2 * s->room : 16;
        void **grown = take(t, (size_t)room * sizeof *grown);
        if (!grown) return false;
        if (s->room) memcpy(grown, s->block, (size_t)s->nblock * sizeof *grown);
        give(t, s->block);
        s->block = grown;
        s->room = room;
    }
    s->block[s->nblock] = take(t, BLOCK_SIZE);
    if (!s->block[s->nblock]) return false;
    ++s->nblock;
    return true;
}

/* A zeroed item at the end, or NULL. */
static void *add_item(sti_trace *t, store *s)
{
    if (s->count == s->nblock * per_block(s) && !make_room(t, s)) return NULL;
    return item_of(s, s->count++);
}

static void free_store(store *s)
{
    for (int64_t i = 0; i < s->nblock; ++i) sti_free(s->block[i]);
    sti_free(s->block);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static uint64_t hash_of(const sti_trace_what *w, const char *name)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (const char *p = name; *p; ++p) h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    h = (h ^ (uint64_t)w->kind) * 0x100000001b3u;
    h = (h ^ (uint64_t)w->reason) * 0x100000001b3u;
    h = (h ^ (uint64_t)w->line) * 0x100000001b3u;
    return h ^ h >> 29;
}

static bool is_about(const sti_trace_row *row, const sti_trace_what *w, const char *name)
{
    const stet_profile_row *r = &row->total;
    return r->kind == w->kind && r->line == w->line && r->reason == w->reason && strcmp(r->name, name) == 0 &&
           !r->file == !w->file && (!r->file || strcmp(r->file, w->file) == 0);
}

/* Where a row with this hash is, or would be. */
static int64_t place_of(const sti_trace *t, uint64_t hash, const sti_trace_what *w, const char *name)
{
    int64_t i = (int64_t)(hash & (uint64_t)(t->nslot - 1));
    while (t->slot[i] && (t->slot[i]->hash != hash || !is_about(t->slot[i], w, name))) i = (i + 1) & (t->nslot - 1);
    return i;
}

/* Twice the slots, if a quarter or less of them is free. */
static bool grow_slots(sti_trace *t)
{
    if (4 * t->rows.count < 3 * t->nslot) return true;
    int64_t n = t->nslot ? 2 * t->nslot : FIRST_SLOTS;
    sti_trace_row **grown = take(t, (size_t)n * sizeof(sti_trace_row *));
    if (!grown) return t->rows.count + 1 < t->nslot;
    for (int64_t k = 0; k < t->nslot; ++k) {
        if (!t->slot[k]) continue;
        int64_t i = (int64_t)(t->slot[k]->hash & (uint64_t)(n - 1));
        while (grown[i]) i = (i + 1) & (n - 1);
        grown[i] = t->slot[k];
    }
    give(t, t->slot);
    t->slot = grown;
    t->nslot = n;
    return true;
}

/* NULL: there is no memory for it. */
static sti_trace_row *make_row(sti_trace *t, const sti_trace_what *w, const char *name)
{
    size_t length = strlen(name) + 1, file = w->file ? strlen(w->file) + 1 : 0;
    sti_trace_row *row = take(t, sizeof *row + length + file);
    if (!row) return NULL;
    sti_trace_row **listed = add_item(t, &t->rows);
    if (!listed) {
        give(t, row);
        return NULL;
    }
    *listed = row;
    char *text = memcpy(row + 1, name, length);
    row->total = (stet_profile_row){.kind = w->kind, .name = text, .line = w->line, .reason = w->reason};
    if (w->file) row->total.file = memcpy(text + length, w->file, file);
    return row;
}

/* T1. */
static sti_trace_row *find_row(sti_trace *t, const sti_trace_what *w)
{
    const char *name = w->name ? w->name : "";
    uint64_t hash = hash_of(w, name);
    int64_t i = t->nslot ? place_of(t, hash, w, name) : 0;
    if (t->nslot && t->slot[i]) return t->slot[i];
    sti_trace_row *row = grow_slots(t) ? make_row(t, w, name) : NULL;
    if (!row) {
        ++t->unnamed;
        return &t->other[w->kind];
    }
    row->hash = hash;
    t->slot[place_of(t, hash, w, name)] = row;
    return row;
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
    STI_TRY(sti_alloc(out, sizeof **out, "trace"));
    sti_trace *t = *out;
    t->wanted = events;
    t->limit = limit;
    t->bytes = (int64_t)sizeof *t;
    t->events.item = sizeof(sti_trace_event);
    t->rows.item = sizeof(sti_trace_row *);
    for (int k = 0; k < STET_TRACE_KIND_COUNT; ++k)
        t->other[k].total = (stet_profile_row){.kind = (stet_trace_kind)k, .name = others};
    t->start = nanoseconds();
    return STET_OK;
}

void sti_trace_free(sti_trace *t)
{
    if (!t) return;
    for (int64_t i = 0; i < t->rows.count; ++i) sti_free(*(sti_trace_row **)item_of(&t->rows, i));
    free_store(&t->rows);
    free_store(&t->events);
    sti_free(t->slot);
    sti_free(t);
}

bool sti_trace_stop(sti_trace *t)
{
    if (t->open) return false;
    t->duration = nanoseconds() - t->start;
    t->stopped = true;
    return true;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

sti_trace_mark sti_trace_open(sti_trace *t, const sti_trace_what *w)
{
    sti_trace_mark mark = {.row = find_row(t, w), .amount = w->amount};
    if (t->wanted) {
        mark.event = add_item(t, &t->events);
        t->dropped += !mark.event;
    }
    mark.begin = nanoseconds() - t->start;
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

static void finish(sti_trace *t, const sti_trace_mark *mark, int64_t duration, bool failed)
{
    stet_profile_row *r = &mark->row->total;
    r->calls++;
    r->comparisons += t->comparing;
    r->failed += failed;
    r->amount += mark->amount;
    r->duration += duration;
    --t->open;
    if (!mark->event) return;
    mark->event->duration = duration;
    mark->event->amount = mark->amount;
    mark->event->comparison = t->comparing;
    mark->event->failed = failed;
}

void sti_trace_close(sti_trace *t, sti_trace_mark mark, stet_result result)
{
    finish(t, &mark, nanoseconds() - t->start - mark.begin, result != STET_OK);
}

void sti_trace_instant(sti_trace *t, const sti_trace_what *w)
{
    sti_trace_mark mark = sti_trace_open(t, w);
    finish(t, &mark, 0, false);
}

void sti_trace_device_time(sti_trace_mark mark, int64_t begin, int64_t duration)
{
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

/* The i-th row of those without a name that have calls, or NULL. */
static const sti_trace_row *other_row(const sti_trace *t, int64_t i)
{
    for (int k = 0; k < STET_TRACE_KIND_COUNT; ++k)
        if (t->other[k].total.calls && i-- == 0) return &t->other[k];
    return NULL;
}

void sti_trace_stats(const sti_trace *t, stet_trace_stats *out)
{
    *out = (stet_trace_stats){.events = t->events.count,
                              .dropped = t->dropped,
                              .unnamed = t->unnamed,
                              .rows = t->rows.count,
                              .bytes = t->bytes,
                              .duration = t->stopped ? t->duration : nanoseconds() - t->start};
    while (other_row(t, out->rows - t->rows.count)) out->rows++;
}

bool sti_trace_get(const sti_trace *t, int64_t i, stet_trace_event *out)
{
    *out = (stet_trace_event){0};
    if (i < 0 || i >= t->events.count) return false;
    const sti_trace_event *e = item_of(&t->events, i);
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
    if (i < 0) return false;
    bool named = i < t->rows.count;
    const sti_trace_row *row = named ? *(sti_trace_row **)item_of(&t->rows, i) : other_row(t, i - t->rows.count);
    if (!row) return false;
    *out = row->total;
    return true;
}
