/* Sensors that native physics lacks are named, and those that are disabled need nothing. */
#include "worlds/rig.h"

#define SENSED(flags, sensor)                                                                                          \
    "<mujoco><option>" flags "</option><asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/></asset><worldbody>"    \
    "<camera name='t' mode='track'/><camera name='c'/><site name='s'/><geom name='f' type='mesh' mesh='m' "            \
    "contype='0' conaffinity='0'/><geom name='g' size='.1' contype='0' conaffinity='0'/></worldbody><sensor>" sensor   \
    "</sensor></mujoco>"

static void what_is_missing_is_listed(void **state)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {SENSED("<flag nativeccd='disable'/>", "<distance geom1='f' geom2='g'/>"), "or by libccd"},
        {SENSED("", "<framepos objtype='camera' objname='t'/>"), "sensors on cameras that track"},
        {SENSED("", "<framepos objtype='site' objname='s' reftype='camera' refname='t'/>"), "cameras that track"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        rig r = rig_make(rows[k].text, 1, NULL, 1, false);
        REFUSED(STET_ERROR_UNSUPPORTED, rows[k].words, stet_step_create(r.worlds, STET_PHYSICS_NATIVE, &r.step));
        rig_free(&r);
    }
}

/* Sensors that are disabled need nothing, and stay 0. */
static void disabled_sensors_stay_0(void **state)
{
    rig r = rig_make(SENSED("<flag sensor='disable'/>", "<contact geom1='f'/><rangefinder site='s'/><clock/>"), 3, NULL,
                     1, false);
    rig_step(&r, STET_PHYSICS_NATIVE);
    OK(stet_step_run(r.step, 2));
    for (int64_t i = 0; i < rig_array(&r, "sensordata")->nitem; ++i) {
        assert_true(rig_get(&r, "sensordata", 1, i) == 0);
        assert_true(rig_get(&r, "step_sensordata", 1, i) == 0);
    }
    OK(sti_array_ensure(rig_array(&r, "qacc"))); /* beside another quantity */
    OK(stet_step_run(r.step, 1));
    OK(sti_array_ensure(rig_array(&r, "qacc")));
    for (int64_t i = 0; i < rig_array(&r, "sensordata")->nitem; ++i) assert_true(rig_get(&r, "sensordata", 1, i) == 0);
    rig_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_missing_is_listed),
        cmocka_unit_test(disabled_sensors_stay_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
