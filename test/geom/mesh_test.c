/* Meshes: closed ones without a leak, triangles without area, trees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "geom/rays.h"

#include "geom/bvh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* From points inside through every vertex and the middle of every edge, and back in from outside: each ray must hit. */
static void test_watertight(void **state)
{
    random_state r = start("watertight");
    stet_device *device = make_device(NULL);
    int64_t cast = 0;
    for (int round = 0; round < 12; ++round) {
        surface s = ball_create(&r, 2 + round % 4, 0.02 * round);
        sti_geoms *geoms = surface_geoms(device, &s);
        int n = s.nvertex + 3 * s.nmirror;
        rays in = rays_create(n), out = rays_create(n);
        double from[3];
        random_direction(&r, from);
        for (int k = 0; k < 3; ++k) from[k] *= round == 0 ? 0 : 0.4;
        for (int i = 0; i < n; ++i) {
            double at[3], away[3];
            int f = (i - s.nvertex) / 3, e = (i - s.nvertex) % 3;
            const float *a = s.vertices + 3 * (i < s.nvertex ? i : s.faces[3 * f + e]);
            const float *b = i < s.nvertex ? a : s.vertices + 3 * s.faces[3 * f + (e + 1) % 3];
            for (int k = 0; k < 3; ++k) {
                at[k] = 0.5 * ((double)a[k] + (double)b[k]);
                away[k] = from[k] + (at[k] - from[k]) * (round % 2 ? 30 : 3);
            }
            aim(&in, i, from, at);
            aim(&out, i, away, from);
        }
        rays_cast(device, geoms, 0, FAR, &in, NULL);
        rays_cast(device, geoms, 0, FAR, &out, NULL);
        for (int i = 0; i < n; ++i) {
            if (!(in.t[i] > 0.1f && in.t[i] < 2))
                fail_msg("round %d: ray %d from inside: %g", round, i, (double)in.t[i]);
            if (!(out.t[i] > 0.1f && out.t[i] < 1))
                fail_msg("round %d: ray %d from outside: %g", round, i, (double)out.t[i]);
        }
        cast += 2 * n;
        rays_destroy(&in);
        rays_destroy(&out);
        sti_geoms_destroy(geoms);
        surface_destroy(&s);
    }
    stet_device_destroy(device);
    print_message("  %lld rays, none lost\n", (long long)cast);
}

/* Triangles without area, alone and between others; no triangles at all; many equal ones. */
static void test_degenerate(void **state)
{
    stet_device *device = make_device(NULL);
    float vertices[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 2, 0, 0, 0.25f, 0.25f, 0};
    int none[3] = {0}, faces[] = {0, 0, 0, 0, 1, 3, 0, 1, 2, 1, 1, 2, 4, 4, 4}, many[3 * 300];
    for (int i = 0; i < 300; ++i) memcpy(many + 3 * i, (const int[]){0, 1, 2}, 3 * sizeof(int));
    surface cases[] = {
        {5, 0, vertices, none}, {5, 2, vertices, faces}, {5, 5, vertices, faces}, {5, 300, vertices, many}};
    for (int c = 0; c < 4; ++c) {
        sti_geoms *geoms = surface_geoms(device, &cases[c]);
        rays r = rays_create(3);
        aim(&r, 0, (const double[]){0.25, 0.25, 2}, (const double[]){0.25, 0.25, 1});
        aim(&r, 1, (const double[]){0.25, 0.25, -3}, (const double[]){0.25, 0.25, -2});
        aim(&r, 2, (const double[]){0.75, 0.75, 2}, (const double[]){0.75, 0.75, 1});
        rays_cast(device, geoms, 0, FAR, &r, NULL);
        assert_true(r.t[0] == (c < 2 ? -1.0f : 2.0f));
        assert_true(r.t[1] == (c < 2 ? -1.0f : 3.0f));
        assert_true(r.t[2] == -1);
        assert_true(r.normal[2] == (c < 2 ? 0.0f : 1.0f));
        assert_true(r.normal[5] == (c < 2 ? 0.0f : 1.0f));
        rays_cast(device, geoms, 0, 2.5f, &r, NULL);
        assert_true(r.t[1] == -1); /* beyond tmax */
        rays_cast(device, geoms, 0, 2, &r, NULL);
        assert_true(r.t[0] == -1); /* at tmax: not nearer */
        rays_destroy(&r);
        sti_geoms_destroy(geoms);
    }
    stet_device_destroy(device);
}

