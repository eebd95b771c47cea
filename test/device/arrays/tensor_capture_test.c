/*
 * Arrays and tensors while the stream in use is being captured into somebody else's graph, over the driver doubles:
 * what would need the host is refused before anything is half done, and the content is what it was.
 */
#include "device/gpu/gpu_beside.h"

#include "device/host_mirror.h"
#include "stet/dlpack.h"
#include "stet/kernel.h"

typedef struct rig_of_capture {
    stet_device *device;
    void *stream, *graph;
    stet_array *host, *other; /* `host` has a side on the host, which is ahead of the device's */
} rig_of_capture;

static stet_array *ints(stet_device *device, const char *name)
{
    stet_array *a;
    OK(STI_ARRAY(device, name, STET_DTYPE_INT, false, &a, 2));
    return a;
}

static int first(stet_array *a)
{
    int back[2];
    OK(stet_array_read(a, back, sizeof back));
    return back[0];
}

static rig_of_capture open_capture(void)
{
    rig_of_capture r = {0};
    const void *zero;
    begin_beside(17);
    r.device = open_gpu();
    r.stream = new_stream(1);
    r.host = ints(r.device, "host");
    r.other = ints(r.device, "other");
    OK(stet_array_get_host(r.host, &zero));
    OK(stet_array_write(r.host, (int[]){5, 6}, 2 * sizeof(int)));
    assert_true(sti_mirror_is_dirty(r.host));
    OK(stet_device_use_stream(r.device, r.stream));
    assert_int_equal(o.api.capture_begin(r.stream, 0), 0);
    return r;
}

/* The capture was not broken; what it got runs once. */
static void close_capture(rig_of_capture *r)
{
    void *executable;
    if (!r->graph) assert_int_equal(o.api.capture_end(r->stream, &r->graph), 0);
    assert_int_equal(o.api.graph_instantiate(&executable, r->graph, 0), 0);
    assert_int_equal(o.api.graph_launch(executable, r->stream), 0);
    OK(stet_device_use_own_stream(r->device));
    OK(stet_device_synchronize(r->device));
    stet_array_destroy(r->host);
    stet_array_destroy(r->other);
    stet_device_destroy(r->device);
    assert_int_equal(o.api.graph_exec_destroy(executable), 0);
    assert_int_equal(o.api.graph_destroy(r->graph), 0);
    drop_stream(r->stream);
    if (!o.hip) {
        assert_int_equal(o.api.context_set(NULL), 0);
        assert_int_equal(o.api.context_release(0), 0);
    }
    nothing_is_left();
}

static void what_the_host_wrote_is_not_sent_into_a_graph(void **state)
{
    rig_of_capture r = open_capture();
    uint64_t seen[2] = {stet_array_get_generation(r.host), stet_array_get_generation(r.other)};
    FAILS(stet_array_copy(r.other, r.host), STET_ERROR_UNSUPPORTED, "being captured");
    FAILS(stet_array_update(r.host), STET_ERROR_UNSUPPORTED, "being captured");
    FAILS(stet_array_update_in_stream(r.host, r.stream), STET_ERROR_UNSUPPORTED, "being captured");
    assert_true(stet_array_get_generation(r.host) == seen[0] && stet_array_get_generation(r.other) == seen[1]);
    /* Where only the host's side is touched nothing is refused. */
    assert_int_equal(first(r.host), 5);
    OK(stet_array_write(r.host, (int[]){7, 8}, 2 * sizeof(int)));
    stet_array_mark_written(r.host);
    assert_int_equal(first(r.host), 7);
    assert_int_equal(o.api.capture_end(r.stream, &r.graph), 0);
    OK(stet_array_copy(r.other, r.host));
    assert_int_equal(first(r.other), 7);
    close_capture(&r);
}

static void what_is_on_the_device_alone_is_not_read_or_written(void **state)
{
    rig_of_capture r = open_capture();
    const int some[2] = {1, 2};
    int back[2];
    const void *host;
    uint64_t hash, seen = stet_array_get_generation(r.other);
    stet_counters before, after;
    before = stet_device_get_counters(r.device);
    FAILS(stet_array_read(r.other, back, sizeof back), STET_ERROR_UNSUPPORTED, "being captured");
    FAILS(stet_array_hash(r.other, &hash), STET_ERROR_UNSUPPORTED, "being captured");
    FAILS(stet_array_get_host(r.other, &host), STET_ERROR_UNSUPPORTED, "being captured");
    FAILS(stet_array_write(r.other, some, sizeof some), STET_ERROR_UNSUPPORTED, "being captured");
    assert_true(stet_array_get_generation(r.other) == seen);
    after = stet_device_get_counters(r.device);
    assert_int_equal(after.mechanism[STET_MECHANISM_READBACK].held_bytes,
                     before.mechanism[STET_MECHANISM_READBACK].held_bytes);
    stet_array_mark_written(r.other); /* a graph of theirs ran, say */
    assert_true(stet_array_get_generation(r.other) > seen);
    assert_int_equal(o.api.capture_end(r.stream, &r.graph), 0);
    OK(stet_array_write(r.other, some, sizeof some));
    assert_int_equal(first(r.other), 1);
    close_capture(&r);
}

static void tensors_change_hands_in_the_stream_that_is_captured(void **state)
{
    rig_of_capture r = open_capture();
    stet_export_def out = stet_default_export_def();
    stet_import_def in = stet_default_import_def();
    struct DLManagedTensorVersioned *t;
    stet_array *a;
    FAILS(stet_array_export(r.other, &out, &t), STET_ERROR_UNSUPPORTED, "being captured"); /* would wait */
    assert_null(t);
    assert_null(r.other->share);
    out.copy = true;
    FAILS(stet_array_export(r.other, &out, &t), STET_ERROR_UNSUPPORTED, "being captured");
    assert_null(t);
    out.copy = false;
    out.ready = in.ready = STET_READY_IN_STREAM;
    out.stream = in.stream = r.stream;
    FAILS(stet_array_export(r.host, &out, &t), STET_ERROR_UNSUPPORTED, "being captured"); /* has to be sent */
    assert_null(t);
    OK(stet_array_export(r.other, &out, &t));
    OK(stet_array_import(r.device, t, &in, &a));
    stet_array *b = NULL;
    assert_int_equal(STI_ARRAY(r.device, "late", STET_DTYPE_INT, false, &b, 2),
                     STET_ERROR_UNSUPPORTED); /* memory is needed */
    assert_int_equal(o.api.capture_end(r.stream, &r.graph), 0);
    stet_array_destroy(a);
    close_capture(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GPU_TEST(what_the_host_wrote_is_not_sent_into_a_graph),
        GPU_TEST(what_is_on_the_device_alone_is_not_read_or_written),
        GPU_TEST(tensors_change_hands_in_the_stream_that_is_captured),
    };
    return RUN_ON_DOUBLES("device/tensor_capture", tests);
}
