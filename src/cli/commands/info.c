/*
 * `stet info`: what this machine and this build have, what is missing and why; for a scene, its content and the physics
 * that runs it.
 *
 * Both are first built as JSON, and the text is made from that, so the two always agree.
 */
#include "cli/command.h"
#include "cli/commands/device.h"
#include "cli/files/json_file.h"
#include "cli/pictures/not_drawn.h"
#include "cli/report_error.h"
#include "model/model.h"
#include "sim/sim.h"
#include "step/step.h"
#include "stet/stet.h"
#include "worlds/worlds.h"

#include <jansson.h>
#include <png.h>
#include <stdio.h>
#include <string.h>

/* ---- this machine and this build --------------------------------------------------------------------------------- */

static void set_info(json_t *o, const char *key, json_t *value) { json_object_set_new(o, key, value); }
static const char *text_of(const json_t *o, const char *key) { return json_string_value(json_object_get(o, key)); }

static json_t *versions_json(void)
{
    char version[32];
    json_t *o = json_object();
    snprintf(version, sizeof version, "%d.%d.%d", STET_VERSION_MAJOR, STET_VERSION_MINOR, STET_VERSION_PATCH);
    set_info(o, "stet", json_string(version));
    set_info(o, "mujoco", json_string(stet_get_mujoco_version()));
    set_info(o, "libpng", json_string(png_get_libpng_ver(NULL)));
    set_info(o, "jansson", json_string(jansson_version_str()));
    return o;
}

/* A device of this instruction set (NULL: the widest) as JSON, or why there is none. */
static json_t *device_json(const char *isa)
{
    json_t *o = json_object();
    stet_device *device;
    stet_device_def def = stet_default_device_def();
    def.type = STET_DEVICE_CPU;
    def.isa = isa;
    bool good = stet_device_create(&def, &device) == STET_OK;
    if (isa) set_info(o, "isa", json_string(isa));
    set_info(o, "available", json_boolean(good));
    if (!good) {
        set_info(o, "why", json_string(stet_get_last_error()));
        return o;
    }
    if (!isa) {
        set_info(o, "name", json_string(stet_device_get_name(device)));
        set_info(o, "isa", json_string(stet_device_get_isa(device)));
        set_info(o, "threads", json_integer(stet_device_get_threads(device)));
    }
    set_info(o, "lanes", json_integer(stet_device_get_lanes(device)));
    stet_device_destroy(device);
    return o;
}

static json_t *devices_json(void)
{
    static const char *const isas[] = {"portable", "avx2", "avx512"};
    json_t *o = json_object(), *cpu = device_json(NULL), *sets = json_array();
    for (size_t i = 0; i < sizeof isas / sizeof *isas; ++i) json_array_append_new(sets, device_json(isas[i]));
    set_info(cpu, "instruction_sets", sets);
    set_info(o, "cpu", cpu);
    set_info(o, "cuda", gpu_json(STET_DEVICE_CUDA));
    set_info(o, "hip", gpu_json(STET_DEVICE_HIP));
    return o;
}

static json_t *mechanisms_json(const stet_mechanism_options *options)
{
    json_t *o = json_object();
    for (int k = 0; k < STET_MECHANISM_COUNT; ++k) {
        json_t *m = json_object();
        set_info(m, "on", json_boolean(!(options->disabled & 1u << k)));
        set_info(m, "doc", json_string(stet_mechanism_sentence((stet_mechanism)k)));
        set_info(o, stet_mechanism_name((stet_mechanism)k), m);
    }
    return o;
}

/* The library that gets profilers' ranges, or why there is none. */
static json_t *ranges_json(void)
{
    json_t *o = json_object();
    stet_device *device = NULL;
    stet_device_def def = stet_default_device_def();
    stet_ranges_def ranges = stet_default_ranges_def();
    def.type = STET_DEVICE_CPU;
    bool good = stet_device_create(&def, &device) == STET_OK;
    good = good && (stet_ranges_get_library(device) || stet_ranges_begin(device, &ranges) == STET_OK);
    set_info(o, "available", json_boolean(good));
    if (good)
        set_info(o, "library", json_string(stet_ranges_get_library(device)));
    else
        set_info(o, "why", json_string(stet_get_last_error()));
    stet_device_destroy(device);
    return o;
}

