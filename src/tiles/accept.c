/* Tiles over the pictures of another renderer: creates them, accepts frames. TILES-6: tiles.h. */
#include "tiles/tiles.h"

#include <assert.h>

static stet_result build_foreign(stet_tiles *t, const stet_foreign_def *def)
{
    STI_TRY(sti_foreign_make(t->device, def, &t->foreign));
    STI_TRY(sti_tiles_begin(t, def->cameras, def->ncamera, def->nrequest, def->frames_in_flight));
    for (int k = 0; k < t->nrequest; ++k) STI_TRY(sti_foreign_resolve(t->device, def, k, &t->request[k]));
    return sti_tiles_make_places(t);
}

stet_result stet_tiles_create_foreign(stet_device *device, const stet_foreign_def *def, stet_tiles **out)
{
    if (!device || !def || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_tiles_create_foreign: device, def and out must not be NULL");
    *out = NULL;
    STI_TRY(sti_foreign_check(device, def));
    stet_tiles *t;
    STI_TRY(sti_alloc(&t, sizeof *t, "tiles"));
    t->device = device;
    t->nworld = def->nworld;
    stet_result result = build_foreign(t, def);
    if (result != STET_OK) {
        stet_tiles_destroy(t);
        return result;
    }
    *out = t;
    return STET_OK;
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static bool any_world(const stet_tiles *t, const uint8_t *mask)
{
    for (int64_t w = 0; mask && w < t->nworld; ++w)
        if (mask[w]) return true;
    return mask == NULL;
}

/* Nobody has read the last frame, whose pictures the next one is in. It is warned of once. */
static void drop_frame(stet_tiles *t, sti_tile_place *last)
{
    assert(last->frame >= 0 && !last->extracted.valid && "nobody has read it");
    if (!t->dropped)
        sti_log(
            STET_LOG_WARNING,
            "tiles: frame %lld was not read before the next one was accepted, and is dropped, as later ones will be",
            (long long)last->frame);
    t->dropped = true;
    last->frame = -1;
    sti_count_miss(&t->device->mechanisms, STET_MECHANISM_DEFERRED_TILES, STET_REASON_DEFERRED_TILES_DROPPED, 0, 0);
}

/* Starts a frame: gives new serials to the pixels of its worlds, and drops the last one if nobody read it. */
static void start_frame(stet_tiles *t, const uint8_t *mask)
{
    assert(t->foreign && "TILES-6");
    sti_tile_place *p = sti_place_of(t, t->newest + 1);
    (void)sti_generations_put_some(&t->painted, mask, ++t->serial);
    sti_generations_copy(&p->serial, &t->painted);
    if (t->newest >= 0) {
        sti_tile_place *last = sti_place_of(t, t->newest);
        if (!last->extracted.valid && last->frame == t->newest) drop_frame(t, last);
    }
    sti_stamp_invalidate(&p->extracted);
    p->frame = ++t->newest;
    for (int k = 0; k < t->foreign->npicture; ++k) stet_array_mark_written(t->foreign->picture[k].array);
    sti_place_mark_direct(t, p);
    sti_validate_tiles(t);
}

stet_result stet_tiles_accept(stet_tiles *t, const uint8_t *mask, stet_ready ready, void *stream, int64_t *frame)
{
    if (!t) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_tiles_accept: tiles must not be NULL");
    if (!t->foreign)
        return sti_error(STET_ERROR_STATE, "stet_tiles_accept: these tiles have a renderer; use stet_tiles_render");
    if ((unsigned)ready > STET_READY_UNORDERED)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_tiles_accept: there is no way %d of being ready",
                         (int)ready);
    STI_TRY(sti_not_listing(t->device, "stet_tiles_accept"));
    if (ready == STET_READY_IN_STREAM) STI_TRY(stet_device_wait_stream(t->device, stream));
    if (t->newest < 0 || any_world(t, mask)) {
        STI_TRY(sti_place_prepare(t, sti_place_of(t, t->newest + 1)));
        start_frame(t, mask);
        STI_TRY(sti_tiles_extract_at_once(t));
    }
    if (frame) *frame = t->newest;
    return STET_OK;
}
