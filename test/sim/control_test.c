/*
 * Controls that the sim makes: the hold position, and smooth noise around it.
 */
#include "sim/room.h"

#include <float.h>
#include <math.h>

/* Limited 0 … 4, limited -1 … 1 with a keyframe's control beyond it, and unlimited. */
#define ARMS                                                                                                           \
    "<mujoco><worldbody><body><joint name='a'/><joint name='b' axis='0 1 0'/><joint name='c' axis='1 0 0'/>"           \
    "<geom size='.1'/></body></worldbody><actuator><motor joint='a' ctrllimited='true' ctrlrange='1 5'/>"              \
    "<motor joint='b' ctrllimited='true' ctrlrange='-1 1'/><motor joint='c' ctrllimited='false'/></actuator>"
#define ARMS_KEYED ARMS "<keyframe><key name='home' qpos='0 0 0' ctrl='2 -7 30'/></keyframe></mujoco>"
#define ARMS_PLAIN ARMS "</mujoco>"

static void zero_is_the_hold_position(void **state)
{
    static const struct {
        const char *scene;
        float ctrl[3];
    } cases[] = {{ARMS_KEYED, {2, -1, 30}}, {ARMS_PLAIN, {1, 0, 0}}};
    for (int i = 0; i < 2; ++i) {
        stet_sim *sim = room_open(cases[i].scene, &(room_def){.nworld = 5});
        OK(stet_sim_control_noise(sim, 1, 77));
        OK(stet_sim_control_zero(sim));
        for (int64_t w = 0; w < 5; ++w)
            for (int k = 0; k < 3; ++k) assert_true(room_ctrl(sim, w, k) == cases[i].ctrl[k]);
        stet_sim_destroy(sim);
    }
}

/* Noise stays within its bounds, fills them, is another one in each world and actuator, and is 0 on average. */
static void noise_fills_its_range(void **state)
{
    enum { NWORLD = 40, FRAMES = 40 };
    stet_sim *sim = room_open(ARMS_PLAIN, &(room_def){.nworld = NWORLD});
    static const float hold[] = {1, 0, 0}, half[] = {2, 1, 1};
    float low[3] = {FLT_MAX, FLT_MAX, FLT_MAX}, high[3] = {-FLT_MAX, -FLT_MAX, -FLT_MAX};
    double sum[3] = {0};
    for (int64_t f = 25; f < 25 * FRAMES; f += 25) { /* at knots */
        OK(stet_sim_control_noise(sim, 0.5, f));
        for (int64_t w = 0; w < NWORLD; ++w)
            for (int k = 0; k < 3; ++k) {
                float x = (room_ctrl(sim, w, k) - hold[k]) / (0.5f * half[k]);
                low[k] = fminf(low[k], x);
                high[k] = fmaxf(high[k], x);
                sum[k] += (double)x;
                if (w > 0) assert_true(k == 0 || room_ctrl(sim, w, k) != room_ctrl(sim, w - 1, k));
            }
        assert_true(room_ctrl(sim, 0, 1) != room_ctrl(sim, 0, 2));
    }
    double n = NWORLD * (FRAMES - 1.0);
    assert_true(low[0] == 0 && high[0] > 0.98f && high[0] < 1); /* 1 is the lowest that is allowed */
    for (int k = 1; k < 3; ++k) {
        assert_true(low[k] >= -1 && low[k] < -0.98f && high[k] < 1 && high[k] > 0.98f);
        assert_true(fabs(sum[k] / n) < 5 * sqrt(1.0 / 3 / n)); /* five standard deviations of a mean */
    }
    stet_sim_destroy(sim);
}

