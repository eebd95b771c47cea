/*
 * The near and the far plane: what is nearer than znear x extent or further than zfar x extent along the viewing axis
 * is not in a picture, in none of its outputs, and what the near plane cuts open is seen through.
 */
#include "render/pictures.h"

enum { SIZE = 40 };

static const char mesh[] = "<mesh name='rock' vertex='.06 0 0 -.06 0 0 0 .06 0 0 -.06 0 0 0 .06 0 0 -.06'/>";

/*
 * A room of things, and a camera of each kind on a body; `more` comes last, so that the ids of the others are the same.
 */
static void open_room(pictures *p, double extent, const char *map, const char *on_body, const char *more)
{
    scene_text t = {.n = 0};
    add(&t,
        "<mujoco><statistic extent='%g'/><visual><map %s/></visual><asset>%s</asset><worldbody><light pos='0 0 4'/>"
        "<geom type='plane' size='0 0 1' pos='0 0 -.5'/><geom type='box' size='.3 .2 .1' pos='.1 1 0'/>"
        "<geom size='.2' pos='-.4 .8 .1'/><body pos='0 -.5 .1' euler='80 5 0'>"
        "<camera name='angle' fovy='70'/><camera name='sensor' resolution='40 40' focal='1 1.1' sensorsize='1.6 1.5'/>"
        "<camera name='flat' projection='orthographic' fovy='1.2'/>%s</body>%s</worldbody></mujoco>",
        extent, map, mesh, on_body, more);
    pictures_open(p, t.at, 1, NULL, 1);
    for (int c = 0; c < 3; ++c) pictures_model_camera(p, c, SIZE, SIZE);
    pictures_ready(p);
    pictures_run(p);
}

static void same_room(const char *what, double extent, const char *map, const char *on_body, const char *more)
{
    pictures with, without;
    open_room(&with, extent, map, on_body, more);
    open_room(&without, extent, map, "", "");
    for (int b = 0; b < STI_BUFFER_COUNT; ++b)
        if (pictures_hash(&with, (sti_picture_buffer)b, 0) != pictures_hash(&without, (sti_picture_buffer)b, 0))
            fail_msg("%s is seen in buffer %d", what, b);
    pictures_close(&with);
    pictures_close(&without);
}

static void a_housing_is_seen_through(void **state)
{
    static const char *const housings[] = {
        "<geom size='.05'/>",
        "<geom type='box' size='.05 .04 .03' euler='0 0 30'/>",
        "<geom type='capsule' size='.03 .05'/>",
        "<geom type='cylinder' size='.05 .03'/>",
        "<geom type='ellipsoid' size='.03 .04 .05'/>",
        "<geom type='mesh' mesh='rock' euler='0 0 7'/>",
    };
    for (size_t k = 0; k < sizeof housings / sizeof *housings; ++k)
        same_room(housings[k], 1, "znear='.01'", housings[k], "");
}

/* Not only housings: whole geoms are nearer than one plane, or further than the other. */
static void what_is_too_near_or_too_far(void **state)
{
    same_room("a ball nearer than the near plane", 2, "znear='.05'", "<geom size='.01' pos='.01 .01 -.08'/>", "");
    same_room("a ball further than the far plane", 2, "zfar='2'", "", "<geom size='.3' pos='0 4 .4'/>");
}

/* How many pixels show geom 0. */
static int64_t count_seen(double near, double far, double extent, double depth, const char *camera)
{
    scene_text t = {.n = 0};
    pictures p;
    int64_t n = 0;
    add(&t,
        "<mujoco><statistic extent='%g'/><visual><map znear='%g' zfar='%g'/></visual><worldbody><geom type='box' "
        "size='9 9 1' pos='0 0 "
        "%.9g'/><camera %s/></worldbody></mujoco>",
        extent, near / extent, far / extent, -1 - depth, camera);
    pictures_open(&p, t.at, 1, NULL, 1);
    pictures_model_camera(&p, 0, SIZE, SIZE);
    pictures_ready(&p);
    pictures_run(&p);
    int *geom = pictures_read(&p, STI_BUFFER_GEOM);
    float *depths = pictures_read(&p, STI_BUFFER_DEPTH), *distances = pictures_read(&p, STI_BUFFER_DISTANCE);
    for (int64_t i = 0; i < p.npixel; ++i) {
        n += geom[i] == 0;
        assert_true(geom[i] == 0 ? fabs((double)depths[i] - depth) < 1e-6 : isinf(depths[i]) && isinf(distances[i]));
    }
    free(geom);
    free(depths);
    free(distances);
    pictures_close(&p);
    return n;
}

/* A wall across the view: all pixels have the same depth, though the corners are far further away. */
static void planes_are_across_the_view(void **state)
{
    static const char *const cameras[] = {"fovy='100'", "resolution='40 40' focal='1 1' sensorsize='2 2.4'",
                                          "projection='orthographic' fovy='2'"};
    for (int c = 0; c < 3; ++c)
        for (int doubled = 0; doubled < 3; ++doubled) {
            double extent = ldexp(0.5, doubled);
            assert_int_equal(count_seen(0.2, 1, extent, 0.199, cameras[c]), 0);
            assert_int_equal(count_seen(0.2, 1, extent, 0.201, cameras[c]), SIZE * SIZE);
            assert_int_equal(count_seen(0.2, 1, extent, 0.999, cameras[c]), SIZE * SIZE);
            assert_int_equal(count_seen(0.2, 1, extent, 1.001, cameras[c]), 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_housing_is_seen_through),
        cmocka_unit_test(what_is_too_near_or_too_far),
        cmocka_unit_test(planes_are_across_the_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
