/* See surface.h. */
#include "render/surface.h"

#include "kernel/record/launch.h"

#include <assert.h>

extern const sti_kernel sti_k_surface;
extern const sti_kernel sti_k_surface_keep;
extern const sti_kernel sti_k_surface_drop;

static stet_result make_owners(sti_surface *s)
{
    const stet_worlds *worlds = sti_stage_worlds(s->stage);
    const sti_shapes *shapes = sti_stage_shapes(s->stage);
    const mjModel *m = worlds->model->mj;
    int64_t n = 2 * (m->ngeom + shapes->n) + 1;
    int *prims;
    STI_TRY(sti_alloc(&prims, (size_t)n * sizeof *prims, "prims of geoms"));
    stet_result result = STET_OK;
    for (int g = 0; g < (int)m->ngeom && !result; ++g) {
        int *row = prims + 2 * (ptrdiff_t)g;
        result = stet_stage_get_prim(s->stage, STET_PRIM_GEOM, g, &row[0]);
        if (!result) result = stet_stage_get_prim(s->stage, STET_PRIM_BODY, m->geom_bodyid[g], &row[1]);
    }
    for (int i = 0; i < shapes->n && !result; ++i) {
        int *row = prims + 2 * (ptrdiff_t)(m->ngeom + i);
        if (shapes->shape[i].prim < 0 || shapes->shape[i].decor) continue;
        row[0] = shapes->shape[i].prim;
        result = stet_stage_get_prim(s->stage, STET_PRIM_BODY, sti_stage_body(s->stage, row[0]), &row[1]);
    }
    if (!result) result = STI_ARRAY(worlds->device, "prims of geoms", STET_DTYPE_INT, false, &s->owner, n);
    if (!result) result = stet_array_write(s->owner, prims, stet_array_get_bytes(s->owner));
    if (result) sti_surface_forget(s);
    sti_free(prims);
    return result;
}

/* Shapes that came since the last picture have no transforms of then, but their prims' numbers may have had. */
static stet_result drop_new(sti_surface *s)
{
    const stet_worlds *worlds = sti_stage_worlds(s->stage);
    const sti_shapes *shapes = sti_stage_shapes(s->stage);
    assert(s->since <= shapes->set.generation && s->before && "shapes of then");
    if (s->since == shapes->set.generation) return STET_OK;
    for (int i = 0; i < shapes->n; ++i)
        if (shapes->shape[i].prim >= 0 && !shapes->shape[i].decor && shapes->shape[i].since > s->since)
            STI_TRY(STI_LAUNCH(sti_k_surface_drop, worlds->device, worlds->nworld, sti_arg_array(s->before),
                               sti_arg_int(sti_stage_world(s->stage)->nitem), sti_arg_int(shapes->shape[i].prim)));
    s->since = shapes->set.generation;
    return STET_OK;
}

stet_result sti_surface_prepare(sti_surface *s, const sti_render_target *target)
{
    const stet_worlds *worlds = sti_stage_worlds(s->stage);
    int64_t n = worlds->nworld * sti_stage_world(s->stage)->nitem;
    if (!target->pixels[STI_BUFFER_MOTION] && !target->pixels[STI_BUFFER_BODY_POINT]) return STET_OK;
    if (!target->pixels[STI_BUFFER_DEPTH] || !target->pixels[STI_BUFFER_GEOM])
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "render: %s and %s need depth and seg_geom, too",
                         stet_output_name(STET_OUTPUT_MOTION), stet_output_name(STET_OUTPUT_BODY_POINT));
    if (!s->owner) STI_TRY(make_owners(s));
    if (s->before && stet_array_get_nelement(s->before) == n) return drop_new(s);
    stet_array_destroy(s->before);
    s->before = NULL;
    s->since = sti_stage_shapes(s->stage)->set.generation;
    return STI_ARRAY(worlds->device, "transforms of the last pictures", STET_DTYPE_REAL, false, &s->before, n);
}

stet_result sti_surface_run(sti_surface *s, const sti_surface_rows *rows, const sti_render_target *t)
{
    stet_array *xform = sti_stage_world(s->stage), *const *pixels = t->pixels;
    stet_device *device = sti_stage_worlds(s->stage)->device;
    if (!pixels[STI_BUFFER_MOTION] && !pixels[STI_BUFFER_BODY_POINT]) return STET_OK;
    assert(rows->n > 0 && rows->npatch > 0 && s->owner && s->before && pixels[STI_BUFFER_DEPTH] &&
           pixels[STI_BUFFER_GEOM] && "sti_surface_prepare was called for the target");
    STI_TRY(STI_LAUNCH(sti_k_surface, device, (int64_t)rows->n * rows->npatch, sti_arg_array(xform),
                       sti_arg_int(xform->nitem), sti_arg_array(s->before), sti_arg_array(s->owner),
                       sti_arg_array(rows->worlds), sti_arg_array(rows->scene), sti_arg_array(rows->lens),
                       sti_arg_int(rows->lens_stride), sti_arg_array(pixels[STI_BUFFER_DEPTH]),
                       sti_arg_array(pixels[STI_BUFFER_GEOM]), sti_arg_array(pixels[STI_BUFFER_MOTION]),
                       sti_arg_array(pixels[STI_BUFFER_BODY_POINT]), sti_arg_array(t->first), sti_arg_array(t->pitch),
                       sti_arg_int(t->row[STI_BUFFER_DEPTH]), sti_arg_int(t->row[STI_BUFFER_GEOM]),
                       sti_arg_int(t->row[STI_BUFFER_MOTION]), sti_arg_int(t->row[STI_BUFFER_BODY_POINT])));
    return STI_LAUNCH(sti_k_surface_keep, device, rows->n, sti_arg_array(xform), sti_arg_int(xform->nitem),
                      sti_arg_array(rows->worlds), sti_arg_array(s->before));
}

void sti_surface_forget(sti_surface *s)
{
    stet_array_destroy(s->owner);
    s->owner = NULL;
}

void sti_surface_free(sti_surface *s)
{
    stet_array_destroy(s->owner);
    stet_array_destroy(s->before);
}
