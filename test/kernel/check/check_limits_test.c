/*
 * What no target can do (limits.h): constants, and sizes of local and shared arrays, each with the exact sentence, and
 * what is like it but fine. Sizes just at a limit and one element beyond it, in one function and along a chain of
 * calls.
 */
#include "check_case.h"

#include "kernel/check/limits.h"

static const char before[] = "typedef struct pair { int n; int at[3]; } pair;\n"
                             "static const int table[4] = {1, 2, 3, 4};\n"
                             "LFN int last(const int *a) { return a[3]; }\n"
                             "world_kernel void k_a(const real *x, real *y, ureal *w, int n)\n"
                             "{\n"
                             "int k = n; i64 j = k; real v[3]; int m[2][3]; pair p; pair q[2]; u8 b = 1;\n";
static const char after[] = "\n"
                            "v[0] = splat(0); m[0][0] = 0; p.n = 0; q[0] = p; j = j + b; k = k + (int)j;\n"
                            "each (i, n) put(y, i, x[i] + v[0]); w[0] = (ureal)(k + m[0][0] + q[0].n);\n"
                            "}\n";

static const check_case constants[] = {
    {"k = n / 0;", "1:7: `n / 0` divides by 0: whole numbers have no such value"},
    {"k = n % (3 - 3);", "1:7: `n % (3 - 3)` divides by 0: whole numbers have no such value"},
    {"k /= 0;", "1:3: `k /= 0` divides by 0: whole numbers have no such value"},
    {"j %= 0ll;", "1:3: `j %= 0ll` divides by 0: whole numbers have no such value"},
    {"k = 1 / 0;", "1:7: `1 / 0` divides by 0: whole numbers have no such value"},
    {"k = n / STET_GPU;", "1:7: `n / STET_GPU` divides by 0: whole numbers have no such value"},
    {"k = STET_GPU ? n / STET_GPU : n;", ""},
    {"if (STET_GPU) k = n / STET_GPU;", ""},
    {"if (STET_GPU && n / STET_GPU > 1) k = 0;", ""},
    {"if (!STET_GPU || n / STET_GPU > 1) k = 0;", ""},
    {"w[1] = (ureal)1 / 0;", ""},
    {"w[1] = w[2] / 0;", ""},
    {"k = n / 2 % 3;", ""},
    {"k = n << 32;", "1:7: `n << 32` shifts a number of 32 bits by 32: 0 to 31 are possible"},
    {"k = n >> -1;", "1:7: `n >> -1` shifts a number of 32 bits by -1: 0 to 31 are possible"},
    {"k = n << 31;", ""},
    {"j = j << 32;", ""},
    {"j <<= 64;", "1:3: `j <<= 64` shifts a number of 64 bits by 64: 0 to 63 are possible"},
    {"k = b << 31;", ""},
    {"v[3] = splat(0);", "1:2: `v[3]`: there is no element 3, `v` has 3"},
    {"v[-1] = splat(0);", "1:2: `v[-1]`: there is no element -1, `v` has 3"},
    {"v[2] = splat(0);", ""},
    {"k = m[1][3];", "1:9: `m[1][3]`: there is no element 3, `m[1]` has 3"},
    {"k = m[2][0];", "1:6: `m[2]`: there is no element 2, `m` has 2"},
    {"k = p.at[3];", "1:9: `p.at[3]`: there is no element 3, `p.at` has 3"},
    {"k = q[1].at[2];", ""},
    {"k = q[2].n;", "1:6: `q[2]`: there is no element 2, `q` has 2"},
    {"k = table[4];", "1:10: `table[4]`: there is no element 4, `table` has 4"},
    {"real *e = &v[3]; e[-1] = splat(0);", ""},
    {"real *e = &v[4]; e[-1] = splat(0);", "1:13: `v[4]`: there is no element 4, `v` has 3"},
    {"k = last(table);", ""},
    {"if (STET_W == 4) v[3] = splat(0);", ""},
};

