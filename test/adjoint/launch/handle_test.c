/*
 * Adjoints as things: made from a kernel, owned by it, asked for their source and gradients, launched on every device.
 */
#include "device/devices.h"

#include "kernel/user_rig.h"

#include "stet/adjoint.h"

enum { WORLDS = 5, N = 6 };

/* y = a * x * t: the gradients are those of a product. */
static const char product[] = "#include <stet/lang.h>\n"
                              "world_kernel void k_scale(const real *x, const ureal *t, ureal a, real *y, int n)\n"
                              "{\n    each (i, n) put(y, i, x[i] * splat(t[i] * a));\n}\n";

/* x, t, y and the gradients of x, t, a, y. */
typedef struct scaled {
    stet_array *x, *t, *y, *x_grad, *t_grad, *a_grad, *y_grad;
} scaled;

static scaled open_scaled(stet_device *d)
{
    scaled s;
    float t[N];
    stet_array **worlds[] = {&s.x, &s.y, &s.x_grad, &s.t_grad, &s.y_grad};
    for (int i = 0; i < 5; ++i) OK(STI_ARRAY(d, "reals", STET_DTYPE_REAL, true, worlds[i], WORLDS, N));
    OK(STI_ARRAY(d, "a_grad", STET_DTYPE_REAL, true, &s.a_grad, WORLDS, 1));
    OK(STI_ARRAY(d, "t", STET_DTYPE_REAL, false, &s.t, N));
    for (int i = 0; i < N; ++i) t[i] = (float)(i + 1);
    OK(stet_array_write(s.t, t, sizeof t));
    for (int w = 0; w < WORLDS; ++w)
        for (int i = 0; i < N; ++i) {
            reals_set(s.x, w, i, w + 0.5 * i);
            reals_set(s.y_grad, w, i, 1 + w);
        }
    stet_array_mark_written(s.x);
    stet_array_mark_written(s.y_grad);
    return s;
}

static void close_scaled(const scaled *s)
{
    stet_array *all[] = {s->x, s->t, s->y, s->x_grad, s->t_grad, s->a_grad, s->y_grad};
    for (int i = 0; i < 7; ++i) stet_array_destroy(all[i]);
}

static stet_result launch(stet_adjoint *adjoint, const scaled *s)
{
    const stet_arg args[] = {stet_arg_array(s->x), stet_arg_array(s->t), stet_arg_real(2), stet_arg_array(s->y),
                             stet_arg_int(N)};
    stet_array *const gradients[] = {s->x_grad, s->t_grad, s->a_grad, s->y_grad, NULL};
    return stet_adjoint_launch(adjoint, WORLDS, args, gradients, 5);
}

static void an_adjoint_runs_on_all_devices(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        stet_kernel *kernel = kernel_from(rig.device, product);
        stet_adjoint *adjoint;
        scaled s = open_scaled(rig.device);
        OK(stet_kernel_get_adjoint(kernel, &adjoint));
        OK(launch(adjoint, &s));
        for (int w = 0; w < WORLDS; ++w) {
            double a = 0;
            for (int i = 0; i < N; ++i) {
                assert_true(reals_get(s.x_grad, w, i) == 2.0 * (i + 1) * (1 + w));
                assert_true(reals_get(s.t_grad, w, i) == 2.0 * (w + 0.5 * i) * (1 + w));
                assert_true(reals_get(s.y_grad, w, i) == 0);
                a += (i + 1) * (w + 0.5 * i) * (1 + w);
            }
            assert_true(reals_get(s.a_grad, w, 0) == a);
        }
        close_scaled(&s);
        stet_kernel_destroy(kernel);
    }
}

/* In place the kernel is another function than the one that its adjoint belongs to. */
static void one_array_in_two_places_is_refused(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    stet_kernel *kernel = kernel_from(device, product);
    stet_adjoint *adjoint;
    scaled s = open_scaled(device), same = s;
    OK(stet_kernel_get_adjoint(kernel, &adjoint));
    same.y = s.x;
    assert_int_equal(launch(adjoint, &same), STET_ERROR_INVALID_ARGUMENT);
    assert_string_equal(stet_get_last_error(),
                        "kernel k_scale_adj: x and y are the same memory, and the kernel writes it; give "
                        "it two arrays (stet_array_copy)");
    OK(launch(adjoint, &s));
    close_scaled(&s);
    stet_kernel_destroy(kernel);
    stet_device_destroy(device);
}

static void a_handle_answers_questions(void **state)
{
    static const bool wanted[] = {true, true, true, true, false};
    stet_device *device = open_device(STI_ISA_portable, 1);
    stet_kernel *kernel = kernel_from(device, product);
    stet_adjoint *adjoint, *again;
    bool has;
    OK(stet_kernel_get_adjoint(kernel, &adjoint));
    OK(stet_kernel_get_adjoint(kernel, &again));
    assert_ptr_equal(adjoint, again);
    assert_non_null(strstr(stet_adjoint_get_source(adjoint), "world_kernel void k_scale_adj("));
    for (int i = 0; i < 5; ++i) {
        OK(stet_adjoint_has_gradient(adjoint, i, &has));
        assert_int_equal(has, wanted[i]);
    }
    assert_int_equal(stet_adjoint_has_gradient(adjoint, 5, &has), STET_ERROR_INVALID_ARGUMENT);
    assert_int_equal(stet_adjoint_has_gradient(adjoint, -1, &has), STET_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(stet_get_last_error(), "k_scale"));
    stet_kernel_destroy(kernel);
    stet_device_destroy(device);
}

