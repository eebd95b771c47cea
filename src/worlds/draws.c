/* Parameters drawn at resets; see parameter.h. */
#include "device/host_mirror.h"
#include "worlds/parameter.h"
#include "worlds/random.h"
#include "worlds/worlds.h"

bool sti_parameters_drawn(const sti_parameters *p)
{
    for (int k = 0; k < STI_PARAMETER_COUNT; ++k)
        if (p->noise[k]) return true;
    return false;
}

stet_result sti_parameters_draw(stet_worlds *worlds, const stet_array *draws)
{
    sti_parameters *p = &worlds->parameters;
    for (int k = 0; k < STI_PARAMETER_COUNT; ++k) {
        void *mirror;
        if (!p->noise[k] || p->noise[k]->nitem == 0) continue;
        if (k == STI_PARAMETER_timestep) STI_TRY(sti_worlds_pull_physics(worlds)); /* steps so far had the old one */
        STI_TRY(sti_parameter_give(worlds, (sti_parameter)k)); /* a round or the caller may have taken it back */
        STI_TRY(sti_noise_draws(p->noise[k], worlds->def.seed, worlds->def.first_world,
                                STI_STREAM_PARAMETER + sti_parameter_stream((sti_parameter)k), draws));
        STI_TRY(sti_array_mirror_read(p->noise[k], &mirror));
    }
    return STET_OK;
}

/* Draws the value of one world. Numbers of noise are exact multiples of 2^-23 in float and double alike. */
static void take_one(stet_worlds *worlds, sti_parameter which, int64_t w, const void *mirror)
{
    sti_parameters *p = &worlds->parameters;
    const stet_array *noise = p->noise[which];
    double *to = p->value[which] + w * noise->nitem;
    for (int64_t i = 0; i < noise->nitem; ++i) {
        double low = p->low[which][i], high = p->high[which][i];
        double x = low + (high - low) * (0.5 * (sti_mirror_get(noise, mirror, w, i) + 1));
        to[i] = x < high ? x : high;
    }
    sti_parameter_put(worlds, which, w, to);
}

void sti_parameters_take_drawn(stet_worlds *worlds)
{
    sti_parameters *p = &worlds->parameters;
    for (int k = 0; k < STI_PARAMETER_COUNT; ++k) {
        void *mirror;
        if (!p->noise[k] || p->noise[k]->nitem == 0) continue;
        (void)sti_array_mirror(p->noise[k], &mirror); /* it was downloaded by sti_parameters_draw */
        for (int64_t w = 0; w < worlds->nworld; ++w)
            if (worlds->marks[w]) take_one(worlds, (sti_parameter)k, w, mirror);
        sti_parameter_changed(worlds, (sti_parameter)k, worlds->marks);
    }
}
