/*
 * MuJoCo's own plugins: every one that ships loads, steps as in MuJoCo, is saved and restored; a binary model with one
 * is refused.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include "worlds/rig.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define SHAPE(name)                                                                                                    \
    {                                                                                                                  \
        "mujoco.sdf." name, "<mujoco><extension><plugin plugin='mujoco.sdf." name "'><instance name='s'/></plugin>"    \
                            "</extension><option sdf_iterations='10' sdf_initpoints='20'/><asset><mesh name='m'>"      \
                            "<plugin instance='s'/></mesh></asset><worldbody><geom type='plane' size='5 5 .1'/>"       \
                            "<body pos='0 0 .6'><freejoint/><geom type='sdf' mesh='m' mass='1'>"                       \
                            "<plugin instance='s'/></geom></body></worldbody></mujoco>"                                \
    }

static const struct {
    const char *plugin, *xml;
} models[] = {
    {"mujoco.pid", "<mujoco><extension><plugin plugin='mujoco.pid'><instance name='p'><config key='kp' value='40'/>"
                   "<config key='ki' value='40'/><config key='kd' value='4'/><config key='slewmax' value='3'/>"
                   "<config key='imax' value='5'/></instance></plugin></extension><worldbody><body><joint name='j' "
                   "type='slide' axis='1 0 0'/><geom size='.1'/></body></worldbody><actuator><plugin joint='j' "
                   "plugin='mujoco.pid' instance='p' actdim='2'/></actuator></mujoco>"},
    {"mujoco.sensor.touch_grid",
     "<mujoco><extension><plugin plugin='mujoco.sensor.touch_grid'/></extension><worldbody><geom type='plane' "
     "size='5 5 .1'/><body pos='0 0 .09'><freejoint/><geom size='.1'/><site name='s'/></body></worldbody><sensor>"
     "<plugin name='t' plugin='mujoco.sensor.touch_grid' objtype='site' objname='s'><config key='size' value='5 5'/>"
     "<config key='fov' value='90 90'/><config key='gamma' value='0'/><config key='nchannel' value='3'/></plugin>"
     "</sensor></mujoco>"},
    {"mujoco.elasticity.cable",
     "<mujoco><extension><plugin plugin='mujoco.elasticity.cable'/></extension><worldbody><composite type='cable' "
     "curve='s' count='9 1 1' size='1' offset='0 0 1' initial='none'><plugin plugin='mujoco.elasticity.cable'><config "
     "key='twist' value='1e7'/><config key='bend' value='4e6'/></plugin><joint kind='main' damping='.01'/><geom "
     "type='capsule' size='.01' density='1000'/></composite></worldbody></mujoco>"},
    SHAPE("bolt"),
    SHAPE("bowl"),
    SHAPE("gear"),
    SHAPE("nut"),
    SHAPE("torus"),
};
enum { NMODEL = sizeof models / sizeof *models, NTHREAD = 6, N = 3 };

static bool ships(const char *plugin) { return mjp_getPlugin(plugin, NULL) != NULL; }

/* The first test: nothing has loaded the plugins yet. */
static pthread_barrier_t together;
static void *load_one(void *plugin)
{
    stet_model *model = NULL;
    (void)pthread_barrier_wait(&together);
    for (int k = 0; k < NMODEL; ++k)
        if (strcmp(models[k].plugin, plugin) == 0 && stet_model_load_string(models[k].xml, &model) != STET_OK)
            print_error("%s\n", stet_get_last_error());
    return model;
}

static void threads_load_them_together(void **state)
{
    pthread_t threads[NTHREAD];
    assert_int_equal(mjp_pluginCount(), 0);
    (void)pthread_barrier_init(&together, NULL, NTHREAD);
    for (int t = 0; t < NTHREAD; ++t)
        assert_int_equal(
            pthread_create(&threads[t], NULL, load_one, (void *)(uintptr_t)(t % 2 ? "mujoco.pid" : "mujoco.sdf.nut")),
            0);
    void *loaded[NTHREAD];
    for (int t = 0; t < NTHREAD; ++t) (void)pthread_join(threads[t], &loaded[t]);
    (void)pthread_barrier_destroy(&together);
    for (int t = 0; t < NTHREAD; ++t) {
        assert_non_null(loaded[t]);
        stet_model_destroy(loaded[t]);
    }
}

/* What MuJoCo ships has a model here. */
static void each_plugin_is_tested(void **state)
{
    assert_true(mjp_pluginCount() >= 7);
    for (int slot = 0; slot < mjp_pluginCount(); ++slot) {
        const mjpPlugin *plugin = mjp_getPluginAtSlot(slot);
        bool known = false;
        for (int k = 0; k < NMODEL; ++k) known = known || strcmp(models[k].plugin, plugin->name) == 0;
        if (!known) fail_msg("no model here has the plugin %s", plugin->name);
    }
}

