/*
 * The farthest vertex of a hull by the lists of cells of directions is, to the bit, that of a search through all
 * vertices, and the face and the edge at it those of a search through all faces: hulls that are round, flat, full of
 * equal heights, far from their origin, no hulls at all; directions that are random, along faces' normals and next to
 * them, on borders of cells, 0.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/memory.h"
#include "device/rig.h"
#include "geom/rays.h"
#include "kernel/kernel.h"
#include "physics/collide/hull_record.h"
#include "physics/collide/hull_cells.h"
#include "physics/tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAYS = 4096, POINTS = 1200, INTS = 1 << 17, REALS = 1 << 15, ROWS = 8 };

extern const sti_kernel sti_k_probe_hull;

/* A hull's record at `record` in ints. */
typedef struct hull {
    int ints[INTS], nint, nreal, record;
    double reals[REALS];
    float floats[REALS];
} hull;
static hull h;

static double way[3][WAYS];
static float float_way[3][WAYS];

static void make_floats(void)
{
    for (int i = 0; i < h.nreal; ++i) h.floats[i] = (float)h.reals[i];
}

/* What native physics makes of a mesh with these vertices. */
static void hull_of_mesh(double (*point)[3], int n)
{
    static char xml[1 << 17];
    char error[512];
    sti_physics_tables t;
    size_t at = (size_t)snprintf(xml, sizeof xml, "<mujoco><asset><mesh name='m' inertia='shell' vertex='");
    for (int i = 0; i < n; ++i)
        at += (size_t)snprintf(xml + at, sizeof xml - at, "%.9g %.9g %.9g ", point[i][0], point[i][1], point[i][2]);
    (void)snprintf(xml + at, sizeof xml - at,
                   "'/></asset><worldbody><geom type='plane' size='1 1 1'/><body><freejoint/><geom type='mesh' "
                   "mesh='m'/></body></worldbody></mujoco>");
    mjSpec *spec = mj_parseXMLString(xml, NULL, error, sizeof error);
    if (!spec) fail_msg("%s", error);
    mjModel *m = mj_compile(spec, NULL);
    if (!m) fail_msg("%s", mjs_getError(spec));
    mj_deleteSpec(spec);
    GOOD(sti_physics_tables_make(m, &t));
    h.record = t.m[t.m[M_GEOM_SHAPE] + 1];
    h.nint = t.nshape;
    h.nreal = t.nf - t.m[M_SHAPE_PRM];
    assert_true(h.nint <= INTS && h.nreal <= REALS);
    memcpy(h.ints, t.shapes, (size_t)t.nshape * sizeof *t.shapes);
    memcpy(h.reals, t.f + t.m[M_SHAPE_PRM], (size_t)h.nreal * sizeof *h.reals);
    sti_physics_tables_free(&t);
    mj_deleteModel(m);
    make_floats();
}

/* A record of any points, without faces. */
static void record_of_points(double (*point)[3], int n)
{
    int grid = sti_hull_grid(n), ncell = 6 * grid * grid, *list;
    h.record = 0;
    h.nreal = 3 * n;
    memcpy(h.reals, point, 3 * (size_t)n * sizeof(double));
    const int head[HULL_RECORD] = {n, 0, 0, 0, 0, grid, HULL_RECORD};
    memcpy(h.ints, head, sizeof head);
    GOOD(sti_hull_cells(h.reals, n, grid, h.ints + HULL_RECORD, &list));
    int *begin = h.ints + HULL_RECORD, size = begin[ncell];
    assert_true(HULL_RECORD + ncell + 1 + size + n + 1 <= INTS);
    memcpy(begin + ncell + 1, list, (size_t)size * sizeof *list);
    for (int i = 0; i <= ncell; ++i) begin[i] += HULL_RECORD + ncell + 1;
    h.ints[HULL_AT] = HULL_RECORD + ncell + 1 + size;
    for (int i = 0; i <= n; ++i) h.ints[h.ints[HULL_AT] + i] = 0;
    sti_free(list);
    make_floats();
}

static void put_way(int i, const double *d)
{
    for (int k = 0; k < 3; ++k) way[k][i] = float_way[k][i] = (float)d[k];
}

/* Directions of all kinds. */
static void draw_ways(random_state *r)
{
    const int *record = h.ints + h.record;
    int grid = record[HULL_GRID] ? record[HULL_GRID] : 1, nface = record[HULL_NFACE];
    for (int i = 0; i < WAYS; ++i) {
        double d[3], other[3], size = pow(10, random_between(r, -9, -2));
        int kind = i % 6;
        random_direction(r, d);
        random_direction(r, other);
        if (kind == 1)
            for (int k = 0; k < 3; ++k) d[k] = (double)(random_bits(r) % 3) - 1; /* axes, diagonals, 0 */
        if (kind == 2)
            for (int k = 0; k < 3; ++k) d[k] = 2 * (double)(random_bits(r) % (unsigned)(grid + 1)) / grid - 1;
        if (kind >= 4 && nface > 0)
            for (int k = 0, f = (int)(random_bits(r) % (unsigned)nface); k < 3; ++k)
                d[k] = h.reals[record[HULL_NORMAL] + 3 * f + k] + (kind == 5 ? size * other[k] : 0);
        put_way(i, d);
    }
}

