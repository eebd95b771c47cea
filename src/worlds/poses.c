/*
 * The pose pass (mechanism pose_sync), for the worlds that moved since their poses were computed: a kernel of the
 * physics (WORLDS-10), or mj_kinematics on scratch data.
 *
 *   POSES-1  the pass is a function of qpos, mocap poses and the parameters body_pos and body_quat alone, so repeating
 *       it over valid poses changes no bit
 *   POSES-2  the arrays get a new generation only if a bit of them changed, if all poses were computed without
 *       downloading the old ones, or if a kernel wrote them
 *   POSES-3  a world at rest has not moved for readers of its poses (WORLDS-11): old and new ones are compared where
 *       the host has both
 */
#include "worlds/poses.h"

#include "kernel/record/launch_observer.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

typedef struct pass {
    stet_worlds *worlds;
    bool every;    /* audit, or the mechanism is off: valid poses are computed again */
    uint64_t from; /* worlds that moved later are due */
    atomic_llong made;
    atomic_bool changed;
    bool unknown; /* old poses were not kept: they count as changed */
} pass;

static const sti_field outputs[] = {STI_FIELD_xpos, STI_FIELD_xquat};

static const sti_field inputs[STI_POSE_INPUTS] = {STI_FIELD_qpos, STI_FIELD_mocap_pos, STI_FIELD_mocap_quat};

/* Copies the state that kinematics depend on, from the exact numbers or, if there are none, from the arrays. */
static void copy_inputs(const stet_worlds *worlds, int64_t w, mjData *to)
{
    for (size_t k = 0; k < STI_POSE_INPUTS; ++k) {
        const stet_array *a = worlds->state.field[inputs[k]];
        mjtNum *out = sti_field_exact(to, inputs[k]);
        if (worlds->state.data)
            memcpy(out, sti_field_exact(worlds->state.data[w], inputs[k]), (size_t)a->nitem * sizeof *out);
        else
            for (int64_t i = 0; i < a->nitem; ++i) out[i] = sti_mirror_get(a, worlds->state.mirror[inputs[k]], w, i);
    }
}

/* Rounds into the array; returns true if a bit changed. */
static bool put_poses(const stet_worlds *worlds, sti_field field, int64_t w, const mjtNum *exact)
{
    assert(sti_field_writer[field] == STI_WRITER_POSES && w >= 0 && w < worlds->nworld);
    const stet_array *a = worlds->state.field[field];
    char *mirror = worlds->state.mirror[field];
    bool changed = false;
    size_t e = a->device->real_size;
    for (int64_t i = 0; i < a->nitem; ++i) {
        char *place = mirror + (size_t)sti_array_index(a, w, i) * e;
        char before[sizeof(double)];
        memcpy(before, place, e);
        /* NAN has the canonical pattern of NaN in either width. */
        sti_mirror_set(a, mirror, w, i, exact[i] == exact[i] ? exact[i] : (double)__builtin_nan(""));
        changed = changed || memcmp(before, place, e) != 0;
    }
    return changed;
}

static bool is_due(const pass *p, int64_t w) { return sti_generation_of(&p->worlds->state.stamps.moved, w) > p->from; }

/*
 * If the poses of all worlds are computed, the old ones are not downloaded first. Then nothing can be compared, and
 * they count as changed (POSES-2).
 */
static stet_result take_poses(pass *p, sti_field field, bool all)
{
    stet_worlds *worlds = p->worlds;
    stet_array *a = worlds->state.field[field];
    if (!all || sti_mirror_is_current(a)) return sti_array_mirror_write(a, &worlds->state.mirror[field]);
    STI_TRY(sti_before_host_access(a->device, STI_ACT_WRITE, a, a->name));
    STI_TRY(sti_mirror_overwrite(a, &worlds->state.mirror[field]));
    atomic_store_explicit(&p->changed, true, memory_order_relaxed);
    p->unknown = true;
    return STET_OK;
}

static stet_result take_mirrors(pass *p, bool all)
{
    stet_worlds *worlds = p->worlds;
    STI_TRY(take_poses(p, STI_FIELD_xpos, all));
    STI_TRY(take_poses(p, STI_FIELD_xquat, all));
    for (size_t k = 0; !worlds->state.data && k < STI_POSE_INPUTS; ++k)
        STI_TRY(sti_array_mirror(worlds->state.field[inputs[k]], &worlds->state.mirror[inputs[k]]));
    return STET_OK;
}

typedef struct kinematics {
    const mjModel *m;
    mjData *d;
} kinematics;