static void compare_states(const rig *r, int64_t w, const mjData *plain)
{
    const mjModel *m = r->model->mj;
    size_t n = (size_t)mj_stateSize(m, mjSTATE_INTEGRATION);
    double *a = test_malloc(n * sizeof *a), *b = test_malloc(n * sizeof *b);
    mj_getState(m, r->worlds->state.data[w], a, mjSTATE_INTEGRATION);
    mj_getState(m, plain, b, mjSTATE_INTEGRATION);
    assert_memory_equal(a, b, n * sizeof *a);
    assert_memory_equal(r->worlds->state.data[w]->sensordata, plain->sensordata, (size_t)m->nsensordata * sizeof *a);
    test_free(a);
    test_free(b);
}

static void each_model_steps_as_in_mujoco(void **state)
{
    for (int k = 0; k < NMODEL; ++k) {
        if (!ships(models[k].plugin)) continue;
        rig r = rig_make(models[k].xml, N, NULL, 2, true);
        rig_step(&r, STET_PHYSICS_MUJOCO);
        mjData *plain[N];
        for (int w = 0; w < N; ++w) plain[w] = mj_makeData(r.model->mj);
        stet_snapshot *middle = NULL;
        uint64_t end = 0;
        for (int step = 0; step < 20; ++step) {
            if (step == 10) OK(stet_snapshot_create(r.worlds, &middle));
            rig_write_controls(&r, step / 5);
            OK(stet_step_run(r.step, 2));
            for (int w = 0; w < N; ++w) {
                float ctrl[8];
                rig_controls(r.model->mj, w, step / 5, ctrl);
                for (int i = 0; i < r.model->mj->nu; ++i) plain[w]->ctrl[i] = (double)ctrl[i];
                for (int i = 0; i < 2; ++i) mj_step(r.model->mj, plain[w]);
                compare_states(&r, w, plain[w]);
            }
        }
        end = rig_all_hash(&r);
        OK(stet_worlds_restore(r.worlds, middle));
        for (int step = 10; step < 20; ++step) {
            rig_write_controls(&r, step / 5);
            OK(stet_step_run(r.step, 2));
        }
        assert_true(rig_all_hash(&r) == end);
        for (int w = 0; w < N; ++w) {
            assert_int_equal(stet_worlds_get_faults(r.worlds)[w], 0);
            mj_deleteData(plain[w]);
        }
        stet_snapshot_destroy(middle);
        rig_free(&r);
    }
}

/* A plugin's number in a binary model is that of the process that saved it: it may be any plugin here, or none. */
static void a_binary_model_with_a_plugin_is_refused(void **state)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/test/plugin_%ld.mjb", STET_TEST_BINARY_DIR, (long)getpid());
    for (int k = 0; k < NMODEL; ++k) {
        if (!ships(models[k].plugin)) continue;
        stet_model *model = rig_model(models[k].xml), *again = model;
        mj_saveModel(model->mj, path, NULL, 0);
        REFUSED(STET_ERROR_UNSUPPORTED, "load its XML instead", stet_model_load(path, &again));
        assert_null(again);
        stet_model_destroy(model);
    }
    stet_model *plain = rig_model(RIG_PENDULUM), *again = NULL;
    mj_saveModel(plain->mj, path, NULL, 0);
    OK(stet_model_load(path, &again));
    assert_int_equal(again->mj->nq, plain->mj->nq);
    stet_model_destroy(again);
    stet_model_destroy(plain);
    assert_int_equal(unlink(path), 0);
}

/*
 * As when another copy of MuJoCo's package comes into the process: MuJoCo calls it an error, and by itself would end
 * the process.
 */
static void plugins_may_come_a_second_time(void **state)
{
    char path[1024], bytes[4096];
    Dl_info info;
    const mjpPlugin *pid = mjp_getPlugin("mujoco.pid", NULL);
    int count = mjp_pluginCount();
    assert_non_null(pid);
    assert_true(dladdr((const void *)(uintptr_t)pid->nstate, &info) != 0);
    (void)snprintf(path, sizeof path, "%s/test/plugin_%ld.so", STET_TEST_BINARY_DIR, (long)getpid());
    FILE *from = fopen(info.dli_fname, "rb"), *to = fopen(path, "wb");
    assert_true(from && to);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, from)) > 0;) assert_int_equal(fwrite(bytes, 1, n, to), n);
    assert_int_equal(fclose(from) | fclose(to), 0);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_int_equal(unlink(path), 0);
    assert_non_null(library);
    assert_int_equal(mjp_pluginCount(), count);
    assert_ptr_equal(mjp_getPlugin("mujoco.pid", NULL), pid);
}

static void an_unknown_plugin_is_named(void **state)
{
    stet_model *model;
    REFUSED(
        STET_ERROR_PARSE, "mujoco.nothing",
        stet_model_load_string("<mujoco><extension><plugin plugin='mujoco.nothing'/></extension></mujoco>", &model));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_load_them_together),     cmocka_unit_test(each_plugin_is_tested),
        cmocka_unit_test(each_model_steps_as_in_mujoco),  cmocka_unit_test(a_binary_model_with_a_plugin_is_refused),
        cmocka_unit_test(plugins_may_come_a_second_time), cmocka_unit_test(an_unknown_plugin_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
