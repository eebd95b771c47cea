/*
 * Gradients that the iterations of an each list for elements that several of them share: whatever the list looks like,
 * and however many threads the team has that adds it up, each device gives the bits of the first one, which adds each
 * entry at once.
 */
#include "device/devices.h"

#include "adjoint/rig.h"

#include "stet/adjoint.h"

enum { WORLDS = 5, ITEMS = 64, MOST = 48, ENTRIES = 2048 };

/*
 * first [MOST + 1], where [ENTRIES]: iteration i has the entries first[i] … first[i + 1] - 1. k_gather lists for three
 * arrays (t's by lanes), k_own takes entries back (an element that it wrote and then reads is its own), k_shared lists
 * for shared memory and for one of two arrays.
 */
static const char source[] = SOURCE(
    "world_kernel void k_gather(const real *x, const real *z, const ureal *t, const int *first, const int *where, real "
    "*w, real *y, int n) {\n"
    "  each (i, n) { real s = splat(1);\n"
    "    for (int e = first[i]; e < first[i + 1]; ++e)\n"
    "      s = fma(x[where[e]], z[where[e] % 3], s * splat((ureal)0.5)) + gather(t, isplat(where[e] % 5));\n"
    "    put(y, i, s); put(w, i, s * s); } }\n"
    "world_kernel void k_own(const real *x, const real *z, const ureal *t, const int *first, const int *where, real "
    "*w, real *y, int n) {\n"
    "  each (i, n) { int p = (i * 5 + n) % 64; put(w, p, x[p] * z[i % 2]); real s = w[p];\n"
    "    for (int e = first[i]; e < first[i + 1]; ++e) s = fma(w[p], x[where[e]], s * splat(t[i]) * w[p]);\n"
    "    put(y, i, s); } }\n"
    "world_kernel void k_shared(const real *x, const real *z, const ureal *t, const int *first, const int *where, real "
    "*w, real *y, int n) {\n"
    "  shared(real, h, 16); real all = z[0];\n"
    "  each (i, 16) h[i] = sin(x[i] * z[i]); sync();\n"
    "  each (i, n) { const real *from = i % 3 == 0 ? x : z; real s = all;\n"
    "    for (int e = first[i]; e < first[i + 1]; ++e) s = fma(h[where[e] % 16], from[where[e]], s * splat(t[3]));\n"
    "    put(y, i, s); put(w, i, s * s); } }\n");

/* ---- lists ------------------------------------------------------------------------------------------------------- */

typedef struct list {
    const char *name;
    int n;
    int32_t first[MOST + 1], where[ENTRIES];
} list;

static uint64_t seed;
static int below(int n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((seed >> 33) % (unsigned)n);
}

/* Iteration i has as many entries as `entries` says, at most 100; their elements are anything below `elements`. */
static list make_list(const char *name, int n, int (*entries)(int i), int elements)
{
    list l = {.name = name, .n = n};
    seed = 77;
    for (int i = 0; i < MOST; ++i) l.first[i + 1] = l.first[i] + (i < n ? entries(i) : 0);
    for (int e = 0; e < l.first[n]; ++e) l.where[e] = below(elements);
    assert_true(l.first[n] <= ENTRIES);
    return l;
}

static int none(int i) { return i * 0; }
static int one(int i) { return i * 0 + 1; }
static int seven(int i) { return i * 0 + 7; }
static int only_last(int i) { return i == MOST - 1 ? 9 : 0; }
static int uneven(int i) { return i % 7 == 3 ? 100 : i % 4 == 0 ? 0 : below(40); }

