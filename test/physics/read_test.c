/* Quantities of worlds with native physics: MuJoCo's numbers, in one launch for all that are wanted. */
#include "worlds/expected.h"

#include "bench/pilot/humanoid.h"

#define SCENE(options)                                                                                                 \
    "<mujoco><option timestep='.004' tolerance='1e-14' " options "/><default><geom contype='0'/></default><worldbody>" \
    "<geom type='plane' size='5 5 .1' contype='1'/>"                                                                   \
    "<body name='arm' pos='0 0 1'><joint name='a' axis='0 1 0' damping='.1' range='-1 1' limited='true'/><geom "       \
    "type='capsule' size='.05' fromto='0 0 0 .5 0 0'/><site name='tip' pos='.5 0 0' quat='1 1 0 0'/><body "            \
    "name='hand' pos='.5 0 0'><joint name='b' type='ball' stiffness='2'/><geom type='capsule' size='.05 .07' "         \
    "pos='.1 0 0' quat='1 0 2 0'/></body></body><body pos='1 0 .08'><freejoint/><geom size='.1'/></body><body "        \
    "pos='2 0 .08'><freejoint/><geom type='box' size='.2 .1 .1' condim='4'/></body><body pos='3 0 .08'><freejoint/>"   \
    "<geom type='cylinder' size='.2 .1' condim='6'/></body></worldbody><tendon><fixed name='t' stiffness='1' "         \
    "springlength='.1'><joint joint='a' coef='2'/></fixed></tendon><equality><weld body1='hand' body2='world' "        \
    "torquescale='.5'/></equality><actuator><position joint='a' kp='5'/><motor tendon='t'/></actuator><sensor>"        \
    "<accelerometer site='tip'/><gyro site='tip'/><touch site='tip'/><framequat objtype='body' objname='hand'/>"       \
    "<jointvel joint='a'/><e_kinetic/></sensor></mujoco>"

static const char *const scenes[] = {SCENE("cone='pyramidal'"), SCENE("cone='elliptic' integrator='implicitfast'"),
                                     HUMANOID(".3", "tolerance='1e-14'")};
enum { SCENES = sizeof scenes / sizeof *scenes, N = 6 };

static void quantities_are_mujocos(void **state)
{
    for (size_t k = 0; k < SCENES; ++k) {
        rig r = rig_make(scenes[k], N, "f64", 2, false);
        rig_step(&r, STET_PHYSICS_NATIVE);
        expected_spread(&r, N);
        expected_check(&r, N, 1e-9, 3e-6);
        OK(stet_step_run(r.step, 3));
        expected_check(&r, N, 1e-9, 3e-6);
        assert_int_equal(r.worlds->quantities.forwards, 0);
        rig_free(&r);
    }
}

static void set_double(const rig *r, const char *field, int64_t w, int64_t i, double x)
{
    stet_array *a = rig_array(r, field);
    double row[64];
    assert_true(a->nitem <= 64);
    OK(stet_array_read_worlds(a, w, 1, row, (size_t)a->nitem * sizeof *row));
    row[i] = x;
    OK(stet_array_write_worlds(a, w, 1, row, (size_t)a->nitem * sizeof *row));
}

/* They follow what a world is now; what its last step left is beside them. */
static void sensors_are_those_of_the_present_state(void **state)
{
    rig r = rig_make(scenes[0], N, "f64", 2, false);
    rig_step(&r, STET_PHYSICS_NATIVE);
    stet_array *left;
    OK(stet_worlds_get_step_quantity(r.worlds, "sensordata", &left));
    assert_ptr_equal(left, rig_array(&r, "step_sensordata"));
    expected_check(&r, N, 1e-9, 3e-6); /* before the first step */
    expected_spread(&r, N);
    OK(stet_step_run(r.step, 3));
    uint64_t stepped = rig_array_hash(&r, "step_sensordata");
    assert_true(stepped != rig_array_hash(&r, "sensordata"));
    set_double(&r, "qpos", 3, 0, .25);
    set_double(&r, "ctrl", 1, 0, .5);
    expected_check(&r, N, 1e-9, 3e-6);
    assert_true(stepped == rig_array_hash(&r, "step_sensordata"));
    stet_reset_def def = stet_default_reset_def();
    def.mask = (const uint8_t[N]){0, 1, 0, 0, 1};
    OK(stet_worlds_reset(r.worlds, &def));
    expected_check(&r, N, 1e-9, 3e-6);
    stet_array *kept = rig_array(&r, "step_sensordata");
    assert_true(reals_get(kept, 1, 9) == 0 && reals_get(kept, 2, 9) != 0);
    rig_free(&r);
}

