/*
 * What goes wrong in rounds: what is refused, worlds that all become NaN, rounds that are left, the n-th allocation,
 * arrays that go. In each case a sentence, and the next round has the bits that it should. Devices that fail are
 * round_null_test.c's.
 */
#include "sim/rounds/rounds.h"

#include "base/failing.h"

#include <math.h>

static const room_def mujoco = {.nworld = ROUND_WORLDS, .threads = 1, .outputs = BIT(DEPTH)};

/* ---- refused ----------------------------------------------------------------------------------------------------- */

static void refused_in_a_sentence(void **state)
{
    stet_sim *sim = room_open("cartpole.xml", &mujoco), *other = room_open("cartpole.xml", &mujoco);
    stet_array *far, *near;
    float x[ROUND_WORLDS * 3] = {0};
    double g[3] = {0, 0, -9.81};
    OK(STI_ARRAY(stet_sim_get_device(other), "far", STET_DTYPE_INT, true, &far, ROUND_WORLDS, 1));
    OK(STI_ARRAY(stet_sim_get_device(sim), "near", STET_DTYPE_INT, true, &near, ROUND_WORLDS, 1));
    REFUSED(STET_ERROR_STATE, "no round was begun", stet_sim_round_end(sim, NULL, 0));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "sim must not be NULL", stet_sim_round_begin(NULL, NULL, 0));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "no list of them", stet_sim_round_begin(sim, NULL, 2));
    struct {
        stet_round_value value;
        stet_result result;
        const char *words;
    } bad[] = {
        {stet_round_in("speed", x, 40), STET_ERROR_NOT_FOUND, "no value 'speed'; the worlds' fields are qpos"},
        {stet_round_in("qpos", x, 36), STET_ERROR_INVALID_ARGUMENT, "36 bytes given for qpos, which has 40"},
        {stet_round_in("qpos", NULL, 40), STET_ERROR_INVALID_ARGUMENT, "the data of qpos is NULL"},
        {stet_round_in("sensordata", x, 80), STET_ERROR_INVALID_ARGUMENT, "made by the physics"},
        {stet_round_in("gravity", g, 20), STET_ERROR_INVALID_ARGUMENT, "20 bytes given for parameter gravity"},
        {stet_round_in("gravity", g, 16), STET_ERROR_INVALID_ARGUMENT, "2 numbers; give 3"},
        {stet_round_in("friction", (double[]){-1}, 8), STET_ERROR_INVALID_ARGUMENT, "finite numbers of 0 or more"},
        {stet_round_in("gravity", (double[]){0, NAN, 0}, 24), STET_ERROR_INVALID_ARGUMENT, "number 1 is nan"},
        {stet_round_in("controls", x, 20), STET_ERROR_INVALID_ARGUMENT, "controls of 0 frames"},
        {stet_round_array(far, STET_DIRECTION_IN, x, 20), STET_ERROR_INVALID_ARGUMENT, "lives on another device"},
        {stet_round_array(near, (stet_direction)4, x, 20), STET_ERROR_INVALID_ARGUMENT, "direction 4"},
        {stet_round_array(NULL, STET_DIRECTION_IN, x, 20), STET_ERROR_INVALID_ARGUMENT, "neither a name nor an array"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) {
        stet_round_value both[] = {stet_round_in("qpos", x, 40), bad[k].value};
        if (k > 0 && k < 3) both[0] = stet_round_in("qvel", x, 40);
        x[0] = 9; /* what stands before a value that is refused is not copied in either */
        REFUSED(bad[k].result, bad[k].words, stet_sim_round_begin(sim, both, 2));
        REFUSED(bad[k].result, bad[k].words, stet_sim_round_stage(sim, both, 2));
        assert_true(room_field(sim, "qpos", 0, 0) == 0);
        assert_int_equal(stet_sim_get_round(sim).round, 0);
    }
    stet_round_value twice[] = {stet_round_in("qpos", x, 40), stet_round_in("qpos", x, 40)};
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "an input twice", stet_sim_round_begin(sim, twice, 2));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "an input twice", stet_sim_round_stage(sim, twice, 2));
    stet_round_value nowhere = stet_round_array(near, (stet_direction)0, x, 20);
    OK(stet_sim_round_begin(sim, NULL, 0));
    assert_int_equal(stet_sim_get_round(sim).staged, 0);
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "near has direction 0", stet_sim_round_end(sim, &nowhere, 1));
    assert_true(stet_sim_get_round(sim).open);
    stet_round_value controls = stet_round_in("controls", x, 24);
    controls.frames = 2;
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "[frames][1] has 8, and [frames][5 worlds][1] has 40",
            stet_sim_round_begin(sim, &controls, 1));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "cannot be stated", stet_sim_round_contract(sim, near, STET_CONTRACT_COPY_IN));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "another device", stet_sim_round_contract(sim, far, STET_CONTRACT_ZERO));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "a field of the worlds",
            stet_sim_round_contract(sim, sim->worlds->state.field[STI_FIELD_ctrl], STET_CONTRACT_ZERO));
    stet_array_destroy(far);
    stet_array_destroy(near);
    stet_sim_destroy(sim);
    stet_sim_destroy(other);
}

