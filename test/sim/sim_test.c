/*
 * Making sims: definitions, cameras, and that nothing is left behind.
 */
#include "sim/room.h"

#include "base/failing.h"
#include "device/isa.h"

#include <math.h>
#include <pthread.h>

/* ---- definitions ------------------------------------------------------------------------------------------------- */

static stet_model *model;
static stet_sim *made;

/* The def with one change is refused, and nothing is made. */
#define BAD(result, words, ...)                                                                                        \
    do {                                                                                                               \
        stet_sim_def def = room_sim_def(&(room_def){0});                                                               \
        made = (stet_sim *)(void *)model;                                                                              \
        __VA_ARGS__;                                                                                                   \
        REFUSED(result, words, stet_sim_create(model, &def, &made));                                                   \
        assert_null(made);                                                                                             \
    } while (0)

static void bad_definitions_are_refused(void **state)
{
    model = rig_model("hand.xml");
    stet_memory_stats before = stet_get_memory_stats();
    const char *const unknown[] = {"main", "sideways"}, *const twice[] = {"top", "main", "top"},
                      *const null_name[] = {NULL};
    static const int fine[][2] = {{8, 8}, {9, 9}}, sizes[][2] = {{8, 8}, {8, 20000}};
    BAD(STET_ERROR_INVALID_ARGUMENT, "stet_default_sim_def", memset(&def, 0, sizeof def));
    BAD(STET_ERROR_INVALID_ARGUMENT, "0 worlds", def.nworld = 0);
    BAD(STET_ERROR_INVALID_ARGUMENT, "-3 worlds", def.nworld = -3);
    BAD(STET_ERROR_LIMIT, "at most 2147483647", def.nworld = INT64_C(1) << 33);
    /* Of a GPU's memory its driver knows best. */
    const stet_sim_def usual = room_sim_def(&(room_def){0});
    bool gpu = usual.device.type == STET_DEVICE_CUDA || usual.device.type == STET_DEVICE_HIP;
    bool worlds_on_gpu = gpu && usual.physics == STET_PHYSICS_NATIVE;
    BAD(worlds_on_gpu ? STET_ERROR_OUT_OF_MEMORY : STET_ERROR_LIMIT, worlds_on_gpu ? "" : "ask for",
        def.nworld = INT32_MAX;
        def.outputs = 0);
    BAD(gpu ? STET_ERROR_OUT_OF_MEMORY : STET_ERROR_LIMIT, gpu ? "" : "pictures of 2000 worlds", def.nworld = 2000;
        def.width = def.height = 16384);
    BAD(STET_ERROR_INVALID_ARGUMENT, "width is -1", def.width = -1);
    BAD(STET_ERROR_INVALID_ARGUMENT, "height is -7", def.height = -7);
    BAD(STET_ERROR_LIMIT, "width is 16385", def.width = 16385);
    BAD(STET_ERROR_LIMIT, "height is 2147483647", def.height = INT32_MAX);
    BAD(STET_ERROR_INVALID_ARGUMENT, "2 sizes, and no list", def.nsize = 2);
    BAD(STET_ERROR_INVALID_ARGUMENT, "2 sizes for 1 camera;", def.nsize = 2; def.sizes = fine);
    BAD(STET_ERROR_LIMIT, "height is 20000", def.nsize = 1; def.sizes = sizes + 1);
    BAD(STET_ERROR_INVALID_ARGUMENT, "outputs 0x800", def.outputs = 1u << STET_OUTPUT_COUNT);
    BAD(STET_ERROR_INVALID_ARGUMENT, "400 degrees", def.fisheyes = (const float[]){400}, def.nfisheye = 1);
    BAD(STET_ERROR_INVALID_ARGUMENT, "list of them", def.nfisheye = 1);
    BAD(STET_ERROR_INVALID_ARGUMENT, "2 samples a pixel; 1, 4 or 16", def.samples = 2);
    BAD(STET_ERROR_INVALID_ARGUMENT, "no mode 2 of pictures", def.mode = STET_RENDER_MODE_COUNT);
    BAD(STET_ERROR_INVALID_ARGUMENT, "0 frames in flight", def.frames_in_flight = 0);
    BAD(STET_ERROR_INVALID_ARGUMENT, "17 frames in flight", def.frames_in_flight = 17);
    BAD(STET_ERROR_INVALID_ARGUMENT, "groups 0x41", def.groups = 0x41);
    BAD(STET_ERROR_INVALID_ARGUMENT, "keyframe 1", def.keyframe = 1);
    BAD(STET_ERROR_INVALID_ARGUMENT, "keyframe -3", def.keyframe = -3);
    BAD(STET_ERROR_INVALID_ARGUMENT, "no physics 9", def.physics = (stet_physics)9);
    BAD(STET_ERROR_INVALID_ARGUMENT, "-1 cameras", def.ncamera = -1);
    BAD(STET_ERROR_INVALID_ARGUMENT, "2 cameras", def.ncamera = 2);
    BAD(STET_ERROR_NOT_FOUND, "sideways: the scene has none of this name; it has: main, ", def.cameras = unknown;
        def.ncamera = 2);
    BAD(STET_ERROR_INVALID_ARGUMENT, "top: asked for twice", def.cameras = twice; def.ncamera = 3);
    BAD(STET_ERROR_INVALID_ARGUMENT, "NULL", def.cameras = null_name; def.ncamera = 1);
    BAD(STET_ERROR_NOT_FOUND, "sse9", def.device.type = STET_DEVICE_CPU; def.device.isa = "sse9");
    BAD(STET_ERROR_INVALID_ARGUMENT, "threads", def.device.threads = -1);
    BAD(STET_ERROR_INVALID_ARGUMENT, "no type 7", def.device.type = (stet_device_type)7);
    BAD(STET_ERROR_INVALID_ARGUMENT, "disabled", def.device.mechanisms.disabled = 1u << STET_MECHANISM_COUNT);
    assert_int_equal(stet_get_memory_stats().blocks, before.blocks);
    assert_int_equal(stet_get_memory_stats().bytes, before.bytes);
    stet_model_destroy(model);
}

