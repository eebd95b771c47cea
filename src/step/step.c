/*
 * Physics behind one interface: which kind it is, and how it affects the poses.
 *
 * Invariant: with pose_sync on, steps compute no pose; with it off, each time step does, and the state has the same
 * bits.
 */
#include "step/step.h"

#include "adjoint/tape/tape.h"
#include "kernel/record/launch_observer.h"
#include "physics/features.h"
#include "physics/native.h"
#include "physics/pace.h"
#include "step/mujoco.h"
#include "worlds/reset.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct stet_step {
    stet_worlds *worlds;
    stet_physics physics;
    sti_native *native; /* NULL: another physics */
    stet_array *faults; /* of MuJoCo's physics, once somebody asked; those of native physics are its own */
    char reason[STI_STEP_REASON];
};

const char *stet_physics_name(stet_physics physics)
{
    switch (physics) {
    case STET_PHYSICS_AUTO: return "auto";
    case STET_PHYSICS_MUJOCO: return "mujoco";
    case STET_PHYSICS_EXTERNAL: return "external";
    case STET_PHYSICS_NATIVE: return "native";
    }
    return "unknown";
}

const char *stet_native_get_feature(const stet_model *model, int i, bool *covered)
{
    bool has;
    return model ? sti_physics_feature(model->mj, i, covered ? covered : &has) : NULL;
}

/*
 * The worlds that the estimate is asked for: a whole vector of them, or a power of two from 4 on. So parts of a run,
 * whose numbers of worlds differ by one, get the same physics, but for a part that begins a vector or such a power.
 */
static int64_t round_worlds(int64_t nworld, int lanes)
{
    int64_t n = lanes < 4 ? lanes : 4;
    while (2 * n <= nworld && 2 * n <= lanes) n *= 2;
    return n;
}

bool sti_step_native_suits(const stet_model *model, const stet_device *device, int64_t nworld, int keyframe,
                           char *reason, size_t size)
{
    const mjModel *m = model->mj;
    char lacks[STI_LACKS_SIZE], estimate[64] = "";
    if (sti_physics_lacks(m, lacks, sizeof lacks)) {
        (void)snprintf(reason, size, "native physics lacks %s", lacks);
        return false;
    }
    sti_pace pace = {0, 0};
    if (!device->can.teams)
        pace = sti_physics_estimate_pace(m, keyframe, device->lanes, round_worlds(nworld, device->lanes));
    if (pace.mujoco > 0)
        (void)snprintf(estimate, sizeof estimate, ", in %.2g of the time of MuJoCo's by an estimate",
                       pace.native / pace.mujoco);
    if (pace.native > pace.mujoco) {
        (void)snprintf(reason, size,
                       "native physics covers the model, but takes %.2g times as long as MuJoCo's by an estimate",
                       pace.native / pace.mujoco);
        return false;
    }
    (void)snprintf(reason, size, "native physics covers the model%s%s",
                   sti_physics_replaces_solver(m) ? ", with Newton's method for its solver" : "", estimate);
    return true;
}

/* AUTO: native physics if it suits, and the worlds are made for it. */
static stet_physics pick_auto(const stet_worlds *worlds, char *reason, size_t size)
{
    if (!sti_step_native_suits(worlds->model, worlds->device, worlds->nworld, worlds->def.keyframe, reason, size))
        return STET_PHYSICS_MUJOCO;
    if (!worlds->state.data) return STET_PHYSICS_NATIVE;
    (void)snprintf(reason, size, "the worlds have exact data");
    return STET_PHYSICS_MUJOCO;
}

static stet_result pick_step(const stet_worlds *worlds, stet_physics wanted, stet_physics *out, char *reason,
                             size_t size)
{
    assert(size > sizeof "asked for");
    (void)snprintf(reason, size, "asked for");
    switch (wanted) {
    case STET_PHYSICS_EXTERNAL:
    case STET_PHYSICS_NATIVE:
    case STET_PHYSICS_MUJOCO: *out = wanted; break;
    case STET_PHYSICS_AUTO: *out = pick_auto(worlds, reason, size); break;
    default:
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "step: there is no physics %d; use auto, mujoco, native or external", (int)wanted);
    }
    if (*out != STET_PHYSICS_MUJOCO || worlds->state.data) return STET_OK;
    return sti_error(
        STET_ERROR_STATE,
        "step: physics %s needs MuJoCo's data of each world, and these worlds were made without; make them with "
        "exact = true, or use physics external",
        stet_physics_name(wanted));
}

