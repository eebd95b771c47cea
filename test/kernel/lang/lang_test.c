/*
 * The operators and functions of the kernel language at their edges: what each must give is written down here from the
 * definition of the language, and each instruction set must give just that.
 */
#include "lang_run.h"

#include <math.h>
#include <stdlib.h>

/* This file's own copy of the language: one lane, `each` scrambled. */
#define STET_PERMUTE 1
#include "stet/lang.h"

enum { N = LANG_BLOCK };

#define INF INFINITY
#define DENORMAL 0x1p-149f
#define INT_LOWEST (-2147483647 - 1)

#define PROBE(name) extern const sti_kernel sti_k_probe_##name
PROBE(add);
PROBE(sub);
PROBE(mul);
PROBE(div);
PROBE(neg);
PROBE(sqrt);
PROBE(floor);
PROBE(rint);
PROBE(rmin);
PROBE(rmax);
PROBE(rabs);
PROBE(copysign);
PROBE(clamp);
PROBE(select);
PROBE(store);
PROBE(fma);
PROBE(lt);
PROBE(le);
PROBE(eq);
PROBE(gt);
PROBE(ge);
PROBE(is_nan);
PROBE(to_int);
PROBE(as_bits);
PROBE(to_real);
PROBE(from_bits);
PROBE(iadd);
PROBE(isub);
PROBE(imul);
PROBE(ineg);
PROBE(iand);
PROBE(ior);
PROBE(ixor);
PROBE(inot);
PROBE(imulhi);
PROBE(ilt);
PROBE(ieq);
PROBE(igt);
PROBE(imin);
PROBE(imax);
PROBE(iselect);
PROBE(m_and);
PROBE(m_or);
PROBE(m_not);
PROBE(m_andnot);
PROBE(m_none);
PROBE(m_all);
PROBE(any_all);
PROBE(lane);
PROBE(ishl);
PROBE(ishr);
PROBE(gather);
PROBE(igather);
PROBE(store_if);
PROBE(scatter_if);
PROBE(tail);
PROBE(istream);
PROBE(wide);
PROBE(uniform);
PROBE(of_world);
PROBE(each);
PROBE(shared);

/* All arrays as 32 bit words, so that one table serves every mixture of types. */
typedef struct expectation {
    const sti_kernel *kernel;
    uint32_t a, b, want;
} expectation;

static uint32_t R(float x) { return isnan(x) ? 0x7fc00000u : float_bits(x); }
static uint32_t I(int x) { return (uint32_t)x; }
#define T 0xffffffffu
#define K(name) &sti_k_probe_##name

/* Each case in every other lane, then in the lanes between; the neighbours get something harmless. */
static void check(const expectation *cases, int ncase)
{
    static uint32_t a[N], b[N], out[N];
    FOR_FLOAT_ISAS(isa)
    for (int c = 0; c < ncase; ++c)
        for (int shift = 0; shift < 2; ++shift) {
            for (int i = 0; i < N; ++i) {
                a[i] = i % 2 == shift ? cases[c].a : R(1);
                b[i] = cases[c].b;
            }
            memset(out, 0xa5, sizeof out);
            run_probe(cases[c].kernel, isa, a, b, out, N);
            for (int i = shift; i < N; i += 2)
                if (out[i] != cases[c].want)
                    fail_msg("%s(%08x, %08x) on %s, item %d: %08x, not %08x", cases[c].kernel->name, cases[c].a,
                             cases[c].b, sti_isa_name((sti_isa)isa), i, out[i], cases[c].want);
        }
}
#define CHECK(...)                                                                                                     \
    do {                                                                                                               \
        const expectation cases[] = {__VA_ARGS__};                                                                     \
        check(cases, (int)(sizeof cases / sizeof cases[0]));                                                           \
    } while (0)
#define RR(f, a, b, want)                                                                                              \
    {                                                                                                                  \
        K(f), R(a), R(b), R(want)                                                                                      \
    }
#define RM(f, a, b, want)                                                                                              \
    {                                                                                                                  \
        K(f), R(a), R(b), want                                                                                         \
    }
#define II(f, a, b, want)                                                                                              \
    {                                                                                                                  \
        K(f), I(a), I(b), I(want)                                                                                      \
    }

