/*
 * Random numbers for tests: a seed that is printed, a small generator (splitmix64). STET_TEST_SEED repeats a run.
 */
#ifndef TEST_BASE_DICE_H
#define TEST_BASE_DICE_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t dice_seed(const char *test)
{
    const char *given = getenv("STET_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    printf("%s: STET_TEST_SEED=%" PRIu64 "\n", test, seed);
    return seed;
}

static inline uint64_t dice_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* From 0 to n − 1. */
static inline size_t dice_below(uint64_t *state, size_t n) { return (size_t)(dice_next(state) % n); }

#endif
