/* See record.h. */
#include "cli/run/record.h"

#include <limits.h>
#include <stdlib.h>

static const char *open_one(recorder *r, const run_options *o, const char *name, stet_sim *sim, file_list *files)
{
    char path[PATH_MAX];
    int k = r->count;
    if (stet_worlds_get_array(stet_sim_get_worlds(sim), name, &r->field[k]) != STET_OK) return stet_get_last_error();
    const int64_t *shape = stet_array_get_shape(r->field[k]);
    if (snprintf(path, sizeof path, "%s/%s.npy", o->out, name) >= (int)sizeof path)
        return "the folder's name is too long; use a shorter one";
    r->file[k] = calloc(1, sizeof *r->file[k]);
    if (!r->file[k]) return "out of memory for a recording; record fewer fields";
    int64_t whole[] = {0, o->frames, whole_nworld(r->group, shape[0]), shape[1]};
    bool rounds = options_rounds(o);
    const char *type = stet_array_get_dtype(r->field[k]) == STET_DTYPE_INT ? "<i4" : "<f4";
    r->count = k + 1;
    const char *wrong =
        whole_open(r->file[k], r->group, !rounds, path, type, rounds ? 4 : 3, rounds ? whole : whole + 1);
    if (wrong || rounds) return wrong;
    return file_list_add(files, path) ? NULL : "out of memory for the names of files";
}

const char *record_open(recorder *r, const run_options *o, stet_sim *sim, stet_group *group, file_list *files)
{
    *r = (recorder){.each = options_rounds(o) ? o->frames : 1, .group = group};
    for (int i = 0; i < o->record.count; ++i) {
        const char *wrong = open_one(r, o, o->record.name[i], sim, files);
        if (wrong) return wrong;
    }
    return NULL;
}

const char *record_frame(recorder *r)
{
    for (int k = 0; k < r->count; ++k) {
        const char *wrong = whole_append(r->file[k], r->field[k]);
        if (wrong) return wrong;
    }
    ++r->frames;
    return NULL;
}

const char *record_close(recorder *r)
{
    const char *wrong = NULL;
    for (int k = 0; k < r->count; ++k) {
        const char *here = whole_close(r->file[k], r->frames / r->each);
        if (!wrong) wrong = here;
        free(r->file[k]);
    }
    r->count = 0;
    return wrong;
}

void record_drop(recorder *r)
{
    for (int k = 0; k < r->count; ++k) {
        whole_drop(r->file[k]);
        free(r->file[k]);
    }
    r->count = 0;
}
