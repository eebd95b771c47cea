/*
 * Times of work on a GPU, over the driver doubles, through both tables: the moments of a device, and the times that a
 * trace makes of them. The double's clock counts its calls: what can be said is what comes after what.
 */
#include "device/gpu/gpu_rig.h"

#include "device/trace.h"

enum { BLOCK = 4096 };

/* ---- moments ----------------------------------------------------------------------------------------------------- */

static int64_t moment(stet_device *device)
{
    int64_t id;
    OK(device->ops->moment(device, &id));
    return id;
}

static int64_t between(stet_device *device, int64_t from, int64_t to)
{
    int64_t ns;
    OK(device->ops->between(device, from, to, &ns));
    return ns;
}

static void work_takes_time_between_moments(void **state)
{
    enum { N = 200 };
    stet_device *device = open_gpu();
    char *a = take(device, BLOCK), *b = take(device, BLOCK);
    for (int64_t i = 0; i < N; ++i) {
        assert_int_equal(moment(device), i);
        OK(device->ops->copy(device, a, b, BLOCK));
    }
    for (int64_t i = 1; i < N; ++i) {
        assert_true(between(device, i - 1, i) > 0);
        assert_true(between(device, 0, i) > between(device, 0, i - 1));
    }
    assert_int_equal(between(device, 3, 3), 0);
    assert_int_equal(between(device, 7, 2), -between(device, 2, 7));
    device->ops->free(device, a);
    device->ops->free(device, b);
    close_gpu(device);
}

static void events_are_used_again(void **state)
{
    stet_device *device = open_gpu();
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 300; ++i) assert_int_equal(moment(device), i);
        assert_true(between(device, 0, 299) >= 0);
        OK(device->ops->moment(device, NULL));
    }
    assert_int_equal(o.control->calls("event_create"), 300);
    close_gpu(device);
}

static void numbers_that_are_none(void **state)
{
    stet_device *device = open_gpu();
    int64_t ns = 5;
    FAILS(device->ops->between(device, 0, 0, &ns), STET_ERROR_INVALID_ARGUMENT, "no moments");
    assert_int_equal(ns, 0);
    int64_t id = moment(device);
    FAILS(device->ops->between(device, id, id + 1, &ns), STET_ERROR_INVALID_ARGUMENT, "1 are kept");
    FAILS(device->ops->between(device, -1, id, &ns), STET_ERROR_INVALID_ARGUMENT, "no moments");
    OK(device->ops->moment(device, NULL));
    FAILS(device->ops->between(device, id, id, &ns), STET_ERROR_INVALID_ARGUMENT, "0 are kept");
    gpu_of(device)->clock.used = STI_GPU_MOMENTS; /* CLOCK-2 */
    FAILS(device->ops->moment(device, &id), STET_ERROR_LIMIT, "drop them");
    assert_int_equal(id, -1);
    OK(device->ops->moment(device, NULL));
    close_gpu(device);
}

/* One that could not be made or noted has no number, and the next one has it. */
static void a_moment_that_fails_is_none(void **state)
{
    static const char *const calls[] = {"event_create", "event_record"};
    stet_device *device = open_gpu();
    int64_t id, ns;
    for (int k = 0; k < 2; ++k) {
        assert_int_equal(moment(device), k);
        o.control->fail_call(calls[k], 1, STI_GPU_OUT_OF_MEMORY, false);
        FAILS(device->ops->moment(device, &id), STET_ERROR_OUT_OF_MEMORY, calls[k]);
        assert_int_equal(id, -1);
    }
    assert_int_equal(moment(device), 2);
    assert_true(between(device, 0, 2) >= 0);
    o.control->fail_call("event_elapsed", 1, STI_GPU_NOT_SUPPORTED, false);
    FAILS(device->ops->between(device, 0, 2, &ns), STET_ERROR_UNSUPPORTED, "event_elapsed");
    close_gpu(device);
}

/* ---- a trace's times --------------------------------------------------------------------------------------------- */

static void begin_trace(stet_device *device)
{
    stet_trace_def def = stet_default_trace_def();
    OK(stet_trace_begin(device, &def));
}

static stet_trace_event event(const stet_device *device, int64_t i)
{
    stet_trace_event e;
    assert_true(stet_trace_get_event(device, i, &e));
    return e;
}

static int64_t count(const stet_device *device)
{
    stet_trace_stats stats = stet_trace_get_stats(device);
    return stats.events;
}

/* Two blocks and something that goes between them and the host. */
typedef struct work {
    stet_device *device;
    char *a, *b;
    char host[BLOCK];
} work;

static work open_work(void)
{
    work w = {.device = open_gpu()};
    w.a = take(w.device, BLOCK);
    w.b = take(w.device, BLOCK);
    return w;
}

static void close_work(work *w)
{
    w->device->ops->free(w->device, w->a);
    w->device->ops->free(w->device, w->b);
    close_gpu(w->device);
}

