/*
 * Mode physical against what can be said in advance: sums of light, textures, layers and samples in linear light; the
 * share of a bulb that an edge leaves; and the same bits over instruction sets and threads. Outputs without light are
 * those of mode mujoco.
 */
#include "render/pictures.h"

enum { SIZE = 64 };

static double linear_of(double c) { return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4); }
static int byte_of(double light)
{
    light = fmin(light, 1);
    return (int)lrint(255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * pow(light, 1 / 2.4) - 0.055));
}

static uint8_t *draw(const char *xml, stet_render_mode mode, int samples)
{
    pictures p;
    pictures_open(&p, xml, 1, NULL, 1);
    p.mode = mode;
    pictures_model_camera(&p, 0, SIZE, SIZE);
    pictures_ready(&p);
    OK(sti_renderer_set_samples(p.renderer, samples));
    pictures_run(&p);
    uint8_t *rgba = pictures_read(&p, STI_BUFFER_COLOUR);
    pictures_close(&p);
    return rgba;
}

#define DARK "<visual><headlight active='0'/></visual>"
#define CAMERA "<camera pos='0 0 .5' projection='orthographic' fovy='2'/>"
#define SUN(more) "<light directional='true' dir='0 0 -1' specular='0 0 0' " more "/>"
#define SCENE(assets, things)                                                                                          \
    "<mujoco>" DARK "<asset>" assets "</asset><worldbody>" CAMERA things "</worldbody></mujoco>"
#define MATT(more) "<material name='m' rgba='.5 .2 .9 1' specular='0' " more "/>"
#define FLOOR "<geom type='plane' size='0 0 1' material='m'/>"

static void check_colour(const char *xml, double r, double g, double b)
{
    uint8_t *rgba = draw(xml, STET_RENDER_MODE_PHYSICAL, 1);
    const double light[3] = {r, g, b};
    for (int i = 0; i < SIZE * SIZE; ++i)
        for (int k = 0; k < 3; ++k)
            if (abs(rgba[4 * i + k] - byte_of(light[k])) > 1)
                fail_msg("%s: pixel %d, channel %d: %d, not %d", xml, i, k, rgba[4 * i + k], byte_of(light[k]));
    free(rgba);
}

static void light_is_linear(void **state)
{
    const double c[3] = {linear_of(0.5), linear_of(0.2), linear_of(0.9)};
    check_colour(SCENE(MATT(""), FLOOR SUN("diffuse='.6 .6 .6' ambient='.1 .1 .1'")), 0.7 * c[0], 0.7 * c[1],
                 0.7 * c[2]);
    /* Two lamps of 0.8, of which one casts shadows: the sum is not limited before it has passed the surface. */
    check_colour(SCENE(MATT(""), FLOOR SUN("diffuse='.8 .8 .8'") SUN("diffuse='.8 .8 .8' castshadow='false'")),
                 1.6 * c[0], 1.6 * c[1], 1.6 * c[2]);
    check_colour(SCENE(MATT("emission='.5'"), FLOOR), 0.5 * c[0], 0.5 * c[1], 0.5 * c[2]);
    /* A texture of one colour, all bytes of which are sRGB, times the material's. */
    check_colour(
        SCENE("<texture name='t' type='2d' builtin='flat' rgb1='.4 .6 .1' width='8' height='8'/>" MATT("texture='t'"),
              FLOOR SUN("diffuse='1 1 1'")),
        c[0] * linear_of(0.4), c[1] * linear_of(0.6), c[2] * linear_of(0.1));
    /* A pane of alpha .25 that shines on a floor that shines: it covers a quarter. */
    check_colour(SCENE(MATT("emission='1'") "<material name='p' rgba='1 1 1 .25' emission='1' specular='0'/>",
                       FLOOR "<geom type='box' size='2 2 .01' pos='0 0 .2' material='p'/>"),
                 0.25 + 0.75 * c[0], 0.25 + 0.75 * c[1], 0.25 + 0.75 * c[2]);
}

