/* Creates and destroys tiles: layouts, the tile table, the places of the ring. */
#include "tiles/tiles.h"

#include <assert.h>
#include <string.h>

/* ---- layouts ----------------------------------------------------------------------------------------------------- */

/* A camera gets the layout of its tensor if at least one request can be direct. */
static stet_result plan_buffer(stet_tiles *t, sti_picture_buffer b)
{
    assert(!t->layout[b].part && "planned once");
    sti_tile_part *part;
    bool *direct = NULL;
    STI_TRY(sti_alloc(&part, (size_t)t->ncamera * sizeof *part, "tile layouts"));
    t->layout[b].part = part;
    STI_TRY(sti_alloc(&direct, (size_t)t->ncamera * sizeof *direct, "tile layouts"));
    for (int k = 0; k < t->nrequest; ++k)
        if (t->request[k].buffer == b && t->request[k].direct) direct[t->request[k].ask.camera] = true;
    stet_result result = sti_tile_plan(t->size, direct, t->ncamera, t->nworld, part, &t->layout[b]);
    sti_free(direct);
    return result;
}

static int64_t bytes_of_world(const stet_tiles *t)
{
    int64_t bytes = 0;
    for (int b = 0; b < STI_BUFFER_COUNT; ++b)
        for (int c = 0; t->used[b] && c < t->ncamera; ++c)
            bytes += (int64_t)t->size[c].width * t->size[c].height * sti_buffer_channels((sti_picture_buffer)b) *
                     (int64_t)stet_dtype_size(t->device, sti_buffer_dtype((sti_picture_buffer)b));
    return bytes;
}

