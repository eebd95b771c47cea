/*
 * Graphs and capture over the double: edges are all the order there is, and what a driver refuses while a stream is
 * captured is refused.
 */
#include "double/graph_rig.h"

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* (1 + 2) · 3, or 1 · 3 + 2 where nothing orders the two. */
static int two_nodes(uint64_t seed, bool edge)
{
    load(seed);
    void *memory = new_int(1), *graph = new_graph();
    void *first = add_kernel(graph, NULL, 0, plus, memory, 2);
    add_kernel(graph, &first, edge, times, memory, 3);
    run(instantiate(graph));
    return read_int(memory);
}

static void a_missing_edge_shows(void **state)
{
    int right = 0, wrong = 0;
    for (uint64_t seed = 1; seed <= 30; ++seed) {
        assert_int_equal(two_nodes(seed, true), 9);
        int got = two_nodes(seed, false);
        right += got == 9;
        wrong += got == 5;
    }
    assert_true(right > 0 && wrong > 0);
    assert_int_equal(right + wrong, 30);
}

static void a_child_is_a_node(void **state)
{
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        load(seed);
        void *memory = new_int(1), *child = new_graph(), *graph = new_graph(), *middle;
        void *inner = add_kernel(child, NULL, 0, times, memory, 5);
        add_kernel(child, &inner, 1, plus, memory, 1);
        void *first = add_kernel(graph, NULL, 0, plus, memory, 1);
        assert_int_equal(o.api.graph_add_child(&middle, graph, &first, 1, child), 0);
        add_kernel(graph, &middle, 1, times, memory, 10);
        assert_int_equal(o.api.graph_destroy(child), 0);
        run(instantiate(graph));
        assert_int_equal(read_int(memory), 110);
    }
}

static void an_executable_outlives_its_graph_and_runs_again(void **state)
{
    void *memory = new_int(1), *graph = new_graph();
    add_kernel(graph, NULL, 0, times, memory, 2);
    void *exec = instantiate(graph);
    assert_int_equal(o.api.graph_destroy(graph), 0);
    for (int i = 0; i < 3; ++i) run(exec);
    assert_int_equal(read_int(memory), 8);
    assert_int_equal(o.api.graph_exec_destroy(exec), 0);
    assert_int_equal(o.api.graph_launch(exec, NULL), 400);
    assert_int_equal(o.control->alive().graphs, 0);
}

static void a_node_of_another_graph_is_refused(void **state)
{
    parameters p;
    long long k = 1;
    void *memory = new_int(1), *graph = new_graph(), *other = new_graph(), *node;
    void *first = add_kernel(graph, NULL, 0, plus, memory, k);
    const void *described = describe(&p, plus, &memory, &k);
    assert_int_equal(o.api.graph_add_kernel(&node, other, &first, 1, described), 1);
}

/* ---- change ------------------------------------------------------------------------------------------------------ */

static int update(void *exec, void *graph)
{
    struct {
        int result;
        void *node, *from;
    } outcome;
    void *node;
    int result;
    return o.hip ? o.api.graph_exec_update_into(exec, graph, &node, &result)
                 : o.api.graph_exec_update(exec, graph, &outcome);
}

static void an_update_keeps_the_shape_or_is_refused(void **state)
{
    void *memory = new_int(1), *graph = new_graph(), *same = new_graph(), *longer = new_graph();
    add_kernel(graph, NULL, 0, times, memory, 2);
    add_kernel(same, NULL, 0, plus, memory, 100);
    add_kernel(longer, NULL, 0, plus, memory, 1);
    add_kernel(longer, NULL, 0, plus, memory, 1);
    void *exec = instantiate(graph);
    run(exec);
    assert_int_equal(update(exec, longer), 910);
    run(exec);
    assert_int_equal(read_int(memory), 4);
    assert_int_equal(update(exec, same), 0);
    run(exec);
    assert_int_equal(read_int(memory), 104);
}

static void a_node_takes_other_arguments(void **state)
{
    parameters p;
    long long k = 7;
    void *memory = new_int(1), *graph = new_graph();
    void *node = add_kernel(graph, NULL, 0, times, memory, 2), *exec = instantiate(graph);
    assert_int_equal(o.api.graph_exec_set_kernel(exec, node, describe(&p, times, &memory, &k)), 0);
    run(exec);
    assert_int_equal(read_int(memory), 7);
}

/* ---- capture ----------------------------------------------------------------------------------------------------- */

static void a_captured_stream_runs_nothing_and_becomes_a_graph(void **state)
{
    int status;
    void *s = stream(1), *other = stream(1), *fork, *join, *graph, *a = new_int(1), *b = new_int(1);
    assert_int_equal(o.api.event_create(&fork, 2), 0);
    assert_int_equal(o.api.event_create(&join, 2), 0);
    assert_int_equal(o.api.capture_begin(s, 2), 0);
    assert_int_equal(launch(plus, s, a, 1), 0);
    assert_int_equal(o.api.event_record(fork, s), 0);
    assert_int_equal(o.api.stream_wait_event(other, fork, 0), 0);
    assert_int_equal(launch(times, other, b, 3), 0);
    assert_int_equal(o.api.event_record(join, other), 0);
    assert_int_equal(launch(times, s, a, 5), 0);
    assert_int_equal(o.api.capture_status(other, &status), 0);
    assert_int_equal(status, 1);
    assert_int_equal(o.api.stream_wait_event(s, join, 0), 0);
    assert_int_equal(launch(plus, s, b, 1), 0);
    assert_int_equal(o.api.capture_end(s, &graph), 0);
    assert_int_equal(o.control->waiting(), 0);
    assert_int_equal(read_int(a), 1);
    run(instantiate(graph));
    assert_int_equal(read_int(a), 10);
    assert_int_equal(read_int(b), 4);
}

