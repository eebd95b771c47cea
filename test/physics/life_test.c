/*
 * Everything around native physics: poses, resets, faults, snapshots, files, masks, lists. What a sim adds is in
 * test/sim/native_test.c.
 */
#include "physics/balls.h"
#include "physics/covered.h"
#include "worlds/rig.h"

#include "base/folder.h"
#include "kernel/caller.h"
#include "physics/native.h"
#include "stet/kernel.h"

#include <math.h>

enum { N = 19, STEPS = 6 };

static rig make_rig(int64_t nworld, const char *isa, int threads)
{
    rig r = rig_make(COVERED_SCENE, nworld, isa, threads, false);
    rig_step(&r, STET_PHYSICS_NATIVE);
    return r;
}

/* Writes inputs that depend on (world, step), and steps: what happens from `first` to `end`. */
static void tell(rig *r, int first, int end)
{
    for (int i = first; i < end; ++i) {
        for (int64_t w = 0; w < r->worlds->nworld; ++w) {
            rig_set(r, "ctrl", w, 0, rig_wave(w, i, 0));
            rig_set(r, "xfrc_applied", w, 8, 20 * rig_wave(w, i, 1));
            rig_set(r, "qfrc_applied", w, 7, rig_wave(w, i, 2));
            rig_set(r, "mocap_pos", w, 0, 2 + (float)0.1 * rig_wave(w, i, 3));
            if (i % 3 == 0) rig_set(r, "eq_active", w, 1, (float)(rig_wave(w, i, 4) > 0));
        }
        OK(stet_step_run(r->step, 1 + i % 2));
    }
}

/* World w of a and world v of b are the same in all fields, poses included. */
static void check_world(const rig *a, int64_t w, const rig *b, int64_t v)
{
    for (const char *const *f = stet_worlds_get_fields(); *f; ++f)
        for (int64_t i = 0; i < rig_array(a, *f)->nitem; ++i) {
            double x = rig_get(a, *f, w, i), y = rig_get(b, *f, v, i);
            if (x != y || signbit(x) != signbit(y))
                fail_msg("%s %d of world %d is %.9g, not %.9g", *f, (int)i, (int)w, x, y);
        }
}

/* ---- poses ------------------------------------------------------------------------------------------------------- */

static void poses_are_the_kernels_at_every_width(void **state)
{
    uint64_t expected[2] = {0};
    FOR_FLOAT_ISAS(isa)
    for (int threads = 1; threads <= 3; threads += 2) {
        rig r = make_rig(N, sti_isa_name((sti_isa)isa), threads);
        tell(&r, 0, STEPS);
        uint64_t seen[2] = {rig_array_hash(&r, "xpos"), rig_array_hash(&r, "xquat")}, of_stage;
        stet_array *xpos;
        sti_native *other;
        OK(sti_native_create(r.worlds, &other));
        OK(sti_native_quantity(other, "xpos", &xpos));
        OK(stet_array_hash(xpos, &of_stage));
        assert_true(of_stage == seen[0]);
        for (int k = 0; k < 2; ++k) {
            if (!expected[k]) expected[k] = seen[k];
            assert_true(seen[k] == expected[k]);
        }
        stet_array_destroy(xpos);
        sti_native_destroy(other);
        rig_free(&r);
    }
}

/* MuJoCo's kinematics of the rounded state, within rounding. */
static void poses_are_mujocos(void **state)
{
    rig r = make_rig(3, NULL, 1);
    mjData *d = mj_makeData(r.model->mj);
    tell(&r, 0, STEPS);
    for (int64_t w = 0; w < 3; ++w) {
        for (int i = 0; i < r.model->mj->nq; ++i) d->qpos[i] = rig_get(&r, "qpos", w, i);
        for (int i = 0; i < 3; ++i) d->mocap_pos[i] = rig_get(&r, "mocap_pos", w, i);
        for (int i = 0; i < 4; ++i) d->mocap_quat[i] = rig_get(&r, "mocap_quat", w, i);
        mj_kinematics(r.model->mj, d);
        for (int i = 0; i < 3 * r.model->mj->nbody; ++i)
            assert_true(fabs(rig_get(&r, "xpos", w, i) - d->xpos[i]) < 1e-5);
        for (int i = 0; i < 4 * r.model->mj->nbody; ++i)
            assert_true(fabs(rig_get(&r, "xquat", w, i) - d->xquat[i]) < 1e-5);
    }
    mj_deleteData(d);
    rig_free(&r);
}

