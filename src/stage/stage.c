/* The stage's public functions: creating it, and its prims. Their transforms: prim.c; the flush: flush.c. */
#include "stage/flush.h"

#include "device/host_mirror.h"
#include "kernel/record/launch.h"
#include "stage/frame.h"
#include "stage/table.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

extern const sti_kernel sti_k_fill, sti_k_place, sti_k_grow;

/* ---- making ------------------------------------------------------------------------------------------------------ */

static stet_result make_arrays(const stet_stage *stage, int capacity, stet_array **local, stet_array **world)
{
    *local = *world = NULL;
    STI_TRY(STI_ARRAY(stage->device, "local transforms", STET_DTYPE_REAL, true, local, stage->worlds->nworld, capacity,
                      12));
    stet_result result =
        STI_ARRAY(stage->device, "world transforms", STET_DTYPE_REAL, true, world, stage->worlds->nworld, capacity, 12);
    if (result == STET_OK) {
        sti_array_held_by(*world, STET_MECHANISM_HIERARCHY);
        return STET_OK;
    }
    stet_array_destroy(*local);
    *local = NULL;
    return result;
}

static void attach_arrays(stet_stage *stage, stet_array *local, stet_array *world)
{
    assert(local != world && local->size == world->size && !local->producer && !world->producer);
    stet_array_destroy(stage->local);
    stet_array_destroy(stage->world);
    stage->local = local;
    stage->world = world;
    sti_array_set_producer(local, sti_stage_produce_local, stage);
    sti_array_set_producer(world, sti_stage_produce_world, stage);
    sti_stage_after_write(stage);
}

/* Writes the same local transforms in all worlds. The stage's own writes do not flush. */
static stet_result fill_local(stet_stage *stage, const int *prims, const double *frames, int n)
{
    assert(n > 0 && !stage->flushing);
    for (int i = 0; i < n; ++i) assert(sti_tree_has(&stage->tree, prims[i]));
    stet_array *prim = NULL, *frame = NULL;
    stet_result result = sti_table_ints(stage->device, "prims to fill", prims, n, &prim);
    if (result == STET_OK) result = sti_table_reals(stage->device, "frames", frames, (int64_t)n * 12, &frame);
    stage->flushing = true;
    if (result == STET_OK)
        result = STI_LAUNCH(sti_k_fill, stage->device, stage->worlds->nworld, sti_arg_array(stage->local),
                            sti_arg_array(prim), sti_arg_array(frame), sti_arg_int(n));
    stage->flushing = false;
    stet_array_destroy(prim);
    stet_array_destroy(frame);
    return result;
}

/*
 * Writes local transforms of the model's prims as the model gives them. Those of rigid prims are computed when they are
 * read.
 */
static stet_result fill_model(stet_stage *stage)
{
    int n = stage->tree.nmodel;
    int *prims = NULL;
    double *frames = NULL;
    stet_result result = sti_alloc(&prims, (size_t)n * sizeof *prims, "prims to fill");
    if (result == STET_OK) result = sti_alloc(&frames, (size_t)n * 12 * sizeof *frames, "frames of the model");
    for (int i = 0; result == STET_OK && i < n; i++) {
        const sti_prim *p = &stage->tree.prim[i];
        prims[i] = i;
        sti_frame_local(stage->tree.model->mj, p->kind == STET_PRIM_ROOT ? STET_PRIM_BODY : p->kind, p->index,
                        frames + (size_t)i * 12);
    }
    if (result == STET_OK) result = fill_local(stage, prims, frames, n);
    sti_free(prims);
    sti_free(frames);
    return result;
}

static stet_result make_tables(stet_stage *stage)
{
    int64_t n = stage->worlds->nworld;
    STI_TRY(sti_mask_init(&stage->stale, stage->device, "worlds to visit", n));
    sti_array_held_by(stage->stale.array, STET_MECHANISM_HIERARCHY);
    STI_TRY(sti_alloc(&stage->visit, (size_t)n, "worlds to visit"));
    STI_TRY(sti_alloc(&stage->due_prim, (size_t)stage->tree.capacity, "prims that are due"));
    STI_TRY(sti_generations_init(&stage->written, n, "writes to worlds"));
    return sti_generations_init(&stage->changed, n, "changes of worlds");
}