static void null_is_refused(void **state)
{
    stet_sim_def def = stet_default_sim_def();
    stet_reset_def reset = stet_default_reset_def();
    model = rig_model(ROOM_BALL);
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_sim_create(NULL, &def, &made));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_sim_create(model, NULL, &made));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_sim_create(model, &def, NULL));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_sim_step(NULL, 1));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_sim_reset(NULL, &reset));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_sim_restore(NULL, NULL));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_sim_resume(NULL, "x"));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_sim_control_zero(NULL));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_sim_control_noise(NULL, 1, 0));
    OK(stet_sim_create(model, &def, &made));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_sim_reset(made, NULL));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_sim_restore(made, NULL));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_sim_resume(made, NULL));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "-1 time steps", stet_sim_step(made, -1));
    OK(stet_sim_step(made, 0));
    stet_sim_destroy(made);
    stet_sim_destroy(NULL);
    stet_model_destroy(model);
}

static void defaults_are_what_they_say(void **state)
{
    stet_sim_def def = stet_default_sim_def();
    model = rig_model("hand.xml");
    OK(stet_sim_create(model, &def, &made));
    assert_ptr_equal(stet_sim_get_model(made), model);
    assert_int_equal(stet_worlds_get_nworld(stet_sim_get_worlds(made)), 1);
    assert_int_not_equal(stet_sim_get_physics(made), STET_PHYSICS_AUTO);
    assert_int_equal(stet_sim_get_outputs(made), 0);
    assert_int_equal(stet_sim_get_ncamera(made), 1);
    assert_string_equal(stet_sim_get_camera(made, 0)->name, "main");
    assert_int_equal(stet_sim_get_camera(made, 0)->width, 128);
    assert_int_equal(stet_sim_get_camera(made, 0)->height, 128);
    assert_null(stet_sim_get_camera(made, 1));
    assert_null(stet_sim_get_camera(made, -1));
    stet_sim_destroy(made);
    stet_model_destroy(model);
}

