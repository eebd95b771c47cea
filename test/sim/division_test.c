/*
 * A run in parts: sims that hold blocks of its worlds (first_world) have the bits of one sim that holds them all.
 */
#include "sim/room.h"

#include <stdlib.h>

enum { NWORLD = 23, PARTS = 4 };
static const int64_t part_first[PARTS + 1] = {0, 5, 6, 22, NWORLD};

static stet_sim *open_part(stet_physics physics, int64_t first, int64_t nworld)
{
    stet_sim_def def = room_sim_def(&(room_def){.nworld = nworld, .physics = physics, .threads = 2});
    stet_model *model = rig_model("quadruped.xml");
    stet_sim *sim;
    def.first_world = first;
    OK(stet_sim_create(model, &def, &sim));
    stet_model_destroy(model);
    return sim;
}

/* All that is drawn at random: parameters and noise of resets, of all worlds and of some, and controls. */
static void live(stet_sim *sim, int64_t first)
{
    int64_t nworld = stet_worlds_get_nworld(stet_sim_get_worlds(sim)), frame;
    stet_reset_def def = stet_default_reset_def();
    uint8_t mask[NWORLD];
    for (int64_t w = 0; w < nworld; ++w) mask[w] = (first + w) % 3 == 1;
    OK(stet_worlds_randomize(stet_sim_get_worlds(sim), "friction", (double[]){0.5}, (double[]){1.5}, 1));
    def.qpos_noise = 0.02;
    def.qvel_noise = 0.1;
    OK(stet_sim_reset(sim, &def));
    for (int f = 0; f < 3; ++f) {
        OK(stet_sim_control_noise(sim, 0.4, 30 + f));
        OK(stet_sim_step(sim, 5));
    }
    def.mask = mask;
    OK(stet_sim_reset(sim, &def));
    OK(stet_sim_step(sim, 5));
    OK(stet_sim_render(sim, &frame));
}

static void compare_worlds(const char *what, stet_array *part, stet_array *whole, int64_t first)
{
    size_t size = stet_array_get_bytes(part);
    int64_t n = stet_array_get_shape(part)[0];
    char *a = malloc(size), *b = malloc(size);
    assert_non_null(a);
    assert_non_null(b);
    OK(stet_array_read(part, a, size));
    OK(stet_array_read_worlds(whole, first, n, b, size));
    if (memcmp(a, b, size) != 0) fail_msg("%s of the part that begins with world %lld", what, (long long)first);
    free(a);
    free(b);
}

static void compare_part(stet_sim *part, stet_sim *whole, int64_t first)
{
    static const char *const fields[] = {"qpos", "qvel", "ctrl", "time"};
    stet_array *a, *b;
    for (size_t k = 0; k < sizeof fields / sizeof *fields; ++k) {
        OK(stet_worlds_get_array(stet_sim_get_worlds(part), fields[k], &a));
        OK(stet_worlds_get_array(stet_sim_get_worlds(whole), fields[k], &b));
        compare_worlds(fields[k], a, b, first);
    }
    OK(stet_sim_get_array(part, STET_FRAME_LATEST, 0, STET_OUTPUT_RGBA, &a));
    OK(stet_sim_get_array(whole, STET_FRAME_LATEST, 0, STET_OUTPUT_RGBA, &b));
    compare_worlds("rgba", a, b, first);
}

static void parts_have_the_bits_of_the_whole(void **state)
{
    static const stet_physics physics[] = {STET_PHYSICS_MUJOCO, STET_PHYSICS_NATIVE};
    for (int k = 0; k < 2; ++k) {
        stet_sim *whole = open_part(physics[k], 0, NWORLD);
        live(whole, 0);
        for (int i = 0; i < PARTS; ++i) {
            stet_sim *part = open_part(physics[k], part_first[i], part_first[i + 1] - part_first[i]);
            live(part, part_first[i]);
            compare_part(part, whole, part_first[i]);
            stet_sim_destroy(part);
        }
        stet_sim_destroy(whole);
    }
}

static void a_part_elsewhere_has_other_bits(void **state)
{
    stet_sim *a = open_part(STET_PHYSICS_NATIVE, 0, 4), *b = open_part(STET_PHYSICS_NATIVE, 4, 4);
    live(a, 0);
    live(b, 0);
    assert_true(room_state(a) != room_state(b));
    stet_sim_destroy(a);
    stet_sim_destroy(b);
}

static void numbers_that_cannot_be_are_refused(void **state)
{
    static const int64_t bad[] = {-1, INT64_MIN, INT32_MAX - 2, INT64_MAX};
    stet_model *model = rig_model(ROOM_BALL);
    stet_sim_def def = room_sim_def(&(room_def){.nworld = 3});
    stet_sim *sim;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) {
        def.first_world = bad[k];
        REFUSED(STET_ERROR_INVALID_ARGUMENT, "first_world is", stet_sim_create(model, &def, &sim));
    }
    def.first_world = INT32_MAX - 3;
    OK(stet_sim_create(model, &def, &sim));
    stet_sim_destroy(sim);
    stet_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_have_the_bits_of_the_whole),
        cmocka_unit_test(a_part_elsewhere_has_other_bits),
        cmocka_unit_test(numbers_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
