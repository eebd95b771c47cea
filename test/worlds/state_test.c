/*
 * All of MuJoCo's state is saved: from a snapshot and from a file a run goes on to the bit, whatever kinds of state
 * its model has.
 */
#include "worlds/rig.h"

#include <unistd.h>

#define BALL(height) "<body pos='0 0 " height "'><freejoint/><geom size='.1'/></body>"

static const struct {
    const char *what;
    unsigned state; /* a kind of state that the model must have; 0: none of its own */
    const char *xml;
} models[] = {
    {"delays", mjSTATE_HISTORY,
     "<mujoco><worldbody><body><joint name='j' type='slide'/><geom size='.1'/></body></worldbody><actuator><motor "
     "joint='j' ctrlrange='-1 1' delay='.01' nsample='8' interp='linear'/></actuator><sensor><jointpos joint='j' "
     "delay='.01' nsample='8'/></sensor></mujoco>"},
#if mjVERSION_HEADER >= 4000000
    {"a joint that yields", mjSTATE_PLASTIC,
     "<mujoco><worldbody><body><joint axis='0 1 0' stiffness='2' springyield='.05'/><geom type='capsule' size='.05' "
     "fromto='0 0 0 .5 0 0'/></body></worldbody></mujoco>"},
    {"a tendon that yields", mjSTATE_PLASTIC,
     "<mujoco><worldbody><site name='a' pos='0 0 1'/><body><freejoint/><geom size='.1'/><site name='b'/></body>"
     "</worldbody><tendon><spatial stiffness='30' springyield='.02'><site site='a'/><site site='b'/></spatial></tendon>"
     "</mujoco>"},
    {"a rod", mjSTATE_PLASTIC,
     "<mujoco><option integrator='discrete'/><worldbody><flexcomp name='rod' dim='1' type='grid' count='6 1 1' "
     "spacing='.1 .1 .1' pos='0 0 1' radius='.01' mass='.1'><pin id='0'/><edge equality='true'/><elasticity "
     "young='1e6' shear='1e6'/></flexcomp></worldbody></mujoco>"},
    {"clay", mjSTATE_PLASTIC,
     "<mujoco><option integrator='discrete' timestep='.001'/><worldbody><geom type='plane' size='2 2 .1'/><flexcomp "
     "name='clay' dim='3' type='grid' count='3 3 3' spacing='.1 .1 .1' pos='0 0 .2' radius='.005' mass='1'><elasticity "
     "young='1e4' poisson='.2' yield='.002'/></flexcomp></worldbody></mujoco>"},
    {"speculative contacts", 0,
     "<mujoco><option timestep='.02'><flag speculative='enable'/></option><worldbody><geom type='box' "
     "size='1 1 .002'/>" BALL("1") BALL("3") "</worldbody><keyframe><key qpos='0 0 1 1 0 0 0 .05 0 3 1 0 0 0' qvel='0 "
                                             "0 -40 1 2 3 0 0 -60 0 0 0'/></keyframe></mujoco>"},
#endif
    {"contacts", 0,
     "<mujoco><worldbody><geom type='plane' size='5 5 .1'/>" BALL(".1") BALL(".35") "</worldbody></mujoco>"},
};

enum { N = 3, STEPS = 30 };

static void steps(const rig *r, int from, int n)
{
    for (int step = from; step < from + n; ++step) {
        rig_write_controls(r, step);
        OK(stet_step_run(r->step, 2));
    }
}

static void push_worlds_apart(const rig *r)
{
    for (int w = 0; w < N; ++w) rig_set(r, "qvel", w, 0, (float)rig_get(r, "qvel", w, 0) + .3f * (float)w);
}

static void check_kind(const rig *r, unsigned state)
{
    const mjModel *m = r->model->mj;
    size_t n = state ? (size_t)mj_stateSize(m, (int)state) : 0;
    if (!state) return;
    assert_true(n > 0 && (state & mjSTATE_INTEGRATION) == state);
    double *x = test_malloc(n * sizeof *x), *y = test_malloc(n * sizeof *y);
    mjData *fresh = mj_makeData(m);
    mj_getState(m, r->worlds->state.data[N - 1], x, (int)state);
    mj_getState(m, fresh, y, (int)state);
    assert_true(memcmp(x, y, n * sizeof *x) != 0); /* it has changed by now */
    mj_deleteData(fresh);
    test_free(x);
    test_free(y);
}

static void each_kind_of_state_is_saved(void **state)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/test/state_%ld.stet", STET_TEST_BINARY_DIR, (long)getpid());
    for (size_t k = 0; k < sizeof models / sizeof *models; ++k) {
        rig r = rig_make(models[k].xml, N, NULL, 2, true), other = rig_make(models[k].xml, N, NULL, 1, true);
        rig_step(&r, STET_PHYSICS_MUJOCO);
        rig_step(&other, STET_PHYSICS_MUJOCO);
        push_worlds_apart(&r);
        steps(&r, 0, STEPS);
        check_kind(&r, models[k].state);
        stet_snapshot *snapshot;
        OK(stet_snapshot_create(r.worlds, &snapshot));
        OK(stet_worlds_save(r.worlds, path));
        steps(&r, STEPS, STEPS);
        uint64_t end = rig_all_hash(&r);
        OK(stet_worlds_restore(r.worlds, snapshot));
        assert_true(rig_all_hash(&r) != end);
        steps(&r, STEPS, STEPS);
        if (rig_all_hash(&r) != end) fail_msg("%s: a restored run goes another way", models[k].what);
        OK(stet_worlds_resume(other.worlds, path));
        steps(&other, STEPS, STEPS);
        if (rig_all_hash(&other) != end) fail_msg("%s: a resumed run goes another way", models[k].what);
        for (int w = 0; w < N; ++w) assert_int_equal(stet_worlds_get_faults(r.worlds)[w], 0);
        stet_snapshot_destroy(snapshot);
        assert_int_equal(unlink(path), 0);
        rig_free(&other);
        rig_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_kind_of_state_is_saved)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
