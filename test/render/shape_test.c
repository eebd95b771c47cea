/*
 * Shapes that are added to the stage: every buffer shows them as it shows the same geoms of the model, bit for bit, on
 * all devices; world by world they are visible, and coloured; they follow the tree, and leave nothing behind.
 */
#include "render/pictures.h"

#include "stet/sim.h"

#define SCENE(more, plane)                                                                                             \
    "<mujoco><statistic extent='3' center='0 0 .5'/>"                                                                  \
    "<visual><headlight ambient='.3 .3 .3' diffuse='.4 .4 .4'/></visual><asset>"                                       \
    "<texture name='grid' type='2d' builtin='checker' rgb1='.2 .3 .4' rgb2='.9 .8 .5' width='64' height='64'/>"        \
    "<material name='floor' reflectance='.4'/><material name='grid' texture='grid' texrepeat='3 3'/>"                  \
    "<mesh name='wedge' vertex='0 0 0 .5 0 0 0 .4 0 0 0 .6'/></asset><worldbody>"                                      \
    "<light pos='1 -1 4' dir='-.2 .2 -1' diffuse='.5 .5 .5'/><geom type='plane' size='2 2 .1' material='floor'/>"      \
    "<body name='first' pos='-.5 .3 .4'><freejoint/><geom size='.1'/></body>"                                          \
    "<body name='last' pos='.2 0 .5'><freejoint/><geom type='box' size='.1 .2 .1'/>" more                              \
    "</body><body name='board' pos='0 .6 .9'>" plane "</body>"                                                         \
    "<camera pos='0 -3 1.4' xyaxes='1 0 0 0 .4 .9'/></worldbody></mujoco>"
#define GEOMS                                                                                                          \
    "<geom type='mesh' mesh='wedge' material='grid'/>"                                                                 \
    "<geom type='sphere' size='.2' pos='-.9 0 0' rgba='.9 .2 .2 1'/>"                                                  \
    "<geom type='capsule' size='.1 .25' pos='.7 -.2 0' euler='0 40 0' rgba='.2 .3 .9 1'/>"                             \
    "<geom type='ellipsoid' size='.1 .3 .15' pos='-.5 -.3 .2' euler='10 20 30' material='grid'/>"                      \
    "<geom type='cylinder' size='.15 .2' pos='.3 -.5 -.2'/>"                                                           \
    "<geom type='box' size='.3 .05 .3' pos='.1 -.7 .1' euler='0 0 25' rgba='.2 .9 .4 .4'/>"
#define BOARD "<geom type='plane' size='.3 .2 .1' pos='-.2 0 0' euler='40 0 0' material='grid'/>"

enum { NSHAPE = 7, NQ = 14, NWORLD = 3, WIDTH = 61, HEIGHT = 45 };
static const char plain[] = SCENE("", ""), whole[] = SCENE(GEOMS, BOARD);
static const float unmoved[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};

/* ---- the same scene, twice ---- */

/* The i-th of the geoms above, as a shape, and its pose in its body. */
static stet_shape shape_of(const mjModel *m, int i, float local[12])
{
    size_t g = (size_t)(m->ngeom - NSHAPE + i);
    double turn[9];
    stet_shape shape = {.type = (stet_shape_type)m->geom_type[g]};
    memcpy(shape.size, m->geom_size + 3 * g, sizeof shape.size);
    memcpy(shape.rgba, m->geom_rgba + 4 * g, sizeof shape.rgba);
    if (m->geom_matid[g] >= 0) shape.material = mj_id2name(m, mjOBJ_MATERIAL, m->geom_matid[g]);
    memcpy(local, unmoved, sizeof unmoved);
    if (shape.type == STET_SHAPE_MESH) {
        shape.mesh = mj_id2name(m, mjOBJ_MESH, m->geom_dataid[g]);
        return shape;
    }
    mju_quat2Mat(turn, m->geom_quat + 4 * g);
    for (int k = 0; k < 12; ++k)
        local[k] = (float)(k % 4 == 3 ? m->geom_pos[3 * g + (size_t)k / 4] : turn[k / 4 * 3 + k % 4]);
    return shape;
}

static void place_worlds(pictures *p, float step)
{
    stet_array *qpos;
    float values[NWORLD * NQ];
    for (int i = 0; i < NWORLD * NQ; ++i)
        values[i] = (float)p->model->mj->qpos0[i % NQ] + step * (float)(i / NQ) * (i % 7 < 3 ? .05f : .1f);
    OK(stet_worlds_get_array(p->worlds, "qpos", &qpos));
    OK(stet_array_write(qpos, values, sizeof values));
}

