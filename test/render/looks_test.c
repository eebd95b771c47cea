/*
 * What pictures show beyond the surfaces of geoms, in the scenes of looks/: the same bits over instruction sets and
 * threads, as committed; and what ids tell of it.
 */
#include "render/pictures.h"

enum { WIDTH = 97, HEIGHT = 65, SAMPLES = 2 };

typedef struct look {
    const char *name;
    uint64_t colour[SAMPLES], others; /* hashes: of colours with 1 and with 4 samples, of all other buffers */
} look;

static void open_look(pictures *p, const char *name, const char *isa, int threads)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/test/render/looks/%s.xml", STET_TEST_SOURCE_DIR, name);
    pictures_open(p, path, 2, isa, threads);
    for (int c = 0; c < (int)p->model->mj->ncam; ++c) pictures_model_camera(p, c, WIDTH, HEIGHT);
    pictures_ready(p);
}

static look hashes_of(const char *name, const char *isa, int threads)
{
    pictures p;
    look found = {.name = name};
    open_look(&p, name, isa, threads);
    for (int s = 0; s < SAMPLES; ++s) {
        OK(sti_renderer_set_samples(p.renderer, s ? 4 : 1));
        pictures_run(&p);
        OK(stet_array_hash(p.target.pixels[STI_BUFFER_COLOUR], &found.colour[s]));
    }
    for (int b = STI_BUFFER_COLOUR + 1; b < STI_BUFFER_CAST; ++b) {
        uint64_t hash;
        OK(stet_array_hash(p.target.pixels[b], &hash));
        found.others = found.others * 31 + hash;
    }
    pictures_close(&p);
    return found;
}

static void pictures_have_golden_hashes(void **state)
{
    static const char *const isas[] = {"portable", "w1", "avx2", "avx512"};
    static const look golden[] = {
        {"tendons", {0xc12bbd1ba5b06b7b, 0xf45eb6bcf922e625}, 0x44938a2f55c45afc},
        {"mirror", {0x94fe8350e98e4a65, 0xac8a33c7657e461b}, 0x937f2c2b4b8d5c15},
        {"below", {0x6b8e590446ef31a0, 0x676c415fc3339c0e}, 0xdd872438577d34cf},
        {"table", {0x1f30d62193d889db, 0x9740118e481de3c7}, 0x470a303e7e07c9ea},
    };
    bool same = true;
    for (size_t k = 0; k < sizeof golden / sizeof *golden; ++k)
        for (int i = 0; i < 4; ++i)
            for (int threads = 1; threads <= 3; threads += 2) {
                sti_isa isa;
                if (!sti_isa_find(isas[i], &isa) || !sti_isa_available(isa)) continue;
                look found = hashes_of(golden[k].name, isas[i], threads);
                if (found.colour[0] == golden[k].colour[0] && found.colour[1] == golden[k].colour[1] &&
                    found.others == golden[k].others)
                    continue;
                print_message("%s, %s, %d threads: {0x%016llx, 0x%016llx}, 0x%016llx\n", golden[k].name, isas[i],
                              threads, (unsigned long long)found.colour[0], (unsigned long long)found.colour[1],
                              (unsigned long long)found.others);
                same = false;
            }
    assert_true(same);
}

/* Pixels of tendons have ids below -1, and are neither of a geom nor of the sky. */
static void tendons_have_ids_of_their_own(void **state)
{
    pictures p;
    open_look(&p, "tendons", NULL, 2);
    pictures_run(&p);
    int *geom = pictures_read(&p, STI_BUFFER_GEOM), *body = pictures_read(&p, STI_BUFFER_BODY);
    int *type = pictures_read(&p, STI_BUFFER_TYPE), seen[6] = {0};
    float *depth = pictures_read(&p, STI_BUFFER_DEPTH);
    for (int64_t i = 0; i < p.nworld * p.npixel; ++i) {
        assert_in_range(geom[i] + 2 + 5, 0, 7 + p.model->mj->ngeom - 1);
        if (geom[i] >= -1) {
            assert_true((geom[i] == -1) == isinf(depth[i]) && body[i] >= -1 && type[i] >= -1);
            continue;
        }
        assert_true(body[i] == -2 && type[i] == -2 && depth[i] > 0 && depth[i] < 10);
        seen[-2 - geom[i]]++;
    }
    for (int t = 0; t < 5; ++t) assert_true(seen[t] > 20);
    assert_int_equal(seen[5], 0); /* of group 3 */
    free(geom);
    free(body);
    free(type);
    free(depth);
    pictures_close(&p);
}

/* How many pixels of the first picture have this colour, but for a byte's rounding. */
static int count_colour(const uint32_t *colour, int n, int r, int g, int b)
{
    int found = 0;
    for (int i = 0; i < n; ++i)
        found += abs((int)(colour[i] & 255) - r) <= 1 && abs((int)(colour[i] >> 8 & 255) - g) <= 1 &&
                 abs((int)(colour[i] >> 16 & 255) - b) <= 1;
    return found;
}

