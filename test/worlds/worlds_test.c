/* Worlds: making them, their fields, bad input, and what the caller's writes do. */
#include "worlds/rig.h"

#include "base/failing.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>

static void fields_have_mujocos_names_and_sizes(void **state)
{
    rig r = rig_make("arm_table.xml", 5, NULL, 1, true);
    const mjModel *m = r.model->mj;
    const struct {
        const char *name;
        int64_t items;
    } wanted[] = {{"qpos", m->nq},
                  {"qvel", m->nv},
                  {"ctrl", m->nu},
                  {"xfrc_applied", 6 * m->nbody},
                  {"time", 1},
                  {"xpos", 3 * m->nbody},
                  {"xquat", 4 * m->nbody},
                  {"sensordata", m->nsensordata},
                  {"step_sensordata", m->nsensordata},
                  {"act", m->na},
                  {"mocap_pos", 3 * m->nmocap}};
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; ++k) {
        stet_array *a = rig_array(&r, wanted[k].name);
        assert_int_equal(stet_array_get_ndim(a), 2);
        assert_int_equal(stet_array_get_shape(a)[0], 5);
        assert_int_equal(stet_array_get_shape(a)[1], wanted[k].items);
        assert_string_equal(stet_array_get_name(a), wanted[k].name);
    }
    assert_int_equal(stet_worlds_get_nworld(r.worlds), 5);
    rig_free(&r);
}

static void worlds_begin_at_their_keyframe(void **state)
{
    for (int exact = 0; exact < 2; ++exact) {
        rig r = rig_make("hand.xml", 3, NULL, 1, exact);
        const mjModel *m = r.model->mj;
        for (int64_t w = 0; w < 3; ++w) {
            for (int i = 0; i < m->nq; ++i) assert_true(rig_get(&r, "qpos", w, i) == (double)(float)m->key_qpos[i]);
            for (int i = 0; i < m->nu; ++i) assert_true(rig_get(&r, "ctrl", w, i) == (double)(float)m->key_ctrl[i]);
            assert_int_equal(stet_worlds_get_faults(r.worlds)[w], 0);
        }
        rig_free(&r);
    }
}

static void fault_names_are_those_of_their_table(void **state)
{
    static const char *const upper[] = {
#define NAME(name, sentence) #name,
        STET_FAULTS(NAME)
#undef NAME
    };
    for (int f = 0; f < STET_FAULT_COUNT; ++f) {
        const char *name = stet_fault_name((stet_fault)f);
        assert_int_equal(strlen(name), strlen(upper[f]));
        for (size_t i = 0; name[i]; ++i) assert_int_equal(name[i], tolower((unsigned char)upper[f][i]));
    }
    assert_string_equal(stet_fault_name(STET_FAULT_COUNT), "unknown");
}

static void bad_definitions_are_refused(void **state)
{
    stet_device *device = rig_open_device(NULL, 1);
    stet_model *model = rig_model(RIG_PENDULUM), *plain = rig_model("<mujoco/>");
    stet_worlds *worlds = (stet_worlds *)device;
    stet_worlds_def def = stet_default_worlds_def(), empty;
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_worlds_create(NULL, model, &def, &worlds));
    assert_null(worlds);
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_worlds_create(device, NULL, &def, &worlds));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_worlds_create(device, model, NULL, &worlds));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_worlds_create(device, model, &def, NULL));
    memset(&empty, 0, sizeof empty);
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "stet_default_worlds_def", stet_worlds_create(device, model, &empty, &worlds));
    def.nworld = 0;
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "nworld is 0", stet_worlds_create(device, model, &def, &worlds));
    def.nworld = -4;
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "nworld is -4", stet_worlds_create(device, model, &def, &worlds));
    def.nworld = INT64_C(1) << 40;
    REFUSED(STET_ERROR_LIMIT, "at most 2147483647", stet_worlds_create(device, model, &def, &worlds));
    def.nworld = INT32_MAX;
    REFUSED(STET_ERROR_LIMIT, "ask for at most", stet_worlds_create(device, model, &def, &worlds));
    def.nworld = 1;
    def.keyframe = 2;
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "keyframes 0 to 1", stet_worlds_create(device, model, &def, &worlds));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "has none", stet_worlds_create(device, plain, &def, &worlds));
    def.keyframe = -2;
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "keyframe -2", stet_worlds_create(device, model, &def, &worlds));
    def.keyframe = -3;
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "keyframe -3", stet_worlds_create(device, model, &def, &worlds));
    assert_null(worlds);
    stet_model_destroy(plain);
    stet_model_destroy(model);
    stet_device_destroy(device);
}

