/*
 * The shipped scenes on every device that runs kernels: physics on the host, everything behind it on the device, and every output of
 * every camera with the bits that one lane of a CPU gives.
 */
#include "device/devices.h"
#include "sim/room.h"

#include "base/hash.h"

enum { NWORLD = 5, FRAMES = 3, SUBSTEPS = 2 };

static const char *const scenes[] = {"hand.xml", "humanoid.xml", "quadruped.xml", "arm_table.xml", "cartpole.xml"};

static stet_sim *open_scene(const char *scene, const stet_device_def *device)
{
    stet_sim_def def = room_sim_def(&(room_def){
        .nworld = NWORLD, .outputs = (1u << STET_OUTPUT_COUNT) - 1, .camera = "all", .width = 21, .height = 13});
    def.device = *device;
    stet_model *model = rig_model(scene);
    stet_sim *sim;
    OK(stet_sim_create(model, &def, &sim));
    stet_model_destroy(model);
    return sim;
}

/* What a few frames, a reset of one world and another frame show. */
static uint64_t play(const char *scene, const stet_device_def *device)
{
    uint64_t hash[2 * FRAMES + 1];
    stet_sim *sim = open_scene(scene, device);
    for (int f = 0; f < 2 * FRAMES; ++f) {
        if (f == FRAMES) room_reset(sim, 1);
        room_play(sim, 20 + f, 1, SUBSTEPS);
        hash[f] = room_frame(sim, STET_FRAME_LATEST);
    }
    hash[2 * FRAMES] = room_state(sim);
    stet_sim_destroy(sim);
    return sti_hash_bytes(hash, sizeof hash);
}

static void every_output_has_the_bits_of_the_cpu(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof scenes / sizeof *scenes; ++s) {
        stet_device_def cpu = stet_default_device_def();
        cpu.type = STET_DEVICE_CPU;
        cpu.isa = "w1";
        uint64_t want = play(scenes[s], &cpu);
        FOR_RUNNING_DEVICES(on)
        {
            uint64_t got = play(scenes[s], &on.def);
            if (got != want)
                fail_msg("%s on %s: %016llx, not %016llx", scenes[s], on.name, (unsigned long long)got,
                         (unsigned long long)want);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_output_has_the_bits_of_the_cpu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
