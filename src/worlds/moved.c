/*
 * Which worlds have moved since their poses were computed, whose poses the caller wrote, and work on all worlds.
 */
#include "worlds/poses.h"

#include <assert.h>

/* ---- moves ------------------------------------------------------------------------------------------------------- */

void sti_worlds_moved(stet_worlds *worlds, const uint8_t *mask)
{
    if (!sti_generations_bump(&worlds->state.stamps.moved, &worlds->state.stamps.version, mask)) return;
    sti_quantities_changed(worlds, mask);
    worlds->poses.why = STET_REASON_POSE_SYNC_QPOS;
}

void sti_worlds_moved_unless_posed(stet_worlds *worlds, const uint8_t *mask)
{
    uint64_t now = worlds->state.stamps.version.generation + 1;
    bool any = false;
    if (!sti_worlds_any_caller_posed(worlds)) {
        sti_worlds_moved(worlds, mask);
        return;
    }
    for (int64_t w = 0; w < worlds->nworld; ++w) {
        if ((mask && !mask[w]) || sti_worlds_is_caller_posed(worlds, w)) continue;
        sti_generations_put(&worlds->state.stamps.moved, w, now);
        any = true;
    }
    if (!any) return;
    sti_version_bump(&worlds->state.stamps.version);
    worlds->poses.why = STET_REASON_POSE_SYNC_QPOS;
}

/* ---- physics that keeps its own state ---------------------------------------------------------------------------- */

static stet_result pull_time(void *context) { return sti_worlds_pull_physics(context); }

void sti_worlds_set_physics(stet_worlds *worlds, sti_worlds_physics physics)
{
    assert((physics.context != NULL) == (physics.make_poses != NULL) && "physics that has the state makes the poses");
    assert((!physics.grown_room) == (!physics.restore_room));
    worlds->physics = physics;
    sti_array_set_producer(worlds->state.field[STI_FIELD_time], physics.pull ? pull_time : NULL, worlds);
    sti_quantities_changed(worlds, NULL);
    sti_quantities_begun_there(worlds);
    sti_worlds_moved_unless_posed(worlds, NULL);
}

stet_result sti_worlds_pull_physics(stet_worlds *worlds)
{
    return worlds->physics.pull ? worlds->physics.pull(worlds->physics.context, false) : STET_OK;
}

/* ---- poses that the caller wrote --------------------------------------------------------------------------------- */

static void stamp_written(const stet_worlds *worlds, sti_stamp *now)
{
    sti_stamp_begin(now);
    sti_stamp_add(now, &worlds->state.field[STI_FIELD_xpos]->version);
    sti_stamp_add(now, &worlds->state.field[STI_FIELD_xquat]->version);
}

void sti_poses_keep_written(stet_worlds *worlds)
{
    sti_stamp now = {0};
    stamp_written(worlds, &now);
    sti_stamp_keep(&worlds->poses.stamps.written, &now);
}

void sti_poses_take_written(stet_worlds *worlds)
{
    sti_stamp now = {0};
    stamp_written(worlds, &now);
    if (sti_stamp_equal(&worlds->poses.stamps.written, &now)) return;
    sti_stamp_keep(&worlds->poses.stamps.written, &now);
    sti_worlds_moved(worlds, NULL);
    worlds->poses.stamps.posed = worlds->poses.stamps.caller = worlds->state.stamps.version.generation;
    assert(sti_worlds_any_caller_posed(worlds) && "WORLDS-4");
    (void)sti_generations_bump(&worlds->poses.stamps.moved, &worlds->poses.stamps.version, NULL); /* WORLDS-11 */
    worlds->poses.why = STET_REASON_POSE_SYNC_EXTERNAL;
}

/* ---- all worlds -------------------------------------------------------------------------------------------------- */

typedef struct pieces {
    sti_worlds_fn *f;
    void *context;
    int64_t nworld, size;
} pieces;

static void run_piece(void *context, int64_t i, int thread)
{
    const pieces *p = context;
    int64_t end = (i + 1) * p->size < p->nworld ? (i + 1) * p->size : p->nworld;
    for (int64_t w = i * p->size; w < end; ++w) p->f(p->context, w, thread);
}

void sti_worlds_parallel(stet_worlds *worlds, sti_worlds_fn *f, void *context, double seconds)
{
    assert(f && seconds >= 0);
    /* pieces; at their end, threads wait for the last one */
    int64_t wanted = (int64_t)worlds->device->threads * (seconds > 0 ? 64 : 8);
    int64_t size = worlds->device->lanes;
    while (size > 1 && worlds->nworld / size < wanted) size /= 2;
    assert(size >= 1 && worlds->device->lanes % size == 0 && "a piece lies in one block of the layout");
    pieces p = {f, context, worlds->nworld, size};
    sti_device_parallel(worlds->device, (worlds->nworld + size - 1) / size, seconds, run_piece, &p);
}
