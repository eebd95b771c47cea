/* Faults: one world's trouble is its own, is named, and the world goes on. */
#include "worlds/rig.h"

#include <math.h>

enum { N = 9, BAD = 4 };

/* The exact state of every world but BAD has the same bits in both. */
static void check_others(const rig *a, const rig *b)
{
    const mjModel *m = a->model->mj;
    size_t n = (size_t)mj_stateSize(m, mjSTATE_INTEGRATION);
    double *x = test_malloc(n * sizeof *x), *y = test_malloc(n * sizeof *y);
    for (int w = 0; w < N; ++w) {
        if (w == BAD) continue;
        mj_getState(m, a->worlds->state.data[w], x, mjSTATE_INTEGRATION);
        mj_getState(b->model->mj, b->worlds->state.data[w], y, mjSTATE_INTEGRATION);
        assert_memory_equal(x, y, n * sizeof *x);
        assert_int_equal(stet_worlds_get_faults(a->worlds)[w], 0);
        for (int i = 0; i < 3 * m->nbody; ++i) assert_true(rig_get(a, "xpos", w, i) == rig_get(b, "xpos", w, i));
    }
    test_free(x);
    test_free(y);
}

static void a_bad_number_stays_in_its_world(void **state)
{
    static const struct {
        const char *field;
        int64_t item;
        float value;
        stet_fault fault;
    } bad[] = {
        {"ctrl", 0, NAN, STET_FAULT_BAD_CTRL},          {"qpos", 1, NAN, STET_FAULT_BAD_QPOS},
        {"qpos", 0, -INFINITY, STET_FAULT_BAD_QPOS},    {"qvel", 2, NAN, STET_FAULT_BAD_QVEL},
        {"qvel", 2, 1e20f, STET_FAULT_BAD_QVEL},        {"qfrc_applied", 0, NAN, STET_FAULT_BAD_QACC},
        {"xfrc_applied", 12, NAN, STET_FAULT_BAD_QACC},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) {
        rig r = rig_make(RIG_PENDULUM, N, NULL, 2, true), clean = rig_make(RIG_PENDULUM, N, NULL, 2, true);
        rig_step(&r, STET_PHYSICS_MUJOCO);
        rig_step(&clean, STET_PHYSICS_MUJOCO);
        rig_write_controls(&r, 3);
        rig_write_controls(&clean, 3);
        rig_set(&r, bad[k].field, BAD, bad[k].item, bad[k].value);
        OK(stet_step_run(r.step, 5));
        OK(stet_step_run(clean.step, 5));
        check_others(&r, &clean);
        assert_int_equal(stet_worlds_get_faults(r.worlds)[BAD], 1u << bad[k].fault);
        for (int i = 0; i < 8; ++i) assert_true(isfinite(rig_get(&r, "qpos", BAD, i)));
        /* The fault stays until the world is reset, and then is gone. */
        if (strcmp(bad[k].field, "ctrl") == 0) rig_set(&r, "ctrl", BAD, 0, 0);
        OK(stet_step_run(r.step, 1));
        assert_int_equal(stet_worlds_get_faults(r.worlds)[BAD], 1u << bad[k].fault);
        stet_reset_def reset = stet_default_reset_def();
        OK(stet_worlds_reset(r.worlds, &reset));
        OK(stet_step_run(r.step, 3));
        assert_int_equal(stet_worlds_get_faults(r.worlds)[BAD], 0);
        rig_free(&r);
        rig_free(&clean);
    }
}