/* "home" if there is one, else the first, else qpos0; or the one that is named. */
static void the_initial_state_is_the_keyframe_meant(void **state)
{
#define KEYED(keys) "<mujoco><worldbody><body><joint name='j'/><geom size='.1'/></body></worldbody>" keys "</mujoco>"
    static const struct {
        const char *scene;
        int asked, keyframe;
        float qpos;
    } cases[] = {
        {KEYED("<keyframe><key name='a' qpos='1'/><key name='home' qpos='2'/></keyframe>"), -2, 1, 2},
        {KEYED("<keyframe><key name='a' qpos='1'/><key name='b' qpos='2'/></keyframe>"), -2, 0, 1},
        {KEYED(""), -2, -1, 0},
        {KEYED("<keyframe><key name='home' qpos='2'/></keyframe>"), -1, -1, 0},
        {KEYED("<keyframe><key name='home' qpos='2'/><key name='b' qpos='3'/></keyframe>"), 1, 1, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        stet_sim_def def = stet_default_sim_def();
        model = rig_model(cases[i].scene);
        def.keyframe = cases[i].asked;
        OK(stet_sim_create(model, &def, &made));
        stet_model_destroy(model);
        assert_int_equal(stet_sim_get_keyframe(made), cases[i].keyframe);
        assert_true(room_field(made, "qpos", 0, 0) == cases[i].qpos);
        OK(stet_sim_step(made, 3));
        room_reset(made, -1);
        assert_true(room_field(made, "qpos", 0, 0) == cases[i].qpos);
        stet_sim_destroy(made);
    }
}

/* ---- cameras ----------------------------------------------------------------------------------------------------- */

static void cameras_are_found_by_name(void **state)
{
    static const char *const names[] = {"top", "free", "main"};
    stet_sim_def def = room_sim_def(&(room_def){0});
    model = rig_model("hand.xml");
    def.cameras = names;
    def.ncamera = 3;
    OK(stet_sim_create(model, &def, &made));
    assert_int_equal(stet_sim_get_ncamera(made), 3);
    for (int c = 0; c < 3; ++c) assert_string_equal(stet_sim_get_camera(made, c)->name, names[c]);
    int top;
    OK(stet_stage_find(stet_sim_get_stage(made), STET_PRIM_CAMERA, "top", &top));
    assert_int_equal(stet_sim_get_camera(made, 0)->prim, top);
    (void)room_render(made);
    /* Each shows what it shows alone. */
    for (int c = 0; c < 3; ++c) {
        stet_sim *alone = room_open("hand.xml", &(room_def){.camera = names[c]});
        (void)room_render(alone);
        uint8_t *a = room_read(made, STET_FRAME_LATEST, c, STET_OUTPUT_RGBA),
                *b = room_read(alone, STET_FRAME_LATEST, 0, STET_OUTPUT_RGBA);
        assert_memory_equal(a, b, stet_sim_get_output_bytes(alone, 0, STET_OUTPUT_RGBA));
        free(a);
        free(b);
        stet_sim_destroy(alone);
    }
    stet_sim_destroy(made);
    stet_model_destroy(model);
}

static void all_means_all_of_the_model(void **state)
{
    stet_sim *sim = room_open("arm_table.xml", &(room_def){.camera = "all"});
    int ncam = stet_model_get_info(stet_sim_get_model(sim)).ncam;
    assert_true(ncam > 1);
    assert_int_equal(stet_sim_get_ncamera(sim), ncam);
    for (int c = 0; c < ncam; ++c)
        assert_string_equal(stet_sim_get_camera(sim, c)->name,
                            stet_model_get_object_name(stet_sim_get_model(sim), STET_OBJECT_CAMERA, c));
    stet_sim_destroy(sim);
}

/* Cameras of a sim with sizes of their own show what each shows alone, and one that is 0 has the sim's. */
static void cameras_have_sizes_of_their_own(void **state)
{
    static const char *const names[] = {"top", "main"};
    static const int sizes[][2] = {{40, 8}, {0, 20}}, want[][2] = {{40, 8}, {24, 20}};
    stet_sim_def def = room_sim_def(&(room_def){.outputs = BIT(RGB)});
    stet_sim *sim;
    int64_t frame;
    def.cameras = names;
    def.ncamera = def.nsize = 2;
    def.sizes = sizes;
    model = rig_model("hand.xml");
    OK(stet_sim_create(model, &def, &sim));
    OK(stet_sim_render(sim, &frame));
    for (int c = 0; c < 2; ++c) {
        stet_sim *alone =
            room_open("hand.xml",
                      &(room_def){.outputs = BIT(RGB), .camera = names[c], .width = want[c][0], .height = want[c][1]});
        size_t bytes = (size_t)3 * 3 * (size_t)want[c][0] * (size_t)want[c][1];
        unsigned char *one = malloc(bytes), *other = malloc(bytes);
        int64_t single;
        assert_non_null(one);
        assert_non_null(other);
        assert_int_equal(stet_sim_get_output_bytes(sim, c, STET_OUTPUT_RGB), bytes);
        OK(stet_sim_render(alone, &single));
        OK(stet_sim_read(sim, frame, c, STET_OUTPUT_RGB, one, bytes));
        OK(stet_sim_read(alone, single, 0, STET_OUTPUT_RGB, other, bytes));
        assert_memory_equal(one, other, bytes);
        free(one);
        free(other);
        stet_sim_destroy(alone);
    }
    stet_sim_destroy(sim);
    stet_model_destroy(model);
}

static void a_camera_without_a_name_has_one(void **state)
{
    static const char scene[] =
        "<mujoco><worldbody><camera name='eye' pos='0 -3 1' euler='70 0 0'/><camera pos='0 -3 1' fovy='30'/>"
        "<geom size='.1'/></worldbody></mujoco>";
    stet_sim *sim = room_open(scene, &(room_def){.camera = "camera1"});
    assert_string_equal(stet_sim_get_camera(sim, 0)->name, "camera1");
    assert_true(stet_sim_get_camera(sim, 0)->fovy == 30);
    stet_sim_destroy(sim);
    model = rig_model(scene);
    const char *none = "camera2";
    BAD(STET_ERROR_NOT_FOUND, "it has: eye, camera1, free", def.cameras = &none; def.ncamera = 1);
    stet_model_destroy(model);
}

static void a_long_list_of_cameras_is_cut(void **state)
{
    static char scene[20000];
    int used = snprintf(scene, sizeof scene, "<mujoco><worldbody><geom size='.1'/>");
    for (int c = 0; c < 150; ++c)
        used += snprintf(scene + used, sizeof scene - (size_t)used, "<camera name='a_rather_long_name_%d'/>", c);
    (void)snprintf(scene + used, sizeof scene - (size_t)used, "</worldbody></mujoco>");
    OK(stet_model_load_string(scene, &model));
    const char *none = "x";
    BAD(STET_ERROR_NOT_FOUND, " more, free", def.cameras = &none; def.ncamera = 1);
    stet_model_destroy(model);
}

/*
 * As MuJoCo's viewer begins: the ray through the picture's middle goes through the model's centre, from 1.5 extents
 * away.
 */
static void a_scene_without_cameras_gets_a_free_one(void **state)
{
    static const char *const cameras[] = {NULL, "all", "free"};
    for (size_t i = 0; i < sizeof cameras / sizeof *cameras; ++i) {
        stet_sim *sim = room_open(ROOM_BALL, &(room_def){.nworld = 2, .camera = cameras[i]});
        const mjModel *m = stet_sim_get_model(sim)->mj;
        const stet_camera *camera = stet_sim_get_camera(sim, 0);
        assert_int_equal(stet_sim_get_ncamera(sim), 1);
        assert_string_equal(camera->name, "free");
        assert_true(camera->fovy == m->vis.global.fovy);
        float x[12];
        OK(stet_stage_read_world(stet_sim_get_stage(sim), camera->prim, 1, 1, x));
        for (int r = 0; r < 3; ++r) {
            double distance = 1.5 * m->stat.extent, middle = (double)x[4 * r + 3] - distance * (double)x[4 * r + 2];
            assert_true(fabs(middle - m->stat.center[r]) < 1e-5);
        }
        assert_true(fabsf(x[0] - 1) < 1e-6f &&
                    fabsf(x[6] - x[9]) > 0.7f); /* x to the right, looking along +y and down */
        assert_true(fabsf(x[10] - sqrtf(0.5f)) < 1e-6f && x[6] < 0);
        (void)room_render(sim);
        int *seg = room_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_SEG_GEOM), seen[2] = {0};
        for (int p = 0; p < 24 * 16; ++p)
            if (seg[p] >= 0) seen[seg[p]]++;
        assert_true(seen[0] > 20 && seen[1] > 5); /* floor and ball */
        free(seg);
        stet_sim_destroy(sim);
    }
}

