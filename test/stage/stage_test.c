/* The stage against MuJoCo's own kinematics, at every width, and what it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "scene.h"

/* Each mode of cameras and lights, bodies that cannot move under the world, and one moved by a mocap body. */
#define TRACKING                                                                                                       \
    "<mujoco><worldbody><camera name='aims' pos='3 1 2' mode='targetbody' target='b2'/>"                               \
    "<camera name='aims_com' pos='3 -1 2' mode='targetbodycom' target='b1'/>"                                          \
    "<light name='l_aims' pos='2 0 3' mode='targetbody' target='b1'/>"                                                 \
    "<body name='still' pos='1 2 3' euler='10 20 30'><geom size='.1' pos='.1 .2 .3' euler='5 6 7'/>"                   \
    "<body name='still2' pos='1 0 0' euler='40 0 0'><site name='s0' pos='0 1 0' quat='1 2 3 4'/></body></body>"        \
    "<body name='hand' mocap='true' pos='0 1 0'><geom type='box' size='.1 .2 .3' contype='0' conaffinity='0'/>"        \
    "<body name='hand2' pos='0 0 1'><geom size='.2' contype='0' conaffinity='0'/></body></body>"                       \
    "<body name='b1' pos='.5 0 1'><freejoint/><geom type='box' size='.1 .2 .3' pos='.1 0 0'/>"                         \
    "<camera name='fixed' pos='0 -1 0' euler='90 0 0'/><camera name='track' pos='0 -1 .5' euler='80 0 0' "             \
    "mode='track'/>"                                                                                                   \
    "<camera name='com' pos='0 -1.5 .5' euler='70 0 0' mode='trackcom'/>"                                              \
    "<camera name='no_aim' pos='0 0 1' euler='0 0 30'/>"                                                               \
    "<light name='l_fixed' pos='0 0 1' dir='0 1 -1'/><light name='l_track' pos='0 0 2' dir='1 0 -1' mode='track'/>"    \
    "<light name='l_com' pos='0 .5 2' dir='0 0 -1' mode='trackcom'/>"                                                  \
    "<light name='l_aims_com' pos='.3 .4 2' mode='targetbodycom' target='b2'/>"                                        \
    "<body name='b2' pos='.4 0 0'><joint type='ball'/><geom type='capsule' size='.05 .2' pos='0 0 .2'/>"               \
    "<body name='b3' pos='0 0 .4'><joint axis='0 1 0'/><geom type='ellipsoid' size='.1 .05 .2' euler='0 0 45'/>"       \
    "<site name='tip' pos='0 0 .3' euler='1 2 3'/><camera name='body_aims' pos='0 .2 .1' mode='targetbody' "           \
    "target='b1'/>"                                                                                                    \
    "</body></body></body></worldbody></mujoco>"

static double worst; /* of the present scene */

/*
 * What camera `index` may be off by. One that aims has axes from where it and its target are, the first across both the
 * vertical and the way to it: the nearer they are to being above each other, the more their roundings turn it.
 */
static double camera_tolerance(const mjModel *m, const mjData *d, int index)
{
    const double *eye = d->cam_xpos + 3 * index;
    int target = m->cam_targetbodyid[index], mode = m->cam_mode[index];
    if ((mode != mjCAMLIGHT_TARGETBODY && mode != mjCAMLIGHT_TARGETBODYCOM) || target < 0) return 1e-5;
    const double *at = (mode == mjCAMLIGHT_TARGETBODY ? d->xpos : d->subtree_com) + 3 * target;
    return 1e-5 * fmax(1, 0.1 / hypot(at[0] - eye[0], at[1] - eye[1]));
}

static void check(const scene *s, stet_prim_kind kind, int index, int64_t w, const double *pos, const double *mat,
                  double tolerance)
{
    float got[12];
    double wanted[12];
    compose(pos, mat, wanted);
    int prim = prim_of(s, kind, index);
    must(stet_stage_read_world(s->stage, prim, w, 1, got));
    double d = difference(got, wanted);
    if (!(d <= tolerance)) fail_msg("world %d, kind %d, index %d: off by %g", (int)w, (int)kind, index, d);
    worst = fmax(worst, d * 1e-5 / tolerance);
}

