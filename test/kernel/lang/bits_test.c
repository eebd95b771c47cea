/*
 * The same bits on every device: each operator and function of the language over edge cases and random bits, and sums
 * that a team makes together. What they are is the CPU's portable build; what that should be, lang_test.c and
 * math_test.c say.
 */
#include "device/devices.h"

#include "base/dice.h"
#include "stet/kernel.h"

#include <math.h>
#include <stdlib.h>

enum { EDGES = 64, N = EDGES * EDGES + 4096, BLOCKS = N / 256, ROWS = 32 };
_Static_assert(N % 256 == 0, "whole blocks");

/* What kernels read and write, on the host. */
typedef struct content {
    float a[N], b[N], c[N];
    int32_t ia[N], ib[N];
} content;

static content *given;

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t float_to_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Magnitudes at which something happens; each with both signs. */
static const uint32_t magnitudes[EDGES / 2] = {
    0x00000000, 0x00000001, 0x00000002, 0x007fffff, 0x00800000, 0x00800001, 0x0cffffff, 0x33800000,
    0x34000000, 0x38800000, 0x3effffff, 0x3f000000, 0x3f000001, 0x3f7fffff, 0x3f800000, 0x3f800001,
    0x3fc00000, 0x3fc90fdb, 0x40200000, 0x40490fdb, 0x42b17218, 0x42cff1b5, 0x47800000, 0x4b000000,
    0x4b7fffff, 0x4effffff, 0x4f000000, 0x5f000000, 0x7f7fffff, 0x7f800000, 0x7fc00000, 0x7f812345,
};
static const int32_t whole[EDGES / 2] = {
    0,        1,          2,          3,          5,          7,          31,        32,
    33,       127,        128,        255,        256,        257,        1000,      4096,
    32767,    32768,      65535,      65536,      8388607,    8388608,    16777215,  16777216,
    16777217, 0x3fffffff, 0x40000000, 0x55555556, 0x7ffffffe, 0x7fffffff, 123456789, 987654321,
};

static int make_content(void **state)
{
    uint64_t dice = dice_seed("bits");
    given = malloc(sizeof *given);
    if (!given) return -1;
    for (int i = 0; i < N; ++i) {
        int j = i / EDGES, k = i % EDGES;
        bool edge = i < EDGES * EDGES;
        uint32_t ra = (uint32_t)dice_next(&dice), rb = (uint32_t)dice_next(&dice);
        given->a[i] = from_bits(edge ? magnitudes[j / 2] | (uint32_t)(j % 2) << 31 : ra);
        given->b[i] = from_bits(edge ? magnitudes[k / 2] | (uint32_t)(k % 2) << 31 : rb);
        given->c[i] = from_bits((uint32_t)dice_next(&dice));
        given->ia[i] = edge ? (j % 2 ? -whole[j / 2] - 1 : whole[j / 2]) : (int32_t)ra;
        given->ib[i] = edge ? (k % 2 ? -whole[k / 2] - 1 : whole[k / 2]) : (int32_t)rb;
    }
    return 0;
}

static int free_content(void **state)
{
    free(given);
    return 0;
}

/* ---- running one kernel ------------------------------------------------------------------------------------------ */

static stet_array *make_array(stet_device *device, stet_dtype dtype, int64_t n, const void *from)
{
    stet_array_def def = stet_default_array_def();
    stet_array *a;
    def.dtype = dtype;
    def.shape[0] = n;
    OK(stet_array_create(device, &def, &a));
    if (from) OK(stet_array_write(a, from, stet_array_get_bytes(a)));
    return a;
}

static stet_kernel *make_kernel(const rig_device *rig, const char *name, const char *compiler)
{
    stet_kernel_def def = stet_default_kernel_def();
    stet_kernel *k;
    def.path = STET_TEST_SOURCE_DIR "/test/kernel/lang/bits.k.h";
    def.name = name;
    def.compiler = compiler;
    def.cache_folder = double_cache_folder();
    OK(stet_kernel_create(rig->device, &def, &k));
    return k;
}

/* The kernels: what each reads (letters of content), and how many rows it writes. */
static const struct probe {
    const char *name, *reads;
    int rows;
    stet_dtype dtype; /* of its output */
} probes[] = {
    {"k_bits_real", "abc", 19, STET_DTYPE_REAL},  {"k_bits_function", "ab", 13, STET_DTYPE_REAL},
    {"k_bits_mask", "ab", 12, STET_DTYPE_INT},    {"k_bits_int", "ij", 25, STET_DTYPE_INT},
    {"k_bits_uniform", "ab", 3, STET_DTYPE_REAL}, {"k_bits_word", "ij", 6, STET_DTYPE_INT},
    {"k_bits_cast", "i", 2, STET_DTYPE_INT},
};
enum { PROBES = sizeof probes / sizeof *probes };

