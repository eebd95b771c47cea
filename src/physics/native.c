/* Native physics on the host: tables to the device, launches, and what a step leaves to do; see native.h. */
#include "physics/native_state.h"

#include "base/clock.h"
#include "base/environment.h"
#include "base/memory.h"
#include "kernel/gpu/programs.h"
#include "kernel/gpu/teams.h"
#include "kernel/record/launch.h"
#include "physics/features.h"
#include "physics/native_pull.h"
#include "physics/model_code.h"
#include "physics/parameters.h"
#include "physics/seen_how.k.h"
#include "physics/tables.h"
#include "worlds/poses.h"

#include <assert.h>
#include <string.h>

extern const sti_kernel sti_k_native_step, sti_k_native_poses, sti_k_native_reset;

_Static_assert(PH_BAD_QPOS == 1 << STET_FAULT_BAD_QPOS && PH_BAD_QVEL == 1 << STET_FAULT_BAD_QVEL &&
                   PH_BAD_QACC == 1 << STET_FAULT_BAD_QACC && PH_BAD_CTRL == 1 << STET_FAULT_BAD_CTRL &&
                   PH_CONTACTS_FULL == 1 << STET_FAULT_CONTACTS_FULL,
               "kernels write the bits of stet_fault");

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* What the first reset and the first poses need is compiled beside the step. */
static void begin_codes(stet_device *device)
{
    sti_program_begin(device, &sti_k_native_reset);
    sti_program_begin(device, &sti_k_native_poses);
}

stet_array *sti_native_faults(const sti_native *n) { return n->fault; }

static stet_result build_native(sti_native *n)
{
    stet_worlds *worlds = n->worlds;
    const char *stages = sti_environment("STET_STAGES");
    if (stages) STI_TRY(sti_native_set_stages(n, stages));
    STI_TRY(sti_physics_tables_make(worlds->model->mj, &n->tables));
    n->old = true;
    n->step = sti_k_native_step;
    n->many = worlds->nworld >= STI_NATIVE_MODEL_WORLDS;
    n->first_room = sti_physics_room(&n->tables);
    STI_TRY(sti_native_set_room(n, n->first_room));
    STI_TRY(sti_native_update(n));
    begin_codes(worlds->device);
    STI_TRY(sti_mask_init(&n->stepped, worlds->device, "stepped worlds", worlds->nworld));
    STI_TRY(
        STI_ARRAY(worlds->device, "faults that were not pulled", STET_DTYPE_INT, true, &n->fault, worlds->nworld, 1));
    STI_TRY(
        STI_ARRAY(worlds->device, "steps that were not pulled", STET_DTYPE_INT, true, &n->ticks, worlds->nworld, 1));
    STI_TRY(
        STI_ARRAY(worlds->device, "resets that were not pulled", STET_DTYPE_INT, true, &n->resets, worlds->nworld, 3));
    STI_TRY(STI_ARRAY(worlds->device, "most contacts", STET_DTYPE_INT, true, &n->most, worlds->nworld, 1));
    STI_TRY(STI_ARRAY(worlds->device, "steps of held worlds", STET_DTYPE_INT, true, &n->owed, worlds->nworld, 1));
    STI_TRY(STI_ARRAY(worlds->device, "clocks", STET_DTYPE_REAL, true, &n->clock, worlds->nworld, 2));
    STI_TRY(sti_mask_init(&n->put_back, worlds->device, "worlds to put back", worlds->nworld));
    STI_TRY(sti_native_put_resets(n));
    n->keyframe = NO_KEY;
    sti_stamp_keep_version(&n->pulled, &n->fault->version);
    return sti_mask_init(&n->due, worlds->device, "worlds to pose", worlds->nworld);
}

static stet_result make_poses(void *context, const uint8_t *due);
static stet_result pull(void *context, bool drop);
static stet_result reset_worlds(void *context, stet_array *mask, const stet_reset_def *def, int keyframe);