static void test_constants(void **state) { CHECK_CASES(constants, before, after); }

static void test_not_in_preprocessing(void **state)
{
    static const check_case cases[] = {
        {"#if 0\n"
         "LFN int f(int n) { int a[2]; return a[2] + n / 0; }\n"
         "#endif\n",
         ""},
    };
    CHECK_CASES(cases, "", "world_kernel void k(real *y) { put(y, 0, splat(0)); }\n");
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* A kernel whose function has `local` reals, calls one with `called`, and has `n` reals that are shared; 0: none. */
static sti_unit *sized(long local, long called, long n)
{
    static char text[2048];
    char own[128] = "", team[128] = "";
    if (local) (void)snprintf(own, sizeof own, "real v[%ld]; v[n] = splat(1);", local);
    if (n) (void)snprintf(team, sizeof team, "shared(real, s, %ld); each (i, n) s[i] = splat(2);", n);
    (void)snprintf(text, sizeof text,
                   "LFN int f(int n) { int a[%ld]; a[n] = n; return a[0]; }\n"
                   "LFN int g(int n) { return f(n) + f(n + 1); }\n"
                   "world_kernel void k(real *y, int n)\n"
                   "{\n"
                   "%s\n"
                   "%s\n"
                   "put(y, 0, splat((ureal)g(n)));\n"
                   "}\n",
                   called > 0 ? called : 1, own, team);
    return check_text(text, NULL);
}

static void expect(long local, long called, long n, const char *mistakes)
{
    sti_unit *unit = sized(local, called, n);
    check_mistakes(unit, 0, mistakes, "sizes");
    sti_unit_destroy(unit);
}

#define ADVICE ": make it smaller, or pass an array to the kernel"

static void test_sizes(void **state)
{
    expect(16383, 0, 0, "");
    expect(
        16384, 0, 0,
        "5:6: `v` takes 1048576 bytes on the stack of a CPU's thread with the widest lanes, k with all that it calls "
        "1048580 of at most 1048576" ADVICE);
    expect(
        140000, 0, 0,
        "5:6: `v` takes 8960000 bytes on the stack of a CPU's thread with the widest lanes, k with all that it calls "
        "8960004 of at most 1048576" ADVICE);
    expect(0, 131072, 0, "");
    expect(0, 131073, 0,
           "1:24: `a` takes 524292 bytes in the local memory of a GPU's thread, f with all that it calls 524292 of at "
           "most "
           "524288" ADVICE);
    expect(8192, 131072 - 8192, 0, "");
    expect(8192, 131072, 0,
           "1:24: `a` takes 524288 bytes in the local memory of a GPU's thread, k with all that it calls 557056 of at "
           "most "
           "524288" ADVICE);
    expect(0, 0, 12288, "");
    expect(
        0, 0, 12289,
        "6:14: `s` takes 49156 bytes in the shared memory of a GPU's team, k with all that it calls 49156 of at most "
        "49152" ADVICE);
}

/* Of scopes that follow each other the larger one counts. */
static void test_scopes(void **state)
{
    static const check_case cases[] = {
        {"if (n > 0) { real a[9000]; a[n] = splat(0); } else { real b[9000]; b[n] = splat(0); }", ""},
        {"real a[9000]; a[n] = splat(0); if (n > 0) { real b[9000]; b[n] = splat(0); }",
         "1:6: `a` takes 576000 bytes on the stack of a CPU's thread with the widest lanes, k with all that it calls "
         "1152000 of at most 1048576" ADVICE},
    };
    CHECK_CASES(cases, "world_kernel void k(real *y, int n)\n{\n", "\nput(y, 0, splat(0));\n}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_constants), cmocka_unit_test(test_not_in_preprocessing),
                                       cmocka_unit_test(test_sizes), cmocka_unit_test(test_scopes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
