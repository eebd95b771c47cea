/*
 * More geoms than a list takes (CHUNK), opaque and transparent ones, and sites: the boxes that patches are culled by
 * are made before them. The same bits over instruction sets, threads and lists of worlds; what is seen is what another
 * order of the same geoms shows. Worlds whose geoms have other sizes show what models with these sizes show.
 */
#include "render/pictures.h"

enum { NWORLD = 3, NBODY = 41, EACH = 10, TEXT = 1 << 17 };

/* Numbers of a body's geoms that do not depend on the machine: sixteenths. */
static double sixteenth(unsigned seed, unsigned k, int range)
{
    unsigned h = (seed * 31 + k) * 2654435761u;
    return (double)((int)(h >> 16) % (2 * range + 1) - range) / 16;
}

/*
 * 40 bodies of ten geoms and a site; every third one is transparent, 130 geoms. backwards: geoms of a body in another
 * order.
 */
static char *crowd(bool backwards)
{
    static const char *const shape[] = {"type='sphere' size='.125'", "type='box' size='.125 .0625 .25'",
                                        "type='capsule' size='.0625 .125'"};
    char *text = malloc(TEXT);
    int n =
        snprintf(text, TEXT,
                 "<mujoco><statistic extent='1'/><visual><headlight ambient='.2 .2 .2' diffuse='.3 .3 .3'/></visual>"
                 "<worldbody><light directional='true' dir='-.5 .25 -1' diffuse='.5 .5 .5'/>"
                 "<light pos='0 0 6' dir='0 0 -1' diffuse='.5 .5 .5' cutoff='60'/>"
                 "<geom type='plane' size='0 0 1' pos='0 0 -2'/>");
    for (unsigned b = 1; b < NBODY; ++b) {
        n += snprintf(text + n, (size_t)(TEXT - n), "<body><freejoint/><site pos='0 0 .5' size='.03125'/>");
        for (unsigned k = 0; k < EACH; ++k) {
            unsigned own = backwards ? EACH - 1 - k : k;
            n += snprintf(text + n, (size_t)(TEXT - n),
                          "<geom %s pos='%g %g %g' rgba='.%u .5 .%u %s' contype='0' conaffinity='0'/>", shape[own % 3],
                          sixteenth(b, own, 6), sixteenth(b, own + 20, 6), sixteenth(b, own + 40, 6), own % 9 + 1,
                          b % 9 + 1, b % 3 ? "1" : ".5");
        }
        n += snprintf(text + n, (size_t)(TEXT - n), "</body>");
    }
    n += snprintf(text + n, (size_t)(TEXT - n), "</worldbody></mujoco>");
    assert_true(n < TEXT);
    return text;
}

static void open_crowd(pictures *p, bool backwards, const char *isa, int threads)
{
    char *text = crowd(backwards);
    pictures_open(p, text, NWORLD, isa, threads);
    free(text);
    pictures_camera(p, (double[]){0, -6, 2}, (double[]){0, 0, 0}, 60, 100, 70);
    pictures_camera(p, (double[]){0.5, 0, 0}, (double[]){3, 1, -1}, 80, 48, 48);
    pictures_camera(p, (double[]){0, -12, 4}, (double[]){0, 0, 0}, 60, 16, 16); /* one patch, and more than a list */
    pictures_ready(p);
    float *pos = calloc(NWORLD * NBODY * 3, sizeof *pos), *quat = calloc(NWORLD * NBODY * 4, sizeof *quat);
    for (unsigned i = 0; i < NWORLD * NBODY; ++i) {
        for (unsigned k = 0; k < 3 && i % NBODY; ++k) pos[3 * i + k] = (float)sixteenth(i, k + 60, k == 2 ? 24 : 48);
        quat[4 * i] = 1;
    }
    pictures_take_poses(p, pos, quat);
    pictures_run(p);
}

static const uint64_t golden[STI_BUFFER_COUNT] = {
    0xaaf25ad5d9fd39f8, 0xc14b8feb4bd32760, 0x6388b5d30eeab190, 0x743674bd88941f3e, 0xea8b073229748d61,
    0xa68a3192fca3baa2, 0xbe7058faff1ccc59, 0xa6c58c73ec72b81e, 0x4343a90164c1e393, 0x4fa48b18eb7bdc05,
};

static void test_golden_hashes(void **state)
{
    static const char *const isas[] = {NULL, "portable", "w1", "avx2", "avx512"};
    for (int i = 0; i < 5; ++i) {
        sti_isa isa;
        if (isas[i] && (!sti_isa_find(isas[i], &isa) || !sti_isa_available(isa))) continue;
        for (int threads = 1; threads <= 3; threads += 2) {
            pictures p;
            uint64_t hash[STI_BUFFER_COUNT];
            open_crowd(&p, false, isas[i], threads);
            for (int b = 0; b < STI_BUFFER_COUNT; ++b) OK(stet_array_hash(p.target.pixels[b], &hash[b]));
            for (int b = 0; b < STI_BUFFER_COUNT; ++b)
                if (hash[b] != golden[b])
                    print_message("%s, %d threads, buffer %d: 0x%016llx\n", isas[i] ? isas[i] : "", threads, b,
                                  (unsigned long long)hash[b]);
            assert_memory_equal(hash, golden, sizeof hash);
            pictures_close(&p);
        }
    }
}

