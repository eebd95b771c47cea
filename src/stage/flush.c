/* Flushes: bring the stage's transforms up to date; see flush.h for the invariants. */
#include "stage/flush.h"

#include "device/host_mirror.h"
#include "kernel/record/launch.h"
#include "kernel/record/record.h"

#include <assert.h>
#include <string.h>

extern const sti_kernel sti_k_inverse, sti_k_tendons;

/* One flush, of world or of local transforms. */
typedef struct flush {
    stet_stage *stage;
    /* the mechanism is off, or this is an audit: compute everything, although some or all of it is valid */
    bool again;
    sti_work work;
} flush;

/* ---- dirty marks ------------------------------------------------------------------------------------------------- */

static void stamp_own(const stet_stage *stage, sti_stamp *now)
{
    sti_stamp_begin(now);
    sti_stamp_add(now, &stage->local->version);
    sti_stamp_add(now, &stage->world->version);
}

/* FLUSH-3. */
void sti_stage_before_write(stet_stage *stage)
{
    sti_stamp now = {0};
    stamp_own(stage, &now);
    if (sti_stamp_equal(&stage->own, &now)) return;
    sti_stamp_keep(&stage->own, &now);
    stage->due_all = true;
    sti_version_bump(&stage->values);
    sti_version_bump(&stage->foreign);
}

void sti_stage_after_write(stet_stage *stage)
{
    sti_stamp now = {0};
    stamp_own(stage, &now);
    sti_stamp_keep(&stage->own, &now);
}

static void mark_written(stet_stage *stage, int64_t first, int64_t n)
{
    assert(first >= 0 && n > 0 && first + n <= stage->worlds->nworld);
    sti_version_bump(&stage->values);
    if (n == stage->worlds->nworld) sti_generations_put_all(&stage->written, stage->values.generation);
    for (int64_t w = first; n < stage->worlds->nworld && w < first + n; ++w)
        sti_generations_put(&stage->written, w, stage->values.generation);
}

void sti_stage_due(stet_stage *stage, int prim, int64_t first, int64_t n)
{
    assert(sti_tree_has(&stage->tree, prim));
    stage->due_prim[prim] = 1;
    mark_written(stage, first, n);
}

void sti_stage_due_connectivity(stet_stage *stage) { stage->due_why = STET_REASON_HIERARCHY_CONNECTIVITY; }

/* Clears the dirty marks; called after the world transforms were computed (FLUSH-2). */
static void forget_due(stet_stage *stage)
{
    stage->due_all = false;
    stage->due_why = STET_REASON_NONE;
    memset(stage->due_prim, 0, (size_t)stage->tree.capacity);
    stage->flushed = stage->values.generation;
    stage->flushed_moved = stage->worlds->poses.stamps.version.generation;
    stage->decor.seen = stage->worlds->quantities.stamps.version.generation;
    sti_validate_stage(stage);
}

/* ---- world transforms -------------------------------------------------------------------------------------------- */

/*
 * Gives the worlds whose inputs moved a new generation (FLUSH-4); *poses: some world's bodies moved. Returns how many
 * worlds to visit: all, none, or those in `visit`.
 */
static int64_t find_worlds(stet_stage *stage, bool all, bool *poses)
{
    const stet_worlds *worlds = stage->worlds;
    uint64_t before = stage->changes.generation;
    *poses =
        sti_generations_bump_since(&stage->changed, &stage->changes, &worlds->poses.stamps.moved, stage->flushed_moved);
    (void)sti_generations_bump_since(&stage->changed, &stage->changes, &stage->written, stage->flushed);
    if (stage->decor.reads)
        (void)sti_generations_bump_since(&stage->changed, &stage->changes, &worlds->quantities.stamps.changed,
                                         stage->decor.seen);
    if (stage->due_all) (void)sti_generations_bump(&stage->changed, &stage->changes, NULL);
    return all ? worlds->nworld : sti_generations_since(&stage->changed, before, stage->visit);
}

/* The worlds that the next launches visit: n of them, in `visit` unless they are all. */
static stet_result put_stale(stet_stage *stage, int64_t n)
{
    assert(n > 0 && n <= stage->worlds->nworld);
    return sti_mask_put(&stage->stale, n == stage->worlds->nworld ? NULL : stage->visit);
}

