/* The renderer as such: outputs and buffers, lenses, lists of worlds, tables of tiles, and each kind of bad input. */
#include "render/pictures.h"

#include "render/lens.h"

#define BALL                                                                                                           \
    "<mujoco><worldbody><geom type='sphere' size='1'/><camera name='plain' fovy='50' pos='0 0 3'/>"                    \
    "<camera name='flat' projection='orthographic' fovy='2.5' pos='0 0 3'/>"                                           \
    "<camera name='sensor' focal='.01 .012' principal='.001 .002' sensorsize='.03 .02' resolution='60 40' pos='0 0 "   \
    "3'/>"                                                                                                             \
    "</worldbody></mujoco>"

static void test_outputs(void **state)
{
    stet_output found;
    for (int i = 0; i < STET_OUTPUT_COUNT; ++i) {
        stet_output output = (stet_output)i;
        assert_int_equal(stet_output_find(stet_output_name(output), &found), STET_OK);
        assert_int_equal(found, output);
        sti_picture_buffer buffer = sti_output_buffer(output);
        assert_true(buffer < STI_BUFFER_COUNT);
        if (stet_output_dtype(output) == STET_DTYPE_U8)
            assert_int_equal(sti_buffer_dtype(buffer), STET_DTYPE_U32);
        else
            assert_int_equal(sti_buffer_dtype(buffer), stet_output_dtype(output));
    }
    assert_int_equal(stet_output_channels(STET_OUTPUT_RGB), 3);
    assert_int_equal(stet_output_channels(STET_OUTPUT_NORMAL), 3);
    assert_int_equal(sti_buffer_channels(STI_BUFFER_NORMAL), 3);
    assert_int_equal(sti_output_buffer(STET_OUTPUT_RGB), sti_output_buffer(STET_OUTPUT_RGBA));
    assert_int_equal(stet_output_find("colour", &found), STET_ERROR_NOT_FOUND);
    assert_non_null(strstr(stet_get_last_error(), "seg_type"));
    assert_string_equal(stet_output_name(STET_OUTPUT_COUNT), "unknown");
}

/* The frustum that MuJoCo renders with, at one metre. */
static void test_lenses(void **state)
{
    pictures p;
    pictures_open(&p, BALL, 1, NULL, 1);
    const mjModel *m = p.model->mj;
    for (int c = 0; c < (int)m->ncam; ++c) pictures_model_camera(&p, c, 60, 40);
    mjData *d = mj_makeData(m);
    mjvOption option;
    mjvScene scene;
    mj_forward(m, d);
    mjv_defaultOption(&option);
    mjv_defaultScene(&scene);
    mjv_makeScene(m, &scene, 100);
    for (int c = 0; c < (int)m->ncam; ++c) {
        mjvCamera camera;
        stet_lens lens;
        mjv_defaultCamera(&camera);
        camera.type = mjCAMERA_FIXED;
        camera.fixedcamid = c;
        mjv_updateScene(m, d, &option, NULL, &camera, mjCAT_ALL, &scene);
        const mjvGLCamera *theirs = &scene.camera[0];
        double middle = (double)theirs->frustum_center, half = (double)theirs->frustum_width;
        double scale = m->cam_projection[c] == mjPROJ_ORTHOGRAPHIC ? 1 : 1 / (double)theirs->frustum_near;
        OK(sti_lens_of(p.stage, &p.camera[c], &lens));
        assert_int_equal(lens.orthographic, m->cam_projection[c] == mjPROJ_ORTHOGRAPHIC);
        assert_true(fabs(lens.bottom - (double)theirs->frustum_bottom * scale) < 1e-5);
        assert_true(fabs(lens.top - (double)theirs->frustum_top * scale) < 1e-5);
        if (m->cam_sensorsize[2 * c] > 0) {
            assert_true(fabs(lens.left - (middle - half) * scale) < 1e-5);
            assert_true(fabs(lens.right - (middle + half) * scale) < 1e-5);
        } else {
            assert_true(fabs(lens.right - 1.5 * lens.top) < 1e-9);
            assert_true(lens.left == -lens.right);
        }
    }
    mjv_freeScene(&scene);
    mj_deleteData(d);
    pictures_close(&p);
}