static void only_worlds_that_moved_are_posed(void **state)
{
    rig r = make_rig(N, NULL, 1);
    uint8_t mask[N] = {0};
    mask[4] = mask[N - 1] = 1;
    OK(sti_array_ensure(rig_array(&r, "xpos")));
    int64_t before = rig_counters(&r).kinematics;
    OK(stet_step_run_worlds(r.step, mask, 2));
    OK(sti_array_ensure(rig_array(&r, "xquat")));
    assert_int_equal(rig_counters(&r).kinematics - before, 2);
    OK(sti_array_ensure(rig_array(&r, "xpos")));
    assert_int_equal(rig_counters(&r).kinematics - before, 2);
    rig_free(&r);
}

static void poses_that_the_caller_writes_stay_until_the_world_moves(void **state)
{
    rig r = make_rig(4, NULL, 1), plain = make_rig(4, NULL, 1);
    uint8_t mask[4] = {0, 1, 0, 0};
    for (int64_t w = 0; w < 4; ++w) rig_set(&r, "xpos", w, 3, 7);
    OK(stet_step_run_worlds(r.step, mask, 1));
    OK(stet_step_run_worlds(plain.step, mask, 1));
    for (int64_t w = 0; w < 4; ++w) assert_true((rig_get(&r, "xpos", w, 3) == 7) == (w != 1));
    check_world(&r, 1, &plain, 1);
    rig_set(&r, "qpos", 2, 0, (float)rig_get(&r, "qpos", 2, 0)); /* a write to qpos moves all worlds */
    for (int64_t w = 0; w < 4; ++w) check_world(&r, w, &plain, w);
    for (int64_t w = 0; w < 4; ++w) rig_set(&r, "xpos", w, 3, 7);
    OK(stet_step_run(r.step, 1));
    OK(stet_step_run(plain.step, 1));
    for (int64_t w = 0; w < 4; ++w) check_world(&r, w, &plain, w);
    rig_free(&r);
    rig_free(&plain);
}

/* ---- what stays on the device ------------------------------------------------------------------------------------ */

/* Steps and poses copy nothing between the device and the host, whatever the number of worlds. */
static void steps_copy_nothing(void **state)
{
    rig r = make_rig(N, NULL, 1);
    OK(stet_step_run(r.step, 1));
    OK(sti_array_produce(rig_array(&r, "xpos")));
    int64_t before = rig_counters(&r).bytes_copied;
    for (int i = 0; i < 5; ++i) {
        OK(stet_step_run(r.step, 2));
        OK(sti_array_produce(rig_array(&r, "xpos")));
    }
    assert_int_equal(rig_counters(&r).bytes_copied, before);
    for (int64_t w = 0; w < N; ++w) assert_true(stet_worlds_get_faults(r.worlds)[w] == 0);
    double time = 0;
    for (int i = 0; i < 11; ++i) time += r.model->mj->opt.timestep;
    for (int64_t w = 0; w < N; ++w) assert_true(rig_get(&r, "time", w, 0) == (double)(float)time);
    assert_true(r.worlds->state.time[3] == time);
    rig_free(&r);
}

static void time_that_the_caller_writes_counts_from_there(void **state)
{
    rig r = make_rig(3, NULL, 1);
    double dt = r.model->mj->opt.timestep;
    OK(stet_step_run(r.step, 3));
    rig_set(&r, "time", 1, 0, 10);
    OK(stet_step_run(r.step, 2));
    OK(sti_worlds_pull_physics(r.worlds));
    assert_true(r.worlds->state.time[1] == 10 + dt + dt);
    assert_true(r.worlds->state.time[0] == dt + dt + dt + dt + dt);
    stet_step_destroy(r.step); /* nothing that steps left to do is lost */
    r.step = NULL;
    assert_true(rig_get(&r, "time", 1, 0) == (double)(float)(10 + dt + dt));
    rig_free(&r);
}

/* ---- resets and faults ------------------------------------------------------------------------------------------- */

