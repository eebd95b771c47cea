/* Finds the files that a model names; see files.h. If memory runs out, the files found so far are the result. */
#include "model/files.h"

#include "base/file.h"
#include "model/packages.h"

#include <ctype.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 1000, DEEP = 16, FOLDERS = 32, TEXT_LIMIT = 1 << 28 };

typedef struct search {
    sti_model_file_visit *visit;
    void *context;
    /* folders that names may be relative to, each ending in a slash; owned except the first */
    const char *folder[FOLDERS];
    int nfolder, texts, depth;
    bool stopped;
} search;

char *sti_model_read_text(const char *path)
{
    const char *why;
    struct stat s;
    FILE *f = sti_input_open(path, &why);
    char *text = f && fstat(fileno(f), &s) == 0 && s.st_size < TEXT_LIMIT ? malloc((size_t)s.st_size + 1) : NULL;
    if (text) text[fread(text, 1, (size_t)s.st_size, f)] = 0;
    if (f) (void)fclose(f);
    return text;
}

typedef struct attribute {
    const char *name, *value;
    size_t nname, nvalue;
} attribute;

/* Finds the next NAME="VALUE" from *at on; *at moves behind it. */
static bool next_attribute(const char **at, attribute *a)
{
    for (const char *p; (p = strchr(*at, '=')); *at = p + 1) {
        const char *open = p + 1 + strspn(p + 1, " \t\r\n");
        const char *end = *open == '"' || *open == '\'' ? strchr(open + 1, *open) : NULL;
        if (!end) continue;
        a->nname = 0;
        while (p - a->nname > *at && isalpha((unsigned char)p[-1 - (ptrdiff_t)a->nname])) ++a->nname;
        a->name = p - a->nname;
        a->value = open + 1;
        a->nvalue = (size_t)(end - a->value);
        *at = end + 1;
        return true;
    }
    return false;
}

/* True for meshdir, texturedir, assetdir. */
static bool names_folder(const attribute *a)
{
    return a->nname > 3 && memcmp(a->name + a->nname - 3, "dir", 3) == 0 && a->nvalue > 0 && a->nvalue < PATH_MAX;
}

/* True for file, fileright, filename … */
static bool names_file(const attribute *a)
{
    return a->nname >= 4 && memcmp(a->name, "file", 4) == 0 && a->nvalue > 0 && a->nvalue < PATH_MAX;
}

static bool is_text(const char *path)
{
    size_t n = strlen(path);
    return n > 4 && (strcmp(path + n - 4, ".xml") == 0 || (n > 5 && strcmp(path + n - 5, ".urdf") == 0));
}

static void search_text(search *s, const char *path);

/* Visits a name in a folder, if that file exists. */
static void try_name(search *s, const char *folder, const char *name, size_t length)
{
    char path[PATH_MAX];
    struct stat about;
    if (length > 0 && name[0] == '/') folder = "";
    if (snprintf(path, sizeof path, "%s%.*s", folder, (int)length, name) >= (int)sizeof path) return;
    if (stat(path, &about) != 0 || S_ISDIR(about.st_mode)) return;
    if (!s->visit(s->context, path, &about)) s->stopped = true;
    if (!s->stopped && is_text(path) && S_ISREG(about.st_mode)) search_text(s, path);
}

/* Adds the folder that a value names (meshdir, texturedir) to those that names may be relative to. */
static void take_folder(search *s, const char *name, size_t length)
{
    char path[PATH_MAX];
    struct stat about;
    int n = snprintf(path, sizeof path - 1, "%s%.*s", name[0] == '/' ? "" : s->folder[0], (int)length, name);
    if (length == 0 || n >= (int)sizeof path - 1 || stat(path, &about) != 0 || !S_ISDIR(about.st_mode)) return;
    if (path[n - 1] != '/') memcpy(path + n, "/", 2);
    for (int i = 0; i < s->nfolder; ++i)
        if (strcmp(s->folder[i], path) == 0) return;
    char *copy = s->nfolder < FOLDERS ? strdup(path) : NULL;
    if (copy) s->folder[s->nfolder++] = copy;
}

/* Skips "package://" and the like, which URDF puts before names. */
static void skip_scheme(const char **value, size_t *length)
{
    for (size_t i = 0; i + 3 <= *length; ++i)
        if (memcmp(*value + i, "://", 3) == 0) {
            *value += i + 3;
            *length -= i + 3;
            return;
        }
}

static void try_value(search *s, const char *beside, const char *value, size_t length)
{
    char found[PATH_MAX];
    sti_package_path packages = {.beside = beside[0] ? beside : "."};
    if (sti_package_find(&packages, value, length, found, sizeof found) && found[0])
        try_name(s, "", found, strlen(found));
    skip_scheme(&value, &length);
    const char *base = value;
    for (size_t i = 0; i < length; ++i)
        if (value[i] == '/') base = value + i + 1;
    try_name(s, beside, value, length);
    for (int i = 0; i < s->nfolder && !s->stopped; ++i) {
        try_name(s, s->folder[i], value, length);
        if (base != value && !s->stopped) try_name(s, s->folder[i], base, length - (size_t)(base - value));
    }
}

/* Folders first, because the text may name them after the files that lie in them. */
static void search_text(search *s, const char *path)
{
    char beside[PATH_MAX];
    const char *slash = strrchr(path, '/');
    attribute a;
    char *text = s->texts < TEXTS && s->depth < DEEP ? sti_model_read_text(path) : NULL;
    if (!text) return;
    s->texts++;
    s->depth++;
    (void)snprintf(beside, sizeof beside, "%.*s", slash ? (int)(slash - path) + 1 : 0, path);
    for (const char *at = text; next_attribute(&at, &a);)
        if (names_folder(&a)) take_folder(s, a.value, a.nvalue);
    for (const char *at = text; !s->stopped && next_attribute(&at, &a);)
        if (names_file(&a)) try_value(s, beside, a.value, a.nvalue);
    s->depth--;
    free(text);
}

bool sti_model_files(const char *path, sti_model_file_visit *visit, void *context)
{
    char own[PATH_MAX];
    struct stat about;
    search s = {.visit = visit, .context = context, .nfolder = 1};
    const char *slash = strrchr(path, '/');
    if (stat(path, &about) != 0 ||
        snprintf(own, sizeof own, "%.*s", slash ? (int)(slash - path) + 1 : 0, path) >= PATH_MAX)
        return true;
    s.folder[0] = own;
    if (!visit(context, path, &about)) return false;
    if (is_text(path) && S_ISREG(about.st_mode)) search_text(&s, path);
    for (int i = 1; i < s.nfolder; ++i) free((char *)(uintptr_t)s.folder[i]);
    return !s.stopped;
}
