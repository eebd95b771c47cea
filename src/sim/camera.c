/*
 * Cameras of a sim: by name, and the free camera.
 *
 *   CAMERA-1  a camera has one name: the model's, or "camera<i>", or "free"; if the model has a camera "free", that one
 *             is meant
 */
#include "sim/sim.h"

#include "base/plural.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

enum { FREE_CAMERA = -1, NAME_SIZE = 256, LIST_SIZE = 512 };

static const char free_name[] = "free";

/* Name of a camera of the model, for messages. */
static const char *camera_name(const mjModel *m, int camera, char text[NAME_SIZE])
{
    const char *name = mj_id2name(m, mjOBJ_CAMERA, camera);
    if (name && *name)
        (void)snprintf(text, NAME_SIZE, "%s", name);
    else
        (void)snprintf(text, NAME_SIZE, "camera%d", camera);
    return text;
}

/* "a, b, c and 4 more": as many names as fit. */
static void list_cameras(const mjModel *m, char text[LIST_SIZE])
{
    char name[NAME_SIZE];
    size_t used = 0;
    for (int c = 0; c < (int)m->ncam; ++c) {
        (void)camera_name(m, c, name);
        if (used + strlen(name) + 64 > LIST_SIZE) {
            (void)snprintf(text + used, LIST_SIZE - used, "%d more, ", (int)m->ncam - c);
            used += strlen(text + used);
            break;
        }
        used += (size_t)snprintf(text + used, LIST_SIZE - used, "%s, ", name);
    }
    (void)snprintf(text + used, LIST_SIZE - used, "%s", free_name);
}

static stet_result find_camera(const mjModel *m, const char *name, int *out)
{
    char text[NAME_SIZE];
    if (!name) return sti_error(STET_ERROR_INVALID_ARGUMENT, "sim: the name of a camera is NULL; give one");
    for (int c = 0; c < (int)m->ncam; ++c) {
        if (strcmp(camera_name(m, c, text), name) != 0) continue;
        *out = c;
        return STET_OK;
    }
    *out = FREE_CAMERA;
    if (strcmp(name, free_name) == 0) return STET_OK;
    char list[LIST_SIZE];
    list_cameras(m, list);
    return sti_error(STET_ERROR_NOT_FOUND, "camera %.64s: the scene has none of this name; it has: %s", name, list);
}

static bool means_all(const stet_sim_def *def)
{
    return def->ncamera == 1 && def->cameras && def->cameras[0] && strcmp(def->cameras[0], "all") == 0;
}

/* The k-th camera of a def: an index of the model, or the free camera. */
static stet_result pick_camera(const mjModel *m, const stet_sim_def *def, int k, int *out)
{
    *out = m->ncam > 0 ? k : FREE_CAMERA;
    return def->ncamera == 0 || means_all(def) ? STET_OK : find_camera(m, def->cameras[k], out);
}

stet_result sti_sim_count_cameras(const stet_model *model, const stet_sim_def *def, int *n)
{
    const mjModel *m = model->mj;
    if (def->ncamera < 0 || (def->ncamera > 0) != (def->cameras != NULL))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "sim: %d camera%s, and %s list of names; give both, or neither",
                         def->ncamera, STI_S(def->ncamera), def->cameras ? "a" : "no");
    *n = means_all(def) && m->ncam > 0 ? (int)m->ncam : def->ncamera > 0 ? def->ncamera : 1;
    if (means_all(def)) return STET_OK;
    for (int k = 0; k < def->ncamera; ++k) {
        int camera, other;
        STI_TRY(pick_camera(m, def, k, &camera));
        for (int i = 0; i < k; ++i) {
            STI_TRY(pick_camera(m, def, i, &other));
            if (other == camera)
                return sti_error(STET_ERROR_INVALID_ARGUMENT, "camera %.64s: asked for twice; name each once",
                                 def->cameras[k]);
        }
    }
    return STET_OK;
}

/* The initial view of MuJoCo's viewer: toward the model's middle, from one and a half times its extent. */
static void free_frame(const mjModel *m, float frame[12])
{
    mjvCamera view;
    mjv_defaultFreeCamera(m, &view);
    double azimuth = view.azimuth * mjPI / 180, elevation = view.elevation * mjPI / 180;
    mjtNum forward[3] = {mju_cos(elevation) * mju_cos(azimuth), mju_cos(elevation) * mju_sin(azimuth),
                         mju_sin(elevation)};
    mjtNum right[3] = {mju_sin(azimuth), -mju_cos(azimuth), 0}, up[3];
    mju_cross(up, right, forward);
    for (int64_t r = 0; r < 3; ++r) {
        frame[4 * r] = (float)right[r];
        frame[4 * r + 1] = (float)up[r];
        frame[4 * r + 2] = (float)-forward[r];
        frame[4 * r + 3] = (float)(view.lookat[r] - view.distance * forward[r]);
    }
}

/*
 * Vertical angle of view of MuJoCo's free camera, degrees; 45 if that camera is orthographic, where fovy is a length.
 */
static float free_fovy(const mjModel *m)
{
    double fovy = (double)m->vis.global.fovy;
    return fovy > 0 && fovy < 180 ? (float)fovy : 45.0f;
}

static stet_result make_camera(stet_sim *sim, int camera, stet_camera *out)
{
    const mjModel *m = sim->model->mj;
    char name[NAME_SIZE];
    if (camera != FREE_CAMERA) {
        out->fovy = (float)m->cam_fovy[camera];
        (void)snprintf(out->name, sizeof out->name, "%.63s", camera_name(m, camera, name));
        return stet_stage_get_prim(sim->stage, STET_PRIM_CAMERA, camera, &out->prim);
    }
    float frame[12];
    free_frame(m, frame);
    out->fovy = free_fovy(m);
    (void)snprintf(out->name, sizeof out->name, "%s", free_name);
    return stet_stage_add(sim->stage, 0, "free camera", frame, false, &out->prim);
}

stet_result sti_sim_make_cameras(stet_sim *sim, const stet_sim_def *resolved)
{
    STI_TRY(sti_alloc(&sim->cameras, (size_t)sim->ncamera * sizeof *sim->cameras, "cameras"));
    for (int k = 0; k < sim->ncamera; ++k) {
        stet_camera *c = &sim->cameras[k];
        int camera;
        STI_TRY(pick_camera(sim->model->mj, resolved, k, &camera));
        c->width = resolved->width;
        c->height = resolved->height;
        STI_TRY(make_camera(sim, camera, c));
    }
    return STET_OK;
}
