/* A sim with native physics: rounds, kernels in the step, pictures, switches. Physics itself: test/physics. */
#include "sim/rounds/rounds.h"

#include "kernel/caller.h"
#include "physics/covered.h"

#include <math.h>

static const room_def native = {
    .nworld = ROUND_WORLDS, .threads = 2, .physics = STET_PHYSICS_NATIVE, .outputs = BIT(RGBA) | BIT(DEPTH)};

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

enum { SEEDS = 3 };
static const int kinds[] = {WITH_QPOS | WITH_CONTROLS | WITH_LENGTH, 0, WITH_QPOS, WITH_CONTROLS, WITH_LENGTH};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void a_round_is_what_its_caller_would_have_written(void **state)
{
    for (int k = 0; k < KINDS; ++k)
        assert_true(round_alone(&native, 1, kinds[k], true) == round_by_hand(&native, 1, kinds[k], true));
}

/* Rounds in one sim, in an order of dice, have the bits of sims of their own. */
static void check_any_order(const room_def *d, uint64_t dice, int rounds)
{
    uint64_t alone[SEEDS][KINDS] = {{0}};
    task t = task_open(d);
    round_contracts(&t);
    for (int r = 0; r < rounds; ++r) {
        size_t seed = dice_next(&dice) % SEEDS, k = dice_next(&dice) % KINDS;
        if (!alone[seed][k]) alone[seed][k] = round_alone(&native, seed, kinds[k], true);
        if (round_play(&t, seed, kinds[k], true) != alone[seed][k])
            fail_msg("round %d: seed %zu, kinds %d, disabled %x, audit %d", r, seed, kinds[k], d->disabled, d->audit);
    }
    assert_true(!alone[0][0] || alone[0][0] != alone[1][0]);
    task_close(&t);
}

static void rounds_in_any_order_are_sims_of_their_own(void **state)
{
    room_def d = native;
    check_any_order(&d, 1, 30);
    d.audit = true;
    check_any_order(&d, 2, 15);
    d.audit = false;
    d.disabled = (1u << STET_MECHANISM_COUNT) - 1;
    check_any_order(&d, 3, 15);
}

/* A fault, a reset of worlds and steps that nobody looked at leave no trace in the next round. */
static void what_happens_between_rounds_is_not_seen(void **state)
{
    uint64_t want = round_alone(&native, 2, WITH_QPOS, true);
    task t = task_open(&native);
    round_contracts(&t);
    for (int r = 0; r < 3; ++r) {
        room_write(t.p.sim, "qvel", 1, 0, (float)__builtin_nan(""));
        OK(stet_sim_step(t.p.sim, 5));
        room_reset(t.p.sim, 2);
        OK(stet_sim_step(t.p.sim, 2));
        assert_true(round_play(&t, 2, WITH_QPOS, true) == want);
    }
    task_close(&t);
}

/* ---- kernels in the step ----------------------------------------------------------------------------------------- */

/* Policy, physics and observation are one recording, and nothing crosses to the host. */
static void a_step_is_one_recording(void **state)
{
    room_def d = native;
    d.strict = true;
    phases p = phases_open(&d);
    stet_array *qpos = phases_field(&p, "qpos"), *qvel = phases_field(&p, "qvel");
    stet_array *order = phases_array(&p, "order", STET_DTYPE_INT, 1);
    ADD(&p, BEFORE, "k_push", stet_arg_array(qpos), stet_arg_array(qvel), stet_arg_array(phases_field(&p, "ctrl")),
        stet_arg_real(3), stet_arg_int(1));
    ADD(&p, AFTER, "k_note", stet_arg_array(order), stet_arg_int(1));
    for (int i = 0; i < 3; ++i) OK(stet_sim_step(p.sim, 2));
    stet_counters c = phases_steady(p.sim, 10, 2);
    assert_int_equal(c.mechanism[STET_MECHANISM_GRAPH_REPLAY].hits, 10);
    assert_int_equal(c.mechanism[STET_MECHANISM_GRAPH_REPLAY].misses, 0);
    assert_int_equal(c.bytes_copied, 0);
    assert_int_equal(c.kinematics, 0);
    assert_true(fabsf(room_field(p.sim, "time", 1, 0) - 26 * 0.005f) < 1e-6f);
    phases_close(&p);
}

