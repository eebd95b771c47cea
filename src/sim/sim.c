/*
 * The sim: creates and destroys the parts, steps, resets. Cameras, controls and frames have files of their own.
 * Invariants: sim.h.
 */
#include "sim/sim.h"

#include "model/model.h"
#include "physics/features.h"
#include "stage/stage.h"
#include "step/step.h"

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* The physics of a sim; reason: why AUTO is that. */
static stet_physics pick_physics(const stet_sim *sim, const stet_sim_def *def, char reason[STI_STEP_REASON])
{
    if (def->physics != STET_PHYSICS_AUTO) return def->physics;
    bool native = sti_step_native_suits(sim->model, sim->device, def->nworld, def->keyframe, reason, STI_STEP_REASON);
    return native ? STET_PHYSICS_NATIVE : STET_PHYSICS_MUJOCO;
}

/* The worlds and their step. MuJoCo's data of each world are needed by MuJoCo's physics alone. */
static stet_result make_worlds(stet_sim *sim, const stet_sim_def *resolved)
{
    char reason[STI_STEP_REASON];
    stet_physics physics = pick_physics(sim, resolved, reason);
    stet_worlds_def def = stet_default_worlds_def();
    def.nworld = resolved->nworld;
    def.first_world = resolved->first_world;
    def.seed = resolved->seed;
    def.keyframe = resolved->keyframe;
    def.exact = physics == STET_PHYSICS_MUJOCO;
    STI_TRY(stet_worlds_create(sim->device, sim->model, &def, &sim->worlds));
    if (resolved->physics != STET_PHYSICS_AUTO) return stet_step_create(sim->worlds, physics, &sim->step);
    return sti_step_create_picked(sim->worlds, physics, reason, &sim->step);
}

static stet_result make_sim(stet_sim *sim, const stet_sim_def *resolved)
{
    stet_device_def device = resolved->device;
    bool own = resolved->physics == STET_PHYSICS_NATIVE || resolved->physics == STET_PHYSICS_AUTO;
    if (resolved->outputs == 0) /* pictures have lanes of rays */
        device.nworld = own ? sti_physics_count_lanes(sim->model->mj, resolved->nworld) : resolved->nworld;
    STI_TRY(stet_device_create(&device, &sim->device));
    if (!sim->device->can.own_memory) STI_TRY(sti_sim_check_memory(resolved, sim->ncamera, sim->device->real_size));
    STI_TRY(make_worlds(sim, resolved));
    STI_TRY(stet_stage_create(sim->worlds, &sim->stage));
    STI_TRY(stet_stage_decorate(sim->stage, resolved->decorations));
    STI_TRY(sti_sim_make_cameras(sim, resolved));
    STI_TRY(sti_sim_make_controls(sim));
    return sti_sim_make_frames(sim, resolved);
}

stet_result stet_sim_create(stet_model *model, const stet_sim_def *def, stet_sim **out)
{
    int ncamera;
    stet_sim *sim;
    if (!out) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_sim_create: out is NULL; give a place for the sim");
    *out = NULL;
    if (!model || !def)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_sim_create: model and def must not be NULL");
    STI_TRY(sti_sim_check(model, def));
    STI_TRY(sti_sim_count_cameras(model, def, &ncamera));
    stet_sim_def resolved = sti_sim_resolve(model, def);
    STI_TRY(sti_alloc(&sim, sizeof *sim, "sim"));
    sti_model_retain(model);
    sim->model = model;
    sim->ncamera = ncamera;
    sim->keyframe = resolved.keyframe;
    sim->seed = resolved.seed;
    stet_result result = make_sim(sim, &resolved);
    if (result == STET_OK)
        *out = sim;
    else
        stet_sim_destroy(sim);
    return result;
}

