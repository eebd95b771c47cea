/*
 * Rounds: R of them in one sim are R sims, bit for bit, in any order; later ones allocate, compile and copy nothing
 * that is there; ten thousand take no more memory than three.
 */
#include "sim/rounds/rounds.h"

#include "base/part.h"

static const room_def mujoco = {.nworld = ROUND_WORLDS, .threads = 2, .outputs = BIT(RGBA) | BIT(DEPTH)};
static const room_def external = {
    .nworld = ROUND_WORLDS, .threads = 2, .physics = STET_PHYSICS_EXTERNAL, .outputs = BIT(DEPTH)};

/* ---- what devices say ------------------------------------------------------------------------------------------- */

/* A device that says that it reuses content does: the second round copies nothing in. Graphs and staging are GPUs'. */
static void each_device_says_what_it_reuses(void **state)
{
    task t = task_open(&external);
    const stet_device *device = stet_sim_get_device(t.p.sim);
    bool gpu = stet_device_get_type(device) == STET_DEVICE_CUDA || stet_device_get_type(device) == STET_DEVICE_HIP;
    assert_null(stet_device_get_instead(device, STET_REUSE_CONTENT));
    assert_true(!stet_device_get_instead(device, STET_REUSE_GRAPHS) == gpu);
    assert_true(!stet_device_get_instead(device, STET_REUSE_STAGING) == gpu);
    round_contracts(&t);
    for (int r = 0; r < 2; ++r) {
        (void)round_play(&t, 3, WITH_ALL, false);
        stet_round_info info = stet_sim_get_round(t.p.sim);
        assert_true(info.inputs > 0 && info.copied_in == (r ? 0 : info.inputs));
    }
    task_close(&t);
    assert_null(stet_device_get_instead(NULL, STET_REUSE_CONTENT));
    assert_string_equal(stet_reuse_name(STET_REUSE_STAGING), "staging");
    assert_string_equal(stet_reuse_name(STET_REUSE_COUNT), "unknown");
}

/* ---- the same bits ----------------------------------------------------------------------------------------------- */

enum { SEEDS = 4 };
static const int kinds[] = {
    WITH_ALL, 0, WITH_QPOS, WITH_CONTROLS | WITH_PARAMETERS, WITH_LENGTH, WITH_QPOS | WITH_CONTROLS};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* What an input says is what a caller would write. */
static void a_round_is_what_its_caller_would_have_written(void **state)
{
    for (int e = 0; e < 2; ++e)
        for (int k = 0; k < KINDS; ++k) {
            const room_def *d = e ? &external : &mujoco;
            uint64_t round = round_alone(d, 1, kinds[k], true), hand = round_by_hand(d, 1, kinds[k], true);
            if (round != hand) fail_msg("external %d, kinds %d", e, kinds[k]);
        }
}

/* A table of what each (seed, kinds) gives in a sim of its own, then many in one sim, in an order of dice. */
static void check_any_order(const room_def *d, uint64_t dice, int rounds, bool pictures)
{
    uint64_t alone[SEEDS][KINDS] = {{0}}, *one = alone[0];
    room_def plain = *d;
    plain.disabled = 0;
    plain.audit = plain.strict = false;
    task t = task_open(d);
    round_contracts(&t);
    for (int r = 0; r < rounds; ++r) {
        size_t seed = dice_next(&dice) % SEEDS, k = dice_next(&dice) % KINDS;
        if (!alone[seed][k]) alone[seed][k] = round_alone(&plain, seed, kinds[k], pictures);
        uint64_t got = round_play(&t, seed, kinds[k], pictures);
        if (got != alone[seed][k])
            fail_msg("round %d: seed %zu, kinds %d, disabled %x, audit %d", r, seed, kinds[k], d->disabled, d->audit);
    }
    for (int i = 1; i < SEEDS * KINDS; ++i)
        if (one[i] && one[i] == one[0]) fail_msg("rounds %d and 0 are alike: the test tells nothing", i);
    task_close(&t);
}

static void any_order_gives_the_bits_of_sims_of_their_own(void **state)
{
    print_message("dice 5 and 6\n");
    check_any_order(&mujoco, 5, 30, true);
    check_any_order(&external, 6, 30, true);
}

