/*
 * Adjoints as such: what is refused, at its place; sizes of tapes; launches.
 */
#include "adjoint/rig.h"

#include "adjoint/launch/handle.h"
#include "base/failing.h"

#define KERNEL(parameters, body) SOURCE("world_kernel void k_f(" parameters ") {\n" body "}\n")

static void what_cannot_be_followed_is_refused_at_its_place(void **state)
{
    static const struct {
        const char *source, *says;
    } cases[] = {
        {KERNEL("const real *x, real *y", "put(y, 0, from_bits(as_bits(x[0])) * x[0]);\n"),
         "k:3:21: as_bits takes the bits of a value that has a gradient"},
        {KERNEL("const real *x, real *y", "put(y, 0, sum_listed(x, 3, x[0]));\n"),
         "k:3:11: sum_listed takes an array that has a gradient, and what becomes of it cannot be followed"},
        {KERNEL("const real *x, real *y, int n",
                "real s = x[0]; int k = 0;\nfor (; k < n;) { s = s * s; k += 1 + k; }\nput(y, 0, s);\n"),
         "k:4:1: how often this loop runs does not follow from the arguments"},
        {KERNEL("real *x, int n", "for (int k = 0; k < n; ++k) put(x, 0, x[0] * x[1]);\n"),
         "k:3:29: `put(x, 0, x[0] * x[1])`: the whole team overwrites this after it was read"},
        {KERNEL("const real *x, real *y", "const real *p = x; p = p + 1; put(y, 0, p[0] * p[1]);\n"),
         "`p` is a pointer that moves"},
        {KERNEL("const real *x, real *y, int n", "each (i, n) { real s = n > 2 ? x[i] : x[0]; put(y, i, s); }\n"), ""},
        {SOURCE("LFN real f(real x) { return x; }\n") "world_kernel void k_f(const real *x, real *y, int n) "
                                                      "{ put(y, 0, n > 2 ? f(x[0]) : x[1]); }",
         "which calls a function where it chooses, is not made"},
        {SOURCE("LFN real f(real x, int n) { for (int i = 0; i < n; ++i) x = sin(x); return x; }\n"
                "world_kernel void k_f(const real *x, real *y, int n) { real s = f(x[0], n); each (i, n) put(y, i, s * "
                "x[i]); }\n"),
         ""},
        {SOURCE("LFN real f(real x) { return x * x; }\nLFN void f_adj(real x, real g) { (void)x; (void)g; }\n"
                "world_kernel void k_f(const real *x, real *y) { put(y, 0, f(x[0])); }\n"),
         "f_adj, the adjoint of f, takes (real, real); it has to take (real, real *, real)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        made m;
        stet_result result = make_adjoint(cases[i].source, NULL, &m);
        assert_int_equal(result, *cases[i].says ? STET_ERROR_UNSUPPORTED : STET_OK);
        if (result != STET_OK && !strstr(stet_get_last_error(), cases[i].says))
            fail_msg("'%s' does not say '%s'", stet_get_last_error(), cases[i].says);
        free_made(&m);
    }
}

static void a_constant_that_no_kernel_has_is_refused(void **state)
{
    static const char *const constant[] = {"z"};
    const sti_adjoint_options options = {.constant = constant, .nconstant = 1};
    made m;
    FAILS(make_adjoint(KERNEL("const real *x, real *y", "put(y, 0, x[0]);\n"), &options, &m), STET_ERROR_UNSUPPORTED,
          "`z` is declared to be constant, but no kernel has such a parameter");
    free_made(&m);
}

/* Loops, jumps, calls, logs, lists, items: all that makes nodes and texts. */
static const char much_source[] = SOURCE(
    "typedef struct pt { real x; real v[2]; } pt;\n"
    "LFN real early(real x, int n) { if (n > 2) return x * x; for (int i = 0; i < n; ++i) { if (i == 1) return sin(x); "
    "x = x * x; } return x; }\n"
    "world_kernel void k_f(real *x, const int *count, const real *z, real *y, ureal a, int n) { shared(real, t, 8);\n"
    "each (i, n) t[i] = z[i] * splat(a); sync();\n"
    "each (i, n) { real s = early(x[i], i) * t[count[i]]; pt p; p.x = s; const real *from = z + count[i]; p.v[0] = "
    "from[0];\n"
    "for (int k = 0; k < count[i]; ++k) { if (k == 3) break; for (int j = 0; j < 2; ++j) put(x, i, x[i] * s + p.v[0]); "
    "s += p.x * s; }\n"
    "put(y, i, s * x[i]); } }\n"
    "LFN void step(const real *z, real *t, int k, int i) { const real *from = k == 0 ? z : t; t[i] = t[i] * from[i + "
    "1]; "
    "}\n"
    "world_kernel void k_team(const real *x, const ureal *u, const lint *at, real *y, int n) { shared(real, t, 8);\n"
    "each (i, 8) t[i] = x[i]; sync();\n"
    "for (int k = 0; k < n; ++k) { each (i, 2) step(x, t, k, i); sync(); }\n"
    "each (i, 8) put(y, i, t[i] * gather(u, at[i])); }\n"
    "item_kernel void k_items(ureal *x, const ureal *u, const int *at, const wreal *w, ureal a, int n, int block) {\n"
    "items (p, nmin(8, n - block * 8)) { int q = block * 8 + p; real s = load(x + q);\n"
    "for (int k = 0; k < 3; ++k) s = early(s * gather(u, igather(at, isplat(q) + lane())), k) * splat(a);\n"
    "store_if(in_range(q, n), x + q, s * s * splat(of_world(w, 4, 0, 1))); } }\n");

static stet_result make_much(void)
{
    sti_check_options check = sti_default_check_options();
    sti_unit *unit;
    sti_adjoint adjoint = {0};
    stet_result result = sti_check_source(much_source, "k", &check, &unit);
    if (result == STET_OK) result = sti_adjoint_make(unit, NULL, &adjoint);
    sti_adjoint_free(&adjoint);
    sti_unit_destroy(unit);
    return result;
}

static void any_allocation_may_fail(void **state) { assert_true(fail_each_allocation(make_much, false) > 20); }

/* ---- tapes ------------------------------------------------------------------------------------------------------- */

static const char deep_source[] = KERNEL("const real *x, const int *first, real *y, int n",
                                         "each (i, n) { real s = x[i];\nfor (int e = first[i]; e < first[i + 1]; ++e) "
                                         "s = sin(s * x[i]);\nput(y, i, s); }\n");

static void sizes_of_tapes_follow_from_the_source(void **state)
{
    made m, again;
    sti_text_buffer depth = {0}, width = {0};
    OK(make_adjoint(deep_source, NULL, &m));
    OK(make_adjoint(deep_source, NULL, &again));
    const sti_adjoint_kernel *k = m.adjoint.kernel;
    assert_true(k->taped);
    assert_null(k->next);
    sti_bound_print(k->width, &width);
    sti_bound_print(k->depth, &depth);
    assert_string_equal(width.data, "max(1, n)");
    assert_string_equal(depth.data, "max over i < n of max(first[i + 1] - first[i], 0)");
    assert_true(sti_bound_id(k->depth) == sti_bound_id(again.adjoint.kernel->depth));
    assert_true(sti_bound_id(k->depth) != sti_bound_id(k->width));
    sti_text_buffer_free(&depth);
    sti_text_buffer_free(&width);
    free_made(&m);
    free_made(&again);
}

static bool number_seven(void *context, const char *name, int64_t *out)
{
    (void)context;
    *out = 7;
    return strcmp(name, "n") == 0;
}
static bool squares(void *context, const char *name, int64_t index, int64_t *out)
{
    (void)context;
    (void)name;
    *out = index * index;
    return index < 8;
}

static void bounds_are_evaluated(void **state)
{
    const sti_bound_values values = {.number = number_seven, .element = squares};
    sti_bound n = {.kind = STI_BOUND_ARGUMENT, .name = "n"}, m = {.kind = STI_BOUND_ARGUMENT, .name = "m"};
    sti_bound zero = {.kind = STI_BOUND_NUMBER}, i = {.kind = STI_BOUND_VARIABLE, .name = "i"};
    sti_bound element = {.kind = STI_BOUND_ELEMENT, .name = "count", .a = &i};
    sti_bound over = {.kind = STI_BOUND_OVER, .variable = &i, .a = &zero, .b = &n, .c = &element};
    sti_bound quotient = {.kind = STI_BOUND_DIV, .a = &over, .b = &n},
              undefined = {.kind = STI_BOUND_DIV, .a = &n, .b = &zero};
    sti_bound twice = {.kind = STI_BOUND_ADD, .a = &n, .b = &n},
              beyond = {.kind = STI_BOUND_ELEMENT, .name = "count", .a = &twice};
    int64_t value;
    OK(sti_bound_evaluate(&over, &values, &value));
    assert_int_equal(value, 36);
    OK(sti_bound_evaluate(&quotient, &values, &value));
    assert_int_equal(value, 5);
    FAILS(sti_bound_evaluate(&undefined, &values, &value), STET_ERROR_INVALID_ARGUMENT, "7 is divided by 0");
    FAILS(sti_bound_evaluate(&m, &values, &value), STET_ERROR_INVALID_ARGUMENT,
          "needs the argument m, which is not given");
    FAILS(sti_bound_evaluate(&beyond, &values, &value), STET_ERROR_INVALID_ARGUMENT,
          "element 14 of count, which it does not have");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_cannot_be_followed_is_refused_at_its_place),
        TEST(a_constant_that_no_kernel_has_is_refused),
        TEST(any_allocation_may_fail),
        TEST(sizes_of_tapes_follow_from_the_source),
        TEST(bounds_are_evaluated),
    };
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
