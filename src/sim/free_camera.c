/*
 * Free cameras: cameras that are placed by what they look at, not by the model.
 *
 * A free camera stays where it is put at creation. "free" is the initial view of MuJoCo's viewer. Numbers after "free:"
 * are those of MuJoCo's mjvCamera: azimuth and elevation, then the distance from the point that is looked at, then that
 * point. Without a distance, the camera takes the place nearest to the scene from which it shows all geoms.
 */
#include "sim/sim.h"

#include "model/model.h"
#include "render/appearance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char word[] = "free", fit_word[] = "fit";

bool sti_free_camera_meant(const char *name)
{
    size_t n = sizeof word - 1;
    return strncmp(name, word, n) == 0 && (name[n] == 0 || name[n] == ':');
}

/* Up to `most` finite numbers, separated by commas; returns how many, -1: the text is something else. */
static int read_numbers(const char *text, int most, double *out)
{
    for (int n = 0; n < most; ++n) {
        char *end;
        out[n] = strtod(text, &end);
        if (end == text || !isfinite(out[n]) || (*end && *end != ',')) return -1;
        if (!*end) return n + 1;
        text = end + 1;
    }
    return -1;
}

stet_result sti_free_camera_read(const mjModel *m, const char *name, sti_free_camera *out)
{
    enum { MOST = 6 };
    const char *text = name + sizeof word - 1;
    double number[MOST];
    mjvCamera view;
    mjv_defaultFreeCamera(m, &view);
    *out = (sti_free_camera){.azimuth = view.azimuth,
                             .elevation = view.elevation,
                             .distance = view.distance,
                             .lookat = {view.lookat[0], view.lookat[1], view.lookat[2]}};
    if (!*text++) return STET_OK;
    out->fit = strcmp(text, fit_word) == 0;
    if (out->fit) return STET_OK;
    int n = read_numbers(text, MOST, number);
    if ((n != 2 && n != 3 && n != MOST) || fabs(number[1]) > 90 || (n > 2 && !(number[2] > 0)))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "camera %.64s: behind \"free:\" there are azimuth, elevation (degrees, -90 to 90), and "
                         "optionally the distance (above 0) and the point x, y, z that is looked at; give such as "
                         "free:90,-30 or free:90,-30,2.5,0,0,1, or free:fit",
                         name);
    out->fit = n == 2;
    out->azimuth = number[0];
    out->elevation = number[1];
    if (n > 2) out->distance = number[2];
    for (int k = 0; k < 3 && n == MOST; ++k) out->lookat[k] = number[3 + k];
    return STET_OK;
}

/* ---- framing ----------------------------------------------------------------------------------------------------- */

/* Axes of a camera that looks along `forward`, level: unit, in the world frame. */
typedef struct axes {
    double right[3], up[3], forward[3];
} axes;

static axes axes_of(const sti_free_camera *view)
{
    double azimuth = view->azimuth * mjPI / 180, elevation = view->elevation * mjPI / 180;
    axes a = {
        .right = {mju_sin(azimuth), -mju_cos(azimuth), 0},
        .forward = {mju_cos(elevation) * mju_cos(azimuth), mju_cos(elevation) * mju_sin(azimuth), mju_sin(elevation)}};
    mju_cross(a.up, a.right, a.forward);
    return a;
}

/* How far a geom with transform x reaches in direction d, no further than its box and the ball around it do. */
static double geom_reach(const mjModel *m, ptrdiff_t geom, const float x[12], const double d[3])
{
    const mjtNum *box = &m->geom_aabb[6 * geom];
    double at = 0, middle = 0, half = 0;
    for (int k = 0; k < 3; ++k) {
        double along = d[0] * (double)x[k] + d[1] * (double)x[4 + k] + d[2] * (double)x[8 + k];
        at += d[k] * (double)x[4 * k + 3];
        middle += along * box[k];
        half += fabs(along) * box[3 + k];
    }
    return at + fmin(middle + half, sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) * m->geom_rbound[geom]);
}

/* Can geoms of this kind be shown as a whole? A plane is as large as one likes. */
static bool counts(const mjModel *m, ptrdiff_t geom, uint32_t groups)
{
    return m->geom_type[geom] != mjGEOM_PLANE && sti_group_in(m->geom_group[geom], groups) &&
           m->geom_rgba[4 * geom + 3] > 0;
}

