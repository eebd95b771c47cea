/* The estimate of how long time steps take: it follows from counts, and decides what AUTO is. */
#include "model/model.h"
#include "physics/pace.h"
#include "step/step.h"
#include "worlds/rig.h"

#include <math.h>

enum { TEXT = 1 << 17 };

/* The shipped scenes have native physics from 4 worlds on, in vectors of 16 from 8 on. */
static void shipped_scenes_are_native(void **state)
{
    static const char *const scenes[] = {"cartpole.xml", "cartpole_classic.xml", "hand.xml",
                                         "humanoid.xml", "quadruped.xml",        "arm_table.xml"};
    static const int lanes[] = {8, 16};
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; ++k) {
        stet_model *model = rig_model(scenes[k]);
        int keyframe = model->mj->nkey > 0 ? 0 : -1;
        for (size_t i = 0; i < sizeof lanes / sizeof *lanes; ++i)
            for (int64_t n = lanes[i] > 8 ? 8 : 4; n <= 64; n += n < 20 ? 1 : 11) {
                sti_pace pace = sti_physics_estimate_pace(model->mj, keyframe, lanes[i], n);
                if (!(pace.native > 0 && pace.native <= pace.mujoco))
                    fail_msg("%s, %d lanes, %d worlds: %g, mj_step %g", scenes[k], lanes[i], (int)n, pace.native,
                             pace.mujoco);
            }
        stet_model_destroy(model);
    }
}

/* Balls of 40 vertices in a row, each near the next one. */
static const char *meshes_text(int bodies, double apart)
{
    enum { VERTICES = 40 };
    static char text[TEXT];
    size_t at = (size_t)snprintf(text, TEXT, "<mujoco><asset><mesh name='m' vertex='");
    for (int i = 0; i < VERTICES; ++i) { /* a spiral from pole to pole */
        double z = 1 - (2 * i + 1.0) / VERTICES, r = sqrt(1 - z * z);
        at += (size_t)snprintf(text + at, TEXT - at, "%.5f %.5f %.5f ", r * cos(2.4 * i), r * sin(2.4 * i), z);
    }
    at += (size_t)snprintf(text + at, TEXT - at, "'/></asset><worldbody>");
    for (int b = 0; b < bodies; ++b)
        at += (size_t)snprintf(text + at, TEXT - at,
                               "<body pos='%g 0 9'><freejoint/><geom type='mesh' mesh='m'/></body>", apart * b);
    (void)snprintf(text + at, TEXT - at, "</worldbody></mujoco>");
    return text;
}

static double count_of(const stet_model *model, const char *name)
{
    double counts[STI_PACE_MOST];
    assert_true(sti_physics_pace_counts(model->mj, -1, counts));
    for (int k = 0; sti_physics_pace_name(k); ++k)
        if (strcmp(sti_physics_pace_name(k), name) == 0) return counts[k];
    fail_msg("there is no count '%s'", name);
    return 0;
}

/* Spheres leave a pair out, then boxes, as in the kernel; what is left is searched, and may touch. */
static void pairs_are_counted_as_they_are_looked_at(void **state)
{
    static const struct {
        double apart; /* m; the balls have a radius of 1, the spheres of their boxes one of 1.69 */
        double near, mesh, touch;
    } rows[] = {{4, 0, 0, 0}, {2.3, 5, 0, 0}, {1.96, 5, 5, 0}, {1.9, 5, 5, 5}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        stet_model *model = rig_model(meshes_text(6, rows[k].apart));
        assert_true(count_of(model, "pair") == 15);
        assert_true(count_of(model, "near") == rows[k].near && count_of(model, "boxes") == rows[k].near);
        assert_true(count_of(model, "mesh") == rows[k].mesh);
        assert_true(count_of(model, "touch_mesh") == rows[k].touch);
        stet_model_destroy(model);
    }
}

