/*
 * What cannot be captured, and what goes wrong, while the stream in use is being captured, over the driver doubles: it
 * is refused or told, and the caller's capture and the order of stet's own work stay as they are.
 */
#include "device/gpu/gpu_beside.h"

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static stet_result work_of_nobody(void *context, void *stream)
{
    (void)context;
    (void)stream;
    return STET_OK;
}

/* Each is refused by a sentence, and no call of the driver is made that waits or that a capture forbids. */
static void refuse_all(rig *r, void *graph)
{
    const sti_device_ops *ops = r->device->ops;
    list l = {0};
    void *out;
    unsigned back[ITEMS];
    static const char sentence[] = "and the stream in use is being captured; do this before the capture begins";
    FAILS(ops->alloc(r->device, 64, "a block", &out), STET_ERROR_UNSUPPORTED, sentence);
    FAILS(ops->host_alloc(r->device, 64, "a mirror", &out), STET_ERROR_UNSUPPORTED, sentence);
    FAILS(ops->upload(r->device, r->array[0], back, sizeof back), STET_ERROR_UNSUPPORTED, sentence);
    FAILS(ops->download(r->device, back, r->array[0], sizeof back), STET_ERROR_UNSUPPORTED, sentence);
    FAILS(stet_device_synchronize(r->device), STET_ERROR_UNSUPPORTED, sentence);
    FAILS(ops->load(r->device, "code", 4, "some code", &out), STET_ERROR_UNSUPPORTED, sentence);
    (void)list_foreign(&l, work_of_nobody, NULL);
    FAILS(list_graph(r, &l, &out), STET_ERROR_UNSUPPORTED, sentence);
    FAILS(ops->graph_launch(r->device, graph), STET_ERROR_UNSUPPORTED, sentence);
}

static void what_cannot_be_captured_is_refused(void **state)
{
    for (int joined = 0; joined < 2; ++joined) {
        rig r;
        list l = {.random = 6}, own = {0};
        caller c = {0};
        void *graph;
        begin_beside(17);
        rig_open(&r);
        (void)list_mix(&own, -1, 0, 1, 3, ITEMS);
        OK(list_graph(&r, &own, &graph));
        c.stream = new_stream(1);
        if (!joined) OK(stet_device_use_stream(r.device, c.stream));
        begin_capture(&c, 0);
        if (joined) OK(stet_device_use_stream(r.device, c.stream));
        issue_some(&r, &l, 3);
        refuse_all(&r, graph);
        issue_some(&r, &l, 3);
        end_capture(&c);
        OK(r.device->ops->graph_launch(r.device, graph));
        list_run(&r, &own);
        replay(&r, &l, &c);
        rig_compare(&r);
        OK(stet_device_use_own_stream(r.device));
        r.device->ops->graph_free(r.device, graph);
        drop_caller(&c);
        end_beside(&r);
    }
}

/* Blocks, code, graphs that go meanwhile: nothing is waited for that is captured, and nothing goes too early. */
static void what_goes_during_a_capture(void **state)
{
    for (int joined = 0; joined < 2; ++joined) {
        rig r;
        list l = {.random = 6}, own = {0};
        caller c = {0};
        void *graph, *module, *big, *mirror;
        begin_beside(19);
        rig_open(&r);
        gpu_of(r.device)->pool.keep = 0;
        size_t size;
        char *code = compile(graph_kernels, &size);
        OK(r.device->ops->load(r.device, code, size, "more code", &module));
        free(code);
        big = take(r.device, 4 * MIB);
        OK(r.device->ops->host_alloc(r.device, 2 * MIB, "a mirror", &mirror));
        (void)list_mix(&own, -1, 0, 1, 3, ITEMS);
        OK(list_graph(&r, &own, &graph));
        c.stream = new_stream(1);
        if (!joined) OK(stet_device_use_stream(r.device, c.stream));
        OK(r.device->ops->graph_launch(r.device, graph));
        list_run(&r, &own);
        begin_capture(&c, 2);
        if (joined) OK(stet_device_use_stream(r.device, c.stream));
        issue_some(&r, &l, 3);
        r.device->ops->free(r.device, big);
        r.device->ops->graph_free(r.device, graph);
        r.device->ops->unload(r.device, module);
        r.device->ops->host_free(r.device, mirror);
        r.device->ops->free(r.device, NULL);
        issue_some(&r, &l, 3);
        end_capture(&c);
        replay(&r, &l, &c);
        rig_compare(&r);
        OK(stet_device_use_own_stream(r.device));
        drop_caller(&c);
        end_beside(&r);
    }
}

/* ---- captures that go wrong; drivers that tell less -------------------------------------------------------------- */

static void a_capture_that_its_owner_breaks_ends_with_it(void **state)
{
    rig r;
    list l = {.random = 3}, after = {.random = 4};
    caller c = {0};
    void *graph;
    begin_beside(23);
    rig_open(&r);
    begin_capture(&c, 2);
    OK(stet_device_use_stream(r.device, c.stream));
    issue_some(&r, &l, 2);
    uint64_t id = capture_of(&r);
    assert_int_equal(o.api.stream_synchronize(c.stream), 900);
    assert_true(capture_of(&r) == id);
    const sti_slot slots[SLOTS] = {{.p = r.array[0]}, {.p = r.array[1]}, {.i = 1}};
    FAILS(r.device->ops->launch(r.device, &r.mix, slots, SLOTS, 1, false), STET_ERROR_DEVICE, "(901)");
    assert_int_equal(o.api.capture_end(c.stream, &graph), 901);
    for (int step = 0; step < 5; ++step) rig_step(&r, &after);
    rig_compare(&r);
    OK(stet_device_use_own_stream(r.device));
    drop_caller(&c);
    end_beside(&r);
}

