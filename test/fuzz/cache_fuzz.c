/*
 * Fuzz target: the reader of the disk cache's entries, on any bytes. It must neither read beyond them nor take for an
 * entry what is none. The first byte chooses what the others are: an entry as it lies on disk, or a key and an object
 * that must survive a round.
 */
#include "kernel/compile/entry.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) abort();
}

static void read_any(const uint8_t *bytes, size_t size)
{
    sti_entry e, with_key;
    sti_cache_key key = sti_cache_key_of("some other key", 14);
    sti_verdict v = sti_entry_read(bytes, size, NULL, &e);
    require(v == STI_FOUND || v == STI_DAMAGED || v == STI_OTHER_SCHEMA);
    require((v == STI_FOUND) == (e.key != NULL));
    if (v != STI_FOUND) return;
    require(STI_ENTRY_HEADER + e.key_size + e.object_size == size);
    require(e.key == (const char *)bytes + STI_ENTRY_HEADER && e.object == e.key + e.key_size);
    require(sti_entry_read(bytes, size, &key, &with_key) != STI_DAMAGED);
    key = sti_cache_key_of(e.key, e.key_size);
    require(sti_entry_read(bytes, size, &key, &with_key) == STI_FOUND);
}

/* The first byte says where the key ends. */
static void go_round(const uint8_t *bytes, size_t size)
{
    size_t split = size ? bytes[0] % size : 0;
    sti_cache_key key = sti_cache_key_of((const char *)bytes, split);
    sti_text_buffer entry = {0};
    sti_entry e;
    sti_entry_write_head(&entry, &key, bytes + split, size - split);
    sti_text_buffer_add(&entry, (const char *)bytes + split, size - split);
    require(entry.result == STET_OK);
    require(sti_entry_read(entry.data, entry.size, &key, &e) == STI_FOUND);
    require(e.object_size == size - split && (size == split || memcmp(e.object, bytes + split, size - split) == 0));
    for (size_t n = 0; n < entry.size; n += 1 + n / 8) require(sti_entry_read(entry.data, n, &key, &e) == STI_DAMAGED);
    sti_text_buffer_free(&entry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] % 2)
        go_round(data + 1, size - 1);
    else if (size > 0)
        read_any(data + 1, size - 1);
    return 0;
}
