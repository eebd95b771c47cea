/*
 * Pictures against MuJoCo's own mj_ray, pixel by pixel: random scenes of each type of geom, cameras within and among
 * geoms, and the shipped scenes in random poses. From the near plane on, what a ray meets from its front is seen
 * (MuJoCo's renderer culls back faces), and planes from below, through which mj_ray goes.
 *
 * A pixel agrees if it has the same geom and a depth with a relative error below 1e-5. At least 99.5 % must; each of
 * the rest must have a geom and a depth that mj_ray finds within a tenth of a pixel. Where two surfaces lie in one
 * another (closer than a float can tell), either of them is right; these pixels are counted.
 */
#include "render/pictures.h"

#define TOLERANCE 1e-5
/*
 * Where the near plane lies in a surface, within the rounding of the camera's pose (metres), a ray may start on either
 * side of it.
 */
#define ON_SURFACE 1e-6
#define PAST 1e-7 /* metres behind a back face from where the ray goes on */

typedef struct oracle {
    const mjModel *m;
    mjData *d;
    double eye[3], axes[9]; /* columns right, up, back */
    double size;            /* of a pixel, one metre in front of the camera */
    double near, far;
    const stet_camera *camera;
} oracle;

typedef struct tally {
    int64_t rays, far, bad, hits, flush;
} tally;

/*
 * Where the ray through a place of the picture, in pixels from its upper left corner, meets the near plane, and its
 * unit way; metres of depth for one along it.
 */
static double aim(const oracle *o, double x, double y, double start[3], double way[3])
{
    double u = (x - o->camera->width / 2.0) * o->size, v = (o->camera->height / 2.0 - y) * o->size;
    for (int k = 0; k < 3; ++k) {
        way[k] = o->axes[3 * k] * u + o->axes[3 * k + 1] * v - o->axes[3 * k + 2];
        start[k] = o->eye[k] + o->near * way[k];
    }
    return 1 / mju_normalize3(way);
}

/* From within the hill of a height field mj_ray sees the lid of its base, which is no surface. */
static bool is_lid(const oracle *o, int geom, const double at[3])
{
    double from[3], local[3];
    if (o->m->geom_type[geom] != mjGEOM_HFIELD) return false;
    mju_sub3(from, at, o->d->geom_xpos + 3 * (ptrdiff_t)geom);
    mju_mulMatTVec3(local, o->d->geom_xmat + 9 * (ptrdiff_t)geom, from);
    const double *size = o->m->hfield_size + 4 * (ptrdiff_t)o->m->geom_dataid[geom];
    return fabs(local[2]) < 1e-9 && fabs(local[0]) < size[0] - PAST && fabs(local[1]) < size[1] - PAST;
}

/* How far it is to the nearest plane from below, through which mj_ray goes; -1: there is none. */
static double ask_from_below(const oracle *o, const double at[3], const double way[3], const mjtByte *groups, int *geom)
{
    double nearest = -1;
    for (int g = 0; g < o->m->ngeom; ++g) {
        const double *size = o->m->geom_size + 3 * (ptrdiff_t)g, *mat = o->d->geom_xmat + 9 * (ptrdiff_t)g;
        double from[3], local[3], along[3];
        if (o->m->geom_type[g] != mjGEOM_PLANE || !groups[o->m->geom_group[g]]) continue;
        mju_sub3(from, at, o->d->geom_xpos + 3 * (ptrdiff_t)g);
        mju_mulMatTVec3(local, mat, from);
        mju_mulMatTVec3(along, mat, way);
        double t = -local[2] / along[2];
        bool hit = along[2] > 0 && t >= 0 && (nearest < 0 || t < nearest);
        for (int k = 0; k < 2; ++k) hit = hit && (size[k] <= 0 || fabs(local[k] + t * along[k]) <= size[k]);
        if (!hit) continue;
        nearest = t;
        *geom = g;
    }
    return nearest;
}

