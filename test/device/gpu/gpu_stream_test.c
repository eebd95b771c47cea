/*
 * Streams of others under a GPU's work, over the driver doubles, which run what is not ordered in another order each
 * time: whatever streams stet's work goes to, its results are those of one order.
 */
#include "device/gpu/gpu_beside.h"

#include <pthread.h>

/* ---- one order over all streams ---------------------------------------------------------------------------------- */

enum { STREAMS = 4 };

/* Its own, one that waits for the legacy stream, one that does not, and the legacy stream itself. */
static void use_some(rig *r, list *l, void *const *stream)
{
    unsigned which = list_below(l, STREAMS + 1);
    if (which == STREAMS)
        OK(stet_device_use_own_stream(r->device));
    else
        OK(stet_device_use_stream(r->device, stream[which]));
    if (which < STREAMS) assert_ptr_equal(stet_device_get_stream(r->device), stream[which]);
}

static void alternate(uint64_t seed)
{
    rig r;
    list l = {.random = seed};
    begin_beside(seed);
    rig_open(&r);
    void *stream[STREAMS] = {new_stream(0), new_stream(1), NULL, new_stream(1)};
    for (int step = 0; step < 60; ++step) {
        rig_step(&r, &l);
        if (list_below(&l, 3) == 0) use_some(&r, &l, stream);
        if (list_below(&l, 6) == 0) rig_set(&r, (int)list_below(&l, ARRAYS), list_below(&l, 1000));
    }
    rig_compare(&r);
    OK(stet_device_use_own_stream(r.device));
    for (int i = 0; i < STREAMS; ++i)
        if (stream[i]) drop_stream(stream[i]);
    end_beside(&r);
}

static void kf15_results_are_those_of_one_order(void **state)
{
    for (uint64_t seed = 1; seed <= 30; ++seed) alternate(seed);
}

static void a_stream_may_go_when_another_is_used(void **state)
{
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        rig r;
        list l = {.random = seed};
        void *last = NULL;
        begin_beside(seed);
        rig_open(&r);
        for (int step = 0; step < 10; ++step) {
            void *stream = new_stream((unsigned)step % 2);
            OK(stet_device_use_stream(r.device, stream));
            if (last) drop_stream(last);
            last = stream;
            rig_step(&r, &l);
        }
        rig_compare(&r);
        OK(stet_device_use_own_stream(r.device));
        drop_stream(last);
        end_beside(&r);
    }
}

static void the_same_stream_again_costs_nothing(void **state)
{
    rig r;
    begin_beside(5);
    rig_open(&r);
    void *stream = new_stream(1), *own = stet_device_get_stream(r.device);
    assert_non_null(own);
    int64_t calls = o.control->calls(NULL);
    OK(stet_device_use_own_stream(r.device));
    OK(stet_device_use_stream(r.device, own));
    assert_int_equal(o.control->calls(NULL), calls);
    OK(stet_device_use_stream(r.device, stream));
    calls = o.control->calls(NULL);
    OK(stet_device_use_stream(r.device, stream));
    assert_int_equal(o.control->calls(NULL), calls);
    for (int i = 0; i < 3; ++i) { /* one event serves all orders */
        OK(stet_device_use_own_stream(r.device));
        OK(stet_device_use_stream(r.device, stream));
    }
    assert_int_equal(o.control->calls("event_create"), 2); /* and one the uploads */
    OK(stet_device_use_own_stream(r.device));
    drop_stream(stream);
    end_beside(&r);
}

/* ---- memory and copies ------------------------------------------------------------------------------------------- */

/* A freed block comes back while the work of its former user is still to run, in another stream. */
static void kf22_a_block_that_comes_back_is_the_new_users(void **state)
{
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        rig r;
        begin_beside(seed);
        rig_open(&r);
        void *stream[2] = {new_stream(1), new_stream(1)};
        OK(stet_device_use_stream(r.device, stream[0]));
        unsigned *block = take(r.device, 4096);
        const sti_slot slots[SLOTS] = {{.p = block}, {.p = r.array[1]}, {.i = 5}};
        OK(r.device->ops->launch(r.device, &r.mix, slots, SLOTS, ITEMS, false));
        r.device->ops->free(r.device, block);
        OK(stet_device_use_stream(r.device, stream[1]));
        unsigned *again = take(r.device, 4096);
        assert_ptr_equal(again, block);
        expect_bytes(r.device, again, 4096, 0);
        r.device->ops->free(r.device, again);
        OK(stet_device_use_own_stream(r.device));
        drop_stream(stream[0]);
        drop_stream(stream[1]);
        end_beside(&r);
    }
}