static int64_t count_launches(const rig *r) { return rig_counters(r).launches; }

static void expect_launches(const rig *r, const char *name, int64_t launches)
{
    int64_t before = count_launches(r);
    OK(sti_array_ensure(rig_array(r, name)));
    assert_int_equal(count_launches(r) - before, launches);
}

static void a_read_launches_once(void **state)
{
    rig r = rig_make(scenes[0], N, NULL, 1, false);
    rig_step(&r, STET_PHYSICS_NATIVE);
    expected_spread(&r, N);
    OK(stet_step_run(r.step, 1));
    expect_launches(&r, "qacc", 1);
    expect_launches(&r, "qacc", 0);
    expect_launches(&r, "cvel", 1);
    expect_launches(&r, "contact_geom", 2); /* forward dynamics, and whole numbers from reals */
    OK(stet_step_run(r.step, 1));
    expect_launches(&r, "qacc", 4); /* once for all three, and a copy of each */
    expect_launches(&r, "cvel", 0);
    expect_launches(&r, "contact_geom", 0);
    rig_set(&r, "qpos", 3, 0, .25f);
    expect_launches(&r, "cvel", 4);
    rig_free(&r);
}

static void reading_changes_no_step(void **state)
{
    uint64_t hash[2];
    for (int reads = 0; reads < 2; ++reads) {
        rig r = rig_make(scenes[2], N, NULL, 2, false);
        rig_step(&r, STET_PHYSICS_NATIVE);
        for (int step = 0; step < 20; ++step) {
            rig_write_controls(&r, step);
            OK(stet_step_run(r.step, 1));
            for (const char *const *q = stet_worlds_get_quantities(); reads && *q; ++q)
                OK(sti_array_ensure(rig_array(&r, *q)));
        }
        hash[reads] = rig_all_hash(&r);
        rig_free(&r);
    }
    assert_true(hash[0] == hash[1]);
}

/* With fewer slots than contacts, the deepest have them. */
static void the_deepest_contacts_have_slots(void **state)
{
    rig r = rig_make(scenes[0], N, NULL, 1, false);
    rig_step(&r, STET_PHYSICS_NATIVE);
    expected_spread(&r, N);
    OK(stet_worlds_set_contact_slots(r.worlds, 3));
    for (int64_t w = 0; w < N; ++w) {
        mjData *d = expected_data(&r, w);
        assert_true(d->ncon > 3);
        assert_int_equal(expected_int(rig_array(&r, "ncon"), w, 0), d->ncon);
        for (int i = 0; i < d->ncon; ++i) {
            int deeper = 0;
            for (int k = 0; k < d->ncon; ++k) deeper += d->contact[k].dist < d->contact[i].dist - 1e-6;
            if (deeper == 0) assert_true(expected_slot(&r, &d->contact[i], w, 3) >= 0);
            if (deeper > 2) assert_true(expected_slot(&r, &d->contact[i], w, 3) < 0);
        }
        mj_deleteData(d);
    }
    rig_free(&r);
}

/* ---- quantities of the step -------------------------------------------------------------------------------------- */

static stet_array *of_step(const rig *r, const char *name)
{
    stet_array *a;
    OK(stet_worlds_get_step_quantity(r->worlds, name, &a));
    return a;
}

