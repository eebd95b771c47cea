/*
 * For tests of tapes: a few small kernels over small arrays, whose gradients can be told by hand.
 */
#ifndef TEST_ADJOINT_TAPE_SMALL_H
#define TEST_ADJOINT_TAPE_SMALL_H

#include "device/devices.h"

#include "kernel/user_rig.h"

#include "stet/adjoint.h"

enum { FEW = 5, ITEMS = 4 };

static const char small_source[] =
    "#include \"stet/lang.h\"\n"
    "world_kernel void k_scale(const real *x, const ureal *t, ureal a, real *y, int n)\n"
    "{ each (i, n) put(y, i, x[i] * splat(t[i] * a)); }\n"
    "world_kernel void k_square(real *x, int n) { each (i, n) put(x, i, x[i] * x[i]); }\n"
    "world_kernel void k_product(const real *x, const real *z, real *y, int n) { each (i, n) put(y, i, x[i] * z[i]); "
    "}\n"
    /* y takes x at count[0], and count goes on. */
    "world_kernel void k_pick(const real *x, const int *count, real *y) { put(y, count[0] % 4, y[0] + x[count[0] % 4] "
    "* "
    "x[count[0] % 4]); }\n"
    "item_kernel void k_next(int *count, int block) { each (i, 1) count[block + i] = count[block + i] + 1; }\n"
    /* Every second element. */
    "world_kernel void k_half(const real *x, real *y, int n) { each (i, n / 2) put(y, 2 * i, x[i]); }\n"
    /* y = y + x[0] ^ (2 ^ count[0]): a loop that keeps its factors. */
    "world_kernel void k_power(const real *x, const int *count, real *y)\n"
    "{ real s = x[0]; for (int e = 0; e < count[0]; ++e) s = s * s; put(y, 0, y[0] + s); }\n"
    "item_kernel void k_plain(const ureal *t, ureal a, ureal *u, int n, int block)\n"
    "{ items (p, nmin(2, n - block * 2)) { int q = block * 2 + p; mask live = in_range(q, n);\n"
    "  real x = load(t + q); store_if(live, u + q, x * x * splat(a)); } }\n"
    "world_kernel void k_bits(const real *x, real *y) { put(y, 0, to_real(as_bits(x[0]))); }\n";

typedef enum small_kernel { SCALE, SQUARE, PRODUCT, PICK, NEXT, HALF, POWER, PLAIN, BITS, SMALL_KERNELS } small_kernel;

typedef struct small {
    stet_device *device;
    stet_kernel *kernel[SMALL_KERNELS];
    stet_array *x, *y, *z, *t, *count; /* t, count plain */
    stet_tape *tape;
} small;

/* A value for each element that `array` shows to the host. */
static inline void write_reals(stet_array *array, double (*value)(int64_t w, int64_t i))
{
    double wide[FEW * ITEMS];
    float single[FEW * ITEMS];
    int64_t n = stet_array_get_nelement(array);
    assert_true(n <= FEW * ITEMS);
    for (int64_t k = 0; k < n; ++k) single[k] = (float)(wide[k] = value(k / ITEMS, k % ITEMS));
    bool is_wide = array->device->real_size == sizeof(double);
    OK(stet_array_write(array, is_wide ? (const void *)wide : single, stet_array_get_bytes(array)));
}
static inline double value_of_x(int64_t w, int64_t i) { return 1 + (double)w + 0.5 * (double)i; }
static inline double value_of_t(int64_t w, int64_t i) { return (double)w + 1 + (double)i; }

static inline void fill_small(const small *s)
{
    const int32_t zero[2] = {0, 0};
    write_reals(s->x, value_of_x);
    write_reals(s->t, value_of_t);
    OK(stet_array_write(s->count, zero, sizeof zero));
}

static inline small open_small(stet_device *device, int64_t every)
{
    static const char *const names[] = {"k_scale", "k_square", "k_product", "k_pick", "k_next",
                                        "k_half",  "k_power",  "k_plain",   "k_bits"};
    small s = {.device = device};
    stet_tape_def def = stet_default_tape_def();
    def.every = every;
    for (int i = 0; i < SMALL_KERNELS; ++i) {
        stet_kernel_def own = kernel_def(small_source);
        own.name = names[i];
        s.kernel[i] = make_kernel(device, &own);
    }
    OK(STI_ARRAY(device, "x", STET_DTYPE_REAL, true, &s.x, FEW, ITEMS));
    OK(STI_ARRAY(device, "y", STET_DTYPE_REAL, true, &s.y, FEW, ITEMS));
    OK(STI_ARRAY(device, "z", STET_DTYPE_REAL, true, &s.z, FEW, ITEMS));
    OK(STI_ARRAY(device, "t", STET_DTYPE_REAL, false, &s.t, ITEMS));
    OK(STI_ARRAY(device, "count", STET_DTYPE_INT, false, &s.count, 2));
    fill_small(&s);
    OK(stet_tape_create(device, &def, &s.tape));
    return s;
}

