/*
 * The elementary functions of the kernel language against the C library's double versions, over all float exponents:
 * the greatest error in units of the last place, and equal bits at each width.
 */
#include "lang_run.h"

#include <math.h>
#include <stdio.h>

enum { CHUNK = 1 << 14, PER_EXPONENT = 1 << 10, NEXPONENT = 256 };

/* Name, number of arguments, greatest error allowed in ulp: the table of include/stet/lang_math.h. */
#define FUNCTIONS(X)                                                                                                   \
    X(sin, 1, 1.4)                                                                                                     \
    X(cos, 1, 1.4)                                                                                                     \
    X(tan, 1, 1.5)                                                                                                     \
    X(asin, 1, 1.4)                                                                                                    \
    X(acos, 1, 1.3)                                                                                                    \
    X(atan, 1, 1.5)                                                                                                    \
    X(exp, 1, 1.1)                                                                                                     \
    X(exp2, 1, 0.9)                                                                                                    \
    X(log, 1, 0.9)                                                                                                     \
    X(log2, 1, 1.0)                                                                                                    \
    X(tanh, 1, 1.4)                                                                                                    \
    X(atan2, 2, 1.7)                                                                                                   \
    X(pow, 2, 1.0)

#define REFERENCE_1(name) return name(x)
#define REFERENCE_2(name) return name(x, y)
#define REFERENCE(name, nargument, limit)                                                                              \
    extern const sti_kernel sti_k_probe_##name;                                                                        \
    static double reference_##name(double x, double y)                                                                 \
    {                                                                                                                  \
        (void)y;                                                                                                       \
        REFERENCE_##nargument(name);                                                                                   \
    }
FUNCTIONS(REFERENCE)

typedef struct function {
    const char *name;
    const sti_kernel *kernel;
    double (*reference)(double x, double y);
    int nargument;
    double limit;
} function;

static const function functions[] = {
#define ROW(name, nargument, limit) {#name, &sti_k_probe_##name, reference_##name, nargument, limit},
    FUNCTIONS(ROW)
#undef ROW
};
enum { NFUNCTION = sizeof functions / sizeof functions[0] };

static float in_a[CHUNK], in_b[CHUNK], out[CHUNK];
/* Doubles of the same, for the double build. */
static double wide_a[CHUNK], wide_b[CHUNK], wide_out[CHUNK];

/* Error of got, in units of the last place that a float has at want; infinite for a wrong NaN, infinity or sign. */
static double error_ulp(float got, double want)
{
    if (isnan(want)) return float_bits(got) == 0x7fc00000u ? 0 : INFINITY;
    if (isnan(got) || !signbit(got) != !signbit(want)) return INFINITY;
    if (isinf(want)) return isinf(got) ? 0 : INFINITY;
    double reached = isinf(got) ? copysign(0x1p128, want) : (double)got; /* one step above the greatest float */
    if (isinf(got) && fabs(want) >= 0x1p128) return 0;
    int exponent = want == 0 ? -149 : ilogb(want) - 23;
    return fabs(ldexp(reached - want, -(exponent < -149 ? -149 : exponent)));
}