static stet_render_mode mode;

static void open_scene(pictures *p, const char *text, const char *isa)
{
    pictures_open(p, text, NWORLD, isa, 2);
    p->mode = mode;
    pictures_model_camera(p, 0, WIDTH, HEIGHT);
    pictures_ready(p);
    place_worlds(p, 1);
}

static int body_prim(const pictures *p, const char *name)
{
    int prim;
    OK(stet_stage_find(p->stage, STET_PRIM_BODY, name, &prim));
    return prim;
}

/* Adds shapes that are the geoms of the whole scene to the plain one; prims [NSHAPE]. */
static void add_shapes(pictures *p, const mjModel *m, int *prims)
{
    for (int i = 0; i < NSHAPE; ++i) {
        float local[12];
        int id;
        stet_shape shape = shape_of(m, i, local);
        int parent = body_prim(p, shape.type == STET_SHAPE_PLANE ? "board" : "last");
        OK(stet_stage_add_shape(p->stage, parent, &shape, local, &prims[i], &id));
        assert_int_equal(id, m->ngeom - NSHAPE + i);
    }
}

static void assert_same(const pictures *a, const pictures *b, int world)
{
    for (int k = 0; k < STI_BUFFER_COUNT; ++k)
        if (pictures_hash(a, (sti_picture_buffer)k, world) != pictures_hash(b, (sti_picture_buffer)k, world))
            fail_msg("buffer %d of world %d differs", k, world);
}

static bool same_depths(const pictures *a, const pictures *b, int world)
{
    return pictures_hash(a, STI_BUFFER_DEPTH, world) == pictures_hash(b, STI_BUFFER_DEPTH, world);
}

static void shapes_look_like_geoms(void **state)
{
    static const char *const isas[] = {"portable", "w1", "avx2", "avx512", NULL};
    for (int i = 0; i < 5; ++i)
        for (int samples = 1; samples <= 4; samples *= 4) {
            sti_isa isa;
            pictures shapes, geoms;
            int prims[NSHAPE];
            if (isas[i] && (!sti_isa_find(isas[i], &isa) || !sti_isa_available(isa))) continue;
            open_scene(&geoms, whole, isas[i]);
            open_scene(&shapes, plain, isas[i]);
            OK(sti_renderer_set_samples(shapes.renderer, samples));
            OK(sti_renderer_set_samples(geoms.renderer, samples));
            pictures_run(&shapes);
            pictures_run(&geoms);
            assert_false(same_depths(&shapes, &geoms, 0));
            add_shapes(&shapes, geoms.model->mj, prims);
            pictures_run(&shapes);
            pictures_run(&geoms); /* so that the motion of both is that of a second picture */
            for (int w = 0; w < NWORLD; ++w) assert_same(&shapes, &geoms, w);
            place_worlds(&shapes, 1.3f);
            place_worlds(&geoms, 1.3f);
            pictures_run(&shapes);
            pictures_run(&geoms);
            for (int w = 0; w < NWORLD; ++w) assert_same(&shapes, &geoms, w);
            pictures_close(&shapes);
            pictures_close(&geoms);
        }
}

/* ---- coming and going ---- */

static void they_leave_nothing_behind(void **state)
{
    pictures p, none;
    int prims[NSHAPE], again, id;
    const stet_shape ball = {.type = STET_SHAPE_SPHERE, .size = {.3}};
    open_scene(&none, whole, NULL);
    open_scene(&p, plain, NULL);
    add_shapes(&p, none.model->mj, prims);
    pictures_close(&none);
    open_scene(&none, plain, NULL);
    pictures_run(&none);
    pictures_run(&p);
    assert_false(same_depths(&p, &none, 0));
    int n = stet_stage_get_nprim(p.stage);
    for (int i = 0; i < NSHAPE; ++i) {
        if (i == 2) continue; /* so that a number in the middle becomes free */
        OK(stet_stage_remove(p.stage, prims[i]));
    }
    assert_int_equal(stet_stage_get_nprim(p.stage), n - NSHAPE + 1);
    OK(stet_stage_add_shape(p.stage, 0, &ball, NULL, &again, &id));
    assert_int_equal(id, p.model->mj->ngeom);
    OK(stet_stage_remove(p.stage, prims[2]));
    OK(stet_stage_remove(p.stage, again));
    pictures_run(&p);
    pictures_run(&none);
    for (int w = 0; w < NWORLD; ++w) assert_same(&p, &none, w);
    pictures_close(&p);
    pictures_close(&none);
}

