/*
 * Controls over time, an input of rounds: one frame per step.
 *
 * With exact MuJoCo data controls are used on the host: a frame is copied from the host copy of the input to `ctrl`.
 * Otherwise all frames are on the device, and a small launch copies one.
 */
#include "device/host_mirror.h"
#include "kernel/record/launch.h"
#include "sim/sim.h"

#include <string.h>

extern const sti_kernel sti_k_control_row, sti_k_control_row_alike;

/* Shape of a row: its worlds (1: the same for all), controls, and bytes of a number. */
typedef struct shape {
    int64_t nworld, nu;
    size_t each;
} shape;

static shape shape_of(const stet_sim *sim, size_t size, int64_t frames)
{
    const stet_array *ctrl = sim->worlds->state.field[STI_FIELD_ctrl];
    shape s = {1, ctrl->nitem, sim->device->real_size};
    if (size == (size_t)frames * (size_t)ctrl->nitem * (size_t)sim->worlds->nworld * s.each)
        s.nworld = sim->worlds->nworld;
    return s;
}

stet_result sti_round_check_controls(const stet_sim *sim, const stet_round_value *value)
{
    int64_t nu = sim->worlds->state.field[STI_FIELD_ctrl]->nitem, nworld = sim->worlds->nworld;
    size_t row, all;
    if (nu == 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "round: the scene has no actuators, so it takes no controls");
    if (value->frames < 1)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "round: controls of %lld frames; set `frames` to 1 or more",
                         (long long)value->frames);
    STI_TRY(sti_mul_size((size_t)value->frames, (size_t)nu * sim->device->real_size, &row, "controls"));
    STI_TRY(sti_mul_size(row, (size_t)nworld, &all, "controls"));
    if (value->size == row || value->size == all) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT,
                     "round: %zu bytes given for controls of %lld frames; [frames][%lld] has %zu, and "
                     "[frames][%lld worlds][%lld] has %zu",
                     value->size, (long long)value->frames, (long long)nu, row, (long long)nworld, (long long)nu, all);
}

/* Transposes [frames][nworld][nu] to the device's layout, [nworld][frames * nu]. */
static void turn(char *to, const char *from, int64_t frames, shape s)
{
    size_t row = (size_t)s.nu * s.each;
    for (int64_t w = 0; w < s.nworld; ++w)
        for (int64_t f = 0; f < frames; ++f)
            memcpy(to + (size_t)(w * frames + f) * row, from + (size_t)(f * s.nworld + w) * row, row);
}

static stet_result make_rows(stet_sim *sim, sti_content *c, shape s, bool *made)
{
    bool worlds = s.nworld > 1;
    int64_t n = c->frames * s.nu;
    *made = !c->held || c->held->worlds != worlds || c->held->nitem != n;
    if (!*made) return STET_OK;
    sti_content_drop_held(c);
    if (worlds)
        STI_TRY(STI_ARRAY(sim->device, "controls of a round", STET_DTYPE_REAL, true, &c->held, s.nworld, n));
    else
        STI_TRY(STI_ARRAY(sim->device, "controls of a round", STET_DTYPE_REAL, false, &c->held, n));
    sti_array_held_by(c->held, STET_MECHANISM_ROUNDS);
    return STET_OK;
}

stet_result sti_round_turn_controls(stet_sim *sim, sti_content *c, bool *made, const char **out)
{
    sti_round *round = &sim->round;
    shape s = shape_of(sim, c->size, c->frames);
    STI_TRY(make_rows(sim, c, s, made));
    if (round->turned_room < c->size) {
        STI_TRY(sti_realloc(&round->turned, c->size, "controls of a round"));
        round->turned_room = c->size;
    }
    turn(round->turned, c->host, c->frames, s);
    *out = round->turned;
    return STET_OK;
}

/* The round's controls over time; NULL: none. */
static const sti_round_slot *controls_of(const sti_round *round)
{
    for (int k = 0; round->info.open && k < round->nslot; ++k)
        if (round->slot[k].target.kind == STI_TARGET_CONTROLS && round->slot[k].pass == round->pass)
            return &round->slot[k];
    return NULL;
}

bool sti_round_has_controls(const sti_round *round)
{
    const sti_round_slot *slot = controls_of(round);
    return slot && round->frame < slot->now.frames;
}

static stet_result take_on_host(stet_sim *sim, const sti_content *c)
{
    stet_array *ctrl = sim->worlds->state.field[STI_FIELD_ctrl];
    shape s = shape_of(sim, c->size, c->frames);
    const char *row = c->host + (size_t)(sim->round.frame * s.nworld * s.nu) * s.each;
    char *mirror;
    STI_TRY(sti_mirror_overwrite(ctrl, (void **)&mirror));
    for (int64_t w = 0; w < sim->worlds->nworld; ++w)
        for (int64_t i = 0; i < s.nu; ++i)
            memcpy(mirror + (size_t)sti_array_index(ctrl, w, i) * s.each,
                   row + (size_t)((s.nworld > 1 ? w * s.nu : 0) + i) * s.each, s.each);
    sti_array_mirror_written(ctrl);
    return STET_OK;
}

static stet_result take_on_device(stet_sim *sim, stet_array *rows)
{
    stet_array *ctrl = sim->worlds->state.field[STI_FIELD_ctrl];
    sti_arg first = sti_arg_int(sim->round.frame * ctrl->nitem), nu = sti_arg_int(ctrl->nitem);
    if (rows->worlds)
        return STI_LAUNCH(sti_k_control_row, sim->device, sim->worlds->nworld, sti_arg_array(ctrl), sti_arg_array(rows),
                          first, nu);
    return STI_LAUNCH(sti_k_control_row_alike, sim->device, sim->worlds->nworld, sti_arg_array(ctrl),
                      sti_arg_array(rows), first, nu);
}

stet_result sti_round_take_controls(stet_sim *sim)
{
    STI_TRY(sti_not_listing(sim->device, "stet_sim_step"));
    const sti_content *now = &controls_of(&sim->round)->now;
    if (sim->worlds->state.data)
        STI_TRY(take_on_host(sim, now));
    else
        STI_TRY(take_on_device(sim, now->held));
    sim->round.frame++;
    return STET_OK;
}
