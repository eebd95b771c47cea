/*
 * Frames: rendering what moved, reading, finding stale worlds. See tiles.h for TILES-1 to TILES-4.
 *
 * Worlds that did not move keep their pixels, which are copied from the last frame unless the new frame's place has
 * them already.
 */
#include "tiles/tiles.h"

#include "device/host_mirror.h"

#include <assert.h>
#include <string.h>

/* ---- what moved -------------------------------------------------------------------------------------------------- */

static void stamp_scene(const sti_scene *scene, const sti_version *versions, int n, sti_stamp *s)
{
    sti_stamp_begin(s);
    sti_stamp_add(s, &scene->appearance);
    sti_stamp_add(s, &scene->connectivity);
    for (int i = 0; i < n; ++i) sti_stamp_add(s, versions + i);
}

static bool is_same(const sti_version *a, const sti_version *b)
{
    return a->id == b->id && a->generation == b->generation;
}

/* Brings the scene up to date. If it looks otherwise than it was drawn, no world's pixels are valid (TILES-4). */
static stet_result update_scene(stet_tiles *t, sti_scene *scene)
{
    STI_TRY(t->painter.update(t->painter.context, scene));
    if (is_same(&t->look[0], &scene->appearance) && is_same(&t->look[1], &scene->connectivity)) return STET_OK;
    t->look[0] = scene->appearance;
    t->look[1] = scene->connectivity;
    sti_generations_put_all(&t->drawn, 0);
    return STET_OK;
}

static bool is_stale(const stet_tiles *t, const sti_scene *scene, int64_t w)
{
    assert(w >= 0 && w < t->nworld && scene->changed->n == t->nworld);
    return sti_generation_of(scene->changed, w) > sti_generation_of(&t->drawn, w);
}

/*
 * Chooses the wanted worlds that moved, or with `all` all wanted worlds. *moved: a wanted world did; *left: one that
 * is not wanted did.
 */
static void choose(stet_tiles *t, const sti_scene *scene, bool all, bool *moved, bool *left)
{
    *moved = *left = false;
    t->nlist = 0;
    if (!t->wanted && !scene->changed->apart && !t->drawn.apart) { /* what is true of one is true of all */
        *moved = is_stale(t, scene, 0);
        t->nlist = all || *moved ? (int)t->nworld : 0;
    }
    for (int64_t w = 0; (t->wanted || scene->changed->apart || t->drawn.apart) && w < t->nworld; ++w) {
        bool wanted = !t->wanted || t->wanted[w], stale = is_stale(t, scene, w);
        *moved = *moved || (wanted && stale);
        *left = *left || (!wanted && stale);
        if (wanted && (all || stale)) t->list[t->nlist++] = (int)w;
    }
    t->chosen = t->nlist == t->nworld ? NULL : t->list;
    assert(t->nlist >= 0 && t->nlist <= t->nworld && (!*moved || t->nlist > 0) && "what moved is drawn");
}