static void run_kinematics(void *context)
{
    const kinematics *k = context;
    mj_kinematics(k->m, k->d);
}

static void pose_world(void *context, int64_t w, int thread)
{
    assert(thread >= 0 && thread < ((const pass *)context)->worlds->device->threads && "WORLDS-1");
    pass *p = context;
    stet_worlds *worlds = p->worlds;
    worlds->poses.marks[w] = 0;
    if (!is_due(p, w)) return;
    mjData *d = worlds->poses.scratch[thread];
    copy_inputs(worlds, w, d);
    kinematics k = {sti_parameters_pose_model(worlds, w, thread), d};
    if (!sti_mujoco_guard(run_kinematics, &k, NULL, 0)) worlds->state.faults[w] |= 1u << STET_FAULT_PHYSICS_ERROR;
    bool changed = put_poses(worlds, STI_FIELD_xpos, w, d->xpos);
    changed = put_poses(worlds, STI_FIELD_xquat, w, d->xquat) || changed;
    worlds->poses.marks[w] = changed;
    if (changed) atomic_store_explicit(&p->changed, true, memory_order_relaxed);
    atomic_fetch_add_explicit(&p->made, 1, memory_order_relaxed);
}

/*
 * The worlds of `changed` have other poses than before (WORLDS-11). NULL: they were not compared, and all may have that
 * moved since their poses were computed; poses that were computed again without a move are the same (POSES-1).
 */
static void note_moved(stet_worlds *worlds, const uint8_t *changed)
{
    if (changed)
        (void)sti_generations_bump(&worlds->poses.stamps.moved, &worlds->poses.stamps.version, changed);
    else
        (void)sti_generations_bump_since(&worlds->poses.stamps.moved, &worlds->poses.stamps.version,
                                         &worlds->state.stamps.moved, worlds->poses.stamps.posed);
}

/* Does somebody ask whether poses that a launch writes have other bits, and does the host have them? */
static bool may_compare(const stet_worlds *worlds)
{
    stet_device *device = worlds->device;
    return worlds->poses.readers > 0 && device->can.host_memory && !device->listing && sti_device_capture(device) == 0;
}

/* Keeps the poses as they are before a launch. */
static stet_result keep_poses(stet_worlds *worlds)
{
    assert(worlds->device->can.host_memory);
    const stet_array *xpos = worlds->state.field[STI_FIELD_xpos], *xquat = worlds->state.field[STI_FIELD_xquat];
    if (!worlds->poses.before) STI_TRY(sti_alloc(&worlds->poses.before, xpos->size + xquat->size, "poses of worlds"));
    memcpy(worlds->poses.before, xpos->data, xpos->size);
    memcpy(worlds->poses.before + xpos->size, xquat->data, xquat->size);
    return STET_OK;
}

/* Marks the worlds of one block of lanes whose poses are others than those that were kept. */
static void compare_block(void *context, int64_t block, int thread)
{
    stet_worlds *worlds = context;
    const int64_t lanes = worlds->device->lanes, first = block * lanes;
    const size_t e = worlds->device->real_size;
    const char *before = worlds->poses.before;
    (void)thread;
    for (int64_t w = first; w < first + lanes && w < worlds->nworld; ++w) worlds->poses.marks[w] = 0;
    for (int k = 0; k < 2; before += worlds->state.field[outputs[k++]]->size) {
        const stet_array *a = worlds->state.field[outputs[k]];
        const size_t size = (size_t)(a->nitem * lanes) * e, at = (size_t)block * size;
        const char *now = a->data;
        if (memcmp(now + at, before + at, size) == 0) continue;
        for (int64_t w = first; w < first + lanes && w < worlds->nworld; ++w)
            for (int64_t i = 0; i < a->nitem && !worlds->poses.marks[w]; ++i) {
                size_t place = (size_t)sti_array_index(a, w, i) * e;
                worlds->poses.marks[w] = memcmp(now + place, before + place, e) != 0;
            }
    }
}

