/*
 * Loops that overwrite what they read: their gradients are those of differences, and what their adjoints keep is no
 * more than it has to be.
 */
#include "adjoint/rig.h"

static const rig_set_up set_up = {
    .nitem = 24, .nvalue = 2, .value = {RIG_COUNTS, {.name = "at", .nitem = 12, .value = rig_counts}}};

/* How often a word stands in the adjoint of a source. */
static int times_in_adjoint(const char *source, const char *word)
{
    made m;
    int times = 0;
    OK(make_adjoint(source, NULL, &m));
    const char *adjoint = strstr(m.adjoint.text.data, "The adjoint of k_f");
    assert_non_null(adjoint);
    for (const char *p = adjoint; (p = strstr(p, word)); p += strlen(word)) ++times;
    free_made(&m);
    return times;
}

/* Gradients are right, and nothing is kept on a tape. */
#define UNTAPED(name, least, body)                                                                                     \
    static void name(void **state)                                                                                     \
    {                                                                                                                  \
        source_is_right_with(&set_up, SOURCE(body), least);                                                            \
        assert_int_equal(times_in_adjoint(SOURCE(body), "tape"), 0);                                                   \
    }

/* ---- iterations with elements of their own ----------------------------------------------------------------------- */

UNTAPED(three_components, 27,
        "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) {\n"
        "  real s = sin(x[i]); for (int k = 0; k < 3; ++k) put(y, i * 3 + k, y[i * 3 + k] * y[i * 3 + k] * s); } }")

UNTAPED(as_many_as_data_says, 4,
        "world_kernel void k_f(const real *x, real *y, const int *count, int n) { each (i, n) { real v[4];\n"
        "  for (int k = 0; k < 4; ++k) v[k] = x[i * 4 + k];\n"
        "  for (int k = 0; k < count[i]; ++k) v[k] = sin(v[k]) * v[k];\n"
        "  put(y, i, v[0] * v[1] + v[2] * v[3]); } }")

UNTAPED(downwards, 12,
        "world_kernel void k_f(real *y, int n) { each (i, n) {\n"
        "  for (int k = 3; k >= 0; --k) { real a = y[i * 4 + k]; put(y, i * 4 + k, a * a); } } }")

UNTAPED(by_twos, 12,
        "world_kernel void k_f(real *y, int n) { each (i, n) {\n"
        "  for (int k = 0; k < 4; k += 2) { put(y, i * 4 + k, y[i * 4 + k] * y[i * 4 + k + 1]);\n"
        "    put(y, i * 4 + 1 + k, sin(y[i * 4 + 1 + k]) * y[i * 4 + k]); } } }")

UNTAPED(pairs_of_an_inner_loop, 16,
        "world_kernel void k_f(real *y, int n) { each (i, 2) {\n"
        "  for (int k = 0; k < 2; ++k) { int from = i * 8 + k * 4;\n"
        "    for (int j = 0; j < 4; ++j) put(y, from + j, y[from + j] * y[i * 8 + 4 * k + j]); } } }")

UNTAPED(pointers, 18,
        "world_kernel void k_f(real *y, int n) { each (i, n) { real *own = y + i * 6;\n"
        "  for (int k = 0; k < 3; ++k) { real *one = own + k * 2;\n"
        "    put(one, 0, one[0] * one[1]); put(one, 1, one[0] * own[k * 2 + 1]); } } }")

UNTAPED(local_arrays, 9,
        "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) { real a[3];\n"
        "  for (int k = 0; k < 3; ++k) a[k] = x[i * 3 + k];\n"
        "  for (int k = 0; k < 3; ++k) a[k] = a[k] * sin(a[k]);\n"
        "  for (int k = 0; k < n; ++k) if (k < 2) a[k] = a[k] * a[k];\n"
        "  put(y, i, a[0] * a[1] * a[2]); } }")

UNTAPED(functions_in_place, 18,
        "LFN void grow(real *v, real by) { for (int k = 0; k < 3; ++k) v[k] = v[k] * v[k] * by; }\n"
        "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) {\n"
        "  real v[3] = {x[i * 2], x[i * 2 + 1], splat(2)}; grow(v, x[i * 2]); grow(v, v[1]);\n"
        "  put(y, i, v[0] + v[1] * v[2]); } }")

/* ---- no trips ---------------------------------------------------------------------------------------------------- */

FORM(counting_away_from_the_end, 12,
     "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) { real s = x[i];\n"
     "  for (int a = 3; a > 7; --a) s = s * x[a];\n"
     "  for (int a = 20; a < 2; a += 3) s = s * s + x[a];\n"
     "  put(y, i, s * x[0]); } }")

FORM(teams_count_away_from_the_end, 12,
     "world_kernel void k_f(const real *x, real *y, int n) {\n"
     "  for (int r = 9; r < 2; ++r) { each (i, n) put(y, i, y[i] * y[i] * x[i]); }\n"
     "  each (i, n) put(y, i, y[i] * x[i]); }")