/* ---- rounds that fail -------------------------------------------------------------------------------------------- */

/* All worlds NaN: the round says so and gives its outputs; the next one is as if it had never been. */
static void worlds_that_all_become_nan_end_their_round_alone(void **state)
{
    uint64_t want = round_alone(&mujoco, 1, WITH_ALL, true);
    task t = task_open(&mujoco);
    round_contracts(&t);
    float bad[ROUND_WORLDS * 2], out[ROUND_WORLDS * 2];
    for (int i = 0; i < ROUND_WORLDS * 2; ++i) bad[i] = NAN;
    for (int some = 0; some < 2; ++some) {
        stet_round_value in = stet_round_in("qpos", bad, sizeof bad), end = stet_round_out("qpos", out, sizeof out);
        if (some) bad[0] = bad[1] = 0;
        OK(stet_sim_set_reset(t.p.sim, NULL, NULL)); /* it would put them back, and forgive them */
        OK(stet_sim_round_begin(t.p.sim, &in, 1));
        OK(stet_sim_step(t.p.sim, 2));
        out[5] = 77;
        if (some)
            OK(stet_sim_round_end(t.p.sim, &end, 1));
        else
            REFUSED(STET_ERROR_STATE, "all 5 worlds became NaN", stet_sim_round_end(t.p.sim, &end, 1));
        assert_true(out[5] != 77);
        assert_int_equal(stet_sim_get_round(t.p.sim).faulty, ROUND_WORLDS - some);
        stet_reset_def reset = stet_default_reset_def();
        reset.qpos_noise = 0.1;
        OK(stet_sim_set_reset(t.p.sim, t.done, &reset));
        assert_true(round_play(&t, 1, WITH_ALL, true) == want);
    }
    task_close(&t);
}

/* Begun and not ended, in the middle of a step's failure: the next round begins all the same. */
static void a_round_that_is_left_in_the_middle_is_over(void **state)
{
    uint64_t want = round_alone(&mujoco, 3, WITH_QPOS, true);
    task t = task_open(&mujoco);
    round_contracts(&t);
    for (int r = 0; r < 3; ++r) {
        round_in in;
        round_fill(&in, &t, 1, WITH_ALL);
        OK(stet_sim_round_begin(t.p.sim, in.value, in.n));
        OK(stet_sim_step(t.p.sim, 1));
        REFUSED(STET_ERROR_INVALID_ARGUMENT, "-1 time steps", stet_sim_step(t.p.sim, -1));
        assert_true(round_play(&t, 3, WITH_QPOS, true) == want);
    }
    task_close(&t);
}

