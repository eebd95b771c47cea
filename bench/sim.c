/* A step of all worlds, in turns with a plain parallel loop of mj_step over its own data, from the same states. */
#include "bench/bench.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/model.h"
#include "worlds/worlds.h"

#include <stdio.h>
#include <string.h>

enum { WORLDS = 64, STEPS = 50 };

typedef struct stepping {
    stet_model *model;
    stet_sim *sim;
    mjData **data; /* [WORLDS], of the plain loop */
    int threads;
} stepping;

static stet_result step_sim(const stepping *s, double *seconds)
{
    double start = bench_now();
    STI_TRY(stet_sim_step(s->sim, 1));
    *seconds += bench_now() - start;
    return STET_OK;
}

static void step_alone(void *context, int64_t w, int thread)
{
    const stepping *s = context;
    (void)thread;
    mj_step(s->model->mj, s->data[w]);
}

/* Shared by the same threads. */
static stet_result step_plainly(stepping *s, double *seconds)
{
    const stet_worlds *worlds = stet_sim_get_worlds(s->sim);
    double start = bench_now();
    sti_device_parallel(worlds->device, WORLDS, WORLDS * worlds->state.step_seconds, step_alone, s);
    *seconds += bench_now() - start;
    return STET_OK;
}

/* Both step in turns and alternate in going first, so that each sample has the same conditions. */
static stet_result step_in_turns(stepping *s, double seconds[2][BENCH_SAMPLES])
{
    memset(seconds, 0, sizeof(double[2][BENCH_SAMPLES]));
    for (int k = 0; k < BENCH_SAMPLES; ++k)
        for (int i = 0; i < STEPS; ++i) {
            if (i % 2) STI_TRY(step_plainly(s, &seconds[1][k]));
            STI_TRY(step_sim(s, &seconds[0][k]));
            if (i % 2 == 0) STI_TRY(step_plainly(s, &seconds[1][k]));
        }
    return STET_OK;
}

/* Worlds that move differently, after some simulated time; the plain loop's data are copies. */
static stet_result open_stepping(stepping *s, const char *path)
{
    stet_sim_def def = stet_default_sim_def();
    def.nworld = WORLDS;
    def.device = bench_cpu_def();
    def.device.threads = s->threads;
    def.physics = STET_PHYSICS_MUJOCO;
    STI_TRY(stet_model_load(path, &s->model));
    STI_TRY(stet_sim_create(s->model, &def, &s->sim));
    STI_TRY(stet_sim_control_noise(s->sim, 0.3, 20));
    STI_TRY(stet_sim_step(s->sim, 50));
    STI_TRY(sti_alloc(&s->data, WORLDS * sizeof(mjData *), "data of the plain loop"));
    const stet_worlds *worlds = stet_sim_get_worlds(s->sim);
    for (int w = 0; w < WORLDS; ++w) {
        s->data[w] = mj_copyData(NULL, s->model->mj, worlds->state.data[w]);
        if (!s->data[w])
            return sti_error(STET_ERROR_OUT_OF_MEMORY, "bench: no memory for MuJoCo's data of %d worlds", WORLDS);
    }
    return STET_OK;
}

static void close_stepping(stepping *s)
{
    for (int w = 0; s->data && w < WORLDS; ++w)
        if (s->data[w]) mj_deleteData(s->data[w]);
    sti_free(s->data);
    stet_sim_destroy(s->sim);
    stet_model_destroy(s->model);
}

/* Both must reach the same state, or they did not do the same work. */
static stet_result check_same(const stepping *s, const char *scene)
{
    const stet_worlds *worlds = stet_sim_get_worlds(s->sim);
    for (int w = 0; w < WORLDS; ++w)
        if (memcmp(worlds->state.data[w]->qpos, s->data[w]->qpos, sizeof(mjtNum) * (size_t)s->model->mj->nq) != 0)
            return sti_error(STET_ERROR_STATE, "bench sim: world %d of %s went another way than mj_step alone", w,
                             scene);
    return STET_OK;
}

static stet_result measure_bench_sim(bench *b, const char *scene, double *overhead)
{
    stepping s = {.threads = b->threads};
    char path[512];
    double seconds[2][BENCH_SAMPLES];
    bench_row *row;
    (void)snprintf(path, sizeof path, "%s/%s.xml", b->scenes, scene);
    stet_result result = open_stepping(&s, path);
    if (result == STET_OK) result = step_in_turns(&s, seconds);
    if (result == STET_OK) result = check_same(&s, scene);
    for (int k = 0; result == STET_OK && k < BENCH_SAMPLES; ++k) overhead[k] = seconds[0][k] / seconds[1][k] - 1;
    if (result == STET_OK)
        result =
            bench_add(b, &row, overhead, BENCH_SAMPLES, "of mj_step", false, "sim/%s/overhead_over_mj_step", scene);
    if (result == STET_OK) {
        bench_goal(row, 0.03);
        bench_note(row, "%d worlds, %d threads, a call each step: %.0f steps/s, mj_step alone %.0f", WORLDS, s.threads,
                   WORLDS * STEPS / bench_median(seconds[0], BENCH_SAMPLES),
                   WORLDS * STEPS / bench_median(seconds[1], BENCH_SAMPLES));
    }
    close_stepping(&s);
    return result;
}

stet_result bench_sim(bench *b)
{
    double overhead[2][BENCH_SAMPLES];
    bench_row *row;
    STI_TRY(measure_bench_sim(b, "hand", overhead[0]));
    STI_TRY(measure_bench_sim(b, "humanoid", overhead[1]));
    int worst = bench_median(overhead[1], BENCH_SAMPLES) > bench_median(overhead[0], BENCH_SAMPLES);
    STI_TRY(bench_add(b, &row, overhead[worst], BENCH_SAMPLES, "of mj_step", false, "sim/overhead_over_mj_step"));
    bench_goal(row, 0.03);
    bench_note(row, "the larger of the above: %s", worst ? "humanoid" : "hand");
    return STET_OK;
}
