/*
 * A device's upload stream, over the driver doubles: its uploads are ordered with the rest by the two orders alone,
 * beside streams and captures of others; pieces of page-locked memory outlive their copies; what fails leaves an order
 * that holds. And memory of the host's that is kept: it is sent from where it is, in either stream, and nobody waits
 * before it is written again or goes.
 */
#include "device/gpu/gpu_beside.h"
#include "device/gpu/gpu_real.h"

static stet_result uploads_after(rig *r) { return r->device->ops->order(r->device, NULL, STI_ORDER_UPLOADS_AFTER); }
static stet_result after_uploads(rig *r) { return r->device->ops->order(r->device, NULL, STI_ORDER_AFTER_UPLOADS); }

/* All of an array, in the upload stream; the source goes when the call has returned. */
static stet_result put_in_upload_stream(rig *r, void *to, size_t size, int byte)
{
    char *source = malloc(size);
    assert_non_null(source);
    memset(source, byte, size);
    stet_result result = r->device->ops->stream_upload(r->device, to, source, size);
    memset(source, 0xee, size);
    free(source);
    return result;
}

/* Copies on the device out of a block that the upload stream fills again and again, in whatever stream is in use. */
static void two_orders_are_enough(void **state)
{
    enum { ROUNDS = 12, SIZE = 2 << 20 };
    for (uint64_t seed = 1; seed <= 8; ++seed) {
        rig r;
        begin_beside(seed);
        rig_open(&r);
        void *stream = new_stream(1);
        char *staged = take(r.device, SIZE), *out[ROUNDS];
        for (int i = 0; i < ROUNDS; ++i) {
            out[i] = take(r.device, SIZE);
            OK(i % 3 == 1 ? stet_device_use_stream(r.device, stream) : stet_device_use_own_stream(r.device));
            OK(uploads_after(&r));
            OK(put_in_upload_stream(&r, staged, SIZE, i + 1));
            OK(after_uploads(&r));
            OK(r.device->ops->copy(r.device, out[i], staged, SIZE));
        }
        OK(stet_device_use_own_stream(r.device));
        for (int i = 0; i < ROUNDS; ++i) {
            expect_bytes(r.device, out[i], SIZE, (unsigned char)(i + 1));
            r.device->ops->free(r.device, out[i]);
        }
        r.device->ops->free(r.device, staged);
        drop_stream(stream);
        end_beside(&r);
    }
}

/*
 * No stream, no event, no call, as long as nothing is in the upload stream; and none for an order that has nothing to
 * order.
 */
static void what_is_not_used_costs_nothing(void **state)
{
    rig r;
    begin_beside(3);
    rig_open(&r);
    char *a = take(r.device, 64);
    int64_t calls = o.control->calls(NULL);
    OK(uploads_after(&r));
    OK(after_uploads(&r));
    assert_int_equal(o.control->calls(NULL), calls);
    OK(put_in_upload_stream(&r, a, 64, 5));
    OK(after_uploads(&r));
    calls = o.control->calls(NULL);
    OK(after_uploads(&r));
    assert_int_equal(o.control->calls(NULL), calls);
    expect_bytes(r.device, a, 64, 5);
    OK(put_in_upload_stream(&r, a, 64, 6));
    OK(r.device->ops->synchronize(r.device)); /* waits for both */
    assert_int_equal(((const unsigned char *)o.control->look((uint64_t)(uintptr_t)a))[63], 6);
    r.device->ops->free(r.device, a);
    end_beside(&r);
}

/*
 * While the stream in use is captured nothing goes to the upload stream; what went before is waited for by the host,
 * and the capture stays whole.
 */
