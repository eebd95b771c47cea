/* Rays against each type of geom, compared with MuJoCo's own in double, and with the double build. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "geom/rays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Casts one ray of the geom's frame with MuJoCo; the normal is turned into that frame. */
static double mujoco_ray(const scene *s, const double o[3], const double d[3], double normal[3])
{
    const mjModel *m = s->model->mj;
    const double *pos = s->data->geom_xpos, *mat = s->data->geom_xmat;
    double p[3], v[3], n[3] = {0}, t;
    mju_mulMatVec3(p, mat, o);
    mju_addTo3(p, pos);
    mju_mulMatVec3(v, mat, d);
    if (m->geom_type[0] == mjGEOM_MESH)
        t = mj_rayMesh(m, s->data, 0, p, v, n);
    else if (m->geom_type[0] == mjGEOM_HFIELD)
        t = mj_rayHfield(m, s->data, 0, p, v, n);
    else
        t = mju_rayGeom(pos, mat, m->geom_size, p, v, m->geom_type[0], n);
    mju_mulMatTVec3(normal, mat, n);
    return t;
}

/*
 * Whether the ray agrees when it is moved by a tenth of a pixel (1.6e-4 of its length: 60 degrees across 640 pixels) in
 * some direction.
 */
static bool agrees_when_moved(stet_device *device, const scene *s, const rays *all, int i)
{
    rays moved = rays_create(8);
    const float *d = all->direction + 3 * i;
    double length = sqrt((double)d[0] * (double)d[0] + (double)d[1] * (double)d[1] + (double)d[2] * (double)d[2]);
    for (int j = 0; j < 8; ++j)
        for (int k = 0; k < 3; ++k) {
            moved.origin[3 * j + k] = all->origin[3 * i + k];
            moved.direction[3 * j + k] = (float)((double)d[k] + 1e-4 * length * (j >> k & 1 ? 1 : -1));
        }
    rays_cast(device, s->geoms, 0, FAR, &moved, NULL);
    bool good = false;
    for (int j = 0; j < 8; ++j) {
        double p[3], v[3], n[3];
        for (int k = 0; k < 3; ++k) {
            p[k] = (double)moved.origin[3 * j + k];
            v[k] = (double)moved.direction[3 * j + k];
        }
        double t = mujoco_ray(s, p, v, n);
        good = good || near_enough((double)moved.t[j], t, s, moved.origin + 3 * j, moved.direction + 3 * j, n);
    }
    rays_destroy(&moved);
    return good;
}

typedef struct tally {
    int rays, hits, wrong, turned, lost;
    double worst; /* relative error of those that agree, further than 0.05 */
} tally;

static void compare(stet_device *device, const scene *s, const rays *r, tally *sum)
{
    for (int i = 0; i < r->n; ++i) {
        double o[3], d[3], n[3], dot = 0;
        for (int k = 0; k < 3; ++k) {
            o[k] = (double)r->origin[3 * i + k];
            d[k] = (double)r->direction[3 * i + k];
        }
        double t = mujoco_ray(s, o, d, n), ours = (double)r->t[i];
        ++sum->rays;
        sum->hits += t >= 0;
        if (!near_enough(ours, t, s, r->origin + 3 * i, r->direction + 3 * i, n)) {
            ++sum->wrong;
            bool lost = !agrees_when_moved(device, s, r, i);
            sum->lost += lost;
            if (lost && sum->lost <= 5)
                print_message("  o %.9g %.9g %.9g d %.9g %.9g %.9g: %.9g, MuJoCo %.9g\n", o[0], o[1], o[2], d[0], d[1],
                              d[2], ours, t);
            continue;
        }
        if (t < 0) continue;
        if (t > 0.05) sum->worst = fmax(sum->worst, fabs(ours - t) / t);
        double length = 0;
        for (int k = 0; k < 3; ++k) {
            double c = (double)r->normal[3 * i + k];
            dot += c * n[k];
            length += c * c;
        }
        assert_true(fabs(length - 1) < 1e-5);
        sum->turned += dot < 0.999;
    }
}

/* MuJoCo 4 sees of a thin height field the base alone: where that is hit, the walls are no further. */
static void compare_with_base(const scene *s, const rays *r, tally *sum)
{
    for (int i = 0; i < r->n; ++i) {
        double o[3], d[3], n[3];
        for (int k = 0; k < 3; ++k) {
            o[k] = (double)r->origin[3 * i + k];
            d[k] = (double)r->direction[3 * i + k];
        }
        double t = mujoco_ray(s, o, d, n), ours = (double)r->t[i];
        ++sum->rays;
        sum->hits += ours >= 0;
        sum->wrong += t >= 0 && (ours < 0 || ours > t * (1 + 1e-5) + 1e-5);
    }
}

