/*
 * Pictures on one core, in turns with peers on the same rays or through the same cameras: depth beside MuJoCo's mj_ray,
 * meshes beside Embree, colours beside MuJoCo's own renderer; and what a pixel costs when a scene grows.
 */
#include "bench/picture.h"

#include "base/error.h"
#include "base/memory.h"
#include "bench/count/count.h"
#include "bench/embree.h"
#include "bench/pilot/mujoco_renderer.h"
#include "device/device.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EDGE = 128 };

static const char *const scenes[] = {"hand.xml",      "humanoid.xml", "quadruped.xml",
                                     "arm_table.xml", "cartpole.xml", "robot.urdf"};
enum { SCENES = sizeof scenes / sizeof *scenes };

typedef struct scene_names {
    char path[512], name[64];
} scene_names;

static scene_names scene_of(const bench *b, const char *file)
{
    scene_names s;
    (void)snprintf(s.path, sizeof s.path, "%s/%s", b->scenes, file);
    (void)snprintf(s.name, sizeof s.name, "%.*s", (int)strcspn(file, "."), file);
    return s;
}

static int scene_count(const bench *b) { return b->quick ? 1 : SCENES; }

static void missing(const char *rows, const char *why)
{
    (void)fprintf(stderr, "stet bench: render: no rows of %s: %s\n", rows, why);
}

static void divide(const double *theirs, const double *ours, double *ratio)
{
    for (int s = 0; s < BENCH_SAMPLES; ++s) ratio[s] = theirs[s] / ours[s];
}

/* Nanoseconds of one of n. */
static double ns(const double *seconds, int64_t n) { return bench_median(seconds, BENCH_SAMPLES) / (double)n * 1e9; }

/* ---- depth, beside mj_ray ---------------------------------------------------------------------------------------- */

typedef struct beside_rays {
    bench_picture picture;
    bench_rays rays;
} beside_rays;

static stet_result ask_mujoco(void *context)
{
    static const mjtByte groups[mjNGROUP] = {1, 1, 1, 0, 0, 0}; /* those that are drawn */
    const beside_rays *l = context;
    const bench_rays *r = &l->rays;
    for (int64_t i = 0; i < r->n; ++i) {
        int geom;
        r->depth[i] =
            mj_ray(l->picture.model->mj, l->picture.data, r->eye + 3 * i, r->way + 3 * i, groups, 1, -1, &geom, NULL);
    }
    return STET_OK;
}

static void close_beside_rays(beside_rays *l)
{
    bench_rays_free(&l->rays);
    bench_picture_close(&l->picture);
}

static stet_result measure_depth(bench *b, const scene_names *scene, beside_rays *l)
{
    double seconds[2][BENCH_SAMPLES], ratio[BENCH_SAMPLES], share;
    bench_row *row;
    STI_TRY(bench_picture_open(&l->picture,
                               &(bench_picture_def){.text = scene->path, .buffer = STI_BUFFER_DEPTH, .edge = EDGE}));
    STI_TRY(bench_rays_make(&l->picture, &l->rays));
    const bench_work work[] = {{bench_picture_draw, &l->picture, NULL}, {ask_mujoco, l, NULL}};
    STI_TRY(bench_on_core_in_turns(work, 2, bench_least(b, 0.03), seconds));
    STI_TRY(bench_rays_compare(&l->picture, &l->rays, 0.99, scene->path, &share));
    divide(seconds[1], seconds[0], ratio);
    STI_TRY(bench_add(b, &row, ratio, BENCH_SAMPLES, "times mj_ray", true, "depth/%s/ratio_to_mj_ray", scene->name));
    bench_goal(row, 20);
    double ours = ns(seconds[0], l->rays.n);
    bench_note(row,
               "%d camera%s of %d x %d, one core: %.1f ns a ray (%.1f million rays/s), mj_ray %.1f; %.2f %% of the "
               "depths agree",
               l->picture.ncamera, l->picture.ncamera == 1 ? "" : "s", EDGE, EDGE, ours, 1e3 / ours,
               ns(seconds[1], l->rays.n), 100 * share);
    return STET_OK;
}