static void beside_a_capture(void **state)
{
    for (int joined = 0; joined < 2; ++joined) {
        rig r;
        list l = {.random = 6};
        caller c = {0};
        begin_beside(23);
        rig_open(&r);
        char *a = take(r.device, 64), *b = take(r.device, 64);
        OK(put_in_upload_stream(&r, a, 64, 1));
        OK(after_uploads(&r));
        c.stream = new_stream(1);
        if (!joined) OK(stet_device_use_stream(r.device, c.stream));
        OK(put_in_upload_stream(&r, a, 64, 7));
        begin_capture(&c, 0);
        if (joined) OK(stet_device_use_stream(r.device, c.stream));
        issue_some(&r, &l, 3);
        FAILS(put_in_upload_stream(&r, a, 64, 8), STET_ERROR_UNSUPPORTED, "the stream in use is being captured");
        FAILS(uploads_after(&r), STET_ERROR_UNSUPPORTED, "the stream in use is being captured");
        OK(after_uploads(&r));
        if (!real_arch) assert_int_equal(((unsigned char *)o.control->look((uint64_t)(uintptr_t)a))[0], 7);
        issue_some(&r, &l, 3);
        end_capture(&c);
        replay(&r, &l, &c);
        OK(r.device->ops->copy(r.device, b, a, 64));
        expect_bytes(r.device, b, 64, 7);
        rig_compare(&r);
        OK(stet_device_use_own_stream(r.device));
        r.device->ops->free(r.device, a);
        r.device->ops->free(r.device, b);
        drop_caller(&c);
        end_beside(&r);
    }
}

/* ---- memory that is kept ----------------------------------------------------------------------------------------- */

enum { KEPT = 512 << 10 };

static stet_result take_kept(rig *r, char **out)
{
    void *memory;
    *out = NULL;
    STI_TRY(r->device->ops->host_alloc(r->device, KEPT, "kept", &memory));
    *out = memory;
    return r->device->ops->order(r->device, memory, STI_ORDER_HOST_KEEPS);
}

/* Byte i + 1 to a block, in one stream or the other. */
static stet_result send_kept(rig *r, char *kept, char *to, int i, size_t size)
{
    const sti_device_ops *ops = r->device->ops;
    STI_TRY(ops->order(r->device, kept, STI_ORDER_HOST_BEHIND));
    memset(kept, i + 1, size);
    return i % 3 == 1 ? ops->stream_upload(r->device, to, kept, size) : ops->upload(r->device, to, kept, size);
}

/* Large and small, again and again over the same memory, which goes while the last is still to run. */
static void kept_memory_is_sent_from_where_it_is(void **state)
{
    enum { TIMES = 6 };
    for (uint64_t seed = 1; seed <= 8; ++seed)
        for (int small = 0; small < 2; ++small) {
            size_t size = small ? 4096 : KEPT;
            rig r;
            char *kept, *out[TIMES], *again;
            begin_beside(seed);
            rig_open(&r);
            OK(take_kept(&r, &kept));
            for (int i = 0; i < TIMES; ++i) out[i] = take(r.device, KEPT);
            again = take(r.device, KEPT);
            OK(uploads_after(&r));
            for (int i = 0; i < TIMES; ++i) {
                OK(send_kept(&r, kept, out[i], i, size));
                OK(r.device->ops->upload(r.device, again, kept, size)); /* the same, in the stream in use */
            }
            r.device->ops->host_free(r.device, kept);
            OK(after_uploads(&r));
            expect_bytes(r.device, again, size, TIMES);
            r.device->ops->free(r.device, again);
            for (int i = 0; i < TIMES; ++i) {
                expect_bytes(r.device, out[i], size, (unsigned char)(i + 1));
                r.device->ops->free(r.device, out[i]);
            }
            end_beside(&r);
        }
}

