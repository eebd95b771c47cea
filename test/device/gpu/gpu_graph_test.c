/*
 * Graphs of GPUs over the driver doubles, through the CUDA table and through the HIP table: lists of operations against
 * the same done one after the other on the host, changes of numbers and arguments, loops, limits, drivers that lack
 * something.
 */
#include "device/gpu/gpu_graph.h"

/* ---- random lists ------------------------------------------------------------------------------------------------ */

/* A list as it is made, run on the device as a graph, and on the host by this test: both must agree. */
static void run_and_compare(rig *r, list *l, void *graph)
{
    OK(r->device->ops->graph_launch(r->device, graph));
    list_run(r, l);
    rig_compare(r);
}

static void random_list(uint64_t seed)
{
    rig r;
    list l = {.random = seed};
    void *graph;
    double_start(o.control, seed);
    rig_open(&r);
    list_fill(&l, !o.hip);
    OK(list_graph(&r, &l, &graph));
    rig_compare(&r); /* building runs nothing */
    for (int run = 0; run < 3; ++run) {
        run_and_compare(&r, &l, graph);
        list_change(&r, &l, graph);
    }
    r.device->ops->graph_free(r.device, graph);
    rig_close(&r);
}

static void random_lists_as_one_by_one(void **state)
{
    for (uint64_t seed = 1; seed <= 40; ++seed) random_list(seed);
}

/* ---- numbers and blocks that change ------------------------------------------------------------------------------ */

static void a_launch_of_nothing_and_of_more(void **state)
{
    static const int64_t counts[] = {5, 0, ITEMS, 1, 0, 7};
    rig r;
    list l = {0};
    void *graph;
    rig_open(&r);
    int mix = list_mix(&l, -1, 0, 1, 3, 5);
    OK(list_graph(&r, &l, &graph));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
        int64_t before = o.control->calls("graph_instantiate");
        l.op[mix].number = counts[i];
        OK(list_set(&r, &l, graph, mix));
        run_and_compare(&r, &l, graph);
        assert_int_equal(o.control->calls("graph_instantiate"), before);
    }
    FAILS(r.device->ops->graph_set(r.device, graph, 7, NULL, 0, 1), STET_ERROR_INVALID_ARGUMENT,
          "graph of a test: operation 7 has nothing that could be set");
    r.device->ops->graph_free(r.device, graph);
    rig_close(&r);
}

static void arguments_are_those_that_were_set_last(void **state)
{
    rig r;
    list l = {0};
    void *graph;
    rig_open(&r);
    int mix = list_mix(&l, -1, 0, 1, 3, ITEMS);
    OK(list_graph(&r, &l, &graph));
    run_and_compare(&r, &l, graph);
    for (int k = 1000; k < 1004; ++k) { /* set while the launch before is still to run, which keeps its own */
        l.op[mix].k = k;
        OK(list_set(&r, &l, graph, mix));
        OK(r.device->ops->graph_launch(r.device, graph));
        list_run(&r, &l);
    }
    run_and_compare(&r, &l, graph);
    r.device->ops->graph_free(r.device, graph);
    rig_close(&r);
}

static void nothing_at_all_and_empty_copies(void **state)
{
    rig r;
    list none = {0}, l = {0};
    void *graph;
    rig_open(&r);
    OK(list_graph(&r, &none, &graph));
    run_and_compare(&r, &none, graph);
    r.device->ops->graph_free(r.device, graph);
    r.device->ops->graph_free(r.device, NULL);
    (void)list_mix(&l, -1, 0, 1, 3, ITEMS);
    int copy = list_copy(&l, -1, 2, 0);
    l.op[copy].number = 0;
    (void)list_mix(&l, -1, 0, 2, 1, ITEMS);
    OK(list_graph(&r, &l, &graph));
    run_and_compare(&r, &l, graph);
    FAILS(r.device->ops->graph_set(r.device, graph, copy, NULL, 0, 1), STET_ERROR_INVALID_ARGUMENT,
          "operation 1 has nothing");
    r.device->ops->graph_free(r.device, graph);
    rig_close(&r);
}

