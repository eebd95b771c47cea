/*
 * The shipped scenes, and random ones, on every device that runs kernels: physics on the host, everything behind it on
 * the device, and every output of every camera with the bits that one lane of a CPU gives.
 */
#include "base/dice.h"
#include "base/part.h"
#include "device/devices.h"
#include "render/random_scene.h"
#include "sim/room.h"

#include "base/hash.h"

enum { NWORLD = 5, FRAMES = 3, SUBSTEPS = 2, RANDOM = 4, MOVING = 14 };

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

/* `what` is the scene's name in messages. */
static void expect_bits_of_the_cpu(const char *scene, const char *what)
{
    stet_device_def cpu = stet_default_device_def();
    cpu.type = STET_DEVICE_CPU;
    cpu.isa = "w1";
    uint64_t want = play(scene, &cpu);
    FOR_RUNNING_DEVICES(on)
    {
        uint64_t got = play(scene, &on.def);
        if (got != want)
            fail_msg("%s on %s: %016llx, not %016llx", what, on.name, (unsigned long long)got,
                     (unsigned long long)want);
    }
}

static void every_output_has_the_bits_of_the_cpu(void **state)
{
    for (size_t s = 0; s < sizeof scenes / sizeof *scenes; ++s) expect_bits_of_the_cpu(scenes[s], scenes[s]);
}

/*
 * Geoms of every type that fall through each other, over a plane and a bumpy field; two cameras, a lamp of each kind.
 */
static void write_scene(scene_text *t, uint64_t *s)
{
    static const char *const types[] = {"box", "sphere", "capsule", "mesh", "cylinder", "ellipsoid"};
    add(t, "<mujoco><visual><headlight ambient='.2 .2 .2' diffuse='.3 .3 .3'/></visual>");
    add_assets(t, s);
    add(t, "<default><geom contype='0' conaffinity='0'/></default><worldbody>");
    add(t, "<light directional='true' dir='%.3f %.3f -1'/>", dice_in(s, -1, 1), dice_in(s, -1, 1));
    add(t, "<light type='spot' pos='%.3f 0 4' dir='0 0 -1' cutoff='50'/>", dice_in(s, -1, 1));
    add(t, "<camera pos='0 -6 2' xyaxes='1 0 0 0 .3 .95' fovy='%.2f'/>", dice_in(s, 30, 80));
    add(t, "<camera pos='%.3f 5 3' xyaxes='-1 0 0 0 -.5 .86'/>", dice_in(s, -2, 2));
    add_geom(t, "plane", s);
    add_geom(t, "hfield", s);
    for (int i = 0; i < MOVING; ++i) {
        add(t, "<body><freejoint/>");
        add_geom(t, types[dice_below(s, 6)], s);
        add(t, "</body>");
    }
    add(t, "</worldbody></mujoco>");
}

static void so_has_every_output_of_random_scenes(void **state)
{
    uint64_t seed = dice_seed("random scenes");
    for (int i = 0; i < (in_part() ? 1 : RANDOM); ++i) {
        scene_text t = {.n = 0};
        write_scene(&t, &seed);
        expect_bits_of_the_cpu(t.at, t.at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_output_has_the_bits_of_the_cpu),
        cmocka_unit_test(so_has_every_output_of_random_scenes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
