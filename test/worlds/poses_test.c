/* Poses of bodies: what they are, when they are worked out, and whose they are. */
#include "worlds/rig.h"

static const uint32_t pose_sync = 1u << STET_MECHANISM_POSE_SYNC;

/* xpos and xquat of a world are the rounding of MuJoCo's own kinematics of its exact state. */
static void check_poses(const rig *r, int64_t w)
{
    const mjModel *m = r->model->mj;
    const mjData *exact = r->worlds->state.data[w];
    mjData *d = mj_makeData(m);
    memcpy(d->qpos, exact->qpos, (size_t)m->nq * sizeof *d->qpos);
    memcpy(d->mocap_pos, exact->mocap_pos, (size_t)m->nmocap * 3 * sizeof *d->qpos);
    memcpy(d->mocap_quat, exact->mocap_quat, (size_t)m->nmocap * 4 * sizeof *d->qpos);
    mj_kinematics(m, d);
    for (int i = 0; i < 3 * m->nbody; ++i) assert_true(rig_get(r, "xpos", w, i) == (double)(float)d->xpos[i]);
    for (int i = 0; i < 4 * m->nbody; ++i) assert_true(rig_get(r, "xquat", w, i) == (double)(float)d->xquat[i]);
    mj_deleteData(d);
}

static const char *const scenes[] = {"hand.xml",     "humanoid.xml", "quadruped.xml", "arm_table.xml",
                                     "cartpole.xml", "robot.urdf",   RIG_PENDULUM};

static void poses_are_mujocos_own(void **state)
{
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; ++k) {
        rig r = rig_make(scenes[k], 3, NULL, 2, true);
        rig_step(&r, STET_PHYSICS_MUJOCO);
        for (int step = 0; step < 20; ++step) {
            rig_write_controls(&r, step);
            OK(stet_step_run(r.step, 3));
            check_poses(&r, step % 3);
        }
        rig_free(&r);
    }
}

static void steps_work_out_no_pose_and_a_read_only_once(void **state)
{
    rig r = rig_make(RIG_PENDULUM, 10, NULL, 2, true);
    rig_step(&r, STET_PHYSICS_MUJOCO);
    (void)rig_array_hash(&r, "xpos");
    stet_device_clear_counters(r.device);
    for (int i = 0; i < 5; ++i) OK(stet_step_run(r.step, 4));
    assert_int_equal(rig_counters(&r).kinematics, 0);
    uint64_t first = rig_array_hash(&r, "xpos"), generation = stet_array_get_generation(rig_array(&r, "xpos"));
    assert_int_equal(rig_counters(&r).kinematics, 10);
    assert_int_equal(rig_counters(&r).mechanism[STET_MECHANISM_POSE_SYNC].misses, 1);
    assert_int_equal(rig_counters(&r).reason[STET_REASON_POSE_SYNC_QPOS], 1);
    assert_true(rig_array_hash(&r, "xpos") == first);
    (void)rig_array_hash(&r, "xquat");
    assert_int_equal(rig_counters(&r).kinematics, 10);
    assert_int_equal(rig_counters(&r).mechanism[STET_MECHANISM_POSE_SYNC].misses, 1);
    assert_int_equal(rig_counters(&r).mechanism[STET_MECHANISM_POSE_SYNC].hits, 2);
    assert_int_equal(stet_array_get_generation(rig_array(&r, "xpos")), generation);
    rig_free(&r);
}

static void only_worlds_that_moved_are_worked_out(void **state)
{
    rig r = rig_make(RIG_PENDULUM, 9, NULL, 2, true);
    (void)rig_array_hash(&r, "xpos");
    stet_device_clear_counters(r.device);
    const uint8_t some[9] = {0, 1, 0, 0, 1};
    stet_reset_def reset = stet_default_reset_def();
    reset.mask = some;
    OK(stet_worlds_reset(r.worlds, &reset));
    (void)rig_array_hash(&r, "xpos");
    assert_int_equal(rig_counters(&r).kinematics, 2);
    rig_set(&r, "qpos", 7, 0, 0.5f);
    (void)rig_array_hash(&r, "xpos");
    assert_int_equal(rig_counters(&r).kinematics, 3);
    rig_set(&r, "mocap_pos", 2, 0, 0.5f);
    (void)rig_array_hash(&r, "xpos");
    assert_int_equal(rig_counters(&r).kinematics, 4);
    check_poses(&r, 2);
    check_poses(&r, 7);
    /* Neither controls, nor a write of what is there already, move a world. */
    rig_set(&r, "ctrl", 3, 0, 0.5f);
    rig_set(&r, "qpos", 7, 0, 0.5f);
    (void)rig_array_hash(&r, "xpos");
    assert_int_equal(rig_counters(&r).kinematics, 4);
    rig_free(&r);
}