enum { LISTS = 7 };
static void make_lists(list out[LISTS])
{
    int k = 0;
    out[k++] = make_list("none", MOST, none, 1);
    out[k++] = make_list("one iteration", 1, uneven, ITEMS);
    out[k++] = make_list("one iteration of seven", 1, seven, 4);
    out[k++] = make_list("one entry each", MOST, one, ITEMS);
    out[k++] = make_list("the last alone", MOST, only_last, 3);
    out[k++] = make_list("one element", 41, seven, 1);
    out[k++] = make_list("uneven", MOST, uneven, ITEMS);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

typedef struct arrays {
    stet_array *x, *z, *t, *first, *where, *w, *y, *x_grad, *z_grad, *t_grad, *w_grad, *y_grad;
} arrays;

static void fill(stet_array *a, double from, double step)
{
    for (int w = 0; w < WORLDS; ++w)
        for (int i = 0; i < ITEMS; ++i) reals_set(a, w, i, from + 0.013 * w + step * ((i * 37) % 11));
    stet_array_mark_written(a);
}

static arrays open_arrays(stet_device *d)
{
    arrays a;
    float t[ITEMS];
    stet_array **reals[] = {&a.x, &a.z, &a.w, &a.y, &a.x_grad, &a.z_grad, &a.t_grad, &a.w_grad, &a.y_grad};
    for (int i = 0; i < 9; ++i) OK(STI_ARRAY(d, "reals", STET_DTYPE_REAL, true, reals[i], WORLDS, ITEMS));
    OK(STI_ARRAY(d, "t", STET_DTYPE_REAL, false, &a.t, ITEMS));
    OK(STI_ARRAY(d, "first", STET_DTYPE_INT, false, &a.first, MOST + 1));
    OK(STI_ARRAY(d, "where", STET_DTYPE_INT, false, &a.where, ENTRIES));
    for (int i = 0; i < ITEMS; ++i) t[i] = 0.4f + 0.003f * (float)i;
    OK(stet_array_write(a.t, t, sizeof t));
    fill(a.x, 0.3, 0.041);
    fill(a.z, -0.2, 0.07);
    return a;
}

static void close_arrays(arrays *a)
{
    stet_array *all[] = {a->x, a->z,      a->t,      a->first,  a->where,  a->w,
                         a->y, a->x_grad, a->z_grad, a->t_grad, a->w_grad, a->y_grad};
    for (int i = 0; i < 12; ++i) stet_array_destroy(all[i]);
}

static uint64_t gradients_of(stet_adjoint *adjoint, arrays *a, const list *l)
{
    uint64_t all = 0, hash;
    const stet_arg args[] = {stet_arg_array(a->x),     stet_arg_array(a->z),     stet_arg_array(a->t),
                             stet_arg_array(a->first), stet_arg_array(a->where), stet_arg_array(a->w),
                             stet_arg_array(a->y),     stet_arg_int(l->n)};
    stet_array *const gradients[] = {a->x_grad, a->z_grad, a->t_grad, NULL, NULL, a->w_grad, a->y_grad, NULL};
    OK(stet_array_write(a->first, l->first, sizeof l->first));
    OK(stet_array_write(a->where, l->where, sizeof l->where));
    fill(a->w, 0.5, 0.02);
    fill(a->x_grad, 0.1, 0.3);
    fill(a->z_grad, 0.7, -0.1);
    fill(a->t_grad, 0, 0);
    fill(a->w_grad, 0.3, 0.01);
    fill(a->y_grad, 1, -0.17);
    OK(stet_adjoint_launch(adjoint, WORLDS, args, gradients, 8));
    const stet_array *results[] = {a->x_grad, a->z_grad, a->t_grad, a->w_grad, a->y_grad};
    for (int i = 0; i < 5; ++i) {
        OK(stet_array_hash(results[i], &hash));
        all = all * UINT64_C(1099511628211) + hash;
    }
    return all;
}

/* Gradients of all lists, by a kernel whose team has so many threads. */
static void run_lists(stet_device *d, const char *name, int team, uint64_t found[LISTS])
{
    list l[LISTS];
    arrays a = open_arrays(d);
    stet_kernel_def def = kernel_def(source);
    stet_adjoint *adjoint;
    def.name = name;
    def.team = team;
    stet_kernel *kernel = make_kernel(d, &def);
    make_lists(l);
    if (stet_kernel_get_adjoint(kernel, &adjoint) != STET_OK) fail_msg("%s", stet_get_last_error());
    check_again(stet_adjoint_get_source(adjoint));
    assert_non_null(strstr(stet_adjoint_get_source(adjoint), "add_listed"));
    for (int i = 0; i < LISTS; ++i) found[i] = gradients_of(adjoint, &a, &l[i]);
    stet_kernel_destroy(kernel);
    close_arrays(&a);
}

static void lists_are_added_in_their_order(const char *name)
{
    static const int teams[] = {32, 1, 8, 24, 64, 256};
    uint64_t wanted[LISTS], found[LISTS];
    list l[LISTS];
    bool first = true;
    make_lists(l);
    FOR_RUNNING_DEVICES(rig)
    {
        int nteam = rig.at == RIG_HIP_DOUBLE ? 3 : rig.at == RIG_CUDA_DOUBLE || rig.at == RIG_CUDA ? 6 : 1;
        for (int k = 0; k < nteam; ++k) {
            run_lists(rig.device, name, nteam > 1 ? teams[k] : 0, first ? wanted : found);
            for (int i = 0; i < LISTS && !first; ++i)
                if (found[i] != wanted[i])
                    fail_msg("%s on %s, teams of %d: other gradients of the list `%s`", name, rig.name, teams[k],
                             l[i].name);
            first = false;
        }
    }
    for (int i = 0; i < LISTS; ++i)
        for (int k = 0; k < i; ++k) assert_true(wanted[i] != wanted[k]); /* they are different lists */
}

static void gathers(void **state) { lists_are_added_in_their_order("k_gather"); }

static void entries_that_are_taken_back(void **state) { lists_are_added_in_their_order("k_own"); }

static void shared_memory(void **state) { lists_are_added_in_their_order("k_shared"); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gathers),
        cmocka_unit_test(entries_that_are_taken_back),
        cmocka_unit_test(shared_memory),
    };
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
