/*
 * Adjoints give the same bits on every device: sums of shares and of listed gradients, tapes, logs, shared memory.
 */
#include "device/devices.h"

#include "adjoint/rig.h"

#include "stet/adjoint.h"

enum { WORLDS = 21, ITEMS = 24, N = 5 };

static const int32_t counts[] = {0, 2, 1, 3, 0, 1, 2, 3, 1, 0, 2, 1};

/* x [ITEMS], z [ITEMS] and y [ITEMS] of each world, t [ITEMS] the same for all, count, a, n. */
static const char source[] = SOURCE(
    "LFN real dot(const real *a, const real *b) { real s = splat(0); for (int k = 0; k < 3; ++k) s = fma(a[k], b[k], "
    "s); return s; }\n"
    "world_kernel void k_deep(const real *x, const real *z, const ureal *t, const int *count, ureal a, real *y, int n) "
    "{\n"
    "  shared(real, h, 32); real scale = z[0] * splat(a);\n"
    "  each (i, n) h[i] = sin(x[i] * scale); sync();\n"
    "  each (i, n) { real s = h[(i + 1) % n], u = splat(t[count[i]]);\n"
    "    for (int e = 0; e < count[i] + 1; ++e) {\n"
    "      for (int f = e; f >= 0; --f) { if (f == 2) continue; s = sin(s * u) + x[f] * h[i]; if (any(lt(s, "
    "splat((ureal)-0.9)))) break; }\n"
    "      u = cos(u) * s + dot(x + i * 3, z + count[i] * 3); }\n"
    "    put(y, i, s * u * scale); } }\n"
    "world_kernel void k_place(real *x, const real *z, const ureal *t, const int *count, ureal a, real *y, int n) {\n"
    "  each (i, n) { for (int k = 0; k < count[i]; ++k) for (int j = 0; j < 2; ++j)\n"
    "      put(x, i * 2 + j, x[i * 2 + j] * x[i * 2 + 1 - j] * splat(t[i] * a) + z[k]);\n"
    "    put(y, i, x[i * 2] * x[i * 2 + 1]); } }\n"
    "world_kernel void k_again(real *x, const real *z, const ureal *t, const int *count, ureal a, real *y, int n) {\n"
    "  each (i, n) { int p = (i + 2) % n; real s = x[p] * z[count[i]]; put(x, p, sin(s) * z[i % 2]);\n"
    "    for (int k = 0; k < count[i] + 1; ++k) s = fma(x[p], s, gather(t, isplat(k + i % 3)) * splat(t[i] * a));\n"
    "    put(y, i, s * x[p]); } }\n"
    "world_kernel void k_fixed(real *x, const real *z, const ureal *t, const int *count, ureal a, real *y, int n) {\n"
    "  real first = z[1] * z[0];\n"
    "  each (i, n) { real s = x[i * 2] * z[2] * first; for (int k = 1; k < 4; ++k) s = fma(z[k], s, z[3]);\n"
    "    for (int k = 0; k < 2; ++k) put(x, i * 2 + k, x[i * 2 + k] * s * splat(t[k + 1] * a));\n"
    "    put(x, i * 2, x[i * 2] * x[i * 2 + 1]); put(y, i, s * x[i * 2]); }\n"
    "  sync(); each (i, n) put(y, i, y[i] * y[i] * z[i % 2] * splat(t[0])); }\n");

typedef struct arrays {
    stet_array *x, *z, *y, *t, *count, *x_grad, *z_grad, *y_grad, *t_grad, *a_grad;
} arrays;

static void fill(stet_array *a, double step)
{
    for (int w = 0; w < WORLDS; ++w)
        for (int i = 0; i < ITEMS; ++i) reals_set(a, w, i, 0.2 + 0.01 * w + step * i);
    stet_array_mark_written(a);
}

static arrays open_arrays(stet_device *d)
{
    arrays a;
    stet_array **own[] = {&a.x, &a.z, &a.y, &a.x_grad, &a.z_grad, &a.y_grad, &a.t_grad};
    OK(STI_ARRAY(d, "a_grad", STET_DTYPE_REAL, true, &a.a_grad, WORLDS, 1));
    for (int i = 0; i < 7; ++i) OK(STI_ARRAY(d, "reals", STET_DTYPE_REAL, true, own[i], WORLDS, ITEMS));
    OK(STI_ARRAY(d, "t", STET_DTYPE_REAL, false, &a.t, ITEMS));
    OK(STI_ARRAY(d, "count", STET_DTYPE_INT, false, &a.count, 12));
    OK(stet_array_write(a.count, counts, sizeof counts));
    float t[ITEMS];
    for (int i = 0; i < ITEMS; ++i) t[i] = 0.3f + 0.02f * (float)i;
    OK(stet_array_write(a.t, t, sizeof t));
    fill(a.x, 0.03);
    fill(a.z, 0.02);
    fill(a.y_grad, -0.05);
    return a;
}

static void close_arrays(arrays *a)
{
    stet_array *all[] = {a->x, a->z, a->y, a->t, a->count, a->x_grad, a->z_grad, a->y_grad, a->t_grad, a->a_grad};
    for (int i = 0; i < 10; ++i) stet_array_destroy(all[i]);
}

static uint64_t gradients_on(stet_device *d, const char *name)
{
    uint64_t all = 0, hash;
    arrays a = open_arrays(d);
    stet_kernel_def def = kernel_def(source);
    def.name = name;
    stet_kernel *kernel = make_kernel(d, &def);
    stet_adjoint *adjoint;
    const stet_arg args[] = {stet_arg_array(a.x), stet_arg_array(a.z), stet_arg_array(a.t), stet_arg_array(a.count),
                             stet_arg_real(0.75), stet_arg_array(a.y), stet_arg_int(N)};
    stet_array *const gradients[] = {a.x_grad, a.z_grad, a.t_grad, NULL, a.a_grad, a.y_grad, NULL};
    OK(stet_kernel_get_adjoint(kernel, &adjoint));
    OK(stet_adjoint_launch(adjoint, WORLDS, args, gradients, 7));
    const stet_array *results[] = {a.x_grad, a.z_grad, a.t_grad, a.a_grad, a.y_grad, a.x};
    for (int i = 0; i < 6; ++i) {
        OK(stet_array_hash(results[i], &hash));
        all = all * UINT64_C(1099511628211) + hash;
    }
    stet_kernel_destroy(kernel);
    close_arrays(&a);
    return all;
}

static void gradients_have_the_same_bits_on_all_devices(void **state)
{
    static const char *const names[] = {"k_deep", "k_place", "k_again", "k_fixed"};
    for (int k = 0; k < 4; ++k) {
        uint64_t wanted = 0;
        FOR_RUNNING_DEVICES(rig)
        {
            uint64_t found = gradients_on(rig.device, names[k]);
            if (!wanted) wanted = found;
            if (found != wanted) fail_msg("%s on %s: other gradients", names[k], rig.name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients_have_the_same_bits_on_all_devices)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