#define FLAT(mirrors)                                                                                                  \
    "<mujoco><visual><headlight ambient='1 1 1' diffuse='0 0 0' specular='0 0 0'/></visual><asset>"                    \
    "<material name='floor' rgba='.2 .4 .6 1' reflectance='.4'/><material name='top' rgba='.6 .6 .2 1' "               \
    "reflectance='.5'/></asset><worldbody>" mirrors "<geom size='.3' pos='-.6 .6 .4' rgba='.8 .2 .4 1'/>"              \
    "<geom size='.3' pos='.3 .6 .4' rgba='.8 .2 .4 .5'/><geom size='.2' pos='0 0 -.4' rgba='1 1 1 1'/>"                \
    "<camera pos='0 -2.6 1.8' xyaxes='1 0 0 0 .55 .84'/></worldbody></mujoco>"
#define FLOOR "<geom type='plane' size='2 2 .1' material='floor'/>"
#define TABLE "<geom type='box' size='1 1 .05' pos='0 0 -.05' material='top'/>"

/*
 * A mirror adds its reflectance times what it shows, of what is above it: a transparent ball covers 1 - .5^2, the one
 * below is not mirrored. Of two mirrors the first in the order of geoms is one.
 */
static void mirrors_add_what_they_show(void **state)
{
    static const struct {
        const char *scene;
        int floor[2], table[2]; /* at least so many pixels show the two balls */
    } rows[] = {{FLAT(FLOOR), {150, 150}, {0, 0}},
                {FLAT(TABLE), {0, 0}, {150, 150}},
                {FLAT("<geom type='plane' size='.1 .1 .1' pos='0 0 3' material='top'/>" FLOOR), {150, 150}, {0, 0}},
                {FLAT("<geom type='box' size='.1 .1 .1' pos='0 0 3' material='top'/>" FLOOR), {0, 0}, {0, 0}}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        pictures p;
        pictures_open(&p, rows[k].scene, 1, NULL, 1);
        pictures_model_camera(&p, 0, 2 * WIDTH, 2 * HEIGHT);
        pictures_ready(&p);
        pictures_run(&p);
        uint32_t *colour = pictures_read(&p, STI_BUFFER_COLOUR);
        int n = 4 * WIDTH * HEIGHT;
        const int found[4] = {count_colour(colour, n, 51 + 82, 102 + 20, 153 + 41),
                              count_colour(colour, n, 51 + 61, 102 + 15, 153 + 31),
                              count_colour(colour, n, 153 + 102, 153 + 26, 51 + 51),
                              count_colour(colour, n, 153 + 77, 153 + 19, 51 + 38)};
        const int *least[2] = {rows[k].floor, rows[k].table};
        for (int i = 0; i < 4; ++i) {
            int wanted = least[i / 2][i % 2];
            if (found[i] < wanted || (wanted == 0 && found[i] > 0))
                fail_msg("scene %d, colour %d: %d", (int)k, i, found[i]);
        }
        assert_int_equal(count_colour(colour, n, 51 + 102, 102 + 102, 255), 0);
        free(colour);
        pictures_close(&p);
    }
}

/* Colours show a plane from below, with 0.3 of its opacity, twice, and what is behind it; depth and ids the plane. */
static void planes_are_transparent_from_below(void **state)
{
    pictures p;
    pictures_open(&p,
                  "<mujoco><visual><headlight ambient='1 1 1' diffuse='0 0 0' specular='0 0 0'/></visual><worldbody>"
                  "<geom type='plane' size='1 1 .1' rgba='.8 .2 .6 1'/><geom type='plane' size='0 0 1' pos='0 0 -9'/>"
                  "<geom size='.2' pos='0 0 .5' rgba='.4 1 0 1'/>"
                  "<camera pos='0 0 -4' xyaxes='1 0 0 0 -1 0'/></worldbody></mujoco>",
                  1, NULL, 1);
    pictures_model_camera(&p, 0, WIDTH, HEIGHT);
    pictures_ready(&p);
    pictures_run(&p);
    uint32_t *colour = pictures_read(&p, STI_BUFFER_COLOUR);
    int *geom = pictures_read(&p, STI_BUFFER_GEOM), *type = pictures_read(&p, STI_BUFFER_TYPE), n = WIDTH * HEIGHT;
    float *depth = pictures_read(&p, STI_BUFFER_DEPTH);
    int plane = 0, ball = count_colour(colour, n, 104 + 50, 26 + 125, 78);
    for (int i = 0; i < n; ++i) {
        assert_true(geom[i] == -1 || (geom[i] == 0 && type[i] == mjGEOM_PLANE && fabsf(depth[i] - 4) < 1e-5f));
        plane += geom[i] == 0;
    }
    assert_true(ball > 20);
    assert_true(count_colour(colour, n, 104, 26, 78) > 500);
    assert_int_equal(count_colour(colour, n, 104, 26, 78) + ball, plane);
    free(type);
    free(depth);
    free(colour);
    free(geom);
    pictures_close(&p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_have_golden_hashes),
        cmocka_unit_test(tendons_have_ids_of_their_own),
        cmocka_unit_test(mirrors_add_what_they_show),
        cmocka_unit_test(planes_are_transparent_from_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