static void a_driver_that_does_not_number_captures(void **state)
{
    rig r;
    list l = {.random = 3}, other = {.random = 5};
    caller c = {0};
    begin_beside(27);
    rig_open(&r);
    gpu_of(r.device)->driver.api.capture_info = NULL;
    uint64_t last = 0;
    for (int capture = 0; capture < 3; ++capture) {
        l.nop = 0;
        begin_capture(&c, 2);
        OK(stet_device_use_stream(r.device, c.stream));
        uint64_t id = capture_of(&r);
        assert_true(id != 0 && id != last);
        issue_some(&r, &l, 4);
        assert_true(capture_of(&r) == id);
        last = id;
        if (capture % 2) OK(stet_device_use_own_stream(r.device));
        end_capture(&c);
        rig_step(&r, &other);
        replay(&r, &l, &c);
        rig_compare(&r);
        assert_int_equal(o.api.graph_exec_destroy(c.executable), 0);
        assert_int_equal(o.api.graph_destroy(c.graph), 0);
        c.executable = c.graph = NULL;
        OK(stet_device_use_own_stream(r.device));
    }
    drop_caller(&c);
    end_beside(&r);
}

/*
 * Another library captures in the mode that forbids others' unsafe calls, while stet works in two streams of the
 * caller's.
 */
static void kf09_somebody_elses_capture_beside_foreign_streams(void **state)
{
    rig r;
    list l = {.random = 8};
    caller c = {0};
    void *other;
    begin_beside(29);
    void *stream = new_stream(1);
    assert_int_equal(o.api.alloc(&other, 64), 0);
    begin_capture(&c, 0);
    assert_int_equal(o.api.fill_async(other, 1, 64, c.stream), 0);
    rig_open(&r);
    for (int step = 0; step < 20; ++step) {
        if (step % 3 == 0) OK(stet_device_use_stream(r.device, stream));
        if (step % 3 == 2) OK(stet_device_use_own_stream(r.device));
        rig_step(&r, &l);
        if (step % 5 == 0) r.device->ops->free(r.device, take(r.device, 1000));
    }
    rig_compare(&r);
    assert_int_equal(o.api.fill_async(other, 2, 64, c.stream), 0);
    end_capture(&c);
    OK(stet_device_use_own_stream(r.device));
    drop_stream(stream);
    drop_caller(&c);
    assert_int_equal(o.api.free(other), 0);
    end_beside(&r);
}

/*
 * Whichever call of the driver fails: what was issued is in the graph, what was not is not, and the order is kept when
 * the capture has ended.
 */
static bool fail_beside_a_capture(int64_t n, int64_t *failed)
{
    rig r;
    list l = {.random = 1}, before = {.random = 2};
    caller c = {0};
    begin_beside((uint64_t)n);
    rig_open(&r);
    for (int step = 0; step < 4; ++step) rig_step(&r, &before);
    begin_capture(&c, 2);
    o.control->fail_call(NULL, n, 1, false);
    int64_t calls = o.control->calls(NULL);
    stet_result result = stet_device_use_stream(r.device, c.stream);
    bool joined = stet_device_get_stream(r.device) == c.stream;
    for (int i = 0; i < 3; ++i) {
        int at = list_mix(&l, -1, i, i + 1, 10 + i, ITEMS);
        const sti_slot slots[SLOTS] = {{.p = r.array[i]}, {.p = r.array[i + 1]}, {.i = 10 + i}};
        int64_t launches = o.control->calls("launch");
        stet_result launched = r.device->ops->launch(r.device, &r.mix, slots, SLOTS, ITEMS, false);
        bool issued = launched == STET_OK || (o.control->calls("launch") > launches &&
                                              strstr(stet_get_last_error(), "giving the device back"));
        if (launched != STET_OK) result = launched;
        if (!joined && issued) list_run_one(&r, &l, at);
        if (!joined || !issued) --l.nop;
    }
    o.control->fail_call(NULL, 0, 0, false);
    bool reached = o.control->calls(NULL) - calls >= n;
    *failed += result != STET_OK;
    end_capture(&c);
    for (int step = 0; step < 4; ++step) rig_step(&r, &before);
    replay(&r, &l, &c);
    rig_compare(&r);
    OK(stet_device_use_own_stream(r.device));
    drop_caller(&c);
    end_beside(&r);
    return reached;
}

static void each_call_beside_a_capture_may_fail(void **state)
{
    int64_t n = 1, failed = 0;
    while (fail_beside_a_capture(n, &failed)) ++n;
    assert_true(n > 15 && failed > 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REAL_GPU_TEST(what_cannot_be_captured_is_refused),
        REAL_GPU_TEST(what_goes_during_a_capture),
        REAL_GPU_TEST(a_capture_that_its_owner_breaks_ends_with_it),
        REAL_GPU_TEST(a_driver_that_does_not_number_captures),
        REAL_GPU_TEST(kf09_somebody_elses_capture_beside_foreign_streams),
        GPU_TEST(each_call_beside_a_capture_may_fail),
    };
    return RUN_ON_REAL_GPU_TOO("device/gpu_capture_fault", tests);
}
