/* See whole.h. */
#include "cli/files/whole.h"

#include "base/error.h"
#include "cli/report_error.h"
#include "group/group.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool whole_writes(const stet_group *group) { return !group || stet_group_get_rank(group) == 0; }

int64_t whole_nworld(const stet_group *group, int64_t own) { return group ? stet_group_get_nworld(group) : own; }

static size_t bytes_per_world(const stet_array *a)
{
    return stet_array_get_bytes(a) / (size_t)stet_array_get_shape(a)[0];
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* *first: the lowest rank whose number is not 0, which becomes *number; else 0. */
static const char *find_first(const whole_file *f, int own, int *number, int *first)
{
    int nrank = stet_group_get_nrank(f->group);
    int *all = malloc((size_t)nrank * sizeof *all);
    *number = *first = 0;
    if (!all) return "out of memory for what ranks share";
    stet_result result = stet_group_share(f->group, &own, sizeof own, all);
    for (int k = nrank - 1; k >= 0 && result == STET_OK; --k)
        if (all[k] != 0) *number = all[*first = k];
    free(all);
    return result == STET_OK ? NULL : stet_get_last_error();
}

/* All fail if one of them has failed, with the system's error. */
static const char *agree(const whole_file *f, int error)
{
    int rank, first;
    const char *wrong = find_first(f, error, &first, &rank);
    if (wrong || first == 0) return wrong;
    return error_text("%s: writing stopped: rank %d of %d: %s", f->w.path, rank, stet_group_get_nrank(f->group),
                      strerror(first));
}

/* The file that the first process made. */
typedef struct made_file {
    char path[STI_FILE_PATH_SIZE]; /* "": it could not */
    uint64_t inode;
} made_file;

static void announce(const whole_file *f, made_file *out)
{
    struct stat s;
    if (fflush(f->w.out.file) != 0 || fstat(fileno(f->w.out.file), &s) != 0) return;
    (void)snprintf(out->path, sizeof out->path, "%s", f->w.out.part);
    out->inode = (uint64_t)s.st_ino;
}

/* -1: this process does not see that file. */
static int open_made(const made_file *made)
{
    struct stat s;
    int fd = made->path[0] ? open(made->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (fd < 0 || (fstat(fd, &s) == 0 && (uint64_t)s.st_ino == made->inode)) return fd;
    close(fd);
    return -1;
}

/* WHOLE-1. */
static const char *open_apart(whole_file *f)
{
    made_file made = {0};
    if (f->w.out.file) announce(f, &made);
    if (stet_group_broadcast(f->group, &made, sizeof made) != STET_OK) return stet_get_last_error();
    f->own = open_made(&made);
    int blind, rank;
    const char *wrong = find_first(f, f->own < 0, &blind, &rank);
    if (f->own < 0 || (!wrong && !blind)) return wrong;
    close(f->own);
    f->own = -1;
    return wrong;
}

const char *whole_open(whole_file *f, stet_group *group, bool apart, const char *path, const char *descr, int ndim,
                       const int64_t *shape)
{
    const char *wrong = NULL;
    *f = (whole_file){.group = group, .own = -1};
    if (whole_writes(group))
        wrong = npy_open(&f->w, path, descr, ndim, shape);
    else
        (void)snprintf(f->w.path, sizeof f->w.path, "%s", path);
    if (!group || !apart) return wrong;
    const char *others = open_apart(f); /* also if this one has failed: all make the same calls */
    return wrong ? wrong : others;
}

static int write_at(int fd, const char *data, size_t size, int64_t at)
{
    for (ssize_t n; size > 0; data += n, size -= (size_t)n, at += n) {
        n = pwrite(fd, data, size, (off_t)at);
        if (n < 0 && errno == EINTR) n = 0;
        if (n < 0) return errno;
    }
    return 0;
}

/* What is sent to the process that writes. */
typedef struct appending {
    npy_writer *w;
    const char *wrong;
} appending;

static stet_result append(void *context, const void *data, size_t size)
{
    appending *a = context;
    a->wrong = npy_append(a->w, data, size);
    return a->wrong ? sti_error(STET_ERROR_IO, "%s", a->wrong) : STET_OK;
}

const char *whole_append(whole_file *f, stet_array *array)
{
    const void *own;
    size_t item = bytes_per_world(array), size = stet_array_get_bytes(array);
    if (f->group && f->own < 0) {
        appending a = {&f->w, NULL};
        if (sti_group_stream_array(f->group, array, append, &a) == STET_OK) return NULL;
        return a.wrong ? a.wrong : stet_get_last_error();
    }
    if (stet_array_get_host(array, &own) != STET_OK) return stet_get_last_error();
    if (!f->group) return npy_append(&f->w, own, size);
    int error = write_at(f->own, own, size, NPY_HEADER + f->size + stet_group_get_first(f->group) * (int64_t)item);
    f->size += stet_group_get_nworld(f->group) * (int64_t)item;
    return agree(f, error);
}

static const char *end_apart(whole_file *f)
{
    if (f->own < 0) return NULL;
    const char *wrong = agree(f, close(f->own) == 0 ? 0 : errno);
    f->own = -1;
    /* On a file system over a network this process may not know yet how long the file is. */
    if (f->w.out.file && ftruncate(fileno(f->w.out.file), NPY_HEADER + f->size) != 0 && !wrong)
        wrong = error_text("%s: writing stopped: %s", f->w.path, strerror(errno));
    return wrong;
}

static const char *end_file(whole_file *f, int64_t rows, const char *(*end)(npy_writer *w, int64_t rows))
{
    const char *wrong = end_apart(f), *ended = f->w.out.file ? end(&f->w, rows) : NULL;
    return wrong ? wrong : ended;
}

const char *whole_close(whole_file *f, int64_t rows) { return end_file(f, rows, npy_close); }
const char *whole_seal(whole_file *f, int64_t rows) { return end_file(f, rows, npy_seal); }

void whole_drop(whole_file *f)
{
    if (f->own >= 0) close(f->own);
    f->own = -1;
    npy_drop(&f->w);
}

/* ---- in memory --------------------------------------------------------------------------------------------------- */

const char *whole_read(stet_group *group, stet_array *array, const void **data, void **buffer)
{
    char *at = NULL;
    *data = *buffer = NULL;
    if (!group) return stet_array_get_host(array, data) == STET_OK ? NULL : stet_get_last_error();
    if (whole_writes(group)) {
        *buffer = at = malloc((size_t)stet_group_get_nworld(group) * bytes_per_world(array));
        if (!at) return "out of memory for an array of all worlds; ask for fewer worlds";
    }
    *data = *buffer;
    return sti_group_stream_array(group, array, sti_group_put, &at) == STET_OK ? NULL : stet_get_last_error();
}
