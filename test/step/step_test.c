/* Steps: equal to a plain loop over mj_step to the bit, whatever the threads, the batch and the lanes. */
#include "worlds/rig.h"

static const char *const scenes[] = {"hand.xml",     "humanoid.xml", "quadruped.xml", "arm_table.xml",
                                     "cartpole.xml", "robot.urdf",   RIG_PENDULUM};
enum { NSCENE = sizeof scenes / sizeof *scenes };

/* A plain mjData that is stepped as anybody would. */
static mjData *plain_data(const mjModel *m)
{
    mjData *d = mj_makeData(m);
    if (m->nkey > 0) mj_resetDataKeyframe(m, d, 0);
    return d;
}

static void plain_step(const mjModel *m, mjData *d, int64_t w, int64_t step, int n)
{
    float ctrl[128];
    rig_controls(m, w, step, ctrl);
    for (int i = 0; i < m->nu; ++i) d->ctrl[i] = (double)ctrl[i];
    for (int i = 0; i < n; ++i) mj_step(m, d);
}

/* The exact state has the plain one's bits, and the arrays are its rounding. */
static void check_world(const rig *r, int64_t w, mjData *plain)
{
    const mjModel *m = r->model->mj;
    size_t n = (size_t)mj_stateSize(m, mjSTATE_INTEGRATION);
    double *a = test_malloc(n * sizeof *a), *b = test_malloc(n * sizeof *b);
    mj_getState(m, r->worlds->state.data[w], a, mjSTATE_INTEGRATION);
    mj_getState(m, plain, b, mjSTATE_INTEGRATION);
    assert_memory_equal(a, b, n * sizeof *a);
    test_free(a);
    test_free(b);
    for (int f = 0; f < STI_FIELD_COUNT; ++f) {
        if (sti_field_writer[f] == STI_WRITER_POSES || f == STI_FIELD_eq_active) continue;
        const stet_array *array = r->worlds->state.field[f];
        const double *exact = sti_field_exact(plain, (sti_field)f);
        for (int64_t i = 0; i < array->nitem; ++i) assert_true(reals_get(array, w, i) == (double)(float)exact[i]);
    }
}

static void each_world_is_a_plain_mujoco_loop(void **state)
{
    enum { N = 3 };
    for (int k = 0; k < NSCENE; ++k) {
        rig r = rig_make(scenes[k], N, NULL, 2, true);
        rig_step(&r, STET_PHYSICS_AUTO);
        assert_int_equal(stet_step_get_physics(r.step), STET_PHYSICS_MUJOCO); /* the worlds have exact data */
        mjData *plain[N];
        for (int w = 0; w < N; ++w) plain[w] = plain_data(r.model->mj);
        for (int step = 0; step < 60; ++step) {
            int n = step % 4 + 1;
            rig_write_controls(&r, step);
            OK(stet_step_run(r.step, n));
            for (int w = 0; w < N; ++w) {
                plain_step(r.model->mj, plain[w], w, step, n);
                check_world(&r, w, plain[w]);
            }
        }
        for (int w = 0; w < N; ++w) {
            assert_int_equal(stet_worlds_get_faults(r.worlds)[w], 0);
            mj_deleteData(plain[w]);
        }
        rig_free(&r);
    }
}

/* Runs some steps with controls; with noise and resets in between. */
static uint64_t run(const char *scene, int64_t nworld, const char *isa, int threads)
{
    rig r = rig_make(scene, nworld, isa, threads, true);
    rig_step(&r, STET_PHYSICS_MUJOCO);
    stet_reset_def reset = stet_default_reset_def();
    reset.qpos_noise = 0.02;
    reset.qvel_noise = 0.1;
    for (int step = 0; step < 10; ++step) {
        if (step == 4) OK(stet_worlds_reset(r.worlds, &reset));
        rig_write_controls(&r, step);
        OK(stet_step_run(r.step, 3));
    }
    uint64_t hash = rig_all_hash(&r);
    rig_free(&r);
    return hash;
}

static void threads_and_lanes_change_no_bit(void **state)
{
    static const char *const isas[] = {"portable", "w1", "avx2", "avx512"};
    for (int k = 0; k < NSCENE; ++k) {
        uint64_t first = run(scenes[k], 19, "w1", 1);
        for (int threads = 2; threads <= 3; ++threads) assert_true(run(scenes[k], 19, NULL, threads) == first);
        for (size_t i = 0; i < sizeof isas / sizeof *isas; ++i) {
            sti_isa isa;
            if (sti_isa_find(isas[i], &isa) && sti_isa_available(isa))
                assert_true(run(scenes[k], 19, isas[i], 2) == first);
        }
    }
}

