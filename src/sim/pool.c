/*
 * Pools of sims.
 *
 * Invariants:
 *   POOL-1  a sim is returned only for a definition equal to its own: keys are compared byte for byte
 *   POOL-2  a sim with an open round is never evicted, nor is the requested sim
 *   POOL-3  a failing creation leaves the pool as it was
 */
#include "stet/pool.h"

#include "kernel/compile/text_buffer.h"
#include "model/model.h"
#include "sim/sim.h"

#include <string.h>

enum { POOL_COOKIE = 0x57e79001, REMEMBERED = 64 };

typedef struct entry {
    sti_text_buffer key;
    stet_sim *sim; /* keeps its model alive, too; NULL: evicted */
    int64_t used;
} entry;

struct stet_pool {
    stet_pool_def def;
    entry *entry;
    int nentry, room;
    int64_t clock;
    stet_pool_stats stats;
};

stet_pool_def stet_default_pool_def(void) { return (stet_pool_def){.cookie = POOL_COOKIE, .bytes = INT64_C(4) << 30}; }

stet_result stet_pool_create(const stet_pool_def *def, stet_pool **out)
{
    if (!def || !out) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_pool_create: def and out must not be NULL");
    *out = NULL;
    if (def->cookie != POOL_COOKIE)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "pool: the def is not initialised; start from stet_default_pool_def()");
    if (def->bytes < 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "pool: %lld bytes; give 0 or more", (long long)def->bytes);
    STI_TRY(sti_alloc(out, sizeof **out, "a pool of sims"));
    (*out)->def = *def;
    return STET_OK;
}

static void drop_entry(stet_pool *pool, int k)
{
    entry *e = &pool->entry[k];
    stet_sim_destroy(e->sim);
    sti_text_buffer_free(&e->key);
    pool->nentry--;
    memmove(e, e + 1, (size_t)(pool->nentry - k) * sizeof *e);
}

void stet_pool_destroy(stet_pool *pool)
{
    if (!pool) return;
    while (pool->nentry) drop_entry(pool, pool->nentry - 1);
    sti_free(pool->entry);
    sti_free(pool);
}

/* ---- keys (POOL-1) ----------------------------------------------------------------------------------------------- */

static void put_number(sti_text_buffer *key, int64_t x) { sti_text_buffer_add(key, (const char *)&x, sizeof x); }

/* Writes the length first, so that different lists of strings have different bytes. NULL is a value of its own. */
static void put_text(sti_text_buffer *key, const char *text)
{
    put_number(key, text ? (int64_t)strlen(text) : -1);
    if (text) sti_text_buffer_put(key, text);
}

static void put_device(sti_text_buffer *key, const stet_device_def *d)
{
    const int64_t numbers[] = {(int64_t)d->type,     d->threads,         d->null.lanes,
                               d->null.no_reuse,     d->null.apart,      (int64_t)d->null.fail_op,
                               d->null.fail_at,      d->gpu.index,       (int64_t)d->mechanisms.disabled,
                               d->mechanisms.strict, d->mechanisms.audit};
    sti_text_buffer_add(key, (const char *)numbers, sizeof numbers);
    put_text(key, d->isa);
    put_text(key, d->gpu.library);
    put_text(key, d->gpu.compiler_library);
    put_text(key, d->cache_folder);
}

static stet_result make_key(const stet_model *model, const stet_sim_def *d, sti_text_buffer *key)
{
    const int64_t numbers[] = {(int64_t)model->version.id,
                               d->nworld,
                               (int64_t)d->physics,
                               (int64_t)d->seed,
                               d->keyframe,
                               d->ncamera,
                               d->width,
                               d->height,
                               (int64_t)d->outputs,
                               d->frames_in_flight};
    put_device(key, &d->device);
    sti_text_buffer_add(key, (const char *)numbers, sizeof numbers);
    for (int i = 0; d->cameras && i < d->ncamera; ++i) put_text(key, d->cameras[i]);
    if (key->result == STET_OK) return STET_OK;
    stet_result result = key->result;
    sti_text_buffer_free(key);
    return result;
}