static stet_result bench_depths(bench *b)
{
    stet_result result = STET_OK;
    for (int k = 0; k < scene_count(b) && result == STET_OK; ++k) {
        beside_rays l = {0};
        scene_names scene = scene_of(b, scenes[k]);
        result = measure_depth(b, &scene, &l);
        close_beside_rays(&l);
    }
    return result;
}

/* ---- texts of scenes --------------------------------------------------------------------------------------------- */

typedef struct scene_text {
    char *text;
    size_t n, size;
    bool failed;
} scene_text;

static void append(scene_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(scene_text *t, const char *format, ...)
{
    char piece[512];
    va_list args;
    va_start(args, format);
    size_t n = (size_t)vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    if (t->failed) return;
    if (t->n + n + 1 > t->size) {
        size_t size = 2 * t->size + 65536;
        char *grown = realloc(t->text, size);
        t->failed = !grown;
        if (!grown) return;
        t->text = grown;
        t->size = size;
    }
    memcpy(t->text + t->n, piece, n + 1);
    t->n += n;
}

#define CAMERA "<camera pos='0 -3.4 1.2' xyaxes='1 0 0 0 .333 .943' fovy='45'/>"

/*
 * A mesh of 16 n^2 triangles: a tube around a trefoil, with bumps, that hides parts of itself; all of it is seen by
 * CAMERA.
 */
static void append_knot(scene_text *t, int n)
{
    int along = 8 * n;
    append(t, "<mesh name='knot' inertia='shell' vertex='");
    for (int i = 0; i < along * n; ++i) {
        int ring = i / n;
        double a = 2 * mjPI * ring / along, c = 2 * mjPI * (i % n) / n;
        double to[3] = {cos(a) + 4 * cos(2 * a), 4 * sin(2 * a) - sin(a), -3 * cos(3 * a)}, up[3] = {0, 0, 1};
        double at[3] = {sin(a) + 2 * sin(2 * a), cos(a) - 2 * cos(2 * a), -sin(3 * a)}, out[3], side[3];
        double radius = 0.6 + 0.08 * sin(24 * a) * sin(4 * c);
        mju_normalize3(to);
        mju_cross(out, to, up);
        mju_normalize3(out);
        mju_cross(side, out, to);
        for (int k = 0; k < 3; ++k) at[k] = (at[k] + radius * (out[k] * cos(c) + side[k] * sin(c))) / 3;
        append(t, "%.6f %.6f %.6f ", at[0], at[1], at[2]);
    }
    append(t, "' face='");
    for (int i = 0; i < along * n; ++i) {
        int row = i / n * n, over = (row + n) % (along * n), next = (i % n + 1) % n;
        append(t, "%d %d %d %d %d %d ", row + i % n, over + next, row + next, row + i % n, over + i % n, over + next);
    }
    append(t, "'/>");
}

static void knot_scene(scene_text *t, int n)
{
    append(t, "<mujoco><asset>");
    append_knot(t, n);
    append(t, "</asset><worldbody>" CAMERA "<light pos='0 0 4'/><geom type='mesh' mesh='knot' contype='0' "
              "conaffinity='0'/></worldbody></mujoco>");
}

/* n equal balls that together cover about as much of CAMERA's picture whatever their number; behind it: out of view. */
static void balls_scene(scene_text *t, int n, bool behind)
{
    uint64_t dice = 7;
    double radius = 0.6 / sqrt(n);
    append(t, "<mujoco><worldbody>" CAMERA "<light pos='0 0 4'/><geom size='.3'/>");
    for (int i = 0; i < n; ++i) {
        double at[3];
        for (int k = 0; k < 3; ++k) {
            dice = dice * 6364136223846793005u + 1442695040888963407u;
            at[k] = (double)(dice >> 11) / 4503599627370496.0 - 1;
        }
        append(t, "<geom size='%g' pos='%.4f %.4f %.4f' contype='0' conaffinity='0'/>", behind ? 0.1 : radius, at[0],
               at[1] - (behind ? 6 : 0), at[2]);
    }
    append(t, "</worldbody></mujoco>");
}

/* Ten shapes on a floor under n lamps that cast shadows. */
static void lamps_scene(scene_text *t, int n)
{
    static const char *const shape[] = {"type='sphere' size='.2'", "type='box' size='.15 .2 .1'",
                                        "type='capsule' size='.1 .2'", "type='cylinder' size='.15 .1'",
                                        "type='ellipsoid' size='.2 .1 .15'"};
    append(t, "<mujoco><worldbody>" CAMERA "<geom type='plane' size='0 0 1' pos='0 0 -.3'/>");
    for (int i = 0; i < n; ++i)
        append(t, "<light pos='%.3f %.3f 3' dir='0 0 -1' cutoff='80'/>", cos(2.4 * i), sin(2.4 * i));
    for (int i = 0; i < 10; ++i)
        append(t, "<geom %s pos='%.2f %.2f 0'/>", shape[i % 5], 0.5 * (i % 5) - 1, i < 5 ? -0.4 : 0.4);
    append(t, "</worldbody></mujoco>");
}

/* ---- meshes, beside Embree --------------------------------------------------------------------------------------- */

/* Corners of the triangles of geom 0, a mesh, in the world's frame: [n * 9]. */
static stet_result mesh_triangles(const bench_picture *p, float **out)
{
    const mjModel *m = p->model->mj;
    int mesh = m->geom_dataid[0];
    ptrdiff_t n = m->mesh_facenum[mesh];
    const int *face = m->mesh_face + 3 * (ptrdiff_t)m->mesh_faceadr[mesh];
    STI_TRY(sti_alloc(out, sizeof **out * 9 * (size_t)n, "triangles"));
    for (ptrdiff_t i = 0; i < 3 * n; ++i) {
        const float *v = m->mesh_vert + 3 * ((ptrdiff_t)m->mesh_vertadr[mesh] + face[i]);
        double local[3] = {(double)v[0], (double)v[1], (double)v[2]}, at[3];
        mju_mulMatVec3(at, p->data->geom_xmat, local);
        for (int k = 0; k < 3; ++k) (*out)[3 * i + k] = (float)(at[k] + p->data->geom_xpos[k]);
    }
    return STET_OK;
}

static stet_result measure_mesh(bench *b, bench_embree *e, const char *name, beside_rays *l)
{
    double seconds[3][BENCH_SAMPLES], ratio[BENCH_SAMPLES], share;
    int ntri = l->picture.model->mj->mesh_facenum[0];
    float *triangles = NULL;
    bench_row *row;
    STI_TRY(bench_rays_make(&l->picture, &l->rays));
    stet_result result = mesh_triangles(&l->picture, &triangles);
    if (result == STET_OK) result = bench_embree_set(e, triangles, ntri, &l->rays);
    sti_free(triangles);
    const bench_work work[] = {
        {bench_picture_draw, &l->picture, NULL}, {bench_embree_single, e, NULL}, {bench_embree_packets, e, NULL}};
    if (result == STET_OK) result = bench_on_core_in_turns(work, 3, bench_least(b, 0.03), seconds);
    for (int k = 1; k < 3 && result == STET_OK; ++k) { /* each peer's own hits: one that hits nothing is fast */
        result = work[k].run(work[k].context);
        if (result == STET_OK) result = bench_rays_compare(&l->picture, &l->rays, 0.999, name, &share);
    }
    if (result != STET_OK) return result;
    double ours = ns(seconds[0], l->rays.n), single = ns(seconds[1], l->rays.n), packets = ns(seconds[2], l->rays.n);
    divide(seconds[single < packets ? 1 : 2], seconds[0], ratio);
    STI_TRY(bench_add(b, &row, ratio, BENCH_SAMPLES, "times Embree", true, "%s/ratio_to_embree", name));
    bench_goal(row, 1);
    bench_note(
        row,
        "%d triangles, %d x %d, one core: %.1f ns a ray (%.1f million rays/s); Embree: packets of 16 %.1f, single "
        "rays %.1f; %.2f %% of the depths agree",
        ntri, EDGE, EDGE, ours, 1e3 / ours, packets, single, 100 * share);
    return STET_OK;
}

/* Frees the text. */
static stet_result open_text(bench_picture *p, scene_text *t, sti_picture_buffer buffer, int edge, int nworld)
{
    stet_result result = STET_OK;
    *p = (bench_picture){0};
    if (t->failed) result = sti_error(STET_ERROR_OUT_OF_MEMORY, "bench render: no memory for the text of a scene");
    if (result == STET_OK)
        result = bench_picture_open(
            p, &(bench_picture_def){.text = t->text, .buffer = buffer, .edge = edge, .nworld = nworld});
    free(t->text);
    *t = (scene_text){0};
    return result;
}

static stet_result bench_meshes(bench *b)
{
    static const struct {
        const char *name;
        int n;
    } meshes[] = {{"mesh5k", 18}, {"mesh100k", 79}};
    bench_embree *e;
    const char *why = bench_embree_load(&e);
    if (why) return missing("meshes beside Embree", why), STET_OK;
    stet_result result = STET_OK;
    for (size_t k = 0; k < sizeof meshes / sizeof *meshes && result == STET_OK; ++k) {
        beside_rays l = {0};
        scene_text t = {0};
        knot_scene(&t, meshes[k].n);
        result = open_text(&l.picture, &t, STI_BUFFER_DEPTH, EDGE, 1);
        if (result == STET_OK) result = measure_mesh(b, e, meshes[k].name, &l);
        close_beside_rays(&l);
    }
    bench_embree_close(e);
    return result;
}

/* ---- colours, beside MuJoCo's renderer --------------------------------------------------------------------------- */

/* MuJoCo's renderer, in a context of its own: one without shadows leaves lights on that change the other's picture. */
typedef struct their_renderer {
    osmesa gl;
    mujoco_renderer mujoco;
    int ncamera;        /* of the model; 0: its free camera draws */
    unsigned char *rgb; /* the first camera's picture, from the bottom */
} their_renderer;

typedef struct beside_renderer {
    bench_picture picture, fine, bare; /* one and four samples a pixel; one, without shadows */
    their_renderer full, plain;        /* plain: without shadows, one sample a pixel */
} beside_renderer;

static stet_result draw_theirs(void *context)
{
    their_renderer *t = context;
    mjrRect all = {0, 0, t->mujoco.width, t->mujoco.height};
    if (!use_osmesa(&t->gl)) return sti_error(STET_ERROR_STATE, "bench render: OSMesa's context cannot be used");
    for (int c = t->ncamera > 0 ? t->ncamera - 1 : 0; c >= 0; --c) {
        mjvCamera view;
        update_mujoco_scene(&t->mujoco, t->ncamera > 0 ? c : -1, true, &view);
        mjr_render(all, &t->mujoco.scene, &t->mujoco.context);
        mjr_readPixels(t->rgb, NULL, all, &t->mujoco.context);
    }
    return STET_OK;
}

static stet_result open_theirs(const bench_picture *p, their_renderer *t, bool shadows)
{
    mjModel *m = (mjModel *)p->model->mj;
    int samples = m->vis.quality.offsamples;
    const char *why = open_osmesa(&t->gl);
    if (why) return sti_error(STET_ERROR_STATE, "bench render: %s", why);
    STI_TRY(sti_alloc(&t->rgb, (size_t)p->edge * (size_t)p->edge * 3, "a picture"));
    if (!shadows) m->vis.quality.offsamples = 0; /* of the renderer's copy */
    bool ok = open_mujoco_renderer(&t->mujoco, m, p->edge, p->edge, 0);
    m->vis.quality.offsamples = samples;
    if (!shadows) t->mujoco.scene.flags[mjRND_SHADOW] = 0;
    t->ncamera = (int)m->ncam;
    mj_copyData(t->mujoco.d, m, p->data);
    if (ok) return STET_OK;
    return sti_error(STET_ERROR_STATE, "bench render: MuJoCo's renderer cannot draw off screen");
}

static void close_theirs(their_renderer *t)
{
    if (t->mujoco.m && use_osmesa(&t->gl)) close_mujoco_renderer(&t->mujoco);
    close_osmesa(&t->gl);
    sti_free(t->rgb);
}

/* Mean difference of colours (0 … 1) of the first camera's picture. */
static stet_result colour_difference(const beside_renderer *l, double *mean)
{
    int edge = l->picture.edge;
    uint32_t *colour = NULL;
    size_t bytes = (size_t)l->picture.npixel * sizeof *colour;
    STI_TRY(sti_alloc(&colour, bytes, "a picture"));
    stet_result result = stet_array_read(l->picture.target.pixels[STI_BUFFER_COLOUR], colour, bytes);
    *mean = 0;
    for (int i = 0; i < edge * edge; ++i)
        for (int k = 0; k < 3; ++k) {
            int theirs = l->full.rgb[3 * ((edge - 1 - i / edge) * edge + i % edge) + k];
            *mean += abs((int)(colour[i] >> 8 * k & 255) - theirs) / (255.0 * 3 * edge * edge);
        }
    sti_free(colour);
    return result;
}

static stet_result open_beside_renderer(beside_renderer *l, const scene_names *scene, int edge)
{
    bench_picture_def def = {.text = scene->path, .buffer = STI_BUFFER_COLOUR, .edge = edge};
    STI_TRY(bench_picture_open(&l->picture, &def));
    STI_TRY(bench_picture_open(&l->fine, &def));
    def.no_shadows = true;
    STI_TRY(bench_picture_open(&l->bare, &def));
    STI_TRY(sti_renderer_set_samples(l->fine.renderer, 4));
    STI_TRY(open_theirs(&l->picture, &l->full, true));
    return open_theirs(&l->picture, &l->plain, false);
}

static void close_beside_renderer(beside_renderer *l)
{
    close_theirs(&l->full);
    close_theirs(&l->plain);
    bench_picture_close(&l->picture);
    bench_picture_close(&l->fine);
    bench_picture_close(&l->bare);
}

static stet_result measure_colours(bench *b, const scene_names *scene, beside_renderer *l)
{
    enum { ONE, FOUR, BARE, FULL, PLAIN, SIDES };
    static const struct {
        const char *name;
        int ours, theirs;
        double goal;
    } rows[] = {{"ratio_to_mujoco_gl", ONE, FULL, 50},
                {"samples_4/ratio_to_mujoco_gl", FOUR, FULL, 50},
                {"no_shadows/ratio_to_mujoco_gl", BARE, PLAIN, 8}};
    double seconds[SIDES][BENCH_SAMPLES], ratio[BENCH_SAMPLES], difference;
    int64_t n = l->picture.npixel;
    const bench_work work[SIDES] = {{bench_picture_draw, &l->picture, NULL},
                                    {bench_picture_draw, &l->fine, NULL},
                                    {bench_picture_draw, &l->bare, NULL},
                                    {draw_theirs, &l->full, NULL},
                                    {draw_theirs, &l->plain, NULL}};
    STI_TRY(bench_on_core_in_turns(work, SIDES, bench_least(b, 0.02), seconds));
    STI_TRY(colour_difference(l, &difference));
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        bench_row *row;
        divide(seconds[rows[k].theirs], seconds[rows[k].ours], ratio);
        STI_TRY(bench_add(b, &row, ratio, BENCH_SAMPLES, "times MuJoCo", true, "rgb/%s/%d/%s", scene->name,
                          l->picture.edge, rows[k].name));
        bench_goal(row, rows[k].goal);
        double ours = ns(seconds[rows[k].ours], n);
        bench_note(row,
                   "%d camera%s, one core: %.1f ns a pixel (%.1f million primary rays/s), MuJoCo %.1f; colours differ "
                   "by %.1f %%",
                   l->picture.ncamera, l->picture.ncamera == 1 ? "" : "s", ours,
                   (rows[k].ours == FOUR ? 4e3 : 1e3) / ours, ns(seconds[rows[k].theirs], n), 100 * difference);
    }
    return STET_OK;
}