static uint64_t play_episodes(uint32_t disabled, bool audit, int threads)
{
    room_def d = native;
    d.nworld = 19;
    d.disabled = disabled;
    d.audit = audit;
    d.threads = threads;
    phases p = phases_open(&d);
    episode e = phases_episode(&p, true);
    sti_hash all;
    sti_hash_begin(&all);
    for (int i = 0; i < 25; ++i) {
        OK(stet_sim_step(p.sim, 1 + i % 2));
        uint64_t x[] = {phases_hash(e.seen), phases_hash(e.done), room_state(p.sim),
                        i % 4 ? 0 : room_frame(p.sim, room_render(p.sim))};
        sti_hash_add(&all, x, sizeof x);
    }
    phases_close(&p);
    return sti_hash_end(&all);
}

/* Each mechanism switched off alone, all of them, audited, with threads: the same bits of states and pictures. */
static void no_mechanism_changes_a_bit(void **state)
{
    uint64_t want = play_episodes(0, false, 1);
    for (int k = 0; k < STET_MECHANISM_COUNT; ++k) {
        print_message("without %s\n", stet_mechanism_name((stet_mechanism)k));
        assert_true(play_episodes(1u << k, false, 1) == want);
    }
    assert_true(play_episodes((1u << STET_MECHANISM_COUNT) - 1, false, 1) == want);
    assert_true(play_episodes(0, true, 1) == want);
    assert_true(play_episodes(0, false, 3) == want);
}

/* A kernel that writes poses before physics writes them for nothing: the step moves all worlds. */
static void a_listed_step_ends_poses_that_a_kernel_wrote(void **state)
{
    phases p = phases_open(&native), plain = phases_open(&native);
    stet_array *xpos = phases_field(&p, "xpos");
    ADD(&p, BEFORE, "k_lift", stet_arg_array(xpos), stet_arg_real(5), stet_arg_int(3));
    for (int i = 0; i < 4; ++i) {
        OK(stet_sim_step(p.sim, 1));
        OK(stet_sim_step(plain.sim, 1));
        assert_true(phases_hash(xpos) == phases_hash(phases_field(&plain, "xpos")));
    }
    phases_close(&p);
    phases_close(&plain);
}

/* ---- a frame in the caller's graph ------------------------------------------------------------------------------- */

/* Everything of a frame: policy, physics, who fell, resets, what poses show, a picture and its tensor. */
static stet_array *play_frame(stet_sim *sim)
{
    stet_array *pixels;
    OK(stet_sim_step(sim, 2));
    (void)room_render(sim);
    OK(stet_sim_get_array(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_RGB, &pixels));
    return pixels;
}

static void check_twins(const episode *a, stet_array *pixels, const episode *b, stet_array *other, int run)
{
    if (phases_hash(a->done) != phases_hash(b->done)) fail_msg("run %d: other ends", run);
    if (phases_hash(a->length) != phases_hash(b->length)) fail_msg("run %d: other lengths", run);
    if (phases_hash(a->seen) != phases_hash(b->seen)) fail_msg("run %d: other observations", run);
    if (phases_hash(pixels) != phases_hash(other)) fail_msg("run %d: another picture", run);
}

