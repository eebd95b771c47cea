/*
 * A sim whose code is compiled beside the run (PROGRAMS-4): steps and pictures with the code for all models and scenes,
 * then with their own, have the hashes of a CPU; also where the stage gets shapes, which want other code.
 */
#include "device/rig.h"
#include "kernel/beside.h"

#include "kernel/gpu/table.h"
#include "stet/sim.h"
#include "stet/stage.h"

enum { WORLDS = 256, FRAMES = 7, OWN = 2, SHAPE = 4, OWN_AGAIN = 6, PARTS = 3 };

static const char scene[] =
    "<mujoco><option timestep='.01'/><worldbody><light pos='0 0 3'/><geom type='plane' size='2 2 .1'/>"
    "<body pos='0 0 1'><freejoint/><geom type='box' size='.4 .3 .2' euler='30 20 10' rgba='.8 .3 .2 1'/></body>"
    "<camera name='eye' pos='0 -2 1' xyaxes='1 0 0 0 .45 .9'/></worldbody></mujoco>";

/* hipRTC makes one code after the other: it cannot hold one and make the general one, which nobody made before. */
static bool can_hold(void) { return picked_double && strcmp(getenv("STET_TEST_DEVICE"), "double-cuda") == 0; }

/* Code for the scene; the physics' own comes when it comes. */
static void hold_scenes(bool held)
{
    if (can_hold()) picked_double->hold(held ? "#define RENDER_SIDE 1\n" : NULL, NULL);
}

static int count_scene_codes(const stet_device *device)
{
    int n = 0;
    const sti_modules *modules = device->programs ? &device->programs->modules : NULL;
    for (int i = 0; modules && i < modules->nmodule; ++i)
        n += modules->module[i]->constants && strstr(modules->module[i]->constants, "RENDER_SIDE");
    return n;
}

static stet_sim *open_sim(const stet_model *model, const char *isa)
{
    stet_sim *sim;
    stet_sim_def def = stet_default_sim_def();
    def.device.isa = isa;
    def.device.threads = 2;
    picked_device(&def.device);
    def.device.cache_folder = folder;
    def.nworld = WORLDS;
    def.physics = STET_PHYSICS_NATIVE;
    def.outputs = 1u << STET_OUTPUT_RGBA | 1u << STET_OUTPUT_DEPTH;
    def.width = 36; /* with so many worlds a large frame (src/render/parts.c) */
    def.height = 30;
    OK(stet_sim_create((stet_model *)(uintptr_t)model, &def, &sim));
    return sim;
}

/* Frames of the scene as it is, then with a shape of a type that it had not. */
static void run(const char *isa, uint64_t frame[FRAMES], uint64_t state[FRAMES])
{
    stet_model *model;
    OK(stet_model_load_string(scene, &model));
    hold_scenes(true);
    stet_sim *sim = open_sim(model, isa);
    stet_device *device = stet_sim_get_device(sim);
    for (int i = 0; i < FRAMES; ++i) {
        int64_t number;
        if (i == SHAPE) {
            const stet_shape ball = {.type = STET_SHAPE_SPHERE, .size = {.2}, .rgba = {.2F, .7F, .3F, 1}};
            int prim;
            hold_scenes(true);
            OK(stet_stage_add_shape(stet_sim_get_stage(sim), 0, &ball, NULL, &prim, NULL));
        }
        if (i == OWN || i == OWN_AGAIN) {
            hold_scenes(false);
            OK(stet_device_wait_for_code(device));
        }
        OK(stet_sim_step(sim, 2));
        OK(stet_sim_render(sim, &number));
        OK(stet_sim_hash_frame(sim, number, &frame[i]));
        OK(stet_worlds_hash(stet_sim_get_worlds(sim), &state[i]));
        if (!isa && can_hold()) assert_int_equal(count_scene_codes(device), PARTS * ((i >= OWN) + (i >= OWN_AGAIN)));
    }
    hold_scenes(false);
    stet_sim_destroy(sim);
    stet_model_destroy(model);
}

static void pictures_change_over_with_the_same_bits(void **unused)
{
    uint64_t frame[2][FRAMES], state[2][FRAMES];
    for (int here = 0; here < 2; ++here) run(here ? NULL : "portable", frame[here], state[here]);
    for (int i = 0; i < FRAMES; ++i) {
        assert_true(frame[0][i] == frame[1][i]);
        assert_true(state[0][i] == state[1][i]);
        assert_true(i == 0 || frame[0][i] != frame[0][i - 1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pictures_change_over_with_the_same_bits, begin_beside, end_beside),
    };
    (void)unsetenv("STET_WAIT_FOR_CODE");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