static void kf17_an_empty_selection_is_nothing_to_do(void **state)
{
    rig r = rig_make(RIG_PENDULUM, 4, NULL, 1, true);
    (void)rig_array_hash(&r, "xpos");
    stet_device_clear_counters(r.device);
    uint64_t moved = r.worlds->state.stamps.version.generation,
             written = stet_array_get_generation(rig_array(&r, "qpos"));
    const uint8_t mask[4] = {0, 0, 0, 0};
    for (int k = 0; k < 20; ++k) {
        stet_reset_def reset = stet_default_reset_def();
        reset.mask = mask;
        OK(stet_worlds_reset(r.worlds, &reset));
        (void)rig_array_hash(&r, "xpos");
    }
    assert_int_equal(r.worlds->state.stamps.version.generation, moved);
    assert_int_equal(stet_array_get_generation(rig_array(&r, "qpos")), written);
    assert_int_equal(rig_counters(&r).kinematics, 0);
    assert_int_equal(rig_counters(&r).mechanism[STET_MECHANISM_POSE_SYNC].misses, 0);
    rig_free(&r);
}

static void kf18_a_reset_shows_without_a_step(void **state)
{
    rig r = rig_make(RIG_PENDULUM, 5, NULL, 1, true);
    uint64_t begin = rig_array_hash(&r, "xpos");
    rig_step(&r, STET_PHYSICS_MUJOCO);
    OK(stet_step_run(r.step, 30));
    assert_true(rig_array_hash(&r, "xpos") != begin);
    stet_reset_def reset = stet_default_reset_def();
    OK(stet_worlds_reset(r.worlds, &reset));
    assert_true(rig_array_hash(&r, "xpos") == begin);
    rig_free(&r);
}

static void kf19_a_write_shows_without_a_step(void **state)
{
    for (int exact = 0; exact < 2; ++exact) {
        rig r = rig_make(RIG_PENDULUM, 5, NULL, 1, exact);
        (void)rig_array_hash(&r, "xpos");
        for (int k = 1; k < 4; ++k) {
            rig_set(&r, "qpos", 3, 1, (float)k); /* the ball's x */
            assert_true(rig_get(&r, "xpos", 3, 6) == k);
            assert_true(rig_get(&r, "xpos", 2, 6) == 1);
        }
        rig_free(&r);
    }
}

/* The same story with the mechanism on and off: the same bits, and off, each time step pays. */
static uint64_t story(const char *scene, uint32_t disabled, bool audit, int64_t *kinematics)
{
    rig r = rig_make(scene, 6, NULL, 2, true);
    rig_mechanisms(&r, disabled, audit);
    rig_step(&r, STET_PHYSICS_MUJOCO);
    stet_reset_def reset = stet_default_reset_def();
    const uint8_t some[6] = {0, 0, 1, 0, 0, 1};
    reset.mask = some;
    reset.qpos_noise = 0.01;
    uint64_t hash = 0;
    for (int k = 0; k < 6; ++k) {
        rig_write_controls(&r, k);
        OK(stet_step_run(r.step, 5));
        if (k == 2) OK(stet_worlds_reset(r.worlds, &reset));
        if (k == 3) rig_set(&r, "qpos", 1, 0, 0.25f);
        if (k % 2) hash = hash * 31 + rig_all_hash(&r);
        if (k == 4) rig_set(&r, "xpos", 0, 3, 9);
    }
    *kinematics = rig_counters(&r).kinematics;
    rig_free(&r);
    return hash;
}

