/*
 * Arenas: a chain of chunks, used in order. See arena.h.
 *
 * Invariants:
 *   ARENA-1  chunks before `current` are full or were too small, those after it are empty
 *   ARENA-2  each piece starts at a multiple of STI_ALIGN from its chunk's start, which is aligned itself
 *   ARENA-3  a reset leaves one chunk as large as all chunks together; without memory for it, the chain stays, which
 *       works but is slower
 */
#include "base/arena.h"

#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <string.h>

enum { FIRST_CHUNK = 1 << 16 };

struct sti_arena_chunk {
    struct sti_arena_chunk *next;
    size_t size, used; /* of the bytes behind the header, multiples of STI_ALIGN */
};

static_assert(sizeof(struct sti_arena_chunk) <= STI_ALIGN, "the header keeps the alignment");

static char *chunk_bytes(struct sti_arena_chunk *chunk) { return (char *)chunk + STI_ALIGN; }

static size_t capacity(const sti_arena *a)
{
    size_t sum = 0;
    for (const struct sti_arena_chunk *c = a->first; c; c = c->next) sum += c->size;
    return sum;
}

static stet_result new_chunk(const sti_arena *a, size_t size, struct sti_arena_chunk **out)
{
    assert(size > 0 && size % STI_ALIGN == 0 && "ARENA-2");
    STI_TRY(sti_alloc(out, size + STI_ALIGN, a->name));
    (*out)->size = size;
    return STET_OK;
}

static void free_chain(struct sti_arena_chunk *chunk)
{
    while (chunk) {
        struct sti_arena_chunk *next = chunk->next;
        sti_free(chunk);
        chunk = next;
    }
}

void sti_arena_init(sti_arena *a, const char *name) { *a = (sti_arena){.name = name}; }

/* Makes `current` a chunk with room for size bytes: the next one that has room, or a new one as large as all others. */
static stet_result make_room(sti_arena *a, size_t size)
{
    struct sti_arena_chunk *last = NULL;
    for (struct sti_arena_chunk *c = a->current; c; c = c->next) {
        if (c->size - c->used >= size) {
            a->current = c;
            return STET_OK;
        }
        last = c;
    }
    size_t fresh = capacity(a);
    if (fresh < FIRST_CHUNK) fresh = FIRST_CHUNK;
    if (fresh < size) fresh = size;
    struct sti_arena_chunk *chunk;
    STI_TRY(new_chunk(a, fresh, &chunk));
    if (last)
        last->next = chunk;
    else
        a->first = chunk;
    a->current = chunk;
    return STET_OK;
}

stet_result sti_arena_take(sti_arena *a, size_t size, void *out)
{
    void *piece = NULL;
    memcpy(out, &piece, sizeof piece);
    if (size > PTRDIFF_MAX - STI_ALIGN - STI_ALIGN) {
        return sti_error(STET_ERROR_OUT_OF_MEMORY, "out of memory: %zu bytes for %s; ask for less", size, a->name);
    }
    size = size > 0 ? (size + STI_ALIGN - 1) / STI_ALIGN * STI_ALIGN : STI_ALIGN;
    STI_TRY(make_room(a, size));
    piece = chunk_bytes(a->current) + a->current->used;
    assert((uintptr_t)piece % STI_ALIGN == 0 && "ARENA-2");
    memset(piece, 0, size);
    memcpy(out, &piece, sizeof piece);
    a->current->used += size;
    a->used += size;
    if (a->used > a->high) a->high = a->used;
    sti_validate_arena(a);
    return STET_OK;
}

void sti_arena_reset(sti_arena *a)
{
    struct sti_arena_chunk *merged;
    if (a->first && a->first->next && new_chunk(a, capacity(a), &merged) == STET_OK) {
        free_chain(a->first);
        a->first = merged;
    }
    for (struct sti_arena_chunk *c = a->first; c; c = c->next) c->used = 0;
    a->current = a->first;
    a->used = 0;
    sti_validate_arena(a);
}

void sti_arena_free(sti_arena *a)
{
    free_chain(a->first);
    a->first = a->current = NULL;
    a->used = 0;
}

#ifndef NDEBUG

void sti_validate_arena(const sti_arena *a)
{
    size_t used = 0;
    bool behind = false;
    assert((a->first == NULL) == (a->current == NULL));
    for (const struct sti_arena_chunk *c = a->first; c; c = c->next) {
        assert(c->size % STI_ALIGN == 0 && c->used % STI_ALIGN == 0 && c->used <= c->size && "ARENA-2");
        assert((!behind || c->used == 0) && "ARENA-1: what comes after `current` is empty");
        behind = behind || c == a->current;
        used += c->used;
    }
    assert((behind || !a->first) && "`current` is in the chain");
    assert(used == a->used && a->used <= a->high);
}

#endif