static void a_reset_gives_the_state_of_new_worlds(void **state)
{
    uint8_t mask[N];
    rig r = make_rig(N, NULL, 2), still = make_rig(N, NULL, 2), fresh = make_rig(N, NULL, 2);
    stet_reset_def def = stet_default_reset_def();
    def.qpos_noise = 0.05;
    def.qvel_noise = 0.1;
    OK(stet_worlds_reset(fresh.worlds, &def));
    for (int w = 0; w < N; ++w) mask[w] = (uint8_t)(w % 2);
    def.mask = mask;
    tell(&r, 0, STEPS);
    tell(&still, 0, STEPS);
    OK(stet_worlds_reset(r.worlds, &def));
    for (int w = 0; w < N; ++w) check_world(&r, w, mask[w] ? &fresh : &still, w);
    for (int i = 0; i < 3; ++i) {
        OK(stet_step_run(r.step, 2));
        OK(stet_step_run(still.step, 2));
        OK(stet_step_run(fresh.step, 2));
    }
    for (int w = 0; w < N; ++w) check_world(&r, w, mask[w] ? &fresh : &still, w);
    def = stet_default_reset_def();
    def.keyframe = -1;
    OK(stet_worlds_reset(r.worlds, &def));
    for (int i = 0; i < r.model->mj->nq; ++i)
        assert_true(rig_get(&r, "qpos", 2, i) == (double)(float)r.model->mj->qpos0[i]);
    rig_free(&r);
    rig_free(&still);
    rig_free(&fresh);
}

/* Faults of several steps add up before they are read; a reset clears them; time counts from MuJoCo's reset. */
static void faults_wait_for_their_reader(void **state)
{
    rig r = make_rig(N, NULL, 1);
    uint8_t mask[N] = {0};
    double dt = r.model->mj->opt.timestep;
    OK(stet_step_run(r.step, 2));
    rig_set(&r, "qvel", 2, 0, NAN);
    OK(stet_step_run(r.step, 1));
    rig_set(&r, "ctrl", 5, 0, NAN);
    OK(stet_step_run(r.step, 1));
    rig_set(&r, "ctrl", 5, 0, 0);
    mask[5] = 1;
    OK(stet_step_run_worlds(r.step, mask, 1));
    const uint32_t *faults = stet_worlds_get_faults(r.worlds);
    for (int64_t w = 0; w < N; ++w)
        assert_int_equal(faults[w], w == 2 ? 1u << STET_FAULT_BAD_QVEL : w == 5 ? 1u << STET_FAULT_BAD_CTRL : 0);
    assert_true(r.worlds->state.time[2] == dt + dt && r.worlds->state.time[5] == dt + dt + dt + dt + dt);
    assert_true(r.worlds->state.time[0] == dt + dt + dt + dt);
    stet_reset_def def = stet_default_reset_def();
    def.mask = mask;
    OK(stet_worlds_reset(r.worlds, &def));
    assert_int_equal(stet_worlds_get_faults(r.worlds)[5], 0);
    assert_int_equal(stet_worlds_get_faults(r.worlds)[2], 1u << STET_FAULT_BAD_QVEL);
    OK(stet_step_run(r.step, 1));
    assert_int_equal(stet_worlds_get_faults(r.worlds)[5], 0);
    assert_true(r.worlds->state.time[5] == dt);
    rig_free(&r);
}

/* The inputs of a world that was reset by a fault, equalities included, are those of mj_resetData. */
static void a_fault_resets_inputs_of_its_world_alone(void **state)
{
    static const char *const inputs[] = {"ctrl",      "qfrc_applied", "xfrc_applied",
                                         "mocap_pos", "mocap_quat",   "eq_active"};
    rig r = make_rig(N, NULL, 1), clean = make_rig(N, NULL, 1), fresh = make_rig(1, NULL, 1);
    stet_reset_def def = stet_default_reset_def();
    def.keyframe = -1;
    OK(stet_worlds_reset(fresh.worlds, &def));
    tell(&r, 0, 3);
    tell(&clean, 0, 3);
    rig_set(&r, "qpos", 7, 1, NAN);
    OK(stet_step_run(r.step, 1));
    OK(stet_step_run(clean.step, 1));
    for (int64_t w = 0; w < N; ++w)
        if (w != 7) check_world(&r, w, &clean, w);
    for (size_t f = 0; f < sizeof inputs / sizeof *inputs; ++f)
        for (int64_t i = 0; i < rig_array(&r, inputs[f])->nitem; ++i)
            assert_true(rig_get(&r, inputs[f], 7, i) == rig_get(&fresh, inputs[f], 0, i));
    OK(stet_step_run(fresh.step, 1));
    for (int64_t i = 0; i < r.model->mj->nq; ++i)
        assert_true(rig_get(&r, "qpos", 7, i) == rig_get(&fresh, "qpos", 0, i));
    rig_free(&r);
    rig_free(&clean);
    rig_free(&fresh);
}

