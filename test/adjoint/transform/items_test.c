/*
 * Adjoints of item kernels, and of what lanes of world kernels read at places of their own: gradients are those of
 * differences, and what cannot be made is refused by a sentence.
 */
#include "adjoint/rig.h"

enum { BLOCKS = 3 };

static const rig_set_up set_up = {
    .nworld = BLOCKS,
    .nvalue = 4,
    .value = {RIG_COUNTS, {.name = "n", .number = 12}, {.name = "y", .nitem = 24}, {.name = "w", .nitem = 4}}};

/* Three blocks of five items, of which the last has two. */
#define BODY(parameters, body)                                                                                         \
    "item_kernel void k_f(" parameters ", ureal *y, int n, int block) {\n"                                             \
    "  items (p, nmin(5, n - block * 5)) { int q = block * 5 + p; mask live = in_range(q, n); real out = splat(0);\n"  \
    "  " body "\n"                                                                                                     \
    "  store_if(live, y + q, out); } }"

FORM(own_elements, 12, BODY("const ureal *x", "real a = load(x + q); out = sin(a) * a;"))

FORM(own_elements_twice, 12, BODY("const ureal *x", "real a = load(x + q) * load(x + q); out = a * load(x + q);"))

FORM(neighbours, 12,
     BODY("const ureal *x",
          "lint i = lane() + isplat(q); lint j = iselect(ilt(i + isplat(1), isplat(n)), i + isplat(1), "
          "isplat(0)); out = load(x + q) * gather(x, j) * gather(x, i);"))

FORM(by_index, 4,
     BODY("const ureal *x, const int *count",
          "lint i = igather(count, lane() + isplat(q)); out = gather(x, i) * exp(gather(x + 3, i)) + load(x + q);"))

FORM(in_loops, 4,
     BODY("const ureal *x, const int *count",
          "lint i = igather(count, lane() + isplat(q)); real s = load(x + q);\n"
          "for (int k = 0; k < 3; ++k) { mask on = ilt(isplat(k), i); if (!any(on)) continue;\n"
          "  for (int j = 0; j < count[k + 1]; ++j) s = select(on, sin(s * gather(x, i + isplat(j))), s); }\n"
          "out = s * s;"))

FORM(the_same_for_all, 6,
     BODY("const ureal *x, ureal a, ureal b",
          "out = load(x + q) * splat(x[3] * a + x[0]) * splat(x[n - 1]); if (n > 3) out = out * splat(a) + splat(b);"))

FORM(arrays_of_worlds, 12,
     BODY("const wreal *w, const int *count",
          "for (int i = 0; i < 4; ++i) out = out + splat(of_world(w, 4, count[i + 1] % "
          "3, i)) * to_real(lane() + isplat(q + 1));"))

FORM(scattered_results, 8,
     BODY("const ureal *x", "lint i = lane() + isplat(q); out = load(x + q);\n"
                            "scatter_if(live, y, isplat(n) + isplat(n - 1) - i, out * out * gather(x, i));"))

FORM(functions_of_items, 12,
     "LFN real power(real x, int n) { real s = x; for (int k = 0; k < n; ++k) s = sin(s * x); return s; }\n"
     "LFN real three(const ureal *t, real x) { return splat(t[0]) * x + splat(t[1] * t[2]); }\n"
     "LFN void both(real *v, int n) { for (int k = 0; k < n; ++k) { v[k] = v[k] * v[k] + v[0]; v[k] = v[k] * v[0]; } "
     "}\n" BODY("const ureal *x, const int *count",
                "real v[2]; v[0] = load(x + q); v[1] = three(x + 4, v[0]); both(v, 2);\n"
                "out = power(v[1], count[block + 1]) * three(x, v[0]) * splat(x[2]);"))

FORM(in_place, 12,
     "item_kernel void k_f(ureal *x, const ureal *z, ureal h, int n, int block) {\n"
     "  items (p, nmin(5, n - block * 5)) { int q = block * 5 + p; mask live = in_range(q, n);\n"
     "    real a = load(x + q); store_if(live, x + q, a * a + load(z + q) * splat(h));\n"
     "    real b = load(x + q); store_if(live, x + q, b * sin(b)); } }")

FORM(several_loops, 12,
     "item_kernel void k_f(const ureal *x, const int *count, ureal *y, int n, int block) {\n"
     "  shared(int, own, 8);\n"
     "  each (i, 8) own[i] = count[(block + i) % 12];\n"
     "  sync();\n"
     "  for (int r = 0; r < count[block + 1]; ++r) {\n"
     "    items (p, nmin(5, n - block * 5)) { int q = block * 5 + p; mask live = in_range(q, n);\n"
     "      if (r == 0) store_if(live, y + q, gather(x, isplat(own[r])) * load(x + q)); }\n"
     "    sync();\n"
     "  }\n"
     "  items (p, nmin(4, n - block * 4)) store_if(in_range(block * 4 + p, n), y + 12 + block * 4 + p,\n"
     "    splat(x[own[2]]) * load(x + block * 4 + p)); }")

