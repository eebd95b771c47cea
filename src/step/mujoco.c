/*
 * One parallel pass steps the worlds: each world gets what the caller changed and takes its steps; each block of worlds
 * then copies its states to the arrays.
 *
 *   MUJOCO-1  the result of a world depends on that world alone: not on the thread, the order, or the number of steps
 *       per call
 *   MUJOCO-2  an error of MuJoCo ends one step of one world, and nothing else; the caller's inputs stay valid there
 *   MUJOCO-3  a world that MuJoCo resets during a step continues like MuJoCo's data: its inputs are reset, too, also in
 *       the arrays
 *   MUJOCO-4  forward changes what data hold beside the state, which no later step reads
 */
#include "step/mujoco.h"

#include "base/clock.h"
#include "kernel/record/launch_observer.h"
#include "worlds/reset.h"

#include <assert.h>
#include <string.h>

typedef struct stepping {
    stet_worlds *worlds;
    const uint8_t *mask; /* NULL: all */
    int n;
    bool dirty[STI_FIELD_COUNT];
} stepping;

/* One world being stepped; lives outside the guard, so that it is intact when MuJoCo aborts a step. */
typedef struct walker {
    stet_worlds *worlds;
    const mjModel *m; /* the model with this world's parameters */
    int64_t w;
    mjData *d;
    int left;
} walker;

static const struct {
    mjtWarning warning;
    stet_fault fault;
    bool was_reset; /* MuJoCo reset the data to qpos0, unless the model forbids it */
} warnings[] = {
    {mjWARN_CONTACTFULL, STET_FAULT_CONTACTS_FULL, false}, {mjWARN_CNSTRFULL, STET_FAULT_CONTACTS_FULL, false},
    {mjWARN_BADQPOS, STET_FAULT_BAD_QPOS, true},           {mjWARN_BADQVEL, STET_FAULT_BAD_QVEL, true},
    {mjWARN_BADQACC, STET_FAULT_BAD_QACC, true},           {mjWARN_BADCTRL, STET_FAULT_BAD_CTRL, false},
};

static void list_inputs(bool inputs[STI_FIELD_COUNT])
{
    for (int f = 0; f < STI_FIELD_COUNT; ++f) inputs[f] = sti_field_writer[f] == STI_WRITER_CALLER;
}

/*
 * The reset after an error erased what the caller had written; it is pushed again from the arrays, because it stays
 * valid (MUJOCO-2).
 */
static void push_inputs(stet_worlds *worlds, int64_t w)
{
    bool inputs[STI_FIELD_COUNT];
    list_inputs(inputs);
    (void)sti_worlds_push(worlds, w, inputs);
}

/* Turns MuJoCo's warnings of one step into faults, and clears the warnings. */
static void take_warnings(walker *k)
{
    assert(k->w >= 0 && k->w < k->worlds->nworld && k->d == k->worlds->state.data[k->w] && "MUJOCO-1");
    for (size_t i = 0; i < sizeof warnings / sizeof *warnings; ++i) {
        mjWarningStat *stat = &k->d->warning[warnings[i].warning];
        if (!stat->number) continue;
        stat->number = 0;
        k->worlds->state.faults[k->w] |= 1u << warnings[i].fault;
        if (warnings[i].was_reset) k->worlds->marks[k->w] = 1;
    }
}

static void run_steps(void *context)
{
    walker *k = context;
    for (; k->left > 0; --k->left) {
        mj_step(k->m, k->d);
        take_warnings(k);
    }
}

static int64_t block_end(const stet_worlds *worlds, int64_t block)
{
    int64_t end = (block + 1) * worlds->device->lanes;
    return end < worlds->nworld ? end : worlds->nworld;
}

/* Counts the worlds of each block that will be stepped; returns the total. */
static int64_t count_pending(stet_worlds *worlds, const uint8_t *mask)
{
    int64_t all = 0;
    for (int64_t b = 0; b < sti_worlds_blocks(worlds); ++b) {
        int n = 0;
        for (int64_t w = b * worlds->device->lanes; w < block_end(worlds, b); ++w) n += !mask || mask[w];
        atomic_store_explicit(&worlds->pending[b], n, memory_order_relaxed);
        all += n;
    }
    return all;
}

/*
 * The last world of a block writes the states of those that stepped, so threads never share a cache line of the arrays.
 * What the caller wrote to the results of a world that did not step stays.
 */
static void finish_world(stet_worlds *worlds, const uint8_t *mask, int64_t w)
{
    assert(atomic_load_explicit(&worlds->pending[w / worlds->device->lanes], memory_order_relaxed) > 0);
    int64_t block = w / worlds->device->lanes;
    if (atomic_fetch_sub_explicit(&worlds->pending[block], 1, memory_order_acq_rel) > 1) return;
    for (int64_t v = block * worlds->device->lanes; v < block_end(worlds, block); ++v)
        if (!mask || mask[v]) sti_worlds_pull(worlds, v, worlds->state.data[v], false);
}

