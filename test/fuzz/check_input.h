/*
 * An input of the fuzzers that read sources: the first byte chooses what the rest, the text, is read for.
 */
#ifndef TEST_FUZZ_CHECK_INPUT_H
#define TEST_FUZZ_CHECK_INPUT_H

#include "kernel/check/check.h"

#include <stdlib.h>
#include <string.h>

static inline sti_check_options options_of(uint8_t byte)
{
    static const int lanes[] = {1, 4, 8, 16};
    sti_check_options o = sti_default_check_options();
    o.gpu = (byte & 4) != 0;
    o.real_double = (byte & 8) != 0;
    o.lanes = o.gpu || o.real_double ? 1 : lanes[byte & 3];
    return o;
}

/* The caller frees it; NULL: there is no memory. size is at least 1. */
static inline char *text_of(const uint8_t *data, size_t size)
{
    char *text = malloc(size);
    if (!text) return NULL;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    return text;
}

#endif
