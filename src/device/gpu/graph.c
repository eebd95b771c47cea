/* Graphs of a GPU: making, changing, launching, freeing; invariants in graph.h. */
#include "device/gpu/graph.h"

#include "base/memory.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- making and letting go --------------------------------------------------------------------------------------- */

static int count_graph(const sti_graph_op *ops, int nop, sti_graph_kind kind)
{
    int n = 0;
    for (int i = 0; i < nop; ++i) n += ops[i].kind == kind;
    return n;
}

static stet_result check_loops(const sti_gpu *gpu, const sti_graph_op *ops, int nop)
{
    static const char *const names[] = {"graph_add_node", "graph_condition", NULL};
    if (!gpu->driver.vendor->add_while)
        return sti_error(STET_ERROR_UNSUPPORTED, "%s: loops in graphs need conditional nodes, which %s does not have",
                         gpu->where, gpu->driver.vendor->title);
    STI_TRY(sti_gpu_driver_needs(&gpu->driver, names, "loops in graphs"));
    for (int i = 0; i < nop; ++i)
        if (ops[i].kind == STI_GRAPH_WHILE && !ops[i].code)
            return sti_error(STET_ERROR_UNSUPPORTED, "%s: there is no code that looks at the condition of loop %s",
                             gpu->where, ops[i].name);
    return STET_OK;
}

static stet_result check_driver(const sti_gpu *gpu, const sti_graph_op *ops, int nop)
{
    static const char *const names[] = {"graph_create",
                                        "graph_destroy",
                                        "graph_add_kernel",
                                        "graph_add_copy",
                                        "graph_add_copy_1d",
                                        "graph_add_empty",
                                        "graph_instantiate",
                                        "graph_exec_destroy",
                                        "graph_exec_set_kernel",
                                        "graph_launch",
                                        NULL};
    static const char *const captures[] = {"capture_begin", "capture_end", "graph_add_child", NULL};
    STI_TRY(sti_gpu_driver_needs(&gpu->driver, names, "graphs"));
    if (count_graph(ops, nop, STI_GRAPH_FOREIGN))
        STI_TRY(sti_gpu_driver_needs(&gpu->driver, captures, "captures of others' work"));
    return count_graph(ops, nop, STI_GRAPH_WHILE) ? check_loops(gpu, ops, nop) : STET_OK;
}

typedef struct making {
    const sti_graph_op *ops;
    const sti_edge *edges;
    int nedge;
} making;

static stet_result make_counters(sti_gpu *gpu, sti_gpu_graph *g, const making *m)
{
    void *left = NULL;
    int nloop = count_graph(m->ops, g->nop, STI_GRAPH_WHILE);
    if (nloop > 0) STI_TRY(sti_pool_alloc(gpu, (size_t)nloop * sizeof *g->left, "trips of a graph's loops", &left));
    g->left = left;
    return STET_OK;
}

static stet_result make_graph(sti_gpu *gpu, sti_gpu_graph *g, const making *m)
{
    STI_TRY(sti_gpu_require_no_capture(gpu, "the building of a graph"));
    STI_TRY(make_counters(gpu, g, m));
    STI_TRY(sti_gpu_graph_build(gpu, g, m->ops, m->edges, m->nedge));
    STI_TRY(STI_GPU_CALL(gpu, graph_instantiate, &g->executable, g->graph, 0));
    return gpu->driver.api.graph_upload ? STI_GPU_CALL(gpu, graph_upload, g->executable, gpu->stream) : STET_OK;
}

static stet_result make_graph_within(sti_gpu *gpu, sti_gpu_graph *g, const making *m)
{
    STI_GPU_WITHIN(gpu, make_graph(gpu, g, m));
}

const char *sti_gpu_instead(const stet_device *device, stet_reuse reuse)
{
    if (reuse != STET_REUSE_GRAPHS || check_driver(device->state, NULL, 0) == STET_OK) return NULL;
    return "its driver lacks functions of graphs: lists are played launch by launch";
}

/* A graph without nodes, for a list that the driver has what it needs for. */
static stet_result new_graph(const sti_gpu *gpu, const sti_graph_op *ops, int nop, const char *what,
                             sti_gpu_graph **out)
{
    sti_gpu_graph *g;
    assert(nop >= 0 && (ops || nop == 0) && what);
    STI_TRY(check_driver(gpu, ops, nop));
    STI_TRY(sti_alloc(&g, sizeof *g + (size_t)nop * sizeof *g->op, "a graph"));
    (void)snprintf(g->name, sizeof g->name, "graph of %s", what);
    g->nop = nop;
    *out = g;
    return STET_OK;
}

stet_result sti_gpu_graph_make(stet_device *device, const sti_graph_op *ops, int nop, const sti_edge *edges, int nedge,
                               const char *what, void **out)
{
    sti_gpu *gpu = device->state;
    sti_gpu_graph *g;
    *out = NULL;
    STI_TRY(new_graph(gpu, ops, nop, what, &g));
    stet_result result = make_graph_within(gpu, g, &(making){ops, edges, nedge});
    if (result != STET_OK) {
        (void)sti_error_prefix(result, "%s", g->name);
        sti_gpu_graph_free(device, g);
        return result;
    }
    *out = g;
    return STET_OK;
}

