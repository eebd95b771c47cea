/*
 * Delays of controls and sensors, beside MuJoCo's library in double: all that reads the past, in each kind of
 * interpolation, over more steps than there are samples; resets, keyframes, faults, parameters of worlds, snapshots;
 * and the same bits everywhere. Time steps are powers of two, so that no rounding of times decides in MuJoCo.
 */
#include "worlds/rig.h"

#include "worlds/history.h"

#include <math.h>

enum { N = 19, STEPS = 40, SOME = 9 };

/* Controls of one and of several numbers, with activations; sensors of each stage, of rows, and of contacts. */
#define SCENE(integrator, actuator, sensor, more)                                                                      \
    "<mujoco><option timestep='.0078125' tolerance='1e-18' integrator='" integrator                                    \
    "'/><worldbody><geom type='plane' size='5 5 1'/>"                                                                  \
    "<body pos='0 0 .12'><freejoint/><geom name='ball' size='.1'/><site name='skin' size='.12'/></body><body "         \
    "pos='1 0 1'><joint name='a' axis='0 1 0' range='-20 30' limited='true' damping='.3'/><geom type='capsule' "       \
    "size='.04' fromto='0 0 0 .4 0 0'/><body pos='.4 0 0'><joint name='b' axis='0 1 0' damping='.2'/><geom "           \
    "type='capsule' size='.03' fromto='0 0 0 .3 0 0'/><site name='tip' pos='.3 0 0'/></body></body></worldbody>"       \
    "<actuator><motor joint='a' gear='2' ctrlrange='-.8 .8' ctrllimited='true' " actuator                              \
    "/><position joint='b' kp='5'/><pid joint='b' kp='2' kv='.1' input='pos vel' " actuator                            \
    "/><general joint='a' dyntype='filter' dynprm='.05' gainprm='2' " actuator "/></actuator><sensor><jointpos "       \
    "joint='a' " sensor "/><jointvel joint='b' cutoff='2' " sensor "/><accelerometer site='tip' " sensor               \
    "/><jointpos joint='b'/><touch site='skin' " sensor "/><jointlimitfrc joint='a' " sensor                           \
    "/><contact geom1='ball' data='found force' " sensor "/></sensor>" more "</mujoco>"
#define EULER(actuator, sensor) SCENE("Euler", actuator, sensor, "")
#define KEY                                                                                                            \
    "<keyframe><key time='1.5' qpos='0 0 .3 1 0 0 0 .2 -.1' qvel='0 0 -1 0 0 0 1 2' ctrl='.1 .2 .3 .4 "                \
    ".5'/></keyframe>"

static const struct {
    const char *name, *text;
    uint64_t hash; /* of the state after some steps, in float */
} scenes[] = {
    {"history alone", EULER("nsample='3'", "nsample='3'"), 0x2a85fb646ee910f3},
    {"the oldest sample", EULER("nsample='3' delay='.0234375'", "nsample='3' delay='.0234375'"), 0xc77f83e2a79e6053},
    {"one sample", EULER("nsample='1' delay='.0078125'", "nsample='1' delay='.002'"), 0x35aef9c5b13d3943},
    {"between samples", EULER("nsample='6' delay='.02'", "nsample='7' delay='.03'"), 0x609e08d0f1197f90},
    {"at a sample", EULER("nsample='6' delay='.015625'", "nsample='6' delay='.0234375'"), 0x99ff94708e72b0b9},
    {"linear", EULER("nsample='6' delay='.02' interp='linear'", "nsample='7' delay='.03' interp='linear'"),
     0xacd7824d865b33f6},
    {"cubic", EULER("nsample='4' delay='.02' interp='cubic'", "nsample='7' delay='.03' interp='cubic'"),
     0xfe227030d35d0cd8},
    {"cubic, of two", EULER("nsample='2' delay='.01' interp='cubic'", "nsample='3' delay='.01' interp='cubic'"),
     0x33231d059f70fd76},
    {"longer than the past", EULER("nsample='2' delay='.1' interp='linear'", "nsample='2' delay='.1'"),
     0x82e611b1def5891c},
    {"now and then", EULER("", "nsample='3' interval='.02'"), 0x143164614142eefb},
    {"now and then, late", EULER("nsample='4' delay='.02'", "nsample='4' interval='.02 -.01' delay='.03'"),
     0x69cce03acc82e211},
    {"now and then, linear", EULER("", "nsample='4' interval='.03' delay='.05' interp='linear'"), 0xad592fbdd8e7787b},
    {"implicitfast", SCENE("implicitfast", "nsample='4' delay='.02'", "nsample='3' delay='.01'", ""),
     0x73657b892454351a},
    {"implicit", SCENE("implicit", "nsample='4' delay='.02' interp='cubic'", "nsample='3'", ""), 0x4f589b24e0806d66},
    {"RK4", SCENE("RK4", "nsample='4' delay='.02'", "", ""), 0xf5d807930040da10},
    {"RK4, linear", SCENE("RK4", "nsample='4' delay='.02' interp='linear'", "", ""), 0x051bffd13e6db306},
    {"a keyframe with a time",
     SCENE("Euler", "nsample='4' delay='.02' interp='linear'", "nsample='4' interval='.02 -.01' delay='.03'", KEY),
     0xf9359deefd644dd7},
};
enum { SCENES = sizeof scenes / sizeof *scenes };