/* Depth and geom at a place of the picture. */
static double ask(const oracle *o, double x, double y, int *geom)
{
    static const mjtByte groups[mjNGROUP] = {1, 1, 1, 0, 0, 0};
    double at[3], way[3], normal[3], along = aim(o, x, y, at, way), gone = 0;
    for (;;) {
        int plane = -1;
        double t = mj_ray(o->m, o->d, at, way, groups, 1, -1, geom, normal);
        double under = ask_from_below(o, at, way, groups, &plane);
        if (under >= 0 && (t < 0 || under < t)) {
            t = under;
            *geom = plane;
            mju_scl3(normal, way, -1);
        }
        double depth = o->near + (gone + t) * along;
        if (t < 0 || depth >= o->far) break;
        mju_addToScl3(at, way, t);
        if (mju_dot3(normal, way) < 0 && !is_lid(o, *geom, at)) return depth;
        mju_addToScl3(at, way, PAST);
        gone += t + PAST;
    }
    *geom = -1;
    return INFINITY;
}

/* The absolute part is what rounding a pose to float moves a surface a metre away. */
static bool near(double a, double b) { return a == b || fabs(a - b) <= TOLERANCE * fabs(b) + 6e-8; }

/* Whether mj_ray finds this geom within a tenth of a pixel at this depth, or at depths on both sides of it. */
static bool nearby(const oracle *o, int x, int y, int geom, double depth)
{
    double low = INFINITY, high = -INFINITY;
    double move = 0.1; /* pixels; then less and less, for depths change fast where a surface turns away */
    for (int i = 0; i < 45; ++i) {
        int found;
        double t = ask(o, x + 0.5 + move * (i % 3 - 1), y + 0.5 + move * (i / 3 % 3 - 1), &found);
        if (i % 9 == 8) move /= 10;
        if (found != geom) continue;
        if (near(depth, t)) return true;
        low = fmin(low, t);
        high = fmax(high, t);
    }
    return low <= depth && depth <= high;
}

/*
 * Whether the geom, by itself, is as far away there as the nearest one. Meshes and height fields are not flush with
 * anything here.
 */
static bool flush(const oracle *o, int x, int y, int geom, double nearest)
{
    if (geom < 0 || o->m->geom_type[geom] == mjGEOM_MESH || o->m->geom_type[geom] == mjGEOM_HFIELD) return false;
    double start[3], way[3], along = aim(o, x + 0.5, y + 0.5, start, way);
    double t = mju_rayGeom(o->d->geom_xpos + 3 * geom, o->d->geom_xmat + 9 * geom, o->m->geom_size + 3 * geom, start,
                           way, o->m->geom_type[geom], NULL);
    return t >= 0 && fabs(o->near + t * along - nearest) <= 3e-7 * nearest;
}

static void compare(const pictures *p, const oracle *o, int64_t w, int c, const float *depth, const int *geom,
                    tally *sum)
{
    int64_t first = pictures_first(p, w, c);
    for (int y = 0; y < o->camera->height; ++y) {
        for (int x = 0; x < o->camera->width; ++x) {
            int64_t i = first + (int64_t)y * o->camera->width + x;
            int expected;
            double t = ask(o, x + 0.5, y + 0.5, &expected);
            if (fmin(t, (double)depth[i]) < o->near + ON_SURFACE) continue;
            sum->rays++;
            sum->hits += geom[i] >= 0;
            if (expected == geom[i] && near((double)depth[i], t)) continue;
            sum->far++;
            if (nearby(o, x, y, geom[i], (double)depth[i])) continue;
            if (near((double)depth[i], t) && flush(o, x, y, geom[i], t)) {
                sum->flush++;
                continue;
            }
            if (sum->bad++ < 5)
                print_message("camera %d pixel %d %d: geom %d depth %.9g, mj_ray: geom %d depth %.9g\n", c, x, y,
                              geom[i], (double)depth[i], expected, t);
        }
    }
}