static void a_world_of_many_is_a_world_alone(void **state)
{
    enum { N = 21, K = 17 };
    for (int k = 0; k < NSCENE; ++k) {
        rig many = rig_make(scenes[k], N, NULL, 2, true), one = rig_make(scenes[k], 1, NULL, 1, true);
        const mjModel *m = one.model->mj;
        rig_step(&many, STET_PHYSICS_MUJOCO);
        rig_step(&one, STET_PHYSICS_MUJOCO);
        for (int step = 0; step < 12; ++step) {
            float ctrl[128];
            rig_controls(m, K, step, ctrl);
            rig_write_controls(&many, step);
            if (m->nu) OK(stet_array_write(rig_array(&one, "ctrl"), ctrl, (size_t)m->nu * sizeof *ctrl));
            OK(stet_step_run(many.step, 4));
            OK(stet_step_run(one.step, 4));
        }
        check_world(&many, K, one.worlds->state.data[0]);
        rig_free(&many);
        rig_free(&one);
    }
}

static void many_steps_at_once_are_as_many_single_ones(void **state)
{
    for (int k = 0; k < NSCENE; ++k) {
        rig a = rig_make(scenes[k], 4, NULL, 2, true), b = rig_make(scenes[k], 4, NULL, 2, true);
        rig_step(&a, STET_PHYSICS_MUJOCO);
        rig_step(&b, STET_PHYSICS_MUJOCO);
        rig_write_controls(&a, 5);
        rig_write_controls(&b, 5);
        OK(stet_step_run(a.step, 25));
        for (int i = 0; i < 25; ++i) OK(stet_step_run(b.step, 1));
        assert_true(rig_all_hash(&a) == rig_all_hash(&b));
        rig_free(&a);
        rig_free(&b);
    }
}

/*
 * WORLDS-2: what is read and written back unchanged leaves the exact numbers as they are; what is changed replaces
 * them.
 */
static void the_exact_number_stands_behind_its_rounding(void **state)
{
    rig r = rig_make("hand.xml", 5, NULL, 1, true);
    float row[5 * 256];
    rig_step(&r, STET_PHYSICS_MUJOCO);
    OK(stet_step_run(r.step, 20));
    uint64_t before = rig_hash(&r);
    static const char *const fields[] = {"qpos", "qvel", "ctrl", "time", "xfrc_applied"};
    for (size_t k = 0; k < sizeof fields / sizeof *fields; ++k) {
        stet_array *a = rig_array(&r, fields[k]);
        assert_true(stet_array_get_bytes(a) <= sizeof row);
        OK(stet_array_read(a, row, stet_array_get_bytes(a)));
        OK(stet_array_write(a, row, stet_array_get_bytes(a)));
        assert_true(rig_hash(&r) == before);
    }
    double neighbour = r.worlds->state.data[2]->qpos[4];
    assert_true(neighbour != (double)(float)neighbour);
    rig_set(&r, "qpos", 2, 3, 0.125f);
    OK(stet_step_run(r.step, 0));
    assert_true(rig_hash(&r) != before);
    assert_true(r.worlds->state.data[2]->qpos[3] == 0.125 && r.worlds->state.data[2]->qpos[4] == neighbour);
    rig_free(&r);
}

static void a_double_device_shows_the_exact_state(void **state)
{
    rig r = rig_make("humanoid.xml", 3, "f64", 2, true), single = rig_make("humanoid.xml", 3, NULL, 2, true);
    rig *both[] = {&r, &single};
    stet_reset_def reset = stet_default_reset_def();
    reset.qpos_noise = 0.01;
    for (int k = 0; k < 2; ++k) {
        rig_step(both[k], STET_PHYSICS_MUJOCO);
        OK(stet_worlds_reset(both[k]->worlds, &reset));
        OK(stet_step_run(both[k]->step, 15));
    }
    assert_true(rig_hash(&r) == rig_hash(&single));
    for (int64_t w = 0; w < 3; ++w)
        for (int64_t i = 0; i < r.model->mj->nq; ++i)
            assert_true(rig_get(&r, "qpos", w, i) == r.worlds->state.data[w]->qpos[i]);
    double time = 4;
    stet_array *a = rig_array(&r, "time");
    OK(stet_array_write_worlds(a, 1, 1, &time, sizeof time));
    assert_true(rig_hash(&r) != rig_hash(&single));
    rig_free(&r);
    rig_free(&single);
}