/* ---- both sides -------------------------------------------------------------------------------------------------- */

static void set(const rig *r, const char *field, int64_t w, int64_t i, double x)
{
    stet_array *a = rig_array(r, field);
    void *mirror;
    OK(sti_array_mirror_write(a, &mirror));
    sti_mirror_set(a, mirror, w, i, x);
    sti_array_mirror_written(a);
}

static void push(const rig *r, mjData **data, int64_t step)
{
    const mjModel *m = r->model->mj;
    for (int64_t w = 0; w < r->worlds->nworld; ++w)
        for (int64_t i = 0; i < m->nu; ++i) {
            set(r, "ctrl", w, i, rig_wave(w, step, i));
            if (data) data[w]->ctrl[i] = rig_wave(w, step, i);
        }
}

static void check_numbers(const rig *r, const char *array, int64_t w, const mjtNum *exact, int64_t n, const char *what)
{
    double scale = 1;
    assert_int_equal(rig_array(r, array)->nitem, n);
    for (int64_t i = 0; i < n; ++i) scale = fmax(scale, fabs(exact[i]));
    for (int64_t i = 0; i < n; ++i) {
        double x = rig_get(r, array, w, i);
        if (!(fabs(x - exact[i]) <= 1e-7 * scale))
            fail_msg("%s: %s %d of world %d is %.9g, not %.9g", what, array, (int)i, (int)w, x, exact[i]);
    }
}

/* The samples, the oldest first, and when they were. */
static void check_past(const rig *r, int64_t w, const mjModel *m, const mjData *d, const char *what)
{
    sti_history h;
    for (int64_t k = 0; k < sti_history_most(m); ++k) {
        if (!sti_history_find(m, k, &h)) continue;
        const mjtNum *buffer = d->history + h.at;
        for (int s = 0; s < h.n; ++s) {
            int from = ((int)buffer[1] + 1 + s) % h.n;
            double age = rig_get(r, "history", w, h.at + 2 + s), time = d->time - age * m->opt.timestep;
            if (!(fabs(time - buffer[2 + from]) <= 1e-9))
                fail_msg("%s: sample %d of %d is of %.9g, not %.9g", what, s, (int)k, time, buffer[2 + from]);
            for (int i = 0; i < h.dim; ++i) {
                double x = rig_get(r, "history", w, h.at + 2 + h.n + (int64_t)h.dim * s + i);
                double y = buffer[2 + h.n + h.dim * from + i];
                if (!(fabs(x - y) <= 1e-7 * fmax(1, fabs(y))))
                    fail_msg("%s: sample %d of %d is %.9g, not %.9g", what, s, (int)k, x, y);
            }
        }
    }
}

static void check_world(const rig *r, int64_t w, const mjModel *m, mjData *d, const char *what)
{
    check_numbers(r, "qpos", w, d->qpos, m->nq, what);
    check_numbers(r, "qvel", w, d->qvel, m->nv, what);
    check_numbers(r, "act", w, d->act, m->na, what);
    check_numbers(r, "step_sensordata", w, d->sensordata, m->nsensordata, what);
    check_past(r, w, m, d, what);
}

static void run_step(void *data)
{
    const void *const *k = data;
    mj_step(k[0], (mjData *)(uintptr_t)k[1]);
}