/* Poisoned between rounds, and with the mechanism off: the same bits. */
static void poisoned_or_switched_off_they_are_the_same(void **state)
{
    for (int e = 0; e < 2; ++e) {
        room_def d = e ? external : mujoco;
        d.audit = d.strict = true;
        check_any_order(&d, 7, 12, true);
        d.audit = d.strict = false;
        d.disabled = 1u << STET_MECHANISM_ROUNDS;
        check_any_order(&d, 8, 12, false);
    }
}

/* What happened in the sim before its first round, and between rounds, leaves no trace. */
static void what_happens_between_rounds_is_not_seen(void **state)
{
    uint64_t want = round_alone(&mujoco, 2, WITH_QPOS, true);
    task t = task_open(&mujoco);
    round_contracts(&t);
    static const double moon[3] = {0, 0, -1.62};
    for (int r = 0; r < 3; ++r) {
        stet_snapshot *snapshot;
        OK(stet_worlds_set_parameter(stet_sim_get_worlds(t.p.sim), "gravity", moon, 3));
        OK(stet_sim_control_noise(t.p.sim, 1, 30));
        OK(stet_sim_step(t.p.sim, 7));
        OK(stet_snapshot_create(stet_sim_get_worlds(t.p.sim), &snapshot));
        room_reset(t.p.sim, 1);
        OK(stet_sim_restore(t.p.sim, snapshot));
        stet_snapshot_destroy(snapshot);
        int32_t ones[ROUND_WORLDS] = {1, 1, 1, 1, 1};
        OK(stet_array_write(t.done, ones, sizeof ones));
        assert_true(round_play(&t, 2, WITH_QPOS, true) == want);
    }
    task_close(&t);
}

/* Arrays of the model as inputs: the bits of a sim that was given them; equal content is derived from once. */
static void arrays_of_the_model_are_inputs(void **state)
{
    enum { NUMBERS = 64 };
    double mass[ROUND_WORLDS * NUMBERS], step = 0.004;
    task t = task_open(&mujoco), alone = task_open(&mujoco);
    stet_worlds *worlds = stet_sim_get_worlds(t.p.sim), *other = stet_sim_get_worlds(alone.p.sim);
    round_contracts(&t);
    int64_t n = stet_worlds_get_parameter_items(worlds, "body_mass");
    assert_true(n > 1 && n <= NUMBERS);
    OK(stet_worlds_get_parameter(worlds, "body_mass", mass, n * ROUND_WORLDS));
    for (int64_t i = 0; i < n * ROUND_WORLDS; ++i) mass[i] *= 1 + 0.1 * (double)i;
    size_t size = (size_t)(n * ROUND_WORLDS) * sizeof *mass;
    stet_round_value in[] = {stet_round_in("body_mass", mass, size), stet_round_in("timestep", &step, sizeof step)};
    OK(stet_worlds_set_parameter(other, "body_mass", mass, n * ROUND_WORLDS));
    OK(stet_worlds_set_parameter(other, "timestep", &step, 1));
    for (int i = 0; i < ROUND_STEPS; ++i) OK(stet_sim_step(alone.p.sim, 2));
    uint64_t want = round_digest(&alone, false), none = 0;
    for (int r = 0; r < 5; ++r) {
        bool with = r % 2 == 0;
        OK(stet_sim_round_begin(t.p.sim, in, with ? 2 : 0));
        for (int i = 0; i < ROUND_STEPS; ++i) OK(stet_sim_step(t.p.sim, 2));
        uint64_t got = round_digest(&t, false);
        if (with) assert_true(got == want);
        if (!with) assert_true(got != want && (none == 0 || got == none));
        if (!with) none = got;
        OK(stet_sim_round_end(t.p.sim, NULL, 0));
    }
    stet_counters before = stet_device_get_counters(stet_sim_get_device(t.p.sim)), after;
    for (int r = 0; r < 3; ++r) {
        OK(stet_sim_round_begin(t.p.sim, in, 2));
        OK(stet_sim_step(t.p.sim, 1));
    }
    after = stet_device_get_counters(stet_sim_get_device(t.p.sim));
    assert_int_equal(after.constants, before.constants);
    task_close(&t);
    task_close(&alone);
}

/* ---- counters ---------------------------------------------------------------------------------------------------- */

static stet_counter rounds_counter(const task *t) { return room_counters(t->p.sim).mechanism[STET_MECHANISM_ROUNDS]; }
static int64_t reason(const task *t, stet_reason r) { return room_counters(t->p.sim).reason[r]; }