static void pose_sync_changes_no_bit(void **state)
{
    static const char *const some[] = {"hand.xml", "humanoid.xml", RIG_PENDULUM};
    for (size_t k = 0; k < sizeof some / sizeof *some; ++k) {
        int64_t on, off, audited;
        uint64_t hash = story(some[k], 0, false, &on);
        assert_true(story(some[k], pose_sync, false, &off) == hash);
        assert_true(story(some[k], 0, true, &audited) == hash);
        assert_true(on <= 6 * 7 && off >= 6 * 5 * 6 && audited > on);
    }
}

static void switched_off_each_substep_and_read_works(void **state)
{
    rig r = rig_make(RIG_PENDULUM, 4, NULL, 1, true);
    (void)rig_array_hash(&r, "xpos");
    rig_step(&r, STET_PHYSICS_MUJOCO);
    rig_mechanisms(&r, pose_sync, false);
    stet_device_clear_counters(r.device);
    OK(stet_step_run(r.step, 5));
    assert_int_equal(rig_counters(&r).kinematics, 5 * 4);
    uint64_t generation = stet_array_get_generation(rig_array(&r, "xpos"));
    (void)rig_array_hash(&r, "xpos");
    assert_int_equal(rig_counters(&r).kinematics, 6 * 4);
    assert_int_equal(rig_counters(&r).reason[STET_REASON_POSE_SYNC_DISABLED], 6);
    assert_int_equal(rig_counters(&r).mechanism[STET_MECHANISM_POSE_SYNC].hits, 0);
    /* Made again, but nothing of it is new to those further down. */
    assert_int_equal(stet_array_get_generation(rig_array(&r, "xpos")), generation);
    rig_free(&r);
}

static void the_audit_finds_poses_that_changed_unannounced(void **state)
{
    rig r = rig_make(RIG_PENDULUM, 4, NULL, 1, true);
    rig_mechanisms(&r, 0, true);
    stet_array *xpos = rig_array(&r, "xpos");
    uint64_t before = rig_array_hash(&r, "xpos"), after;
    assert_true(rig_array_hash(&r, "xpos") == before);
    reals_set(xpos, 2, 5, 77);
    /* Where the host has a copy of its own, that is what is seen to differ, and what stays. */
    const bool apart = !r.device->can.host_memory;
    REFUSED(STET_ERROR_AUDIT, apart ? "readback" : "pose_sync", stet_array_hash(xpos, &after));
    if (!apart) assert_true(rig_array_hash(&r, "xpos") == before);
    rig_free(&r);
}

static void poses_of_the_caller_stand_until_their_world_moves(void **state)
{
    for (int audit = 0; audit < 2; ++audit) {
        rig r = rig_make(RIG_PENDULUM, 4, NULL, 1, true);
        rig_mechanisms(&r, 0, audit);
        stet_array *xpos = rig_array(&r, "xpos");
        float poses[4 * 12];
        for (int i = 0; i < 48; ++i) poses[i] = (float)i;
        OK(stet_array_write(xpos, poses, sizeof poses)); /* before anybody has read any */
        uint64_t moved = sti_generation_of(&r.worlds->state.stamps.moved, 3);
        for (int k = 0; k < 3; ++k) assert_true(rig_get(&r, "xpos", 3, 4) == 40);
        assert_true(sti_generation_of(&r.worlds->state.stamps.moved, 3) > moved);
        rig_set(&r, "qpos", 1, 1, 0.5f);
        assert_true(rig_get(&r, "xpos", 1, 6) == 0.5);
        assert_true(rig_get(&r, "xpos", 3, 4) == 40);
        rig_step(&r, STET_PHYSICS_MUJOCO);
        OK(stet_step_run(r.step, 1));
        check_poses(&r, 3);
        rig_free(&r);
    }
}