FORM(constant_arrays, 12,
     "typedef struct pt { real v[2]; real w; } pt;\n"
     "static const ureal knots[3] = {0.5f, 0.25f, 2};\n" BODY(
         "const ureal *x, const int *count",
         "pt p3; p3.v[0] = load(x + q); p3.v[1] = splat(knots[count[1]]); p3.w = p3.v[0] "
         "* p3.v[1];\n"
         "for (int k = 0; k < 2; ++k) p3.w = p3.w * p3.v[k]; out = p3.w;"))

/* ---- world kernels whose lanes read places of their own ---- */

FORM(lanes_of_worlds, 6,
     "world_kernel void k_f(const real *x, const lint *which, const ureal *t, real *y, int n) {\n"
     "  real first = gather(t, which[2]);\n"
     "  each (i, 6) { lint k = which[i] + isplat(1); real s = x[i] * first;\n"
     "    for (int j = 0; j < 2; ++j) s = s * gather(t + j, k) + splat(t[i]);\n"
     "    put(y, i, s); } }")

FORM(lanes_of_worlds_own, 6,
     "world_kernel void k_f(const real *x, const ureal *t, real *y, int n) {\n"
     "  each (i, 3) put(y, i, x[i] * gather(t, isplat(i * 2) + isplat(1)) * splat(t[2 * i])); }")

FORM(functions_that_gather, 12,
     "LFN real at(const ureal *t, lint i) { return gather(t, i) * load(t); }\n" BODY(
         "const ureal *x, const int *count", "out = at(x, igather(count, lane() + isplat(q))) * load(x + q);"))

FORM(lanes_in_functions, 6,
     "LFN real look_up(const ureal *t, lint i) { return gather(t, i) * gather(t, i + isplat(1)); }\n"
     "world_kernel void k_f(const real *x, const lint *which, const ureal *t, real *y, int n) {\n"
     "  real s = look_up(t, which[1]); each (i, 6) put(y, i, x[i] * s); }")

/* ---- refusals ---- */

static void refused_with(const char *source, const char *part)
{
    made m;
    stet_result result = make_adjoint(source, NULL, &m);
    if (result == STET_OK) fail_msg("it was not refused: %s\n%s", part, m.adjoint.text.data);
    assert_int_equal(result, STET_ERROR_UNSUPPORTED);
    if (!strstr(stet_get_last_error(), part)) fail_msg("'%s' does not say '%s'", stet_get_last_error(), part);
    free_made(&m);
}

static void what_items_share_is_refused(void **state)
{
    refused_with(SOURCE("item_kernel void k_f(const ureal *x, ureal *y, int n, int block) { ureal s = x[0] * x[1];\n"
                        "items (p, n) store_if(in_range(p, n), y + p, load(x + p) * splat(s)); }"),
                 "k:2:74: this has a gradient, and all items of a block would share it");
    refused_with(SOURCE("item_kernel void k_f(const ureal *x, ureal *y, int n, int block) { shared(ureal, s, 8);\n"
                        "each (i, 8) s[i] = x[i]; sync();\n"
                        "items (p, n) store_if(in_range(p, n), y + p, load(x + p) * splat(s[1])); }"),
                 "has a gradient that the items of a block would share");
    refused_with(
        SOURCE("item_kernel void k_f(const ureal *x, ureal *y, int n, int block) { each (i, n) y[i] = x[i]; }"),
        "write items");
    refused_with(SOURCE("item_kernel void k_f(ureal *x, int n, int block) { items (p, n) { int q = block * 8 + p;\n"
                        "store_if(in_range(p, n), x + q, load(x + q) * load(x + q + 1)); } }"),
                 "is read and written by this kernel");
    refused_with(SOURCE("LFN real item_read(real x) { return x; }\n"
                        "item_kernel void k_f(const ureal *x, ureal *y, int n, int block) {\n"
                        "items (p, n) store_if(in_range(p, n), y + p, item_read(load(x + p))); }"),
                 "adjoints have a function `item_read` of their own");
    refused_with(
        SOURCE("world_kernel void k_f(const real *x, ureal *y, int n) { scatter_if(m_all(), y, isplat(n), x[0]); "
               "}"),
        "lanes write different places of an array that all worlds share");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(own_elements),
        TEST(own_elements_twice),
        TEST(neighbours),
        TEST(by_index),
        TEST(in_loops),
        TEST(the_same_for_all),
        TEST(arrays_of_worlds),
        TEST(scattered_results),
        TEST(functions_of_items),
        TEST(in_place),
        TEST(several_loops),
        TEST(constant_arrays),
        TEST(lanes_of_worlds),
        TEST(lanes_of_worlds_own),
        TEST(functions_that_gather),
        TEST(lanes_in_functions),
        TEST(what_items_share_is_refused),
    };
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
