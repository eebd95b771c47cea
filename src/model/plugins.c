/* MuJoCo's own plugins, found beside MuJoCo's library. Invariants: plugins.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include "model/plugins.h"

#include "base/error.h"
#include "model/guard.h"

#include <mujoco/mujoco.h>

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where releases of MuJoCo have them, relative to the library's folder: wheels (and stet's own tree), archives. */
static const char *const folders[] = {"plugin", "../bin/mujoco_plugin"};

static int is_library(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');
    return end && (strcmp(end, ".so") == 0 || strcmp(end, ".dylib") == 0);
}

/* A library registers its plugins while it is being loaded, inside dlopen, and no error may jump out of dlopen. */
static void load_library(void *path)
{
    if (!dlopen(path, RTLD_NOW | RTLD_LOCAL))
        sti_log(STET_LOG_INFO, "MuJoCo's plugins: %s; it is passed over", dlerror());
}

/* Loads libraries in the order of their names, so that plugins have the same numbers in every process. */
static void load_folder(const char *folder)
{
    struct dirent **entries = NULL;
    int n = scandir(folder, &entries, is_library, alphasort);
    for (int i = 0; i < n; ++i) {
        char path[PATH_MAX];
        int size = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (size > 0 && (size_t)size < sizeof path) sti_mujoco_finish(load_library, path);
        free(entries[i]);
    }
    free(entries);
}

static void load_plugins(void)
{
    Dl_info info;
    char library[PATH_MAX], folder[PATH_MAX + 32];
    if (!dladdr((const void *)(uintptr_t)mj_versionString, &info) || !realpath(info.dli_fname, library)) return;
    char *end = strrchr(library, '/');
    if (end) *end = 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; ++i) {
        (void)snprintf(folder, sizeof folder, "%s/%s", library, folders[i]);
        load_folder(folder);
    }
}

void sti_load_plugins(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load_plugins);
}
