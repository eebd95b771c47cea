/*
 * Threads on a shared machine: the same work by all threads and by one, while another process keeps one core busy
 * ("disturbed") and without it ("quiet", as far as the machine is). This process may use as many processors as it has
 * threads, so that the other process competes with it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include "bench/threads.h"

#include "base/error.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ONE, ALL, WAYS };

/* ---- the other process ------------------------------------------------------------------------------------------- */

stet_result bench_burn(void)
{
    pid_t parent = getppid();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (double end = bench_now() + 600; bench_now() < end && getppid() == parent;)
        for (volatile int i = 0; i < 100000; i = i + 1) continue;
    return STET_OK;
}

static stet_result begin_disturbing(pid_t *out)
{
    char *argv[] = {"stet-bench", "--burn", NULL}, *none[] = {NULL};
    int failed = posix_spawn(out, "/proc/self/exe", NULL, NULL, argv, none);
    if (!failed) return STET_OK;
    return sti_error(STET_ERROR_IO, "bench threads: the other process did not start: %s", strerror(failed));
}

static void end_disturbing(pid_t other)
{
    (void)kill(other, SIGKILL);
    while (waitpid(other, NULL, 0) < 0 && errno == EINTR) continue;
}

/* ---- works ------------------------------------------------------------------------------------------------------- */

/* A cart with a pole, as in the shipped environments: what a policy does, the dynamics, the end of an episode. */
static const char cartpole[] =
    "#include \"stet/lang.h\"\n"
    "world_kernel void k_push(const real *q, const real *v, real *ctrl)\n"
    "{ each (i, 1) put(ctrl, i, clamp(splat(2) * q[1] + v[1], splat(-1), splat(1))); }\n"
    "world_kernel void k_move(const real *ctrl, real *q, real *v, ureal dt)\n"
    "{\n"
    "    each (i, 1) {\n"
    "        const ureal pole = (ureal)0.1, total = (ureal)1.1, half = (ureal)0.5, gravity = (ureal)9.8;\n"
    "        real s = sin(q[1]), c = cos(q[1]), w = v[1];\n"
    "        real push = (splat(10) * ctrl[0] + splat(pole * half) * w * w * s) / splat(total);\n"
    "        real bend = (splat(gravity) * s - c * push) /\n"
    "                    (splat(half) * (splat((ureal)4 / (ureal)3) - splat(pole / total) * c * c));\n"
    "        real xrate = fma(splat(dt), push - splat(pole * half / total) * bend * c, v[0]);\n"
    "        real rate = fma(splat(dt), bend, w);\n"
    "        put(v, 0, xrate);\n"
    "        put(v, 1, rate);\n"
    "        put(q, 0, fma(splat(dt), xrate, q[0]));\n"
    "        put(q, 1, fma(splat(dt), rate, q[1]));\n"
    "    }\n"
    "}\n"
    "world_kernel void k_judge(const real *q, lint *failed)\n"
    "{\n"
    "    each (i, 1) {\n"
    "        mask fine = m_and(le(rabs(q[0]), splat(2.4f)), le(rabs(q[1]), splat(0.2f)));\n"
    "        failed[i] = iselect(fine, isplat(0), isplat(1));\n"
    "    }\n"
    "}\n";

typedef struct work {
    const char *name, *scene;
    int64_t nworld;
    bool kernels, pictures;
} work;

static const work works[] = {
    {"humanoid", "humanoid", 64, false, false},       {"hand", "hand", 64, false, false},
    {"cartpole_64", "cartpole", 64, true, false},     {"cartpole_1024", "cartpole", 1024, true, false},
    {"cartpole_8192", "cartpole", 8192, true, false}, {"render", "hand", 64, false, true},
};
enum { WORKS = sizeof works / sizeof *works };

typedef struct side {
    const work *work;
    stet_sim *sim;
    stet_kernel *kernel[3];
    stet_array *failed;
} side;

static stet_result run_side(void *context)
{
    side *s = context;
    STI_TRY(stet_sim_step(s->sim, 1));
    return s->work->pictures ? stet_sim_render(s->sim, NULL) : STET_OK;
}

static stet_result add_cartpole(side *s)
{
    static const char *const names[] = {"k_push", "k_move", "k_judge"};
    stet_worlds *worlds = stet_sim_get_worlds(s->sim);
    stet_array *q, *v, *ctrl;
    stet_array_def def = stet_default_array_def();
    def.name = "failed";
    def.dtype = STET_DTYPE_INT;
    def.worlds = true;
    def.ndim = 2;
    def.shape[0] = s->work->nworld;
    def.shape[1] = 1;
    STI_TRY(stet_worlds_get_array(worlds, "qpos", &q));
    STI_TRY(stet_worlds_get_array(worlds, "qvel", &v));
    STI_TRY(stet_worlds_get_array(worlds, "ctrl", &ctrl));
    STI_TRY(stet_array_create(stet_sim_get_device(s->sim), &def, &s->failed));
    const stet_arg args[3][4] = {{stet_arg_array(q), stet_arg_array(v), stet_arg_array(ctrl)},
                                 {stet_arg_array(ctrl), stet_arg_array(q), stet_arg_array(v), stet_arg_real(0.02)},
                                 {stet_arg_array(q), stet_arg_array(s->failed)}};
    static const int narg[] = {3, 4, 2};
    for (int i = 0; i < 3; ++i) {
        stet_kernel_def kernel = stet_default_kernel_def();
        kernel.source = cartpole;
        kernel.name = names[i];
        STI_TRY(stet_kernel_create(stet_sim_get_device(s->sim), &kernel, &s->kernel[i]));
        STI_TRY(stet_sim_add_kernel(s->sim, STET_PHASE_BEFORE_PHYSICS, s->kernel[i], s->work->nworld, args[i], narg[i],
                                    NULL));
    }
    return STET_OK;
}

