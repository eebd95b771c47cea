/*
 * Extracts tensors from a frame: decides which copies a frame needs and for which worlds. See tiles.h for TILES-1 to
 * TILES-3.
 *
 * A direct request needs no copy, because the renderer wrote its tensor. With `tiles` switched off nothing is direct or
 * batched: each world of each request is a launch.
 */
#include "tiles/tiles.h"

#include "device/host_mirror.h"

#include <assert.h>

typedef struct taking {
    stet_tiles *t;
    sti_tile_place *place;
    bool again; /* everything is valid; an audit makes it again */
} taking;

/* ---- what a frame needs ------------------------------------------------------------------------------------------ */

/* A bound array that holds a newer frame is not written (TILES-3). */
static bool superseded(const sti_request *r, const sti_tile_place *p) { return r->ask.bound && r->frame > p->frame; }

static bool stands_by_itself(const stet_tiles *t, const sti_request *r)
{
    return r->direct && sti_enabled(&t->device->mechanisms, STET_MECHANISM_TILES);
}

/*
 * Collects the copies for the requests of a place into t->copies. all: direct requests too (each pixel onto itself),
 * for audits.
 */
static stet_result collect(stet_tiles *t, sti_tile_place *p, bool all, int *n)
{
    bool enabled = sti_enabled(&t->device->mechanisms, STET_MECHANISM_TILES);
    *n = 0;
    for (int k = 0; k < t->nrequest; ++k) {
        const sti_request *r = &t->request[k];
        stet_array *to = r->ask.bound ? r->ask.bound : p->tensor[k];
        if (superseded(r, p) || (!all && stands_by_itself(t, r))) continue;
        if (r->direct && !enabled) STI_TRY(sti_place_copy(t, p, k, &to));
        assert(to && *n < t->nrequest && (int64_t)to->size == t->nworld * r->world_bytes);
        t->copies[(*n)++] = (sti_copy){.buffer = r->buffer,
                                       .camera = r->ask.camera,
                                       .conversion = r->conversion,
                                       .channels = r->ask.channels,
                                       .size = r->size,
                                       .to = to,
                                       .picture = r->picture,
                                       .planar = r->planar};
    }
    return STET_OK;
}

/*
 * Lists the worlds for which some destination lacks this frame's pixels in t->carry, unless they are all; returns their
 * number. A destination that was filled from an earlier frame lacks what was rendered later.
 */
static int list_missing(stet_tiles *t, const sti_tile_place *p)
{
    uint64_t least = UINT64_MAX;
    int n = 0;
    for (int k = 0; k < t->nrequest; ++k) {
        const sti_request *r = &t->request[k];
        uint64_t held = r->ask.bound ? r->held : p->taken;
        if (r->direct || superseded(r, p)) continue;
        if (r->ask.bound && !r->known) return (int)t->nworld;
        least = held < least ? held : least;
    }
    int64_t missing = sti_generations_since(&p->serial, least, NULL);
    for (int64_t w = 0; missing > 0 && missing < t->nworld && w < t->nworld; ++w)
        if (sti_generation_of(&p->serial, w) > least) t->carry[n++] = (int)w;
    assert((n == missing || n == 0) && "the list has as many worlds as were counted");
    return (int)missing;
}

/* ---- doing it ---------------------------------------------------------------------------------------------------- */

/* Runs copies for the n listed worlds (NULL: all) in one launch. */
static stet_result run_copies(stet_tiles *t, sti_tile_place *p, const sti_copy *copies, int ncopy, const int *worlds,
                              int64_t n, int64_t *bytes)
{
    if (t->foreign) return sti_extract_foreign(&p->extractor, &t->foreign->source, copies, ncopy, worlds, n, bytes);
    sti_tile_source source = {&t->table, t->ncamera, p->pixels};
    return sti_extract(&p->extractor, &source, copies, ncopy, worlds, n, bytes);
}

