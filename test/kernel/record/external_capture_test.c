/*
 * Streams of others: stet's work is one order whichever streams it goes to; and what it issues while a caller's stream
 * is being captured becomes a part of his graph. Run on each device (stet_test_on_devices); where there are no streams
 * the calls change nothing.
 */
#include "kernel/lists.h"

#include "kernel/caller.h"

/* ---- two streams ------------------------------------------------------------------------------------------------- */

/* Recordings whose arguments change each time, and launches by value, over two streams by turns. */
static void kf15_blocks_hold_over_two_streams(void **state)
{
    for (int off = 0; off < 2; ++off) {
        bench b;
        void *stream[2] = {NULL, NULL};
        float a0 = 0, a1 = 0, a2 = 0;
        open_bench(&b);
        set_options(b.device, off ? 1u << STET_MECHANISM_ARGS : 0, false, false);
        for (int i = 0; i < 2 && caller_can(b.device); ++i) stream[i] = caller_stream(b.device);
        for (int i = 1; i <= 40; ++i) {
            OK(stet_device_use_stream(b.device, stream[i % 2]));
            OK(add_and_mix(&b, i));
            a0 += (float)i;
            a1 = a0 / 2 + (float)i;
            OK(add(&b, b.a[2], i));
            a2 += (float)i;
            if (i % 7 == 0) OK(stet_device_use_own_stream(b.device));
            if (i % 5 == 0)
                assert_true(real_at(b.a[0], 1) == a0 && real_at(b.a[1], 1) == a1 && real_at(b.a[2], 1) == a2);
        }
        assert_int_equal(ROW(&b).hits, 38);
        OK(stet_device_use_own_stream(b.device));
        for (int i = 0; i < 2 && caller_can(b.device); ++i) caller_stream_end(b.device, stream[i]);
        close_bench(&b);
    }
}

/* ---- captures ---------------------------------------------------------------------------------------------------- */

typedef struct joint {
    bench b;
    void *stream, *executable;
    uint64_t id;
} joint;

static bool open_joint(joint *j)
{
    *j = (joint){0};
    open_bench(&j->b);
    if (!caller_can(j->b.device)) {
        close_bench(&j->b);
        return false;
    }
    j->stream = caller_stream(j->b.device);
    return true;
}

static void close_joint(joint *j)
{
    if (j->executable) caller_graph_end(j->b.device, j->executable, j->stream);
    caller_stream_end(j->b.device, j->stream);
    close_bench(&j->b);
}

/* What was launched before, so that its code is there: the list (compared, replayed), and each kernel by value. */
static void warm_up(bench *b)
{
    for (int i = 0; i < 3; ++i) OK(add_and_mix(b, 1));
    OK(b->device->ops->synchronize(b->device));
}

static void kf11_a_joined_graph_that_runs_is_announced(void **state)
{
    joint j;
    if (!open_joint(&j)) skip();
    bench *b = &j.b;
    warm_up(b); /* a0 = 3, a1 = 2.5 */
    caller_work copy = {.to = b->a[3], .from = b->a[2]};
    caller_capture(b->device, j.stream);
    assert_int_equal(stet_recording_get_last(b->device) != 0, 1); /* of the list before */
    uint64_t before = stet_recording_get_last(b->device);
    int uploads = faulty.uploads;
    OK(add_and_mix(b, 2));             /* a list that has a recording */
    OK(add(b, b->a[2], 3));            /* a launch by itself */
    OK(record_work(b->device, &copy)); /* a3 = a2, theirs */
    OK(add(b, b->a[2], 1));
    OK(sti_record_copy(b->a[4], b->a[1]));
    j.id = stet_recording_get_last(b->device);
    j.executable = caller_captured(b->device, j.stream);
    assert_true(j.id != 0 && j.id != before);
    assert_int_equal(REASON(b, JOINED), 1);
    assert_int_equal(ROW(b).fallbacks, 0);
    assert_int_equal(faulty.uploads, uploads);
    assert_true(real_at(b->a[0], 0) == 3 && real_at(b->a[2], 0) == 0); /* nothing ran, but generations moved */
    uint64_t was[ARRAYS];
    for (int k = 0; k < ARRAYS; ++k) was[k] = stet_array_get_generation(b->a[k]);
    assert_true(was[4] == 2 && was[3] == 2);
    for (int run = 1; run <= 3; ++run) {
        const void *mirror;
        OK(stet_array_get_host(b->a[0], &mirror)); /* kept, until the announcement */
        caller_launch(b->device, j.executable, j.stream);
        OK(stet_recording_mark_replayed(b->device, j.id));
        for (int k = 0; k < ARRAYS; ++k) assert_int_equal(stet_array_get_generation(b->a[k]), was[k] + (uint64_t)run);
        OK(stet_array_get_host(b->a[0], &mirror));
        assert_true(*(const float *)mirror == 3 + 2 * (float)run);
        assert_true(real_at(b->a[1], 0) == (3 + 2 * (float)run) / 2 + 2);
        assert_true(real_at(b->a[2], 0) == 4 * (float)run && real_at(b->a[3], 0) == 4 * (float)run - 1);
        assert_true(real_at(b->a[4], 0) == real_at(b->a[1], 0));
    }
    for (int i = 0; i < 3; ++i) OK(add_and_mix(b, 1)); /* stet's own recording is as good as before */
    assert_true(real_at(b->a[0], 0) == 12);
    assert_int_equal(ROW(b).hits, 1 + 3);
    close_joint(&j);
}