static void check_light(const scene *s, int index, int64_t w, const mjData *d)
{
    float got[12];
    must(stet_stage_read_world(s->stage, prim_of(s, STET_PRIM_LIGHT, index), w, 1, got));
    double z[3], length = 0, square = 0;
    for (int i = 0; i < 3; i++) {
        z[i] = -(double)got[i * 4 + 2];
        assert_true(fabs((double)got[i * 4 + 3] - d->light_xpos[3 * index + i]) <=
                    1e-5 * (1 + fabs(d->light_xpos[3 * index + i])));
        assert_true(fabs(z[i] - d->light_xdir[3 * index + i]) <= 1e-5);
        length += z[i] * z[i];
        square += (double)got[i * 4] * (double)got[i * 4 + 1] + (double)got[i * 4 + 1] * (double)got[i * 4 + 2];
    }
    assert_true(fabs(length - 1) <= 1e-5 && fabs(square) <= 1e-5);
}

static void check_world(const scene *s, int64_t w)
{
    const mjModel *m = s->model->mj;
    mjData *d = scene_reference(s, w);
    for (int i = 0; i < m->nbody; i++) check(s, STET_PRIM_BODY, i, w, d->xpos + 3 * i, d->xmat + 9 * i, 1e-5);
    for (int i = 0; i < m->ngeom; i++) check(s, STET_PRIM_GEOM, i, w, d->geom_xpos + 3 * i, d->geom_xmat + 9 * i, 1e-5);
    for (int i = 0; i < m->nsite; i++) check(s, STET_PRIM_SITE, i, w, d->site_xpos + 3 * i, d->site_xmat + 9 * i, 1e-5);
    for (int i = 0; i < m->ncam; i++)
        check(s, STET_PRIM_CAMERA, i, w, d->cam_xpos + 3 * i, d->cam_xmat + 9 * i, camera_tolerance(m, d, i));
    for (int i = 0; i < m->nlight; i++) check_light(s, i, w, d);
    /* A body's local transform, worked out backwards, leads forward to its world transform again. */
    for (int i = 1; i < m->nbody; i++) {
        double parent[12], local[12], wanted[12];
        float got[12];
        must(stet_stage_read_local(s->stage, prim_of(s, STET_PRIM_BODY, i), w, 1, got));
        for (int k = 0; k < 12; k++) local[k] = (double)got[k];
        compose(d->xpos + 3 * m->body_parentid[i], d->xmat + 9 * m->body_parentid[i], parent);
        mul(parent, local, local);
        compose(d->xpos + 3 * i, d->xmat + 9 * i, wanted);
        for (int k = 0; k < 12; k++) got[k] = (float)local[k];
        assert_true(difference(got, wanted) <= 1e-5);
    }
    mj_deleteData(d);
}

static void check_scene(const scene_def *def, const char *name, uint64_t seed)
{
    scene s = scene_open(def);
    worst = 0;
    for (int round = 0; round < 3; round++) {
        scene_randomise(&s, seed + (uint64_t)round);
        for (int64_t w = 0; w < def->nworld; w++) check_world(&s, w);
    }
    printf("%s: largest relative difference %.2g\n", name, worst);
    scene_close(&s);
}

static const char *const shipped[] = {"arm_table.xml", "cartpole.xml",  "hand.xml",
                                      "humanoid.xml",  "quadruped.xml", "robot.urdf"};

static void shipped_scenes_match_mujoco(void **state)
{
    uint64_t seed = dice_seed("shipped scenes");
    for (size_t i = 0; i < sizeof shipped / sizeof *shipped; i++) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/scenes/%s", STET_TEST_SOURCE_DIR, shipped[i]);
        check_scene(&(scene_def){.path = path, .nworld = 5}, shipped[i], seed);
    }
}

static void every_tracking_mode_matches_mujoco(void **state)
{
    uint64_t seed = dice_seed("tracking");
    check_scene(&(scene_def){.xml = TRACKING, .nworld = 37}, "tracking", seed);
    check_scene(&(scene_def){.xml = TRACKING, .nworld = 2, .isa = "portable"}, "tracking, portable", seed);
}

