/*
 * Kernels that have other text on a GPU (#if STET_GPU): the adjoint is that of the text which the device runs. Where
 * both do the same operations in the same order, gradients have the same bits; where they do not, each device's
 * gradients are those of what it computed.
 */
#include "device/devices.h"

#include "adjoint/rig.h"

#include <math.h>

enum { WORLDS = 9, N = 6 };

/* The same operations, written otherwise. */
static const char same_source[] =
    SOURCE("#if STET_GPU\n"
           "LFN real by_gpu(real x, int i) { return i % 2 == 0 ? sin(x) : cos(x); }\n"
           "#define CHOSEN(x, i) by_gpu(x, i)\n"
           "#else\n"
           "LFN real by_cpu(real x, int i) { real s = cos(x); if ((i & 1) == 0) s = sin(x); return s; }\n"
           "#define CHOSEN(x, i) by_cpu(x, i)\n"
           "#endif\n"
           "world_kernel void k_f(const real *x, const int *count, real *y, int n) {\n"
           "  each (i, n) { real s = x[i];\n"
           "#if STET_GPU\n"
           "    for (int k = count[i]; k > 0; --k) s = CHOSEN(s * x[i], i);\n"
           "#else\n"
           "    for (int k = 0; k < count[i]; ++k) s = CHOSEN(s * x[i], i);\n"
           "#endif\n"
           "    put(y, i, s); } }\n");

static const char other_source[] = SOURCE("#if STET_GPU\n#define FACTOR 3\n#else\n#define FACTOR 2\n#endif\n"
                                          "world_kernel void k_f(const real *x, const int *count, real *y, int n) {\n"
                                          "  each (i, n) put(y, i, x[i] * splat(FACTOR * count[i])); }\n");

typedef struct variant {
    stet_kernel *kernel;
    stet_adjoint *adjoint;
    stet_array *x, *count, *y, *x_grad, *y_grad;
} variant;

static variant open_variant(stet_device *d, const char *source)
{
    static const int32_t counts[N] = {0, 2, 1, 3, 0, 1};
    variant v = {.kernel = kernel_from(d, source)};
    stet_array **all[] = {&v.x, &v.y, &v.x_grad, &v.y_grad};
    for (int i = 0; i < 4; ++i) OK(STI_ARRAY(d, "reals", STET_DTYPE_REAL, true, all[i], WORLDS, N));
    OK(STI_ARRAY(d, "count", STET_DTYPE_INT, false, &v.count, N));
    OK(stet_array_write(v.count, counts, sizeof counts));
    for (int w = 0; w < WORLDS; ++w)
        for (int i = 0; i < N; ++i) {
            reals_set(v.x, w, i, 0.3 + 0.07 * w + 0.11 * i);
            reals_set(v.x_grad, w, i, 0.01 * i);
            reals_set(v.y_grad, w, i, 1 - 0.1 * w);
        }
    OK(stet_kernel_get_adjoint(v.kernel, &v.adjoint));
    return v;
}

static void launch(const variant *v)
{
    const stet_arg args[] = {stet_arg_array(v->x), stet_arg_array(v->count), stet_arg_array(v->y), stet_arg_int(N)};
    stet_array *const gradients[] = {v->x_grad, NULL, v->y_grad, NULL};
    OK(stet_kernel_launch(v->kernel, WORLDS, args, 4));
    OK(stet_adjoint_launch(v->adjoint, WORLDS, args, gradients, 4));
}

static void close_variant(const variant *v)
{
    stet_array *const all[] = {v->x, v->count, v->y, v->x_grad, v->y_grad};
    for (int i = 0; i < 5; ++i) stet_array_destroy(all[i]);
    stet_kernel_destroy(v->kernel);
}

static void the_same_operations_have_the_same_bits(void **state)
{
    uint64_t wanted = 0;
    FOR_RUNNING_DEVICES(rig)
    {
        uint64_t hash;
        variant v = open_variant(rig.device, same_source);
        launch(&v);
        const char *text = stet_adjoint_get_source(v.adjoint);
        assert_non_null(strstr(text, rig.device->can.compiles ? "by_gpu_adj(" : "by_cpu_adj("));
        assert_null(strstr(text, rig.device->can.compiles ? "by_cpu" : "by_gpu"));
        OK(stet_array_hash(v.x_grad, &hash));
        if (!wanted) wanted = hash;
        if (hash != wanted) fail_msg("on %s: other gradients", rig.name);
        close_variant(&v);
    }
}

static void gradients_are_of_what_the_device_computed(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        variant v = open_variant(rig.device, other_source);
        launch(&v);
        for (int w = 0; w < WORLDS; ++w) {
            float x = (float)(0.3 + 0.07 * w + 0.11 * 3), factor = rig.device->can.compiles ? 9 : 6; /* count[3] is 3 */
            float g = (float)(0.01 * 3) + factor * (float)(1 - 0.1 * w);
            assert_true((float)reals_get(v.y, w, 3) == x * factor);
            assert_true(fabs(reals_get(v.x_grad, w, 3) - (double)g) < 1e-5);
        }
        close_variant(&v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_operations_have_the_same_bits),
        cmocka_unit_test(gradients_are_of_what_the_device_computed),
    };
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