/* As for single launches, and before the driver sees anything. */
static void limits_are_those_of_launches(void **state)
{
    rig r;
    list l = {0};
    void *graph;
    double_config config = o.control->defaults();
    config.max_grid = 1000;
    o.control->start(&config);
    rig_open(&r);
    int mix = list_mix(&l, -1, 0, 1, 3, ITEMS);
    OK(list_graph(&r, &l, &graph));
    l.op[mix].number = 1001;
    FAILS(list_set(&r, &l, graph, mix), STET_ERROR_LIMIT, "kernel mix: 1001 blocks; 1000 are possible");
    l.op[mix].number = ITEMS;
    run_and_compare(&r, &l, graph);
    r.device->ops->graph_free(r.device, graph);
    r.mix.team = 2000;
    FAILS(list_graph(&r, &l, &graph), STET_ERROR_LIMIT, "kernel mix: blocks of 2000 × 1 threads");
    assert_null(graph);
    rig_close(&r);
}

static void a_graph_that_runs_may_be_freed(void **state)
{
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        rig r;
        list l = {.random = seed};
        void *graph;
        double_start(o.control, seed);
        rig_open(&r);
        list_fill(&l, !o.hip);
        OK(list_graph(&r, &l, &graph));
        OK(r.device->ops->graph_launch(r.device, graph));
        r.device->ops->graph_free(r.device, graph);
        list_run(&r, &l);
        rig_compare(&r);
        rig_close(&r);
    }
}

/* ---- kernels that are started early ------------------------------------------------------------------------------ */

/* How many kernels of a list might have been started while those before them ended. */
static int64_t early(int version, int major)
{
    rig r;
    list l = {0};
    void *graph;
    double_config config = o.control->defaults();
    config.cuda_version = version;
    o.control->start(&config);
    rig_open(&r);
    gpu_of(r.device)->facts.fact[STI_GPU_MAJOR] = major; /* of which the code is does not matter to the double */
    (void)list_mix(&l, -1, 0, 1, 3, ITEMS);              /* nothing before it */
    (void)list_mix(&l, -1, 0, 2, 5, ITEMS);              /* behind a kernel */
    (void)list_copy(&l, -1, 1, 0);
    (void)list_mix(&l, -1, 0, 1, 7, ITEMS); /* behind a kernel and a copy */
    (void)list_mix(&l, -1, 3, 1, 9, ITEMS); /* behind a copy */
    (void)list_less(&l, -1, 0);             /* behind a kernel, but it does not wait */
    (void)list_mix(&l, -1, 0, 3, 1, ITEMS); /* behind two kernels */
    OK(list_graph(&r, &l, &graph));
    for (int run = 0; run < 2; ++run) run_and_compare(&r, &l, graph);
    OK(list_set(&r, &l, graph, 1)); /* a node that is set keeps its edges */
    run_and_compare(&r, &l, graph);
    r.device->ops->graph_free(r.device, graph);
    int64_t found = o.control->early();
    rig_close(&r);
    return found;
}

static void kernels_that_wait_by_themselves_may_be_early(void **state)
{
    assert_int_equal(early(13000, 9), o.hip ? 0 : 3 * 3);
    assert_int_equal(early(13000, 8), 0); /* the device cannot */
    assert_int_equal(early(12020, 9), 0); /* the driver cannot */
}

/* The double finds a kernel that says it waits and does not. */
static void a_kernel_that_lies_is_found(void **state)
{
    char text[200];
    rig r;
    list l = {0};
    void *graph;
    rig_open(&r);
    r.less.waits = true;
    (void)list_mix(&l, -1, 0, 1, 3, ITEMS);
    (void)list_less(&l, -1, 0);
    OK(list_graph(&r, &l, &graph));
    run_and_compare(&r, &l, graph);
    assert_int_equal(o.control->report(text, sizeof text), o.hip ? 0 : 1);
    if (!o.hip) assert_non_null(strstr(text, "kernel less_value: may be started"));
    r.device->ops->graph_free(r.device, graph);
    rig_close(&r);
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

static void a_loop_ends_by_its_condition_or_its_most(void **state)
{
    static const struct {
        unsigned condition;
        int64_t most, trips;
    } cases[] = {{3, 10, 3}, {10, 3, 3}, {0, 5, 0}, {5, 0, 0}, {1, 1, 1}};
    if (o.hip) return;
    rig r;
    list l = {0};
    void *graph;
    rig_open(&r);
    int loop = list_while(&l, -1, 0, 1);
    (void)list_mix(&l, loop, 1, 2, 1, 1);
    (void)list_less(&l, loop, 0);
    list_end(&l, loop);
    OK(list_graph(&r, &l, &graph));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        rig_set(&r, 0, cases[i].condition);
        l.op[loop].number = cases[i].most;
        OK(list_set(&r, &l, graph, loop));
        run_and_compare(&r, &l, graph);
        assert_int_equal(l.trips, cases[i].trips);
    }
    r.device->ops->graph_free(r.device, graph);
    rig_close(&r);
}

