/*
 * Administration of the disk cache: lists, verifies, clears it and keeps its size; see cache.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* st_mtim, fdopendir */
#endif
#include "kernel/compile/cache.h"

#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct file {
    char id[STI_ID_SIZE];
    bool entry;   /* it is a `.kernel`; else a `.tmp` or `.lock` */
    int64_t size; /* bytes */
    int64_t used; /* nanoseconds */
} file;

typedef struct file_list {
    file *file;
    int n, room;
} file_list;

/* ---- what is there ----------------------------------------------------------------------------------------------- */

/* True if a name is one of the cache's own. Other files are never touched. */
static bool parse_name(const char *name, file *out)
{
    memset(out, 0, sizeof *out);
    if (strspn(name, "0123456789abcdef") != STI_ID_SIZE - 1) return false;
    memcpy(out->id, name, STI_ID_SIZE - 1);
    const char *suffix = name + STI_ID_SIZE - 1;
    out->entry = strcmp(suffix, ".kernel") == 0;
    return out->entry || strcmp(suffix, ".tmp") == 0 || strcmp(suffix, ".lock") == 0;
}

static stet_result add_file(file_list *list, const file *f)
{
    if (list->n == list->room) {
        int room = list->room * 2 + 64;
        STI_TRY(sti_realloc(&list->file, (size_t)room * sizeof *f, "the list of the kernel cache"));
        list->room = room;
    }
    list->file[list->n++] = *f;
    return STET_OK;
}

/* Orders by last use, then by id, so that the order is always the same. */
static int by_use(const void *a, const void *b)
{
    const file *x = a, *y = b;
    if (x->used != y->used) return x->used < y->used ? -1 : 1;
    return strcmp(x->id, y->id);
}

static stet_result read_folder(DIR *folder, file_list *list)
{
    for (struct dirent *d; (d = readdir(folder));) {
        file f;
        struct stat status;
        if (!parse_name(d->d_name, &f) || fstatat(dirfd(folder), d->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        f.size = status.st_size;
        f.used = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
        STI_TRY(add_file(list, &f));
    }
    if (list->n > 1) qsort(list->file, (size_t)list->n, sizeof *list->file, by_use);
    return STET_OK;
}

/* The caller frees list->file. */
static stet_result list_files(const sti_cache *cache, file_list *list)
{
    memset(list, 0, sizeof *list);
    int fd = openat(cache->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (!folder) {
        stet_result result = sti_error(STET_ERROR_IO, "kernel cache: its folder cannot be read: %s", strerror(errno));
        if (fd >= 0) close(fd);
        return result;
    }
    stet_result result = read_folder(folder, list);
    closedir(folder);
    if (result != STET_OK) sti_free(list->file);
    return result;
}

/* ---- removing ---------------------------------------------------------------------------------------------------- */

static bool remove_entry(const sti_cache *cache, const char *id)
{
    char name[STI_FILE_NAME_SIZE];
    (void)snprintf(name, sizeof name, "%s.kernel", id);
    return unlinkat(cache->folder, name, 0) == 0;
}

/* Removes the temporary file of a killed process, which nobody has locked. */
static void remove_temporary(const sti_cache *cache, const char *id, const char *mine)
{
    char name[STI_FILE_NAME_SIZE];
    if (mine && strcmp(id, mine) == 0) return;
    int lock = sti_cache_lock(cache, id, false);
    if (lock < 0) return;
    (void)snprintf(name, sizeof name, "%s.tmp", id);
    (void)unlinkat(cache->folder, name, 0);
    sti_cache_unlock(cache, id, lock);
}

stet_result sti_cache_trim(const sti_cache *cache, const char *keep)
{
    file_list list;
    int64_t total = 0;
    STI_TRY(list_files(cache, &list));
    for (int i = 0; i < list.n; ++i)
        if (list.file[i].entry) total += list.file[i].size;
    for (int i = 0; i < list.n; ++i) {
        const file *f = &list.file[i];
        if (!f->entry)
            remove_temporary(cache, f->id, keep);
        else if (total > cache->limit && (!keep || strcmp(f->id, keep) != 0) && remove_entry(cache, f->id))
            total -= f->size;
    }
    sti_free(list.file);
    return STET_OK;
}

stet_result sti_cache_clear(const sti_cache *cache, int64_t *removed)
{
    file_list list;
    *removed = 0;
    STI_TRY(list_files(cache, &list));
    for (int i = 0; i < list.n; ++i) {
        if (list.file[i].entry)
            *removed += remove_entry(cache, list.file[i].id);
        else
            remove_temporary(cache, list.file[i].id, NULL);
    }
    sti_free(list.file);
    return STET_OK;
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

/* Reads and checks an entry. An intact entry whose id does not match its key collides with another, or was renamed. */
static stet_result read_item(const sti_cache *cache, const file *f, sti_text_buffer *bytes, sti_cache_item *item)
{
    sti_entry entry;
    *item = (sti_cache_item){.id = f->id, .size = f->size, .used = f->used};
    STI_TRY(sti_cache_read(cache, f->id, NULL, bytes, &entry, &item->verdict));
    if (item->verdict != STI_FOUND) return STET_OK;
    if (strcmp(sti_cache_key_of(entry.key, entry.key_size).id, f->id) != 0) {
        item->verdict = STI_COLLISION;
        return STET_OK;
    }
    item->key = entry.key;
    item->key_size = entry.key_size;
    return STET_OK;
}

stet_result sti_cache_list(const sti_cache *cache, sti_cache_visit *visit, void *context)
{
    file_list list;
    stet_result result = STET_OK;
    STI_TRY(list_files(cache, &list));
    for (int i = 0; i < list.n && result == STET_OK; ++i) {
        sti_text_buffer bytes = {0};
        sti_cache_item item;
        if (!list.file[i].entry) continue;
        result = read_item(cache, &list.file[i], &bytes, &item);
        if (result == STET_OK && item.verdict != STI_ABSENT) visit(context, &item);
        sti_text_buffer_free(&bytes);
    }
    sti_free(list.file);
    return result;
}

typedef struct verification {
    const sti_cache *cache;
    int64_t good, removed;
} verification;

static void verify_item(void *context, const sti_cache_item *item)
{
    verification *v = context;
    if (item->verdict == STI_FOUND)
        v->good++;
    else
        v->removed += remove_entry(v->cache, item->id);
}

stet_result sti_cache_verify(const sti_cache *cache, int64_t *good, int64_t *removed)
{
    verification v = {.cache = cache};
    stet_result result = sti_cache_list(cache, verify_item, &v);
    *good = v.good;
    *removed = v.removed;
    return result;
}
