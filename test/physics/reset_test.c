/*
 * Resets by the kernel of native physics: beside resets on the host of worlds without physics of their own (the
 * oracle), for keyframes with everything in them, masks, noise, and resets that nobody looked at in between.
 */
#include "worlds/rig.h"

#include "stet/kernel.h"
#include "worlds/reset.h"

#include <math.h>

enum { N = 19 };

/* Each kind of joint, a mocap body, activations, an equality that is off at first, sensors; times in keyframes. */
static const char scene[] =
    "<mujoco><option timestep='.004'/><worldbody>"
    "<geom type='plane' size='5 5 1'/>"
    "<body pos='0 0 .5'><freejoint/><geom size='.1'/></body>"
    "<body pos='1 0 1'><joint name='b' type='ball' damping='.1'/><geom type='capsule' size='.04' fromto='0 0 0 .3 0 "
    "0'/>"
    "<body pos='.3 0 0'><joint name='h' axis='0 1 0' damping='.1'/><geom type='capsule' size='.03' "
    "fromto='0 0 0 .3 0 0'/><body pos='.3 0 0'><joint name='s' type='slide' axis='1 0 0' damping='.1'/>"
    "<geom size='.03'/></body></body></body>"
    "<body name='held' pos='2 0 1'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
    "<body name='hand' mocap='true' pos='2 0 1.2' quat='1 1 0 0'><geom size='.02' contype='0' conaffinity='0'/></body>"
    "</worldbody><equality><weld name='w' body1='hand' body2='held' active='false'/></equality>"
    "<actuator><position joint='h' kp='5' nsample='3' delay='.01'/><general joint='s' dyntype='filter' dynprm='.05' "
    "gainprm='2'/></actuator>"
    "<sensor><jointpos joint='h'/><jointvel joint='s' nsample='4' interval='.01'/></sensor><keyframe>"
    "<key time='1.5' qpos='0 0 .6 1 0 0 0 .5 .5 .5 .5 .1 .2 2 0 1 1 0 0 0' "
    "qvel='1 2 3 4 5 6 7 8 9 .1 .2 -1 -2 -3 -4 -5 -6' ctrl='.2 .1' act='.3' mpos='3 1 2' mquat='0 1 0 0'/>"
    "<key time='0.25' qpos='0 0 .4 0 1 0 0 1 0 0 0 -.1 .1 2 0 1 0 0 1 0'/></keyframe></mujoco>";

static rig make_rig(stet_physics physics, const char *isa, int threads)
{
    rig r = rig_make(scene, N, isa, threads, false);
    rig_step(&r, physics);
    return r;
}

/* Writes something into each input of each world. */
static void stir(rig *r, int when)
{
    static const char *const inputs[] = {"ctrl",      "qfrc_applied", "xfrc_applied",   "mocap_pos",
                                         "eq_active", "qvel",         "step_sensordata"};
    for (size_t f = 0; f < sizeof inputs / sizeof *inputs; ++f)
        for (int64_t w = 0; w < N; ++w) rig_set(r, inputs[f], w, 0, rig_wave(w, when, (int)f));
}

/* ---- beside the host --------------------------------------------------------------------------------------------- */

static void check_fields(const rig *a, const rig *b, const uint8_t *mask, bool noise)
{
    for (const char *const *f = stet_worlds_get_fields(); *f; ++f)
        for (int64_t w = 0; w < N; ++w)
            for (int64_t i = 0; mask[w] && i < rig_array(a, *f)->nitem; ++i) {
                double x = rig_get(a, *f, w, i), y = rig_get(b, *f, w, i);
                bool poses = strcmp(*f, "xpos") == 0 || strcmp(*f, "xquat") == 0;
                double room = poses ? 2e-6 : noise ? 2.4e-7 * (1 + fabs(y)) : 0;
                if (!(fabs(x - y) <= room)) fail_msg("%s %d of world %d is %.9g, not %.9g", *f, (int)i, (int)w, x, y);
            }
}

