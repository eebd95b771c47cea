/*
 * Checks of gradients from C: what is wrong is found, what cannot be compared is counted, and a kernel that reaches beyond its arrays is told
 * apart from both.
 */
#include "adjoint/rig.h"

static void a_wrong_gradient_is_found(void **state)
{
    (void)state;
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
    (void)state;
    stet_gradcheck_result r;
    stet_gradcheck_def def = gradcheck_def(SOURCE(
        "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) put(y, i, log(x[i] - splat(2))); }"));
    OK(stet_gradcheck(&def, &r));
    assert_int_equal(r.compared, 0);
    assert_int_equal(r.unfit, 2 * 12 * 2);
    assert_non_null(strstr(r.where, "is not finite"));
}

/* What lies behind an array is nobody's: reading it, writing it, and adding a gradient there. */
static void arrays_that_are_too_small_are_named(void **state)
{
    (void)state;
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
        FAILS(stet_gradcheck(&def, &r), STET_INVALID_ARGUMENT, sentence);
        const stet_gradcheck_value value = {.name = cases[k].array, .items = 40};
        def.value = &value;
        def.nvalue = 1;
        OK(stet_gradcheck(&def, &r));
        assert_int_equal(r.wrong + r.unfit, 0);
    }
}

static void bad_definitions_are_refused(void **state)
{
    (void)state;
    stet_gradcheck_result r;
    stet_gradcheck_def def = gradcheck_def(SOURCE("world_kernel void k_f(real *x) { put(x, 0, x[0]); }"));
    FAILS(stet_gradcheck(&def, NULL), STET_INVALID_ARGUMENT, "def and out must not be NULL");
    def.worlds = 0;
    FAILS(stet_gradcheck(&def, &r), STET_INVALID_ARGUMENT, "over 0 worlds");
    def.worlds = 1;
    def.kernel = "k_g";
    FAILS(stet_gradcheck(&def, &r), STET_NOT_FOUND, "has no kernel k_g");
    def.kernel = NULL;
    def.cookie = 0;
    FAILS(stet_gradcheck(&def, &r), STET_INVALID_ARGUMENT, "start from stet_default_gradcheck_def()");
    def = stet_default_gradcheck_def();
    FAILS(stet_gradcheck(&def, &r), STET_INVALID_ARGUMENT, "neither a source nor a path");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_gradient_is_found),
        cmocka_unit_test(what_is_not_finite_is_counted),
        cmocka_unit_test(arrays_that_are_too_small_are_named),
        cmocka_unit_test(bad_definitions_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
