#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "geom/rays.h"

#include "device/reals.h"
#include "geom/bvh.h"
#include "kernel/record/launch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const sti_kernel sti_k_ray_probe;

static uint64_t seed = 20261;

void rays_seed(int argc, char **argv)
{
    if (argc > 1) seed = strtoull(argv[1], NULL, 10);
}

random_state start(const char *test)
{
    random_state r = {seed};
    print_message("%s: seed %llu\n", test, (unsigned long long)seed);
    return r;
}

uint64_t random_bits(random_state *r)
{
    uint64_t z = r->s += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

double random_between(random_state *r, double low, double high)
{
    return low + (high - low) * (double)(random_bits(r) >> 11) * 0x1p-53;
}

void random_direction(random_state *r, double d[3])
{
    double length = 0;
    while (length < 0.01 || length > 1) {
        for (int k = 0; k < 3; ++k) d[k] = random_between(r, -1, 1);
        length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    }
    for (int k = 0; k < 3; ++k) d[k] /= length;
}

stet_device *make_device(const char *isa)
{
    stet_device_def def = stet_default_device_def();
    def.type = STET_DEVICE_CPU;
    def.isa = isa;
    def.threads = 1;
    stet_device *device = NULL;
    stet_result result = stet_device_create(&def, &device);
    if (result == STET_ERROR_UNSUPPORTED || result == STET_ERROR_NOT_FOUND) return NULL;
    GOOD(result);
    return device;
}

rays rays_create(int n)
{
    size_t size = (size_t)n * sizeof(float);
    rays r = {n, malloc(3 * size), malloc(3 * size), malloc(size), malloc(3 * size)};
    assert_true(r.origin && r.direction && r.t && r.normal);
    return r;
}

void rays_destroy(rays *r)
{
    free(r->origin);
    free(r->direction);
    free(r->t);
    free(r->normal);
}

/* Writes floats to an array, and reads them back, whatever the device's real is. */
static void write_reals(stet_array *array, const float *from, int n)
{
    if (array->device->real_size == sizeof(float)) {
        GOOD(stet_array_write(array, from, (size_t)n * sizeof *from));
        return;
    }
    double *wide = malloc((size_t)n * sizeof *wide);
    assert_non_null(wide);
    for (int i = 0; i < n; ++i) wide[i] = (double)from[i];
    GOOD(stet_array_write(array, wide, (size_t)n * sizeof *wide));
    free(wide);
}

static void read_reals(const stet_array *array, float *to, int n)
{
    for (int i = 0; i < n; ++i) to[i] = (float)reals_get(array, 0, i);
}

void rays_cast(stet_device *device, const sti_geoms *geoms, int geom, float tmax, rays *r, uint64_t *hash)
{
    stet_array *origin, *direction, *t, *normal;
    GOOD(STI_ARRAY(device, "origin", STET_DTYPE_REAL, false, &origin, r->n * 3));
    GOOD(STI_ARRAY(device, "direction", STET_DTYPE_REAL, false, &direction, r->n * 3));
    GOOD(STI_ARRAY(device, "t", STET_DTYPE_REAL, false, &t, r->n));
    GOOD(STI_ARRAY(device, "normal", STET_DTYPE_REAL, false, &normal, r->n * 3));
    write_reals(origin, r->origin, r->n * 3);
    write_reals(direction, r->direction, r->n * 3);
    GOOD(STI_LAUNCH(sti_k_ray_probe, device, (r->n + 63) / 64, sti_arg_array(geoms->type), sti_arg_array(geoms->size),
                    sti_arg_array(geoms->data), sti_arg_array(geoms->node), sti_arg_array(geoms->tri),
                    sti_arg_array(geoms->elevation), sti_arg_array(origin), sti_arg_array(direction), sti_arg_int(r->n),
                    sti_arg_real((double)tmax), sti_arg_array(t), sti_arg_array(normal), sti_arg_int(geom)));
    read_reals(t, r->t, r->n);
    read_reals(normal, r->normal, r->n * 3);
    uint64_t a, b;
    GOOD(stet_array_hash(t, &a));
    GOOD(stet_array_hash(normal, &b));
    if (hash) *hash = a * 31 + b;
    stet_array *arrays[] = {origin, direction, t, normal};
    for (int i = 0; i < 4; ++i) stet_array_destroy(arrays[i]);
}

void aim(rays *r, int i, const double from[3], const double at[3])
{
    for (int k = 0; k < 3; ++k) {
        r->origin[3 * i + k] = (float)from[k];
        r->direction[3 * i + k] = (float)(at[k] - from[k]);
    }
}

void random_ray(random_state *r, const double bounds[6], float *o, float *d)
{
    double way[3], reach = 0;
    for (int k = 0; k < 3; ++k) reach = fmax(reach, fmin(bounds[3 + k], 3));
    double kind = random_between(r, 0, 1), distance = reach * (kind < 0.25 ? 0.4 : kind < 0.8 ? 4 : 40);
    random_direction(r, way);
    double length = random_between(r, 0.5, 2);
    int axis = random_bits(r) % 16 == 0 ? (int)(random_bits(r) % 3) : -1;
    for (int k = 0; k < 3; ++k) {
        double target = bounds[k] + random_between(r, -1.1, 1.1) * fmin(bounds[3 + k], 3);
        double from =
            axis < 0 ? target - way[k] * random_between(r, 0.5, 1) * distance : target - (axis == k ? distance : 0);
        o[k] = (float)from;
        d[k] = (float)((target - from) * length / distance);
    }
}

/* ---- scenes ------------------------------------------------------------------------------------------------------ */

scene scene_create(stet_device *device, const char *xml)
{
    stet_model *model;
    GOOD(stet_model_load_string(xml, &model));
    return scene_of_model(device, model);
}

scene scene_of_model(stet_device *device, stet_model *model)
{
    scene s = {.model = model};
    s.data = mj_makeData(s.model->mj);
    mj_kinematics(s.model->mj, s.data);
    GOOD(sti_geoms_create(device, s.model, NULL, &s.geoms));
    s.reach = 0;
    for (int k = 0; s.geoms->ngeom > 0 && k < 6; ++k) {
        s.bounds[k] = reals_get(s.geoms->bounds, 0, k);
        s.reach = fmax(s.reach, fmin(fabs(s.bounds[k]), 3));
    }
    return s;
}

void scene_destroy(scene *s)
{
    sti_geoms_destroy(s->geoms);
    mj_deleteData(s->data);
    stet_model_destroy(s->model);
}

bool near_enough(double ours, double theirs, const scene *s, const float *o, const float *d, const double n[3])
{
    if (theirs < 0 || ours < 0) return theirs < 0 && ours < 0;
    double size = s->reach, across = 0;
    for (int k = 0; k < 3; ++k) {
        size = fmax(size, fabs((double)o[k]));
        across += (double)d[k] * n[k];
    }
    double apart = fabs(ours - theirs);
    return apart <= 1e-5 * theirs || apart * fabs(across) <= 4 * 0x1p-23 * size;
}

/* ---- surfaces ---------------------------------------------------------------------------------------------------- */

/* The vertex in the middle of an edge; each edge's is made once. */
static int middle(surface *s, int *made, int *nmade, int a, int b)
{
    int low = a < b ? a : b, high = a < b ? b : a;
    for (int i = 0; i < *nmade; ++i)
        if (made[3 * i] == low && made[3 * i + 1] == high) return made[3 * i + 2];
    int v = s->nvertex++;
    float *p = s->vertices + 3 * v, length = 0;
    for (int k = 0; k < 3; ++k) {
        p[k] = s->vertices[3 * a + k] + s->vertices[3 * b + k];
        length += p[k] * p[k];
    }
    for (int k = 0; k < 3; ++k) p[k] /= sqrtf(length);
    int *m = made + 3 * (*nmade)++;
    m[0] = low;
    m[1] = high;
    m[2] = v;
    return v;
}

static void split(surface *s)
{
    int nmirror = s->nmirror, nmade = 0, *old = s->faces, *made = malloc((size_t)nmirror * 9 * sizeof *made);
    s->faces = malloc((size_t)nmirror * 12 * sizeof *s->faces);
    assert_true(made && s->faces);
    for (int f = 0; f < nmirror; ++f) {
        const int *v = old + 3 * f;
        int ab = middle(s, made, &nmade, v[0], v[1]), bc = middle(s, made, &nmade, v[1], v[2]),
            ca = middle(s, made, &nmade, v[2], v[0]);
        int four[12] = {v[0], ab, ca, v[1], bc, ab, v[2], ca, bc, ab, bc, ca};
        memcpy(s->faces + 12 * f, four, sizeof four);
    }
    s->nmirror = 4 * nmirror;
    free(made);
    free(old);
}

surface ball_create(random_state *r, int level, double bump)
{
    /* An octahedron, split. */
    static const float corners[18] = {1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1};
    static const int sides[24] = {0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5};
    int nmirror = 8 << 2 * level;
    surface s = {6, 8, malloc((size_t)(nmirror / 2 + 2) * 3 * sizeof *s.vertices), malloc(sizeof sides)};
    assert_true(s.vertices && s.faces);
    memcpy(s.vertices, corners, sizeof corners);
    memcpy(s.faces, sides, sizeof sides);
    for (int i = 0; i < level; ++i) split(&s);
    assert_int_equal(s.nvertex, nmirror / 2 + 2);
    for (int v = 0; v < s.nvertex; ++v) {
        float scale = (float)(1 + random_between(r, -bump, bump));
        for (int k = 0; k < 3; ++k) s.vertices[3 * v + k] *= scale;
    }
    return s;
}

void surface_destroy(surface *s)
{
    free(s->vertices);
    free(s->faces);
}

static stet_array *ints(stet_device *device, const char *name, const int *from, int n)
{
    stet_array *array;
    GOOD(STI_ARRAY(device, name, STET_DTYPE_INT, false, &array, n));
    GOOD(stet_array_write(array, from, (size_t)n * sizeof *from));
    return array;
}

static stet_array *reals(stet_device *device, const char *name, const float *from, int n)
{
    stet_array *array;
    GOOD(STI_ARRAY(device, name, STET_DTYPE_REAL, false, &array, n > 0 ? n : 1));
    if (n > 0) write_reals(array, from, n);
    return array;
}

sti_geoms *surface_geoms(stet_device *device, const surface *s)
{
    sti_bvh bvh;
    GOOD(sti_bvh_triangles(s->vertices, s->faces, s->nmirror, "surface", &bvh));
    float *tri = calloc((size_t)s->nmirror + 1, 12 * sizeof *tri);
    assert_non_null(tri);
    for (int i = 0; i < s->nmirror; ++i)
        for (int v = 0; v < 3; ++v)
            memcpy(tri + 12 * i + 3 * v, s->vertices + 3 * s->faces[3 * bvh.order[i] + v], 3 * sizeof *tri);
    sti_geoms *geoms;
    GOOD(sti_alloc(&geoms, sizeof *geoms, "geoms"));
    geoms->ngeom = 1;
    geoms->type = ints(device, "type", (const int[]){mjGEOM_MESH}, 1);
    geoms->data = ints(device, "data", (const int[]){0, 0, 0, 0}, 4);
    geoms->size = reals(device, "size", (const float[]){0, 0, 0, 0}, 4);
    geoms->bounds = reals(device, "bounds", (const float[]){0, 0, 0, 0, 0, 0}, 6);
    geoms->node = reals(device, "node", bvh.node->lower, bvh.nnode * 8);
    geoms->tri = reals(device, "tri", tri, s->nmirror * 12);
    geoms->elevation = reals(device, "elevation", NULL, 0);
    free(tri);
    sti_bvh_free(&bvh);
    return geoms;
}
