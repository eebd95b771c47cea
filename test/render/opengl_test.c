/*
 * Pictures against MuJoCo's own renderer, over OSMesa (OpenGL in software): the shipped scenes, one with tendons, two
 * with flexes and a skin, one with cameras of all kinds, one of planes from below, one of surfaces that lie in each
 * other; through their cameras, geoms and depth of each pixel. Where no OSMesa is found the test is skipped.
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
#include "bench/pilot/mujoco_renderer.h"
#include "render/pictures.h"

enum { WIDTH = 160, HEIGHT = 120, SLICES = 200 };
#define DEPTH 1e-3
#define FLUSH 1e-4

typedef struct theirs {
    mujoco_renderer renderer;
    int geom[WIDTH * HEIGHT]; /* from the upper left corner; -1: none; below: tendons, flexes, skins */
    float depth[WIDTH * HEIGHT];
} theirs;

/* All that is drawn, each in a colour that is its number. */
static void draw(mujoco_renderer *t, int camera)
{
    mjvCamera view;
    update_mujoco_scene(t, camera, false, &view);
    memset(t->scene.flags, 0, sizeof t->scene.flags);
    t->scene.flags[mjRND_SEGMENT] = t->scene.flags[mjRND_IDCOLOR] = t->scene.flags[mjRND_CULL_FACE] = 1;
    mjr_render((mjrRect){0, 0, WIDTH, HEIGHT}, &t->scene, &t->context);
}

static int geom_of_colour(const mujoco_renderer *t, const unsigned char rgb[3])
{
    const mjModel *m = t->m;
    int id = (rgb[0] | rgb[1] << 8 | rgb[2] << 16) - 1;
    for (int k = 0; k < t->scene.ngeom; ++k) {
        const mjvGeom *g = &t->scene.geoms[k];
        if (g->segid != id) continue;
        if (g->objtype == mjOBJ_TENDON) return -2 - g->objid;
        if (g->objtype == mjOBJ_FLEX) return -2 - (int)m->ntendon - g->objid;
        if (g->objtype == mjOBJ_SKIN) return -2 - (int)(m->ntendon + m->nflex) - g->objid;
        return g->objid;
    }
    return -1;
}

static void read_pixels(theirs *t)
{
    static unsigned char rgb[WIDTH * HEIGHT * 3];
    static float depth[WIDTH * HEIGHT];
    const mjModel *m = t->renderer.m;
    const bool flat = t->renderer.scene.camera[0].orthographic;
    double near = (double)m->vis.map.znear * m->stat.extent, far = (double)m->vis.map.zfar * m->stat.extent;
    mjr_readPixels(rgb, depth, (mjrRect){0, 0, WIDTH, HEIGHT}, &t->renderer.context);
    for (int y = 0; y < HEIGHT; ++y) {
        for (int x = 0; x < WIDTH; ++x) {
            int to = y * WIDTH + x, from = (HEIGHT - 1 - y) * WIDTH + x;
            t->geom[to] = geom_of_colour(&t->renderer, rgb + 3 * (size_t)from);
            /* Orthographic: a part of the way from near to far; else of that from 1 / near to 1 / far. */
            double part = (double)depth[from];
            t->depth[to] = (float)(flat ? near + part * (far - near) : near / (1 - part * (1 - near / far)));
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
        sum->hits += a != -1;
        sum->differ += a != b;
        if (a != b) {
            bool edge = count_around(t->geom, x, y, a) && count_around(geom, x, y, b);
            if (!edge && error > FLUSH && sum->off++ < 5)
                print_message("pixel %d %d: geom %d at %g, MuJoCo: geom %d at %g\n", x, y, a, (double)depth[i], b,
                              (double)t->depth[i]);
        } else if (a != -1 && count_around(geom, x, y, a) == 9 && count_around(t->geom, x, y, a) == 9) {
            sum->inside++;
            sum->worst = fmax(sum->worst, error);
            if (error > DEPTH && sum->deep++ < 5)
                print_message("pixel %d %d, geom %d: depth %g, MuJoCo: %g\n", x, y, a, (double)depth[i],
                              (double)t->depth[i]);
        }
    }
}

static void check_scene(const char *folder, const char *name)
{
    char path[512];
    pictures p;
    tally sum = {0};
    (void)snprintf(path, sizeof path, "%s/%s/%s", STET_TEST_SOURCE_DIR, folder, name);
    pictures_open(&p, path, 1, NULL, 1);
    const mjModel *m = p.model->mj;
    for (int c = 0; c < (int)m->ncam; ++c) pictures_model_camera(&p, c, WIDTH, HEIGHT);
    pictures_ready(&p);
    pictures_run(&p);
    int *geom = pictures_read(&p, STI_BUFFER_GEOM);
    float *depth = pictures_read(&p, STI_BUFFER_DEPTH);
    theirs *t = calloc(1, sizeof *t);
    assert_non_null(t);
    assert_true(open_mujoco_renderer(&t->renderer, m, WIDTH, HEIGHT, SLICES));
    for (int c = 0; c < (int)m->ncam; ++c) {
        int64_t first = pictures_first(&p, 0, c);
        draw(&t->renderer, c);
        read_pixels(t);
        compare(t, geom + first, depth + first, &sum);
    }
    close_mujoco_renderer(&t->renderer);
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
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; ++i) check_scene("scenes", scenes[i]);
    check_scene("test/render/looks", "tendons.xml");
    check_scene("test/render/looks", "soft.xml");
    check_scene("test/render/looks", "nodes.xml");
    check_scene("test/render/looks", "cameras.xml");
    check_scene("test/render/looks", "below.xml");
    check_scene("test/render/looks", "coincide.xml");
    close_osmesa(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shipped_scenes_look_as_in_mujoco)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