/* Parallel rays: the ball keeps its size, depth is that of its surface. */
static void test_orthographic(void **state)
{
    enum { W = 60, H = 40 };
    pictures p;
    pictures_open(&p, BALL, 1, NULL, 1);
    pictures_model_camera(&p, 1, W, H);
    pictures_ready(&p);
    pictures_run(&p);
    float *depth = pictures_read(&p, STI_BUFFER_DEPTH), *distance = pictures_read(&p, STI_BUFFER_DISTANCE);
    float *normal = pictures_read(&p, STI_BUFFER_NORMAL);
    for (int i = 0; i < W * H; ++i) {
        double x = (i % W + 0.5 - W / 2.0) * 2.5 / H, y = (H / 2.0 - i / W - 0.5) * 2.5 / H, rest = 1 - x * x - y * y;
        if (rest < 0) {
            assert_true(isinf(depth[i]) && isinf(distance[i]));
            continue;
        }
        double t = 3 - sqrt(rest);
        assert_true(fabs((double)depth[i] - t) < 2e-6);
        assert_true(fabs((double)distance[i] - sqrt(t * t + x * x + y * y)) < 4e-6);
        assert_true(fabs((double)normal[3 * i] - x) < 2e-6 && fabs((double)normal[3 * i + 1] - y) < 2e-6 &&
                    normal[3 * i + 2] >= 0);
    }
    free(depth);
    free(distance);
    free(normal);
    pictures_close(&p);
}

static void test_set_fovy(void **state)
{
    pictures p, fresh;
    pictures_open(&p, BALL, 1, NULL, 1);
    pictures_model_camera(&p, 0, 40, 30);
    pictures_ready(&p);
    pictures_run(&p);
    sti_version before = *sti_renderer_appearance(p.renderer);
    uint64_t hash = pictures_hash(&p, STI_BUFFER_DEPTH, 0);
    OK(sti_renderer_set_fovy(p.renderer, 0, 70));
    assert_true(sti_renderer_appearance(p.renderer)->generation > before.generation);
    pictures_run(&p);
    assert_true(hash != pictures_hash(&p, STI_BUFFER_DEPTH, 0));
    pictures_open(&fresh, BALL, 1, NULL, 1);
    pictures_model_camera(&fresh, 0, 40, 30);
    fresh.camera[0].fovy = 70;
    pictures_ready(&fresh);
    pictures_run(&fresh);
    assert_true(pictures_hash(&fresh, STI_BUFFER_DEPTH, 0) == pictures_hash(&p, STI_BUFFER_DEPTH, 0));
    before = *sti_renderer_appearance(p.renderer);
    assert_int_equal(sti_renderer_set_fovy(p.renderer, 0, 180), STET_ERROR_INVALID_ARGUMENT);
    assert_int_equal(sti_renderer_set_fovy(p.renderer, 0, NAN), STET_ERROR_INVALID_ARGUMENT);
    assert_int_equal(sti_renderer_set_fovy(p.renderer, 1, 50), STET_ERROR_INVALID_ARGUMENT);
    assert_true(sti_renderer_appearance(p.renderer)->generation == before.generation);
    pictures_close(&fresh);
    pictures_close(&p);
}

/*
 * Only the worlds asked for are written, in any order; tiles may lie anywhere, with any pitch, and only some buffers be
 * there.
 */
static void test_some_worlds_anywhere(void **state)
{
    enum { NWORLD = 5, W = 21, H = 9, PITCH = 50, ROWS = 2 * H, SPACE = PITCH * ROWS };
    pictures p;
    pictures_open(&p, BALL, NWORLD, NULL, 2);
    pictures_model_camera(&p, 0, W, H);
    pictures_ready(&p);
    pictures_run(&p);
    int *packed = pictures_read(&p, STI_BUFFER_GEOM), *loose = malloc(SPACE * sizeof *loose);
    /* A two by two grid in reverse order; world 4 would lie outside, and is not asked for. */
    const int64_t first[NWORLD] = {PITCH * H + 25, PITCH * H, 25, 0, (int64_t)1 << 40};
    const int pitch[NWORLD] = {PITCH, PITCH, PITCH, PITCH, PITCH}, list[] = {3, 0};
    sti_render_target target;
    memset(&target, 0, sizeof target);
    OK(STI_ARRAY(p.device, "loose", STET_DTYPE_INT, false, &target.pixels[STI_BUFFER_GEOM], SPACE));
    OK(STI_ARRAY(p.device, "first", STET_DTYPE_I64, false, &target.first, NWORLD));
    OK(STI_ARRAY(p.device, "pitch", STET_DTYPE_INT, false, &target.pitch, NWORLD));
    for (int i = 0; i < SPACE; ++i) loose[i] = 99;
    OK(stet_array_write(target.pixels[STI_BUFFER_GEOM], loose, SPACE * sizeof *loose));
    OK(stet_array_write(target.first, first, sizeof first));
    OK(stet_array_write(target.pitch, pitch, sizeof pitch));
    OK(sti_renderer_run(p.renderer, list, 2, &target));
    OK(stet_array_read(target.pixels[STI_BUFFER_GEOM], loose, SPACE * sizeof *loose));
    for (int y = 0; y < ROWS; ++y)
        for (int x = 0; x < PITCH; ++x) {
            int world = y < H && x < W ? 3 : y >= H && x >= 25 && x < 25 + W ? 0 : -1;
            int expected = world < 0 ? 99 : packed[(world * H + y % H) * W + (world == 3 ? x : x - 25)];
            assert_int_equal(loose[y * PITCH + x], expected);
        }
    stet_array_destroy(target.pixels[STI_BUFFER_GEOM]);
    stet_array_destroy(target.first);
    stet_array_destroy(target.pitch);
    free(packed);
    free(loose);
    pictures_close(&p);
}