/* splitmix64 */
static uint64_t random_state;
static uint64_t random_u64(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Runs one chunk at each width; fails on unequal bits. Returns the greatest error against the library. */
static double check_chunk(const function *f, double *worst)
{
    static float first[CHUNK];
    int done = 0;
    FOR_FLOAT_ISAS(isa)
    {
        memset(out, 0xff, sizeof out);
        run_probe(f->kernel, isa, in_a, in_b, out, CHUNK);
        if (done++ == 0) memcpy(first, out, sizeof first);
        for (int i = 0; i < CHUNK; ++i)
            if (float_bits(out[i]) != float_bits(first[i]))
                fail_msg("%s(%a, %a) on %s: %a, elsewhere %a", f->name, (double)in_a[i], (double)in_b[i],
                         sti_isa_name((sti_isa)isa), (double)out[i], (double)first[i]);
    }
    assert_true(done > 0);
    for (int i = 0; i < CHUNK; ++i) {
        double error = error_ulp(first[i], f->reference((double)in_a[i], (double)in_b[i]));
        if (error > f->limit)
            fail_msg("%s(%a, %a) is %a, not %a: %g ulp, limit %g", f->name, (double)in_a[i], (double)in_b[i],
                     (double)first[i], f->reference((double)in_a[i], (double)in_b[i]), error, f->limit);
        if (error > *worst) *worst = error;
    }
    return *worst;
}

/*
 * Each exponent and sign, with mantissas spread evenly, the ends among them; b goes through all of that in another
 * order.
 */
static void all_exponents(void **state)
{
    const int total = 2 * NEXPONENT * PER_EXPONENT;
    for (int k = 0; k < NFUNCTION; ++k) {
        double worst = 0;
        for (int start = 0; start < total; start += CHUNK) {
            for (int i = 0; i < CHUNK; ++i) {
                uint32_t at = (uint32_t)(start + i), other = at * 0x2c9277b5u + 1u; /* odd factor: a permutation */
                uint32_t mantissa = at % PER_EXPONENT;
                mantissa = mantissa == PER_EXPONENT - 1 ? 0x7fffffu : mantissa * 8191u;
                in_a[i] = bits_float(mantissa | at / PER_EXPONENT << 23);
                in_b[i] = bits_float(other % 31u == 0 ? other & 0xff800000u : other);
            }
            check_chunk(&functions[k], &worst);
        }
        print_message("%s: %.3f ulp\n", functions[k].name, worst);
        assert_true(worst > 0);
    }
}

/* Random arguments where the results are neither 0 nor infinite. */
static void usual_range(void **state)
{
    const uint64_t seed = 20250307;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int k = 0; k < NFUNCTION; ++k) {
        random_state = seed;
        double worst = 0;
        for (int round = 0; round < 24; ++round) {
            double scale_a = ldexp(1, round % 8 - 1), scale_b = ldexp(1, round / 8 * 2 - 1);
            for (int i = 0; i < CHUNK; ++i) {
                double u = (double)(random_u64() >> 11) * 0x1p-53, v = (double)(random_u64() >> 11) * 0x1p-53;
                in_a[i] = (float)((2 * u - 1) * scale_a);
                in_b[i] = (float)((2 * v - 1) * scale_b);
                if (functions[k].kernel == &sti_k_probe_pow) in_a[i] = fabsf(in_a[i]), in_b[i] *= 8;
            }
            check_chunk(&functions[k], &worst);
        }
        print_message("%s: %.3f ulp\n", functions[k].name, worst);
    }
}

/* Floats next to multiples of pi/2, small and far: where range reduction loses most. */
static void near_multiples_of_half_pi(void **state)
{
    const uint64_t seed = 7;
    print_message("seed %llu\n", (unsigned long long)seed);
    random_state = seed;
    for (int round = 0; round < 16; ++round) {
        for (int i = 0; i < CHUNK; ++i) {
            uint64_t n = random_u64() >> (40 + round);
            float x = (float)((double)n * M_PI_2);
            in_a[i] = bits_float(float_bits(x) + (uint32_t)(random_u64() % 3) - (x > 0));
        }
        /* The float that is nearest to a multiple of pi/2, relative to its last place; and neighbours of the switch. */
        in_a[0] = 16367173.0f * 0x1p72f;
        in_a[1] = 65536.0f, in_a[2] = bits_float(float_bits(65536.0f) - 1), in_a[3] = -65536.0f;
        double worst = 0;
        for (int k = 0; k < 3; ++k) check_chunk(&functions[k], &worst);
    }
}

typedef struct edge {
    const sti_kernel *kernel;
    float a, b, want;
} edge;

#define INF INFINITY
#define PI 3.14159274f
#define E(f, a, b, want)                                                                                               \
    {                                                                                                                  \
        &sti_k_probe_##f, a, b, want                                                                                   \
    }