/* The kernel writes both arrays, and must not call their producer, which is running. */
static stet_result launch_poses(const pass *p, const uint8_t *due)
{
    assert(p->worlds->physics.make_poses && !p->worlds->state.data && "WORLDS-10");
    stet_worlds *worlds = p->worlds;
    stet_array *xpos = worlds->state.field[STI_FIELD_xpos], *xquat = worlds->state.field[STI_FIELD_xquat];
    const bool compared = may_compare(worlds);
    if (compared) STI_TRY(keep_poses(worlds));
    bool producing[] = {xpos->producing, xquat->producing};
    xpos->producing = xquat->producing = true;
    stet_result result = worlds->physics.make_poses(worlds->physics.context, due);
    xpos->producing = producing[0];
    xquat->producing = producing[1];
    if (result != STET_OK) return result;
    if (compared) sti_device_parallel(worlds->device, sti_worlds_blocks(worlds), 0, compare_block, worlds);
    note_moved(worlds, compared ? worlds->poses.marks : NULL);
    worlds->poses.stamps.posed = worlds->state.stamps.version.generation;
    sti_poses_keep_written(worlds);
    return STET_OK;
}

static void observe_host_poses(const stet_worlds *worlds)
{
    sti_observe_host(worlds->state.field[STI_FIELD_xpos], "MuJoCo's kinematics");
    sti_observe_host(worlds->state.field[STI_FIELD_xquat], "MuJoCo's kinematics");
}

static stet_result make_poses(void *context)
{
    pass *p = context;
    stet_worlds *worlds = p->worlds;
    p->from = p->every ? worlds->poses.stamps.caller : worlds->poses.stamps.posed;
    sti_validate_worlds(worlds);
    int64_t due = sti_generations_since(&worlds->state.stamps.moved, p->from, worlds->marks);
    if (due == 0) return STET_OK; /* the caller writes all poses on the device: nothing is downloaded */
    if (worlds->physics.make_poses) {
        worlds->device->mechanisms.counters.kinematics += due;
        return launch_poses(p, due == worlds->nworld ? NULL : worlds->marks);
    }
    STI_TRY(take_mirrors(p, due == worlds->nworld));
    sti_worlds_parallel(worlds, pose_world, p, 0);
    note_moved(worlds, p->unknown ? NULL : worlds->poses.marks);
    worlds->poses.stamps.posed = worlds->state.stamps.version.generation;
    assert((int64_t)atomic_load(&p->made) == due && "the worlds that are due, and no others");
    worlds->device->mechanisms.counters.kinematics += (int64_t)atomic_load(&p->made);
    if (!atomic_load(&p->changed)) return STET_OK;
    sti_array_mirror_written(worlds->state.field[STI_FIELD_xpos]);
    sti_array_mirror_written(worlds->state.field[STI_FIELD_xquat]);
    observe_host_poses(worlds);
    sti_poses_keep_written(worlds);
    return due == worlds->nworld && !p->every ? sti_poses_keep_first(worlds) : STET_OK;
}

/* The producer of xpos and xquat: brings them up to date before a read. */
static stet_result produce(void *context)
{
    stet_worlds *worlds = context;
    sti_mechanisms *m = &worlds->device->mechanisms;
    const stet_array *xpos = worlds->state.field[STI_FIELD_xpos], *xquat = worlds->state.field[STI_FIELD_xquat];
    STI_TRY(sti_worlds_sync(worlds));
    bool unseen = !worlds->poses.external && sti_observer_is_new(worlds->device, &worlds->poses.observer);
    if (unseen && worlds->physics.make_poses) sti_stamp_invalidate(&worlds->poses.stamps.made);
    if (unseen && !worlds->physics.make_poses) observe_host_poses(worlds);
    sti_stamp now = {0};
    sti_stamp_begin(&now);
    sti_stamp_add(&now, &worlds->state.stamps.version);
    sti_stamp_add_address(&now, xpos->data);
    sti_stamp_add_address(&now, xquat->data);
    pass p = {.worlds = worlds};
    p.every = unseen || !sti_enabled(m, STET_MECHANISM_POSE_SYNC) || sti_stamp_equal(&worlds->poses.stamps.made, &now);
    sti_span spans[] = {sti_array_span(xpos), sti_array_span(xquat)};
    sti_work work = {
        .mechanism = STET_MECHANISM_POSE_SYNC,
        .why = worlds->poses.why,
        .what = "poses of bodies",
        .kept = &worlds->poses.stamps.made,
        .now = &now,
        .make = make_poses,
        .context = &p,
        .outputs = spans,
        .noutput = 2,
        .bytes = (int64_t)(stet_array_get_bytes(xpos) + stet_array_get_bytes(xquat)),
    };
    return sti_let_stand(m, &work);
}

void sti_poses_attach(stet_worlds *worlds)
{
    sti_poses_keep_written(worlds);
    sti_array_set_producer(worlds->state.field[STI_FIELD_xpos], produce, worlds);
    sti_array_set_producer(worlds->state.field[STI_FIELD_xquat], produce, worlds);
}
