/*
 * `stet bench physics --scene`: anybody's model, by its file's name and a hash of what is compiled from it.
 *
 * On a CPU native physics beside MuJoCo's on one core, from states after WARM steps with random controls (physics.c),
 * with one step a call and with FEW: what a call costs is shared among its steps. Times are the processor's, so that
 * other processes do not count. On a GPU the rows of physics_gpu.c.
 */
#include "bench/physics_sides.h"

#include "base/error.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { USUAL = 64, FEW = 5 };

/* What native physics is held to with USUAL worlds; a file that has changed has another name here, and no goal. */
static const struct {
    const char *name;
    double ratio;
} goals[] = {{"scene.xml@08f3b5e4", 3}, {"g1.xml@4c902986", 5}, {"free_bodies.xml@4a7472f2", 3}};

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static double processor_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The processor's seconds of `calls` calls from the states: the mean of as many repetitions as `least` takes. */
static stet_result time_on_core(side *s, const states *from, int calls, int steps, double least, double *seconds)
{
    double spent = 0;
    int n = 0;
    for (; n == 0 || spent < least; ++n) {
        STI_TRY(put_states(s, from));
        double start = processor_seconds();
        for (int i = 0; i < calls; ++i) STI_TRY(step_side(s, steps));
        STI_TRY(stet_device_synchronize(s->device));
        spent += processor_seconds() - start;
    }
    *seconds = spent / n;
    return STET_OK;
}

/* What worlds do at the states, where all pairs of geoms have rows, so that a slot's number says which pair it is. */
static stet_result measure_load_at(const bench *b, const bench_scene *scene, const states *from, load *out)
{
    side s = {.native = NULL};
    (void)setenv("STET_PAIR_ROWS", "1e15", 0);
    stet_result result = open_side(b, scene, true, 1, from->nworld, NULL, CUT_NOTHING, &s);
    (void)unsetenv("STET_PAIR_ROWS");
    if (result == STET_OK) result = put_states(&s, from);
    if (result == STET_OK) result = measure_load(&s, out);
    close_side(&s);
    return result;
}

/* The ratio of both sides with `steps` steps a call. */
static stet_result measure_steps(bench *b, const bench_scene *scene, side s[2], const states *from, const load *l,
                                 int steps)
{
    double seconds[2][BENCH_SAMPLES], ratio[BENCH_SAMPLES], nworld = (double)s[0].worlds->nworld;
    int calls = CALL * CALLS / steps;
    bench_row *row;
    for (int k = 0; k < BENCH_SAMPLES; ++k) {
        for (int i = 0; i < 2; ++i) {
            STI_TRY(time_on_core(&s[i], from, calls, steps, bench_least(b, 0.02), &seconds[i][k]));
            seconds[i][k] /= nworld * calls * steps;
        }
        ratio[k] = seconds[1][k] / seconds[0][k];
    }
    STI_TRY(bench_add(b, &row, ratio, BENCH_SAMPLES, "times", true, "physics/%s/cpu/%lld/steps_%d/ratio_to_mujoco",
                      scene->name, (long long)s[0].worlds->nworld, steps));
    for (size_t i = 0; i < sizeof goals / sizeof *goals; ++i)
        if (s[0].worlds->nworld == USUAL && strcmp(scene->name, goals[i].name) == 0) bench_goal(row, goals[i].ratio);
    bench_note(row,
               "%.2f us a world and step on %s, MuJoCo %.2f; %d step%s a call; a world has %.1f contacts, %.1f rows, "
               "%.1f iterations; worlds with NaN or faults: %d",
               1e6 * bench_median(seconds[0], BENCH_SAMPLES), stet_device_get_name(s[0].device),
               1e6 * bench_median(seconds[1], BENCH_SAMPLES), steps, steps == 1 ? "" : "s", l->contacts, l->rows,
               l->iterations, l->bad);
    return STET_OK;
}

static stet_result measure_worlds(bench *b, const bench_scene *scene, int64_t nworld)
{
    side s[2] = {{.native = NULL}, {.native = NULL}};
    states from = {.nworld = 0};
    load l;
    stet_result result = open_side(b, scene, true, 1, nworld, NULL, CUT_NOTHING, &s[0]);
    if (result == STET_OK) result = open_side(b, scene, false, 1, nworld, NULL, CUT_NOTHING, &s[1]);
    if (result == STET_OK) result = push_worlds(&s[1]);
    if (result == STET_OK) result = make_states(&s[1], WARM, &from);
    if (result == STET_OK) result = measure_load_at(b, scene, &from, &l);
    if (result == STET_OK) result = measure_steps(b, scene, s, &from, &l, 1);
    if (result == STET_OK) result = measure_steps(b, scene, s, &from, &l, FEW);
    close_side(&s[0]);
    close_side(&s[1]);
    free_states(&from);
    return result;
}

stet_result measure_given(bench *b, const char *path)
{
    char name[BENCH_NAME];
    bench_scene scene = {.name = name, .text = path, .given = true};
    stet_model *model;
    uint64_t hash;
    bool covered;
    STI_TRY(stet_model_load(path, &model));
    stet_result result = sti_model_fingerprint(model, &hash);
    stet_model_destroy(model);
    STI_TRY(result);
    (void)snprintf(name, sizeof name, "%.40s@%08llx", file_name(path), (unsigned long long)(hash >> 32));
    STI_TRY(name_missing(b, &scene, &covered));
    if (!covered) return STET_OK;
    if (b->device.type == STET_DEVICE_CUDA || b->device.type == STET_DEVICE_HIP) return measure_on_gpu(b, &scene);
    if (b->frame.nworlds == 0) return measure_worlds(b, &scene, b->quick ? FEW : USUAL);
    for (int i = 0; i < b->frame.nworlds; ++i) STI_TRY(measure_worlds(b, &scene, b->frame.nworld[i]));
    return STET_OK;
}
