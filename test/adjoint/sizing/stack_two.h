/*
 * For tests of what is known of sizes: a kernel with two loops over two arrays, and counters of what a launch of its
 * adjoint asked for.
 */
#ifndef TEST_ADJOINT_STACK_TWO_H
#define TEST_ADJOINT_STACK_TWO_H

#include "adjoint/sizing/stack_rig.h"

/* Two loops, each over an array of its own: two maxima. */
static const char two_source[] = "#include <stet/lang.h>\n"
                                 "world_kernel void k_two(const real *x, const int *a, const int *b, real *y, int n)\n"
                                 "{\n"
                                 "    each (i, n) {\n"
                                 "        real s = x[i];\n"
                                 "        for (int e = 0; e < a[i]; ++e) s = s * s;\n"
                                 "        for (int e = 0; e < b[i]; ++e) s = s * x[i];\n"
                                 "        put(y, i, s);\n"
                                 "    }\n"
                                 "}\n";

typedef struct two {
    stet_kernel *kernel;
    stet_adjoint *adjoint;
    stet_array *x, *a, *b, *y, *x_grad, *y_grad;
} two;

static const int32_t usual_counts[] = {1, 2, 3, 0, 1};

static inline two open_two(stet_device *d, const char *source)
{
    two t;
    t.kernel = kernel_from(d, source);
    stet_array **reals[] = {&t.x, &t.y, &t.x_grad, &t.y_grad};
    for (int i = 0; i < 4; ++i) OK(STI_ARRAY(d, "reals", STET_DTYPE_REAL, true, reals[i], WORLDS, N));
    OK(STI_ARRAY(d, "a", STET_DTYPE_INT, false, &t.a, N));
    OK(STI_ARRAY(d, "b", STET_DTYPE_INT, false, &t.b, N));
    OK(stet_array_write(t.a, usual_counts, sizeof usual_counts));
    OK(stet_array_write(t.b, usual_counts, sizeof usual_counts));
    set_all(t.x, 1);
    OK(stet_kernel_get_adjoint(t.kernel, &t.adjoint));
    return t;
}

static inline void close_two(const two *t)
{
    stet_array *const all[] = {t->x, t->a, t->b, t->y, t->x_grad, t->y_grad};
    for (int i = 0; i < 6; ++i) stet_array_destroy(all[i]);
    stet_kernel_destroy(t->kernel);
}

static inline stet_result launch_with(const two *t, stet_array *a, stet_array *b, int n)
{
    const stet_arg args[] = {stet_arg_array(t->x), stet_arg_array(a), stet_arg_array(b), stet_arg_array(t->y),
                             stet_arg_int(n)};
    stet_array *const gradients[] = {t->x_grad, NULL, NULL, t->y_grad, NULL};
    return stet_adjoint_launch(t->adjoint, WORLDS, args, gradients, 5);
}

static inline stet_result launch_two(const two *t) { return launch_with(t, t->a, t->b, N); }

/* What a launch did: reductions known and worked out, launches for them, launches that asked for nothing. */
typedef struct did {
    int64_t known, worked_out, launched, stood, asked;
} did;

static inline did counted(const stet_device *d)
{
    stet_counter per = row(d, STET_MECHANISM_ADSTACK), handle = row(d, STET_MECHANISM_ADSTACK_HANDLE);
    return (did){per.hits, per.misses, per.done_launches, handle.hits, handle.misses};
}

#define EXPECT(known_, worked_out_, launched_, stood_, asked_)                                                         \
    do {                                                                                                               \
        did now_ = counted(rig.device);                                                                                \
        assert_int_equal(now_.known - was.known, known_);                                                              \
        assert_int_equal(now_.worked_out - was.worked_out, worked_out_);                                               \
        assert_int_equal(now_.launched - was.launched, launched_);                                                     \
        assert_int_equal(now_.stood - was.stood, stood_);                                                              \
        assert_int_equal(now_.asked - was.asked, asked_);                                                              \
        was = now_;                                                                                                    \
    } while (0)

#endif