static json_t *missing_json(void)
{
    json_t *o = json_object();
    set_info(o, "native physics",
             json_string("does not cover every model: `stet info SCENE` says what it lacks for one, which MuJoCo's "
                         "own steps move then"));
    return o;
}

static json_t *machine_json(const stet_mechanism_options *options)
{
    json_t *o = json_object();
    set_info(o, "versions", versions_json());
    set_info(o, "devices", devices_json());
    set_info(o, "mechanisms", mechanisms_json(options));
    set_info(o, "ranges", ranges_json());
    set_info(o, "missing", missing_json());
    return o;
}

static void print_versions(const json_t *versions)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)versions, key, value) printf("%-10s %s\n", key, json_string_value(value));
}

static void print_devices(const json_t *devices)
{
    const json_t *cpu = json_object_get(devices, "cpu");
    size_t i;
    json_t *one;
    printf("\ndevices\n  %s\n  instruction sets:",
           json_is_true(json_object_get(cpu, "available")) ? text_of(cpu, "name") : text_of(cpu, "why"));
    json_array_foreach(json_object_get(cpu, "instruction_sets"), i, one)
    {
        bool has = json_is_true(json_object_get(one, "available"));
        printf("%s %s%s", i ? "," : "", text_of(one, "isa"), has ? "" : " (not on this machine)");
    }
    printf("\n");
    gpu_print("cuda", json_object_get(devices, "cuda"));
    gpu_print("hip", json_object_get(devices, "hip"));
}

static void print_machine(const json_t *machine)
{
    const char *key;
    json_t *value;
    print_versions(json_object_get(machine, "versions"));
    print_devices(json_object_get(machine, "devices"));
    printf("\nmechanisms (--disable, or the environment's STET_DISABLE, switches them off)\n");
    json_object_foreach(json_object_get(machine, "mechanisms"), key, value) printf(
        "  %-15s %-4s %s\n", key, json_is_true(json_object_get(value, "on")) ? "on" : "off", text_of(value, "doc"));
    const json_t *ranges = json_object_get(machine, "ranges");
    bool good = json_is_true(json_object_get(ranges, "available"));
    printf("\nprofilers (--ranges, or the environment's STET_RANGES=1, names to them what runs)\n  %s\n",
           good ? text_of(ranges, "library") : text_of(ranges, "why"));
    printf("\nmissing\n");
    json_object_foreach(json_object_get(machine, "missing"), key, value)
        printf("  %-15s %s\n", key, json_string_value(value));
}

/* ---- a scene ----------------------------------------------------------------------------------------------------- */

static json_t *sizes_json(const stet_model *model)
{
    stet_model_info m = stet_model_get_info(model);
    json_t *o = json_object();
    const struct {
        const char *name;
        int n;
    } rows[] = {{"nq", m.nq},         {"nv", m.nv},           {"na", m.na},
                {"nu", m.nu},         {"nbody", m.nbody},     {"njnt", m.njnt},
                {"ngeom", m.ngeom},   {"nsite", m.nsite},     {"ncam", m.ncam},
                {"nlight", m.nlight}, {"nmesh", m.nmesh},     {"nhfield", m.nhfield},
                {"nmat", m.nmat},     {"nsensor", m.nsensor}, {"nsensordata", m.nsensordata},
                {"nkey", m.nkey},     {"nmocap", m.nmocap},   {"neq", m.neq}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) set_info(o, rows[i].name, json_integer(rows[i].n));
    return o;
}

static json_t *camera_json(const mjModel *m, int camera)
{
    stet_camera c = {.prim = -1};
    json_t *o = json_object();
    sti_sim_describe_camera(m, camera, &c);
    set_info(o, "name", json_string(c.name));
    set_info(o, "fovy", json_real((double)c.fovy));
    return o;
}

