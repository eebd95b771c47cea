/*
 * What the examples `fit` and `throw` share: a device, kernels from a file, arrays of worlds, a tape through the
 * simulation, and Adam (adam.k.h) on one of the arrays, all worlds at once.
 */
#ifndef DESCENT_H
#define DESCENT_H

#include <stet/stet.h>

#include <assert.h>
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

/* PROGRAM [cpu|cuda|hip] [N] [ITERATIONS] [SEED] */
typedef struct choices {
    const char *device;
    int64_t n;
    int iterations;
    uint32_t seed;
} choices;

static inline choices choices_of(int argc, char **argv, int64_t n, int iterations)
{
    return (choices){.device = argc > 1 ? argv[1] : "cpu",
                     .n = argc > 2 ? atoll(argv[2]) : n,
                     .iterations = argc > 3 ? atoi(argv[3]) : iterations,
                     .seed = argc > 4 ? (uint32_t)atoi(argv[4]) : 1};
}

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
    return stet_array_write(array, data, stet_array_get_bytes(array));
}

static inline stet_result read_all(stet_array *array, const float **out)
{
    const void *data;
    TRY(stet_array_get_host(array, &data));
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

/* ---- Adam -------------------------------------------------------------------------------------------------------- */

typedef struct descent {
    stet_kernel *kernel;
    stet_array *x, *mean, *square; /* x is the caller's; [nworld][n] */
    int64_t nworld, n;
    int steps;
} descent;

static inline stet_result open_descent(stet_device *device, stet_array *x, descent *out)
{
    *out = (descent){.x = x, .nworld = stet_array_get_shape(x)[0], .n = stet_array_get_shape(x)[1]};
    TRY(open_kernel(device, EXAMPLES_FOLDER "/adam.k.h", NULL, &out->kernel));
    TRY(open_array(device, "mean", STET_DTYPE_REAL, out->nworld, out->n, &out->mean));
    return open_array(device, "square", STET_DTYPE_REAL, out->nworld, out->n, &out->square);
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

/* ---- what is solved by it ---------------------------------------------------------------------------------------- */

enum { MOST_KERNELS = 8, MOST_ARRAYS = 16 };

/* What was not opened is NULL. */
typedef struct problem {
    stet_device *device;
    stet_kernel *kernel[MOST_KERNELS];
    stet_array *array[MOST_ARRAYS];
    stet_tape *tape;
    descent descent;
    int64_t nworld;
} problem;

/* The tape, and Adam on `x`: last, when all else is open. */
static inline stet_result open_solver(problem *p, stet_array *x)
{
    stet_tape_def def = stet_default_tape_def();
    TRY(stet_tape_create(p->device, &def, &p->tape));
    return open_descent(p->device, x, &p->descent);
}

/*
 * Back through what is on the tape: the gradient of the sum of `loss` with respect to `x`, in *out; `one` has the shape
 * of `loss` and holds ones.
 */
static inline stet_result pass_back(const problem *p, stet_array *loss, stet_array *one, stet_array *x,
                                    stet_array **out)
{
    stet_array *gradient;
    TRY(stet_tape_zero(p->tape));
    TRY(stet_tape_get_gradient(p->tape, loss, &gradient));
    TRY(stet_array_copy(gradient, one));
    TRY(stet_tape_get_gradient(p->tape, x, out));
    return stet_tape_backward(p->tape);
}

/*
 * Closes everything, says what failed, if something did, and returns the program's exit code; good: it found what it
 * looked for.
 */
static inline int finish(const char *program, stet_result result, bool good, problem *p)
{
    if (result != STET_OK)
        fprintf(stderr, "%s: %s: %s\n", program, stet_result_sentence(result), stet_get_last_error());
    close_descent(&p->descent);
    stet_tape_destroy(p->tape);
    for (int i = 0; i < MOST_ARRAYS; ++i) stet_array_destroy(p->array[i]);
    for (int i = 0; i < MOST_KERNELS; ++i) stet_kernel_destroy(p->kernel[i]);
    stet_device_destroy(p->device);
    return result != STET_OK || !good;
}

#endif