static stet_result bench_colours(bench *b)
{
    static const int edges[] = {64, 128};
    osmesa o;
    (void)setenv("LP_NUM_THREADS", "0", 1); /* OSMesa's: all in this thread */
    const char *why = open_osmesa(&o);
    close_osmesa(&o);
    if (why) return missing("colours beside MuJoCo's renderer", why), STET_OK;
    stet_result result = STET_OK;
    for (int k = 0; k < (b->quick ? 1 : 2 * SCENES) && result == STET_OK; ++k) {
        beside_renderer l = {0};
        scene_names scene = scene_of(b, scenes[k / 2]);
        result = open_beside_renderer(&l, &scene, edges[k % 2]);
        if (result == STET_OK) result = measure_colours(b, &scene, &l);
        close_beside_renderer(&l);
    }
    return result;
}

/* ---- curves ------------------------------------------------------------------------------------------------------ */

/* Adds a row of what a pixel of a scene costs. */
static stet_result add_point(bench *b, const char *curve, int64_t at, scene_text *t, sti_picture_buffer buffer,
                             int edge, int nworld)
{
    bench_picture p;
    bench_row *row;
    double seconds[1][BENCH_SAMPLES], cost[BENCH_SAMPLES];
    stet_result result = open_text(&p, t, buffer, edge, nworld);
    const bench_work work = {bench_picture_draw, &p, NULL};
    if (result == STET_OK) result = bench_on_core_in_turns(&work, 1, bench_least(b, 0.01), seconds);
    for (int s = 0; s < BENCH_SAMPLES && result == STET_OK; ++s) cost[s] = seconds[0][s] * 1e9 / (double)p.npixel;
    if (result == STET_OK)
        result = bench_add(b, &row, cost, BENCH_SAMPLES, "ns", false, "curve/%s/%lld/ns_a_pixel", curve, (long long)at);
    if (result == STET_OK)
        bench_note(row, "%s, %d x %d, %d world%s, one core: %.1f million rays/s",
                   buffer == STI_BUFFER_DEPTH ? "depth" : "colours with shadows", edge, edge, nworld,
                   nworld == 1 ? "" : "s", 1e3 / row->value);
    bench_picture_close(&p);
    return result;
}