/* All cameras of all worlds; each world's mjData gets the state that its arrays hold. */
static void compare_all(pictures *p, tally *sum)
{
    const mjModel *m = p->model->mj;
    float *depth = pictures_read(p, STI_BUFFER_DEPTH), *qpos = malloc(sizeof(float) * (size_t)(m->nq * p->nworld + 1));
    int *geom = pictures_read(p, STI_BUFFER_GEOM);
    stet_array *array;
    OK(stet_worlds_get_array(p->worlds, "qpos", &array));
    OK(stet_array_read(array, qpos, stet_array_get_bytes(array)));
    oracle o = {.m = m, .d = mj_makeData(m)};
    o.near = (double)m->vis.map.znear * m->stat.extent;
    o.far = (double)m->vis.map.zfar * m->stat.extent;
    for (int64_t w = 0; w < p->nworld; ++w) {
        for (int i = 0; i < (int)m->nq; ++i) o.d->qpos[i] = (double)qpos[w * m->nq + i];
        mj_kinematics(m, o.d);
        for (int c = 0; c < p->ncamera; ++c) {
            float xform[12];
            OK(stet_stage_read_world(p->stage, p->camera[c].prim, w, 1, xform));
            for (int k = 0; k < 12; ++k)
                *(k % 4 == 3 ? &o.eye[k / 4] : &o.axes[3 * (k / 4) + k % 4]) = (double)xform[k];
            o.camera = &p->camera[c];
            o.size = 2 * tan((double)o.camera->fovy * mjPI / 360) / o.camera->height;
            compare(p, &o, w, c, depth, geom, sum);
        }
    }
    mj_deleteData(o.d);
    free(depth);
    free(geom);
    free(qpos);
}

static void assert_agreed(const tally *sum, const char *what)
{
    print_message("%-12s %7lld rays, %5.1f %% hit, %lld differ, of these %lld on flush surfaces, %lld beyond a tenth "
                  "of a pixel\n",
                  what, (long long)sum->rays, 100.0 * (double)sum->hits / (double)sum->rays, (long long)sum->far,
                  (long long)sum->flush, (long long)sum->bad);
    assert_true(sum->flush * 1000 <= sum->rays);
    assert_true(sum->hits > sum->rays / 20);
    assert_true((double)sum->far <= 0.005 * (double)sum->rays);
    assert_int_equal(sum->bad, 0);
}

/* ---- random scenes ----------------------------------------------------------------------------------------------- */

static void random_camera(pictures *p, double radius, const double middle[3], uint64_t *s)
{
    double eye[3], target[3];
    for (int k = 0; k < 3; ++k) {
        eye[k] = middle[k] + radius * dice_in(s, -1, 1);
        target[k] = middle[k] + 0.2 * radius * dice_in(s, -1, 1);
    }
    eye[2] = middle[2] + radius * dice_in(s, 0.1, 1);
    pictures_camera(p, eye, target, (float)dice_in(s, 20, 90), 49, 37);
}

static void check_type(const char *type, int ngeom, double radius)
{
    uint64_t seed = 20250101 + (uint64_t)type[0] * 7 + (uint64_t)type[1];
    print_message("seed %llu\n", (unsigned long long)seed);
    tally sum = {0, 0, 0, 0, 0};
    for (int scene = 0; scene < 4; ++scene) {
        const double middle[3] = {0, 0, 0};
        scene_text t = {.n = 0};
        pictures p;
        add(&t, "<mujoco>");
        add_assets(&t, &seed);
        add(&t, "<worldbody>");
        for (int i = 0; i < ngeom; ++i) add_geom(&t, type, &seed);
        add(&t, "</worldbody></mujoco>");
        pictures_open(&p, t.at, 1, NULL, 1);
        for (int c = 0; c < 6; ++c) random_camera(&p, radius, middle, &seed);
        pictures_ready(&p);
        pictures_run(&p);
        compare_all(&p, &sum);
        pictures_close(&p);
    }
    assert_agreed(&sum, type);
}

#define TYPE_TEST(type, ngeom, radius)                                                                                 \
    static void test_##type(void **state) { check_type(#type, ngeom, radius); }