static void without_conditional_nodes_loops_are_refused(void **state)
{
    rig r;
    list l = {0};
    void *graph;
    double_config config = o.control->defaults();
    config.cuda_version = 12020;
    o.control->start(&config);
    rig_open(&r);
    int loop = list_while(&l, -1, 0, 1);
    list_end(&l, loop);
    FAILS(list_graph(&r, &l, &graph), STET_ERROR_UNSUPPORTED,
          o.hip ? "loops in graphs need conditional nodes, which HIP does not have"
                : "graph of a test: while: cuda:0 (Double GeForce 0): graph_condition failed");
    assert_null(graph);
    rig_close(&r);
    if (o.hip) return;
    begin(NULL);
    rig_open(&r);
    sti_gpu_api *api = &gpu_of(r.device)->driver.api;
    api->graph_condition = NULL; /* as in a driver that lacks the symbol */
    FAILS(list_graph(&r, &l, &graph), STET_ERROR_UNSUPPORTED,
          "loops in graphs need cuGraphConditionalHandleCreate, which ");
    r.condition.block = NULL;
    rig_close(&r);
    rig_open(&r);
    r.use_condition = false;
    FAILS(list_graph(&r, &l, &graph), STET_ERROR_UNSUPPORTED,
          "there is no code that looks at the condition of loop while");
    rig_close(&r);
}

/* ---- drivers without … ------------------------------------------------------------------------------------------- */

static void a_driver_without_graphs_says_what_it_lacks(void **state)
{
    rig r;
    list l = {0};
    void *graph;
    rig_open(&r);
    (void)list_mix(&l, -1, 0, 1, 3, ITEMS);
    sti_gpu_api *api = &gpu_of(r.device)->driver.api, all = *api;
    int64_t calls = o.control->calls(NULL);
    api->graph_instantiate = NULL;
    api->graph_exec_set_kernel = NULL;
    FAILS(list_graph(&r, &l, &graph), STET_ERROR_UNSUPPORTED,
          o.hip
              ? "AMD's driver (HIP): graphs need hipGraphInstantiateWithFlags, hipGraphExecKernelNodeSetParams, which /"
              : "NVIDIA's driver: graphs need cuGraphInstantiateWithFlags, cuGraphExecKernelNodeSetParams_v2, which /");
    assert_int_equal(o.control->calls(NULL), calls);
    assert_non_null(strstr(stet_device_get_instead(r.device, STET_REUSE_GRAPHS), "lacks functions of graphs"));
    *api = all;
    assert_null(stet_device_get_instead(r.device, STET_REUSE_GRAPHS));
    api->graph_upload = NULL; /* does without */
    OK(list_graph(&r, &l, &graph));
    run_and_compare(&r, &l, graph);
    r.device->ops->graph_free(r.device, graph);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REAL_GPU_TEST(random_lists_as_one_by_one),
        GPU_TEST(a_launch_of_nothing_and_of_more),
        REAL_GPU_TEST(arguments_are_those_that_were_set_last),
        REAL_GPU_TEST(nothing_at_all_and_empty_copies),
        GPU_TEST(limits_are_those_of_launches),
        REAL_GPU_TEST(a_graph_that_runs_may_be_freed),
        GPU_TEST(kernels_that_wait_by_themselves_may_be_early),
        GPU_TEST(a_kernel_that_lies_is_found),
        REAL_GPU_TEST(a_loop_ends_by_its_condition_or_its_most),
        GPU_TEST(without_conditional_nodes_loops_are_refused),
        GPU_TEST(a_driver_without_graphs_says_what_it_lacks),
    };
    return RUN_ON_REAL_GPU_TOO("device/gpu_graph", tests);
}
