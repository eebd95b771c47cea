/* The pool of GPU memory; see pool.h. */
#include "device/gpu/gpu.h"

#include "base/memory.h"
#include "base/plural.h"

#include <assert.h>
#include <string.h>

#define MIB ((size_t)1 << 20)
enum { SMALLEST = 256, SMALL_MOST = 512 << 10 };
static const size_t chunk_size = 8 * MIB, big_step = 2 * MIB;

struct sti_pool_block {
    char *address;
    size_t size;
    int class;            /* a small block's size class; -1: big, a block of the driver; -2: a chunk */
    bool used;            /* in use */
    sti_pool_block *next; /* in its bucket */
    sti_pool_block *kept; /* next in the list of kept blocks, or of chunks */
};

typedef struct request {
    size_t size;
    const char *what;
} request;

/* ---- classes ------------------------------------------------------------------------------------------------------
 * Sizes of small blocks: four to a doubling, so that at most a fifth of one is not used.
 */

static size_t class_size(int class)
{
    if (class < 4) return (size_t)SMALLEST * (size_t)(class + 1);
    return ((size_t)SMALLEST << (class / 4 - 1)) * (size_t)(5 + class % 4);
}

static int class_of(size_t size)
{
    int class = 0;
    assert(size <= SMALL_MOST);
    while (class_size(class) < size) ++class;
    return class;
}

static size_t round_up(size_t size, size_t step) { return (size + step - 1) / step * step; }

/* ---- blocks by address ------------------------------------------------------------------------------------------- */

static sti_pool_block **bucket_of(sti_gpu_pool *p, const void *address)
{
    uint64_t h = (uint64_t)(uintptr_t)address / SMALLEST * 0x9e3779b97f4a7c15u;
    return &p->bucket[h >> 54];
}

static sti_pool_block *find_block(sti_gpu_pool *p, const void *address)
{
    sti_pool_block *b = *bucket_of(p, address);
    while (b && b->address != address) b = b->next;
    return b;
}

static void add_to_bucket(sti_gpu_pool *p, sti_pool_block *b)
{
    assert(b->address && !find_block(p, b->address) && "an address is one block's");
    sti_pool_block **bucket = bucket_of(p, b->address);
    b->next = *bucket;
    *bucket = b;
}

static void remove_from_bucket(sti_gpu_pool *p, const sti_pool_block *b)
{
    assert(find_block(p, b->address) == b);
    sti_pool_block **at = bucket_of(p, b->address);
    while (*at != b) at = &(*at)->next;
    *at = b->next;
}

/* ---- the driver's blocks ----------------------------------------------------------------------------------------- */

static stet_result alloc_from_driver(sti_gpu *gpu, sti_pool_block *b, size_t size)
{
    void *memory = NULL;
    STI_TRY(STI_GPU_CALL(gpu, alloc, &memory, size));
    b->address = memory;
    b->size = size;
    gpu->pool.stats.asked++;
    return STET_OK;
}

/* The memory of a lost device is gone already (GPU-3). */
static void free_to_driver(sti_gpu *gpu, sti_pool_block *b)
{
    if (!atomic_load(&gpu->lost) && STI_GPU_CALL(gpu, free, b->address) != STET_OK)
        sti_log(STET_LOG_WARNING, "%s", stet_get_last_error());
    sti_free(b);
}

static size_t big_kept(const sti_gpu_pool *p)
{
    size_t sum = 0;
    for (const sti_pool_block *b = p->big; b; b = b->kept) sum += b->size;
    return sum;
}

/*
 * Frees big kept blocks, the oldest first, until no more than `most` bytes are kept. Call it after a wait for the work
 * that used them.
 */
static void trim(sti_gpu *gpu, size_t most)
{
    sti_gpu_pool *p = &gpu->pool;
    size_t kept = 0;
    for (sti_pool_block **at = &p->big; *at;) {
        sti_pool_block *b = *at;
        if (kept + b->size <= most) {
            kept += b->size;
            at = &b->kept;
            continue;
        }
        *at = b->kept;
        assert(!b->used && b->class == -1 && p->stats.kept >= b->size && "what is kept is counted");
        p->stats.kept -= b->size;
        remove_from_bucket(p, b);
        free_to_driver(gpu, b);
    }
}

