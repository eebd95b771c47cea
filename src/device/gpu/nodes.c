/* Builds a driver graph node by node; invariants in graph.h. */
#include "device/gpu/graph.h"

#include "base/memory.h"

#include <assert.h>

const char sti_graph_condition_name[] = "sti_graph_condition";
const char sti_graph_condition_source[] =
    "extern \"C\" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned value);\n"
    "extern \"C\" __global__ void sti_graph_condition(unsigned long long handle, const int *condition, long long "
    "*left,\n"
    "                                               long long most, int first)\n"
    "{\n"
    "    long long n = first ? most : *left - 1;\n"
    "    *left = n;\n"
    "    cudaGraphSetConditional(handle, n > 0 && *condition != 0);\n"
    "}\n";

/* ---- kernels of nodes -------------------------------------------------------------------------------------------- */

stet_result sti_gpu_with_launch(sti_gpu *gpu, const sti_gpu_changeable *c, const sti_slot *slots, int nslot,
                                int64_t count, sti_gpu_use_kernel *use, void *context)
{
    static const sti_slot none; /* an entry without slots takes one, which it ignores */
    sti_gpu_kernel k;
    STI_TRY(sti_gpu_kernel_of(gpu, c->code, slots, nslot, count, false, &k));
    STI_TRY(sti_gpu_allow_shared(gpu, &k));
    k.arguments = (void *[]){(void *)(uintptr_t)(nslot ? slots : &none), &count};
    return use(gpu, context, &k);
}

