/*
 * Plain calls of a GPU's driver in the same process: what a launch, an upload and a graph cost without stet. The
 * context is stet's own, the stream is not.
 */
#ifndef STET_BENCH_BARE_H
#define STET_BENCH_BARE_H

#include "device/gpu/gpu.h"
#include "kernel/record/record.h"

typedef struct bench_bare {
    stet_device *device; /* a GPU */
    const sti_gpu *gpu;
    void *stream;
    sti_gpu_current was; /* before `inside` */
    bool inside;         /* the device is this thread's current one */
} bench_bare;

stet_result bench_bare_open(bench_bare *b, stet_device *device); /* inside */
void bench_bare_close(bench_bare *b);
/* Whether the thread has a current device, as in processes with a tensor library, or none. */
stet_result bench_bare_enter(bench_bare *b);
stet_result bench_bare_leave(bench_bare *b);
stet_result bench_bare_wait(bench_bare *b);

/* A launch in the form that the driver gets. */
typedef struct bench_bare_kernel {
    bench_bare *bare;
    void *function;
    unsigned grid, team, teams, shared;
    int64_t count;
    sti_slot slot[STI_MAX_PARAMS]; /* by value; in a block: an upload's content */
    void *block, *pinned;          /* on the device, and page-locked; NULL: by value */
} bench_bare_kernel;

enum { BENCH_BARE_BLOCK = 256 }; /* bytes that a launch through a block uploads before it */

/* The driver's form of the one launch that `launch` makes, without running it. */
stet_result bench_bare_kernel_of(bench_bare *b, stet_result (*launch)(void *), void *context, bool in_block,
                                 bench_bare_kernel *out);
void bench_bare_kernel_end(bench_bare_kernel *k);
stet_result bench_bare_launch(bench_bare_kernel *k); /* in a block: uploads it, then launches */

/*
 * Captures what `work` issues to b->stream as a graph of the driver: one operation after the other. UNSUPPORTED: the
 * driver has no graphs, or stet's device cannot join a capture.
 */
stet_result bench_bare_capture(bench_bare *b, stet_result (*work)(void *), void *context, void **executable);
stet_result bench_bare_replay(bench_bare *b, void *executable, void *stream);
void bench_bare_graph_end(bench_bare *b, void *executable); /* NULL is fine */

#endif
