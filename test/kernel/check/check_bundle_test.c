/*
 * Structures with pointers: what they may be, and that they are taken apart into names that the source does not have.
 */
#include "check_case.h"

#include "base/memory.h"

#define ARM "typedef struct arm { const real *q; real *w; int n; } arm;\n"
#define LEG "typedef struct leg { const real *q; int n; } leg;\n"

static const check_case refused[] = {
    {ARM "typedef struct body { arm a; int n; } body;",
     "2:27: `a`: a structure with pointers is a parameter or a variable, not part of something else"},
    {"typedef struct arm { int *q; int n[2]; } arm;",
     "1:34: `n`: a structure with pointers holds pointers and numbers beside each other, no arrays and structures"},
    {"typedef struct pair { real x; } pair;\ntypedef struct arm { int *q; pair p; } arm;",
     "2:35: `p`: a structure with pointers holds pointers and numbers beside each other, no arrays and structures"},
    {ARM "static const arm one = {0, 0, 1};",
     "2:18: `one`: a structure with pointers is a parameter or a variable, not part of something else"},
    {ARM "LFN arm f(arm a) { return a; }",
     "2:9: f returns void, lanes or a plain type\n"
     "2:27: `a` is a structure with pointers: pass it to a function, or name a field"},
    {ARM "LFN real f(arm *a) { return splat(0); }",
     "2:17: `a`: nothing points to a structure with pointers: pass it without *"},
    {ARM "LFN real f(arm a[2]) { return splat(0); }", "2:16: `a`: there are no arrays of structures with pointers"},
    {ARM LEG "LFN void f(arm a, leg b) { a.n = 1; a.q = b.q; }",
     "3:28: `a.n` keeps its value: make another structure, or a variable\n"
     "3:37: `a.q` keeps its value: make another structure, or a variable"},
    {ARM LEG "LFN real f(arm a) { return a.q[0]; }\nLFN real g(arm a, leg b) { return f(b) + f(a.q) + f(a, 1) + f(); }",
     "4:37: argument 1 of f is a variable that is arm, not `b`\n"
     "4:45: argument 1 of f is a variable that is arm, not `a.q`\n"
     "4:51: f takes 1 argument, not 2\n"
     "4:61: f takes 1 argument, not 0"},
    {ARM "LFN real f(arm a) { return sqrt(a) + a->q[0] + a.x; }",
     "2:33: `a` is arm, a structure with pointers, and argument 1 of sqrt is none\n"
     "2:39: `a` is no pointer: write `.`\n"
     "2:49: arm has no field `x`"},
    {ARM LEG "LFN void f(arm a, int n) { arm b = {a.q}; arm c; arm d = n; leg e = a; }",
     "3:32: `b` is arm, which has 3 fields, and the list has 1\n"
     "3:47: `c` is arm: write its fields, { … }, or the name of another arm\n"
     "3:54: `d` is arm: write its fields, { … }, or the name of another arm\n"
     "3:65: `e` is leg: write its fields, { … }, or the name of another leg"},
    {ARM "LFN void f(arm a) { arm a = {a.q, a.w, 1}; }",
     "2:25: `a` is a structure with pointers already: choose another name"},
    {ARM "LFN void f(arm a) { { arm a = a; } }", "2:27: `a` is a structure with pointers already: choose another name"},
    {ARM "LFN u64 f(arm a) { return sizeof(arm); }", "2:27: sizeof: a structure with pointers is no memory of its own"},
    {ARM "LFN void f(arm a) { for (arm b = a; a.n < 1;) return; }",
     "2:30: a structure with pointers is declared before the loop"},
    {LEG "LFN real f(leg a) { a.q[2] = splat(1); return a.q[0] + 1; }",
     "2:24: `a.q[2]` is const: it is only read\n"
     "2:54: `a.q[0] + 1` mixes lanes (real) and plain (int): write a.q[0] + splat(1)"},
    {ARM "world_kernel void k_f(arm a, real *y) { each (i, 1) put(y, i, a.q[i]); }",
     "2:27: kernel k_f: parameter a: it is real, lint, wreal, wint, treal, tlint, tint, ureal, int, i64, u32, u16 or "
     "u8"},
    /* What functions do to what fields point to is known of each field. */
    {ARM "LFN void f(arm a) { a.w[0] = a.q[0]; }\n"
         "world_kernel void k_f(const real *x, real *y) { arm a = {x, y, 1}; f(a); }",
     "3:70: `y` is an array of this kernel, and f writes it without put: write put(y, i, x) there"},
    {ARM "LFN void f(arm a) { a.w[0] = a.q[0]; }\n"
         "LFN real g(arm a) { return a.w[0]; }\n"
         "world_kernel void k_f(const real *x, real *y) { real w[2]; arm a = {x, w, 1}; f(a); real s = g(a) + a.w[1];\n"
         "each (i, 1) put(y, i, s); }",
     ""},
    {ARM "LFN real f(arm a) { a.w[0] = a.q[0]; return a.w[1]; }\nLFN real g(arm a) { return f(a) + a.q[0]; }",
     "3:28: `f(a.q, a.w, a.n)` writes through a pointer within an expression: call it in a statement of its own, "
     "f(…); or x = f(…);"},
};