static void copy_about(work *w)
{
    OK(sti_device_upload(w->device, w->a, w->host, BLOCK));
    OK(sti_device_copy(w->device, w->b, w->a, BLOCK));
    OK(sti_device_download(w->device, w->host, w->b, BLOCK));
}

static void copies_have_times_of_their_own(void **state)
{
    work w = open_work();
    begin_trace(w.device);
    for (int i = 0; i < 20; ++i) copy_about(&w);
    assert_int_equal(event(w.device, 0).device_duration, -1); /* not known yet */
    OK(stet_trace_end(w.device));
    int64_t end = 0, total = 0, turns = 0;
    stet_trace_stats stats;
    assert_int_equal(count(w.device), 60);
    for (int64_t i = 0; i < 60; ++i) {
        stet_trace_event e = event(w.device, i);
        assert_true(e.device_duration >= 0);
        turns += e.device_begin < end;
        end = e.device_begin + e.device_duration;
        total += e.device_duration;
    }
    stats = stet_trace_get_stats(w.device);
    assert_true(turns <= stats.duration / 1000000000); /* the clocks are aligned anew once a second */
    stet_profile_row row;
    for (int64_t i = 0; stet_profile_get_row(w.device, i, &row); ++i) {
        assert_int_equal(row.device_calls, row.calls);
        total -= row.device_duration;
    }
    assert_true(end > 0);
    assert_int_equal(total, 0);
    close_work(&w);
}

static void without_a_trace_nothing_is_noted(void **state)
{
    work w = open_work();
    int64_t waits = o.control->calls("stream_synchronize"), before;
    OK(sti_device_copy(w.device, w.b, w.a, BLOCK));
    assert_int_equal(o.control->calls("event_record"), 0);
    assert_int_equal(o.control->calls("stream_synchronize"), waits);
    begin_trace(w.device);
    OK(sti_device_copy(w.device, w.b, w.a, BLOCK));
    OK(stet_trace_end(w.device));
    before = o.control->calls("event_record");
    assert_true(before >= 2);
    OK(sti_device_copy(w.device, w.b, w.a, BLOCK));
    assert_int_equal(o.control->calls("event_record"), before);
    assert_null(w.device->times);
    close_work(&w);
}

/* DEVTRACE-3: more than may pend, inside of something that is open all the while. */
static void long_traces_are_worked_out_in_parts(void **state)
{
    enum { N = 3 * STI_TIMES_PENDING + 100 };
    work w = open_work();
    begin_trace(w.device);
    sti_device_mark outer =
        sti_device_trace_open(w.device, &(sti_trace_what){.kind = STET_TRACE_REPLAY, .name = "outer"});
    for (int i = 0; i < N; ++i) OK(sti_device_copy(w.device, w.b, w.a, BLOCK));
    sti_device_trace_close(w.device, outer, STET_OK);
    OK(stet_trace_end(w.device));
    assert_int_equal(count(w.device), N + 1);
    int64_t last = 0, turns = 0;
    stet_trace_stats stats;
    for (int64_t i = 0; i <= N; ++i) {
        stet_trace_event e = event(w.device, i);
        assert_true(e.device_duration >= 0);
        turns += e.device_begin < last;
        last = e.device_begin;
    }
    stats = stet_trace_get_stats(w.device); /* the clocks are aligned anew each time, and once a second */
    assert_true(turns <= N / STI_TIMES_PENDING + stats.duration / 1000000000);
    assert_true(event(w.device, 0).device_duration > 0);
    assert_true(o.control->alive().events <= 2 * STI_TIMES_PENDING + 16);
    close_work(&w);
}

/* DEVTRACE-1: whatever fails of the moments, the traced work is done, and nothing is told of it. */
static void moments_may_fail(void **state)
{
    static const char *const calls[] = {"event_create", "event_record", "event_elapsed", "event_synchronize"};
    work w = open_work();
    for (int64_t at = 1; at < 24; ++at)
        for (int k = 0; k < 4; ++k) {
            stet_profile_row row;
            begin_trace(w.device);
            o.control->fail_call(calls[k], at, STI_GPU_NOT_SUPPORTED, false);
            for (int i = 0; i < 5; ++i) OK(sti_device_copy(w.device, w.b, w.a, BLOCK));
            OK(stet_trace_end(w.device));
            o.control->fail_call(calls[k], 0, 0, false);
            assert_true(stet_profile_get_row(w.device, 0, &row));
            assert_int_equal(row.calls, 5);
            assert_int_equal(row.failed, 0);
            assert_true(row.device_calls <= 5);
        }
    close_work(&w);
}