/* It begins at the hold position, goes in straight lines of 25 frames, and may be asked for in any order. */
static void noise_is_smooth_and_has_no_memory(void **state)
{
    enum { FRAMES = 120, WORLD = 2 };
    float x[FRAMES];
    stet_sim *sim = room_open("hand.xml", &(room_def){.nworld = 4});
    for (int f = 0; f < FRAMES; ++f) {
        OK(stet_sim_control_noise(sim, 0.3, f));
        x[f] = room_ctrl(sim, WORLD, 5);
    }
    OK(stet_sim_control_zero(sim));
    assert_true(x[0] == room_ctrl(sim, WORLD, 5));
    for (int f = FRAMES - 1; f >= 0; f -= 7) {
        OK(stet_sim_control_noise(sim, 0.3, f));
        assert_true(room_ctrl(sim, WORLD, 5) == x[f]);
    }
    for (int f = 0; f + 2 < FRAMES; ++f)
        if (f % 25 != 24) assert_true(fabsf(x[f] - 2 * x[f + 1] + x[f + 2]) < 1e-5f);
    assert_true(fabsf(x[25] - x[0]) > 1e-3f && fabsf(x[50] - x[25]) > 1e-3f);
    stet_sim_destroy(sim);
}

/* The seed is what it depends on, and nothing about the batch. */
static void noise_depends_on_the_seed(void **state)
{
    float first = 0;
    for (int i = 0; i < 6; ++i) {
        stet_sim_def def =
            room_sim_def(&(room_def){.nworld = i == 1 ? 40 : 5, .threads = 1 + i % 3, .isa = i == 2 ? "w1" : NULL});
        stet_model *model = rig_model("hand.xml");
        stet_sim *sim;
        if (i == 4) def.seed++;
        if (i == 5) def.seed += UINT64_C(1) << 32;
        OK(stet_sim_create(model, &def, &sim));
        stet_model_destroy(model);
        OK(stet_sim_control_noise(sim, 0.3, 1000));
        float x = room_ctrl(sim, 4, 3);
        if (i == 0) first = x;
        assert_true((x == first) == (i < 4));
        stet_sim_destroy(sim);
    }
}

static void bad_noise_is_refused(void **state)
{
    stet_sim *sim = room_open(ARMS_PLAIN, &(room_def){0});
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "scale is -1", stet_sim_control_noise(sim, -1, 0));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "scale is", stet_sim_control_noise(sim, (double)NAN, 0));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "scale is inf", stet_sim_control_noise(sim, (double)INFINITY, 0));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "frame is -1", stet_sim_control_noise(sim, 1, -1));
    OK(stet_sim_control_noise(sim, 0, INT64_MAX));
    for (int k = 0; k < 3; ++k) assert_true(room_ctrl(sim, 1, k) == (k == 0 ? 1.0f : 0.0f));
    stet_sim_destroy(sim);
    sim = room_open(ROOM_BALL, &(room_def){0}); /* no actuators */
    OK(stet_sim_control_noise(sim, 1, 5));
    OK(stet_sim_control_zero(sim));
    stet_sim_destroy(sim);
}

/* What the shipped scene is for: five seconds of lively fingers, and the cube stays in the hand, in each world. */
static void the_hand_keeps_its_cube(void **state)
{
    enum { NWORLD = 8, FRAMES = 250 };
    stet_sim *sim = room_open("hand.xml", &(room_def){.nworld = NWORLD, .threads = 2});
    double dt = stet_model_get_info(stet_sim_get_model(sim)).timestep;
    int nq = stet_model_get_info(stet_sim_get_model(sim)).nq, substeps = (int)lround(0.02 / dt);
    float travel = 0;
    for (int f = 0; f < FRAMES; ++f) {
        float before = room_field(sim, "qpos", 0, 3);
        OK(stet_sim_control_noise(sim, 0.3, f));
        OK(stet_sim_step(sim, substeps));
        travel += fabsf(room_field(sim, "qpos", 0, 3) - before);
    }
    for (int64_t w = 0; w < NWORLD; ++w) {
        assert_int_equal(stet_worlds_get_faults(stet_sim_get_worlds(sim))[w], 0);
        float z = room_field(sim, "qpos", w, nq - 5);
        if (!(z > 0.22f)) fail_msg("world %d: the cube is at %g m", (int)w, (double)z);
    }
    print_message("joint 3 travelled %g rad\n", (double)travel);
    assert_true(travel > 0.5f);
    stet_sim_destroy(sim);
}