static stet_result make_stage(stet_stage *stage)
{
    stet_array *local, *world;
    STI_TRY(sti_tree_init(&stage->tree, stage->worlds->model));
    STI_TRY(make_tables(stage));
    STI_TRY(sti_track_init(&stage->track, stage->device, &stage->tree));
    STI_TRY(sti_tendons_init(&stage->tendons, stage->device, &stage->tree));
    STI_TRY(make_arrays(stage, stage->tree.capacity, &local, &world));
    attach_arrays(stage, local, world);
    STI_TRY(fill_model(stage));
    sti_stage_after_write(stage);
    return STET_OK;
}

stet_result stet_stage_create(stet_worlds *worlds, stet_stage **out)
{
    if (!worlds || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_stage_create: worlds or out is NULL; give both");
    stet_stage *stage;
    *out = NULL;
    STI_TRY(sti_alloc(&stage, sizeof *stage, "the stage"));
    stage->worlds = worlds;
    worlds->poses.readers++;
    stage->device = worlds->device;
    stage->values = sti_version_new();
    stage->changes = sti_version_new();
    stage->foreign = sti_version_new();
    stage->shapes = (sti_shapes){.set = sti_version_new(), .colours = sti_version_new()};
    stage->due_all = true;
    sti_stage_due_connectivity(stage);
    stet_result result = make_stage(stage);
    if (result == STET_OK) {
        sti_validate_stage(stage);
        *out = stage;
    } else
        stet_stage_destroy(stage);
    return result;
}

void stet_stage_destroy(stet_stage *stage)
{
    if (!stage) return;
    assert(!stage->flushing && stage->worlds->poses.readers > 0);
    stage->worlds->poses.readers--;
    stet_array_destroy(stage->local);
    stet_array_destroy(stage->world);
    sti_mask_free(&stage->stale);
    sti_schedule_free(&stage->schedule);
    sti_track_free(&stage->track);
    sti_tendons_free(&stage->tendons);
    sti_tree_free(&stage->tree);
    sti_shapes_free(&stage->shapes);
    sti_decor_free(&stage->decor);
    sti_places_free(&stage->places);
    sti_host_transforms_free(&stage->host);
    sti_free(stage->visit);
    sti_free(stage->due_prim);
    sti_generations_free(&stage->written);
    sti_generations_free(&stage->changed);
    sti_stamp_free(&stage->own);
    sti_stamp_free(&stage->kept_world);
    sti_stamp_free(&stage->kept_local);
    sti_stamp_free(&stage->prepared);
    sti_stamp_free(&stage->local_base);
    sti_free(stage);
}

/* ---- what others see --------------------------------------------------------------------------------------------- */

int stet_stage_get_nprim(const stet_stage *stage) { return stage ? stage->tree.count : 0; }
int stet_stage_get_capacity(const stet_stage *stage) { return stage ? stage->tree.capacity : 0; }
stet_array *sti_stage_world(stet_stage *stage) { return stage->world; }
stet_array *sti_stage_local(stet_stage *stage) { return stage->local; }
int64_t sti_stage_host_bytes(const stet_stage *stage)
{
    return stage->host.device ? stage->host.device->array_bytes : 0;
}
stet_worlds *sti_stage_worlds(stet_stage *stage) { return stage->worlds; }
const sti_generations *sti_stage_changed(const stet_stage *stage) { return &stage->changed; }
const sti_version *sti_stage_changes(const stet_stage *stage) { return &stage->changes; }
int sti_stage_moves(const stet_stage *stage, sti_version out[STI_STAGE_MOVES])
{
    out[0] = stage->worlds->state.stamps.version;
    out[1] = stage->values;
    out[2] = stage->worlds->quantities.stamps.version;
    return stage->decor.reads ? 3 : 2;
}

const sti_version *sti_stage_connectivity(const stet_stage *stage) { return &stage->tree.connectivity; }
const sti_shapes *sti_stage_shapes(const stet_stage *stage) { return &stage->shapes; }

int sti_stage_body(const stet_stage *stage, int prim)
{
    assert(sti_tree_has(&stage->tree, prim));
    const sti_prim *p = &stage->tree.prim[prim];
    while (p->kind != STET_PRIM_BODY && p->kind != STET_PRIM_ROOT) p = &stage->tree.prim[p->parent];
    return p->index;
}

static stet_result check_kind(stet_prim_kind kind, const char *call)
{
    if ((unsigned)kind <= STET_PRIM_SHAPE) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT,
                     "%s: there is no kind of prim %d; use one of STET_PRIM_ROOT to STET_PRIM_SHAPE", call, (int)kind);
}