static void warn_of_few_iterations(const mjModel *m)
{
    if (!sti_physics_ends_early(m)) return;
    sti_log(
        STET_LOG_WARNING,
        "native physics: the model asks for iterations %d, ls_iterations %d of its solver, which may end before it "
        "has converged; steps then differ from mj_step's by a large part of a velocity: give 6 and 20 or more where "
        "that matters",
        m->opt.iterations, m->opt.ls_iterations);
}

stet_result sti_step_create_picked(stet_worlds *worlds, stet_physics picked, const char *reason, stet_step **out)
{
    assert(picked != STET_PHYSICS_AUTO && reason && *reason);
    assert((picked != STET_PHYSICS_MUJOCO || worlds->state.data) && "MuJoCo's physics needs its data");
    /* Writes to qpos up to now still move the worlds; from now on external physics writes poses. */
    STI_TRY(sti_worlds_sync(worlds));
    stet_step *step;
    STI_TRY(sti_alloc(&step, sizeof *step, "step"));
    step->worlds = worlds;
    step->physics = picked;
    (void)snprintf(step->reason, sizeof step->reason, "%s", reason);
    stet_result result = picked == STET_PHYSICS_NATIVE ? sti_native_create(worlds, &step->native) : STET_OK;
    if (result != STET_OK) {
        sti_free(step);
        return result;
    }
    if (picked == STET_PHYSICS_NATIVE) warn_of_few_iterations(worlds->model->mj);
    worlds->poses.external = picked == STET_PHYSICS_EXTERNAL;
    assert((step->native != NULL) == (picked == STET_PHYSICS_NATIVE));
    *out = step;
    return STET_OK;
}

stet_result stet_step_create(stet_worlds *worlds, stet_physics physics, stet_step **out)
{
    if (!out) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_step_create: out is NULL; give a place for the step");
    *out = NULL;
    if (!worlds) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_step_create: worlds must not be NULL");
    stet_physics picked;
    char reason[STI_STEP_REASON];
    STI_TRY(pick_step(worlds, physics, &picked, reason, sizeof reason));
    return sti_step_create_picked(worlds, picked, reason, out);
}

void stet_step_destroy(stet_step *step)
{
    if (!step) return;
    step->worlds->poses.external = false;
    stet_array_destroy(step->faults);
    sti_native_destroy(step->native);
    sti_free(step);
}

stet_physics stet_step_get_physics(const stet_step *step) { return step ? step->physics : STET_PHYSICS_AUTO; }
const char *stet_step_get_reason(const stet_step *step) { return step ? step->reason : ""; }

stet_result sti_step_prepare(stet_step *step) { return step->native ? sti_native_prepare(step->native) : STET_OK; }

/* ---- steps ------------------------------------------------------------------------------------------------------ */

static stet_result run_mujoco(stet_worlds *worlds, const uint8_t *mask, int n)
{
    if (sti_enabled(&worlds->device->mechanisms, STET_MECHANISM_POSE_SYNC)) return sti_mujoco_steps(worlds, mask, n);
    for (int i = 0; i < n; ++i) {
        STI_TRY(sti_mujoco_steps(worlds, mask, 1));
        STI_TRY(sti_array_ensure(worlds->state.field[STI_FIELD_xpos]));
    }
    return STET_OK;
}

static stet_result run_native(stet_step *step, const uint8_t *mask, int n)
{
    if (sti_enabled(&step->worlds->device->mechanisms, STET_MECHANISM_POSE_SYNC))
        return sti_native_steps(step->native, mask, n);
    for (int i = 0; i < n; ++i) {
        STI_TRY(sti_native_steps(step->native, mask, 1));
        STI_TRY(sti_array_ensure(step->worlds->state.field[STI_FIELD_xpos]));
    }
    return STET_OK;
}

/* The caller moves the worlds; only their time advances here. */
static stet_result run_external(stet_worlds *worlds, const uint8_t *mask, int n)
{
    assert(worlds->poses.external && n > 0);
    STI_TRY(sti_worlds_sync(worlds));
    stet_array *time = worlds->state.field[STI_FIELD_time];
    void *mirror;
    STI_TRY(sti_array_mirror_write(time, &mirror));
    for (int64_t w = 0; w < worlds->nworld; ++w) {
        if (mask && !mask[w]) continue;
        double dt = sti_parameters_timestep(worlds, w);
        double *exact = worlds->state.data ? &worlds->state.data[w]->time : &worlds->state.time[w];
        for (int i = 0; i < n; ++i) *exact += dt;
        sti_mirror_set(time, mirror, w, 0, *exact);
    }
    sti_worlds_field_written(worlds, STI_FIELD_time);
    sti_observe_host(time, "a step of external physics");
    return STET_OK;
}