static void kf44_a_nan_spreads_to_no_other_world(void **state)
{
    uint64_t seed = dice_seed("kf44_a_nan_spreads_to_no_other_world");
    static const char *const fields[] = {"qpos", "qvel", "ctrl", "qfrc_applied", "xfrc_applied"};
    rig r = rig_make("hand.xml", N, NULL, 2, true), clean = rig_make("hand.xml", N, NULL, 2, true);
    rig_step(&r, STET_PHYSICS_MUJOCO);
    rig_step(&clean, STET_PHYSICS_MUJOCO);
    for (int step = 0; step < 20; ++step) {
        rig_write_controls(&r, step);
        rig_write_controls(&clean, step);
        const char *field = fields[dice_below(&seed, sizeof fields / sizeof *fields)];
        rig_set(&r, field, BAD, (int64_t)dice_below(&seed, (size_t)rig_array(&r, field)->nitem), NAN);
        OK(stet_step_run(r.step, 2));
        OK(stet_step_run(clean.step, 2));
        check_others(&r, &clean);
    }
    assert_true(stet_worlds_get_faults(r.worlds)[BAD] != 0);
    rig_free(&r);
    rig_free(&clean);
}

static void step_plain(void *context)
{
    void **it = context;
    mj_step(it[0], it[1]);
}

/*
 * A world that MuJoCo resets goes on as MuJoCo's data do, which have no controls then, nor forces; the arrays say so,
 * and n steps at once are n single ones.
 */
static void a_reset_by_the_physics_is_mujocos(void **state)
{
    rig a = rig_make(RIG_PENDULUM, N, NULL, 2, true), b = rig_make(RIG_PENDULUM, N, NULL, 1, true);
    rig clean = rig_make(RIG_PENDULUM, N, NULL, 1, true), *all[] = {&a, &b, &clean};
    const mjModel *m = a.model->mj;
    for (int k = 0; k < 3; ++k) {
        rig_step(all[k], STET_PHYSICS_MUJOCO);
        rig_write_controls(all[k], 2);
        if (all[k] == &clean) continue;
        rig_set(all[k], "mocap_pos", BAD, 0, 3);
        rig_set(all[k], "qfrc_applied", BAD, 1, 2);
        rig_set(all[k], "qpos", BAD, 0, NAN);
    }
    mjData *plain = mj_makeData(m);
    mj_resetDataKeyframe(m, plain, 0);
    plain->ctrl[0] = rig_get(&a, "ctrl", BAD, 0);
    plain->qpos[0] = NAN;
    assert_true(plain->ctrl[0] != 0);
    OK(stet_step_run(a.step, 6));
    for (int i = 0; i < 6; ++i) {
        OK(stet_step_run(b.step, 1));
        OK(stet_step_run(clean.step, 1));
        (void)sti_mujoco_guard(step_plain, (void *[]){(void *)(uintptr_t)m, plain}, NULL, 0);
    }
    assert_true(rig_all_hash(&a) == rig_all_hash(&b));
    check_others(&a, &clean);
    assert_int_equal(stet_worlds_get_faults(a.worlds)[BAD], 1u << STET_FAULT_BAD_QPOS);
    size_t n = (size_t)mj_stateSize(m, mjSTATE_INTEGRATION);
    double *x = test_malloc(n * sizeof *x), *y = test_malloc(n * sizeof *y);
    mj_getState(m, a.worlds->state.data[BAD], x, mjSTATE_INTEGRATION);
    mj_getState(m, plain, y, mjSTATE_INTEGRATION);
    assert_memory_equal(x, y, n * sizeof *x);
    test_free(x);
    test_free(y);
    static const char *const inputs[] = {"ctrl", "qfrc_applied", "xfrc_applied"};
    for (size_t k = 0; k < sizeof inputs / sizeof *inputs; ++k)
        for (int i = 0; i < rig_array(&a, inputs[k])->nitem; ++i) assert_true(rig_get(&a, inputs[k], BAD, i) == 0);
    assert_true(rig_get(&a, "mocap_pos", BAD, 0) == 0 && rig_get(&a, "xpos", BAD, 9) == 0);
    assert_true(rig_get(&a, "ctrl", 0, 0) != 0);
    /* What is written from now on holds. */
    rig_write_controls(&a, 3);
    OK(stet_step_run(a.step, 1));
    assert_true(a.worlds->state.data[BAD]->ctrl[0] == rig_get(&a, "ctrl", BAD, 0) &&
                a.worlds->state.data[BAD]->ctrl[0] != 0);
    mj_deleteData(plain);
    for (int k = 0; k < 3; ++k) rig_free(all[k]);
}

