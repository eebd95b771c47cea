/*
 * Taking tensors out of a frame: which copies a frame needs, of which worlds, and what stands. See tiles.h for TILES-1 to T3.
 *
 * A direct request needs no copy: the renderer wrote its tensor. With `tiles` switched off nothing is direct and nothing is batched:
 * each world of each request is a launch.
 */
#include "tiles/tiles.h"

#include "device/host_mirror.h"

#include <string.h>

typedef struct taking {
    stet_tiles *t;
    sti_tile_place *place;
    bool again; /* all of it stands; an audit wants to see it made */
} taking;

/* ---- what a frame needs -------------------------------------------------------------------------------------------- */

/* A bound array that holds a newer frame stays as it is (TILES-3). */
static bool superseded(const sti_request *r, const sti_tile_place *p) { return r->ask.bound && r->frame > p->frame; }

static bool stands_by_itself(const stet_tiles *t, const sti_request *r)
{
    return r->direct && sti_enabled(&t->device->mechanisms, STET_MECH_tiles);
}

/*
 * Copies for the requests of a place, into t->copies. all: direct requests too (a copy of each pixel to where it is), for audits.
 */
static stet_result collect(stet_tiles *t, sti_tile_place *p, bool all, int *n)
{
    bool enabled = sti_enabled(&t->device->mechanisms, STET_MECH_tiles);
    *n = 0;
    for (int k = 0; k < t->nrequest; ++k) {
        const sti_request *r = &t->request[k];
        stet_array *to = r->ask.bound ? r->ask.bound : p->tensor[k];
        if (superseded(r, p) || (!all && stands_by_itself(t, r))) continue;
        if (r->direct && !enabled) STI_TRY(sti_place_copy(t, p, k, &to));
        t->copies[(*n)++] = (sti_copy){.buffer = r->buffer,
                                       .camera = r->ask.camera,
                                       .conversion = r->conversion,
                                       .channels = r->ask.channels,
                                       .size = r->size,
                                       .to = to};
    }
    return STET_OK;
}

static bool holds(const stet_tiles *t, const sti_tile_place *p, int64_t w)
{
    for (int k = 0; k < t->nrequest; ++k) {
        const sti_request *r = &t->request[k];
        if (r->direct || superseded(r, p)) continue;
        if ((r->ask.bound ? r->held[w] : p->taken[w]) != p->serial[w]) return false;
    }
    return true;
}

/* Worlds of which some destination does not hold the pixels of this frame, into t->carry; returns how many. */
static int list_missing(stet_tiles *t, const sti_tile_place *p)
{
    int n = 0;
    for (int64_t w = 0; w < t->nworld; ++w)
        if (!holds(t, p, w)) t->carry[n++] = (int)w;
    return n;
}

/* ---- doing it ------------------------------------------------------------------------------------------------------ */

static sti_tile_source source_of(stet_tiles *t, sti_tile_place *p)
{
    return (sti_tile_source){&t->table, t->ncamera, p->pixels};
}

/* The destinations hold the pixels of this place from now on. */
static void remember(stet_tiles *t, sti_tile_place *p)
{
    size_t size = (size_t)t->nworld * sizeof(uint64_t);
    memcpy(p->taken, p->serial, size);
    for (int k = 0; k < t->nrequest; ++k) {
        sti_request *r = &t->request[k];
        if (!r->ask.bound || superseded(r, p)) continue;
        memcpy(r->held, p->serial, size);
        r->frame = p->frame;
        r->generation = r->ask.bound->version.generation;
    }
}

/* One row of the mechanism's counters for each request: n worlds of it were copied, together in one launch. */
static void count_extract_frames(stet_tiles *t, const sti_tile_place *p, int64_t n)
{
    sti_mechanisms *m = &t->device->mechanisms;
    int64_t launches = 1;
    for (int k = 0; k < t->nrequest; ++k) {
        const sti_request *r = &t->request[k];
        if (superseded(r, p)) continue;
        if (stands_by_itself(t, r) || n == 0) {
            sti_count_hit(m, STET_MECH_tiles, t->nworld, t->nworld * r->world_bytes);
            continue;
        }
        bool plain = (r->conversion == STI_TO_WORDS || r->conversion == STI_TO_REALS) && n == t->nworld;
        sti_count_miss(m, STET_MECH_tiles, plain ? STET_REASON_tiles_extracted : STET_REASON_tiles_not_direct, launches,
                       n * r->world_bytes);
        launches = 0;
    }
}