/* After some simulated time, in worlds that move differently. */
static stet_result open_side(const bench *b, const work *w, int threads, side *s)
{
    stet_sim_def def = stet_default_sim_def();
    stet_model *model;
    char path[512];
    s->work = w;
    def.nworld = w->nworld;
    def.device.type = STET_DEVICE_CPU;
    def.device.threads = threads;
    def.outputs = w->pictures ? 1u << STET_OUTPUT_RGB : 0;
    def.width = def.height = 32;
    if (w->kernels) def.physics = STET_PHYSICS_EXTERNAL;
    (void)snprintf(path, sizeof path, "%s/%s.xml", b->scenes, w->scene);
    STI_TRY(stet_model_load(path, &model));
    stet_result result = stet_sim_create(model, &def, &s->sim);
    stet_model_destroy(model);
    STI_TRY(result);
    if (w->kernels) STI_TRY(add_cartpole(s));
    if (!w->kernels) STI_TRY(stet_sim_control_noise(s->sim, 0.3, 20));
    for (int i = 0; i < (b->quick ? 1 : 30); ++i) STI_TRY(run_side(s));
    return STET_OK;
}

static void close_side(side *s)
{
    for (int i = 0; i < 3; ++i) stet_kernel_destroy(s->kernel[i]);
    stet_array_destroy(s->failed);
    stet_sim_destroy(s->sim);
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static stet_result measure_bench_threads(bench *b, const char *when, bool quiet, int threads, side s[WAYS])
{
    const work *w = s[ONE].work;
    bench_work turns[4] = {
        {run_side, &s[ONE], NULL}, {run_side, &s[ALL], NULL}, {run_side, &s[ALL], NULL}, {run_side, &s[ONE], NULL}};
    double seconds[4][BENCH_SAMPLES], ratio[BENCH_SAMPLES];
    bench_row *row;
    STI_TRY(bench_in_turns(turns, 4, bench_least(b, 0.02), seconds));
    for (int k = 0; k < BENCH_SAMPLES; ++k)
        ratio[k] = (seconds[0][k] + seconds[3][k]) / (seconds[1][k] + seconds[2][k]);
    STI_TRY(
        bench_add(b, &row, ratio, BENCH_SAMPLES, "times", true, "threads/%s/%s/ratio_to_one_thread", when, w->name));
    bench_goal(row, !quiet ? 0.9 : w->kernels || w->pictures ? 1 : 0.95 * threads);
    bench_note(row, "%d threads beside one, %lld worlds: %.0f world steps/s, one thread %.0f", threads,
               (long long)w->nworld, (double)w->nworld / bench_median(seconds[1], BENCH_SAMPLES),
               (double)w->nworld / bench_median(seconds[0], BENCH_SAMPLES));
    return STET_OK;
}

static stet_result measure_work(bench *b, const work *w, int threads)
{
    side s[WAYS] = {{.work = w}, {.work = w}};
    pid_t other;
    stet_result result = open_side(b, w, 1, &s[ONE]);
    if (result == STET_OK) result = open_side(b, w, threads, &s[ALL]);
    if (result == STET_OK) result = measure_bench_threads(b, "quiet", true, threads, s);
    if (result == STET_OK) result = begin_disturbing(&other);
    if (result == STET_OK) {
        result = measure_bench_threads(b, "disturbed", false, threads, s);
        end_disturbing(other);
    }
    close_side(&s[ONE]);
    close_side(&s[ALL]);
    return result;
}

/* The first n processors of those that this process may use; false: it has fewer. */
static bool keep_processors(const cpu_set_t *all, int n)
{
    cpu_set_t few;
    CPU_ZERO(&few);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&few) < n; ++i)
        if (CPU_ISSET(i, all)) CPU_SET(i, &few);
    return CPU_COUNT(&few) == n && sched_setaffinity(0, sizeof few, &few) == 0;
}

stet_result bench_threads(bench *b)
{
    cpu_set_t all;
    int threads = b->threads > 1 ? b->threads : 2;
    stet_result result = STET_OK;
    bool kept = sched_getaffinity(0, sizeof all, &all) == 0 && keep_processors(&all, threads);
    for (int i = 0; i < WORKS && result == STET_OK; ++i) result = measure_work(b, &works[i], threads);
    if (kept) (void)sched_setaffinity(0, sizeof all, &all);
    return result;
}
