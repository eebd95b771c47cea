/*
 * Memory from the allocator hook. Blocks remember their size, so that memory in use can be counted.
 */
#ifndef STI_BASE_MEMORY_H
#define STI_BASE_MEMORY_H

#include "stet/base.h"

enum { STI_ALIGN = 64 }; /* a cache line, and the widest vector */

/*
 * Allocates zeroed memory aligned to STI_ALIGN; size 0 gives a block, too. On failure *out is NULL and the result is
 * STET_ERROR_OUT_OF_MEMORY, with a message that names `what` and the size.
 */
stet_result sti_alloc(void *out, size_t size, const char *what);
/* The same for optional memory: returns NULL on failure and leaves the thread's message as it was. */
void *sti_alloc_or_null(size_t size);
/*
 * Keeps the first min(old, new) bytes and zeroes the rest. On failure the old block stays as it was. *block may be
 * NULL.
 */
stet_result sti_realloc(void *block, size_t size, const char *what);
/* Does nothing for NULL. */
void sti_free(void *block);
size_t sti_block_size(const void *block);
stet_result sti_strdup(char **out, const char *text);

/* Bytes of memory that the machine has; 0: not known. */
double sti_machine_memory(void);

/* Computes a * b in size_t. On overflow the result is STET_ERROR_LIMIT with a message that names `what`. */
stet_result sti_mul_size(size_t a, size_t b, size_t *out, const char *what);

#endif