static void later_rounds_copy_only_what_differs(void **state)
{
    for (int e = 0; e < 2; ++e) {
        task t = task_open(e ? &external : &mujoco);
        int n = e ? 3 : 5;
        round_contracts(&t);
        stet_device_clear_counters(stet_sim_get_device(t.p.sim));
        (void)round_play(&t, 1, WITH_ALL, false);
        assert_int_equal(rounds_counter(&t).misses, 1 + n); /* the set-up, and each input */
        assert_int_equal(reason(&t, STET_REASON_ROUNDS_FIRST), 1 + n);
        stet_round_info info = stet_sim_get_round(t.p.sim);
        assert_int_equal(info.why, STET_REASON_ROUNDS_FIRST);
        assert_int_equal(info.copied_in, n);
        for (int r = 2; r < 5; ++r) {
            stet_device_clear_counters(stet_sim_get_device(t.p.sim));
            (void)round_play(&t, 1, WITH_ALL, false);
            info = stet_sim_get_round(t.p.sim);
            assert_int_equal(info.round, r);
            assert_int_equal(info.why, STET_REASON_NONE);
            assert_int_equal(info.inputs, n);
            assert_int_equal(info.copied_in + info.bytes_in, 0);
            assert_int_equal(rounds_counter(&t).misses + rounds_counter(&t).fallbacks, 0);
            assert_int_equal(rounds_counter(&t).hits, 1 + n);
        }
        stet_device_clear_counters(stet_sim_get_device(t.p.sim));
        (void)round_play(&t, 2, WITH_ALL, false); /* friction is the same for all seeds */
        assert_int_equal(reason(&t, STET_REASON_ROUNDS_DIFFERS), e ? n : n - 1);
        assert_int_equal(rounds_counter(&t).done_bytes, stet_sim_get_round(t.p.sim).bytes_in);
        task_close(&t);
    }
}

/* A generation that is equal is believed without a look; under audit it is looked at. */
static void equal_generations_are_believed(void **state)
{
    stet_sim *sim = room_open("cartpole.xml", &mujoco);
    float qpos[ROUND_WORLDS * 2] = {0.5f}, out[ROUND_WORLDS * 2];
    stet_round_value in = stet_round_in("qpos", qpos, sizeof qpos), result = stet_round_out("qpos", out, sizeof out);
    stet_mechanism_options options = stet_device_get_mechanisms(stet_sim_get_device(sim));
    in.generation = 1;
    for (int r = 0; r < 2; ++r) {
        OK(stet_sim_round_begin(sim, &in, 1));
        OK(stet_sim_round_end(sim, &result, 1));
        assert_true(out[0] == 0.5f);
        qpos[0] = 0.25f; /* not announced: it is not seen */
    }
    options.audit = true;
    OK(stet_device_set_mechanisms(stet_sim_get_device(sim), &options));
    REFUSED(STET_ERROR_AUDIT, "another generation", stet_sim_round_begin(sim, &in, 1));
    in.generation = 2;
    OK(stet_sim_round_begin(sim, &in, 1));
    OK(stet_sim_round_end(sim, &result, 1));
    assert_true(out[0] == 0.25f);
    stet_sim_destroy(sim);
}

/* A write that nobody announced is what an audit is for. It can be made where the host reaches the memory. */
static void an_audit_finds_an_input_that_changed_in_silence(void **state)
{
    task t = task_open(&mujoco);
    int32_t length[ROUND_WORLDS] = {7, 8, 9, 10, 11}, now[ROUND_WORLDS];
    stet_round_value in = stet_round_array(t.length, STET_DIRECTION_IN, length, sizeof length),
                     out = stet_round_array(t.length, STET_DIRECTION_OUT, now, sizeof now);
    stet_mechanism_options options = stet_device_get_mechanisms(stet_sim_get_device(t.p.sim));
    for (int audit = 0; audit < 2 && t.length->device->can.host_memory; ++audit) {
        options.audit = audit;
        OK(stet_device_set_mechanisms(stet_sim_get_device(t.p.sim), &options));
        for (int r = 0; r < 2; ++r) {
            OK(stet_sim_round_begin(t.p.sim, &in, 1));
            OK(stet_sim_round_end(t.p.sim, &out, 1));
            assert_memory_equal(now, length, sizeof now);
        }
        ((int32_t *)t.length->data)[0] = 77;
        if (audit)
            REFUSED(STET_ERROR_AUDIT, "input length had changed", stet_sim_round_begin(t.p.sim, &in, 1));
        else
            OK(stet_sim_round_begin(t.p.sim, &in, 1)); /* not announced: it is not seen */
        ((int32_t *)t.length->data)[0] = 7;
    }
    OK(stet_sim_round_begin(t.p.sim, &in, 1)); /* what failed before is set up again */
    OK(stet_sim_round_end(t.p.sim, &out, 1));
    assert_memory_equal(now, length, sizeof now);
    task_close(&t);
}

