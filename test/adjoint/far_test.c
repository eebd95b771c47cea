/*
 * Whole adjoints over an axis of more than 2^24 entries, where a float no longer counts by ones: elements, lists, tapes
 * and the maxima that size them. Values are small whole numbers, so each gradient is known exactly.
 */
#include "adjoint/rig.h"

#include <stdlib.h>

enum { FAR = (1 << 24) + 3072, BLOCK = 256 };

typedef struct column {
    stet_array *array;
    float *value; /* [FAR] or [1] */
    int64_t n;
} column;

static double usual_value(int64_t k) { return (double)(1 + k % 7); }
static double zero(int64_t k) { return 0.0 * (double)k; }
static double one(int64_t k) { return k >= 0 ? 1 : 0; }

static column reals(stet_device *d, bool worlds, int64_t n, double (*value)(int64_t k))
{
    column c = {.value = calloc((size_t)n, sizeof(float)), .n = n};
    assert_non_null(c.value);
    for (int64_t k = 0; k < n; ++k) c.value[k] = (float)value(k);
    if (worlds)
        OK(STI_ARRAY(d, "worlds", STET_DTYPE_REAL, true, &c.array, 1, n));
    else
        OK(STI_ARRAY(d, "plain", STET_DTYPE_REAL, false, &c.array, n));
    OK(stet_array_write(c.array, c.value, (size_t)n * sizeof(float)));
    return c;
}

static void read_back(column *c) { OK(stet_array_read(c->array, c->value, (size_t)c->n * sizeof(float))); }

static void drop(column *c, int n)
{
    for (int i = 0; i < n; ++i) {
        stet_array_destroy(c[i].array);
        free(c[i].value);
    }
}

/* Whole numbers, from a function of their place. */
static stet_array *whole(stet_device *d, int32_t (*value)(int64_t k))
{
    stet_array *a;
    int32_t *v = calloc(FAR, sizeof *v);
    assert_non_null(v);
    for (int64_t k = 0; k < FAR; ++k) v[k] = value(k);
    OK(STI_ARRAY(d, "whole", STET_DTYPE_INT, false, &a, FAR));
    OK(stet_array_write(a, v, FAR * sizeof *v));
    free(v);
    return a;
}

static int32_t mirrored(int64_t k) { return (int32_t)(FAR - 1 - k); }
/* Only far out is there anything to do. */
static int32_t trips(int64_t k) { return k >= FAR - 5 ? 1 + (int32_t)(k % 3) : 0; }

static void expect(const column *c, int64_t k, double wanted)
{
    if ((double)c->value[k] != wanted)
        fail_msg("element %lld: %.9g instead of %.9g", (long long)k, (double)c->value[k], wanted);
}

/* y[q] = x[far side]^2 + t[0]. */
static void items_list_gradients(void **state)
{
    static const char source[] =
        SOURCE("item_kernel void k_far(const ureal *x, const int *at, const ureal *t, ureal *y, int n, int block) {\n"
               "  items (p, nmin(256, n - block * 256)) { int q = block * 256 + p;\n"
               "    lint i = igather(at, isplat(q) + lane()); real v = gather(x, i);\n"
               "    store_if(in_range(q, n), y + q, fma(v, v, splat(t[0]))); } }\n");
    stet_device *d = open_device(STI_ISA_portable, 2);
    stet_kernel *kernel = kernel_from(d, source);
    stet_adjoint *adjoint;
    stet_array *at = whole(d, mirrored);
    column c[] = {reals(d, false, FAR, usual_value), reals(d, false, 1, one),  reals(d, false, FAR, zero),
                  reals(d, false, FAR, zero),        reals(d, false, 1, zero), reals(d, false, FAR, one)};
    const stet_arg args[] = {stet_arg_array(c[0].array), stet_arg_array(at), stet_arg_array(c[1].array),
                             stet_arg_array(c[2].array), stet_arg_int(FAR)};
    stet_array *const gradients[] = {c[3].array, NULL, c[4].array, c[5].array, NULL};
    OK(stet_kernel_get_adjoint(kernel, &adjoint));
    OK(stet_adjoint_launch(adjoint, FAR / BLOCK, args, gradients, 5));
    for (int i = 3; i < 6; ++i) read_back(&c[i]);
    for (int64_t k = 0; k < FAR; ++k) {
        expect(&c[3], k, 2 * usual_value(k));
        expect(&c[5], k, 0);
    }
    expect(&c[4], 0, FAR); /* sums of 256, then of those: each is a float exactly */
    drop(c, 6);
    stet_array_destroy(at);
    stet_kernel_destroy(kernel);
    stet_device_destroy(d);
}

/* Loops whose trips lie beyond 2^24: the maximum is found there, and the tape reaches there. */
static void worlds_have_tapes(void **state)
{
    static const char source[] = SOURCE(
        "world_kernel void k_far(const real *x, const int *count, real *y, int n) {\n"
        "  each (i, n) { real s = x[i]; for (int e = 0; e < count[i]; ++e) s = s * s; put(y, n - 1 - i, s); } }\n");
    stet_device *d = open_device(STI_ISA_w1, 2);
    stet_kernel *kernel = kernel_from(d, source);
    stet_adjoint *adjoint;
    stet_array *count = whole(d, trips);
    column c[] = {reals(d, true, FAR, usual_value), reals(d, true, FAR, zero), reals(d, true, FAR, zero),
                  reals(d, true, FAR, one)};
    const stet_arg args[] = {stet_arg_array(c[0].array), stet_arg_array(count), stet_arg_array(c[1].array),
                             stet_arg_int(FAR)};
    stet_array *const gradients[] = {c[2].array, NULL, c[3].array, NULL};
    OK(stet_kernel_get_adjoint(kernel, &adjoint));
    OK(stet_adjoint_launch(adjoint, 1, args, gradients, 4));
    for (int i = 2; i < 4; ++i) read_back(&c[i]);
    for (int64_t k = 0; k < FAR; ++k) {
        double x = usual_value(k), wanted = 1, s = x; /* of x^(2^e) */
        for (int e = 0; e < trips(k); ++e) {
            wanted *= 2 * s;
            s *= s;
        }
        expect(&c[2], k, wanted);
        expect(&c[3], k, 0);
    }
    drop(c, 4);
    stet_array_destroy(count);
    stet_kernel_destroy(kernel);
    stet_device_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(items_list_gradients),
        TEST(worlds_have_tapes),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
