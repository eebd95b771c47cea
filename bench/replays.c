/*
 * A GPU: what a replayed launch costs, in lists of tiny kernels: a chain, in which each comes after the one before it,
 * beside the same chain as a plain graph of the driver; and as many launches that depend on nothing, in parallel
 * branches: of tiny kernels, whose launching is all that they cost, and of slow ones, which can overlap.
 */
#include "bench/bench.h"
#include "bench/bare.h"

#include "base/error.h"

/* A multiply-add that waits for the one before takes a GPU 4 cycles: so many of them 6 us at 1.7 GHz. */
enum { WORLDS = 4, BRANCHES = 50, CALLS = 5, TIMES = 10, SLOW = 2600 };

static const char source[] = "#include <stet/lang.h>\n"
                             "world_kernel void k_one(real *x) { each (i, 1) put(x, i, x[i] + splat(1)); }\n"
                             "world_kernel void k_slow(real *x, int turns)\n"
                             "{\n"
                             "    each (i, 1) {\n"
                             "        real y = x[i];\n"
                             "        for (int k = 0; k < turns; ++k) y = fma(y, splat(0.5f), splat(1));\n"
                             "        put(x, i, y);\n"
                             "    }\n"
                             "}\n";

typedef struct replaying {
    stet_device *device;
    stet_kernel *kernel, *slow;
    stet_array *array[BRANCHES];
    int n;         /* launches */
    int turns;     /* of the slow kernel; 0: the tiny one */
    bool branches; /* each on an array of its own */
    bench_bare bare;
    bench_bare_kernel one;
    void *chain; /* the driver's graph */
} replaying;

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static stet_result launch_one(void *context)
{
    replaying *r = context;
    stet_arg arg = stet_arg_array(r->array[0]);
    return stet_kernel_launch(r->kernel, WORLDS, &arg, 1);
}

static stet_result launch_all(replaying *r)
{
    for (int i = 0; i < r->n; ++i) {
        const stet_arg args[] = {stet_arg_array(r->array[r->branches ? i : 0]), stet_arg_int(r->turns)};
        STI_TRY(stet_kernel_launch(r->turns ? r->slow : r->kernel, WORLDS, args, r->turns ? 2 : 1));
    }
    return STET_OK;
}

static stet_result replay_bench_replays(void *context)
{
    replaying *r = context;
    STI_TRY(stet_record_begin(r->device, r->branches ? "branches" : "a chain"));
    return stet_record_end(r->device, launch_all(r));
}

static stet_result replay_chain(void *context)
{
    ((replaying *)context)->branches = false;
    return replay_bench_replays(context);
}

static stet_result replay_branches(void *context)
{
    ((replaying *)context)->branches = true;
    return replay_bench_replays(context);
}

static stet_result launch_bare(void *context)
{
    replaying *r = context;
    for (int i = 0; i < r->n; ++i) STI_TRY(bench_bare_launch(&r->one));
    return STET_OK;
}

static stet_result replay_bare(void *context)
{
    replaying *r = context;
    return bench_bare_replay(&r->bare, r->chain, r->bare.stream);
}

