/*
 * Memory from the allocator hook. Blocks remember their size, so that what is held can be counted.
 */
#ifndef STI_BASE_MEMORY_H
#define STI_BASE_MEMORY_H

#include "stet/base.h"

enum { STI_ALIGN = 64 }; /* a cache line, and the widest vector */

/*
 * Zeroed memory aligned to STI_ALIGN; size 0 gives a block too. On failure *out is NULL and the result
 * STET_OUT_OF_MEMORY, whose sentence names `what` and the size.
 */
stet_result sti_alloc(void *out, size_t size, const char *what);
/* The same for what can be done without: NULL on failure, and the thread's message stays as it was. */
void *sti_alloc_or_null(size_t size);
/*
 * Keeps the first min(old, new) bytes, zeroes the rest; on failure the old block stays as it was. *block may be NULL.
 */
stet_result sti_realloc(void *block, size_t size, const char *what);
/* NULL is fine. */
void sti_free(void *block);
size_t sti_block_size(const void *block);
stet_result sti_strdup(char **out, const char *text);

/* Bytes that the machine has; 0: that is not known. */
double sti_machine_memory(void);

/* a * b in size_t; STET_LIMIT with a sentence naming `what` on overflow. */
stet_result sti_mul_size(size_t a, size_t b, size_t *out, const char *what);

#endif
