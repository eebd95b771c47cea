/*
 * More than 32 bits: 20,000 tiles whose frame and tensor are beyond 2^31 bytes, on this machine's GPU beside the CPU.
 * Skipped where there is no GPU; needs about 20 GB of the host's memory and as much of the GPU's.
 */
#include "device/rig.h"

#include "stet/stet.h"

#include <stdlib.h>

enum { WORLDS = 20000, EDGE = 200 };

static stet_sim *open_sim(stet_model *model, stet_device_type type, stet_physics physics, stet_result *result)
{
    stet_sim_def def = stet_default_sim_def();
    stet_sim *sim = NULL;
    def.device.type = type;
    def.physics = physics;
    def.nworld = WORLDS;
    def.width = def.height = EDGE;
    def.outputs = 1u << STET_OUTPUT_RGB;
    def.frames_in_flight = 1;
    *result = stet_sim_create(model, &def, &sim);
    return sim;
}

/* Worlds that differ, one frame of them; the hash of all its bytes, and some worlds' pixels. */
static uint64_t draw(stet_sim *sim, uint8_t *pixels)
{
    static const int64_t some[] = {0, 1, 9999, WORLDS - 1};
    uint64_t hash;
    stet_array *tensor;
    OK(stet_sim_control_noise(sim, 1, 10));
    OK(stet_sim_step(sim, 20));
    OK(stet_sim_render(sim, NULL));
    OK(stet_sim_get_array(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_RGB, &tensor));
    assert_true(stet_array_get_bytes(tensor) > (size_t)1 << 31);
    size_t one = (size_t)EDGE * EDGE * 3;
    for (int k = 0; k < 4; ++k) OK(stet_array_read_worlds(tensor, some[k], 1, pixels + (size_t)k * one, one));
    OK(stet_array_hash(tensor, &hash));
    return hash;
}

static void check_tiles(stet_physics physics)
{
    stet_model *model;
    stet_result result;
    size_t size = (size_t)EDGE * EDGE * 3 * 4;
    uint8_t *on_gpu = malloc(size), *on_cpu = malloc(size);
    assert_true(on_gpu && on_cpu);
    OK(stet_model_load(STET_TEST_SOURCE_DIR "/scenes/cartpole.xml", &model));
    stet_sim *sim = open_sim(model, STET_DEVICE_CUDA, physics, &result);
    if (result == STET_ERROR_NOT_FOUND) {
        print_message("skipped: %s\n", stet_get_last_error());
    } else {
        OK(result);
        uint64_t gpu = draw(sim, on_gpu);
        stet_sim_destroy(sim);
        sim = open_sim(model, STET_DEVICE_CPU, physics, &result);
        OK(result);
        uint64_t cpu = draw(sim, on_cpu);
        stet_sim_destroy(sim);
        assert_memory_equal(on_gpu, on_cpu, size);
        size_t one = size / 4;
        for (int k = 1; k < 4; ++k)
            assert_memory_not_equal(on_gpu, on_gpu + (size_t)k * one, one); /* its own pixels each */
        assert_true(gpu == cpu);
        print_message("on cuda\n");
    }
    stet_model_destroy(model);
    free(on_gpu);
    free(on_cpu);
    if (!sim) skip();
}

static void kf25_kf26_twenty_thousand_tiles_beyond_2_31_bytes(void **state) { check_tiles(STET_PHYSICS_MUJOCO); }

static void kf25_kf26_the_same_with_native_physics(void **state) { check_tiles(STET_PHYSICS_NATIVE); }

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kf25_kf26_twenty_thousand_tiles_beyond_2_31_bytes),
                                       cmocka_unit_test(kf25_kf26_the_same_with_native_physics)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
