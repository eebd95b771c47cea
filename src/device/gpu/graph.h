/*
 * Graphs of a GPU: what their files share. graph.c makes, changes and launches them; nodes.c builds them node by node.
 *
 * Invariants:
 *   GPUGRAPH-1  a graph is complete, or nothing of it is left
 *   GPUGRAPH-2  a kernel node has its arguments by value: the driver copies them when the node is made or set, so
 *       nobody can overwrite what a launch in flight reads
 *   GPUGRAPH-3  of an executable graph only arguments and numbers (of blocks, of trips) are set, each in one node, from
 *       the next launch on
 *   GPUGRAPH-4  a loop has two kernels that read its condition, one before the loop and one at the end of its body. The
 *       first sets the number of trips left, the second counts it down; both tell the conditional node whether there is
 *       another trip
 *   GPUGRAPH-5  if the second of two kernels waits by itself (sti_code.waits), the edge lets it start while the last
 *       blocks of the first still run, where the driver and the device can do that. This hides its start-up cost. It
 *       accesses nothing before the first has ended
 *   GPUGRAPH-6  a list can join the graph that a caller's capture becomes: its first nodes come after what the capture
 *       has so far, and what is captured next comes after its last. A graph of the caller's lives as long as he
 *       pleases, so the loops' counters stay until the device is closed
 */
#ifndef STI_DEVICE_GPU_GRAPH_H
#define STI_DEVICE_GPU_GRAPH_H

#include "device/gpu/gpu.h"

/* An operation that can be set. */
typedef struct sti_gpu_changeable {
    sti_graph_kind kind;
    const sti_code *code;
    void *node;               /* the kernel's node; of a loop the first condition kernel (GPUGRAPH-4) */
    const int32_t *condition; /* WHILE */
    int64_t *left;            /* trips left, on the device */
    uint64_t handle;
} sti_gpu_changeable;

typedef struct sti_gpu_graph {
    struct sti_gpu_graph *next; /* of those that joined captures */
    char name[64];              /* "graph of …" */
    void *graph, *executable;
    int64_t *left; /* counters of all loops */
    int nop;
    sti_gpu_changeable op[]; /* [nop] */
} sti_gpu_graph;

/* ---- nodes.c ---- */

typedef stet_result sti_gpu_use_kernel(sti_gpu *gpu, void *context, const sti_gpu_kernel *kernel);
/*
 * Call `use` with the kernel of a launch with these arguments for `count` worlds or blocks (GPUGRAPH-2), or with a
 * loop's condition kernel (GPUGRAPH-4), and return its result.
 */
stet_result sti_gpu_with_launch(sti_gpu *gpu, const sti_gpu_changeable *c, const sti_slot *slots, int nslot,
                                int64_t count, sti_gpu_use_kernel *use, void *context);
stet_result sti_gpu_with_poll(sti_gpu *gpu, const sti_gpu_changeable *c, int64_t most, int first,
                              sti_gpu_use_kernel *use, void *context);

/*
 * Builds g->graph of a list; g has nop and left. Inside enter and leave. After a failure the caller destroys what was
 * made.
 */
stet_result sti_gpu_graph_build(sti_gpu *gpu, sti_gpu_graph *g, const sti_graph_op *ops, const sti_edge *edges,
                                int nedge);
/*
 * The same into the graph that a capture of the stream in use becomes (GPUGRAPH-6). After a failure that graph may have
 * nodes of the list, on which nothing that is captured later depends.
 */
stet_result sti_gpu_graph_build_captured(sti_gpu *gpu, sti_gpu_graph *g, const sti_graph_op *ops, const sti_edge *edges,
                                         int nedge);

#endif