static stet_result join_capture(sti_gpu *gpu, sti_gpu_graph *g, const making *m)
{
    static const char *const names[] = {"capture_info", "capture_depend", NULL};
    STI_TRY(sti_gpu_driver_needs(&gpu->driver, names, "lists in captures"));
    STI_TRY(sti_gpu_before_issue(gpu));
    STI_TRY(make_counters(gpu, g, m));
    return sti_gpu_graph_build_captured(gpu, g, m->ops, m->edges, m->nedge);
}

static stet_result join_capture_within(sti_gpu *gpu, sti_gpu_graph *g, const making *m)
{
    STI_GPU_WITHIN(gpu, join_capture(gpu, g, m));
}

/* What a failure leaves in the caller's graph runs with it, so the counters are kept then, too (GPUGRAPH-6). */
stet_result sti_gpu_graph_join(stet_device *device, const sti_graph_op *ops, int nop, const sti_edge *edges, int nedge,
                               const char *what)
{
    sti_gpu *gpu = device->state;
    sti_gpu_graph *g;
    STI_TRY(new_graph(gpu, ops, nop, what, &g));
    g->next = gpu->joined;
    gpu->joined = g;
    stet_result result = join_capture_within(gpu, g, &(making){ops, edges, nedge});
    return result == STET_OK ? STET_OK : sti_error_prefix(result, "%s", g->name);
}

/* Frees the driver's part of a graph. If one call fails, the rest is still freed. */
static void free_graph(sti_gpu *gpu, const sti_gpu_graph *g)
{
    const sti_gpu_api *api = &gpu->driver.api;
    sti_gpu_current was;
    if (sti_gpu_is_forked(gpu)) return;
    bool inside = sti_gpu_enter_unchecked(gpu, &was) == STI_GPU_OK;
    if (g->executable && gpu->driver.vendor->graphs_wait)
        sti_gpu_drop_after_work(gpu, api->graph_exec_destroy, g->executable);
    else if (g->executable)
        (void)api->graph_exec_destroy(g->executable);
    if (g->graph) (void)api->graph_destroy(g->graph);
    if (inside) (void)sti_gpu_leave_unchecked(gpu, &was);
}

void sti_gpu_graph_free(stet_device *device, void *graph)
{
    sti_gpu *gpu = device->state;
    sti_gpu_graph *g = graph;
    if (!g) return;
    free_graph(gpu, g);
    sti_pool_free(gpu, g->left);
    sti_free(g);
}

void sti_gpu_graphs_end(stet_device *device)
{
    sti_gpu *gpu = device->state;
    while (gpu->joined) {
        sti_gpu_graph *g = gpu->joined;
        gpu->joined = g->next;
        sti_gpu_graph_free(device, g);
    }
}

/* ---- changing, launching ----------------------------------------------------------------------------------------- */

typedef struct changed {
    const sti_gpu_graph *g;
    void *node;
} changed;

static stet_result set_kernel(sti_gpu *gpu, void *context, const sti_gpu_kernel *kernel)
{
    const changed *c = context;
    int code = gpu->driver.vendor->set_kernel(&gpu->driver, c->g->executable, c->node, kernel);
    return sti_gpu_check(gpu, code, "graph_exec_set_kernel");
}

static stet_result set_graph(sti_gpu *gpu, const sti_gpu_graph *g, int op, const sti_slot *slots, int nslot,
                             int64_t number)
{
    const sti_gpu_changeable *c = &g->op[op];
    changed node = {g, c->node};
    assert(g->executable && c->node && "GPUGRAPH-3: a node of a graph that can run");
    if (number < 0) number = 0;
    if (c->kind == STI_GRAPH_WHILE) return sti_gpu_with_poll(gpu, c, number, 1, set_kernel, &node);
    return sti_gpu_with_launch(gpu, c, slots, nslot, number, set_kernel, &node);
}

stet_result sti_gpu_graph_set(stet_device *device, void *graph, int op, const sti_slot *slots, int nslot,
                              int64_t number)
{
    sti_gpu *gpu = device->state;
    const sti_gpu_graph *g = graph;
    bool known = op >= 0 && op < g->nop && (g->op[op].kind == STI_GRAPH_LAUNCH || g->op[op].kind == STI_GRAPH_WHILE);
    if (!known)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: operation %d has nothing that could be set", g->name, op);
    STI_GPU_WITHIN(gpu, set_graph(gpu, g, op, slots, nslot, number));
}

/* Copies the graph's name for messages of faults, because it may outlive the graph. */
static void remember_graph(sti_gpu *gpu, const sti_gpu_graph *g)
{
    char *kept = gpu->graphs[gpu->nlaunch % STI_GPU_LAUNCHES];
    static_assert(sizeof g->name == sizeof *gpu->graphs, "names of graphs");
    memcpy(kept, g->name, sizeof g->name);
    sti_gpu_remember(gpu, kept);
}

static stet_result launch(sti_gpu *gpu, const sti_gpu_graph *g)
{
    assert(g->executable && "GPUGRAPH-1: a graph is complete");
    STI_TRY(sti_gpu_require_no_capture(gpu, "a graph of stet's own"));
    stet_result result = STI_GPU_CALL(gpu, graph_launch, g->executable, gpu->stream);
    if (result != STET_OK) return sti_error_prefix(result, "%s", g->name);
    remember_graph(gpu, g);
    return STET_OK;
}

stet_result sti_gpu_graph_launch(stet_device *device, void *graph)
{
    sti_gpu *gpu = device->state;
    STI_GPU_WITHIN(gpu, launch(gpu, graph));
}
