/*
 * Memory from the allocator hook, counted.
 *
 * Invariants:
 *   MEMORY-1  a block is STI_ALIGN bytes of header, then the caller's bytes: both aligned to STI_ALIGN
 *   MEMORY-2  every block is freed by the allocator that it came from: the hook changes only while no block is in use
 *   MEMORY-3  counts are kept for blocks that exist, so a failure changes only the count of calls
 *   MEMORY-4  large blocks of the default hook are pages of their own, which the system gives zeroed when they are
 *             first touched: nobody clears them, and what is not used of a block takes no memory
 */
#include "base/memory.h"

#include "base/error.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define COOKIE UINT64_C(0x7374657420626c6b) /* in each header; other memory does not have it */

typedef struct header {
    size_t size; /* size of the caller's bytes */
    uint64_t cookie;
} header;

static_assert(sizeof(header) <= STI_ALIGN, "the header keeps the alignment");

#if defined(__SANITIZE_ADDRESS__)
#define PAGES_OF_THEIR_OWN 0 /* there blocks have neighbours that nobody may touch */
#else
#define PAGES_OF_THEIR_OWN 1
#endif

static const size_t huge_page = (size_t)2 << 20;

static bool is_large(size_t size) { return size >= 2 * huge_page; }

/* Pages that begin at a huge one. They are huge where Linux gives them: reads in strides touch many pages. */
static void *map_pages(size_t size)
{
    size_t room = size + huge_page;
    char *memory = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    size_t before = (huge_page - (uintptr_t)memory % huge_page) % huge_page;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), used = (size + page - 1) / page * page;
    if (before > 0) (void)munmap(memory, before);
    if (before + used < room) (void)munmap(memory + before + used, room - before - used);
#ifdef MADV_HUGEPAGE
    (void)madvise(memory + before, used, MADV_HUGEPAGE); /* advice: without them it is as it was */
#endif
    return memory + before;
}

static void *default_alloc(size_t size, size_t align, void *context)
{
    void *memory = NULL;
    (void)context;
    if (PAGES_OF_THEIR_OWN && is_large(size)) return size <= PTRDIFF_MAX - huge_page ? map_pages(size) : NULL;
    return posix_memalign(&memory, align, size) == 0 ? memory : NULL;
}

static void default_free(void *memory, void *context)
{
    size_t size = ((header *)memory)->size + STI_ALIGN;
    (void)context;
    if (PAGES_OF_THEIR_OWN && is_large(size))
        (void)munmap(memory, size);
    else
        free(memory);
}

static struct {
    stet_alloc_fn *alloc;
    stet_free_fn *release;
    void *context;
} hook = {default_alloc, default_free, NULL};

static _Atomic int64_t held_blocks, held_bytes, peak_bytes, allocation_calls;

stet_result stet_set_allocator(stet_alloc_fn *alloc, stet_free_fn *release, void *context)
{
    if (!alloc != !release) {
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_set_allocator: only one of alloc and release is given; give both, or neither");
    }
    int64_t held = atomic_load(&held_blocks);
    if (held != 0) {
        return sti_error(
            STET_ERROR_STATE,
            "stet_set_allocator: %lld blocks are held; set the allocator before anything is created, or after "
            "everything is destroyed",
            (long long)held);
    }
    hook.alloc = alloc ? alloc : default_alloc;
    hook.release = alloc ? release : default_free;
    hook.context = alloc ? context : NULL;
    return STET_OK;
}

stet_memory_stats stet_get_memory_stats(void)
{
    return (stet_memory_stats){
        .blocks = atomic_load(&held_blocks),
        .bytes = atomic_load(&held_bytes),
        .peak_bytes = atomic_load(&peak_bytes),
        .allocations = atomic_load(&allocation_calls),
    };
}

static void count_block(size_t size)
{
    assert(size <= PTRDIFF_MAX - STI_ALIGN);
    atomic_fetch_add(&held_blocks, 1);
    int64_t now = atomic_fetch_add(&held_bytes, (int64_t)size) + (int64_t)size;
    int64_t peak = atomic_load(&peak_bytes);
    while (now > peak && !atomic_compare_exchange_weak(&peak_bytes, &peak, now)) {
    }
}

static header *header_of(void *block)
{
    header *h = (header *)((char *)block - STI_ALIGN);
    assert((uintptr_t)h % STI_ALIGN == 0 && "MEMORY-1");
    assert(h->cookie == COOKIE && "a block that sti_alloc did not give, or that was freed already");
    return h;
}