stet_result stet_stage_get_prim(const stet_stage *stage, stet_prim_kind kind, int index, int *prim)
{
    if (!stage || !prim)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_stage_get_prim: stage or prim is NULL; give both");
    STI_TRY(check_kind(kind, "stet_stage_get_prim"));
    if (kind >= STET_PRIM_XFORM)
        return sti_error(
            STET_ERROR_INVALID_ARGUMENT,
            "stet_stage_get_prim: added prims are not the model's; keep the number that stet_stage_add gave");
    int n = stage->tree.n[kind];
    if (index < 0 || index >= n)
        return sti_error(STET_ERROR_NOT_FOUND,
                         "stet_stage_get_prim: index %d of kind %d; the model has %d of them, from 0", index, (int)kind,
                         n);
    *prim = stage->tree.first[kind] + index;
    return STET_OK;
}

stet_result stet_stage_find(const stet_stage *stage, stet_prim_kind kind, const char *name, int *prim)
{
    if (!stage || !name || !prim)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_stage_find: stage, name or prim is NULL; give all three");
    STI_TRY(check_kind(kind, "stet_stage_find"));
    return sti_tree_find(&stage->tree, kind, name, prim);
}

stet_result stet_stage_get_arrays(stet_stage *stage, stet_array **local, stet_array **world)
{
    if (!stage) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_stage_get_arrays: stage is NULL; give one");
    if (local) *local = stage->local;
    if (world) *world = stage->world;
    return STET_OK;
}

stet_result stet_stage_flush(stet_stage *stage, bool force)
{
    if (!stage) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_stage_flush: stage is NULL; give one");
    STI_TRY(sti_not_listing(stage->device, "stet_stage_flush"));
    return sti_stage_flush(stage, force);
}

/* ---- prims that come and go -------------------------------------------------------------------------------------- */

/* Copies the arrays' content into larger arrays. */
static stet_result copy_grown(stet_stage *stage, stet_array *local, stet_array *world)
{
    assert(local->nitem > stage->local->nitem && world->nitem == local->nitem && "it only grows");
    int n = stage->tree.capacity * 12;
    int64_t nworld = stage->worlds->nworld;
    stage->flushing = true;
    stet_result result = STI_LAUNCH(sti_k_grow, stage->device, nworld, sti_arg_array(stage->local),
                                    sti_arg_array(local), sti_arg_int(n));
    if (result == STET_OK)
        result = STI_LAUNCH(sti_k_grow, stage->device, nworld, sti_arg_array(stage->world), sti_arg_array(world),
                            sti_arg_int(n));
    stage->flushing = false;
    return result;
}

static stet_result grow_stage(stet_stage *stage)
{
    int capacity;
    stet_array *local, *world;
    STI_TRY(sti_tree_next_capacity(&stage->tree, &capacity));
    STI_TRY(make_arrays(stage, capacity, &local, &world));
    stet_result result = copy_grown(stage, local, world);
    if (result == STET_OK) result = sti_realloc(&stage->due_prim, (size_t)capacity, "prims that are due");
    if (result == STET_OK) result = sti_tree_grow(&stage->tree, capacity);
    if (result == STET_OK) {
        attach_arrays(stage, local, world);
        return STET_OK;
    }
    stet_array_destroy(local);
    stet_array_destroy(world);
    return result;
}

stet_result sti_stage_vacant_prim(stet_stage *stage, int *prim)
{
    if (sti_tree_vacant(&stage->tree) < 0) STI_TRY(grow_stage(stage));
    *prim = sti_tree_vacant(&stage->tree);
    assert(*prim >= stage->tree.nmodel && *prim < stage->tree.capacity);
    return STET_OK;
}

/* Writes the new prim's transforms: local as given; a rigid prim's world transform once from its parent's. */
static stet_result place_prim(stet_stage *stage, int prim, const float local[12])
{
    double frame[12];
    for (int k = 0; k < 12; k++) frame[k] = (double)local[k];
    STI_TRY(fill_local(stage, &prim, frame, 1));
    const sti_prim *p = &stage->tree.prim[prim];
    if (!sti_prim_rigid(p)) return STET_OK;
    stage->flushing = true;
    stet_result result = STI_LAUNCH(sti_k_place, stage->device, stage->worlds->nworld, sti_arg_array(stage->local),
                                    sti_arg_array(stage->world), sti_arg_int(p->parent), sti_arg_int(prim));
    stage->flushing = false;
    return result;
}