static void an_equality_is_switched_off_in_its_world(void **state)
{
    rig r = make_rig(2, NULL, 1);
    rig_set(&r, "eq_active", 1, 0, 0);
    OK(stet_step_run(r.step, 60));
    assert_true(rig_get(&r, "qpos", 0, 11) - rig_get(&r, "qpos", 1, 11) > 0.1); /* world 1 lets go */
    rig_free(&r);
}

/* ---- snapshots, files, hashes ------------------------------------------------------------------------------------ */

static void a_snapshot_has_the_same_future(void **state)
{
    rig r = make_rig(N, NULL, 2);
    stet_snapshot *s;
    tell(&r, 0, 4);
    rig_set(&r, "qvel", 3, 0, NAN);
    OK(stet_step_run(r.step, 2));
    OK(stet_snapshot_create(r.worlds, &s));
    uint64_t then = rig_all_hash(&r);
    tell(&r, 4, 9);
    uint64_t later = rig_all_hash(&r);
    assert_true(later != then);
    OK(stet_step_run(r.step, 3)); /* its time and faults are not pulled when the snapshot comes */
    OK(stet_worlds_restore(r.worlds, s));
    assert_true(rig_all_hash(&r) == then);
    assert_int_equal(stet_worlds_get_faults(r.worlds)[3], 1u << STET_FAULT_BAD_QVEL);
    tell(&r, 4, 9);
    assert_true(rig_all_hash(&r) == later);
    stet_snapshot_destroy(s);
    rig_free(&r);
}

static void the_warm_start_is_state(void **state)
{
    rig r = make_rig(2, NULL, 1);
    tell(&r, 0, 4);
    uint64_t before = rig_hash(&r);
    rig_set(&r, "qacc_warmstart", 1, 0, 3);
    assert_true(rig_hash(&r) != before);
    rig exact = rig_make(COVERED_SCENE, 2, NULL, 1, true);
    assert_int_equal(rig_array(&exact, "qacc_warmstart")->nitem, 0);
    rig_free(&exact);
    rig_free(&r);
}

static void a_file_goes_on_with_the_physics_that_saved_it(void **state)
{
    const char *path = in_folder("native.stet");
    rig r = make_rig(5, NULL, 1), next = make_rig(5, "w1", 1);
    tell(&r, 0, 5);
    OK(stet_worlds_save(r.worlds, path));
    OK(stet_worlds_resume(next.worlds, path));
    assert_true(rig_hash(&next) == rig_hash(&r));
    tell(&r, 5, 8);
    tell(&next, 5, 8);
    assert_true(rig_all_hash(&next) == rig_all_hash(&r));
    rig exact = rig_make(COVERED_SCENE, 5, NULL, 1, true), external = rig_make(COVERED_SCENE, 5, NULL, 1, false);
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "saved without exact data, with native physics",
            stet_worlds_resume(exact.worlds, path));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "these worlds are without exact data; take the physics",
            stet_worlds_resume(external.worlds, path));
    OK(stet_worlds_save(exact.worlds, in_folder("exact.stet")));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "saved with exact data",
            stet_worlds_resume(r.worlds, in_folder("exact.stet")));
    stet_snapshot *s;
    OK(stet_snapshot_create(external.worlds, &s));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "with native physics", stet_worlds_restore(r.worlds, s));
    stet_snapshot_destroy(s);
    rig_free(&r);
    rig_free(&next);
    rig_free(&exact);
    rig_free(&external);
}

/* ---- the same bits ----------------------------------------------------------------------------------------------- */

static void a_story_has_one_hash(void **state)
{
    uint64_t expected = 0;
    FOR_FLOAT_ISAS(isa)
    for (int way = 0; way < 4; ++way) {
        rig r = make_rig(N, sti_isa_name((sti_isa)isa), way % 2 ? 3 : 1);
        rig_mechanisms(&r, way == 2 ? (1u << STET_MECHANISM_COUNT) - 1 : 0, way == 3);
        tell(&r, 0, STEPS);
        OK(sti_array_ensure(rig_array(&r, "xpos")));
        uint64_t hash = rig_all_hash(&r);
        if (!expected) expected = hash;
        assert_true(hash == expected);
        rig_free(&r);
    }
}

