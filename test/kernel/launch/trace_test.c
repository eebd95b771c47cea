/*
 * What a trace says of lists of launches: comparisons, replays with loops, a replay that fails half-way, copies.
 */
#include "kernel/lists.h"

#include "stet/trace.h"

#include <stdlib.h>

typedef struct seen {
    int calls[STET_TRACE_COUNT], compared[STET_TRACE_COUNT], failed[STET_TRACE_COUNT];
    int64_t amount[STET_TRACE_COUNT];
} seen;

static void begin(stet_device *device)
{
    stet_trace_def def = stet_default_trace_def();
    OK(stet_trace_begin(device, &def));
}

static seen look(const stet_device *device)
{
    seen s = {0};
    stet_trace_event e;
    for (int64_t i = 0; stet_trace_get_event(device, i, &e); ++i) {
        s.calls[e.kind]++;
        s.compared[e.kind] += e.comparison;
        s.failed[e.kind] += e.failed;
        s.amount[e.kind] += e.amount;
    }
    return s;
}

static stet_trace_event first_of(const stet_device *device, stet_trace_kind kind)
{
    stet_trace_event e;
    for (int64_t i = 0; stet_trace_get_event(device, i, &e); ++i)
        if (e.kind == kind) return e;
    fail_msg("there is no %s", stet_trace_kind_name(kind));
    return e;
}

static void comparisons_are_told_from_work(void **state)
{
    bench b;
    open_bench(&b);
    begin(b.device);
    for (int i = 0; i < 5; ++i) OK(add_and_mix(&b, 1));
    seen s = look(b.device);
    assert_int_equal(s.calls[STET_TRACE_LAUNCH], faulty.launches);
    assert_int_equal(s.calls[STET_TRACE_LAUNCH] - s.compared[STET_TRACE_LAUNCH], counters_of(b.device).launches);
    assert_int_equal(s.compared[STET_TRACE_LAUNCH], 2);
    assert_int_equal(s.calls[STET_TRACE_UPLOAD], faulty.uploads);
    assert_int_equal(s.calls[STET_TRACE_DOWNLOAD], faulty.downloads);
    assert_int_equal(s.compared[STET_TRACE_DOWNLOAD], faulty.downloads); /* nobody else read */
    assert_int_equal(s.calls[STET_TRACE_REPLAY] - s.compared[STET_TRACE_REPLAY], ROW(&b).hits);
    assert_int_equal(s.compared[STET_TRACE_REPLAY], 1);
    assert_int_equal(s.amount[STET_TRACE_REPLAY], 4 * 2);
    assert_string_equal(first_of(b.device, STET_TRACE_REPLAY).name, "add and mix");
    assert_int_equal(first_of(b.device, STET_TRACE_REPLAY).id, sti_record_last(b.device));
    set_options(b.device, 0, false, true); /* a hit that is done again, and compared */
    OK(add_and_mix(&b, 1));
    assert_int_equal(look(b.device).compared[STET_TRACE_REPLAY], 2);
    assert_int_equal(look(b.device).calls[STET_TRACE_REPLAY], 5);
    close_bench(&b);
}

/* c[0] = n; while (c[0]) count(c) */
static stet_result count_down(bench *b, int n)
{
    STI_TRY(sti_record_begin(b->device, "count down"));
    stet_result result = set(b, b->c[0], n);
    if (result == STET_OK) result = sti_record_while(b->device, b->c[0], 100);
    if (result == STET_OK) result = count(b, b->c[0]);
    if (result == STET_OK) result = sti_record_while_end(b->device);
    return sti_record_end(b->device, result);
}

static void a_loop_is_all_of_its_launches(void **state)
{
    bench b;
    open_bench(&b);
    for (int i = 0; i < 2; ++i) OK(count_down(&b, 4));
    stet_device_clear_counters(b.device);
    begin(b.device);
    OK(count_down(&b, 7));
    seen s = look(b.device);
    assert_int_equal(s.calls[STET_TRACE_REPLAY], 1);
    assert_int_equal(s.amount[STET_TRACE_REPLAY], 1 + 7);
    assert_int_equal(s.calls[STET_TRACE_LAUNCH], 1 + 7);
    assert_int_equal(counters_of(b.device).launches, 1 + 7);
    assert_int_equal(s.calls[STET_TRACE_DOWNLOAD], 8); /* the condition, before each trip and after the last */
    assert_string_equal(first_of(b.device, STET_TRACE_DOWNLOAD).name, "c");
    close_bench(&b);
}