void stet_sim_destroy(stet_sim *sim)
{
    if (!sim) return;
    sti_round_free(sim);
    sti_phases_free(sim);
    stet_tiles_destroy(sim->tiles);
    sti_sim_free_controls(sim);
    stet_stage_destroy(sim->stage);
    stet_step_destroy(sim->step);
    stet_worlds_destroy(sim->worlds);
    stet_device_destroy(sim->device);
    stet_model_destroy(sim->model);
    sti_free(sim->cameras);
    sti_free(sim);
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

stet_device *stet_sim_get_device(stet_sim *sim) { return sim ? sim->device : NULL; }
stet_worlds *stet_sim_get_worlds(stet_sim *sim) { return sim ? sim->worlds : NULL; }
stet_stage *stet_sim_get_stage(stet_sim *sim) { return sim ? sim->stage : NULL; }
stet_model *stet_sim_get_model(stet_sim *sim) { return sim ? sim->model : NULL; }
stet_physics stet_sim_get_physics(const stet_sim *sim) { return stet_step_get_physics(sim ? sim->step : NULL); }
stet_result stet_sim_get_step_faults(stet_sim *sim, stet_array **out)
{
    return stet_step_get_faults(sim ? sim->step : NULL, out);
}

stet_result stet_sim_linearize(stet_sim *sim, double *A, int64_t nA, double *B, int64_t nB)
{
    return stet_step_linearize(sim ? sim->step : NULL, A, nA, B, nB);
}

stet_result stet_sim_linearize_sensors(stet_sim *sim, double *C, int64_t nC, double *D, int64_t nD)
{
    return stet_step_linearize_sensors(sim ? sim->step : NULL, C, nC, D, nD);
}

stet_result stet_sim_set_touch(stet_sim *sim, stet_touch touch)
{
    return stet_step_set_touch(sim ? sim->step : NULL, touch);
}

stet_result stet_sim_get_touches(stet_sim *sim, stet_array **out)
{
    return stet_step_get_touches(sim ? sim->step : NULL, out);
}

stet_result stet_sim_take_parameters(stet_sim *sim, const char *const *names, int n)
{
    return stet_step_take_parameters(sim ? sim->step : NULL, names, n);
}

stet_result stet_sim_get_parameter_gradient(stet_sim *sim, stet_tape *tape, const char *name, double *out, int64_t nout)
{
    return stet_step_get_parameter_gradient(sim ? sim->step : NULL, tape, name, out, nout);
}

const char *stet_sim_get_physics_reason(const stet_sim *sim) { return stet_step_get_reason(sim ? sim->step : NULL); }
int stet_sim_get_keyframe(const stet_sim *sim) { return sim ? sim->keyframe : -1; }
uint32_t stet_sim_get_outputs(const stet_sim *sim) { return sim ? sim->outputs : 0; }
int stet_sim_get_ncamera(const stet_sim *sim) { return sim ? sim->ncamera : 0; }

const stet_camera *stet_sim_get_camera(const stet_sim *sim, int camera)
{
    return sim && camera >= 0 && camera < sim->ncamera ? &sim->cameras[camera] : NULL;
}

stet_sim_timing stet_sim_get_timing(const stet_sim *sim) { return sim ? sim->timing : (stet_sim_timing){0}; }
void stet_sim_clear_timing(stet_sim *sim)
{
    if (sim) sim->timing = (stet_sim_timing){0};
}

/* ---- stepping ---------------------------------------------------------------------------------------------------- */

stet_result stet_sim_step_worlds(stet_sim *sim, const uint8_t *mask, int n)
{
    if (!sim) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_sim_step: sim must not be NULL");
    sim->made = 0;
    STI_TRY(sti_not_listing(sim->device, "stet_sim_step"));
    if (n > 0 && sti_round_has_controls(&sim->round)) STI_TRY_TIMED(sim, control, sti_round_take_controls(sim));
    sim->stepped = mask;
    stet_result result = n > 0 && sti_phases_any(&sim->phases) ? sti_phases_step(sim, n) : sti_sim_physics(sim, n);
    sim->stepped = NULL;
    return result;
}

stet_result stet_sim_step(stet_sim *sim, int n) { return stet_sim_step_worlds(sim, NULL, n); }

stet_result stet_sim_forward(stet_sim *sim, const uint8_t *mask, stet_array *mask_array)
{
    if (!sim) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_sim_forward: sim must not be NULL");
    STI_TRY_TIMED(sim, step, stet_step_forward(sim->step, mask, mask_array));
    return STET_OK;
}

/* ---- putting worlds back ----------------------------------------------------------------------------------------- */

stet_result stet_sim_reset(stet_sim *sim, const stet_reset_def *def)
{
    if (!sim) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_sim_reset: sim must not be NULL");
    return stet_worlds_reset(sim->worlds, def);
}

stet_result stet_sim_restore(stet_sim *sim, const stet_snapshot *snapshot)
{
    if (!sim) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_sim_restore: sim must not be NULL");
    STI_TRY(stet_worlds_restore(sim->worlds, snapshot));
    return STET_OK;
}

stet_result stet_sim_resume(stet_sim *sim, const char *path)
{
    if (!sim) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_sim_resume: sim must not be NULL");
    STI_TRY(stet_worlds_resume(sim->worlds, path));
    return STET_OK;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static int64_t data_bytes(const stet_worlds *worlds)
{
    int64_t n = 0;
    for (int64_t w = 0; worlds->state.data && w < worlds->nworld; ++w)
        n += (int64_t)(sizeof(mjData) + (size_t)worlds->state.data[w]->nbuffer +
                       (size_t)worlds->state.data[w]->maxuse_arena);
    for (int t = 0; t < worlds->device->threads; ++t)
        n += (int64_t)(sizeof(mjData) + (size_t)worlds->poses.scratch[t]->nbuffer);
    return n;
}

int64_t stet_sim_get_bytes(const stet_sim *sim)
{
    if (!sim) return 0;
    int64_t n = sim->device->array_bytes + data_bytes(sim->worlds) + sti_stage_host_bytes(sim->stage) +
                sim->device->mechanisms.counters.mechanism[STET_MECHANISM_READBACK].held_bytes;
    if (sim->host.device) n += sim->host.device->array_bytes;
    for (int k = 0; k < sim->round.nslot; ++k)
        n += (int64_t)(sim->round.slot[k].now.room + sim->round.slot[k].next.room);
    return n;
}