static inline void close_small(small *s)
{
    stet_tape_destroy(s->tape);
    for (int i = 0; i < SMALL_KERNELS; ++i) stet_kernel_destroy(s->kernel[i]);
    stet_array *all[] = {s->x, s->y, s->z, s->t, s->count};
    for (int i = 0; i < 5; ++i) stet_array_destroy(all[i]);
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static inline stet_result scale(const small *s, stet_array *x, double a, stet_array *y)
{
    const stet_arg args[] = {stet_arg_array(x), stet_arg_array(s->t), stet_arg_real(a), stet_arg_array(y),
                             stet_arg_int(ITEMS)};
    return stet_kernel_launch(s->kernel[SCALE], FEW, args, 5);
}
static inline stet_result square(const small *s, stet_array *x)
{
    const stet_arg args[] = {stet_arg_array(x), stet_arg_int(ITEMS)};
    return stet_kernel_launch(s->kernel[SQUARE], FEW, args, 2);
}
static inline stet_result product(const small *s, stet_array *x, stet_array *z, stet_array *y)
{
    const stet_arg args[] = {stet_arg_array(x), stet_arg_array(z), stet_arg_array(y), stet_arg_int(ITEMS)};
    return stet_kernel_launch(s->kernel[PRODUCT], FEW, args, 4);
}
static inline stet_result pick(const small *s)
{
    const stet_arg args[] = {stet_arg_array(s->x), stet_arg_array(s->count), stet_arg_array(s->y)};
    return stet_kernel_launch(s->kernel[PICK], FEW, args, 3);
}
static inline stet_result next(const small *s)
{
    const stet_arg args[] = {stet_arg_array(s->count)};
    return stet_kernel_launch(s->kernel[NEXT], 1, args, 1);
}
static inline stet_result half(const small *s, stet_array *x, stet_array *y)
{
    const stet_arg args[] = {stet_arg_array(x), stet_arg_array(y), stet_arg_int(ITEMS)};
    return stet_kernel_launch(s->kernel[HALF], FEW, args, 3);
}
static inline stet_result power(const small *s)
{
    const stet_arg args[] = {stet_arg_array(s->x), stet_arg_array(s->count), stet_arg_array(s->y)};
    return stet_kernel_launch(s->kernel[POWER], FEW, args, 3);
}
static inline stet_result plain(const small *s, stet_array *u)
{
    const stet_arg args[] = {stet_arg_array(s->t), stet_arg_real(3), stet_arg_array(u), stet_arg_int(ITEMS)};
    return stet_kernel_launch(s->kernel[PLAIN], ITEMS / 2, args, 4);
}
static inline stet_result bits(const small *s, stet_array *x, stet_array *y)
{
    const stet_arg args[] = {stet_arg_array(x), stet_arg_array(y)};
    return stet_kernel_launch(s->kernel[BITS], FEW, args, 2);
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

static inline stet_array *gradient_of(const small *s, stet_array *array)
{
    stet_array *gradient;
    OK(stet_tape_get_gradient(s->tape, array, &gradient));
    return gradient;
}
static inline double get(stet_array *array, int64_t w, int64_t i)
{
    void *mirror;
    OK(sti_array_mirror_read(array, &mirror));
    return sti_mirror_get(array, mirror, w, i);
}
static inline double value_one(int64_t w, int64_t i) { return w + i >= 0 ? 1 : 0; }
/* All gradients 0 but that of `array`: 1. */
static inline void seed_ones(const small *s, stet_array *array)
{
    OK(stet_tape_zero(s->tape));
    write_reals(gradient_of(s, array), value_one);
}

/* A tape on a device of its own. */
#define FOR_SMALL(s, every)                                                                                            \
    for (stet_device *device_ = open_device(STI_ISA_portable, 1); device_;                                             \
         stet_device_destroy(device_), device_ = NULL)                                                                 \
        for (small s = open_small(device_, (every)); s.tape; close_small(&s), s.tape = NULL)

#endif