static void urdf_and_an_empty_model_make_sims(void **state)
{
    stet_sim *sim = room_open("robot.urdf", &(room_def){0});
    room_play(sim, 0, 2, 2);
    int *seg = room_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_SEG_GEOM), seen = 0;
    for (int p = 0; p < 24 * 16; ++p) seen += seg[p] >= 0;
    assert_true(seen > 10);
    free(seg);
    stet_sim_destroy(sim);
    sim = room_open("<mujoco/>", &(room_def){0});
    room_play(sim, 0, 2, 2);
    seg = room_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_SEG_GEOM);
    for (int p = 0; p < 24 * 16; ++p) assert_int_equal(seg[p], -1);
    free(seg);
    stet_sim_destroy(sim);
}

/* ---- more than one, and what is left of them --------------------------------------------------------------------- */

/* A step's lanes are worlds, a picture's are rays. */
static void lanes_go_by_the_worlds_if_there_are_no_pictures(void **state)
{
    model = rig_model("cartpole.xml");
    for (int k = 0; k < 4; ++k) {
        stet_sim_def def = stet_default_sim_def();
        stet_sim *sim;
        def.device.type = STET_DEVICE_CPU;
        def.nworld = k < 2 ? 1 : 1000;
        def.outputs = k % 2 ? 1u << STET_OUTPUT_DEPTH : 0;
        OK(stet_sim_create(model, &def, &sim));
        sti_isa expected = k == 0 ? sti_isa_for(1) : sti_isa_best();
        assert_string_equal(stet_device_get_isa(stet_sim_get_device(sim)), sti_isa_name(expected));
        stet_sim_destroy(sim);
    }
    stet_model_destroy(model);
}