static void arithmetic(void **state)
{
    CHECK(RR(add, 1, 0x1p-24f, 1), RR(add, 0x1.000002p0f, 0x1p-24f, 0x1.000004p0f), RR(add, INF, -INF, NAN),
          RR(add, -0.0f, 0, 0), RR(add, -0.0f, -0.0f, -0.0f), RR(add, 0x1.fffffep127f, 0x1p103f, INF), RR(sub, 3, 3, 0),
          RR(sub, -0.0f, 0, -0.0f), RR(mul, INF, 0, NAN), RR(mul, -0.0f, 5, -0.0f), RR(mul, 0x1p100f, 0x1p28f, INF),
          RR(div, 1, 3, 0x1.555556p-2f), RR(div, 1, -0.0f, -INF), RR(div, 0, 0, NAN), RR(div, INF, INF, NAN),
          RR(div, 1, INF, 0), RR(neg, 0, 0, -0.0f), RR(neg, INF, 0, -INF), RR(neg, NAN, 0, NAN));
    /* 1 - 2^-48 does not fit in a float: only one rounding gives -2^-48. */
    CHECK(RR(fma, 0x1.000002p0f, 0x1.fffffcp-1f, -0x1p-46f), RR(fma, 0, INF, NAN), RR(fma, INF, 1, INF),
          RR(fma, 1, 1, 0));
    CHECK(RR(sqrt, 2, 0, 0x1.6a09e6p0f), RR(sqrt, -0.0f, 0, -0.0f), RR(sqrt, -1, 0, NAN), RR(sqrt, INF, 0, INF),
          RR(rabs, -0.0f, 0, 0), RR(rabs, -INF, 0, INF), RR(rabs, NAN, 0, NAN), RR(copysign, 3, -0.0f, -3),
          RR(copysign, -3, 1, 3), RR(copysign, INF, -1, -INF), {K(copysign), R(2), 0xffc00000u, R(-2)});
}

static void denormals_are_kept(void **state)
{
    CHECK(RR(add, DENORMAL, DENORMAL, 2 * DENORMAL), RR(sub, 0x1p-126f, DENORMAL, 0x1.fffffcp-127f),
          RR(mul, 0x1p-100f, 0x1p-49f, DENORMAL), RR(mul, 0x1p-100f, -0x1p-50f, -0.0f),
          RR(mul, DENORMAL, 0x1p60f, 0x1p-89f), RR(mul, 0x1.8p-149f * 2, 0.5f, 2 * DENORMAL),
          RR(div, DENORMAL, 0x1p-10f, 0x1p-139f), RR(sqrt, 0x1p-148f, 0, 0x1p-74f), RR(rmin, DENORMAL, 1, DENORMAL),
          RR(rmax, DENORMAL, 0, DENORMAL), RR(store, -DENORMAL, 0, -DENORMAL), RR(floor, -DENORMAL, 0, -1),
          RR(select, DENORMAL, 1, DENORMAL));
    CHECK(RM(lt, 0, DENORMAL, T), RM(eq, 0, DENORMAL, 0), RM(gt, 0, -DENORMAL, T));
}

static void rounding_to_integers(void **state)
{
    CHECK(RR(rint, 0.5f, 0, 0), RR(rint, 1.5f, 0, 2), RR(rint, 2.5f, 0, 2), RR(rint, -0.5f, 0, -0.0f),
          RR(rint, -1.5f, 0, -2), RR(rint, 8388607.5f, 0, 8388608), RR(rint, 0x1p30f, 0, 0x1p30f),
          RR(rint, INF, 0, INF), RR(rint, NAN, 0, NAN), RR(rint, 0x1.fffffep-2f, 0, 0), RR(rint, -0.0f, 0, -0.0f),
          RR(floor, 1.5f, 0, 1), RR(floor, -1.5f, 0, -2), RR(floor, -0.5f, 0, -1), RR(floor, -0.0f, 0, -0.0f),
          RR(floor, -3, 0, -3), RR(floor, 0x1.fffffep-1f, 0, 0), RR(floor, -0x1p31f, 0, -0x1p31f),
          RR(floor, -INF, 0, -INF), RR(floor, NAN, 0, NAN));
    /* Toward zero; NaN 0; out of range the nearest end. */
    CHECK(RM(to_int, 1.9f, 0, 1), RM(to_int, -1.9f, 0, I(-1)), RM(to_int, -0.0f, 0, 0), RM(to_int, NAN, 0, 0),
          {K(to_int), 0xffc00001u, 0, 0}, RM(to_int, INF, 0, 2147483520), RM(to_int, -INF, 0, I(INT_LOWEST)),
          RM(to_int, 0x1p31f, 0, 2147483520), RM(to_int, -0x1p31f, 0, I(INT_LOWEST)),
          RM(to_int, 2147483520.0f, 0, 2147483520), RM(to_int, -3e38f, 0, I(INT_LOWEST)), RM(to_int, DENORMAL, 0, 0));
    /* To the nearest float, halves to even. */
    CHECK({K(to_real), I(16777217), 0, R(16777216)}, {K(to_real), I(16777219), 0, R(16777220)},
          {K(to_real), I(-16777217), 0, R(-16777216)}, {K(to_real), I(2147483647), 0, R(0x1p31f)},
          {K(to_real), I(INT_LOWEST), 0, R(-0x1p31f)}, {K(to_real), 0, 0, R(0)}, {K(to_real), I(-1), 0, R(-1)},
          {K(to_real), I(33554434), 0, R(33554432)});
}

