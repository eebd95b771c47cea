/*
 * Loops in graphs over the CUDA double: conditional nodes, whose number kernels set.
 */
#include "double/graph_rig.h"

static void *going; /* kernel: the loop of handle k goes on while a[0] is not 0, which is one less then */

typedef struct loop_parameters {
    int type, zero[3];
    uint64_t handle;
    int kind;
    unsigned size;
    void **bodies;
    void *context;
    char rest[208];
} loop_parameters;

static void load_loops(uint64_t seed)
{
    static const char *const source =
        "extern \"C\" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned value);\n"
        "extern \"C\" __global__ void going(int *a, long long handle)\n"
        "{\n"
        "    cudaGraphSetConditional((unsigned long long)handle, a[0] != 0);\n"
        "    if (a[0] > 0) a[0] -= 1;\n"
        "}\n";
    load(seed);
    void *code = entries_module(&o, source);
    going = entries_function(&o, code, "going");
}

static int loops_set_up(void **state)
{
    entries_open(&o, false);
    load_loops(3);
    return 0;
}

static void *context(void)
{
    void *now;
    assert_int_equal(o.api.context_get(&now), 0);
    return now;
}

static uint64_t new_handle(void *graph)
{
    uint64_t handle = 0;
    assert_int_equal(o.api.graph_condition(&handle, graph, context(), 0, 0), 0);
    assert_true(handle != 0);
    return handle;
}

static int try_loop(void *graph, void *after, uint64_t handle, void **node, void **body)
{
    loop_parameters p = {.type = 13, .handle = handle, .kind = 1, .size = 1, .context = context()};
    int result = o.api.graph_add_node(node, graph, &after, NULL, after != NULL, &p);
    if (!result) *body = p.bodies[0];
    return result;
}

/* A loop behind `after` that runs while the number at `counter` is not 0, which each look makes less. */
static void *add_loop(void *graph, void *after, void *counter, void **body, void **last)
{
    void *node;
    uint64_t handle = new_handle(graph);
    void *look = add_kernel(graph, &after, after != NULL, going, counter, (long long)handle);
    assert_int_equal(try_loop(graph, look, handle, &node, body), 0);
    *last = (void *)(uintptr_t)handle;
    return node;
}

static void end_loop(void *body, void *after, void *counter, void *handle)
{
    (void)add_kernel(body, &after, after != NULL, going, counter, (long long)(uintptr_t)handle);
}

static void a_loop_runs_while_its_kernels_say_so(void **state)
{
    for (int trips = 0; trips < 5; ++trips)
        for (uint64_t seed = 1; seed <= 5; ++seed) {
            load_loops(seed);
            void *counter = new_int(trips), *sum = new_int(0), *graph = new_graph(), *body, *handle;
            void *node = add_loop(graph, NULL, counter, &body, &handle);
            void *first = add_kernel(body, NULL, 0, plus, sum, 1), *second = add_kernel(body, &first, 1, times, sum, 2);
            end_loop(body, second, counter, handle);
            add_kernel(graph, &node, 1, plus, sum, 100);
            run(instantiate(graph));
            assert_int_equal(read_int(sum), (1 << (trips + 1)) - 2 + 100);
        }
}

static void loops_in_loops_and_again(void **state)
{
    void *outer = new_int(3), *inner = new_int(0), *sum = new_int(0), *graph = new_graph(), *body[2], *handle[2];
    add_loop(graph, NULL, outer, &body[0], &handle[0]);
    void *set = add_kernel(body[0], NULL, 0, plus, inner, 2);
    void *node = add_loop(body[0], set, inner, &body[1], &handle[1]);
    void *one = add_kernel(body[1], NULL, 0, plus, sum, 1);
    end_loop(body[1], one, inner, handle[1]);
    end_loop(body[0], node, outer, handle[0]);
    void *exec = instantiate(graph);
    run(exec);
    assert_int_equal(read_int(sum), 6);
    memcpy(o.control->look((uintptr_t)outer), &(int){2}, sizeof(int));
    run(exec);
    assert_int_equal(read_int(sum), 10);
    parameters p;
    long long ten = 10;
    assert_int_equal(o.api.graph_exec_set_kernel(exec, one, describe(&p, plus, &sum, &ten)), 0); /* in a body */
    memcpy(o.control->look((uintptr_t)outer), &(int){1}, sizeof(int));
    run(exec);
    assert_int_equal(read_int(sum), 30);
}

static void a_handle_is_for_one_loop_of_one_graph(void **state)
{
    void *graph = new_graph(), *other = new_graph(), *node, *body;
    uint64_t handle = new_handle(graph);
    assert_int_equal(try_loop(other, NULL, handle, &node, &body), 1);
    assert_int_equal(try_loop(graph, NULL, handle + 1000, &node, &body), 1);
    assert_int_equal(try_loop(graph, NULL, handle, &node, &body), 0);
    assert_int_equal(try_loop(graph, NULL, handle, &node, &body), 1);
    assert_int_equal(o.api.graph_destroy(body), 400); /* it goes with its graph */
    assert_int_equal(o.api.graph_destroy(graph), 0);
    assert_int_equal(o.api.graph_destroy(body), 400);
}

static void a_number_that_nobody_set_is_reported(void **state)
{
    char text[256];
    void *graph = new_graph(), *node, *body;
    assert_int_equal(try_loop(graph, NULL, new_handle(graph), &node, &body), 0);
    run(instantiate(graph));
    assert_int_equal(o.control->report(text, sizeof text), 1);
    assert_non_null(strstr(text, "a loop looks at a condition that no kernel has set"));
    void *wrong = new_graph(), *counter = new_int(1);
    add_kernel(wrong, NULL, 0, going, counter, 5);
    run(instantiate(wrong));
    assert_int_equal(o.control->report(text, sizeof text), 1);
    assert_non_null(strstr(text, "of a handle that there is not: 5"));
}

static void an_old_driver_has_no_loops(void **state)
{
    uint64_t handle;
    double_config config = o.control->defaults();
    config.cuda_version = 12020;
    entries_start(&o, &config);
    void *graph = new_graph();
    assert_int_equal(o.api.graph_condition(&handle, graph, context(), 0, 0), 801);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, loops_set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_loop_runs_while_its_kernels_say_so),
        TEST(loops_in_loops_and_again),
        TEST(a_handle_is_for_one_loop_of_one_graph),
        TEST(a_number_that_nobody_set_is_reported),
        TEST(an_old_driver_has_no_loops),
    };
    return cmocka_run_group_tests_name("double/loop", tests, NULL, NULL);
}