/* ---- errors of MuJoCo ---- */

static const mjData *victim;
static double error_time;

static void fail_in_step(const mjModel *m, mjData *d)
{
    (void)m;
    if (d == victim && d->time > error_time) {
        error_time = 1e9; /* once */
        mju_error("an error on purpose");
    }
}

static void an_error_of_the_physics_is_a_fault_of_its_world(void **state)
{
    rig r = rig_make(RIG_PENDULUM, N, NULL, 2, true), clean = rig_make(RIG_PENDULUM, N, NULL, 2, true);
    rig_step(&r, STET_PHYSICS_MUJOCO);
    rig_step(&clean, STET_PHYSICS_MUJOCO);
    rig_write_controls(&r, 3);
    rig_write_controls(&clean, 3);
    victim = r.worlds->state.data[BAD];
    error_time = 0.035;
    mjcb_control = fail_in_step;
    stet_result result = stet_step_run(r.step, 10);
    mjcb_control = NULL;
    assert_int_equal(result, STET_OK);
    OK(stet_step_run(clean.step, 10));
    check_others(&r, &clean);
    assert_int_equal(stet_worlds_get_faults(r.worlds)[BAD], 1u << STET_FAULT_PHYSICS_ERROR);
    /* Steps one to four were fine, in the fifth it failed, and five more from qpos0 with the caller's controls. */
    mjData *d = mj_makeData(r.model->mj);
    d->ctrl[0] = rig_get(&r, "ctrl", BAD, 0);
    for (int i = 0; i < 5; ++i) mj_step(r.model->mj, d);
    for (int i = 0; i < 8; ++i) assert_true(d->qpos[i] == r.worlds->state.data[BAD]->qpos[i]);
    mj_deleteData(d);
    rig_free(&r);
    rig_free(&clean);
}

/* Twenty balls in one place need more contacts than there is memory for; spread out, they need none. */
static const char *crowd(void)
{
    static char xml[8192];
    int n = snprintf(xml, sizeof xml, "<mujoco><size memory='120K'/><option gravity='0 0 0'/><worldbody>");
    for (int i = 0; i < 20; ++i)
        n += snprintf(xml + n, sizeof xml - (size_t)n, "<body pos='%d 0 0'><freejoint/><geom size='.1'/></body>", i);
    (void)snprintf(xml + n, sizeof xml - (size_t)n, "</worldbody></mujoco>");
    return xml;
}

static void too_many_contacts_are_a_fault_of_their_world(void **state)
{
    rig r = rig_make(crowd(), N, NULL, 2, true), clean = rig_make(crowd(), N, NULL, 2, true);
    rig_step(&r, STET_PHYSICS_MUJOCO);
    rig_step(&clean, STET_PHYSICS_MUJOCO);
    for (int i = 0; i < 20; ++i) rig_set(&r, "qpos", BAD, 7 * i, 0.001f * (float)i);
    OK(stet_step_run(r.step, 2));
    OK(stet_step_run(clean.step, 2));
    check_others(&r, &clean);
    assert_int_equal(stet_worlds_get_faults(r.worlds)[BAD], 1u << STET_FAULT_CONTACTS_FULL);
    rig_free(&r);
    rig_free(&clean);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bad_number_stays_in_its_world),
        cmocka_unit_test(kf44_a_nan_spreads_to_no_other_world),
        cmocka_unit_test(a_reset_by_the_physics_is_mujocos),
        cmocka_unit_test(an_error_of_the_physics_is_a_fault_of_its_world),
        cmocka_unit_test(too_many_contacts_are_a_fault_of_their_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