/* Pieces of tendons are computed after everything else; a hidden shape would hide what is below it. */
static stet_result check_parent(const stet_stage *stage, int parent, const char *call)
{
    if (stage->tree.prim[parent].kind == STET_PRIM_SHAPE)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: prim %d is a shape; choose the prim that it is below", call,
                         parent);
    if (stage->tree.prim[parent].source != STI_PRIM_TENDON) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: prim %d is a piece of a tendon or flex; choose a site or body",
                     call, parent);
}

static stet_result check_add(const stet_stage *stage, int parent, stet_prim_kind kind, const char *name,
                             const float *local, const char *call)
{
    int other;
    char what[64];
    STI_TRY(sti_not_listing(stage->device, call));
    (void)snprintf(what, sizeof what, "%s: parent", call);
    STI_TRY(sti_tree_check(&stage->tree, parent, what));
    if (!local)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: local is NULL; give 12 numbers, a 3x4 matrix by rows", call);
    STI_TRY(check_parent(stage, parent, call));
    if (name && *name && sti_tree_has_name(&stage->tree, kind, name, &other))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: prim %d is already called '%.64s'; choose another name",
                         call, other, name);
    return STET_OK;
}

stet_result sti_stage_add_prim(stet_stage *stage, int parent, stet_prim_kind kind, const char *name, const float *local,
                               bool rigid, const char *call, int *prim)
{
    STI_TRY(check_add(stage, parent, kind, name, local, call));
    if (rigid) STI_TRY(sti_stage_flush(stage, false));
    sti_stage_before_write(stage);
    int added;
    STI_TRY(sti_stage_vacant_prim(stage, &added));
    STI_TRY(sti_tree_add(&stage->tree, added, parent, kind, name, rigid));
    stet_result result = place_prim(stage, added, local);
    sti_stage_after_write(stage);
    sti_stage_due_connectivity(stage);
    if (result != STET_OK) {
        sti_tree_remove(&stage->tree, added);
        return result;
    }
    sti_stage_due(stage, added, 0, stage->worlds->nworld);
    sti_validate_stage(stage);
    *prim = added;
    return STET_OK;
}

stet_result stet_stage_add(stet_stage *stage, int parent, const char *name, const float local[12], bool rigid,
                           int *prim)
{
    if (!stage || !prim)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_stage_add: stage or prim is NULL; give both");
    return sti_stage_add_prim(stage, parent, STET_PRIM_XFORM, name, local, rigid, "stet_stage_add", prim);
}

/* Only added prims can be removed or re-parented. */
static stet_result check_added(const stet_stage *stage, int prim, const char *call)
{
    STI_TRY(sti_not_listing(stage->device, call));
    STI_TRY(sti_tree_check(&stage->tree, prim, call));
    if (stage->tree.prim[prim].source == STI_PRIM_DECOR)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "%s: prim %d is a part of a decoration; choose decorations with stet_stage_decorate", call,
                         prim);
    if (prim >= stage->tree.nmodel) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT,
                     "%s: prim %d ('%.64s') belongs to the model; only added prims can be changed", call, prim,
                     sti_tree_name(&stage->tree, prim));
}

stet_result stet_stage_remove(stet_stage *stage, int prim)
{
    if (!stage) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_stage_remove: stage is NULL; give one");
    STI_TRY(check_added(stage, prim, "stet_stage_remove"));
    sti_tree_remove(&stage->tree, prim);
    sti_shapes_sweep(&stage->shapes, &stage->tree);
    sti_stage_due_connectivity(stage);
    return STET_OK;
}

stet_result stet_stage_reparent(stet_stage *stage, int prim, int parent)
{
    if (!stage) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_stage_reparent: stage is NULL; give one");
    STI_TRY(check_added(stage, prim, "stet_stage_reparent"));
    STI_TRY(sti_tree_check(&stage->tree, parent, "stet_stage_reparent: parent"));
    STI_TRY(check_parent(stage, parent, "stet_stage_reparent"));
    if (sti_tree_below(&stage->tree, parent, prim))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_stage_reparent: prim %d is prim %d or below it; choose a parent elsewhere", parent,
                         prim);
    sti_tree_reparent(&stage->tree, prim, parent);
    sti_stage_due_connectivity(stage);
    sti_stage_due(stage, prim, 0, stage->worlds->nworld);
    return STET_OK;
}