static void mocap_bodies_move(void **state)
{
    scene s = scene_open(&(scene_def){.xml = TRACKING, .nworld = 3});
    float before[12], after[12], there[3] = {4, 5, 6};
    int prim = prim_of(&s, STET_PRIM_GEOM, 2); /* under the body under the mocap body */
    must(stet_stage_read_world(s.stage, prim, 1, 1, before));
    must(stet_array_write_worlds(scene_field(&s, "mocap_pos"), 1, 1, there, sizeof there));
    must(stet_stage_read_world(s.stage, prim, 1, 1, after));
    for (int i = 0; i < 3; i++) assert_true(fabsf(before[i * 4 + 3] - (float[]){0, 1, 1}[i]) < 1e-6f);
    for (int i = 0; i < 3; i++) assert_true(fabsf(after[i * 4 + 3] - (float[]){4, 5, 7}[i]) < 1e-6f);
    scene_close(&s);
}

/* Prims below a camera that follows a body go with it. */
static void prims_follow_tracking_cameras(void **state)
{
    scene s = scene_open(&(scene_def){.xml = TRACKING, .nworld = 3});
    const char *const names[] = {"aims", "track", "com", "body_aims"};
    const float frame[12] = {0, -2, 0, 1, 1, 0, .5f, 2, 0, 0, 1.5f, 3};
    int added[4];
    for (int i = 0; i < 4; i++)
        must(stet_stage_add(s.stage, prim_named(&s, STET_PRIM_CAMERA, names[i]), names[i], frame, false, &added[i]));
    for (uint64_t round = 0; round < 4; round++) {
        scene_randomise(&s, round);
        mjData *d = scene_reference(&s, 2);
        for (int i = 0; i < 4; i++) {
            int c = mj_name2id(s.model->mj, mjOBJ_CAMERA, names[i]);
            double local[12], wanted[12];
            float got[12];
            for (int k = 0; k < 12; k++) local[k] = (double)frame[k];
            compose(d->cam_xpos + 3 * c, d->cam_xmat + 9 * c, wanted);
            mul(wanted, local, wanted);
            must(stet_stage_read_world(s.stage, added[i], 2, 1, got));
            assert_true(difference(got, wanted) < 1e-5);
        }
        mj_deleteData(d);
    }
    scene_close(&s);
}

/* Hashes of local and world transforms after a few moves, some prims added. */
static void hash_of(const scene_def *def, uint64_t seed, uint64_t out[2])
{
    scene s = scene_open(def);
    int a, b;
    const float frame[12] = {0, -2, 0, 1, 1, 0, .5f, 2, 0, 0, 1.5f, 3};
    must(stet_stage_add(s.stage, prim_named(&s, STET_PRIM_BODY, "b3"), "a", frame, false, &a));
    must(stet_stage_add(s.stage, a, "b", frame, true, &b));
    for (uint64_t round = 0; round < 3; round++) {
        scene_randomise(&s, seed + round);
        must(stet_stage_flush(s.stage, false));
    }
    out[0] = local_hash(&s);
    out[1] = world_hash(&s);
    scene_close(&s);
}

static void every_width_and_thread_count_has_the_same_bits(void **state)
{
    static const char *const isas[] = {"portable", "w1", "avx2", "avx512"};
    uint64_t seed = dice_seed("widths"), first[2] = {0, 0};
    int compared = 0;
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        sti_isa isa;
        if (!sti_isa_find(isas[i], &isa) || !sti_isa_available(isa)) continue;
        for (int threads = 1; threads <= 3; threads++) {
            uint64_t hash[2];
            hash_of(&(scene_def){.xml = TRACKING, .nworld = 37, .isa = isas[i], .threads = threads}, seed, hash);
            if (compared++ == 0) memcpy(first, hash, sizeof hash);
            assert_memory_equal(first, hash, sizeof hash);
        }
    }
    assert_true(compared >= 6);
    assert_true(first[0] != first[1]);
}

