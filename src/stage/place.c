/* See place.h. */
#include "stage/place.h"

#include "device/host_mirror.h"
#include "kernel/record/launch.h"
#include "stage/frame.h"
#include "stage/table.h"

#include <string.h>

enum { FRAME = 12 };

extern const sti_kernel sti_k_own_frames;

static bool any_given(const sti_parameters *p)
{
    bool given = false;
    for (int k = STI_PARAMETER_cam_pos; k <= STI_PARAMETER_light_dir; ++k) given |= p->given[k];
    return given;
}

bool sti_places_due(const sti_places *places, const stet_worlds *worlds)
{
    const sti_parameters *p = &worlds->parameters;
    return p->look_clock != places->clock && (places->n > 0 || any_given(p));
}

static bool has_place(const sti_prim *p)
{
    return (p->kind == STET_PRIM_CAMERA || p->kind == STET_PRIM_LIGHT) && p->source == STI_PRIM_FORWARD;
}

static stet_result list_prims(sti_places *places, const sti_tree *tree, const stet_worlds *worlds)
{
    int *prims, n = 0;
    STI_TRY(sti_alloc(&prims, (size_t)tree->nmodel * sizeof *prims, "cameras and lights"));
    for (int i = 0; i < tree->nmodel; ++i)
        if (has_place(&tree->prim[i])) prims[n++] = i;
    stet_result result = sti_table_ints(worlds->device, "cameras and lights", prims, n, &places->prim);
    sti_free(prims);
    if (!result)
        result = STI_ARRAY(worlds->device, "places of cameras and lights", STET_DTYPE_REAL, true, &places->frame,
                           worlds->nworld, n, FRAME);
    if (!result) places->n = n;
    return result;
}

/* A model, for local transforms alone, that has the places of a world. */
static mjModel model_of(const stet_worlds *worlds, int64_t w)
{
    const sti_parameters *p = &worlds->parameters;
    mjModel m = *worlds->model->mj;
    sti_parameters_point(p, &m, STI_PARAMETER_cam_pos, w, &m.cam_pos);
    sti_parameters_point(p, &m, STI_PARAMETER_cam_quat, w, &m.cam_quat);
    sti_parameters_point(p, &m, STI_PARAMETER_light_pos, w, &m.light_pos);
    sti_parameters_point(p, &m, STI_PARAMETER_light_dir, w, &m.light_dir);
    return m;
}

stet_result sti_places_write(sti_places *places, const sti_tree *tree, stet_worlds *worlds, stet_array *local)
{
    void *mirror;
    if (!places->prim) STI_TRY(list_prims(places, tree, worlds));
    STI_TRY(sti_mirror_overwrite(places->frame, &mirror));
    for (int64_t w = 0; w < worlds->nworld; ++w) {
        const mjModel m = model_of(worlds, w);
        for (int i = 0, at = 0; i < tree->nmodel; ++i) {
            double frame[FRAME];
            if (!has_place(&tree->prim[i])) continue;
            sti_frame_local(&m, tree->prim[i].kind, tree->prim[i].index, frame);
            for (int k = 0; k < FRAME; ++k) sti_mirror_set(places->frame, mirror, w, at++, frame[k]);
        }
    }
    sti_array_mirror_written(places->frame);
    STI_TRY(STI_LAUNCH(sti_k_own_frames, worlds->device, worlds->nworld, sti_arg_array(local),
                       sti_arg_array(places->prim), sti_arg_array(places->frame), sti_arg_int(places->n)));
    places->clock = worlds->parameters.look_clock;
    return STET_OK;
}

void sti_places_free(sti_places *places)
{
    stet_array_destroy(places->prim);
    stet_array_destroy(places->frame);
    *places = (sti_places){0};
}