/* MESH-TEST-1 and BVH-2 below a node; marks the triangles found. */
static void check_node(const sti_bvh *bvh, const surface *s, int at, int depth, char *seen)
{
    const sti_bvh_node *node = &bvh->node[at];
    assert_in_range(depth, 0, STI_BVH_DEPTH);
    int first = (int)node->first, count = (int)node->count;
    if (count < 0) {
        for (int c = first; c < first + 2; ++c) {
            assert_in_range(c, 1, bvh->nnode - 1);
            for (int k = 0; k < 3; ++k) {
                assert_true(bvh->node[c].lower[k] >= node->lower[k]);
                assert_true(bvh->node[c].upper[k] <= node->upper[k]);
            }
            check_node(bvh, s, c, depth + 1, seen);
        }
        return;
    }
    for (int i = first; i < first + count; ++i) {
        int f = bvh->order[i];
        assert_int_equal(seen[f], 0);
        seen[f] = 1;
        for (int v = 0; v < 9; ++v) {
            float x = s->vertices[3 * s->faces[3 * f + v / 3] + v % 3];
            assert_true(x >= node->lower[v % 3] && x <= node->upper[v % 3]);
        }
    }
}

static void check_tree(const surface *s)
{
    sti_bvh bvh, again;
    GOOD(sti_bvh_triangles(s->vertices, s->faces, s->nmirror, "surface", &bvh));
    GOOD(sti_bvh_triangles(s->vertices, s->faces, s->nmirror, "surface", &again));
    assert_int_equal(bvh.nnode, again.nnode);
    assert_memory_equal(bvh.node, again.node, (size_t)bvh.nnode * sizeof *bvh.node);
    char *seen = calloc((size_t)s->nmirror + 1, 1);
    assert_non_null(seen);
    check_node(&bvh, s, 0, 0, seen);
    for (int i = 0; i < s->nmirror; ++i) assert_int_equal(seen[i], 1);
    free(seen);
    sti_bvh_free(&bvh);
    sti_bvh_free(&again);
}

static void test_trees(void **state)
{
    random_state r = start("trees");
    for (int level = 0; level < 6; ++level) {
        surface s = ball_create(&r, level, 0.2);
        check_tree(&s);
        surface_destroy(&s);
    }
    /* Sizes that halve again and again: cutting by area alone would give a list. */
    enum { N = 240 };
    static float vertices[9 * N];
    static int faces[3 * N];
    for (int i = 0; i < 3 * N; ++i) {
        faces[i] = i;
        for (int k = 0; k < 3; ++k) vertices[3 * i + k] = ldexpf(1, -(i / 3) / 2) * (float)random_between(&r, 0.9, 1);
    }
    check_tree(&(surface){3 * N, N, vertices, faces});
    check_tree(&(surface){3 * N, 0, vertices, faces});
    sti_bvh bvh;
    assert_int_equal(sti_bvh_triangles(vertices, faces, STI_BVH_LIMIT, "mesh big", &bvh), STET_ERROR_LIMIT);
    assert_non_null(strstr(stet_get_last_error(), "mesh big"));
    assert_int_equal(sti_bvh_grid((const double[]){1, 1}, vertices, 8192, 8192, "height field big", &bvh),
                     STET_ERROR_LIMIT);
    assert_non_null(strstr(stet_get_last_error(), "height field big"));
}

int main(int argc, char **argv)
{
    rays_seed(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_watertight),
        cmocka_unit_test(test_degenerate),
        cmocka_unit_test(test_trees),
    };
    return cmocka_run_group_tests_name("geom/mesh", tests, NULL, NULL);
}