static void a_replay_that_fails_is_said(void **state)
{
    bench b;
    open_bench(&b);
    for (int i = 0; i < 3; ++i) OK(add_and_mix(&b, 1));
    stet_device_clear_counters(b.device);
    begin(b.device);
    faulty.fail_launch = 2;
    OK(add_and_mix(&b, 1));
    seen s = look(b.device);
    assert_int_equal(s.failed[STET_TRACE_REPLAY], 1);
    assert_int_equal(s.failed[STET_TRACE_LAUNCH], 1);
    assert_int_equal(s.calls[STET_TRACE_LAUNCH] - s.failed[STET_TRACE_LAUNCH], counters_of(b.device).launches);
    stet_trace_event e = first_of(b.device, STET_TRACE_FALLBACK);
    assert_int_equal(e.reason, STET_REASON_GRAPH_REPLAY_FAILED);
    assert_string_equal(e.name, "add and mix");
    OK(stet_trace_end(b.device)); /* nothing was left open */
    close_bench(&b);
}

static void copies_bear_the_array_that_is_written(void **state)
{
    bench b;
    open_bench(&b);
    begin(b.device);
    OK(sti_record_copy(b.a[0], b.a[1]));
    for (int i = 0; i < 3; ++i) {
        OK(sti_record_begin(b.device, "copies"));
        OK(sti_record_copy(b.a[2], b.a[0]));
        OK(sti_record_copy(b.a[3], b.a[2]));
        OK(sti_record_end(b.device, STET_OK));
    }
    seen s = look(b.device);
    assert_int_equal(s.calls[STET_TRACE_COPY] - s.compared[STET_TRACE_COPY], 1 + 3 * 2);
    assert_int_equal(s.calls[STET_TRACE_COPY], faulty.copies);
    assert_int_equal(s.amount[STET_TRACE_COPY], (int64_t)b.a[0]->size * faulty.copies);
    close_bench(&b);
}

static void run_nothing(const sti_slot *s, int64_t begin, int64_t end)
{
    (void)s;
    (void)begin;
    (void)end;
}

/* Texts are the trace's own: a kernel and an array that are gone keep their names. */
static void names_outlive_their_owners(void **state)
{
    bench b;
    open_bench(&b);
    begin(b.device);
    test_kernel *gone = malloc(sizeof *gone);
    assert_non_null(gone);
    make_kernel(gone, "item_kernel void k_gone(ureal *a, ureal h)", run_nothing);
    OK(STI_LAUNCH(gone->kernel, b.device, N, sti_arg_array(b.a[0]), sti_arg_real(1)));
    memset(gone, 'x', sizeof *gone);
    free(gone);
    assert_string_equal(first_of(b.device, STET_TRACE_LAUNCH).name, "k_gone");
    assert_int_equal(first_of(b.device, STET_TRACE_LAUNCH).amount, N);
    close_bench(&b);
}

/* The end inside of something that is traced: refused, and what is open closes as ever. */
static stet_device *traced;
static stet_result ended;
static void run_end(const sti_slot *s, int64_t begin, int64_t end)
{
    (void)s;
    (void)begin;
    (void)end;
    ended = stet_trace_end(traced);
}

static void no_end_in_the_middle(void **state)
{
    bench b;
    test_kernel k;
    open_bench(&b);
    begin(b.device);
    traced = b.device;
    make_kernel(&k, "item_kernel void k_end(ureal *a)", run_end);
    OK(STI_LAUNCH(k.kernel, b.device, 1, sti_arg_array(b.a[0])));
    assert_int_equal(ended, STET_ERROR_STATE);
    assert_non_null(strstr(stet_get_last_error(), "in the middle"));
    assert_true(stet_trace_is_on(b.device));
    OK(stet_trace_end(b.device));
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparisons_are_told_from_work), cmocka_unit_test(a_loop_is_all_of_its_launches),
        cmocka_unit_test(a_replay_that_fails_is_said),    cmocka_unit_test(copies_bear_the_array_that_is_written),
        cmocka_unit_test(names_outlive_their_owners),     cmocka_unit_test(no_end_in_the_middle),
    };
    return cmocka_run_group_tests_name("kernel/trace", tests, NULL, NULL);
}
