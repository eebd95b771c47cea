/*
 * Files, entry points and the run of the system's C++ compiler; see source.h.
 *
 * Invariant DOUBLE-SOURCE-1: the same text with the same arguments gives the same code, so what compiled without a word
 * is kept in the folder DOUBLE_CODE, for all processes and all trees that name this folder. Whoever compiles again (an
 * audit, a test with an empty kernel cache, the tests under a sanitizer) gets it without another run of the compiler.
 */
#define _GNU_SOURCE
#include "source.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

void dd_text_say(dd_text *text, const char *format, ...)
{
    char *more = NULL;
    va_list list;
    va_start(list, format);
    int n = vasprintf(&more, format, list);
    va_end(list);
    if (n < 0) return;
    char *all = realloc(text->text, text->size + (size_t)n + 1);
    if (all) {
        memcpy(all + text->size, more, (size_t)n + 1);
        text->text = all;
        text->size += (size_t)n;
    }
    free(more);
}

/* ---- entry points ------------------------------------------------------------------------------------------------ */

static const char *skip_space(const char *at)
{
    while (isspace((unsigned char)*at)) ++at;
    return at;
}

/* Behind the bracket that closes the one at `at`. */
static const char *skip_brackets(const char *at)
{
    int depth = 0;
    do {
        depth += *at == '(';
        depth -= *at == ')';
    } while (*at++ && depth > 0);
    return at;
}

/*
 * The entry point whose `__global__` is at `at`: words until one that a bracket follows and that is not the bound of
 * threads.
 */
static void describe(const char *at, dd_text *tail)
{
    char bound[128] = "1024";
    for (;;) {
        at = skip_space(at);
        size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        const char *bracket = skip_space(at + n);
        if (n == 0) return;
        if (*bracket != '(') {
            at = bracket;
            continue;
        }
        if (strncmp(at, "__launch_bounds__", n) != 0) {
            dd_text_say(tail, "DOUBLE_ENTRY(%.*s, %s)\n", (int)n, at, bound);
            return;
        }
        const char *end = skip_brackets(bracket);
        int length = (int)(end - bracket - 2);
        snprintf(bound, sizeof bound, "DOUBLE_BOUND(%.*s)", length, bracket + 1);
        at = end;
    }
}

static char *describe_all(const char *text)
{
    dd_text tail = {0};
    dd_text_say(&tail, "\n#line 1 \"entry points\"\n");
    for (const char *at = text; (at = strstr(at, "__global__")) != NULL;) {
        at += strlen("__global__");
        describe(at, &tail);
    }
    return tail.text;
}

