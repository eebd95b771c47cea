/*
 * Pictures against MuJoCo's own renderer, over OSMesa (OpenGL in software): the shipped scenes through their cameras,
 * geoms and depth of each pixel. Where no OSMesa is found the test is skipped.
 *
 * Both sample the middle of a pixel, but OpenGL draws triangles, so the two may differ along edges. Two rules are held:
 *
 *   OPENGL-1  where the geoms differ, each side has the other's geom in one of the nine pixels around (an outline is
 *       off by less than a pixel), or both are equally far away (FLUSH: surfaces that pass through each other). At most
 *       one pixel in a thousand differs at all
 *   OPENGL-2  where all nine pixels have one geom, depths differ by less than DEPTH (relative): round shapes are made
 *       of SLICES flat faces, whose middle lies 1 - cos(pi / SLICES) = 1.2e-4 of a radius below the surface, and more
 *       along a ray that meets it at a flat angle; OpenGL's depth has 24 bits
 */
#include "render/pictures.h"

#include <dlfcn.h>

enum { WIDTH = 160, HEIGHT = 120, SLICES = 200, FORMAT_RGBA = 0x1908, UNSIGNED_BYTE = 0x1401 };
#define DEPTH 1e-3
#define FLUSH 1e-4

/* ---- OSMesa ------------------------------------------------------------------------------------------------------ */

typedef struct osmesa {
    void *library, *context, *pixels;
    void (*destroy)(void *context);
} osmesa;

static void *symbol(const osmesa *o, const char *name)
{
    void *found = dlsym(o->library, name);
    if (!found) fail_msg("OSMesa lacks %s", name);
    return found;
}

/* MuJoCo finds OpenGL's functions in a library that is loaded for all. Returns NULL, or why there is none. */
static const char *open_osmesa(osmesa *o)
{
    static const char *const names[] = {"libOSMesa.so.8", "libOSMesa.so"};
    *o = (osmesa){0};
    for (size_t i = 0; i < sizeof names / sizeof *names && !o->library; ++i)
        o->library = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
    if (!o->library) return "there is no libOSMesa (Debian: libosmesa6)";
    void *(*create)(unsigned format, int depth, int stencil, int accumulation, void *share);
    unsigned char (*make_current)(void *context, void *pixels, unsigned type, int width, int height);
    *(void **)&create = symbol(o, "OSMesaCreateContextExt");
    *(void **)&make_current = symbol(o, "OSMesaMakeCurrent");
    *(void **)&o->destroy = symbol(o, "OSMesaDestroyContext");
    o->context = create(FORMAT_RGBA, 24, 8, 0, NULL);
    o->pixels = malloc((size_t)WIDTH * HEIGHT * 4);
    if (!o->context || !o->pixels || !make_current(o->context, o->pixels, UNSIGNED_BYTE, WIDTH, HEIGHT))
        return "OSMesa makes no context";
    return NULL;
}

static void close_osmesa(osmesa *o)
{
    if (o->context) o->destroy(o->context);
    free(o->pixels);
}

/* ---- MuJoCo's renderer ------------------------------------------------------------------------------------------- */

typedef struct theirs {
    mjModel *m; /* a copy, with finer shapes */
    mjData *d;
    mjvScene scene;
    mjrContext context;
    int geom[WIDTH * HEIGHT]; /* from the upper left corner; -1: none */
    float depth[WIDTH * HEIGHT];
} theirs;

static void open_theirs(theirs *t, const mjModel *m)
{
    t->m = mj_copyModel(NULL, m);
    t->m->vis.quality.numslices = t->m->vis.quality.numstacks = t->m->vis.quality.numquads = SLICES;
    t->m->vis.quality.offsamples = 0;
    t->m->vis.global.offwidth = WIDTH;
    t->m->vis.global.offheight = HEIGHT;
    t->d = mj_makeData(t->m);
    mjv_defaultScene(&t->scene);
    mjv_makeScene(t->m, &t->scene, 2000);
    mjr_defaultContext(&t->context);
    mjr_makeContext(t->m, &t->context, mjFONTSCALE_100);
    mjr_setBuffer(mjFB_OFFSCREEN, &t->context);
    assert_int_equal(t->context.currentBuffer, mjFB_OFFSCREEN);
}

static void close_theirs(theirs *t)
{
    mjr_freeContext(&t->context);
    mjv_freeScene(&t->scene);
    mj_deleteData(t->d);
    mj_deleteModel(t->m);
}

/* Geoms alone, each in a colour that is its number. */
static void draw(theirs *t, int camera)
{
    mjvOption option;
    mjvCamera view;
    mjv_defaultOption(&option);
    memset(option.sitegroup, 0, sizeof option.sitegroup);
    memset(option.flags, 0, sizeof option.flags);
    option.flags[mjVIS_STATIC] = 1;
    mjv_defaultCamera(&view);
    view.type = mjCAMERA_FIXED;
    view.fixedcamid = camera;
    mjv_updateScene(t->m, t->d, &option, NULL, &view, mjCAT_STATIC | mjCAT_DYNAMIC, &t->scene);
    memset(t->scene.flags, 0, sizeof t->scene.flags);
    t->scene.flags[mjRND_SEGMENT] = t->scene.flags[mjRND_IDCOLOR] = 1;
    mjr_render((mjrRect){0, 0, WIDTH, HEIGHT}, &t->scene, &t->context);
}

