/* Resets: which worlds, to what, with which noise. */
#include "worlds/rig.h"

#include <math.h>

/* A rig some steps into its story. */
static rig moved_rig(const char *scene, int64_t nworld, int threads)
{
    rig r = rig_make(scene, nworld, NULL, threads, true);
    rig_step(&r, STET_PHYSICS_MUJOCO);
    rig_write_controls(&r, 1);
    OK(stet_step_run(r.step, 15));
    return r;
}

static bool is_back(const rig *r, int64_t w) { return rig_get(r, "time", w, 0) == 0; }

static void a_mask_resets_its_worlds_and_no_other(void **state)
{
    rig r = moved_rig(RIG_PENDULUM, 7, 2), untouched = moved_rig(RIG_PENDULUM, 7, 1);
    const uint8_t some[7] = {1, 0, 0, 255, 0, 0, 2};
    stet_reset_def def = stet_default_reset_def();
    def.mask = some;
    OK(stet_worlds_reset(r.worlds, &def));
    for (int64_t w = 0; w < 7; ++w) {
        bool chosen = w == 6 || w == 0 || w == 3;
        assert_int_equal(is_back(&r, w), chosen);
        assert_int_equal(r.worlds->state.resets[w], chosen);
        for (int64_t i = 0; i < 8; ++i)
            assert_true(rig_get(&r, "qpos", w, i) ==
                        (chosen ? (double)(float)r.model->mj->key_qpos[i] : rig_get(&untouched, "qpos", w, i)));
        assert_true(rig_get(&r, "ctrl", w, 0) == (chosen ? 0.25 : rig_get(&untouched, "ctrl", w, 0)));
    }
    rig_free(&r);
    rig_free(&untouched);
}

static void a_reset_world_has_the_bits_of_a_new_one(void **state)
{
    static const char *const scenes[] = {"hand.xml", "quadruped.xml", "arm_table.xml", "robot.urdf", RIG_PENDULUM};
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; ++k) {
        rig r = moved_rig(scenes[k], 4, 2), fresh = rig_make(scenes[k], 4, NULL, 1, true);
        stet_reset_def def = stet_default_reset_def();
        OK(stet_worlds_reset(r.worlds, &def));
        assert_true(rig_all_hash(&r) == rig_all_hash(&fresh));
        rig_step(&fresh, STET_PHYSICS_MUJOCO);
        OK(stet_step_run(r.step, 10));
        OK(stet_step_run(fresh.step, 10));
        assert_true(rig_all_hash(&r) == rig_all_hash(&fresh));
        rig_free(&r);
        rig_free(&fresh);
    }
}

static void keyframes_are_as_asked_for(void **state)
{
    for (int exact = 0; exact < 2; ++exact) {
        rig r = rig_make(RIG_PENDULUM, 3, NULL, 1, exact);
        stet_reset_def def = stet_default_reset_def();
        const struct {
            int keyframe;
            double hinge, ctrl;
        } wanted[] = {{1, 1.5, 0}, {-1, 0, 0}, {0, -1.5, 0.25}, {-1, 0, 0}, {-2, -1.5, 0.25}};
        for (size_t k = 0; k < sizeof wanted / sizeof *wanted; ++k) {
            def.keyframe = wanted[k].keyframe;
            OK(stet_worlds_reset(r.worlds, &def));
            assert_true(rig_get(&r, "qpos", 2, 0) == wanted[k].hinge);
            assert_true(rig_get(&r, "ctrl", 2, 0) == wanted[k].ctrl);
        }
        rig_free(&r);
    }
}

static void noise_is_bounded_and_each_world_has_its_own(void **state)
{
    for (int exact = 0; exact < 2; ++exact) {
        rig r = rig_make("arm_table.xml", 33, NULL, 2, exact);
        const mjModel *m = r.model->mj;
        stet_reset_def def = stet_default_reset_def();
        def.qpos_noise = 0.03;
        def.qvel_noise = 0.5;
        OK(stet_worlds_reset(r.worlds, &def));
        for (int64_t w = 0; w < 33; ++w) {
            for (int j = 0; j < m->njnt; ++j) {
                int at = m->jnt_qposadr[j], quat = m->jnt_type[j] == mjJNT_FREE   ? at + 3
                                                   : m->jnt_type[j] == mjJNT_BALL ? at
                                                                                  : -1;
                if (quat < 0) {
                    double off = rig_get(&r, "qpos", w, at) - m->key_qpos[at];
                    assert_true(fabs(off) <= 0.03 + 1e-6 && off != 0);
                    continue;
                }
                double norm = 0;
                for (int i = 0; i < 4; ++i) norm += pow(rig_get(&r, "qpos", w, quat + i), 2);
                assert_true(fabs(norm - 1) < 1e-6);
            }
            for (int i = 0; i < m->nv; ++i) {
                double off = rig_get(&r, "qvel", w, i) - m->key_qvel[i];
                assert_true(fabs(off) <= 0.5 + 1e-6);
                if (w) assert_true(rig_get(&r, "qvel", w, i) != rig_get(&r, "qvel", w - 1, i));
            }
        }
        rig_free(&r);
    }
}

