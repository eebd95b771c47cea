/* See places.h. Inputs are identified by device and inode, outputs by their path with all links resolved. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* realpath */
#endif
#include "cli/files/places.h"

#include "base/file.h"
#include "cli/files/folder.h"
#include "cli/pictures/output.h"
#include "cli/report_error.h"
#include "model/files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct input {
    dev_t device;
    ino_t inode;
    const char *what; /* name in messages */
} input;

typedef struct places {
    const run_options *options;
    input *input;
    int ninput;
    bool failed;                /* out of memory */
    file_list target;           /* resolved paths of the outputs that were checked */
    const char **writer;        /* option of each of them */
    const char *option, *given; /* of the output that is being checked */
    bool numbered;              /* one of many, whose names differ by a number */
} places;

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

static bool add_input(places *p, const char *what, const struct stat *about)
{
    input *more = realloc(p->input, ((size_t)p->ninput + 1) * sizeof *more);
    if (!more) return p->failed = true, false;
    p->input = more;
    more[p->ninput++] = (input){about->st_dev, about->st_ino, what};
    return true;
}

static bool add_scene_file(void *context, const char *path, const struct stat *about)
{
    (void)path;
    places *p = context;
    return add_input(p, p->ninput ? "a file of the scene" : "the scene", about);
}

static void add_path(places *p, const char *what, const char *path)
{
    struct stat about;
    if (path && stat(path, &about) == 0) (void)add_input(p, what, &about);
}

static void list_inputs(places *p)
{
    const run_options *o = p->options;
    (void)sti_model_files(o->scene, add_scene_file, p);
    /* The state of a run that goes on may replace the one that it began with. */
    bool goes_on = o->state_every && o->resume && strcmp(o->resume, o->save) == 0;
    if (!goes_on) add_path(p, "the file of --resume", o->resume);
    add_path(p, "the file of --control", o->control_path);
    for (int i = 0; i < o->inputs.count; ++i) add_path(p, "a file of --inputs", o->inputs.name[i]);
}

/* ---- outputs ----------------------------------------------------------------------------------------------------- */

/* Resolves links in a path whose last parts may not exist yet. False: errno is set. */
static bool find_target(const char *path, char out[PATH_MAX])
{
    char at[PATH_MAX], rest[PATH_MAX] = "";
    if (!sti_output_target(path, at, sizeof at)) return false;
    while (!realpath(at, out)) {
        char *slash = strrchr(at, '/'), kept[PATH_MAX];
        if (errno != ENOENT) return false;
        if (snprintf(kept, sizeof kept, "/%s%s", slash ? slash + 1 : at, rest) >= (int)sizeof kept)
            return errno = ENAMETOOLONG, false;
        if (slash != at + strlen(at) - 1) memcpy(rest, kept, sizeof kept); /* without a slash at the end */
        if (!slash)
            memcpy(at, ".", 2);
        else
            slash[slash == at] = 0;
    }
    if (strlen(out) + strlen(rest) >= PATH_MAX) return errno = ENAMETOOLONG, false;
    memcpy(out + strlen(out), rest, strlen(rest) + 1);
    return true;
}

static int refuse(const places *p, const char *path, const char *why)
{
    if (strcmp(path, p->given) == 0)
        return report_error(EXIT_INPUT, "--%s %s: this file cannot be made: %s; choose another place", p->option, path,
                            why);
    return report_error(EXIT_INPUT, "--%s %s: the file %s cannot be made: %s; choose another place", p->option,
                        p->given, path, why);
}

static int check_input(const places *p, const char *path, const char *target)
{
    struct stat about;
    if (stat(target, &about) != 0) return -1;
    for (int i = 0; i < p->ninput; ++i)
        if (p->input[i].device == about.st_dev && p->input[i].inode == about.st_ino) {
            char why[64];
            (void)snprintf(why, sizeof why, "it is %s", p->input[i].what);
            return refuse(p, path, why);
        }
    return -1;
}

/* Whether one of two resolved paths equals the other or is inside it. */
static bool overlap(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), k = n < m ? n : m;
    return memcmp(a, b, k) == 0 && (n == m || (n > k ? a : b)[k] == '/');
}

static int check_others(places *p, const char *path, const char *target)
{
    if (p->numbered) return -1;
    for (int i = 0; i < p->target.count; ++i)
        if (overlap(p->target.path[i], target)) {
            char why[64];
            (void)snprintf(why, sizeof why, "--%s writes there, too", p->writer[i]);
            return refuse(p, path, why);
        }
    const char **more = realloc(p->writer, ((size_t)p->target.count + 1) * sizeof *more);
    if (more) p->writer = more;
    if (more) more[p->target.count] = p->option;
    p->failed = !more || !file_list_add(&p->target, target) || p->failed;
    return -1;
}

static int check_output(void *context, const char *path)
{
    places *p = context;
    char target[PATH_MAX];
    struct stat folder;
    bool later = strcmp(path, p->given) != 0 && stat(p->given, &folder) != 0; /* in a folder that will be made */
    const char *why = later ? NULL : sti_output_refusal(path);
    if (!why && !find_target(path, target)) why = strerror(errno);
    if (why) return refuse(p, path, why);
    int code = check_input(p, path, target);
    return code < 0 ? check_others(p, path, target) : code;
}

static int check_named(places *p, const char *option, const char *path)
{
    p->option = option;
    p->given = path;
    return path ? check_output(p, path) : -1;
}

/* A file in the folder of --out. */
static int check_inside(places *p, const char *name, const char *suffix)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s%s", p->given, name, suffix);
    return n < (int)sizeof path ? check_output(p, path) : refuse(p, p->given, strerror(ENAMETOOLONG));
}

static int check_folder(places *p, stet_sim *sim)
{
    const run_options *o = p->options;
    struct stat about;
    const char *why;
    p->option = "out";
    p->given = o->out;
    if (!o->out) return -1;
    if (!folder_usable(o->out, &why))
        return report_error(EXIT_INPUT, "--out %s: files cannot be made there: %s; choose another folder", o->out, why);
    int code = check_inside(p, "summary", ".json");
    if (code < 0 && options_rounds(o)) code = check_inside(p, "rounds", ".npz");
    for (int i = 0; i < o->record.count && code < 0 && !options_rounds(o); ++i)
        code = check_inside(p, o->record.name[i], ".npy");
    if (code < 0) code = output_files(sim, o->out, 0, check_output, p);
    if (code < 0 && o->tensors_every) code = output_frame_files(sim, o->out, check_output, p);
    if (code < 0 && o->tensors_npz) code = check_inside(p, "frames", ".npz");
    p->numbered = true;
    if (stat(o->out, &about) == 0 && o->save_every)
        for (int64_t f = o->save_every; f <= o->frames && code < 0; f += o->save_every)
            code = output_files(sim, o->out, f, check_output, p);
    p->numbered = false;
    return code;
}

int places_check(const run_options *options, stet_sim *sim)
{
    places p = {.options = options};
    list_inputs(&p);
    int code = check_folder(&p, sim);
    if (code < 0) code = check_named(&p, "save", options->save);
    if (code < 0) code = check_named(&p, "trace", options->trace);
    if (code < 0) code = check_named(&p, "video", options->video);
    if (code < 0 && p.failed)
        code = report_error(EXIT_INPUT, "out of memory for the names of files; close other programs");
    free(p.input);
    free(p.writer);
    file_list_free(&p.target);
    return code;
}