static void an_unknown_field_is_answered_with_the_known_ones(void **state)
{
    rig r = rig_make(RIG_PENDULUM, 2, NULL, 1, true);
    stet_array *a = rig_array(&r, "qpos");
    REFUSED(STET_ERROR_NOT_FOUND, "'qpso'", stet_worlds_get_array(r.worlds, "qpso", &a));
    assert_null(a);
    for (const char *const *f = stet_worlds_get_fields(); *f; ++f) assert_non_null(strstr(stet_get_last_error(), *f));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_worlds_get_array(NULL, "qpos", &a));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_worlds_get_array(r.worlds, NULL, &a));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_worlds_get_array(r.worlds, "qpos", NULL));
    rig_free(&r);
}

static void an_empty_model_makes_worlds(void **state)
{
    for (int exact = 0; exact < 2; ++exact) {
        rig r = rig_make("<mujoco/>", 3, NULL, 2, exact);
        assert_true(rig_get(&r, "xquat", 2, 0) == 1);
        assert_int_equal(stet_array_get_nelement(rig_array(&r, "qpos")), 0);
        rig_free(&r);
    }
}

/* The model outlives its owner's handle. */
static void worlds_keep_the_model_alive(void **state)
{
    rig r = rig_make(RIG_PENDULUM, 2, NULL, 1, true);
    stet_model_destroy(r.model);
    rig_step(&r, STET_PHYSICS_AUTO);
    OK(stet_step_run(r.step, 3));
    assert_true(rig_get(&r, "time", 1, 0) > 0.02);
    r.model = NULL;
    rig_free(&r);
}

static const char *failing_scene = RIG_PENDULUM;

static stet_result make_and_use(void)
{
    stet_device *device = NULL;
    stet_model *model = NULL;
    stet_worlds *worlds = NULL;
    stet_snapshot *snapshot = NULL;
    stet_device_def device_def = stet_default_device_def();
    stet_worlds_def def = stet_default_worlds_def();
    stet_reset_def reset = stet_default_reset_def();
    device_def.type = STET_DEVICE_CPU;
    device_def.threads = 1;
    def.nworld = 3;
    reset.qpos_noise = 0.1;
    uint64_t hash;
    stet_result result = stet_device_create(&device_def, &device);
    if (result == STET_OK) result = stet_model_load_string(failing_scene, &model);
    if (result == STET_OK) result = stet_worlds_create(device, model, &def, &worlds);
    if (result == STET_OK) result = stet_worlds_reset(worlds, &reset);
    if (result == STET_OK) result = stet_snapshot_create(worlds, &snapshot);
    if (result == STET_OK) result = stet_worlds_restore(worlds, snapshot);
    if (result == STET_OK) result = stet_worlds_hash(worlds, &hash);
    stet_snapshot_destroy(snapshot);
    stet_worlds_destroy(worlds);
    stet_model_destroy(model);
    stet_device_destroy(device);
    return result;
}

static void a_failed_allocation_leaves_nothing_behind(void **state)
{
    assert_true(fail_each_allocation(make_and_use, false) > 20);
}

/* As many as the sentence advises are taken, and one more is not. */
static void worlds_that_fit_are_not_refused(void **state)
{
    static const double each[] = {64, 1000, 170000.5, 3e9}, have[] = {2e9, 25.3e9, 1099511627776.0};
    for (size_t i = 0; i < sizeof each / sizeof *each; ++i)
        for (size_t k = 0; k < sizeof have / sizeof *have; ++k) {
            int64_t most = 0;
            assert_int_equal(sti_worlds_check_memory(INT32_MAX, 1e6, 1), STET_ERROR_LIMIT);
            stet_result result = sti_worlds_check_memory(INT32_MAX, each[i], have[k]);
            assert_int_equal(result, each[i] * INT32_MAX <= have[k] ? STET_OK : STET_ERROR_LIMIT);
            if (result == STET_OK) continue;
            const char *said = strstr(stet_get_last_error(), "at most ");
            assert_true(said && sscanf(said, "at most %" SCNd64, &most) == 1);
            if (most > 0) OK(sti_worlds_check_memory(most, each[i], have[k]));
            assert_int_equal(sti_worlds_check_memory(most + 1, each[i], have[k]), STET_ERROR_LIMIT);
        }
    OK(sti_worlds_check_memory(INT32_MAX, 1e9, 0)); /* not known */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_have_mujocos_names_and_sizes),
        cmocka_unit_test(worlds_begin_at_their_keyframe),
        cmocka_unit_test(fault_names_are_those_of_their_table),
        cmocka_unit_test(bad_definitions_are_refused),
        cmocka_unit_test(an_unknown_field_is_answered_with_the_known_ones),
        cmocka_unit_test(an_empty_model_makes_worlds),
        cmocka_unit_test(worlds_that_fit_are_not_refused),
        cmocka_unit_test(worlds_keep_the_model_alive),
        cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
