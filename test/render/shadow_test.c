/* Shadows against what can be said in advance: outlines on a floor, what casts, how they are switched off. */
#include "render/pictures.h"

enum { SIZE = 64 };

#define DARK "<visual><headlight active='0'/></visual>"
#define MATT "<asset><material name='m' rgba='.8 .8 .8 1' specular='0'/></asset>"
#define FLOOR "<geom type='plane' size='0 0 1' material='m'/>"
#define SUN "<light directional='true' pos='0 0 4' dir='0 0 -1' diffuse='.5 .5 .5' specular='0 0 0'/>"
#define BALL "<geom size='.25' pos='0 0 1' material='m'/>"
#define SCENE(things) "<mujoco>" DARK MATT "<worldbody>" FLOOR things "</worldbody></mujoco>"

/* The floor from below a ball of 0.25 m at a height of 1 m: an orthographic camera that sees 2 m of it. */
static uint8_t *draw(const char *xml)
{
    pictures p;
    pictures_open(&p, xml, 1, NULL, 1);
    pictures_model_camera(&p, 0, SIZE, SIZE);
    pictures_ready(&p);
    pictures_run(&p);
    uint8_t *rgba = pictures_read(&p, STI_BUFFER_COLOUR);
    pictures_close(&p);
    return rgba;
}

#define CAMERA "<camera pos='0 0 .5' projection='orthographic' fovy='2'/>"

/* Pixels nearer to the middle than `radius` are dark, others bright; within a pixel of the outline both may be. */
static void assert_disc(const char *xml, double radius, int dark, int bright)
{
    uint8_t *rgba = draw(xml);
    for (int i = 0; i < SIZE * SIZE; ++i) {
        double step = 2.0 / SIZE, x = (i % SIZE + 0.5) * step - 1, y = 1 - (i / SIZE + 0.5) * step, far = hypot(x, y);
        int value = rgba[4 * (ptrdiff_t)i], expected = far < radius ? dark : bright;
        if (fabs(far - radius) < step) continue;
        if (abs(value - expected) > 1) fail_msg("%g %g: %d, expected %d", x, y, value, expected);
    }
    free(rgba);
}

static void test_ball_darkens_a_disc(void **state)
{
    assert_disc(SCENE(BALL CAMERA SUN), 0.25, 0, 102);
    assert_disc(
        SCENE(BALL CAMERA "<light directional='true' pos='0 0 2' dir='0 0 -1' diffuse='.5 .5 .5' ambient='.1 .1 .1'/>"),
        0.25, 0, 122);
}

/* From a lamp at 3 m, 2 m above the ball's middle: the disc's radius is 3 tan(asin(1 / 8)). */
static void test_lamp_with_a_place_widens_it(void **state)
{
    uint8_t *rgba = draw(SCENE(BALL CAMERA "<light cutoff='180' pos='0 0 3' diffuse='.5 .5 .5' attenuation='1 0 0'/>"));
    const double radius = 3 * 0.125 / sqrt(1 - 0.125 * 0.125), step = 2.0 / SIZE;
    for (int i = 0; i < SIZE * SIZE; ++i) {
        double far = hypot((i % SIZE + 0.5) * step - 1, 1 - (i / SIZE + 0.5) * step);
        if (fabs(far - radius) > step) assert_int_equal(rgba[4 * (ptrdiff_t)i] > 0, far > radius);
    }
    free(rgba);
}

static void test_what_casts_none(void **state)
{
    assert_disc(
        SCENE(BALL CAMERA "<light directional='true' pos='0 0 4' dir='0 0 -1' diffuse='.5 .5 .5' castshadow='false'/>"),
        0, 0, 102);
    assert_disc("<mujoco><visual><headlight active='0'/><quality shadowsize='0'/></visual>" MATT
                "<worldbody>" FLOOR BALL CAMERA SUN "</worldbody></mujoco>",
                0, 0, 102);
    assert_disc(SCENE("<geom size='.25' pos='0 0 1' group='3'/>" CAMERA SUN), 0, 0, 102);
}

/* A transparent ball casts the whole shadow, as MuJoCo's does; so does a plane, though it is seen from above only. */
static void test_what_casts(void **state)
{
    assert_disc(SCENE("<geom size='.25' pos='0 0 1' rgba='1 1 1 .2'/>" CAMERA SUN), 0.25, 0, 102);
    assert_disc(SCENE("<geom type='cylinder' size='.25 .1' pos='0 0 1'/>" CAMERA SUN), 0.25, 0, 102);
    assert_disc(SCENE("<geom type='plane' size='2 2 1' pos='0 0 1'/>" CAMERA SUN), 2, 0, 102);
}

/* One of two lamps: the other one's light stays. */
static void test_each_lamp_has_its_own(void **state)
{
    assert_disc(SCENE(BALL CAMERA SUN "<light directional='true' dir='0 .6 -.8' diffuse='.25 .25 .25' specular='0 0 0' "
                                      "castshadow='false'/>"),
                0.25, 41, 143);
}

/*
 * A directional light's shadows begin at its position, in mode physical everywhere. MuJoCo's map would end before the
 * edge of the ball's shadow: it ends nowhere.
 */
