/*
 * Fog: each pixel's by its depth, from pictures without it; over the sky and what is transparent; only where it is
 * asked for, and in colours alone; the same bits on every width.
 */
#include "render/pictures.h"

#include "device/isa.h"

enum { WIDTH = 64, HEIGHT = 48, N = WIDTH * HEIGHT };
static const double begin = 2 * 1.0, end = 2 * 4.0, zfar = 2 * 20.0, fog[3] = {1, 0.5, 0};

/* A floor, a pole, a ball; MORE: what else there is. No light makes a colour larger than 1. */
#define SCENE(more)                                                                                                    \
    "<mujoco><statistic extent='2'/><visual><headlight ambient='.4 .4 .4' diffuse='.3 .3 .3' specular='0 0 0'/>"       \
    "<map fogstart='1' fogend='4' zfar='20'/><rgba fog='1 .5 0 1'/></visual><asset><texture type='skybox' "            \
    "builtin='flat' rgb1='0 0 1' rgb2='0 0 1' width='16' height='96'/></asset><worldbody>"                             \
    "<light directional='true' dir='.2 .3 -1' diffuse='.2 .2 .2' specular='0 0 0'/>"                                   \
    "<geom type='plane' size='30 30 1' rgba='.2 .5 .8 1'/><geom type='box' size='.2 .2 2' pos='1 2 1' "                \
    "rgba='.9 .9 .1 1'/><geom size='.5' pos='-1 -1 .5' rgba='.8 .1 .3 1'/>" more "</worldbody></mujoco>"

typedef struct drawn {
    uint32_t colour[N];
    float depth[N];
} drawn;

static void draw(const char *text, bool foggy, stet_render_mode mode, int samples, const char *isa, drawn *out)
{
    pictures p;
    pictures_open(&p, text, 1, isa, 1);
    p.fog = foggy;
    p.mode = mode;
    pictures_camera(&p, (double[]){0, -3, 1.5}, (double[]){0, 0, 1}, 60, WIDTH, HEIGHT);
    pictures_ready(&p);
    OK(sti_renderer_set_samples(p.renderer, samples));
    pictures_run(&p);
    OK(stet_array_read(p.target.pixels[STI_BUFFER_COLOUR], out->colour, sizeof out->colour));
    OK(stet_array_read(p.target.pixels[STI_BUFFER_DEPTH], out->depth, sizeof out->depth));
    pictures_close(&p);
}

/* How much of what is at a depth is seen. */
static double clearness(double depth) { return fmin(fmax((end - depth) / (end - begin), 0), 1); }

/* The depth of the sky: on a cylinder with this radius and half this height, around the camera. */
static double sky_depth(int pixel)
{
    const double radius = 0.7 * zfar, step = 2 * tan(mjPI / 6) / HEIGHT, tilt = atan2(0.5, 3);
    double u = (pixel % WIDTH + 0.5 - WIDTH / 2.0) * step, v = (HEIGHT / 2.0 - pixel / WIDTH - 0.5) * step;
    double ahead = cos(tilt) + v * sin(tilt), up = v * cos(tilt) - sin(tilt);
    return radius / fmax(hypot(u, ahead), fabs(up));
}

static double channel(uint32_t colour, int k) { return (double)(colour >> 8 * k & 255) / 255; }

static void fog_goes_by_depth(void **state)
{
    static drawn with, without;
    int between = 0, sky = 0;
    draw(SCENE(""), true, STET_RENDER_MODE_MUJOCO, 1, NULL, &with);
    draw(SCENE(""), false, STET_RENDER_MODE_MUJOCO, 1, NULL, &without);
    assert_memory_equal(with.depth, without.depth, sizeof with.depth);
    for (int i = 0; i < N; ++i) {
        bool hit = isfinite(with.depth[i]);
        double clear = clearness(hit ? (double)with.depth[i] : sky_depth(i));
        for (int k = 0; k < 3; ++k) {
            double wanted = fog[k] + clear * (channel(without.colour[i], k) - fog[k]);
            if (fabs(channel(with.colour[i], k) - wanted) > 1.1 / 255)
                fail_msg("pixel %d, channel %d, depth %g: %g, not %g", i, k, (double)with.depth[i],
                         channel(with.colour[i], k), wanted);
        }
        between += hit && clear > 0.1 && clear < 0.9;
        sky += !hit;
    }
    assert_true(between > N / 10 && sky > N / 10);
}

