/*
 * The same bits on every device: gradients that items list, that lanes of worlds add at places of their own, and of
 * arrays that a team overwrites.
 */
#include "device/devices.h"

#include "adjoint/rig.h"

enum { WORLDS = 21, N = 1003, BLOCK = 64, TABLE = 37, ITEMS = 16 };

static const char source[] = SOURCE(
    "#define BLOCK 64\n"
    "LFN real power(real x, int n) { real s = x; for (int k = 0; k < n; ++k) s = sin(s * x); return s; }\n"
    "item_kernel void k_items(const ureal *x, const ureal *t, const int *at, const wreal *w, ureal a, ureal *y, int n, "
    "int block) {\n"
    "  items (p, nmin(BLOCK, n - block * BLOCK)) { int q = block * BLOCK + p; mask live = in_range(q, n);\n"
    "    lint i = igather(at, isplat(q) + lane()); real s = load(x + q), u = gather(t, i);\n"
    "    for (int k = 0; k < 3; ++k) { mask on = ilt(isplat(k), i); if (!any(on)) break;\n"
    "      s = select(on, sin(s * u) + gather(x, i + isplat(k)), s); }\n"
    "    s = s * power(u, at[block]) * splat(a * t[block % 5]) + splat(of_world(w, 4, block % 3, 2)) * s;\n"
    "    store_if(live, y + q, s); } }\n"
    "item_kernel void k_own(ureal *x, const ureal *t, const int *at, const wreal *w, ureal a, const ureal *y, int n, "
    "int "
    "block) {\n"
    "  items (p, nmin(BLOCK, n - block * BLOCK)) { int q = block * BLOCK + p; mask live = in_range(q, n);\n"
    "    store_if(live, x + q, load(x + q) * load(x + q) * splat(a) + load(y + q)); } }\n"
    "world_kernel void k_lanes(const real *v, const lint *which, const ureal *t, ureal a, real *z, int n, int world) "
    "{\n"
    "  real first = gather(t + 2, which[1]);\n"
    "  each (i, n) { real s = v[i] * first; for (int k = 0; k < 3; ++k) s = s * gather(t + k, which[i]) + splat(t[i] * "
    "a);\n"
    "    put(z, i, s * load(t + world)); } }\n"
    "world_kernel void k_factor(const real *v, const lint *which, const ureal *t, ureal a, real *z, int n) {\n"
    "  shared(real, h, 16);\n"
    "  each (i, 16) h[i] = v[i] + splat(i / 4 == i % 4 ? 4 + a : t[i]); sync();\n"
    "  for (int k = 0; k < 4; ++k) {\n"
    "    each (one, 1) h[k * 4 + k] = sqrt(h[k * 4 + k]); sync();\n"
    "    each (i, 3 - k) h[(k + 1 + i) * 4 + k] = h[(k + 1 + i) * 4 + k] / h[k * 4 + k]; sync();\n"
    "    each (i, 3 - k) for (int j = 0; j <= i; ++j) h[(k + 1 + i) * 4 + k + 1 + j] = h[(k + 1 + i) * 4 + k + 1 + j] "
    "-\n"
    "      h[(k + 1 + i) * 4 + k] * h[(k + 1 + j) * 4 + k]; sync(); }\n"
    "  for (int k = 0; k < 3; ++k) { int l = nmax(1, 2 * k); each (i, l) put(z, l + i, z[l - 1 - i] * h[l + i] + "
    "z[0]); sync(); }\n"
    "  each (i, n) put(z, 15 - i, h[i] * z[i]); }\n");

static stet_array *plain(stet_device *d, int64_t n, double first, double step)
{
    stet_array *a;
    float *v = calloc((size_t)n, sizeof *v);
    for (int64_t i = 0; i < n; ++i) v[i] = (float)(first + step * (double)(i % 17));
    OK(STI_ARRAY(d, "plain", STET_DTYPE_REAL, false, &a, n));
    OK(stet_array_write(a, v, (size_t)n * sizeof *v));
    free(v);
    return a;
}

static stet_array *worlds(stet_device *d, int64_t n, double first, double step)
{
    stet_array *a;
    OK(STI_ARRAY(d, "worlds", STET_DTYPE_REAL, true, &a, WORLDS, n));
    for (int w = 0; w < WORLDS; ++w)
        for (int i = 0; i < n; ++i) reals_set(a, w, i, first + 0.01 * w + step * i);
    stet_array_mark_written(a);
    return a;
}

