/*
 * What item kernels do, and stores of lanes, that has no adjoint: each is refused by a sentence that says where and
 * what to write instead, and what stands next to it in meaning is not.
 */
#include "adjoint/rig.h"

#define ITEMS(parameters, body) SOURCE("item_kernel void k_f(" parameters ", int n, int block) {\n" body "}\n")
#define OWN_ITEMS "items (p, nmin(5, n - block * 5)) { int q = block * 5 + p; mask live = in_range(q, n);\n"
#define WORLDS(body) SOURCE("world_kernel void k_f(const real *x, ureal *y, int n) {\n" body "}\n")

typedef struct refusal {
    const char *source, *says; /* "": it is not refused */
} refusal;

static void check_all(const refusal *cases, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        made m;
        stet_result result = make_adjoint(cases[i].source, NULL, &m);
        if (*cases[i].says && result == STET_OK) fail_msg("not refused: %s\n%s", cases[i].says, cases[i].source);
        if (!*cases[i].says && result != STET_OK) fail_msg("%s\n%s", stet_get_last_error(), cases[i].source);
        if (result != STET_OK && result != STET_ERROR_UNSUPPORTED) fail_msg("%s", stet_get_last_error());
        if (result != STET_OK && !strstr(stet_get_last_error(), cases[i].says))
            fail_msg("'%s' does not say '%s'\n%s", stet_get_last_error(), cases[i].says, cases[i].source);
        free_made(&m);
    }
}

#define CHECK(cases) check_all(cases, sizeof(cases) / sizeof *(cases))

/* The gradient of such an element is a sum over all worlds, and no world has it. */
static void stores_of_lanes_to_what_all_worlds_share(void **state)
{
    static const refusal cases[] = {
        {WORLDS("store(y, x[0]);\n"), "k:3:1: `store(y, x[0])`: lanes write different places"},
        {WORLDS("each (i, n) store(y + i, x[i]);\n"), "k:3:13: `store(y + i, x[i])`: lanes write different places"},
        {WORLDS("store_if(lt(x[0], x[1]), y, x[0]);\n"), "k:3:1: `store_if(lt(x[0], x[1]), y, x[0])`: lanes write"},
        {WORLDS("scatter_if(m_all(), y, isplat(n), x[0]);\n"), "k:3:1: `scatter_if(m_all(), y, isplat(n), x[0])`"},
        {SOURCE("LFN void give(ureal *y, real x) { store(y, x * x); }\n"
                "world_kernel void k_f(const real *x, ureal *y, int n) { each (i, n) give(y + i, x[i]); }\n"),
         "lanes write different places"},
        {SOURCE("world_kernel void k_f(const real *x, real *y, int n) { each (i, n) put(y, i, x[i]); }\n"), ""},
    };
    CHECK(cases);
}

static void what_items_of_a_block_share(void **state)
{
    static const refusal cases[] = {
        {ITEMS("const ureal *x, ureal *y",
               "ureal s = x[0] * x[1];\n" OWN_ITEMS "store_if(live, y + q, load(x + q) * splat(s)); }\n"),
         "k:3:7: this has a gradient, and all items of a block would share it: work it out within items"},
        {ITEMS("const ureal *x, ureal *y", "shared(ureal, s, 8);\neach (i, 8) s[i] = x[i]; sync();\n" OWN_ITEMS
                                           "store_if(live, y + q, load(x + q) * splat(s[1])); }\n"),
         "`s` has a gradient that the items of a block would share"},
        {ITEMS("const ureal *x, ureal *y",
               "shared(ureal, s, 8);\nitems (p, 5) store(s + p, load(x + p)); sync();\n" OWN_ITEMS
               "store_if(live, y + q, load(s + p)); }\n"),
         "`s` has a gradient that the items of a block would share"},
        {ITEMS("const ureal *x, ureal *y", "each (i, n) y[i] = x[i] * x[i];\n"),
         "an each of an item kernel gives values to something that has a gradient, and its adjoint is not made: write "
         "items"},
    };
    CHECK(cases);
}