static void two_sims_do_not_know_each_other(void **state)
{
    stet_sim *hand = room_open("hand.xml", &(room_def){0}), *ball = room_open(ROOM_BALL, &(room_def){.nworld = 6});
    stet_sim *alone = room_open("hand.xml", &(room_def){0});
    for (int f = 0; f < 3; ++f) {
        room_play(hand, f, 1, 2);
        room_play(ball, f, 1, 5);
    }
    room_play(alone, 0, 3, 2);
    assert_true(room_state(hand) == room_state(alone));
    assert_true(room_frame(hand, STET_FRAME_LATEST) == room_frame(alone, STET_FRAME_LATEST));
    stet_sim_destroy(hand);
    uint64_t frame = room_frame(ball, STET_FRAME_LATEST);
    room_reset(ball, -1);
    assert_true(room_frame(ball, STET_FRAME_LATEST) != frame);
    stet_sim_destroy(ball);
    stet_sim_destroy(alone);
}

/* A sim of a thread's own; cmocka's checks belong to the main thread. */
typedef struct alone {
    const char *path;
    stet_result result;
    uint64_t state, frame;
} alone;

static stet_result live(alone *a)
{
    stet_model *m;
    stet_sim *sim;
    stet_sim_def def = room_sim_def(&(room_def){0});
    STI_TRY(stet_model_load(a->path, &m));
    stet_result result = stet_sim_create(m, &def, &sim);
    stet_model_destroy(m);
    for (int f = 0; f < 10 && result == STET_OK; ++f) {
        result = stet_sim_control_noise(sim, 0.3, f);
        if (result == STET_OK) result = stet_sim_step(sim, 2);
        if (result == STET_OK) result = stet_sim_render(sim, NULL);
    }
    if (result == STET_OK) result = stet_worlds_hash(stet_sim_get_worlds(sim), &a->state);
    if (result == STET_OK) result = stet_sim_hash_frame(sim, STET_FRAME_LATEST, &a->frame);
    stet_sim_destroy(sim);
    return result;
}

static void *live_in_a_thread(void *context)
{
    alone *a = context;
    a->result = live(a);
    return NULL;
}

