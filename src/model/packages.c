/* See packages.h. */
#include "model/packages.h"

#include "base/environment.h"
#include "base/error.h"
#include "base/memory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char package_scheme[] = "package://", file_scheme[] = "file://";

/* ---- where a package is ------------------------------------------------------------------------------------------ */

/* What a name says: the package, and the path in it. */
typedef struct parts {
    const char *package, *path;
    int npackage, npath;
} parts;

static bool is_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISDIR(about.st_mode);
}

/* folder + between + what the name says; with_package false: the folder is the package's own. */
static bool try_folder(const char *folder, int n, const char *between, const parts *p, bool with_package, char *out,
                       size_t size)
{
    int wrote = snprintf(out, size, "%.*s%s/%.*s%s%.*s", n, folder, between, with_package ? p->npackage : 0, p->package,
                         with_package ? "/" : "", p->npath, p->path);
    if (wrote >= 0 && (size_t)wrote < size && is_file(out)) return true;
    out[0] = 0;
    return false;
}

/* Is the last part of a path the package's name? */
static bool is_named(const char *folder, int n, const parts *p)
{
    while (n > 1 && folder[n - 1] == '/') --n;
    return n >= p->npackage && strncmp(folder + n - p->npackage, p->package, (size_t)p->npackage) == 0 &&
           (n == p->npackage || folder[n - p->npackage - 1] == '/');
}

static bool try_either(const char *folder, int n, const parts *p, char *out, size_t size)
{
    return try_folder(folder, n, "", p, true, out, size) ||
           (is_named(folder, n, p) && try_folder(folder, n, "", p, false, out, size));
}

/* The folders of a variable, with colons between them. */
static bool try_variable(const char *name, const char *between, const parts *p, char *out, size_t size)
{
    for (const char *at = sti_environment(name); at && *at; at += strspn(at, ":")) {
        int n = (int)strcspn(at, ":");
        if (between[0] ? try_folder(at, n, between, p, true, out, size) : try_either(at, n, p, out, size)) return true;
        at += n;
    }
    return false;
}

/* The folders above a file, the nearest first. */
static bool try_above(const char *file, const parts *p, char *out, size_t size)
{
    char real[PATH_MAX];
    if (!file || !realpath(file, real)) return false;
    for (char *slash; (slash = strrchr(real, '/')); *slash = 0)
        if (try_either(real, (int)(slash - real), p, out, size)) return true;
    return false;
}

