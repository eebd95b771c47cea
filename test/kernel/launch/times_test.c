/*
 * What a trace says of the device's times, on every device that runs kernels: a GPU has them for each launch, replay
 * and copy, in the order of its stream; a processor has none. On a real GPU, whose clock is the trace's, nothing runs
 * before it was asked for, or after the end.
 */
#include "device/devices.h"

#include "bench/pilot/springs.h"

enum { N = 3, STEPS = 6 };

static uint64_t steps_hash(stet_device *device, bool recorded)
{
    sti_springs s;
    uint64_t hash;
    OK(sti_springs_create(device, N, &s));
    for (int i = 0; i < STEPS; ++i) OK(sti_springs_step(&s, recorded));
    OK(sti_springs_hash(&s, &hash));
    sti_springs_destroy(&s);
    return hash;
}

static bool is_work(stet_trace_kind kind)
{
    return kind == STET_TRACE_LAUNCH || kind == STET_TRACE_REPLAY || kind == STET_TRACE_UPLOAD ||
           kind == STET_TRACE_DOWNLOAD || kind == STET_TRACE_COPY;
}

static void expect_no_times(const stet_device *device)
{
    stet_trace_event e;
    for (int64_t i = 0; stet_trace_get_event(device, i, &e); ++i) {
        assert_int_equal(e.device_begin, -1);
        assert_int_equal(e.device_duration, -1);
    }
}

/* Number of events with times. */
static int64_t expect_times(const rig_device *rig)
{
    stet_trace_event e;
    stet_trace_stats stats;
    int64_t n = 0, last = 0, turns = 0;
    stats = stet_trace_get_stats(rig->device);
    for (int64_t i = 0; stet_trace_get_event(rig->device, i, &e); ++i) {
        assert_int_equal(e.device_duration >= 0, is_work(e.kind));
        if (!is_work(e.kind)) continue;
        turns += e.device_begin < last;
        last = e.device_begin;
        ++n;
        if (rig->at != RIG_CUDA) continue; /* a double's clock is its own */
        assert_true(e.device_begin >= e.begin);
        assert_true(e.device_begin + e.device_duration <= stats.duration);
    }
    assert_true(turns <= stats.duration / 1000000000); /* the clocks are aligned anew once a second */
    return n;
}

/* Rows are sums of events. */
static void expect_sums(const stet_device *device, int64_t n)
{
    stet_profile_row row;
    stet_trace_event e;
    int64_t calls = 0, sum = 0;
    for (int64_t i = 0; stet_profile_get_row(device, i, &row); ++i) {
        calls += row.device_calls;
        sum += row.device_duration;
        assert_true(row.device_calls == 0 || row.device_calls == row.calls);
    }
    for (int64_t i = 0; stet_trace_get_event(device, i, &e); ++i) sum -= e.device_duration > 0 ? e.device_duration : 0;
    assert_int_equal(calls, n);
    assert_int_equal(sum, 0);
}

static void every_device_says_what_it_knows(void **state)
{
    stet_trace_def def = stet_default_trace_def();
    FOR_RUNNING_DEVICES(rig)
    {
        for (int recorded = 0; recorded < 2; ++recorded) {
            uint64_t plain = steps_hash(rig.device, recorded);
            OK(stet_trace_begin(rig.device, &def));
            uint64_t traced = steps_hash(rig.device, recorded);
            OK(stet_trace_end(rig.device));
            assert_int_equal(traced, plain);
            if (rig.device->can.compiles)
                expect_sums(rig.device, expect_times(&rig));
            else
                expect_no_times(rig.device);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_device_says_what_it_knows)};
    return cmocka_run_group_tests_name("kernel/times", tests, NULL, NULL);
}
