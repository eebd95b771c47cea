/* Model files of other projects; see corpus.h. */
#include "physics/corpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static corpus_file *list;
static int nfile;

static int collect_file(const char *path, const struct stat *status, int kind)
{
    (void)status;
    size_t n = strlen(path);
    if (kind != FTW_F || n < 4 || strcmp(path + n - 4, ".xml") != 0) return 0;
    assert_true(nfile < CORPUS_MOST && n < CORPUS_PATH);
    (void)snprintf(list[nfile++].path, CORPUS_PATH, "%s", path);
    return 0;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const corpus_file *)a)->path, ((const corpus_file *)b)->path);
}

/* Returns whether the package has files. */
static bool collect(const char *packages, const char *package)
{
    char folder[CORPUS_PATH];
    int from = nfile;
    (void)snprintf(folder, sizeof folder, "%s/%s", packages, package);
    if (ftw(folder, collect_file, 20) != 0) return false;
    qsort(list + from, (size_t)(nfile - from), sizeof *list, by_path);
    for (int k = from; k < nfile; ++k) list[k].name = list[k].path + strlen(packages) + 1;
    return nfile > from;
}

int corpus_list(corpus_file file[CORPUS_MOST], bool *whole)
{
    const char *folder = getenv("CORPUS_FOLDER"), *other = STET_TEST_SOURCE_DIR "/.venv/corpus";
    list = file;
    nfile = 0;
    *whole = collect(folder ? folder : STET_TEST_PACKAGES, "gymnasium");
    *whole = collect(folder ? folder : STET_TEST_PACKAGES, "dm_control") && *whole;
    *whole = collect(folder ? folder : other, "mujoco_warp") && *whole;
    return nfile;
}