/* Beyond the fog's end there is nothing but fog; a sky nearer than that shows through it. */
static void a_near_sky_shows_through(void **state)
{
    static drawn with;
    static const char near_sky[] =
        "<mujoco><statistic extent='2'/><visual><map fogstart='1' fogend='4' zfar='4'/><rgba fog='1 .5 0 1'/></visual>"
        "<asset><texture type='skybox' builtin='flat' rgb1='0 0 1' rgb2='0 0 1' width='16' height='96'/></asset>"
        "<worldbody/></mujoco>";
    draw(near_sky, true, STET_RENDER_MODE_MUJOCO, 1, NULL, &with);
    for (int i = 0; i < N; ++i) {
        double clear = clearness(sky_depth(i) * 4 / 20);
        assert_true(clear > 0.2);
        for (int k = 0; k < 3; ++k)
            assert_true(fabs(channel(with.colour[i], k) - fog[k] - clear * ((k == 2) - fog[k])) < 1.1 / 255);
    }
    draw("<mujoco><statistic extent='2'/><visual><rgba fog='1 .5 0 1'/></visual><worldbody/></mujoco>", true,
         STET_RENDER_MODE_MUJOCO, 1, NULL, &with);
    for (int i = 0; i < N; ++i) assert_int_equal(with.colour[i] & 0xffffff, 0); /* no skybox: black */
}

/* Glass in front of a wall: each has its own fog, then they are laid on each other, twice (blend.k.h). */
static void glass_has_its_own(void **state)
{
    static drawn with;
    draw("<mujoco><statistic extent='2'/><visual><headlight active='0'/><map fogstart='1' fogend='4'/>"
         "<rgba fog='0 1 0 1'/></visual><asset><material name='red' rgba='1 0 0 .5' emission='1'/>"
         "<material name='blue' rgba='0 0 1 1' emission='1'/></asset><worldbody>"
         "<geom type='box' size='9 .1 9' pos='0 3 0' material='blue'/>"
         "<geom type='box' size='9 .1 9' pos='0 1 0' material='red'/></worldbody></mujoco>",
         true, STET_RENDER_MODE_MUJOCO, 1, NULL, &with);
    for (int i = 0; i < N; ++i) {
        double wall = clearness((double)with.depth[i] * 5.9 / 3.9), glass = clearness((double)with.depth[i]);
        double red = 0.75 * glass, blue = 0.25 * wall, green = 0.25 * (1 - wall) + 0.75 * (1 - glass);
        assert_true(fabs(channel(with.colour[i], 0) - red) < 2.1 / 255);
        assert_true(fabs(channel(with.colour[i], 1) - green) < 2.1 / 255);
        assert_true(fabs(channel(with.colour[i], 2) - blue) < 2.1 / 255);
    }
}

/* With a mirror, glass, haze and shadows, in both modes, of one and of four samples. */
static void all_widths_have_the_same_bits(void **state)
{
    static const char *const isas[] = {"w1", "portable", "avx2", "avx512"};
    static const char text[] =
        SCENE("<geom type='box' size='.5 .5 .1' pos='0 -.5 .2' material='mirror'/><geom type='plane' pos='0 0 -1' "
              "size='0 0 1'/><geom type='box' size='.3 .02 .4' pos='.3 -1 .8' rgba='.3 .3 .9 .5'/></worldbody><asset>"
              "<material name='mirror' rgba='.5 .5 .5 1' reflectance='.5'/></asset><worldbody>");
    static drawn first, other, clear;
    for (int mode = 0; mode < STET_RENDER_MODE_COUNT; ++mode)
        for (int samples = 1; samples <= 4; samples += 3) {
            bool any = false;
            for (int i = 0; i < 4; ++i) {
                sti_isa isa;
                if (!sti_isa_find(isas[i], &isa) || !sti_isa_available(isa)) continue;
                draw(text, true, (stet_render_mode)mode, samples, isas[i], any ? &other : &first);
                if (any) assert_memory_equal(other.colour, first.colour, sizeof first.colour);
                any = true;
            }
            draw(text, false, (stet_render_mode)mode, samples, NULL, &clear);
            assert_true(memcmp(clear.colour, first.colour, sizeof first.colour) != 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fog_goes_by_depth),
        cmocka_unit_test(a_near_sky_shows_through),
        cmocka_unit_test(glass_has_its_own),
        cmocka_unit_test(all_widths_have_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