/* An input's array that goes takes what was said of it along; another at its address is another. */
static void an_array_that_goes_takes_its_input_along(void **state)
{
    stet_sim *sim = room_open("cartpole.xml", &mujoco);
    int32_t content[ROUND_WORLDS] = {1, 2, 3, 4, 5}, now[ROUND_WORLDS];
    for (int r = 0; r < 4; ++r) {
        stet_array *a;
        OK(STI_ARRAY(stet_sim_get_device(sim), "mine", STET_DTYPE_INT, true, &a, ROUND_WORLDS, 1));
        stet_round_value in = stet_round_array(a, STET_DIRECTION_IN, content, sizeof content);
        OK(stet_sim_round_begin(sim, &in, 1));
        assert_int_equal(stet_sim_get_round(sim).copied_in, 1);
        OK(stet_array_read(a, now, sizeof now));
        assert_memory_equal(now, content, sizeof now);
        stet_array_destroy(a);
        OK(stet_sim_round_end(sim, NULL, 0));
    }
    stet_sim_destroy(sim);
}

/* ---- the n-th allocation ----------------------------------------------------------------------------------------- */

static stet_result three_rounds(task *t, const round_in *in)
{
    static const int turn[] = {0, 1, 0};
    for (int r = 0; r < 3; ++r) {
        round_in copy = in[turn[r]];
        STI_TRY(stet_sim_round_begin(t->p.sim, copy.value, copy.n));
        STI_TRY(stet_sim_step(t->p.sim, 1));
        STI_TRY(stet_sim_round_end(t->p.sim, copy.value, copy.n));
    }
    return STET_OK;
}

static void lack_of_memory_ends_a_round_and_no_other(void **state)
{
    uint64_t want = round_alone(&mujoco, 1, WITH_ALL, false);
    failing f = {.failed = true};
    for (int64_t n = 1; f.failed; ++n) {
        f = (failing){0};
        OK(stet_set_allocator(failing_alloc, failing_free, &f));
        task t = task_open(&mujoco);
        round_in in[2];
        round_contracts(&t);
        for (uint64_t s = 0; s < 2; ++s) round_fill(&in[s], &t, s, WITH_ALL);
        f.fail_at = f.calls + n;
        stet_result result = three_rounds(&t, in);
        if (result != STET_OK) assert_int_equal(result, STET_ERROR_OUT_OF_MEMORY);
        if (!f.failed) assert_int_equal(result, STET_OK);
        f.fail_at = 0;
        uint64_t got = round_play(&t, 1, WITH_ALL, false);
        if (got != want) fail_msg("after allocation %lld failed", (long long)n);
        task_close(&t);
        assert_int_equal(f.held, 0);
        OK(stet_set_allocator(NULL, NULL, NULL));
        if (!f.failed) print_message("%lld allocations failed, one at a time\n", (long long)n - 1);
    }
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static void each_resource_has_a_contract(void **state)
{
    int of[STET_CONTRACT_COUNT] = {0};
    for (int k = 0; k < STET_ROUND_RESOURCE_COUNT; ++k) {
        assert_string_not_equal(stet_round_resource_name((stet_round_resource)k), "unknown");
        of[stet_round_resource_contract((stet_round_resource)k)]++;
    }
    for (int c = 0; c < STET_CONTRACT_COUNT; ++c) {
        assert_true(of[c] > 0);
        assert_string_not_equal(stet_contract_name((stet_contract)c), "unknown");
    }
    assert_string_equal(stet_contract_name(STET_CONTRACT_COPY_IN), "copy_in");
    assert_string_equal(stet_round_resource_name(STET_ROUND_RESOURCE_STATE), "state");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_in_a_sentence),
        cmocka_unit_test(worlds_that_all_become_nan_end_their_round_alone),
        cmocka_unit_test(a_round_that_is_left_in_the_middle_is_over),
        cmocka_unit_test(an_array_that_goes_takes_its_input_along),
        cmocka_unit_test(lack_of_memory_ends_a_round_and_no_other),
        cmocka_unit_test(each_resource_has_a_contract),
    };
    return cmocka_run_group_tests(tests, make_own_folder, remove_folder);
}