static void kf11_what_was_captured_goes_with_its_arrays(void **state)
{
    joint j;
    if (!open_joint(&j)) skip();
    bench *b = &j.b;
    warm_up(b);
    caller_capture(b->device, j.stream);
    OK(mix(b, b->a[0], b->a[3], 1));
    j.id = stet_recording_get_last(b->device);
    j.executable = caller_captured(b->device, j.stream);
    int had = b->device->recorder->nrecording;
    caller_capture(b->device, j.stream); /* another capture is another recording */
    OK(add(b, b->a[4], 1));
    uint64_t second = stet_recording_get_last(b->device);
    void *other = caller_captured(b->device, j.stream);
    assert_true(second != 0 && second != j.id);
    OK(stet_recording_mark_replayed(b->device, j.id));
    OK(stet_recording_mark_replayed(b->device, second));
    stet_array_destroy(b->a[0]); /* which it only reads */
    b->a[0] = new_reals(b->device);
    FAILS(stet_recording_mark_replayed(b->device, j.id), STET_ERROR_NOT_FOUND, "there is no recording");
    OK(stet_recording_mark_replayed(b->device, second));
    assert_int_equal(b->device->recorder->nrecording, had - 1); /* the list's went, too */
    caller_graph_end(b->device, other, j.stream);
    close_joint(&j);
}

