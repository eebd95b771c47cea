/*
 * What goes wrong with graphs of a GPU, over the driver doubles: kernels that fault, each call of the driver and each
 * allocation that fails while a graph is built, set, launched and freed.
 */
#include "device/gpu/gpu_foreign.h"

#include "base/failing.h"

static void a_fault_names_the_graph(void **state)
{
    rig r;
    list l = {0};
    void *graph;
    rig_open(&r);
    (void)list_mix(&l, -1, 0, 1, 3, ITEMS);
    OK(list_graph(&r, &l, &graph));
    o.control->fail_kernel(1, 719);
    stet_result result = r.device->ops->graph_launch(r.device, graph);
    if (result == STET_OK) result = r.device->ops->synchronize(r.device);
    assert_int_equal(result, STET_ERROR_DEVICE);
    assert_non_null(strstr(stet_get_last_error(), "newest first: graph of a test"));
    assert_int_equal(r.device->ops->graph_launch(r.device, graph), STET_ERROR_DEVICE);
    r.device->ops->graph_free(r.device, graph);
    stet_device_destroy(r.device);
    rig_drop(&r);
    begin(NULL);
}

/* Builds, changes and runs a list with a loop (on CUDA) and others' work in it. */
static stet_result one_round(rig *r, list *l, int mix)
{
    const sti_device_ops *ops = r->device->ops;
    void *graph;
    STI_TRY(list_graph(r, l, &graph));
    stet_result result = ops->graph_launch(r->device, graph);
    l->op[mix].number = 3;
    if (result == STET_OK) result = list_set(r, l, graph, mix);
    if (result == STET_OK) result = ops->graph_launch(r->device, graph);
    if (result == STET_OK) result = ops->synchronize(r->device);
    ops->graph_free(r->device, graph);
    return result;
}

static int fill_round(list *l, foreign *f)
{
    int mix = list_mix(l, -1, 1, 0, 3, ITEMS);
    (void)list_foreign(l, issue_foreign, f);
    int loop = o.hip ? -1 : list_while(l, -1, 0, 3);
    (void)list_copy(l, loop, 3, 2);
    (void)list_mix(l, loop, 2, 3, 1, ITEMS);
    if (loop >= 0) list_end(l, loop);
    return mix;
}

/* The n-th call of the driver fails; false: there are not so many. */
static bool fail_at(int64_t n, int code, int64_t *failed)
{
    rig r;
    list l = {0};
    begin(NULL);
    rig_open(&r);
    foreign f = {.r = &r};
    int mix = fill_round(&l, &f);
    o.control->fail_call(NULL, n, code, false);
    int64_t before = o.control->calls(NULL);
    stet_result result = one_round(&r, &l, mix);
    bool reached = o.control->calls(NULL) - before >= n;
    o.control->fail_call(NULL, 0, 0, false);
    *failed += result != STET_OK;
    /* Where the call that failed was one that lets go, it is what is left. */
    int64_t left = o.control->alive().graphs;
    assert_true(left == 0 || result == STET_OK);
    /* What was built is gone, and the next round is good; but a lost device stays lost. */
    bool lost = gpu_of(r.device)->lost;
    if (lost) assert_int_equal(code, 719);
    assert_int_equal(one_round(&r, &l, mix), lost ? STET_ERROR_DEVICE : STET_OK);
    rig_let_go(&r);
    stet_device_destroy(r.device);
    if (!lost) nothing_is_left();
    return reached;
}

static void each_call_may_fail(void **state)
{
    static const int codes[] = {1, 2, 719};
    for (size_t c = 0; c < sizeof codes / sizeof *codes; ++c) {
        int64_t n = 1, failed = 0;
        while (fail_at(n, codes[c], &failed)) ++n;
        assert_true(n > 30 && failed > 20);
    }
    begin(NULL);
}

static stet_result round_on_a_new_device(void)
{
    rig r;
    list l = {0};
    stet_device *device;
    foreign f = {.r = &r};
    stet_device_def def = gpu_def();
    begin(NULL);
    STI_TRY(stet_device_create(&def, &device));
    int mix = fill_round(&l, &f);
    stet_result result = rig_fill(&r, device);
    if (result == STET_OK) result = one_round(&r, &l, mix);
    rig_let_go(&r);
    assert_int_equal(o.control->alive().graphs, 0);
    close_gpu(device);
    return result;
}

static void each_allocation_may_fail(void **state)
{
    assert_true(fail_each_allocation(round_on_a_new_device, false) >= 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_fault_names_the_graph),
        GPU_TEST(each_call_may_fail),
        GPU_TEST(each_allocation_may_fail),
    };
    return RUN_ON_DOUBLES("device/gpu_graph_fault", tests);
}