static stet_result plan(stet_tiles *t)
{
    for (int k = 0; k < t->nrequest; ++k)
        for (int b = 0; b < STI_BUFFER_COUNT; ++b)
            if (b == (int)t->request[k].buffer || sti_buffer_needs(t->request[k].buffer) >> b & 1u) t->used[b] = true;
    t->world_bytes = bytes_of_world(t);
    for (int b = 0; b < STI_BUFFER_COUNT; ++b)
        if (t->used[b]) STI_TRY(plan_buffer(t, (sti_picture_buffer)b));
    return STET_OK;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static stet_result create_pixels(stet_tiles *t, sti_tile_place *p)
{
    for (int b = 0; b < STI_BUFFER_COUNT; ++b) {
        int64_t count;
        if (!t->used[b]) continue;
        if (__builtin_mul_overflow(t->layout[b].npixel, (int64_t)sti_buffer_channels((sti_picture_buffer)b), &count))
            return sti_error(
                STET_ERROR_LIMIT,
                "tiles: a frame has more numbers than can be addressed; use fewer worlds or smaller pictures");
        STI_TRY(STI_ARRAY(t->device, "pixels of a frame", sti_buffer_dtype((sti_picture_buffer)b), false, &p->pixels[b],
                          count));
        sti_array_held_by(p->pixels[b], STET_MECHANISM_FRAME);
    }
    return STET_OK;
}

/* Creates a tensor of the ring for a request. */
static stet_result new_tensor(const stet_tiles *t, const sti_request *r, stet_array **out)
{
    assert(!r->ask.bound && r->shape[0] == t->nworld);
    STI_TRY(sti_array_new(t->device, r->name, r->ask.dtype, false, 4, r->shape, out));
    sti_array_held_by(*out, STET_MECHANISM_DEFERRED_TILES);
    return STET_OK;
}

static stet_result create_tensor(stet_tiles *t, sti_tile_place *p, int k)
{
    assert(k >= 0 && k < t->nrequest && !p->tensor[k]);
    const sti_request *r = &t->request[k];
    if (r->ask.bound) return STET_OK;
    if (!r->direct) return new_tensor(t, r, &p->tensor[k]);
    if (t->foreign) {
        const stet_array *picture = t->foreign->picture[r->picture].array;
        STI_TRY(sti_tile_view(picture, r->offset, r->name, r->ask.dtype, 4, r->shape, &p->tensor[k]));
        p->tensor[k]->read_only = picture->read_only;
        return STET_OK;
    }
    const stet_array *pixels = p->pixels[r->buffer];
    assert(pixels && t->layout[r->buffer].part[r->ask.camera].columns == 1 && "TABLE-3: a direct camera");
    int64_t pixel = (int64_t)stet_dtype_size(t->device, pixels->dtype) * sti_buffer_channels(r->buffer);
    return sti_tile_view(pixels, t->layout[r->buffer].part[r->ask.camera].origin * pixel, r->name, r->ask.dtype, 4,
                         r->shape, &p->tensor[k]);
}

static stet_result create_place(stet_tiles *t, sti_tile_place *p)
{
    size_t tensors = (size_t)t->nrequest * sizeof(stet_array *);
    int64_t nrow = 0;
    for (int k = 0; k < t->nrequest; ++k) nrow += t->request[k].planar ? t->request[k].ask.channels : 1;
    p->frame = -1;
    STI_TRY(t->foreign ? sti_extractor_create_foreign(t->device, t->nworld, t->nrequest, &p->extractor)
                       : sti_extractor_create(t->device, t->nworld, t->nrequest, nrow, &p->extractor));
    STI_TRY(sti_generations_init(&p->serial, t->nworld, "serials of pixels"));
    STI_TRY(sti_alloc(&p->tensor, tensors, "tensors"));
    STI_TRY(sti_alloc(&p->copy, tensors, "tensors"));
    STI_TRY(create_pixels(t, p));
    if (t->painter.make_standing) STI_TRY(t->painter.make_standing(t->painter.context, &p->standing));
    for (int k = 0; k < t->nrequest; ++k) STI_TRY(create_tensor(t, p, k));
    return STET_OK;
}

static void destroy_place(stet_tiles *t, sti_tile_place *p)
{
    for (int k = 0; k < t->nrequest; ++k) {
        if (p->tensor) stet_array_destroy(p->tensor[k]);
        if (p->copy) stet_array_destroy(p->copy[k]);
    }
    for (int b = 0; b < STI_BUFFER_COUNT; ++b) stet_array_destroy(p->pixels[b]);
    sti_extractor_destroy(&p->extractor);
    sti_standing_free(&p->standing);
    sti_generations_free(&p->serial);
    sti_free(p->tensor);
    sti_free(p->copy);
    sti_stamp_free(&p->extracted);
}

stet_result sti_place_copy(stet_tiles *t, sti_tile_place *p, int k, stet_array **out)
{
    assert(t->request[k].direct);
    const sti_request *r = &t->request[k];
    if (!p->copy[k]) STI_TRY(new_tensor(t, r, &p->copy[k]));
    *out = p->copy[k];
    return STET_OK;
}

stet_result sti_place_prepare(stet_tiles *t, sti_tile_place *p)
{
    stet_array *copy;
    if (sti_enabled(&t->device->mechanisms, STET_MECHANISM_TILES)) return STET_OK;
    for (int k = 0; k < t->nrequest; ++k)
        if (t->request[k].direct) STI_TRY(sti_place_copy(t, p, k, &copy));
    return STET_OK;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

stet_result sti_tiles_begin(stet_tiles *t, const stet_camera *cameras, int ncamera, int nrequest, int depth)
{
    assert(ncamera >= 1 && nrequest >= 1 && depth >= 1 && !t->size);
    t->ncamera = ncamera;
    t->nrequest = nrequest;
    t->depth = depth;
    t->nplace = depth + 1;
    t->newest = -1;
    STI_TRY(sti_alloc(&t->size, (size_t)ncamera * sizeof *t->size, "sizes of cameras"));
    for (int c = 0; c < ncamera; ++c) t->size[c] = (sti_tile_size){cameras[c].width, cameras[c].height};
    return sti_alloc(&t->request, (size_t)nrequest * sizeof *t->request, "requests");
}

static stet_result create_scratch(stet_tiles *t)
{
    size_t n = (size_t)t->nworld;
    STI_TRY(sti_generations_init(&t->painted, t->nworld, "serials of worlds"));
    STI_TRY(sti_generations_init(&t->drawn, t->nworld, "what worlds were drawn from"));
    STI_TRY(sti_alloc(&t->list, n * sizeof *t->list, "worlds to render"));
    STI_TRY(sti_alloc(&t->carry, n * sizeof *t->carry, "worlds to carry over"));
    STI_TRY(sti_alloc(&t->copies, (size_t)t->nrequest * sizeof *t->copies, "copies of tiles"));
    return sti_alloc(&t->spans, ((size_t)t->nrequest + STI_BUFFER_COUNT) * sizeof *t->spans, "outputs of tiles");
}

stet_result sti_tiles_make_places(stet_tiles *t)
{
    STI_TRY(create_scratch(t));
    STI_TRY(STI_ARRAY(t->device, "sizes of cameras", STET_DTYPE_INT, false, &t->sizes, t->ncamera, 2));
    STI_TRY(stet_array_write(t->sizes, t->size, (size_t)t->ncamera * sizeof *t->size));
    STI_TRY(sti_alloc(&t->place, (size_t)t->nplace * sizeof *t->place, "places of frames"));
    for (int i = 0; i < t->nplace; ++i) STI_TRY(create_place(t, &t->place[i]));
    return STET_OK;
}

static stet_result build(stet_tiles *t, const stet_tiles_def *def)
{
    STI_TRY(sti_tiles_begin(t, def->cameras, def->ncamera, def->nrequest, def->frames_in_flight));
    for (int k = 0; k < t->nrequest; ++k) STI_TRY(sti_request_resolve(def, k, t->nworld, t->device, &t->request[k]));
    STI_TRY(plan(t));
    STI_TRY(sti_tile_table_create(t->device, t->layout, t->used, &t->table));
    return sti_tiles_make_places(t);
}

stet_result sti_tiles_create_with(const sti_painter *painter, const stet_tiles_def *def, stet_tiles **out)
{
    assert(painter->device && painter->nworld > 0 && painter->update && painter->paint);
    assert(!painter->make_standing == !painter->carry && "both, or no patches stand");
    *out = NULL;
    STI_TRY(sti_tiles_check(def, painter->device, painter->nworld));
    stet_tiles *t;
    STI_TRY(sti_alloc(&t, sizeof *t, "tiles"));
    t->device = painter->device;
    t->nworld = painter->nworld;
    t->painter = *painter;
    stet_result result = build(t, def);
    if (result != STET_OK) {
        t->painter.destroy = NULL; /* it is the caller's */
        stet_tiles_destroy(t);
        return result;
    }
    sti_validate_tiles(t);
    *out = t;
    return STET_OK;
}

void stet_tiles_destroy(stet_tiles *t)
{
    if (!t) return;
    for (int i = 0; t->place && i < t->nplace; ++i) destroy_place(t, &t->place[i]);
    for (int b = 0; b < STI_BUFFER_COUNT; ++b) sti_free(t->layout[b].part);
    if (t->painter.destroy) t->painter.destroy(t->painter.context);
    sti_tile_table_destroy(&t->table);
    sti_foreign_destroy(t->foreign);
    stet_array_destroy(t->sizes);
    sti_stamp_free(&t->frame_kept);
    sti_stamp_free(&t->frame_now);
    sti_stamp_free(&t->take_now);
    sti_stamp_free(&t->whole);
    sti_stamp_free(&t->asked);
    sti_stamp_free(&t->scene_now);
    sti_free(t->size);
    sti_free(t->request);
    sti_free(t->place);
    sti_generations_free(&t->painted);
    sti_generations_free(&t->drawn);
    sti_free(t->list);
    sti_free(t->carry);
    sti_free(t->copies);
    sti_free(t->spans);
    sti_free(t);
}

#ifndef NDEBUG

static void validate_place(const stet_tiles *t, const sti_tile_place *p)
{
    int64_t own = p - t->place;
    assert(p->frame >= -1 && p->frame <= t->newest && "a frame that was drawn");
    assert((p->frame < 0 || p->frame % t->nplace == own) && "frame g is in place g mod (K + 1)");
    assert((p->frame < 0 || p->frame > t->newest - t->nplace) && "older frames were drawn over");
    assert((p->frame < 0 || !p->unknown) && "TILES-1: a frame in a place has all its pixels");
    assert(p->serial.n == t->nworld && p->serial.latest <= t->serial && p->taken <= t->serial && "TILES-1");
    for (int b = 0; b < STI_BUFFER_COUNT; ++b) assert((p->pixels[b] != NULL) == (t->used[b] && !t->foreign));
    for (int k = 0; k < t->nrequest; ++k) assert((p->tensor[k] == NULL) == (t->request[k].ask.bound != NULL));
}

static void validate_request(const stet_tiles *t, const sti_request *r)
{
    assert(r->ask.camera >= 0 && r->ask.camera < t->ncamera && r->ask.channels >= 1);
    assert(r->frame >= -1 && r->frame <= t->newest && r->held <= t->serial && "TILES-3");
    assert((!r->direct || !r->ask.bound) && "what is bound is not direct");
    assert((!r->planar || !r->direct || t->foreign) && "TABLE-3");
    assert(r->shape[0] == t->nworld && r->world_bytes > 0);
}

void sti_validate_tiles(const stet_tiles *t)
{
    assert(t->depth >= 1 && t->nplace == t->depth + 1 && t->newest >= -1);
    assert((t->foreign == NULL) == (t->painter.paint != NULL) && "TILES-6");
    assert(t->painted.n == t->nworld && t->painted.latest <= t->serial && t->drawn.n == t->nworld);
    for (int i = 0; i < t->nplace; ++i) validate_place(t, &t->place[i]);
    for (int k = 0; k < t->nrequest; ++k) validate_request(t, &t->request[k]);
    sti_validate_generations(&t->painted);
    sti_validate_generations(&t->drawn);
}

#endif
