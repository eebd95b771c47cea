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
        assert_int_equal(r.worlds->forwards, 0);
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

/* After the step is gone, MuJoCo's library fills them. */
static void the_physics_may_go(void **state)
{
    rig r = rig_make(scenes[0], N, NULL, 1, false);
    rig_step(&r, STET_PHYSICS_NATIVE);
    OK(stet_step_run(r.step, 1));
    double x = rig_get(&r, "qacc", 1, 0);
    stet_step_destroy(r.step);
    r.step = NULL;
    assert_true(fabs(rig_get(&r, "qacc", 1, 0) - x) < 1e-3 * (1 + fabs(x)));
    assert_int_equal(r.worlds->forwards, N);
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
        cmocka_unit_test(the_physics_may_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