/* Annex F of C99, and results that are exact. */
static const edge edges[] = {
    E(sin, -0.0f, 0, -0.0f),
    E(sin, INF, 0, NAN),
    E(cos, 0, 0, 1),
    E(cos, -INF, 0, NAN),
    E(tan, -0.0f, 0, -0.0f),
    E(tan, INF, 0, NAN),
    E(sin, 0x1p-149f, 0, 0x1p-149f),
    E(tan, 0x1p-149f, 0, 0x1p-149f),
    E(asin, -0.0f, 0, -0.0f),
    E(asin, 1, 0, PI / 2),
    E(asin, 1.0000001f, 0, NAN),
    E(acos, 1, 0, 0),
    E(acos, -1, 0, PI),
    E(acos, -1.0000001f, 0, NAN),
    E(acos, INF, 0, NAN),
    E(atan, -0.0f, 0, -0.0f),
    E(atan, INF, 0, PI / 2),
    E(atan, -INF, 0, -PI / 2),
    E(atan2, 0, 0, 0),
    E(atan2, -0.0f, 0, -0.0f),
    E(atan2, 0, -0.0f, PI),
    E(atan2, -0.0f, -0.0f, -PI),
    E(atan2, 0, -1, PI),
    E(atan2, 1, 0, PI / 2),
    E(atan2, -1, -0.0f, -PI / 2),
    E(atan2, INF, INF, PI / 4),
    E(atan2, INF, -INF, 2.3561945f),
    E(atan2, 1, -INF, PI),
    E(atan2, -1, INF, -0.0f),
    E(atan2, -INF, 3, -PI / 2),
    E(atan2, NAN, INF, NAN),
    E(atan2, 1, NAN, NAN),
    E(exp, -0.0f, 0, 1),
    E(exp, -INF, 0, 0),
    E(exp, INF, 0, INF),
    E(exp, 88.8f, 0, INF),
    E(exp, -104, 0, 0),
    E(exp, NAN, 0, NAN),
    E(exp2, -149, 0, 0x1p-149f),
    E(exp2, -151, 0, 0),
    E(exp2, 127, 0, 0x1p127f),
    E(exp2, 128, 0, INF),
    E(exp2, -INF, 0, 0),
    E(exp2, NAN, 0, NAN),
    E(log, 1, 0, 0),
    E(log, 0, 0, -INF),
    E(log, -0.0f, 0, -INF),
    E(log, -1, 0, NAN),
    E(log, INF, 0, INF),
    E(log, -INF, 0, NAN),
    E(log, NAN, 0, NAN),
    E(log2, 0x1p-149f, 0, -149),
    E(log2, 0x1p127f, 0, 127),
    E(log2, 0, 0, -INF),
    E(log2, INF, 0, INF),
    E(log2, -0x1p-149f, 0, NAN),
    E(tanh, -0.0f, 0, -0.0f),
    E(tanh, INF, 0, 1),
    E(tanh, -100, 0, -1),
    E(tanh, NAN, 0, NAN),
    E(pow, NAN, 0, 1),
    E(pow, 1, NAN, 1),
    E(pow, -1, INF, 1),
    E(pow, -1, -INF, 1),
    E(pow, 0, -3, INF),
    E(pow, -0.0f, -3, -INF),
    E(pow, -0.0f, -2, INF),
    E(pow, -0.0f, 3, -0.0f),
    E(pow, -0.0f, 2.5f, 0),
    E(pow, -0.0f, INF, 0),
    E(pow, 0, -INF, INF),
    E(pow, 0.5f, INF, 0),
    E(pow, 0.5f, -INF, INF),
    E(pow, 2, INF, INF),
    E(pow, -2, -INF, 0),
    E(pow, INF, 0.5f, INF),
    E(pow, INF, -1, 0),
    E(pow, -INF, 3, -INF),
    E(pow, -INF, 2.5f, INF),
    E(pow, -INF, -3, -0.0f),
    E(pow, -INF, -2, 0),
    E(pow, -8, 0.5f, NAN),
    E(pow, -2, 3, -8),
    E(pow, -2, 16777216, INF),
    E(pow, 2, -149, 0x1p-149f),
    E(pow, 2, -150.5f, 0),
    E(pow, 0x1p-149f, 1, 0x1p-149f),
    E(pow, -2, -149, -0x1p-149f),
    E(pow, 3, NAN, NAN),
    E(pow, NAN, 2, NAN),
    E(pow, 10, 2, 100),
    E(pow, -1, 16777215, -1),
};

static void annex_f(void **state)
{
    FOR_FLOAT_ISAS(isa)
    for (size_t k = 0; k < sizeof edges / sizeof edges[0]; ++k) {
        const edge *e = &edges[k];
        for (int i = 0; i < LANG_BLOCK; ++i) in_a[i] = e->a, in_b[i] = e->b;
        run_probe(e->kernel, isa, in_a, in_b, out, LANG_BLOCK);
        uint32_t want = isnan(e->want) ? 0x7fc00000u : float_bits(e->want);
        for (int i = 0; i < LANG_BLOCK; ++i)
            if (float_bits(out[i]) != want)
                fail_msg("%s(%a, %a) on %s: %a, not %a", e->kernel->name, (double)e->a, (double)e->b,
                         sti_isa_name((sti_isa)isa), (double)out[i], (double)e->want);
    }
}

/* The double build: the library's own values. */
static void double_build(void **state)
{
    if (!sti_isa_available(STI_ISA_f64)) skip();
    for (int k = 0; k < NFUNCTION; ++k) {
        for (int i = 0; i < CHUNK; ++i) wide_a[i] = (i - CHUNK / 2) * 0.00371, wide_b[i] = 0.5 + (i % 17) * 0.25;
        run_probe(functions[k].kernel, STI_ISA_f64, wide_a, wide_b, wide_out, CHUNK);
        for (int i = 0; i < CHUNK; ++i) {
            double want = functions[k].reference(wide_a[i], wide_b[i]);
            if (isnan(want))
                assert_true(isnan(wide_out[i]));
            else
                assert_true(wide_out[i] == want);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(annex_f),     cmocka_unit_test(all_exponents), cmocka_unit_test(near_multiples_of_half_pi),
        cmocka_unit_test(usual_range), cmocka_unit_test(double_build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