static void kf19_a_write_is_seen_by_the_next_step(void **state)
{
    rig r = rig_make(RIG_PENDULUM, 3, NULL, 1, true);
    const mjModel *m = r.model->mj;
    mjData *plain = plain_data(m);
    rig_step(&r, STET_PHYSICS_MUJOCO);
    for (int k = 0; k < 4; ++k) {
        rig_set(&r, "qpos", 1, 0, 0.5f * (float)k);
        rig_set(&r, "qvel", 1, 1, (float)k);
        rig_set(&r, "xfrc_applied", 1, 6, (float)k);
        plain->qpos[0] = 0.5 * k;
        plain->qvel[1] = k;
        plain->xfrc_applied[6] = k;
        mj_step(m, plain);
        OK(stet_step_run(r.step, 1));
        check_world(&r, 1, plain);
    }
    mj_deleteData(plain);
    rig_free(&r);
}

/* Also by one of no world: what is written later is compared with this. */
static void a_step_of_no_world_takes_writes(void **state)
{
    static const uint8_t none[1] = {0};
    const float x = 0.25f;
    rig r = rig_make("cartpole.xml", 1, NULL, 1, true);
    rig_step(&r, STET_PHYSICS_MUJOCO);
    OK(stet_array_write(rig_array(&r, "ctrl"), &x, sizeof x));
    OK(stet_step_run_worlds(r.step, none, 1));
    assert_true(r.worlds->state.data[0]->ctrl[0] == (double)x && r.worlds->state.data[0]->time == 0);
    rig_free(&r);
}

static void the_steady_state_allocates_nothing(void **state)
{
    rig r = rig_make("hand.xml", 20, NULL, 2, true);
    rig_step(&r, STET_PHYSICS_MUJOCO);
    stet_array *xpos = rig_array(&r, "xpos");
    stet_reset_def reset = stet_default_reset_def();
    reset.qpos_noise = 0.01;
    int64_t before = 0;
    for (int step = 0; step < 6; ++step) {
        if (step == 2) before = stet_get_memory_stats().allocations;
        rig_write_controls(&r, step);
        OK(stet_step_run(r.step, 2));
        OK(sti_array_ensure(xpos));
        OK(stet_worlds_reset(r.worlds, &reset));
    }
    assert_int_equal(stet_get_memory_stats().allocations, before);
    rig_free(&r);
}

static void external_physics_leaves_poses_to_the_caller(void **state)
{
    for (int exact = 0; exact < 2; ++exact) {
        rig r = rig_make(RIG_PENDULUM, 4, NULL, 1, exact);
        rig_step(&r, STET_PHYSICS_EXTERNAL);
        assert_true(rig_get(&r, "xpos", 2, 6) == 1); /* before anything is written: the initial state */
        rig_set(&r, "xpos", 2, 6, 5);
        int64_t kinematics = rig_counters(&r).kinematics;
        OK(stet_step_run(r.step, 10));
        rig_set(&r, "qpos", 2, 1, 3); /* no news to poses that are the caller's */
        OK(stet_step_run(r.step, 1));
        assert_true(rig_get(&r, "xpos", 2, 6) == 5);
        assert_true(rig_get(&r, "xpos", 1, 6) == 1);
        assert_int_equal(rig_counters(&r).kinematics, kinematics);
        assert_true(rig_counters(&r).reason[STET_REASON_POSE_SYNC_EXTERNAL] >= 1);
        double time = 0;
        for (int i = 0; i < 11; ++i) time += 0.01;
        assert_true(rig_get(&r, "time", 3, 0) == (double)(float)time);
        stet_reset_def reset = stet_default_reset_def();
        OK(stet_worlds_reset(r.worlds, &reset));
        assert_true(rig_get(&r, "xpos", 2, 6) == 1 && rig_get(&r, "time", 2, 0) == 0);
        rig_free(&r);
    }
}

/* Until the caller writes poses they follow qpos, so that they are the same whether or not they are made again. */
static void with_external_physics_poses_follow_qpos_until_they_are_written(void **state)
{
    static const stet_mechanism_options ways[] = {
        {.audit = false}, {.audit = true}, {.disabled = 1u << STET_MECHANISM_POSE_SYNC}};
    for (int k = 0; k < 6; ++k) {
        rig r = rig_make(RIG_PENDULUM, 4, NULL, 1, k % 2);
        OK(stet_device_set_mechanisms(r.device, &ways[k / 2]));
        rig_step(&r, STET_PHYSICS_EXTERNAL);
        (void)rig_array_hash(&r, "xpos");
        rig_set(&r, "qpos", 2, 1, 3);
        OK(stet_step_run(r.step, 2));
        assert_true(rig_get(&r, "xpos", 2, 6) == 3);
        assert_true(rig_get(&r, "xpos", 1, 6) == 1);
        rig_set(&r, "xpos", 1, 6, 7);
        rig_set(&r, "qpos", 1, 1, 4);
        assert_true(rig_get(&r, "xpos", 1, 6) == 7);
        stet_reset_def reset = stet_default_reset_def();
        OK(stet_worlds_reset(r.worlds, &reset));
        rig_set(&r, "qpos", 1, 1, 4);
        assert_true(rig_get(&r, "xpos", 1, 6) == 4);
        rig_free(&r);
    }
}