static unsigned long long mix(unsigned long long key, const char *text)
{
    for (; *text; ++text) key = (key ^ (unsigned char)*text) * 0x100000001b3u;
    return (key ^ 0xff) * 0x100000001b3u;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool write_file(const char *path, const char *text, const char *tail)
{
    char folder[512];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *at = folder + 1; (at = strchr(at, '/')) != NULL; ++at) {
        *at = 0;
        mkdir(folder, 0700);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    if (!file) return false;
    bool good = fputs(text, file) >= 0 && (!tail || fputs(tail, file) >= 0);
    return fclose(file) == 0 && good;
}

bool dd_source_make(dd_source *out, const char *text, const char *name, int nheader, const char *const *headers,
                    const char *const *names)
{
    *out = (dd_source){.folder = "/tmp/double_source_XXXXXX"};
    if (!mkdtemp(out->folder)) {
        out->folder[0] = 0;
        return false;
    }
    snprintf(out->name, sizeof out->name, "%s", name);
    snprintf(out->file, sizeof out->file, "%s/%s", out->folder, out->name);
    out->tail = describe_all(text);
    out->key = mix(mix(0xcbf29ce484222325u, name), text);
    bool good = out->tail && write_file(out->file, text, out->tail);
    for (int i = 0; i < nheader && good; ++i) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", out->folder, names[i]);
        out->key = mix(mix(out->key, names[i]), headers[i]);
        good = write_file(path, headers[i], NULL);
    }
    return good;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

void dd_source_drop(dd_source *source)
{
    if (source->folder[0]) nftw(source->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(source->tail);
    *source = (dd_source){.folder = ""};
}

static bool read_file(const char *path, dd_text *out)
{
    FILE *file = fopen(path, "r");
    struct stat status;
    bool good = file && fstat(fileno(file), &status) == 0;
    if (good) {
        out->size = (size_t)status.st_size;
        out->text = malloc(out->size + 1);
        good = out->text && fread(out->text, 1, out->size, file) == out->size;
        if (out->text) out->text[out->size] = 0;
    }
    if (file) fclose(file);
    return good;
}

/* ---- code that is kept (DOUBLE-SOURCE-1) ------------------------------------------------------------------------- */

enum { MOST_KEPT = 4096 };

static void kept_path(unsigned long long key, char *out, size_t size)
{
    snprintf(out, size, "%s/%016llx.code", DOUBLE_CODE, key);
}

/* The prelude's text, which every program depends on, and the compiler. */
static unsigned long long mix_prelude(unsigned long long key)
{
    dd_text prelude = {0};
    if (getenv("STET_TEST_QUICK")) key = mix(key, "not optimising");
    if (read_file(DOUBLE_PRELUDE, &prelude)) key = mix(key, prelude.text);
    free(prelude.text);
    return mix(key, __VERSION__);
}

static bool recall(unsigned long long key, dd_text *code)
{
    char path[512];
    kept_path(key, path, sizeof path);
    if (read_file(path, code)) return true;
    free(code->text);
    *code = (dd_text){0};
    return false;
}

static int is_kept(const struct dirent *entry) { return strstr(entry->d_name, ".code") != NULL; }

/* Where there are too many, those of old sources among them, the folder begins anew. */
static void make_room(void)
{
    struct dirent **list;
    char path[512];
    int n = scandir(DOUBLE_CODE, &list, is_kept, NULL);
    for (int i = 0; i < n; ++i) {
        snprintf(path, sizeof path, "%s/%s", DOUBLE_CODE, list[i]->d_name);
        if (n >= MOST_KEPT) unlink(path);
        free(list[i]);
    }
    if (n >= 0) free(list);
}

/* Under its name it is whole: other processes may look for it now. */
static void keep(unsigned long long key, const dd_text *code)
{
    char path[512], made[512];
    kept_path(key, path, sizeof path);
    snprintf(made, sizeof made, "%s/XXXXXX", DOUBLE_CODE);
    mkdir(DOUBLE_CODE, 0700);
    make_room();
    int file = mkstemp(made);
    if (file < 0) return;
    bool good = write(file, code->text, code->size) == (ssize_t)code->size;
    if (close(file) != 0 || !good || rename(made, path) != 0) unlink(made);
}

/* ---- the compiler ------------------------------------------------------------------------------------------------ */

static bool run(const char *const *arguments, const char *log)
{
    pid_t child;
    int status = -1;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    bool started = posix_spawnp(&child, arguments[0], &actions, NULL, (char **)(uintptr_t)arguments, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    while (started && waitpid(child, &status, 0) < 0) continue;
    return started && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/*
 * One line of what it said: without our folder, and `file(3): error: …` where the real compiler has brackets
 * (DOUBLE-RTC-2).
 */
static void say_line(const dd_source *source, const char *line, size_t n, bool brackets, dd_text *log)
{
    size_t folder = strlen(source->folder);
    char text[1024];
    size_t used = 0;
    for (size_t i = 0; i < n && used + 1 < sizeof text;) {
        if (n - i > folder && strncmp(line + i, source->folder, folder) == 0 && line[i + folder] == '/')
            i += folder + 1;
        else
            text[used++] = line[i++];
    }
    text[used] = 0;
    char *colon = strchr(text, ':'), *end = NULL;
    long number = colon ? strtol(colon + 1, &end, 10) : 0;
    if (!brackets || number <= 0 || *end != ':') {
        dd_text_say(log, "%s\n", text);
        return;
    }
    strtol(end + 1, &end, 10); /* the column */
    dd_text_say(log, "%.*s(%ld)%s\n", (int)(colon - text), text, number, end);
}

static void say(const dd_source *source, const char *path, bool brackets, dd_text *log)
{
    dd_text all = {0};
    if (!read_file(path, &all)) dd_text_say(log, "error: no C++ compiler could be run\n");
    for (const char *at = all.text; at && *at;) {
        size_t n = strcspn(at, "\n");
        say_line(source, at, n, brackets, log);
        at += n + (at[n] == '\n');
    }
    free(all.text);
}

bool dd_source_compile(const dd_source *source, const char **arguments, const char *arch, bool brackets, dd_text *log,
                       dd_text *code)
{
    free(code->text);
    *code = (dd_text){0};
    char object[128], said[128], define[64], folder[80];
    int n = 0;
    unsigned long long key = mix_prelude(mix(source->key, arch));
    while (arguments[n]) key = mix(key, arguments[n++]);
    if (recall(key, code)) return true;
    snprintf(object, sizeof object, "%s/.object", source->folder);
    snprintf(said, sizeof said, "%s/.said", source->folder);
    snprintf(define, sizeof define, "-DDOUBLE_ARCH=\"%s\"", arch);
    snprintf(folder, sizeof folder, "-I%s", source->folder);
    const char *more[] = {define, folder, "-o", object, source->file, NULL};
    memcpy(arguments + n, more, sizeof more);
    bool good = run(arguments, said);
    say(source, said, brackets, log);
    if (!good || !read_file(object, code)) return false;
    if (log->size == 0) keep(key, code);
    return true;
}
