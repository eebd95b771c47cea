/*
 * Graphs of a GPU: what their files share. graph.c makes, changes and launches them, nodes.c builds them node by node.
 *
 * Invariants:
 *   GPUGRAPH-1  a graph is whole, or nothing of it is left
 *   GPUGRAPH-2  a kernel's node has its arguments by value: the driver copies them when the node is made or set, so nobody can overwrite what a
 *       launch in flight reads
 *   GPUGRAPH-3  of an executable graph only arguments and numbers are set (of blocks, of trips), each in one node, from the next launch on
 *   GPUGRAPH-4  a loop has two kernels that look at its condition, one before it, one behind all that is in it. The first sets the number of trips
 *       left, the second counts it down; both tell the conditional node whether there is a further trip
 *   GPUGRAPH-5  between two kernels of which the second waits by itself (sti_code.waits) the edge lets it be started while the last blocks of the first
 *       still run, where the driver and the device can do that: what it costs to start it is hidden. It touches nothing before the first has
 *       ended
 */
#ifndef STI_DEVICE_GPU_GRAPH_H
#define STI_DEVICE_GPU_GRAPH_H

#include "device/gpu/gpu.h"

/* An operation that can be set. */
typedef struct sti_gpu_changeable {
    sti_graph_kind kind;
    const sti_code *code;
    void *node;               /* the kernel's; of a loop the first that looks (GPUGRAPH-4) */
    const int32_t *condition; /* WHILE */
    int64_t *left;            /* trips, on the device */
    uint64_t handle;
} sti_gpu_changeable;

typedef struct sti_gpu_graph {
    char name[64]; /* "graph of …" */
    void *graph, *executable;
    int64_t *left; /* of all loops */
    int nop;
    sti_gpu_changeable op[]; /* [nop] */
} sti_gpu_graph;

/* ---- nodes.c ---- */

typedef stet_result sti_gpu_use_kernel(sti_gpu *gpu, void *context, const sti_gpu_kernel *kernel);
/* Give `use` the kernel of a launch with these arguments for `count` worlds or blocks (GPUGRAPH-2), or of a look at a loop's condition (GPUGRAPH-4), and return what it does. */
stet_result sti_gpu_with_launch(sti_gpu *gpu, const sti_gpu_changeable *c, const sti_slot *slots, int nslot,
                                int64_t count, sti_gpu_use_kernel *use, void *context);
stet_result sti_gpu_with_poll(sti_gpu *gpu, const sti_gpu_changeable *c, int64_t most, int first,
                              sti_gpu_use_kernel *use, void *context);

/* Makes g->graph of a list; g has nop and left. Inside enter and leave. What was made before a failure is the caller's to destroy. */
stet_result sti_gpu_graph_build(sti_gpu *gpu, sti_gpu_graph *g, const sti_graph_op *ops, const sti_edge *edges,
                                int nedge);

#endif
