/* Depth pictures on one core, in turns with mj_ray on the same rays. */
#include "bench/bench.h"

#include "base/error.h"
#include "base/memory.h"
#include "device/host_mirror.h"
#include "model/model.h"
#include "render/render.h"
#include "worlds/worlds.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EDGE = 128, MAX_CAMERAS = 16 };

typedef struct looking {
    stet_model *model;
    stet_sim *sim;
    sti_renderer *renderer;
    sti_render_target target;
    stet_camera camera[MAX_CAMERAS];
    int ncamera;
    mjData *data;
    int64_t nray;
    double *eye, *way, *depth; /* [nray * 3], [nray * 3], [nray] */
    double *along;             /* [nray]: metres along the view axis for one along the ray */
} looking;

/* ---- work -------------------------------------------------------------------------------------------------------- */

static stet_result render(void *context)
{
    looking *l = context;
    return sti_renderer_run(l->renderer, &(int){0}, 1, &l->target);
}

static stet_result ask_mujoco(void *context)
{
    static const mjtByte groups[mjNGROUP] = {1, 1, 1, 0, 0, 0}; /* those that are drawn */
    looking *l = context;
    for (int64_t i = 0; i < l->nray; ++i) {
        int geom;
        l->depth[i] = mj_ray(l->model->mj, l->data, l->eye + 3 * i, l->way + 3 * i, groups, 1, -1, &geom, NULL);
    }
    return STET_OK;
}

/* ---- set-up ------------------------------------------------------------------------------------------------------ */

/* Rays through the centres of the pixels of one camera, from the renderer's transform of the camera. */
static stet_result make_rays(looking *l, int c)
{
    const stet_camera *camera = &l->camera[c];
    float xform[12];
    STI_TRY(stet_stage_read_world(stet_sim_get_stage(l->sim), camera->prim, 0, 1, xform));
    double size = 2 * tan((double)camera->fovy * mjPI / 360) / camera->height;
    for (int p = 0; p < EDGE * EDGE; ++p) {
        int64_t i = (int64_t)c * EDGE * EDGE + p;
        int x = p % EDGE, y = p / EDGE;
        double u = (x + 0.5 - EDGE / 2.0) * size, v = (EDGE / 2.0 - y - 0.5) * size;
        for (int k = 0; k < 3; ++k) {
            const float *row = &xform[(ptrdiff_t)4 * k]; /* right, up, back, place */
            l->eye[3 * i + k] = (double)row[3];
            l->way[3 * i + k] = (double)row[0] * u + (double)row[1] * v - (double)row[2];
        }
        l->along[i] = 1 / mju_normalize3(l->way + 3 * i);
    }
    return STET_OK;
}

static stet_result make_target(looking *l)
{
    int64_t first[MAX_CAMERAS];
    int pitch[MAX_CAMERAS];
    stet_device *device = stet_sim_get_device(l->sim);
    for (int c = 0; c < l->ncamera; ++c) {
        first[c] = (int64_t)c * EDGE * EDGE;
        pitch[c] = EDGE;
    }
    STI_TRY(STI_ARRAY(device, "depth", STET_DTYPE_REAL, false, &l->target.pixels[STI_BUFFER_DEPTH], l->nray));
    STI_TRY(STI_ARRAY(device, "first", STET_DTYPE_I64, false, &l->target.first, l->ncamera));
    STI_TRY(STI_ARRAY(device, "pitch", STET_DTYPE_INT, false, &l->target.pitch, l->ncamera));
    STI_TRY(stet_array_write(l->target.first, first, sizeof *first * (size_t)l->ncamera));
    return stet_array_write(l->target.pitch, pitch, sizeof *pitch * (size_t)l->ncamera);
}

