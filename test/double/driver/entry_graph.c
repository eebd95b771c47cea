/*
 * Entry points of graphs and of capture. Of conditional nodes there are loops, on CUDA from 12.3 on.
 */
#include "entry.h"

#include <string.h>

/* ---- a node's parameters, as each driver has them ---------------------------------------------------------------- */

#if DD_HIP
typedef struct kernel_parameters {
    unsigned block[3];
    void **extra;
    void *function;
    unsigned grid[3];
    void **arguments;
    unsigned shared;
} kernel_parameters;
#else
typedef struct kernel_parameters {
    void *function;
    unsigned grid[3], block[3], shared;
    void **arguments, **extra;
    void *kernel, *context;
} kernel_parameters;

typedef struct copy_end {
    size_t x, y, z, level;
    unsigned type; /* 1: host, 2: device */
    const void *host;
    uint64_t device;
    void *array, *reserved;
    size_t pitch, height;
} copy_end;
typedef struct copy_parameters {
    copy_end from, to;
    size_t width, height, depth;
} copy_parameters;
#endif

static int check_graph(void *graph)
{
    dd_device *device;
    TRY(entry_device(&device));
    return dd_graph_is_alive(graph) ? DD_OK : DD_INVALID_HANDLE;
}

static int kernel_work(const kernel_parameters *p, dd_work *out)
{
    const dd_function *f = p->function;
    if (!dd_function_is_alive(f)) return DD_INVALID_HANDLE;
    return entry_kernel(f->module->device, p->function, p->grid, p->block, p->shared, p->arguments, p->extra, out);
}

