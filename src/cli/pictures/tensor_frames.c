/* See tensor_frames.h. */
#include "cli/pictures/tensor_frames.h"

#include "cli/files/npz.h"
#include "cli/pictures/output.h"
#include "cli/report_error.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The next camera and output that the sim has, output by output; *k: 0 before the first. False: none is left. */
static bool next_tensor(const stet_sim *sim, int *k, int *camera, stet_output *output)
{
    int ncamera = stet_sim_get_ncamera(sim);
    while (*k < STET_OUTPUT_COUNT * ncamera && !(stet_sim_get_outputs(sim) >> *k / ncamera & 1)) ++*k;
    *camera = *k % ncamera;
    *output = (stet_output)(*k / ncamera);
    return (*k)++ < STET_OUTPUT_COUNT * ncamera;
}

/* A camera's name as in names of arrays: with its number where another one's is the same. */
static const char *array_name(const stet_sim *sim, int camera, stet_output output, char name[NPZ_NAME])
{
    const char *own = stet_sim_get_camera(sim, camera)->name;
    char number[16] = "";
    for (int c = 0; c < stet_sim_get_ncamera(sim); ++c)
        if (c != camera && strcmp(stet_sim_get_camera(sim, c)->name, own) == 0)
            snprintf(number, sizeof number, "-%d", camera);
    if (snprintf(name, NPZ_NAME, "%s:%s%s", stet_output_name(output), own, number) >= NPZ_NAME)
        return error_text("camera %s: its name is too long for an array's; leave :npz out", own);
    for (char *slash = name; (slash = strchr(slash, '/'));) *slash = '_';
    return NULL;
}

static const char *open_file(tensor_frames *t, stet_sim *sim, int camera, stet_output output, const char *folder,
                             int64_t frames, file_list *files)
{
    char path[PATH_MAX], name[NPZ_NAME];
    const stet_camera *c = stet_sim_get_camera(sim, camera);
    const int64_t shape[] = {frames, whole_nworld(t->group, stet_worlds_get_nworld(stet_sim_get_worlds(sim))),
                             c->height, c->width, stet_output_channels(output)};
    if (!output_tensor_path(sim, camera, output, folder, "frames-", path))
        return "the folder's name is too long; use a shorter one";
    const char *wrong = t->one_file ? array_name(sim, camera, output, name) : NULL;
    if (wrong) return wrong;
    wrong = whole_open(&t->file[t->count++], t->group, true, path, output_descr(output), 5, shape);
    if (wrong || t->one_file) return wrong;
    return file_list_add(files, path) ? NULL : "out of memory for the names of files";
}

const char *tensor_frames_open(tensor_frames *t, stet_sim *sim, stet_group *group, const char *folder, int64_t frames,
                               bool one_file, file_list *files)
{
    int camera, k = 0, ncamera = stet_sim_get_ncamera(sim);
    stet_output output;
    const char *wrong = NULL;
    *t = (tensor_frames){.file = calloc((size_t)STET_OUTPUT_COUNT * (size_t)ncamera, sizeof *t->file),
                         .group = group,
                         .one_file = one_file};
    if (!t->file) return "out of memory for the tensors of frames; ask for fewer outputs";
    while (!wrong && next_tensor(sim, &k, &camera, &output))
        wrong = open_file(t, sim, camera, output, folder, frames, files);
    return wrong;
}

const char *tensor_frames_add(tensor_frames *t, stet_sim *sim, int64_t frame)
{
    int camera, k = 0;
    stet_output output;
    for (int i = 0; i < t->count && next_tensor(sim, &k, &camera, &output); ++i) {
        stet_array *tensor;
        if (stet_sim_get_array(sim, frame, camera, output, &tensor) != STET_OK) return stet_get_last_error();
        const char *wrong = whole_append(&t->file[i], tensor);
        if (wrong) return wrong;
    }
    ++t->frames;
    return NULL;
}

const char *tensor_frames_close(tensor_frames *t)
{
    const char *wrong = NULL;
    for (int i = 0; i < t->count; ++i) {
        const char *here = t->one_file ? whole_seal(&t->file[i], t->frames) : whole_close(&t->file[i], t->frames);
        if (!wrong) wrong = here;
    }
    if (t->one_file && !wrong) return NULL;
    if (!t->one_file) t->count = 0;
    tensor_frames_drop(t);
    return wrong;
}

static const char *pack_all(tensor_frames *t, const stet_sim *sim, npz_writer *w)
{
    int camera, k = 0;
    stet_output output;
    char name[NPZ_NAME];
    const char *wrong = NULL;
    for (int i = 0; i < t->count && !wrong && next_tensor(sim, &k, &camera, &output); ++i) {
        wrong = array_name(sim, camera, output, name);
        if (!wrong) wrong = npz_add_npy(w, name, &t->file[i].w);
    }
    return wrong;
}

const char *tensor_frames_pack(tensor_frames *t, const stet_sim *sim, const char *folder, file_list *files)
{
    npz_writer w;
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/frames.npz", folder) >= (int)sizeof path)
        return "the folder's name is too long; use a shorter one";
    const char *wrong = npz_open(&w, path);
    if (!wrong) {
        wrong = pack_all(t, sim, &w);
        if (wrong)
            npz_drop(&w);
        else
            wrong = npz_close(&w);
    }
    tensor_frames_drop(t);
    if (wrong) return wrong;
    return file_list_add(files, path) ? NULL : "out of memory for the names of files";
}

void tensor_frames_drop(tensor_frames *t)
{
    for (int i = 0; i < t->count; ++i) whole_drop(&t->file[i]);
    free(t->file);
    *t = (tensor_frames){0};
}