stet_result stet_step_run(stet_step *step, int n) { return stet_step_run_worlds(step, NULL, n); }

/* Is there a world to step? */
static bool any_step(const stet_worlds *worlds, const uint8_t *mask)
{
    for (int64_t w = 0; mask && w < worlds->nworld; ++w)
        if (mask[w]) return true;
    return mask == NULL;
}

/* Native physics is one launch, which needs nothing from the host; but the host keeps which worlds a mask has moved. */
static bool is_listable(const stet_step *step, const uint8_t *mask)
{
    const sti_mechanisms *m = &step->worlds->device->mechanisms;
    return step->physics == STET_PHYSICS_NATIVE && !mask && sti_enabled(m, STET_MECHANISM_POSE_SYNC);
}

/* Those of MuJoCo's physics are the host's. */
static stet_result put_faults(const stet_step *step)
{
    const stet_worlds *worlds = step->worlds;
    if (!step->faults) return STET_OK;
    return stet_array_write(step->faults, worlds->state.faults, (size_t)worlds->nworld * sizeof *worlds->state.faults);
}

stet_result stet_step_get_faults(stet_step *step, stet_array **out)
{
    if (!step || !out) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_step_get_faults: no argument may be NULL");
    *out = NULL;
    if (step->physics == STET_PHYSICS_EXTERNAL)
        return sti_error(STET_ERROR_UNSUPPORTED, "stet_step_get_faults: external physics reports none");
    if (step->physics == STET_PHYSICS_MUJOCO && !step->faults) {
        STI_TRY(
            STI_ARRAY(step->worlds->device, "faults", STET_DTYPE_INT, true, &step->faults, step->worlds->nworld, 1));
        STI_TRY(put_faults(step));
    }
    *out = step->native ? sti_native_faults(step->native) : step->faults;
    return STET_OK;
}

stet_result stet_step_forward(stet_step *step, const uint8_t *mask, stet_array *mask_array)
{
    if (!step) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_step_forward: step must not be NULL");
    stet_worlds *worlds = step->worlds;
    STI_TRY(sti_check_mask_array(worlds, "forward", mask, mask_array));
    switch (step->physics) {
    case STET_PHYSICS_MUJOCO:
        STI_TRY(sti_not_listing(worlds->device, "stet_step_forward"));
        STI_TRY(sti_read_mask_array(worlds, mask_array, &mask));
        STI_TRY(sti_mujoco_forward(worlds, mask));
        return put_faults(step);
    case STET_PHYSICS_NATIVE: return sti_native_forward(step->native, mask, mask_array);
    default:
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "forward: external physics leaves nothing; quantities of the present state "
                         "(stet_worlds_get_array) are computed when they are read");
    }
}

stet_result stet_step_run_worlds(stet_step *step, const uint8_t *mask, int n)
{
    if (!step) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_step_run: step must not be NULL");
    if (n < 0) return sti_error(STET_ERROR_INVALID_ARGUMENT, "step: %d time steps; ask for 0 or more", n);
    if (n == 0) return STET_OK;
    if (!is_listable(step, mask)) STI_TRY(sti_not_listing(step->worlds->device, "stet_step_run"));
    /* A step of no world takes what the caller wrote, as every step does: later writes are compared with it. */
    if (!any_step(step->worlds, mask)) return sti_worlds_sync(step->worlds);
    switch (step->physics) {
    case STET_PHYSICS_MUJOCO: STI_TRY(run_mujoco(step->worlds, mask, n)); return put_faults(step);
    case STET_PHYSICS_NATIVE: return run_native(step, mask, n);
    default: return run_external(step->worlds, mask, n);
    }
}

/* ---- gradients ------------------------------------------------------------------------------------- */

static stet_result check_native(const stet_step *step)
{
    if (step->native) return STET_OK;
    return sti_error(STET_ERROR_UNSUPPORTED, "gradients: steps of %s physics have none; make the sim with native",
                     stet_physics_name(step->physics));
}