static void step_both(rig *r, const mjModel *m, mjData **data, int64_t step)
{
    push(r, data, step);
    OK(stet_step_run(r->step, 1));
    for (int w = 0; w < SOME; ++w) assert_true(sti_mujoco_guard(run_step, (const void *[]){m, data[w]}, NULL, 0));
}

static rig make_both(const char *text, mjData **data)
{
    rig r = rig_make(text, SOME, "f64", 1, false);
    const mjModel *m = r.model->mj;
    rig_step(&r, STET_PHYSICS_NATIVE);
    for (int w = 0; w < SOME; ++w) {
        assert_non_null(data[w] = mj_makeData(m));
        if (m->nkey > 0) mj_resetDataKeyframe(m, data[w], 0);
    }
    return r;
}

static void free_both(rig *r, mjData **data)
{
    for (int w = 0; w < SOME; ++w) mj_deleteData(data[w]);
    rig_free(r);
}

/* ---- beside MuJoCo ----------------------------------------------------------------------------------------------- */

static void delays_are_mujocos(void **state)
{
    for (size_t k = 0; k < SCENES; ++k) {
        mjData *data[SOME];
        rig r = make_both(scenes[k].text, data);
        const mjModel *m = r.model->mj;
        for (int w = 0; w < SOME; ++w) check_past(&r, w, m, data[w], scenes[k].name);
        for (int step = 0; step < STEPS; ++step) {
            step_both(&r, m, data, step);
            for (int w = 0; w < SOME; ++w) check_world(&r, w, m, data[w], scenes[k].name);
        }
        mj_forward(m, data[2]); /* what is read between steps */
        check_numbers(&r, "sensordata", 2, data[2]->sensordata, m->nsensordata, scenes[k].name);
        check_numbers(&r, "actuator_force", 2, data[2]->actuator_force, m->nout, scenes[k].name);
        free_both(&r, data);
    }
}

/* Worlds that were put back, or went bad, have the past of a reset; the others keep theirs. */
static void resets_forget_the_past(void **state)
{
    static const size_t some[] = {5, 10, SCENES - 1};
    for (size_t k = 0; k < sizeof some / sizeof *some; ++k) {
        const char *name = scenes[some[k]].name;
        mjData *data[SOME];
        uint8_t mask[SOME] = {[1] = 1, [4] = 1};
        rig r = make_both(scenes[some[k]].text, data);
        const mjModel *m = r.model->mj;
        stet_reset_def reset = stet_default_reset_def();
        for (int step = 0; step < 12; ++step) step_both(&r, m, data, step);
        set(&r, "qvel", 2, 7, NAN);
        data[2]->qvel[7] = NAN;
        reset.mask = mask;
        OK(stet_worlds_reset(r.worlds, &reset));
        for (int w = 0; w < SOME; ++w) {
            if (mask[w] && m->nkey > 0) mj_resetDataKeyframe(m, data[w], 0);
            if (mask[w] && m->nkey == 0) mj_resetData(m, data[w]);
            check_past(&r, w, m, data[w], name);
        }
        for (int step = 12; step < 24; ++step) {
            step_both(&r, m, data, step);
            for (int w = 0; w < SOME; ++w) check_world(&r, w, m, data[w], name);
        }
        assert_int_equal(stet_worlds_get_faults(r.worlds)[2], 1 << STET_FAULT_BAD_QVEL);
        free_both(&r, data);
    }
}

/* A control that is bad does its harm when it arrives. */
static void bad_controls_arrive_late(void **state)
{
    mjData *data[SOME];
    rig r = make_both(EULER("nsample='6' delay='.02'", ""), data);
    const mjModel *m = r.model->mj;
    for (int step = 0; step < 9; ++step) {
        push(&r, data, step);
        if (step == 2) {
            set(&r, "ctrl", 3, 4, 1e20);
            data[3]->ctrl[4] = 1e20;
        }
        OK(stet_step_run(r.step, 1));
        for (int w = 0; w < SOME; ++w) mj_step(m, data[w]);
        for (int w = 0; w < SOME; ++w) check_numbers(&r, "qvel", w, data[w]->qvel, m->nv, "a bad control");
        bool arrived = (stet_worlds_get_faults(r.worlds)[3] & 1 << STET_FAULT_BAD_CTRL) != 0;
        assert_true(arrived == (data[3]->warning[mjWARN_BADCTRL].number > 0) && arrived == (step >= 5));
    }
    free_both(&r, data);
}

