/*
 * What item kernels do, and stores of lanes, that has no adjoint: each is refused by a sentence that says where and what to write instead, and what stands
 * next to it in meaning is not.
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
        if (!*cases[i].says && result != STET_OK) fail_msg("%s\n%s", stet_last_error(), cases[i].source);
        if (result != STET_OK && result != STET_UNSUPPORTED) fail_msg("%s", stet_last_error());
        if (result != STET_OK && !strstr(stet_last_error(), cases[i].says))
            fail_msg("'%s' does not say '%s'\n%s", stet_last_error(), cases[i].says, cases[i].source);
        free_made(&m);
    }
}

#define CHECK(cases) check_all(cases, sizeof(cases) / sizeof *(cases))

/* The gradient of such an element is a sum over all worlds, and no world has it. */
static void stores_of_lanes_to_what_all_worlds_share(void **state)
{
    (void)state;
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
    (void)state;
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
    (void)state;
    static const refusal cases[] = {
        {ITEMS("ureal *z",
               OWN_ITEMS "for (int k = 0; k < n; ++k) store_if(live, z + q, load(z + q) * load(z + q)); }\n"),
         "`z` is overwritten after it was read, and the adjoint needs what it held: write to another array"},
        {ITEMS("ureal *z", OWN_ITEMS "store_if(live, z + q, load(z + q) * load(z + q + 1)); }\n"),
         "`z` is read and written by this kernel, and here it cannot be seen that the element is the item's own"},
        {ITEMS("ureal *z, const int *at", OWN_ITEMS "lint i = igather(at, lane() + isplat(q));\n"
                                                    "scatter_if(live, z, i, sin(gather(z, i))); }\n"),
         "`z` is read and written by this kernel, and here it cannot be seen that the element is the item's own"},
        {ITEMS("ureal *z", OWN_ITEMS "store_if(live, z + q, load(z + q) * load(z + q)); }\n"), ""},
        {ITEMS("ureal *z", OWN_ITEMS "if (n > 3) store_if(live, z + q, load(z + q) * load(z + q)); }\n"), ""},
    };
    CHECK(cases);
}

static void where_items_point(void **state)
{
    (void)state;
    static const refusal cases[] = {
        {ITEMS("const ureal *x, const ureal *t, ureal *y",
               OWN_ITEMS "const ureal *from = n > 2 ? x : t; store_if(live, y + q, load(from + q)); }\n"),
         "the gradient of what `from + q` points to is not made: use an array of this kernel"},
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