/* Four bytes for each item of each row. */
static uint32_t *run(const rig_device *rig, const struct probe *probe, const char *compiler)
{
    stet_array *array[4];
    stet_arg arg[5];
    int n = 0;
    for (const char *r = probe->reads; *r; ++r, ++n) {
        bool whole_number = *r == 'i' || *r == 'j';
        const void *from = *r == 'a' ? (const void *)given->a : *r == 'b' ? given->b : *r == 'c' ? given->c : NULL;
        if (whole_number) from = *r == 'i' ? given->ia : given->ib;
        array[n] = make_array(rig->device, whole_number ? STET_DTYPE_INT : STET_DTYPE_REAL, N, from);
        arg[n] = stet_arg_array(array[n]);
    }
    array[n] = make_array(rig->device, probe->dtype, (int64_t)ROWS * N, NULL);
    arg[n] = stet_arg_array(array[n]);
    arg[n + 1] = stet_arg_int(N);
    stet_kernel *kernel = make_kernel(rig, probe->name, compiler);
    uint32_t *out = malloc(stet_array_get_bytes(array[n]));
    assert_non_null(out);
    OK(stet_kernel_launch(kernel, BLOCKS, arg, n + 2));
    OK(stet_array_read(array[n], out, stet_array_get_bytes(array[n])));
    stet_kernel_destroy(kernel);
    for (int k = 0; k <= n; ++k) stet_array_destroy(array[k]);
    return out;
}

static void compare(const rig_device *rig, const struct probe *probe, const uint32_t *want, const uint32_t *got)
{
    for (int64_t i = 0; i < (int64_t)probe->rows * N; ++i)
        if (want[i] != got[i]) {
            int64_t k = i % N;
            fail_msg("%s, %s, operation %d of a %.9g (%08x), b %.9g, ia %d, ib %d: %08x, not %08x", rig->name,
                     probe->name, (int)(i / N), (double)given->a[k], (unsigned)float_to_bits(given->a[k]),
                     (double)given->b[k], given->ia[k], given->ib[k], got[i], want[i]);
        }
}

static void every_operation_on_every_device(void **state)
{
    uint32_t *want[PROBES] = {NULL};
    FOR_RUNNING_DEVICES(rig)
    for (int k = 0; k < PROBES; ++k) {
        uint32_t *got = run(&rig, &probes[k], NULL);
        if (!want[k]) {
            assert_string_equal(rig.name, "portable");
            want[k] = got;
            int some = 0; /* the last row was written */
            for (int i = 0; i < N; ++i) some += got[(int64_t)(probes[k].rows - 1) * N + i] != 0;
            assert_true(some > N / 8);
            continue;
        }
        compare(&rig, &probes[k], want[k], got);
        free(got);
    }
    for (int k = 0; k < PROBES; ++k) free(want[k]);
}

/* The user chooses a processor's compiler: the usual one and Clang, where there is one. */
static void every_operation_by_clang(void **state)
{
    if (system("command -v clang > /dev/null") != 0) {
        puts("not tested: there is no clang");
        skip();
    }
    FOR_RUNNING_DEVICES(rig)
    for (int k = 0; k < PROBES && rig.def.type == STET_DEVICE_CPU; ++k) {
        uint32_t *want = run(&rig, &probes[k], NULL), *got = run(&rig, &probes[k], "clang");
        compare(&rig, &probes[k], want, got);
        free(want);
        free(got);
    }
}

/* ---- a team's sums ----------------------------------------------------------------------------------------------- */

static void sums_have_one_shape(void **state)
{
    enum { SOME = N - 100 }; /* the last block is not whole */
    float *sum = malloc(BLOCKS * sizeof *sum), *running = malloc(N * sizeof *running);
    float *x = malloc(N * sizeof *x), *first_running = NULL, *first_sum = NULL;
    assert_true(sum && running && x);
    for (int i = 0; i < N; ++i) x[i] = (float)((uint32_t)given->ia[i] % 100000u) * 0.37f;
    FOR_RUNNING_DEVICES(rig)
    {
        stet_array *a = make_array(rig.device, STET_DTYPE_REAL, N, x),
                   *s = make_array(rig.device, STET_DTYPE_REAL, BLOCKS, NULL);
        stet_array *r = make_array(rig.device, STET_DTYPE_REAL, N, NULL);
        stet_kernel *kernel = make_kernel(&rig, "k_bits_team", NULL);
        const stet_arg args[] = {stet_arg_array(a), stet_arg_array(s), stet_arg_array(r), stet_arg_int(SOME)};
        OK(stet_kernel_launch(kernel, BLOCKS, args, 4));
        OK(stet_array_read(s, sum, BLOCKS * sizeof *sum));
        OK(stet_array_read(r, running, N * sizeof *running));
        if (!first_sum) {
            first_sum = malloc(BLOCKS * sizeof *sum);
            first_running = malloc(N * sizeof *running);
            assert_true(first_sum && first_running);
            memcpy(first_sum, sum, BLOCKS * sizeof *sum);
            memcpy(first_running, running, N * sizeof *running);
            for (int block = 0; block < BLOCKS; ++block) {
                double exact = 0;
                for (int i = block * 256; i < block * 256 + 256 && i < SOME; ++i) {
                    exact += (double)x[i];
                    assert_true(fabs((double)running[i] - exact) <= 1e-5 * exact + 1e-3);
                }
                assert_true(fabs((double)sum[block] - exact) <= 1e-5 * exact + 1e-3);
            }
        }
        if (memcmp(first_sum, sum, BLOCKS * sizeof *sum) != 0) fail_msg("%s has other sums", rig.name);
        if (memcmp(first_running, running, N * sizeof *running) != 0) fail_msg("%s has other running sums", rig.name);
        stet_kernel_destroy(kernel);
        stet_array_destroy(a);
        stet_array_destroy(s);
        stet_array_destroy(r);
    }
    float *all[] = {sum, running, x, first_sum, first_running};
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k) free(all[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_on_every_device),
        cmocka_unit_test(every_operation_by_clang),
        cmocka_unit_test(sums_have_one_shape),
    };
    return cmocka_run_group_tests(tests, make_content, free_content);
}
