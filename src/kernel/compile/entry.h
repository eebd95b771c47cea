/*
 * One entry of the disk cache of compiled kernels, as bytes: header, key text, compiled object.
 *
 * Invariants:
 *   ENTRY-1  an entry is taken only if its length is exactly what its header says and all its checksums are right
 *   ENTRY-2  the key text is stored and compared whole, so equal ids of unequal content are told apart
 *   ENTRY-3  reading looks at no byte beyond the size that it is given, whatever the bytes are
 */
#ifndef STI_KERNEL_COMPILE_ENTRY_H
#define STI_KERNEL_COMPILE_ENTRY_H

#include "kernel/compile/text_buffer.h"

#include <stdint.h>

enum { STI_ENTRY_SCHEMA = 1, STI_ENTRY_HEADER = 64, STI_ID_SIZE = 33 };

/* What became of a look-up. */
typedef enum sti_verdict {
    STI_FOUND,
    STI_ABSENT,
    STI_DAMAGED, /* cut off, altered, or no entry at all */
    STI_FOREIGN, /* somebody else's file, or one that others can write */
    STI_OTHER_SCHEMA,
    STI_COLLISION, /* a good entry, of another key */
} sti_verdict;

/* What an entry is made from. Two keys with the same id are told apart by their texts. */
typedef struct sti_cache_key {
    char id[STI_ID_SIZE]; /* 32 hexadecimal digits: two hashes of the text */
    const char *text;     /* borrowed */
    size_t size;
} sti_cache_key;

sti_cache_key sti_cache_key_of(const char *text, size_t size);

/* Parts of an entry; they point into its bytes. */
typedef struct sti_entry {
    const char *key, *object;
    size_t key_size, object_size;
} sti_entry;

/* key NULL: any. FOUND, DAMAGED, OTHER_SCHEMA or COLLISION; out is filled when FOUND or COLLISION. */
sti_verdict sti_entry_read(const void *bytes, size_t size, const sti_cache_key *key, sti_entry *out);
/* Header and key, which come before the object in the file. */
void sti_entry_write_head(sti_text_buffer *out, const sti_cache_key *key, const void *object, size_t object_size);

#endif
