/*
 * Checks of gradients from C: what is wrong is found, what cannot be compared is counted, and a kernel that reaches
 * beyond its arrays is told apart from both.
 */
#include "adjoint/rig.h"

#include <math.h>

static void a_wrong_gradient_is_found(void **state)
{
    stet_gradcheck_result r;
    stet_gradcheck_def def = gradcheck_def(
        SOURCE("LFN real twice(real x) { return x + x; }\n"
               "LFN void twice_adj(real x, real *to, real g) { (void)x; *to = fma(splat(3), g, *to); }\n"
               "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) put(y, i, twice(x[i])); }"));
    OK(stet_gradcheck(&def, &r));
    assert_int_equal(r.wrong, 2 * 3); /* n is 3, over two worlds */
    assert_int_equal(r.unfit, 0);
    assert_non_null(strstr(r.where, "k_f: x["));
}

static void what_is_not_finite_is_counted(void **state)
{
    stet_gradcheck_result r;
    stet_gradcheck_def def = gradcheck_def(SOURCE(
        "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) put(y, i, log(x[i] - splat(2))); }"));
    OK(stet_gradcheck(&def, &r));
    assert_int_equal(r.compared, 0);
    assert_int_equal(r.unfit, 2 * 12 * 2);
    assert_non_null(strstr(r.where, "is not finite"));
}

/*
 * At x = 0.5. Differences have no value at a kink or a jump; beside one they have, with a step that does not reach it.
 */
static void kinks_are_counted(void **state)
{
    static const struct {
        const char *value;
        bool fit;
    } cases[] = {{"rmax(x[i] * splat(3), splat((ureal)1.5))", false},
                 {"rmax(x[i], splat((ureal)0.5)) * x[i]", false},
                 {"floor(x[i] * splat(2))", false},
                 {"rabs(x[i] - splat((ureal)0.5000003))", true},
                 {"rmin(x[i], splat((ureal)0.49999995)) * x[i]", true}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char source[300];
        stet_gradcheck_result r;
        (void)snprintf(source, sizeof source,
                       SOURCE("world_kernel void k_f(const real *x, real *y, int n) { each (i, n) put(y, i, %s); }"),
                       cases[k].value);
        stet_gradcheck_def def = gradcheck_def(source);
        def.low = def.high = 0.5;
        OK(stet_gradcheck(&def, &r));
        if (r.wrong > 0) fail_msg("%s: %s", cases[k].value, r.where);
        assert_int_equal(r.unfit, cases[k].fit ? 0 : 2 * 3);
    }
}

/* However fast a function turns, that is no kink: a gradient of it that is wrong is told of. */
static void a_sharp_turn_is_no_kink(void **state)
{
    stet_gradcheck_result r;
    stet_gradcheck_def def = gradcheck_def(SOURCE(
        "LFN real turn(real x) { return sin(x * splat(1000)); }\n"
        "LFN void turn_adj(real x, real *to, real g) { *to = fma(splat(1001) * cos(x * splat(1000)), g, *to); }\n"
        "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) put(y, i, turn(x[i])); }"));
    OK(stet_gradcheck(&def, &r));
    assert_int_equal(r.wrong, 2 * 3);
    assert_int_equal(r.unfit, 0);
}