/* Those of the scene, or a free one. */
static json_t *cameras_json(const mjModel *m)
{
    json_t *list = json_array();
    for (int c = m->ncam > 0 ? 0 : -1; c < m->ncam; ++c) json_array_append_new(list, camera_json(m, c));
    return list;
}

static json_t *keyframes_json(const stet_model *model)
{
    json_t *list = json_array();
    const char *name;
    for (int k = 0; (name = stet_model_get_object_name(model, STET_OBJECT_KEYFRAME, k)); ++k)
        json_array_append_new(list, json_string(name));
    return list;
}

/* Numbers of each field of the state, of a world. */
static json_t *fields_json(const mjModel *m, bool exact)
{
    json_t *o = json_object();
    const char *const *names = stet_worlds_get_fields();
    for (int f = 0; f < STI_FIELD_COUNT; ++f)
        set_info(o, names[f], json_integer(sti_worlds_items(m, exact, (sti_field)f)));
    return o;
}

/* What the scene needs of the physics, and whether native physics has it. */
static json_t *features_json(const stet_model *model)
{
    json_t *o = json_object();
    const char *name;
    bool covered;
    for (int i = 0; (name = stet_native_get_feature(model, i, &covered)); ++i) set_info(o, name, json_boolean(covered));
    return o;
}

/* The physics that AUTO takes, for one world and for 64, which is what `stet run` has by default. */
static json_t *physics_json(const stet_model *model, const stet_device *device, int keyframe, bool *exact)
{
    static const struct {
        const char *key;
        int64_t worlds;
    } rows[] = {{"one world", 1}, {"64 worlds", 64}};
    json_t *o = json_object();
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        char reason[STI_STEP_REASON];
        json_t *row = json_object();
        *exact = !sti_step_native_suits(model, device, rows[k].worlds, keyframe, reason, sizeof reason);
        set_info(row, "physics", json_string(stet_physics_name(*exact ? STET_PHYSICS_MUJOCO : STET_PHYSICS_NATIVE)));
        set_info(row, "reason", json_string(reason));
        set_info(o, rows[k].key, row);
    }
    return o;
}

/* Makes no sim: nothing is as large as the worlds would be. */
static json_t *scene_json(const char *path, const stet_model *model, const stet_device *device)
{
    const mjModel *m = model->mj;
    json_t *o = json_object();
    stet_sim_def def = stet_default_sim_def();
    int keyframe = sti_sim_resolve(model, &def).keyframe;
    bool exact;
    set_info(o, "scene", json_string(path));
    set_info(o, "timestep", json_real(stet_model_get_info(model).timestep));
    json_t *by_worlds = physics_json(model, device, keyframe, &exact);
    set_info(o, "physics", json_string(stet_physics_name(exact ? STET_PHYSICS_MUJOCO : STET_PHYSICS_NATIVE)));
    set_info(o, "physics_by_worlds", by_worlds);
    set_info(o, "native", features_json(model));
    set_info(o, "sizes", sizes_json(model));
    set_info(o, "fields", fields_json(m, exact));
    set_info(o, "keyframes", keyframes_json(model));
    set_info(o, "keyframe", json_integer(keyframe));
    set_info(o, "own_cameras", json_boolean(m->ncam > 0));
    set_info(o, "cameras", cameras_json(m));
    set_info(o, "not_drawn", not_drawn_json(model, STET_RENDER_MODE_MUJOCO, 0));
    json_t *warnings = json_array();
    for (int i = 0; report_warning(i); ++i) json_array_append_new(warnings, json_string(report_warning(i)));
    set_info(o, "warnings", warnings);
    return o;
}

static void print_numbers(const char *title, const json_t *numbers)
{
    const char *key;
    json_t *value;
    printf("%-10s", title);
    json_object_foreach((json_t *)numbers, key, value) if (json_integer_value(value) > 0)
        printf(" %s %lld", key, (long long)json_integer_value(value));
    printf("\n");
}

static void print_physics(const json_t *by_worlds)
{
    const char *key;
    json_t *row;
    json_object_foreach((json_t *)by_worlds, key, row)
        printf("%-10s of %s on a processor: %s, %s\n", "", key, text_of(row, "physics"), text_of(row, "reason"));
}