static stet_result bench_curves(bench *b)
{
    scene_text t = {0};
    for (int n = 1; n <= (b->quick ? 1 : 10000); n *= 10) {
        balls_scene(&t, n, false);
        STI_TRY(add_point(b, "geoms", n, &t, STI_BUFFER_DEPTH, EDGE, 1));
    }
    for (int n = 1; n <= (b->quick ? 1 : 10000); n *= 10) {
        balls_scene(&t, n, true);
        STI_TRY(add_point(b, "geoms_out_of_view", n, &t, STI_BUFFER_DEPTH, EDGE, 1));
    }
    static const int knots[] = {8, 25, 79, 250, 720}; /* 10^3 … 10^6, and nearly the most that a mesh can have */
    for (int k = 0; k < (b->quick ? 1 : 5); ++k) {
        knot_scene(&t, knots[k]);
        STI_TRY(add_point(b, "triangles", (int64_t)16 * knots[k] * knots[k], &t, STI_BUFFER_DEPTH, EDGE, 1));
    }
    static const int lamps[] = {1, 2, 4, 7}; /* with the headlight, as many as pictures have */
    for (int k = 0; k < (b->quick ? 1 : 4); ++k) {
        lamps_scene(&t, lamps[k]);
        STI_TRY(add_point(b, "lights", lamps[k], &t, STI_BUFFER_COLOUR, EDGE, 1));
    }
    for (int edge = 16; edge <= (b->quick ? 16 : 1024); edge *= 2) {
        lamps_scene(&t, 1);
        STI_TRY(add_point(b, "pixels", (int64_t)edge * edge, &t, STI_BUFFER_COLOUR, edge, 1));
    }
    for (int n = 1; n <= (b->quick ? 1 : 4096); n *= 8) {
        lamps_scene(&t, 1);
        STI_TRY(add_point(b, "worlds", n, &t, STI_BUFFER_COLOUR, 32, n));
    }
    return STET_OK;
}