static void each_world_shows_its_own(void **state)
{
    pictures p, none, all;
    int prims[NSHAPE];
    static const uint8_t one[NWORLD] = {0, 1, 0}, every[NWORLD] = {1, 1, 1};
    open_scene(&all, whole, NULL);
    open_scene(&none, plain, NULL);
    open_scene(&p, plain, NULL);
    add_shapes(&p, all.model->mj, prims);
    for (int i = 0; i < NSHAPE; ++i) OK(stet_stage_show(p.stage, prims[i], 0, NWORLD, one));
    pictures_run(&p);
    pictures_run(&none);
    pictures_run(&all);
    for (int w = 0; w < NWORLD; ++w) assert_same(&p, w == 1 ? &all : &none, w);
    for (int i = 0; i < NSHAPE; ++i) OK(stet_stage_show(p.stage, prims[i], 2, 1, every));
    pictures_run(&p);
    pictures_run(&none);
    pictures_run(&all);
    for (int w = 0; w < NWORLD; ++w) assert_same(&p, w >= 1 ? &all : &none, w); /* what was hidden has no motion */
    pictures_close(&p);
    pictures_close(&none);
    pictures_close(&all);
}

static void each_world_has_its_colour(void **state)
{
    static const float red[4] = {.9f, .1f, .2f, 1}, green[4] = {.1f, .8f, .3f, 1};
    pictures p, q;
    int a, b, ball;
    stet_shape shape = {.type = STET_SHAPE_BOX, .size = {.3, .3, .3}},
               other = {.type = STET_SHAPE_SPHERE, .size = {.2}};
    for (int w = 0; w < 2; ++w) {
        open_scene(&p, plain, NULL);
        open_scene(&q, plain, NULL);
        memcpy(shape.rgba, red, sizeof red);
        OK(stet_stage_add_shape(p.stage, body_prim(&p, "first"), &shape, NULL, &a, NULL));
        if (w == 1) memcpy(shape.rgba, green, sizeof green);
        OK(stet_stage_add_shape(q.stage, body_prim(&q, "first"), &shape, NULL, &b, NULL));
        pictures_run(&p);
        OK(stet_stage_colour(p.stage, a, 1, 1, green));
        pictures_run(&p);
        pictures_run(&q);
        assert_same(&p, &q, w);
        OK(stet_stage_colour(p.stage, a, 1, 1, red)); /* without new tables */
        OK(stet_stage_colour(q.stage, b, 1, 1, red));
        OK(stet_stage_add_shape(p.stage, 0, &other, NULL, &ball, NULL)); /* more rows a world */
        OK(stet_stage_add_shape(q.stage, 0, &other, NULL, &ball, NULL));
        pictures_run(&p);
        pictures_run(&q);
        assert_same(&p, &q, 1);
        pictures_close(&p);
        pictures_close(&q);
    }
}

static void they_follow_the_tree(void **state)
{
    static const float up[12] = {1, 0, 0, .1f, 0, 1, 0, 0, 0, 0, 1, .3f};
    const stet_shape shape = {.type = STET_SHAPE_BOX, .size = {.1, .15, .2}, .rgba = {.9f, .8f, .1f, 1}};
    pictures p, q;
    int frame, box, twin, twin_frame;
    float rows[NWORLD][12], read[12];
    open_scene(&p, plain, NULL);
    open_scene(&q, plain, NULL);
    OK(stet_stage_add(p.stage, 0, "frame", up, false, &frame));
    OK(stet_stage_add_shape(p.stage, frame, &shape, NULL, &box, NULL));
    pictures_run(&p);
    OK(stet_stage_reparent(p.stage, frame, body_prim(&p, "last")));
    OK(stet_stage_add(q.stage, body_prim(&q, "last"), "frame", up, false, &twin_frame));
    OK(stet_stage_add_shape(q.stage, twin_frame, &shape, NULL, &twin, NULL));
    pictures_run(&p);
    pictures_run(&q);
    for (int w = 0; w < NWORLD; ++w)
        for (int k = 0; k < STI_BUFFER_COUNT; ++k)
            if (k != STI_BUFFER_MOTION)
                assert_true(pictures_hash(&p, (sti_picture_buffer)k, w) == pictures_hash(&q, (sti_picture_buffer)k, w));
    OK(stet_stage_read_world(p.stage, box, 1, 1, read)); /* moved in one world alone */
    memcpy(rows[0], up, sizeof up);
    rows[0][3] = -.4f;
    OK(stet_stage_write_local(p.stage, frame, 1, 1, rows[0]));
    pictures_run(&p);
    assert_true(same_depths(&p, &q, 0) && !same_depths(&p, &q, 1) && same_depths(&p, &q, 2));
    OK(stet_stage_remove(p.stage, frame)); /* with what is below it */
    OK(stet_stage_remove(q.stage, twin_frame));
    pictures_run(&p);
    pictures_run(&q);
    for (int w = 0; w < NWORLD; ++w) assert_true(same_depths(&p, &q, w));
    assert_int_equal(stet_stage_read_world(p.stage, box, 0, 1, read), STET_ERROR_INVALID_ARGUMENT);
    pictures_close(&p);
    pictures_close(&q);
}

