/* Colours against what can be said in advance: light by its angle, materials, textures, the sky, what is hidden. */
#include "render/pictures.h"

enum { SIZE = 33, MIDDLE = SIZE / 2 * SIZE + SIZE / 2 };

/* One world, one camera at `eye` that looks at the origin; all buffers. */
static void appearance(pictures *p, const char *xml, const double eye[3])
{
    const double origin[3] = {0, 0, 0};
    pictures_open(p, xml, 1, NULL, 1);
    pictures_camera(p, eye, origin, 60, SIZE, SIZE);
    pictures_ready(p);
    pictures_run(p);
}

static void assert_colour(const uint8_t *rgba, double r, double g, double b, int alpha)
{
    const double expected[3] = {r, g, b};
    for (int k = 0; k < 3; ++k)
        if (fabs(rgba[k] - 255 * fmin(expected[k], 1)) > 0.51)
            fail_msg("channel %d is %d, expected %g", k, rgba[k], 255 * expected[k]);
    assert_int_equal(rgba[3], alpha);
}

/* Colour of the middle of the picture, seen from above. */
static void assert_middle(const char *xml, double r, double g, double b, int alpha)
{
    const double above[3] = {0, 0, 2};
    pictures p;
    appearance(&p, xml, above);
    uint8_t *rgba = pictures_read(&p, STI_BUFFER_COLOUR);
    assert_colour(rgba + 4 * MIDDLE, r, g, b, alpha);
    free(rgba);
    pictures_close(&p);
}

#define DARK "<visual><headlight active='0'/></visual>"
#define MATT "<asset><material name='m' rgba='.5 .25 1 1' specular='0'/></asset>"
#define FLOOR "<geom type='plane' size='0 0 1' material='m'/>"

static void test_lambert_by_angle(void **state)
{
    assert_middle("<mujoco>" DARK MATT "<worldbody>" FLOOR
                  "<light directional='true' dir='0 0 -1' diffuse='.8 .6 .4'/></worldbody></mujoco>",
                  0.4, 0.15, 0.4, 255);
    assert_middle(
        "<mujoco>" DARK MATT "<worldbody>" FLOOR
        "<light directional='true' dir='.6 0 -.8' diffuse='.8 .6 .4' ambient='.1 .1 .1'/></worldbody></mujoco>",
        0.37, 0.145, 0.42, 255);
    /* From behind, and switched off. */
    assert_middle("<mujoco>" DARK MATT "<worldbody>" FLOOR
                  "<light directional='true' dir='0 0 1'/></worldbody></mujoco>",
                  0, 0, 0, 255);
    assert_middle("<mujoco>" DARK MATT "<worldbody>" FLOOR
                  "<light directional='true' dir='0 0 -1' active='false'/></worldbody></mujoco>",
                  0, 0, 0, 255);
}

static void test_headlight(void **state)
{
    assert_middle("<mujoco><visual><headlight ambient='.1 .2 .3' diffuse='.4 .4 .4' specular='0 0 0'/></visual>" MATT
                  "<worldbody>" FLOOR "</worldbody></mujoco>",
                  0.25, 0.15, 0.7, 255);
}

/*
 * In the middle the light comes back along the view: half vector and normal are one, so the whole highlight is there.
 */
static void test_highlight(void **state)
{
    assert_middle(
        "<mujoco>" DARK
        "<asset><material name='m' rgba='.2 .2 .2 1' specular='.5' shininess='.25'/></asset><worldbody>" FLOOR
        "<light directional='true' dir='0 0 -1' diffuse='.5 .5 .5' specular='.6 .4 .2'/></worldbody></mujoco>",
        0.4, 0.3, 0.2, 255);
}