static void place_and_number_of_worlds_do_not_matter(void **state)
{
    rig all = make_rig(40, NULL, 2);
    tell(&all, 0, STEPS);
    for (int64_t n = 1; n < 40; n += 12) {
        rig some = make_rig(n, NULL, 1);
        tell(&some, 0, STEPS);
        for (int64_t w = 0; w < n; ++w) check_world(&some, w, &all, w);
        rig_free(&some);
    }
    rig_free(&all);
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static void list_step(rig *r, int nstep)
{
    OK(stet_record_begin(r->device, "steps"));
    stet_result result = stet_step_run(r->step, nstep);
    if (result == STET_OK) result = stet_step_run(r->step, 1);
    OK(stet_record_end(r->device, result));
}

static void a_listed_step_has_the_same_bits(void **state)
{
    rig listed = make_rig(N, NULL, 1), plain = make_rig(N, NULL, 1);
    for (int i = 0; i < 6; ++i) {
        for (int64_t w = 0; w < N; ++w) {
            rig_set(&listed, "ctrl", w, 0, rig_wave(w, i, 0));
            rig_set(&plain, "ctrl", w, 0, rig_wave(w, i, 0));
        }
        if (i == 3) rig_set(&listed, "xpos", 2, 3, 7); /* the step comes later, and counts */
        list_step(&listed, 1 + i % 2);
        OK(stet_step_run(plain.step, 2 + i % 2));
        if (i % 2 == 0)
            for (int64_t w = 0; w < N; ++w) check_world(&listed, w, &plain, w);
    }
    assert_true(rig_all_hash(&listed) == rig_all_hash(&plain));
    assert_true(rig_counters(&listed).mechanism[STET_MECHANISM_GRAPH_REPLAY].hits > 0);
    rig_free(&listed);
    rig_free(&plain);
}

static void a_masked_step_is_no_part_of_a_list(void **state)
{
    rig r = make_rig(2, NULL, 1);
    const uint8_t mask[2] = {1, 0};
    OK(stet_record_begin(r.device, "a mask"));
    REFUSED(STET_ERROR_STATE, "stet_step_run", stet_step_run_worlds(r.step, mask, 1));
    OK(stet_record_end(r.device, STET_OK));
    rig_free(&r);
}

/* On a GPU: a step that the caller captures runs whenever he launches his graph; faults and time count each run. */
static void a_captured_step_is_a_part_of_the_callers_graph(void **state)
{
    rig r = make_rig(N, NULL, 1), plain = make_rig(N, NULL, 1);
    bool can = caller_can(r.device);
    if (can) {
        OK(stet_step_run(r.step, 1));
        OK(stet_step_run(plain.step, 1));
        OK(sti_worlds_pull_physics(r.worlds));
        OK(r.device->ops->synchronize(r.device));
        void *stream = caller_stream(r.device);
        caller_capture(r.device, stream);
        OK(stet_step_run(r.step, 2));
        uint64_t id = stet_recording_get_last(r.device);
        void *graph = caller_captured(r.device, stream);
        for (int run = 0; run < 4; ++run) {
            caller_launch(r.device, graph, stream);
            OK(stet_recording_mark_replayed(r.device, id));
            OK(stet_step_run(plain.step, 2));
            for (int64_t w = 0; run % 2 && w < N; ++w) check_world(&r, w, &plain, w);
        }
        assert_true(rig_hash(&r) == rig_hash(&plain));
        caller_graph_end(r.device, graph, stream);
        caller_stream_end(r.device, stream);
    }
    rig_free(&r);
    rig_free(&plain);
    if (!can) skip();
}

/* ---- a busy world among others ----------------------------------------------------------------------------------- */

/* World `busy` lies on the floor, the others fly. */
static rig drop_balls(int64_t nworld, int64_t busy)
{
    rig r = rig_make(many_balls(), nworld, NULL, 2, false);
    rig_step(&r, STET_PHYSICS_NATIVE);
    for (int64_t w = 0; w < nworld; ++w) {
        rig_set(&r, "qpos", w, 2, w == busy ? 0.049f : 0.5f + 0.01f * (float)w);
        rig_set(&r, "qvel", w, 0, 0.1f * (float)w);
    }
    return r;
}

/* There is room for what a run begins with; the neighbours do not notice. */
static void kf42_too_many_contacts_stay_in_their_world(void **state)
{
    enum { BUSY = 2 };
    rig r = drop_balls(N, BUSY), calm = drop_balls(N, -1);
    OK(stet_step_run(r.step, 10));
    OK(stet_step_run(calm.step, 10));
    for (int64_t w = 0; w < N; ++w) {
        assert_int_equal(stet_worlds_get_faults(r.worlds)[w], 0);
        if (w != BUSY) check_world(&r, w, &calm, w);
    }
    for (int64_t i = 0; i < 7; ++i) assert_true(isfinite(rig_get(&r, "qpos", BUSY, i)));
    assert_true(rig_get(&r, "qpos", BUSY, 2) > 0);
    rig_free(&r);
    rig_free(&calm);
}

/* Contacts are not shared out among worlds: a busy neighbour takes none, run after run. */
static void kf41_contacts_belong_to_their_world(void **state)
{
    for (int run = 0; run < 3; ++run) {
        rig alone = drop_balls(1, 0), among = drop_balls(N, 0);
        OK(stet_step_run(alone.step, 8));
        OK(stet_step_run(among.step, 8));
        check_world(&alone, 0, &among, 0);
        assert_int_equal(stet_worlds_get_faults(alone.worlds)[0], stet_worlds_get_faults(among.worlds)[0]);
        rig_free(&alone);
        rig_free(&among);
    }
}

/* The solver of a world ends when that world is done, whatever its neighbours take. */
static void kf43_a_slow_world_takes_no_iterations_of_others(void **state)
{
    rig all = make_rig(N, NULL, 1);
    sti_native *native;
    stet_array *niter, *own;
    double least = 1e9, most = 0;
    tell(&all, 0, STEPS);
    for (int64_t w = 0; w < N; ++w) { /* every other one is far from the floor, and at rest */
        rig_set(&all, "qpos", w, 2, w % 2 ? 0.07f : 5);
        for (int64_t i = 0; i < 14; ++i) rig_set(&all, "qvel", w, i, w % 2 ? 3 * rig_wave(w, 0, i) : 0);
        for (int64_t i = 0; i < 2; ++i) rig_set(&all, "eq_active", w, i, (float)(w % 2));
    }
    OK(sti_native_create(all.worlds, &native));
    OK(sti_native_quantity(native, "solver_niter", &niter));
    for (int64_t w = 0; w < N; ++w) {
        rig one = make_rig(1, NULL, 1);
        sti_native *single;
        for (const char *const *f = stet_worlds_get_fields(); *f; ++f)
            for (int64_t i = 0; strcmp(*f, "xpos") != 0 && strcmp(*f, "xquat") != 0 && i < rig_array(&one, *f)->nitem;
                 ++i)
                rig_set(&one, *f, 0, i, (float)rig_get(&all, *f, w, i));
        OK(sti_native_create(one.worlds, &single));
        OK(sti_native_quantity(single, "solver_niter", &own));
        assert_true(reals_get(own, 0, 0) == reals_get(niter, w, 0));
        least = fmin(least, reals_get(niter, w, 0));
        most = fmax(most, reals_get(niter, w, 0));
        stet_array_destroy(own);
        sti_native_destroy(single);
        rig_free(&one);
    }
    assert_true(least < most);
    stet_array_destroy(niter);
    sti_native_destroy(native);
    rig_free(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poses_are_the_kernels_at_every_width),
        cmocka_unit_test(poses_are_mujocos),
        cmocka_unit_test(only_worlds_that_moved_are_posed),
        cmocka_unit_test(poses_that_the_caller_writes_stay_until_the_world_moves),
        cmocka_unit_test(steps_copy_nothing),
        cmocka_unit_test(time_that_the_caller_writes_counts_from_there),
        cmocka_unit_test(a_reset_gives_the_state_of_new_worlds),
        cmocka_unit_test(faults_wait_for_their_reader),
        cmocka_unit_test(a_fault_resets_inputs_of_its_world_alone),
        cmocka_unit_test(an_equality_is_switched_off_in_its_world),
        cmocka_unit_test(a_snapshot_has_the_same_future),
        cmocka_unit_test(the_warm_start_is_state),
        cmocka_unit_test(a_file_goes_on_with_the_physics_that_saved_it),
        cmocka_unit_test(a_story_has_one_hash),
        cmocka_unit_test(place_and_number_of_worlds_do_not_matter),
        cmocka_unit_test(a_listed_step_has_the_same_bits),
        cmocka_unit_test(a_masked_step_is_no_part_of_a_list),
        cmocka_unit_test(a_captured_step_is_a_part_of_the_callers_graph),
        cmocka_unit_test(kf42_too_many_contacts_stay_in_their_world),
        cmocka_unit_test(kf41_contacts_belong_to_their_world),
        cmocka_unit_test(kf43_a_slow_world_takes_no_iterations_of_others),
    };
    return cmocka_run_group_tests(tests, make_own_folder, remove_folder);
}