static void what_they_may_not_be(void **state) { CHECK_CASES(refused, "", ""); }

static void expect_printed(const char *source, const char *wanted)
{
    sti_unit *unit = check_text(source, NULL);
    char *printed;
    check_mistakes(unit, 0, "", source);
    OK(sti_unit_print(unit, &printed));
    assert_string_equal(printed, wanted);
    sti_unit *again = check_text(printed, NULL);
    check_mistakes(again, 0, "", printed);
    sti_free(printed);
    sti_unit_destroy(again);
    sti_unit_destroy(unit);
}

/* Parameters, arguments, variables and copies; a name that the source has is not taken. */
static void they_are_taken_apart(void **state)
{
    expect_printed(ARM "LFN void f(real s, arm a, int a_n) { each (i, a_n) a.w[i] = a.q[i] * s; }\n"
                       "LFN void g(arm a) { arm b = a, c = {a.w, a.w, 3}; f(splat(2), b, 1); f(splat(3), c, a.n); }\n",
                   "#include \"stet/lang.h\"\n\n"
                   "LFN void f(real s, const real *a_q, real *a_w, int a_n_, int a_n)\n{\n"
                   "    (void)a_n_;\n    each (i, a_n) {\n        a_w[i] = a_q[i] * s;\n    }\n}\n\n"
                   "LFN void g(const real *a_q, real *a_w, int a_n_)\n{\n"
                   "    const real *b_q = a_q;\n    real *b_w = a_w;\n    int b_n = a_n_;\n"
                   "    const real *c_q = a_w;\n    real *c_w = a_w;\n    int c_n = 3;\n"
                   "    f(splat(2), b_q, b_w, b_n, 1);\n    f(splat(3), c_q, c_w, c_n, a_n_);\n}\n");
    expect_printed(ARM
                   "LFN real f(arm a) { real *w = a.w, *q = a.w; return w[0] + q[1]; }\n"
                   "LFN real g(arm a) { real *w = a.w, *q = a.w; w[0] = f(a); int k = 1, *p = &k; return q[p[0]]; }\n",
                   "#include \"stet/lang.h\"\n\nLFN real f(const real *a_q, const real *a_w, int a_n)\n{\n"
                   "    (void)a_n;\n    (void)a_q;\n    const real *w = a_w, *q = a_w;\n    return w[0] + q[1];\n}\n\n"
                   "LFN real g(const real *a_q, real *a_w, int a_n)\n{\n"
                   "    real *w = a_w, *q = a_w;\n    w[0] = f(a_q, a_w, a_n);\n"
                   "    int k = 1, *p = &k;\n    return q[p[0]];\n}\n");
    expect_printed(LEG "LFN real f(leg a)\n{\n    { int a = 2; (void)a; }\n    return a.q[a.n];\n}\n",
                   "#include \"stet/lang.h\"\n\nLFN real f(const real *a_q, int a_n)\n{\n"
                   "    {\n        int a = 2;\n        (void)a;\n    }\n    return a_q[a_n];\n}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_they_may_not_be), cmocka_unit_test(they_are_taken_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