/* The ring of page-locked pieces goes round several times, filled in one stream and filled again in another. */
static void kf16_pieces_of_uploads_outlive_their_copies_in_every_stream(void **state)
{
    enum { ROUNDS = 12 };
    rig r;
    begin_beside(3);
    rig_open(&r);
    void *stream[2] = {new_stream(1), new_stream(0)};
    unsigned char *big[ROUNDS], *source = malloc(MIB);
    for (int i = 0; i < ROUNDS; ++i) {
        big[i] = take(r.device, MIB);
        memset(source, i + 1, MIB);
        OK(stet_device_use_stream(r.device, stream[i % 2]));
        OK(r.device->ops->upload(r.device, big[i], source, MIB));
    }
    free(source);
    for (int i = 0; i < ROUNDS; ++i) {
        OK(stet_device_use_stream(r.device, stream[(i + 1) % 2]));
        expect_bytes(r.device, big[i], MIB, (unsigned char)(i + 1));
        r.device->ops->free(r.device, big[i]);
    }
    OK(stet_device_use_own_stream(r.device));
    drop_stream(stream[0]);
    drop_stream(stream[1]);
    end_beside(&r);
}

typedef struct freeing {
    stet_device *device;
    void *memory;
} freeing;

static void *free_elsewhere(void *context)
{
    const freeing *f = context;
    f->device->ops->free(f->device, f->memory);
    return NULL;
}