static void cast_and_compare(stet_device *device, const scene *s, random_state *r, int count, bool base, tally *sum)
{
    rays all = rays_create(count);
    for (int k = 0; k < count; ++k) random_ray(r, s->bounds, all.origin + 3 * k, all.direction + 3 * k);
    rays_cast(device, s->geoms, 0, FAR, &all, NULL);
    if (base)
        compare_with_base(s, &all, sum);
    else
        compare(device, s, &all, sum);
    rays_destroy(&all);
}

static void check_tally(const tally *sum)
{
    print_message("  %d rays, %d hits, %d differ, %d still when moved, %d normals differ, worst error %.2g\n",
                  sum->rays, sum->hits, sum->wrong, sum->lost, sum->turned, sum->worst);
    assert_true(sum->hits > sum->rays / 8);
    assert_true(sum->rays - sum->hits > sum->rays / 50);
    assert_true(sum->wrong <= sum->rays / 200);
    assert_true(sum->turned <= sum->rays / 100);
    assert_int_equal(sum->lost, 0);
}

/* `count` geoms of one kind, `per` rays each. */
static void check(const geom_kind *kind, int count, int per)
{
    random_state r = start(kind->name);
    stet_device *device = make_device(NULL);
    tally sum = {0};
    char *xml = malloc(XML_SIZE);
    assert_non_null(xml);
    for (int i = 0; i < count; ++i) {
        kind->xml(&r, xml, XML_SIZE);
        scene s = scene_create(device, xml);
        cast_and_compare(device, &s, &r, per, false, &sum);
        scene_destroy(&s);
    }
    free(xml);
    stet_device_destroy(device);
    check_tally(&sum);
}