static void a_double_build_agrees(void **state)
{
    uint64_t seed = dice_seed("double");
    scene f = scene_open(&(scene_def){.xml = TRACKING, .nworld = 3});
    scene d = scene_open(&(scene_def){.xml = TRACKING, .nworld = 3, .isa = "f64"});
    stet_array *qf = scene_field(&f, "qpos"), *qd = scene_field(&d, "qpos"), *w = NULL;
    scene_randomise(&f, seed);
    size_t n = (size_t)stet_array_get_nelement(qf);
    float *values = calloc(n, sizeof *values);
    double *wide = calloc(n, sizeof *wide);
    must(stet_array_read(qf, values, n * sizeof *values));
    for (size_t i = 0; i < n; i++) wide[i] = (double)values[i];
    must(stet_array_write(qd, wide, n * sizeof *wide));
    free(values);
    free(wide);
    must(stet_stage_get_arrays(d.stage, NULL, &w));
    size_t capacity = (size_t)stet_stage_get_capacity(d.stage), size = stet_array_get_bytes(w);
    double *wanted = calloc(size, 1);
    must(stet_array_read(w, wanted, size));
    for (int64_t i = 0; i < 3; i++)
        for (size_t p = 0; p < capacity; p++) {
            float got[12];
            must(stet_stage_read_world(f.stage, (int)p, i, 1, got));
            assert_true(difference(got, wanted + ((size_t)i * capacity + p) * 12) < 1e-5);
        }
    free(wanted);
    scene_close(&f);
    scene_close(&d);
}

static void a_world_of_many_has_the_bits_that_it_has_alone(void **state)
{
    uint64_t seed = dice_seed("alone");
    const mjModel *m;
    scene many = scene_open(&(scene_def){.xml = TRACKING, .nworld = 21}),
          one = scene_open(&(scene_def){.xml = TRACKING, .nworld = 1});
    m = many.model->mj;
    scene_randomise(&many, seed);
    for (int64_t w = 0; w < 21; w++) {
        float values[64];
        size_t size = (size_t)m->nq * sizeof *values;
        must(stet_array_read_worlds(scene_field(&many, "qpos"), w, 1, values, size));
        must(stet_array_write(scene_field(&one, "qpos"), values, size));
        for (int p = 0; p < stet_stage_get_capacity(one.stage); p++) {
            float a[12], b[12];
            must(stet_stage_read_world(many.stage, p, w, 1, a));
            must(stet_stage_read_world(one.stage, p, 0, 1, b));
            assert_memory_equal(a, b, sizeof a);
            must(stet_stage_read_local(many.stage, p, w, 1, a));
            must(stet_stage_read_local(one.stage, p, 0, 1, b));
            assert_memory_equal(a, b, sizeof a);
        }
    }
    scene_close(&many);
    scene_close(&one);
}

static void prims_are_found(void **state)
{
    scene s = scene_open(&(scene_def){.xml = SMALL, .nworld = 1});
    int prim;
    assert_int_equal(stet_stage_get_nprim(s.stage), 11);
    assert_int_equal(stet_stage_get_capacity(s.stage), 11);
    assert_int_equal(prim_of(&s, STET_PRIM_ROOT, 0), 0);
    assert_int_equal(prim_of(&s, STET_PRIM_BODY, 0), 0);
    assert_int_equal(prim_named(&s, STET_PRIM_BODY, "world"), 0);
    assert_int_equal(prim_of(&s, STET_PRIM_GEOM, 0), 4);
    assert_int_equal(prim_named(&s, STET_PRIM_GEOM, "bone"), 7);
    assert_int_equal(prim_named(&s, STET_PRIM_SITE, "mark"), 8);
    assert_int_equal(prim_named(&s, STET_PRIM_CAMERA, "main"), 9);
    assert_int_equal(prim_named(&s, STET_PRIM_LIGHT, "sun"), 10);
    assert_refused(stet_stage_find(s.stage, STET_PRIM_GEOM, "bones", &prim), STET_ERROR_NOT_FOUND,
                   "floor, top, skin, bone");
    assert_refused(stet_stage_find(s.stage, STET_PRIM_XFORM, "x", &prim), STET_ERROR_NOT_FOUND, "none with a name");
    assert_refused(stet_stage_get_prim(s.stage, STET_PRIM_SITE, 1, &prim), STET_ERROR_NOT_FOUND, "the model has 1");
    assert_refused(stet_stage_get_prim(s.stage, STET_PRIM_XFORM, 0, &prim), STET_ERROR_INVALID_ARGUMENT,
                   "stet_stage_add");
    assert_refused(stet_stage_get_prim(s.stage, (stet_prim_kind)99, 0, &prim), STET_ERROR_INVALID_ARGUMENT, "99");
    scene_close(&s);
}

