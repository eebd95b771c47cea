/*
 * Quantities: MuJoCo's numbers, filled when they are read and at no other time, and without effect on what a step does.
 */
#include "worlds/expected.h"

#define MIXED MIXED_OF("")
#define MIXED_OF(options)                                                                                              \
    "<mujoco><option timestep='.004' " options                                                                         \
    "/><worldbody><geom name='floor' type='plane' size='5 5 .1'/><body name='arm' "                                    \
    "pos='0 0 1'><joint name='a' axis='0 1 0' damping='.1' range='-30 30' limited='true'/><geom type='capsule' "       \
    "size='.05' fromto='0 0 0 .5 0 0'/><site name='tip' pos='.5 0 0' quat='1 1 0 0'/><body name='hand' pos='.5 0 0'>"  \
    "<joint name='b' type='ball' stiffness='2'/><geom name='fist' type='box' size='.1 .05 .07' pos='.1 0 0' "          \
    "quat='1 0 2 0'/></body></body><body name='ball' pos='1 0 .08'><freejoint/><geom size='.1'/></body><body "         \
    "name='brick' pos='2 0 .08'><freejoint/><geom type='box' size='.2 .1 .1' condim='4'/></body></worldbody><tendon>"  \
    "<fixed name='t' stiffness='1' springlength='.1'><joint joint='a' coef='2'/></fixed></tendon><equality><weld "     \
    "body1='hand' body2='world' active='true' torquescale='.5'/></equality><actuator><position joint='a' kp='5'/>"     \
    "<motor tendon='t'/></actuator><sensor><accelerometer site='tip'/><gyro site='tip'/><touch site='tip'/>"           \
    "<framequat objtype='body' objname='brick'/><jointvel joint='a'/></sensor></mujoco>"

static const char *const scenes[] = {MIXED, "hand.xml", "cartpole.xml", "humanoid.xml"};
enum { SCENES = sizeof scenes / sizeof *scenes, N = 5 };

static void quantities_are_mujocos(void **state)
{
    for (size_t k = 0; k < SCENES; ++k)
        for (int exact = 0; exact < 2; ++exact) {
            rig r = rig_make(scenes[k], N, NULL, 2, exact);
            rig_step(&r, exact ? STET_PHYSICS_MUJOCO : STET_PHYSICS_EXTERNAL);
            expected_spread(&r, N);
            expected_check(&r, N, 2e-7, 2e-7);
            OK(stet_step_run(r.step, 3));
            expected_check(&r, N, 2e-7, 2e-7);
            rig_free(&r);
        }
}

/* ---- when they are filled ---------------------------------------------------------------------------------------- */

static int64_t count_misses(const rig *r) { return rig_counters(r).mechanism[STET_MECHANISM_QUANTITIES].misses; }

static void expect_forwards(const rig *r, const char *name, int64_t misses, int64_t worlds)
{
    int64_t missed = count_misses(r), ran = r->worlds->quantities.forwards;
    OK(sti_array_ensure(rig_array(r, name)));
    assert_int_equal(count_misses(r) - missed, misses);
    assert_int_equal(r->worlds->quantities.forwards - ran, worlds);
}