/* In each instruction set; those of floats have the same bits. */
static void check_hull(const char *name, random_state *r)
{
    static double out[ROWS][WAYS];
    static float found[ROWS][WAYS], first[ROWS][WAYS];
    static const char *const what[ROWS / 2] = {"vertex", "face", "corner", "edge"};
    bool other = false;
    draw_ways(r);
    FOR_ISAS(isa)
    {
        bool wide = isa == STI_ISA_f64;
        sti_slot slots[] = {{.p = wide ? (void *)way : float_way},
                            {.p = wide ? (void *)out : found},
                            {.p = h.ints},
                            {.p = wide ? (void *)h.reals : h.floats},
                            {.i = h.record},
                            {.i = WAYS}};
        sti_k_probe_hull.call[isa](slots, 0, WAYS / 256);
        for (int i = 0; i < WAYS; ++i)
            for (int k = 0; k < ROWS; ++k) {
                if (!wide) out[k][i] = found[k][i];
                if (k % 2 && out[k][i] != out[k - 1][i])
                    fail_msg("%s, %s: direction %d (%g %g %g): %s %g, a search through all says %g", name,
                             sti_isa_name((sti_isa)isa), i, way[0][i], way[1][i], way[2][i], what[k / 2], out[k - 1][i],
                             out[k][i]);
            }
        if (wide) continue;
        if (other) assert_memory_equal(found, first, sizeof found);
        memcpy(first, found, sizeof first);
        other = true;
    }
    const int *record = h.ints + h.record;
    int grid = record[HULL_GRID], ncell = 6 * grid * grid;
    const int *cell = record + record[HULL_CELL];
    print_message("%-22s %4d vertices, %4d faces; %.1f vertices a cell\n", name, record[HULL_NVERTEX],
                  record[HULL_NFACE], grid ? (double)(cell[ncell] - cell[0]) / ncell : 0);
}

static void ball(random_state *r, double (*point)[3], int n)
{
    for (int i = 0; i < n; ++i) {
        random_direction(r, point[i]);
        for (int k = 0; k < 3; ++k) point[i][k] *= 0.1 * (k + 1);
    }
}

/* A disc: two circles of n / 2 points, `height` apart. */
static void disc(double (*point)[3], int n, double height)
{
    for (int i = 0; i < n; ++i) {
        double angle = 4 * mjPI * (i / 2) / n;
        point[i][0] = 0.3 * cos(angle);
        point[i][1] = 0.3 * sin(angle);
        point[i][2] = i % 2 ? height : 0;
    }
}

/* Points of a grid on the faces of a box: all of a face have one height, which rounding may tell apart. */
static void box_of_points(double (*point)[3], int n)
{
    for (int i = 0; i < n; ++i) {
        int axis = i % 3, side = i / 3 % 2, u = i / 6 % 10, v = i / 60;
        point[i][axis] = side ? 0.1 : -0.1;
        point[i][(axis + 1) % 3] = 0.2 * u / 9 - 0.1;
        point[i][(axis + 2) % 3] = 0.2 * v / 9 - 0.1;
    }
}

static void hulls_of_meshes(void **state)
{
    static double point[POINTS][3];
    static const int sizes[] = {4, 32, 33, 100, 256, 257, 1000};
    random_state r = start(__func__);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        ball(&r, point, sizes[i]);
        hull_of_mesh(point, sizes[i]);
        check_hull("ball", &r);
    }
    const int *record = h.ints + h.record, *cell = record + record[HULL_CELL];
    assert_true(cell[6 * 16 * 16] - cell[0] < 12 * 6 * 16 * 16); /* of 1000 vertices */
    disc(point, 400, 0.2);
    hull_of_mesh(point, 400);
    check_hull("disc", &r);
    disc(point, 400, 1e-4);
    hull_of_mesh(point, 400);
    check_hull("flat disc", &r);
    box_of_points(point, 600);
    hull_of_mesh(point, 600);
    check_hull("box", &r);
}

/* Points that are no hull: lists hold for any. */
static void lists_of_any_points(void **state)
{
    static double point[POINTS][3];
    random_state r = start(__func__);
    box_of_points(point, 600);
    record_of_points(point, 600);
    check_hull("box of points", &r);
    disc(point, 400, 0);
    record_of_points(point, 400);
    check_hull("circle", &r);
    ball(&r, point, 300);
    for (int i = 0; i < 300; ++i) point[i][0] = point[i][1] = 0;
    record_of_points(point, 300);
    check_hull("line", &r);
    for (int i = 0; i < 100; ++i) point[i][0] = point[i][1] = point[i][2] = 0.25;
    record_of_points(point, 100);
    check_hull("one point", &r);
    ball(&r, point, POINTS);
    for (int i = 0; i < POINTS; ++i) point[i][0] += 100;
    record_of_points(point, POINTS);
    check_hull("ball far away", &r);
    ball(&r, point, POINTS);
    for (int i = 0; i < POINTS; ++i)
        for (int k = 0; k < 3; ++k) point[i][k] *= 1e-4;
    record_of_points(point, POINTS);
    check_hull("small ball", &r);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hulls_of_meshes), cmocka_unit_test(lists_of_any_points)};
    rays_seed(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
