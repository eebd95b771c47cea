/*
 * Many cart-poles at once, with policy, reward, termination, reset and observation inside the step (cartpole.k.h).
 *
 *     cartpole [feedback|random] [WORLDS] [STEPS]
 *
 * Says after each 100 steps how many episodes ended, and their mean number of steps and sum of rewards. It looks for
 * its scene and its kernels below CARTPOLE_FOLDER.
 */
#include <stet/stet.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef CARTPOLE_FOLDER
#define CARTPOLE_FOLDER "."
#endif

enum { SUBSTEPS = 4, LIMIT = 500 }; /* 20 ms a step, 10 s an episode */
enum { OBS, SEED, REWARD, DONE, EPISODE, ENDED, NARRAY };
enum { POLICY, JUDGE, OBSERVE, NKERNEL };

typedef struct cartpole {
    stet_model *model;
    stet_sim *sim;
    stet_array *array[NARRAY];
    stet_kernel *kernel[NKERNEL];
} cartpole;

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        stet_result result_ = (call);                                                                                  \
        if (result_ != STET_OK) return result_;                                                                        \
    } while (0)

static stet_result make_sim(cartpole *c, int64_t nworld)
{
    static const char *const names[] = {"observation", "seed", "reward", "done", "episode", "ended"};
    static const int items[] = {4, 1, 1, 1, 2, 3};
    stet_sim_def def = stet_default_sim_def();
    stet_array_def array = stet_default_array_def();
    def.nworld = nworld;
    TRY(stet_model_load(CARTPOLE_FOLDER "/scenes/cartpole.xml", &c->model));
    TRY(stet_sim_create(c->model, &def, &c->sim));
    array.worlds = true;
    array.ndim = 2;
    array.shape[0] = nworld;
    for (int i = 0; i < NARRAY; ++i) {
        array.name = names[i];
        array.shape[1] = items[i];
        array.dtype = i == SEED || i == DONE ? STET_DTYPE_INT : STET_DTYPE_REAL;
        TRY(stet_array_create(stet_sim_get_device(c->sim), &array, &c->array[i]));
    }
    return STET_OK;
}

/* A kernel as a part of each step; it runs over all worlds. */
static stet_result add(cartpole *c, int which, stet_phase phase, const char *name, const stet_arg *args, int narg)
{
    stet_kernel_def def = stet_default_kernel_def();
    def.path = CARTPOLE_FOLDER "/examples/cartpole.k.h";
    def.name = name;
    TRY(stet_kernel_create(stet_sim_get_device(c->sim), &def, &c->kernel[which]));
    return stet_sim_add_kernel(c->sim, phase, c->kernel[which], stet_array_get_shape(c->array[DONE])[0], args, narg,
                               NULL);
}

static stet_result make_step(cartpole *c, bool random)
{
    stet_array *qpos, *qvel, *ctrl, **own = c->array;
    TRY(stet_worlds_get_array(stet_sim_get_worlds(c->sim), "qpos", &qpos));
    TRY(stet_worlds_get_array(stet_sim_get_worlds(c->sim), "qvel", &qvel));
    TRY(stet_worlds_get_array(stet_sim_get_worlds(c->sim), "ctrl", &ctrl));
    stet_arg policy[] = {stet_arg_array(own[OBS]), stet_arg_array(own[SEED]), stet_arg_array(ctrl),
                         stet_arg_int(random)};
    stet_arg judge[] = {stet_arg_array(qpos),         stet_arg_array(own[REWARD]), stet_arg_array(own[DONE]),
                        stet_arg_array(own[EPISODE]), stet_arg_array(own[ENDED]),  stet_arg_int(LIMIT)};
    stet_arg observe[] = {stet_arg_array(qpos), stet_arg_array(qvel), stet_arg_array(own[DONE]),
                          stet_arg_array(own[EPISODE]), stet_arg_array(own[OBS])};
    stet_reset_def reset = stet_default_reset_def();
    reset.qpos_noise = reset.qvel_noise = 0.05;
    TRY(add(c, POLICY, STET_PHASE_BEFORE_PHYSICS, "k_policy", policy, 4));
    TRY(add(c, JUDGE, STET_PHASE_AFTER_PHYSICS, "k_judge", judge, 6));
    TRY(stet_sim_set_reset(c->sim, own[DONE], &reset));
    TRY(add(c, OBSERVE, STET_PHASE_AFTER_RESET, "k_observe", observe, 5));
    TRY(stet_sim_reset(c->sim, &reset)); /* the first episodes begin, and their first observation */
    return stet_kernel_launch(c->kernel[OBSERVE], stet_array_get_shape(own[DONE])[0], observe, 5);
}

/* What ended up to now, less what had ended at the last report. */
static stet_result report(cartpole *c, int step, double before[3])
{
    const void *rows;
    double all[3] = {0};
    TRY(stet_array_get_host(c->array[ENDED], &rows));
    for (int64_t i = 0; i < stet_array_get_nelement(c->array[ENDED]); ++i)
        all[i % 3] += (double)((const float *)rows)[i];
    double n = all[0] - before[0];
    printf("step %5d: %5.0f episodes ended", step, n);
    if (n > 0) printf(", of %5.1f steps and %5.1f reward", (all[1] - before[1]) / n, (all[2] - before[2]) / n);
    printf("\n");
    memcpy(before, all, sizeof all);
    return STET_OK;
}

static stet_result run(cartpole *c, bool random, int64_t nworld, int nstep)
{
    double before[3] = {0};
    TRY(make_sim(c, nworld));
    TRY(make_step(c, random));
    for (int step = 1; step <= nstep; ++step) {
        TRY(stet_sim_step(c->sim, SUBSTEPS));
        if (step % 100 == 0) TRY(report(c, step, before));
    }
    return STET_OK;
}

int main(int argc, char **argv)
{
    cartpole c = {0};
    stet_result result = run(&c, argc > 1 && strcmp(argv[1], "random") == 0, argc > 2 ? atoi(argv[2]) : 256,
                             argc > 3 ? atoi(argv[3]) : 1000);
    if (result != STET_OK) fprintf(stderr, "cartpole: %s: %s\n", stet_result_sentence(result), stet_get_last_error());
    for (int i = 0; i < NARRAY; ++i) stet_array_destroy(c.array[i]);
    for (int i = 0; i < NKERNEL; ++i) stet_kernel_destroy(c.kernel[i]);
    stet_sim_destroy(c.sim);
    stet_model_destroy(c.model);
    return result != STET_OK;
}
