/* The list of what a model has and pictures do not show: each kind counts what MuJoCo would show, and nothing else. */
#include "render/pictures.h"

static void check_shown(const char *xml, stet_render_mode mode, uint32_t decorations, const char *want)
{
    stet_model *model;
    char text[512] = "";
    const char *name;
    int count;
    OK(stet_model_load_string(xml, &model));
    for (int i = 0; (name = stet_render_get_not_drawn(model, mode, decorations, i, &count)); ++i)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s %d", i ? ", " : "", name, count);
    assert_string_equal(text, want);
    assert_null(stet_render_get_not_drawn(model, mode, decorations, -1, NULL));
    stet_model_destroy(model);
}

static void check_mode(const char *xml, stet_render_mode mode, const char *want) { check_shown(xml, mode, 0, want); }

static void check(const char *xml, const char *want) { check_mode(xml, STET_RENDER_MODE_MUJOCO, want); }

#define ASSETS                                                                                                         \
    "<asset><texture name='t' type='2d' builtin='flat' width='4' height='4' rgb1='1 0 0'/>"                            \
    "<material name='mirror' reflectance='.3'/><material name='clear' reflectance='.3' rgba='1 1 1 0'/>"               \
    "<material name='picture' texture='t'/>"                                                                           \
    "<material name='rough'><layer texture='t' role='orm'/><layer texture='t' role='normal'/></material></asset>"

static void everything_is_drawn(void **state)
{
    check("<mujoco>" ASSETS "<worldbody><light/><geom type='plane' size='1 1 1' material='picture'/>"
          "<geom size='.1' material='mirror'/><geom type='box' size='1 1 1' material='mirror' group='3'/>"
          "<geom type='box' size='1 1 1' material='clear'/><site material='mirror'/>"
          "<body><joint name='j'/><geom size='.1'/></body></worldbody>"
          "<tendon><fixed><joint joint='j' coef='1'/></fixed></tendon></mujoco>",
          "");
}

static void materials(void **state)
{
    check("<mujoco>" ASSETS "<worldbody><geom type='plane' size='1 1 1' material='mirror'/>"
          "<geom type='box' size='1 1 1' material='mirror'/><geom size='.1' material='rough'/>"
          "<site material='picture' name='a'/><site name='b' pos='1 0 0'/></worldbody>"
          "<tendon><spatial material='picture'><site site='a'/><site site='b'/></spatial></tendon></mujoco>",
          "textures of other roles than colour 2, textures of tendons 1");
}

/* The bytes of a KTX file, which MuJoCo keeps as one channel, are no picture. */
static void unread_textures(void **state)
{
    static const unsigned char ktx[] = {0xab, 'K', 'T', 'X', ' ', '1', '1', 0xbb, '\r', '\n', 0x1a, '\n', 1, 2, 3, 4};
    static const char path[] = STET_TEST_BINARY_DIR "/not_drawn.ktx";
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(ktx, 1, sizeof ktx, file), sizeof ktx);
    assert_int_equal(fclose(file), 0);
#define KTX(material)                                                                                                  \
    "<mujoco><asset><texture name='t' type='2d' file='" STET_TEST_BINARY_DIR "/not_drawn.ktx' "                        \
    "content_type='image/ktx'/>" material "</asset><worldbody><geom size='.1' material='m'/></worldbody></mujoco>"
    check(KTX("<material name='m' texture='t'/>"), "textures of one channel, or in KTX files 1");
    check(KTX("<material name='m'/>"), "");
    check_mode(KTX("<material name='m'><layer texture='t' role='roughness'/></material>"), STET_RENDER_MODE_PHYSICAL,
               "textures of other roles than colour 1");
    assert_int_equal(remove(path), 0);
}

/* Mode physical lacks opacity, and what would have to lie as a cube does. */
static void roles(void **state)
{
#define ROLES(colour, layers)                                                                                          \
    "<mujoco><asset><texture name='t' type='2d' builtin='flat' width='4' height='4'/>"                                 \
    "<texture name='c' type='cube' builtin='flat' width='4' height='4'/><material name='m'>" colour layers             \
    "</material></asset><worldbody><geom size='.1' material='m'/></worldbody></mujoco>"
#define ROLE(role) "<layer texture='t' role='" role "'/>"
    check_mode(ROLES("", ROLE("normal") ROLE("occlusion") ROLE("emissive") ROLE("orm") ROLE("metallic")),
               STET_RENDER_MODE_MUJOCO, "textures of other roles than colour 5");
    check_mode(ROLES("", ROLE("normal") ROLE("occlusion") ROLE("emissive") ROLE("orm") ROLE("metallic")),
               STET_RENDER_MODE_PHYSICAL, "");
    check_mode(ROLES("", ROLE("opacity") ROLE("roughness") ROLE("occlusion") ROLE("orm") ROLE("metallic")),
               STET_RENDER_MODE_PHYSICAL, "textures of other roles than colour 2");
    check_mode(ROLES("<layer texture='c' role='rgb'/>", ROLE("normal")), STET_RENDER_MODE_PHYSICAL,
               "textures of other roles than colour 1");
    check_mode(ROLES("", "<layer texture='c' role='normal'/>"), STET_RENDER_MODE_PHYSICAL,
               "textures of other roles than colour 1");
}

