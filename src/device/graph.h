/*
 * A list of operations as a device takes it to build a graph of it: what kernel/record/list.h has, with addresses instead of arrays.
 */
#ifndef STI_DEVICE_GRAPH_H
#define STI_DEVICE_GRAPH_H

#include "device/slot.h"
#include "stet/device.h"

typedef struct sti_code sti_code;

/* Operation `from` before `to`; both are in the same loop, or in none. A loop is its WHILE. In the order of `to`. */
typedef struct sti_edge {
    int from, to;
} sti_edge;

typedef enum sti_graph_kind {
    STI_GRAPH_LAUNCH,
    STI_GRAPH_COPY,  /* from device to device */
    STI_GRAPH_WHILE, /* what follows, to its END, again and again */
    STI_GRAPH_END,
    STI_GRAPH_FOREIGN /* somebody else's work, captured when the graph is built */
} sti_graph_kind;

typedef struct sti_graph_op {
    sti_graph_kind kind;
    const char *name;      /* for messages */
    const sti_code *code;  /* LAUNCH: its `value` entry. WHILE: sti_graph_condition's. Lives as long as the graph */
    const sti_slot *slots; /* LAUNCH: arguments, of the host, read while the graph is made */
    int nslot;
    int64_t nblock; /* LAUNCH: 0 is possible */
    void *to;       /* COPY */
    const void *from;
    size_t size;
    const int32_t *condition; /* WHILE: on the device; looked at before each trip: 0 ends */
    int64_t most;             /* WHILE: trips */
    int match;                /* of a WHILE its END, of an END its WHILE */
    stet_foreign *work;       /* FOREIGN */
    void *context;
} sti_graph_op;

/*
 * What looks at a loop's condition before each trip, on the device: a kernel, since only kernels can tell a driver's conditional node to go on. A
 * device has no compiler. So whoever hands it a WHILE compiles this source (all of it; only CUDA has such nodes), once a device, and gives
 * the function of that name as the `block` entry of the operation's code, with a team of one thread.
 */
extern const char sti_graph_condition_source[];
extern const char sti_graph_condition_name[];

#endif