stet_result sti_native_create(stet_worlds *worlds, sti_native **out)
{
    *out = NULL;
    STI_TRY(sti_physics_check_model(worlds->model->mj));
    if (worlds->state.data)
        return sti_error(STET_ERROR_STATE,
                         "step: physics native has its state in the arrays, and these worlds were made "
                         "with MuJoCo's data; make them with exact = false");
    sti_native *n;
    STI_TRY(sti_alloc(&n, sizeof *n, "native physics"));
    n->worlds = worlds;
    stet_result result = build_native(n);
    if (result != STET_OK) {
        sti_native_destroy(n);
        return result;
    }
    if (!worlds->physics.context)
        sti_worlds_set_physics(worlds,
                               (sti_worlds_physics){n, make_poses, pull, reset_worlds, sti_native_fill,
                                                    sti_native_keep_steps, sti_native_begun, sti_native_expect_reads,
                                                    sti_native_grown_room, sti_native_restore_room});
    *out = n;
    return STET_OK;
}

void sti_native_destroy(sti_native *n)
{
    if (!n) return;
    if (n->worlds->physics.context == n) {
        (void)pull(n, false); /* a device that fails here says so in the next call */
        sti_worlds_set_physics(n->worlds, (sti_worlds_physics){0});
    }
    sti_program_drop(n->worlds->device, &n->step);
    sti_text_buffer_free(&n->code);
    sti_native_stages_free(n);
    sti_native_spare_free(n);
    sti_native_tape_free(n);
    sti_native_linear_free(n);
    sti_native_pull_free(n);
    stet_array *arrays[] = {n->m,    n->f,      n->fault,        n->ticks, n->most,  n->clock,
                            n->owed, n->memory, n->plain_memory, n->key,   n->resets};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; ++i) stet_array_destroy(arrays[i]);
    sti_native_reads_free(&n->reads);
    sti_native_seen_free(n);
    sti_physics_tables_free(&n->tables);
    sti_native_parameters_free(&n->own);
    sti_stamp_free(&n->pulled);
    sti_stamp_free(&n->clocked);
    sti_stamp_free(&n->numbered);
    sti_stamp_free(&n->counted);
    sti_mask_free(&n->stepped);
    sti_mask_free(&n->put_back);
    sti_mask_free(&n->due);
    sti_free(n);
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

static int64_t count_stepped(const sti_native *n)
{
    int64_t count = 0;
    for (int64_t w = 0; w < n->worlds->nworld; ++w) count += n->stepped.held[w];
    return count;
}

#ifndef NDEBUG
void sti_validate_native(const sti_native *n)
{
    const stet_array *of_worlds[] = {n->fault, n->ticks, n->resets, n->most, n->owed, n->clock};
    for (size_t i = 0; i < sizeof of_worlds / sizeof of_worlds[0]; ++i)
        assert(of_worlds[i]->worlds && of_worlds[i]->shape[0] == n->worlds->nworld && "a number of each world");
    assert(n->unpulled >= 0 && n->unpulled <= INT32_MAX && "NATIVE-3");
    assert(sti_physics_room(&n->tables) >= 0 && n->first_room >= 0 && n->looked >= 0 && "NATIVE-5");
    assert((n->key != NULL || n->keyframe == NO_KEY) && "a keyframe that was taken has its state");
    assert(n->keyframe >= NO_KEY && n->keyframe < n->worlds->model->mj->nkey);
    assert(n->stages.n >= 0 && n->stages.n <= STI_NATIVE_GROUPS);
    assert((!n->spare.tables || n->spare.m) && "NATIVE-8: spare tables on the device are those of the host");
}
#endif

/* `ticks` has room for the steps of this call. */
static stet_result make_room(sti_native *n, int nstep)
{
    if (n->unpulled + nstep > INT32_MAX) STI_TRY(pull(n, false));
    n->unpulled += nstep;
    assert(n->unpulled <= INT32_MAX && "NATIVE-3: ticks have room for all steps");
    return STET_OK;
}

stet_result sti_native_prepare(sti_native *n)
{
    if (n->begun) return STET_OK;
    STI_TRY(sti_worlds_take_writes(n->worlds));
    STI_TRY(sti_native_update(n));
    return sti_native_count_room(n);
}