/* ---- what a ray costs -------------------------------------------------------------------------------------------- */

/* What one core can do, and what one ray costs. */
typedef struct core_peak {
    double gflops, gbytes; /* a second; 0: not known */
} core_peak;
typedef struct ray_cost {
    double flops, bytes, seconds[1][BENCH_SAMPLES];
} ray_cost;

/*
 * Draws a picture with kernels that count. That its pixels are those of `usual` shows that these are the same kernels.
 */
static stet_result count_rays(bench_picture *p, const bench_picture *usual, sti_picture_buffer buffer, ray_cost *cost)
{
    uint64_t hash[2];
    bench_count_on(stet_sim_get_device(p->sim), bench_counted_render);
    STI_TRY(bench_picture_draw(p)); /* the first one may do more */
    bench_counts.flops = bench_counts.bytes = 0;
    STI_TRY(bench_picture_draw(p));
    cost->flops = (double)bench_counts.flops / (double)p->npixel;
    cost->bytes = (double)bench_counts.bytes / (double)p->npixel;
    STI_TRY(stet_array_hash(p->target.pixels[buffer], &hash[0]));
    STI_TRY(stet_array_hash(usual->target.pixels[buffer], &hash[1]));
    if (hash[0] == hash[1]) return STET_OK;
    return sti_error(STET_ERROR_STATE, "bench render: kernels that count draw other pixels");
}

