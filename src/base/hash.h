/*
 * A 64-bit hash of bytes that is equal on every machine, for comparing results (not for secrets).
 * XXH64 by Y. Collet (public specification), seed 0.
 */
#ifndef STI_BASE_HASH_H
#define STI_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct sti_hash {
    uint64_t lane[4], total;
    uint8_t pending[32];
    size_t npending;
} sti_hash;

void sti_hash_begin(sti_hash *h);
void sti_hash_add(sti_hash *h, const void *data, size_t size);
uint64_t sti_hash_end(const sti_hash *h);
uint64_t sti_hash_bytes(const void *data, size_t size);

#endif
