/* Finds shared libraries at run time; see shared_library.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr, dlinfo */
#endif
#include "base/shared_library.h"

#include "base/environment.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One search: what it is for, and the loader's errors for files that exist and could not be used. */
typedef struct search {
    const sti_library_names *names;
    sti_library *out;
    char said[400];
} search;

static void add_refusal(search *s, const char *why)
{
    size_t used = strlen(s->said);
    (void)snprintf(s->said + used, sizeof s->said - used, "%s%s", used ? "; " : "", why);
}

static void set_file(sti_library *out, const char *name)
{
    struct link_map *map = NULL;
    bool known = dlinfo(out->handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && map->l_name[0];
    (void)snprintf(out->file, sizeof out->file, "%s", known ? map->l_name : name);
}

/* Vendors' libraries are never unloaded: their threads and memory stay, so their code must stay, too. */
static bool try_file(search *s, const char *path)
{
    s->out->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (s->out->handle) set_file(s->out, path);
    return s->out->handle != NULL;
}

/* Searches by the loader's own rules: libraries already loaded, LD_LIBRARY_PATH, the system's cache. */
static bool try_name(search *s, const char *name)
{
    if (try_file(s, name)) return true;
    /*
     * For a missing file and for a file with a missing dependency the loader's message differs only in the name at its
     * beginning.
     */
    const char *why = dlerror();
    size_t n = strlen(name);
    bool absent = why && strncmp(why, name, n) == 0 && strstr(why, "No such file");
    if (why && !absent) add_refusal(s, why);
    return false;
}

/*
 * Tries the file `name` in every folder that matches a pattern, the last in alphabetical order (the newest version)
 * first.
 */
static bool try_folders(search *s, const char *pattern, const char *name)
{
    char full[PATH_MAX];
    glob_t found;
    if (snprintf(full, sizeof full, "%s/%s", pattern, name) >= (int)sizeof full) return false;
    if (glob(full, 0, NULL, &found) != 0) return false;
    bool good = false;
    for (size_t i = found.gl_pathc; !good && i-- > 0;) {
        good = try_file(s, found.gl_pathv[i]);
        const char *why = good ? NULL : dlerror();
        if (why) add_refusal(s, why);
    }
    globfree(&found);
    return good;
}

/* ---- where Python's packages are --------------------------------------------------------------------------------- */

static bool try_wheels(search *s, const char *site, const char *name)
{
    char pattern[PATH_MAX];
    for (const char *const *wheel = s->names->wheels; *wheel; ++wheel) {
        int n = snprintf(pattern, sizeof pattern, "%s/%s", site, *wheel);
        if (n < (int)sizeof pattern && try_folders(s, pattern, name)) return true;
    }
    return false;
}

/* Searches the packages of an interpreter installed below this folder. */
static bool try_prefix(search *s, const char *prefix, const char *name)
{
    static const char *const sites[] = {"lib/python3*/site-packages", "lib/python3*/dist-packages"};
    char site[PATH_MAX];
    for (size_t i = 0; i < sizeof sites / sizeof *sites; ++i) {
        int n = snprintf(site, sizeof site, "%s/%s", prefix, sites[i]);
        if (n < (int)sizeof site && try_wheels(s, site, name)) return true;
    }
    return false;
}

/* Searches each folder above a file: its packages, an interpreter's, a virtual environment's (.venv). */
static bool try_above(search *s, const char *file, const char *name)
{
    char folder[PATH_MAX], venv[PATH_MAX];
    if (file[0] != '/' || snprintf(folder, sizeof folder, "%s", file) >= (int)sizeof folder) return false;
    for (char *slash; (slash = strrchr(folder, '/')) != NULL;) {
        *slash = 0;
        const char *last = strrchr(folder, '/');
        bool packages = last && (strcmp(last, "/site-packages") == 0 || strcmp(last, "/dist-packages") == 0);
        if (packages && try_wheels(s, folder, name)) return true;
        if (snprintf(venv, sizeof venv, "%s/.venv", folder) < (int)sizeof venv && try_prefix(s, venv, name))
            return true;
        if (try_prefix(s, folder, name)) return true;
    }
    return false;
}

static bool try_python(search *s, const char *name)
{
    char path[PATH_MAX];
    Dl_info here;
    const char *venv = sti_environment("VIRTUAL_ENV"), *home = sti_environment("HOME");
    if (venv && try_prefix(s, venv, name)) return true;
    if (dladdr(s->names, &here) && here.dli_fname && realpath(here.dli_fname, path) && try_above(s, path, name))
        return true;
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n > 0) path[n] = 0;
    if (n > 0 && try_above(s, path, name)) return true;
    if (!home || snprintf(path, sizeof path, "%s/.local", home) >= (int)sizeof path) return false;
    return try_prefix(s, path, name);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static bool try_everywhere(search *s, const char *name)
{
    if (try_name(s, name)) return true;
    for (const char *const *folder = s->names->folders; folder && *folder; ++folder)
        if (try_folders(s, *folder, name)) return true;
    return s->names->wheels && try_python(s, name);
}

static void append_library(char *text, size_t size, const char *const *list, const char *before)
{
    for (; list && *list; ++list) {
        size_t used = strlen(text);
        (void)snprintf(text + used, size - used, "%s%s", before, *list);
        before = ", ";
    }
}

static stet_result not_found(const search *s)
{
    char looked[500] = "";
    append_library(looked, sizeof looked, s->names->names, "");
    append_library(looked, sizeof looked, s->names->folders, ", also in ");
    append_library(looked, sizeof looked, s->names->wheels, ", and in Python packages' ");
    return sti_error(STET_ERROR_NOT_FOUND, "%s: not found; install it, or use the CPU; looked for %s%s%s",
                     s->names->what, looked, s->said[0] ? "; not usable: " : "", s->said);
}

stet_result sti_library_open(const sti_library_names *names, const char *given, sti_library *out)
{
    search s = {.names = names, .out = out};
    memset(out, 0, sizeof *out);
    if (given) {
        if (try_file(&s, given)) return STET_OK;
        const char *why = dlerror();
        return sti_error(STET_ERROR_NOT_FOUND, "%s: %s cannot be used: %s; check the path", names->what, given,
                         why ? why : "no reason given");
    }
    for (const char *const *name = names->names; *name; ++name)
        if (try_everywhere(&s, *name)) return STET_OK;
    return not_found(&s);
}

void sti_library_close(sti_library *library)
{
    if (library->handle) dlclose(library->handle);
    memset(library, 0, sizeof *library);
}

void *sti_library_symbol(const sti_library *library, const char *symbol)
{
    return library->handle ? dlsym(library->handle, symbol) : NULL;
}
