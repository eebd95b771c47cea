/*
 * For tests of the double's graphs: two kernels that do not commute, numbers on the device, nodes with the parameters
 * of either driver.
 */
#ifndef TEST_DOUBLE_GRAPH_RIG_H
#define TEST_DOUBLE_GRAPH_RIG_H

#include "double/entries.h"

static opened o;
static void *module, *times, *plus; /* kernels: a[0] *= k, a[0] += k */

static inline void load(uint64_t seed)
{
    static const char *const source =
        "extern \"C\" __global__ void times(int *a, long long k) { a[0] = (int)(a[0] * k); }\n"
        "extern \"C\" __global__ void plus(int *a, long long k) { a[0] = (int)(a[0] + k); }\n";
    entries_start_seed(&o, seed);
    module = entries_module(&o, source);
    times = entries_function(&o, module, "times");
    plus = entries_function(&o, module, "plus");
}

static inline int set_up(void **state)
{
    entries_open(&o, *state != NULL);
    load(3);
    return 0;
}

static inline int tear_down(void **state)
{
    double_expect_clean(o.control);
    return 0;
}

static inline void *new_int(int value)
{
    void *memory;
    assert_int_equal(o.api.alloc(&memory, sizeof value), 0);
    memcpy(o.control->look((uintptr_t)memory), &value, sizeof value);
    return memory;
}

static inline int read_int(void *memory)
{
    int value;
    memcpy(&value, o.control->look((uintptr_t)memory), sizeof value);
    return value;
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

typedef struct cuda_kernel {
    void *function;
    unsigned grid[3], block[3], shared;
    void **arguments, **extra;
    void *kernel, *context;
} cuda_kernel;
typedef struct hip_kernel {
    unsigned block[3];
    void **extra;
    void *function;
    unsigned grid[3];
    void **arguments;
    unsigned shared;
} hip_kernel;

typedef struct parameters {
    cuda_kernel cuda;
    hip_kernel hip;
    void *argument[2];
} parameters;

static inline const void *describe(parameters *p, void *function, void **memory, long long *k)
{
    *p = (parameters){.argument = {memory, k}};
    p->cuda = (cuda_kernel){.function = function, .grid = {1, 1, 1}, .block = {1, 1, 1}, .arguments = p->argument};
    p->hip = (hip_kernel){.function = function, .grid = {1, 1, 1}, .block = {1, 1, 1}, .arguments = p->argument};
    return o.hip ? (const void *)&p->hip : (const void *)&p->cuda;
}

static inline void *add_kernel(void *graph, void *const *after, size_t nafter, void *function, void *memory,
                               long long k)
{
    parameters p;
    void *node;
    const void *described = describe(&p, function, &memory, &k);
    assert_int_equal(o.api.graph_add_kernel(&node, graph, after, nafter, described), 0);
    return node;
}

static inline void *new_graph(void)
{
    void *graph;
    assert_int_equal(o.api.graph_create(&graph, 0), 0);
    return graph;
}

static inline void *instantiate(void *graph)
{
    void *exec;
    assert_int_equal(o.api.graph_instantiate(&exec, graph, 0), 0);
    return exec;
}

static inline void run(void *exec)
{
    assert_int_equal(o.api.graph_launch(exec, NULL), 0);
    assert_int_equal(o.api.stream_synchronize(NULL), 0);
}

static inline void *stream(unsigned flags)
{
    void *s;
    assert_int_equal(o.api.stream_create(&s, flags), 0);
    return s;
}

static inline int launch(void *function, void *s, void *memory, long long k)
{
    void *arguments[] = {&memory, &k};
    return o.api.launch(function, 1, 1, 1, 1, 1, 1, 0, s, arguments, NULL);
}

#endif