static stet_result run_steps(sti_native *n, int nstep)
{
    if (nstep == 0) return STET_OK;
    return n->worlds->device->launch_observer ? sti_native_run_taped(n, nstep) : sti_native_run(n, nstep);
}

/* NATIVE-9: the same, before the last of which the state is kept. */
static stet_result run_and_keep(sti_native *n, int nstep)
{
    STI_TRY(run_steps(n, nstep - 1));
    STI_TRY(sti_native_see(n, n->stepped.array, SEEN_KEEP));
    STI_TRY(run_steps(n, 1));
    return sti_native_see(n, n->stepped.array, SEEN_LOST);
}

stet_result sti_native_steps(sti_native *n, const uint8_t *mask, int nstep)
{
    stet_worlds *worlds = n->worlds;
    assert(nstep > 0);
    sti_validate_native(n);
    STI_TRY(sti_worlds_take_writes(worlds));
    STI_TRY(sti_native_look_at_room(n));
    STI_TRY(make_room(n, nstep));
    STI_TRY(sti_native_prepare(n));
    STI_TRY(sti_native_update(n));
    STI_TRY(sti_mask_put(&n->stepped, mask));
    double start = sti_now();
    STI_TRY(sti_native_sees(n) ? run_and_keep(n, nstep) : run_steps(n, nstep));
    if (worlds->device->can.host_memory && !worlds->device->listing)
        worlds->state.step_seconds = (sti_now() - start) / (double)(nstep * count_stepped(n));
    sti_worlds_launch_wrote(worlds);
    sti_worlds_moved(worlds, mask);
    sti_quantities_stepped(worlds, mask);
    return STET_OK;
}

/* ---- a reset (NATIVE-4) ------------------------------------------------------------------------------------------ */

/* worlds/worlds.h: sti_worlds_physics */
static stet_result reset_worlds(void *context, stet_array *mask, const stet_reset_def *def, int keyframe)
{
    sti_native *n = context;
    stet_worlds *worlds = n->worlds;
    assert(keyframe >= -1 && keyframe < worlds->model->mj->nkey);
    STI_TRY(sti_native_update(n));
    STI_TRY(sti_native_take_key(n, keyframe));
    if (!sti_stamp_is(&n->numbered, &worlds->state.stamps.resets))
        STI_TRY(sti_native_put_resets(n)); /* somebody else's */
    if (!mask) STI_TRY(sti_mask_put(&n->put_back, def->mask));
    const sti_native_reset_args reset = {mask ? mask : n->put_back.array, keyframe, def->qpos_noise, def->qvel_noise};
    STI_TRY(worlds->device->launch_observer ? sti_native_reset_taped(n, &reset) : sti_native_launch_reset(n, &reset));
    if (!sti_native_sees(n)) return STET_OK;
    stet_array *chosen = reset.mask->dtype == STET_DTYPE_U8 ? n->put_back.array : reset.mask; /* as it was taken */
    return sti_native_see(n, chosen, SEEN_FORGET);
}

/* ---- what steps leave to do (NATIVE-3) --------------------------------------------------------------------------- */

static double add_steps(double time, double dt, int32_t ticks)
{
    assert(ticks >= 0);
    for (int32_t i = 0; i < ticks; ++i) time += dt;
    return time;
}

/* Where the time of a world begins that made its ticks since. */
static double begin_time(const sti_native *n, int64_t w, int32_t fault)
{
    if (fault & PH_WAS_RESET) return 0;
    return fault & PH_WAS_PUT_BACK ? n->key_time : n->worlds->state.time[w];
}

/* Worlds that step together have the same time, which is added up once. */
static void advance_times(sti_native *n, const int32_t *fault, const int32_t *ticks, void *mirror)
{
    stet_worlds *worlds = n->worlds;
    stet_array *time = worlds->state.field[STI_FIELD_time];
    double dt = 0, from = 0, to = 0;
    int32_t last = 0;
    for (int64_t w = 0; w < worlds->nworld; ++w) {
        int64_t at = sti_array_index(n->ticks, w, 0);
        double begin = begin_time(n, w, fault[at]), step = sti_parameters_timestep(worlds, w);
        if (begin != from || step != dt || ticks[at] != last) to = add_steps(begin, step, ticks[at]);
        dt = step;
        from = begin;
        last = ticks[at];
        worlds->state.time[w] = to;
        sti_mirror_set(time, mirror, w, 0, to);
    }
}

