/* Pictures of a scene from all its cameras; see picture.h. */
#include "bench/picture.h"

#include "base/error.h"
#include "base/memory.h"
#include "device/host_mirror.h"
#include "worlds/worlds.h"

#include <math.h>

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

static stet_result make_target(bench_picture *p, sti_picture_buffer buffer)
{
    stet_device *device = stet_sim_get_device(p->sim);
    int64_t ntile = (int64_t)p->ncamera * p->nworld, *first = NULL;
    int *pitch = NULL;
    stet_result result = sti_alloc(&first, sizeof *first * (size_t)ntile, "tiles");
    if (result == STET_OK) result = sti_alloc(&pitch, sizeof *pitch * (size_t)ntile, "tiles");
    for (int64_t t = 0; t < ntile && result == STET_OK; ++t) {
        first[t] = t * p->edge * p->edge;
        pitch[t] = p->edge;
    }
    if (result == STET_OK)
        result = STI_ARRAY(device, "pixels", sti_buffer_dtype(buffer), false, &p->target.pixels[buffer], p->npixel);
    if (result == STET_OK) result = STI_ARRAY(device, "first", STET_DTYPE_I64, false, &p->target.first, ntile);
    if (result == STET_OK) result = STI_ARRAY(device, "pitch", STET_DTYPE_INT, false, &p->target.pitch, ntile);
    if (result == STET_OK) result = stet_array_write(p->target.first, first, sizeof *first * (size_t)ntile);
    if (result == STET_OK) result = stet_array_write(p->target.pitch, pitch, sizeof *pitch * (size_t)ntile);
    sti_free(first);
    sti_free(pitch);
    return result;
}

static stet_result make_sim(bench_picture *p, const char *isa)
{
    static const char *const all[] = {"all"};
    stet_sim_def def = stet_default_sim_def();
    stet_model_info info = stet_model_get_info(p->model);
    def.device = bench_cpu_def();
    def.device.threads = 1;
    def.device.isa = isa;
    def.nworld = p->nworld;
    def.physics = STET_PHYSICS_MUJOCO;
    def.outputs = 1u << STET_OUTPUT_DEPTH; /* so that it has cameras */
    def.width = def.height = p->edge;
    if (info.ncam > 0 && info.ncam <= BENCH_CAMERAS) {
        def.cameras = all;
        def.ncamera = 1;
    }
    STI_TRY(stet_sim_create(p->model, &def, &p->sim));
    STI_TRY(stet_sim_step(p->sim, 50));
    p->ncamera = stet_sim_get_ncamera(p->sim);
    for (int c = 0; c < p->ncamera; ++c) p->camera[c] = *stet_sim_get_camera(p->sim, c);
    return STET_OK;
}

stet_result bench_picture_open(bench_picture *p, const bench_picture_def *def)
{
    const char *text = def->text;
    *p = (bench_picture){.edge = def->edge, .nworld = def->nworld ? def->nworld : 1};
    STI_TRY(*text == '<' ? stet_model_load_string(text, &p->model) : stet_model_load(text, &p->model));
    for (int i = 0; i < p->model->mj->nlight && def->no_shadows; ++i) p->model->mj->light_castshadow[i] = 0;
    STI_TRY(make_sim(p, def->isa));
    p->npixel = (int64_t)p->ncamera * p->nworld * p->edge * p->edge;
    STI_TRY(sti_alloc(&p->world, sizeof *p->world * (size_t)p->nworld, "worlds to draw"));
    for (int w = 0; w < p->nworld; ++w) p->world[w] = w;
    p->data = mj_copyData(NULL, p->model->mj, stet_sim_get_worlds(p->sim)->state.data[0]);
    if (!p->data) return sti_error(STET_ERROR_OUT_OF_MEMORY, "bench render: no memory for MuJoCo's data");
    mj_kinematics(p->model->mj, p->data);
    mj_camlight(p->model->mj, p->data);
    STI_TRY(make_target(p, def->buffer));
    return sti_renderer_create(stet_sim_get_stage(p->sim), p->camera, p->ncamera, STI_DRAWING_DEFAULT, &p->renderer);
}