static void failed_work_has_no_time(void **state)
{
    work w = open_work();
    begin_trace(w.device);
    o.control->fail_call("copy_async", 2, STI_GPU_NOT_SUPPORTED, false);
    OK(sti_device_copy(w.device, w.b, w.a, BLOCK));
    FAILS(sti_device_copy(w.device, w.b, w.a, BLOCK), STET_ERROR_UNSUPPORTED, "copy_async");
    OK(sti_device_copy(w.device, w.b, w.a, BLOCK));
    OK(stet_trace_end(w.device));
    assert_true(event(w.device, 0).device_duration >= 0);
    assert_int_equal(event(w.device, 1).device_duration, -1);
    assert_true(event(w.device, 1).failed);
    assert_true(event(w.device, 2).device_duration >= 0);
    close_work(&w);
}

static uint64_t capture_now;

static stet_result in_a_capture(stet_device *device, uint64_t *out)
{
    (void)device;
    *out = capture_now;
    return STET_OK;
}

/* D2. */
static void captures_are_left_alone(void **state)
{
    work w = open_work();
    sti_device_ops ops = *w.device->ops;
    ops.capturing = in_a_capture;
    w.device->ops = &ops;
    for (int from_the_start = 0; from_the_start < 2; ++from_the_start) {
        capture_now = (uint64_t)from_the_start;
        int64_t waits = o.control->calls("stream_synchronize");
        begin_trace(w.device);
        if (capture_now) assert_int_equal(o.control->calls("stream_synchronize"), waits);
        capture_now = 3;
        int64_t noted = o.control->calls("event_record");
        OK(sti_device_copy(w.device, w.b, w.a, BLOCK));
        assert_int_equal(o.control->calls("event_record"), noted);
        capture_now = 0;
        OK(sti_device_copy(w.device, w.b, w.a, BLOCK));
        OK(stet_trace_end(w.device));
        assert_int_equal(event(w.device, 0).device_duration, -1);
        assert_true(event(w.device, 1).device_duration >= 0);
    }
    begin_trace(w.device);
    OK(sti_device_copy(w.device, w.b, w.a, BLOCK));
    capture_now = 3;
    int64_t waits = o.control->calls("event_synchronize");
    OK(stet_trace_end(w.device));
    assert_int_equal(o.control->calls("event_synchronize"), waits);
    assert_int_equal(event(w.device, 0).device_duration, -1);
    capture_now = 0;
    close_work(&w);
}

static void a_driver_without_times(void **state)
{
    work w = open_work();
    gpu_of(w.device)->driver.api.event_elapsed = NULL;
    int64_t id;
    FAILS(w.device->ops->moment(w.device, &id), STET_ERROR_UNSUPPORTED, "time between events");
    begin_trace(w.device);
    copy_about(&w);
    OK(stet_trace_end(w.device));
    assert_int_equal(count(w.device), 3);
    assert_int_equal(event(w.device, 1).device_duration, -1);
    assert_int_equal(o.control->calls("event_elapsed"), 0);
    close_work(&w);
}

static void a_device_may_go_while_it_is_traced(void **state)
{
    work w = open_work();
    begin_trace(w.device);
    copy_about(&w);
    close_work(&w);
}

static void a_lost_device_ends_its_trace(void **state)
{
    work w = open_work();
    kernels k;
    load_kernels(w.device, &k);
    sti_slot slots[3] = {{.p = w.a, .n = 4}, {.i = 1}, {.i = 1}};
    begin_trace(w.device);
    OK(sti_device_copy(w.device, w.b, w.a, BLOCK));
    o.control->fail_kernel(1, o.hip ? 719 : 700);
    OK(w.device->ops->launch(w.device, &k.count, slots, 3, 4, false));
    while (o.control->progress()) continue;
    assert_int_equal(sti_device_copy(w.device, w.b, w.a, BLOCK), STET_ERROR_DEVICE);
    OK(stet_trace_end(w.device));
    assert_int_equal(count(w.device), 2);
    assert_int_equal(event(w.device, 1).device_duration, -1);
    unload_kernels(w.device, &k);
    stet_device_destroy(w.device); /* what a lost device has the driver does not let go of */
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

int main(void)
{
    const struct CMUnitTest tests[] = {
        GPU_TEST(work_takes_time_between_moments),
        GPU_TEST(events_are_used_again),
        GPU_TEST(numbers_that_are_none),
        GPU_TEST(a_moment_that_fails_is_none),
        GPU_TEST(copies_have_times_of_their_own),
        GPU_TEST(without_a_trace_nothing_is_noted),
        GPU_TEST(long_traces_are_worked_out_in_parts),
        GPU_TEST(moments_may_fail),
        GPU_TEST(failed_work_has_no_time),
        GPU_TEST(captures_are_left_alone),
        GPU_TEST(a_driver_without_times),
        GPU_TEST(a_device_may_go_while_it_is_traced),
        GPU_TEST(a_lost_device_ends_its_trace),
    };
    return RUN_ON_DOUBLES("device/times", tests);
}