/* No piece of the ring is asked for, and nobody waits. */
static void a_kept_upload_is_two_calls(void **state)
{
    rig r;
    char *kept;
    begin_beside(5);
    rig_open(&r);
    OK(take_kept(&r, &kept));
    char *to = take(r.device, KEPT);
    OK(send_kept(&r, kept, to, 0, KEPT));
    OK(r.device->ops->synchronize(r.device));
    OK(r.device->ops->order(r.device, kept, STI_ORDER_HOST_BEHIND));
    int64_t copies = o.control->calls("copy_to_device_async"), records = o.control->calls("event_record"),
            blocks = o.control->calls("host_alloc"),
            waits = o.control->calls("event_synchronize") + o.control->calls("stream_synchronize");
    memset(kept, 9, KEPT);
    OK(r.device->ops->upload(r.device, to, kept, KEPT));
    assert_int_equal(o.control->calls("copy_to_device_async"), copies + 1);
    assert_int_equal(o.control->calls("event_record"), records + 1);
    assert_int_equal(o.control->calls("host_alloc"), blocks);
    assert_int_equal(o.control->calls("event_synchronize") + o.control->calls("stream_synchronize"), waits);
    r.device->ops->host_free(r.device, kept);
    expect_bytes(r.device, to, KEPT, 9);
    r.device->ops->free(r.device, to);
    end_beside(&r);
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

static stet_result send_some_kept(rig *r, char *kept, char *staged, char *out)
{
    for (int i = 0; i < 4; ++i) {
        STI_TRY(uploads_after(r));
        STI_TRY(send_kept(r, kept, staged, i, KEPT));
        STI_TRY(after_uploads(r));
        STI_TRY(r->device->ops->copy(r->device, out, staged, KEPT));
    }
    return STET_OK;
}

static char *taken; /* given back when the driver fails no more: what it does not take back is left */

static stet_result some_kept(rig *r, char *staged, char *out)
{
    if (!taken) STI_TRY(take_kept(r, &taken));
    return send_some_kept(r, taken, staged, out);
}

/* Two uploads in the upload stream with the orders around them; what was made before it failed stays. */
static stet_result some_work(rig *r, char *staged, char *out)
{
    for (int i = 0; i < 2; ++i) {
        STI_TRY(uploads_after(r));
        STI_TRY(put_in_upload_stream(r, staged, 3 * MIB / 2, 3 + i));
        STI_TRY(after_uploads(r));
        STI_TRY(r->device->ops->copy(r->device, out, staged, 3 * MIB / 2));
    }
    return STET_OK;
}

typedef stet_result work_fn(rig *r, char *staged, char *out);

static bool one_call_fails(work_fn *work, size_t size, int64_t n, int64_t *failed)
{
    rig r;
    entries_start_seed(&o, (uint64_t)n);
    rig_open(&r);
    char *staged = take(r.device, 2 * MIB), *out = take(r.device, 2 * MIB);
    int64_t before = o.control->calls(NULL);
    o.control->fail_call(NULL, n, 801, false); /* not supported: takes no device away */
    stet_result result = work(&r, staged, out);
    o.control->fail_call(NULL, 0, 0, false);
    bool more = o.control->calls(NULL) - before >= n;
    *failed += result != STET_OK;
    OK(work(&r, staged, out));
    if (taken) r.device->ops->host_free(r.device, taken);
    taken = NULL;
    expect_bytes(r.device, out, size, 4);
    r.device->ops->free(r.device, staged);
    r.device->ops->free(r.device, out);
    end_beside(&r);
    return more;
}

static void kf13_each_call_may_fail(void **state)
{
    for (int kept = 0; kept < 2; ++kept) {
        int64_t n = 1, failed = 0;
        while (one_call_fails(kept ? some_kept : some_work, kept ? KEPT : 3 * MIB / 2, n, &failed)) ++n;
        assert_true(n > 20 && failed > 15);
    }
}

/* A device goes while uploads of the upload stream are still to run. */
static void a_device_goes_with_uploads_to_run(void **state)
{
    rig r;
    begin_beside(9);
    rig_open(&r);
    char *a = take(r.device, 5 * MIB);
    OK(put_in_upload_stream(&r, a, 5 * MIB, 1));
    OK(after_uploads(&r));
    r.device->ops->free(r.device, a);
    OK(put_in_upload_stream(&r, r.array[0], 64, 2));
    end_beside(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REAL_GPU_TEST(two_orders_are_enough),
        GPU_TEST(what_is_not_used_costs_nothing),
        REAL_GPU_TEST(beside_a_capture),
        GPU_TEST(kf13_each_call_may_fail),
        REAL_GPU_TEST(a_device_goes_with_uploads_to_run),
        REAL_GPU_TEST(kept_memory_is_sent_from_where_it_is),
        GPU_TEST(a_kept_upload_is_two_calls),
    };
    return RUN_ON_REAL_GPU_TOO("device/gpu_upload_stream", tests);
}