/* On a GPU: worlds that end their episodes in the caller's graph begin again there, and the host is not asked. */
static bool capture_frames(uint32_t disabled)
{
    room_def d = native;
    d.nworld = 13;
    d.outputs = BIT(RGB); /* which is extracted, not direct */
    phases q = phases_open(&d);
    d.disabled = disabled;
    phases p = phases_open(&d);
    stet_device *device = stet_sim_get_device(p.sim);
    bool can = caller_can(device);
    episode e = phases_episode(&p, true), f = phases_episode(&q, true);
    if (can) {
        stet_array *pixels, *other;
        for (int i = 0; i < 4; ++i) { /* once round the ring of frames, so that all tables are on the device */
            pixels = play_frame(p.sim);
            other = play_frame(q.sim);
        }
        OK(device->ops->synchronize(device));
        void *stream = caller_stream(device);
        caller_capture(device, stream);
        pixels = play_frame(p.sim);
        uint64_t id = stet_recording_get_last(device);
        void *graph = caller_captured(device, stream);
        int64_t copied = room_counters(p.sim).bytes_copied;
        for (int run = 0; run < 30; ++run) {
            caller_launch(device, graph, stream);
            OK(stet_recording_mark_replayed(device, id));
            other = play_frame(q.sim);
            if (run % 3 == 2) check_twins(&e, pixels, &f, other, run);
        }
        assert_true(room_counters(p.sim).bytes_copied == copied);
        assert_true(room_state(p.sim) == room_state(q.sim));
        for (int w = 0; w < 13; ++w) {
            assert_true(stet_sim_get_worlds(p.sim)->state.resets[w] == stet_sim_get_worlds(q.sim)->state.resets[w]);
            assert_true(stet_sim_get_worlds(p.sim)->state.resets[w] >= 3);
        }
        caller_graph_end(device, graph, stream);
        caller_stream_end(device, stream);
    }
    phases_close(&p);
    phases_close(&q);
    return can;
}

static void a_whole_frame_is_a_part_of_the_callers_graph(void **state)
{
    if (!capture_frames(0)) skip();
}

/* Transforms that the host would compute without the mechanism are launched while a graph is captured. */
static void a_graph_does_not_wait_for_transforms_of_the_host(void **state)
{
    if (!capture_frames(1u << STET_MECHANISM_HIERARCHY)) skip();
}

/* ---- a reset by a mask on the device ----------------------------------------------------------------------------- */

/* A step that says who fell, and then the reset of those, by the array or through the host. */
static void fall_and_reset(phases *p, const episode *e, bool array)
{
    stet_reset_def def = phases_noise();
    uint8_t mask[13];
    OK(stet_sim_step(p->sim, 2));
    for (int w = 0; !array && w < 13; ++w) mask[w] = phases_int(p, e->done, w) != 0;
    if (array)
        def.mask_array = e->done;
    else
        def.mask = mask;
    OK(stet_sim_reset(p->sim, &def));
}

static void a_reset_by_an_array_joins_the_callers_graph(void **state)
{
    room_def d = native;
    d.nworld = 13;
    phases p = phases_open(&d), q = phases_open(&d);
    stet_device *device = stet_sim_get_device(p.sim);
    bool can = caller_can(device);
    episode e = phases_episode(&p, false), f = phases_episode(&q, false);
    for (int i = 0; i < 12; ++i) {
        fall_and_reset(&p, &e, true);
        fall_and_reset(&q, &f, false);
        assert_true(room_state(p.sim) == room_state(q.sim));
    }
    if (can) {
        OK(device->ops->synchronize(device));
        void *stream = caller_stream(device);
        caller_capture(device, stream);
        fall_and_reset(&p, &e, true);
        uint64_t id = stet_recording_get_last(device);
        void *graph = caller_captured(device, stream);
        int64_t copied = room_counters(p.sim).bytes_copied;
        for (int run = 0; run < 20; ++run) {
            caller_launch(device, graph, stream);
            OK(stet_recording_mark_replayed(device, id));
            fall_and_reset(&q, &f, false);
        }
        assert_true(room_counters(p.sim).bytes_copied == copied);
        assert_true(room_state(p.sim) == room_state(q.sim));
        assert_true(phases_hash(phases_field(&p, "xpos")) == phases_hash(phases_field(&q, "xpos")));
        caller_graph_end(device, graph, stream);
        caller_stream_end(device, stream);
    }
    for (int w = 0; w < 13; ++w) {
        stet_worlds *a = stet_sim_get_worlds(p.sim), *b = stet_sim_get_worlds(q.sim);
        assert_true(a->state.resets[w] == b->state.resets[w] && a->state.resets[w] >= 1);
    }
    phases_close(&p);
    phases_close(&q);
    if (!can) skip();
}