void bench_picture_close(bench_picture *p)
{
    sti_renderer_destroy(p->renderer);
    for (int b = 0; b < STI_BUFFER_COUNT; ++b) stet_array_destroy(p->target.pixels[b]);
    stet_array_destroy(p->target.first);
    stet_array_destroy(p->target.pitch);
    if (p->data) mj_deleteData(p->data);
    sti_free(p->world);
    stet_sim_destroy(p->sim);
    stet_model_destroy(p->model);
    *p = (bench_picture){0};
}

stet_result bench_picture_draw(void *picture)
{
    bench_picture *p = picture;
    return sti_renderer_run(p->renderer, p->world, p->nworld, &p->target);
}

/* ---- rays -------------------------------------------------------------------------------------------------------- */

/* Rays of one camera, from the renderer's transform of it. */
static stet_result make_camera_rays(const bench_picture *p, int c, bench_rays *rays)
{
    const stet_camera *camera = &p->camera[c];
    float xform[12];
    STI_TRY(stet_stage_read_world(stet_sim_get_stage(p->sim), camera->prim, 0, 1, xform));
    double size = 2 * tan((double)camera->fovy * mjPI / 360) / p->edge;
    for (int k = 0; k < p->edge * p->edge; ++k) {
        int64_t i = (int64_t)c * p->edge * p->edge + k;
        int x = k % p->edge, y = k / p->edge;
        double u = (x + 0.5 - p->edge / 2.0) * size, v = (p->edge / 2.0 - y - 0.5) * size;
        for (int j = 0; j < 3; ++j) {
            const float *row = &xform[(ptrdiff_t)4 * j]; /* right, up, back, place */
            rays->eye[3 * i + j] = (double)row[3];
            rays->way[3 * i + j] = (double)row[0] * u + (double)row[1] * v - (double)row[2];
        }
        rays->along[i] = 1 / mju_normalize3(rays->way + 3 * i);
    }
    return STET_OK;
}

stet_result bench_rays_make(const bench_picture *p, bench_rays *out)
{
    *out = (bench_rays){.n = (int64_t)p->ncamera * p->edge * p->edge};
    STI_TRY(sti_alloc(&out->eye, sizeof *out->eye * 3 * (size_t)out->n, "rays"));
    STI_TRY(sti_alloc(&out->way, sizeof *out->way * 3 * (size_t)out->n, "rays"));
    STI_TRY(sti_alloc(&out->along, sizeof *out->along * (size_t)out->n, "rays"));
    STI_TRY(sti_alloc(&out->depth, sizeof *out->depth * (size_t)out->n, "rays"));
    for (int c = 0; c < p->ncamera; ++c) STI_TRY(make_camera_rays(p, c, out));
    return STET_OK;
}

void bench_rays_free(bench_rays *rays)
{
    sti_free(rays->eye);
    sti_free(rays->way);
    sti_free(rays->along);
    sti_free(rays->depth);
    *rays = (bench_rays){0};
}

stet_result bench_rays_compare(const bench_picture *p, const bench_rays *rays, double least, const char *what,
                               double *share)
{
    int64_t same = 0;
    stet_array *depth = p->target.pixels[STI_BUFFER_DEPTH];
    const mjModel *m = p->model->mj;
    double far = (double)m->vis.map.zfar * m->stat.extent;
    void *mirror;
    STI_TRY(sti_array_mirror_read(depth, &mirror));
    for (int64_t i = 0; i < rays->n; ++i) {
        double mine = sti_mirror_get(depth, mirror, 0, i), theirs = rays->depth[i] * rays->along[i];
        same += theirs < 0 || theirs >= far ? isinf(mine) : fabs(mine - theirs) <= 1e-4 * theirs;
    }
    *share = (double)same / (double)rays->n;
    if (*share >= least) return STET_OK;
    return sti_error(STET_ERROR_STATE, "bench render: only %.2f %% of the depths of %s agree", 100 * *share, what);
}
