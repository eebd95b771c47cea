/*
 * One entry of the disk cache of compiled kernels, as bytes: header, key text, compiled object.
 *
 * Invariants:
 *   ENTRY-1  an entry is valid only if its length is exactly what its header says and all its checksums are right
 *   ENTRY-2  the key text is stored and compared whole, so different keys with equal ids are told apart
 *   ENTRY-3  reading never reads beyond the given size, whatever the bytes are
 */
#ifndef STI_KERNEL_COMPILE_ENTRY_H
#define STI_KERNEL_COMPILE_ENTRY_H

#include "kernel/compile/text_buffer.h"

#include <stdint.h>

enum { STI_ENTRY_SCHEMA = 1, STI_ENTRY_HEADER = 64, STI_ID_SIZE = 33 };

/* The result of looking an entry up. */
typedef enum sti_verdict {
    STI_FOUND,
    STI_ABSENT,
    STI_DAMAGED, /* cut off, altered, or no entry at all */
    STI_FOREIGN, /* another user's file, or one that others can write */
    STI_OTHER_SCHEMA,
    STI_COLLISION, /* a good entry with another key */
} sti_verdict;

/* The key of an entry. Two keys with the same id are told apart by their texts. */
typedef struct sti_cache_key {
    char id[STI_ID_SIZE]; /* 32 hexadecimal digits: two hashes of the text */
    const char *text;     /* borrowed */
    size_t size;
} sti_cache_key;

sti_cache_key sti_cache_key_of(const char *text, size_t size);

/* The parts of an entry. The pointers point into its bytes. */
typedef struct sti_entry {
    const char *key, *object;
    size_t key_size, object_size;
} sti_entry;

/*
 * Checks an entry. key NULL: any key is accepted. Returns FOUND, DAMAGED, OTHER_SCHEMA or COLLISION; fills out if FOUND
 * or COLLISION.
 */
sti_verdict sti_entry_read(const void *bytes, size_t size, const sti_cache_key *key, sti_entry *out);
/* Writes header and key, which come before the object in the file. */
void sti_entry_write_head(sti_text_buffer *out, const sti_cache_key *key, const void *object, size_t object_size);

#endif