#define COMPARE(type, index, count, per)                                                                               \
    static void test_##type(void **state)                                                                              \
    {                                                                                                                  \
        assert_string_equal(kinds[index].name, #type);                                                                 \
        check(&kinds[index], count, per);                                                                              \
    }
COMPARE(plane, 0, 40, 1000)
COMPARE(sphere, 1, 40, 1000)
COMPARE(capsule, 2, 40, 1000)
COMPARE(ellipsoid, 3, 40, 1000)
COMPARE(cylinder, 4, 40, 1000)
COMPARE(box, 5, 40, 1000)
COMPARE(mesh, 6, 10, 1000)
COMPARE(hfield, 7, 30, 1000)

/*
 * Height fields with one row or one column have walls and a base, and no surface. MuJoCo 3 loads them, MuJoCo 4 does
 * not: here they are made of larger ones, whose further heights MuJoCo's own code reads without using them.
 */
static void test_thin_hfield(void **state)
{
    random_state r = start("thin_hfield");
    stet_device *device = make_device(NULL);
    tally sum = {0};
    char *xml = malloc(XML_SIZE);
    assert_non_null(xml);
    for (int i = 0; i < 30; ++i) {
        stet_model *model;
        kinds[7].xml(&r, xml, XML_SIZE);
        GOOD(stet_model_load_string(xml, &model));
        if (i % 3 != 0) model->mj->hfield_nrow[0] = 1;
        if (i % 3 != 1) model->mj->hfield_ncol[0] = 1;
        scene s = scene_of_model(device, model);
        cast_and_compare(device, &s, &r, 1000, mj_version() >= 4000000, &sum);
        scene_destroy(&s);
    }
    free(xml);
    stet_device_destroy(device);
    check_tally(&sum);
}

/* The double build finds what the float build finds. */
static void test_double(void **state)
{
    random_state r = start("double");
    stet_device *narrow = make_device(NULL), *wide = make_device("f64");
    char *xml = malloc(XML_SIZE);
    assert_true(wide && xml);
    for (int kind = 0; kind < KINDS; ++kind) {
        kinds[kind].xml(&r, xml, XML_SIZE);
        scene a = scene_create(narrow, xml), b = scene_create(wide, xml);
        rays one = rays_create(1000), two = rays_create(1000);
        for (int k = 0; k < one.n; ++k) random_ray(&r, a.bounds, one.origin + 3 * k, one.direction + 3 * k);
        memcpy(two.origin, one.origin, (size_t)one.n * 3 * sizeof(float));
        memcpy(two.direction, one.direction, (size_t)one.n * 3 * sizeof(float));
        rays_cast(narrow, a.geoms, 0, FAR, &one, NULL);
        rays_cast(wide, b.geoms, 0, FAR, &two, NULL);
        int differ = 0;
        for (int i = 0; i < one.n; ++i) {
            double n[3] = {(double)two.normal[3 * i], (double)two.normal[3 * i + 1], (double)two.normal[3 * i + 2]};
            differ +=
                !near_enough((double)one.t[i], (double)two.t[i], &a, one.origin + 3 * i, one.direction + 3 * i, n);
        }
        assert_true(differ <= one.n / 200);
        rays_destroy(&one);
        rays_destroy(&two);
        scene_destroy(&a);
        scene_destroy(&b);
    }
    free(xml);
    stet_device_destroy(narrow);
    stet_device_destroy(wide);
}

/* ---- cones, which MuJoCo has not --------------------------------------------------------------------------------- */

/* Where a ray first meets a cone at t >= 0, by its side and by its base; -1: nowhere. */
static double cone_ray(double radius, double height, const double o[3], const double d[3], double normal[3])
{
    double slope2 = radius * radius / (height * height), w = height - o[2], best = -1;
    double a = d[0] * d[0] + d[1] * d[1] - slope2 * d[2] * d[2];
    double b = 2 * (o[0] * d[0] + o[1] * d[1] + slope2 * w * d[2]), c = o[0] * o[0] + o[1] * o[1] - slope2 * w * w;
    double root = sqrt(b * b - 4 * a * c), base = -o[2] / d[2], x = o[0] + base * d[0], y = o[1] + base * d[1];
    for (int side = -1; side <= 1; side += 2) {
        double t = (-b + side * root) / (2 * a), z = o[2] + t * d[2];
        if (!(t >= 0 && z >= 0 && z <= height) || (best >= 0 && best <= t)) continue;
        best = t;
        for (int k = 0; k < 2; ++k) normal[k] = o[k] + t * d[k];
        normal[2] = slope2 * (height - z);
    }
    if (base >= 0 && x * x + y * y <= radius * radius && (best < 0 || base < best)) {
        best = base;
        normal[0] = normal[1] = 0;
        normal[2] = -1;
    }
    mju_normalize3(normal);
    return best;
}

static void test_cone(void **state)
{
    enum { CONES = 40, RAYS = 500 };
    random_state r = start("cone");
    stet_device *device = make_device(NULL);
    scene s = scene_create(device, "<mujoco><worldbody><geom size='1'/></worldbody></mujoco>");
    int hits = 0, wrong = 0;
    for (int c = 0; c < CONES; ++c) {
        sti_geom_more cone = {.type = STI_GEOM_CONE, .mesh = -1};
        rays all = rays_create(RAYS);
        for (int k = 0; k < 2; ++k) cone.size[k] = (double)(float)random_between(&r, .1, 1.5);
        const double bounds[6] = {0, 0, cone.size[1] / 2, cone.size[0], cone.size[0], cone.size[1] / 2};
        GOOD(sti_geoms_add(s.geoms, &cone, 1));
        for (int i = 0; i < RAYS; ++i) random_ray(&r, bounds, all.origin + 3 * i, all.direction + 3 * i);
        rays_cast(device, s.geoms, s.geoms->nmodel, FAR, &all, NULL);
        for (int i = 0; i < RAYS; ++i) {
            double o[3], d[3], n[3] = {0}, dot = 0;
            for (int k = 0; k < 3; ++k) {
                o[k] = (double)all.origin[3 * i + k];
                d[k] = (double)all.direction[3 * i + k];
            }
            double t = cone_ray(cone.size[0], cone.size[1], o, d, n), ours = (double)all.t[i];
            for (int k = 0; k < 3; ++k) dot += n[k] * (double)all.normal[3 * i + k];
            hits += t >= 0;
            wrong += (t >= 0) != (ours >= 0) || (t >= 0 && (fabs(t - ours) > 1e-4 * (1 + t) || dot < 0.999));
        }
        rays_destroy(&all);
    }
    print_message("  %d rays, %d hits, %d differ\n", CONES * RAYS, hits, wrong);
    assert_true(hits > CONES * RAYS / 8);
    assert_true(wrong <= CONES * RAYS / 500);
    scene_destroy(&s);
    stet_device_destroy(device);
}

int main(int argc, char **argv)
{
    rays_seed(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plane),     cmocka_unit_test(test_sphere),   cmocka_unit_test(test_capsule),
        cmocka_unit_test(test_ellipsoid), cmocka_unit_test(test_cylinder), cmocka_unit_test(test_box),
        cmocka_unit_test(test_mesh),      cmocka_unit_test(test_hfield),   cmocka_unit_test(test_thin_hfield),
        cmocka_unit_test(test_double),    cmocka_unit_test(test_cone),
    };
    return cmocka_run_group_tests_name("geom/ray", tests, NULL, NULL);
}