static void minimum_and_maximum(void **state)
{
    /* The second argument where either is NaN or both are equal. */
    CHECK(RR(rmin, NAN, 1, 1), RR(rmin, 1, NAN, NAN), RR(rmin, -0.0f, 0, 0), RR(rmin, 0, -0.0f, -0.0f),
          RR(rmin, 2, 1, 1), RR(rmin, -INF, INF, -INF), RR(rmax, NAN, 1, 1), RR(rmax, 1, NAN, NAN),
          RR(rmax, -0.0f, 0, 0), RR(rmax, 0, -0.0f, -0.0f), RR(rmax, 2, 1, 2), RR(rmax, -INF, INF, INF),
          RR(clamp, 5, 0, 1), RR(clamp, -5, 0, -1), RR(clamp, 0.5f, 0, 0.5f), RR(clamp, NAN, 0, -1),
          RR(clamp, -0.0f, 0, -0.0f));
    CHECK(II(imin, -1, 1, -1), II(imin, INT_LOWEST, 2147483647, INT_LOWEST), II(imax, -1, 1, 1),
          II(imax, INT_LOWEST, 2147483647, 2147483647));
}

static void comparisons_and_masks(void **state)
{
    CHECK(RM(lt, 1, 2, T), RM(lt, 2, 2, 0), RM(lt, NAN, 1, 0), RM(lt, 1, NAN, 0), RM(lt, -0.0f, 0, 0),
          RM(lt, -INF, INF, T), RM(le, 2, 2, T), RM(le, NAN, NAN, 0), RM(le, 0, -0.0f, T), RM(eq, -0.0f, 0, T),
          RM(eq, NAN, NAN, 0), RM(eq, INF, INF, T), RM(gt, 2, 1, T), RM(gt, 1, NAN, 0), RM(ge, 1, 1, T),
          RM(ge, NAN, 1, 0), RM(is_nan, NAN, 0, T), RM(is_nan, INF, 0, 0), {K(is_nan), 0xff800001u, 0, T},
          {K(is_nan), 0xff800000u, 0, 0});
    CHECK(II(ilt, -1, 0, -1), II(ilt, 0, 0, 0), II(ilt, INT_LOWEST, 1, -1), II(igt, 2147483647, -1, -1),
          II(igt, 1, 1, 0), II(ieq, -5, -5, -1), II(ieq, 5, -5, 0), II(iselect, -3, 7, -3), II(iselect, 9, 7, 7),
          II(m_and, -1, -1, -1), II(m_and, -1, 0, 0), II(m_or, -1, 0, -1), II(m_or, 0, 0, 0), II(m_not, -1, 0, 0),
          II(m_not, 0, 0, -1), II(m_andnot, -1, -1, 0), II(m_andnot, -1, 0, -1), II(m_none, 7, 7, 0),
          II(m_all, 7, 7, -1));
    /* select looks at the mask only: the other side may be NaN. */
    CHECK(RR(select, 1, 2, 1), RR(select, 2, 1, 1), RR(select, NAN, 3, 3), RR(select, 3, NAN, NAN));
}

