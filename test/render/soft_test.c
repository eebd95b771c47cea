/*
 * Surfaces that deform: their triangles and normals against those of MuJoCo's own scene (mjv_updateScene) in worlds of
 * random poses, their trees, and the same pixels on all devices. Pixels against MuJoCo's: opengl_test.c.
 */
#include "render/pictures.h"

#include "geom/geom.h"

enum { WORLDS = 5, NODE = 8, TRI = 12, MOST = 400 };
#define NEAR 2e-5 /* metres, and parts of a normal; reals are floats */

static const char scene[] = STET_TEST_SOURCE_DIR "/test/render/looks/soft.xml";

/* ---- triangles --------------------------------------------------------------------------------------------------- */

/* Random positions of all joints, in each world others. */
static void write_positions(pictures *p)
{
    const mjModel *m = p->model->mj;
    stet_array *qpos;
    uint64_t seed = 7;
    OK(stet_worlds_get_array(p->worlds, "qpos", &qpos));
    float *values = calloc((size_t)(p->nworld * m->nq), sizeof *values);
    for (int64_t i = 0; i < p->nworld * m->nq; ++i)
        values[i] = (float)(m->qpos0[i % m->nq] + dice_in(&seed, -.05, .05));
    OK(stet_array_write(qpos, values, stet_array_get_bytes(qpos)));
    free(values);
}

/* MuJoCo's triangles of a surface in a world: of each corner its place and its normal. */
static int list_theirs(const mjModel *m, const mjvScene *s, int object, float (*out)[3][6])
{
    int skin = object - (int)m->nflex, n = skin < 0 ? s->flexfaceused[object] : s->skinfacenum[skin];
    for (int f = 0; f < n; ++f) {
        for (int c = 0; c < 3; ++c) {
            ptrdiff_t at = skin < 0 ? 3 * (s->flexfaceadr[object] + (ptrdiff_t)f) + c
                                    : s->skinvertadr[skin] + m->skin_face[3 * (m->skin_faceadr[skin] + f) + c];
            memcpy(out[f][c], (skin < 0 ? s->flexface : s->skinvert) + 3 * at, 3 * sizeof(float));
            memcpy(out[f][c] + 3, (skin < 0 ? s->flexnormal : s->skinnormal) + 3 * at, 3 * sizeof(float));
        }
    }
    return n;
}

/* The largest difference of two triangles' corners; of normals only those of smooth triangles are compared. */
static double differ(const float *ours, const float *normals, float (*theirs)[6], bool smooth)
{
    double most = 0;
    for (int c = 0; c < 3; ++c)
        for (int k = 0; k < 6; ++k)
            if (k < 3 || smooth)
                most =
                    fmax(most, fabs((double)(k < 3 ? ours[3 * c + k] : normals[3 * c + k - 3]) - (double)theirs[c][k]));
    return most;
}

/* Each of our triangles is one of MuJoCo's, and the other way round. */
static void compare_surface(const sti_soft_surface *surface, const float *rows, bool smooth, float (*theirs)[3][6],
                            int n)
{
    bool found[MOST] = {0};
    assert_int_equal(surface->ntri, n);
    assert_true(n <= MOST);
    for (int i = 0; i < n; ++i) {
        double least = INFINITY;
        int which = -1;
        for (int f = 0; f < n; ++f) {
            double d = differ(rows + TRI * i, rows + TRI * (n + i), theirs[f], smooth);
            if (!found[f] && d < least) least = d, which = f;
        }
        if (!(least < NEAR)) fail_msg("triangle %d of object %d is off by %g", i, surface->object, least);
        found[which] = true;
    }
}

/* A node's box contains its triangles, or its children's boxes, and nothing more. */
static void check_tree(const float *node, const float *tri, int at)
{
    const float *b = node + NODE * at;
    float box[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY};
    bool leaf = b[7] >= 0;
    for (int i = 0; i < (leaf ? (int)b[7] * 3 : 2); ++i) {
        const float *child = node + NODE * ((int)b[6] + i), *v = tri + TRI * ((int)b[6] + i / 3) + i % 3 * 3;
        for (int k = 0; k < 3; ++k) {
            box[k] = fminf(box[k], leaf ? v[k] : child[k]);
            box[3 + k] = fmaxf(box[3 + k], leaf ? v[k] : child[3 + k]);
        }
        if (!leaf) check_tree(node, tri, (int)b[6] + i);
    }
    assert_memory_equal(box, b, sizeof box);
}

