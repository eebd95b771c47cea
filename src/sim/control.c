/* Controls that the sim computes: the hold position, and noise around it. */
#include "sim/sim.h"

#include "device/host_mirror.h"
#include "kernel/record/launch.h"
#include "model/model.h"
#include "worlds/random.h"

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
    actuator a = {.half = 1, .low = -INFINITY, .high = INFINITY};
    if (m->actuator_ctrllimited[i]) {
        a.low = m->actuator_ctrlrange[2 * i];
        a.high = m->actuator_ctrlrange[2 * i + 1];
        a.half = (a.high - a.low) / 2;
    }
    double hold = keyframe >= 0 ? m->key_ctrl[(int64_t)keyframe * m->nu + i] : 0;
    a.hold = fmin(fmax(hold, a.low), a.high);
    return a;
}

stet_result sti_sim_make_controls(stet_sim *sim)
{
    const mjModel *m = sim->model->mj;
    int nu = (int)m->nu;
    stet_array **tables[] = {&sim->hold, &sim->half, &sim->low, &sim->high};
    static const char *const names[] = {"hold position", "half ranges of controls", "lowest controls",
                                        "highest controls"};
    enum { TABLES = sizeof tables / sizeof *tables };
    void *mirror[TABLES];
    for (int k = 0; k < TABLES; ++k) {
        STI_TRY(STI_ARRAY(sim->device, names[k], STET_DTYPE_REAL, false, tables[k], nu > 0 ? nu : 1));
        STI_TRY(sti_array_mirror_write(*tables[k], &mirror[k]));
    }
    for (int i = 0; i < nu; ++i) {
        actuator a = actuator_of(m, sim->keyframe, i);
        const double values[] = {a.hold, a.half, a.low, a.high};
        for (int k = 0; k < TABLES; ++k) sti_mirror_set(*tables[k], mirror[k], 0, i, values[k]);
    }
    for (int k = 0; k < TABLES; ++k) sti_array_mirror_written(*tables[k]);
    return STET_OK;
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

static stet_result hold_control(stet_sim *sim)
{
    stet_array *ctrl = sim->worlds->field[STI_FIELD_ctrl];
    if (ctrl->nitem == 0) return STET_OK;
    return STI_LAUNCH(sti_k_control_hold, sim->device, sim->worlds->nworld, sti_arg_array(ctrl),
                      sti_arg_array(sim->hold), sti_arg_int(ctrl->nitem));
}

stet_result stet_sim_control_zero(stet_sim *sim)
{
    if (!sim) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_sim_control_zero: sim must not be NULL");
    STI_TRY_TIMED(sim, control, hold_control(sim));
    return STET_OK;
}

static sti_arg low_word(uint64_t x) { return sti_arg_int((int32_t)(uint32_t)x); }

static stet_result noise(stet_sim *sim, double scale, int64_t frame)
{
    stet_array *ctrl = sim->worlds->field[STI_FIELD_ctrl];
    uint64_t seed = sim->worlds->def.seed, knot = (uint64_t)frame / FRAMES_OF_A_KNOT;
    double way = (double)((uint64_t)frame % FRAMES_OF_A_KNOT) / FRAMES_OF_A_KNOT;
    if (ctrl->nitem == 0) return STET_OK;
    return STI_LAUNCH(sti_k_control_noise, sim->device, sim->worlds->nworld, sti_arg_array(ctrl),
                      sti_arg_array(sim->hold), sti_arg_array(sim->half), sti_arg_array(sim->low),
                      sti_arg_array(sim->high), sti_arg_int(ctrl->nitem), sti_arg_real(scale), low_word(knot),
                      low_word(knot + 1), sti_arg_real(way), sti_arg_int(STI_STREAM_CONTROL), low_word(seed),
                      low_word(seed >> 32), sti_arg_int(sim->worlds->def.first_world));
}

stet_result stet_sim_control_noise(stet_sim *sim, double scale, int64_t frame)
{
    if (!sim) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_sim_control_noise: sim must not be NULL");
    if (!(scale >= 0 && scale <= FLT_MAX))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "control noise: scale is %g; give a number of 0 or more", scale);
    if (frame < 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "control noise: frame is %lld; frames begin at 0",
                         (long long)frame);
    STI_TRY_TIMED(sim, control, noise(sim, scale, frame));
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
    const struct {
        const char *name;
        stet_array *array;
    } tables[] = {{"hold", sim->hold}, {"half", sim->half}, {"low", sim->low}, {"high", sim->high}};
    for (size_t k = 0; k < sizeof tables / sizeof *tables; ++k)
        if (strcmp(name, tables[k].name) == 0) {
            *out = tables[k].array;
            return STET_OK;
        }
    return sti_error(STET_ERROR_NOT_FOUND, "control: there is no table \"%s\"; there are hold, half, low and high",
                     name);
}
