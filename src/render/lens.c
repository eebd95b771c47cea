/* Lenses: from a camera's angle of view, or its sensor and focal lengths, to the rays of its pixels. */
#include "render/lens.h"

#include <math.h>

int sti_lens_camera(const stet_stage *stage, int prim)
{
    const mjModel *m = sti_stage_worlds((stet_stage *)stage)->model->mj;
    for (int i = 0; i < (int)m->ncam; ++i) {
        int known;
        if (stet_stage_get_prim(stage, STET_PRIM_CAMERA, i, &known) == STET_OK && known == prim) return i;
    }
    return -1;
}

/*
 * The picture is the sensor, seen through the principal point, whose y goes down, at one metre: the top and the bottom
 * are those of mjv_cameraFrustum's zver, in this order.
 */
static void sensor_lens(const mjModel *m, ptrdiff_t c, stet_lens *out)
{
    const float *focal = &m->cam_intrinsic[4 * c], *middle = focal + 2, *size = &m->cam_sensorsize[2 * c];
    out->left = -(size[0] / 2.0 - middle[0]) / focal[0];
    out->right = (size[0] / 2.0 + middle[0]) / focal[0];
    out->bottom = -(size[1] / 2.0 + middle[1]) / focal[1];
    out->top = (size[1] / 2.0 - middle[1]) / focal[1];
}

/*
 * MuJoCo's near and far planes, limited: a model file may have any value. A ray along an infinite plane meets it beyond
 * FARTHEST only by rounding.
 */
static void clip_planes(const mjModel *m, stet_lens *out)
{
    const double FARTHEST = 1e12;
    double near = (double)m->vis.map.znear * m->stat.extent, far = (double)m->vis.map.zfar * m->stat.extent;
    out->near = near > 0 && near < FARTHEST ? near : 0;
    out->far = far > 0 && far < FARTHEST ? far : FARTHEST;
}

stet_result sti_lens_of(const stet_stage *stage, const stet_camera *camera, stet_lens *out)
{
    const mjModel *m = sti_stage_worlds((stet_stage *)stage)->model->mj;
    return sti_lens_of_model(m, sti_lens_camera(stage, camera->prim), camera, out);
}

stet_result sti_lens_of_model(const mjModel *m, ptrdiff_t c, const stet_camera *camera, stet_lens *out)
{
    double fovy = camera->fovy;
    clip_planes(m, out);
    out->orthographic = camera->orthographic || (c >= 0 && m->cam_projection[c] == mjPROJ_ORTHOGRAPHIC);
    out->fisheye = camera->fisheye;
    if (out->fisheye) {
        if (out->orthographic || !(fovy > 0) || fovy > 360)
            return sti_error(
                STET_ERROR_INVALID_ARGUMENT,
                "camera %s: a fisheye of %g degrees%s; give more than 0 and at most 360, and a camera with "
                "an angle of view",
                camera->name, fovy, out->orthographic ? " that is orthographic" : "");
        out->top = fovy * mjPI / 360;
        out->bottom = -out->top;
        out->right = out->top * camera->width / camera->height;
        out->left = -out->right;
        return STET_OK;
    }
    if (!(fovy > 0) || !isfinite(fovy) || (!out->orthographic && fovy >= 180))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "camera %s: the angle of view is %g degrees; give more than 0 and less than 180", camera->name,
                         fovy);
    if (!out->orthographic && c >= 0 && m->cam_sensorsize[2 * c] > 0 && m->cam_sensorsize[2 * c + 1] > 0 &&
        camera->fovy == (float)m->cam_fovy[c]) {
        sensor_lens(m, c, out);
        return STET_OK;
    }
    out->top = out->orthographic ? fovy / 2 : tan(fovy * mjPI / 360);
    out->bottom = -out->top;
    out->right = out->top * camera->width / camera->height;
    out->left = -out->right;
    return STET_OK;
}

stet_result stet_render_get_lens(const stet_stage *stage, const stet_camera *camera, stet_lens *out)
{
    if (!stage || !camera || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_render_get_lens: stage, camera and out must not be NULL");
    return sti_lens_of(stage, camera, out);
}

void sti_lens_row(const stet_lens *lens, const stet_camera *camera, double row[STI_LENS_ROW])
{
    row[0] = (lens->left + lens->right) / 2;
    row[1] = (lens->right - lens->left) / camera->width;
    row[2] = camera->width / 2.0;
    row[3] = (lens->bottom + lens->top) / 2;
    row[4] = (lens->top - lens->bottom) / camera->height;
    row[5] = camera->height / 2.0;
    row[6] = lens->near;
    row[7] = lens->far;
    row[8] = lens->fisheye;
}