static void a_read_fills_what_changed(void **state)
{
    uint8_t mask[N] = {0, 1, 0, 0, 1};
    rig r = rig_make(MIXED, N, NULL, 1, true);
    rig_step(&r, STET_PHYSICS_MUJOCO);
    OK(stet_step_run(r.step, 2));
    assert_int_equal(r.worlds->quantities.forwards, 0);
    expect_forwards(&r, "qacc", 1, N);
    expect_forwards(&r, "qacc", 0, 0);
    expect_forwards(&r, "cvel", 1, N);
    OK(stet_step_run(r.step, 1));
    expect_forwards(&r, "qacc", 1, N); /* and cvel, which was read since the pass before */
    expect_forwards(&r, "cvel", 0, 0);
    OK(stet_step_run_worlds(r.step, mask, 1));
    expect_forwards(&r, "qacc", 1, 2);
    rig_set(&r, "qpos", 3, 0, .25f);
    expect_forwards(&r, "cvel", 1, 1);
    rig_set(&r, "ctrl", 0, 0, .5f);
    rig_set(&r, "xfrc_applied", 2, 8, .5f);
    expect_forwards(&r, "qacc", 1, 2);
    expect_forwards(&r, "xipos", 1, N);
    double gravity[3] = {0, 0, -1};
    OK(stet_worlds_set_parameter(r.worlds, "gravity", gravity, 3));
    expect_forwards(&r, "qacc", 1, N);
    stet_reset_def reset = stet_default_reset_def();
    reset.mask = mask;
    OK(stet_worlds_reset(r.worlds, &reset));
    expect_forwards(&r, "qacc", 1, 2);
    rig_free(&r);
}

static void a_switch_and_an_audit_change_no_bit(void **state)
{
    uint64_t hash[3];
    for (int k = 0; k < 3; ++k) {
        rig r = rig_make(MIXED, N, NULL, 1, true);
        rig_step(&r, STET_PHYSICS_MUJOCO);
        rig_mechanisms(&r, k == 1 ? 1u << STET_MECHANISM_QUANTITIES : 0, k == 2);
        OK(stet_step_run(r.step, 5));
        expect_forwards(&r, "qacc", 1, N);
        expect_forwards(&r, "qacc", k == 1, k == 0 ? 0 : N);
        hash[k] = rig_array_hash(&r, "qacc");
        rig_free(&r);
    }
    assert_true(hash[0] == hash[1] && hash[0] == hash[2]);
}

/* Also before a step has brought derived constants up to date. */
static void they_follow_parameters_at_once(void **state)
{
    for (int exact = 0; exact < 2; ++exact) {
        rig r = rig_make(MIXED, N, NULL, 1, exact);
        rig_step(&r, exact ? STET_PHYSICS_MUJOCO : STET_PHYSICS_EXTERNAL);
        const mjModel *own = r.model->mj;
        mjModel *m = mj_copyModel(NULL, own);
        assert_non_null(m);
        for (int64_t b = 0; b < m->nbody; ++b) m->body_mass[b] *= 1 + (mjtNum)b;
        OK(stet_worlds_set_parameter(r.worlds, "body_mass", m->body_mass, m->nbody));
        mjData *d = mj_makeData(m);
        assert_non_null(d);
        mj_setConst(m, d);
        mj_resetData(m, d);
        mj_forward(m, d);
        expected_numbers(&r, rig_array(&r, "subtree_com"), N - 1, d->subtree_com, 3 * m->nbody, 2e-7, 0);
        expected_numbers(&r, rig_array(&r, "qacc"), N - 1, d->qacc, m->nv, 2e-7, 0);
        mj_deleteData(d);
        mj_deleteModel(m);
        rig_free(&r);
    }
}

/* ---- inverse dynamics -------------------------------------------------------------------------------------------- */

