/*
 * A named arena: scratch memory that is taken piece by piece and given back all at once, with a high-water mark. Growth
 * happens between uses, so that a steady state allocates nothing.
 *
 * Invariant: pieces stay where they are until the arena is reset.
 */
#ifndef STI_BASE_ARENA_H
#define STI_BASE_ARENA_H

#include "stet/base.h"

typedef struct sti_arena {
    const char *name; /* borrowed, for messages */
    struct sti_arena_chunk *first, *current;
    size_t used, high; /* bytes in use, most that ever were */
} sti_arena;

void sti_arena_init(sti_arena *a, const char *name);
/* Zeroed, aligned to STI_ALIGN, valid until the next reset. */
stet_result sti_arena_take(sti_arena *a, size_t size, void *out);
void sti_arena_reset(
    sti_arena *a); /* keeps the memory; merges chunks so that the next round of the same size is one chunk */
void sti_arena_free(sti_arena *a);

#endif