/* nsoft: without ropes. */
static void compare_triangles(const char *file, int nobject, int nsoft)
{
    pictures p;
    sti_soft *soft;
    sti_geoms *geoms;
    stet_array *list;
    mjvScene drawn;
    mjvOption option;
    static float theirs[MOST][3][6];
    const int worlds[] = {4, 0, 1, 2, 3};
    const bool all[] = {true, true, true, true, true};
    pictures_open(&p, file, WORLDS, NULL, 1);
    const mjModel *m = p.model->mj;
    assert_int_equal(m->nflex + m->nskin, nobject);
    OK(sti_soft_create(p.device, p.model, all, WORLDS, &soft));
    OK(sti_geoms_create(p.device, p.model, soft, &geoms));
    OK(STI_ARRAY(p.device, "list", STET_DTYPE_INT, false, &list, WORLDS));
    OK(stet_array_write(list, worlds, sizeof worlds));
    write_positions(&p);
    OK(sti_geoms_deform(geoms, soft, sti_stage_world(p.stage), list, WORLDS));
    float *node = malloc(stet_array_get_bytes(geoms->node)), *tri = malloc(stet_array_get_bytes(geoms->tri));
    OK(stet_array_read(geoms->node, node, stet_array_get_bytes(geoms->node)));
    OK(stet_array_read(geoms->tri, tri, stet_array_get_bytes(geoms->tri)));
    stet_array *qpos;
    OK(stet_worlds_get_array(p.worlds, "qpos", &qpos));
    float *positions = malloc(stet_array_get_bytes(qpos));
    OK(stet_array_read(qpos, positions, stet_array_get_bytes(qpos)));
    mjData *d = mj_makeData(m);
    mjv_defaultScene(&drawn);
    mjv_makeScene(m, &drawn, 100);
    mjv_defaultOption(&option);
    for (int w = 0; w < WORLDS; ++w) {
        mjvCamera view;
        for (int i = 0; i < (int)m->nq; ++i) d->qpos[i] = (double)positions[w * m->nq + i];
        mj_forward(m, d);
        mjv_defaultFreeCamera(m, &view);
        mjv_updateScene(m, d, &option, NULL, &view, mjCAT_ALL, &drawn);
        assert_int_equal(soft->n, nsoft);
        for (int i = 0; i < soft->n; ++i) {
            const sti_soft_surface *s = &soft->surface[i];
            const float *rows = tri + (ptrdiff_t)TRI * (geoms->own_tri + w * soft->ntri + s->first_tri);
            bool smooth = s->object >= m->nflex || (m->flex_dim[s->object] == 3 && !m->flex_flatskin[s->object]);
            compare_surface(s, rows, smooth, theirs, list_theirs(m, &drawn, s->object, theirs));
            check_tree(node + (ptrdiff_t)NODE * (geoms->own_node + w * soft->nnode + s->first_node), rows, 0);
        }
    }
    mjv_freeScene(&drawn);
    mj_deleteData(d);
    free(positions);
    free(node);
    free(tri);
    stet_array_destroy(list);
    sti_geoms_destroy(geoms);
    sti_soft_destroy(soft);
    pictures_close(&p);
}

static void triangles_are_those_of_mujoco(void **state)
{
    compare_triangles(scene, 5, 4);
    compare_triangles(STET_TEST_SOURCE_DIR "/test/render/looks/nodes.xml", 5, 5);
}

/* ---- pixels ------------------------------------------------------------------------------------------------------ */