/* The stage's transforms move to a larger array when its prims no longer fit: each world is found there, too. */
static void test_a_stage_that_grows(void **state)
{
    enum { NWORLD = 40 }; /* more than a block of lanes */
    static const float eye[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    pictures p;
    pictures_open(&p, BALL, NWORLD, NULL, 2);
    pictures_model_camera(&p, 0, 33, 20);
    pictures_ready(&p);
    pictures_run(&p);
    uint64_t before[NWORLD];
    for (int w = 0; w < NWORLD; ++w) before[w] = pictures_hash(&p, STI_BUFFER_COLOUR, w);
    for (int room = stet_stage_get_capacity(p.stage), prim; stet_stage_get_capacity(p.stage) == room;)
        OK(stet_stage_add(p.stage, 0, "more", eye, false, &prim));
    pictures_run(&p);
    for (int w = 0; w < NWORLD; ++w) assert_true(pictures_hash(&p, STI_BUFFER_COLOUR, w) == before[w]);
    pictures_close(&p);
}

/* Scale of a geom's prim shows: a ball of half size three times as long on x. */
static void test_scale(void **state)
{
    pictures p, plain;
    const double eye[3] = {1, -5, 2}, target[3] = {0, 0, 0};
    const float stretched[12] = {0, -0.5f, 0, 0, 1.5f, 0, 0, 0, 0, 0, 0.5f, 0};
    pictures_open(&p, BALL, 1, NULL, 1);
    int prim;
    OK(stet_stage_get_prim(p.stage, STET_PRIM_GEOM, 0, &prim));
    OK(stet_stage_write_local(p.stage, prim, 0, 1, stretched));
    pictures_camera(&p, eye, target, 40, 64, 48);
    pictures_ready(&p);
    pictures_run(&p);
    pictures_open(&plain, "<mujoco><worldbody><geom type='ellipsoid' size='.5 1.5 .5'/></worldbody></mujoco>", 1, NULL,
                  1);
    pictures_camera(&plain, eye, target, 40, 64, 48);
    pictures_ready(&plain);
    pictures_run(&plain);
    float *a = pictures_read(&p, STI_BUFFER_NORMAL), *b = pictures_read(&plain, STI_BUFFER_NORMAL);
    float *t = pictures_read(&p, STI_BUFFER_DEPTH), *s = pictures_read(&plain, STI_BUFFER_DEPTH);
    int hits = 0, far = 0;
    for (int i = 0; i < 64 * 48; ++i) {
        hits += !isinf(s[i]);
        far += isinf(s[i]) != isinf(t[i]);
        if (isinf(s[i]) || isinf(t[i])) continue;
        assert_true(fabsf(s[i] - t[i]) < 1e-4f);
        for (int k = 0; k < 3; ++k) assert_true(fabsf(a[3 * i + k] - b[3 * i + k]) < 1e-3f);
    }
    assert_true(hits > 150 && far <= 2);
    free(a);
    free(b);
    free(t);
    free(s);
    pictures_close(&p);
    pictures_close(&plain);
}

static void refuse(stet_result result, const char *words)
{
    assert_int_equal(result, STET_ERROR_INVALID_ARGUMENT);
    if (!strstr(stet_get_last_error(), words)) fail_msg("'%s' is not in '%s'", words, stet_get_last_error());
}

static void test_bad_cameras(void **state)
{
    pictures p;
    sti_renderer *r = NULL;
    pictures_open(&p, BALL, 1, NULL, 1);
    pictures_model_camera(&p, 0, 40, 30);
    const stet_camera good = p.camera[0];
    refuse(sti_renderer_create(p.stage, &good, 0, STI_DRAWING_DEFAULT, &r), "at least one camera");
    const int edges[] = {0, -1, 16385};
    for (int i = 0; i < 3; ++i) {
        stet_camera wide = good, high = good;
        wide.width = high.height = edges[i];
        refuse(sti_renderer_create(p.stage, &wide, 1, STI_DRAWING_DEFAULT, &r), "16384");
        refuse(sti_renderer_create(p.stage, &high, 1, STI_DRAWING_DEFAULT, &r), "16384");
    }
    const float angles[] = {0, -1, 180, NAN, INFINITY};
    for (int i = 0; i < 5; ++i) {
        stet_camera camera = good;
        camera.fovy = angles[i];
        refuse(sti_renderer_create(p.stage, &camera, 1, STI_DRAWING_DEFAULT, &r), "angle of view");
    }
    stet_camera lost = good;
    lost.prim = 12345;
    refuse(sti_renderer_create(p.stage, &lost, 1, STI_DRAWING_DEFAULT, &r), "prim 12345");
    assert_null(r);
    pictures_close(&p);
}

static void test_bad_runs(void **state)
{
    pictures p;
    pictures_open(&p, BALL, 3, NULL, 1);
    pictures_model_camera(&p, 0, 40, 30);
    pictures_ready(&p);
    pictures_run(&p);
    uint64_t generation = stet_array_get_generation(p.target.pixels[STI_BUFFER_DEPTH]);
    const int beyond[] = {0, 3}, below[] = {-1}, twice[] = {1, 2, 1}, fine[] = {2};
    refuse(sti_renderer_run(p.renderer, beyond, 2, &p.target), "world 3 does not exist");
    refuse(sti_renderer_run(p.renderer, below, 1, &p.target), "world -1 does not exist");
    refuse(sti_renderer_run(p.renderer, twice, 3, &p.target), "twice");
    refuse(sti_renderer_run(p.renderer, NULL, 1, &p.target), "list");
    refuse(sti_renderer_run(p.renderer, fine, -1, &p.target), "list");
    sti_render_target target = p.target;
    target.pitch = NULL;
    refuse(sti_renderer_run(p.renderer, fine, 1, &target), "first pixel and pitch");
    for (int row = -1; row < 2; row += 2) {
        target = p.target;
        target.row[STI_BUFFER_DEPTH] = row; /* the table has one row */
        refuse(sti_renderer_run(p.renderer, fine, 1, &target), "first pixel and pitch");
    }
    target = p.target;
    target.pixels[STI_BUFFER_DEPTH] = p.target.pixels[STI_BUFFER_GEOM];
    assert_int_equal(sti_renderer_run(p.renderer, fine, 1, &target), STET_ERROR_INVALID_ARGUMENT);
    OK(sti_renderer_run(p.renderer, NULL, 0, &p.target));
    assert_true(stet_array_get_generation(p.target.pixels[STI_BUFFER_DEPTH]) == generation);
    OK(sti_renderer_run(p.renderer, fine, 1, &p.target));
    assert_true(stet_array_get_generation(p.target.pixels[STI_BUFFER_DEPTH]) > generation);
    pictures_close(&p);
}

/* A frame is one launch, with motion two more, and takes no memory; what was taken is given back. */
static void check_memory_and_launches(int launches)
{
    enum { RECORDED = 4 }; /* runs after which launches of parts are replayed */
    pictures p;
    int64_t blocks = stet_get_memory_stats().blocks;
    stet_counters before, after;
    pictures_open(&p, BALL, 4, NULL, 2);
    pictures_model_camera(&p, 0, 40, 30);
    pictures_model_camera(&p, 2, 17, 9);
    pictures_ready(&p);
    for (int i = 0; i < RECORDED; ++i) pictures_run(&p);
    int64_t allocations = stet_get_memory_stats().allocations;
    before = stet_device_get_counters(p.device);
    pictures_run(&p);
    after = stet_device_get_counters(p.device);
    assert_int_equal(after.launches - before.launches, launches + 2);
    assert_int_equal(stet_get_memory_stats().allocations, allocations);
    sti_render_target target = p.target;
    target.pixels[STI_BUFFER_MOTION] = target.pixels[STI_BUFFER_BODY_POINT] = NULL;
    OK(sti_renderer_run(p.renderer, (const int[]){0, 1, 2, 3}, 4, &target));
    assert_int_equal(stet_device_get_counters(p.device).launches - after.launches, launches);
    pictures_close(&p);
    assert_int_equal(stet_get_memory_stats().blocks, blocks);
}

static void test_memory_and_launches(void **state) { check_memory_and_launches(1); }

/* Of 32 patches seven at a time: hits and colours, for no lamp casts shadows. */
static void test_launches_of_parts(void **state)
{
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    picked_device(&def);
    OK(stet_device_create(&def, &device));
    bool gpu = device->can.compiles;
    stet_device_destroy(device);
    if (setenv("STET_PARTS", "7", 1) != 0) fail();
    check_memory_and_launches(gpu ? 2 * 5 : 1);
    (void)unsetenv("STET_PARTS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_lenses),
        cmocka_unit_test(test_orthographic),
        cmocka_unit_test(test_set_fovy),
        cmocka_unit_test(test_some_worlds_anywhere),
        cmocka_unit_test(test_a_stage_that_grows),
        cmocka_unit_test(test_scale),
        cmocka_unit_test(test_bad_cameras),
        cmocka_unit_test(test_bad_runs),
        cmocka_unit_test(test_memory_and_launches),
        cmocka_unit_test(test_launches_of_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