/* How far the geoms of the first world reach in each of five directions; false: there are none. */
enum { SIDES = 5 };
static stet_result scene_reach(stet_sim *sim, uint32_t groups, double direction[SIDES][3], double reach[SIDES],
                               bool *any)
{
    const mjModel *m = sim->model->mj;
    *any = false;
    for (int k = 0; k < SIDES; ++k) reach[k] = -HUGE_VAL;
    for (int g = 0; g < (int)m->ngeom; ++g) {
        float x[12];
        int prim;
        if (!counts(m, g, groups)) continue;
        STI_TRY(stet_stage_get_prim(sim->stage, STET_PRIM_GEOM, g, &prim));
        STI_TRY(stet_stage_read_world(sim->stage, prim, 0, 1, x));
        *any = true;
        for (int k = 0; k < SIDES; ++k) reach[k] = fmax(reach[k], geom_reach(m, g, x, direction[k]));
    }
    return STET_OK;
}

/*
 * Moves the eye to the nearest place at which all geoms are within the four sides of the view: with slope w of a side,
 * a point is within left and right if its distance in front of the eye, times w, is at least its distance to the side.
 * The slopes of an orthographic camera are 0: it is put before the geoms, and its picture gets their size.
 */
static stet_result fit(stet_sim *sim, uint32_t groups, const axes *a, stet_camera *camera, double eye[3])
{
    const double MARGIN = 0.94; /* of half the picture */
    double aspect = (double)camera->width / camera->height, side[SIDES][3], reach[SIDES];
    double fovy =
        camera->fisheye ? fmin((double)camera->fovy, 120) : (double)camera->fovy; /* sides have no slope at 180 */
    double high = camera->orthographic ? 0 : MARGIN * tan(fovy * mjPI / 360), wide = high * aspect;
    bool any;
    for (int k = 0; k < 3; ++k) {
        side[0][k] = a->right[k] - wide * a->forward[k];
        side[1][k] = -a->right[k] - wide * a->forward[k];
        side[2][k] = a->up[k] - high * a->forward[k];
        side[3][k] = -a->up[k] - high * a->forward[k];
        side[4][k] = -a->forward[k];
    }
    STI_TRY(scene_reach(sim, groups, side, reach, &any));
    if (!any) return STET_OK;
    double across = reach[0] + reach[1], down = reach[2] + reach[3],
           at[3] = {(reach[0] - reach[1]) / 2, (reach[2] - reach[3]) / 2};
    double height = fmax(down, across / aspect) / MARGIN;
    /* An orthographic camera is so far before the geoms that no floor below them rises to its plane. */
    at[2] = camera->orthographic ? -reach[4] - 2 * height : fmin(-across / (2 * wide), -down / (2 * high));
    if (!isfinite(at[0]) || !isfinite(at[1]) || !isfinite(at[2])) return STET_OK;
    for (int k = 0; k < 3; ++k) eye[k] = a->right[k] * at[0] + a->up[k] * at[1] + a->forward[k] * at[2];
    if (camera->orthographic) camera->fovy = (float)height;
    return STET_OK;
}

/* What a camera at `eye` looks at: the point in its axis that is nearest to the old one, if that lies before it. */
static void look_from(sti_free_camera *view, const axes *a, const double eye[3])
{
    double ahead = 0;
    for (int k = 0; k < 3; ++k) ahead += (view->lookat[k] - eye[k]) * a->forward[k];
    if (ahead > 0) view->distance = ahead;
    for (int k = 0; k < 3; ++k) view->lookat[k] = eye[k] + view->distance * a->forward[k];
}

stet_result sti_free_camera_place(stet_sim *sim, sti_free_camera *view, stet_camera *camera, float frame[12])
{
    axes a = axes_of(view);
    double eye[3];
    for (int k = 0; k < 3; ++k) eye[k] = view->lookat[k] - view->distance * a.forward[k];
    if (view->fit) {
        STI_TRY(fit(sim, view->groups, &a, camera, eye));
        look_from(view, &a, eye);
    }
    for (ptrdiff_t r = 0; r < 3; ++r) {
        frame[4 * r] = (float)a.right[r];
        frame[4 * r + 1] = (float)a.up[r];
        frame[4 * r + 2] = (float)-a.forward[r];
        frame[4 * r + 3] = (float)eye[r];
    }
    return STET_OK;
}
