/* The list of models of other projects; see corpus.h. */
#include "physics/corpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DIGITS = 16, LINE = 1024 };
#define LIST "tools/corpus.txt"

/* ---- sources ----------------------------------------------------------------------------------------------------- */

/* The folders are those of tools/list_corpus.py. */
static void find_source(corpus_source *s, const char *of, bool optional)
{
    const char *own = getenv("CORPUS_FOLDER");
    const char *folders[] = {own ? own : "", STET_TEST_SOURCE_DIR "/.venv/corpus", STET_TEST_PACKAGES};
    char path[CORPUS_PATH + sizeof s->name];
    for (size_t k = 0; k < sizeof folders / sizeof *folders; ++k) {
        (void)snprintf(path, sizeof path, "%s/%s", folders[k], s->name);
        if (folders[k][0] == 0 || access(path, F_OK) != 0) continue;
        (void)snprintf(s->folder, sizeof s->folder, "%s", folders[k]);
        return;
    }
    print_message("%s is not there%s: %s (tools/corpus.sh)\n", s->name, optional ? ", which is optional" : "", of);
}

static bool is_wanted(const char *name, const char *const *names)
{
    for (int k = 0; names && names[k]; ++k)
        if (strcmp(names[k], name) == 0) return true;
    return !names;
}

static void add_source(corpus_list *list, const char *line, const char *const *names)
{
    corpus_source s = {.files = 0};
    char of[200], pin[200];
    assert_int_equal(sscanf(line, "source %31s %199s %199s", s.name, of, pin), 3);
    assert_true(list->nsource < CORPUS_SOURCES);
    if (is_wanted(s.name, names)) find_source(&s, of, strstr(line, " optional") != NULL);
    list->source[list->nsource++] = s;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void check_file(const corpus_file *f, const char *listed)
{
    char command[CORPUS_PATH + 32], digits[DIGITS + 1] = "";
    (void)snprintf(command, sizeof command, "sha256sum < '%s'", f->path);
    if (access(f->path, R_OK) != 0)
        fail_msg("%s is listed in " LIST ", and not there: get the release that is pinned there", f->path);
    assert_null(strchr(f->path, '\''));
    FILE *sum = popen(command, "r");
    assert_non_null(sum);
    assert_non_null(fgets(digits, sizeof digits, sum));
    (void)pclose(sum);
    if (strncmp(digits, listed, DIGITS) != 0)
        fail_msg("%s has the SHA-256 %s…, " LIST " has %.16s…: get the release that is pinned there, or write the list "
                 "again (tools/list_corpus.py)",
                 f->path, digits, listed);
}

static int source_of(const corpus_list *list, const char *path)
{
    for (int k = 0; k < list->nsource; ++k) {
        size_t n = strlen(list->source[k].name);
        if (strncmp(path, list->source[k].name, n) == 0 && path[n] == '/') return k;
    }
    fail_msg(LIST ": no source has %s", path);
    return -1;
}

static void add_file(corpus_list *list, const char *line)
{
    const char *path = line + DIGITS + 1, *reason = strstr(line, " | ");
    assert_true(strlen(line) > DIGITS + 1 && line[DIGITS] == ' ');
    int k = source_of(list, path);
    corpus_source *s = &list->source[k];
    s->files++;
    s->models += !reason;
    if (reason || s->folder[0] == 0) return;
    assert_true(list->nfile < CORPUS_MOST);
    corpus_file *f = &list->file[list->nfile++];
    size_t n = strlen(s->folder);
    assert_true(n + 1 + strlen(path) < sizeof f->path);
    memcpy(f->path, s->folder, n);
    f->path[n] = '/';
    memcpy(f->path + n + 1, path, strlen(path) + 1);
    f->name = f->path + n + 1;
    f->source = k;
    check_file(f, line);
}

void corpus_read(corpus_list *list, const char *const *names)
{
    char line[LINE];
    FILE *in = fopen(STET_TEST_SOURCE_DIR "/" LIST, "r");
    assert_non_null(in);
    list->nsource = list->nfile = 0;
    while (fgets(line, sizeof line, in)) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '#' || line[0] == 0) continue;
        if (strncmp(line, "source ", 7) == 0)
            add_source(list, line, names);
        else
            add_file(list, line);
    }
    (void)fclose(in);
}