static void constants_have_no_gradient(void **state)
{
    const char *const constant[] = {"t", "a"};
    stet_device *device = open_device(STI_ISA_portable, 1);
    stet_kernel_def def = kernel_def(product);
    def.constant = constant;
    def.nconstant = 2;
    stet_kernel *kernel = make_kernel(device, &def);
    stet_adjoint *adjoint;
    bool has[3];
    OK(stet_kernel_get_adjoint(kernel, &adjoint));
    for (int i = 0; i < 3; ++i) OK(stet_adjoint_has_gradient(adjoint, i, &has[i]));
    assert_true(has[0] && !has[1] && !has[2]);
    stet_kernel_destroy(kernel);
    def.constant = (const char *const[]){"x", "none"};
    kernel = make_kernel(device, &def);
    assert_int_equal(stet_kernel_get_adjoint(kernel, &adjoint), STET_ERROR_UNSUPPORTED);
    assert_non_null(strstr(stet_get_last_error(), "`none` is declared to be constant"));
    stet_kernel_destroy(kernel);
    def.constant = NULL;
    assert_int_equal(stet_kernel_create(device, &def, &kernel), STET_ERROR_INVALID_ARGUMENT);
    stet_device_destroy(device);
}

/* Nothing of the def is looked at after the kernel was made; one kernel of a file does not depend on the others. */
static void the_source_is_kept(void **state)
{
    static const char both[] = "#include <stet/lang.h>\n"
                               "world_kernel void k_good(real *y) { put(y, 0, y[0] * y[0]); }\n"
                               "world_kernel void k_bad(real *y) { put(y, 0, from_bits(as_bits(y[0]))); }\n";
    char text[sizeof both], name[] = "k_good";
    memcpy(text, both, sizeof both);
    stet_device *device = open_device(STI_ISA_portable, 1);
    stet_kernel_def def = kernel_def(text);
    def.name = name;
    def.path = "two.k.h";
    stet_kernel *good = make_kernel(device, &def), *bad;
    def.name = "k_bad";
    OK(stet_kernel_create(device, &def, &bad));
    memset(text, 0, sizeof text);
    memset(name, 0, sizeof name);
    stet_adjoint *adjoint;
    OK(stet_kernel_get_adjoint(good, &adjoint));
    assert_int_equal(stet_kernel_get_adjoint(bad, &adjoint), STET_ERROR_UNSUPPORTED);
    assert_non_null(strstr(stet_get_last_error(), "two.k.h:3:"));
    stet_kernel_destroy(good);
    stet_kernel_destroy(bad);
    stet_device_destroy(device);
}

/* What the source gives is used: here twice the gradient. */
static void a_kernel_may_bring_its_adjoint(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    stet_kernel_def def =
        kernel_def("#include <stet/lang.h>\n"
                   "world_kernel void k_same(const real *x, real *y) { put(y, 0, x[0]); }\n"
                   "world_kernel void k_same_adj(const real *x, real *xg, real *y, real *yg) { "
                   "put(y, 0, x[0]); put(xg, 0, xg[0] + splat(2) * yg[0]); put(yg, 0, splat(0)); }\n");
    def.name = "k_same";
    stet_kernel *kernel = make_kernel(device, &def);
    stet_adjoint *adjoint;
    stet_array *a[4];
    for (int i = 0; i < 4; ++i) OK(STI_ARRAY(device, "a", STET_DTYPE_REAL, true, &a[i], WORLDS, 1));
    for (int w = 0; w < WORLDS; ++w) reals_set(a[3], w, 0, w);
    OK(stet_kernel_get_adjoint(kernel, &adjoint));
    const stet_arg args[] = {stet_arg_array(a[0]), stet_arg_array(a[2])};
    stet_array *const gradients[] = {a[1], a[3]};
    OK(stet_adjoint_launch(adjoint, WORLDS, args, gradients, 2));
    for (int w = 0; w < WORLDS; ++w) assert_true(reals_get(a[1], w, 0) == 2 * w && reals_get(a[3], w, 0) == 0);
    for (int i = 0; i < 4; ++i) stet_array_destroy(a[i]);
    stet_kernel_destroy(kernel);
    stet_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_adjoint_runs_on_all_devices),
        TEST(one_array_in_two_places_is_refused),
        TEST(a_handle_answers_questions),
        TEST(constants_have_no_gradient),
        TEST(the_source_is_kept),
        TEST(a_kernel_may_bring_its_adjoint),
    };
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