static int add(void **node, void *graph, void *const *after, size_t nafter, dd_work *work)
{
    dd_node *made;
    TRY(dd_graph_add(graph, (dd_node *const *)after, nafter, work, &made));
    *node = made;
    return DD_OK;
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

int entry_graph_create(void **out, unsigned flags)
{
    dd_device *device;
    dd_graph *graph;
    ENTER(graph_create);
    TRY(entry_device(&device));
    if (flags) return DD_INVALID_VALUE;
    TRY(dd_graph_make(&graph));
    *out = graph;
    return DD_OK;
}

int entry_graph_destroy(void *graph)
{
    ENTER(graph_destroy);
    TRY(check_graph(graph));
    return dd_graph_end(graph);
}

int entry_graph_add_kernel(void **node, void *graph, void *const *after, size_t nafter, const void *parameters)
{
    dd_work work;
    ENTER(graph_add_kernel);
    TRY(check_graph(graph));
    TRY(kernel_work(parameters, &work));
    return add(node, graph, after, nafter, &work);
}

#if DD_HIP
/* kind: 1 host to device, 2 device to host, 3 device to device, 4 as the addresses say */
int entry_graph_add_copy_1d(void **node, void *graph, void *const *after, size_t nafter, void *to, const void *from,
                            size_t size, int kind)
{
    dd_work work;
    dd_device *device;
    ENTER(graph_add_copy_1d);
    TRY(check_graph(graph));
    TRY(entry_device(&device));
    uint64_t a = (uintptr_t)to, b = (uintptr_t)from;
    if (kind == 4) kind = !dd_memory_device(b) ? 1 : !dd_memory_device(a) ? 2 : 3;
    int result = kind == 1   ? dd_work_to_device(device, a, from, size, &work)
                 : kind == 2 ? dd_work_to_host(device, to, b, size, &work)
                 : kind == 3 ? dd_work_copy(device, a, b, size, &work)
                             : DD_INVALID_VALUE;
    return result ? result : add(node, graph, after, nafter, &work);
}
#else
/* One row only. */
int entry_graph_add_copy(void **node, void *graph, void *const *after, size_t nafter, const void *parameters,
                         void *context)
{
    dd_work work;
    dd_device *device = context;
    ENTER(graph_add_copy);
    TRY(check_graph(graph));
    if (!device) TRY(entry_device(&device));
    const copy_parameters *p = parameters;
    if (p->height != 1 || p->depth != 1) return DD_NOT_SUPPORTED;
    uint64_t to = p->to.device + p->to.x, from = p->from.device + p->from.x;
    char *host_to = (char *)(uintptr_t)p->to.host + p->to.x;
    const char *host_from = (const char *)p->from.host + p->from.x;
    int result = p->from.type == 1 && p->to.type == 2   ? dd_work_to_device(device, to, host_from, p->width, &work)
                 : p->from.type == 2 && p->to.type == 1 ? dd_work_to_host(device, host_to, from, p->width, &work)
                 : p->from.type == 2 && p->to.type == 2 ? dd_work_copy(device, to, from, p->width, &work)
                                                        : DD_INVALID_VALUE;
    return result ? result : add(node, graph, after, nafter, &work);
}
#endif

int entry_graph_add_child(void **node, void *graph, void *const *after, size_t nafter, void *child)
{
    dd_node *made;
    ENTER(graph_add_child);
    TRY(check_graph(graph));
    TRY(check_graph(child));
    TRY(dd_graph_add_child(graph, (dd_node *const *)after, nafter, child, &made));
    *node = made;
    return DD_OK;
}

int entry_graph_add_empty(void **node, void *graph, void *const *after, size_t nafter)
{
    ENTER(graph_add_empty);
    TRY(check_graph(graph));
    return add(node, graph, after, nafter, &(dd_work){0});
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

#if !DD_HIP
static int check_loops(void *graph, void *context)
{
    if (dd.config.cuda_version < 12030) return DD_NOT_SUPPORTED;
    TRY(check_graph(graph));
    return context == dd_current ? DD_OK : DD_INVALID_CONTEXT;
}

int entry_graph_condition(uint64_t *handle, void *graph, void *context, unsigned initial, unsigned flags)
{
    ENTER(graph_condition);
    TRY(check_loops(graph, context));
    if (initial || flags) return DD_NOT_SUPPORTED; /* a number to begin with: nobody here asks for it */
    return dd_condition_make(graph, handle);
}

typedef struct loop_parameters {
    uint64_t handle;
    int kind; /* 0: if, 1: while, 2: switch */
    unsigned size;
    void **bodies;
    void *context;
} loop_parameters;

typedef struct node_parameters {
    int type, zero[3]; /* 0: a kernel, 13: conditional */
    union {
        kernel_parameters kernel;
        loop_parameters loop;
        unsigned char byte[240];
    };
} node_parameters;

/* What an edge leaves from and leads to; 0: the node as a whole. */
typedef struct edge_data {
    unsigned char from, to, type, unused[5];
} edge_data;

/*
 * *early: an edge from the port at which a kernel's blocks have ended, to a kernel that waits by itself (from 1, type
 * 1).
 */
static int check_edges(dd_node *const *after, const edge_data *edge, size_t n, bool *early)
{
    static const unsigned char unused[sizeof edge->unused];
    *early = false;
    for (size_t i = 0; edge && i < n; ++i) {
        if (edge[i].to || memcmp(edge[i].unused, unused, sizeof unused) != 0) return DD_INVALID_VALUE;
        if (!edge[i].from && !edge[i].type) continue;
        if (edge[i].from != 1 || edge[i].type != 1 || after[i]->work.kind != DD_KERNEL) return DD_INVALID_VALUE;
        *early = true;
    }
    return !*early || dd.config.major >= 9 ? DD_OK : DD_NOT_SUPPORTED;
}

static bool rest_is_zero(const node_parameters *p, size_t used)
{
    bool zero = !p->zero[0] && !p->zero[1] && !p->zero[2];
    for (size_t i = used; i < sizeof p->byte; ++i) zero &= !p->byte[i];
    return zero;
}

static int add_any_kernel(void **node, void *graph, void *const *after, const void *edges, size_t nafter,
                          const node_parameters *p)
{
    dd_work work;
    bool early;
    if (!rest_is_zero(p, sizeof p->kernel)) return DD_INVALID_VALUE;
    TRY(check_edges((dd_node *const *)after, edges, nafter, &early));
    TRY(kernel_work(&p->kernel, &work));
    work.early = early;
    return add(node, graph, after, nafter, &work);
}

int entry_graph_add_node(void **node, void *graph, void *const *after, const void *edges, size_t nafter,
                         void *parameters)
{
    dd_graph *body;
    dd_node *made;
    node_parameters *p = parameters;
    loop_parameters *loop = &p->loop;
    ENTER(graph_add_node);
    TRY(check_loops(graph, p->type == 13 ? loop->context : dd_current));
    if (p->type == 0) return add_any_kernel(node, graph, after, edges, nafter, p);
    if (!rest_is_zero(p, sizeof *loop) || edges) return DD_INVALID_VALUE;
    if (p->type != 13 || loop->kind != 1 || loop->size != 1) return DD_NOT_SUPPORTED;
    TRY(dd_graph_add_loop(graph, (dd_node *const *)after, nafter, loop->handle, &made, &body));
    loop->bodies = (void **)&made->body; /* as long as the node is there */
    *node = made;
    return DD_OK;
}
#endif

/* ---- executable graphs ------------------------------------------------------------------------------------------- */

static int check_exec(void *exec)
{
    dd_device *device;
    TRY(entry_device(&device));
    return dd_exec_is_alive(exec) ? DD_OK : DD_INVALID_HANDLE;
}

int entry_graph_instantiate(void **out, void *graph, unsigned long long flags)
{
    dd_exec *exec;
    ENTER(graph_instantiate);
    TRY(check_graph(graph));
    if (flags & ~2ull) return DD_INVALID_VALUE;
    TRY(dd_exec_make(graph, &exec));
    *out = exec;
    return DD_OK;
}

int entry_graph_exec_destroy(void *exec)
{
    ENTER(graph_exec_destroy);
    TRY(check_exec(exec));
    if (DD_HIP && dd_queue_runs(exec)) dd_wrong("an executable graph is destroyed while it runs");
    return dd_exec_end(exec);
}

#if DD_HIP
int entry_graph_exec_update_into(void *exec, void *graph, void **error_node, int *outcome)
{
    ENTER(graph_exec_update_into);
    TRY(check_exec(exec));
    TRY(check_graph(graph));
    int result = dd_exec_update(exec, graph);
    *error_node = NULL;
    *outcome = result ? 1 : 0;
    return result ? 910 : DD_OK;
}
#else
typedef struct update_result {
    int result;
    void *node, *from;
} update_result;

int entry_graph_exec_update(void *exec, void *graph, void *outcome)
{
    ENTER(graph_exec_update);
    TRY(check_exec(exec));
    TRY(check_graph(graph));
    int result = dd_exec_update(exec, graph);
    *(update_result *)outcome = (update_result){.result = result ? 1 : 0};
    return result ? 910 : DD_OK;
}
#endif

int entry_graph_exec_set_kernel(void *exec, void *node, const void *parameters)
{
    dd_work work;
    ENTER(graph_exec_set_kernel);
    TRY(check_exec(exec));
    TRY(kernel_work(parameters, &work));
    return dd_exec_set_kernel(exec, node, &work);
}

int entry_graph_upload(void *exec, void *handle)
{
    dd_stream *stream;
    ENTER(graph_upload);
    TRY(check_exec(exec));
    return entry_stream(handle, &stream);
}

int entry_graph_launch(void *exec, void *handle)
{
    dd_stream *stream;
    ENTER(graph_launch);
    TRY(check_exec(exec));
    TRY(entry_stream(handle, &stream));
    return dd_queue_graph(stream, exec);
}

/* ---- capture ----------------------------------------------------------------------------------------------------- */

int entry_capture_begin(void *handle, int mode)
{
    dd_stream *stream;
    ENTER(capture_begin);
    TRY(entry_stream(handle, &stream));
    return mode < 0 || mode > 2 ? DD_INVALID_VALUE : dd_capture_begin(stream, mode);
}

int entry_capture_end(void *handle, void **out)
{
    dd_stream *stream;
    dd_graph *graph;
    ENTER(capture_end);
    *out = NULL;
    TRY(entry_stream(handle, &stream));
    TRY(dd_capture_end(stream, &graph));
    *out = graph;
    return DD_OK;
}

int entry_capture_status(void *handle, int *status)
{
    dd_stream *stream;
    uint64_t id;
    ENTER(capture_status);
    TRY(entry_stream(handle, &stream));
    return dd_capture_status(stream, status, &id);
}

int entry_capture_info(void *handle, int *status, uint64_t *id, void **graph, void *const **after, size_t *nafter)
{
    dd_stream *stream;
    ENTER(capture_info);
    TRY(entry_stream(handle, &stream));
    if (graph) *graph = stream->capture ? stream->capture->graph : NULL;
    if (after) *after = (void *const *)stream->tip.at;
    if (nafter) *nafter = stream->capture ? (size_t)stream->tip.n : 0;
    return dd_capture_status(stream, status, id);
}

/* Flags 0 would add nodes; stet sets them. */
int entry_capture_depend(void *handle, void *const *after, size_t nafter, unsigned flags)
{
    dd_stream *stream;
    ENTER(capture_depend);
    TRY(entry_stream(handle, &stream));
    if (flags != 1) return DD_NOT_SUPPORTED;
    return dd_capture_depend(stream, (dd_node *const *)after, nafter);
}

/* The mode of a thread that captures nothing; no more than remembered. */
int entry_capture_mode(int *mode)
{
    ENTER(capture_mode);
    int was = dd_capture_mode;
    if (*mode < 0 || *mode > 2) return DD_INVALID_VALUE;
    dd_capture_mode = *mode;
    *mode = was;
    return DD_OK;
}