/* Of four samples of a white geom before a black sky, so many meet it: the mean of light, not of bytes. */
static void samples_are_means_of_light(void **state)
{
    uint8_t *rgba = draw(SCENE("<material name='m' rgba='1 1 1 1' emission='1' specular='0'/>",
                               "<geom type='box' size='.517 .31 .1' euler='0 0 40' material='m'/>"),
                         STET_RENDER_MODE_PHYSICAL, 4);
    int found[5] = {0};
    for (int i = 0; i < SIZE * SIZE; ++i) {
        int hits = 0;
        while (hits < 5 && rgba[4 * i] != byte_of(hits / 4.0)) ++hits;
        if (hits == 5) fail_msg("pixel %d: %d", i, rgba[4 * i]);
        found[hits]++;
    }
    for (int k = 0; k < 5; ++k)
        if (found[k] <= 5) fail_msg("%d pixels with %d of four samples", found[k], k);
    free(rgba);
}

/* The part of a disc of radius 1 on this side of a chord at x. */
static double disc_part(double x)
{
    x = fmax(-1, fmin(1, x));
    return 0.5 + (x * sqrt(1 - x * x) + asin(x)) / 3.14159265358979323846;
}

/*
 * A wall's edge at x = 0, half a metre above the floor, under a bulb a metre above the edge: the penumbra is twice as
 * wide as the bulb is. Each pixel has one of sixteen shares, columns together have that of the disc.
 */
static void bulbs_have_penumbras(void **state)
{
    const double radius = 0.3, step = 2.0 / SIZE;
    const char *scene = SCENE("<material name='m' rgba='1 1 1 1' specular='0'/>",
                              FLOOR "<geom type='box' size='2 2 .0005' pos='-2 0 .6'/>"
                                    "<light cutoff='180' pos='0 0 1.2' diffuse='.5 .5 .5' attenuation='1 0 0' "
                                    "specular='0 0 0' bulbradius='.3'/>");
    uint8_t *soft = draw(scene, STET_RENDER_MODE_PHYSICAL, 1), *hard = draw(scene, STET_RENDER_MODE_MUJOCO, 1);
    double most = 0;
    for (int i = SIZE / 2 + 1; i < SIZE; ++i) {
        double x = (i + 0.5) * step - 1, mean = 0, wanted = 0;
        for (int j = SIZE / 4; j < 3 * SIZE / 4; ++j) {
            double y = 1 - (j + 0.5) * step, facing = 1.2 / sqrt(1.44 + x * x + y * y);
            mean += linear_of(soft[4 * (j * SIZE + i)] / 255.0) / (0.5 * facing) / (SIZE / 2);
            /* Seen from the floor, the edge is at -x of the bulb; the disc faces the pixel. */
            wanted += disc_part(x / (radius * sqrt(1.44 + y * y) / sqrt(1.44 + x * x + y * y))) / (SIZE / 2);
        }
        most = fmax(most, fabs(mean - wanted));
    }
    print_message("penumbra: %.3f off at most\n", most);
    assert_true(most < 0.04);
    for (int i = 0; i < SIZE; ++i) { /* mode mujoco has no penumbra */
        int value = hard[4 * (SIZE / 2 * SIZE + i)];
        assert_true((value > 0) == ((i + 0.5) * step - 1 > 0) || i / 2 == SIZE / 4);
    }
    free(soft);
    free(hard);
}

typedef struct look {
    const char *name;
    uint64_t colour[2]; /* hashes with 1 and 4 samples */
} look;

static void open_look(pictures *p, const char *name, stet_render_mode mode, const char *isa, int threads)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/test/render/looks/%s.xml", STET_TEST_SOURCE_DIR, name);
    pictures_open(p, path, 1, isa, threads);
    p->mode = mode;
    for (int c = 0; c < (int)p->model->mj->ncam; ++c) pictures_model_camera(p, c, 97, 65);
    pictures_ready(p);
}