static void what_items_overwrite(void **state)
{
    static const refusal cases[] = {
        {ITEMS("ureal *z",
               OWN_ITEMS "for (int k = 0; k < n; ++k) store_if(live, z + q, load(z + q) * load(z + q)); }\n"),
         "`z` is overwritten after it was read, and the adjoint needs what it held: write to another array"},
        {ITEMS("ureal *z", OWN_ITEMS "store_if(live, z + q, load(z + q) * load(z + q + 1)); }\n"),
         "`z` is read and written by this kernel, and here it cannot be seen that the element is the item's own"},
        {ITEMS("ureal *z, const int *at", OWN_ITEMS "lint i = igather(at, lane() + isplat(q));\n"
                                                    "scatter_if(live, z, i, sin(gather(z, i))); }\n"),
         "`z` is read and written by this kernel, and here it cannot be seen that the element is the item's own"},
        {ITEMS("const ureal *x, int *w, ureal *y",
               OWN_ITEMS "for (int k = 0; k < 2; ++k) istore_if(live, w + q, isplat(k));\n"
                         "store_if(live, y + q, load(x + q) * load(x + q)); }\n"),
         ""},
        {ITEMS("ureal *z", OWN_ITEMS "store_if(live, z + q, load(z + q) * load(z + q)); }\n"), ""},
        {ITEMS("ureal *z", OWN_ITEMS "if (n > 3) store_if(live, z + q, load(z + q) * load(z + q)); }\n"), ""},
    };
    CHECK(cases);
}

static void where_items_point(void **state)
{
    static const refusal cases[] = {
        {ITEMS("const ureal *x, const ureal *t, ureal *y",
               OWN_ITEMS "const ureal *from = n > 2 ? x : t; store_if(live, y + q, load(from + q)); }\n"),
         "the gradient of what `from + q` points to is not made: use an array of this kernel"},
    };
    CHECK(cases);
}

#define ROT "LFN void rot(const real *a, real *o) { o[0] = a[0] * a[1]; o[1] = a[1] * a[0]; }\n"
#define EACH(body)                                                                                                     \
    "world_kernel void k_f(const real *x, const real *w, const int *c, real *y, int n) {\neach (i, n) {\n" body "} "   \
    "}\n"
#define LIVE_ITEMS(body)                                                                                               \
    "item_kernel void k_f(const ureal *x, const int *c, ureal *y, int n, int block) {\n" OWN_ITEMS                     \
    "real a = load(x + q);\n" body "} }\n"