/* Notes that the destinations hold the pixels of this place. */
static void remember(stet_tiles *t, sti_tile_place *p)
{
    assert(p->frame >= 0);
    p->taken = p->serial.latest;
    for (int k = 0; k < t->nrequest; ++k) {
        sti_request *r = &t->request[k];
        if (!r->ask.bound || superseded(r, p)) continue;
        assert(r->frame <= p->frame && "TILES-3");
        r->held = p->serial.latest;
        r->known = true;
        r->frame = p->frame;
        r->generation = r->ask.bound->version.generation;
    }
}

/* Adds one row of the mechanism's counters per request: n of its worlds were copied, all in one launch. */
static void count_extract_frames(stet_tiles *t, const sti_tile_place *p, int64_t n)
{
    assert(n >= 0 && n <= t->nworld);
    sti_mechanisms *m = &t->device->mechanisms;
    int64_t launches = 1;
    for (int k = 0; k < t->nrequest; ++k) {
        const sti_request *r = &t->request[k];
        if (superseded(r, p)) continue;
        if (stands_by_itself(t, r) || n == 0) {
            sti_count_hit(m, STET_MECHANISM_TILES, t->nworld, t->nworld * r->world_bytes);
            continue;
        }
        bool same = !t->foreign && (r->conversion == STI_TO_WORDS || r->conversion == STI_TO_REALS);
        sti_count_miss(m, STET_MECHANISM_TILES,
                       same && n == t->nworld ? STET_REASON_TILES_EXTRACTED : STET_REASON_TILES_NOT_DIRECT, launches,
                       n * r->world_bytes);
        launches = 0;
    }
}

/* With `tiles` switched off: extracts world by world, request by request. */
static stet_result extract_singly(stet_tiles *t, sti_tile_place *p)
{
    int n;
    STI_TRY(collect(t, p, true, &n));
    for (int k = 0; k < n; ++k) {
        int64_t total = 0, bytes;
        for (int w = 0; w < (int)t->nworld; ++w, total += bytes)
            STI_TRY(run_copies(t, p, &t->copies[k], 1, &w, 1, &bytes));
        sti_count_miss(&t->device->mechanisms, STET_MECHANISM_TILES, STET_REASON_TILES_DISABLED, t->nworld, total);
    }
    remember(t, p);
    return STET_OK;
}

/*
 * Extracts all worlds of a place, direct requests too. Requests run one after the other, because a direct one writes
 * (the same bytes) where others read.
 */
static stet_result extract_all(void *context)
{
    taking *x = context;
    int64_t bytes;
    int n;
    STI_TRY(collect(x->t, x->place, true, &n));
    for (int k = 0; k < n; ++k) STI_TRY(run_copies(x->t, x->place, x->t->copies + k, 1, NULL, 0, &bytes));
    return STET_OK;
}

/* Lists the memory that extract_all writes. */
static stet_result list_outputs(stet_tiles *t, sti_tile_place *p, int *n)
{
    STI_TRY(collect(t, p, true, n));
    for (int k = 0; k < *n; ++k) t->spans[k] = sti_array_span(t->copies[k].to);
    return STET_OK;
}

/* Audit: direct tensors, and worlds that were not copied again, must equal a full extraction. */
static stet_result audit_taken(taking *x)
{
    int n;
    if (!x->t->device->mechanisms.options.audit) return STET_OK;
    STI_TRY(list_outputs(x->t, x->place, &n));
    return sti_tiles_audit(STET_MECHANISM_TILES, "tensors of a frame", extract_all, x, x->t->spans, n);
}

static stet_result take_extract_frames(void *context)
{
    taking *x = context;
    stet_tiles *t = x->t;
    sti_tile_place *p = x->place;
    int n, missing;
    if (!sti_enabled(&t->device->mechanisms, STET_MECHANISM_TILES)) return extract_singly(t, p);
    if (x->again) {
        STI_TRY(extract_all(x));
    } else {
        int64_t bytes;
        STI_TRY(collect(t, p, false, &n));
        missing = list_missing(t, p);
        if (n && missing) {
            bool whole = missing == t->nworld;
            STI_TRY(run_copies(t, p, t->copies, n, whole ? NULL : t->carry, missing, &bytes));
        }
        STI_TRY(audit_taken(x));
        count_extract_frames(t, p, missing);
    }
    remember(t, p);
    return STET_OK;
}