static entry *find_pool(stet_pool *pool, const sti_text_buffer *key)
{
    for (int k = 0; k < pool->nentry; ++k) {
        entry *e = &pool->entry[k];
        if (e->key.size == key->size && memcmp(e->key.data, key->data, key->size) == 0) return e;
    }
    return NULL;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static int64_t data_bytes(const stet_worlds *worlds)
{
    int64_t n = 0;
    for (int64_t w = 0; worlds->data && w < worlds->nworld; ++w)
        n += (int64_t)(sizeof(mjData) + (size_t)worlds->data[w]->nbuffer + (size_t)worlds->data[w]->maxuse_arena);
    for (int t = 0; t < worlds->device->threads; ++t)
        n += (int64_t)(sizeof(mjData) + (size_t)worlds->scratch[t]->nbuffer);
    return n;
}

int64_t stet_sim_get_bytes(const stet_sim *sim)
{
    if (!sim) return 0;
    int64_t n = sim->device->array_bytes + data_bytes(sim->worlds) +
                sim->device->mechanisms.counters.mechanism[STET_MECHANISM_READBACK].held_bytes;
    for (int k = 0; k < sim->round.nslot; ++k)
        n += (int64_t)(sim->round.slot[k].now.room + sim->round.slot[k].next.room);
    return n;
}

static int64_t all_bytes(const stet_pool *pool)
{
    int64_t n = 0;
    for (int k = 0; k < pool->nentry; ++k) n += stet_sim_get_bytes(pool->entry[k].sim);
    return n;
}

/* The least recently used sim that may be evicted (POOL-2); NULL: none. */
static entry *oldest(stet_pool *pool, const entry *asked)
{
    entry *found = NULL;
    for (int k = 0; k < pool->nentry; ++k) {
        entry *e = &pool->entry[k];
        if (e == asked || !e->sim || e->sim->round.info.open) continue;
        if (!found || e->used < found->used) found = e;
    }
    return found;
}

/*
 * Limits the number of keys of evicted sims; the oldest are dropped. Identities are never reused, so no key is
 * ambiguous.
 */
static void forget_some(stet_pool *pool)
{
    for (int k = 0, gone = 0; k < pool->nentry; ++k) {
        gone += pool->entry[k].sim == NULL;
        if (gone <= REMEMBERED) continue;
        for (k = 0; pool->entry[k].sim; ++k) {
        }
        drop_entry(pool, k);
        return;
    }
}

/* An evicted sim leaves its key, so that creating it again is counted with the reason `evicted`. */
static void make_room_pool(stet_pool *pool, const entry *asked)
{
    while (all_bytes(pool) > pool->def.bytes) {
        entry *e = oldest(pool, asked);
        if (!e) return;
        stet_sim_destroy(e->sim);
        e->sim = NULL;
        pool->stats.evicted++;
    }
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static stet_result add_entry(stet_pool *pool, sti_text_buffer *key, entry **out)
{
    if (pool->nentry == pool->room) {
        int room = pool->room ? 2 * pool->room : 8;
        STI_TRY(sti_realloc(&pool->entry, (size_t)room * sizeof *pool->entry, "sims of a pool"));
        pool->room = room;
    }
    *out = &pool->entry[pool->nentry++];
    **out = (entry){.key = *key};
    *key = (sti_text_buffer){0};
    return STET_OK;
}

static stet_result make_sim(stet_pool *pool, entry *e, stet_model *model, const stet_sim_def *def, bool again)
{
    STI_TRY(stet_sim_create(model, def, &e->sim));
    e->sim->round.evicted = again;
    pool->stats.made++;
    return STET_OK;
}

static stet_result get_pool(stet_pool *pool, stet_model *model, const stet_sim_def *def, sti_text_buffer *key,
                            entry **out)
{
    entry *e = *out = find_pool(pool, key);
    bool known = e != NULL;
    if (known && e->sim) {
        pool->stats.found++;
        return STET_OK;
    }
    if (!known) STI_TRY(add_entry(pool, key, &e));
    stet_result result = make_sim(pool, e, model, def, known);
    if (result != STET_OK && !known) drop_entry(pool, pool->nentry - 1); /* POOL-3 */
    *out = e;
    return result;
}

stet_result stet_pool_get(stet_pool *pool, stet_model *model, const stet_sim_def *def, stet_sim **out)
{
    sti_text_buffer key = {0};
    entry *e;
    if (!out) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_pool_get: out is NULL; give a place for the sim");
    *out = NULL;
    if (!pool || !model || !def)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_pool_get: pool, model and def must not be NULL");
    STI_TRY(sti_sim_check(model, def));
    forget_some(pool);
    STI_TRY(make_key(model, def, &key));
    stet_result result = get_pool(pool, model, def, &key, &e);
    sti_text_buffer_free(&key);
    if (result != STET_OK) return result;
    e->used = ++pool->clock;
    make_room_pool(pool, e);
    *out = e->sim;
    return STET_OK;
}

stet_pool_stats stet_pool_get_stats(const stet_pool *pool)
{
    if (!pool) return (stet_pool_stats){0};
    stet_pool_stats stats = pool->stats;
    for (int k = 0; k < pool->nentry; ++k) stats.sims += pool->entry[k].sim != NULL;
    stats.bytes = all_bytes(pool);
    return stats;
}
