/*
 * How much a test does of what it repeats: all of it, or a part where that takes long: under a sanitizer, on a slow
 * device, some tests everywhere. What the part is, the run's seed says, so that many runs do all of it. The test
 * NAME_whole does all at once (label `whole`; stet_test_in_part, cmake/StetTests.cmake).
 */
#ifndef TEST_BASE_PART_H
#define TEST_BASE_PART_H

#include "base/dice.h"

#include <stdbool.h>
#include <stdlib.h>

static inline bool in_part(void) { return getenv("STET_TEST_IN_PART") != NULL; }

/* Every how manieth of things that are numbered from 1 is done, and the first of them. */
typedef struct test_part {
    int64_t first, step;
} test_part;

static inline test_part choose_part(int64_t step)
{
    if (!in_part()) return (test_part){1, 1};
    uint64_t dice = dice_seed("in part");
    return (test_part){1 + (int64_t)dice_below(&dice, (size_t)step), step};
}

#endif