static stet_result wait_and_trim(sti_gpu *gpu, size_t most)
{
    STI_TRY(STI_GPU_CALL(gpu, stream_synchronize, gpu->stream));
    trim(gpu, most);
    return STET_OK;
}

static double gib(size_t bytes) { return (double)bytes / (double)((size_t)1 << 30); }

static stet_result out_of_memory(sti_gpu *gpu, const request *r)
{
    size_t free = 0, total = gpu->facts.memory;
    const sti_pool_stats *s = &gpu->pool.stats;
    (void)gpu->driver.api.memory_info(&free, &total); /* the message is useful without it, too */
    return sti_error(STET_ERROR_OUT_OF_MEMORY,
                     "%s: out of memory: %s needs %zu bytes (%.2f GiB); %.2f of %.2f GiB are free, stet holds %.2f GiB "
                     "in %lld block%s; use fewer worlds or smaller pictures",
                     gpu->where, r->what, r->size, gib(r->size), gib(free), gib(total), gib(s->used + s->kept),
                     (long long)s->blocks, STI_S(s->blocks));
}

/* ---- big blocks -------------------------------------------------------------------------------------------------- */

static stet_result new_big(sti_gpu *gpu, size_t size, const request *r, sti_pool_block **out)
{
    sti_pool_block *b;
    STI_TRY(sti_alloc(&b, sizeof *b, "a block of a GPU's memory"));
    stet_result result = alloc_from_driver(gpu, b, size);
    if (result == STET_ERROR_OUT_OF_MEMORY && gpu->pool.big) {
        result = wait_and_trim(gpu, 0);
        if (result == STET_OK) result = alloc_from_driver(gpu, b, size);
    }
    if (result != STET_OK) {
        sti_free(b);
        return result == STET_ERROR_OUT_OF_MEMORY ? out_of_memory(gpu, r) : result;
    }
    b->class = -1;
    add_to_bucket(&gpu->pool, b);
    *out = b;
    return STET_OK;
}

/* Returns the smallest kept block that is big enough and at most an eighth too big. */
static sti_pool_block *take_kept_big(sti_gpu_pool *p, size_t size)
{
    sti_pool_block **best = NULL;
    for (sti_pool_block **at = &p->big; *at; at = &(*at)->kept)
        if ((*at)->size >= size && (*at)->size - size <= size / 8 && (!best || (*at)->size < (*best)->size)) best = at;
    if (!best) return NULL;
    sti_pool_block *b = *best;
    *best = b->kept;
    return b;
}

/* ---- small blocks ------------------------------------------------------------------------------------------------ */

static stet_result new_chunk(sti_gpu *gpu, const request *r)
{
    sti_gpu_pool *p = &gpu->pool;
    sti_pool_block *chunk = NULL;
    stet_result result = new_big(gpu, chunk_size, r, &chunk);
    if (result != STET_OK || !chunk) return result;
    remove_from_bucket(p, chunk); /* its first piece has the same address */
    chunk->class = -2;
    chunk->kept = p->chunks;
    p->chunks = chunk;
    p->cut = chunk->address;
    p->left = chunk->size;
    return STET_OK;
}

static stet_result cut_small(sti_gpu *gpu, int class, const request *r, sti_pool_block **out)
{
    sti_gpu_pool *p = &gpu->pool;
    sti_pool_block *b;
    size_t size = class_size(class);
    if (p->left < size) STI_TRY(new_chunk(gpu, r)); /* the rest of the old chunk stays unused */
    STI_TRY(sti_alloc(&b, sizeof *b, "a block of a GPU's memory"));
    *b = (sti_pool_block){.address = p->cut, .size = size, .class = class};
    assert(p->left >= size && "a piece lies within its chunk");
    p->cut += size;
    p->left -= size;
    add_to_bucket(p, b);
    *out = b;
    return STET_OK;
}

static sti_pool_block *take_kept_small(sti_gpu_pool *p, int class)
{
    sti_pool_block *b = p->small[class];
    if (b) p->small[class] = b->kept;
    return b;
}

/* ---- given out, and back ----------------------------------------------------------------------------------------- */