stet_result sti_gpu_with_poll(sti_gpu *gpu, const sti_gpu_changeable *c, int64_t most, int first,
                              sti_gpu_use_kernel *use, void *context)
{
    sti_gpu_kernel k;
    STI_TRY(sti_gpu_kernel_of(gpu, c->code, NULL, 0, 1, true, &k));
    k.arguments = (void *[]){(void *)(uintptr_t)&c->handle, (void *)(uintptr_t)&c->condition,
                             (void *)(uintptr_t)&c->left, &most, &first};
    return use(gpu, context, &k);
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

typedef struct placed {
    void *node;    /* the node that later operations run after */
    void *outside; /* of a loop: the graph that contains it */
    int loop;      /* the loop that contains it; -1: none */
    bool followed; /* another operation of the same loop runs after it */
} placed;

typedef struct builder {
    sti_gpu *gpu;
    const sti_graph_op *ops;
    const sti_edge *edge, *edge_end; /* edges that are left */
    sti_gpu_graph *g;
    const sti_gpu_place *begin; /* where operations without edges are */
    placed *placed;             /* [nop] */
    void **after; /* [nop + begin->nafter], scratch for one node: it runs after these, and then this is the node */
    bool *early;  /* [nop], likewise: the node may start while this one of `after` is ending */
    bool may_be_early;
    void *inside;        /* the graph that nodes are added to: the whole, or the body of … */
    int loop, nloop;     /* … this loop; nloop: loops so far */
    sti_gpu_place place; /* place of the next node */
} builder;

static stet_result failed_at(stet_result result, const sti_graph_op *op)
{
    return result == STET_OK ? result : sti_error_prefix(result, "%s", op->name);
}

static stet_result add_kernel(sti_gpu *gpu, void *context, const sti_gpu_kernel *kernel)
{
    builder *b = context;
    return sti_gpu_check(gpu, gpu->driver.vendor->add_kernel(&gpu->driver, &b->place, kernel, b->after),
                         "graph_add_kernel");
}

/* Not for loops: what a conditional node may contain depends on the driver. */
static bool is_early(const builder *b, int from, int to)
{
    const sti_graph_op *op = &b->ops[to];
    return b->may_be_early && b->loop < 0 && b->ops[from].kind == STI_GRAPH_LAUNCH && op->kind == STI_GRAPH_LAUNCH &&
           op->code->waits;
}

/* The next node runs after the operations from which edges lead to this one. */
static void place_behind(builder *b, int op)
{
    size_t n = 0;
    bool early = false;
    for (; b->edge < b->edge_end && b->edge->to == op; ++b->edge) {
        assert(b->edge->from >= 0 && b->edge->from < op && "an operation runs after earlier ones");
        b->early[n] = is_early(b, b->edge->from, op);
        early |= b->early[n];
        b->after[n++] = b->placed[b->edge->from].node;
    }
    if (n == 0 && b->loop < 0)
        for (; n < b->begin->nafter; ++n) b->after[n] = b->begin->after[n];
    b->place = (sti_gpu_place){b->inside, b->after, n, early ? b->early : NULL};
}

/* The next node runs after everything in a loop; -1: after everything. */
static void place_last(builder *b, int loop, int end)
{
    size_t n = 0;
    for (int i = loop + 1; i < end; ++i)
        if (b->placed[i].loop == loop && !b->placed[i].followed && b->ops[i].kind != STI_GRAPH_END)
            b->after[n++] = b->placed[i].node;
    b->place = (sti_gpu_place){b->inside, b->after, n, NULL};
}

static stet_result add_launch(builder *b, const sti_graph_op *op, sti_gpu_changeable *c, void **node)
{
    STI_TRY(sti_gpu_with_launch(b->gpu, c, op->slots, op->nslot, op->nblock, add_kernel, b));
    *node = c->node = b->after[0];
    return STET_OK;
}

static stet_result add_copy(builder *b, const sti_graph_op *op, void **node)
{
    const sti_gpu_driver *d = &b->gpu->driver;
    const sti_gpu_place *at = &b->place;
    if (op->size == 0) return STI_GPU_CALL(b->gpu, graph_add_empty, node, at->graph, at->after, at->nafter);
    return sti_gpu_check(b->gpu, d->vendor->add_copy(d, at, b->gpu->context, op->to, op->from, op->size, node),
                         "graph_add_copy");
}

/* Adds captured work; the driver copies it. */
static stet_result add_foreign(builder *b, const sti_graph_op *op, void **node)
{
    void *child;
    STI_TRY(sti_gpu_capture(b->gpu, op->work, op->context, op->name, &child));
    stet_result result =
        STI_GPU_CALL(b->gpu, graph_add_child, node, b->place.graph, b->place.after, b->place.nafter, child);
    (void)b->gpu->driver.api.graph_destroy(child);
    return result;
}

/* From here to the loop's end nodes are added to its body. */
static stet_result begin_loop(builder *b, int op, sti_gpu_changeable *c)
{
    const sti_gpu_driver *d = &b->gpu->driver;
    placed *p = &b->placed[op];
    void *body = NULL;
    c->left = b->g->left + b->nloop++;
    STI_TRY(STI_GPU_CALL(b->gpu, graph_condition, &c->handle, b->inside, b->gpu->context, 0, 0));
    STI_TRY(sti_gpu_with_poll(b->gpu, c, b->ops[op].most, 1, add_kernel, b));
    c->node = b->after[0];
    b->place = (sti_gpu_place){b->inside, b->after, 1, NULL};
    STI_TRY(sti_gpu_check(b->gpu, d->vendor->add_while(d, &b->place, b->gpu->context, c->handle, &p->node, &body),
                          "graph_add_node"));
    p->outside = b->inside;
    b->inside = body;
    b->loop = op;
    return STET_OK;
}

static stet_result end_loop(builder *b, int op)
{
    int loop = b->ops[op].match;
    assert(loop >= 0 && loop < op && b->loop == loop && b->ops[loop].kind == STI_GRAPH_WHILE && "loops nest");
    place_last(b, loop, op);
    STI_TRY(sti_gpu_with_poll(b->gpu, &b->g->op[loop], 0, 0, add_kernel, b));
    b->inside = b->placed[loop].outside;
    b->loop = b->placed[loop].loop;
    return STET_OK;
}

static stet_result add_op(builder *b, int i)
{
    const sti_graph_op *op = &b->ops[i];
    sti_gpu_changeable *c = &b->g->op[i];
    void **node = &b->placed[i].node;
    *c = (sti_gpu_changeable){.kind = op->kind, .code = op->code, .condition = op->condition};
    b->placed[i].loop = b->loop;
    place_behind(b, i);
    switch (op->kind) {
    case STI_GRAPH_LAUNCH: return add_launch(b, op, c, node);
    case STI_GRAPH_COPY: return add_copy(b, op, node);
    case STI_GRAPH_WHILE: return begin_loop(b, i, c);
    case STI_GRAPH_END: return end_loop(b, i);
    case STI_GRAPH_FOREIGN: return add_foreign(b, op, node);
    }
    return sti_error(STET_ERROR_INVALID_ARGUMENT, "a graph: there is no operation of kind %d", (int)op->kind);
}

static stet_result add_ops(builder *b)
{
    b->inside = b->begin->graph;
    b->loop = -1;
    for (int i = 0; i < b->g->nop; ++i) STI_TRY(failed_at(add_op(b, i), &b->ops[i]));
    if (b->edge == b->edge_end) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT, "a graph: its edges do not come in the order of where they lead");
}

