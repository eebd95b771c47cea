/* Generations of many items: see generations.h for the invariants. */
#include "base/generations.h"

#include "base/memory.h"

#include <assert.h>
#include <string.h>

stet_result sti_generations_init(sti_generations *g, int64_t n, const char *what)
{
    assert(n >= 0 && what);
    *g = (sti_generations){.n = n};
    return sti_alloc(&g->own, (size_t)n * sizeof *g->own, what);
}

void sti_generations_free(sti_generations *g)
{
    sti_free(g->own);
    *g = (sti_generations){0};
}

/* From now on items have generations of their own. */
static void take_apart(sti_generations *g)
{
    assert((g->apart || g->all <= g->latest) && "GENERATIONS-2");
    for (int64_t i = 0; !g->apart && i < g->n; ++i) g->own[i] = g->all;
    g->apart = true;
}

void sti_generations_put_all(sti_generations *g, uint64_t generation)
{
    g->all = g->latest = generation;
    g->apart = false;
}

void sti_generations_put(sti_generations *g, int64_t i, uint64_t generation)
{
    assert(i >= 0 && i < g->n);
    take_apart(g);
    g->own[i] = generation;
    if (generation > g->latest) g->latest = generation;
}

/* The items of mask, in which `chosen` are not 0, have one generation. */
static void put_chosen(sti_generations *g, const uint8_t *mask, int64_t chosen, uint64_t generation)
{
    assert(chosen > 0 && chosen <= g->n && (mask || chosen == g->n));
    if (chosen == g->n) {
        sti_generations_put_all(g, generation);
        return;
    }
    take_apart(g);
    for (int64_t i = 0; i < g->n; ++i) g->own[i] = mask[i] ? generation : g->own[i];
    if (generation > g->latest) g->latest = generation;
}

bool sti_generations_put_some(sti_generations *g, const uint8_t *mask, uint64_t generation)
{
    int64_t chosen = mask ? 0 : g->n;
    for (int64_t i = 0; mask && i < g->n; ++i) chosen += mask[i] != 0;
    if (chosen > 0) put_chosen(g, mask, chosen, generation);
    return chosen > 0;
}

bool sti_generations_bump(sti_generations *g, sti_version *version, const uint8_t *mask)
{
    assert(g->latest <= version->generation && "a generation is one that their version has had");
    bool any = sti_generations_put_some(g, mask, version->generation + 1);
    if (any) sti_version_bump(version);
    return any;
}

bool sti_generations_bump_since(sti_generations *g, sti_version *version, const sti_generations *from, uint64_t since)
{
    assert(from->n == g->n && from != g);
    assert(g->latest <= version->generation && "a generation is one that their version has had");
    int64_t chosen = sti_generations_since(from, since, NULL);
    if (chosen == 0) return false;
    sti_version_bump(version);
    if (chosen == g->n) {
        sti_generations_put_all(g, version->generation);
        return true;
    }
    take_apart(g);
    for (int64_t i = 0; i < g->n; ++i) g->own[i] = from->own[i] > since ? version->generation : g->own[i];
    g->latest = version->generation;
    return true;
}

void sti_generations_copy(sti_generations *to, const sti_generations *from)
{
    assert(to->n == from->n && "as many items");
    if (from->apart) memcpy(to->own, from->own, (size_t)from->n * sizeof *to->own);
    to->all = from->all;
    to->latest = from->latest;
    to->apart = from->apart;
}

int64_t sti_generations_since(const sti_generations *g, uint64_t since, uint8_t *mask)
{
    sti_validate_generations(g);
    int64_t chosen = 0;
    if (g->latest <= since) return 0;
    if (!g->apart) return g->n;
    for (int64_t i = 0; i < g->n; ++i) chosen += g->own[i] > since;
    for (int64_t i = 0; mask && i < g->n; ++i) mask[i] = g->own[i] > since;
    return chosen;
}

#ifndef NDEBUG

void sti_validate_generations(const sti_generations *g)
{
    assert(g->n >= 0 && (g->n == 0 || g->own));
    assert((g->apart || g->all == g->latest) && "GENERATIONS-1");
    for (int64_t i = 0; g->apart && i < g->n; ++i) assert(g->own[i] <= g->latest && "GENERATIONS-2");
}

#endif
