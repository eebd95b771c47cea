/*
 * Each function and operator of the language: the table of derivatives has it, and its derivatives are those of
 * differences.
 */
#include "adjoint/rig.h"

#include "adjoint/tree/derivative.h"
#include "kernel/check/library.inl"

static void every_function_is_in_the_table(void **state)
{
    static const char *const names[] = {
#define NAME(result, name, inner, parameters, twin) #name,
        STI_LIBRARY_FUNCTIONS(NAME)
#undef NAME
            "of_world",
        "+", "-", "*", "/"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (!sti_derivative_find(names[i])) fail_msg("%s has no derivative", names[i]);
}

/* f(u, v) of reals near `low` … `high`. */
static void check_expression(const char *f, double low, double high)
{
    char source[1024];
    const stet_gradcheck_value values[] = {{.name = "x", .nitem = 6, .low = low, .high = high},
                                           {.name = "y", .nitem = 3},
                                           {.name = "a", .low = low, .high = high},
                                           {.name = "b", .low = low, .high = high}};
    (void)snprintf(
        source, sizeof source,
        SOURCE("world_kernel void k_f(const real *x, real *y, ureal a, ureal b, int n)\n{\n    each (i, n) {\n"
               "        real u = x[i * 2], v = x[i * 2 + 1];\n        put(y, i, %s);\n    }\n}\n"),
        f);
    stet_gradcheck_def def = gradcheck_def(source);
    def.value = values;
    def.nvalue = 4;
    gradients_are_right(&def, 1);
}

static void derivatives_are_those_of_differences(void **state)
{
    static const struct {
        const char *f;
        double low, high;
    } cases[] = {
        {"u + v * u - v / u", -2, -1},
        {"-u * v + sqrt(u) + fma(u, v, u * u)", 0.5, 3},
        {"sin(u) * cos(v) + tan(u)", -1.4, 1.4},
        {"asin(u) + acos(v) * atan(u)", -0.9, 0.9},
        {"atan2(u, v) + atan2(v, -u)", 0.2, 2},
        {"exp(u) + exp2(v) * log(u) + log2(v)", 0.3, 2},
        {"pow(u, v) + tanh(u * v)", 0.3, 2},
        {"pow(u, splat(2)) + pow(u, splat(3)) * v", -2, -0.5},
        {"rabs(u) * v + rmin(u, v) - rmax(u * u, v)", -1, 1},
        {"clamp(u, v, splat((ureal)0.4)) + clamp(splat((ureal)0.1), u, v)", -1, 1},
        {"copysign_(u, v) + copysign_(v, u) * u", -1, 1},
        {"select(lt(u, v), u * u, v * u) + select(m_and(ge(u, v), gt(u, splat(0))), v, u)", -1, 1},
        {"canon(u) * floor(v * splat(10)) + rint(u * splat(10)) * v", -1, 1},
        {"to_real(to_int(u * splat(7))) * v", -1, 1},
        {"u * splat(a * b - a / b + ufma(a, b, a)) + splat(usqrt(a) * umin(a, b) - umax(a, b) + uabs(a - b))", 0.3, 2},
        {"splat(a > b ? a * a : b) * u + splat(-(a + 2 * b)) * v + splat((ureal)(i + 1) * a)", 0.3, 2},
        {"n > 2 ? u * v : u", -1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) check_expression(cases[i].f, cases[i].low, cases[i].high);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_function_is_in_the_table),
        TEST(derivatives_are_those_of_differences),
    };
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