bool sti_package_find(const sti_package_path *path, const char *name, size_t length, char *out, size_t size)
{
    out[0] = 0;
    if (length > sizeof file_scheme && strncmp(name, file_scheme, sizeof file_scheme - 1) == 0) {
        name += sizeof file_scheme - 1;
        length -= sizeof file_scheme - 1;
        if (length < size) (void)snprintf(out, size, "%.*s", (int)length, name);
        if (out[0] && !is_file(out)) out[0] = 0;
        return true;
    }
    if (length < sizeof package_scheme || strncmp(name, package_scheme, sizeof package_scheme - 1) != 0) return false;
    name += sizeof package_scheme - 1;
    length -= sizeof package_scheme - 1;
    const char *slash = memchr(name, '/', length);
    if (!slash || length >= PATH_MAX) return true;
    parts p = {.package = name, .npackage = (int)(slash - name), .path = slash + 1};
    p.npath = (int)(length - (size_t)p.npackage) - 1;
    for (int i = 0; i < path->nfolder; ++i)
        if (try_either(path->folder[i], (int)strlen(path->folder[i]), &p, out, size)) return true;
    (void)(try_variable("ROS_PACKAGE_PATH", "", &p, out, size) ||
           try_variable("AMENT_PREFIX_PATH", "/share", &p, out, size) || try_above(path->beside, &p, out, size));
    return true;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* Length of a mesh's name: MuJoCo's is that of the file without its ending. */
static size_t stem_length(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? (size_t)(dot - name) : strlen(name);
}

static bool stem_taken(const sti_package_text *t, const char *name)
{
    size_t n = stem_length(name);
    for (int i = 0; i < t->count; ++i)
        if (stem_length(t->file[i].name) == n && strncmp(t->file[i].name, name, n) == 0) return true;
    return false;
}

/* The number of the file of a name that was found at `path`, which is added if it is new. */
static stet_result add_file(sti_package_text *t, const char *uri, size_t length, const char *path, int *at)
{
    for (*at = 0; *at < t->count; ++*at)
        if (strcmp(t->file[*at].path, path) == 0) return STET_OK;
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    char name[PATH_MAX];
    (void)snprintf(name, sizeof name, "%s", base);
    for (int k = 2; stem_taken(t, name); ++k)
        (void)snprintf(name, sizeof name, "%.*s_%d%s", (int)stem_length(base), base, k, base + stem_length(base));
    STI_TRY(sti_realloc(&t->file, (size_t)(t->count + 1) * sizeof *t->file, "files of packages"));
    struct sti_package_file *file = &t->file[t->count++];
    *file = (struct sti_package_file){0};
    STI_TRY(sti_strdup(&file->name, name));
    STI_TRY(sti_strdup(&file->path, path));
    STI_TRY(sti_alloc(&file->uri, length + 1, "files of packages"));
    memcpy(file->uri, uri, length);
    return STET_OK;
}

/* The next value that may be such a name: behind a quote, up to the same one. */
static const char *next_value(const char *text, const char *at, size_t *length)
{
    for (; (at = strstr(at, "://")); at += 3) {
        const char *begin = at;
        while (begin > text && begin[-1] >= 'a' && begin[-1] <= 'z') --begin;
        char quote = begin > text ? begin[-1] : 0;
        const char *end = quote == '"' || quote == '\'' ? strchr(at, quote) : NULL;
        if (!end) continue;
        *length = (size_t)(end - begin);
        return begin;
    }
    return NULL;
}

static stet_result append(char **text, size_t *used, size_t *room, const char *part, size_t n)
{
    if (*used + n + 1 > *room) {
        *room = 2 * (*used + n + 1);
        STI_TRY(sti_realloc(text, *room, "a model's text"));
    }
    memcpy(*text + *used, part, n);
    *used += n;
    (*text)[*used] = 0;
    return STET_OK;
}

static stet_result replace_names(const sti_package_path *path, const char *text, sti_package_text *out)
{
    size_t used = 0, room = 0, length = 0;
    const char *from = text, *value;
    char found[PATH_MAX];
    for (const char *at = text; (value = next_value(text, at, &length)); at = value + length) {
        if (!sti_package_find(path, value, length, found, sizeof found)) continue;
        if (!found[0] && !out->missing[0])
            (void)snprintf(out->missing, sizeof out->missing, "%.*s", (int)length, value);
        if (!found[0]) continue;
        int k = 0;
        STI_TRY(add_file(out, value, length, found, &k));
        STI_TRY(append(&out->text, &used, &room, from, (size_t)(value - from)));
        STI_TRY(append(&out->text, &used, &room, out->file[k].name, strlen(out->file[k].name)));
        from = value + length;
    }
    return out->text ? append(&out->text, &used, &room, from, strlen(from)) : STET_OK;
}

stet_result sti_package_text_make(const sti_package_path *path, const char *text, sti_package_text *out)
{
    *out = (sti_package_text){0};
    stet_result result = replace_names(path, text, out);
    if (result != STET_OK) sti_package_text_free(out);
    return result;
}

void sti_package_text_free(sti_package_text *text)
{
    for (int i = 0; i < text->count; ++i) {
        sti_free(text->file[i].name);
        sti_free(text->file[i].uri);
        sti_free(text->file[i].path);
    }
    sti_free(text->file);
    sti_free(text->text);
    *text = (sti_package_text){0};
}