static void integers(void **state)
{
    CHECK(II(iadd, 2147483647, 1, INT_LOWEST), II(isub, INT_LOWEST, 1, 2147483647), II(imul, 65537, 65537, 131073),
          II(imul, INT_LOWEST, -1, INT_LOWEST), II(ineg, 5, 0, -5), II(ineg, INT_LOWEST, 0, INT_LOWEST),
          II(iand, 12, 10, 8), II(ior, 12, 10, 14), II(ixor, 12, 10, 6), II(inot, 0, 0, -1));
    /* The high word of the product without sign: (2^32 - 1)^2 = 2^64 - 2^33 + 1. */
    CHECK(II(imulhi, -1, -1, -2), II(imulhi, INT_LOWEST, 2, 1), II(imulhi, 65536, 65536, 1),
          II(imulhi, 65535, 65537, 0), II(imulhi, -1, 1, 0), II(imulhi, INT_LOWEST, INT_LOWEST, 0x40000000));
    /* Shifts take their count modulo 32, and shift in zeros from both sides. */
    CHECK(II(ishl, 3, 0, 3), II(ishl, 3, 31, INT_LOWEST), II(ishl, 3, 32, 3), II(ishl, 3, 33, 6), II(ishl, -1, 4, -16),
          II(ishr, -1, 0, -1), II(ishr, -1, 31, 1), II(ishr, -1, 32, -1), II(ishr, INT_LOWEST, 31, 1),
          II(ishr, 80, 4, 5));
}

static void bits_and_canonical_nan(void **state)
{
    CHECK({K(as_bits), 0x80000001u, 0, 0x80000001u}, {K(as_bits), 0x3f800000u, 0, 0x3f800000u},
          {K(from_bits), 0xbf800000u, 0, R(-1)}, {K(from_bits), 0x00000001u, 0, R(DENORMAL)});
    /* Each NaN is stored as 0x7fc00000, also where no arithmetic touched it. */
    CHECK({K(store), 0xffc00000u, 0, 0x7fc00000u}, {K(store), 0x7fc12345u, 0, 0x7fc00000u},
          {K(store), 0xffffffffu, 0, 0x7fc00000u}, {K(from_bits), 0x7f800001u, 0, 0x7fc00000u},
          {K(neg), 0x7fc00000u, 0, 0x7fc00000u}, {K(store), 0xff800000u, 0, 0xff800000u});
}

static void any_all_and_lane(void **state)
{
    static int a[N], b[N], out[N];
    FOR_FLOAT_ISAS(isa)
    {
        int w = sti_isa_width((sti_isa)isa);
        for (int i = 0; i < N; ++i) a[i] = (i / w) % 3 == 0 ? 0 : (i / w) % 3 == 1 || i % w == w - 1 ? -1 : 0;
        run_probe(K(any_all), isa, a, b, out, N);
        for (int i = 0; i < N; ++i) assert_int_equal(out[i], (i / w) % 3 == 0 ? 0 : (i / w) % 3 == 1 || w == 1 ? 3 : 1);
        run_probe(K(lane), isa, a, b, out, N);
        for (int i = 0; i < N; ++i) assert_int_equal(out[i], i % w);
    }
}

static void masked_stores_leave_the_rest(void **state)
{
    static int m[N], index[N], ints[N];
    static float x[N], reals[N];
    static unsigned char bytes[N];
    FOR_FLOAT_ISAS(isa)
    for (int pattern = 0; pattern < 16; ++pattern) {
        for (int i = 0; i < N; ++i) {
            m[i] = (pattern >> (i + i / 4) % 4) & 1;
            x[i] = i == 7 ? bits_float(0xffc00001u) : (float)i + 0.5f;
            index[i] = (i * 37 + 11) % N;
            ints[i] = -i, reals[i] = -1, bytes[i] = 0xa5;
        }
        sti_slot direct[] = {slot_array(m), slot_array(x), slot_array(reals), slot_array(ints), slot_int(N)};
        sti_k_probe_store_if.call[isa](direct, 0, 1);
        for (int i = 0; i < N; ++i) {
            assert_int_equal(float_bits(reals[i]), m[i] ? R(x[i]) : R(-1));
            assert_int_equal(ints[i], !m[i] ? -i : i == 7 ? 0 : i);
            reals[i] = -1;
        }
        sti_slot apart[] = {slot_array(m),     slot_array(index), slot_array(x),
                            slot_array(reals), slot_array(bytes), slot_int(N)};
        sti_k_probe_scatter_if.call[isa](apart, 0, 1);
        for (int i = 0; i < N; ++i) {
            assert_int_equal(float_bits(reals[index[i]]), m[i] ? R(x[i]) : R(-1));
            assert_int_equal(bytes[index[i]], !m[i] ? 0xa5 : i == 7 ? 0 : i);
        }
    }
}

