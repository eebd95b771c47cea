/*
 * For tests of tapes: the springs (bench/pilot/springs.k.h) as a person's own kernels, stepped on a tape, with the
 * gradients of a sum of weighted positions.
 */
#ifndef TEST_ADJOINT_TAPE_RIG_H
#define TEST_ADJOINT_TAPE_RIG_H

#include "kernel/user_rig.h"

#include "bench/pilot/springs.h"
#include "stet/adjoint.h"

enum { SPRING_KERNELS = 10, WORLDS = 5, M3 = 3 * STI_SPRING_MASSES };

typedef struct sheets {
    stet_device *device;
    sti_springs s;
    stet_kernel *kernel[SPRING_KERNELS];
    double weight; /* of one mass, N */
    bool recorded; /* each step is a list */
    stet_tape *tape;
} sheets;

static inline void make_spring_kernels(stet_device *device, stet_kernel *kernel[SPRING_KERNELS])
{
    static const char *const names[SPRING_KERNELS] = {
        "k_spring_way",  "k_spring_length", "k_spring_direction", "k_spring_rate",   "k_spring_tension",
        "k_mass_weight", "k_mass_pull",     "k_mass_contact",     "k_mass_velocity", "k_mass_position"};
    for (int i = 0; i < SPRING_KERNELS; ++i) {
        stet_kernel_def def = kernel_def(NULL);
        def.path = STET_TEST_SOURCE_DIR "/bench/pilot/springs.k.h";
        def.name = names[i];
        kernel[i] = make_kernel(device, &def);
    }
}

static inline sheets open_sheets(stet_device *device, int64_t every)
{
    sheets x = {.device = device, .weight = STI_SPRING_MASS * STI_SPRING_GRAVITY};
    stet_tape_def def = stet_default_tape_def();
    def.every = every;
    OK(sti_springs_create(device, WORLDS, &x.s));
    make_spring_kernels(device, x.kernel);
    OK(stet_tape_create(device, &def, &x.tape));
    return x;
}

static inline void close_sheets(sheets *x)
{
    stet_tape_destroy(x->tape);
    for (int i = 0; i < SPRING_KERNELS; ++i) stet_kernel_destroy(x->kernel[i]);
    sti_springs_destroy(&x->s);
}

#define A stet_arg_array
#define N stet_arg_int
#define R stet_arg_real
#define RUN(k, ...)                                                                                                    \
    do {                                                                                                               \
        const stet_arg args_[] = {__VA_ARGS__};                                                                        \
        STI_TRY(stet_kernel_launch(x->kernel[k], WORLDS, args_, (int)(sizeof args_ / sizeof *args_)));                 \
    } while (0)

static inline stet_result half_a_step(const sheets *x)
{
    const sti_springs *s = &x->s;
    RUN(0, A(s->pos), A(s->spring), A(s->way), N(s->nspring));
    RUN(1, A(s->way), A(s->length), N(s->nspring));
    RUN(2, A(s->length), A(s->way), N(s->nspring));
    RUN(3, A(s->vel), A(s->way), A(s->spring), A(s->rate), N(s->nspring));
    RUN(4, A(s->length), A(s->rate), A(s->rest), A(s->stiffness), A(s->damping), A(s->tension), N(s->nspring));
    RUN(5, A(s->force), R(x->weight), N(STI_SPRING_MASSES));
    RUN(6, A(s->tension), A(s->way), A(s->first), A(s->end), A(s->force), N(STI_SPRING_MASSES));
    RUN(7, A(s->pos), A(s->vel), A(s->force), R(STI_SPRING_RADIUS), R(STI_FLOOR_STIFFNESS), R(STI_FLOOR_DAMPING),
        R(STI_FLOOR_SLIP), N(STI_SPRING_MASSES));
    RUN(8, A(s->force), A(s->vel), R(STI_SPRING_HALF / STI_SPRING_MASS), N(STI_SPRING_MASSES));
    RUN(9, A(s->vel), A(s->pos), R(STI_SPRING_HALF), N(STI_SPRING_MASSES));
    return STET_OK;
}

static inline stet_result one_step(const sheets *x)
{
    STI_TRY(half_a_step(x));
    return half_a_step(x);
}

static inline stet_result steps_of(const sheets *x, int n, bool taped)
{
    for (int i = 0; i < n; ++i) {
        if (taped) STI_TRY(stet_tape_step(x->tape));
        if (x->recorded) STI_TRY(stet_record_begin(x->device, "a step"));
        stet_result result = one_step(x);
        STI_TRY(x->recorded ? stet_record_end(x->device, result) : result);
    }
    return STET_OK;
}

static inline void take_down(const sheets *x, int n)
{
    OK(stet_tape_begin(x->tape));
    OK(stet_tape_end(x->tape, steps_of(x, n, true)));
}

/* The weight of item i of world w in the sum. */
static inline double weight_of(int64_t w, int64_t i) { return 0.25 + 0.125 * (double)((i * 7 + w * 3) % 11) - 0.5; }

static inline stet_array *gradient_of(const sheets *x, stet_array *array)
{
    stet_array *gradient;
    OK(stet_tape_get_gradient(x->tape, array, &gradient));
    return gradient;
}

/* All gradients 0 but that of the positions. */
static inline void seed(const sheets *x)
{
    OK(stet_tape_zero(x->tape));
    stet_array *gradient = gradient_of(x, x->s.pos);
    void *mirror;
    OK(sti_array_mirror_write(gradient, &mirror));
    for (int w = 0; w < WORLDS; ++w)
        for (int i = 0; i < M3; ++i) sti_mirror_set(gradient, mirror, w, i, weight_of(w, i));
    sti_array_mirror_written(gradient);
}

static inline double item(stet_array *array, int64_t w, int64_t i)
{
    void *mirror;
    OK(sti_array_mirror_read(array, &mirror));
    return sti_mirror_get(array, mirror, w, i);
}

static inline uint64_t hash_of(const stet_array *array)
{
    uint64_t hash;
    OK(stet_array_hash(array, &hash));
    return hash;
}

/* Gradients of all that a sheet begins with. */
static inline uint64_t gradients_hash(const sheets *x)
{
    stet_array *weight;
    OK(stet_tape_get_number_gradient(x->tape, x->kernel[5], "weight", &weight));
    const stet_array *all[] = {gradient_of(x, x->s.pos),
                               gradient_of(x, x->s.vel),
                               gradient_of(x, x->s.stiffness),
                               gradient_of(x, x->s.damping),
                               gradient_of(x, x->s.rest),
                               gradient_of(x, x->s.force),
                               weight};
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) hash = hash * UINT64_C(1099511628211) + hash_of(all[i]);
    return hash;
}

/* What the launches leave: all arrays that they write. */
static inline uint64_t state_hash(const sheets *x)
{
    const sti_springs *s = &x->s;
    const stet_array *all[] = {s->pos, s->vel, s->force, s->way, s->length, s->rate, s->tension};
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) hash = hash * UINT64_C(1099511628211) + hash_of(all[i]);
    return hash;
}

#endif
