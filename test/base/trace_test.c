/*
 * The store of a trace: rows and totals, nesting, the limit, lack of memory, times on a device. That what is traced is
 * what happened, sim/trace_test.c says.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "base/dice.h"
#include "base/failing.h"

#include <stdio.h>
#include <string.h>

#define OK(call) assert_int_equal((call), STET_OK)
enum { MUCH = 1 << 26 };

static sti_trace *open_trace(bool events, int64_t limit)
{
    sti_trace *t;
    OK(sti_trace_new(events, limit, &t));
    return t;
}

static sti_trace_mark launch(sti_trace *t, const char *name, int line, int64_t blocks)
{
    return sti_trace_open(
        t, &(sti_trace_what){.kind = STET_TRACE_LAUNCH, .name = name, .file = "a.c", .line = line, .amount = blocks});
}

static void one(sti_trace *t, stet_trace_kind kind, const char *name, int64_t amount)
{
    sti_trace_mark mark = sti_trace_open(t, &(sti_trace_what){.kind = kind, .name = name, .amount = amount});
    sti_trace_close(t, mark, STET_OK);
}

static stet_trace_event event(const sti_trace *t, int64_t i)
{
    stet_trace_event e;
    assert_true(sti_trace_get(t, i, &e));
    return e;
}

static stet_profile_row row(const sti_trace *t, int64_t i)
{
    stet_profile_row r;
    assert_true(sti_trace_get_row(t, i, &r));
    return r;
}

static stet_trace_stats stats(const sti_trace *t)
{
    stet_trace_stats s;
    sti_trace_stats(t, &s);
    return s;
}

static void kinds_have_names(void **state)
{
    assert_string_equal(stet_trace_kind_name(STET_TRACE_LAUNCH), "launch");
    assert_string_equal(stet_trace_kind_unit(STET_TRACE_LAUNCH), "blocks");
    assert_string_equal(stet_trace_kind_name(STET_TRACE_FALLBACK), "fallback");
    assert_string_equal(stet_trace_kind_unit(STET_TRACE_PHASE), "");
    assert_string_equal(stet_trace_kind_name(STET_TRACE_COUNT), "unknown");
    assert_string_equal(stet_trace_kind_unit(STET_TRACE_COUNT), "");
}

static void events_nest_in_order(void **state)
{
    sti_trace *t = open_trace(true, MUCH);
    sti_trace_mark phase = sti_trace_open(t, &(sti_trace_what){.kind = STET_TRACE_PHASE, .name = "step"});
    assert_false(sti_trace_stop(t)); /* TRACE-4 */
    sti_trace_mark k = launch(t, "k_a", 7, 12);
    sti_trace_instant(t, &(sti_trace_what){.kind = STET_TRACE_MISS, .name = "args", .reason = STET_REASON_ARGS_FIRST});
    sti_trace_close(t, k, STET_ERROR_DEVICE);
    sti_trace_close(t, phase, STET_OK);
    assert_true(sti_trace_stop(t));
    assert_int_equal(stats(t).events, 3);
    stet_trace_event a = event(t, 0), b = event(t, 1), c = event(t, 2), none;
    assert_string_equal(a.name, "step");
    assert_null(a.file);
    assert_string_equal(b.name, "k_a");
    assert_string_equal(b.file, "a.c");
    assert_int_equal(b.line, 7);
    assert_int_equal(b.amount, 12);
    assert_true(b.failed && !a.failed);
    assert_int_equal(c.reason, STET_REASON_ARGS_FIRST);
    assert_int_equal(c.duration, 0);
    assert_true(0 <= a.begin && a.begin <= b.begin && b.begin <= c.begin);
    assert_true(c.begin <= b.begin + b.duration && b.begin + b.duration <= a.begin + a.duration);
    assert_true(a.begin + a.duration <= stats(t).duration);
    assert_int_equal(a.device_begin, -1);
    assert_int_equal(a.device_duration, -1);
    assert_false(sti_trace_get(t, 3, &none) || sti_trace_get(t, -1, &none));
    sti_trace_free(t);
}