static void test_highlight_falls_off(void **state)
{
    pictures p;
    const double above[3] = {0, 0, 2};
    appearance(&p,
               "<mujoco>" DARK
               "<asset><material name='m' rgba='0 0 0 1' specular='1' shininess='.0625'/></asset><worldbody>" FLOOR
               "<light directional='true' dir='0 0 -1' specular='1 1 1'/></worldbody></mujoco>",
               above);
    uint8_t *rgba = pictures_read(&p, STI_BUFFER_COLOUR);
    for (int x = 0; x < SIZE; ++x) {
        double u = (x + 0.5 - SIZE / 2.0) * 2 * tan(mjPI / 6) / SIZE, view[3] = {-u, 0, 1};
        mju_normalize3(view);
        view[2] += 1;
        mju_normalize3(view);
        double expected = pow(view[2], 8);
        assert_colour(rgba + 4 * (SIZE / 2 * SIZE + x), expected, expected, expected, 255);
    }
    free(rgba);
    pictures_close(&p);
}

static void test_spot_cone_and_attenuation(void **state)
{
    pictures p;
    const double above[3] = {0, 0, 2};
    appearance(&p,
               "<mujoco>" DARK MATT "<worldbody>" FLOOR
               "<light type='spot' pos='0 0 1' dir='0 0 -1' cutoff='20' exponent='3' "
               "attenuation='1 .5 .5' diffuse='1 1 1'/></worldbody></mujoco>",
               above);
    uint8_t *rgba = pictures_read(&p, STI_BUFFER_COLOUR);
    for (int x = 0; x < SIZE; ++x) {
        double place = 2 * (x + 0.5 - SIZE / 2.0) * 2 * tan(mjPI / 6) / SIZE, far = hypot(place, 1), cosine = 1 / far;
        double reach = cosine < cos(20 * mjPI / 180) ? 0 : pow(cosine, 3) * cosine / (1 + 0.5 * far + 0.5 * far * far);
        assert_colour(rgba + 4 * (SIZE / 2 * SIZE + x), 0.5 * reach, 0.25 * reach, reach, 255);
    }
    free(rgba);
    pictures_close(&p);
}

/* A cone of all directions; MuJoCo's classic renderer has no light of type point. */
static void test_light_in_all_directions(void **state)
{
#define LIGHT_AT(type)                                                                                                 \
    "<mujoco>" DARK MATT "<worldbody>" FLOOR "<light " type                                                            \
    " pos='3 0 4' diffuse='1 1 1' attenuation='1 0 .04'/></worldbody></mujoco>"
    assert_middle(LIGHT_AT("cutoff='180' exponent='3'"), 0.2, 0.1, 0.4, 255);
    assert_middle(LIGHT_AT("type='point'"), 0, 0, 0, 255);
}

/* Every pixel of a sphere: colour by its normal, normal by its place. */
static void test_sphere_by_normal(void **state)
{
    pictures p;
    const double eye[3] = {0, -3, 0};
    appearance(&p,
               "<mujoco>" DARK MATT "<worldbody><geom type='sphere' size='1' material='m'/>"
               "<light directional='true' dir='-.48 .64 -.6' diffuse='.9 .9 .9'/></worldbody></mujoco>",
               eye);
    uint8_t *rgba = pictures_read(&p, STI_BUFFER_COLOUR);
    float *normal = pictures_read(&p, STI_BUFFER_NORMAL), *depth = pictures_read(&p, STI_BUFFER_DEPTH);
    float *distance = pictures_read(&p, STI_BUFFER_DISTANCE);
    int hits = 0;
    for (int i = 0; i < SIZE * SIZE; ++i) {
        double step = 2 * tan(mjPI / 6) / SIZE, u = (i % SIZE + 0.5 - SIZE / 2.0) * step,
               v = (SIZE / 2.0 - i / SIZE - 0.5) * step;
        if (isinf(depth[i])) {
            assert_colour(rgba + 4 * i, 0, 0, 0, 0);
            assert_true(isinf(distance[i]));
            for (int k = 0; k < 3; ++k) assert_true(normal[3 * i + k] == 0);
            continue;
        }
        double t = (double)depth[i], n[3] = {u * t, t - 3, v * t};
        double light = fmax(0, 0.48 * n[0] - 0.64 * n[1] + 0.6 * n[2]) * 0.9;
        for (int k = 0; k < 3; ++k) assert_true(fabs(n[k] - (double)normal[3 * i + k]) < 1e-5);
        assert_true(fabs((double)distance[i] - t * sqrt(1 + u * u + v * v)) < 1e-5);
        assert_colour(rgba + 4 * i, 0.5 * light, 0.25 * light, light, 255);
        ++hits;
    }
    assert_true(hits > 200 && hits < SIZE * SIZE);
    free(rgba);
    free(normal);
    free(depth);
    free(distance);
    pictures_close(&p);
}