static stet_result wait_idle(void *context)
{
    replaying *r = context;
    STI_TRY(bench_bare_wait(&r->bare));
    return r->device->ops->synchronize(r->device);
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static stet_result add_us(bench *b, const double *seconds, int n, bench_row **row, const char *what, bool is_bare)
{
    double us[BENCH_SAMPLES];
    for (int s = 0; s < BENCH_SAMPLES; ++s) us[s] = 1e6 * seconds[s] / n;
    STI_TRY(bench_add(b, row, us, BENCH_SAMPLES, "us", false, "replay/%d/%s%s", n, is_bare ? "bare/" : "", what));
    bench_note(*row, is_bare ? "of a plain graph of the driver" : "of a chain of %d launches that is replayed", n);
    return STET_OK;
}

static stet_result add_ratio(bench *b, const double *stet, const double *bare, int n, const char *whose)
{
    double ratio[BENCH_SAMPLES];
    bench_row *row;
    for (int s = 0; s < BENCH_SAMPLES; ++s) ratio[s] = stet[s] / bare[s];
    STI_TRY(bench_add(b, &row, ratio, BENCH_SAMPLES, "times", false, "replay/%d/%sratio_to_bare", n, whose));
    bench_note(row, "a replay over a plain graph of the driver, of %d launches", n);
    return STET_OK;
}

/* The device's time, when replays wait for it, and the host's, when it waits for none. */
static stet_result measure_chain(bench *b, replaying *r)
{
    enum { STET, BARE, WAYS };
    const bench_work work[WAYS] = {[STET] = {replay_chain, r, wait_idle}, [BARE] = {replay_bare, r, wait_idle}};
    double device[WAYS][BENCH_SAMPLES], host[WAYS][BENCH_SAMPLES];
    bench_row *row;
    for (int i = 0; i < 3; ++i) STI_TRY(replay_chain(r)); /* recorded, compared, trusted */
    STI_TRY(bench_in_turns(work, WAYS, bench_least(b, 0.01), device));
    STI_TRY(bench_host_in_turns(work, WAYS, b->quick ? 1 : CALLS, b->quick ? 1 : TIMES, host));
    for (int w = 0; w < WAYS; ++w) {
        STI_TRY(add_us(b, device[w], r->n, &row, "us_per_node", w == BARE));
        STI_TRY(add_us(b, host[w], r->n, &row, "host_us_per_node", w == BARE));
    }
    STI_TRY(add_ratio(b, device[STET], device[BARE], r->n, ""));
    return add_ratio(b, host[STET], host[BARE], r->n, "host_");
}

static stet_result measure_with_bare(bench *b, replaying *r, int n)
{
    r->n = n;
    stet_result result = bench_bare_capture(&r->bare, launch_bare, r, &r->chain);
    if (result == STET_OK) result = measure_chain(b, r);
    bench_bare_graph_end(&r->bare, r->chain);
    r->chain = NULL;
    return result;
}

static stet_result measure_branches(bench *b, replaying *r, int n, int turns)
{
    double seconds[2][BENCH_SAMPLES], ratio[BENCH_SAMPLES];
    const bench_work work[] = {{replay_branches, r, wait_idle}, {replay_chain, r, wait_idle}};
    bench_row *row;
    r->n = n;
    r->turns = turns;
    for (int i = 0; i < 3; ++i) {
        STI_TRY(replay_branches(r));
        STI_TRY(replay_chain(r));
    }
    STI_TRY(bench_in_turns(work, 2, bench_least(b, 0.01), seconds));
    for (int s = 0; s < BENCH_SAMPLES; ++s) ratio[s] = seconds[0][s] / seconds[1][s];
    double us = 1e6 * bench_median(seconds[1], BENCH_SAMPLES);
    STI_TRY(bench_add(b, &row, ratio, BENCH_SAMPLES, "times", false, "replay/%sbranches/%d/ratio_to_chain",
                      turns ? "slow_" : "", n));
    bench_note(row, "%d launches that depend on nothing: %.1f us; one after the other %.1f us, %.2f us each", n,
               1e6 * bench_median(seconds[0], BENCH_SAMPLES), us, us / n);
    return STET_OK;
}

static stet_result measure_both(bench *b, replaying *r, int n)
{
    STI_TRY(measure_branches(b, r, n, 0));
    return measure_branches(b, r, n, SLOW);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static stet_result open_replaying(replaying *r)
{
    stet_kernel_def def = stet_default_kernel_def();
    def.source = source;
    def.name = "k_one";
    STI_TRY(stet_kernel_create(r->device, &def, &r->kernel));
    def.name = "k_slow";
    STI_TRY(stet_kernel_create(r->device, &def, &r->slow));
    for (int i = 0; i < BRANCHES; ++i)
        STI_TRY(STI_ARRAY(r->device, "a branch", STET_DTYPE_REAL, true, &r->array[i], WORLDS, 1));
    STI_TRY(bench_bare_open(&r->bare, r->device));
    return bench_bare_kernel_of(&r->bare, launch_one, r, false, &r->one);
}

static stet_result measure_bench_replays(bench *b, replaying *r)
{
    static const int lengths[] = {50, 100, 200};
    if (b->quick) {
        STI_TRY(measure_with_bare(b, r, 5));
        return measure_both(b, r, 5);
    }
    for (int k = 0; k < 3; ++k) STI_TRY(measure_with_bare(b, r, lengths[k]));
    return measure_both(b, r, BRANCHES);
}

stet_result bench_replays(bench *b, stet_device *device)
{
    replaying r = {.device = device};
    stet_result result = open_replaying(&r);
    if (result == STET_OK) result = measure_bench_replays(b, &r);
    bench_bare_kernel_end(&r.one);
    bench_bare_close(&r.bare);
    for (int i = 0; i < BRANCHES; ++i) stet_array_destroy(r.array[i]);
    stet_kernel_destroy(r.kernel);
    stet_kernel_destroy(r.slow);
    return result;
}
