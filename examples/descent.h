/*
 * What the examples `fit` and `throw` share: a device, kernels from a file, arrays of worlds, and Adam (adam.k.h) on one of them, all worlds at once.
 */
#ifndef DESCENT_H
#define DESCENT_H

#include <stet/stet.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef EXAMPLES_FOLDER
#define EXAMPLES_FOLDER "examples"
#endif

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        stet_result result_ = (call);                                                                                  \
        if (result_ != STET_OK) return result_;                                                                        \
    } while (0)

/* Of a kernel launch over n worlds. */
#define LAUNCH(kernel, n, ...)                                                                                         \
    stet_kernel_launch(kernel, n, (const stet_arg[]){__VA_ARGS__},                                                     \
                       (int)(sizeof((const stet_arg[]){__VA_ARGS__}) / sizeof(stet_arg)))
#define ARRAY stet_arg_array
#define WHOLE stet_arg_int
#define REAL stet_arg_real

/* Says so if there is nothing to do. */
static inline bool some(const char *program, int64_t n)
{
    if (n < 1) fprintf(stderr, "%s: %lld of them; ask for at least 1\n", program, (long long)n);
    return n >= 1;
}

static inline stet_result open_device(const char *name, stet_device **out)
{
    stet_device_def def = stet_default_device_def();
    def.type = strcmp(name, "cuda") == 0  ? STET_DEVICE_CUDA
               : strcmp(name, "hip") == 0 ? STET_DEVICE_HIP
                                          : STET_DEVICE_CPU;
    return stet_device_create(&def, out);
}

static inline stet_result open_kernel(stet_device *device, const char *path, const char *name, stet_kernel **out)
{
    stet_kernel_def def = stet_default_kernel_def();
    def.path = path;
    def.name = name;
    return stet_kernel_create(device, &def, out);
}

/* [nworld][n]; PLAIN: [n], the same for all worlds. */
enum { PLAIN = 0 };
static inline stet_result open_array(stet_device *device, const char *name, stet_dtype type, int64_t nworld, int64_t n,
                                     stet_array **out)
{
    stet_array_def def = stet_default_array_def();
    def.name = name;
    def.dtype = type;
    def.worlds = nworld != PLAIN;
    def.ndim = def.worlds ? 2 : 1;
    def.shape[0] = def.worlds ? nworld : n;
    def.shape[1] = def.worlds ? n : 0;
    return stet_array_create(device, &def, out);
}

static inline stet_result write_all(stet_array *array, const void *data)
{
    return stet_array_write(array, data, stet_array_bytes(array));
}

static inline stet_result read_all(stet_array *array, const float **out)
{
    const void *data;
    TRY(stet_array_host(array, &data));
    *out = data;
    return STET_OK;
}

/* A number from low to high; the same sequence everywhere (G. Marsaglia's xorshift, 2003). */
static inline float between(uint32_t *state, double low, double high)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return (float)(low + (high - low) * *state / 4294967296.0);
}

/* ---- Adam --------------------------------------------------------------------------------------------------------- */

typedef struct descent {
    stet_kernel *kernel;
    stet_array *x, *mean, *square; /* x is the caller's; [nworld][n] */
    int64_t nworld, n;
    int steps;
} descent;

static inline stet_result open_descent(stet_device *device, stet_array *x, descent *out)
{
    *out = (descent){.x = x, .nworld = stet_array_shape(x)[0], .n = stet_array_shape(x)[1]};
    TRY(open_kernel(device, EXAMPLES_FOLDER "/adam.k.h", NULL, &out->kernel));
    TRY(open_array(device, "mean", STET_REAL, out->nworld, out->n, &out->mean));
    return open_array(device, "square", STET_REAL, out->nworld, out->n, &out->square);
}

static inline stet_result descend(descent *d, const stet_array *gradient, double rate)
{
    d->steps++;
    return LAUNCH(d->kernel, d->nworld, ARRAY(d->x), ARRAY(gradient), ARRAY(d->mean), ARRAY(d->square), REAL(rate),
                  REAL(1 - pow(0.9, d->steps)), REAL(1 - pow(0.999, d->steps)), WHOLE(d->n));
}

static inline void close_descent(descent *d)
{
    stet_array_destroy(d->mean);
    stet_array_destroy(d->square);
    stet_kernel_destroy(d->kernel);
}

#endif