TYPE_TEST(plane, 40, 5)
TYPE_TEST(hfield, 10, 5)
TYPE_TEST(sphere, 24, 5)
TYPE_TEST(capsule, 24, 5)
TYPE_TEST(ellipsoid, 24, 5)
TYPE_TEST(cylinder, 24, 5)
TYPE_TEST(box, 24, 5)
TYPE_TEST(mesh, 20, 5)

/* More geoms than the kernel looks at together. */
static void test_many_geoms(void **state)
{
    static const char *const types[] = {"box", "sphere", "capsule", "mesh", "cylinder", "ellipsoid"};
    uint64_t seed = 77;
    print_message("seed %llu\n", (unsigned long long)seed);
    const double middle[3] = {0, 0, 0};
    scene_text t = {.n = 0};
    pictures p;
    tally sum = {0, 0, 0, 0, 0};
    add(&t, "<mujoco>");
    add_assets(&t, &seed);
    add(&t, "<worldbody>");
    for (int i = 0; i < 330; ++i) add_geom(&t, types[i % 6], &seed);
    add(&t, "</worldbody></mujoco>");
    pictures_open(&p, t.at, 1, NULL, 1);
    for (int c = 0; c < 4; ++c) random_camera(&p, 4, middle, &seed);
    pictures_ready(&p);
    pictures_run(&p);
    compare_all(&p, &sum);
    pictures_close(&p);
    assert_agreed(&sum, "many");
}

/* Cameras within geoms and among them, near enough that the near plane cuts them. */
static void test_cameras_within(void **state)
{
    static const char *const types[] = {"box", "sphere", "capsule", "mesh", "cylinder", "ellipsoid", "hfield", "plane"};
    uint64_t seed = 20270;
    print_message("seed %llu\n", (unsigned long long)seed);
    tally sum = {0, 0, 0, 0, 0};
    for (int scene = 0; scene < 12; ++scene) {
        scene_text t = {.n = 0};
        pictures p;
        add(&t, "<mujoco><statistic extent='%g'/><visual><map znear='%g' zfar='%g'/></visual>", dice_in(&seed, 0.5, 4),
            dice_in(&seed, 0.01, 0.15), dice_in(&seed, 1, 6));
        add_assets(&t, &seed);
        add(&t, "<worldbody>");
        for (int i = 0; i < 40; ++i) add_geom(&t, types[dice_below(&seed, 8)], &seed);
        add(&t, "</worldbody></mujoco>");
        pictures_open(&p, t.at, 1, NULL, 1);
        for (int c = 0; c < 6; ++c) {
            const double *middle = p.model->mj->geom_pos + 3 * dice_below(&seed, 40);
            random_camera(&p, 0.15, middle, &seed);
        }
        pictures_ready(&p);
        pictures_run(&p);
        compare_all(&p, &sum);
        pictures_close(&p);
    }
    assert_agreed(&sum, "within");
}

/* A ball within a closed mesh shows through in no pixel, whatever the size of the picture and of the triangles. */
static void test_mesh_is_watertight(void **state)
{
    uint64_t seed = 31;
    print_message("seed %llu\n", (unsigned long long)seed);
    scene_text t = {.n = 0};
    pictures p;
    add(&t, "<mujoco><asset><mesh name='ball' vertex='");
    for (int i = 0; i < 900; ++i) {
        double v[3];
        for (int k = 0; k < 3; ++k) v[k] = dice_in(&seed, -1, 1);
        mju_normalize3(v);
        for (int k = 0; k < 3; ++k) add(&t, "%.5f ", v[k]);
    }
    add(&t,
        "'/></asset><worldbody><geom type='mesh' mesh='ball' pos='.3 .2 .1' euler='10 20 30'/><geom size='.9' pos='.3 "
        ".2 .1'/></worldbody></mujoco>");
    pictures_open(&p, t.at, 1, NULL, 2);
    assert_true(p.model->mj->mesh_facenum[0] > 1500);
    for (int c = 0; c < 12; ++c) {
        double eye[3], target[3] = {0.3, 0.2, 0.1};
        for (int k = 0; k < 3; ++k)
            eye[k] = target[k] + (c / 2 % 3 == k ? (c < 6 ? 2 : -2) : 0) + (c % 2 ? dice_in(&seed, -0.3, 0.3) : 0);
        pictures_camera(&p, eye, target, 26, 301, 301);
    }
    pictures_ready(&p);
    pictures_run(&p);
    int *geom = pictures_read(&p, STI_BUFFER_GEOM);
    for (int64_t i = 0; i < p.npixel; ++i) assert_int_equal(geom[i], 0);
    free(geom);
    pictures_close(&p);
}