/* Which other threads may do at any time; what is too much goes back at the next allocation. */
static void a_free_never_waits_for_a_stream_of_the_callers(void **state)
{
    rig r;
    begin_beside(4);
    rig_open(&r);
    gpu_of(r.device)->pool.keep = 3 * MIB;
    void *stream = new_stream(1), *big[3];
    for (int i = 0; i < 3; ++i) big[i] = take(r.device, 2 * MIB);
    OK(stet_device_use_stream(r.device, stream));
    int64_t waits = o.control->calls("stream_synchronize"), frees = o.control->calls("free");
    for (int i = 0; i < 3; ++i) {
        pthread_t thread;
        freeing f = {r.device, big[i]};
        assert_int_equal(pthread_create(&thread, NULL, free_elsewhere, &f), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    assert_int_equal(o.control->calls("stream_synchronize"), waits);
    assert_int_equal(o.control->calls("free"), frees);
    r.device->ops->free(r.device, take(r.device, 64));
    assert_int_equal(o.control->calls("stream_synchronize"), waits + 1);
    assert_int_equal(o.control->calls("free"), frees + 2);
    OK(stet_device_use_own_stream(r.device));
    drop_stream(stream);
    end_beside(&r);
}

/* ---- what comes after what --------------------------------------------------------------------------------------- */

/*
 * Another library writes array 1 in a stream of its own; stet reads it, or the other way round. The number that came
 * out.
 */
static unsigned beside_another_library(uint64_t seed, bool stet_first, bool ordered)
{
    rig r;
    unsigned back[ITEMS];
    begin_beside(seed);
    rig_open(&r);
    void *theirs = new_stream(1);
    OK(r.device->ops->synchronize(r.device));
    const sti_slot mix[SLOTS] = {{.p = r.array[stet_first ? 1 : 2]}, {.p = r.array[stet_first ? 3 : 1]}, {.i = 1}};
    sti_slot foreign[SLOTS] = {{.p = r.array[stet_first ? 2 : 1]}, {.p = r.array[stet_first ? 1 : 3]}, {.i = 7}};
    long long n = ITEMS;
    void *arguments[] = {foreign, &n};
    if (stet_first) OK(r.device->ops->launch(r.device, &r.mix, mix, SLOTS, ITEMS, false));
    if (stet_first && ordered) OK(stet_device_signal_stream(r.device, theirs));
    assert_int_equal(o.api.launch(r.foreign, ITEMS, 1, 1, 1, 1, 1, 0, theirs, arguments, NULL), 0);
    if (!stet_first && ordered) OK(stet_device_wait_stream(r.device, theirs));
    if (!stet_first) OK(r.device->ops->launch(r.device, &r.mix, mix, SLOTS, ITEMS, false));
    assert_int_equal(o.api.stream_synchronize(theirs), 0);
    OK(r.device->ops->download(r.device, back, r.array[2], sizeof back));
    drop_stream(theirs);
    end_beside(&r);
    return back[0];
}

static void others_work_is_before_or_behind_when_it_is_said(void **state)
{
    /* array a begins with 10 a + 1 */
    const unsigned right[2] = {3 * 21 + (2 * 31 + 7) + 1, 2 * (3 * 11 + 31 + 1) + 7};
    int wrong[2] = {0, 0};
    for (uint64_t seed = 1; seed <= 30; ++seed)
        for (int first = 0; first < 2; ++first) {
            assert_int_equal(beside_another_library(seed, first, true), right[first]);
            wrong[first] += beside_another_library(seed, first, false) != right[first];
        }
    assert_true(wrong[0] > 0 && wrong[1] > 0); /* it is the order that does it */
}

/* ---- threads, faults, the end ------------------------------------------------------------------------------------ */

typedef struct worker {
    int index;
    uint64_t seed;
    rig r;
    list l;
    pthread_t thread;
} worker;

static void *work(void *context)
{
    worker *w = context;
    void *stream;
    if (!o.hip) assert_int_equal(o.api.context_set(gpu_of(w->r.device)->context), 0);
    if (o.hip) assert_int_equal(o.api.device_set(w->index), 0);
    assert_int_equal(o.api.stream_create(&stream, 1), 0);
    for (int step = 0; step < 100; ++step) {
        if (step % 7 == 0) OK(stet_device_use_stream(w->r.device, stream));
        if (step % 7 == 4) OK(stet_device_use_own_stream(w->r.device));
        rig_step(&w->r, &w->l);
    }
    rig_compare(&w->r);
    OK(stet_device_use_own_stream(w->r.device));
    assert_int_equal(o.api.stream_destroy(stream), 0);
    return NULL;
}

static void two_devices_on_two_threads(void **state)
{
    static worker workers[2];
    double_start(o.control, 21);
    for (int i = 0; i < 2; ++i) {
        stet_device_def def = gpu_def();
        stet_device *device;
        def.gpu.index = real_arch ? 0 : i; /* the same device twice is as good */
        OK(stet_device_create(&def, &device));
        workers[i] = (worker){.index = i, .l = {.random = 40 + (uint64_t)i}};
        OK(rig_fill(&workers[i].r, device));
    }
    for (int i = 0; i < 2; ++i) assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    for (int i = 0; i < 2; ++i) assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    for (int i = 0; i < 2; ++i) {
        rig_let_go(&workers[i].r);
        stet_device_destroy(workers[i].r.device);
    }
    nothing_is_left();
}

/*
 * Whichever call of the driver fails while the stream changes: the one before is in use still, and the order is kept.
 */
static void each_call_of_a_change_may_fail(void **state)
{
    for (int64_t n = 1, failed = 0;; ++n) {
        rig r;
        list l = {.random = (uint64_t)n};
        begin_beside((uint64_t)n);
        rig_open(&r);
        void *stream = new_stream(1), *own = stet_device_get_stream(r.device);
        rig_step(&r, &l);
        o.control->fail_call(NULL, n, 1, false);
        int64_t before = o.control->calls(NULL);
        stet_result result = stet_device_use_stream(r.device, stream);
        bool reached = o.control->calls(NULL) - before >= n;
        o.control->fail_call(NULL, 0, 0, false);
        bool changed = stet_device_get_stream(r.device) == stream;
        assert_true(changed || stet_device_get_stream(r.device) == own);
        if (result == STET_OK) assert_true(changed);
        failed += result != STET_OK;
        for (int step = 0; step < 6; ++step) rig_step(&r, &l);
        OK(stet_device_use_stream(r.device, stream));
        for (int step = 0; step < 6; ++step) rig_step(&r, &l);
        rig_compare(&r);
        OK(stet_device_use_own_stream(r.device));
        drop_stream(stream);
        end_beside(&r);
        if (reached) continue;
        assert_true(failed >= 5);
        break;
    }
}

/* A device that goes waits for what it had issued to the caller's stream, and leaves the stream to him. */
static void a_device_goes_while_a_stream_of_the_callers_is_in_use(void **state)
{
    rig r;
    list l = {.random = 1};
    begin_beside(9);
    rig_open(&r);
    void *stream = new_stream(1);
    OK(stet_device_use_stream(r.device, stream));
    for (int step = 0; step < 10; ++step) rig_step(&r, &l);
    rig_let_go(&r);
    stet_device_destroy(r.device);
    assert_int_equal(o.control->alive().streams, real_arch ? 0 : 1);
    drop_stream(stream);
    if (!o.hip) {
        assert_int_equal(o.api.context_set(NULL), 0);
        assert_int_equal(o.api.context_release(0), 0);
    }
    nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REAL_GPU_TEST(kf15_results_are_those_of_one_order),
        REAL_GPU_TEST(a_stream_may_go_when_another_is_used),
        GPU_TEST(the_same_stream_again_costs_nothing),
        REAL_GPU_TEST(kf22_a_block_that_comes_back_is_the_new_users),
        REAL_GPU_TEST(kf16_pieces_of_uploads_outlive_their_copies_in_every_stream),
        GPU_TEST(a_free_never_waits_for_a_stream_of_the_callers),
        GPU_TEST(others_work_is_before_or_behind_when_it_is_said),
        REAL_GPU_TEST(two_devices_on_two_threads),
        GPU_TEST(each_call_of_a_change_may_fail),
        REAL_GPU_TEST(a_device_goes_while_a_stream_of_the_callers_is_in_use),
    };
    return RUN_ON_REAL_GPU_TOO("device/gpu_stream", tests);
}