/* Any sequence of begins and ends, against counts made beside it. */
static void totals_are_of_all_events(void **state)
{
    enum { NAMES = 300, EVENTS = 20000, DEPTH = 6 };
    uint64_t dice = dice_seed("trace");
    static int64_t calls[NAMES], amounts[NAMES], failed[NAMES], compared[NAMES];
    sti_trace *t = open_trace(true, MUCH);
    sti_trace_mark open[DEPTH];
    int name[DEPTH], depth = 0;
    memset(calls, 0, sizeof calls);
    for (int i = 0; i < EVENTS || depth; ++i) {
        bool ends = i >= EVENTS || depth == DEPTH || (depth && dice_below(&dice, 2));
        if (!ends) {
            char text[32];
            int k = name[depth] = (int)dice_below(&dice, NAMES);
            (void)snprintf(text, sizeof text, "k_%d", k / 2);
            open[depth++] = launch(t, text, k % 2, k); /* two rows may differ in the line alone */
            continue;
        }
        int k = name[--depth];
        bool fails = dice_below(&dice, 10) == 0, compares = dice_below(&dice, 10) == 0;
        (void)sti_trace_compare(t, compares);
        sti_trace_close(t, open[depth], fails ? STET_ERROR_DEVICE : STET_OK);
        assert_int_equal(sti_trace_compare(t, false), compares);
        calls[k]++;
        amounts[k] += k;
        failed[k] += fails;
        compared[k] += compares;
    }
    stet_profile_row r;
    int64_t all = 0, rows = 0, distinct = 0;
    for (; sti_trace_get_row(t, rows, &r); ++rows) {
        int k;
        assert_int_equal(sscanf(r.name, "k_%d", &k), 1);
        k = 2 * k + r.line;
        assert_int_equal(r.calls, calls[k]);
        assert_int_equal(r.amount, amounts[k]);
        assert_int_equal(r.failed, failed[k]);
        assert_int_equal(r.comparisons, compared[k]);
        all += r.calls;
    }
    for (int k = 0; k < NAMES; ++k) distinct += calls[k] > 0;
    assert_int_equal(rows, distinct);
    assert_int_equal(stats(t).rows, rows);
    assert_int_equal(stats(t).events, all);
    assert_int_equal(stats(t).dropped, 0);
    for (int64_t i = 1; i < all; ++i) assert_true(event(t, i - 1).begin <= event(t, i).begin);
    sti_trace_free(t);
}

static void texts_are_copied_whole(void **state)
{
    char name[400];
    sti_trace *t = open_trace(true, MUCH);
    memset(name, '"', sizeof name);
    name[sizeof name - 1] = 0;
    one(t, STET_TRACE_UPLOAD, name, 1);
    memset(name, 0x01, sizeof name - 1);
    one(t, STET_TRACE_UPLOAD, name, 1);
    one(t, STET_TRACE_UPLOAD, NULL, 1);
    one(t, STET_TRACE_DOWNLOAD, NULL, 1);
    assert_int_equal(stats(t).rows, 4);
    assert_int_equal(strlen(event(t, 0).name), sizeof name - 1);
    assert_int_equal(event(t, 0).name[398], '"');
    assert_string_equal(event(t, 1).name, name);
    assert_string_equal(event(t, 3).name, "");
    sti_trace_free(t);
}

static void the_limit_drops_and_counts(void **state)
{
    enum { EVENTS = 100000 };
    for (int64_t limit = 0; limit < 2000000; limit = 4 * limit + 20000) {
        sti_trace *t = open_trace(true, limit);
        for (int i = 0; i < EVENTS; ++i) one(t, STET_TRACE_COPY, "qpos", 3);
        stet_trace_stats s = stats(t);
        assert_int_equal(s.events + s.dropped, EVENTS);
        assert_true(s.dropped > 0);
        assert_true(s.bytes <= limit || s.events == 0);
        stet_profile_row r = row(t, 0);
        assert_int_equal(s.rows, 1);
        assert_int_equal(r.calls, EVENTS);
        assert_int_equal(r.amount, 3 * EVENTS);
        assert_string_equal(r.name, s.unnamed ? "(others)" : "qpos");
        if (s.unnamed) assert_int_equal(s.unnamed, EVENTS);
        sti_trace_free(t);
    }
}

static void totals_alone_drop_nothing(void **state)
{
    sti_trace *t = open_trace(false, MUCH);
    int64_t bytes = 0;
    for (int i = 0; i < 100000; ++i) {
        one(t, STET_TRACE_COPY, "qpos", 1);
        if (i == 0) bytes = stats(t).bytes;
    }
    assert_int_equal(stats(t).events, 0);
    assert_int_equal(stats(t).dropped, 0);
    assert_int_equal(stats(t).bytes, bytes);
    assert_int_equal(row(t, 0).calls, 100000);
    sti_trace_free(t);
}

static void device_times_come_later(void **state)
{
    sti_trace *t = open_trace(true, MUCH);
    sti_trace_mark a = launch(t, "k", 1, 2);
    sti_trace_close(t, a, STET_OK);
    sti_trace_mark b = launch(t, "k", 1, 2);
    sti_trace_close(t, b, STET_OK);
    sti_trace_device_time(b, 5000, 700);
    assert_int_equal(event(t, 0).device_duration, -1);
    assert_int_equal(event(t, 1).device_begin, 5000);
    assert_int_equal(event(t, 1).device_duration, 700);
    assert_int_equal(row(t, 0).calls, 2);
    assert_int_equal(row(t, 0).device_calls, 1);
    assert_int_equal(row(t, 0).device_duration, 700);
    sti_trace_free(t);
}

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

