/*
 * A list of operations from which a device builds a graph: the list of kernel/record/list.h with addresses instead of
 * arrays.
 */
#ifndef STI_DEVICE_GRAPH_H
#define STI_DEVICE_GRAPH_H

#include "device/slot.h"
#include "stet/device.h"

typedef struct sti_code sti_code;

/*
 * Operation `from` runs before `to`; both are in the same loop, or in none. A loop is represented by its WHILE. Sorted
 * by `to`.
 */
typedef struct sti_edge {
    int from, to;
} sti_edge;

typedef enum sti_graph_kind {
    STI_GRAPH_LAUNCH,
    STI_GRAPH_COPY,  /* device to device */
    STI_GRAPH_WHILE, /* repeats the operations up to its END */
    STI_GRAPH_END,
    STI_GRAPH_FOREIGN /* work of the caller, captured when the graph is built */
} sti_graph_kind;

typedef struct sti_graph_op {
    sti_graph_kind kind;
    const char *name; /* for messages */
    /* LAUNCH: its `value` entry. WHILE: the code of sti_graph_condition_source. Lives as long as the graph */
    const sti_code *code;
    const sti_slot *slots; /* LAUNCH: arguments in host memory, read while the graph is built */
    int nslot;
    int64_t nblock; /* LAUNCH: may be 0 */
    void *to;       /* COPY */
    const void *from;
    size_t size;
    const int32_t *condition; /* WHILE: on the device, read before each trip; 0 ends the loop */
    int64_t most;             /* WHILE: greatest number of trips */
    int match;                /* the END of a WHILE, the WHILE of an END */
    stet_foreign_fn *work;    /* FOREIGN */
    void *context;
} sti_graph_op;

/*
 * The kernel that reads a loop's condition before each trip, on the device: only a kernel can tell a driver's
 * conditional node to continue. A device has no compiler, so the caller that passes a WHILE compiles this source once
 * per device (all of it; only CUDA has such nodes). It passes the function of that name as the `block` entry of the
 * operation's code, with a team of one thread.
 */
extern const char sti_graph_condition_source[];
extern const char sti_graph_condition_name[];

#endif