/* ---- few constant trips ------------------------------------------------------------------------------------------ */

UNTAPED(one_after_the_other, 12,
        "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) {\n"
        "  for (int k = 0; k < 3; ++k) put(y, i * 3 + k, y[i * 3 + k] * x[i]);\n"
        "  for (int k = 0; k < 3; ++k) put(y, i * 3 + k, y[i * 3 + k] * y[i * 3 + k]);\n"
        "  put(y, i * 3, y[i * 3] * y[i * 3 + 1] * y[i * 3 + 2]); } }")

UNTAPED(a_value_goes_through, 12,
        "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) { real s = x[i];\n"
        "  for (int k = 2; k >= 0; --k) { s = s * y[i * 3 + k]; put(y, i * 3 + k, s * sin(y[i * 3 + k])); } } }")

UNTAPED(nested_three_by_three, 27,
        "world_kernel void k_f(const real *x, real *y, int n) { each (i, 2) {\n"
        "  for (int r = 0; r < 3; ++r) for (int c = 0; c < 3; ++c)\n"
        "    put(y, i * 9 + r * 3 + c, y[i * 9 + r * 3 + c] * y[i * 9 + c * 3 + r] + x[i]); } }")

UNTAPED(within_other_statements, 12,
        "world_kernel void k_f(const real *x, const int *count, real *y, int n) { each (i, n) {\n"
        "  if (count[i] > 0) { real s = x[i]; for (int k = 0; k < 2; ++k) put(y, i * 3 + k, y[i * 3 + k] * y[i * 3 + k "
        "+ 1] * s); } else {\n"
        "    for (i64 k = 1; k <= 2; ++k) { int at = i * 3 + (int)k; real old = y[at]; if (k == 2) old = old * x[i];\n"
        "      put(y, at, old * old); put(y, i * 3, y[i * 3] * old); } } } }")

/* Without a log, which items do not have. */
FORM(within_items, 12,
     "item_kernel void k_f(ureal *x, const ureal *u, int n, int block) { items (p, nmin(8, n - block * 8)) {\n"
     "  int q = block * 8 + p; real s = load(u + q);\n"
     "  for (int k = 0; k < 3; ++k) { store_if(in_range(q, n), x + q, load(x + q) * s); s = s * load(x + q) + "
     "splat(u[k]); }\n"
     "  for (int k = 3; k > 0; k -= 2) for (int j = 0; j < 2; ++j) { real old = load(x + q);\n"
     "    scatter_if(in_range(q, n), x, isplat(q) + lane(), old * old * s); }\n"
     "  store_if(in_range(q, n), x + q, load(x + q) * s); } }")

/* Its variable's values have no place in an int. */
FORM(far_away, 3,
     "world_kernel void k_f(real *y, int n) { each (i, 1) {\n"
     "  for (i64 k = 5000000000; k < 5000000003; ++k) put(y, k - 5000000000, y[k - 5000000000] * y[5]); } }")

UNTAPED(within_functions, 12,
        "LFN void turn(real *v, const real *x) { for (int k = 0; k < 3; ++k) v[k] = v[k] * v[(k + 1) % 3] + x[k];\n"
        "  for (int k = 0; k < 3; ++k) { real t = v[k]; v[k] = v[2 - k] * t; } }\n"
        "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) {\n"
        "  real v[3] = {y[i * 3], y[i * 3 + 1], y[i * 3 + 2]}; turn(v, x + i * 3);\n"
        "  for (int k = 0; k < 3; ++k) put(y, i * 3 + k, v[k]); } }")

/* Trips that are too many stay a loop, and go to the tape. */
static void many_trips_stay_a_loop(void **state)
{
    const char *source = SOURCE("world_kernel void k_f(real *y, int n) { each (i, 1) {\n"
                                "  for (int k = 0; k < 20; ++k) put(y, k, y[k] * y[k + 1]); } }");
    source_is_right_with(&set_up, source, 12);
    assert_true(times_in_adjoint(source, "for (int k = 0; k < 20; ++k)") > 0);
    assert_true(times_in_adjoint(source, "tape_depth") > 0);
}

/* ---- iterations that meet ---------------------------------------------------------------------------------------- */

FORM(a_neighbour_is_read, 12,
     "world_kernel void k_f(real *y, const int *count, int n) { each (i, n) {\n"
     "  for (int k = 0; k < 3; ++k) put(y, i * 4 + k, y[i * 4 + k] * y[i * 4 + k + 1]);\n"
     "  for (int k = 1; k < count[i] + 1; ++k) put(y, i * 4 + k, y[i * 4 + k] * y[i * 4 + k - 1]); } }")

FORM(a_fixed_element_is_read, 12,
     "world_kernel void k_f(real *y, int n) { each (i, n) {\n"
     "  for (int k = 0; k < 4; ++k) put(y, i * 4 + k, y[i * 4 + k] * y[i * 4 + 1]); } }")

