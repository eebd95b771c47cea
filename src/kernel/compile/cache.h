/*
 * The disk cache of compiled kernels: a folder with a file `<id>.kernel` for each entry.
 *
 * Invariants:
 *   CACHE-1  the folder belongs to the user and no other user can write to it; otherwise the cache is not used
 *   CACHE-2  a file `<id>.kernel` appears whole, by renaming. A file that is not whole is built again
 *   CACHE-3  only the process that holds the lock of an id builds that entry
 *   CACHE-4  an entry is checked after it was read and before it is loaded
 *
 * Readers take no lock. Files: `<id>.kernel` (its time of change is the time of its last use), `<id>.tmp` (being
 * written by the holder of the lock), `<id>.lock` (exists while the lock is held, or after its holder was killed).
 */
#ifndef STI_KERNEL_COMPILE_CACHE_H
#define STI_KERNEL_COMPILE_CACHE_H

#include "base/error.h"
#include "kernel/compile/entry.h"

#define STI_CACHE_DEFAULT_LIMIT ((int64_t)256 << 20)

typedef struct sti_cache {
    /*
     * The open folder. All files are opened relative to it, so that renaming a parent folder cannot replace it. -1:
     * closed.
     */
    int folder;
    int64_t limit; /* bytes of all entries together */
} sti_cache;

/* $XDG_CACHE_HOME/stet, or ~/.cache/stet; STET_ERROR_NOT_FOUND if neither variable is set. */
stet_result sti_cache_default_folder(sti_text_buffer *out);
/*
 * Opens a cache. folder NULL: the default folder. limit 0: STI_CACHE_DEFAULT_LIMIT. A missing folder is created, or
 * with `existing` it is STET_ERROR_NOT_FOUND. STET_ERROR_UNSUPPORTED with the reason if the folder must not be used
 * (CACHE-1).
 */
stet_result sti_cache_open(const char *folder, int64_t limit, bool existing, sti_cache *out);
/* Closes the cache. A cache that failed to open may be closed, too. */
void sti_cache_close(sti_cache *cache);

/*
 * Takes the lock of an id and returns it. With `wait` it waits while another process holds the lock; without, it
 * returns -1 then. Returns -1 also where the file system allows no locks.
 */
int sti_cache_lock(const sti_cache *cache, const char *id, bool wait);
void sti_cache_unlock(const sti_cache *cache, const char *id, int lock);

/*
 * Looks an entry up. With STI_FOUND its object was added to `object`, and the entry counts as used. Fails only for lack
 * of memory.
 */
stet_result sti_cache_load(const sti_cache *cache, const sti_cache_key *key, sti_text_buffer *object,
                           sti_verdict *verdict);
/*
 * Writes an entry, replacing a file of the same name. Then removes the least recently used other entries until the
 * limit is kept. The caller holds the lock. On failure (such as a full disk) the cache is as it was.
 */
stet_result sti_cache_store(const sti_cache *cache, const sti_cache_key *key, const void *object, size_t size);

/* ---- administration (cache_admin.c) ---- */

typedef struct sti_cache_item {
    const char *id; /* borrowed during the visit */
    int64_t size;   /* bytes of the file */
    int64_t used;   /* nanoseconds since 1970 */
    sti_verdict verdict;
    const char *key; /* the entry's key text, key_size bytes; NULL if the verdict is not FOUND */
    size_t key_size;
} sti_cache_item;
typedef void sti_cache_visit(void *context, const sti_cache_item *item);

/* Reads and checks all entries, the least recently used first, and calls `visit` for each. */
stet_result sti_cache_list(const sti_cache *cache, sti_cache_visit *visit, void *context);
/* Removes the entries that are not FOUND. Counts good and removed ones. */
stet_result sti_cache_verify(const sti_cache *cache, int64_t *good, int64_t *removed);
/* Removes all entries, and files that killed processes left. */
stet_result sti_cache_clear(const sti_cache *cache, int64_t *removed);
/*
 * Removes the least recently used entries, but never `keep` (may be NULL), until the limit is kept, and files that
 * killed processes left.
 */
stet_result sti_cache_trim(const sti_cache *cache, const char *keep);

/* Reads one entry's file whole into `bytes` and checks it. */
stet_result sti_cache_read(const sti_cache *cache, const char *id, const sti_cache_key *key, sti_text_buffer *bytes,
                           sti_entry *entry, sti_verdict *verdict);
enum { STI_FILE_NAME_SIZE = STI_ID_SIZE + 8 };
void sti_cache_file_name(char out[STI_FILE_NAME_SIZE], const char *id, const char *suffix);

#endif