/* The adjoint of a function takes its parameters as lying apart. */
static void arguments_that_overlap(void **state)
{
    static const refusal cases[] = {
        {SOURCE(ROT EACH("real v[2] = {x[i], w[i]};\nrot(v, v); put(y, i, v[0] * v[1]);")),
         "k:6:8: `rot(v, v)` writes where one of two arguments points, and both may reach the same elements of `v`: "
         "pass a "
         "copy, in a local array or variable of its own"},
        {SOURCE("LFN void f(const real *a, real *o, int n) { for (int k = 0; k < n; ++k) o[k] = a[k] * a[k]; }\n" EACH(
             "real v[8] = {x[i], w[i]};\nf(v + 1, v, 3); put(y, i, v[0] * v[1]);")),
         "k:6:10: `f(v + 1, v, 3)` writes where one of two arguments points"},
        {SOURCE("typedef struct pt { real a; real b; } pt;\n"
                "LFN void rot(const pt *a, pt *o) { o->a = a->a * a->b; o->b = a->b * a->a; }\n" EACH(
                    "pt q; q.a = x[i]; q.b = w[i];\nrot(&q, &q); put(y, i, q.a * q.b);")),
         "k:7:9: `rot(&q, &q)` writes where one of two arguments points"},
        {SOURCE(ROT EACH("real m[4] = {x[i], w[i]}; real *p = m;\nrot(m, p); put(y, i, m[0] * m[1]);")),
         "k:6:8: `rot(m, p)` writes"},
        {SOURCE(ROT EACH("real m[4] = {x[i], w[i]}; real *p = m + n;\nrot(p, m + 2); put(y, i, m[2] * m[3]);")),
         "k:6:10: `rot(p, m + 2)` writes"},
        {SOURCE(ROT EACH("real m[2][2] = {{x[i], w[i]}};\nrot(m[n], m[1]); put(y, i, m[1][0]);")),
         "k:6:12: `rot(m[n], m[1])` writes"},
        {SOURCE(ROT "LFN void g(const real *a, real *o) { rot(a, o); }\n" EACH(
             "real v[3] = {x[i], w[i]};\ng(v, v + 1); put(y, i, v[0] * v[1]);")),
         "k:7:8: `g(v, v + 1)` writes"},
        {SOURCE(ROT LIVE_ITEMS("real v[2] = {a, a};\nrot(v, v); store_if(live, y + q, v[0]);")),
         "k:7:8: `rot(v, v)` writes"},
        {SOURCE(ROT EACH("real v[4] = {x[i], w[i]};\nrot(v + n, v + n + 2); put(y, i, v[2] * v[3]);")), ""},
        {SOURCE(ROT EACH("real v[2] = {x[i], w[i]}, o[2];\nrot(v, o); put(y, i, o[0] * v[1]);")), ""},
    };
    CHECK(cases);
}

static void pointers_that_move(void **state)
{
    static const refusal cases[] = {
        {SOURCE(EACH("real s = splat(1); const real *p = x + i * 4;\nfor (int k = 0; k < 4; ++k) { s = s * *p; ++p; }\n"
                     "put(y, i, s);")),
         "k:5:43: `p` is a pointer that moves, and its gradient would have to: give it its value where it is declared, "
         "and move an index"},
        {SOURCE(EACH(
             "real s = splat(1); const real *p = x;\nfor (int k = 0; k < 4; ++k, ++p) s = s * *p;\nput(y, i, s);")),
         "k:5:29: `p` is a pointer that moves"},
        {SOURCE(EACH("const real *p = x;\nif (c[i]) p = w;\nput(y, i, p[i] * p[i]);")), "k:5:13: `p` is a pointer"},
        {SOURCE(EACH("const real *p;\np = x; put(y, i, p[i] * p[i]);")), "k:5:3: `p` is a pointer that moves"},
        {SOURCE(EACH("const int *p = c; real s = splat(1);\nfor (int k = 0; k < 4; ++k) { s = s * x[*p]; p += 1; }\n"
                     "put(y, i, s);")),
         "k:5:48: `p` is a pointer that moves"},
        {SOURCE(
             "LFN real f(const real *a, int n) { real s = splat(1); for (int k = 0; k < n; ++k) { s = s * *a;\n++a; } "
             "return s; }\n" EACH("real v[2] = {x[i], w[i]}; put(y, i, f(v, 2));")),
         "k:3:1: `a` is a pointer that moves"},
        {SOURCE(
             LIVE_ITEMS("const int *r = c; real s = a;\nfor (int k = 0; k < 4; ++k) { s = s * splat(x[*r]);\n++r; }\n"
                        "store_if(live, y + q, s);")),
         "k:7:1: `r` is a pointer that moves"},
    };
    CHECK(cases);
}

