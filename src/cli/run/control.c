/* See control.h. */
#include "cli/run/control.h"

#include "cli/report_error.h"

#include <stdlib.h>
#include <string.h>

static void show_shape(char *text, size_t size, const npy_array *a)
{
    size_t used = 0;
    for (int k = 0; k < a->ndim && used < size; ++k)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", k ? " x " : "", (long long)a->shape[k]);
    if (a->ndim == 0) snprintf(text, size, "a single number");
}

static bool right_shape(const npy_array *a, const run_options *o, int nu)
{
    bool all = a->ndim == 2 && a->shape[1] == nu;
    bool each = a->ndim == 3 && a->shape[1] == o->worlds && a->shape[2] == nu;
    return (all || each) && a->shape[0] >= o->frames;
}

int control_open(control *c, const run_options *o, const stet_group *group, int nu)
{
    *c = (control){.kind = o->control, .scale = o->noise_scale, .nworld = o->worlds, .nu = nu};
    c->first = stet_group_get_first(group);
    c->own = group ? stet_group_get_own(group) : c->nworld;
    if (c->kind != CONTROL_FILE) return -1;
    const char *wrong = npy_read(o->control_path, &c->numbers);
    if (wrong) return report_error(EXIT_INPUT, "--control %s", wrong);
    char shape[200];
    show_shape(shape, sizeof shape, &c->numbers);
    if (!right_shape(&c->numbers, o, nu))
        return report_error(
            EXIT_INPUT,
            "--control %s: its shape is %s; for %lld frames it must be %lld x %d (frames x nu) or %lld x %lld x %d "
            "(frames x worlds x nu), with that many frames or more",
            o->control_path, shape, (long long)o->frames, (long long)o->frames, nu, (long long)o->frames,
            (long long)o->worlds, nu);
    c->row = calloc((size_t)(c->own * nu) + 1, sizeof *c->row);
    if (!c->row)
        return report_error(EXIT_INPUT, "--control %s: out of memory for %lld worlds; ask for fewer", o->control_path,
                            (long long)o->worlds);
    return -1;
}

void control_close(control *c)
{
    free(c->numbers.data);
    free(c->row);
    c->numbers.data = NULL;
    c->row = NULL;
}

static stet_result apply_file(control *c, stet_sim *sim, int64_t frame)
{
    bool each = c->numbers.ndim == 3;
    const double *from = c->numbers.data + frame * c->nu * (each ? c->nworld : 1);
    if (each) from += c->first * c->nu;
    for (int64_t w = 0; w < c->own; ++w)
        for (int64_t u = 0; u < c->nu; ++u) c->row[w * c->nu + u] = (float)from[(each ? w * c->nu : 0) + u];
    stet_array *ctrl;
    stet_result result = stet_worlds_get_array(stet_sim_get_worlds(sim), "ctrl", &ctrl);
    return result == STET_OK ? stet_array_write(ctrl, c->row, stet_array_get_bytes(ctrl)) : result;
}

stet_result control_apply(control *c, stet_sim *sim, int64_t frame, int64_t since)
{
    if (c->kind == CONTROL_FILE) return apply_file(c, sim, frame);
    if (c->kind == CONTROL_NOISE) return stet_sim_control_noise(sim, c->scale, since);
    return stet_sim_control_zero(sim);
}
