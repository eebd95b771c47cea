/*
 * See recordings.h. Arrays of a name are compared; of a folder's those of all .npy and .npz files, whose names are then
 * the same in both. Recordings may differ in how many frames they have.
 */
#include "cli/compare/recordings.h"

#include "cli/compare/difference.h"
#include "cli/files/npz.h"
#include "cli/report_error.h"
#include "stet/stet.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct array_list {
    struct {
        char name[NPZ_NAME];
        npy_raw raw;
    } * array;
    int count;
} array_list;

typedef struct sides {
    const char *path[2];
    difference difference;
    int64_t frames[2]; /* of the shortest recording whose lengths differ; both 0: none */
} sides;

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static const char *read_one(void *context, const char *name, FILE *npy)
{
    array_list *list = context;
    void *more = realloc(list->array, (size_t)(list->count + 1) * sizeof *list->array);
    if (!more) return "does not fit in memory";
    list->array = more;
    memset(&list->array[list->count], 0, sizeof *list->array);
    (void)snprintf(list->array[list->count].name, NPZ_NAME, "%s", name);
    return npy_read_raw(npy, &list->array[list->count++].raw);
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

/* The arrays of a file; of a .npy file one, named as the file. */
static const char *read_arrays(const char *path, array_list *out)
{
    const char *wrong, *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    char name[NPZ_NAME];
    if (ends_with(path, ".npz")) return npz_visit(path, read_one, out);
    FILE *f = sti_input_open(path, &wrong);
    if (!f) return error_text("%s: cannot be read: %s", path, wrong);
    (void)snprintf(name, sizeof name, "%.*s", (int)(strlen(base) - strlen(".npy")), base);
    wrong = read_one(out, name, f);
    fclose(f);
    return wrong ? error_text("%s %s", path, wrong) : NULL;
}

static void free_arrays(array_list *list)
{
    for (int i = 0; i < list->count; ++i) free(list->array[i].raw.data);
    free(list->array);
    *list = (array_list){0};
}

/* ---- what the axes are ------------------------------------------------------------------------------------------- */

static bool is_one_of(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0) ++names;
    return *names != NULL;
}

static bool is_output(const char *name)
{
    stet_output output;
    char first[NPZ_NAME];
    (void)snprintf(first, sizeof first, "%.*s", (int)strcspn(name, "-"), name);
    return stet_output_find(first, &output) == STET_OK;
}