static void test_material_and_own_colour(void **state)
{
#define SUN "<light directional='true' dir='0 0 -1' diffuse='1 1 1' specular='0 0 0'/>"
#define ONE(asset, geom)                                                                                               \
    "<mujoco>" DARK "<asset>" asset "</asset><worldbody>" SUN "<geom type='box' size='1 1 .1' " geom                   \
    "/></worldbody></mujoco>"
    assert_middle(ONE("", ""), 0.5, 0.5, 0.5, 255);
    assert_middle(ONE("", "rgba='.1 .2 .3 1'"), 0.1, 0.2, 0.3, 255);
    assert_middle(ONE("<material name='m' rgba='.3 .2 .1 1'/>", "material='m'"), 0.3, 0.2, 0.1, 255);
    assert_middle(ONE("<material name='m' rgba='.3 .2 .1 1'/>", "material='m' rgba='.6 .7 .8 1'"), 0.6, 0.7, 0.8, 255);
    assert_middle(ONE("<material name='m' rgba='.2 .2 .1 1' emission='.5'/>", "material='m'"), 0.3, 0.3, 0.15, 255);
    /* Where four squares of a checker meet, its colour is their mean. */
    assert_middle(ONE("<texture name='t' type='2d' builtin='checker' rgb1='1 0 0' rgb2='0 0 1' width='64' height='64'/>"
                      "<material name='m' texture='t' rgba='1 1 .5 1'/>",
                      "material='m'"),
                  0.5, 0, 0.25, 255);
    /* A light too bright is white. */
    assert_middle(ONE("<material name='m' rgba='1 1 1 1' emission='3'/>", "material='m'"), 1, 1, 1, 255);
}

/* Layers as MuJoCo lays them: from the front to the back, then from the back to the front. */
static void test_transparent_layers(void **state)
{
#define SHEET(z, colour) "<geom type='box' size='1 1 .01' pos='0 0 " z "' material='m' rgba='" colour "'/>"
#define SHEETS(geoms)                                                                                                  \
    "<mujoco>" DARK "<asset><material name='m' emission='1' specular='0'/></asset><worldbody>" geoms                   \
    "</worldbody></mujoco>"
#define FLOOR_SHEET SHEET("-.5", "0 1 1 1")
#define NEAR SHEET(".5", "1 .5 0 .5")
#define FAR SHEET("0", ".5 0 1 .25")
    assert_middle(SHEETS(NEAR), 0.75, 0.375, 0, 255);
    const double near[3] = {1, 0.5, 0}, far[3] = {0.5, 0, 1};
    double seen[3] = {0, 1, 1};
    for (int k = 0; k < 3; ++k) {
        seen[k] = 0.5 * near[k] + 0.5 * seen[k];
        for (int i = 0; i < 2; ++i) seen[k] = 0.25 * far[k] + 0.75 * seen[k];
        seen[k] = 0.5 * near[k] + 0.5 * seen[k];
    }
    assert_middle(SHEETS(NEAR FAR FLOOR_SHEET), seen[0], seen[1], seen[2], 255);
    assert_middle(SHEETS(FLOOR_SHEET FAR NEAR), seen[0], seen[1], seen[2], 255);
    assert_middle(SHEETS(FAR NEAR FLOOR_SHEET SHEET("1", ".2 .4 .6 1")), 0.2, 0.4, 0.6, 255);
    assert_middle(SHEETS(FLOOR_SHEET SHEET("0", "1 0 0 .996")), 1, 0, 0, 255);
}

