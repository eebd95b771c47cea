/*
 * A pool of GPU memory. Freed blocks are kept and reused, because a driver takes long to allocate a block and makes all
 * streams wait to free one.
 *
 * Invariants:
 *   GPU-POOL-1  a block is either in use or kept, and is found by its address in both cases
 *   GPU-POOL-2  a freed block may be reused while work that uses it is still running: the next owner's work runs later,
 *       in whatever stream (STREAM-1 in stream.h). Captured work is an exception: a graph of the caller holds
 *       addresses, and arrays must outlive it
 *   GPU-POOL-3  the driver allocates only when no kept block is big enough. It gets blocks back when more than `keep`
 *       bytes are kept, when it is out of memory, and at the end, each time after a wait for the stream
 *   GPU-POOL-4  small blocks are cut from chunks, which are freed at the end only
 *   GPU-POOL-5  a free waits for the device's own stream only: a stream of the caller may be under capture, or in use
 *       by another thread. What is above `keep` is then freed by the next alloc
 */
#ifndef STI_DEVICE_GPU_POOL_H
#define STI_DEVICE_GPU_POOL_H

#include "base/error.h"

#include <pthread.h>

enum { STI_POOL_CLASSES = 48, STI_POOL_BUCKETS = 1024 };

struct sti_gpu;
typedef struct sti_pool_block sti_pool_block;

typedef struct sti_pool_stats {
    size_t used, kept; /* bytes in use, and kept for reuse */
    int64_t blocks;    /* in use */
    int64_t asked;     /* successful calls of the driver's alloc */
    int64_t reused;    /* allocations that a kept block served */
} sti_pool_stats;

typedef struct sti_gpu_pool {
    pthread_mutex_t lock;
    size_t keep;                              /* greatest number of bytes kept in big blocks */
    sti_pool_block *bucket[STI_POOL_BUCKETS]; /* all blocks, by address */
    sti_pool_block *small[STI_POOL_CLASSES];  /* kept, by size class */
    sti_pool_block *big;                      /* kept, the last freed first */
    sti_pool_block *chunks;
    char *cut; /* free rest of the present chunk */
    size_t left;
    sti_pool_stats stats;
} sti_gpu_pool;

void sti_pool_init(sti_gpu_pool *pool, size_t keep);
/* Gives all blocks back to the driver, or drops their records where the device is lost. Inside enter and leave. */
void sti_pool_end(struct sti_gpu *gpu);
/*
 * Not zeroed. Inside enter and leave. STET_ERROR_OUT_OF_MEMORY: the message says how much, for what, and what is free.
 */
stet_result sti_pool_alloc(struct sti_gpu *gpu, size_t size, const char *what, void **out);
/* Any thread may call it. */
void sti_pool_free(struct sti_gpu *gpu, void *memory);
sti_pool_stats sti_pool_get_stats(sti_gpu_pool *pool);

#endif