/* Switched off: world by world, request by request. */
static stet_result extract_singly(stet_tiles *t, sti_tile_place *p)
{
    sti_tile_source source = source_of(t, p);
    int n;
    STI_TRY(collect(t, p, true, &n));
    for (int k = 0; k < n; ++k) {
        int64_t total = 0, bytes;
        for (int w = 0; w < (int)t->nworld; ++w, total += bytes)
            STI_TRY(sti_extract(&t->extractor, &source, &t->copies[k], 1, &w, 1, &bytes));
        sti_count_miss(&t->device->mechanisms, STET_MECH_tiles, STET_REASON_tiles_disabled, t->nworld, total);
    }
    remember(t, p);
    return STET_OK;
}

/*
 * Everything of a place, all worlds, direct requests too: one after the other, since a direct one writes (what is there already) where others
 * read.
 */
static stet_result extract_all(void *context)
{
    taking *x = context;
    sti_tile_source source = source_of(x->t, x->place);
    int64_t bytes;
    int n;
    STI_TRY(collect(x->t, x->place, true, &n));
    for (int k = 0; k < n; ++k) STI_TRY(sti_extract(&x->t->extractor, &source, x->t->copies + k, 1, NULL, 0, &bytes));
    return STET_OK;
}

/* The memory that extract_all writes. */
static stet_result list_outputs(stet_tiles *t, sti_tile_place *p, int *n)
{
    STI_TRY(collect(t, p, true, n));
    for (int k = 0; k < *n; ++k) t->spans[k] = sti_array_span(t->copies[k].to);
    return STET_OK;
}

/* What was direct, and worlds that were not copied because they stood, are what a full extraction gives. */
static stet_result audit_taken(taking *x)
{
    int n;
    if (!x->t->device->mechanisms.options.audit) return STET_OK;
    STI_TRY(list_outputs(x->t, x->place, &n));
    return sti_tiles_audit(STET_MECH_tiles, "tensors of a frame", extract_all, x, x->t->spans, n);
}

static stet_result take_extract_frames(void *context)
{
    taking *x = context;
    stet_tiles *t = x->t;
    sti_tile_place *p = x->place;
    int n, missing;
    if (!sti_enabled(&t->device->mechanisms, STET_MECH_tiles)) return extract_singly(t, p);
    if (x->again) {
        STI_TRY(extract_all(x));
    } else {
        sti_tile_source source = source_of(t, p);
        int64_t bytes;
        STI_TRY(collect(t, p, false, &n));
        missing = list_missing(t, p);
        if (n && missing) {
            bool whole = missing == t->nworld;
            STI_TRY(sti_extract(&t->extractor, &source, t->copies, n, whole ? NULL : t->carry, missing, &bytes));
        }
        STI_TRY(audit_taken(x));
        count_extract_frames(t, p, missing);
    }
    remember(t, p);
    return STET_OK;
}

/* ---- once a frame -------------------------------------------------------------------------------------------------- */

/*
 * If somebody else has written a bound array since, or may have, what it holds is unknown and the frame has to be taken again. True: a
 * tensor lives through which one may be written at any time.
 */
static bool distrust_bound(stet_tiles *t, sti_tile_place *p)
{
    bool exported = false;
    for (int k = 0; k < t->nrequest; ++k) {
        sti_request *r = &t->request[k];
        bool writer = r->ask.bound && sti_array_poll_external_writes(r->ask.bound);
        if (!r->ask.bound || r->frame < 0 || r->ask.bound->version.generation == r->generation) continue;
        memset(r->held, 0xff, (size_t)t->nworld * sizeof *r->held); /* no serial is that large */
        if (r->frame != p->frame) continue;
        sti_stamp_invalidate(&p->extracted);
        exported = exported || writer;
    }
    return exported;
}

/* Launches and bytes that taking costs: what is missing now, or all if nothing is. */
static void cost(stet_tiles *t, const sti_tile_place *p, bool stands, int64_t *launches, int64_t *bytes)
{
    bool enabled = sti_enabled(&t->device->mechanisms, STET_MECH_tiles);
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
    sti_mechanisms *m = &t->device->mechanisms;
    taking x = {t, p, false};
    if (distrust_bound(t, p)) why = STET_REASON_deferred_tiles_exported;
    sti_stamp_begin(&t->take_now);
    sti_stamp_add_value(&t->take_now, (uint64_t)p->frame);
    sti_stamp_add_value(&t->take_now, sti_enabled(m, STET_MECH_tiles)); /* switched off, tensors are elsewhere */
    bool stands = sti_stamp_equal(&p->extracted, &t->take_now);
    /* Switched off, frames are taken as they are rendered; a read finds that and has nothing to defer. */
    if (stands && !sti_enabled(m, STET_MECH_deferred_tiles)) return STET_OK;
    x.again = stands;
    sti_work work = {.mechanism = STET_MECH_deferred_tiles,
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
    /* Counters of its own: this is a look at a part of what is being counted already. */
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