static stet_array *indices(stet_device *d, bool each_world, int64_t n)
{
    stet_array *a;
    int64_t count = each_world ? WORLDS * n : n;
    int32_t *v = calloc((size_t)count, sizeof *v);
    for (int64_t i = 0; i < count; ++i) v[i] = (int32_t)((i * i + i / 3) % 5);
    if (each_world)
        OK(STI_ARRAY(d, "which", STET_DTYPE_INT, true, &a, WORLDS, n));
    else
        OK(STI_ARRAY(d, "at", STET_DTYPE_INT, false, &a, n));
    OK(stet_array_write(a, v, (size_t)count * sizeof *v));
    free(v);
    return a;
}

static uint64_t run(stet_device *d, const char *name, int64_t count, const stet_arg *args, stet_array *const *gradients,
                    int n)
{
    uint64_t all = 0, hash;
    stet_adjoint *adjoint;
    stet_kernel_def def = kernel_def(source);
    def.name = name;
    stet_kernel *kernel = make_kernel(d, &def);
    OK(stet_kernel_get_adjoint(kernel, &adjoint));
    stet_array *own[8] = {NULL};
    for (int i = 0; i < n; ++i) {
        bool has;
        OK(stet_adjoint_has_gradient(adjoint, i, &has));
        own[i] = has ? gradients[i] : NULL;
    }
    for (int k = 0; k < 2; ++k) OK(stet_adjoint_launch(adjoint, count, args, own, n));
    for (int i = 0; i < n; ++i) {
        const stet_array *both[] = {args[i].array, gradients[i]};
        for (int k = 0; k < 2; ++k) {
            if (!both[k]) continue;
            OK(stet_array_hash(both[k], &hash));
            all = all * 31 + hash;
        }
    }
    stet_kernel_destroy(kernel);
    return all;
}

static uint64_t items_on(stet_device *d, const char *name)
{
    stet_array *a[] = {plain(d, N + 16, 0.2, 0.03), plain(d, TABLE, 0.3, 0.02), indices(d, false, N + 16),
                       worlds(d, 4, 0.4, 0.1), plain(d, N + 16, 0.1, -0.01)};
    stet_array *g[] = {plain(d, N + 16, 0, 0.01), plain(d, TABLE, 0, 0),        NULL, worlds(d, 4, 0, 0),
                       plain(d, 1, 0, 0),         plain(d, N + 16, -0.2, 0.05), NULL};
    const stet_arg args[] = {stet_arg_array(a[0]), stet_arg_array(a[1]), stet_arg_array(a[2]), stet_arg_array(a[3]),
                             stet_arg_real(0.7),   stet_arg_array(a[4]), stet_arg_int(N)};
    uint64_t all = run(d, name, (N + BLOCK - 1) / BLOCK, args, g, 7);
    for (int i = 0; i < 5; ++i) stet_array_destroy(a[i]);
    for (int i = 0; i < 7; ++i) stet_array_destroy(g[i]);
    return all;
}

static uint64_t worlds_on(stet_device *d, const char *name)
{
    stet_array *a[] = {worlds(d, ITEMS, 0.2, 0.03), indices(d, true, ITEMS), plain(d, TABLE, 0.3, 0.02),
                       worlds(d, ITEMS, 0.5, 0.01)};
    stet_array *g[] = {worlds(d, ITEMS, 0, 0),       NULL, worlds(d, TABLE, 0, 0), worlds(d, 1, 0, 0),
                       worlds(d, ITEMS, -0.2, 0.07), NULL};
    const stet_arg args[] = {stet_arg_array(a[0]), stet_arg_array(a[1]), stet_arg_array(a[2]),
                             stet_arg_real(0.7),   stet_arg_array(a[3]), stet_arg_int(6)};
    uint64_t all = run(d, name, WORLDS, args, g, 6);
    for (int i = 0; i < 4; ++i) stet_array_destroy(a[i]);
    for (int i = 0; i < 6; ++i) stet_array_destroy(g[i]);
    return all;
}

static void check_all(uint64_t (*on)(stet_device *d, const char *name), const char *name)
{
    uint64_t wanted = 0;
    FOR_RUNNING_DEVICES(rig)
    {
        uint64_t found = on(rig.device, name);
        if (!wanted) wanted = found;
        if (found != wanted) fail_msg("%s on %s: other gradients", name, rig.name);
    }
}

static void items_have_the_same_bits(void **state)
{
    check_all(items_on, "k_items");
    check_all(items_on, "k_own");
}

static void lanes_have_the_same_bits(void **state) { check_all(worlds_on, "k_lanes"); }

static void teams_have_the_same_bits(void **state) { check_all(worlds_on, "k_factor"); }

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(items_have_the_same_bits),
                                       cmocka_unit_test(lanes_have_the_same_bits),
                                       cmocka_unit_test(teams_have_the_same_bits)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