/* RESET-1: the third reset of a world is the same, whoever was reset beside it and before. */
static void noise_depends_on_the_world_and_its_resets_alone(void **state)
{
    rig a = rig_make(RIG_PENDULUM, 6, "w1", 1, true), b = rig_make(RIG_PENDULUM, 30, NULL, 2, true);
    stet_reset_def def = stet_default_reset_def();
    def.qpos_noise = 0.2;
    const uint8_t five[6] = {0, 0, 0, 0, 0, 1};
    uint8_t others[30] = {0};
    others[5] = 1;
    double seen[3];
    for (int k = 0; k < 3; ++k) {
        def.mask = five;
        OK(stet_worlds_reset(a.worlds, &def));
        if (k == 1) others[29] = 1;
        if (k == 2) others[1] = 1;
        def.mask = others;
        OK(stet_worlds_reset(b.worlds, &def));
        for (int i = 0; i < 8; ++i) assert_true(rig_get(&a, "qpos", 5, i) == rig_get(&b, "qpos", 5, i));
        seen[k] = rig_get(&a, "qpos", 5, 0);
    }
    assert_true(seen[0] != seen[1] && seen[1] != seen[2] && seen[0] != seen[2]);
    rig_free(&a);
    rig_free(&b);
}

/* What was written into worlds that stay must not be lost when their neighbours are reset. */
static void a_reset_keeps_writes_to_other_worlds(void **state)
{
    rig r = moved_rig(RIG_PENDULUM, 4, 1);
    rig_set(&r, "qpos", 2, 0, 0.75f);
    rig_set(&r, "ctrl", 2, 0, 0.5f);
    rig_set(&r, "qpos", 1, 0, 0.75f);
    const uint8_t one[4] = {0, 1};
    stet_reset_def def = stet_default_reset_def();
    def.mask = one;
    OK(stet_worlds_reset(r.worlds, &def));
    assert_true(r.worlds->state.data[2]->qpos[0] == 0.75 && r.worlds->state.data[2]->ctrl[0] == 0.5);
    assert_true(rig_get(&r, "qpos", 2, 0) == 0.75);
    assert_true(rig_get(&r, "qpos", 1, 0) == -1.5 && r.worlds->state.data[1]->qpos[0] == -1.5);
    rig_free(&r);
}

static void bad_resets_are_refused_and_change_nothing(void **state)
{
    rig r = moved_rig(RIG_PENDULUM, 4, 1);
    stet_reset_def good = stet_default_reset_def(), def;
    uint64_t before = rig_all_hash(&r);
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_worlds_reset(NULL, &good));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_worlds_reset(r.worlds, NULL));
    memset(&def, 0, sizeof def);
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "stet_default_reset_def", stet_worlds_reset(r.worlds, &def));
#define BAD(words, ...)                                                                                                \
    def = good;                                                                                                        \
    __VA_ARGS__;                                                                                                       \
    REFUSED(STET_ERROR_INVALID_ARGUMENT, words, stet_worlds_reset(r.worlds, &def))
    BAD("keyframes 0 to 1", def.keyframe = 2);
    BAD("keyframe -3", def.keyframe = -3);
    BAD("finite", def.qpos_noise = -1);
    BAD("finite", def.qvel_noise = (double)NAN);
    BAD("finite", def.qpos_noise = (double)INFINITY);
#undef BAD
    assert_true(rig_all_hash(&r) == before);
    rig_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mask_resets_its_worlds_and_no_other),
        cmocka_unit_test(a_reset_world_has_the_bits_of_a_new_one),
        cmocka_unit_test(keyframes_are_as_asked_for),
        cmocka_unit_test(noise_is_bounded_and_each_world_has_its_own),
        cmocka_unit_test(noise_depends_on_the_world_and_its_resets_alone),
        cmocka_unit_test(a_reset_keeps_writes_to_other_worlds),
        cmocka_unit_test(bad_resets_are_refused_and_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
