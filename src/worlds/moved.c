/*
 * Which worlds have moved since their poses were computed, whose poses the caller wrote, and work on all worlds.
 */
#include "worlds/poses.h"

#include <string.h>

/* ---- moves ------------------------------------------------------------------------------------------------------- */

void sti_worlds_moved(stet_worlds *worlds, int64_t w)
{
    worlds->moved[w] = ++worlds->clock;
    sti_quantities_changed(worlds, w);
    worlds->caller_poses[w] = 0;
    worlds->pose_why = STET_REASON_POSE_SYNC_QPOS;
    sti_version_bump(&worlds->moved_version);
}

void sti_worlds_all_moved(stet_worlds *worlds)
{
    worlds->clock++;
    sti_quantities_all_changed(worlds);
    for (int64_t w = 0; w < worlds->nworld; ++w) worlds->moved[w] = worlds->clock;
    memset(worlds->caller_poses, 0, (size_t)worlds->nworld);
    worlds->pose_why = STET_REASON_POSE_SYNC_QPOS;
    sti_version_bump(&worlds->moved_version);
}

/* ---- physics that keeps its own state ---------------------------------------------------------------------------- */

static stet_result pull_time(void *context) { return sti_worlds_pull_physics(context); }

void sti_worlds_set_physics(stet_worlds *worlds, sti_worlds_physics physics)
{
    worlds->physics = physics;
    sti_array_set_producer(worlds->field[STI_FIELD_time], physics.pull ? pull_time : NULL, worlds);
    sti_quantities_all_changed(worlds);
    for (int64_t w = 0; w < worlds->nworld; ++w)
        if (!worlds->caller_poses[w]) sti_worlds_moved(worlds, w);
}

stet_result sti_worlds_pull_physics(stet_worlds *worlds)
{
    return worlds->physics.pull ? worlds->physics.pull(worlds->physics.context, false) : STET_OK;
}

/* ---- poses that the caller wrote --------------------------------------------------------------------------------- */

static void stamp_written(const stet_worlds *worlds, sti_stamp *now)
{
    sti_stamp_begin(now);
    sti_stamp_add(now, &worlds->field[STI_FIELD_xpos]->version);
    sti_stamp_add(now, &worlds->field[STI_FIELD_xquat]->version);
}

void sti_poses_keep_written(stet_worlds *worlds)
{
    sti_stamp now = {0};
    stamp_written(worlds, &now);
    sti_stamp_keep(&worlds->pose_written, &now);
}

void sti_poses_take_written(stet_worlds *worlds)
{
    sti_stamp now = {0};
    stamp_written(worlds, &now);
    if (sti_stamp_equal(&worlds->pose_written, &now)) return;
    sti_stamp_keep(&worlds->pose_written, &now);
    sti_worlds_all_moved(worlds);
    memcpy(worlds->posed, worlds->moved, (size_t)worlds->nworld * sizeof *worlds->posed);
    memset(worlds->caller_poses, 1, (size_t)worlds->nworld);
    worlds->pose_why = STET_REASON_POSE_SYNC_EXTERNAL;
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
    /* pieces; at their end, threads wait for the last one */
    int64_t wanted = (int64_t)worlds->device->threads * (seconds > 0 ? 64 : 8);
    int64_t size = worlds->device->lanes;
    while (size > 1 && worlds->nworld / size < wanted) size /= 2;
    pieces p = {f, context, worlds->nworld, size};
    sti_device_parallel(worlds->device, (worlds->nworld + size - 1) / size, seconds, run_piece, &p);
}