FORM(the_stride_is_too_short, 9,
     "world_kernel void k_f(real *y, int n) { each (i, n) {\n"
     "  for (int k = 0; k < 2; ++k) for (int j = 0; j < 2; ++j) put(y, i * 4 + k + j, y[i * 4 + k + j] * y[i * 4 + k + "
     "j]); } }")

FORM(narrow_numbers_come_again, 2,
     "world_kernel void k_f(real *y, int n) { each (i, 1) {\n"
     "  for (int k = 0; k < 3; ++k) { int at = (u8)(k * 128); put(y, at / 64, y[at / 64] * y[at / 64]); }\n"
     "  for (int k = 0; k < 3; ++k) put(y, (u8)(k * 128) / 128, sin(y[(u8)(k * 128) / 128])); } }")

FORM(places_that_data_says, 8,
     "world_kernel void k_f(real *y, const int *at, int n) { each (i, 1) {\n"
     "  for (int k = 0; k < 8; ++k) put(y, at[k], y[at[k]] * y[k]); } }")

FORM(a_pointer_was_elsewhere, 12,
     "world_kernel void k_f(real *y, int n) { each (i, 1) { int m = 1; real *p = y + m; m = 0;\n"
     "  for (int k = 0; k < 6; ++k) put(y, k + m, p[k] * y[k + m]);\n"
     "  for (int k = 0; k < 6; ++k) { put(y, k + m, y[k + m] * y[6]); m = m + 1; } } }")

/* Their gradients go where they pointed when they were declared. */
FORM(pointers_whose_offsets_change, 8,
     "world_kernel void k_f(const real *x, real *y, const int *count, int n) { each (i, 1) { int m = 1; const real *p "
     "= x + m, *q = p + count[m + 2] + m;\n"
     "  m = 0; for (int k = 0; k < 6; ++k) { put(y, k + m, p[count[k]] * x[k + m] * q[0]); m = m + 1; } } }")

FORM(a_value_goes_on, 12,
     "world_kernel void k_f(const real *x, real *y, int n) { each (i, n) { real s = x[i];\n"
     "  for (int k = 0; k < 3; ++k) { s = s * y[i * 3 + k]; put(y, i * 3 + k, s * sin(y[i * 3 + k])); } } }")

FORM(left_early, 12,
     "world_kernel void k_f(real *y, const int *count, int n) { each (i, n) {\n"
     "  for (int k = 0; k < 4; ++k) { if (k > count[i]) break; if (k == 1) continue;\n"
     "    put(y, i * 4 + k, y[i * 4 + k] * y[i * 4 + k]); } } }")

/* An index that comes again belongs to no iteration, and its gradient is listed. */
static void narrow_indices_are_shared(void **state)
{
    static const char *const source[] = {
        SOURCE("world_kernel void k_f(const real *x, real *y, int n) { each (i, n) put(y, i, x[(u8)(i * 128)]); }"),
        SOURCE("world_kernel void k_f(const real *x, real *y, int n) { each (i, n) { u8 at = (u8)(i * 128); put(y, i, "
               "x[at]); } }")};
    for (int k = 0; k < 2; ++k) assert_true(times_in_adjoint(source[k], "listed") > 0);
}

/* ---- what is not done -------------------------------------------------------------------------------------------- */

/* A loop that only works out what nobody needs is not run at all. */
static void nothing_is_worked_out_for_nobody(void **state)
{
    const char *source = SOURCE(
        "world_kernel void k_f(const real *x, const int *count, real *y, int n) { each (i, n) { real s = splat(0);\n"
        "  for (int k = 0; k < count[i]; ++k) { int j = k + i; real t = x[j] * splat(2); if (j > 2) { real u = t; s = "
        "s + u; } "
        "else s = s + t; }\n"
        "  put(y, i, s); } }");
    source_is_right_with(&set_up, source, 4);
    assert_int_equal(times_in_adjoint(source, "for (int k = 0"), 0);
    assert_int_equal(times_in_adjoint(source, "int j = k + i"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(three_components),
        TEST(as_many_as_data_says),
        TEST(downwards),
        TEST(by_twos),
        TEST(pairs_of_an_inner_loop),
        TEST(pointers),
        TEST(local_arrays),
        TEST(functions_in_place),
        TEST(counting_away_from_the_end),
        TEST(teams_count_away_from_the_end),
        TEST(one_after_the_other),
        TEST(a_value_goes_through),
        TEST(nested_three_by_three),
        TEST(within_other_statements),
        TEST(within_items),
        TEST(far_away),
        TEST(within_functions),
        TEST(many_trips_stay_a_loop),
        TEST(a_neighbour_is_read),
        TEST(a_fixed_element_is_read),
        TEST(the_stride_is_too_short),
        TEST(narrow_numbers_come_again),
        TEST(narrow_indices_are_shared),
        TEST(places_that_data_says),
        TEST(a_pointer_was_elsewhere),
        TEST(pointers_whose_offsets_change),
        TEST(a_value_goes_on),
        TEST(left_early),
        TEST(nothing_is_worked_out_for_nobody),
    };
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