/* What a world overwrites where all worlds read has no gradient. */
static void arrays_of_all_worlds_that_are_overwritten(void **state)
{
    static const refusal cases[] = {
        {SOURCE("world_kernel void k_f(const real *x, real *y, ureal *u, int n) {\n"
                "each (i, n) { put(y, i, x[i] * splat(u[i])); u[i] = 1; } }\n"),
         "k:2:54: `u` is one array for all worlds, and each of them overwrites what others read there"},
        {SOURCE("world_kernel void k_f(const real *x, real *y, ureal *u, int n) {\n"
                "each (i, n) { put(y, i, x[i] * x[i]); u[i] = 1; } }\n"),
         ""},
    };
    CHECK(cases);
}

static void names_that_hide_others(void **state)
{
    static const refusal cases[] = {
        {SOURCE("world_kernel void k_f(const real *x, real *y, int n) { each (i, n) {\n"
                "real a = x[i], v = a; { real t = sin(a); real a = t; v = a * v; } put(y, i, v * a); } }\n"),
         "k:3:47: `a` hides that of line 3, and adjoints need both: choose another name"},
        {SOURCE("world_kernel void k_f(const real *x, real *y, int n) { each (i, n) {\n"
                "real v = x[i]; { real a = sin(v); v = a; } { real a = cos(v); v = a; } put(y, i, v); } }\n"),
         ""},
    };
    CHECK(cases);
}

#define COUNTS(body)                                                                                                   \
    SOURCE("typedef struct counts { int n, k[4]; } counts;\n"                                                          \
           "world_kernel void k_f(const real *x, real *y, const int *c, int n) {\n" body "}\n")

/* Restored by its index, which the assignment changed, it would be another element. */
static void elements_that_say_where_they_are(void **state)
{
    static const refusal cases[] = {
        {COUNTS("each (i, n) { real v[4] = {x[0]}; counts s = {0, {0, 1}};\n"
                "v[s.k[0]] = v[s.k[s.k[0]]] * x[i]; s.k[s.k[0]] = 2; put(y, i, v[s.k[0]] * v[s.k[2]]); }\n"),
         "k:5:39: `s.k[s.k[0]]` is assigned where it says itself"},
        {COUNTS("each (i, n) { real v[4] = {x[0]}; counts s = {0, {0, 1}}, *t = &s;\n"
                "v[t->k[0]] = v[t->k[t->k[0]]] * x[i]; t->k[t->k[0]] = 2; put(y, i, v[t->k[0]] * v[t->k[2]]); }\n"),
         "k:5:43: `t->k[t->k[0]]` is assigned where it says itself"},
        {COUNTS("each (i, n) { real v[4] = {x[0]}; counts s = {0, {0, 1}}, *t = &s;\n"
                "v[t->k[0]] = v[t->k[t->n]] * x[i]; t->k[s.n] = 2; put(y, i, v[t->k[0]] * v[t->k[2]]); }\n"),
         ""},
    };
    CHECK(cases);
}

static void pointers_of_the_team_that_choose(void **state)
{
    static const refusal cases[] = {
        {COUNTS("real v[2] = {x[0], x[1]}, w[2] = {x[0], x[2]}; const real *t = c[0] ? v : w;\n"
                "each (i, n) put(y, i, t[0] * x[i]);\n"),
         "k:5:23: `t` points into a variable from outside of the each: write the variable here"},
        {COUNTS("real v[2] = {x[0], x[1]}, w[2] = {x[0], x[2]}; const real *t = n > 2 ? v : w;\n"
                "each (i, n) put(y, i, t[0] * x[i]);\n"),
         ""},
    };
    CHECK(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_of_lanes_to_what_all_worlds_share),
        cmocka_unit_test(what_items_of_a_block_share),
        cmocka_unit_test(what_items_overwrite),
        cmocka_unit_test(where_items_point),
        cmocka_unit_test(arguments_that_overlap),
        cmocka_unit_test(pointers_that_move),
        cmocka_unit_test(arrays_of_all_worlds_that_are_overwritten),
        cmocka_unit_test(names_that_hide_others),
        cmocka_unit_test(elements_that_say_where_they_are),
        cmocka_unit_test(pointers_of_the_team_that_choose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
