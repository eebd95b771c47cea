/* Code that was compiled before; see compiled.h. */
#include "kernel/compile/compiled.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ENTRY_LIMIT = 1 << 27, SENTENCE = 1024 };

static void put_path(sti_text_buffer *out, const char *folder, const char *id)
{
    sti_text_buffer_put(out, folder);
    sti_text_buffer_put(out, "/");
    sti_text_buffer_put(out, id);
    sti_text_buffer_put(out, ".kernel");
}

/* ---- shipped ----------------------------------------------------------------------------------------------------- */

static stet_result read_shipped(const char *path, const sti_cache_key *key, sti_text_buffer *object,
                                sti_verdict *verdict)
{
    sti_text_buffer bytes = {0};
    sti_entry entry;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *verdict = fd < 0 ? STI_ABSENT : STI_DAMAGED;
    if (fd < 0) return STET_OK;
    stet_result result = sti_text_buffer_read(&bytes, fd, ENTRY_LIMIT, path);
    if (result == STET_OK) *verdict = sti_entry_read(bytes.data, bytes.size, key, &entry);
    if (*verdict == STI_FOUND) {
        sti_text_buffer_add(object, entry.object, entry.object_size);
        result = object->result;
    }
    close(fd);
    sti_text_buffer_free(&bytes);
    return result == STET_ERROR_OUT_OF_MEMORY ? result : STET_OK;
}

stet_result sti_compiled_shipped(const char *folder, const sti_cache_key *key, sti_text_buffer *object,
                                 sti_verdict *verdict)
{
    sti_text_buffer path = {0};
    put_path(&path, folder, key->id);
    stet_result result = path.result;
    if (result == STET_OK) result = read_shipped(path.data, key, object, verdict);
    sti_text_buffer_free(&path);
    return result;
}

stet_result sti_compiled_ship(const char *folder, const sti_cache_key *key, const sti_text_buffer *object)
{
    sti_text_buffer path = {0}, head = {0};
    put_path(&path, folder, key->id);
    sti_entry_write_head(&head, key, object->data, object->size);
    stet_result result = path.result == STET_OK ? head.result : path.result;
    if (result == STET_OK) {
        int fd = open(path.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        bool ok = fd >= 0 && sti_write_all(fd, head.data, head.size) && sti_write_all(fd, object->data, object->size);
        int error = errno;
        if (fd >= 0 && close(fd) != 0) ok = false;
        if (!ok) result = sti_error(STET_ERROR_IO, "%s: cannot be written: %s", path.data, strerror(error));
    }
    sti_text_buffer_free(&path);
    sti_text_buffer_free(&head);
    return result;
}

/* ---- by any compiler --------------------------------------------------------------------------------------------- */

typedef struct search {
    const sti_text_buffer *wanted;
    sti_text_buffer found; /* the key of the best entry so far */
} search;

/* Visits entries from the least recently used on, so the last match is the best. */
static void match_key(void *context, const sti_cache_item *item)
{
    static const char compiler[] = "compiler ";
    search *s = context;
    size_t n = s->wanted->size, more = sizeof compiler - 1;
    if (item->verdict != STI_FOUND || item->key_size < n + more) return;
    if (memcmp(item->key, s->wanted->data, n) != 0 || memcmp(item->key + n, compiler, more) != 0) return;
    s->found.size = 0;
    sti_text_buffer_add(&s->found, item->key, item->key_size);
}

stet_result sti_compiled_by_any(const char *folder, sti_text_buffer *key)
{
    char before[SENTENCE];
    sti_cache cache;
    search s = {.wanted = key};
    (void)snprintf(before, sizeof before, "%s", stet_get_last_error());
    stet_result result = sti_cache_open(folder, 0, true, &cache);
    if (result == STET_OK) {
        result = sti_cache_list(&cache, match_key, &s);
        sti_cache_close(&cache);
    }
    if (result == STET_OK) result = s.found.result;
    if (result == STET_ERROR_OUT_OF_MEMORY || (result == STET_OK && s.found.size > 0)) {
        sti_text_buffer_free(key);
        *key = s.found;
        return result;
    }
    sti_text_buffer_free(&s.found);
    return sti_error(STET_ERROR_NOT_FOUND, "%s", before);
}