/* Transforms of bodies (the first nbody in the schedule's list), of prims that follow bodies, and of the selected. */
static sti_transforms list_transforms(stet_stage *s, bool poses, int nbody, const sti_selection *x)
{
    return (sti_transforms){
        .device = s->device,
        .nworld = s->worlds->nworld,
        .array = {[STI_TRANSFORMS_STALE] = s->stale.array,
                  [STI_TRANSFORMS_XPOS] = s->worlds->state.field[STI_FIELD_xpos],
                  [STI_TRANSFORMS_XQUAT] = s->worlds->state.field[STI_FIELD_xquat],
                  [STI_TRANSFORMS_LOCAL] = s->local,
                  [STI_TRANSFORMS_WORLD] = s->world,
                  [STI_TRANSFORMS_BODY] = s->schedule.body,
                  [STI_TRANSFORMS_PARENT] = s->schedule.parent,
                  [STI_TRANSFORMS_PRIM] = x->prim,
                  [STI_TRANSFORMS_LEVEL] = x->level,
                  [STI_TRANSFORMS_ENTRY] = s->track.entry,
                  [STI_TRANSFORMS_FRAME] = s->track.frame,
                  [STI_TRANSFORMS_FOLLOWED] = s->track.body,
                  [STI_TRANSFORMS_PART] = s->track.part},
        .nbody = poses ? nbody : 0,
        .ntrack = poses ? s->track.n : 0,
        .nprim = x->nprim,
        .nlevel = x->nlevel,
    };
}

/* Pieces of tendons, between sites and around geoms, whose transforms are up to date. */
static stet_result make_tendons(flush *f)
{
    stet_stage *s = f->stage;
    if (s->tendons.nlink == 0) return STET_OK;
    f->work.launches++;
    return STI_LAUNCH(sti_k_tendons, s->device, s->worlds->nworld, sti_arg_array(s->stale.array),
                      sti_arg_array(s->world), sti_arg_array(s->tendons.link), sti_arg_array(s->tendons.look),
                      sti_arg_array(s->tendons.radius), sti_arg_int(s->tendons.nlink));
}

static void count_cost(flush *f, int64_t nworld, int64_t nprim)
{
    f->work.bytes = nworld * nprim * 12 * (int64_t)f->stage->device->real_size;
}

/* Parts of decorations, after all that they are at. */
static stet_result make_decor(flush *f)
{
    int64_t launches = 0;
    stet_result result = sti_decor_run(f->stage, &launches);
    f->work.launches += launches;
    return result;
}

/* Without the mechanism a GPU's transforms are computed on the host, except for a graph that is being captured. */
static bool on_host(stet_device *device)
{
    return device->can.own_memory && !sti_enabled(&device->mechanisms, STET_MECHANISM_HIERARCHY) &&
           sti_device_capture(device) == 0;
}

/* Issues the launches of a flush as one list. A selection of prims that is used again is replayed as a recording. */
static stet_result launch_world(flush *f, const sti_transforms *transforms)
{
    stet_device *device = f->stage->device;
    bool host = on_host(device);
    if (host) STI_TRY(sti_transforms_on_host(transforms, &f->stage->host, &f->work.launches));
    STI_TRY(sti_record_begin(device, "world transforms"));
    stet_result result = host ? STET_OK : sti_transforms_launch(transforms, &f->work.launches);
    if (result == STET_OK) result = make_tendons(f);
    if (result == STET_OK) result = make_decor(f);
    return sti_record_end(device, result);
}

/* With an empty selection of worlds or prims nothing is launched, and the miss still counts. */
static stet_result make_world(void *context)
{
    flush *f = context;
    stet_stage *s = f->stage;
    sti_schedule *h = &s->schedule;
    bool poses, all = f->again || s->due_all;
    int64_t nworld = find_worlds(s, all, &poses);
    int built = 0, nbody = all ? h->nbody : poses ? h->nbody_moving : 0;
    const sti_selection *x = &h->all;
    f->work.launches = f->work.bytes = 0;
    if (nworld > 0) {
        if (!all) STI_TRY(sti_schedule_select(h, &s->tree, s->due_prim, poses, &x, &built));
        s->device->mechanisms.counters.schedules_built += built;
        STI_TRY(put_stale(s, nworld));
        const sti_transforms transforms = list_transforms(s, all || poses, nbody, x);
        STI_TRY(launch_world(f, &transforms));
        count_cost(f, nworld, x->nprim + nbody + (all || poses ? s->track.n : 0) + s->tendons.npiece + s->decor.npart);
        s->cost_launches = f->work.launches;
        s->cost_bytes = f->work.bytes;
    }
    forget_due(s);
    return STET_OK;
}