/* Worlds in any order, and some of them: each has its own boxes. */
static void test_lists_of_worlds(void **state)
{
    static const int lists[][NWORLD] = {{2, 0, 1}, {1, -1}, {2, -1}};
    for (int l = 0; l < 3; ++l) {
        pictures p;
        uint64_t hash[NWORLD][STI_BUFFER_COUNT];
        int n = l == 0 ? NWORLD : 1;
        open_crowd(&p, false, NULL, 2);
        for (int w = 0; w < NWORLD; ++w)
            for (int b = 0; b < STI_BUFFER_COUNT; ++b) hash[w][b] = pictures_hash(&p, (sti_picture_buffer)b, w);
        size_t size = stet_array_get_bytes(p.target.pixels[STI_BUFFER_COLOUR]);
        void *none = calloc(1, size);
        OK(stet_array_write(p.target.pixels[STI_BUFFER_COLOUR], none, size));
        OK(sti_renderer_run(p.renderer, lists[l], n, &p.target));
        for (int i = 0; i < n; ++i)
            for (int b = 0; b < STI_BUFFER_CAST; ++b)
                assert_true(pictures_hash(&p, (sti_picture_buffer)b, lists[l][i]) == hash[lists[l][i]][b]);
        free(none);
        pictures_close(&p);
    }
}

/* Sizes of worlds: the same bits as in a model that has them. */
static void test_sizes_of_worlds(void **state)
{
    pictures p, one;
    open_crowd(&p, false, NULL, 2);
    const int64_t n = 3 * (int64_t)p.model->mj->ngeom;
    double *size = malloc((size_t)(n * NWORLD) * sizeof *size);
    for (int64_t i = 0; i < n * NWORLD; ++i)
        size[i] = p.model->mj->geom_size[i % n] * (1 + sixteenth((unsigned)i, (unsigned)(i / n), 12));
    OK(stet_worlds_set_parameter(p.worlds, "geom_size", size, n * NWORLD));
    pictures_run(&p);
    for (int w = 0; w < NWORLD; ++w) {
        open_crowd(&one, false, NULL, 1);
        uint64_t plain = pictures_hash(&one, STI_BUFFER_GEOM, w);
        OK(stet_worlds_set_parameter(one.worlds, "geom_size", size + n * w, n)); /* in all worlds */
        for (int turn = 0; turn < 2; ++turn) {
            pictures_run(&one);
            for (int b = 0; b < STI_BUFFER_CAST; ++b)
                assert_true(pictures_hash(&p, (sti_picture_buffer)b, w) ==
                            pictures_hash(&one, (sti_picture_buffer)b, w));
            memcpy(one.model->mj->geom_size, size + n * w, (size_t)n * sizeof *size); /* in the model */
            OK(stet_worlds_set_parameter(one.worlds, "geom_size", NULL, 0));
            sti_renderer_destroy(one.renderer);
            OK(sti_renderer_create(one.stage, one.camera, one.ncamera, STI_DRAWING_DEFAULT, &one.renderer));
        }
        assert_true(pictures_hash(&one, STI_BUFFER_GEOM, w) != plain);
        pictures_close(&one);
    }
    free(size);
    pictures_close(&p);
}

/* A body whose place is no number, or not finite, is not seen, and hides none of those that it is grouped with. */
static void test_body_without_a_place(void **state)
{
    static const float places[] = {3e5f, NAN, INFINITY, -INFINITY};
    enum { BODY = 5 };
    uint64_t hash[4][STI_BUFFER_CAST];
    for (int i = 0; i < 4; ++i) {
        pictures p;
        stet_array *xpos;
        float pos[NWORLD * NBODY * 3];
        open_crowd(&p, false, NULL, 1);
        OK(stet_worlds_get_array(p.worlds, "xpos", &xpos));
        OK(stet_array_read(xpos, pos, sizeof pos));
        pos[3 * BODY + 2] = places[i];
        OK(stet_array_write(xpos, pos, sizeof pos));
        pictures_run(&p);
        for (int b = 0; b < STI_BUFFER_CAST; ++b) hash[i][b] = pictures_hash(&p, (sti_picture_buffer)b, 0);
        assert_memory_equal(hash[i], hash[0], sizeof hash[0]);
        pictures_close(&p);
    }
}

/* Only where surfaces are equally far does the order of geoms count. */
static void test_order_of_geoms(void **state)
{
    pictures p[2];
    float *depth[2];
    int64_t differ = 0, hits = 0;
    for (int i = 0; i < 2; ++i) {
        open_crowd(&p[i], i, NULL, 1);
        depth[i] = pictures_read(&p[i], STI_BUFFER_DEPTH);
    }
    for (int64_t i = 0; i < NWORLD * p[0].npixel; ++i) {
        differ += memcmp(&depth[0][i], &depth[1][i], sizeof **depth) != 0;
        hits += isfinite(depth[0][i]);
    }
    assert_int_equal(differ, 0);
    assert_true(hits > NWORLD * p[0].npixel / 4);
    for (int i = 0; i < 2; ++i) {
        free(depth[i]);
        pictures_close(&p[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_hashes),   cmocka_unit_test(test_lists_of_worlds),
        cmocka_unit_test(test_sizes_of_worlds), cmocka_unit_test(test_body_without_a_place),
        cmocka_unit_test(test_order_of_geoms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