static void mode_physical_has_the_same(void **state)
{
    mode = STET_RENDER_MODE_PHYSICAL;
    each_world_has_its_colour(state);
    each_world_shows_its_own(state);
    mode = STET_RENDER_MODE_MUJOCO;
}

/* ---- what is refused ---- */

static void refused(stet_result result, const char *part)
{
    if (result == STET_OK || !strstr(stet_get_last_error(), part))
        fail_msg("'%s' instead of '%s'", result ? stet_get_last_error() : "ok", part);
}

static void bad_shapes_are_refused(void **state)
{
    pictures p;
    int prim, other, site;
    const uint8_t two = 2, on = 1;
    const float rgb[3] = {0, 2, 0};
    const stet_shape good = {.type = STET_SHAPE_SPHERE, .size = {.1}, .name = "ball"};
    stet_shape bad = good;
    open_scene(&p, plain, NULL);
    OK(stet_stage_add_shape(p.stage, 0, &good, NULL, &prim, NULL));
    refused(stet_stage_add_shape(p.stage, 0, &good, NULL, &other, NULL), "already called 'ball'");
    bad.name = NULL;
    refused(stet_stage_add_shape(p.stage, prim, &bad, NULL, &other, NULL), "is a shape; choose");
    refused(stet_stage_add_shape(p.stage, 9999, &bad, NULL, &other, NULL), "there is no prim 9999");
    refused(stet_stage_add_shape(p.stage, 0, NULL, NULL, &other, NULL), "give all");
    bad.size[0] = 0;
    refused(stet_stage_add_shape(p.stage, 0, &bad, NULL, &other, NULL), "size[0] is 0");
    bad = (stet_shape){.type = (stet_shape_type)1};
    refused(stet_stage_add_shape(p.stage, 0, &bad, NULL, &other, NULL), "no type 1");
    bad = (stet_shape){.type = STET_SHAPE_MESH};
    refused(stet_stage_add_shape(p.stage, 0, &bad, NULL, &other, NULL), "mesh is NULL");
    bad.mesh = "other";
    refused(stet_stage_add_shape(p.stage, 0, &bad, NULL, &other, NULL), "no mesh 'other'");
    bad = good;
    bad.material = "gold";
    refused(stet_stage_add_shape(p.stage, 0, &bad, NULL, &other, NULL), "no material 'gold'");
    bad = (stet_shape){.type = STET_SHAPE_PLANE, .rgba = {1, 0, 0, 0}};
    refused(stet_stage_add_shape(p.stage, 0, &bad, NULL, &other, NULL), "alpha is 0");
    refused(stet_stage_show(p.stage, prim, 0, 1, &two), "visible[0] is 2");
    refused(stet_stage_show(p.stage, prim, NWORLD, 1, &on), "from world 3 on");
    refused(stet_stage_show(p.stage, 0, 0, 1, &on), "is no shape");
    refused(stet_stage_colour(p.stage, prim, 0, 1, rgb), "g is 2");
    refused(stet_stage_write_local(p.stage, prim, 0, 1, unmoved), "is a shape; move");
    refused(stet_stage_add(p.stage, prim, NULL, unmoved, false, &site), "is a shape; choose");
    refused(stet_stage_get_prim(p.stage, STET_PRIM_SHAPE, 0, &other), "added prims");
    OK(stet_stage_find(p.stage, STET_PRIM_SHAPE, "ball", &other));
    assert_int_equal(other, prim);
    pictures_close(&p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_look_like_geoms),   cmocka_unit_test(they_leave_nothing_behind),
        cmocka_unit_test(each_world_shows_its_own), cmocka_unit_test(each_world_has_its_colour),
        cmocka_unit_test(they_follow_the_tree),     cmocka_unit_test(mode_physical_has_the_same),
        cmocka_unit_test(bad_shapes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