/* More bodies, more time; full vectors take less of it a world, and a part of one as long as all of it. */
static void costs_follow_the_counts(void **state)
{
    stet_model *few = rig_model(meshes_text(6, 1.5)), *many = rig_model(meshes_text(12, 1.5));
    sti_pace a = sti_physics_estimate_pace(few->mj, -1, 8, 8), b = sti_physics_estimate_pace(many->mj, -1, 8, 8);
    assert_true(b.native > 1.5 * a.native && b.mujoco > 1.5 * a.mujoco);
    sti_pace one = sti_physics_estimate_pace(many->mj, -1, 8, 1), two = sti_physics_estimate_pace(many->mj, -1, 8, 2);
    sti_pace nine = sti_physics_estimate_pace(many->mj, -1, 8, 9);
    assert_true(fabs(one.native - 8 * b.native) < 1e-9 * b.native);
    assert_true(fabs(two.native - 4 * b.native) < 1e-9 * b.native);
    assert_true(fabs(nine.native - 8 * b.native / 4.5) < 1e-9 * b.native);
    assert_true(one.mujoco == b.mujoco);
    stet_model_destroy(few);
    stet_model_destroy(many);
    stet_model *alone = rig_model(meshes_text(70, 4)); /* so many trees that worlds share no vector */
    sti_pace narrow = sti_physics_estimate_pace(alone->mj, -1, 1, 1);
    assert_true(fabs(sti_physics_estimate_pace(alone->mj, -1, 16, 4).native - narrow.native) < 1e-9 * narrow.native);
    stet_model_destroy(alone);
}

/* Pairs of ellipsoids that touch: where contacts are searched for, a vector with few worlds in it is the slower one. */
static const char *touching_text(int pairs)
{
    static char text[TEXT];
    size_t at = (size_t)snprintf(text, TEXT, "<mujoco><worldbody>");
    for (int b = 0; b < 2 * pairs; ++b)
        at += (size_t)snprintf(text + at, TEXT - at,
                               "<body pos='%d %g 9'><freejoint/><geom type='ellipsoid' size='.1 .12 .1'/></body>",
                               b / 2, .2 * (b % 2));
    (void)snprintf(text + at, TEXT - at, "</worldbody></mujoco>");
    return text;
}

/* Of parts of a run whose numbers of worlds differ by one, each gets the physics of the others. */
static void parts_of_a_run_agree(void **state)
{
    stet_model *model = rig_model(touching_text(5));
    stet_device *device = rig_open_device(NULL, 1);
    char reason[256], other[256];
    (void)sti_step_native_suits(model, device, 1, -1, reason, sizeof reason);
    for (int n = 2; n < 8; ++n) {
        (void)sti_step_native_suits(model, device, n, -1, other, sizeof other);
        assert_string_equal(other, reason);
    }
    (void)sti_step_native_suits(model, device, 64, -1, reason, sizeof reason);
    (void)sti_step_native_suits(model, device, 65, -1, other, sizeof other);
    assert_string_equal(other, reason);
    stet_device_destroy(device);
    stet_model_destroy(model);
}

/* AUTO, its reason and the worlds' data agree with the estimate; who names native physics has it. */
static void auto_follows_the_estimate(void **state)
{
    stet_model *model = rig_model(touching_text(40));
    stet_device *device = rig_open_device(NULL, 1);
    char reason[256];
    if (!device->can.host_memory) {
        stet_device_destroy(device);
        stet_model_destroy(model);
        skip();
    }
    bool native = sti_step_native_suits(model, device, 4, -1, reason, sizeof reason);
    sti_pace pace = sti_physics_estimate_pace(model->mj, -1, device->lanes, device->lanes < 4 ? device->lanes : 4);
    assert_false(native);
    assert_true(pace.native > pace.mujoco);
    assert_non_null(strstr(reason, "times as long as MuJoCo's"));
    stet_device_destroy(device);
    static const stet_physics wanted[] = {STET_PHYSICS_AUTO, STET_PHYSICS_NATIVE};
    for (int k = 0; k < 2; ++k) {
        stet_worlds *worlds;
        stet_step *step;
        stet_worlds_def def = stet_default_worlds_def();
        device = rig_open_device(NULL, 1);
        def.exact = wanted[k] == STET_PHYSICS_AUTO;
        OK(stet_worlds_create(device, model, &def, &worlds));
        OK(stet_step_create(worlds, wanted[k], &step));
        assert_int_equal(stet_step_get_physics(step), k ? STET_PHYSICS_NATIVE : STET_PHYSICS_MUJOCO);
        OK(stet_step_run(step, 1));
        stet_step_destroy(step);
        stet_worlds_destroy(worlds);
        stet_device_destroy(device);
    }
    stet_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_scenes_are_native), cmocka_unit_test(pairs_are_counted_as_they_are_looked_at),
        cmocka_unit_test(costs_follow_the_counts),   cmocka_unit_test(auto_follows_the_estimate),
        cmocka_unit_test(parts_of_a_run_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
