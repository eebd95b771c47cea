/* Files that are read and written; see file.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strdup, readlink, fchmod, fchown */
#endif
#include "base/file.h"

#include "base/temporary.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { LINKS = 40, TRIES = 1000 };

/* ---- reading --------------------------------------------------------------------------------------------------- */

const char *sti_file_not_plain(mode_t mode)
{
    if (S_ISREG(mode)) return NULL;
    if (S_ISDIR(mode)) return "it is a folder";
    if (S_ISFIFO(mode)) return "it is a named pipe, not a plain file";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "it is a device, not a plain file";
    return "it is no plain file";
}

/* The same; errno is set. */
static const char *what_is_wrong(int status, const struct stat *s)
{
    assert(status == 0 || errno != 0);
    const char *why = status == 0 ? sti_file_not_plain(s->st_mode) : strerror(errno);
    if (status == 0) errno = EINVAL;
    return why;
}

FILE *sti_input_open(const char *path, const char **why)
{
    struct stat s;
    FILE *f = NULL;
    int fd = -1;
    /*
     * Checked before the file is opened, because opening a device may have an effect; and after, because it may have
     * been replaced meanwhile.
     */
    *why = what_is_wrong(stat(path, &s), &s);
    if (!*why && (fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) < 0) *why = strerror(errno);
    if (!*why) *why = what_is_wrong(fstat(fd, &s), &s);
    if (!*why && !(f = fdopen(fd, "rb"))) *why = strerror(errno);
    if (f || fd < 0) return f;
    int error = errno;
    close(fd);
    errno = error;
    return NULL;
}

/* ---- where a file is written ----------------------------------------------------------------------------------- */

/* Length of the folder in a path, including its slash; 0: the current directory. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

bool sti_output_target(const char *path, char *out, size_t size)
{
    char link[PATH_MAX];
    struct stat s;
    if (snprintf(out, size, "%s", path) >= (int)size) return errno = ENAMETOOLONG, false;
    for (int i = 0; lstat(out, &s) == 0 && S_ISLNK(s.st_mode); ++i) {
        ssize_t n = readlink(out, link, sizeof link);
        if (n < 0) return false;
        size_t keep = n > 0 && link[0] == '/' ? 0 : folder_length(out);
        if (i == LINKS) return errno = ELOOP, false;
        if (keep + (size_t)n >= size) return errno = ENAMETOOLONG, false;
        memcpy(out + keep, link, (size_t)n);
        out[keep + (size_t)n] = 0;
    }
    return true;
}

static const char *check_folder(const char *target)
{
    char folder[PATH_MAX] = ".";
    struct stat s;
    size_t n = folder_length(target);
    if (n > 0) memcpy(folder, target, n);
    if (n > 0) folder[n] = 0;
    if (stat(folder, &s) != 0) return strerror(errno);
    if (!S_ISDIR(s.st_mode)) return strerror(ENOTDIR);
    return access(folder, W_OK | X_OK) == 0 ? NULL : strerror(errno);
}

/* Is the file this process's standard output or error? What goes into it would be lost when the file is replaced. */
static bool is_own_stream(const struct stat *s)
{
    struct stat own;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; ++fd)
        if (fstat(fd, &own) == 0 && own.st_dev == s->st_dev && own.st_ino == s->st_ino) return true;
    return false;
}

/* Says what is wrong with the target; *old: the file that exists there, mode 0 for none. */
static const char *check_target(const char *target, struct stat *old)
{
    memset(old, 0, sizeof *old);
    if (!*target) return "the name is empty";
    if (target[strlen(target) - 1] == '/') return strerror(EISDIR);
    if (lstat(target, old) != 0) {
        memset(old, 0, sizeof *old);
        return errno == ENOENT ? check_folder(target) : strerror(errno);
    }
    const char *wrong = sti_file_not_plain(old->st_mode);
    if (wrong) return wrong;
    if ((old->st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0 || access(target, W_OK) != 0) return "it is read-only";
    if (is_own_stream(old)) return "standard output goes there already";
    return check_folder(target);
}

const char *sti_output_refusal(const char *path)
{
    char target[PATH_MAX];
    struct stat old;
    return sti_output_target(path, target, sizeof target) ? check_target(target, &old) : strerror(errno);
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

/* Creates a new file beside the target; -1: errno is set. */
static int open_part(const char *target, char *part, size_t size)
{
    static atomic_uint counter;
    int fd = -1;
    for (int i = 0; i < TRIES && fd < 0; ++i) {
        if (snprintf(part, size, "%.*s.stet-%ld-%u.part", (int)folder_length(target), target, (long)getpid(),
                     atomic_fetch_add(&counter, 1)) >= (int)size)
            return errno = ENAMETOOLONG, -1;
        fd = open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd < 0 && errno != EEXIST) return -1;
    }
    return fd;
}

/* Copies owner and mode of the replaced file to the new one, as far as this process may. */
static void copy_rights(int fd, const struct stat *old)
{
    struct stat s;
    if (!old->st_mode || fstat(fd, &s) != 0) return;
    if (s.st_uid != old->st_uid || s.st_gid != old->st_gid) {
        if (fchown(fd, old->st_uid, old->st_gid) != 0) return;
    }
    (void)fchmod(fd, old->st_mode & 0777);
}

const char *sti_output_open(sti_output *o, const char *path)
{
    assert(path);
    struct stat old;
    *o = (sti_output){0};
    if (!sti_output_target(path, o->target, sizeof o->target)) return strerror(errno);
    const char *wrong = check_target(o->target, &old);
    if (wrong) return wrong;
    int fd = open_part(o->target, o->part, sizeof o->part);
    if (fd < 0) return *o->part = 0, strerror(errno);
    sti_temporary_add(o->part);
    copy_rights(fd, &old);
    o->file = fdopen(fd, "w+b");
    if (o->file) return NULL;
    wrong = strerror(errno);
    close(fd);
    sti_output_drop(o);
    return wrong;
}

const char *sti_output_commit(sti_output *o)
{
    assert(o->file && *o->part && *o->target && "OUT-1: a file that was opened, and is committed once");
    struct stat old;
    bool good = !ferror(o->file) && fflush(o->file) == 0;
    int error = errno;
    if (fclose(o->file) != 0 && good) {
        good = false;
        error = errno;
    }
    o->file = NULL;
    const char *wrong = good ? check_target(o->target, &old) : strerror(error);
    if (!wrong && rename(o->part, o->target) != 0) wrong = strerror(errno);
    if (wrong) (void)unlink(o->part);
    sti_temporary_drop(o->part);
    *o->part = 0;
    return wrong;
}

void sti_output_drop(sti_output *o)
{
    if (o->file) (void)fclose(o->file);
    if (*o->part) (void)unlink(o->part);
    if (*o->part) sti_temporary_drop(o->part);
    o->file = NULL;
    *o->part = 0;
}