static void print_features(const json_t *features)
{
    const char *key, *title = "native";
    json_t *value;
    json_object_foreach((json_t *)features, key, value)
    {
        printf("%-10s %-3s %s\n", title, json_is_true(value) ? "yes" : "no", key);
        title = "";
    }
}

static void print_scene(const json_t *scene)
{
    size_t i;
    json_t *one;
    long long keyframe = json_integer_value(json_object_get(scene, "keyframe"));
    printf("%s\n\n%-10s %s, time step %g s\n", text_of(scene, "scene"), "physics", text_of(scene, "physics"),
           json_real_value(json_object_get(scene, "timestep")));
    print_physics(json_object_get(scene, "physics_by_worlds"));
    print_features(json_object_get(scene, "native"));
    print_numbers("sizes", json_object_get(scene, "sizes"));
    print_numbers("fields", json_object_get(scene, "fields"));
    printf("%-10s", "keyframes");
    json_array_foreach(json_object_get(scene, "keyframes"), i, one)
        printf(" %s%s", *json_string_value(one) ? report_name(json_string_value(one)) : "(no name)",
               (long long)i == keyframe ? " (a run begins there)" : "");
    if (keyframe < 0) printf(" none: a run begins at the model's own initial state");
    printf("\n");
    json_array_foreach(json_object_get(scene, "cameras"), i, one)
        printf("%-10s %s, %.3g degrees from bottom to top%s\n", i ? "" : "cameras", report_name(text_of(one, "name")),
               json_real_value(json_object_get(one, "fovy")),
               json_is_true(json_object_get(scene, "own_cameras")) ? "" : " (the scene has no camera of its own)");
    not_drawn_print(json_object_get(scene, "not_drawn"));
    json_array_foreach(json_object_get(scene, "warnings"), i, one)
        printf("%-10s %s\n", i ? "" : "warnings", json_string_value(one));
}

static int read_scene(const char *path, const stet_mechanism_options *options, json_t **out)
{
    stet_model *model;
    stet_device *device;
    stet_device_def def = stet_default_device_def();
    def.type = STET_DEVICE_CPU;
    def.threads = 1;
    def.mechanisms = *options;
    if (stet_model_load(path, &model) != STET_OK) return report_last_error(EXIT_INPUT);
    stet_result result = stet_device_create(&def, &device);
    if (result == STET_OK) *out = scene_json(path, model, device);
    if (result == STET_OK) stet_device_destroy(device);
    stet_model_destroy(model);
    return result == STET_OK ? -1 : report_last_error(EXIT_INPUT);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int print_help(void)
{
    printf("stet info [SCENE] [--json]\n\nWithout a scene: versions, devices, mechanisms and their switches, what is "
           "missing and why.\n"
           "With one: its sizes, fields, keyframes, cameras, the physics that runs it, what native physics has of\n"
           "what it needs, and what pictures do not show of it.\n");
    return 0;
}

static int show_info(json_t *o, bool json, void (*print)(const json_t *))
{
    if (json)
        json_file_print(o, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    else
        print(o);
    json_decref(o);
    return 0;
}

int info_main(int argc, char **argv)
{
    const char *scene = NULL;
    bool json = false;
    stet_mechanism_options options;
    report_begin("stet info", WARNINGS_KEPT);
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return print_help();
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (argv[i][0] == '-')
            return report_error(EXIT_INPUT, "%s: there is no such option; there are --json and --help", argv[i]);
        else if (scene)
            return report_error(EXIT_INPUT, "%s: a scene was named already (%s); give one", argv[i], scene);
        else
            scene = argv[i];
    }
    if (stet_default_mechanism_options(&options) != STET_OK) return report_last_error(EXIT_INPUT);
    if (!scene) return show_info(machine_json(&options), json, print_machine);
    json_t *o = NULL;
    int code = read_scene(scene, &options, &o);
    return code < 0 ? show_info(o, json, print_scene) : code;
}