/* What control_zero and control_noise are made of, for kernels of the caller's. */
static void tables_are_those_of_the_actuators(void **state)
{
    static const struct {
        const char *name;
        float value[3];
    } tables[] = {{"hold", {2, -1, 30}}, {"half", {2, 1, 1}}, {"low", {1, -1, -INFINITY}}, {"high", {5, 1, INFINITY}}};
    stet_sim *sim = room_open(ARMS_KEYED, &(room_def){.nworld = 5});
    stet_array *table;
    for (int i = 0; i < 4; ++i) {
        const void *values;
        OK(stet_sim_get_control_table(sim, tables[i].name, &table));
        assert_int_equal(stet_array_get_nelement(table), 3);
        OK(stet_array_get_host(table, &values));
        assert_memory_equal(values, tables[i].value, sizeof tables[i].value);
    }
    REFUSED(STET_ERROR_NOT_FOUND, "no table \"gain\"; there are hold, half, low and high",
            stet_sim_get_control_table(sim, "gain", &table));
    assert_null(table);
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "must not be NULL", stet_sim_get_control_table(sim, NULL, &table));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "must not be NULL", stet_sim_get_control_table(NULL, "low", &table));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "out is NULL", stet_sim_get_control_table(sim, "low", NULL));
    stet_sim_destroy(sim);
}

/* With MuJoCo's physics no control comes back from a GPU, behind its pictures; the bits are those of a CPU. */
static void controls_for_mujoco_do_not_wait_for_pictures(void **state)
{
    enum { FRAMES = 6 };
    float x[2][FRAMES][2];
    for (int i = 0; i < 2; ++i) { /* a device; one lane of a processor */
        stet_sim *sim =
            room_open("hand.xml", &(room_def){.nworld = 4, .isa = i ? "w1" : NULL, .physics = STET_PHYSICS_MUJOCO});
        stet_device *device = stet_sim_get_device(sim);
        for (int f = 0; f < FRAMES; ++f) {
            if (f == 2) stet_device_clear_counters(device);
            OK(f == 4 ? stet_sim_control_zero(sim) : stet_sim_control_noise(sim, 0.3, 40 + f));
            OK(stet_sim_step(sim, 1));
            room_render(sim);
        }
        assert_int_equal(room_counters(sim).reason[STET_REASON_READBACK_MOVED], 0);
        for (int f = 0; f < FRAMES; ++f) {
            OK(stet_sim_control_noise(sim, 0.3, 40 + f));
            for (int k = 0; k < 2; ++k) x[i][f][k] = room_ctrl(sim, 2, 3 + k);
        }
        stet_sim_destroy(sim);
    }
    assert_memory_equal(x[0], x[1], sizeof x[0]);
}

/* A table that the caller writes counts at once, wherever controls are computed. */
static void tables_that_are_written_count(void **state)
{
    static const float half[3] = {0, 4, 1};
    stet_sim *sim = room_open(ARMS_PLAIN, &(room_def){.nworld = 5, .physics = STET_PHYSICS_MUJOCO});
    stet_array *table;
    OK(stet_sim_control_noise(sim, 0.5, 30));
    float before = room_ctrl(sim, 3, 1);
    OK(stet_sim_get_control_table(sim, "half", &table));
    OK(stet_array_write(table, half, sizeof half));
    OK(stet_sim_control_noise(sim, 0.5, 30));
    assert_true(room_ctrl(sim, 3, 0) == 1 && before != 0);
    assert_true(room_ctrl(sim, 3, 1) == fmaxf(-1, fminf(1, 4 * before)));
    stet_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_is_the_hold_position),
        cmocka_unit_test(noise_fills_its_range),
        cmocka_unit_test(noise_is_smooth_and_has_no_memory),
        cmocka_unit_test(noise_depends_on_the_seed),
        cmocka_unit_test(bad_noise_is_refused),
        cmocka_unit_test(tables_are_those_of_the_actuators),
        cmocka_unit_test(controls_for_mujoco_do_not_wait_for_pictures),
        cmocka_unit_test(tables_that_are_written_count),
        cmocka_unit_test(the_hand_keeps_its_cube),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