static void pictures_have_golden_hashes(void **state)
{
    static const char *const isas[] = {"portable", "w1", "avx2", "avx512"};
    static const look golden[] = {
        {"mirror", {0xde7832cc842714e2, 0x1542949da3a47a3c}}, {"clear", {0xdd491bcd0dc40379, 0x7f0032d00b5740fd}},
        {"lights", {0xe6947179e9269f5f, 0xb55f4bed8c2ca87c}}, {"cube", {0x02789d86fcfbaf69, 0x52edf0cb07c8d313}},
        {"roles", {0x2f2aff9f2175a0d5, 0x1327484352d84e3d}},
    };
    bool same = true;
    for (size_t k = 0; k < sizeof golden / sizeof *golden; ++k)
        for (int i = 0; i < 4; ++i) {
            sti_isa isa;
            uint64_t hash[2];
            pictures p;
            if (!sti_isa_find(isas[i], &isa) || !sti_isa_available(isa)) continue;
            open_look(&p, golden[k].name, STET_RENDER_MODE_PHYSICAL, isas[i], 1 + i % 3);
            for (int s = 0; s < 2; ++s) {
                OK(sti_renderer_set_samples(p.renderer, s ? 4 : 1));
                pictures_run(&p);
                OK(stet_array_hash(p.target.pixels[STI_BUFFER_COLOUR], &hash[s]));
            }
            pictures_close(&p);
            if (hash[0] == golden[k].colour[0] && hash[1] == golden[k].colour[1]) continue;
            print_message("%s, %s: {0x%016llx, 0x%016llx}\n", golden[k].name, isas[i], (unsigned long long)hash[0],
                          (unsigned long long)hash[1]);
            same = false;
        }
    assert_true(same);
}

static void other_outputs_are_those_of_mode_mujoco(void **state)
{
    pictures p[2];
    for (int i = 0; i < 2; ++i) {
        open_look(&p[i], "clear", (stet_render_mode)i, NULL, 2);
        pictures_run(&p[i]);
    }
    for (int b = STI_BUFFER_DEPTH; b < STI_BUFFER_CAST; ++b)
        if (b != STI_BUFFER_ALBEDO)
            assert_true(pictures_hash(&p[0], (sti_picture_buffer)b, 0) ==
                        pictures_hash(&p[1], (sti_picture_buffer)b, 0));
    /* The colour of a material is that of the file in both. */
    uint8_t *albedo[2] = {pictures_read(&p[0], STI_BUFFER_ALBEDO), pictures_read(&p[1], STI_BUFFER_ALBEDO)};
    for (int64_t i = 0; i < 4 * p[0].npixel; ++i) assert_true(abs(albedo[0][i] - albedo[1][i]) <= 1);
    for (int i = 0; i < 2; ++i) free(albedo[i]);
    for (int i = 0; i < 2; ++i) pictures_close(&p[i]);
}

static void modes_have_names(void **state)
{
    stet_render_mode found;
    for (int i = 0; i < STET_RENDER_MODE_COUNT; ++i) {
        OK(stet_render_mode_find(stet_render_mode_name((stet_render_mode)i), &found));
        assert_int_equal(found, i);
    }
    assert_int_equal(stet_render_mode_find("fancy", &found), STET_ERROR_NOT_FOUND);
    assert_non_null(strstr(stet_get_last_error(), "mode fancy: pictures have no such mode; use mujoco or physical"));
    assert_int_equal(stet_render_mode_find(NULL, &found), STET_ERROR_INVALID_ARGUMENT);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(light_is_linear),
        cmocka_unit_test(samples_are_means_of_light),
        cmocka_unit_test(bulbs_have_penumbras),
        cmocka_unit_test(pictures_have_golden_hashes),
        cmocka_unit_test(other_outputs_are_those_of_mode_mujoco),
        cmocka_unit_test(modes_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
