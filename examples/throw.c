/*
 * Throws balls through rings: finds with which velocity, by gradient descent through 200 steps of flight, over a floor
 * that they bounce on (throw.k.h, adam.k.h).
 *
 *     throw [cpu|cuda|hip] [RINGS] [ITERATIONS] [SEED]
 *
 * All throws are made at once: each ring gets four, which begin low, or high, or towards the floor. The loss looks at
 * the moment at which a ball is nearest, sharper as the throws get better. Exit code 1: some ring was missed by all
 * four.
 */
#include "descent.h"

enum { STEPS = 200, TRIES = 4 };
enum { THROW, FLY, NEAR, MISSED, THROUGH, NKERNEL };
enum { LAUNCHED, RING, POS, VEL, NEARNESS, MISS, ONE, PASSED, FROM, NARRAY };

static const float from[3] = {0, 0, 1.5F}; /* m */
static const double timestep = 1.0 / 128;  /* s */

static_assert(NKERNEL <= (int)MOST_KERNELS && NARRAY <= (int)MOST_ARRAYS, "room in a problem");

#define OF(name) ARRAY(t->array[name])

static stet_result open_all(problem *t, const char *device)
{
    static const char *const kernels[] = {"k_throw", "k_fly", "k_near", "k_miss", "k_through"};
    static const char *const names[] = {"launch", "ring", "pos", "vel", "near", "miss", "one", "through"};
    static const int items[] = {3, 3, 3, 3, 1, 1, 1, 1};
    TRY(open_device(device, &t->device));
    for (int i = LAUNCHED; i <= PASSED; ++i)
        TRY(open_array(t->device, names[i], i == PASSED ? STET_DTYPE_INT : STET_DTYPE_REAL, t->nworld, items[i],
                       &t->array[i]));
    TRY(open_array(t->device, "from", STET_DTYPE_REAL, PLAIN, 3, &t->array[FROM]));
    TRY(write_all(t->array[FROM], from));
    for (int i = 0; i < NKERNEL; ++i)
        TRY(open_kernel(t->device, EXAMPLES_FOLDER "/throw.k.h", kernels[i], &t->kernel[i]));
    return open_solver(t, t->array[LAUNCHED]);
}

/* Where rings are, and how the throws begin: velocities in m/s. */
static stet_result set_up(const problem *t, uint32_t seed)
{
    static const float one = 1;
    float ring[3] = {0};
    for (int64_t w = 0; w < t->nworld; ++w) {
        float launch[3] = {between(&seed, 2, 4), between(&seed, -1, 1), (float)(w % TRIES) * 2 - 1};
        if (w % TRIES == 0) {
            ring[0] = between(&seed, 3, 6);
            ring[1] = between(&seed, -2, 2);
            ring[2] = between(&seed, 0.4, 2);
        }
        TRY(stet_array_write_worlds(t->array[RING], w, 1, ring, sizeof ring));
        TRY(stet_array_write_worlds(t->array[LAUNCHED], w, 1, launch, sizeof launch));
        TRY(stet_array_write_worlds(t->array[ONE], w, 1, &one, sizeof one));
    }
    return STET_OK;
}

static stet_result fly(const problem *t)
{
    return LAUNCH(t->kernel[FLY], t->nworld, OF(POS), OF(VEL), REAL(timestep), REAL(9.81), REAL(0.1), REAL(2000),
                  REAL(2), REAL(0.02));
}

static stet_result throw_all(const problem *t)
{
    return LAUNCH(t->kernel[THROW], t->nworld, OF(FROM), OF(LAUNCHED), OF(POS), OF(VEL), OF(NEARNESS));
}

static stet_result run(const problem *t, double sharp)
{
    TRY(throw_all(t));
    for (int i = 0; i < STEPS; ++i) {
        TRY(stet_tape_step(t->tape));
        TRY(fly(t));
        TRY(LAUNCH(t->kernel[NEAR], t->nworld, OF(POS), OF(RING), OF(NEARNESS), REAL(sharp)));
    }
    return LAUNCH(t->kernel[MISSED], t->nworld, OF(NEARNESS), OF(MISS), REAL(sharp));
}

/* One step of the optimizer, for all throws. */
static stet_result better(problem *t, double sharp, double rate)
{
    stet_array *gradient;
    TRY(stet_tape_begin(t->tape));
    TRY(stet_tape_end(t->tape, run(t, sharp)));
    TRY(pass_back(t, t->array[MISS], t->array[ONE], t->array[LAUNCHED], &gradient));
    return descend(&t->descent, gradient, rate);
}

/* Throws once more and counts: balls that went through, and rings that some ball went through. */
static stet_result count(const problem *t, int iteration, int64_t *rings)
{
    static const int32_t none = 0;
    const void *passed;
    int64_t balls = 0;
    bool any = false;
    TRY(throw_all(t));
    for (int64_t w = 0; w < t->nworld; ++w) TRY(stet_array_write_worlds(t->array[PASSED], w, 1, &none, sizeof none));
    for (int i = 0; i < STEPS; ++i) {
        TRY(fly(t));
        TRY(LAUNCH(t->kernel[THROUGH], t->nworld, OF(POS), OF(VEL), OF(RING), OF(PASSED), REAL(timestep), REAL(0.2)));
    }
    TRY(stet_array_get_host(t->array[PASSED], &passed));
    *rings = 0;
    for (int64_t w = 0; w < t->nworld; ++w) {
        bool through = ((const int32_t *)passed)[w] != 0;
        balls += through;
        any = through || (w % TRIES && any);
        *rings += w % TRIES == TRIES - 1 && any;
    }
    printf("iteration %3d: %lld of %lld balls go through their rings; %lld of %lld rings\n", iteration,
           (long long)balls, (long long)t->nworld, (long long)*rings, (long long)t->nworld / TRIES);
    return STET_OK;
}

static stet_result find(problem *t, const choices *c, int64_t *rings)
{
    TRY(open_all(t, c->device));
    TRY(set_up(t, c->seed));
    for (int i = 0; i < c->iterations; ++i) {
        if (i % 25 == 0) TRY(count(t, i, rings));
        TRY(better(t, 0.2 * pow(100, (double)i / c->iterations), i < c->iterations * 3 / 5 ? 0.25 : 0.05));
    }
    return count(t, c->iterations, rings);
}

int main(int argc, char **argv)
{
    const choices c = choices_of(argc, argv, 64, 100);
    int64_t rings = 0;
    problem t = {.nworld = TRIES * c.n};
    if (!some("throw", t.nworld)) return 1;
    stet_result result = find(&t, &c, &rings);
    return finish("throw", result, rings == c.n, &t);
}