/* From the array's name, which `stet run` gave it, and the file it is in. */
static array_axes axes_of(const char *name, const char *path, int ndim)
{
    bool rounds = ends_with(path, "rounds.npz");
    if (is_one_of(stet_worlds_get_fields(), name) || is_one_of(stet_worlds_get_quantities(), name))
        return (array_axes){.round = ndim == 4, .frame = ndim >= 3, .world = ndim >= 2};
    if (strchr(name, ':') || strncmp(name, "frames-", 7) == 0)
        return (array_axes){.frame = ndim >= 1, .world = ndim >= 2};
    return (array_axes){.round = rounds && ndim >= 1, .world = !rounds && ndim >= 1 && is_output(name)};
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

static void spell_shape(char *out, size_t size, const npy_raw *a)
{
    size_t used = (size_t)snprintf(out, size, "%c%d", a->type, a->size);
    for (int i = 0; i < a->ndim && used < size; ++i)
        used += (size_t)snprintf(out + used, size - used, "%s%lld", i ? " x " : " ", (long long)a->shape[i]);
}

/* Arrays of different lengths are compared as far as both go. */
static const char *compare_arrays(sides *s, const char *name, npy_raw *a, npy_raw *b)
{
    array_axes axes = axes_of(name, s->path[0], a->ndim);
    bool same = a->type == b->type && a->size == b->size && a->ndim == b->ndim;
    bool recorded = axes.frame && !axes.round;
    for (int i = 0; i < a->ndim && same; ++i) same = a->shape[i] == b->shape[i] || (i == 0 && recorded);
    if (!same) {
        char shape_a[200], shape_b[200];
        spell_shape(shape_a, sizeof shape_a, a);
        spell_shape(shape_b, sizeof shape_b, b);
        return error_text("array %s: it is %s in %s and %s in %s; compare runs with the same worlds and cameras", name,
                          shape_a, s->path[0], shape_b, s->path[1]);
    }
    if (recorded && a->shape[0] != b->shape[0]) {
        npy_raw *longer = a->shape[0] > b->shape[0] ? a : b, *shorter = longer == a ? b : a;
        if (s->frames[0] == s->frames[1] || shorter->shape[0] < s->frames[0]) {
            s->frames[0] = a->shape[0];
            s->frames[1] = b->shape[0];
        }
        longer->count = shorter->count;
    }
    difference_look(&s->difference, name, axes, -1, a, b);
    return NULL;
}

/* What differs whenever a run is repeated. */
static bool is_clock(const char *name) { return strcmp(name, "seconds") == 0 || strcmp(name, "setup_seconds") == 0; }

static int find_array(const array_list *list, const char *name)
{
    int i = 0;
    while (i < list->count && strcmp(list->array[i].name, name) != 0) ++i;
    return i < list->count ? i : -1;
}

static const char *compare_lists(sides *s, const array_list *a, const array_list *b)
{
    for (int i = 0; i < a->count + b->count; ++i) {
        const char *name = i < a->count ? a->array[i].name : b->array[i - a->count].name;
        int in_a = find_array(a, name), in_b = find_array(b, name);
        if (in_a < 0 || in_b < 0)
            return error_text("array %s is in %s alone; record the same in both", name, s->path[in_a < 0]);
        const char *wrong =
            i >= a->count || is_clock(name) ? NULL : compare_arrays(s, name, &a->array[in_a].raw, &b->array[in_b].raw);
        if (wrong) return wrong;
    }
    return NULL;
}

static const char *compare_files(sides *s, const char *path_a, const char *path_b)
{
    array_list a = {0}, b = {0};
    const char *before[2] = {s->path[0], s->path[1]};
    s->path[0] = path_a;
    s->path[1] = path_b;
    const char *wrong = read_arrays(path_a, &a);
    if (!wrong) wrong = read_arrays(path_b, &b);
    /* A .npy file has one array, whatever the files are called. */
    if (!wrong && !ends_with(path_a, ".npz"))
        wrong = compare_arrays(s, a.array[0].name, &a.array[0].raw, &b.array[0].raw);
    else if (!wrong)
        wrong = compare_lists(s, &a, &b);
    free_arrays(&a);
    free_arrays(&b);
    s->path[0] = before[0];
    s->path[1] = before[1];
    return wrong;
}

static int holds_arrays(const struct dirent *entry)
{
    return ends_with(entry->d_name, ".npy") || ends_with(entry->d_name, ".npz");
}

static const char *join(char path[PATH_MAX], const char *folder, const char *name)
{
    return snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX ? NULL : "the name of a folder is too long";
}

/* Of the sorted names: each is in both folders. */
static const char *compare_names(sides *s, struct dirent **a, int na, struct dirent **b, int nb)
{
    char path_a[PATH_MAX], path_b[PATH_MAX];
    for (int i = 0; i < na || i < nb; ++i) {
        int order = i >= na ? 1 : i >= nb ? -1 : strcmp(a[i]->d_name, b[i]->d_name);
        if (order != 0)
            return error_text("%s is in %s alone; record the same in both", (order < 0 ? a : b)[i]->d_name,
                              s->path[order > 0]);
        const char *wrong = join(path_a, s->path[0], a[i]->d_name);
        if (!wrong) wrong = join(path_b, s->path[1], b[i]->d_name);
        if (!wrong) wrong = compare_files(s, path_a, path_b);
        if (wrong) return wrong;
    }
    return NULL;
}

static void free_names(struct dirent **names, int n)
{
    for (int i = 0; i < n; ++i) free(names[i]);
    if (n >= 0) free(names);
}

static const char *compare_folders(sides *s)
{
    struct dirent **a, **b;
    int na = scandir(s->path[0], &a, holds_arrays, alphasort), nb = scandir(s->path[1], &b, holds_arrays, alphasort);
    const char *wrong =
        na < 0   ? error_text("%s: the folder cannot be read", s->path[0])
        : nb < 0 ? error_text("%s: the folder cannot be read", s->path[1])
        : na == 0 && nb == 0
            ? error_text("%s: there is no .npy and no .npz file in it; stet run --record … --out writes "
                         "some",
                         s->path[0])
            : NULL;
    if (!wrong) wrong = compare_names(s, a, na, b, nb);
    free_names(a, na);
    free_names(b, nb);
    return wrong;
}

static const char *kind_of(const char *path, char *kind)
{
    struct stat st;
    if (stat(path, &st) != 0) return error_text("%s: there is no such file or folder", path);
    *kind = S_ISDIR(st.st_mode) ? 'd' : ends_with(path, ".npz") ? 'z' : ends_with(path, ".npy") ? 'y' : 0;
    return *kind ? NULL : error_text("%s is no folder, .npy or .npz file; compare what stet run --out wrote", path);
}

int recordings_compare(const char *path_a, const char *path_b)
{
    sides s = {.path = {path_a, path_b}};
    char kind_a, kind_b;
    const char *wrong = kind_of(path_a, &kind_a);
    if (!wrong) wrong = kind_of(path_b, &kind_b);
    if (!wrong && kind_a != kind_b)
        wrong = error_text("%s and %s are not of one kind; compare two folders or two files", path_a, path_b);
    if (!wrong) wrong = kind_a == 'd' ? compare_folders(&s) : compare_files(&s, path_a, path_b);
    if (wrong) return report_text(EXIT_INPUT, wrong);
    /* The last frames of runs of different lengths may differ. */
    bool found = s.difference.found && (s.difference.frame >= 0 || s.difference.round >= 0);
    if (found || s.frames[0] == s.frames[1]) return difference_report(&s.difference, path_a, path_b);
    printf("equal as far as both go: there are %lld frames in %s, %lld in %s\n", (long long)s.frames[0], path_a,
           (long long)s.frames[1], path_b);
    return EXIT_WORK;
}