/* What was done since the counters were cleared, and calls of the driver, where it is a double's. */
typedef struct done {
    stet_counters counters;
    int64_t calls;
} done;

static done work_since(const task *t, int64_t calls)
{
    return (done){room_counters(t->p.sim), (picked_double ? picked_double->calls(NULL) : 0) - calls};
}

/* Nor more work: of a hundred early rounds and a hundred late ones each counter says the same. */
static void a_sim_that_was_run_often_takes_no_more_memory(void **state)
{
    const int often = in_part() ? 1000 : 10000;
    for (int e = 0; e < 2; ++e) {
        room_def d = e ? external : mujoco;
        d.threads = 1;
        task t = task_open(&d);
        round_contracts(&t);
        uint64_t first = round_play(&t, 0, WITH_ALL, false);
        round_in in;
        round_fill(&in, &t, 0, WITH_ALL);
        stet_memory_stats before = {0};
        done early = {.calls = 0}, late = early;
        int64_t calls = 0;
        for (int r = 0; r < often; ++r) {
            in.qpos[0] = 0.001f * (float)(r % 8);
            OK(stet_sim_round_begin(t.p.sim, in.value, in.n));
            if (r % 100 == 0) OK(stet_sim_step(t.p.sim, 1));
            OK(stet_sim_round_end(t.p.sim, NULL, 0));
            if (r == 200) before = stet_get_memory_stats();
            if (r == 300) early = work_since(&t, calls);
            if (r == often - 100) late = work_since(&t, calls);
            if (r == 200 || r == often - 200) {
                stet_device_clear_counters(stet_sim_get_device(t.p.sim));
                calls = work_since(&t, 0).calls;
            }
        }
        stet_memory_stats after = stet_get_memory_stats();
        assert_int_equal(after.allocations, before.allocations);
        assert_int_equal(after.bytes, before.bytes);
        assert_memory_equal(&early.counters, &late.counters, sizeof early.counters);
        assert_int_equal(early.calls, late.calls);
        assert_int_equal(stet_sim_get_round(t.p.sim).round, often + 1);
        assert_true(round_play(&t, 0, WITH_ALL, false) == first);
        task_close(&t);
    }
}

/* ---- outputs ----------------------------------------------------------------------------------------------------- */

/* Which rows are an output is known on the device alone: the header is read first. */
static void a_header_says_which_rows_come_out(void **state)
{
    stet_sim *sim = room_open("cartpole.xml", &mujoco);
    stet_device *device = stet_sim_get_device(sim);
    stet_array *found, *header;
    enum { ROWS = 10 };
    int32_t content[ROWS][3], out[4][3];
    OK(STI_ARRAY(device, "found", STET_DTYPE_INT, false, &found, ROWS, 3));
    OK(STI_ARRAY(device, "header", STET_DTYPE_I64, false, &header, 2));
    for (int i = 0; i < ROWS * 3; ++i) content[i / 3][i % 3] = i;
    OK(stet_array_write(found, content, sizeof content));
    stet_round_value value = stet_round_array(found, STET_DIRECTION_OUT, out, sizeof out);
    value.header = header;
    static const int64_t heads[][2] = {{0, 0},  {3, 4}, {9, 1},  {10, 0},       {0, 5},
                                       {-1, 1}, {8, 3}, {0, -1}, {INT64_MAX, 2}};
    for (size_t k = 0; k < sizeof heads / sizeof *heads; ++k) {
        OK(stet_sim_round_begin(sim, NULL, 0));
        OK(stet_array_write(header, heads[k], sizeof heads[k]));
        memset(out, 0, sizeof out);
        if (k < 4) {
            OK(stet_sim_round_end(sim, &value, 1));
            assert_int_equal(value.rows, heads[k][1]);
            assert_memory_equal(out, content[heads[k][0] % ROWS], (size_t)heads[k][1] * sizeof *out);
            assert_int_equal(stet_sim_get_round(sim).bytes_out, 16 + 12 * heads[k][1]);
            continue;
        }
        REFUSED(STET_ERROR_LIMIT, k == 4 ? "there is room for 48" : "look at the kernel",
                stet_sim_round_end(sim, &value, 1));
        assert_int_equal(value.rows, 0);
    }
    stet_array_destroy(found);
    stet_array_destroy(header);
    stet_sim_destroy(sim);
}

