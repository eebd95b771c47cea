/* See folder.h. */
#include "cli/files/folder.h"

#include "base/temporary.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Cuts the last name off a path; "." for a path of one name. */
static void to_parent(char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') path[--n] = 0;
    char *slash = strrchr(path, '/');
    if (!slash)
        memcpy(path, ".", 2);
    else if (slash == path)
        path[1] = 0;
    else
        *slash = 0;
}

static bool copy_path(char out[PATH_MAX], const char *path, const char **why)
{
    size_t size = strlen(path) + 1;
    if (size > 1 && size < PATH_MAX) return memcpy(out, path, size), true;
    *why = *path ? strerror(ENAMETOOLONG) : "the name is empty";
    return false;
}

bool folder_usable(const char *path, const char **why)
{
    char at[PATH_MAX];
    struct stat s;
    if (!copy_path(at, path, why)) return false;
    while (stat(at, &s) != 0) {
        if (errno != ENOENT) return *why = strerror(errno), false;
        to_parent(at);
    }
    if (!S_ISDIR(s.st_mode)) return *why = strerror(ENOTDIR), false;
    if (access(at, W_OK | X_OK) != 0) return *why = strerror(errno), false;
    return true;
}

bool folder_make(const char *path, int *made, const char **why)
{
    char parent[PATH_MAX];
    struct stat s;
    if (!copy_path(parent, path, why)) return false;
    if (stat(path, &s) == 0) return true;
    to_parent(parent);
    if (!folder_make(parent, made, why)) return false;
    if (mkdir(path, 0777) == 0) {
        sti_temporary_add(path);
        ++*made;
        return true;
    }
    *why = strerror(errno);
    folder_unmake(parent, *made);
    return false;
}

/* Keeps these folders when a signal ends the command: they belong to the user now, or were removed. */
static void forget_temporary(const char *path, int made)
{
    char at[PATH_MAX];
    const char *why;
    if (!copy_path(at, path, &why)) return;
    for (int i = 0; i < made; ++i, to_parent(at)) sti_temporary_drop(at);
}

void folder_unmake(const char *path, int made)
{
    char at[PATH_MAX];
    const char *why;
    forget_temporary(path, made);
    if (!copy_path(at, path, &why)) return;
    for (int i = 0; i < made && rmdir(at) == 0; ++i) to_parent(at);
}

bool file_list_add(file_list *list, const char *path)
{
    char **grown = realloc(list->path, ((size_t)list->count + 1) * sizeof *grown);
    if (!grown) return false;
    list->path = grown;
    list->path[list->count] = strdup(path);
    if (!list->path[list->count]) return false;
    ++list->count;
    return true;
}

void file_list_free(file_list *list)
{
    for (int i = 0; i < list->count; ++i) free(list->path[i]);
    free(list->path);
    *list = (file_list){0};
}
