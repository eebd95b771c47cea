/*
 * Work of others in graphs of a GPU, over the driver doubles, through the CUDA table and through the HIP table:
 * captured once, replayed, and what becomes of a capture that fails.
 */
#include "device/gpu/gpu_foreign.h"

#include <pthread.h>

static void others_work_is_captured_once_and_replayed(void **state)
{
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        rig r;
        list l = {0};
        void *graph;
        double_start(o.control, seed);
        rig_open(&r);
        foreign f = {.r = &r};
        (void)list_mix(&l, -1, 1, 0, 3, ITEMS);
        int work = list_foreign(&l, issue_foreign, &f);
        (void)list_mix(&l, -1, 3, 2, 1, ITEMS);
        OK(list_graph(&r, &l, &graph));
        rig_compare(&r);
        for (int run = 0; run < 3; ++run) {
            OK(r.device->ops->graph_launch(r.device, graph));
            for (int i = 0; i < l.nop; ++i) {
                if (i == work)
                    on_the_host(&r);
                else
                    list_run_one(&r, &l, i);
            }
            rig_compare(&r);
        }
        assert_int_equal(f.times, 1);
        r.device->ops->graph_free(r.device, graph);
        rig_close(&r);
    }
}

static void kf08_a_capture_that_fails_leaves_nothing(void **state)
{
    rig r;
    list l = {0};
    void *graph;
    rig_open(&r);
    foreign f = {.r = &r, .kind = FAILING};
    (void)list_foreign(&l, issue_foreign, &f);
    FAILS(list_graph(&r, &l, &graph), STET_ERROR_LIMIT, "graph of a test: foreign: ");
    assert_non_null(strstr(stet_get_last_error(), "the work of foreign failed while it was captured: "));
    f.kind = WAITING; /* which breaks the capture */
    assert_int_not_equal(list_graph(&r, &l, &graph), STET_OK);
    assert_non_null(strstr(stet_get_last_error(), "the work of foreign"));
    assert_int_equal(o.control->alive().graphs, 0);
    f.kind = GOOD;
    OK(list_graph(&r, &l, &graph));
    OK(r.device->ops->graph_launch(r.device, graph));
    on_the_host(&r);
    rig_compare(&r);
    r.device->ops->graph_free(r.device, graph);
    rig_close(&r);
}

/* Another thread uses the legacy stream, and allocates, while stet captures. */
typedef struct other_thread {
    void *context, *memory;
    int result;
} other_thread;

static void *use_legacy_stream(void *context)
{
    other_thread *t = context;
    void *more = NULL;
    int value = 0;
    t->result = o.hip ? o.api.device_set(0) : o.api.context_set(t->context);
    if (!t->result) t->result = o.api.fill_async(t->memory, 1, sizeof value, NULL);
    if (!t->result) t->result = o.api.alloc(&more, 64);
    if (!t->result) t->result = o.api.copy_to_host_async(&value, t->memory, sizeof value, NULL);
    if (!t->result) t->result = o.api.stream_synchronize(NULL);
    if (!t->result) t->result = o.api.free(more);
    if (!t->result && value != 0x01010101) t->result = 1;
    return NULL;
}

static stet_result issue_beside_another_thread(void *context, void *stream)
{
    foreign *f = context;
    pthread_t thread;
    other_thread t = {.context = gpu_of(f->r->device)->context, .memory = f->r->array[3]};
    assert_int_equal(pthread_create(&thread, NULL, use_legacy_stream, &t), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(t.result, 0);
    return issue_foreign(context, stream);
}

static void kf09_another_thread_uses_the_legacy_stream_meanwhile(void **state)
{
    rig r;
    list l = {0};
    void *graph;
    rig_open(&r);
    OK(r.device->ops->synchronize(r.device)); /* the other thread's work is not ordered after the uploads */
    foreign f = {.r = &r};
    (void)list_foreign(&l, issue_beside_another_thread, &f);
    OK(list_graph(&r, &l, &graph));
    OK(r.device->ops->graph_launch(r.device, graph));
    on_the_host(&r);
    memset(r.host[3], 1, sizeof r.host[3][0]);
    rig_compare(&r);
    r.device->ops->graph_free(r.device, graph);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REAL_GPU_TEST(others_work_is_captured_once_and_replayed),
        REAL_GPU_TEST(kf08_a_capture_that_fails_leaves_nothing),
        REAL_GPU_TEST(kf09_another_thread_uses_the_legacy_stream_meanwhile),
    };
    return RUN_ON_REAL_GPU_TOO("device/gpu_foreign", tests);
}
