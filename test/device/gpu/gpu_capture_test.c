/*
 * Work that becomes a part of somebody else's graph, because the stream in use is being captured, over the driver
 * doubles: it is what one by one it would have been, as often as that graph runs; what cannot be captured is refused
 * and breaks nothing.
 */
#include "device/gpu/gpu_beside.h"

/* ---- joining ----------------------------------------------------------------------------------------------------- */

static void join_and_replay(uint64_t seed)
{
    rig r;
    list l = {.random = seed}, other = {.random = seed + 1000};
    caller c = {0};
    begin_beside(seed);
    rig_open(&r);
    rig_step(&r, &other);
    begin_capture(&c, (int)(seed % 3));
    OK(stet_device_use_stream(r.device, c.stream));
    uint64_t id = capture_of(&r);
    assert_true(id != 0);
    issue_some(&r, &l, 12);
    assert_true(capture_of(&r) == id);
    OK(stet_device_use_own_stream(r.device));
    assert_true(capture_of(&r) == 0);
    for (int step = 0; step < 4; ++step) rig_step(&r, &other); /* not a part of it */
    end_capture(&c);
    rig_compare(&r); /* of what was captured nothing has run */
    for (int run = 0; run < 3; ++run) {
        replay(&r, &l, &c);
        rig_step(&r, &other);
    }
    rig_compare(&r);
    drop_caller(&c);
    end_beside(&r);
}

static void kf11_an_outer_graph_runs_what_stet_issued(void **state)
{
    for (uint64_t seed = 1; seed <= 24; ++seed) join_and_replay(seed);
}

/* The usual way: a warm-up in a stream, then the same captured in it. */
static void a_stream_is_captured_after_it_came_into_use(void **state)
{
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        rig r;
        list l = {.random = seed}, warm = {.random = seed + 500};
        caller c = {.stream = NULL};
        begin_beside(seed);
        rig_open(&r);
        c.stream = new_stream((unsigned)seed % 2);
        OK(stet_device_use_stream(r.device, c.stream));
        for (int step = 0; step < 5; ++step) rig_step(&r, &warm);
        assert_true(capture_of(&r) == 0);
        begin_capture(&c, 0);
        assert_true(capture_of(&r) != 0);
        issue_some(&r, &l, 8);
        FAILS(stet_device_use_own_stream(r.device), STET_ERROR_UNSUPPORTED, "is being captured since it came into use");
        assert_ptr_equal(stet_device_get_stream(r.device), c.stream);
        end_capture(&c);
        assert_true(capture_of(&r) == 0);
        replay(&r, &l, &c);
        for (int step = 0; step < 5; ++step) rig_step(&r, &warm);
        OK(stet_device_use_own_stream(r.device));
        replay(&r, &l, &c);
        rig_compare(&r);
        drop_caller(&c);
        end_beside(&r);
    }
}

/* stet stays in the stream when the capture has ended: its work comes behind what it had issued before the capture. */
static void a_stream_that_was_joined_goes_on_behind_what_was_before(void **state)
{
    static const char *const ways[] = {"launch", "copy", "upload", "capturing", "use"};
    for (uint64_t seed = 1; seed <= 30; ++seed) {
        rig r;
        list l = {.random = seed}, other = {.random = seed + 77};
        caller c = {0};
        begin_beside(seed);
        rig_open(&r);
        for (int step = 0; step < 8; ++step) rig_step(&r, &other);
        begin_capture(&c, 2);
        OK(stet_device_use_stream(r.device, c.stream));
        issue_some(&r, &l, 3);
        end_capture(&c);
        const char *way = ways[seed % 5];
        if (strcmp(way, "upload") == 0) rig_set(&r, 2, 5);
        if (strcmp(way, "capturing") == 0) assert_true(capture_of(&r) == 0);
        if (strcmp(way, "use") == 0) OK(stet_device_use_stream(r.device, c.stream));
        for (int step = 0; step < 8; ++step) rig_step(&r, &other);
        assert_int_equal(o.api.graph_launch(c.executable, c.stream), 0);
        list_run(&r, &l);
        rig_compare(&r);
        OK(stet_device_use_own_stream(r.device));
        drop_caller(&c);
        end_beside(&r);
    }
}

static void stet_goes_from_one_capture_into_another(void **state)
{
    rig r;
    list l[2] = {{.random = 1}, {.random = 2}}, other = {.random = 3};
    caller c[2] = {{0}, {0}};
    uint64_t id[2];
    begin_beside(31);
    rig_open(&r);
    for (int i = 0; i < 2; ++i) {
        begin_capture(&c[i], 2);
        OK(stet_device_use_stream(r.device, c[i].stream));
        id[i] = capture_of(&r);
        issue_some(&r, &l[i], 5);
    }
    assert_true(id[0] != id[1]);
    OK(stet_device_use_own_stream(r.device));
    for (int i = 0; i < 2; ++i) end_capture(&c[i]);
    for (int run = 0; run < 4; ++run) {
        rig_step(&r, &other);
        replay(&r, &l[run % 2], &c[run % 2]);
    }
    rig_compare(&r);
    for (int i = 0; i < 2; ++i) drop_caller(&c[i]);
    end_beside(&r);
}

/* ---- order within a capture -------------------------------------------------------------------------------------- */

/* The caller's second stream is forked off the captured one and joined again; stet works in both. */
static void streams_of_one_capture_are_ordered(void **state)
{
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        rig r;
        list l = {.random = seed};
        caller c = {0};
        begin_beside(seed);
        rig_open(&r);
        void *second = new_stream(1), *outside = new_stream(1);
        begin_capture(&c, 2);
        OK(stet_device_use_stream(r.device, c.stream));
        issue_some(&r, &l, 3);
        FAILS(stet_device_signal_stream(r.device, outside), STET_ERROR_UNSUPPORTED,
              "the stream in use is being captured");
        FAILS(stet_device_wait_stream(r.device, outside), STET_ERROR_UNSUPPORTED, "cannot be ordered with what is not");
        void *fork;
        assert_int_equal(o.api.event_create(&fork, 2), 0);
        assert_int_equal(o.api.event_record(fork, c.stream), 0);
        assert_int_equal(o.api.stream_wait_event(second, fork, 0), 0);
        OK(stet_device_use_stream(r.device, second)); /* already behind the first by the caller's event */
        issue_some(&r, &l, 3);
        OK(stet_device_signal_stream(r.device, c.stream));
        OK(stet_device_use_stream(r.device, c.stream));
        issue_some(&r, &l, 3);
        OK(stet_device_use_own_stream(r.device));
        FAILS(stet_device_wait_stream(r.device, c.stream), STET_ERROR_UNSUPPORTED,
              "the other stream is being captured");
        end_capture(&c);
        for (int run = 0; run < 3; ++run) replay(&r, &l, &c);
        rig_compare(&r);
        assert_int_equal(o.api.event_destroy(fork), 0);
        drop_caller(&c);
        drop_stream(second);
        drop_stream(outside);
        end_beside(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REAL_GPU_TEST(kf11_an_outer_graph_runs_what_stet_issued),
        REAL_GPU_TEST(a_stream_is_captured_after_it_came_into_use),
        REAL_GPU_TEST(a_stream_that_was_joined_goes_on_behind_what_was_before),
        REAL_GPU_TEST(stet_goes_from_one_capture_into_another),
        REAL_GPU_TEST(streams_of_one_capture_are_ordered),
    };
    return RUN_ON_REAL_GPU_TOO("device/gpu_capture", tests);
}