static void step_world(void *context, int64_t w, int thread)
{
    stepping *s = context;
    stet_worlds *worlds = s->worlds;
    if (s->mask && !s->mask[w]) return;
    walker k = {.worlds = worlds,
                .m = sti_parameters_model(worlds, w, thread),
                .w = w,
                .d = worlds->state.data[w],
                .left = s->n};
    (void)sti_worlds_push(worlds, w, s->dirty);
    while (k.left > 0 && !sti_mujoco_guard(run_steps, &k, NULL, 0)) {
        worlds->state.faults[w] |= 1u << STET_FAULT_PHYSICS_ERROR;
        k.left--; /* the failed step counts as taken */
        if (!sti_reset_data(k.m, k.d, -1, false)) break;
        push_inputs(worlds, w);
    }
    assert(k.left >= 0 && "each step is taken once");
    finish_world(worlds, s->mask, w);
}

/* MUJOCO-3, for the marked worlds. Usually there is none, and the inputs' arrays are not touched. */
static stet_result pull_inputs(stet_worlds *worlds)
{
    bool inputs[STI_FIELD_COUNT];
    if (!memchr(worlds->marks, 1, (size_t)worlds->nworld)) return STET_OK;
    list_inputs(inputs);
    for (int f = 0; f < STI_FIELD_COUNT; ++f)
        if (inputs[f]) STI_TRY(sti_array_mirror_write(worlds->state.field[f], &worlds->state.mirror[f]));
    for (int64_t w = 0; w < worlds->nworld; ++w)
        if (worlds->marks[w]) sti_worlds_pull_fields(worlds, w, worlds->state.data[w], inputs);
    for (int f = 0; f < STI_FIELD_COUNT; ++f)
        if (inputs[f] && worlds->state.field[f]->nitem > 0) sti_worlds_field_written(worlds, (sti_field)f);
    return STET_OK;
}

stet_result sti_mujoco_steps(stet_worlds *worlds, const uint8_t *mask, int n)
{
    stepping s = {.worlds = worlds, .mask = mask, .n = n};
    assert(worlds->state.data && n > 0);
    STI_TRY(sti_parameters_update(worlds));
    if (mask) STI_TRY(sti_worlds_sync(worlds)); /* the caller's writes to the other worlds count, too */
    STI_TRY(sti_worlds_take_mirrors(worlds, STI_WRITER_PHYSICS));
    STI_TRY(sti_worlds_take_dirty(worlds, s.dirty));
    double steps = (double)count_pending(worlds, mask) * n, start = sti_now();
    memset(worlds->marks, 0, (size_t)worlds->nworld);
    sti_worlds_parallel(worlds, step_world, &s, worlds->state.step_seconds * steps + 1e-9);
    for (int64_t b = 0; b < sti_worlds_blocks(worlds); ++b)
        assert(atomic_load_explicit(&worlds->pending[b], memory_order_relaxed) == 0 && "each block was finished");
    worlds->state.step_seconds = (sti_now() - start) / (steps + 1e-9);
    sti_worlds_moved(worlds, mask);
    sti_quantities_stepped(worlds, mask);
    sti_worlds_written(worlds, false);
    for (int f = 0; f < STI_FIELD_COUNT; ++f)
        if (sti_field_writer[f] & STI_WRITER_PHYSICS)
            sti_observe_host(worlds->state.field[f], "a step of MuJoCo's physics");
    return pull_inputs(worlds);
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static void run_forward(void *context)
{
    walker *k = context;
    mj_forward(k->m, k->d);
    take_warnings(k);
}

/* MUJOCO-4. An error leaves the world's data as far as they were computed. */
static void forward_world(void *context, int64_t w, int thread)
{
    const stepping *s = context;
    stet_worlds *worlds = s->worlds;
    bool sensors[STI_FIELD_COUNT] = {[STI_FIELD_step_sensordata] = true};
    if (s->mask && !s->mask[w]) return;
    walker k = {.worlds = worlds, .m = sti_parameters_model(worlds, w, thread), .w = w, .d = worlds->state.data[w]};
    if (!sti_mujoco_guard(run_forward, &k, NULL, 0)) worlds->state.faults[w] |= 1u << STET_FAULT_PHYSICS_ERROR;
    sti_worlds_pull_fields(worlds, w, k.d, sensors);
}

stet_result sti_mujoco_forward(stet_worlds *worlds, const uint8_t *mask)
{
    stepping s = {.worlds = worlds, .mask = mask};
    stet_array *sensors = worlds->state.field[STI_FIELD_step_sensordata];
    assert(worlds->state.data);
    STI_TRY(sti_parameters_update(worlds));
    STI_TRY(sti_worlds_sync(worlds));
    STI_TRY(sti_array_mirror_write(sensors, &worlds->state.mirror[STI_FIELD_step_sensordata]));
    memset(worlds->marks, 0, (size_t)worlds->nworld); /* take_warnings marks */
    sti_worlds_parallel(worlds, forward_world, &s, worlds->state.step_seconds * (double)worlds->nworld);
    sti_quantities_changed(worlds, mask); /* what they were filled from is not the latest any more */
    sti_quantities_stepped(worlds, mask);
    if (sensors->nitem > 0) sti_worlds_field_written(worlds, STI_FIELD_step_sensordata);
    sti_observe_host(sensors, "MuJoCo's forward dynamics");
    return STET_OK;
}
