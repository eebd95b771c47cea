/* The disk cache of compiled kernels: its folder, locks and loading; see cache.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* futimens, strerror */
#endif
#include "kernel/compile/cache.h"

#include "base/environment.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRY_LIMIT = 1 << 28 };

void sti_cache_file_name(char out[STI_FILE_NAME_SIZE], const char *id, const char *suffix)
{
    (void)snprintf(out, STI_FILE_NAME_SIZE, "%s%s", id, suffix);
}

/* True if only this user owns and can write the file. */
static bool is_ours(const struct stat *status)
{
    return status->st_uid == geteuid() && (status->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* ---- the folder -------------------------------------------------------------------------------------------------- */

stet_result sti_cache_default_folder(sti_text_buffer *out)
{
    const char *caches = sti_environment("XDG_CACHE_HOME"), *home = sti_environment("HOME");
    if (caches && caches[0] == '/') { /* the specification says to ignore a relative path */
        sti_text_buffer_put(out, caches);
        sti_text_buffer_put(out, "/stet");
    } else if (home && home[0] == '/') {
        sti_text_buffer_put(out, home);
        sti_text_buffer_put(out, "/.cache/stet");
    } else {
        return sti_error(STET_ERROR_NOT_FOUND, "kernel cache: neither XDG_CACHE_HOME nor HOME is set; name a folder");
    }
    return out->result;
}

/* Makes a folder and its parents, for this user alone. Failures show when the folder is opened. */
static stet_result make_folders(const char *path)
{
    char *copy;
    STI_TRY(sti_strdup(&copy, path));
    for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        (void)mkdir(copy, 0700);
        *slash = '/';
    }
    (void)mkdir(copy, 0700);
    sti_free(copy);
    return STET_OK;
}

static stet_result open_folder(const char *path, bool existing, sti_cache *out)
{
    if (!existing) STI_TRY(make_folders(path));
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && existing && errno == ENOENT)
        return sti_error(STET_ERROR_NOT_FOUND, "kernel cache %s: there is no such folder", path);
    if (fd < 0)
        return sti_error(STET_ERROR_UNSUPPORTED, "kernel cache %s: cannot be opened: %s", path, strerror(errno));
    struct stat status;
    if (fstat(fd, &status) == 0 && is_ours(&status)) {
        out->folder = fd;
        return STET_OK;
    }
    close(fd);
    return sti_error(
        STET_ERROR_UNSUPPORTED,
        "kernel cache %s: the folder belongs to somebody else or others can write to it; make it yours alone "
        "(chmod 700), or name another",
        path);
}

stet_result sti_cache_open(const char *folder, int64_t limit, bool existing, sti_cache *out)
{
    sti_text_buffer standard = {0};
    *out = (sti_cache){.folder = -1, .limit = limit > 0 ? limit : STI_CACHE_DEFAULT_LIMIT};
    stet_result result = folder ? STET_OK : sti_cache_default_folder(&standard);
    if (result == STET_OK) result = open_folder(folder ? folder : standard.data, existing, out);
    sti_text_buffer_free(&standard);
    return result;
}

void sti_cache_close(sti_cache *cache)
{
    if (cache->folder >= 0) close(cache->folder);
    cache->folder = -1;
}

/* ---- locks ------------------------------------------------------------------------------------------------------- */

/* True if the file `name` is still the open one. */
static bool is_same_file(const sti_cache *cache, const char *name, int fd)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && fstatat(cache->folder, name, &b, AT_SYMLINK_NOFOLLOW) == 0 && a.st_ino == b.st_ino &&
           a.st_dev == b.st_dev;
}

int sti_cache_lock(const sti_cache *cache, const char *id, bool wait)
{
    char name[STI_FILE_NAME_SIZE];
    sti_cache_file_name(name, id, ".lock");
    for (;;) {
        int fd = openat(cache->folder, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0) return -1;
        int locked;
        do {
            locked = flock(fd, wait ? LOCK_EX : LOCK_EX | LOCK_NB);
        } while (locked < 0 && errno == EINTR);
        /* The last holder removes the file, and a lock on a removed file excludes nobody: try again. */
        if (locked == 0 && is_same_file(cache, name, fd)) return fd;
        close(fd);
        if (locked < 0) return -1;
    }
}

void sti_cache_unlock(const sti_cache *cache, const char *id, int lock)
{
    char name[STI_FILE_NAME_SIZE];
    if (lock < 0) return;
    sti_cache_file_name(name, id, ".lock");
    (void)unlinkat(cache->folder, name, 0);
    close(lock);
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static stet_result read_entry(const sti_cache *cache, const char *id, const sti_cache_key *key, bool use,
                              sti_text_buffer *bytes, sti_entry *entry, sti_verdict *verdict)
{
    char name[STI_FILE_NAME_SIZE];
    struct stat status;
    sti_cache_file_name(name, id, ".kernel");
    memset(entry, 0, sizeof *entry);
    *verdict = STI_ABSENT;
    int fd = openat(cache->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        if (errno != ENOENT) *verdict = STI_FOREIGN;
        return STET_OK;
    }
    stet_result result = STET_OK;
    *verdict = STI_FOREIGN;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && is_ours(&status)) {
        result = sti_text_buffer_read(bytes, fd, ENTRY_LIMIT, name);
        *verdict = result == STET_OK ? sti_entry_read(bytes->data, bytes->size, key, entry) : STI_DAMAGED;
        if (result != STET_ERROR_OUT_OF_MEMORY) result = STET_OK;
        if (use && *verdict == STI_FOUND) (void)futimens(fd, NULL);
    }
    close(fd);
    return result;
}

stet_result sti_cache_read(const sti_cache *cache, const char *id, const sti_cache_key *key, sti_text_buffer *bytes,
                           sti_entry *entry, sti_verdict *verdict)
{
    return read_entry(cache, id, key, false, bytes, entry, verdict);
}

stet_result sti_cache_load(const sti_cache *cache, const sti_cache_key *key, sti_text_buffer *object,
                           sti_verdict *verdict)
{
    sti_text_buffer bytes = {0};
    sti_entry entry;
    stet_result result = read_entry(cache, key->id, key, true, &bytes, &entry, verdict);
    if (result == STET_OK && *verdict == STI_FOUND) {
        sti_text_buffer_add(object, entry.object, entry.object_size);
        result = object->result;
    }
    sti_text_buffer_free(&bytes);
    return result;
}
