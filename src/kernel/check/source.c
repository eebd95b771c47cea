/*
 * Reads source texts; see source.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* realpath */
#endif
#include "kernel/check/source.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static stet_result read_open(sti_unit *u, FILE *f, const char *path, const char **out)
{
    struct stat about;
    if (fstat(fileno(f), &about) != 0) return sti_error(STET_ERROR_IO, "%s: cannot be read: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode)) return sti_error(STET_ERROR_IO, "%s: cannot be read: it is no file", path);
    long long size = about.st_size;
    if (size > STI_CHECK_SOURCE)
        return sti_error(STET_ERROR_LIMIT, "%s: a kernel source of %lld bytes; the most is %d", path, size,
                         STI_CHECK_SOURCE);
    char *text = sti_unit_alloc(u, (size_t)size + 1);
    if (!text) return sti_error(STET_ERROR_OUT_OF_MEMORY, "%s: out of memory for %lld bytes", path, size);
    if (fread(text, 1, (size_t)size, f) != (size_t)size)
        return sti_error(STET_ERROR_IO, "%s: cannot be read: %s", path, strerror(errno));
    *out = text;
    return STET_OK;
}

/* Opens without waiting for a writer of a named pipe; read_open refuses what is no regular file. */
static FILE *open_source(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *f = fd >= 0 ? fdopen(fd, "rb") : NULL;
    if (fd >= 0 && !f) close(fd);
    return f;
}

stet_result sti_source_read(sti_unit *u, const char *path, const char **out)
{
    *out = NULL;
    FILE *f = open_source(path);
    if (!f) return sti_error(STET_ERROR_NOT_FOUND, "%s: no kernel source: %s", path, strerror(errno));
    stet_result result = read_open(u, f, path, out);
    if (fclose(f) != 0 && result == STET_OK)
        result = sti_error(STET_ERROR_IO, "%s: cannot be read: %s", path, strerror(errno));
    return result;
}

bool sti_source_goes_up(const char *name)
{
    for (const char *at = name; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || !at[2])) return true;
    }
    return false;
}

bool sti_source_is_below(const char *path, const char *folder, size_t length)
{
    char at[PATH_MAX];
    if (length >= sizeof at) return false;
    (void)snprintf(at, sizeof at, "%.*s", length ? (int)length : 1, length ? folder : ".");
    char *file = realpath(path, NULL), *above = realpath(at, NULL);
    size_t n = above ? strlen(above) : 0;
    bool below = file && above && strncmp(file, above, n) == 0 && (file[n] == '/' || n == 1);
    free(file);
    free(above);
    return below;
}

/* True if an include of this name may open this file. */
static bool is_allowed(const sti_unit *u, const char *name, const char *path)
{
    const char *first = u->path[0], *slash = first ? strrchr(first, '/') : NULL;
    if (!sti_source_goes_up(name)) return true;
    if (first && sti_source_is_below(path, first, slash ? (size_t)(slash - first) + 1 : 0)) return true;
    for (int i = 0; i < u->options.nfolder; ++i)
        if (sti_source_is_below(path, u->options.folder[i], strlen(u->options.folder[i]))) return true;
    return false;
}

static bool is_known(const sti_unit *u, const char *path)
{
    for (int i = 0; i < u->nfile; ++i)
        if (u->once[i] && u->path[i] && strcmp(u->path[i], path) == 0) return true;
    return false;
}

/* Reads the file `name` in a folder (its first `length` bytes, with a final slash). False: there is none. */
static bool read_from(sti_unit *u, const char *folder, size_t length, const char *name, sti_source_file *out)
{
    int n = snprintf(out->path, sizeof out->path, "%.*s%s", (int)length, folder, name);
    if (n < 0 || (size_t)n >= sizeof out->path) return false;
    out->known = is_known(u, out->path);
    if (out->known) return true;
    if (!is_allowed(u, name, out->path)) return false;
    FILE *f = open_source(out->path);
    if (!f) return false;
    if (read_open(u, f, out->path, &out->text) != STET_OK)
        (void)snprintf(out->message, sizeof out->message, "%s", stet_get_last_error());
    (void)fclose(f); /* it was only read */
    return true;
}

static bool read_folder(sti_unit *u, const char *folder, const char *name, sti_source_file *out)
{
    char with_slash[4096];
    int n = snprintf(with_slash, sizeof with_slash, "%s/", folder);
    return n > 0 && (size_t)n < sizeof with_slash && read_from(u, with_slash, (size_t)n, name, out);
}

bool sti_source_include(sti_unit *u, const char *from, const char *name, sti_source_file *out)
{
    *out = (sti_source_file){.text = NULL};
    const char *slash = from ? strrchr(from, '/') : NULL;
    bool absolute = name[0] == '/';
    bool found = !absolute && from && read_from(u, from, slash ? (size_t)(slash - from) + 1 : 0, name, out);
    for (int i = 0; i < u->options.nfolder && !found && !absolute; ++i)
        found = read_folder(u, u->options.folder[i], name, out);
    if (!found)
        (void)snprintf(out->message, sizeof out->message, "there is no file %.150s in the folders of includes%s", name,
                       absolute || sti_source_goes_up(name) ? ", and files elsewhere are not opened" : "");
    return !u->failed;
}
