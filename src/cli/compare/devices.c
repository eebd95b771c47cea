/* See devices.h. */
#include "cli/compare/devices.h"

#include "cli/commands/device.h"
#include "cli/compare/difference.h"
#include "cli/report_error.h"
#include "cli/run/control.h"
#include "cli/run/scene.h"

#include <string.h>

typedef struct pair {
    const run_options *options;
    stet_model *model;
    control control;
    stet_sim *sim[2];
    int substeps;
    difference difference;
} pair;

static int parse_with(const char *text, stet_device_def *out)
{
    *out = stet_default_device_def();
    if (strncmp(text, "cpu:", 4) == 0) {
        out->type = STET_DEVICE_CPU;
        out->isa = text + 4;
        return -1;
    }
    if (device_parse(text, out)) return -1;
    return report_error(
        EXIT_INPUT, "--with %s: there is no such device; there are cpu:SET (an instruction set), " DEVICE_NAMES, text);
}

/* Both have numbers of one type, moved by the same physics. */
static int check_sims(const pair *p)
{
    stet_device *a = stet_sim_get_device(p->sim[0]), *b = stet_sim_get_device(p->sim[1]);
    bool exact[2] = {strcmp(stet_device_get_isa(a), "f64") == 0, strcmp(stet_device_get_isa(b), "f64") == 0};
    if (exact[0] != exact[1])
        return report_error(EXIT_INPUT,
                            "--with: numbers are double on one of %s and %s; choose another instruction set",
                            stet_device_get_name(a), stet_device_get_name(b));
    if (stet_sim_get_physics(p->sim[0]) != stet_sim_get_physics(p->sim[1]))
        return report_error(EXIT_INPUT, "--physics auto: it differs between %s and %s; give mujoco or native",
                            stet_device_get_name(a), stet_device_get_name(b));
    return -1;
}

static int open_pair(pair *p, const char *with)
{
    const run_options *o = p->options;
    double frame_time;
    scene_place place[2] = {{.device = o->device, .nworld = o->worlds, .first_world = o->first_world}};
    place[1] = place[0];
    int code = parse_with(with, &place[1].device);
    if (code < 0) code = scene_load(o, &p->model, &p->substeps, &frame_time);
    if (code < 0) code = control_open(&p->control, o, NULL, p->model);
    for (int i = 0; i < 2 && code < 0; ++i) {
        if (o->threads > 0) place[i].device.threads = o->threads;
        code = scene_sim(o, p->model, &place[i], &p->sim[i]);
        if (code < 0 && o->resume && stet_sim_resume(p->sim[i], o->resume) != STET_OK)
            code = report_last_error(EXIT_INPUT);
    }
    return code < 0 ? check_sims(p) : code;
}

/* An array as the host sees it: [world][item …]. */
static stet_result view(stet_array *array, npy_raw *out)
{
    const void *data;
    stet_dtype dtype = stet_array_get_dtype(array);
    stet_result result = stet_array_get_host(array, &data);
    if (result != STET_OK) return result;
    *out = (npy_raw){.ndim = stet_array_get_ndim(array), .count = 1, .data = (unsigned char *)data};
    for (int i = 0; i < out->ndim; ++i) {
        out->shape[i] = stet_array_get_shape(array)[i];
        out->count *= out->shape[i];
    }
    out->type = dtype == STET_DTYPE_REAL ? 'f' : dtype == STET_DTYPE_U8 ? 'u' : 'i';
    out->size = out->count > 0 ? (int)((int64_t)stet_array_get_bytes(array) / out->count) : 1;
    return STET_OK;
}

static stet_result compare_field(pair *p, const char *name, int64_t frame)
{
    npy_raw side[2];
    for (int i = 0; i < 2; ++i) {
        stet_array *array;
        stet_result result = stet_worlds_get_array(stet_sim_get_worlds(p->sim[i]), name, &array);
        if (result == STET_OK) result = view(array, &side[i]);
        if (result != STET_OK) return result;
    }
    difference_look(&p->difference, name, (array_axes){.world = true}, frame, &side[0], &side[1]);
    return STET_OK;
}

static stet_result compare_picture(pair *p, const int64_t number[2], int camera, stet_output output, int64_t frame)
{
    npy_raw side[2];
    char name[100];
    for (int i = 0; i < 2; ++i) {
        stet_array *array;
        stet_result result = stet_sim_get_array(p->sim[i], number[i], camera, output, &array);
        if (result == STET_OK) result = view(array, &side[i]);
        if (result != STET_OK) return result;
    }
    (void)snprintf(name, sizeof name, "%s:%s", stet_output_name(output), stet_sim_get_camera(p->sim[0], camera)->name);
    difference_look(&p->difference, name, (array_axes){.world = true}, frame, &side[0], &side[1]);
    return STET_OK;
}

static stet_result compare_pictures(pair *p, int64_t frame)
{
    int64_t number[2];
    for (int i = 0; i < 2; ++i) {
        stet_result result = stet_sim_render(p->sim[i], &number[i]);
        if (result != STET_OK) return result;
    }
    for (int c = 0; c < stet_sim_get_ncamera(p->sim[0]); ++c)
        for (int k = 0; k < STET_OUTPUT_COUNT; ++k) {
            if (!(p->options->outputs & 1u << k)) continue;
            stet_result result = compare_picture(p, number, c, (stet_output)k, frame);
            if (result != STET_OK) return result;
        }
    return STET_OK;
}

/* All fields of the state, then what --record names besides, then the pictures. */
static stet_result compare_frame(pair *p, int64_t frame)
{
    const run_options *o = p->options;
    stet_result result = STET_OK;
    for (int i = 0; i < 2 && result == STET_OK; ++i) {
        result = control_apply(&p->control, p->sim[i], frame, frame);
        if (result == STET_OK) result = stet_sim_step(p->sim[i], p->substeps);
    }
    for (const char *const *name = stet_worlds_get_fields(); *name && result == STET_OK; ++name)
        result = compare_field(p, *name, frame);
    for (int i = 0; i < o->record.count && result == STET_OK; ++i) result = compare_field(p, o->record.name[i], frame);
    return result == STET_OK && o->outputs ? compare_pictures(p, frame) : result;
}

int devices_compare(const run_options *options, const char *with)
{
    pair p = {.options = options};
    int code = open_pair(&p, with);
    for (int64_t f = 0; f < options->frames && code < 0 && !p.difference.found; ++f)
        if (compare_frame(&p, f) != STET_OK) code = report_last_error(EXIT_WORK);
    if (code < 0)
        code = difference_report(&p.difference, stet_device_get_name(stet_sim_get_device(p.sim[0])),
                                 stet_device_get_name(stet_sim_get_device(p.sim[1])));
    for (int i = 0; i < 2; ++i) stet_sim_destroy(p.sim[i]);
    stet_model_destroy(p.model);
    control_close(&p.control);
    return code;
}
