/*
 * Rounds over null devices: what they are asked for, each of their calls that fails, one that cannot use again what is
 * there. In each case a sentence, and the next round has the bits that it should.
 */
#include "device/null/null.h"
#include "sim/rounds/rounds.h"

#include "base/failing.h"

#include <stdlib.h>

/* ---- null devices ------------------------------------------------------------------------------------------------ */

typedef struct bare {
    stet_model *model;
    stet_sim *sim;
    stet_array *array;
    float qpos[ROUND_WORLDS * 2], out[ROUND_WORLDS * 2];
    int32_t content[ROUND_WORLDS * 3], back[ROUND_WORLDS * 3];
} bare;

static bare bare_make(const stet_sim_def *def)
{
    bare b = {.model = rig_model("cartpole.xml")};
    OK(stet_sim_create(b.model, def, &b.sim));
    OK(STI_ARRAY(stet_sim_get_device(b.sim), "mine", STET_DTYPE_INT, true, &b.array, ROUND_WORLDS, 3));
    for (int i = 0; i < ROUND_WORLDS * 2; ++i) b.qpos[i] = 0.01f * (float)i;
    for (int i = 0; i < ROUND_WORLDS * 3; ++i) b.content[i] = i;
    return b;
}

static stet_sim_def bare_def(const sti_null_def *null)
{
    stet_sim_def def = stet_default_sim_def();
    def.device.type = STET_DEVICE_NULL;
    def.device.null = null;
    def.nworld = ROUND_WORLDS;
    def.physics = STET_PHYSICS_MUJOCO; /* whose state is the host's */
    return def;
}

static bare bare_open(bool no_reuse, uint32_t disabled, bool strict, int lanes)
{
    const sti_null_def null = {.lanes = lanes, .no_reuse = no_reuse, .apart = true};
    stet_sim_def def = bare_def(&null);
    def.device.mechanisms.disabled = disabled;
    def.device.mechanisms.strict = strict;
    return bare_make(&def);
}

static stet_result bare_round(bare *b)
{
    stet_round_value in[] = {stet_round_in("qpos", b->qpos, sizeof b->qpos),
                             stet_round_array(b->array, STET_DIRECTION_IN, b->content, sizeof b->content)};
    stet_round_value out[] = {stet_round_out("qpos", b->out, sizeof b->out),
                              stet_round_array(b->array, STET_DIRECTION_OUT, b->back, sizeof b->back)};
    STI_TRY(stet_sim_round_begin(b->sim, in, 2));
    STI_TRY(stet_sim_step(b->sim, 3));
    static const int32_t junk[ROUND_WORLDS * 3];
    STI_TRY(stet_array_write(b->array, junk, sizeof junk)); /* as a kernel would */
    return stet_sim_round_end(b->sim, out, 2);
}

static int64_t calls(const bare *b, sti_null_op slot) { return sti_null_calls(stet_sim_get_device(b->sim), slot); }

static void bare_close(bare *b)
{
    stet_array_destroy(b->array);
    stet_sim_destroy(b->sim);
    stet_model_destroy(b->model);
}

/* What the device is asked for: a later round uploads nothing of its own, and copies its input on the device. */
static void later_rounds_ask_the_device_for_copies_alone(void **state)
{
    for (int lanes = 1; lanes <= 8; lanes += 7) {
        bare b = bare_open(false, 0, true, lanes);
        OK(bare_round(&b));
        for (int r = 0; r < 3; ++r) {
            int64_t allocs = calls(&b, STI_NULL_OP_ALLOC), uploads = calls(&b, STI_NULL_OP_UPLOAD),
                    downloads = calls(&b, STI_NULL_OP_DOWNLOAD), copies = calls(&b, STI_NULL_OP_COPY);
            OK(bare_round(&b));
            assert_int_equal(calls(&b, STI_NULL_OP_ALLOC), allocs);
            /* The junk (its last block is not full: the rest of it stays); the output. qpos is the host's. */
            assert_int_equal(calls(&b, STI_NULL_OP_UPLOAD), uploads + 1);
            assert_int_equal(calls(&b, STI_NULL_OP_DOWNLOAD), downloads + 1 + (lanes > 1));
            assert_int_equal(calls(&b, STI_NULL_OP_COPY), copies + 1);
        }
        b.content[4] = 44; /* differs: uploaded once */
        int64_t uploads = calls(&b, STI_NULL_OP_UPLOAD);
        OK(bare_round(&b));
        assert_int_equal(calls(&b, STI_NULL_OP_UPLOAD), uploads + 2);
        bare_close(&b);
    }
}