static stet_result add_cost(bench *b, const ray_cost *c, const char *name, const core_peak *peak)
{
    bench_row *row;
    double share[BENCH_SAMPLES], rate = 1 / bench_median(c->seconds[0], BENCH_SAMPLES);
    STI_TRY(bench_add(b, &row, &c->flops, 1, "operations", false, "render/%s/flops_a_ray", name));
    bench_note(row, "of a ray by itself; one core: %.1f million rays/s, so %.1f billion operations/s", rate * 1e-6,
               c->flops * rate * 1e-9);
    STI_TRY(bench_add(b, &row, &c->bytes, 1, "bytes", false, "render/%s/bytes_a_ray", name));
    bench_note(row, "of arrays, of a ray by itself; at that rate %.1f GB/s; one core reads %.1f GB/s of memory",
               c->bytes * rate * 1e-9, peak->gbytes);
    if (!(peak->gflops > 0)) return STET_OK;
    for (int s = 0; s < BENCH_SAMPLES; ++s) share[s] = c->flops / c->seconds[0][s] * 1e-9 / peak->gflops;
    STI_TRY(bench_add(b, &row, share, BENCH_SAMPLES, "of the peak", true, "render/%s/share_of_flops", name));
    bench_note(row, "one core does %.1f billion operations/s of multiply-adds", peak->gflops);
    return STET_OK;
}

