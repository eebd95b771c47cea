/*
 * Sides of the benchmark of native physics: worlds that a scene's states are put into and that are stepped, by stet or
 * by MuJoCo; what their steps were about.
 */
#ifndef BENCH_PHYSICS_SIDES_H
#define BENCH_PHYSICS_SIDES_H

#include "bench/bench.h"

#include "physics/native.h"
#include "stet/step.h"

typedef struct bench_scene {
    const char *name, *text; /* a text begins with '<', else it is the file of a shipped scene, or (given) its path */
    double goal;             /* 0: none */
    double goal_avx2;        /* the same with AVX2 where there is AVX-512; 0: is not measured */
    bool scaling;            /* is measured with many numbers of worlds */
    double goal_kB;          /* of memory a world on a GPU; 0: none */
    bool large;              /* of many bodies: on a CPU 64 worlds, from states after LATE steps */
    bool stages;             /* is measured by `stages` */
    bool given;              /* by --scene */
} bench_scene;

/* Steps of a call, calls of a measurement; fields of the state that is put; steps until states are taken. */
enum { CALL = 10, CALLS = 2, STATE_FIELDS = 4, WARM = 100, STATES = 512, LATE = 300 };

typedef enum cut { CUT_NOTHING, CUT_ITERATIONS, CUT_CONSTRAINTS } cut; /* what a side leaves out of a step */

typedef struct side {
    stet_device *device;
    stet_model *model;
    stet_worlds *worlds;
    stet_step *mujoco; /* one of the two */
    sti_native *native;
} side;

typedef struct states {
    int64_t nworld;
    float *row[STATE_FIELDS]; /* [nworld][items] */
} states;

typedef struct load {
    double contacts, rows, iterations, shared; /* mean of a world; rows of its lanes together over its own */
    double packed;                             /* the same if worlds were in lanes with others like them */
    int bad;                                   /* worlds with NaN or a fault */
} load;

stet_result load_scene(const bench *b, const bench_scene *scene, cut without, stet_model **out);
/* What is made by a call that fails is destroyed by close_side. */
stet_result open_side(const bench *b, const bench_scene *scene, bool native, int threads, int64_t nworld,
                      const char *isa, cut without, side *s);
/* The same on this device, with native physics. */
stet_result open_side_on(const bench *b, const bench_scene *scene, const stet_device_def *device, int64_t nworld,
                         side *s);
void close_side(side *s);
stet_result step_side(side *s, int n);

/* -1 … 1. */
double draw_wave(uint64_t *dice);
/* Gives worlds without controls, which would all be the same, random velocities. */
stet_result push_worlds(side *s);
/* Steps a side with random controls and takes what that leads to. */
stet_result make_states(side *s, int steps, states *out);
/* The same states, but that every other world, or each (`all`), is two metres higher; of scenes whose root is free. */
stet_result lift_worlds(const side *s, const states *from, bool all, states *out);
bool has_free_root(const side *s);
/* Each world gets masses, inertias, frictions and sizes of its own. */
stet_result make_worlds_differ(side *s);
/* Four times the room for contacts that a plain side has; *now 0: the model can have no more. */
stet_result make_more_room(side *s, const side *plain, int *before, int *now);
/* World w gets state w of those there are, again from the first on after the last. */
stet_result put_states(side *s, const states *from);
/*
 * What `steps` further steps with random controls lead to: parameters of a side's own leave it out of balance in states
 * of others, which costs iterations.
 */
stet_result settle(side *s, const states *from, int steps, states *out);
void free_states(states *s);

stet_result measure_load(side *s, load *out);
/*
 * States of native physics on the CPU after LATE steps with random controls, of STATES worlds (quick: fewer of both),
 * and their load, unless `of` is NULL. Worlds without controls begin with random velocities.
 */
stet_result make_late_states(const bench *b, const bench_scene *scene, states *out, load *of);
/* Runs native physics from states until there is room for all their contacts, and resets the worlds. */
stet_result grow_room(side *s, const states *from);
int count_faults(const side *s); /* worlds with one */
/* Seconds of calls of n steps from the states: the mean of as many repetitions as `least` takes. */
stet_result time_calls(side *s, const states *from, int calls, int steps, double least, double *seconds);
/* The same of CALLS calls of CALL steps. */
stet_result time_side(side *s, const states *from, double least, double *seconds);

/* Rows of one scene on the GPU that was asked for; of one that was given only those of numbers of worlds. */
stet_result measure_on_gpu(bench *b, const bench_scene *scene);
/* A scene that native physics lacks something for has a row that says what. */
stet_result name_missing(bench *b, const bench_scene *scene, bool *covered);
/* Rows of a scene's file that was given. */
stet_result measure_given(bench *b, const char *path);
/* Rows of one scene for `stages`, on the device that was asked for. */
stet_result measure_stages_of(bench *b, const bench_scene *scene);

#endif
