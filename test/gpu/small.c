/*
 * A little of everything on one GPU, and the CPU's bits: what the GPU's sanitizers are run over, where each access
 * costs. Usage: gpu_small SCENE [--native WORLDS] [--library FILE] [--hip] [--cache FOLDER]; the file is a driver to
 * use instead of this machine's. --native: the scene alone, with native physics, whose program is large and depends on
 * the number of worlds. Exit status 0: all equal; 77: no GPU.
 */
#include "base/hash.h"
#include "bench/pilot/pilot.h"
#include "stet/stet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, stet_get_last_error());
    exit(1);
}
#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != STET_OK) die(#call);                                                                             \
    } while (0)

enum { PILOTS = STI_PILOT_COUNT, RESULTS = PILOTS + 3, NWORLD = 3, EDGE = 9 };
static const char *const result_name[RESULTS] = {
    "newton", "rays", "level", "pictures before the reset", "the state", "pictures after the reset"};

static uint64_t run_pilot(stet_device *device, sti_pilot_kind kind, int64_t size)
{
    sti_pilot p;
    uint64_t hash;
    OK(sti_pilot_create(device, kind, size, &p));
    OK(sti_pilot_run(device, &p));
    OK(sti_pilot_hash(&p, &hash));
    sti_pilot_destroy(&p);
    return hash;
}

/* All outputs of all cameras of a scene: some steps, a picture, a reset of one world, another picture. */
static void run_scene(const char *path, int64_t nworld, stet_physics physics, const stet_device_def *device,
                      uint64_t out[3])
{
    stet_model *model;
    stet_sim *sim;
    const char *all = "all";
    uint8_t *one = calloc((size_t)nworld, 1);
    stet_sim_def def = stet_default_sim_def();
    if (!one) die("memory");
    one[1] = 1;
    def.device = *device;
    def.physics = physics;
    def.nworld = nworld;
    def.cameras = &all;
    def.ncamera = 1;
    def.width = def.height = EDGE;
    def.outputs = (1u << STET_OUTPUT_COUNT) - 1;
    OK(stet_model_load(path, &model));
    OK(stet_sim_create(model, &def, &sim));
    stet_model_destroy(model);
    OK(stet_sim_control_noise(sim, 0.3, 40));
    OK(stet_sim_step(sim, 3));
    OK(stet_sim_render(sim, NULL));
    OK(stet_sim_hash_frame(sim, STET_FRAME_LATEST, &out[0]));
    OK(stet_worlds_hash(stet_sim_get_worlds(sim), &out[1]));
    stet_reset_def reset = stet_default_reset_def();
    reset.mask = one;
    OK(stet_sim_reset(sim, &reset));
    OK(stet_sim_render(sim, NULL));
    OK(stet_sim_hash_frame(sim, STET_FRAME_LATEST, &out[2]));
    stet_sim_destroy(sim);
    free(one);
}

static void run(const char *scene, int64_t native, const stet_device_def *def, stet_device *device,
                uint64_t out[RESULTS])
{
    for (int kind = 0; kind < PILOTS && !native; ++kind)
        out[kind] = run_pilot(device, (sti_pilot_kind)kind, kind == STI_PILOT_RAYS ? EDGE : NWORLD);
    run_scene(scene, native ? native : NWORLD, native ? STET_PHYSICS_NATIVE : STET_PHYSICS_MUJOCO, def, out + PILOTS);
}

static int usage(void)
{
    fprintf(stderr, "usage: gpu_small SCENE [--native WORLDS] [--library FILE] [--hip] [--cache FOLDER]\n");
    return 2;
}

int main(int argc, char **argv)
{
    stet_device_def cpu = stet_default_device_def(), gpu = stet_default_device_def();
    int64_t native = 0;
    cpu.type = STET_DEVICE_CPU;
    gpu.type = STET_DEVICE_CUDA;
    for (int i = 2; i < argc; ++i) {
        if (strcmp(argv[i], "--hip") == 0)
            gpu.type = STET_DEVICE_HIP;
        else if (strcmp(argv[i], "--native") == 0 && i + 1 < argc)
            native = strtoll(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--library") == 0 && i + 1 < argc)
            gpu.gpu.library = gpu.gpu.compiler_library = argv[++i];
        else if (strcmp(argv[i], "--cache") == 0 && i + 1 < argc)
            gpu.cache_folder = argv[++i];
        else
            return usage();
    }
    if (argc < 2 || native == 1 || native < 0) return usage();
    stet_device *device[2];
    stet_result found = stet_device_create(&gpu, &device[1]);
    if (found == STET_ERROR_NOT_FOUND) {
        fprintf(stderr, "skipped: %s\n", stet_get_last_error());
        return 77;
    }
    if (found != STET_OK) die("the GPU");
    OK(stet_device_create(&cpu, &device[0]));
    uint64_t want[RESULTS], got[RESULTS];
    run(argv[1], native, &cpu, device[0], want);
    run(argv[1], native, &gpu, device[1], got);
    int first = native ? PILOTS : 0, differ = 0;
    for (int r = first; r < RESULTS; ++r) {
        if (got[r] != want[r])
            printf("%s: %016llx on %s, %016llx on %s\n", result_name[r], (unsigned long long)got[r],
                   stet_device_get_name(device[1]), (unsigned long long)want[r], stet_device_get_name(device[0]));
        differ += got[r] != want[r];
    }
    printf("%s: %d of %d equal\n", stet_device_get_name(device[1]), RESULTS - first - differ, RESULTS - first);
    for (int i = 0; i < 2; ++i) stet_device_destroy(device[i]);
    return differ != 0;
}