/* ---- shipped scenes ---------------------------------------------------------------------------------------------- */

/* Joints somewhere in their range, free bodies shifted and turned a little. */
static void random_pose(const mjModel *m, float *qpos, uint64_t *s)
{
    const double *base = m->nkey ? m->key_qpos : m->qpos0;
    for (int i = 0; i < (int)m->nq; ++i) qpos[i] = (float)base[i];
    for (int j = 0; j < (int)m->njnt; ++j) {
        int at = m->jnt_qposadr[j];
        if (m->jnt_type[j] == mjJNT_HINGE || m->jnt_type[j] == mjJNT_SLIDE) {
            double half = m->jnt_limited[j] ? 0.2 * (m->jnt_range[2 * j + 1] - m->jnt_range[2 * j]) : 0.3;
            qpos[at] += (float)dice_in(s, -half, half);
        } else if (m->jnt_type[j] == mjJNT_FREE) {
            double q[4];
            for (int k = 0; k < 3; ++k) qpos[at + k] += (float)dice_in(s, -0.05, 0.05);
            for (int k = 0; k < 4; ++k) q[k] = (double)qpos[at + 3 + k] + dice_in(s, -0.2, 0.2);
            mju_normalize4(q);
            for (int k = 0; k < 4; ++k) qpos[at + 3 + k] = (float)q[k];
        }
    }
}

static void check_scene(const char *name)
{
    enum { NWORLD = 3 };
    char path[512];
    pictures p;
    uint64_t seed = 4711;
    print_message("seed %llu\n", (unsigned long long)seed);
    tally sum = {0, 0, 0, 0, 0};
    (void)snprintf(path, sizeof path, "%s/scenes/%s", STET_TEST_SOURCE_DIR, name);
    pictures_open(&p, path, NWORLD, NULL, 2);
    const mjModel *m = p.model->mj;
    float *qpos = malloc(sizeof(float) * (size_t)(NWORLD * m->nq));
    for (int w = 0; w < NWORLD; ++w) random_pose(m, qpos + w * m->nq, &seed);
    stet_array *array;
    OK(stet_worlds_get_array(p.worlds, "qpos", &array));
    OK(stet_array_write(array, qpos, stet_array_get_bytes(array)));
    free(qpos);
    for (int c = 0; c < (int)m->ncam; ++c) pictures_model_camera(&p, c, 80, 61);
    for (int c = 0; c < 3; ++c) random_camera(&p, 0.8 * m->stat.extent, m->stat.center, &seed);
    pictures_ready(&p);
    pictures_run(&p);
    compare_all(&p, &sum);
    pictures_close(&p);
    assert_agreed(&sum, name);
}

static void test_shipped_scenes(void **state)
{
    static const char *const scenes[] = {"hand.xml",      "humanoid.xml", "quadruped.xml",
                                         "arm_table.xml", "cartpole.xml", "robot.urdf"};
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; ++i) check_scene(scenes[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plane),
        cmocka_unit_test(test_hfield),
        cmocka_unit_test(test_sphere),
        cmocka_unit_test(test_capsule),
        cmocka_unit_test(test_ellipsoid),
        cmocka_unit_test(test_cylinder),
        cmocka_unit_test(test_box),
        cmocka_unit_test(test_mesh),
        cmocka_unit_test(test_many_geoms),
        cmocka_unit_test(test_cameras_within),
        cmocka_unit_test(test_mesh_is_watertight),
        cmocka_unit_test(test_shipped_scenes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