static void a_reset_is_the_hosts(void **state)
{
    rig native = make_rig(STET_PHYSICS_NATIVE, NULL, 2), host = make_rig(STET_PHYSICS_EXTERNAL, NULL, 1);
    uint64_t dice = dice_seed("resets"), resets = 0;
    int seen[3][2] = {{0}};
    for (int call = 0; call < 60; ++call) {
        uint8_t mask[N];
        stet_reset_def def = stet_default_reset_def();
        bool noise = dice_next(&dice) % 2;
        def.keyframe = (int)(dice_next(&dice) % 3) - 1;
        def.qpos_noise = noise ? 0.2 : 0;
        def.qvel_noise = noise && dice_next(&dice) % 2 ? 0.5 : 0;
        for (int w = 0; w < N; ++w) resets += mask[w] = dice_next(&dice) % 3 == 0;
        def.mask = mask;
        stir(&native, call);
        OK(stet_step_run(native.step, 1 + call % 3));
        OK(stet_worlds_reset(native.worlds, &def));
        OK(stet_worlds_reset(host.worlds, &def));
        check_fields(&native, &host, mask, noise);
        seen[def.keyframe + 1][noise]++;
    }
    for (int k = 0; k < 3; ++k) assert_true(seen[k][0] > 0 && seen[k][1] > 0);
    OK(sti_worlds_pull_physics(native.worlds));
    for (int w = 0; w < N; ++w) {
        assert_true(native.worlds->state.resets[w] == host.worlds->state.resets[w]);
        resets -= native.worlds->state.resets[w];
    }
    assert_true(resets == 0);
    rig_free(&native);
    rig_free(&host);
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

static uint64_t story(const char *isa, int threads, bool look)
{
    rig r = make_rig(STET_PHYSICS_NATIVE, isa, threads);
    for (int i = 0; i < 12; ++i) {
        uint8_t mask[N];
        stet_reset_def def = stet_default_reset_def();
        for (int w = 0; w < N; ++w) mask[w] = (w + i) % 4 == 0;
        def.mask = i % 5 ? mask : NULL;
        def.keyframe = i % 3 - 1;
        def.qpos_noise = 0.1 * (i % 2);
        def.qvel_noise = 0.3;
        OK(stet_worlds_reset(r.worlds, &def));
        OK(stet_step_run(r.step, 3));
        if (look) assert_non_null(stet_worlds_get_faults(r.worlds));
    }
    uint64_t hash = rig_all_hash(&r);
    rig_free(&r);
    return hash;
}

static void all_widths_and_readers_see_the_same_bits(void **state)
{
    uint64_t want = story(NULL, 1, false);
    FOR_FLOAT_ISAS(isa)
    assert_true(story(sti_isa_name((sti_isa)isa), 1, false) == want);
    assert_true(story(NULL, 3, false) == want);
    assert_true(story(NULL, 1, true) == want);
}

/* ---- what waits on the device ------------------------------------------------------------------------------------ */

/* Times begin with that of the keyframe, whoever was put back to another one before. */
static void times_and_faults_follow_the_latest_reset(void **state)
{
    rig r = make_rig(STET_PHYSICS_NATIVE, NULL, 1);
    double dt = r.model->mj->opt.timestep;
    uint8_t one[N] = {0}, two[N] = {0};
    stet_reset_def def = stet_default_reset_def();
    one[3] = two[4] = 1;
    rig_set(&r, "ctrl", 3, 0, NAN);
    rig_set(&r, "ctrl", 4, 0, NAN);
    rig_set(&r, "ctrl", 5, 0, NAN);
    OK(stet_step_run(r.step, 2));
    def.mask = one;
    def.keyframe = 1;
    OK(stet_worlds_reset(r.worlds, &def));
    OK(stet_step_run(r.step, 1));
    def.mask = two;
    def.keyframe = 0;
    OK(stet_worlds_reset(r.worlds, &def));
    OK(stet_step_run(r.step, 1));
    rig_set(&r, "qpos", 4, 0, NAN); /* MuJoCo's own reset comes after the caller's */
    OK(stet_step_run(r.step, 1));
    const uint32_t *faults = stet_worlds_get_faults(r.worlds);
    for (int w = 0; w < N; ++w)
        assert_int_equal(faults[w], w == 5 ? 1u << STET_FAULT_BAD_CTRL : w == 4 ? 1u << STET_FAULT_BAD_QPOS : 0);
    assert_true(r.worlds->state.time[3] == 0.25 + dt + dt + dt);
    assert_true(r.worlds->state.time[4] == dt);
    assert_true(r.worlds->state.time[0] == 1.5 + dt + dt + dt + dt + dt);
    rig_free(&r);
}

static void a_reset_copies_nothing_back(void **state)
{
    rig r = make_rig(STET_PHYSICS_NATIVE, NULL, 1);
    uint8_t mask[N] = {1, 0, 1};
    stet_reset_def def = stet_default_reset_def();
    def.qpos_noise = def.qvel_noise = 0.1;
    def.mask = mask;
    OK(stet_worlds_reset(r.worlds, &def));
    OK(stet_step_run(r.step, 1));
    int64_t before = rig_counters(&r).bytes_copied, launches = rig_counters(&r).launches;
    for (int i = 0; i < 5; ++i) {
        OK(stet_worlds_reset(r.worlds, &def));
        OK(stet_step_run(r.step, 1));
    }
    assert_int_equal(rig_counters(&r).bytes_copied, before);
    assert_int_equal(rig_counters(&r).launches - launches, 10);
    rig_free(&r);
}

/* A snapshot takes the numbers of resets with it, and noise goes on from them. */
static void noise_goes_on_from_a_snapshot(void **state)
{
    rig r = make_rig(STET_PHYSICS_NATIVE, NULL, 1);
    stet_snapshot *snapshot;
    stet_reset_def def = stet_default_reset_def();
    def.qvel_noise = 0.1;
    OK(stet_worlds_reset(r.worlds, &def));
    OK(stet_snapshot_create(r.worlds, &snapshot));
    uint64_t after[2];
    for (int k = 0; k < 2; ++k) {
        OK(stet_worlds_reset(r.worlds, &def));
        after[k] = rig_hash(&r);
        OK(stet_worlds_reset(r.worlds, &def));
        assert_true(rig_hash(&r) != after[k]);
        OK(stet_worlds_restore(r.worlds, snapshot));
    }
    assert_true(after[0] == after[1]);
    stet_snapshot_destroy(snapshot);
    rig_free(&r);
}

/* Poses are computed again of those that were put back, and of all if the host does not know whom. */
static void a_reset_moves_its_worlds_alone(void **state)
{
    rig r = make_rig(STET_PHYSICS_NATIVE, NULL, 1);
    const uint8_t two[N] = {[3] = 1, [17] = 1};
    stet_array *mask;
    stet_reset_def def = stet_default_reset_def();
    OK(STI_ARRAY(r.device, "mask", STET_DTYPE_U8, false, &mask, N));
    OK(stet_array_write(mask, two, sizeof two));
    for (int i = 0; i < 4; ++i) {
        bool writes = i == 1, array = i == 3;
        OK(stet_step_run(r.step, 1));
        (void)rig_get(&r, "xpos", 0, 0);
        int64_t before = rig_counters(&r).kinematics;
        def.mask = array ? NULL : two;
        def.mask_array = array ? mask : NULL;
        if (writes) rig_set(&r, "qpos", 5, 0, 0.5F); /* the host keeps no more than that it was written */
        OK(stet_worlds_reset(r.worlds, &def));
        (void)rig_get(&r, "xpos", 0, 0);
        assert_int_equal(rig_counters(&r).kinematics - before, writes || array ? N : 2);
    }
    stet_array_destroy(mask);
    rig_free(&r);
}

/* ---- a mask on the device ---------------------------------------------------------------------------------------- */

static stet_array *make_mask(const rig *r, bool bytes)
{
    stet_array *mask;
    if (bytes)
        OK(STI_ARRAY(r->device, "mask", STET_DTYPE_U8, false, &mask, N));
    else
        OK(STI_ARRAY(r->device, "mask", STET_DTYPE_INT, true, &mask, N, 1));
    return mask;
}

static void write_mask(stet_array *mask, const uint8_t *from)
{
    int32_t ints[N];
    for (int w = 0; w < N; ++w) ints[w] = from[w] ? 7 + w : 0;
    bool bytes = stet_array_get_dtype(mask) == STET_DTYPE_U8;
    OK(stet_array_write(mask, bytes ? (const void *)from : ints, bytes ? N : sizeof ints));
}

static void draw_mask(uint64_t *dice, uint8_t *mask)
{
    uint64_t kind = dice_next(dice) % 4; /* none, all, or some */
    for (int w = 0; w < N; ++w) mask[w] = kind == 0 ? 0 : kind == 1 ? 255 : dice_next(dice) % 3 == 0;
}

/* Two rigs that are told the same, one of them by an array in most calls. */
static void check_array(stet_physics physics, const char *isa, bool bytes, bool drawn, bool audit)
{
    bool exact = physics == STET_PHYSICS_MUJOCO;
    rig a = rig_make(scene, N, isa, 2, exact), b = rig_make(scene, N, isa, 1, exact);
    rig *both[] = {&a, &b};
    uint64_t dice = dice_seed("masks on the device");
    for (int k = 0; k < 2; ++k) {
        const double low[] = {-1, -1, -10}, high[] = {1, 1, -9};
        rig_step(both[k], physics);
        rig_mechanisms(both[k], 0, audit && k == 0);
        if (drawn) OK(stet_worlds_randomize(both[k]->worlds, "gravity", low, high, 3));
    }
    stet_array *array = make_mask(&a, bytes);
    for (int call = 0; call < 24; ++call) {
        uint8_t mask[N];
        draw_mask(&dice, mask);
        bool by_array = dice_next(&dice) % 4 > 0;
        stet_reset_def def = stet_default_reset_def();
        def.keyframe = (int)(dice_next(&dice) % 3) - 1;
        def.qpos_noise = dice_next(&dice) % 2 ? 0.2 : 0;
        def.qvel_noise = dice_next(&dice) % 2 ? 0.3 : 0;
        for (int k = 0; k < 2; ++k) {
            stir(both[k], call);
            OK(stet_step_run(both[k]->step, 1 + call % 3));
            if (call % 5 == 0) rig_set(both[k], "xpos", 3, 4, 9); /* the caller's until its world moves */
        }
        def.mask = mask;
        OK(stet_worlds_reset(b.worlds, &def));
        if (by_array) {
            write_mask(array, mask);
            def.mask = NULL;
            def.mask_array = array;
        }
        OK(stet_worlds_reset(a.worlds, &def));
        if (call % 5 == 0) /* a mask on the device counts as a move of all worlds */
            for (int k = 0; k < 2; ++k) OK(stet_step_run(both[k]->step, 1));
        if (call % 3 == 0 && rig_all_hash(&a) != rig_all_hash(&b))
            fail_msg("call %d: another state, isa %s, bytes %d, drawn %d", call, isa ? isa : "-", bytes, drawn);
    }
    assert_true(rig_all_hash(&a) == rig_all_hash(&b));
    assert_memory_equal(stet_worlds_get_faults(a.worlds), stet_worlds_get_faults(b.worlds), N * sizeof(uint32_t));
    uint64_t resets = 0;
    for (int w = 0; w < N; ++w) {
        assert_true(a.worlds->state.resets[w] == b.worlds->state.resets[w]);
        assert_true(exact || a.worlds->state.time[w] == b.worlds->state.time[w]);
        resets += a.worlds->state.resets[w];
    }
    assert_true(resets > 3 * N);
    stet_array_destroy(array);
    rig_free(&a);
    rig_free(&b);
}

static void a_mask_on_the_device_has_the_bits_of_the_hosts(void **state)
{
    FOR_FLOAT_ISAS(isa)
    for (int bytes = 0; bytes < 2; ++bytes)
        check_array(STET_PHYSICS_NATIVE, sti_isa_name((sti_isa)isa), bytes, false, false);
    for (int bytes = 0; bytes < 2; ++bytes) {
        check_array(STET_PHYSICS_NATIVE, NULL, bytes, false, true);
        check_array(STET_PHYSICS_NATIVE, NULL, bytes, true, false);
        check_array(STET_PHYSICS_MUJOCO, NULL, bytes, false, false);
        check_array(STET_PHYSICS_EXTERNAL, NULL, bytes, false, false);
    }
}

static void a_mask_on_the_device_stays_there(void **state)
{
    for (int bytes = 0; bytes < 2; ++bytes) {
        rig r = make_rig(STET_PHYSICS_NATIVE, NULL, 1);
        const uint8_t some[N] = {1, 0, 1};
        stet_array *mask = make_mask(&r, bytes);
        stet_reset_def def = stet_default_reset_def();
        def.qpos_noise = def.qvel_noise = 0.1;
        def.mask_array = mask;
        write_mask(mask, some);
        OK(stet_worlds_reset(r.worlds, &def));
        OK(stet_step_run(r.step, 1));
        stet_counters before = rig_counters(&r);
        for (int i = 0; i < 5; ++i) {
            stet_array_mark_written(mask); /* as if a kernel had written it */
            OK(stet_worlds_reset(r.worlds, &def));
            OK(stet_step_run(r.step, 1));
        }
        assert_int_equal(rig_counters(&r).bytes_copied, before.bytes_copied);
        assert_int_equal(rig_counters(&r).launches - before.launches, bytes ? 15 : 10);
        OK(sti_worlds_pull_physics(r.worlds));
        for (int w = 0; w < N; ++w) assert_int_equal(r.worlds->state.resets[w], some[w] ? 6 : 0);
        stet_array_destroy(mask);
        rig_free(&r);
    }
}

static void what_is_no_mask_is_refused(void **state)
{
    rig r = make_rig(STET_PHYSICS_NATIVE, NULL, 1), other = make_rig(STET_PHYSICS_NATIVE, NULL, 1);
    const uint8_t some[N] = {1};
    stet_reset_def def = stet_default_reset_def();
    stet_array *theirs = make_mask(&other, false), *mine = make_mask(&r, false), *wrong[4];
    OK(STI_ARRAY(r.device, "reals", STET_DTYPE_REAL, true, &wrong[0], N, 1));
    OK(STI_ARRAY(r.device, "pairs", STET_DTYPE_INT, true, &wrong[1], N, 2));
    OK(STI_ARRAY(r.device, "few", STET_DTYPE_U8, false, &wrong[2], N - 1));
    OK(STI_ARRAY(r.device, "plain", STET_DTYPE_INT, false, &wrong[3], N));
    uint64_t before = rig_all_hash(&r);
    def.mask_array = theirs;
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "mask mask lives on another device", stet_worlds_reset(r.worlds, &def));
    for (int k = 0; k < 4; ++k) {
        def.mask_array = wrong[k];
        REFUSED(STET_ERROR_INVALID_ARGUMENT, "must be an array of worlds of int, [19][1], or of uint8, [19]",
                stet_worlds_reset(r.worlds, &def));
        stet_array_destroy(wrong[k]);
    }
    def.mask_array = mine;
    def.mask = some;
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "a mask and a mask_array; leave one out", stet_worlds_reset(r.worlds, &def));
    assert_true(rig_all_hash(&r) == before);
    stet_array_destroy(theirs);
    stet_array_destroy(mine);
    rig_free(&r);
    rig_free(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reset_is_the_hosts),
        cmocka_unit_test(all_widths_and_readers_see_the_same_bits),
        cmocka_unit_test(times_and_faults_follow_the_latest_reset),
        cmocka_unit_test(a_reset_copies_nothing_back),
        cmocka_unit_test(noise_goes_on_from_a_snapshot),
        cmocka_unit_test(a_reset_moves_its_worlds_alone),
        cmocka_unit_test(a_mask_on_the_device_has_the_bits_of_the_hosts),
        cmocka_unit_test(a_mask_on_the_device_stays_there),
        cmocka_unit_test(what_is_no_mask_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