static void a_nan_pose_has_one_pattern_and_stays_in_its_world(void **state)
{
    rig r = rig_make(RIG_PENDULUM, 3, NULL, 1, true), clean = rig_make(RIG_PENDULUM, 3, NULL, 1, true);
    float bad;
    uint32_t bits = 0xffc12345u, canonical = 0x7fc00000u;
    memcpy(&bad, &bits, sizeof bad);
    rig_set(&r, "qpos", 1, 1, bad);
    float dirty_row[12], clean_row[12];
    for (int w = 0; w < 3; ++w) {
        OK(stet_array_read_worlds(rig_array(&r, "xpos"), w, 1, dirty_row, sizeof dirty_row));
        OK(stet_array_read_worlds(rig_array(&clean, "xpos"), w, 1, clean_row, sizeof clean_row));
        if (w != 1)
            assert_memory_equal(dirty_row, clean_row, sizeof clean_row);
        else
            assert_memory_equal(&dirty_row[6], &canonical, sizeof canonical);
    }
    rig_free(&r);
    rig_free(&clean);
}

/*
 * xpos and xquat are two arrays and one pose: whoever writes all of the one, while the worlds have moved and nobody has
 * read since, leaves the other current.
 */
static void a_write_of_all_positions_leaves_the_turns_current(void **state)
{
    rig lazy = rig_make(RIG_PENDULUM, 3, NULL, 1, true), read = rig_make(RIG_PENDULUM, 3, NULL, 1, true);
    rig *both[] = {&lazy, &read};
    int64_t n = 3 * stet_model_get_info(lazy.model).nbody;
    float xpos[3 * 64];
    uint64_t hash[2];
    assert_true(3 * n <= 3 * 64);
    for (int k = 0; k < 2; ++k) {
        rig_step(both[k], STET_PHYSICS_MUJOCO);
        (void)rig_array_hash(both[k], "xquat");
        OK(stet_step_run(both[k]->step, 20));
        if (k == 1) (void)rig_array_hash(both[k], "xquat");
        for (int64_t i = 0; i < 3 * n; ++i) xpos[i] = (float)i;
        OK(stet_array_write(rig_array(both[k], "xpos"), xpos, (size_t)(3 * n) * sizeof *xpos));
        assert_true(rig_get(both[k], "xpos", 1, 1) == (double)(n + 1));
        hash[k] = rig_array_hash(both[k], "xquat");
    }
    assert_true(hash[0] == hash[1]);
    rig_free(&lazy);
    rig_free(&read);
}

/* WORLDS-5: the later of a write to qpos and one of all poses, read in between or not. */
static void the_later_of_qpos_and_all_poses_wins(void **state)
{
    for (int k = 0; k < 2; ++k) {
        rig r = rig_make(RIG_PENDULUM, 3, NULL, 1, true);
        int64_t n = 9 * stet_model_get_info(r.model).nbody;
        float xpos[9 * 64] = {0};
        assert_true(n <= 9 * 64);
        xpos[0] = 5;
        (void)rig_array_hash(&r, "xpos");
        rig_set(&r, "qpos", 0, 0, 0.5f);
        if (k == 1) (void)rig_array_hash(&r, "xpos");
        OK(stet_array_write(rig_array(&r, "xpos"), xpos, (size_t)n * sizeof *xpos));
        assert_true(rig_get(&r, "xpos", 0, 0) == 5);
        rig_set(&r, "qpos", 0, 0, 0.75f);
        assert_true(rig_get(&r, "xpos", 0, 0) == 0);
        rig_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poses_are_mujocos_own),
        cmocka_unit_test(steps_work_out_no_pose_and_a_read_only_once),
        cmocka_unit_test(only_worlds_that_moved_are_worked_out),
        cmocka_unit_test(kf17_an_empty_selection_is_nothing_to_do),
        cmocka_unit_test(kf18_a_reset_shows_without_a_step),
        cmocka_unit_test(kf19_a_write_shows_without_a_step),
        cmocka_unit_test(pose_sync_changes_no_bit),
        cmocka_unit_test(switched_off_each_substep_and_read_works),
        cmocka_unit_test(the_audit_finds_poses_that_changed_unannounced),
        cmocka_unit_test(poses_of_the_caller_stand_until_their_world_moves),
        cmocka_unit_test(a_write_of_all_positions_leaves_the_turns_current),
        cmocka_unit_test(the_later_of_qpos_and_all_poses_wins),
        cmocka_unit_test(a_nan_pose_has_one_pattern_and_stays_in_its_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
