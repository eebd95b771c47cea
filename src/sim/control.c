/* Controls that the sim computes: the hold position, and noise around it. */
#include "sim/sim.h"

#include "device/host_mirror.h"
#include "kernel/record/launch.h"
#include "model/model.h"
#include "worlds/random.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

extern const sti_kernel sti_k_control_hold, sti_k_control_noise;

enum { FRAMES_OF_A_KNOT = 25 }; /* about half a second */

/* ---- the model's part -------------------------------------------------------------------------------------------- */

typedef struct actuator {
    double hold, half, low, high;
} actuator;

static actuator actuator_of(const mjModel *m, int keyframe, int64_t i)
{
    assert(i >= 0 && i < m->nu && keyframe >= -1 && keyframe < m->nkey);
    actuator a = {.half = 1, .low = -INFINITY, .high = INFINITY};
    if (m->actuator_ctrllimited[i]) {
        a.low = m->actuator_ctrlrange[2 * i];
        a.high = m->actuator_ctrlrange[2 * i + 1];
        a.half = (a.high - a.low) / 2;
    }
    double hold = keyframe >= 0 ? m->key_ctrl[(int64_t)keyframe * m->nu + i] : 0;
    a.hold = fmin(fmax(hold, a.low), a.high);
    assert(a.low <= a.high && a.half >= 0 && "a range that MuJoCo's compiler has checked");
    return a;
}

static const char *const names[STI_CONTROL_TABLES] = {"hold position", "half ranges of controls", "lowest controls",
                                                      "highest controls"};

static stet_result make_tables(stet_sim *sim, sti_controls *c)
{
    int64_t nu = sim->model->mj->nu > 0 ? sim->model->mj->nu : 1;
    for (int k = 0; k < STI_CONTROL_TABLES; ++k)
        STI_TRY(STI_ARRAY(c->device, names[k], STET_DTYPE_REAL, false, &c->table[k], nu));
    return STET_OK;
}

/*
 * Controls for MuJoCo's physics on a GPU are computed on a processor, by the same kernels. Computed on the device they
 * would have to come back, behind the last frame's picture.
 */
static stet_result make_host(stet_sim *sim)
{
    stet_device_def def = stet_default_device_def();
    sti_controls *host = &sim->host;
    if (!sim->device->can.own_memory || stet_step_get_physics(sim->step) != STET_PHYSICS_MUJOCO ||
        sim->model->mj->nu == 0)
        return STET_OK;
    def.type = STET_DEVICE_CPU;
    def.threads = stet_device_get_threads(sim->device);
    STI_TRY(stet_device_create(&def, &host->device));
    STI_TRY(STI_ARRAY(host->device, "controls", STET_DTYPE_REAL, true, &host->ctrl, sim->worlds->nworld,
                      sim->model->mj->nu));
    return make_tables(sim, host);
}

stet_result sti_sim_make_controls(stet_sim *sim)
{
    const mjModel *m = sim->model->mj;
    void *mirror[STI_CONTROL_TABLES];
    sti_controls *c = &sim->controls;
    c->device = sim->device;
    c->ctrl = sim->worlds->state.field[STI_FIELD_ctrl];
    STI_TRY(make_tables(sim, c));
    for (int k = 0; k < STI_CONTROL_TABLES; ++k) STI_TRY(sti_array_mirror_write(c->table[k], &mirror[k]));
    for (int i = 0; i < m->nu; ++i) {
        actuator a = actuator_of(m, sim->keyframe, i);
        const double values[STI_CONTROL_TABLES] = {a.hold, a.half, a.low, a.high};
        for (int k = 0; k < STI_CONTROL_TABLES; ++k) sti_mirror_set(c->table[k], mirror[k], 0, i, values[k]);
    }
    for (int k = 0; k < STI_CONTROL_TABLES; ++k) sti_array_mirror_written(c->table[k]);
    return make_host(sim);
}

void sti_sim_free_controls(stet_sim *sim)
{
    for (int k = 0; k < STI_CONTROL_TABLES; ++k) {
        stet_array_destroy(sim->controls.table[k]);
        stet_array_destroy(sim->host.table[k]);
    }
    stet_array_destroy(sim->host.ctrl);
    stet_device_destroy(sim->host.device);
}

/* ---- where they are computed ------------------------------------------------------------------------------------- */

/* The host cannot compute for a list, nor for a graph that is being captured. */
static bool on_host(const stet_sim *sim)
{
    return sim->host.device && !sim->device->listing && sti_device_capture(sim->device) == 0;
}