/* For every count: items past it, and what lies before and after, keep their bytes. */
static void tails_end_where_they_should(void **state)
{
    static float x[2 * N], out[2 * N + 32];
    for (int i = 0; i < 2 * N; ++i) x[i] = (float)i;
    FOR_FLOAT_ISAS(isa)
    for (int n = 0; n <= N + 40; ++n) {
        for (int i = 0; i < 2 * N + 32; ++i) out[i] = -1;
        sti_slot slots[] = {slot_array(x), slot_array(out + 16), slot_int(n)};
        sti_k_probe_tail.call[isa](slots, 0, 2);
        for (int i = -16; i < 2 * N + 16; ++i)
            if (out[16 + i] != (i >= 0 && i < n ? (float)i : -1.0f))
                fail_msg("n %d, item %d: %g", n, i, (double)out[16 + i]);
    }
}

static void gathers_and_streams(void **state)
{
    static int index[N], ints[N], got[N + 8];
    static float reals[N], out[N];
    for (int i = 0; i < N; ++i) index[i] = (i * 101 + 3) % N, ints[i] = i * 7 - 300, reals[i] = (float)i * 0.25f;
    reals[17] = bits_float(0xffc00000u);
    FOR_FLOAT_ISAS(isa)
    {
        run_probe(K(gather), isa, reals, index, out, N);
        run_probe(K(igather), isa, ints, index, got, N);
        for (int i = 0; i < N; ++i) {
            assert_int_equal(float_bits(out[i]), R(reals[index[i]]));
            assert_int_equal(got[i], ints[index[i]]);
        }
        for (int shift = 0; shift < 3; ++shift) { /* aligned or not, the same bytes */
            memset(got, 0, sizeof got);
            sti_slot slots[] = {slot_array(ints), slot_array(got + shift), slot_int(N)};
            sti_k_probe_istream.call[isa](slots, 0, 1);
            assert_memory_equal(got + shift, ints, sizeof ints);
            assert_true(got[N + shift] == 0 && (shift == 0 || got[0] == 0));
        }
    }
}

/* One lane has four words, several lanes have one each: the same memory, in the same order. */
static void wide_groups(void **state)
{
    static int in[N] __attribute__((aligned(64))), out[N + 16] __attribute__((aligned(64)));
    enum { ALL = N / 16 * 16 }; /* whole groups of every width */
    for (int i = 0; i < N; ++i) in[i] = i * 7 - 300;
    FOR_FLOAT_ISAS(isa)
    {
        memset(out, 0xff, sizeof out);
        sti_slot slots[] = {slot_array(in), slot_array(out), slot_int(ALL)};
        int wide = sti_isa_width((sti_isa)isa) == 1 ? 4 : 1;
        sti_k_probe_wide.call[isa](slots, 0, 1 + ALL / 256);
        for (int i = 0; i < ALL; ++i) assert_int_equal(out[i], in[i] + i % wide * 1000);
        for (int i = ALL; i < N + 16; ++i) assert_int_equal(out[i], -1);
    }
}

static void uniform_values(void **state)
{
    float a[4] = {2, -3, 9, 0x1.000002p0f}, b[4] = {5, -7, 9, 0x1.fffffcp-1f}, out[20];
    const float want[20] = {2,
                            5,
                            2,
                            9,
                            0x1.6a09e6p0f,
                            -7,
                            -3,
                            3,
                            20,
                            NAN,
                            9,
                            9,
                            9,
                            80,
                            3,
                            0x1.fffffcp-1f,
                            0x1.000002p0f,
                            0x1.000002p0f,
                            -0x1p-46f,
                            1};
    const int want_ints[8] = {2, 5, -7, -3, 9, 9, 0, 1};
    int ints[8];
    FOR_FLOAT_ISAS(isa)
    {
        sti_slot slots[] = {slot_array(a), slot_array(b), slot_array(out), slot_array(ints), slot_int(4)};
        sti_k_probe_uniform.call[isa](slots, 0, 1);
        for (int i = 0; i < 20; ++i)
            if (isnan(want[i]) ? !isnan(out[i]) : float_bits(out[i]) != float_bits(want[i]))
                fail_msg("value %d: %a, not %a", i, (double)out[i], (double)want[i]);
        assert_memory_equal(ints, want_ints, sizeof ints);
    }
}