/*
 * What was staged is on the device before the round begins, which then has a copy there to make; after two, no memory
 * is needed for it.
 */
static void staged_inputs_are_on_the_device_before_their_round(void **state)
{
    bare b = bare_open(false, 0, true, 1);
    for (int r = 0; r < 5; ++r) {
        int32_t now[ROUND_WORLDS * 3];
        stet_round_value in = stet_round_array(b.array, STET_DIRECTION_IN, b.content, sizeof b.content);
        int64_t allocs = calls(&b, STI_NULL_OP_ALLOC), uploads = calls(&b, STI_NULL_OP_UPLOAD);
        b.content[2] = 50 + r;
        OK(stet_sim_round_stage(b.sim, &in, 1));
        OK(stet_sim_round_stage(b.sim, &in, 1)); /* the same again is nothing */
        assert_int_equal(calls(&b, STI_NULL_OP_UPLOAD), uploads + 1);
        if (r > 1) assert_int_equal(calls(&b, STI_NULL_OP_ALLOC), allocs);
        int64_t copies = calls(&b, STI_NULL_OP_COPY);
        OK(stet_sim_round_begin(b.sim, &in, 1));
        assert_int_equal(calls(&b, STI_NULL_OP_UPLOAD), uploads + 1);
        assert_int_equal(calls(&b, STI_NULL_OP_COPY), copies + 1);
        OK(stet_array_read(b.array, now, sizeof now));
        assert_memory_equal(now, b.content, sizeof now);
        OK(stet_sim_round_end(b.sim, NULL, 0));
    }
    bare_close(&b);
}

/* Without reuse each round sets all up again, and says why; so does the device; strict, it does not. */
static void a_device_without_reuse_sets_up_each_round(void **state)
{
    bare b = bare_open(true, 0, false, 1), plain = bare_open(false, 0, false, 1),
         off = bare_open(false, 1u << STET_MECHANISM_ROUNDS, false, 1);
    for (int r = 0; r < 4; ++r) {
        OK(bare_round(&b));
        OK(bare_round(&plain));
        OK(bare_round(&off));
        assert_memory_equal(b.out, plain.out, sizeof b.out);
        assert_memory_equal(off.out, plain.out, sizeof b.out);
        stet_round_info info = stet_sim_get_round(b.sim);
        assert_int_equal(info.why, r ? STET_REASON_ROUNDS_NO_REUSE : STET_REASON_ROUNDS_FIRST);
        assert_int_equal(info.copied_in, 2);
        assert_int_equal(stet_sim_get_round(off.sim).why, r ? STET_REASON_ROUNDS_DISABLED : STET_REASON_ROUNDS_FIRST);
        assert_int_equal(stet_sim_get_round(off.sim).copied_in, 2);
        assert_int_equal(stet_sim_get_round(plain.sim).copied_in, r ? 0 : 2);
    }
    const char *instead = stet_device_get_instead(stet_sim_get_device(b.sim), STET_REUSE_CONTENT);
    assert_non_null(instead);
    assert_non_null(strstr(instead, "sets up everything again"));
    assert_null(stet_device_get_instead(stet_sim_get_device(plain.sim), STET_REUSE_CONTENT));
    stet_counters c = room_counters(b.sim);
    assert_int_equal(c.mechanism[STET_MECHANISM_ROUNDS].fallbacks, 3);
    assert_int_equal(c.reason[STET_REASON_ROUNDS_NO_REUSE], 3 + 3 * 2); /* the set-ups, and what they copied in */
    bare_close(&b);
    bare_close(&plain);
    bare_close(&off);
    b = bare_open(true, 0, true, 1);
    OK(bare_round(&b));
    REFUSED(STET_ERROR_STRICT, "cannot reuse what a round set up", bare_round(&b));
    bare_close(&b);
}

/*
 * Each call of the device fails in turn, in the first round and in later ones: told, named, and the next round is
 * right.
 */