static stet_result measure_cost(bench *b, const scene_names *scene, sti_picture_buffer buffer, const core_peak *peak)
{
    char name[BENCH_NAME];
    bench_picture usual, counted = {0};
    bench_picture_def def = {.text = scene->path, .buffer = buffer, .edge = EDGE};
    const bench_work work = {bench_picture_draw, &usual, NULL};
    ray_cost cost;
    (void)snprintf(name, sizeof name, "%s/%s", scene->name, buffer == STI_BUFFER_DEPTH ? "depth" : "rgb");
    stet_result result = bench_picture_open(&usual, &def);
    def.isa = "w1";
    if (result == STET_OK) result = bench_picture_open(&counted, &def);
    if (result == STET_OK) result = bench_on_core_in_turns(&work, 1, bench_least(b, 0.03), cost.seconds);
    for (int s = 0; s < BENCH_SAMPLES && result == STET_OK; ++s) cost.seconds[0][s] /= (double)usual.npixel;
    if (result == STET_OK) result = count_rays(&counted, &usual, buffer, &cost);
    if (result == STET_OK) result = add_cost(b, &cost, name, peak);
    bench_picture_close(&usual);
    bench_picture_close(&counted);
    return result;
}

static stet_result bench_costs(bench *b)
{
    if (!sti_isa_available(STI_ISA_w1)) return missing("what a ray costs", "this processor has no AVX2"), STET_OK;
    const core_peak peak = {bench_peak_gflops(), bench_peak_gbytes()};
    for (int k = 0; k < scene_count(b); ++k) {
        scene_names scene = scene_of(b, scenes[k]);
        STI_TRY(measure_cost(b, &scene, STI_BUFFER_DEPTH, &peak));
        STI_TRY(measure_cost(b, &scene, STI_BUFFER_COLOUR, &peak));
    }
    return STET_OK;
}

stet_result bench_render(bench *b)
{
    STI_TRY(bench_depths(b));
    STI_TRY(bench_meshes(b));
    STI_TRY(bench_colours(b));
    STI_TRY(bench_curves(b));
    return bench_costs(b);
}
