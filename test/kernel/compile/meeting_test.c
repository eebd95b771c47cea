/*
 * Iterations that meet in an element, which an `each` forbids: checked mode tells it on a CPU. The compiler chooses
 * what of `y[i] = y[j]` it looks at first, so some sentences leave out whether the element is read or written there.
 */
#include "kernel/compile/checked_rig.h"

#define MEETS "which another iteration of the same each"
#define UNSYNC "which another iteration of an each before"

static const fault_case world[] = {
    {"each (i, 8) put(y, i % 4, x[i % 4]);", "`put(y, i % 4, x[i % 4])` writes element 0 of `y`, " MEETS
                                             " touches: give each iteration elements of its own (%w)"},
    {"each (i, 4) put(y, i, y[(i + 1) % 4]);", "element 1 of `y`, " MEETS},
    {"each (i, 3) put(y, i + 1, y[i]);", "`y[i]` reads element 1 of `y`, " MEETS " writes"},
    {"each (i, 4) z[i % 3] += isplat(1);", "`z[i % 3]` writes element 0 of `z`, " MEETS " touches"},
    {"shared(real, s, 4); each (i, 4) fill(s, i / 2);", "`a[i]` writes element 0 of `s`, " MEETS " touches"},
    {"shared(real, s, 4); each (i, 4) { s[i] = x[i]; put(y, i, s[0]); }", "`s[0]` reads element 0 of `s`, " MEETS},
    {"real v[4]; load4(x, 0, v); each (i, 2) put4(y, i / 2, v);", "writes element 0 of `y`, " MEETS " touches"},
    {"each (i, 2) scatter_if(m_all(), w, lane() + isplat(i / 2), x[0]);", "of `w`, " MEETS " touches"},
    {"shared(real, s, 4); each (i, 4) s[i] = x[i]; each (i, 4) put(y, i, s[3 - i]);",
     "`s[3 - i]` reads element 3 of `s`, " UNSYNC " writes: put sync() between the two (%w)"},
    {"for (int k = 0; k < 3; ++k) { each (i, 4) put(y, (i + k) % 4, x[i]); }", "of `y`, " UNSYNC " touches"},
    {"for (int k = 0; k < 3; ++k) { each (i, 4) put(y, (i + k) % 4, x[i]); sync(); }", NULL},
    {"for (int k = 0; k < 3; ++k) { each (i, 4) put(y, i, x[i]); }", NULL},
    {"shared(real, s, 4); each (i, 4) s[i] = x[i]; sync(); each (i, 4) put(y, i, s[3 - i]);", NULL},
    {"each (i, 4) { put(y, i, x[3 - i]); put(y, i, y[i] + x[i]); }", NULL},
    {"each (one, 1) { put(y, 0, x[0]); put(y, 0, x[1]); }", NULL},
    {"each (i, 4) { if (STET_GPU || STET_PERMUTE) { put(y, i, x[i]); } else { put(y, 0, y[1] + x[i]); } }", NULL},
    {"each (i, 4) { real v[2]; v[i % 2] = x[i]; put(y, i, v[i % 2]); }", NULL},
};

static const fault_case item[] = {
    {"items (p, 60) store(y + p, load(y + p + 1));", "element 1 of `y`, " MEETS},
    {"items (p, 60) store_if(in_range(p, 60), y + p, load(y + p) + splat(1));", NULL},
    {"items (p, 60) scatter_if(in_range(p, 60), y, lane() + isplat(p), splat(1));", NULL},
    {"items (p, 60) scatter_if(in_range(p, 60), y, ishr(lane() + isplat(p), 1), splat(1));",
     "writes element 0 of `y`, " MEETS " touches"},
};

static void in_world_kernels(void **state) { check_all(world, (int)(sizeof world / sizeof *world), true); }
static void in_item_kernels(void **state) { check_all(item, (int)(sizeof item / sizeof *item), false); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_world_kernels),
        cmocka_unit_test(in_item_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