static void inverse_dynamics_are_mujocos(void **state)
{
    enum { MOST = 128 };
    for (size_t k = 0; k < SCENES; ++k)
        for (int exact = 0; exact < 2; ++exact) {
            double qacc[N * MOST], out[N * MOST];
            rig r = rig_make(scenes[k], N, NULL, 2, exact);
            rig_step(&r, exact ? STET_PHYSICS_MUJOCO : STET_PHYSICS_EXTERNAL);
            expected_spread(&r, N);
            const mjModel *m = r.model->mj;
            int64_t n = N * m->nv;
            assert_true(m->nv <= MOST);
            for (int64_t i = 0; i < n; ++i) qacc[i] = 3 * (double)rig_wave((int)(i % N), 1, i);
            uint64_t hash = rig_all_hash(&r);
            OK(stet_worlds_inverse_dynamics(r.worlds, qacc, out, n));
            assert_true(hash == rig_all_hash(&r));
            for (int64_t w = 0; w < N; ++w) {
                mjData *d = expected_data(&r, w);
                memcpy(d->qacc, qacc + w * m->nv, (size_t)m->nv * sizeof *qacc);
                mj_inverse(m, d);
                for (int64_t i = 0; i < m->nv; ++i) assert_true(out[w * m->nv + i] == d->qfrc_inverse[i]);
                mj_deleteData(d);
            }
            REFUSED(STET_ERROR_INVALID_ARGUMENT, "give", stet_worlds_inverse_dynamics(r.worlds, qacc, out, n + 1));
            REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_worlds_inverse_dynamics(r.worlds, NULL, out, n));
            rig_free(&r);
        }
}

/* ---- sensors ----------------------------------------------------------------------------------------------------- */

/* They follow what a world is now; what its last step left is beside them, with every physics. */
static void sensors_are_those_of_the_present_state(void **state)
{
    for (int exact = 0; exact < 2; ++exact) {
        rig r = rig_make(MIXED, N, NULL, 1, exact);
        rig_step(&r, exact ? STET_PHYSICS_MUJOCO : STET_PHYSICS_EXTERNAL);
        stet_array *left = rig_array(&r, "step_sensordata"), *same;
        stet_snapshot *snapshot;
        stet_reset_def reset = stet_default_reset_def();
        OK(stet_worlds_get_step_quantity(r.worlds, "sensordata", &same));
        assert_ptr_equal(same, left);
        expected_check(&r, N, 2e-7, 2e-7); /* before the first step */
        assert_true(rig_get(&r, "sensordata", 2, 7) == 1 && rig_get(&r, "step_sensordata", 2, 7) == 0);
        expected_spread(&r, N);
        OK(stet_step_run(r.step, 5));
        OK(stet_snapshot_create(r.worlds, &snapshot));
        uint64_t stepped = rig_array_hash(&r, "step_sensordata"), present = rig_array_hash(&r, "sensordata");
        OK(stet_step_run(r.step, 0));
        expected_check(&r, N, 2e-7, 2e-7);
        rig_set(&r, "qpos", 1, 0, .25f);
        rig_set(&r, "ctrl", 2, 0, .5f);
        expected_check(&r, N, 2e-7, 2e-7);
        assert_true(stepped == rig_array_hash(&r, "step_sensordata") && present != rig_array_hash(&r, "sensordata"));
        OK(stet_worlds_reset(r.worlds, &reset));
        expected_check(&r, N, 2e-7, 2e-7);
        assert_true(rig_get(&r, "step_sensordata", 2, 7) == 0);
        OK(stet_worlds_restore(r.worlds, snapshot));
        assert_true(stepped == rig_array_hash(&r, "step_sensordata") && present == rig_array_hash(&r, "sensordata"));
        stet_snapshot_destroy(snapshot);
        rig_free(&r);
    }
}

/* Who does not read them pays for none; who reads them does so once a step, whatever else is read. */
static void sensors_are_computed_when_they_are_read(void **state)
{
    rig r = rig_make(MIXED, N, NULL, 1, true);
    rig_step(&r, STET_PHYSICS_MUJOCO);
    stet_array *seen = rig_array(&r, "sensordata");
    for (int i = 0; i < 4; ++i) {
        OK(stet_step_run(r.step, 1));
        OK(sti_array_ensure(rig_array(&r, "step_sensordata")));
    }
    assert_int_equal(r.worlds->quantities.forwards, 0);
    expect_forwards(&r, "sensordata", 1, N);
    expect_forwards(&r, "qacc", 1, N);
    OK(stet_step_run(r.step, 1));
    expect_forwards(&r, "sensordata", 1, N);
    expect_forwards(&r, "qacc", 0, 0);
    OK(sti_array_ensure(seen));
    expect_forwards(&r, "sensordata", 0, 0);
    rig_free(&r);
}