/* A kernel that says who is put back, and the reset, are one list. */
static void a_reset_by_an_array_is_listed(void **state)
{
    room_def d = native;
    d.nworld = 13;
    d.strict = true;
    phases p = phases_open(&d), q = phases_open(&d);
    stet_device *device = stet_sim_get_device(p.sim);
    stet_reset_def def = phases_noise();
    stet_array *done = phases_array(&p, "done", STET_DTYPE_INT, 1), *dice = phases_array(&p, "dice", STET_DTYPE_INT, 1);
    stet_kernel *end = p.kernel[p.nkernel++] = phases_kernel(p.sim, "k_end");
    const stet_arg args[] = {stet_arg_array(done), stet_arg_array(dice)};
    int32_t begin[13];
    for (int w = 0; w < 13; ++w) begin[w] = 97 * w;
    OK(stet_array_write(dice, begin, sizeof begin));
    def.mask_array = done;
    OK(stet_sim_reset(p.sim, &def)); /* of no world: makes what resets need */
    for (int i = 0; i < 60; ++i) {
        uint8_t mask[13];
        stet_reset_def plain = phases_noise();
        OK(stet_sim_step(p.sim, 1));
        OK(stet_sim_step(q.sim, 1));
        OK(stet_record_begin(device, "ends"));
        stet_result result = stet_kernel_launch(end, 13, args, 2);
        if (result == STET_OK) result = stet_sim_reset(p.sim, &def);
        OK(stet_record_end(device, result));
        for (int w = 0; w < 13; ++w) mask[w] = phases_int(&p, done, w) != 0;
        plain.mask = mask;
        OK(stet_sim_reset(q.sim, &plain));
        assert_true(room_state(p.sim) == room_state(q.sim));
    }
    assert_true(room_counters(p.sim).mechanism[STET_MECHANISM_GRAPH_REPLAY].hits > 50);
    int64_t resets = 0;
    for (int w = 0; w < 13; ++w) resets += (int64_t)stet_sim_get_worlds(p.sim)->state.resets[w];
    assert_true(resets > 3);
    phases_close(&p);
    phases_close(&q);
}

enum { LOOKED = 5 };

/* One call of a random run of resets, steps and pictures, the same for each sim that is at `turn`. */
static void play_turn(stet_sim *sim, stet_array *chosen, stet_snapshot *snapshot, int turn)
{
    uint64_t dice = (uint64_t)turn * 77;
    uint8_t mask[LOOKED];
    int32_t ints[LOOKED];
    stet_reset_def def = stet_default_reset_def();
    for (int w = 0; w < LOOKED; ++w) ints[w] = mask[w] = dice_below(&dice, 3) == 0;
    size_t kind = dice_below(&dice, 16);
    if (kind < 4) {
        OK(stet_array_write(chosen, ints, sizeof ints));
        def.mask_array = chosen;
    } else {
        def.mask = mask;
    }
    if (kind < 7)
        OK(stet_sim_reset(sim, &def));
    else if (kind == 7)
        OK(stet_sim_restore(sim, snapshot));
    else if (kind == 8)
        OK(stet_sim_round_begin(sim, NULL, 0));
    else if (kind == 9)
        OK(stet_sim_step(sim, 9));
    else
        OK(stet_sim_render_worlds(sim, mask, NULL));
}

/*
 * Whoever was put back is drawn again for a read of the latest frame, and nobody else, whether the host asked what
 * resets on the device did after each call or not before the read.
 */
