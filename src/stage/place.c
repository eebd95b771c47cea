/* See place.h. */
#include "stage/place.h"

#include "device/host_mirror.h"
#include "kernel/record/launch.h"
#include "stage/frame.h"
#include "stage/table.h"

#include <string.h>

enum { FRAME = 12 };

extern const sti_kernel sti_k_own_frames;

/* Kinds of prims that have places given, bits. */
static unsigned given_kinds(const sti_parameters *p)
{
    static const struct {
        sti_parameter place;
        stet_prim_kind kind;
    } places[] = {{STI_PARAMETER_geom_pos, STET_PRIM_GEOM},   {STI_PARAMETER_geom_quat, STET_PRIM_GEOM},
                  {STI_PARAMETER_cam_pos, STET_PRIM_CAMERA},  {STI_PARAMETER_cam_quat, STET_PRIM_CAMERA},
                  {STI_PARAMETER_light_pos, STET_PRIM_LIGHT}, {STI_PARAMETER_light_dir, STET_PRIM_LIGHT}};
    unsigned kinds = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; ++i)
        kinds |= (unsigned)p->given[places[i].place] << places[i].kind;
    return kinds;
}

bool sti_places_due(const sti_places *places, const stet_worlds *worlds)
{
    const sti_parameters *p = &worlds->parameters;
    return p->place_clock != places->clock && (places->kinds || given_kinds(p));
}

bool sti_places_have(const sti_places *places, const sti_prim *prim)
{
    return prim->source == STI_PRIM_FORWARD && places->kinds >> prim->kind & 1;
}

static stet_result list_prims(sti_places *places, unsigned kinds, const sti_tree *tree, const stet_worlds *worlds)
{
    sti_places made = {.kinds = kinds, .clock = places->clock};
    int *prims;
    STI_TRY(sti_alloc(&prims, (size_t)tree->nmodel * sizeof *prims, "geoms, cameras and lights"));
    for (int i = 0; i < tree->nmodel; ++i)
        if (sti_places_have(&made, &tree->prim[i])) prims[made.n++] = i;
    stet_result result = sti_table_ints(worlds->device, "geoms, cameras and lights", prims, made.n, &made.prim);
    sti_free(prims);
    if (!result)
        result = STI_ARRAY(worlds->device, "places of geoms, cameras and lights", STET_DTYPE_REAL, true, &made.frame,
                           worlds->nworld, made.n, FRAME);
    sti_places_free(result ? &made : places);
    if (!result) *places = made;
    return result;
}

/* A model, for local transforms alone, that has the places of a world. */
static mjModel model_of(const stet_worlds *worlds, int64_t w)
{
    const sti_parameters *p = &worlds->parameters;
    mjModel m = *worlds->model->mj;
    sti_parameters_point(p, &m, STI_PARAMETER_geom_pos, w, &m.geom_pos);
    sti_parameters_point(p, &m, STI_PARAMETER_geom_quat, w, &m.geom_quat);
    sti_parameters_point(p, &m, STI_PARAMETER_cam_pos, w, &m.cam_pos);
    sti_parameters_point(p, &m, STI_PARAMETER_cam_quat, w, &m.cam_quat);
    sti_parameters_point(p, &m, STI_PARAMETER_light_pos, w, &m.light_pos);
    sti_parameters_point(p, &m, STI_PARAMETER_light_dir, w, &m.light_dir);
    return m;
}

stet_result sti_places_write(sti_places *places, const sti_tree *tree, stet_worlds *worlds, stet_array *local)
{
    unsigned kinds = places->kinds | given_kinds(&worlds->parameters);
    void *mirror;
    if (kinds != places->kinds) STI_TRY(list_prims(places, kinds, tree, worlds));
    STI_TRY(sti_mirror_overwrite(places->frame, &mirror));
    for (int64_t w = 0; w < worlds->nworld; ++w) {
        const mjModel m = model_of(worlds, w);
        for (int i = 0, at = 0; i < tree->nmodel; ++i) {
            double frame[FRAME];
            if (!sti_places_have(places, &tree->prim[i])) continue;
            sti_frame_local(&m, tree->prim[i].kind, tree->prim[i].index, frame);
            for (int k = 0; k < FRAME; ++k) sti_mirror_set(places->frame, mirror, w, at++, frame[k]);
        }
    }
    sti_array_mirror_written(places->frame);
    STI_TRY(STI_LAUNCH(sti_k_own_frames, worlds->device, worlds->nworld, sti_arg_array(local),
                       sti_arg_array(places->prim), sti_arg_array(places->frame), sti_arg_int(places->n)));
    places->clock = worlds->parameters.place_clock;
    return STET_OK;
}

void sti_places_free(sti_places *places)
{
    stet_array_destroy(places->prim);
    stet_array_destroy(places->frame);
    *places = (sti_places){0};
}
