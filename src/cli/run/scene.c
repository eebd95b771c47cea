/* See scene.h. */
#include "cli/run/scene.h"

#include "base/plural.h"
#include "cli/report_error.h"

#include <math.h>
#include <string.h>

int scene_load(const run_options *o, stet_model **model, int *substeps, double *frame_time)
{
    if (stet_model_load(o->scene, model) != STET_OK) return report_last_error(EXIT_INPUT);
    double timestep = stet_model_get_info(*model).timestep;
    *substeps = o->substeps;
    if (*substeps == 0) *substeps = (int)fmin(fmax(round(0.02 / timestep), 1), 1000);
    *frame_time = timestep * *substeps;
    return -1;
}

/* A keyframe by its name or, if none has that name, by its number. */
static int find_keyframe(const stet_model *model, const char *text, int *out)
{
    int64_t number;
    if (!text) return -1;
    if (strcmp(text, "none") == 0)
        *out = -1;
    else if (stet_model_find(model, STET_OBJECT_KEYFRAME, text, out) != STET_OK) {
        int64_t count = stet_model_get_info(model).nkey;
        if (!parse_whole(text, 0, INT32_MAX, &number)) return report_last_error(EXIT_INPUT);
        if (number >= count)
            return report_error(EXIT_INPUT,
                                "--keyframe %s: the scene has %lld keyframe%s, numbered from 0; use another or none",
                                text, (long long)count, STI_S(count));
        *out = (int)number;
    }
    return -1;
}

int scene_sim(const run_options *o, stet_model *model, const scene_place *place, stet_sim **sim)
{
    stet_sim_def def = stet_default_sim_def();
    int code = find_keyframe(model, o->keyframe, &def.keyframe);
    if (code >= 0) return code;
    def.device = place->device;
    def.device.mechanisms = o->mechanisms;
    def.nworld = place->nworld;
    def.first_world = place->first_world;
    def.physics = o->physics;
    def.seed = o->seed;
    def.cameras = o->camera.count ? o->camera.name : NULL;
    def.ncamera = o->camera.count;
    def.width = o->size[0][0];
    def.height = o->size[0][1];
    if (o->nsize > 1) {
        def.sizes = o->size;
        def.nsize = o->nsize;
    }
    def.fisheyes = o->nfisheye ? o->fisheye : NULL;
    def.nfisheye = o->nfisheye;
    def.samples = o->samples;
    def.outputs = o->outputs;
    def.groups = o->groups;
    def.mode = o->mode;
    def.fog = o->fog;
    def.decorations = o->decorations;
    return stet_sim_create(model, &def, sim) == STET_OK ? -1 : report_last_error(EXIT_INPUT);
}