/* ---- once a frame ------------------------------------------------------------------------------------------------ */

/*
 * If a bound array was or may have been written outside stet, its content is unknown and the frame must be extracted
 * again. Returns true if a tensor is alive through which it can be written at any time.
 */
static bool distrust_bound(stet_tiles *t, sti_tile_place *p)
{
    bool exported = false;
    for (int k = 0; k < t->nrequest; ++k) {
        sti_request *r = &t->request[k];
        bool writer = r->ask.bound && sti_array_poll_external_writes(r->ask.bound);
        if (!r->ask.bound || r->frame < 0 || r->ask.bound->version.generation == r->generation) continue;
        r->known = false;
        if (r->frame != p->frame) continue;
        sti_stamp_invalidate(&p->extracted);
        exported = exported || writer;
    }
    return exported;
}

/* Launches and bytes of an extraction: of the missing worlds, or of all if none is missing. */
static void cost(stet_tiles *t, const sti_tile_place *p, bool stands, int64_t *launches, int64_t *bytes)
{
    bool enabled = sti_enabled(&t->device->mechanisms, STET_MECHANISM_TILES);
    int64_t n = stands || !enabled ? t->nworld : list_missing(t, p);
    *launches = *bytes = 0;
    for (int k = 0; k < t->nrequest; ++k) {
        const sti_request *r = &t->request[k];
        if (superseded(r, p) || stands_by_itself(t, r)) continue;
        *bytes += n * r->world_bytes;
        *launches += enabled ? n > 0 && *launches == 0 : t->nworld;
    }
}

stet_result sti_tiles_extract_frame(stet_tiles *t, sti_tile_place *p, stet_reason why)
{
    assert(p->frame >= 0 && p->frame <= t->newest && sti_place_of(t, p->frame) == p);
    assert(stet_reason_mechanism(why) == STET_MECHANISM_DEFERRED_TILES);
    sti_mechanisms *m = &t->device->mechanisms;
    taking x = {t, p, false};
    if (distrust_bound(t, p)) why = STET_REASON_DEFERRED_TILES_EXPORTED;
    sti_stamp_begin(&t->take_now);
    sti_stamp_add_value(&t->take_now, (uint64_t)p->frame);
    /* with `tiles` switched off the tensors are in other arrays */
    sti_stamp_add_value(&t->take_now, sti_enabled(m, STET_MECHANISM_TILES));
    bool stands = sti_stamp_equal(&p->extracted, &t->take_now);
    /* With deferred_tiles switched off, frames are extracted when they are rendered, so a read has nothing to defer. */
    if (stands && !sti_enabled(m, STET_MECHANISM_DEFERRED_TILES)) return STET_OK;
    x.again = stands;
    sti_work work = {.mechanism = STET_MECHANISM_DEFERRED_TILES,
                     .why = why,
                     .what = "tensors of a frame",
                     .kept = &p->extracted,
                     .now = &t->take_now,
                     .make = take_extract_frames,
                     .context = &x,
                     .outputs = t->spans};
    cost(t, p, stands, &work.launches, &work.bytes);
    if (stands && m->options.audit) STI_TRY(list_outputs(t, p, &work.noutput));
    return sti_let_stand(m, &work);
}

stet_result sti_tiles_audit(stet_mechanism mechanism, const char *what, stet_result (*make)(void *context),
                            void *context, const sti_span *outputs, int noutput)
{
    assert(make && what && (outputs || noutput == 0));
    /* Separate counters, because the work that is compared here has been counted already. */
    sti_mechanisms own = {.options = {.audit = true}};
    sti_stamp kept = {0}, now = {0};
    sti_stamp_begin(&kept);
    sti_stamp_begin(&now);
    sti_work work = {.mechanism = mechanism,
                     .what = what,
                     .kept = &kept,
                     .now = &now,
                     .make = make,
                     .context = context,
                     .outputs = outputs,
                     .noutput = noutput};
    stet_result result = sti_let_stand(&own, &work);
    sti_stamp_free(&kept);
    sti_stamp_free(&now);
    return result;
}