static void any_call_of_the_device_may_fail(void **state)
{
    bare good = bare_open(false, 0, false, 1);
    OK(bare_round(&good));
    int failed = 0;
    for (int before = 0; before < 2; ++before)
        for (int64_t at = 1;; ++at) {
            bare b = bare_open(false, 0, false, 1);
            if (before) OK(bare_round(&b));
            b.content[1] = 9; /* has to be copied in */
            good.content[1] = 9;
            OK(sti_null_fail(stet_sim_get_device(b.sim), STI_NULL_OP_ANY, at));
            stet_result result = bare_round(&b);
            OK(sti_null_fail(stet_sim_get_device(b.sim), STI_NULL_OP_ANY, 0));
            if (result != STET_OK) assert_int_equal(result, STET_ERROR_DEVICE);
            failed += result != STET_OK;
            OK(bare_round(&b));
            OK(bare_round(&good));
            assert_memory_equal(b.out, good.out, sizeof b.out);
            int32_t now[ROUND_WORLDS * 3];
            OK(stet_sim_round_begin(
                b.sim,
                &(stet_round_value){
                    .array = b.array, .direction = STET_DIRECTION_IN, .data = b.content, .size = sizeof b.content},
                1));
            OK(stet_array_read(b.array, now, sizeof now));
            assert_memory_equal(now, b.content, sizeof now);
            bare_close(&b);
            if (result == STET_OK) break;
        }
    assert_true(failed > 4);
    bare_close(&good);
}

/* Each allocation of three rounds in which all state is the device's: the next round is right, and nothing is left. */
static void lack_of_memory_ends_a_round_and_no_other(void **state)
{
    const sti_null_def null = {.lanes = 1, .apart = true};
    stet_sim_def def = bare_def(&null);
    failing f = {.failed = true};
    def.physics = STET_PHYSICS_EXTERNAL;
    for (int64_t n = 1; f.failed; ++n) {
        f = (failing){0};
        OK(stet_set_allocator(failing_alloc, failing_free, &f));
        bare b = bare_make(&def);
        f.fail_at = f.calls + n;
        stet_result result = STET_OK;
        for (int r = 0; r < 4 && result == STET_OK; ++r) result = bare_round(&b);
        assert_int_equal(result, f.failed && result != STET_OK ? STET_ERROR_OUT_OF_MEMORY : STET_OK);
        f.fail_at = 0;
        for (int r = 0; r < 3; ++r) {
            OK(bare_round(&b));
            assert_memory_equal(b.out, b.qpos, sizeof b.out); /* external physics leaves it */
        }
        bare_close(&b);
        assert_int_equal(f.held, 0);
        OK(stet_set_allocator(NULL, NULL, NULL));
        if (!f.failed) print_message("%lld allocations failed, one at a time\n", (long long)n - 1);
    }
}

/* One copy fails, the others are made, and all that failed are named. */
static void one_copy_that_fails_does_not_stop_the_others(void **state)
{
    bare b = bare_open(false, 0, false, 1);
    stet_array *second;
    int32_t a[ROUND_WORLDS] = {5, 4, 3, 2, 1}, back[ROUND_WORLDS] = {0};
    OK(STI_ARRAY(stet_sim_get_device(b.sim), "second", STET_DTYPE_INT, true, &second, ROUND_WORLDS, 1));
    stet_round_value in[] = {stet_round_array(b.array, STET_DIRECTION_IN, b.content, sizeof b.content),
                             stet_round_array(second, STET_DIRECTION_INOUT, a, sizeof a)};
    OK(sti_null_fail(stet_sim_get_device(b.sim), STI_NULL_OP_UPLOAD, 1));
    REFUSED(STET_ERROR_DEVICE, "1 inputs could not be copied (mine), the others were",
            stet_sim_round_begin(b.sim, in, 2));
    assert_int_equal(in[0].result, STET_ERROR_DEVICE);
    assert_int_equal(in[1].result, STET_OK);
    OK(stet_array_read(second, back, sizeof back));
    assert_memory_equal(back, a, sizeof a);
    assert_false(stet_sim_get_round(b.sim).open);
    OK(stet_sim_round_begin(b.sim, in, 2));
    assert_int_equal(stet_sim_get_round(b.sim).why, STET_REASON_ROUNDS_FAILED);
    stet_round_value out[] = {stet_round_array(b.array, STET_DIRECTION_OUT, b.back, sizeof b.back),
                              stet_round_array(second, STET_DIRECTION_OUT, back, sizeof back)};
    memset(back, 0, sizeof back);
    OK(sti_null_fail(stet_sim_get_device(b.sim), STI_NULL_OP_DOWNLOAD, 1));
    REFUSED(STET_ERROR_DEVICE, "1 outputs could not be copied (mine), the others were",
            stet_sim_round_end(b.sim, out, 2));
    assert_int_equal(out[0].result, STET_ERROR_DEVICE);
    assert_memory_equal(back, a, sizeof a);
    stet_array_destroy(second);
    bare_close(&b);
}

/*
 * What is put back is one list: where it fails, the inputs in it are named, and no others. A recording that fails goes
 * on copy by copy.
 */