/* The stamp of a frame: the serial of the latest rendering that its wanted worlds need. */
static void stamp_frame(stet_tiles *t, bool moved)
{
    sti_stamp_begin(&t->frame_now);
    sti_stamp_add_value(&t->frame_now, t->serial + moved);
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

void sti_place_mark_direct(stet_tiles *t, sti_tile_place *p)
{
    assert(p >= t->place && p < t->place + t->nplace);
    for (int k = 0; k < t->nrequest; ++k)
        if (t->request[k].direct) stet_array_mark_written(p->tensor[k]);
}

/* Renders the first n buffers of the chosen worlds into a place; without `standing` all their patches. */
static stet_result paint(stet_tiles *t, sti_tile_place *p, sti_standing *standing, int n)
{
    sti_render_target target = {.first = t->table.first, .pitch = t->table.pitch, .standing = standing};
    if (t->nlist == 0) return STET_OK;
    for (int b = 0; b < n; ++b) {
        target.pixels[b] = p->pixels[b];
        target.row[b] = t->table.row[b];
    }
    STI_TRY(t->painter.paint(t->painter.context, t->chosen, t->nlist, &target));
    sti_place_mark_direct(t, p);
    return STET_OK;
}

/* Copies the pixels of all other worlds from the newest frame, unless this place has them. */
static stet_result carry(stet_tiles *t, sti_tile_place *p)
{
    assert(t->newest >= 0 && p != sti_place_of(t, t->newest) && "carried from another place");
    sti_tile_place *from = sti_place_of(t, t->newest);
    sti_tile_source source = {&t->table, t->ncamera, from->pixels};
    int n = 0;
    for (int64_t w = 0, k = 0; t->chosen && w < t->nworld; ++w) {
        bool painted = k < t->nlist && t->chosen[k] == w;
        bool same = !p->unknown && sti_generation_of(&p->serial, w) == sti_generation_of(&t->painted, w);
        k += painted;
        if (!painted && !same) t->carry[n++] = (int)w;
    }
    for (int b = 0; b < STI_BUFFER_COUNT; ++b)
        if (t->used[b])
            STI_TRY(sti_carry(&p->extractor, &source, (sti_picture_buffer)b, p->pixels[b], t->sizes, t->carry, n));
    if (n) sti_place_mark_direct(t, p);
    return t->painter.carry ? t->painter.carry(t->painter.context, &from->standing, &p->standing, t->carry, n)
                            : STET_OK;
}

/*
 * After a failure the content of a place is unknown. Before the first frame there is nothing to copy from, so it is
 * zeroed.
 */
static void abandon(sti_tile_place *p)
{
    p->unknown = true;
    p->standing.stale = true;
    p->frame = -1;
}

static stet_result clear_abandoned(stet_tiles *t, sti_tile_place *p)
{
    void *zero;
    if (t->newest >= 0 || !p->unknown) return STET_OK;
    for (int b = 0; b < STI_BUFFER_COUNT; ++b) {
        if (!t->used[b]) continue;
        STI_TRY(sti_alloc(&zero, stet_array_get_bytes(p->pixels[b]), "an empty frame"));
        stet_result result = stet_array_write(p->pixels[b], zero, stet_array_get_bytes(p->pixels[b]));
        sti_free(zero);
        STI_TRY(result);
    }
    return STET_OK;
}

/* Whether someone may have written the place's pixels, through a tensor that is a view of them. */
static bool may_be_written(stet_tiles *t, sti_tile_place *p)
{
    bool written = false;
    for (int k = 0; k < t->nrequest; ++k) {
        stet_array *tensor = t->request[k].direct ? p->tensor[k] : NULL;
        if (!tensor) continue;
        written = sti_array_poll_external_writes(tensor) || written;
    }
    return written;
}

/* Renders the chosen worlds into a place, but for their patches that stand. */
static stet_result paint_what_moved(stet_tiles *t, sti_tile_place *p)
{
    sti_mechanisms *m = &t->device->mechanisms;
    stet_reason why = STET_REASON_NONE;
    if (!t->painter.make_standing || t->nlist == 0) return paint(t, p, NULL, STI_BUFFER_COUNT);
    if (!sti_enabled(m, STET_MECHANISM_PATCHES))
        why = STET_REASON_PATCHES_DISABLED;
    else if (may_be_written(t, p))
        why = STET_REASON_PATCHES_EXPORTED;
    else if (p->standing.stale)
        why = STET_REASON_PATCHES_FIRST;
    p->standing.stale = why != STET_REASON_NONE;
    if (why == STET_REASON_NONE)
        sti_count_hit(m, STET_MECHANISM_PATCHES, 0, 0);
    else
        sti_count_miss(m, STET_MECHANISM_PATCHES, why, 0, t->nlist * t->world_bytes);
    return paint(t, p, why == STET_REASON_PATCHES_DISABLED ? NULL : &p->standing, STI_BUFFER_COUNT);
}

static stet_result fill_place(stet_tiles *t, sti_tile_place *p)
{
    STI_TRY(clear_abandoned(t, p));
    if (t->newest >= 0) STI_TRY(carry(t, p));
    return paint_what_moved(t, p);
}

/* TILES-2: if too many frames would be in flight, extracts the oldest one now, unless it was read. */
static stet_result make_room_tiles(stet_tiles *t, int64_t frame)
{
    assert(frame == t->newest + 1);
    sti_tile_place *oldest = sti_place_of(t, frame - t->depth + t->nplace);
    if (oldest->frame != frame - t->depth || oldest->frame < 0 || oldest->extracted.valid) return STET_OK;
    return sti_tiles_extract_frame(t, oldest, STET_REASON_DEFERRED_TILES_RING_FULL);
}

/* The chosen worlds were rendered, and the wanted ones are as the scene is. */
static void mark_drawn(stet_tiles *t)
{
    if (t->nlist > 0) t->serial++;
    assert(t->serial > 0 || t->nlist == 0);
    if (!t->chosen) sti_generations_put_all(&t->painted, t->serial);
    for (int i = 0; t->chosen && i < t->nlist; ++i) sti_generations_put(&t->painted, t->chosen[i], t->serial);
    (void)sti_generations_put_some(&t->drawn, t->wanted, t->generation);
}

static stet_result draw(void *context)
{
    stet_tiles *t = context;
    int64_t frame = t->newest + 1;
    sti_tile_place *p = sti_place_of(t, frame);
    STI_TRY(make_room_tiles(t, frame));
    STI_TRY(sti_place_prepare(t, p));
    p->frame = -1;
    sti_stamp_invalidate(&p->extracted);
    stet_result result = fill_place(t, p);
    if (result != STET_OK) {
        abandon(p);
        return result;
    }
    mark_drawn(t);
    sti_generations_copy(&p->serial, &t->painted);
    p->unknown = false;
    p->frame = t->newest = frame;
    sti_validate_tiles(t);
    return STET_OK;
}

/* ---- audits ------------------------------------------------------------------------------------------------------ */

static stet_result paint_again(void *context)
{
    stet_tiles *t = context;
    return paint(t, sti_place_of(t, t->newest), NULL, STI_BUFFER_COUNT);
}

/* Chooses the wanted worlds whose pixels were reused: all that were not painted for this frame (`serial` or later). */
static void list_standing(stet_tiles *t, uint64_t serial)
{
    assert(t->newest >= 0);
    const sti_tile_place *p = sti_place_of(t, t->newest);
    t->nlist = 0;
    t->chosen = t->list;
    for (int64_t w = 0; w < t->nworld; ++w) {
        uint64_t own = sti_generation_of(&p->serial, w);
        if ((!t->wanted || t->wanted[w]) && own > 0 && own < serial) t->list[t->nlist++] = (int)w;
    }
}

/* Those of the first `most` buffers. */
static int list_pixels(stet_tiles *t, int most)
{
    assert(t->newest >= 0 && most >= 0 && most <= STI_BUFFER_COUNT);
    const sti_tile_place *p = sti_place_of(t, t->newest);
    int n = 0;
    for (int b = 0; b < most; ++b)
        if (t->used[b]) t->spans[n++] = sti_array_span(p->pixels[b]);
    return n;
}

/* Draws all patches of what was just drawn; not what is made from poses of then, which would be those of now. */
static stet_result paint_patches_again(void *context)
{
    stet_tiles *t = context;
    return paint(t, sti_place_of(t, t->newest), NULL, STI_BUFFER_CAST);
}

/* Audits the patches that stood in the chosen worlds, which were drawn. */
static stet_result audit_patches(stet_tiles *t)
{
    if (!t->device->mechanisms.options.audit || t->nlist == 0 || !t->painter.make_standing) return STET_OK;
    return sti_tiles_audit(STET_MECHANISM_PATCHES, "pixels of patches that stood", paint_patches_again, t, t->spans,
                           list_pixels(t, STI_BUFFER_CAST));
}

/* Audits the worlds that were reused in a frame in which others moved. */
static stet_result audit_standing(stet_tiles *t, uint64_t before)
{
    if (!t->device->mechanisms.options.audit || t->serial == before) return STET_OK;
    list_standing(t, t->serial);
    return sti_tiles_audit(STET_MECHANISM_FRAME, "pixels of worlds that did not move", paint_again, t, t->spans,
                           list_pixels(t, STI_BUFFER_COUNT));
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

static int64_t count_wanted(const stet_tiles *t)
{
    int64_t n = 0;
    if (!t->wanted) return t->nworld;
    for (int64_t w = 0; w < t->nworld; ++w) n += t->wanted[w] != 0;
    return n;
}

/* The newest frame is valid: the kept stamp equals the present one. */
static stet_result stand(stet_tiles *t, sti_stamp *kept, const sti_stamp *now)
{
    sti_mechanisms *m = &t->device->mechanisms;
    int64_t n = count_wanted(t);
    sti_work work = {.mechanism = STET_MECHANISM_FRAME,
                     .what = "pixels of a frame",
                     .kept = kept,
                     .now = now,
                     .make = paint_again,
                     .context = t,
                     .outputs = t->spans,
                     .launches = n > 0,
                     .bytes = n * t->world_bytes};
    if (m->options.audit) {
        list_standing(t, UINT64_MAX);
        work.noutput = list_pixels(t, STI_BUFFER_COUNT);
    }
    stet_result result = sti_let_stand(m, &work);
    if (result == STET_OK) return STET_OK;
    sti_stamp_invalidate(&t->frame_kept);
    sti_stamp_invalidate(&t->whole);
    return result;
}

/* Starts a new frame and draws the chosen worlds into it. */
static stet_result draw_frame(stet_tiles *t)
{
    uint64_t before = t->serial;
    sti_work work = {.mechanism = STET_MECHANISM_FRAME,
                     .why = t->newest < 0 ? STET_REASON_FRAME_FIRST : STET_REASON_FRAME_MOVED,
                     .what = "pixels of a frame",
                     .kept = &t->frame_kept,
                     .now = &t->frame_now,
                     .make = draw,
                     .context = t,
                     .launches = t->nlist > 0,
                     .bytes = t->nlist * t->world_bytes};
    sti_stamp_invalidate(&t->whole);
    STI_TRY(sti_let_stand(&t->device->mechanisms, &work));
    STI_TRY(audit_patches(t));
    return audit_standing(t, before);
}

/* Draws a frame unless the newest one is valid: compares the scene as a whole (TILES-5), then world by world. */
static stet_result draw_what_moved(stet_tiles *t)
{
    bool moved, left, enabled = sti_enabled(&t->device->mechanisms, STET_MECHANISM_FRAME);
    sti_scene scene;
    STI_TRY(update_scene(t, &scene));
    stamp_scene(&scene, scene.moves, scene.nmove, &t->scene_now);
    if (t->follows && t->newest >= 0 && sti_stamp_equal(&t->asked, &t->scene_now)) return STET_OK;
    t->asks = count_wanted(t) == t->nworld;
    if (t->asks) sti_stamp_keep(&t->asked, &t->scene_now);
    stamp_scene(&scene, &scene.changes, 1, &t->scene_now);
    if (enabled && sti_stamp_equal(&t->whole, &t->scene_now)) return stand(t, &t->whole, &t->scene_now);
    t->generation = scene.changes.generation;
    choose(t, &scene, !enabled, &moved, &left);
    stamp_frame(t, moved);
    bool stands = enabled && sti_stamp_equal(&t->frame_kept, &t->frame_now);
    STI_TRY(stands ? stand(t, &t->frame_kept, &t->frame_now) : draw_frame(t));
    if (!left) sti_stamp_keep(&t->whole, &t->scene_now);
    return STET_OK;
}

stet_result sti_tiles_extract_at_once(stet_tiles *t)
{
    assert(t->newest >= 0);
    if (sti_enabled(&t->device->mechanisms, STET_MECHANISM_DEFERRED_TILES)) return STET_OK;
    return sti_tiles_extract_frame(t, sti_place_of(t, t->newest), STET_REASON_DEFERRED_TILES_FIRST_READ);
}

/* follows: not if nothing moved since the latest call for all worlds. */
static stet_result render(stet_tiles *t, const uint8_t *mask, bool follows, int64_t *frame)
{
    assert(!t->foreign && "TILES-6: nobody paints the frames of another renderer");
    t->wanted = mask;
    t->follows = follows;
    t->asks = false;
    int64_t before = t->newest;
    stet_result result = draw_what_moved(t);
    if (t->asks && t->newest == before && result != STET_OK) sti_stamp_invalidate(&t->asked); /* nothing was drawn */
    if (frame && (result == STET_OK || t->newest != before))
        *frame = t->newest; /* there is a frame, also if its audit fails, or its tensors are made later only */
    STI_TRY(result);
    return sti_tiles_extract_at_once(t);
}

stet_result stet_tiles_render(stet_tiles *t, const uint8_t *mask, int64_t *frame)
{
    if (!t) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_tiles_render: tiles must not be NULL");
    if (t->foreign)
        return sti_error(STET_ERROR_STATE,
                         "stet_tiles_render: these tiles take frames of another renderer; use stet_tiles_accept");
    STI_TRY(sti_not_listing(t->device, "stet_tiles_render"));
    return render(t, mask, false, frame);
}

stet_result sti_tiles_follow(stet_tiles *t, int64_t *frame) { return render(t, NULL, true, frame); }

static stet_result find_frame(stet_tiles *t, int64_t frame, sti_tile_place **out)
{
    if (t->newest < 0)
        return sti_error(STET_ERROR_NOT_FOUND, "tiles: nothing was rendered yet; render first (stet_tiles_render)");
    if (frame == -1) frame = t->newest;
    if (frame < 0 || frame > t->newest)
        return sti_error(STET_ERROR_NOT_FOUND, "tiles: there is no frame %lld; the newest is %lld", (long long)frame,
                         (long long)t->newest);
    *out = sti_place_of(t, frame);
    if ((*out)->frame != frame && t->foreign && frame > t->newest - t->depth)
        return sti_error(STET_ERROR_NOT_FOUND,
                         "tiles: frame %lld was not read before frame %lld was accepted, whose pictures replaced it; "
                         "read each frame before the next is accepted",
                         (long long)frame, (long long)frame + 1);
    if ((*out)->frame != frame)
        return sti_error(
            STET_ERROR_NOT_FOUND,
            "tiles: frame %lld is no longer kept; read it before %d more are rendered, or keep more in flight",
            (long long)frame, t->depth);
    return STET_OK;
}

stet_result stet_tiles_get_array(stet_tiles *t, int64_t frame, int request, stet_array **out)
{
    sti_tile_place *p = NULL;
    if (!t || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_tiles_get_array: tiles and out must not be NULL");
    *out = NULL;
    if (request < 0 || request >= t->nrequest)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tiles: there is no request %d; there are %d", request,
                         t->nrequest);
    STI_TRY(sti_not_listing(t->device, "stet_tiles_get_array"));
    STI_TRY(find_frame(t, frame, &p));
    const sti_request *r = &t->request[request];
    if (r->ask.bound && r->frame > p->frame)
        return sti_error(
            STET_ERROR_STATE,
            "tiles: array %s, bound to request %d, holds frame %lld already and never goes back to frame %lld; "
            "read frames in order",
            r->ask.bound->name, request, (long long)r->frame, (long long)p->frame);
    bool gone = t->foreign && p->frame != t->newest; /* TILES-6 */
    if (gone && r->direct)
        return sti_error(STET_ERROR_NOT_FOUND,
                         "tiles: request %d shows picture %s itself, which holds frame %lld, not %lld any more",
                         request, r->name, (long long)t->newest, (long long)p->frame);
    sti_validate_tiles(t);
    if (!gone) STI_TRY(sti_tiles_extract_frame(t, p, STET_REASON_DEFERRED_TILES_FIRST_READ));
    bool enabled = sti_enabled(&t->device->mechanisms, STET_MECHANISM_TILES);
    *out = r->ask.bound ? r->ask.bound : r->direct && !enabled ? p->copy[request] : p->tensor[request];
    assert(*out && (int64_t)(*out)->size == t->nworld * r->world_bytes);
    return STET_OK;
}

bool stet_tiles_is_stale(stet_tiles *t, int64_t world)
{
    sti_scene scene;
    if (!t || world < 0 || world >= t->nworld || t->newest < 0) return true;
    if (t->foreign) return sti_generation_of(&t->painted, world) == 0;
    /* If the update fails, the frame counts as stale. */
    return update_scene(t, &scene) != STET_OK || is_stale(t, &scene, world);
}