/* Skips or computes the transforms. With the mechanism off, or in an audit, all of them are computed again. */
static stet_result flush_if_stale(flush *f, stet_result (*make)(void *context), stet_array *output)
{
    stet_stage *s = f->stage;
    sti_mechanisms *m = &s->device->mechanisms;
    sti_span span = sti_array_span(output);
    assert(!s->flushing && "a flush runs no other");
    f->again = !sti_enabled(m, STET_MECHANISM_HIERARCHY) || sti_stamp_equal(f->work.kept, f->work.now);
    f->work.mechanism = STET_MECHANISM_HIERARCHY;
    f->work.make = make;
    f->work.context = f;
    f->work.outputs = &span;
    f->work.noutput = 1;
    stet_array *xpos = s->worlds->state.field[STI_FIELD_xpos], *xquat = s->worlds->state.field[STI_FIELD_xquat];
    /* Poses are up to date, and transforms are being computed: the launches must not call these producers. */
    bool world = s->world->producing, local = s->local->producing;
    s->flushing = xpos->producing = xquat->producing = s->world->producing = s->local->producing = true;
    stet_result result = sti_let_stand(m, &f->work);
    s->flushing = xpos->producing = xquat->producing = false;
    s->world->producing = world;
    s->local->producing = local;
    sti_stage_after_write(s);
    return result;
}

static stet_result update_schedule(stet_stage *stage)
{
    const stet_worlds *worlds = stage->worlds;
    int built = 0;
    bool was_free = stage->free_poses;
    /* Taking poses that the caller wrote moves their worlds (WORLDS-5). */
    if (!was_free && !sti_stamp_is(&stage->poses_seen, &worlds->state.stamps.version)) {
        stage->free_poses = sti_worlds_any_caller_posed(worlds);
        sti_stamp_keep_version(&stage->poses_seen, &worlds->state.stamps.version);
    }
    if (worlds->poses.external || sti_parameters_posed(&worlds->parameters)) stage->free_poses = true;
    if (was_free != stage->free_poses) {
        stage->due_all = true;
        stage->due_why = STET_REASON_HIERARCHY_CONNECTIVITY;
    }
    STI_TRY(sti_schedule_update(&stage->schedule, stage->device, &stage->tree, stage->free_poses, &built));
    stage->device->mechanisms.counters.schedules_built += built;
    return STET_OK;
}

static stet_reason why_world(const stet_stage *stage, bool force)
{
    if (stage->due_why != STET_REASON_NONE) return stage->due_why;
    return force ? STET_REASON_HIERARCHY_FORCED : STET_REASON_HIERARCHY_VALUES;
}

/* Geoms, cameras and lights whose places differ between worlds. */
static stet_result update_places(stet_stage *s)
{
    const uint64_t before = s->places.clock;
    if (!sti_places_due(&s->places, s->worlds)) return STET_OK;
    sti_stage_before_write(s);
    s->flushing = true; /* the launch must not call the producer of local transforms */
    stet_result result = sti_places_write(&s->places, &s->tree, s->worlds, s->local);
    s->flushing = false;
    sti_stage_after_write(s);
    for (int p = 0; p < s->tree.nmodel; ++p)
        if (sti_places_have(&s->places, &s->tree.prim[p])) s->due_prim[p] = 1;
    (void)sti_generations_bump_since(&s->written, &s->values, &s->worlds->parameters.place_changed, before);
    return result;
}

/* Tendons around geoms whose sizes differ between worlds. */
static stet_result update_tendons(stet_stage *s)
{
    const uint64_t before = s->tendons.clock;
    bool changed;
    STI_TRY(sti_tendons_update(&s->tendons, s->worlds, &changed));
    if (changed) (void)sti_generations_bump_since(&s->written, &s->values, &s->worlds->parameters.look_changed, before);
    return STET_OK;
}

/* Decorations of worlds whose masses or inertias have changed: all worlds are due. */
static stet_result update_decor(stet_stage *s)
{
    if (!sti_decor_due(s)) return STET_OK;
    STI_TRY(sti_decor_update(s));
    mark_written(s, 0, s->worlds->nworld);
    return STET_OK;
}

stet_result sti_stage_flush(stet_stage *stage, bool force)
{
    if (stage->flushing) return STET_OK;
    sti_validate_stage(stage);
    STI_TRY(update_places(stage));
    STI_TRY(update_tendons(stage));
    STI_TRY(update_decor(stage));
    STI_TRY(sti_array_ensure(stage->worlds->state.field[STI_FIELD_xpos])); /* the same pass computes xquat */
    STI_TRY(sti_decor_ensure(&stage->decor));
    STI_TRY(update_schedule(stage));
    sti_stage_before_write(stage);
    if (force) {
        stage->due_all = true;
        sti_version_bump(&stage->values);
    }
    sti_stamp now = {0};
    sti_stamp_begin(&now);
    sti_stamp_add(&now, &stage->tree.connectivity);
    sti_stamp_add(&now, &stage->worlds->poses.stamps.version);
    sti_stamp_add(&now, &stage->values);
    if (stage->decor.reads) sti_stamp_add(&now, &stage->worlds->quantities.stamps.version);
    sti_stamp_add_value(&now, stage->free_poses);
    sti_stamp_add_address(&now, stage->local->data);
    sti_stamp_add_address(&now, stage->world->data);
    flush f = {.stage = stage};
    f.work =
        (sti_work){.why = why_world(stage, force), .what = "world transforms", .kept = &stage->kept_world, .now = &now};
    f.work.launches = stage->cost_launches;
    f.work.bytes = stage->cost_bytes;
    return flush_if_stale(&f, make_world, stage->world);
}