static void a_fork_that_was_not_joined_is_refused(void **state)
{
    void *s = stream(1), *other = stream(1), *fork, *graph, *a = new_int(1);
    assert_int_equal(o.api.event_create(&fork, 2), 0);
    assert_int_equal(o.api.capture_begin(s, 2), 0);
    assert_int_equal(o.api.event_record(fork, s), 0);
    assert_int_equal(o.api.stream_wait_event(other, fork, 0), 0);
    assert_int_equal(launch(times, other, a, 3), 0);
    assert_int_equal(o.api.capture_end(s, &graph), 904);
    assert_int_equal(o.control->alive().graphs, 0);
}

static void kf09_the_legacy_stream_breaks_a_blocking_streams_capture(void **state)
{
    void *s = stream(0), *graph, *a = new_int(1);
    assert_int_equal(o.api.capture_begin(NULL, 2), 900);
    assert_int_equal(o.api.capture_begin(s, 2), 0);
    assert_int_equal(launch(plus, NULL, a, 1), 906);
    assert_int_equal(launch(plus, s, a, 1), 901);
    assert_int_equal(o.api.capture_end(s, &graph), 901);
    s = stream(1); /* one that does not block is left alone */
    assert_int_equal(o.api.capture_begin(s, 2), 0);
    assert_int_equal(launch(plus, NULL, a, 1), 0);
    assert_int_equal(launch(plus, s, a, 1), 0);
    assert_int_equal(o.api.capture_end(s, &graph), 0);
}

static void a_capture_has_a_number_of_its_own(void **state)
{
    int status = 7;
    uint64_t id[3] = {0};
    void *s = stream(1), *other = stream(1), *fork, *graph;
    assert_int_equal(o.api.event_create(&fork, 2), 0);
    assert_int_equal(o.api.capture_info(s, &status, &id[0], NULL, NULL, NULL), 0);
    assert_true(status == 0 && id[0] == 0);
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(o.api.capture_begin(s, 2), 0);
        assert_int_equal(o.api.capture_info(s, &status, &id[i], NULL, NULL, NULL), 0);
        assert_true(status == 1 && id[i] != 0);
        assert_int_equal(o.api.event_record(fork, s), 0);
        assert_int_equal(o.api.stream_wait_event(other, fork, 0), 0);
        assert_int_equal(o.api.capture_info(other, &status, &id[2], NULL, NULL, NULL), 0);
        assert_true(status == 1 && id[2] == id[i]); /* the same capture */
        assert_int_equal(o.api.capture_end(s, &graph), 0);
    }
    assert_true(id[0] != id[1]);
    s = stream(0);
    assert_int_equal(o.api.capture_begin(s, 2), 0);
    assert_int_equal(o.api.capture_status(NULL, &status), 906); /* asking breaks nothing */
    assert_int_equal(o.api.capture_end(s, &graph), 0);
}

static void what_is_captured_waits_for_nothing_outside(void **state)
{
    void *s = stream(1), *other = stream(1), *event, *graph, *a = new_int(1);
    assert_int_equal(o.api.event_create(&event, 2), 0);
    assert_int_equal(launch(plus, other, a, 1), 0);
    assert_int_equal(o.api.event_record(event, other), 0);
    assert_int_equal(o.api.capture_begin(s, 2), 0);
    assert_int_equal(o.api.stream_wait_event(s, event, 0), 905);
    assert_int_equal(o.api.capture_end(s, &graph), 901);
}

static void waiting_and_allocating_break_a_capture(void **state)
{
    void *s = stream(1), *graph, *memory;
    assert_int_equal(o.api.capture_begin(s, 0), 0);
    assert_int_equal(o.api.alloc(&memory, 8), 900);
    assert_int_equal(o.api.capture_end(s, &graph), 901);
    assert_int_equal(o.api.capture_begin(s, 2), 0); /* relaxed */
    assert_int_equal(o.api.alloc(&memory, 8), 0);
    assert_int_equal(o.api.stream_synchronize(s), 900);
    assert_int_equal(o.api.capture_end(s, &graph), 901);
}

int main(void)
{
    int failed = 0;
    for (int hip = 0; hip < 2; ++hip) {
        void *state = hip ? &o : NULL;
        const struct CMUnitTest tests[] = {
            DOUBLE_TEST(a_missing_edge_shows),
            DOUBLE_TEST(a_child_is_a_node),
            DOUBLE_TEST(an_executable_outlives_its_graph_and_runs_again),
            DOUBLE_TEST(a_node_of_another_graph_is_refused),
            DOUBLE_TEST(an_update_keeps_the_shape_or_is_refused),
            DOUBLE_TEST(a_node_takes_other_arguments),
            DOUBLE_TEST(a_captured_stream_runs_nothing_and_becomes_a_graph),
            DOUBLE_TEST(a_fork_that_was_not_joined_is_refused),
            DOUBLE_TEST(kf09_the_legacy_stream_breaks_a_blocking_streams_capture),
            DOUBLE_TEST(a_capture_has_a_number_of_its_own),
            DOUBLE_TEST(what_is_captured_waits_for_nothing_outside),
            DOUBLE_TEST(waiting_and_allocating_break_a_capture),
        };
        failed += cmocka_run_group_tests_name(hip ? "hip" : "cuda", tests, NULL, NULL);
    }
    return failed;
}