/* [world / B][item][B]: world w, item i of an array with n items a world, on a device with b lanes. */
static int blocked(int b, int n, int w, int i) { return (w / b * n + i) * b + w % b; }

static void worlds_are_blocked_by_the_width(void **state)
{
    enum { NWORLD = 37, NITEM = 5, PADDED = 48 };
    static float a[PADDED * NITEM], out[NWORLD * NITEM];
    FOR_FLOAT_ISAS(isa)
    {
        int b = sti_isa_width((sti_isa)isa);
        for (int w = 0; w < NWORLD; ++w)
            for (int i = 0; i < NITEM; ++i) a[blocked(b, NITEM, w, i)] = (float)(100 * w + i);
        sti_slot slots[] = {slot_array(a), slot_array(out), slot_int(NITEM), slot_int(NWORLD)};
        sti_k_probe_of_world.call[isa](slots, 0, 1);
        for (int w = 0; w < NWORLD; ++w)
            for (int i = 0; i < NITEM; ++i) assert_true(out[w * NITEM + i] == (float)(100 * w + i));
    }
}

static void world_kernels(void **state)
{
    enum { NWORLD = 48, NITEM = 8 };
    /* Kernels of worlds take whole vectors: their arrays are aligned to the widest. */
    static _Alignas(64) float a[NWORLD * NITEM], out[NWORLD * NITEM];
    static _Alignas(64) int visits[NWORLD * NITEM];
    const int order[NITEM] = {7, 6, 5, 4, 3, 2, 1, 0};
    FOR_FLOAT_ISAS(isa)
    {
        int b = sti_isa_width((sti_isa)isa);
        for (int w = 0; w < NWORLD; ++w)
            for (int i = 0; i < NITEM; ++i)
                a[blocked(b, NITEM, w, i)] = w == 5 && i == 2 ? bits_float(0xffc00000u) : (float)(10 * w + i);
        memset(visits, 0, sizeof visits);
        sti_slot each_slots[] = {{.p = visits, .n = NITEM}, slot_int(NITEM)};
        sti_k_probe_each.call[isa](each_slots, 0, NWORLD / b);
        sti_slot slots[] = {{.p = a, .n = NITEM}, slot_array(order), {.p = out, .n = NITEM}};
        sti_k_probe_shared.call[isa](slots, 0, NWORLD / b);
        for (int w = 0; w < NWORLD; ++w)
            for (int i = 0; i < NITEM; ++i) {
                assert_int_equal(visits[w * NITEM + i], 1);
                uint32_t want = w == 5 && i == 5 ? 0x7fc00000u : R((float)(10 * w + 7 - i));
                assert_int_equal(float_bits(out[blocked(b, NITEM, w, i)]), want);
            }
    }
}

/* The scrambled `each` gives every index once; and it does scramble. */
static void permuted_each_gives_every_index_once(void **state)
{
    int in_order = 0;
    for (int n = 0; n <= 200; ++n) {
        int seen[200] = {0}, count = 0, ascending = 1, last = -1;
        each (i, n) {
            assert_in_range(i, 0, n - 1);
            seen[i]++;
            count++;
            ascending &= i > last;
            last = i;
        }
        assert_int_equal(count, n);
        for (int i = 0; i < n; ++i) assert_int_equal(seen[i], 1);
        in_order += n > 2 && ascending;
    }
    assert_int_equal(in_order, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic),
        cmocka_unit_test(denormals_are_kept),
        cmocka_unit_test(rounding_to_integers),
        cmocka_unit_test(minimum_and_maximum),
        cmocka_unit_test(comparisons_and_masks),
        cmocka_unit_test(integers),
        cmocka_unit_test(bits_and_canonical_nan),
        cmocka_unit_test(any_all_and_lane),
        cmocka_unit_test(masked_stores_leave_the_rest),
        cmocka_unit_test(tails_end_where_they_should),
        cmocka_unit_test(gathers_and_streams),
        cmocka_unit_test(wide_groups),
        cmocka_unit_test(uniform_values),
        cmocka_unit_test(worlds_are_blocked_by_the_width),
        cmocka_unit_test(world_kernels),
        cmocka_unit_test(permuted_each_gives_every_index_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
