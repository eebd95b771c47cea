/*
 * How much a test does of what it repeats: all of it, except in the short tier under a sanitizer, where it takes ten
 * times as long. There the test NAME_whole does all (label `whole`; stet_test_in_part, cmake/StetTests.cmake).
 */
#ifndef TEST_BASE_PART_H
#define TEST_BASE_PART_H

#include <stdbool.h>
#include <stdlib.h>

static inline bool in_part(void) { return getenv("STET_TEST_IN_PART") != NULL; }

#endif