static void test_shadows_begin_at_the_light(void **state)
{
    static const struct {
        bool physical;
        double height;
        int dark;
    } lamps[] = {{false, 4, 0}, {false, 1.5, 0}, {false, .5, 102}, {true, 4, 0}, {true, 1.5, 0}, {true, .5, 0}};
    for (int i = 0; i < 6; ++i) {
        char xml[1024];
        const double step = 2.0 / SIZE;
        (void)snprintf(
            xml, sizeof xml,
            "<mujoco><statistic extent='2'/><visual><headlight active='0'/><map shadowclip='.03'/></visual>" MATT
            "<worldbody>" FLOOR BALL CAMERA "<light directional='true' pos='.0625 0 %g' dir='0 0 -1' "
            "diffuse='.5 .5 .5' specular='0 0 0'/></worldbody></mujoco>",
            lamps[i].height);
        pictures p;
        pictures_open(&p, xml, 1, NULL, 1);
        p.mode = lamps[i].physical ? STET_RENDER_MODE_PHYSICAL : STET_RENDER_MODE_MUJOCO;
        pictures_model_camera(&p, 0, SIZE, SIZE);
        pictures_ready(&p);
        pictures_run(&p);
        uint8_t *rgba = pictures_read(&p, STI_BUFFER_COLOUR);
        for (int k = 0; k < SIZE * SIZE; ++k) {
            double x = (k % SIZE + 0.5) * step - 1, y = 1 - (k / SIZE + 0.5) * step, far = hypot(x, y);
            if (fabs(far - .25) < step) continue;
            if ((rgba[4 * (ptrdiff_t)k] == 0) != (far < .25 && lamps[i].dark == 0))
                fail_msg("lamp %d, %g %g: %d", i, x, y, rgba[4 * (ptrdiff_t)k]);
        }
        free(rgba);
        pictures_close(&p);
    }
}

/* A ball shadows its far side, and its near side nowhere: here, and so far out that rays begin below its surface. */
static void test_no_acne(void **state)
{
    static const char *const shapes[] = {
        "<geom size='.9' pos='0 0 -.45' material='m'/>", "<geom type='ellipsoid' size='.9 .7 .3' material='m'/>",
        "<geom type='box' size='.7 .7 .2' material='m'/>", "<geom type='mesh' mesh='b' material='m'/>"};
    for (int k = 0; k < 7; ++k) {
        int i = k % 4, away = k < 4 ? 0 : 20000;
        char xml[1024];
        uint8_t *with[2];
        for (int cast = 0; cast < 2; ++cast) {
            (void)snprintf(
                xml, sizeof xml,
                "<mujoco>" DARK "<asset><material name='m' rgba='.8 .8 .8 1' specular='0'/><mesh name='b' "
                "builtin='sphere' params='4' scale='.9 .9 .4'/></asset><worldbody><body pos='%d 0 0'>%s"
                "<camera pos='0 0 3' projection='orthographic' fovy='2'/><light directional='true' pos='0 0 4' "
                "dir='.1 .2 -1' diffuse='.9 .9 .9' castshadow='%s'/></body></worldbody></mujoco>",
                away, shapes[i], cast ? "true" : "false");
            with[cast] = draw(xml);
        }
        for (int j = 0; j < SIZE * SIZE; ++j) /* a mesh is in its own shadow where light only touches it */
            if (with[0][4 * j] > (i == 3 ? 40 : 0)) assert_int_equal(with[0][4 * j], with[1][4 * j]);
        free(with[0]);
        free(with[1]);
    }
}

/* A lamp that shines along the view, however both are turned; the camera is 2 m above the floor, the ball beside it. */
static void test_a_lamp_along_the_view(void **state)
{
    for (int turn = 0; turn < 24; ++turn) {
        char xml[1024];
        (void)snprintf(xml, sizeof xml,
                       "<mujoco>" DARK MATT "<worldbody><body euler='%d %d %d' pos='%d 1 2'><camera fovy='90'/>"
                       "<light directional='true' dir='0 0 -1' diffuse='.5 .5 .5' specular='0 0 0'/>"
                       "<geom type='plane' size='0 0 1' pos='0 0 -2' material='m'/>"
                       "<geom size='.2' pos='.9 0 -1' material='m'/></body></worldbody></mujoco>",
                       37 * turn, 53 * turn, 71 * turn, turn);
        uint8_t *rgba = draw(xml);
        for (int i = 0; i < SIZE * SIZE; ++i) {
            const double step = 4.0 / SIZE, x = (i % SIZE + 0.5) * step - 2, y = 2 - (i / SIZE + 0.5) * step;
            double far = hypot(x - 0.9, y);
            if (x > 1.2 || fabs(far - 0.2) < step) continue; /* beside it is the ball itself */
            if (abs(rgba[4 * i] - (far < 0.2 ? 0 : 102)) > 1)
                fail_msg("turn %d, %g %g: %d, %g m from the middle of the shadow", turn, x, y, rgba[4 * i], far);
        }
        free(rgba);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ball_darkens_a_disc),
        cmocka_unit_test(test_lamp_with_a_place_widens_it),
        cmocka_unit_test(test_what_casts_none),
        cmocka_unit_test(test_what_casts),
        cmocka_unit_test(test_each_lamp_has_its_own),
        cmocka_unit_test(test_shadows_begin_at_the_light),
        cmocka_unit_test(test_no_acne),
        cmocka_unit_test(test_a_lamp_along_the_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
