/* See control.h. */
#include "cli/run/control.h"

#include "cli/files/csv.h"
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

/* Which column of a table is each actuator's. */
static const char *find_columns(const char *path, const csv_table *t, const stet_model *model, int nu, int64_t *column)
{
    if (t->columns != nu || stet_model_get_object_count(model, STET_OBJECT_ACTUATOR) != nu)
        return error_text("%s: it names %lld columns; give the names of the %d actuators, or leave the names out", path,
                          (long long)t->columns, nu);
    for (int u = 0; u < nu; ++u) column[u] = -1;
    for (int64_t k = 0; k < t->columns; ++k) {
        int u;
        if (stet_model_find(model, STET_OBJECT_ACTUATOR, t->names[k], &u) != STET_OK)
            return error_text("%s: %.400s", path, stet_get_last_error());
        if (column[u] >= 0) return error_text("%s: two columns are named %.64s; name each once", path, t->names[k]);
        column[u] = k;
    }
    return NULL;
}

/* The numbers of a table, [rows][nu], in the actuators' order. */
static const char *read_table(const char *path, const stet_model *model, int nu, npy_array *out)
{
    csv_table t;
    const char *wrong = csv_read(path, &t);
    if (wrong) return wrong;
    int64_t *column = t.names ? calloc((size_t)nu + 1, sizeof *column) : NULL;
    *out = (npy_array){.ndim = 2, .shape = {t.rows, t.columns}, .count = t.rows * t.columns};
    if (t.names) wrong = column ? find_columns(path, &t, model, nu, column) : error_text("%s: out of memory", path);
    if (!wrong) out->data = malloc((size_t)out->count * sizeof *out->data);
    if (!wrong && !out->data) wrong = error_text("%s: out of memory; give a shorter file", path);
    for (int64_t i = 0; !wrong && i < out->count; ++i)
        out->data[i] = t.data[column ? i / t.columns * t.columns + column[i % t.columns] : i];
    free(column);
    csv_free(&t);
    return wrong;
}

int control_open(control *c, const run_options *o, const stet_group *group, const stet_model *model)
{
    int nu = stet_model_get_info(model).nu;
    *c = (control){.kind = o->control, .scale = o->noise_scale, .nworld = o->worlds, .nu = nu};
    c->first = stet_group_get_first(group);
    c->own = group ? stet_group_get_own(group) : c->nworld;
    if (c->kind != CONTROL_FILE) return -1;
    size_t n = strlen(o->control_path);
    bool text = n > 4 && strcmp(o->control_path + n - 4, ".csv") == 0;
    const char *wrong =
        text ? read_table(o->control_path, model, nu, &c->numbers) : npy_read(o->control_path, &c->numbers);
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
