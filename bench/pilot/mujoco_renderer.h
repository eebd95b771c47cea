/*
 * MuJoCo's own (classic) renderer, which tests and benchmarks compare with: OpenGL in software through OSMesa, and a
 * copy of a model with what mjr_render needs. MuJoCo loads OpenGL from OSMesa, which is loaded at run time: where there
 * is none, open_osmesa says why.
 */
#ifndef STET_BENCH_MUJOCO_RENDERER_H
#define STET_BENCH_MUJOCO_RENDERER_H

#include <mujoco/mujoco.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

enum { FORMAT_RGBA = 0x1908, UNSIGNED_BYTE = 0x1401 };

/* ---- OSMesa ------------------------------------------------------------------------------------------------------ */

typedef struct osmesa {
    void *library, *context;
    unsigned char pixels[16 * 16 * 4]; /* of its window; pictures are drawn off screen */
    unsigned char (*make_current)(void *context, void *pixels, unsigned type, int width, int height);
    void (*destroy)(void *context);
} osmesa;

/* Takes what MuJoCo draws from now on. */
static inline bool use_osmesa(osmesa *o)
{
    return o->context && o->make_current(o->context, o->pixels, UNSIGNED_BYTE, 16, 16);
}

/*
 * MuJoCo finds OpenGL's functions in a library that is loaded for all. Returns NULL, or why there is none. The new
 * context is in use.
 */
static inline const char *open_osmesa(osmesa *o)
{
    static const char *const names[] = {"libOSMesa.so.8", "libOSMesa.so"};
    *o = (osmesa){0};
    for (size_t i = 0; i < sizeof names / sizeof *names && !o->library; ++i)
        o->library = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
    if (!o->library) return "there is no libOSMesa (Debian: libosmesa6)";
    void *(*create)(unsigned format, int depth, int stencil, int accumulation, void *share);
    *(void **)&create = dlsym(o->library, "OSMesaCreateContextExt");
    *(void **)&o->make_current = dlsym(o->library, "OSMesaMakeCurrent");
    *(void **)&o->destroy = dlsym(o->library, "OSMesaDestroyContext");
    if (!create || !o->make_current || !o->destroy) return "OSMesa lacks functions";
    o->context = create(FORMAT_RGBA, 24, 8, 0, NULL);
    return use_osmesa(o) ? NULL : "OSMesa makes no context";
}

static inline void close_osmesa(osmesa *o)
{
    if (o->context) o->destroy(o->context);
}

/* ---- MuJoCo's renderer ------------------------------------------------------------------------------------------- */

typedef struct mujoco_renderer {
    mjModel *m; /* a copy */
    mjData *d;
    mjvScene scene;
    mjrContext context;
    int width, height;
} mujoco_renderer;

/*
 * slices: faces around a rounded shape, with one sample a pixel; 0: as many of both as the model says. False: it cannot
 * draw off screen.
 */
static inline bool open_mujoco_renderer(mujoco_renderer *t, const mjModel *m, int width, int height, int slices)
{
    t->m = mj_copyModel(NULL, m);
    if (slices) {
        t->m->vis.quality.numslices = t->m->vis.quality.numstacks = t->m->vis.quality.numquads = slices;
        t->m->vis.quality.offsamples = 0;
    }
    t->m->vis.global.offwidth = t->width = width;
    t->m->vis.global.offheight = t->height = height;
    t->d = mj_makeData(t->m);
    mj_forward(t->m, t->d);
    mjv_defaultScene(&t->scene);
    mjv_makeScene(t->m, &t->scene, 10000);
    mjr_defaultContext(&t->context);
    mjr_makeContext(t->m, &t->context, mjFONTSCALE_100);
    mjr_setBuffer(mjFB_OFFSCREEN, &t->context);
    return t->context.currentBuffer == mjFB_OFFSCREEN;
}

static inline void close_mujoco_renderer(mujoco_renderer *t)
{
    mjr_freeContext(&t->context);
    mjv_freeScene(&t->scene);
    mj_deleteData(t->d);
    mj_deleteModel(t->m);
}

/*
 * The scene as a camera sees it: geoms, tendons, skins and flexes, maybe sites, nothing else. camera < 0: MuJoCo's free
 * camera.
 */
static inline void update_mujoco_scene(mujoco_renderer *t, int camera, bool sites, mjvCamera *view)
{
    mjvOption option;
    mjv_defaultOption(&option);
    if (!sites) memset(option.sitegroup, 0, sizeof option.sitegroup);
    memset(option.flags, 0, sizeof option.flags);
    option.flags[mjVIS_STATIC] = option.flags[mjVIS_TEXTURE] = option.flags[mjVIS_TENDON] = 1;
    option.flags[mjVIS_SKIN] = option.flags[mjVIS_FLEXSKIN] = option.flags[mjVIS_FLEXEDGE] = 1;
    mjv_defaultFreeCamera(t->m, view);
    if (camera >= 0) {
        view->type = mjCAMERA_FIXED;
        view->fixedcamid = camera;
    }
    mjv_updateScene(t->m, t->d, &option, NULL, view, sites ? mjCAT_ALL : mjCAT_STATIC | mjCAT_DYNAMIC, &t->scene);
}

#endif
