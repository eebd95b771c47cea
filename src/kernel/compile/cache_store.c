/*
 * Storing in the disk cache; see cache.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* renameat, O_CLOEXEC */
#endif
#include "kernel/compile/cache.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_file(const sti_cache *cache, const char *name, const sti_text_buffer *head, const void *object,
                       size_t size)
{
    int fd = openat(cache->folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return false;
    bool ok = sti_write_all(fd, head->data, head->size) && sti_write_all(fd, object, size);
    int error = errno;
    if (close(fd) != 0 && ok) return false;
    errno = error;
    return ok;
}

static stet_result store(const sti_cache *cache, const sti_cache_key *key, const sti_text_buffer *head,
                         const void *object, size_t size)
{
    char name[STI_FILE_NAME_SIZE], temporary[STI_FILE_NAME_SIZE];
    sti_cache_file_name(name, key->id, ".kernel");
    sti_cache_file_name(temporary, key->id, ".tmp");
    if ((int64_t)(head->size + size) > cache->limit)
        return sti_error(STET_ERROR_LIMIT,
                         "kernel cache: an entry of %zu bytes is larger than the whole cache may be (%lld)",
                         head->size + size, (long long)cache->limit);
    (void)unlinkat(cache->folder, temporary, 0); /* left by a process that was killed */
    if (write_file(cache, temporary, head, object, size) &&
        renameat(cache->folder, temporary, cache->folder, name) == 0)
        return STET_OK;
    stet_result result = sti_error(STET_ERROR_IO, "kernel cache: an entry could not be written: %s", strerror(errno));
    (void)unlinkat(cache->folder, temporary, 0);
    return result;
}

stet_result sti_cache_store(const sti_cache *cache, const sti_cache_key *key, const void *object, size_t size)
{
    sti_text_buffer head = {0};
    sti_entry_write_head(&head, key, object, size);
    stet_result result = head.result;
    if (result == STET_OK) result = store(cache, key, &head, object, size);
    sti_text_buffer_free(&head);
    return result == STET_OK ? sti_cache_trim(cache, key->id) : result;
}