/* One world of a scene after some simulated time, seen by all its cameras on one core. */
static stet_result open_scene(looking *l, const char *path)
{
    static const char *const all[] = {"all"};
    stet_sim_def def = stet_default_sim_def();
    stet_model_info info;
    def.device = bench_cpu_def();
    def.device.threads = 1;
    def.outputs = 1u << STET_OUTPUT_DEPTH;
    def.width = def.height = EDGE;
    STI_TRY(stet_model_load(path, &l->model));
    info = stet_model_get_info(l->model);
    if (info.ncam > 0 && info.ncam <= MAX_CAMERAS) {
        def.cameras = all;
        def.ncamera = 1;
    }
    STI_TRY(stet_sim_create(l->model, &def, &l->sim));
    STI_TRY(stet_sim_step(l->sim, 50));
    l->ncamera = stet_sim_get_ncamera(l->sim);
    for (int c = 0; c < l->ncamera; ++c) l->camera[c] = *stet_sim_get_camera(l->sim, c);
    l->nray = (int64_t)l->ncamera * EDGE * EDGE;
    STI_TRY(sti_alloc(&l->eye, sizeof *l->eye * 3 * (size_t)l->nray, "rays"));
    STI_TRY(sti_alloc(&l->way, sizeof *l->way * 3 * (size_t)l->nray, "rays"));
    STI_TRY(sti_alloc(&l->depth, sizeof *l->depth * (size_t)l->nray, "rays"));
    STI_TRY(sti_alloc(&l->along, sizeof *l->along * (size_t)l->nray, "rays"));
    for (int c = 0; c < l->ncamera; ++c) STI_TRY(make_rays(l, c));
    l->data = mj_copyData(NULL, l->model->mj, stet_sim_get_worlds(l->sim)->data[0]);
    if (!l->data) return sti_error(STET_ERROR_OUT_OF_MEMORY, "bench depth: no memory for MuJoCo's data");
    mj_kinematics(l->model->mj, l->data);
    STI_TRY(make_target(l));
    return sti_renderer_create(stet_sim_get_stage(l->sim), l->camera, l->ncamera, STET_GROUPS_DEFAULT, &l->renderer);
}

static void close_scene(looking *l)
{
    sti_renderer_destroy(l->renderer);
    stet_array_destroy(l->target.pixels[STI_BUFFER_DEPTH]);
    stet_array_destroy(l->target.first);
    stet_array_destroy(l->target.pitch);
    if (l->data) mj_deleteData(l->data);
    sti_free(l->eye);
    sti_free(l->way);
    sti_free(l->depth);
    sti_free(l->along);
    stet_sim_destroy(l->sim);
    stet_model_destroy(l->model);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/*
 * Share of the rays with equal depth (none beyond the far plane). If the two renderers disagreed, the comparison would
 * be meaningless.
 */
static stet_result agreement(const looking *l, const char *scene, double *share)
{
    int64_t same = 0;
    stet_array *depth = l->target.pixels[STI_BUFFER_DEPTH];
    const mjModel *m = l->model->mj;
    double far = (double)m->vis.map.zfar * m->stat.extent;
    void *mirror;
    STI_TRY(sti_array_mirror_read(depth, &mirror));
    for (int64_t i = 0; i < l->nray; ++i) {
        double mine = sti_mirror_get(depth, mirror, 0, i), theirs = l->depth[i] * l->along[i];
        same += l->depth[i] < 0 || theirs >= far ? isinf(mine) : fabs(mine - theirs) <= 1e-4 * theirs;
    }
    *share = (double)same / (double)l->nray;
    if (*share >= 0.99) return STET_OK;
    return sti_error(STET_ERROR_STATE, "bench depth: only %.2f %% of the depths of %s are those of mj_ray",
                     100 * *share, scene);
}

static stet_result measure_bench_depth(bench *b, const char *file)
{
    looking l = {0};
    char path[512], scene[64];
    double seconds[2][BENCH_SAMPLES], ratio[BENCH_SAMPLES], share = 0;
    bench_row *row;
    (void)snprintf(path, sizeof path, "%s/%s", b->scenes, file);
    (void)snprintf(scene, sizeof scene, "%.*s", (int)strcspn(file, "."), file);
    stet_result result = open_scene(&l, path);
    const bench_work work[] = {{render, &l, NULL}, {ask_mujoco, &l, NULL}};
    if (result == STET_OK) result = bench_in_turns(work, 2, 0.03, seconds);
    if (result == STET_OK) result = agreement(&l, scene, &share);
    for (int s = 0; s < BENCH_SAMPLES && result == STET_OK; ++s) ratio[s] = seconds[1][s] / seconds[0][s];
    if (result == STET_OK)
        result = bench_add(b, &row, ratio, BENCH_SAMPLES, "times mj_ray", true, "depth/%s/ratio_to_mj_ray", scene);
    if (result == STET_OK) {
        bench_goal(row, 5);
        bench_note(row, "%d cameras of %d x %d, one core: %.1f ns a ray, mj_ray %.1f; %.2f %% of the depths agree",
                   l.ncamera, EDGE, EDGE, bench_median(seconds[0], BENCH_SAMPLES) / (double)l.nray * 1e9,
                   bench_median(seconds[1], BENCH_SAMPLES) / (double)l.nray * 1e9, 100 * share);
    }
    close_scene(&l);
    return result;
}

stet_result bench_depth(bench *b)
{
    static const char *const scenes[] = {"hand.xml",      "humanoid.xml", "quadruped.xml",
                                         "arm_table.xml", "cartpole.xml", "robot.urdf"};
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; ++k) STI_TRY(measure_bench_depth(b, scenes[k]));
    return STET_OK;
}
