/*
 * Free cameras: where MuJoCo's viewer would put them; framed, they show all geoms, as large as the picture allows.
 */
#include "sim/room.h"

#include <math.h>

static const float *camera_frame(stet_sim *sim, int camera)
{
    static float x[12];
    OK(stet_stage_read_world(stet_sim_get_stage(sim), stet_sim_get_camera(sim, camera)->prim, 0, 1, x));
    return x;
}

/* MuJoCo's own camera of these numbers, between the two eyes that it has. */
static void same_as_mujoco(const mjModel *m, const mjvCamera *view, const float x[12])
{
    mjvScene scene;
    mjvCamera camera = *view;
    mjData *d = mj_makeData(m);
    mjv_defaultScene(&scene);
    mjv_makeScene(m, &scene, 10);
    mjv_updateCamera(m, d, &camera, &scene);
    for (int k = 0; k < 3; ++k) {
        const mjvGLCamera *eye = scene.camera;
        assert_true(fabsf((eye[0].pos[k] + eye[1].pos[k]) / 2 - x[4 * k + 3]) < 1e-5f);
        assert_true(fabsf(eye->forward[k] + x[4 * k + 2]) < 1e-5f);
        assert_true(fabsf(eye->up[k] - x[4 * k + 1]) < 1e-5f);
    }
    mjv_freeScene(&scene);
    mj_deleteData(d);
}

static void cameras_are_where_mujoco_has_them(void **state)
{
    static const char *const names[] = {"free", "free:30,-20,2.5", "free:-1.2e2,65,0.4,1,-2,.5", "free:10,-90,3"};
    stet_sim_def def = room_sim_def(&(room_def){0});
    stet_model *model = rig_model("hand.xml");
    stet_sim *sim;
    mjvCamera view[4];
    def.cameras = names;
    def.ncamera = 4;
    OK(stet_sim_create(model, &def, &sim));
    for (int c = 0; c < 4; ++c) mjv_defaultFreeCamera(model->mj, &view[c]);
    view[1].azimuth = 30, view[1].elevation = -20, view[1].distance = 2.5;
    view[2].azimuth = -120, view[2].elevation = 65, view[2].distance = 0.4;
    view[2].lookat[0] = 1, view[2].lookat[1] = -2, view[2].lookat[2] = 0.5;
    view[3].azimuth = 10, view[3].elevation = -90, view[3].distance = 3;
    for (int c = 0; c < 4; ++c) {
        assert_string_equal(stet_sim_get_camera(sim, c)->name, names[c]);
        same_as_mujoco(model->mj, &view[c], camera_frame(sim, c));
    }
    stet_sim_destroy(sim);
    stet_model_destroy(model);
}

/* The rectangle of the pixels that show a geom other than geom 0, the floor: left, right, top, bottom. */
static void seen(stet_sim *sim, int width, int height, int box[4])
{
    (void)room_render(sim);
    int *seg = room_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_SEG_GEOM);
    box[0] = box[2] = 1000;
    box[1] = box[3] = -1;
    for (int p = 0; p < width * height; ++p) {
        int x = p % width, y = p / width;
        if (seg[p] <= 0) continue;
        box[0] = x < box[0] ? x : box[0];
        box[1] = x > box[1] ? x : box[1];
        box[2] = y < box[2] ? y : box[2];
        box[3] = y > box[3] ? y : box[3];
    }
    free(seg);
}

#define FLAT                                                                                                           \
    "<mujoco><visual><global orthographic='true' fovy='7'/></visual><worldbody><geom type='plane' size='0 0 1' "       \
    "pos='0 0 -9'/>"
#define HEAD "<mujoco><worldbody><geom type='plane' size='0 0 1' pos='0 0 -9'/>"