/* The host's tables follow the sim's, which a caller may write. */
static stet_result take_tables(stet_sim *sim)
{
    assert(sim->host.device);
    for (int k = 0; k < STI_CONTROL_TABLES; ++k) {
        stet_array *from = sim->controls.table[k], *to = sim->host.table[k];
        const void *values;
        STI_TRY(sti_array_ensure(from));
        (void)sti_array_poll_external_writes(from);
        if (sim->host.taken[k] == from->version.generation) continue;
        STI_TRY(stet_array_get_host(from, &values));
        STI_TRY(stet_array_write(to, values, stet_array_get_bytes(to)));
        sim->host.taken[k] = from->version.generation;
    }
    return STET_OK;
}

static stet_result put_controls(stet_sim *sim)
{
    stet_array *ctrl = sim->controls.ctrl;
    void *mirror;
    STI_TRY(sti_mirror_overwrite(ctrl, &mirror));
    STI_TRY(stet_array_read(sim->host.ctrl, mirror, stet_array_get_bytes(ctrl)));
    sti_array_mirror_written(ctrl);
    return STET_OK;
}

/* Runs `compute` where the physics takes controls. */
static stet_result
compute_controls(stet_sim *sim, stet_result (*compute)(const stet_sim *, const sti_controls *, void *), void *context)
{
    if (sim->controls.ctrl->nitem == 0) return STET_OK;
    if (!on_host(sim)) return compute(sim, &sim->controls, context);
    STI_TRY(take_tables(sim));
    STI_TRY(compute(sim, &sim->host, context));
    return put_controls(sim);
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

enum { HOLD, HALF, LOW, HIGH };

static stet_result hold_control(const stet_sim *sim, const sti_controls *c, void *context)
{
    (void)context;
    return STI_LAUNCH(sti_k_control_hold, c->device, sim->worlds->nworld, sti_arg_array(c->ctrl),
                      sti_arg_array(c->table[HOLD]), sti_arg_int(c->ctrl->nitem));
}

stet_result stet_sim_control_zero(stet_sim *sim)
{
    if (!sim) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_sim_control_zero: sim must not be NULL");
    STI_TRY_TIMED(sim, control, compute_controls(sim, hold_control, NULL));
    return STET_OK;
}

static sti_arg low_word(uint64_t x) { return sti_arg_int((int32_t)(uint32_t)x); }

typedef struct noise {
    double scale;
    int64_t frame;
} noise;

static stet_result draw_noise(const stet_sim *sim, const sti_controls *c, void *context)
{
    const noise *n = context;
    uint64_t seed = sim->worlds->def.seed, knot = (uint64_t)n->frame / FRAMES_OF_A_KNOT;
    double way = (double)((uint64_t)n->frame % FRAMES_OF_A_KNOT) / FRAMES_OF_A_KNOT;
    return STI_LAUNCH(sti_k_control_noise, c->device, sim->worlds->nworld, sti_arg_array(c->ctrl),
                      sti_arg_array(c->table[HOLD]), sti_arg_array(c->table[HALF]), sti_arg_array(c->table[LOW]),
                      sti_arg_array(c->table[HIGH]), sti_arg_int(c->ctrl->nitem), sti_arg_real(n->scale),
                      low_word(knot), low_word(knot + 1), sti_arg_real(way), sti_arg_int(STI_STREAM_CONTROL),
                      low_word(seed), low_word(seed >> 32), sti_arg_int(sim->worlds->def.first_world));
}

stet_result stet_sim_control_noise(stet_sim *sim, double scale, int64_t frame)
{
    if (!sim) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_sim_control_noise: sim must not be NULL");
    if (!(scale >= 0 && scale <= FLT_MAX))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "control noise: scale is %g; give a number of 0 or more", scale);
    if (frame < 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "control noise: frame is %lld; frames begin at 0",
                         (long long)frame);
    STI_TRY_TIMED(sim, control, compute_controls(sim, draw_noise, &(noise){scale, frame}));
    return STET_OK;
}

stet_result stet_sim_get_control_table(stet_sim *sim, const char *name, stet_array **out)
{
    if (!out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_sim_get_control_table: out is NULL; give a place for the array");
    *out = NULL;
    if (!sim || !name)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_sim_get_control_table: sim and name must not be NULL");
    static const char *const tables[STI_CONTROL_TABLES] = {"hold", "half", "low", "high"};
    for (int k = 0; k < STI_CONTROL_TABLES; ++k)
        if (strcmp(name, tables[k]) == 0) {
            *out = sim->controls.table[k];
            return STET_OK;
        }
    return sti_error(STET_ERROR_NOT_FOUND, "control: there is no table \"%s\"; there are hold, half, low and high",
                     name);
}