/* A loop may make a function that turns within the steps of differences: it is followed with finer ones. */
static void a_turn_within_a_step_is_followed(void **state)
{
    static const struct {
        const char *twist, *adjoint;
        int64_t wrong;
    } cases[] = {
        {"sin(x * splat(3e7))", "splat(3e7) * cos(x * splat(3e7))", 0},
        {"sin(x * splat(3e7))", "splat(4e7) * cos(x * splat(3e7))", 2 * 3},
        {"sin(x * splat(2e8))", "splat(2e8) * cos(x * splat(2e8))", 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char source[500];
        stet_gradcheck_result r;
        (void)snprintf(source, sizeof source,
                       SOURCE("LFN real turn(real x) { return %s; }\n"
                              "LFN void turn_adj(real x, real *to, real g) { *to = fma(%s, g, *to); }\n"
                              "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) put(y, i, "
                              "turn(x[i])); }"),
                       cases[k].twist, cases[k].adjoint);
        stet_gradcheck_def def = gradcheck_def(source);
        OK(stet_gradcheck(&def, &r));
        if (r.wrong != cases[k].wrong) fail_msg("%s: %s", cases[k].adjoint, r.where);
        if (r.unfit > 0) fail_msg("%s: %s", cases[k].adjoint, r.where);
    }
}

/*
 * A function whose slopes go from 1 to 1e12, and one whose rounding errors go up to 1e-10: item i has the i-th scale.
 * The adjoint's gradient is `factor` times the right one.
 */
enum { NSCALE = 13, SCALE_WORLDS = 8 };
#define STEEP "sin(x * splat(scale[i]))", "splat(scale[i]) * cos(x * splat(scale[i]))"
#define NOISY "(x + splat(scale[i])) - splat(scale[i]) + sin(x)", "splat(1) + cos(x)"
#define STEEP_SCALES "1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12"
#define NOISY_SCALES "0, 1, 3, 1e1, 1e2, 3e2, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6"
static stet_gradcheck_result check_scales(const char *scales, const char *function, const char *derivative,
                                          const char *factor)
{
    char source[900];
    stet_gradcheck_result r;
    (void)snprintf(
        source, sizeof source,
        SOURCE("static const ureal scale[13] = {%s};\n"
               "LFN real f(real x, int i) { return %s; }\n"
               "LFN void f_adj(real x, real *to, int i, real g)\n"
               "{\n"
               "    *to = fma(splat((ureal)%s) * (%s), g, *to);\n"
               "}\n"
               "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) put(y, i, f(x[i], i)); }"),
        scales, function, factor, derivative);
    stet_gradcheck_def def = gradcheck_def(source);
    def.nitem = def.number = NSCALE;
    def.nworld = SCALE_WORLDS;
    OK(stet_gradcheck(&def, &r));
    assert_int_equal(r.compared + r.unfit, 2 * SCALE_WORLDS * NSCALE); /* x and y */
    assert_int_equal(r.unfit, r.undecided);
    return r;
}

/* A right gradient is never wrong, and differences decide slopes up to 1e9. */
static void right_gradients_of_steep_and_noisy_functions_are_not_wrong(void **state)
{
    stet_gradcheck_result r = check_scales(STEEP_SCALES, STEEP, "1");
    if (r.wrong > 0) fail_msg("%s", r.where);
    assert_true(r.undecided <= 3 * SCALE_WORLDS);
    r = check_scales(NOISY_SCALES, NOISY, "1");
    if (r.wrong > 0) fail_msg("%s", r.where);
    assert_int_equal(r.undecided, 0);
}

/* A wrong gradient is never right: it is wrong up to slopes of 1e9, and undecided beyond. */
static void wrong_gradients_of_steep_and_noisy_functions_are_not_right(void **state)
{
    static const char *const factors[] = {"1.001", "1.01", "1.5", "-1", "0", "1e6"};
    for (size_t k = 0; k < sizeof factors / sizeof *factors; ++k) {
        stet_gradcheck_result r = check_scales(STEEP_SCALES, STEEP, factors[k]);
        assert_int_equal(r.wrong + r.undecided, SCALE_WORLDS * NSCALE);
        assert_true(r.undecided <= 3 * SCALE_WORLDS);
        r = check_scales(NOISY_SCALES, NOISY, factors[k]);
        assert_int_equal(r.wrong, SCALE_WORLDS * NSCALE);
    }
}

#define OWN(factor)                                                                                                    \
    SOURCE(                                                                                                            \
        "world_kernel void k_f(const real *x, real *y, ureal a, int n) { each (i, n) put(y, i, x[i] * splat(a)); }\n"  \
        "world_kernel void k_f_adj(const real *x, real *x_grad, const real *y, real *y_grad, ureal a, real *a_grads, " \
        "int n)\n{\n"                                                                                                  \
        "    (void)y;\n    each (one, 1) for (int i = 0; i < n; ++i) put(a_grads, 0, fma(x[i], y_grad[i], "            \
        "a_grads[0]));\n"                                                                                              \
        "    sync();\n"                                                                                                \
        "    each (i, n) {\n        put(x_grad, i, fma(" factor ", y_grad[i], x_grad[i]));\n"                          \
        "        put(y_grad, i, splat(0));\n    }\n}\n")

#define OWN_ITEMS                                                                                                      \
    "item_kernel void k_i(const ureal *x, ureal *y, int n, int block) { items (p, nmin(2, n - block * 2)) {\n"         \
    "    int q = block * 2 + p; store_if(in_range(q, n), y + q, load(x + q) * splat(3)); } }\n"                        \
    "item_kernel void k_i_adj(const ureal *x, ureal *x_grad, const ureal *y, ureal *y_grad, int n, int block) {\n"     \
    "    items (p, nmin(2, n - block * 2)) { int q = block * 2 + p; (void)x; (void)y;\n"                               \
    "    store_if(in_range(q, n), x_grad + q, load(x_grad + q) + splat(3) * load(y_grad + q));\n"                      \
    "    store_if(in_range(q, n), y_grad + q, splat(0)); } }\n"

/* An adjoint that a source has for its kernel is checked as one that is made. */
static void a_kernels_own_adjoint_is_checked(void **state)
{
    stet_gradcheck_result r;
    stet_gradcheck_def def = gradcheck_def(OWN("splat(a)"));
    OK(stet_gradcheck(&def, &r));
    assert_int_equal(r.wrong + r.unfit, 0);
    assert_int_equal(r.compared, 2 * (12 + 12 + 1)); /* x, y, a of two worlds */
    assert_int_equal(r.moving, 2 * (3 + 9 + 1));     /* n is 3: the rest of y stays what it was */
    def.kernel = "k_f";
    def.source = OWN("splat(a + a)");
    OK(stet_gradcheck(&def, &r));
    assert_int_equal(r.wrong, 2 * 3);
    assert_non_null(strstr(r.where, "k_f: x["));
    def.kernel = "k_f_adj";
    FAILS(stet_gradcheck(&def, &r), STET_ERROR_INVALID_ARGUMENT,
          "k_f_adj is the adjoint of k_f: check the gradients of that");
    def = gradcheck_def(SOURCE(OWN_ITEMS));
    OK(stet_gradcheck(&def, &r));
    assert_int_equal(r.wrong + r.unfit, 0);
    assert_int_equal(r.compared, 12 + 12);
    assert_int_equal(r.moving, 3 + 9);
}

/* (1 + a) y + y^3 = b by Newton's method. The gradient follows from y: 1 / (1 + a + 3 y^2) times that of y. */
#define ROOT(constness, also)                                                                                          \
    SOURCE(                                                                                                            \
        "world_kernel void k_root(const real *a, const real *b, real *y, int n)\n{\n    each (i, n) {\n"               \
        "        real x = splat(0), s = splat(1) + a[i];\n        for (int k = 0; k < 60; ++k) x = x - (s * x + x * "  \
        "x * x - b[i]) / (s + splat(3) * x * x);\n        put(y, i, x);\n    }\n}\n"                                   \
        "world_kernel void k_root_adj(const real *a, real *a_grad, const real *b, real *b_grad, const real *y, real "  \
        "*y_grad, " constness "real *y_after, int n)\n{\n    (void)b; (void)y;\n    each (i, n) {\n"                   \
        "        real x = y_after[i], g = y_grad[i] / (splat(1) + a[i] + splat(3) * x * x);\n"                         \
        "        put(y_grad, i, splat(0));\n        put(b_grad, i, b_grad[i] + g);\n"                                  \
        "        put(a_grad, i, a_grad[i] - g * x);\n" also "    }\n}\n")

/* An adjoint that a source has may see what the kernel left, and then needs nothing of how it came to that. */
static void a_kernels_own_adjoint_sees_what_it_left(void **state)
{
    stet_gradcheck_result r;
    stet_gradcheck_def def = gradcheck_def(ROOT("const ", ""));
    OK(stet_gradcheck(&def, &r));
    assert_int_equal(r.wrong + r.unfit, 0);
    assert_int_equal(r.compared, 2 * 3 * 12);
    assert_int_equal(r.moving, 2 * (3 + 3 + 9));
    def.source = ROOT("", "        put(y_after, i, x);\n");
    FAILS(stet_gradcheck(&def, &r), STET_ERROR_UNSUPPORTED,
          "kernel k_root_adj: y_after is what the kernel left in y: declare it const");
}

/* What a launch passes follows from the kernel's kind. */
static void an_adjoint_of_another_kind_is_refused(void **state)
{
    stet_gradcheck_result r;
    stet_gradcheck_def def = gradcheck_def(
        SOURCE("world_kernel void k_f(const ureal *x, real *y, int n) { each (i, n) put(y, i, splat(x[i])); }\n"
               "item_kernel void k_f_adj(const ureal *x, ureal *x_grad, int n, int block) {\n"
               "    items (p, n) store_if(in_range(p, n), x_grad + p, load(x + p)); (void)block; }"));
    FAILS(stet_gradcheck(&def, &r), STET_ERROR_UNSUPPORTED,
          "k_f_adj, the adjoint of k_f, is of another kind: it has to be a world_kernel");
}

/* What lies behind an array is nobody's: reading it, writing it, and adding a gradient there. */
static void arrays_that_are_too_small_are_named(void **state)
{
    static const struct {
        const char *body, *array;
    } cases[] = {{"put(y, i, splat(t[i + 11]) * x[i])", "t"},
                 {"put(y, i, x[i * 12])", "x"},
                 {"put(y, i + 10, x[i])", "y"},
                 {"put(y, i, x[i])", NULL}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char source[300], sentence[80];
        stet_gradcheck_result r;
        (void)snprintf(
            source, sizeof source,
            SOURCE("world_kernel void k_f(const real *x, const ureal *t, real *y, int n) { each (i, n) %s; }"),
            cases[k].body);
        stet_gradcheck_def def = gradcheck_def(source);
        if (!cases[k].array) {
            OK(stet_gradcheck(&def, &r));
            continue;
        }
        (void)snprintf(sentence, sizeof sentence, "kernel k_f reaches beyond the 12 items of %s:", cases[k].array);
        FAILS(stet_gradcheck(&def, &r), STET_ERROR_INVALID_ARGUMENT, sentence);
        const stet_gradcheck_value value = {.name = cases[k].array, .nitem = 40};
        def.value = &value;
        def.nvalue = 1;
        OK(stet_gradcheck(&def, &r));
        assert_int_equal(r.wrong + r.unfit, 0);
    }
}

/* Where the kernel stops its adjoint would too, and the process with it: it is not launched. n is 3. */
static void a_fault_of_the_kernel_is_told_before_its_adjoint(void **state)
{
    static const struct {
        const char *body, *sentence;
    } cases[] = {
        {"put(y, i, x[i / (n - 3)])", "kernel k_f: kernel:2:100: `i / (n - 3)` divides by 0 (world 0)"},
        {"put(y, i, x[0] * splat((ureal)(i % (n - 3))))", "`i % (n - 3)` divides by 0 (world 0)"},
        {"real v[2]; v[i] = x[i]; put(y, i, v[i] * v[i])", "`v[i]` writes element 2 of `v`, which has 2 (world 0)"},
        {"int far = n * 1000000000; put(y, i, x[far])", "`n * 1000000000` overflows, and becomes an index"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char source[300];
        stet_gradcheck_result r;
        (void)snprintf(
            source, sizeof source,
            SOURCE("world_kernel void k_f(const real *x, real *y, int n) { for (int i = 0; i < n; ++i) { %s; } }"),
            cases[k].body);
        stet_gradcheck_def def = gradcheck_def(source);
        FAILS(stet_gradcheck(&def, &r), STET_ERROR_FAULT, cases[k].sentence);
    }
}

/* Each evaluation begins with the same whole numbers, which the kernel overwrites after it has read them. */
static void whole_numbers_are_put_back(void **state)
{
    stet_gradcheck_result r;
    stet_gradcheck_def def = gradcheck_def(
        SOURCE("item_kernel void k_f(const ureal *x, int *turn, ureal *y, int n, int block) {\n"
               "    items (p, nmin(2, n - block * 2)) { int q = block * 2 + p; mask live = in_range(q, n);\n"
               "    lint t = iload(turn + q); real a = load(x + q);\n"
               "    store_if(live, y + q, select(ieq(t, isplat(0)), a * a, sin(a)));\n"
               "    istore_if(live, turn + q, t + isplat(1)); } }"));
    OK(stet_gradcheck(&def, &r));
    if (r.wrong > 0) fail_msg("%s", r.where);
    assert_true(r.moving >= 3);
    def.source = SOURCE("world_kernel void k_f(const real *x, lint *turn, real *y, int n) { each (i, n) {\n"
                        "    put(y, i, select(ieq(turn[i], isplat(1)), x[i] * x[i], sin(x[i])));\n"
                        "    turn[i] = turn[i] + isplat(1); } }");
    OK(stet_gradcheck(&def, &r));
    if (r.wrong > 0) fail_msg("%s", r.where);
}

#define HUGE_BESIDE(factor)                                                                                            \
    SOURCE("LFN real half(real x) { return x * splat((ureal)0.5); }\n"                                                 \
           "LFN void half_adj(real x, real *to, real g) { (void)x; *to = fma(splat((ureal)" factor "), g, *to); }\n"   \
           "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) {\n"                                    \
           "    put(y, i * 2, half(x[i])); put(y, i * 2 + 1, splat((ureal)1e13)); } }")

/* Beside outputs of 1e13 a slope of 0.5 is below the rounding of a difference; one of 1e12 that is wrong is not. */
static void rounding_is_told_from_wrong_gradients(void **state)
{
    stet_gradcheck_result r;
    stet_gradcheck_def def = gradcheck_def(HUGE_BESIDE("0.5"));
    OK(stet_gradcheck(&def, &r));
    assert_int_equal(r.wrong, 0);
    assert_true(r.rounded > 0 && r.rounded == r.unfit);
    def.source = HUGE_BESIDE("1e12");
    OK(stet_gradcheck(&def, &r));
    assert_int_equal(r.wrong, 2 * 3);
}

/* What is misspelt, and what means nothing, is no wish that goes unheard. */
static void values_of_nothing_are_refused(void **state)
{
    static const int64_t contents[] = {1, 2, 300};
    static const struct {
        stet_gradcheck_value value;
        const char *sentence;
    } cases[] = {{{.name = "m", .number = 3}, "kernel k_f has no parameter `m`; there are x, a, k, small, y, n"},
                 {{.name = "x", .number = 3}, "`x` is an array, not a whole number: give its range"},
                 {{.name = "k", .number = 3}, "`k` is an array, not a whole number: give its content"},
                 {{.name = "a", .number = 3}, "`a` is a real, not a whole number: give its range"},
                 {{.name = "n", .nitem = 3}, "`n` is a number, not an array: give its value"},
                 {{.name = "a", .nitem = 3}, "`a` is a number, not an array: give its range"},
                 {{.name = "x", .nitem = 3, .value = contents}, "`x` holds reals, which are random"},
                 {{.name = "small", .nitem = 3, .value = contents}, "300 for `small` does not fit into its type u8"},
                 {{.name = "n", .number = 1ll << 40}, "1099511627776 for `n` does not fit into its type int"},
                 {{.name = "n", .number = 3, .low = 1, .high = 2}, "`n` holds whole numbers, which have no range"},
                 {{.name = "x", .low = 2, .high = 1}, "the range of `x` goes from 2 to 1"},
                 {{.name = "x", .low = 0, .high = INFINITY}, "give finite numbers"},
                 {{.name = "x", .nitem = -1}, "`x` cannot have -1 items"}};
    stet_gradcheck_result r;
    stet_gradcheck_def def = gradcheck_def(SOURCE(
        "world_kernel void k_f(const real *x, ureal a, const int *k, const u8 *small, real *y, int n) { each (i, n)\n"
        "    put(y, i, x[k[i]] * splat(a) * to_real(isplat(small[i]))); }"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        def.value = &cases[i].value;
        def.nvalue = 1;
        FAILS(stet_gradcheck(&def, &r), STET_ERROR_INVALID_ARGUMENT, cases[i].sentence);
    }
    def.nvalue = 0;
    static const double tolerances[] = {0, -1, NAN, INFINITY};
    for (size_t i = 0; i < sizeof tolerances / sizeof *tolerances; ++i) {
        def.tolerance = tolerances[i];
        FAILS(stet_gradcheck(&def, &r), STET_ERROR_INVALID_ARGUMENT, "give a finite number above 0");
    }
}

static void bad_definitions_are_refused(void **state)
{
    stet_gradcheck_result r;
    stet_gradcheck_def def = gradcheck_def(SOURCE("world_kernel void k_f(real *x) { put(x, 0, x[0]); }"));
    FAILS(stet_gradcheck(&def, NULL), STET_ERROR_INVALID_ARGUMENT, "def and out must not be NULL");
    def.nworld = 0;
    FAILS(stet_gradcheck(&def, &r), STET_ERROR_INVALID_ARGUMENT, "over 0 worlds");
    def.nworld = 1;
    def.kernel = "k_g";
    FAILS(stet_gradcheck(&def, &r), STET_ERROR_NOT_FOUND, "has no kernel k_g");
    def.kernel = NULL;
    def.cookie = 0;
    FAILS(stet_gradcheck(&def, &r), STET_ERROR_INVALID_ARGUMENT, "start from stet_default_gradcheck_def()");
    def = stet_default_gradcheck_def();
    FAILS(stet_gradcheck(&def, &r), STET_ERROR_INVALID_ARGUMENT, "neither a source nor a path");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_gradient_is_found),
        cmocka_unit_test(what_is_not_finite_is_counted),
        cmocka_unit_test(kinks_are_counted),
        cmocka_unit_test(a_sharp_turn_is_no_kink),
        cmocka_unit_test(a_turn_within_a_step_is_followed),
        cmocka_unit_test(right_gradients_of_steep_and_noisy_functions_are_not_wrong),
        cmocka_unit_test(wrong_gradients_of_steep_and_noisy_functions_are_not_right),
        cmocka_unit_test(a_kernels_own_adjoint_is_checked),
        cmocka_unit_test(a_kernels_own_adjoint_sees_what_it_left),
        cmocka_unit_test(an_adjoint_of_another_kind_is_refused),
        cmocka_unit_test(arrays_that_are_too_small_are_named),
        cmocka_unit_test(a_fault_of_the_kernel_is_told_before_its_adjoint),
        cmocka_unit_test(whole_numbers_are_put_back),
        cmocka_unit_test(rounding_is_told_from_wrong_gradients),
        cmocka_unit_test(values_of_nothing_are_refused),
        cmocka_unit_test(bad_definitions_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