/* What mj_step left in d, and what followed from the state before it: in `from`. */
static void expect_of_step(const rig *r, int64_t w, const mjData *d, const mjData *from)
{
    const mjModel *m = r->model->mj;
    const int64_t slots = 0;
    (void)slots;
    expected_numbers(r, of_step(r, "xpos"), w, d->xpos, 3 * m->nbody, 1e-9, 1);
    expected_numbers(r, of_step(r, "xquat"), w, d->xquat, 4 * m->nbody, 1e-9, 1);
    expected_numbers(r, rig_array(r, "step_sensordata"), w, d->sensordata, m->nsensordata, 3e-6, 1);
#define CHECK(name, dtype, items, stage, member)                                                                       \
    if (sti_quantity_exact(d, STI_QUANTITY_##name) && STI_QUANTITY_##name != STI_QUANTITY_sensordata &&                \
        STI_QUANTITY_##name != STI_QUANTITY_cinert)                                                                    \
        expected_numbers(r, of_step(r, #name), w,                                                                      \
                         sti_quantity_exact(STI_STAGE_##stage == STI_STAGE_AFTER ? from : d, STI_QUANTITY_##name),     \
                         (int64_t)(items), 3e-6, 1);
    STI_QUANTITIES(CHECK)
#undef CHECK
    assert_int_equal(expected_int(of_step(r, "ncon"), w, 0), d->ncon);
}

static const char *const integrators[] = {SCENE("cone='pyramidal'"), SCENE("cone='elliptic' integrator='implicitfast'"),
                                          SCENE("integrator='implicit'"), SCENE("integrator='discrete'")};
enum { INTEGRATORS = sizeof integrators / sizeof *integrators };

/* One substep late, and only of the worlds that step. */
static void quantities_of_the_step_are_those_of_mj_step(void **state)
{
    for (size_t k = 0; k < INTEGRATORS; ++k) {
        rig r = rig_make(integrators[k], N, "f64", 2, false);
        rig_step(&r, STET_PHYSICS_NATIVE);
        (void)of_step(&r, "qacc"); /* from now on a step keeps them */
        expected_spread(&r, N);
        OK(stet_step_run(r.step, 3));
        const mjModel *m = r.model->mj;
        mjData *from[2], *left[2];
        for (int64_t w = 0; w < 2; ++w) {
            from[w] = expected_data(&r, w);
            left[w] = mj_copyData(NULL, m, from[w]);
            mj_step(m, left[w]);
        }
        OK(stet_step_run_worlds(r.step, (const uint8_t[N]){1}, 1));
        expect_of_step(&r, 0, left[0], from[0]);
        OK(stet_step_run_worlds(r.step, (const uint8_t[N]){0, 1}, 1));
        expect_of_step(&r, 1, left[1], from[1]);
        mj_step(m, left[0]);
        mj_copyState(m, left[0], from[0], mjSTATE_INTEGRATION);
        mj_forward(m, from[0]);
        mj_rnePostConstraint(m, from[0]);
        mj_subtreeVel(m, from[0]);
        mj_energyPos(m, from[0]);
        mj_energyVel(m, from[0]);
        mj_step(m, left[0]);
        OK(stet_step_run_worlds(r.step, (const uint8_t[N]){1}, 2)); /* the last of two */
        expect_of_step(&r, 0, left[0], from[0]);
        expect_of_step(&r, 1, left[1], from[1]);
        for (int i = 0; i < 2; ++i) {
            mj_deleteData(left[i]);
            mj_deleteData(from[i]);
        }
        rig_free(&r);
    }
}

static double left_height(const rig *r, int64_t w)
{
    OK(sti_array_ensure(of_step(r, "geom_xpos")));
    return reals_get(of_step(r, "geom_xpos"), w, 5);
}

/* Writes leave them, resets do not, and a forward of some worlds makes them those of the present state. */
static void they_stay_until_a_step_a_reset_or_a_forward(void **state)
{
    rig r = rig_make(scenes[0], N, "f64", 2, false);
    rig_step(&r, STET_PHYSICS_NATIVE);
    double first = left_height(&r, 0);
    assert_true(first == rig_get(&r, "geom_xpos", 0, 5)); /* before any step they follow the present state */
    expected_spread(&r, N);
    OK(stet_step_run(r.step, 2));
    double left = left_height(&r, 0), others = left_height(&r, 1);
    assert_true(left != rig_get(&r, "geom_xpos", 0, 5));
    set_double(&r, "qpos", 0, 0, .25);
    assert_true(left_height(&r, 0) == left);
    stet_array *mask;
    OK(STI_ARRAY(r.device, "mask", STET_DTYPE_INT, true, &mask, N, 1));
    stet_reset_def def = stet_default_reset_def();
    OK(stet_array_write_worlds(mask, 0, 1, &(int32_t){1}, sizeof(int32_t)));
    def.mask_array = mask;
    OK(stet_worlds_reset(r.worlds, &def));
    for (int i = 0; i < 2; ++i) {
        set_double(&r, "qpos", 0, 0, .1 * i);
        assert_true(left_height(&r, 0) == rig_get(&r, "geom_xpos", 0, 5) && left_height(&r, 1) == others);
    }
    uint64_t state_hash = rig_array_hash(&r, "qpos"), warm = rig_array_hash(&r, "qacc_warmstart");
    set_double(&r, "qpos", 1, 0, -.3);
    double sensor = reals_get(rig_array(&r, "step_sensordata"), 0, 9);
    mjData *d = expected_data(&r, 1);
    OK(stet_step_forward(r.step, (const uint8_t[N]){0, 1}, NULL));
    expect_of_step(&r, 1, d, d);
    assert_true(reals_get(rig_array(&r, "step_sensordata"), 0, 9) == sensor);
    set_double(&r, "qpos", 1, 0, .7);
    expect_of_step(&r, 1, d, d);
    OK(stet_step_forward(r.step, NULL, mask));
    double forward = left_height(&r, 0);
    set_double(&r, "qpos", 0, 0, .8);
    assert_true(left_height(&r, 0) == forward);
    assert_true(warm == rig_array_hash(&r, "qacc_warmstart") && state_hash != rig_array_hash(&r, "qpos"));
    mj_deleteData(d);
    stet_array_destroy(mask);
    rig_free(&r);
}

/* A step or a forward is as many launches whatever is asked for; reads of what did not change are none. */
static void they_cost_launches_only_once_asked_for(void **state)
{
    rig r = rig_make(scenes[0], N, NULL, 1, false);
    rig_step(&r, STET_PHYSICS_NATIVE);
    OK(stet_step_run(r.step, 4));
    int64_t before = count_launches(&r);
    OK(stet_step_run(r.step, 4));
    assert_int_equal(count_launches(&r) - before, 1);
    stet_array *left = of_step(&r, "cvel"), *force = of_step(&r, "actuator_force");
    before = count_launches(&r);
    OK(stet_step_run(r.step, 4)); /* three, what is kept, one, and those that were put back */
    assert_int_equal(count_launches(&r) - before, 4);
    before = count_launches(&r);
    OK(stet_step_forward(r.step, NULL, NULL)); /* what is kept, worlds that began, one forward, both, sensors */
    assert_int_equal(count_launches(&r) - before, 6);
    OK(sti_array_ensure(left));
    OK(sti_array_ensure(force));
    assert_int_equal(count_launches(&r) - before, 6);
    rig_set(&r, "ctrl", 0, 0, .5f);
    OK(sti_array_ensure(left));
    assert_int_equal(count_launches(&r) - before, 6);
    rig_free(&r);
}

static void keeping_changes_no_step(void **state)
{
    uint64_t hash[2];
    for (int keeps = 0; keeps < 2; ++keeps) {
        rig r = rig_make(scenes[2], N, NULL, 2, false);
        rig_step(&r, STET_PHYSICS_NATIVE);
        for (int step = 0; step < 20; ++step) {
            rig_write_controls(&r, step);
            OK(stet_step_run(r.step, 3));
            if (keeps) OK(sti_array_ensure(of_step(&r, "qacc")));
            if (keeps && step % 3 == 0) OK(stet_step_forward(r.step, NULL, NULL));
        }
        hash[keeps] = rig_array_hash(&r, "qpos") * 31 + rig_array_hash(&r, "qvel");
        rig_free(&r);
    }
    assert_true(hash[0] == hash[1]);
}

/* A world that is put back as it went wrong has numbers of the state after that step; its neighbours lack nothing. */
static void a_world_that_went_wrong_has_numbers(void **state)
{
    rig r = rig_make(scenes[0], N, "f64", 1, false);
    rig_step(&r, STET_PHYSICS_NATIVE);
    stet_array *left = of_step(&r, "geom_xpos");
    OK(stet_step_run(r.step, 1));
    set_double(&r, "qpos", 2, 0, 1e12);
    OK(stet_step_run(r.step, 1));
    OK(sti_array_ensure(left));
    assert_true(stet_worlds_get_faults(r.worlds)[2] == 1u << STET_FAULT_BAD_QPOS);
    for (int64_t i = 0; i < left->nitem; ++i) assert_true(fabs(reals_get(left, 2, i)) < 10);
    assert_true(reals_get(left, 2, 5) == rig_get(&r, "geom_xpos", 2, 5));
    rig_free(&r);
}

static void runge_kutta_is_refused(void **state)
{
    stet_array *a;
    rig r = rig_make(SCENE("integrator='RK4'"), N, NULL, 1, false);
    rig_step(&r, STET_PHYSICS_NATIVE);
    REFUSED(STET_ERROR_UNSUPPORTED, "RK4", stet_worlds_get_step_quantity(r.worlds, "qacc", &a));
    assert_null(a);
    OK(stet_worlds_get_step_quantity(r.worlds, "sensordata", &a));
    OK(stet_step_run(r.step, 1));
    OK(stet_step_forward(r.step, NULL, NULL));
    assert_true(rig_array_hash(&r, "sensordata") == rig_array_hash(&r, "step_sensordata"));
    rig_free(&r);
}

/* After the step is gone, MuJoCo's library fills them. */
static void the_physics_may_go(void **state)
{
    rig r = rig_make(scenes[0], N, NULL, 1, false);
    rig_step(&r, STET_PHYSICS_NATIVE);
    OK(stet_step_run(r.step, 1));
    double x = rig_get(&r, "qacc", 1, 0);
    stet_array *left = of_step(&r, "qacc");
    OK(stet_step_run(r.step, 0));
    stet_step_destroy(r.step);
    r.step = NULL;
    OK(sti_array_ensure(left)); /* nothing is left of the step: those of the present state */
    assert_true(fabs(reals_get(left, 1, 0) - x) < 1e-3 * (1 + fabs(x)));
    assert_true(fabs(rig_get(&r, "qacc", 1, 0) - x) < 1e-3 * (1 + fabs(x)));
    assert_int_equal(r.worlds->quantities.forwards, N);
    rig_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantities_are_mujocos),
        cmocka_unit_test(sensors_are_those_of_the_present_state),
        cmocka_unit_test(a_read_launches_once),
        cmocka_unit_test(reading_changes_no_step),
        cmocka_unit_test(the_deepest_contacts_have_slots),
        cmocka_unit_test(quantities_of_the_step_are_those_of_mj_step),
        cmocka_unit_test(they_stay_until_a_step_a_reset_or_a_forward),
        cmocka_unit_test(they_cost_launches_only_once_asked_for),
        cmocka_unit_test(keeping_changes_no_step),
        cmocka_unit_test(a_world_that_went_wrong_has_numbers),
        cmocka_unit_test(runge_kutta_is_refused),
        cmocka_unit_test(the_physics_may_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