static stet_result take_block(sti_gpu *gpu, const request *r, sti_pool_block **out)
{
    sti_gpu_pool *p = &gpu->pool;
    bool small = r->size <= SMALL_MOST;
    int class = small ? class_of(r->size) : -1;
    if (!small && r->size > SIZE_MAX - big_step) return out_of_memory(gpu, r);
    size_t size = round_up(r->size, big_step);
    *out = small ? take_kept_small(p, class) : take_kept_big(p, size);
    if (*out) {
        p->stats.kept -= (*out)->size;
        p->stats.reused++;
        return STET_OK;
    }
    return small ? cut_small(gpu, class, r, out) : new_big(gpu, size, r, out);
}

stet_result sti_pool_alloc(sti_gpu *gpu, size_t size, const char *what, void **out)
{
    sti_gpu_pool *p = &gpu->pool;
    sti_pool_block *b = NULL;
    pthread_mutex_lock(&p->lock);
    stet_result result = big_kept(p) > p->keep ? wait_and_trim(gpu, p->keep) : STET_OK; /* GPU-POOL-5 */
    if (result == STET_OK) result = take_block(gpu, &(request){size, what}, &b);
    if (result == STET_OK) {
        assert(!b->used && b->size >= size && (b->class < 0 || b->size == class_size(b->class)));
        b->used = true;
        b->kept = NULL;
        p->stats.used += b->size;
        p->stats.blocks++;
        *out = b->address;
    }
    pthread_mutex_unlock(&p->lock);
    return result;
}

static void keep_block(sti_gpu_pool *p, sti_pool_block *b)
{
    sti_pool_block **list = b->class >= 0 ? &p->small[b->class] : &p->big;
    assert(b->used && b->class >= -1 && p->stats.used >= b->size && p->stats.blocks > 0);
    b->used = false;
    b->kept = *list;
    *list = b;
    p->stats.used -= b->size;
    p->stats.kept += b->size;
    p->stats.blocks--;
}

/* More is kept than `keep`: only then does a free call the driver. */
static void trim_now(sti_gpu *gpu)
{
    sti_gpu_current was;
    if (sti_gpu_enter(gpu, &was) != STET_OK) return;
    if (sti_gpu_leave(gpu, &was, wait_and_trim(gpu, gpu->pool.keep)) != STET_OK)
        sti_log(STET_LOG_WARNING, "%s", stet_get_last_error());
}

void sti_pool_free(sti_gpu *gpu, void *memory)
{
    sti_gpu_pool *p = &gpu->pool;
    if (!memory || sti_gpu_is_forked(gpu)) return;
    pthread_mutex_lock(&p->lock);
    sti_pool_block *b = find_block(p, memory);
    if (b && b->used) {
        keep_block(p, b);
        if (b->class < 0 && big_kept(p) > p->keep && gpu->stream == gpu->own) trim_now(gpu); /* GPU-POOL-5 */
    } else {
        sti_log(STET_LOG_ERROR, "%s: %p is freed and is no block in use", gpu->where, memory);
    }
    pthread_mutex_unlock(&p->lock);
}

sti_pool_stats sti_pool_get_stats(sti_gpu_pool *p)
{
    pthread_mutex_lock(&p->lock);
    sti_pool_stats stats = p->stats;
    pthread_mutex_unlock(&p->lock);
    return stats;
}

/* ---- beginning and end ------------------------------------------------------------------------------------------- */

void sti_pool_init(sti_gpu_pool *p, size_t keep_most)
{
    p->keep = keep_most;
    (void)pthread_mutex_init(&p->lock, NULL); /* default attributes: cannot fail */
}

void sti_pool_end(sti_gpu *gpu)
{
    sti_gpu_pool *p = &gpu->pool;
    for (int i = 0; i < STI_POOL_BUCKETS; ++i)
        for (sti_pool_block *b = p->bucket[i], *next; b; b = next) {
            next = b->next;
            if (b->class < 0)
                free_to_driver(gpu, b);
            else
                sti_free(b);
        }
    for (sti_pool_block *b = p->chunks, *next; b; b = next) {
        next = b->kept;
        free_to_driver(gpu, b);
    }
    pthread_mutex_destroy(&p->lock);
}
