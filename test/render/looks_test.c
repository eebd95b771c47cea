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
    for (int b = STI_BUFFER_COLOUR + 1; b < STI_BUFFER_COUNT; ++b) {
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
        {"tendons", {0xc12bbd1ba5b06b7b, 0xf45eb6bcf922e625}, 0x4eb2bcf10e472387},
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

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_have_golden_hashes),
        cmocka_unit_test(tendons_have_ids_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