stet_result stet_step_set_touch(stet_step *step, stet_touch touch)
{
    if (!step || (touch != STET_TOUCH_STEPS && touch != STET_TOUCH_SALTATION))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_step_set_touch: step must not be NULL, and touch is STEPS or SALTATION, not %d",
                         (int)touch);
    if (touch == STET_TOUCH_STEPS && !step->native) return STET_OK;
    STI_TRY(check_native(step));
    return sti_native_set_touch(step->native, touch == STET_TOUCH_SALTATION);
}

stet_result stet_step_get_touches(stet_step *step, stet_array **out)
{
    if (!step || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_step_get_touches: step and out must not be NULL");
    *out = step->native ? sti_native_touches(step->native) : NULL;
    if (*out) return STET_OK;
    return sti_error(STET_ERROR_STATE, "touches are counted with STET_TOUCH_SALTATION (stet_step_set_touch) alone");
}

stet_result stet_step_take_parameters(stet_step *step, const char *const *names, int n)
{
    if (!step || n < 0 || (n > 0 && !names))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_step_take_parameters: step and names must not be NULL, and n not below 0");
    STI_TRY(check_native(step));
    if (step->worlds->device->launch_observer)
        return sti_error(STET_ERROR_STATE, "stet_step_take_parameters: a tape is open; name parameters before");
    return sti_native_take_parameters(step->native, names, n);
}

stet_result stet_step_get_parameter_gradient(stet_step *step, stet_tape *tape, const char *name, double *out,
                                             int64_t nout)
{
    stet_array *gradient;
    if (!step || !tape || !name || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_step_get_parameter_gradient: step, tape, name and out must not be NULL");
    STI_TRY(check_native(step));
    stet_array *numbers = sti_native_table_numbers(step->native);
    if (!numbers || !sti_tape_touches(tape, numbers))
        return sti_error(STET_ERROR_STATE,
                         "gradients: no parameters were named before the tape began (stet_step_take_parameters)");
    int64_t items = stet_worlds_get_parameter_items(step->worlds, name);
    if (items > 0 && nout != step->worlds->nworld * items)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "gradients: parameter %s has %lld numbers, not %lld", name,
                         (long long)(step->worlds->nworld * items), (long long)nout);
    STI_TRY(stet_tape_get_gradient(tape, numbers, &gradient));
    return sti_native_parameter_gradient(step->native, name, gradient, out);
}

static stet_result check_linearize(stet_step *step, const char *name)
{
    STI_TRY(sti_not_listing(step->worlds->device, name));
    if (step->worlds->device->launch_observer)
        return sti_error(STET_ERROR_STATE, "%s: a tape is open; end it first", name);
    return sti_worlds_sync(step->worlds);
}

stet_result stet_step_linearize(stet_step *step, double *A, int64_t nA, double *B, int64_t nB)
{
    if (!step || !A || (!B && nB > 0))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_step_linearize: step, A and B must not be NULL");
    STI_TRY(check_native(step));
    const mjModel *m = step->worlds->model->mj;
    int64_t nworld = step->worlds->nworld, n = 2 * m->nv + m->na;
    if (nA != nworld * n * n || nB != nworld * n * m->nu)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "linearize: room for %lld and %lld numbers; A has %lld (%lld worlds, %lld rows), B %lld",
                         (long long)nA, (long long)nB, (long long)(nworld * n * n), (long long)nworld, (long long)n,
                         (long long)(nworld * n * m->nu));
    STI_TRY(check_linearize(step, "stet_step_linearize"));
    return sti_native_linearize(step->native, A, B);
}

stet_result stet_step_linearize_sensors(stet_step *step, double *C, int64_t nC, double *D, int64_t nD)
{
    if (!step || (!C && nC > 0) || (!D && nD > 0))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_step_linearize_sensors: step, C and D must not be NULL");
    STI_TRY(check_native(step));
    const mjModel *m = step->worlds->model->mj;
    int64_t rows = step->worlds->nworld * m->nsensordata, n = 2 * m->nv + m->na;
    if (nC != rows * n || nD != rows * m->nu)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "linearize: room for %lld and %lld numbers; C has %lld (%lld worlds, %lld numbers of "
                         "sensors), D %lld",
                         (long long)nC, (long long)nD, (long long)(rows * n), (long long)step->worlds->nworld,
                         (long long)m->nsensordata, (long long)(rows * m->nu));
    STI_TRY(check_linearize(step, "stet_step_linearize_sensors"));
    return sti_native_linearize_sensors(step->native, C, D);
}
