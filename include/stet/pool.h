/*
 * A pool of sims: rounds of several scenes alternate without making each other's sims anew.
 *
 *     stet_pool_get(pool, hand, &def, &sim);       made, or the one that was there
 *     … a round of it (stet/round.h) …
 *     stet_pool_get(pool, cartpole, &def, &sim);   the other one stays
 *
 * The sims stay until together they hold more memory than the pool may; then the one that was asked for longest ago goes.
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
    int64_t bytes;   /* that its sims may hold, of the host and of devices together; default 4 GiB */
} stet_pool_def;
STET_API stet_pool_def stet_default_pool_def(void);
STET_API stet_result stet_pool_create(const stet_pool_def *def, stet_pool **out); /* the caller owns *out */
STET_API void stet_pool_destroy(stet_pool *pool);                                 /* with all its sims; NULL is fine */
/*
 * The sim of a model and a definition: the one that is there, if an equal one was asked for before, else a new one (see stet_sim_create, whose
 * errors it has). Definitions are equal if all that they say is; names are compared by their letters. The pool owns *out, which lives
 * until another is asked for and this one has to go, or the pool is destroyed; a sim in whose round one is stays in any case, and so does the one that is
 * asked for. One thread at a time.
 */
STET_API stet_result stet_pool_get(stet_pool *pool, stet_model *model, const stet_sim_def *def, stet_sim **out);

typedef struct stet_pool_stats {
    int64_t sims, bytes; /* now */
    int64_t found, made,
        evicted; /* ever; a sim that was made again after it had gone has the reason `evicted` of mechanism `rounds` */
} stet_pool_stats;
STET_API stet_pool_stats stet_pool_get_stats(const stet_pool *pool);

/* Bytes that a sim holds: its arrays and their host's sides, copies of inputs, and MuJoCo's data. */
STET_API int64_t stet_sim_bytes(const stet_sim *sim);

#ifdef __cplusplus
}
#endif
#endif
