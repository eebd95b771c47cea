/*
 * Sites: colours show them as geoms that look alike, but for groups above 2 and sites without colour; depth, normals,
 * albedo and ids do not.
 */
#include "render/pictures.h"

#define SCENE(shapes)                                                                                                  \
    "<mujoco><visual><headlight ambient='.3 .3 .3' diffuse='.4 .4 .4'/></visual>"                                      \
    "<asset><texture name='t' type='2d' builtin='checker' rgb1='.9 .8 .2' rgb2='.2 .3 .7' width='32' height='32'/>"    \
    "<texture name='c' type='cube' builtin='gradient' rgb1='.9 .1 .2' rgb2='.2 .9 .7' width='32' height='192'/>"       \
    "<material name='m' rgba='.2 .3 .8 1' specular='1' shininess='.9'/><material name='t' texture='t' texrepeat='3 "   \
    "2'/><material name='c' texture='c' rgba='1 1 1 .6'/></asset><worldbody>"                                          \
    "<light pos='1 -1 4' dir='-.2 .2 -1' diffuse='.5 .5 .5'/><geom type='plane' size='2 2 .1'/>" shapes                \
    "<camera pos='0 -3 1.4' xyaxes='1 0 0 0 .4 .9'/></worldbody></mujoco>"
#define SHAPES(kind)                                                                                                   \
    "<" kind " type='sphere' size='.25' pos='-.9 0 .5' material='m'/>"                                                 \
    "<" kind " type='box' size='.2 .1 .2' pos='-.3 -.4 .4' euler='0 0 30' rgba='.2 .8 .3 1'/>"                         \
    "<" kind " type='sphere' size='.3' pos='-.3 -.4 .4' rgba='.3 .4 .9 .3'/>"                                          \
    "<" kind " type='capsule' size='.1 .25' pos='.9 0 .5' euler='0 40 0' rgba='.9 .3 .2 1'/>"                          \
    "<" kind " type='cylinder' size='.15 .2' pos='.3 -.5 .3'/>"                                                        \
    "<" kind " type='ellipsoid' size='.2 .3 .15' pos='.3 0 .6' rgba='.9 .8 .1 1'/>"                                    \
    "<" kind " type='box' size='.15 .1 .15' pos='-.8 -.9 .25' euler='20 0 30' material='t'/>"                          \
    "<" kind " type='ellipsoid' size='.2 .1 .15' pos='.9 -.8 .2' euler='0 20 30' material='c'/>"
#define UNSEEN                                                                                                         \
    "<site size='.4' pos='0 0 .6' group='3'/><site size='.4' pos='0 0 .6' group='5'/>"                                 \
    "<site size='.4' pos='0 0 .6' rgba='1 1 1 0'/>"

enum { WIDTH = 97, HEIGHT = 65, NONE, SITES, GEOMS, HIDDEN, SCENES };

static void draw(pictures *p, int kind, const char *isa, int samples)
{
    static const char *const text[SCENES] = {
        [NONE] = SCENE(""), [SITES] = SCENE(SHAPES("site")), [GEOMS] = SCENE(SHAPES("geom")), [HIDDEN] = SCENE(UNSEEN)};
    pictures_open(p, text[kind], 2, isa, 2);
    pictures_model_camera(p, 0, WIDTH, HEIGHT);
    pictures_ready(p);
    OK(sti_renderer_set_samples(p->renderer, samples));
    pictures_run(p);
}

static void colours_are_those_of_geoms(void **state)
{
    static const char *const isas[] = {"portable", "w1", "avx2", "avx512", NULL};
    for (int i = 0; i < 5; ++i)
        for (int samples = 1; samples <= 4; samples *= 4) {
            sti_isa isa;
            if (isas[i] && (!sti_isa_find(isas[i], &isa) || !sti_isa_available(isa))) continue;
            pictures sites, geoms, none;
            draw(&sites, SITES, isas[i], samples);
            draw(&geoms, GEOMS, isas[i], samples);
            draw(&none, NONE, isas[i], samples);
            uint64_t colour = pictures_hash(&sites, STI_BUFFER_COLOUR, 1);
            assert_true(colour == pictures_hash(&geoms, STI_BUFFER_COLOUR, 1));
            assert_true(colour != pictures_hash(&none, STI_BUFFER_COLOUR, 1));
            for (int b = STI_BUFFER_COLOUR + 1; b < STI_BUFFER_COUNT; ++b)
                assert_true(pictures_hash(&sites, (sti_picture_buffer)b, 1) ==
                            pictures_hash(&none, (sti_picture_buffer)b, 1));
            pictures_close(&sites);
            pictures_close(&geoms);
            pictures_close(&none);
        }
}

static void hidden_sites_change_nothing(void **state)
{
    pictures hidden, none;
    draw(&hidden, HIDDEN, NULL, 1);
    draw(&none, NONE, NULL, 1);
    assert_true(pictures_hash(&hidden, STI_BUFFER_COLOUR, 0) == pictures_hash(&none, STI_BUFFER_COLOUR, 0));
    pictures_close(&hidden);
    pictures_close(&none);
}

/* A site goes where its body goes, in each world. */
static void sites_follow_their_bodies(void **state)
{
    pictures p;
    pictures_open(&p,
                  "<mujoco><worldbody><body pos='0 0 1'><freejoint/><geom size='.05'/>"
                  "<site size='.2' pos='.5 0 0' rgba='1 1 1 1'/></body>"
                  "<camera pos='0 -4 1' xyaxes='1 0 0 0 0 1'/></worldbody></mujoco>",
                  2, NULL, 1);
    pictures_model_camera(&p, 0, 80, 60);
    pictures_ready(&p);
    stet_array *xpos;
    OK(stet_worlds_get_array(p.worlds, "xpos", &xpos));
    float pos[2 * 2 * 3] = {0, 0, 0, 0, 0, 1, 0, 0, 0, -1, 0, 1};
    OK(stet_array_write(xpos, pos, sizeof pos));
    pictures_run(&p);
    uint32_t *colour = pictures_read(&p, STI_BUFFER_COLOUR);
    for (int w = 0; w < 2; ++w) {
        int64_t sum = 0, n = 0;
        for (int i = 0; i < 80 * 60; ++i) {
            bool hit = colour[w * 80 * 60 + i] >> 24 == 255 && abs(i % 80 - (w ? 20 : 40)) > 3;
            sum += hit ? i % 80 : 0;
            n += hit;
        }
        assert_true(n > 20);
        assert_in_range(sum / n, w ? 27 : 47, w ? 33 : 53);
    }
    free(colour);
    pictures_close(&p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(colours_are_those_of_geoms),
        cmocka_unit_test(hidden_sites_change_nothing),
        cmocka_unit_test(sites_follow_their_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