/* ---- controls ---------------------------------------------------------------------------------------------------- */

/* A row of all worlds is the same as that row for each; from the last frame on the controls stay. */
static void controls_come_frame_by_frame(void **state)
{
    for (int e = 0; e < 2; ++e) {
        stet_sim *sim = room_open("cartpole.xml", e ? &external : &mujoco);
        static const float alike[3] = {0.25f, -0.5f, 0.75f};
        float per_world[3 * ROUND_WORLDS];
        for (int i = 0; i < 3 * ROUND_WORLDS; ++i)
            per_world[i] = alike[i / ROUND_WORLDS] + 0.01f * (float)(i % ROUND_WORLDS);
        for (int r = 0; r < 4; ++r) {
            stet_round_value in = r % 2 ? stet_round_in("controls", per_world, sizeof per_world)
                                        : stet_round_in("controls", alike, sizeof alike);
            in.frames = 3;
            OK(stet_sim_round_begin(sim, &in, 1));
            assert_true(room_ctrl(sim, 1, 0) == 0);
            for (int f = 0; f < 5; ++f) {
                OK(stet_sim_step(sim, 2));
                for (int64_t w = 0; w < ROUND_WORLDS; ++w) {
                    int at = f < 3 ? f : 2;
                    float want = r % 2 ? per_world[at * ROUND_WORLDS + w] : alike[at];
                    if (room_ctrl(sim, w, 0) != want) fail_msg("round %d, step %d, world %d", r, f, (int)w);
                }
            }
            OK(stet_sim_round_end(sim, NULL, 0));
            OK(stet_sim_step(sim, 1)); /* after the round nothing comes any more */
        }
        stet_sim_destroy(sim);
    }
}

/* ---- staging ----------------------------------------------------------------------------------------------------- */

static void what_was_staged_is_there_when_the_round_begins(void **state)
{
    for (int e = 0; e < 2; ++e) {
        const room_def *d = e ? &external : &mujoco;
        uint64_t want[3];
        for (uint64_t s = 0; s < 3; ++s) want[s] = round_alone(d, s, WITH_ALL, false);
        task t = task_open(d);
        round_contracts(&t);
        round_in in[3];
        for (uint64_t s = 0; s < 3; ++s) round_fill(&in[s], &t, s, WITH_ALL);
        for (int r = 0; r < 9; ++r) {
            round_in *now = &in[r % 3], *next = &in[(r + 1) % 3];
            OK(stet_sim_round_begin(t.p.sim, now->value, now->n));
            OK(stet_sim_round_stage(t.p.sim, next->value, next->n));
            for (int i = 0; i < ROUND_STEPS; ++i) OK(stet_sim_step(t.p.sim, 1 + r % 3 % 2));
            if (r % 2)
                OK(stet_sim_round_stage(t.p.sim, in[(r + 2) % 3].value, now->n)); /* another, which is not used */
            assert_true(round_digest(&t, false) == want[r % 3]);
            OK(stet_sim_round_end(t.p.sim, NULL, 0));
        }
        task_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_device_says_what_it_reuses),
        cmocka_unit_test(a_round_is_what_its_caller_would_have_written),
        cmocka_unit_test(arrays_of_the_model_are_inputs),
        cmocka_unit_test(any_order_gives_the_bits_of_sims_of_their_own),
        cmocka_unit_test(poisoned_or_switched_off_they_are_the_same),
        cmocka_unit_test(what_happens_between_rounds_is_not_seen),
        cmocka_unit_test(later_rounds_copy_only_what_differs),
        cmocka_unit_test(equal_generations_are_believed),
        cmocka_unit_test(an_audit_finds_an_input_that_changed_in_silence),
        cmocka_unit_test(a_sim_that_was_run_often_takes_no_more_memory),
        cmocka_unit_test(a_header_says_which_rows_come_out),
        cmocka_unit_test(controls_come_frame_by_frame),
        cmocka_unit_test(what_was_staged_is_there_when_the_round_begins),
    };
    return cmocka_run_group_tests(tests, make_own_folder, remove_folder);
}