static char told[256];

static void tell(const char *text)
{
    size_t n = strlen(told);
    (void)snprintf(told + n, sizeof told - n, "%s", text);
}

static int push(const char *name)
{
    tell(name);
    tell("(");
    return 0;
}

static int pop(void)
{
    tell(")");
    return 0;
}

/* A phase with a copy, a miss and a launch in it. */
static void some_of_each(sti_trace *t)
{
    sti_trace_mark phase = sti_trace_open(t, &(sti_trace_what){.kind = STET_TRACE_PHASE, .name = "step"});
    one(t, STET_TRACE_UPLOAD, "qpos", 1);
    sti_trace_instant(t, &(sti_trace_what){.kind = STET_TRACE_MISS, .name = "args", .reason = STET_REASON_ARGS_FIRST});
    sti_trace_close(t, launch(t, "k_a", 1, 1), STET_ERROR_DEVICE);
    one(t, STET_TRACE_REPLAY, NULL, 1);
    sti_trace_close(t, phase, STET_OK);
}

static void ranges_nest_as_events_do(void **state)
{
    const sti_trace_ranges ranges = {push, pop};
    for (int alone = 0; alone < 2; ++alone) {
        sti_trace *t = open_trace(true, MUCH);
        told[0] = 0;
        some_of_each(t);
        assert_string_equal(told, "");
        sti_trace_show(t, &ranges, alone);
        some_of_each(t);
        assert_string_equal(told, "step(k_a()())");
        assert_int_equal(stats(t).events, alone ? 5 : 10);
        assert_int_equal(row(t, 0).calls, alone ? 1 : 2);
        assert_int_equal(stats(t).rows, 5);
        assert_false(sti_trace_is_open(t));
        sti_trace_show(t, NULL, false);
        some_of_each(t);
        assert_string_equal(told, "step(k_a()())");
        assert_int_equal(stats(t).events, alone ? 10 : 15);
        sti_trace_free(t);
    }
}

/*
 * TRACE-1, TRACE-2: whichever allocation fails, totals are of all events, none goes uncounted, and no message is set.
 */
static stet_result much_of_all(void)
{
    enum { EVENTS = 3000, NAMES = 200 };
    sti_trace *t;
    STI_TRY(sti_trace_new(true, MUCH, &t));
    (void)sti_error(STET_ERROR_IO, "the message before");
    for (int i = 0; i < EVENTS; ++i) {
        char text[32];
        (void)snprintf(text, sizeof text, "k_%d", i % NAMES);
        sti_trace_close(t, launch(t, text, 1, 1), STET_OK);
    }
    assert_string_equal(stet_get_last_error(), "the message before");
    stet_trace_stats s = stats(t);
    stet_profile_row r;
    int64_t calls = 0, others = 0, n = 0;
    for (; sti_trace_get_row(t, n, &r); ++n) {
        calls += r.calls;
        if (strcmp(r.name, "(others)") == 0) others += r.calls;
    }
    assert_int_equal(n, s.rows);
    assert_int_equal(calls, EVENTS);
    assert_int_equal(others, s.unnamed);
    assert_int_equal(s.events + s.dropped, EVENTS);
    sti_trace_free(t);
    return STET_OK;
}

static void every_allocation_may_fail(void **state) { assert_true(fail_each_allocation(much_of_all, true) > 200); }

/* From the n-th allocation on there is no memory at all. */
static void memory_may_end_for_good(void **state)
{
    for (int64_t n = 2; n < 200; n += 7) {
        failing f = {.fail_at = n, .then_all = true};
        OK(stet_set_allocator(failing_alloc, failing_free, &f));
        OK(much_of_all());
        assert_int_equal(f.held, 0);
        assert_true(f.failed);
        OK(stet_set_allocator(NULL, NULL, NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_have_names),           cmocka_unit_test(events_nest_in_order),
        cmocka_unit_test(totals_are_of_all_events),   cmocka_unit_test(texts_are_copied_whole),
        cmocka_unit_test(the_limit_drops_and_counts), cmocka_unit_test(totals_alone_drop_nothing),
        cmocka_unit_test(device_times_come_later),    cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(memory_may_end_for_good),    cmocka_unit_test(ranges_nest_as_events_do),
    };
    return cmocka_run_group_tests_name("base/trace", tests, NULL, NULL);
}
