/*
 * Entries of the disk cache as bytes; see entry.h.
 *
 *    0  "stetkern"
 *    8  u32 schema
 *   12  u32 size of the header
 *   16  u64 size of the key
 *   24  u64 size of the object
 *   32  u64 hash of the key
 *   40  u64 hash of the object
 *   48  u64 hash of bytes 0 … 47
 *   56  u64 0
 *
 * Numbers have the machine's byte order; on a machine with another order the schema does not match. Magic and schema
 * keep their places in every schema.
 */
#include "kernel/compile/entry.h"

#include "base/hash.h"

#include <stdio.h>
#include <string.h>

typedef struct header {
    char magic[8];
    uint32_t schema, header_size;
    uint64_t key_size, object_size, key_hash, object_hash, header_hash, zero;
} header;

_Static_assert(sizeof(header) == STI_ENTRY_HEADER, "the header has no padding");

enum { HASHED = offsetof(header, header_hash) };

static const char magic[] = "stetkern";

sti_cache_key sti_cache_key_of(const char *text, size_t size)
{
    sti_cache_key key = {.text = text, .size = size};
    sti_hash second;
    sti_hash_begin(&second);
    sti_hash_add(&second, magic, sizeof magic); /* another start value gives another hash */
    sti_hash_add(&second, text, size);
    (void)snprintf(key.id, sizeof key.id, "%016llx%016llx", (unsigned long long)sti_hash_bytes(text, size),
                   (unsigned long long)sti_hash_end(&second));
    return key;
}

sti_verdict sti_entry_read(const void *bytes, size_t size, const sti_cache_key *key, sti_entry *out)
{
    header h;
    memset(out, 0, sizeof *out);
    if (size < sizeof h.magic + sizeof h.schema) return STI_DAMAGED;
    memset(&h, 0, sizeof h);
    memcpy(&h, bytes, size < sizeof h ? size : sizeof h);
    if (memcmp(h.magic, magic, sizeof h.magic) != 0) return STI_DAMAGED;
    if (h.schema != STI_ENTRY_SCHEMA) return STI_OTHER_SCHEMA;
    if (size < sizeof h || h.header_size != sizeof h || h.zero != 0 || h.header_hash != sti_hash_bytes(&h, HASHED))
        return STI_DAMAGED;
    size_t rest = size - sizeof h;
    if (h.key_size > rest || h.object_size != rest - h.key_size) return STI_DAMAGED;
    out->key = (const char *)bytes + sizeof h;
    out->key_size = (size_t)h.key_size;
    out->object = out->key + out->key_size;
    out->object_size = (size_t)h.object_size;
    if (sti_hash_bytes(out->key, out->key_size) != h.key_hash ||
        sti_hash_bytes(out->object, out->object_size) != h.object_hash) {
        memset(out, 0, sizeof *out);
        return STI_DAMAGED;
    }
    bool same = !key || (key->size == out->key_size && memcmp(key->text, out->key, key->size) == 0);
    return same ? STI_FOUND : STI_COLLISION;
}

void sti_entry_write_head(sti_text_buffer *out, const sti_cache_key *key, const void *object, size_t object_size)
{
    header h = {.schema = STI_ENTRY_SCHEMA, .header_size = sizeof h, .key_size = key->size, .object_size = object_size};
    memcpy(h.magic, magic, sizeof h.magic);
    h.key_hash = sti_hash_bytes(key->text, key->size);
    h.object_hash = sti_hash_bytes(object, object_size);
    h.header_hash = sti_hash_bytes(&h, HASHED);
    sti_text_buffer_add(out, (const char *)&h, sizeof h);
    sti_text_buffer_add(out, key->text, key->size);
}
