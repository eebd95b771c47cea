/*
 * Arrays that sizes of tapes come from grow behind stet's back: lists of gradients, iterations of an each, rounds of a
 * team that logs what it overwrites. Nothing beyond a tape is touched, the next read says which kernel and line it was,
 * unless gradients are right all the same, and the launch after that is right.
 */
#include "device/devices.h"

#include "adjoint/rig.h"

#include "stet/adjoint.h"

enum { WORLDS = 5, ITEMS = 48, COUNTS = 49 };

/* count [COUNTS] is what is written behind. Each line has one loop, or each, whose size it gives. */
static const char source[] = SOURCE(
    /* 2 */ "world_kernel void k_list(const real *x, const int *count, real *y, int n) {\n"
            /* 3 */ "  each (i, n) { real s = splat(0); for (int e = 0; e < count[i]; ++e)\n"
            /* 4 */ "      s = s + x[(i * e) % 7] * splat((ureal)e);\n"
            /* 5 */ "    put(y, i, s); } }\n"
            /* 6 */ "world_kernel void k_share(const real *x, const int *count, real *y, int n) {\n"
            /* 7 */ "  real a = x[0], b = x[1], c = x[2]; each (i, n) { real s = splat(0); for (int e = 0; e < "
            "count[i]; ++e)\n"
            /* 8 */ "      s = s + x[(i * e) % 7] * splat((ureal)e);\n"
            /* 9 */ "    put(y, i, s * a * b + c); } }\n"
            /* 10 */ "world_kernel void k_wide(const real *x, const int *count, real *y, int n) {\n"
            /* 11 */ "  each (i, count[n]) {\n"
            /* 12 */ "    put(y, i, x[(i * 3) % 7] * x[i]); } }\n"
            /* 13 */ "world_kernel void k_deep(const real *x, const int *count, real *y, int n) {\n"
            /* 14 */ "  real s = x[0]; for (int r = 0; r < count[0]; ++r) {\n"
            /* 15 */ "    each (i, 4) put(y, r * 4 + i, s * x[i] + s * x[(i + r) % 7]); sync();\n"
            /* 16 */ "    s = s * x[r % 5]; } }\n"
            /* 17 */ "world_kernel void k_rounds(const real *x, const int *count, real *y, int n) {\n"
            /* 18 */ "  shared(real, b, 8); each (i, 8) b[i] = x[i]; sync();\n"
            /* 19 */ "  for (int r = 0; r < count[0]; ++r) {\n"
            /* 20 */ "    each (i, 4) b[i] = b[i] * b[4 + (i + r) % 4]; sync();\n"
            /* 21 */ "    each (i, 4) for (int e = 0; e < count[1]; ++e) b[4 + i] = b[4 + i] * b[i]; sync(); }\n"
            /* 22 */ "  each (i, 8) put(y, i, b[i]); }\n"
            /* 23 */ "world_kernel void k_wide_log(const real *x, const int *count, real *y, int n) {\n"
            /* 24 */ "  for (int r = 0; r < 2; ++r) {\n"
            /* 25 */ "    each (i, count[2]) put(y, i, y[i] * y[i] * x[i]);\n"
            /* 26 */ "    sync(); } }\n");

/*
 * Of a kernel: what count[at] holds first, and what is written behind. One slot more may fit, since a tape has some
 * that not every launch uses: then gradients are right.
 */
typedef struct growing {
    const char *kernel;
    int at, from, to;
    bool must; /* it cannot fit */
} growing;

typedef struct arrays {
    stet_array *x, *count, *y, *x_grad, *y_grad;
} arrays;

static void fill(stet_array *a, double from, double step)
{
    for (int w = 0; w < WORLDS; ++w)
        for (int i = 0; i < ITEMS; ++i) reals_set(a, w, i, from + 0.01 * w + step * (i % 5));
    stet_array_mark_written(a);
}

static void write_counts(stet_array *count, const growing *g, int value, bool behind)
{
    int32_t counts[COUNTS];
    for (int i = 0; i < COUNTS; ++i) counts[i] = i == g->at ? value : i % 3 + 1;
    if (!behind) {
        OK(stet_array_write(count, counts, sizeof counts));
        return;
    }
    void *bytes = bytes_take(count);
    memcpy(bytes, counts, sizeof counts);
    bytes_give(count, bytes, true);
}

static arrays open_arrays(stet_device *d)
{
    arrays a;
    stet_array **reals[] = {&a.x, &a.y, &a.x_grad, &a.y_grad};
    for (int i = 0; i < 4; ++i) OK(STI_ARRAY(d, "reals", STET_DTYPE_REAL, true, reals[i], WORLDS, ITEMS));
    OK(STI_ARRAY(d, "count", STET_DTYPE_INT, false, &a.count, COUNTS));
    return a;
}

static void close_arrays(arrays *a)
{
    stet_array *all[] = {a->x, a->count, a->y, a->x_grad, a->y_grad};
    for (int i = 0; i < 5; ++i) stet_array_destroy(all[i]);
}

