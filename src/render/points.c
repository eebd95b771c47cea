/* World positions of the pixels of depth pictures. */
#include "kernel/record/launch.h"
#include "render/lens.h"
#include "render/scene.k.h"
#include "stet/render.h"

extern const sti_kernel sti_k_points;

static stet_result check_picture(const stet_device *device, const stet_array *a, const char *what, int64_t n)
{
    if (a->device != device)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_render_points: array %s is on another device than the stage", a->name);
    if (a->dtype != STET_DTYPE_REAL || a->worlds || stet_array_get_nelement(a) != n)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_render_points: %s: array %s must be a plain one of %lld reals, a picture of each world",
                         what, a->name, (long long)n);
    return STET_OK;
}

stet_result stet_render_points(stet_stage *stage, const stet_camera *camera, const stet_array *depth,
                               stet_array *points)
{
    if (!stage || !camera || !depth || !points)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_render_points: stage, camera, depth and points must not be NULL");
    if (camera->prim < 0 || camera->prim >= stet_stage_get_capacity(stage) || camera->width < 1 || camera->height < 1)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_render_points: camera %s is no camera of this stage",
                         camera->name);
    const stet_worlds *worlds = sti_stage_worlds(stage);
    int64_t npixel = worlds->nworld * camera->width * camera->height;
    int64_t nblock = worlds->nworld * ((camera->height + PATCH - 1) / PATCH);
    stet_lens lens;
    double row[STI_LENS_ROW];
    stet_array *xform = sti_stage_world(stage);
    STI_TRY(check_picture(worlds->device, depth, "depth", npixel));
    STI_TRY(check_picture(worlds->device, points, "points", 3 * npixel));
    if (nblock > INT32_MAX)
        return sti_error(STET_ERROR_LIMIT, "stet_render_points: %lld worlds with %d rows are too many",
                         (long long)worlds->nworld, camera->height);
    if (worlds->parameters.given[STI_PARAMETER_cam_fovy] && sti_lens_camera(stage, camera->prim) >= 0)
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "stet_render_points: camera %s: its angle of view (cam_fovy) differs between worlds; take it "
                         "back, or compute points from each world's lens",
                         camera->name);
    STI_TRY(sti_lens_of(stage, camera, &lens));
    sti_lens_row(&lens, camera, row);
    return STI_LAUNCH(sti_k_points, worlds->device, nblock, sti_arg_array(xform), sti_arg_int(xform->nitem),
                      sti_arg_int(camera->prim), sti_arg_int(lens.orthographic), sti_arg_int(lens.fisheye),
                      sti_arg_real(row[0]), sti_arg_real(row[1]), sti_arg_real(row[2]), sti_arg_real(row[3]),
                      sti_arg_real(row[4]), sti_arg_real(row[5]), sti_arg_int(camera->width),
                      sti_arg_int(camera->height), sti_arg_array(depth), sti_arg_array(points));
}