static int geom_of_colour(const theirs *t, const unsigned char rgb[3])
{
    int id = (rgb[0] | rgb[1] << 8 | rgb[2] << 16) - 1;
    for (int k = 0; k < t->scene.ngeom; ++k)
        if (t->scene.geoms[k].segid == id && t->scene.geoms[k].objtype == mjOBJ_GEOM) return t->scene.geoms[k].objid;
    return -1;
}

static void read_pixels(theirs *t)
{
    static unsigned char rgb[WIDTH * HEIGHT * 3];
    static float depth[WIDTH * HEIGHT];
    double near = (double)t->m->vis.map.znear * t->m->stat.extent, far = (double)t->m->vis.map.zfar * t->m->stat.extent;
    mjr_readPixels(rgb, depth, (mjrRect){0, 0, WIDTH, HEIGHT}, &t->context);
    for (int y = 0; y < HEIGHT; ++y) {
        for (int x = 0; x < WIDTH; ++x) {
            int to = y * WIDTH + x, from = (HEIGHT - 1 - y) * WIDTH + x;
            t->geom[to] = geom_of_colour(t, rgb + 3 * (size_t)from);
            t->depth[to] = (float)(near / (1 - (double)depth[from] * (1 - near / far)));
        }
    }
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

typedef struct tally {
    int64_t pixels, hits, differ, off; /* off: against OPENGL-1 */
    int64_t inside, deep;              /* pixels of OPENGL-2, and those against it */
    double worst;                      /* difference of their depths, relative */
} tally;

/* How many of the nine pixels around have this geom; beyond the picture there may be anything. */
static int count_around(const int *picture, int x, int y, int geom)
{
    int n = 0;
    for (int v = y - 1; v <= y + 1; ++v)
        for (int u = x - 1; u <= x + 1; ++u)
            n += u < 0 || v < 0 || u >= WIDTH || v >= HEIGHT || picture[v * WIDTH + u] == geom;
    return n;
}

static void compare(const theirs *t, const int *geom, const float *depth, tally *sum)
{
    for (int i = 0; i < WIDTH * HEIGHT; ++i) {
        int x = i % WIDTH, y = i / WIDTH, a = geom[i], b = t->geom[i];
        double error = fabs((double)depth[i] / (double)t->depth[i] - 1);
        sum->pixels++;
        sum->hits += a >= 0;
        sum->differ += a != b;
        if (a != b) {
            bool edge = count_around(t->geom, x, y, a) && count_around(geom, x, y, b);
            if (!edge && error > FLUSH && sum->off++ < 5)
                print_message("pixel %d %d: geom %d at %g, MuJoCo: geom %d at %g\n", x, y, a, (double)depth[i], b,
                              (double)t->depth[i]);
        } else if (a >= 0 && count_around(geom, x, y, a) == 9 && count_around(t->geom, x, y, a) == 9) {
            sum->inside++;
            sum->worst = fmax(sum->worst, error);
            if (error > DEPTH && sum->deep++ < 5)
                print_message("pixel %d %d, geom %d: depth %g, MuJoCo: %g\n", x, y, a, (double)depth[i],
                              (double)t->depth[i]);
        }
    }
}

static void check_scene(const char *name)
{
    char path[512];
    pictures p;
    tally sum = {0};
    (void)snprintf(path, sizeof path, "%s/scenes/%s", STET_TEST_SOURCE_DIR, name);
    pictures_open(&p, path, 1, NULL, 1);
    const mjModel *m = p.model->mj;
    for (int c = 0; c < (int)m->ncam; ++c) pictures_model_camera(&p, c, WIDTH, HEIGHT);
    pictures_ready(&p);
    pictures_run(&p);
    int *geom = pictures_read(&p, STI_BUFFER_GEOM);
    float *depth = pictures_read(&p, STI_BUFFER_DEPTH);
    theirs *t = calloc(1, sizeof *t);
    assert_non_null(t);
    open_theirs(t, m);
    mj_forward(t->m, t->d);
    for (int c = 0; c < (int)m->ncam; ++c) {
        int64_t first = pictures_first(&p, 0, c);
        draw(t, c);
        read_pixels(t);
        compare(t, geom + first, depth + first, &sum);
    }
    close_theirs(t);
    free(t);
    free(geom);
    free(depth);
    pictures_close(&p);
    print_message("%-13s %6lld pixels, %.1f %% hit, geoms differ in %lld, in %lld beyond an edge; depths by %.1e\n",
                  name, (long long)sum.pixels, 100.0 * (double)sum.hits / (double)sum.pixels, (long long)sum.differ,
                  (long long)sum.off, sum.worst);
    assert_true(sum.hits > sum.pixels / 20);
    assert_true(sum.differ * 1000 <= sum.pixels);
    assert_int_equal(sum.off, 0);
    assert_true(sum.inside > sum.pixels / 20);
    assert_int_equal(sum.deep, 0);
}

static void shipped_scenes_look_as_in_mujoco(void **state)
{
    static const char *const scenes[] = {"hand.xml", "humanoid.xml", "quadruped.xml", "arm_table.xml", "cartpole.xml"};
    osmesa o;
    const char *missing = open_osmesa(&o);
    if (missing) {
        print_message("skipped: %s\n", missing);
        close_osmesa(&o);
        skip();
    }
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; ++i) check_scene(scenes[i]);
    close_osmesa(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shipped_scenes_look_as_in_mujoco)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