/* ---- quantities of the step -------------------------------------------------------------------------------------- */

static stet_array *of_step(const rig *r, const char *name)
{
    stet_array *a;
    OK(stet_worlds_get_step_quantity(r->worlds, name, &a));
    return a;
}

/* What mj_step leaves in data that begin in the state of world w, and what follows from them. */
static mjData *stepped_data(const rig *r, int64_t w)
{
    const mjModel *m = r->model->mj;
    mjData *d = mj_makeData(m);
    assert_non_null(d);
    mj_copyState(m, r->worlds->state.data[w], d, mjSTATE_INTEGRATION);
    mj_step(m, d);
    mj_rnePostConstraint(m, d);
    mj_subtreeVel(m, d);
    mj_energyPos(m, d);
    mj_energyVel(m, d);
    return d;
}

static void expect_of_step(const rig *r, int64_t w, const mjData *d)
{
    const mjModel *m = r->model->mj;
    const int64_t slots = 0;
    (void)slots;
#define CHECK(name, dtype, items, stage, member)                                                                       \
    if (sti_quantity_exact(d, STI_QUANTITY_##name))                                                                    \
        expected_numbers(r, of_step(r, #name), w, sti_quantity_exact(d, STI_QUANTITY_##name), (int64_t)(items), 1e-7,  \
                         0);
    STI_QUANTITIES(CHECK)
#undef CHECK
}

static void quantities_of_the_step_are_those_of_mj_step(void **state)
{
    for (size_t k = 0; k < SCENES; ++k) {
        rig r = rig_make(k == 0 ? MIXED_OF("integrator='RK4'") : scenes[k], N, NULL, 2, true);
        rig_step(&r, STET_PHYSICS_MUJOCO);
        expected_spread(&r, N);
        OK(stet_step_run(r.step, 3));
        mjData *d = stepped_data(&r, 1);
        uint8_t mask[N] = {0, 1};
        OK(stet_step_run_worlds(r.step, mask, 1));
        expect_of_step(&r, 1, d);
        mj_deleteData(d);
        rig_free(&r);
    }
}

static double left_height(const rig *r, int64_t w)
{
    OK(sti_array_ensure(of_step(r, "geom_xpos")));
    return reals_get(of_step(r, "geom_xpos"), w, 13);
}

static void a_write_leaves_what_the_step_left(void **state)
{
    rig r = rig_make(MIXED, N, NULL, 1, true);
    rig_step(&r, STET_PHYSICS_MUJOCO);
    OK(stet_step_run(r.step, 2));
    double left = left_height(&r, 0), others = left_height(&r, 1);
    assert_true(left != rig_get(&r, "geom_xpos", 0, 13));
    rig_set(&r, "qpos", 0, 0, .5f);
    assert_true(left_height(&r, 0) == left && left_height(&r, 1) == others);
    stet_reset_def def = stet_default_reset_def();
    def.mask = (const uint8_t[N]){1};
    OK(stet_worlds_reset(r.worlds, &def));
    for (int i = 0; i < 2; ++i) { /* it began anew, and follows the present state */
        rig_set(&r, "qpos", 0, 0, .1f * (float)i);
        assert_true(left_height(&r, 0) == rig_get(&r, "geom_xpos", 0, 13) && left_height(&r, 1) == others);
    }
    rig_free(&r);
    r = rig_make(MIXED, 1, NULL, 1, false);
    rig_step(&r, STET_PHYSICS_EXTERNAL);
    stet_array *a;
    REFUSED(STET_ERROR_UNSUPPORTED, "external", stet_worlds_get_step_quantity(r.worlds, "qacc", &a));
    assert_null(a);
    REFUSED(STET_ERROR_UNSUPPORTED, "external", stet_step_forward(r.step, NULL, NULL));
    rig_free(&r);
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

static void forward_makes_them_those_of_the_present_state(void **state)
{
    rig r = rig_make(MIXED, N, NULL, 2, true);
    rig_step(&r, STET_PHYSICS_MUJOCO);
    expected_spread(&r, N);
    OK(stet_step_run(r.step, 3));
    mjData *d = expected_data(&r, 1);
    double left = left_height(&r, 0), sensor = rig_get(&r, "step_sensordata", 0, 7);
    uint64_t qpos = rig_array_hash(&r, "qpos");
    OK(stet_step_forward(r.step, (const uint8_t[N]){0, 1}, NULL));
    expect_of_step(&r, 1, d);
    expected_numbers(&r, of_step(&r, "xpos"), 1, d->xpos, 3 * r.model->mj->nbody, 1e-7, 0);
    expected_numbers(&r, rig_array(&r, "step_sensordata"), 1, d->sensordata, r.model->mj->nsensordata, 1e-7, 1);
    assert_true(left_height(&r, 0) == left && rig_get(&r, "step_sensordata", 0, 7) == sensor);
    assert_true(qpos == rig_array_hash(&r, "qpos"));
    stet_array *mask;
    OK(STI_ARRAY(r.device, "mask", STET_DTYPE_U8, false, &mask, N));
    OK(stet_array_write(mask, (const uint8_t[N]){1}, N));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "leave one out", stet_step_forward(r.step, (const uint8_t[N]){1}, mask));
    OK(stet_step_forward(r.step, NULL, mask));
    assert_true(left_height(&r, 0) == rig_get(&r, "geom_xpos", 0, 13));
    stet_array_destroy(mask);
    mj_deleteData(d);
    rig_free(&r);
}

static const char asleep[] =
    "<mujoco><option timestep='.004'><flag sleep='enable'/></option><worldbody><geom type='plane' size='5 5 .1'/>"
    "<body pos='0 0 .1'><freejoint/><geom size='.1'/></body><body pos='1 0 .3'><freejoint/><geom type='box' "
    "size='.1 .1 .1'/></body><body pos='0 0 2'><joint axis='0 1 0' damping='.1'/><geom type='capsule' size='.05' "
    "fromto='0 0 0 .5 0 0'/></body></worldbody></mujoco>";

static void forward_changes_no_step(void **state)
{
    const char *const all[] = {MIXED, "humanoid.xml", asleep};
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k) {
        uint64_t hash[2];
        for (int forwards = 0; forwards < 2; ++forwards) {
            rig r = rig_make(all[k], N, NULL, 2, true);
            rig_step(&r, STET_PHYSICS_MUJOCO);
            for (int step = 0; step < 60; ++step) {
                rig_write_controls(&r, step);
                if (forwards) OK(stet_step_forward(r.step, NULL, NULL));
                OK(stet_step_run(r.step, k == 2 ? 10 : 1));
                if (forwards) OK(stet_step_forward(r.step, (const uint8_t[N]){1, 0, 1}, NULL));
            }
            hash[forwards] = rig_array_hash(&r, "qpos") * 31 + rig_array_hash(&r, "qvel");
            rig_free(&r);
        }
        assert_true(hash[0] == hash[1]);
    }
}

static void reading_changes_no_step(void **state)
{
    uint64_t hash[2];
    for (int reads = 0; reads < 2; ++reads) {
        rig r = rig_make(MIXED, N, NULL, 2, true);
        rig_step(&r, STET_PHYSICS_MUJOCO);
        for (int step = 0; step < 40; ++step) {
            rig_write_controls(&r, step);
            OK(stet_step_run(r.step, 1));
            for (const char *const *q = stet_worlds_get_quantities(); reads && *q; ++q) {
                OK(sti_array_ensure(rig_array(&r, *q)));
                OK(sti_array_ensure(of_step(&r, *q)));
            }
        }
        hash[reads] = rig_all_hash(&r);
        rig_free(&r);
    }
    assert_true(hash[0] == hash[1]);
}

/* ---- contacts, names --------------------------------------------------------------------------------------------- */

static void the_deepest_contacts_have_slots(void **state)
{
    stet_array *a;
    rig r = rig_make(MIXED, N, NULL, 1, true);
    rig_step(&r, STET_PHYSICS_MUJOCO);
    OK(stet_worlds_set_contact_slots(r.worlds, 2));
    mjData *d = expected_data(&r, 0);
    assert_true(d->ncon > 2);
    assert_int_equal(expected_int(rig_array(&r, "ncon"), 0, 0), d->ncon);
    assert_int_equal(rig_array(&r, "contact_pos")->nitem, 6);
    for (int i = 0; i < d->ncon; ++i) {
        int less = 0;
        for (int k = 0; k < d->ncon; ++k) less += d->contact[k].dist < d->contact[i].dist;
        bool found = false;
        for (int k = 0; k < 2; ++k)
            found = found || rig_get(&r, "contact_dist", 0, k) == (double)(float)d->contact[i].dist;
        if (less == 0) assert_true(found);
    }
    REFUSED(STET_ERROR_STATE, "contact_", stet_worlds_set_contact_slots(r.worlds, 3));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "0 contact slots", stet_worlds_set_contact_slots(r.worlds, 0));
    mj_deleteData(d);
    OK(stet_worlds_get_array(r.worlds, "ncon", &a));
    assert_int_equal(a->dtype, STET_DTYPE_INT);
    rig_free(&r);
}

static void wrong_names_are_refused(void **state)
{
    stet_array *a;
    double point[3] = {0};
    rig r = rig_make(MIXED, 1, NULL, 1, true);
    REFUSED(STET_ERROR_NOT_FOUND, "contact_force", stet_worlds_get_array(r.worlds, "qaccs", &a));
    for (const char *const *q = stet_worlds_get_quantities(); *q; ++q)
        assert_non_null(strstr(stet_get_last_error(), *q));
    assert_null(a);
    REFUSED(STET_ERROR_NOT_FOUND, "contact_force", stet_worlds_get_step_quantity(r.worlds, "qpos", &a));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_worlds_get_step_quantity(r.worlds, NULL, &a));
    REFUSED(STET_ERROR_NOT_FOUND, "jac_geom", stet_worlds_get_jacobian(r.worlds, STET_JACOBIAN_GEOM, 99, NULL, &a));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "point", stet_worlds_get_jacobian(r.worlds, STET_JACOBIAN_BODY, 1, point, &a));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "point", stet_worlds_get_jacobian(r.worlds, STET_JACOBIAN_POINT, 1, NULL, &a));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "kind 77", stet_worlds_get_jacobian(r.worlds, 77, 1, NULL, &a));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_worlds_get_jacobian(NULL, STET_JACOBIAN_BODY, 1, NULL, &a));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_worlds_set_contact_slots(NULL, 1));
    rig_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantities_are_mujocos),
        cmocka_unit_test(a_read_fills_what_changed),
        cmocka_unit_test(a_switch_and_an_audit_change_no_bit),
        cmocka_unit_test(they_follow_parameters_at_once),
        cmocka_unit_test(inverse_dynamics_are_mujocos),
        cmocka_unit_test(sensors_are_those_of_the_present_state),
        cmocka_unit_test(sensors_are_computed_when_they_are_read),
        cmocka_unit_test(quantities_of_the_step_are_those_of_mj_step),
        cmocka_unit_test(a_write_leaves_what_the_step_left),
        cmocka_unit_test(forward_makes_them_those_of_the_present_state),
        cmocka_unit_test(forward_changes_no_step),
        cmocka_unit_test(reading_changes_no_step),
        cmocka_unit_test(the_deepest_contacts_have_slots),
        cmocka_unit_test(wrong_names_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
