/*
 * The generation of each of many items, worlds for example: that of the last write to the item. All of them belong to
 * one version, which is bumped with each write. A reader of all items keeps one number, the generation up to which it
 * has read, and an item is stale while its generation is later. To write all items, and to find that all or none are
 * stale, takes as long for many items as for one; only items that were written apart are walked.
 *
 *   GENERATIONS-1  unless `apart`, every item's generation is `all`, and `own` means nothing
 *   GENERATIONS-2  no item's generation is later than `latest`
 */
#ifndef STI_BASE_GENERATIONS_H
#define STI_BASE_GENERATIONS_H

#include "base/version.h"

typedef struct sti_generations {
    int64_t n;
    uint64_t all, latest;
    bool apart;
    uint64_t *own; /* [n] */
} sti_generations;

/* All items have generation 0, which no write has. */
stet_result sti_generations_init(sti_generations *g, int64_t n, const char *what);
void sti_generations_free(sti_generations *g);

static inline uint64_t sti_generation_of(const sti_generations *g, int64_t i) { return g->apart ? g->own[i] : g->all; }

/* The items of mask [n] (NULL: all) were written: bumps their version, unless there are none. Returns if there are. */
bool sti_generations_bump(sti_generations *g, sti_version *version, const uint8_t *mask);
/* The same for items that are later than `since` in `from`, whose version may be another. */
bool sti_generations_bump_since(sti_generations *g, sti_version *version, const sti_generations *from, uint64_t since);

/* Sets the generation of all items, of one, or of those of mask [n] (NULL: all); returns if there are any. */
void sti_generations_put_all(sti_generations *g, uint64_t generation);
void sti_generations_put(sti_generations *g, int64_t i, uint64_t generation);
bool sti_generations_put_some(sti_generations *g, const uint8_t *mask, uint64_t generation);
void sti_generations_copy(sti_generations *to, const sti_generations *from);

/* Counts the items that are later. If they are some, but not all, mask [n] (unless NULL) says which. */
int64_t sti_generations_since(const sti_generations *g, uint64_t since, uint8_t *mask);
STI_VALIDATE(generations, sti_generations)

#endif