static void bad_calls_are_refused(void **state)
{
    rig r = rig_make(RIG_PENDULUM, 2, NULL, 1, false);
    stet_step *step = (stet_step *)r.worlds;
    REFUSED(STET_ERROR_STATE, "exact = true", stet_step_create(r.worlds, STET_PHYSICS_MUJOCO, &step));
    assert_null(step);
    REFUSED(STET_ERROR_STATE, "mujoco", stet_step_create(r.worlds, STET_PHYSICS_MUJOCO, &step));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "no physics 9", stet_step_create(r.worlds, (stet_physics)9, &step));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_step_create(NULL, STET_PHYSICS_AUTO, &step));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_step_create(r.worlds, STET_PHYSICS_AUTO, NULL));
    rig_step(&r, STET_PHYSICS_EXTERNAL);
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "-1 time steps", stet_step_run(r.step, -1));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_step_run(NULL, 1));
    uint64_t before = rig_all_hash(&r);
    OK(stet_step_run(r.step, 0));
    assert_true(rig_all_hash(&r) == before);
    assert_string_equal(stet_physics_name(STET_PHYSICS_EXTERNAL), "external");
    assert_string_equal(stet_physics_name((stet_physics)9), "unknown");
    stet_step_destroy(NULL);
    rig_free(&r);
}

#if mjVERSION_HEADER >= 4000000 /* with native physics */
static int warnings;

static void count_few_iterations(stet_log_level level, const char *message, void *context)
{
    warnings += level == STET_LOG_WARNING && strstr(message, "iterations 1, ls_iterations 50") != NULL;
}

/* Native physics says that a model's solver ends early: in the log, and among what the model needs. */
static void few_iterations_are_said(void **state)
{
    static const struct {
        const char *option, *geom;
        stet_physics physics;
        int warnings;
    } rows[] = {{"iterations='1'", "<geom type='plane' size='1 1 1'/>", STET_PHYSICS_NATIVE, 1},
                {"iterations='1'", "<geom type='plane' size='1 1 1'/>", STET_PHYSICS_MUJOCO, 0},
                {"iterations='1'", "", STET_PHYSICS_NATIVE, 0}, /* nothing is to be solved */
                {"iterations='6'", "<geom type='plane' size='1 1 1'/>", STET_PHYSICS_NATIVE, 0},
                {"", "<geom type='plane' size='1 1 1'/>", STET_PHYSICS_NATIVE, 0}};
    stet_set_log(count_few_iterations, NULL);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        char xml[512];
        const char *name;
        bool covered, said = false;
        (void)snprintf(xml, sizeof xml,
                       "<mujoco><option %s/><worldbody>%s<body pos='0 0 1'><freejoint/><geom size='.1'/></body>"
                       "</worldbody></mujoco>",
                       rows[k].option, rows[k].geom);
        rig r = rig_make(xml, 2, NULL, 1, rows[k].physics == STET_PHYSICS_MUJOCO);
        warnings = 0;
        rig_step(&r, rows[k].physics);
        assert_int_equal(warnings, rows[k].warnings);
        for (int i = 0; (name = stet_native_get_feature(r.model, i, &covered)); ++i)
            said |= covered && strstr(name, "fewer than 6 iterations") != NULL;
        assert_int_equal(said, k < 2);
        rig_free(&r);
    }
    stet_set_log(NULL, NULL);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_world_is_a_plain_mujoco_loop),
        cmocka_unit_test(threads_and_lanes_change_no_bit),
        cmocka_unit_test(a_world_of_many_is_a_world_alone),
        cmocka_unit_test(many_steps_at_once_are_as_many_single_ones),
        cmocka_unit_test(the_exact_number_stands_behind_its_rounding),
        cmocka_unit_test(a_double_device_shows_the_exact_state),
        cmocka_unit_test(kf19_a_write_is_seen_by_the_next_step),
        cmocka_unit_test(a_step_of_no_world_takes_writes),
        cmocka_unit_test(the_steady_state_allocates_nothing),
        cmocka_unit_test(external_physics_leaves_poses_to_the_caller),
        cmocka_unit_test(with_external_physics_poses_follow_qpos_until_they_are_written),
#if mjVERSION_HEADER >= 4000000
        cmocka_unit_test(few_iterations_are_said),
#endif
        cmocka_unit_test(bad_calls_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
