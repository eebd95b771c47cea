/*
 * What the tests of stacks share: a kernel whose stacks come from its data, with its arrays.
 *
 * k_chain: each of n items goes from first[i] to first[i + 1], so its depth is the greatest of these differences. With
 * x = 1 its gradient is known.
 */
#ifndef TEST_ADJOINT_STACK_RIG_H
#define TEST_ADJOINT_STACK_RIG_H

#include "device/devices.h"

#include "kernel/user_rig.h"

#include "adjoint/launch/handle.h"

enum { WORLDS = 9, N = 5 };

static const char chain_source[] = "#include <stet/lang.h>\n"
                                   "world_kernel void k_chain(const real *x, const int *first, real *y, int n)\n"
                                   "{\n"
                                   "    each (i, n) {\n"
                                   "        real s = x[i];\n"
                                   "        for (int e = first[i]; e < first[i + 1]; ++e)\n"
                                   "            s = s * s;\n"
                                   "        put(y, i, s);\n"
                                   "    }\n"
                                   "}\n";

typedef struct chain {
    stet_kernel *kernel;
    stet_adjoint *adjoint;
    stet_array *x, *first, *y, *x_grad, *y_grad;
} chain;

/* Differences 3, 0, 1, 4, 2. */
static const int32_t usual_first[] = {0, 3, 3, 4, 8, 10};

static inline void set_all(stet_array *a, double value)
{
    for (int w = 0; w < WORLDS; ++w)
        for (int i = 0; i < N; ++i) reals_set(a, w, i, value);
    stet_array_mark_written(a);
}

/* Gradients as they are before a launch. */
static inline void set_gradients(const chain *c)
{
    set_all(c->x_grad, 0);
    set_all(c->y_grad, 1);
}

static inline chain open_chain_from(stet_device *d, const stet_kernel_def *def)
{
    chain c;
    c.kernel = make_kernel(d, def);
    stet_array **reals[] = {&c.x, &c.y, &c.x_grad, &c.y_grad};
    for (int i = 0; i < 4; ++i) OK(STI_ARRAY(d, "reals", STET_DTYPE_REAL, true, reals[i], WORLDS, N));
    OK(STI_ARRAY(d, "first", STET_DTYPE_INT, false, &c.first, N + 1));
    OK(stet_array_write(c.first, usual_first, sizeof usual_first));
    set_all(c.x, 1);
    set_gradients(&c);
    OK(stet_kernel_get_adjoint(c.kernel, &c.adjoint));
    return c;
}
static inline chain open_chain(stet_device *d)
{
    stet_kernel_def def = kernel_def(chain_source);
    return open_chain_from(d, &def);
}

static inline void close_chain(const chain *c)
{
    stet_array *const all[] = {c->x, c->first, c->y, c->x_grad, c->y_grad};
    for (int i = 0; i < 5; ++i) stet_array_destroy(all[i]);
    stet_kernel_destroy(c->kernel);
}

static inline stet_result launch_chain(const chain *c)
{
    const stet_arg args[] = {stet_arg_array(c->x), stet_arg_array(c->first), stet_arg_array(c->y), stet_arg_int(N)};
    stet_array *const gradients[] = {c->x_grad, NULL, c->y_grad, NULL};
    return stet_adjoint_launch(c->adjoint, WORLDS, args, gradients, 4);
}

/* Of x -> x^(2^k) at 1: 2^k. */
static inline void check_chain(const chain *c, const int32_t *first)
{
    for (int w = 0; w < WORLDS; ++w)
        for (int i = 0; i < N; ++i) {
            double wanted = 1;
            for (int e = first[i]; e < first[i + 1]; ++e) wanted *= 2;
            if (reals_get(c->x_grad, w, i) != wanted)
                fail_msg("world %d, item %d: %g instead of %g", w, i, reals_get(c->x_grad, w, i), wanted);
        }
}

static inline stet_counter row(const stet_device *d, stet_mechanism which)
{
    return d->mechanisms.counters.mechanism[which];
}

#endif
