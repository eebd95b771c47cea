/*
 * Arrays that a team overwrites after it has read them: factorisations in shared memory, hierarchies level by level.
 * Gradients are those of differences.
 */
#include "adjoint/rig.h"

static const rig_set_up set_up = {.nitem = 16, .nvalue = 2, .value = {RIG_COUNTS, {.name = "n", .number = 4}}};

/* What an iteration reads after it wrote it is its own, also where its place is not followed. */
FORM(written_then_read, 8,
     "world_kernel void k_f(const real *x, const int *count, real *y, real *z, int n) {\n"
     "  each (i, n) { int k = (count[3] + i) % n; put(y, k, x[i] * x[i]); put(z, i, sin(y[k]) * y[k]);\n"
     "    for (int j = 0; j < count[i]; ++j) put(y, k, y[k] * z[i]); } }")

FORM(factorisation, 16,
     "world_kernel void k_f(const real *x, real *y, int n) {\n"
     "  shared(real, a, 16);\n"
     "  each (i, 16) a[i] = x[i] + splat(i / 4 == i % 4 ? 4 : 0); sync();\n"
     "  for (int k = 0; k < n; ++k) {\n"
     "    each (one, 1) a[k * 4 + k] = sqrt(a[k * 4 + k]); sync();\n"
     "    each (i, n - k - 1) a[(k + 1 + i) * 4 + k] = a[(k + 1 + i) * 4 + k] / a[k * 4 + k]; sync();\n"
     "    each (i, n - k - 1) for (int j = 0; j <= i; ++j)\n"
     "      a[(k + 1 + i) * 4 + k + 1 + j] = a[(k + 1 + i) * 4 + k + 1 + j] - a[(k + 1 + i) * 4 + k] * a[(k + 1 + j) * "
     "4 "
     "+ k];\n"
     "    sync(); }\n"
     "  each (i, 16) put(y, i, a[i] * x[i]); }")

FORM(
    substitution, 8,
    "world_kernel void k_f(const real *x, real *y, int n) {\n"
    "  shared(real, b, 4); each (i, n) b[i] = x[i]; sync();\n"
    "  for (int j = 0; j < n; ++j) { each (i, n - j - 1) b[j + 1 + i] = fma(-x[i], b[j] * x[j], b[j + 1 + i]); sync(); "
    "}\n"
    "  for (int j = n - 1; j >= 0; --j) { each (i, j) b[i] = fma(-b[i] * x[j], b[j], b[i]); sync(); }\n"
    "  if (n > 3) { each (i, n) b[i] = b[i] * b[i]; } else { each (i, n) b[i] = sin(b[i]); } sync();\n"
    "  each (i, n) put(y, i, b[i] * b[n - 1 - i]); }")

FORM(levels, 8,
     "LFN void go(const real *x, real *w, const int *parent, int first, int n) {\n"
     "  each (i, n) { int p = first + i; put(w, p, w[parent[p] % first] * x[p] + w[0]); } }\n"
     "world_kernel void k_f(const real *x, real *w, const int *count, int n) {\n"
     "  for (int l = 0; l < n; ++l) { go(x, w, count, 1 + l * 2, 2); sync(); } }")

FORM(whole_numbers_too, 8,
     "world_kernel void k_f(const real *x, real *y, const int *count, int n) {\n"
     "  shared(int, next, 8); shared(real, b, 8);\n"
     "  each (i, 8) { next[i] = (i + 1) % 8; b[i] = x[i]; } sync();\n"
     "  for (int r = 0; r < count[1]; ++r) {\n"
     "    each (i, 4) b[i] = b[i] * b[4 + next[i] % 4]; sync();\n"
     "    each (i, 8) next[i] = (next[i] + r + 1) % 8; sync(); }\n"
     "  each (i, 8) put(y, i, b[next[i]] * x[i]); }")

FORM(one_of_two_arrays, 8,
     "LFN void step(const real *m, const real *x, real *h, int r, int i) {\n"
     "  const real *from = r == 0 ? m : h; real s = from[i]; real old = from[(i + 1) % 4];\n"
     "  h[4 + i] = s * x[r] + old * s; }\n"
     "world_kernel void k_f(const real *x, const real *m, real *y, int n) {\n"
     "  shared(real, h, 8); each (i, 8) h[i] = x[i]; sync();\n"
     "  for (int r = 0; r < 3; ++r) { each (i, 4) step(m, x, h, r, i); sync();\n"
     "    each (i, 4) h[i] = sin(h[4 + i]) * h[i]; sync(); }\n"
     "  each (i, n) put(y, i, h[i] * h[i]); }")

/* ---- the pilots ---- */

static const char *const folders[] = {STET_TEST_SOURCE_DIR "/src", STET_TEST_SOURCE_DIR "/include"};

static stet_gradcheck_def pilot(const char *path)
{
    stet_gradcheck_def def = stet_default_gradcheck_def();
    def.path = path;
    def.includes = folders;
    def.ninclude = 2;
    def.cache_folder = in_folder("cache");
    return def;
}

static void a_newton_step_has_gradients(void **state)
{
    const stet_gradcheck_value values[] = {{.name = "M", .nitem = 27 * 27, .low = -0.01, .high = 0.01},
                                           {.name = "J", .nitem = 50 * 27, .low = -1, .high = 1},
                                           {.name = "D", .nitem = 50},
                                           {.name = "g", .nitem = 27},
                                           {.name = "x", .nitem = 27}};
    stet_gradcheck_def def = pilot(STET_TEST_SOURCE_DIR "/bench/pilot/newton.k.h");
    def.value = values;
    def.nvalue = 5;
    gradients_are_right(&def, 1000);
}

static void a_level_of_a_hierarchy_has_gradients(void **state)
{
    static const int64_t level[] = {2, 3}, parent[] = {0, 0, 0, 1};
    const stet_gradcheck_value values[] = {{.name = "level", .nitem = 2, .value = level},
                                           {.name = "parent", .nitem = 4, .value = parent},
                                           {.name = "nlevel", .number = 2},
                                           {.name = "local", .nitem = 48},
                                           {.name = "world_xform", .nitem = 48}};
    stet_gradcheck_def def = pilot(STET_TEST_SOURCE_DIR "/bench/pilot/hierarchy.k.h");
    def.value = values;
    def.nvalue = 5;
    gradients_are_right(&def, 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(written_then_read),
        TEST(factorisation),
        TEST(substitution),
        TEST(levels),
        TEST(whole_numbers_too),
        TEST(one_of_two_arrays),
        TEST(a_newton_step_has_gradients),
        TEST(a_level_of_a_hierarchy_has_gradients),
    };
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