/* All is seen with a margin, and either the width or the height is used. */
static void a_framed_scene_fills_the_picture(void **state)
{
    static const char *const names[] = {"free:fit", "free:30,-20", "free:-70,0", "free:200,50", "free:0,-90"},
                             *const scenes[] = {
                                 HEAD "<geom size='.3' pos='4 5 6'/></worldbody></mujoco>",
                                 HEAD "<geom size='.1' pos='-1 0 0'/><body pos='2 0 0' euler='0 40 0'><geom size='.2'/>"
                                      "<geom type='capsule' size='.1 1'/></body></worldbody></mujoco>",
                                 FLAT "<geom size='.1' pos='-1 0 0'/><body pos='2 0 0' euler='0 40 0'><geom size='.2'/>"
                                      "<geom type='capsule' size='.1 1'/></body></worldbody></mujoco>",
                                 HEAD "<geom type='box' size='3 .1 .1'/><geom type='ellipsoid' size='.2 .3 4'/>"
                                      "<geom size='70' group='4'/></worldbody></mujoco>",
                             };
    static const int sizes[][2] = {{100, 100}, {160, 60}, {48, 120}};
    for (size_t s = 0; s < sizeof scenes / sizeof *scenes; ++s)
        for (size_t n = 0; n < 5; ++n)
            for (size_t k = 0; k < 3; ++k) {
                int width = sizes[k][0], height = sizes[k][1], box[4];
                stet_sim *sim = room_open(
                    scenes[s],
                    &(room_def){
                        .nworld = 1, .camera = names[n], .width = width, .height = height, .outputs = BIT(SEG_GEOM)});
                seen(sim, width, height, box);
                assert_in_range(box[0], 1, width / 2);
                assert_in_range(width - 1 - box[1], 1, width / 2);
                assert_in_range(box[2], 1, height / 2);
                assert_in_range(height - 1 - box[3], 1, height / 2);
                int wide = 100 * (box[1] - box[0] + 1) / width, high = 100 * (box[3] - box[2] + 1) / height;
                if (wide < 82 && high < 82) fail_msg("scene %zu, %s: %d %% x %d %%", s, names[n], wide, high);
                stet_sim_destroy(sim);
            }
}

/* As MuJoCo's, the free camera is orthographic where the model says so: fovy is the height of the picture. */
static void an_orthographic_camera_shows_a_height(void **state)
{
    int box[4];
    stet_sim *sim = room_open(
        FLAT "<geom type='box' size='1 1 1.75'/></worldbody></mujoco>",
        &(room_def){.camera = "free:90,0,4,0,0,0", .width = 56, .height = 56, .nworld = 1, .outputs = BIT(SEG_GEOM)});
    assert_true(stet_sim_get_camera(sim, 0)->orthographic && stet_sim_get_camera(sim, 0)->fovy == 7);
    seen(sim, 56, 56, box);
    assert_int_equal(box[1] - box[0] + 1, 16);
    assert_int_equal(box[3] - box[2] + 1, 28);
    stet_sim_destroy(sim);
}

/* Pictures show the geoms of the chosen groups, and those alone are framed. */
static void groups_are_chosen(void **state)
{
    static const char scene[] = HEAD "<geom size='.1'/><geom size='.2' pos='2 0 0' group='4'/>"
                                     "<geom size='.2' pos='0 0 5' group='3'/></worldbody></mujoco>";
    static const uint32_t groups[] = {STET_GROUPS_DEFAULT, 1u << 4, 1u << 0 | 1u << 3, 0, STET_GROUPS_ALL};
    static const int shown[] = {1 << 0 | 1 << 1, 1 << 2, 1 << 0 | 1 << 1 | 1 << 3, 0, 15};
    stet_model *model = rig_model(scene);
    for (int k = 0; k < 5; ++k) {
        stet_sim_def def = room_sim_def(&(room_def){.nworld = 1, .width = 64, .height = 64});
        const char *camera = "free:80,-30";
        stet_sim *sim;
        int found = 0;
        def.groups = groups[k];
        def.cameras = &camera;
        def.ncamera = 1;
        OK(stet_sim_create(model, &def, &sim));
        (void)room_render(sim);
        int *seg = room_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_SEG_GEOM);
        for (int p = 0; p < 64 * 64; ++p) found |= seg[p] < 0 ? 0 : 1 << seg[p];
        assert_int_equal(found, shown[k]);
        free(seg);
        stet_sim_destroy(sim);
    }
    stet_model_destroy(model);
}

/* With nothing but a floor there is nothing to frame: MuJoCo's distance stays. */
static void nothing_to_frame(void **state)
{
    stet_sim *sim = room_open(HEAD "</worldbody></mujoco>", &(room_def){.camera = "free:fit"});
    mjvCamera view;
    mjv_defaultFreeCamera(stet_sim_get_model(sim)->mj, &view);
    same_as_mujoco(stet_sim_get_model(sim)->mj, &view, camera_frame(sim, 0));
    stet_sim_destroy(sim);
}

