/*
 * Memory of a GPU: blocks that were freed are kept and given out again, because a driver takes long to make one, and makes all
 * streams wait to take one back.
 *
 * Invariants:
 *   GPU-POOL-1  a block is either given out or kept, and is known by its address in either case
 *   GPU-POOL-2  a freed block may be given out while work that uses it is still under way: the next user's work comes behind, in whatever
 *       stream (STREAM-1 in stream.h). Not so what was captured: a graph of the caller's holds addresses, and arrays must outlive it
 *   GPU-POOL-3  the driver is asked only when no kept block is big enough; it gets blocks back when more is kept than `keep`, when it
 *       has no more, and at the end, each time after the stream has been waited for
 *   GPU-POOL-4  small blocks are cut from chunks, which go back at the end only
 *   GPU-POOL-5  a free waits for the device's own stream only: one of the caller's may be under capture, or used by another thread just now.
 *       What is too much then goes back at the next alloc
 */
#ifndef STI_DEVICE_GPU_POOL_H
#define STI_DEVICE_GPU_POOL_H

#include "base/error.h"

#include <pthread.h>

enum { STI_POOL_CLASSES = 48, STI_POOL_BUCKETS = 1024 };

struct sti_gpu;
typedef struct sti_pool_block sti_pool_block;

typedef struct sti_pool_stats {
    size_t used, kept; /* bytes given out, and kept for later */
    int64_t blocks;    /* given out */
    int64_t asked;     /* calls of the driver's alloc that succeeded */
    int64_t reused;    /* blocks that were given out again */
} sti_pool_stats;

typedef struct sti_gpu_pool {
    pthread_mutex_t lock;
    size_t keep;                              /* most bytes of big blocks that are kept */
    sti_pool_block *bucket[STI_POOL_BUCKETS]; /* all blocks, by address */
    sti_pool_block *small[STI_POOL_CLASSES];  /* kept, by class */
    sti_pool_block *big;                      /* kept, the last one freed first */
    sti_pool_block *chunks;
    char *cut; /* where the present chunk goes on */
    size_t left;
    sti_pool_stats stats;
} sti_gpu_pool;

void sti_pool_init(sti_gpu_pool *pool, size_t keep);
/* Gives all back to the driver, or forgets it where the device is lost. Inside enter and leave. */
void sti_pool_end(struct sti_gpu *gpu);
/* Not zeroed. Inside enter and leave. STET_OUT_OF_MEMORY: how much was asked for, for what, what is free. */
stet_result sti_pool_alloc(struct sti_gpu *gpu, size_t size, const char *what, void **out);
/* From any thread. */
void sti_pool_free(struct sti_gpu *gpu, void *memory);
sti_pool_stats sti_pool_get_stats(sti_gpu_pool *pool);

#endif