static void take_faults(sti_native *n, const int32_t *fault)
{
    for (int64_t w = 0; w < n->worlds->nworld; ++w) {
        int32_t bits = fault[sti_array_index(n->fault, w, 0)];
        if (bits & PH_WAS_PUT_BACK) n->worlds->state.faults[w] = 0;
        n->worlds->state.faults[w] |= (uint32_t)(bits & ~(PH_WAS_RESET | PH_WAS_PUT_BACK));
    }
}

/* Numbers of resets, if there were any. */
static stet_result take_resets(sti_native *n)
{
    stet_worlds *worlds = n->worlds;
    void *mirror;
    if (sti_stamp_is(&n->counted, &n->resets->version)) return STET_OK;
    STI_TRY(sti_array_mirror(n->resets, &mirror));
    const int32_t *resets = mirror;
    for (int64_t w = 0; w < worlds->nworld; ++w) {
        uint32_t number = (uint32_t)resets[sti_array_index(n->resets, w, 0)];
        if (resets[sti_array_index(n->resets, w, 1)] == 0) continue;
        worlds->state.resets[w] += number - (uint32_t)worlds->state.resets[w];
    }
    return STET_OK;
}

static stet_result take_steps(sti_native *n)
{
    void *fault, *ticks, *mirror;
    STI_TRY(sti_array_mirror(n->fault, &fault));
    STI_TRY(sti_array_mirror(n->ticks, &ticks));
    STI_TRY(take_resets(n));
    STI_TRY(sti_array_mirror_write(n->worlds->state.field[STI_FIELD_time], &mirror));
    advance_times(n, fault, ticks, mirror);
    take_faults(n, fault);
    sti_worlds_field_written(n->worlds, STI_FIELD_time);
    return STET_OK;
}

static stet_result clear_array(stet_array *a)
{
    void *mirror;
    STI_TRY(sti_mirror_overwrite(a, &mirror));
    memset(mirror, 0, a->size);
    sti_array_mirror_written(a);
    return STET_OK;
}

static stet_result pull(void *context, bool drop)
{
    sti_native *n = context;
    STI_TRY(sti_array_ensure(n->fault)); /* listed steps run first */
    if (!drop) STI_TRY(sti_worlds_take_time(n->worlds));
    if (sti_stamp_is(&n->pulled, &n->fault->version)) return STET_OK;
    if (!drop) STI_TRY(take_steps(n));
    STI_TRY(clear_array(n->ticks));
    STI_TRY(clear_array(n->fault));
    if (!sti_stamp_is(&n->counted, &n->resets->version)) STI_TRY(sti_native_put_resets(n));
    STI_TRY(sti_native_put_clock(n));
    sti_stamp_keep_version(&n->pulled, &n->fault->version);
    n->unpulled = 0;
    sti_validate_native(n);
    if (!n->worlds->device->can.host_memory) { /* now: a step that is captured cannot upload */
        STI_TRY(sti_array_to_device(n->ticks));
        STI_TRY(sti_array_to_device(n->fault));
    }
    return sti_native_grow_room(n);
}

/* ---- poses ------------------------------------------------------------------------------------------------------- */

/* All worlds but those whose poses are the caller's: a mask that changes from step to step would end a tape. */
static const uint8_t *due_on_tape(const sti_native *n, const uint8_t *due)
{
    return sti_worlds_any_caller_posed(n->worlds) ? due : NULL;
}

/* Kinematics use team memory up to the quantities of geoms. */
static stet_result make_poses(void *context, const uint8_t *due)
{
    sti_native *n = context;
    STI_TRY(sti_native_update(n));
    STI_TRY(sti_mask_put(&n->due, n->worlds->device->launch_observer ? due_on_tape(n, due) : due));
    return n->worlds->device->launch_observer ? sti_native_pose_taped(n) : sti_native_launch_poses(n);
}
