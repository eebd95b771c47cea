/*
 * Cameras of a sim: by name, and free cameras.
 *
 *   CAMERA-1  a camera has one name: the model's, or "camera<i>", or that of a free camera, which begins with "free"
 *             (free_camera.c); if the model has a camera of this name, that one is meant
 */
#include "sim/sim.h"

#include "base/memory.h"
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
    if (sti_free_camera_meant(name)) return STET_OK;
    char list[LIST_SIZE];
    list_cameras(m, list);
    return sti_error(STET_ERROR_NOT_FOUND, "camera %.64s: the scene has none of this name; it has: %s", name, list);
}

static bool means_all(const stet_sim_def *def)
{
    return def->ncamera == 1 && def->cameras && def->cameras[0] && strcmp(def->cameras[0], "all") == 0;
}

/* The name of the k-th camera of a def, if it is a free one. */
static const char *free_camera_name(const stet_sim_def *def, int k)
{
    return def->ncamera == 0 || means_all(def) ? free_name : def->cameras[k];
}

/* The k-th camera of a def: an index of the model, or FREE_CAMERA. */
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
    if (def->nsize > 0 && def->nsize != *n)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "sim: %d size%s for %d camera%s; give as many, or one for all",
                         def->nsize, STI_S(def->nsize), *n, STI_S(*n));
    if (def->nfisheye > 1 && def->nfisheye != *n)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "sim: %d angles of fisheyes for %d camera%s; give as many, or one "
                         "for all",
                         def->nfisheye, *n, STI_S(*n));
    if (means_all(def)) return STET_OK;
    for (int k = 0; k < def->ncamera; ++k) {
        int camera, other;
        sti_free_camera view;
        STI_TRY(pick_camera(m, def, k, &camera));
        if (camera == FREE_CAMERA) STI_TRY(sti_free_camera_read(m, def->cameras[k], &view));
        for (int i = 0; i < k; ++i) {
            STI_TRY(pick_camera(m, def, i, &other));
            if (other == camera && (camera != FREE_CAMERA || strcmp(def->cameras[i], def->cameras[k]) == 0))
                return sti_error(STET_ERROR_INVALID_ARGUMENT, "camera %.64s: asked for twice; name each once",
                                 def->cameras[k]);
        }
    }
    return STET_OK;
}

/* What MuJoCo's free camera has: a vertical angle of view in degrees, or, if it is orthographic, a height in metres. */
static float free_fovy(const mjModel *m)
{
    double fovy = (double)m->vis.global.fovy;
    return fovy > 0 && (fovy < 180 || m->vis.global.orthographic) ? (float)fovy : 45.0f;
}

/* Makes camera k of a def a fisheye if that is asked for. */
static void set_fisheye(const stet_sim_def *def, int k, stet_camera *out)
{
    float fovy = def->nfisheye ? def->fisheyes[def->nfisheye > 1 ? k : 0] : 0;
    if (!(fovy > 0)) return;
    out->fisheye = true;
    out->orthographic = false;
    out->fovy = fovy;
}

static stet_result make_free_camera(stet_sim *sim, const stet_sim_def *def, int k, stet_camera *out)
{
    const mjModel *m = sim->model->mj;
    const char *name = free_camera_name(def, k);
    sti_free_camera view;
    float frame[12];
    char prim[NAME_SIZE];
    out->fovy = free_fovy(m);
    out->orthographic = m->vis.global.orthographic != 0;
    set_fisheye(def, k, out);
    (void)snprintf(out->name, sizeof out->name, "%.63s", name);
    STI_TRY(sti_free_camera_read(m, name, &view));
    view.groups = def->groups;
    STI_TRY(sti_free_camera_place(sim, &view, out, frame));
    (void)snprintf(prim, sizeof prim, "free camera%.200s", name + strlen(free_name)); /* "free camera:90,-30" */
    return stet_stage_add(sim->stage, 0, prim, frame, false, &out->prim);
}

/* Is this camera of the sim one of the model's? */
static bool is_of_model(const stet_sim *sim, const stet_camera *camera)
{
    for (int c = 0, prim; c < (int)sim->model->mj->ncam; ++c)
        if (stet_stage_get_prim(sim->stage, STET_PRIM_CAMERA, c, &prim) == STET_OK && prim == camera->prim) return true;
    return false;
}

/* Writes one local transform of a prim in all worlds. */
static stet_result write_everywhere(stet_sim *sim, int prim, const float frame[12])
{
    int64_t nworld = sim->worlds->nworld;
    float *all;
    STI_TRY(sti_alloc(&all, (size_t)nworld * 12 * sizeof *all, "transforms of a camera"));
    for (int64_t w = 0; w < nworld; ++w) memcpy(all + 12 * w, frame, 12 * sizeof *all);
    stet_result result = stet_stage_write_local(sim->stage, prim, 0, nworld, all);
    sti_free(all);
    return result;
}

stet_result stet_sim_place_camera(stet_sim *sim, int camera, const char *name, double placed[6])
{
    if (!sim || !name)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_sim_place_camera: sim and name must not be NULL");
    if (camera < 0 || camera >= sim->ncamera)
        return sti_error(STET_ERROR_NOT_FOUND, "sim: there is no camera %d; it has %d", camera, sim->ncamera);
    stet_camera lens = sim->cameras[camera];
    if (is_of_model(sim, &lens))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "camera %.64s: it is the model's; only free cameras can be placed", lens.name);
    if (!sti_free_camera_meant(name))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "camera %.64s: \"%.64s\" is no place for a free camera; give such as free:90,-30,2.5,0,0,1",
                         lens.name, name);
    sti_free_camera view;
    float frame[12];
    STI_TRY(sti_free_camera_read(sim->model->mj, name, &view));
    view.groups = sim->groups;
    STI_TRY(sti_free_camera_place(sim, &view, &lens, frame));
    if (placed)
        memcpy(placed,
               (double[]){view.azimuth, view.elevation, view.distance, view.lookat[0], view.lookat[1], view.lookat[2]},
               6 * sizeof *placed);
    return write_everywhere(sim, sim->cameras[camera].prim, frame);
}

void sti_sim_describe_camera(const mjModel *m, int camera, stet_camera *out)
{
    char name[NAME_SIZE];
    out->fovy = camera == FREE_CAMERA ? free_fovy(m) : (float)m->cam_fovy[camera];
    (void)snprintf(out->name, sizeof out->name, "%.63s",
                   camera == FREE_CAMERA ? free_name : camera_name(m, camera, name));
}

static stet_result make_camera(stet_sim *sim, int camera, stet_camera *out)
{
    sti_sim_describe_camera(sim->model->mj, camera, out);
    return stet_stage_get_prim(sim->stage, STET_PRIM_CAMERA, camera, &out->prim);
}

stet_result sti_sim_make_cameras(stet_sim *sim, const stet_sim_def *resolved)
{
    sim->groups = resolved->groups;
    STI_TRY(sti_alloc(&sim->cameras, (size_t)sim->ncamera * sizeof *sim->cameras, "cameras"));
    for (int k = 0; k < sim->ncamera; ++k) {
        stet_camera *c = &sim->cameras[k];
        int camera;
        STI_TRY(pick_camera(sim->model->mj, resolved, k, &camera));
        int size[2];
        sti_sim_camera_size(resolved, k, size);
        c->width = size[0];
        c->height = size[1];
        STI_TRY(camera == FREE_CAMERA ? make_free_camera(sim, resolved, k, c) : make_camera(sim, camera, c));
        set_fisheye(resolved, k, c);
    }
    return STET_OK;
}