static void lights(void **state)
{
#define LIGHT "<light/>"
#define LIGHTS                                                                                                         \
    "<worldbody>" LIGHT LIGHT LIGHT LIGHT LIGHT LIGHT LIGHT LIGHT                                                      \
    "<light active='false'/><light castshadow='false'/><geom size='.1'/></worldbody>"
    check("<mujoco>" LIGHTS "</mujoco>", "lights after the eighth 2");
    check("<mujoco><visual><headlight active='0'/></visual>" LIGHTS "</mujoco>",
          "lights after the eighth 1, shadows of further lights 1");
#define TYPES "<mujoco><worldbody><light type='point'/><light type='image'/><geom size='.1'/></worldbody></mujoco>"
    check(TYPES, "lights by images 1, point lights 1");
    check_mode(TYPES, STET_RENDER_MODE_PHYSICAL, "lights by images 1");
}

static void soft_things(void **state)
{
#define SKIN(group, rgba, material)                                                                                    \
    "<skin group='" group "' rgba='" rgba "' material='" material "' vertex='0 0 0 1 0 0 0 1 0' face='0 1 2'>"         \
    "<bone body='b' bindpos='0 0 0' bindquat='1 0 0 0' vertid='0 1 2' vertweight='1 1 1'/></skin>"
#define FLEX(group, material)                                                                                          \
    "<flex dim='2' group='" group "' material='" material "' body='b b b' vertex='0 0 0 1 0 0 0 1 0' element='0 1 "    \
    "2'/>"
    check("<mujoco>" ASSETS "<deformable>" SKIN("0", "1 1 1 1", "picture") SKIN("3", "1 1 1 1", "picture")
              SKIN("0", "1 1 1 0", "picture") FLEX("2", "mirror") FLEX("2", "picture")
                  FLEX("5", "picture") "</deformable><worldbody><body name='b'><geom size='.1'/></body>"
                                       "<flexcomp name='n' dim='3' type='grid' count='3 3 3' spacing='.1 .1 .1' "
                                       "dof='trilinear' mass='1'/>"
                                       "<flexcomp name='l' dim='1' type='grid' count='6 1 1' spacing='.1 .1 .1' pos='0 "
                                       "0 1' euler='10 20 30' radius='.01' "
                                       "dof='trilinear' mass='1'/>"
                                       "</worldbody></mujoco>",
          "flexes of one dimension with nodes 1, textures of skins and flexes without coordinates, or cubes 2");
}

static void mechanics(void **state)
{
    check("<mujoco><worldbody><site name='w'/><body><joint name='j' type='slide'/><geom size='.1'/><site name='s'/>"
          "</body><body pos='1 0 0'><joint axis='0 1 0'/><geom size='.1'/><site name='c' pos='.1 0 0'/></body>"
          "</worldbody>"
          "<tendon><spatial><site site='w'/><site site='s'/></spatial>"
          "<spatial group='4'><site site='w'/><site site='c'/></spatial>"
          "<fixed><joint joint='j' coef='1'/></fixed></tendon>"
          "<actuator><general cranksite='c' slidersite='s' cranklength='1.2'/></actuator>"
          "<sensor><rangefinder site='w'/><rangefinder site='s'/></sensor></mujoco>",
          "slider-cranks 1, rays of range finders 2");
}

/* Decorations draw the rays of range finders at sites, in both modes. */
static void decorations(void **state)
{
    static const char xml[] = "<mujoco><worldbody><geom size='.1'/><site name='s'/></worldbody>"
                              "<sensor><rangefinder site='s'/></sensor></mujoco>";
    for (int mode = 0; mode < STET_RENDER_MODE_COUNT; ++mode) {
        check_shown(xml, (stet_render_mode)mode, ~(1u << STET_DECORATION_RANGEFINDER), "rays of range finders 1");
        check_shown(xml, (stet_render_mode)mode, 1u << STET_DECORATION_RANGEFINDER, "");
    }
}

static void plugins(void **state)
{
    check(
        "<mujoco><extension><plugin plugin='mujoco.sensor.touch_grid'/></extension><worldbody>"
        "<body><geom size='.1'/><site name='s'/></body></worldbody>"
        "<sensor><plugin plugin='mujoco.sensor.touch_grid' objtype='site' objname='s'><config key='size' value='2 2'/>"
        "<config key='fov' value='9 9'/><config key='gamma' value='0'/><config key='nchannel' value='1'/></plugin>"
        "</sensor></mujoco>",
        "drawings of plugins 1");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_drawn), cmocka_unit_test(materials),   cmocka_unit_test(lights),
        cmocka_unit_test(unread_textures),     cmocka_unit_test(roles),       cmocka_unit_test(soft_things),
        cmocka_unit_test(mechanics),           cmocka_unit_test(decorations), cmocka_unit_test(plugins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