static void when_the_host_looks_at_resets_changes_no_frame(void **state)
{
    room_def d = native;
    d.nworld = LOOKED;
    uint64_t dice = dice_seed("looks");
    stet_sim *sim[2];
    stet_array *chosen[2];
    stet_snapshot *snapshot[2];
    for (int k = 0; k < 2; ++k) {
        sim[k] = room_open(COVERED_SCENE, &d);
        OK(STI_ARRAY(stet_sim_get_device(sim[k]), "chosen", STET_DTYPE_INT, true, &chosen[k], LOOKED, 1));
        OK(stet_sim_step(sim[k], 20));
        OK(stet_snapshot_create(stet_sim_get_worlds(sim[k]), &snapshot[k]));
        (void)room_render(sim[k]);
    }
    for (int i = 0; i < 400; ++i) {
        int turn = (int)dice_below(&dice, 1 << 20);
        for (int k = 0; k < 2; ++k) play_turn(sim[k], chosen[k], snapshot[k], turn);
        assert_non_null(stet_worlds_get_faults(stet_sim_get_worlds(sim[0])));
        if (dice_below(&dice, 5) > 0) continue;
        if (room_frame(sim[0], STET_FRAME_LATEST) != room_frame(sim[1], STET_FRAME_LATEST) ||
            stet_sim_get_latest_frame(sim[0]) != stet_sim_get_latest_frame(sim[1]))
            fail_msg("call %d: another latest frame", i);
    }
    assert_true(stet_sim_get_latest_frame(sim[0]) > 20);
    for (int k = 0; k < 2; ++k) {
        stet_snapshot_destroy(snapshot[k]);
        stet_array_destroy(chosen[k]);
        stet_sim_destroy(sim[k]);
    }
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

static void pictures_follow_the_worlds_that_moved(void **state)
{
    room_def d = native;
    const uint8_t mask[ROUND_WORLDS] = {0, 1, 0, 0, 1};
    stet_sim *some = room_open(COVERED_SCENE, &d);
    d.disabled = (1u << STET_MECHANISM_COUNT) - 1;
    stet_sim *twin = room_open(COVERED_SCENE, &d);
    for (int i = 0; i < 6; ++i) {
        room_write(some, "mocap_pos", 1, 2, 1 + 0.1f * (float)i);
        room_write(twin, "mocap_pos", 1, 2, 1 + 0.1f * (float)i);
        OK(stet_sim_step_worlds(some, i % 2 ? mask : NULL, 2));
        OK(stet_sim_step_worlds(twin, i % 2 ? mask : NULL, 2));
        assert_true(room_frame(some, room_render(some)) == room_frame(twin, room_render(twin)));
        assert_true(room_state(some) == room_state(twin));
    }
    stet_sim_destroy(some);
    stet_sim_destroy(twin);
}

/* ---- auto -------------------------------------------------------------------------------------------------------- */

static void check_auto(const char *scene, stet_physics physics, const char *reason)
{
    stet_model *model = rig_model(scene);
    stet_sim_def def = stet_default_sim_def();
    stet_sim *sim;
    picked_device(&def.device);
    OK(stet_sim_create(model, &def, &sim));
    assert_int_equal(stet_sim_get_physics(sim), physics);
    if (!strstr(stet_sim_get_physics_reason(sim), reason)) fail_msg("'%s'", stet_sim_get_physics_reason(sim));
    OK(stet_sim_step(sim, 3));
    stet_sim_destroy(sim);
    stet_model_destroy(model);
}

static void auto_takes_native_physics_where_it_covers_the_model(void **state)
{
    check_auto(COVERED_SCENE, STET_PHYSICS_NATIVE, "native physics covers the model");
    check_auto(
        "<mujoco><option><flag sleep='enable'/></option><worldbody><body><joint name='a'/><geom size='1'/></body>"
        "</worldbody></mujoco>",
        STET_PHYSICS_MUJOCO, "native physics lacks sleeping");
    stet_sim *sim = room_open(COVERED_SCENE, &native);
    assert_string_equal(stet_sim_get_physics_reason(sim), "asked for");
    stet_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_round_is_what_its_caller_would_have_written),
        cmocka_unit_test(rounds_in_any_order_are_sims_of_their_own),
        cmocka_unit_test(what_happens_between_rounds_is_not_seen),
        cmocka_unit_test(a_step_is_one_recording),
        cmocka_unit_test(no_mechanism_changes_a_bit),
        cmocka_unit_test(a_listed_step_ends_poses_that_a_kernel_wrote),
        cmocka_unit_test(a_whole_frame_is_a_part_of_the_callers_graph),
        cmocka_unit_test(a_graph_does_not_wait_for_transforms_of_the_host),
        cmocka_unit_test(a_reset_by_an_array_joins_the_callers_graph),
        cmocka_unit_test(a_reset_by_an_array_is_listed),
        cmocka_unit_test(when_the_host_looks_at_resets_changes_no_frame),
        cmocka_unit_test(pictures_follow_the_worlds_that_moved),
        cmocka_unit_test(auto_takes_native_physics_where_it_covers_the_model),
    };
    return cmocka_run_group_tests(tests, make_own_folder, remove_folder);
}