/* Each world has delays of its own, also none. */
static void delays_are_parameters(void **state)
{
    static const char text[] = EULER("nsample='6' delay='.02'", "nsample='7' delay='.03'");
    mjData *data[SOME];
    rig r = make_both(text, data);
    mjModel *m[SOME];
    for (int w = 0; w < SOME; ++w) {
        uint8_t mask[SOME] = {0};
        double delay[16];
        assert_non_null(m[w] = mj_copyModel(NULL, r.model->mj));
        mask[w] = 1;
        for (int i = 0; i < m[w]->nactuator; ++i)
            m[w]->actuator_delay[i] = delay[i] = m[w]->actuator_history[2 * i] ? .004 * ((w + i) % SOME) : 0;
        OK(stet_worlds_set_parameter_where(r.worlds, "actuator_delay", mask, delay, m[w]->nactuator));
        for (int i = 0; i < m[w]->nsensor; ++i)
            m[w]->sensor_delay[i] = delay[i] = m[w]->sensor_history[2 * i] ? .005 * ((2 * w + i) % SOME) : 0;
        OK(stet_worlds_set_parameter_where(r.worlds, "sensor_delay", mask, delay, m[w]->nsensor));
    }
    for (int step = 0; step < STEPS; ++step) {
        push(&r, data, step);
        OK(stet_step_run(r.step, 1));
        for (int w = 0; w < SOME; ++w) {
            assert_true(sti_mujoco_guard(run_step, (const void *[]){m[w], data[w]}, NULL, 0));
            check_world(&r, w, m[w], data[w], "delays of worlds");
        }
    }
    for (int w = 0; w < SOME; ++w) mj_deleteModel(m[w]);
    free_both(&r, data);
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

static uint64_t run_hash(const char *text, const char *isa, int threads, int calls)
{
    rig r = rig_make(text, N, isa, threads, false);
    rig_step(&r, STET_PHYSICS_NATIVE);
    for (int step = 0; step < STEPS; step += 8) {
        push(&r, NULL, step);
        for (int k = 0; k < calls; ++k) OK(stet_step_run(r.step, 8 / calls));
    }
    uint64_t hash = rig_array_hash(&r, "qpos");
    static const char *const fields[] = {"qvel", "act", "history", "step_sensordata", "sensordata"};
    for (size_t f = 0; f < sizeof fields / sizeof *fields; ++f) hash = hash * 31 + rig_array_hash(&r, fields[f]);
    rig_free(&r);
    return hash;
}

static void golden_hashes_everywhere(void **state)
{
    for (size_t k = 0; k < SCENES; ++k) FOR_FLOAT_ISAS(isa)
    for (int threads = 1; threads <= 3; threads += 2) {
        uint64_t hash = run_hash(scenes[k].text, sti_isa_name((sti_isa)isa), threads, threads == 1 ? 1 : 4);
        if (hash != scenes[k].hash)
            fail_msg("%s: %016" PRIx64 ", not %016" PRIx64, scenes[k].name, hash, scenes[k].hash);
    }
}

static void golden_hashes_on_the_device(void **state)
{
    for (size_t k = 0; k < SCENES; ++k) assert_true(run_hash(scenes[k].text, NULL, 1, 2) == scenes[k].hash);
}

/* What is saved goes on with the past that it had; with MuJoCo's physics, too. */
static void the_past_is_saved(void **state)
{
    for (int native = 0; native < 2; ++native) {
        rig r = rig_make(scenes[10].text, N, NULL, 1, !native);
        stet_snapshot *snapshot;
        rig_step(&r, native ? STET_PHYSICS_NATIVE : STET_PHYSICS_MUJOCO);
        push(&r, NULL, 1);
        OK(stet_step_run(r.step, 7));
        OK(stet_snapshot_create(r.worlds, &snapshot));
        OK(stet_step_run(r.step, 9));
        uint64_t hash = rig_all_hash(&r);
        OK(stet_worlds_restore(r.worlds, snapshot));
        OK(stet_step_run(r.step, 9));
        assert_true(rig_all_hash(&r) == hash);
        stet_snapshot_destroy(snapshot);
        rig_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delays_are_mujocos),       cmocka_unit_test(resets_forget_the_past),
        cmocka_unit_test(bad_controls_arrive_late), cmocka_unit_test(delays_are_parameters),
        cmocka_unit_test(golden_hashes_everywhere), cmocka_unit_test(golden_hashes_on_the_device),
        cmocka_unit_test(the_past_is_saved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