/* True if the driver and the device can start a kernel while the kernels before it are ending. */
static bool may_be_early(const sti_gpu *gpu)
{
    const sti_gpu_vendor *v = gpu->driver.vendor;
    return v->early_version && gpu->driver.api.graph_add_node && gpu->driver.version >= v->early_version &&
           gpu->facts.fact[STI_GPU_MAJOR] >= v->early_major;
}

/* Builds into the graph of `begin`, and then calls `end`, if there is one, with the place after everything. */
static stet_result build(sti_gpu *gpu, sti_gpu_graph *g, const sti_graph_op *ops, const sti_edge *edges, int nedge,
                         const sti_gpu_place *begin, stet_result (*end)(sti_gpu *gpu, const sti_gpu_place *place))
{
    builder b = {.gpu = gpu,
                 .ops = ops,
                 .edge = edges,
                 .edge_end = edges + nedge,
                 .g = g,
                 .begin = begin,
                 .may_be_early = may_be_early(gpu)};
    size_t n = (size_t)g->nop + 1;
    STI_TRY(sti_alloc(&b.placed, n * sizeof *b.placed, "a graph's nodes"));
    stet_result result = sti_alloc(&b.after, (n + begin->nafter) * sizeof *b.after, "a graph's edges");
    if (result == STET_OK) result = sti_alloc(&b.early, n * sizeof *b.early, "a graph's edges");
    for (int i = 0; i < nedge; ++i) {
        assert(edges[i].from >= 0 && edges[i].from < edges[i].to && edges[i].to < g->nop && "an edge leads on");
        b.placed[edges[i].from].followed = true;
    }
    if (result == STET_OK) result = add_ops(&b);
    assert((result != STET_OK || b.loop < 0) && "GPUGRAPH-1: each loop has its end");
    if (result == STET_OK && end) {
        place_last(&b, -1, g->nop);
        result = end(gpu, &b.place);
    }
    sti_free(b.early);
    sti_free(b.after);
    sti_free(b.placed);
    return result;
}

stet_result sti_gpu_graph_build(sti_gpu *gpu, sti_gpu_graph *g, const sti_graph_op *ops, const sti_edge *edges,
                                int nedge)
{
    assert(!g->graph && g->nop >= 0);
    STI_TRY(STI_GPU_CALL(gpu, graph_create, &g->graph, 0));
    return build(gpu, g, ops, edges, nedge, &(sti_gpu_place){.graph = g->graph}, NULL);
}

/* ---- in a caller's capture --------------------------------------------------------------------------------------- */

static stet_result depend_on(sti_gpu *gpu, const sti_gpu_place *place)
{
    return STI_GPU_CALL(gpu, capture_depend, gpu->stream, place->after, place->nafter, STI_GPU_DEPEND_SET);
}

/* The driver's list of nodes is valid until the next call for the stream only, so it is copied. */
static stet_result copy_nodes(sti_gpu_place *place, void *const *after)
{
    void **copy;
    STI_TRY(sti_alloc(&copy, place->nafter * sizeof *copy + 1, "a graph's edges"));
    for (size_t i = 0; i < place->nafter; ++i) copy[i] = after[i];
    place->after = copy;
    return STET_OK;
}

stet_result sti_gpu_graph_build_captured(sti_gpu *gpu, sti_gpu_graph *g, const sti_graph_op *ops, const sti_edge *edges,
                                         int nedge)
{
    sti_gpu_place begin = {0};
    void *const *after = NULL;
    uint64_t id;
    int status;
    STI_TRY(STI_GPU_CALL(gpu, capture_info, gpu->stream, &status, &id, &begin.graph, &after, &begin.nafter));
    if (status != STI_GPU_CAPTURE_ACTIVE)
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "%s: the stream in use is not being captured, or the capture is broken", gpu->where);
    STI_TRY(copy_nodes(&begin, after));
    stet_result result = build(gpu, g, ops, edges, nedge, &begin, depend_on);
    sti_free((void *)begin.after);
    return result;
}