/* Bodies turned and moved by small numbers, the same on every machine; a world's second vertex may be nowhere. */
static void write_poses(pictures *p, int first, int broken)
{
    const mjModel *m = p->model->mj;
    size_t nbody = (size_t)m->nbody;
    float *pos = calloc((size_t)p->nworld * nbody * 3, sizeof *pos);
    float *quat = calloc((size_t)p->nworld * nbody * 4, sizeof *quat);
    for (size_t w = 0; w < (size_t)p->nworld; ++w) {
        for (size_t b = 0; b < nbody; ++b) {
            unsigned h = ((unsigned)w + (unsigned)first) * (unsigned)b * 2654435761u;
            bool last = b + 2 >= nbody; /* those of the skin */
            int place[3] = {10 + (int)(h & 3), (int)b * 6 - (int)nbody * 6 + 8, 10};
            for (size_t k = 0; k < 3 && b > 0; ++k) {
                if (!last) place[k] = (int)(h >> (5 * k) & 15) - 8 + (int)(b * (5 + k) % 23);
                pos[3 * (w * nbody + b) + k] = (float)place[k] / 16;
            }
            quat[4 * (w * nbody + b)] = last ? 0.75f : 1;
            quat[4 * (w * nbody + b) + 1] = last ? 0.6614378f : 0;
        }
    }
    if (broken >= 0) pos[3 * ((size_t)broken * nbody + 8)] = NAN;
    pictures_take_poses(p, pos, quat);
}

static void open_scene(pictures *p, int first, int64_t nworld, const char *isa, int threads, int broken)
{
    pictures_open(p, scene, nworld, isa, threads);
    pictures_model_camera(p, 0, 70, 50);
    pictures_model_camera(p, 2, 40, 40);
    pictures_ready(p);
    write_poses(p, first, broken);
    pictures_run(p);
}

static uint64_t hash_world(const pictures *p, int64_t world)
{
    uint64_t sum = 0;
    for (int b = 0; b < STI_BUFFER_CAST; ++b) sum = sum * 31 + pictures_hash(p, (sti_picture_buffer)b, world);
    return sum;
}

static void kf56_pixels_show_each_worlds_own_meshes(void **state)
{
    static const struct {
        const char *isa;
        int threads, first, nworld;
    } cases[] = {{NULL, 1, 0, 9}, {NULL, 2, 3, 3}, {"portable", 1, 3, 1}, {"portable", 2, 0, 5}};
    const uint64_t golden = 0x99228962cdfe0bb0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        pictures p;
        open_scene(&p, cases[i].first, cases[i].nworld, cases[i].isa, cases[i].threads, -1);
        uint64_t third = hash_world(&p, 3 - cases[i].first);
        if (third != golden) fail_msg("case %zu: hash 0x%016llx", i, (unsigned long long)third);
        if (cases[i].nworld > 3) assert_true(hash_world(&p, 2 - cases[i].first) != golden);
        pictures_close(&p);
    }
}

/* A vertex that is nowhere takes its triangles away, in its world alone; the others are where they were. */
static void nan_stays_in_its_world(void **state)
{
    pictures whole, broken;
    open_scene(&whole, 0, 3, NULL, 1, -1);
    open_scene(&broken, 0, 3, NULL, 1, 1);
    int *a = pictures_read(&whole, STI_BUFFER_GEOM), *b = pictures_read(&broken, STI_BUFFER_GEOM);
    int cloth[2] = {0}, skin[2] = {0};
    for (int64_t i = 0; i < 3 * whole.npixel; ++i) {
        if (i / whole.npixel != 1) {
            assert_int_equal(a[i], b[i]);
            continue;
        }
        cloth[0] += a[i] == -3;
        cloth[1] += b[i] == -3;
        skin[0] += a[i] == -6;
        skin[1] += b[i] == -6;
    }
    print_message("pixels of the cloth: %d, with a vertex that is nowhere: %d\n", cloth[0], cloth[1]);
    assert_true(cloth[1] > 0 && cloth[1] < cloth[0]);
    assert_true(skin[0] > 0 && skin[1] >= skin[0]);
    free(a);
    free(b);
    pictures_close(&whole);
    pictures_close(&broken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(triangles_are_those_of_mujoco),
        cmocka_unit_test(kf56_pixels_show_each_worlds_own_meshes),
        cmocka_unit_test(nan_stays_in_its_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
