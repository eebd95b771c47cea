/*
 * A pool of sims: rounds of several scenes alternate without creating the sims again.
 *
 *     stet_pool_get(pool, hand, &def, &sim);       created, or reused
 *     … a round of it (stet/round.h) …
 *     stet_pool_get(pool, cartpole, &def, &sim);   the hand's sim stays in the pool
 *
 * When the sims together hold more memory than the pool may, the least recently used sim is evicted. A sim with an open
 * round is never evicted.
 */
#ifndef STET_POOL_H
#define STET_POOL_H

#include "round.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stet_pool stet_pool;

typedef struct stet_pool_def {
    uint32_t cookie; /* set by stet_default_pool_def */
    int64_t bytes;   /* limit for the memory of all sims, host and devices together; default 4 GiB */
} stet_pool_def;
STET_API stet_pool_def stet_default_pool_def(void);
STET_API stet_result stet_pool_create(const stet_pool_def *def, stet_pool **out); /* the caller owns *out */
/* destroys all its sims, too; NULL is fine */
STET_API void stet_pool_destroy(stet_pool *pool);
/*
 * Gets the sim of a model and a definition. An equal request returns the sim that exists; otherwise a new sim is
 * created, with the errors of stet_sim_create. Definitions are equal if all fields are; strings are compared by
 * content. The pool owns *out. It is borrowed until a later call evicts it or the pool is destroyed. A sim with an open
 * round is never evicted, and neither is the requested one. Use a pool from one thread at a time.
 */
STET_API stet_result stet_pool_get(stet_pool *pool, stet_model *model, const stet_sim_def *def, stet_sim **out);

typedef struct stet_pool_stats {
    int64_t sims, bytes; /* at present */
    int64_t found, made,
        evicted; /* since creation; creating an evicted sim again has the reason `evicted` of mechanism `rounds` */
} stet_pool_stats;
STET_API stet_pool_stats stet_pool_get_stats(const stet_pool *pool);

/* Bytes that a sim holds: its arrays and their host mirrors, copies of inputs, and MuJoCo's data. */
STET_API int64_t stet_sim_get_bytes(const stet_sim *sim);

#ifdef __cplusplus
}
#endif
#endif