static void bad_names_are_refused(void **state)
{
    static const char *const bad[] = {"free:",        "free:1",    "free:1,2,0",     "free:1,2,-3",       "free:1,91",
                                      "free:1,2,3,4", "free:1,2,", "free:1,2,3,4,5", "free:1,nan",        "free:inf,2",
                                      "free:1,2 ,3",  "free:fits", "free:1;2",       "free:1,2,3,4,5,6,7"};
    stet_model *model = rig_model(ROOM_BALL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        stet_sim_def def = room_sim_def(&(room_def){.camera = bad[i]});
        stet_sim *sim;
        REFUSED(STET_ERROR_INVALID_ARGUMENT, "azimuth, elevation", stet_sim_create(model, &def, &sim));
        REFUSED(STET_ERROR_INVALID_ARGUMENT, bad[i], stet_sim_create(model, &def, &sim));
    }
    static const char *const twice[] = {"free:1,2", "free", "free:1,2"};
    stet_sim_def def = room_sim_def(&(room_def){0});
    stet_sim *sim;
    def.cameras = twice;
    def.ncamera = 3;
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "free:1,2: asked for twice", stet_sim_create(model, &def, &sim));
    stet_model_destroy(model);
}

/* CAMERA-1 */
static void a_camera_of_the_model_has_the_name(void **state)
{
    stet_sim *sim = room_open("<mujoco><worldbody><camera name='free:1,2' fovy='33'/></worldbody></mujoco>",
                              &(room_def){.camera = "free:1,2"});
    assert_true(stet_sim_get_camera(sim, 0)->fovy == 33);
    stet_sim_destroy(sim);
}

/* A camera that is placed shows what one that was made there shows, and says where it is. */
static void placed_like_made(void **state)
{
    static const char *const names[] = {"free", "free:30,-20,2.5", "free:-120,65,0.4,1,-2,.5", "free:fit",
                                        "free:200,50"};
    for (int k = 0; k < 5; ++k) {
        stet_sim *made = room_open(ROOM_BALL, &(room_def){.camera = names[k], .nworld = 3});
        stet_sim *sim = room_open(ROOM_BALL, &(room_def){.camera = "free:10,-10,3", .nworld = 3});
        int64_t before = room_render(sim);
        uint64_t hash, other;
        double placed[6];
        float x[12], again[12];
        OK(stet_sim_place_camera(sim, 0, names[k], placed));
        memcpy(x, camera_frame(sim, 0), sizeof x);
        assert_memory_equal(x, camera_frame(made, 0), sizeof x);
        assert_true(room_render(sim) == before + 1);
        (void)room_render(made);
        OK(stet_sim_hash_frame(sim, STET_FRAME_LATEST, &hash));
        OK(stet_sim_hash_frame(made, STET_FRAME_LATEST, &other));
        assert_true(hash == other);
        char name[200];
        (void)snprintf(name, sizeof name, "free:%.17g,%.17g,%.17g,%.17g,%.17g,%.17g", placed[0], placed[1], placed[2],
                       placed[3], placed[4], placed[5]);
        OK(stet_sim_place_camera(sim, 0, name, NULL));
        memcpy(again, camera_frame(sim, 0), sizeof again);
        for (int i = 0; i < 12; ++i) assert_true(fabsf(x[i] - again[i]) < 1e-5f);
        stet_sim_destroy(made);
        stet_sim_destroy(sim);
    }
}

static void bad_places_are_refused(void **state)
{
    stet_sim *sim = room_open("<mujoco><worldbody><camera name='free:1,2'/></worldbody></mujoco>",
                              &(room_def){.camera = "free:1,2"});
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "it is the model's", stet_sim_place_camera(sim, 0, "free:fit", NULL));
    stet_sim_destroy(sim);
    sim = room_open(ROOM_BALL, &(room_def){.camera = "free"});
    REFUSED(STET_ERROR_NOT_FOUND, "no camera 1; it has 1", stet_sim_place_camera(sim, 1, "free:fit", NULL));
    REFUSED(STET_ERROR_NOT_FOUND, "no camera -1", stet_sim_place_camera(sim, -1, "free:fit", NULL));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "no place for a free camera", stet_sim_place_camera(sim, 0, "front", NULL));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "azimuth, elevation", stet_sim_place_camera(sim, 0, "free:1,91", NULL));
    stet_sim_destroy(sim);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(cameras_are_where_mujoco_has_them),
        cmocka_unit_test(a_framed_scene_fills_the_picture),
        cmocka_unit_test(an_orthographic_camera_shows_a_height),
        cmocka_unit_test(groups_are_chosen),
        cmocka_unit_test(nothing_to_frame),
        cmocka_unit_test(bad_names_are_refused),
        cmocka_unit_test(placed_like_made),
        cmocka_unit_test(bad_places_are_refused),
        cmocka_unit_test(a_camera_of_the_model_has_the_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