static void what_is_put_back_fails_as_one(void **state)
{
    bare b = bare_open(false, 0, false, 1);
    stet_array *second, *third;
    int32_t a[ROUND_WORLDS] = {5, 4, 3, 2, 1}, back[ROUND_WORLDS];
    OK(STI_ARRAY(stet_sim_get_device(b.sim), "second", STET_DTYPE_INT, true, &second, ROUND_WORLDS, 1));
    OK(STI_ARRAY(stet_sim_get_device(b.sim), "third", STET_DTYPE_INT, true, &third, ROUND_WORLDS, 1));
    stet_round_value in[] = {stet_round_array(b.array, STET_DIRECTION_IN, b.content, sizeof b.content),
                             stet_round_array(third, STET_DIRECTION_IN, a, sizeof a),
                             stet_round_array(second, STET_DIRECTION_IN, a, sizeof a)};
    for (int r = 0; r < 6; ++r) {
        if (r == 1 || r == 5) OK(sti_null_fail(stet_sim_get_device(b.sim), STI_NULL_OP_COPY, 1));
        if (r == 1) {
            REFUSED(STET_ERROR_DEVICE, "2 inputs could not be copied (mine, second), the others were",
                    stet_sim_round_begin(b.sim, in, 3));
            assert_int_equal(in[0].result, STET_ERROR_DEVICE);
            assert_int_equal(in[1].result, STET_OK);
            assert_int_equal(in[2].result, STET_ERROR_DEVICE);
        }
        OK(stet_sim_round_begin(b.sim, in, 3));
        stet_reason why = r == 0 ? STET_REASON_ROUNDS_FIRST : STET_REASON_NONE;
        assert_int_equal(stet_sim_get_round(b.sim).why, r == 1 ? STET_REASON_ROUNDS_FAILED : why);
        assert_int_equal(room_counters(b.sim).reason[STET_REASON_GRAPH_REPLAY_FAILED], r == 5);
        OK(stet_array_read(second, back, sizeof back));
        assert_memory_equal(back, a, sizeof a);
        OK(stet_array_write(b.array, b.back, sizeof b.back)); /* as kernels would; the third stays as it is */
        OK(stet_array_write(second, (int32_t[ROUND_WORLDS]){0}, sizeof a));
    }
    stet_array_destroy(second);
    stet_array_destroy(third);
    bare_close(&b);
}

/*
 * Small arrays are a recording from the second time on; large ones never are: it would be compared, with as much memory
 * of the host's.
 */
static void large_arrays_are_put_back_one_by_one(void **state)
{
    enum { LARGE = 33 << 20 };
    char *content = calloc(1, LARGE);
    assert_non_null(content);
    for (int large = 0; large < 2; ++large) {
        bare b = bare_open(false, 0, false, 1);
        stet_array *two[2];
        size_t size = large ? LARGE : 64;
        stet_round_value in[2];
        for (int k = 0; k < 2; ++k) {
            OK(STI_ARRAY(stet_sim_get_device(b.sim), "some", STET_DTYPE_U8, false, &two[k], (int64_t)size));
            in[k] = stet_round_array(two[k], STET_DIRECTION_IN, content, size);
        }
        for (int r = 0; r < 5; ++r) {
            OK(stet_sim_round_begin(b.sim, in, 2));
            for (int k = 0; k < 2; ++k) stet_array_mark_written(two[k]);
        }
        stet_counter replay = room_counters(b.sim).mechanism[STET_MECHANISM_GRAPH_REPLAY];
        assert_int_equal(replay.misses, large ? 0 : 2); /* listed, compared */
        assert_int_equal(replay.hits, large ? 0 : 2);
        stet_array_destroy(two[0]);
        stet_array_destroy(two[1]);
        bare_close(&b);
    }
    free(content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(later_rounds_ask_the_device_for_copies_alone),
        cmocka_unit_test(staged_inputs_are_on_the_device_before_their_round),
        cmocka_unit_test(a_device_without_reuse_sets_up_each_round),
        cmocka_unit_test(any_call_of_the_device_may_fail),
        cmocka_unit_test(lack_of_memory_ends_a_round_and_no_other),
        cmocka_unit_test(one_copy_that_fails_does_not_stop_the_others),
        cmocka_unit_test(what_is_put_back_fails_as_one),
        cmocka_unit_test(large_arrays_are_put_back_one_by_one),
    };
    return cmocka_run_group_tests(tests, make_own_folder, remove_folder);
}