/*
 * Allocates a block whose bytes are not set. NULL: out of memory, or (misaligned) the allocator's memory cannot be
 * used.
 */
static void *try_block(size_t size, bool *misaligned)
{
    *misaligned = false;
    atomic_fetch_add(&allocation_calls, 1);
    void *memory = size <= PTRDIFF_MAX - STI_ALIGN ? hook.alloc(size + STI_ALIGN, STI_ALIGN, hook.context) : NULL;
    if (!memory) return NULL;
    if ((uintptr_t)memory % STI_ALIGN != 0) {
        hook.release(memory, hook.context);
        *misaligned = true;
        return NULL;
    }
    *(header *)memory = (header){.size = size, .cookie = COOKIE};
    count_block(size);
    return (char *)memory + STI_ALIGN;
}

/* The same; on failure returns NULL and sets the thread's message. */
static void *new_block(size_t size, const char *what)
{
    bool misaligned;
    void *block = try_block(size, &misaligned);
    if (block) return block;
    if (misaligned)
        (void)sti_error(
            STET_ERROR_OUT_OF_MEMORY,
            "out of memory: %zu bytes for %s: the caller's allocator gave memory that is not aligned to %d bytes", size,
            what, STI_ALIGN);
    else
        (void)sti_error(STET_ERROR_OUT_OF_MEMORY, "out of memory: %zu bytes for %s; use fewer worlds or smaller images",
                        size, what);
    return NULL;
}

/* Zeroes a new block from its byte `from` on (MEMORY-4). */
static void zero_block(void *block, size_t from, size_t size)
{
    bool zero = PAGES_OF_THEIR_OWN && hook.alloc == default_alloc && is_large(size + STI_ALIGN);
    if (!zero) memset((char *)block + from, 0, size - from);
}

void *sti_alloc_or_null(size_t size)
{
    bool misaligned;
    void *block = try_block(size, &misaligned);
    if (block) zero_block(block, 0, size);
    return block;
}

/* Pointers go through memcpy: `out` points to a pointer of some other type. */
static void set_pointer(void *out, void *value) { memcpy(out, &value, sizeof value); }

stet_result sti_alloc(void *out, size_t size, const char *what)
{
    assert(out && what);
    void *block = new_block(size, what);
    set_pointer(out, block);
    if (!block) return STET_ERROR_OUT_OF_MEMORY;
    zero_block(block, 0, size);
    return STET_OK;
}

stet_result sti_realloc(void *block, size_t size, const char *what)
{
    assert(block && what);
    void *old = NULL;
    memcpy(&old, block, sizeof old);
    if (old && sti_block_size(old) == size) return STET_OK;
    void *fresh = new_block(size, what);
    if (!fresh) return STET_ERROR_OUT_OF_MEMORY;
    size_t kept = sti_block_size(old);
    if (kept > size) kept = size;
    if (kept > 0) memcpy(fresh, old, kept);
    zero_block(fresh, kept, size);
    sti_free(old);
    set_pointer(block, fresh);
    return STET_OK;
}

void sti_free(void *block)
{
    if (!block) return;
    header *h = header_of(block);
    int64_t held = atomic_fetch_sub(&held_bytes, (int64_t)h->size);
    assert(held >= (int64_t)h->size && "MEMORY-3");
    (void)held;
    h->cookie = 0;
    hook.release(h, hook.context);
    /* Last, so that the hook cannot be replaced while a block is being freed (MEMORY-2). */
    atomic_fetch_sub(&held_blocks, 1);
}

size_t sti_block_size(const void *block) { return block ? header_of((void *)block)->size : 0; }

stet_result sti_strdup(char **out, const char *text)
{
    assert(out && text);
    size_t size = strlen(text) + 1;
    STI_TRY(sti_alloc(out, size, "a string"));
    memcpy(*out, text, size);
    return STET_OK;
}

stet_result sti_mul_size(size_t a, size_t b, size_t *out, const char *what)
{
    if (b != 0 && a > SIZE_MAX / b) {
        *out = 0;
        return sti_error(STET_ERROR_LIMIT, "%s: %zu times %zu is more than this machine can address; ask for less",
                         what, a, b);
    }
    *out = a * b;
    return STET_OK;
}

double sti_machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (double)pages * (double)page : 0;
}
