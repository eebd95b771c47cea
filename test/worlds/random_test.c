/* Random numbers: the published vectors of Philox, the range, and what a number depends on. */
#include "worlds/rig.h"

#include "kernel/record/launch.h"
#include "worlds/random.h"

#include <math.h>

extern const sti_kernel sti_k_philox;

static const char *const isas[] = {"portable", "w1", "avx2", "avx512", "f64"};
enum { NISA = sizeof isas / sizeof *isas };

static bool have(const char *isa)
{
    sti_isa found;
    return sti_isa_find(isa, &found) && sti_isa_available(found);
}

/* Known answers for philox4x32, ten rounds: counter, key, result (the vectors that come with the paper's own code). */
static const struct {
    uint32_t counter[4], key[2], result[4];
} vectors[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

static void philox_gives_the_published_vectors(void **state)
{
    for (int k = 0; k < NISA; ++k) {
        if (!have(isas[k])) continue;
        stet_device *device = rig_open_device(isas[k], 1);
        stet_array *counter, *key, *out;
        OK(STI_ARRAY(device, "counter", STET_DTYPE_INT, true, &counter, 3, 4));
        OK(STI_ARRAY(device, "key", STET_DTYPE_INT, true, &key, 3, 2));
        OK(STI_ARRAY(device, "out", STET_DTYPE_INT, true, &out, 3, 4));
        for (int v = 0; v < 3; ++v) {
            OK(stet_array_write_worlds(counter, v, 1, vectors[v].counter, sizeof vectors[v].counter));
            OK(stet_array_write_worlds(key, v, 1, vectors[v].key, sizeof vectors[v].key));
        }
        OK(STI_LAUNCH(sti_k_philox, device, 3, sti_arg_array(counter), sti_arg_array(key), sti_arg_array(out)));
        for (int v = 0; v < 3; ++v) {
            uint32_t got[4];
            OK(stet_array_read_worlds(out, v, 1, got, sizeof got));
            assert_memory_equal(got, vectors[v].result, sizeof got);
        }
        stet_array_destroy(counter);
        stet_array_destroy(key);
        stet_array_destroy(out);
        stet_device_destroy(device);
    }
}

enum { NWORLD = 37, NITEM = 11 };

/* Noise of NWORLD worlds as doubles. */
static void noise(const char *isa, int threads, uint64_t seed, int stream, uint64_t draw, double out[NWORLD * NITEM])
{
    stet_device *device = rig_open_device(isa, threads);
    stet_array *a;
    OK(STI_ARRAY(device, "noise", STET_DTYPE_REAL, true, &a, NWORLD, NITEM));
    OK(sti_noise(a, seed, 0, stream, draw));
    for (int w = 0; w < NWORLD; ++w)
        for (int i = 0; i < NITEM; ++i) out[w * NITEM + i] = reals_get(a, w, i);
    stet_array_destroy(a);
    stet_device_destroy(device);
}

static void noise_is_the_same_on_every_device(void **state)
{
    double first[NWORLD * NITEM], other[NWORLD * NITEM];
    noise("w1", 1, UINT64_C(0x123456789abcdef0), 3, 5, first);
    for (int k = 0; k < NISA; ++k)
        for (int threads = 1; threads <= 3 && have(isas[k]); ++threads) {
            noise(isas[k], threads, UINT64_C(0x123456789abcdef0), 3, 5, other);
            assert_memory_equal(first, other, sizeof first);
        }
}

static void noise_depends_on_all_that_it_is_drawn_from(void **state)
{
    double a[NWORLD * NITEM], b[NWORLD * NITEM];
    const struct {
        uint64_t seed, draw;
        int stream;
    } others[] = {{2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {1 + (UINT64_C(1) << 32), 1, 1}};
    noise(NULL, 1, 1, 1, 1, a);
    for (size_t k = 0; k < sizeof others / sizeof *others; ++k) {
        noise(NULL, 1, others[k].seed, others[k].stream, others[k].draw, b);
        int equal = 0;
        for (int i = 0; i < NWORLD * NITEM; ++i) equal += a[i] == b[i];
        assert_true(equal <= 2);
    }
    for (int w = 1; w < NWORLD; ++w) assert_memory_not_equal(a, a + w * NITEM, NITEM * sizeof *a);
}

static void noise_is_uniform(void **state)
{
    uint64_t seed = dice_seed("noise_is_uniform");
    enum { DRAWS = 100 };
    double x[NWORLD * NITEM], sum = 0, squares = 0, n = (double)DRAWS * NWORLD * NITEM, low = 1, high = -1;
    for (int draw = 0; draw < DRAWS; ++draw) {
        noise(NULL, 1, seed, 0, (uint64_t)draw, x);
        for (int i = 0; i < NWORLD * NITEM; ++i) {
            sum += x[i];
            squares += x[i] * x[i];
            low = fmin(low, x[i]);
            high = fmax(high, x[i]);
        }
    }
    /* Of a uniform distribution: variance 1/3, that of the square 4/45; six deviations of the mean are allowed. */
    assert_true(fabs(sum / n) < 6 * sqrt(1.0 / 3 / n));
    assert_true(fabs(squares / n - 1.0 / 3) < 6 * sqrt(4.0 / 45 / n));
    assert_true(low >= -1 && low < -0.99 && high < 1 && high > 0.99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_vectors),
        cmocka_unit_test(noise_is_the_same_on_every_device),
        cmocka_unit_test(noise_depends_on_all_that_it_is_drawn_from),
        cmocka_unit_test(noise_is_uniform),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
