/*
 * A named arena: scratch memory that is allocated piece by piece and freed all at once, with a high-water mark. It
 * grows between uses, so a steady state allocates nothing.
 *
 * Invariant: pieces do not move until the arena is reset.
 */
#ifndef STI_BASE_ARENA_H
#define STI_BASE_ARENA_H

#include "base/validate.h"
#include "stet/base.h"

typedef struct sti_arena {
    const char *name; /* borrowed, for messages */
    struct sti_arena_chunk *first, *current;
    size_t used, high; /* bytes in use, and their maximum so far */
} sti_arena;

void sti_arena_init(sti_arena *a, const char *name);
/* Zeroed, aligned to STI_ALIGN, valid until the next reset. */
stet_result sti_arena_take(sti_arena *a, size_t size, void *out);
/* Keeps the memory, and merges chunks, so that the next use of the same size needs one chunk. */
void sti_arena_reset(sti_arena *a);
void sti_arena_free(sti_arena *a);
STI_VALIDATE(arena, sti_arena)

#endif