static void switched_off_it_is_announced_all_the_same(void **state)
{
    joint j;
    if (!open_joint(&j)) skip();
    bench *b = &j.b;
    warm_up(b);
    set_options(b->device, 1u << STET_MECHANISM_GRAPH_REPLAY | 1u << STET_MECHANISM_ARGS, true, true);
    caller_capture(b->device, j.stream);
    OK(add_and_mix(b, 1));
    j.id = stet_recording_get_last(b->device);
    j.executable = caller_captured(b->device, j.stream);
    assert_true(j.id != 0);
    assert_int_equal(REASON(b, DISABLED), 1);
    caller_launch(b->device, j.executable, j.stream);
    OK(stet_recording_mark_replayed(b->device, j.id));
    assert_true(real_at(b->a[0], 0) == 4);
    close_joint(&j);
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/*
 * a0 += 1; c0 = trips; twice: { c1 = inner; at most 3 times while c1: { a2 += 1; a3 = a2 (theirs) } } while c0, at most
 * 4 times; a1 = a0 / 2
 */
static stet_result nested(bench *b, caller_work *copy, int trips, int inner)
{
    STI_TRY(add(b, b->a[0], 1));
    STI_TRY(set(b, b->c[0], trips));
    STI_TRY(sti_record_while(b->device, b->c[0], 4));
    STI_TRY(add(b, b->a[0], 10));
    STI_TRY(set(b, b->c[1], inner));
    STI_TRY(sti_record_while(b->device, b->c[1], 3));
    STI_TRY(add(b, b->a[2], 1));
    STI_TRY(record_work(b->device, copy));
    STI_TRY(count(b, b->c[1]));
    STI_TRY(sti_record_while_end(b->device));
    STI_TRY(count(b, b->c[0]));
    STI_TRY(sti_record_while_end(b->device));
    return mix(b, b->a[0], b->a[1], 0);
}

static stet_result play_nested(bench *b, caller_work *copy, int trips, int inner)
{
    STI_TRY(sti_record_begin(b->device, "nested loops"));
    return sti_record_end(b->device, nested(b, copy, trips, inner));
}

static int least(int a, int b) { return a < b ? a : b; }

/* A loop whose end only the device knows becomes a conditional node of the caller's graph, in its place. */
static void a_loop_joins(void **state)
{
    static const struct {
        int trips, inner;
    } cases[] = {{3, 2}, {0, 2}, {9, 9}, {1, 0}};
    joint j;
    if (!open_joint(&j)) skip();
    bench *b = &j.b;
    caller_work copy = {.to = b->a[3], .from = b->a[2]};
    OK(play_nested(b, &copy, 1, 1)); /* its code is there */
    for (int i = 0; i < 4 && device_loops(b); ++i) {
        int outer = least(cases[i].trips, 4), inner = outer * least(cases[i].inner, 3);
        float a0 = real_at(b->a[0], 0), a2 = real_at(b->a[2], 0);
        caller_capture(b->device, j.stream);
        OK(add(b, b->a[0], 100)); /* before it in the capture */
        OK(play_nested(b, &copy, cases[i].trips, cases[i].inner));
        OK(add(b, b->a[0], 1000)); /* after it */
        OK(add(b, b->a[3], 0.5));
        j.id = stet_recording_get_last(b->device);
        j.executable = caller_captured(b->device, j.stream);
        int calls = copy.calls;
        uint64_t was = stet_array_get_generation(b->a[3]);
        assert_true(real_at(b->a[0], 0) == a0 && real_at(b->a[2], 0) == a2);
        for (int run = 1; run <= 2; ++run) {
            caller_launch(b->device, j.executable, j.stream);
            OK(stet_recording_mark_replayed(b->device, j.id));
            float sum = a0 + (float)(run * (1101 + 10 * outer));
            for (int k = 0; k < N; ++k) {
                assert_true(real_at(b->a[0], k) == sum && real_at(b->a[1], k) == (sum - 1000) / 2);
                assert_true(real_at(b->a[2], k) == a2 + (float)(run * inner));
            }
            if (inner > 0) assert_true(real_at(b->a[3], 0) == a2 + (float)(run * inner) + 0.5F);
            assert_true(stet_array_get_generation(b->a[3]) > was);
            was = stet_array_get_generation(b->a[3]);
        }
        assert_int_equal(copy.calls, calls);
        caller_graph_end(b->device, j.executable, j.stream);
        j.executable = NULL;
    }
    close_joint(&j);
}

/* c0 = condition; a0 += 10, if it is not 0, though nothing ends the loop; a1 += 1 */
static stet_result choose(bench *b, int condition)
{
    STI_TRY(set(b, b->c[0], condition));
    STI_TRY(sti_record_while(b->device, b->c[0], 1));
    STI_TRY(add(b, b->a[0], 10));
    STI_TRY(sti_record_while_end(b->device));
    return add(b, b->a[1], 1);
}

static stet_result play_choice(bench *b, int condition)
{
    STI_TRY(sti_record_begin(b->device, "an if"));
    return sti_record_end(b->device, choose(b, condition));
}

/* A loop of at most one trip is an `if`: played, replayed, and as a node of the caller's graph. */
static void an_if_is_a_loop_of_one_trip(void **state)
{
    static const int conditions[] = {5, 0, 1, 0, -2, 7};
    enum { CHOICES = sizeof conditions / sizeof *conditions };
    float a0 = 0;
    joint j;
    bench plain;
    open_bench(&plain);
    for (int i = 0; i < CHOICES; ++i) {
        OK(play_choice(&plain, conditions[i]));
        a0 += conditions[i] ? 10 : 0;
        assert_true(real_at(plain.a[0], 0) == a0 && real_at(plain.a[0], N - 1) == a0);
        assert_true(real_at(plain.a[1], 0) == (float)(i + 1));
    }
    close_bench(&plain);
    if (!open_joint(&j)) return;
    bench *b = &j.b;
    OK(play_choice(b, 1)); /* its code is there */
    for (int i = 0; i < CHOICES && device_loops(b); ++i) {
        float before = real_at(b->a[0], 0), after = real_at(b->a[1], 0);
        caller_capture(b->device, j.stream);
        OK(play_choice(b, conditions[i]));
        j.id = stet_recording_get_last(b->device);
        j.executable = caller_captured(b->device, j.stream);
        for (int run = 1; run <= 2; ++run) {
            caller_launch(b->device, j.executable, j.stream);
            OK(stet_recording_mark_replayed(b->device, j.id));
            assert_true(real_at(b->a[0], 0) == before + (float)(conditions[i] ? 10 * run : 0));
            assert_true(real_at(b->a[1], 0) == after + (float)run);
        }
        caller_graph_end(b->device, j.executable, j.stream);
        j.executable = NULL;
    }
    close_joint(&j);
}

/* Where the driver has no such nodes a loop is refused, and the capture lives. */
static void a_loop_that_cannot_join_is_refused(void **state)
{
    joint j;
    if (!open_joint(&j)) skip();
    bench *b = &j.b;
    caller_work copy = {.to = b->a[3], .from = b->a[2]};
    if (device_loops(b)) {
        close_joint(&j);
        skip();
    }
    OK(play_nested(b, &copy, 1, 1));
    warm_up(b);
    float a0 = real_at(b->a[0], 0);
    caller_capture(b->device, j.stream);
    OK(add(b, b->a[0], 1));
    FAILS(play_nested(b, &copy, 2, 1), STET_ERROR_UNSUPPORTED, "loops in graphs need conditional nodes");
    OK(add(b, b->a[0], 1));
    j.executable = caller_captured(b->device, j.stream);
    caller_launch(b->device, j.executable, j.stream);
    assert_true(real_at(b->a[0], 0) == a0 + 3); /* with what was listed before the loop */
    close_joint(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kf15_blocks_hold_over_two_streams),
        cmocka_unit_test(kf11_a_joined_graph_that_runs_is_announced),
        cmocka_unit_test(kf11_what_was_captured_goes_with_its_arrays),
        cmocka_unit_test(switched_off_it_is_announced_all_the_same),
        cmocka_unit_test(a_loop_joins),
        cmocka_unit_test(an_if_is_a_loop_of_one_trip),
        cmocka_unit_test(a_loop_that_cannot_join_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
