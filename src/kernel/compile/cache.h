/*
 * The disk cache of compiled kernels: a folder with a file `<id>.kernel` for each.
 *
 * Invariants:
 *   CACHE-1  the folder belongs to the user alone (and to nobody else is it writable), or it is not used at all
 *   CACHE-2  a file `<id>.kernel` appears whole, by renaming; one that is not whole all the same is rebuilt
 *   CACHE-3  who holds the lock of an id is the only one that builds it, in all processes
 *   CACHE-4  what is loaded from an entry was checked after it was read
 *
 * Readers take no lock. Files: `<id>.kernel` (its time of change is the time of its last use), `<id>.tmp` (being
 * written, by who holds the lock), `<id>.lock` (exists only while somebody holds it, or was killed holding it).
 */
#ifndef STI_KERNEL_COMPILE_CACHE_H
#define STI_KERNEL_COMPILE_CACHE_H

#include "base/error.h"
#include "kernel/compile/entry.h"

#define STI_CACHE_DEFAULT_LIMIT ((int64_t)256 << 20)

typedef struct sti_cache {
    int folder; /* open; everything goes through it, so that renaming a folder above cannot exchange it. -1: closed */
    int64_t limit; /* bytes of all entries together */
} sti_cache;

/* $XDG_CACHE_HOME/stet, or ~/.cache/stet; STET_NOT_FOUND where neither is known. */
stet_result sti_cache_default_folder(sti_text_buffer *out);
/*
 * folder NULL: the default one. It is made if it is not there (unless `existing`: then STET_NOT_FOUND).
 * STET_UNSUPPORTED with the reason where the folder must not be used. limit 0: STI_CACHE_DEFAULT_LIMIT.
 */
stet_result sti_cache_open(const char *folder, int64_t limit, bool existing, sti_cache *out);
/* A cache that failed to open is closed already. */
void sti_cache_close(sti_cache *cache);

/*
 * Waits until nobody else holds the lock of this id (wait false: -1 if somebody does); -1 also where locks are
 * impossible.
 */
int sti_cache_lock(const sti_cache *cache, const char *id, bool wait);
void sti_cache_unlock(const sti_cache *cache, const char *id, int lock);

/* STI_FOUND: the object is added to `object` and the entry counts as used. Fails only for lack of memory. */
stet_result sti_cache_load(const sti_cache *cache, const sti_cache_key *key, sti_text_buffer *object,
                           sti_verdict *verdict);
/*
 * Writes an entry, in place of whatever has its name, then removes the least recently used others until the limit is
 * kept. To be called with the lock held. On failure (a full disk, say) the cache is as it was.
 */
stet_result sti_cache_store(const sti_cache *cache, const sti_cache_key *key, const void *object, size_t size);

/* ---- looking after it (cache_admin.c) ---- */

typedef struct sti_cache_item {
    const char *id; /* borrowed during the visit */
    int64_t size;   /* bytes of the file */
    int64_t used;   /* nanoseconds since 1970 */
    sti_verdict verdict;
    const char *key; /* what it was made from, key_size bytes; NULL where the verdict is not FOUND */
    size_t key_size;
} sti_cache_item;
typedef void sti_cache_visit(void *context, const sti_cache_item *item);

/* Visits all entries, the least recently used first, each read and checked. */
stet_result sti_cache_list(const sti_cache *cache, sti_cache_visit *visit, void *context);
/* Removes what is not FOUND; counts both. */
stet_result sti_cache_verify(const sti_cache *cache, int64_t *good, int64_t *removed);
/* Removes all entries, and what killed processes left behind. */
stet_result sti_cache_clear(const sti_cache *cache, int64_t *removed);
/*
 * Removes the least recently used entries but `keep` (may be NULL) until the others fit the limit, and what was left
 * behind.
 */
stet_result sti_cache_trim(const sti_cache *cache, const char *keep);

/* Reads one file of the folder whole and judges it; bytes are added to `bytes`. */
stet_result sti_cache_read(const sti_cache *cache, const char *id, const sti_cache_key *key, sti_text_buffer *bytes,
                           sti_entry *entry, sti_verdict *verdict);
enum { STI_FILE_NAME_SIZE = STI_ID_SIZE + 8 };

#endif