/* Depth and ids are those of the front, transparent or not. */
static void test_transparent_geom_has_depth_and_id(void **state)
{
    const double above[3] = {0, 0, 2};
    pictures p;
    appearance(&p, SHEETS(FLOOR_SHEET NEAR), above);
    float *depth = pictures_read(&p, STI_BUFFER_DEPTH);
    int *geom = pictures_read(&p, STI_BUFFER_GEOM);
    assert_int_equal(geom[MIDDLE], 1);
    assert_true(fabsf(depth[MIDDLE] - 1.49f) < 1e-5f);
    free(depth);
    free(geom);
    pictures_close(&p);
}

static void test_hidden(void **state)
{
    assert_middle(ONE("", "rgba='1 1 1 0'"), 0, 0, 0, 0);
    assert_middle(ONE("<material name='m' rgba='1 0 0 0'/>", "material='m'"), 0, 0, 0, 0);
    assert_middle(ONE("", "group='2'"), 0.5, 0.5, 0.5, 255);
    assert_middle(ONE("", "group='3'"), 0, 0, 0, 0);
}

/* MuJoCo's gradient: the first colour above, the second below; between them at the horizon. */
static void test_sky(void **state)
{
    static const struct {
        double eye[3], low[3], high[3];
    } ways[] = {{{0, 0, -1}, {.95, 0, 0}, {1, 0, .05}},
                {{0, 0, 1}, {0, 0, .95}, {.05, 0, 1}},
                {{0, -1, 0}, {.45, 0, .45}, {.55, 0, .55}}};
    for (int i = 0; i < 3; ++i) {
        pictures p;
        appearance(&p,
                   "<mujoco><asset><texture type='skybox' builtin='gradient' rgb1='1 0 0' rgb2='0 0 1' width='64' "
                   "height='384'/></asset>"
                   "<worldbody/></mujoco>",
                   ways[i].eye);
        uint8_t *rgba = pictures_read(&p, STI_BUFFER_COLOUR), *albedo = pictures_read(&p, STI_BUFFER_ALBEDO);
        for (int k = 0; k < 3; ++k) {
            double value = rgba[4 * MIDDLE + k] / 255.0;
            if (value < ways[i].low[k] || value > ways[i].high[k]) fail_msg("view %d channel %d: %g", i, k, value);
            assert_int_equal(albedo[4 * MIDDLE + k], 0);
        }
        assert_int_equal(rgba[4 * MIDDLE + 3], 0);
        free(rgba);
        free(albedo);
        pictures_close(&p);
    }
}

static void test_albedo_and_ids(void **state)
{
    pictures p;
    const double above[3] = {0, 0, 2};
    appearance(
        &p,
        "<mujoco><worldbody><geom size='.1' pos='9 9 0'/><body pos='0 0 .1'><geom type='box' size='1 1 .1' rgba='.2 "
        ".4 .6 1'/></body></worldbody></mujoco>",
        above);
    uint8_t *albedo = pictures_read(&p, STI_BUFFER_ALBEDO);
    int *geom = pictures_read(&p, STI_BUFFER_GEOM), *body = pictures_read(&p, STI_BUFFER_BODY),
        *type = pictures_read(&p, STI_BUFFER_TYPE);
    assert_colour(albedo + 4 * MIDDLE, 0.2, 0.4, 0.6, 255);
    assert_int_equal(geom[MIDDLE], 1);
    assert_int_equal(body[MIDDLE], 1);
    assert_int_equal(type[MIDDLE], mjGEOM_BOX);
    assert_int_equal(geom[0], -1);
    assert_int_equal(body[0], -1);
    assert_int_equal(type[0], -1);
    free(albedo);
    free(geom);
    free(body);
    free(type);
    pictures_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lambert_by_angle),
        cmocka_unit_test(test_headlight),
        cmocka_unit_test(test_highlight),
        cmocka_unit_test(test_highlight_falls_off),
        cmocka_unit_test(test_spot_cone_and_attenuation),
        cmocka_unit_test(test_light_in_all_directions),
        cmocka_unit_test(test_sphere_by_normal),
        cmocka_unit_test(test_material_and_own_colour),
        cmocka_unit_test(test_transparent_layers),
        cmocka_unit_test(test_transparent_geom_has_depth_and_id),
        cmocka_unit_test(test_hidden),
        cmocka_unit_test(test_sky),
        cmocka_unit_test(test_albedo_and_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