static void launch(stet_adjoint *adjoint, const arrays *a)
{
    const stet_arg args[] = {stet_arg_array(a->x), stet_arg_array(a->count), stet_arg_array(a->y),
                             stet_arg_int(COUNTS - 1)};
    stet_array *const gradients[] = {a->x_grad, NULL, a->y_grad, NULL};
    fill(a->x, 0.7, 0.06);
    fill(a->y, 0.9, 0.04);
    fill(a->x_grad, 0, 0);
    fill(a->y_grad, 1, -0.1);
    if (stet_adjoint_launch(adjoint, WORLDS, args, gradients, 4) != STET_OK) fail_msg("%s", stet_get_last_error());
}

static stet_result read_gradient(const arrays *a)
{
    float all[WORLDS * ITEMS];
    return stet_array_read(a->x_grad, all, sizeof all);
}

static uint64_t grow_behind(stet_device *d, const char *on, const growing *g)
{
    uint64_t hash, fitted = 0;
    char sentence[128];
    stet_adjoint *adjoint;
    arrays a = open_arrays(d);
    stet_kernel_def def = kernel_def(source);
    def.name = g->kernel;
    stet_kernel *kernel = make_kernel(d, &def);
    if (stet_kernel_get_adjoint(kernel, &adjoint) != STET_OK) fail_msg("%s", stet_get_last_error());
    write_counts(a.count, g, g->from, false);
    launch(adjoint, &a);
    if (read_gradient(&a) != STET_OK) fail_msg("%s on %s, %d: %s", g->kernel, on, g->from, stet_get_last_error());
    write_counts(a.count, g, g->to, true);
    launch(adjoint, &a);
    stet_result result = read_gradient(&a);
    if (result == STET_OK) OK(stet_array_hash(a.x_grad, &fitted));
    (void)snprintf(sentence, sizeof sentence, "kernel %s_adj: the stack of the loop at kernel:", g->kernel);
    if (result != STET_OK && (result != STET_ERROR_LIMIT || !strstr(stet_get_last_error(), sentence)))
        fail_msg("%s on %s, from %d to %d: %s", g->kernel, on, g->from, g->to, stet_get_last_error());
    stet_array_mark_written(a.count); /* sized anew */
    launch(adjoint, &a);
    if (read_gradient(&a) != STET_OK) fail_msg("%s on %s: %s", g->kernel, on, stet_get_last_error());
    OK(stet_array_hash(a.x_grad, &hash));
    if (result == STET_OK && (g->must || fitted != hash))
        fail_msg("%s on %s, from %d to %d: nothing was said", g->kernel, on, g->from, g->to);
    stet_kernel_destroy(kernel);
    close_arrays(&a);
    return hash;
}

static void grows_behind(const growing *g)
{
    uint64_t wanted = 0;
    FOR_RUNNING_DEVICES(rig)
    {
        uint64_t found = grow_behind(rig.device, rig.name, g);
        if (!wanted) wanted = found;
        if (found != wanted) fail_msg("%s on %s: other gradients", g->kernel, rig.name);
    }
}

#define GROWS(name, kernel, at, from, to)                                                                              \
    static void name(void **state) { grows_behind(&(growing){kernel, at, from, to, (to) > (from) + 1}); }

/* Iteration 17 of many has one entry more than any had, or many. */
GROWS(a_list_by_one_entry, "k_list", 17, 3, 4)
GROWS(a_list_by_many_entries, "k_list", 17, 5, 60)
GROWS(a_list_beside_shares_by_one, "k_share", 17, 3, 4)
GROWS(a_list_beside_shares_by_three, "k_share", 17, 3, 6)
GROWS(an_each_from_no_iteration, "k_wide", COUNTS - 1, 0, 40)
GROWS(an_each_by_one_iteration, "k_wide", COUNTS - 1, 7, 8)
GROWS(rounds_with_shares_from_none, "k_deep", 0, 0, 9)
GROWS(rounds_with_shares_by_one, "k_deep", 0, 2, 3)
GROWS(rounds_that_log_from_none, "k_rounds", 0, 0, 3)
GROWS(rounds_that_log_by_one, "k_rounds", 0, 2, 3)
GROWS(entries_of_a_round_by_one, "k_rounds", 1, 1, 2)
GROWS(entries_of_a_round_by_many, "k_rounds", 1, 0, 50)
GROWS(an_each_that_logs_by_many_iterations, "k_wide_log", 2, 3, 44)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_by_one_entry),
        cmocka_unit_test(a_list_by_many_entries),
        cmocka_unit_test(a_list_beside_shares_by_one),
        cmocka_unit_test(a_list_beside_shares_by_three),
        cmocka_unit_test(an_each_from_no_iteration),
        cmocka_unit_test(an_each_by_one_iteration),
        cmocka_unit_test(rounds_with_shares_from_none),
        cmocka_unit_test(rounds_with_shares_by_one),
        cmocka_unit_test(rounds_that_log_from_none),
        cmocka_unit_test(rounds_that_log_by_one),
        cmocka_unit_test(entries_of_a_round_by_one),
        cmocka_unit_test(entries_of_a_round_by_many),
        cmocka_unit_test(an_each_that_logs_by_many_iterations),
    };
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