static void bad_arguments_are_refused(void **state)
{
    scene s = scene_open(&(scene_def){.xml = TRACKING, .nworld = 2});
    stet_stage *stage = s.stage, *none;
    float v[24] = {0};
    int prim, added, fixed = prim_named(&s, STET_PRIM_CAMERA, "fixed"),
                     track = prim_named(&s, STET_PRIM_CAMERA, "track");
    stet_result bad = STET_ERROR_INVALID_ARGUMENT;
    assert_refused(stet_stage_create(NULL, &none), bad, "worlds");
    assert_refused(stet_stage_add(stage, 999, "x", v, false, &prim), bad, "no prim 999");
    assert_refused(stet_stage_add(stage, -1, "x", v, false, &prim), bad, "no prim -1");
    assert_refused(stet_stage_add(stage, 0, "x", NULL, false, &prim), bad, "12 numbers");
    assert_refused(stet_stage_add(stage, 0, "x", v, false, NULL), bad, "prim");
    must(stet_stage_add(stage, 0, "x", v, false, &added));
    assert_refused(stet_stage_add(stage, 0, "x", v, false, &prim), bad, "already called 'x'");
    assert_refused(stet_stage_remove(stage, fixed), bad, "belongs to the model");
    assert_refused(stet_stage_remove(stage, 500), bad, "no prim 500");
    assert_refused(stet_stage_reparent(stage, fixed, 0), bad, "belongs to the model");
    assert_refused(stet_stage_reparent(stage, added, added), bad, "below it");
    assert_refused(stet_stage_reparent(stage, added, 500), bad, "no prim 500");
    assert_refused(stet_stage_write_local(stage, track, 0, 1, v), bad, "follows a body");
    assert_refused(stet_stage_write_local(stage, 1, 0, 1, v), bad, "rigid");
    assert_refused(stet_stage_write_local(stage, fixed, 0, 3, v), bad, "there are 2");
    assert_refused(stet_stage_write_local(stage, fixed, -1, 1, v), bad, "there are 2");
    assert_refused(stet_stage_write_local(stage, fixed, 2, 1, v), bad, "there are 2");
    assert_refused(stet_stage_write_local(stage, fixed, 0, INT64_MAX, v), bad, "there are 2");
    assert_refused(stet_stage_write_local(stage, fixed, 0, 1, NULL), bad, "values");
    assert_refused(stet_stage_write_world(stage, added, 0, 1, v), bad, "not an added rigid prim");
    assert_refused(stet_stage_write_world(stage, 1, 0, 1, v), bad, "not an added rigid prim");
    assert_refused(stet_stage_read_world(stage, 77, 0, 1, v), bad, "no prim 77");
    assert_refused(stet_stage_read_local(stage, 0, 1, 2, v), bad, "there are 2");
    assert_refused(stet_stage_flush(NULL, false), bad, "stage");
    must(stet_stage_write_local(stage, fixed, 2, 0, v)); /* no worlds is fine */
    must(stet_stage_write_local(stage, fixed, 0, 2, v));
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_scenes_match_mujoco),
        cmocka_unit_test(every_tracking_mode_matches_mujoco),
        cmocka_unit_test(mocap_bodies_move),
        cmocka_unit_test(prims_follow_tracking_cameras),
        cmocka_unit_test(every_width_and_thread_count_has_the_same_bits),
        cmocka_unit_test(a_double_build_agrees),
        cmocka_unit_test(a_world_of_many_has_the_bits_that_it_has_alone),
        cmocka_unit_test(prims_are_found),
        cmocka_unit_test(bad_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