static void sims_in_two_threads_do_not_know_each_other(void **state)
{
    static const char *const paths[] = {STET_TEST_SOURCE_DIR "/scenes/hand.xml",
                                        STET_TEST_SOURCE_DIR "/scenes/arm_table.xml"};
    alone before[2], together[2];
    pthread_t thread[2];
    for (int i = 0; i < 2; ++i) {
        before[i] = together[i] = (alone){.path = paths[i]};
        OK(live(&before[i]));
    }
    for (int i = 0; i < 2; ++i) assert_int_equal(pthread_create(&thread[i], NULL, live_in_a_thread, &together[i]), 0);
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        assert_int_equal(together[i].result, STET_OK);
        assert_true(together[i].state == before[i].state);
        assert_true(together[i].frame == before[i].frame);
    }
}

/* The bytes of a sim hold its pictures, grow with its worlds and with inputs of rounds, and are counted at present. */
static void a_sim_says_what_it_holds(void **state)
{
    enum { PIXELS = 24 * 16 * 4 };
    int64_t held[2];
    for (int k = 0; k < 2; ++k) {
        const int nworld = k ? 30 : 3;
        stet_sim *sim = room_open(ROOM_BALL, &(room_def){.nworld = nworld, .outputs = BIT(DEPTH)});
        int64_t before = stet_sim_get_bytes(sim);
        stet_array *mine;
        OK(STI_ARRAY(stet_sim_get_device(sim), "mine", STET_DTYPE_I64, false, &mine, 1000));
        held[k] = stet_sim_get_bytes(sim);
        assert_true(held[k] >= before + 8000 && held[k] > (int64_t)nworld * PIXELS);
        stet_array_destroy(mine);
        assert_int_equal(stet_sim_get_bytes(sim), before);
        stet_sim_destroy(sim);
    }
    assert_true(held[1] - held[0] > 27 * PIXELS);
    assert_int_equal(stet_sim_get_bytes(NULL), 0);
}

static stet_result make_and_use(void)
{
    stet_model *m = NULL;
    stet_sim *sim = NULL;
    stet_sim_def def = room_sim_def(&(room_def){.outputs = BIT(RGB) | BIT(DEPTH)});
    static const char *const names[] = {"free"};
    static float pixels[3 * 24 * 16];
    uint64_t hash;
    def.cameras = names;
    def.ncamera = 1;
    stet_result result = stet_model_load_string(ROOM_BALL, &m);
    if (result == STET_OK) result = stet_sim_create(m, &def, &sim);
    if (result != STET_OK) assert_null(sim);
    if (result == STET_OK) result = stet_sim_control_noise(sim, 0.3, 7);
    for (int f = 0; f < 3 && result == STET_OK; ++f) {
        result = stet_sim_step(sim, 2);
        if (result == STET_OK) result = stet_sim_render(sim, NULL);
    }
    if (result == STET_OK) result = stet_sim_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_DEPTH, pixels, sizeof pixels);
    if (result == STET_OK) result = stet_sim_hash_frame(sim, STET_FRAME_LATEST, &hash);
    stet_sim_destroy(sim);
    stet_model_destroy(m);
    return result;
}

static void a_failed_allocation_leaves_nothing_behind(void **state)
{
    /* A stamp that could not be kept is work done again, and no failure. */
    int64_t n = fail_each_allocation(make_and_use, true);
    print_message("%lld allocations, each failed once\n", (long long)n);
    assert_true(n > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_definitions_are_refused),
        cmocka_unit_test(null_is_refused),
        cmocka_unit_test(defaults_are_what_they_say),
        cmocka_unit_test(the_initial_state_is_the_keyframe_meant),
        cmocka_unit_test(cameras_are_found_by_name),
        cmocka_unit_test(all_means_all_of_the_model),
        cmocka_unit_test(cameras_have_sizes_of_their_own),
        cmocka_unit_test(a_camera_without_a_name_has_one),
        cmocka_unit_test(a_long_list_of_cameras_is_cut),
        cmocka_unit_test(a_scene_without_cameras_gets_a_free_one),
        cmocka_unit_test(urdf_and_an_empty_model_make_sims),
        cmocka_unit_test(two_sims_do_not_know_each_other),
        cmocka_unit_test(lanes_go_by_the_worlds_if_there_are_no_pictures),
        cmocka_unit_test(sims_in_two_threads_do_not_know_each_other),
        cmocka_unit_test(a_sim_says_what_it_holds),
        cmocka_unit_test(a_failed_allocation_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