stet_result sti_stage_produce_world(void *context) { return sti_stage_flush(context, false); }

/* ---- local transforms of rigid prims ----------------------------------------------------------------------------- */

static void stamp_base(const stet_stage *stage, sti_stamp *now)
{
    sti_stamp_begin(now);
    sti_stamp_add(now, &stage->tree.connectivity);
    sti_stamp_add_value(now, stage->free_poses);
}

static stet_result make_local(void *context)
{
    flush *f = context;
    stet_stage *s = f->stage;
    sti_stamp base = {0};
    stamp_base(s, &base);
    bool all = f->again || s->local_foreign != s->foreign.generation || !sti_stamp_equal(&s->local_base, &base);
    int64_t n = s->worlds->nworld, nworld = all ? n : sti_generations_since(&s->changed, s->localised, s->visit);
    int nprim = all ? s->schedule.nrigid : s->schedule.nrigid_moving;
    f->work.launches = f->work.bytes = 0;
    if (nworld > 0 && nprim > 0) {
        STI_TRY(put_stale(s, nworld));
        STI_TRY(STI_LAUNCH(sti_k_inverse, s->device, n, sti_arg_array(s->stale.array), sti_arg_array(s->world),
                           sti_arg_array(s->local), sti_arg_array(s->schedule.parent), sti_arg_array(s->schedule.rigid),
                           sti_arg_int(nprim)));
        f->work.launches = 1;
        count_cost(f, nworld, nprim);
    }
    s->localised = s->changes.generation;
    sti_stamp_keep(&s->local_base, &base);
    s->local_foreign = s->foreign.generation;
    return STET_OK;
}

stet_result sti_stage_produce_local(void *context)
{
    stet_stage *stage = context;
    if (stage->flushing) return STET_OK;
    STI_TRY(sti_stage_flush(stage, false));
    sti_stamp base = {0}, now = {0};
    stamp_base(stage, &base);
    stamp_base(stage, &now);
    sti_stamp_add(&now, &stage->changes);
    sti_stamp_add(&now, &stage->foreign);
    sti_stamp_add_address(&now, stage->local->data);
    flush f = {.stage = stage};
    f.work =
        (sti_work){.what = "local transforms of rigid prims", .kept = &stage->kept_local, .now = &now, .launches = 1};
    bool same = sti_stamp_equal(&stage->local_base, &base);
    f.work.why = same ? STET_REASON_HIERARCHY_VALUES : STET_REASON_HIERARCHY_CONNECTIVITY;
    return flush_if_stale(&f, make_local, stage->local);
}

/* ---- ahead of time ----------------------------------------------------------------------------------------------- */

/* The first flush after a change of the tree allocates memory, later ones allocate none. */
stet_result sti_stage_prepare(stet_stage *stage)
{
    sti_stamp now = {0};
    stamp_base(stage, &now);
    if (sti_stamp_equal(&stage->prepared, &now)) return STET_OK;
    STI_TRY(sti_stage_flush(stage, false));
    stamp_base(stage, &now);
    sti_stamp_keep(&stage->prepared, &now);
    return STET_OK;
}

#ifndef NDEBUG

void sti_validate_stage(const stet_stage *s)
{
    assert(s->device == s->worlds->device && s->local->device == s->device && s->world->device == s->device);
    assert(s->local->shape[0] == s->worlds->nworld && s->local->size == s->world->size);
    assert(s->local->nitem == 12 * (int64_t)s->tree.capacity && "as many transforms as prims can be numbered");
    assert(s->flushed <= s->values.generation && s->written.latest <= s->values.generation && "FLUSH-2");
    assert(s->flushed_moved <= s->worlds->poses.stamps.version.generation && s->localised <= s->changes.generation);
    assert(s->changed.n == s->worlds->nworld && s->written.n == s->worlds->nworld);
    assert(s->changed.latest <= s->changes.generation && "FLUSH-4");
    sti_validate_generations(&s->changed);
    sti_validate_generations(&s->written);
}

#endif
