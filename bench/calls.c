/*
 * A GPU: what a launch costs the host, beside the same launch by plain driver calls. The kernels are so small that the
 * host never waits for the device.
 */
#include "bench/bench.h"
#include "bench/bare.h"

#include "base/error.h"
#include "kernel/user/user.h"

enum { WORLDS = 4, ITEMS = 8, ARRAYS = 4, ARGS = 8, SCALAR = 4, CALLS = 200, TIMES = 10 };

static const char source[] = "#include <stet/lang.h>\n"
                             "world_kernel void k_eight(const real *a, const real *b, const real *c, real *out, ureal "
                             "x, ureal y, int n, int m)\n"
                             "{\n"
                             "    each (i, n) put(out, i, fma(splat(x), a[i], fma(splat(y), b[i], c[i % m])));\n"
                             "}\n";

typedef struct calling {
    stet_device *device;
    stet_kernel *kernel;
    stet_array *array[ARRAYS];
    stet_arg arg[ARGS];
    bench_bare bare;
    bench_bare_kernel by_value, by_block;
} calling;

/* ---- ways to launch ---------------------------------------------------------------------------------------------- */

static stet_result unchanged(void *context)
{
    calling *c = context;
    return stet_kernel_launch(c->kernel, WORLDS, c->arg, ARGS);
}

static stet_result changed(void *context)
{
    calling *c = context;
    c->arg[SCALAR].f += 0.5;
    return unchanged(c);
}

/* As a launch without a handle. */
static stet_result unbound(void *context)
{
    calling *c = context;
    sti_arg own[STI_MAX_PARAMS];
    STI_TRY(sti_user_args(c->kernel, c->arg, ARGS, own));
    return sti_launch_on(c->device, sti_user_kernel(c->kernel), WORLDS, own, ARGS);
}

static stet_result bare(void *context) { return bench_bare_launch(&((calling *)context)->by_value); }

static stet_result uploaded(void *context) { return bench_bare_launch(&((calling *)context)->by_block); }

/* Before and after calls that are timed. */
static stet_result wait_idle(void *context)
{
    calling *c = context;
    STI_TRY(bench_bare_enter(&c->bare));
    STI_TRY(bench_bare_wait(&c->bare));
    return c->device->ops->synchronize(c->device);
}

static stet_result wait_outside(void *context)
{
    calling *c = context;
    STI_TRY(wait_idle(c));
    return bench_bare_leave(&c->bare);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static stet_result open_kernel(calling *c)
{
    stet_kernel_def def = stet_default_kernel_def();
    def.source = source;
    STI_TRY(stet_kernel_create(c->device, &def, &c->kernel));
    for (int i = 0; i < ARRAYS; ++i) {
        STI_TRY(STI_ARRAY(c->device, "argument of a launch", STET_DTYPE_REAL, true, &c->array[i], WORLDS, ITEMS));
        c->arg[i] = stet_arg_array(c->array[i]);
    }
    c->arg[SCALAR] = stet_arg_real(1);
    c->arg[SCALAR + 1] = stet_arg_real(2);
    c->arg[SCALAR + 2] = c->arg[SCALAR + 3] = stet_arg_int(ITEMS);
    return STET_OK;
}

static stet_result open_calling(calling *c)
{
    STI_TRY(open_kernel(c));
    STI_TRY(bench_bare_open(&c->bare, c->device));
    STI_TRY(bench_bare_kernel_of(&c->bare, unchanged, c, false, &c->by_value));
    return bench_bare_kernel_of(&c->bare, unchanged, c, true, &c->by_block);
}

static void close_calling(calling *c)
{
    bench_bare_kernel_end(&c->by_value);
    bench_bare_kernel_end(&c->by_block);
    bench_bare_close(&c->bare);
    for (int i = 0; i < ARRAYS; ++i) stet_array_destroy(c->array[i]);
    stet_kernel_destroy(c->kernel);
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

enum { BARE, UNCHANGED, CHANGED, UNBOUND, OUTSIDE, UPLOADED, WAYS };

static const struct {
    const char *name, *note;
} about[WAYS] = {
    [UNCHANGED] = {"unchanged", "the same 8 arguments each time"},
    [CHANGED] = {"changed", "another scalar each time"},
    [UNBOUND] = {"unbound", "the same arguments, all of them checked each time"},
    [OUTSIDE] = {"no_context",
                 "the same arguments; the thread has no device of its own, so each launch makes it current"},
    [UPLOADED] = {"upload256", "plain driver calls: 256 page-locked bytes are uploaded, then a launch that reads them"},
};

static stet_result add_rows(bench *b, double seconds[WAYS][BENCH_SAMPLES])
{
    bench_row *row;
    double none = bench_median(seconds[BARE], BENCH_SAMPLES);
    STI_TRY(bench_add_ns(b, seconds[BARE], 1, &row, "launch/bare/host_ns"));
    bench_note(row, "a plain driver call that launches a kernel of 8 arguments over %d worlds", WORLDS);
    for (int w = UNCHANGED; w < WAYS; ++w) {
        double ratio[BENCH_SAMPLES];
        for (int s = 0; s < BENCH_SAMPLES; ++s) ratio[s] = seconds[w][s] / seconds[BARE][s];
        STI_TRY(bench_add(b, &row, ratio, BENCH_SAMPLES, "times", false, "launch/%s/ratio_to_bare", about[w].name));
        if (w == UNCHANGED) bench_goal(row, 1.05);
        if (w == CHANGED) bench_goal(row, 1.1);
        bench_note(row, "%s; %.0f ns, a plain launch %.0f ns", about[w].note,
                   1e9 * bench_median(seconds[w], BENCH_SAMPLES), 1e9 * none);
    }
    return STET_OK;
}

static stet_result measure_bench_calls(bench *b, calling *c)
{
    double seconds[WAYS][BENCH_SAMPLES];
    stet_counters counters;
    const bench_work work[WAYS] = {[BARE] = {bare, c, wait_idle},
                                   [UNCHANGED] = {unchanged, c, wait_idle},
                                   [CHANGED] = {changed, c, wait_idle},
                                   [UNBOUND] = {unbound, c, wait_idle},
                                   [OUTSIDE] = {unchanged, c, wait_outside},
                                   [UPLOADED] = {uploaded, c, wait_idle}};
    stet_device_clear_counters(c->device);
    STI_TRY(bench_host_in_turns(work, WAYS, b->quick ? 2 : CALLS, b->quick ? 1 : TIMES, seconds));
    counters = stet_device_get_counters(c->device);
    if (counters.bytes_copied != 0 || counters.launches == 0)
        return sti_error(STET_ERROR_STATE, "bench launches: %lld bytes went up with launches by value",
                         (long long)counters.bytes_copied);
    return add_rows(b, seconds);
}

static stet_result measure_calls(bench *b, stet_device *device)
{
    calling c = {.device = device};
    stet_result result = open_calling(&c);
    if (result == STET_OK) result = measure_bench_calls(b, &c);
    close_calling(&c);
    return result;
}

stet_result bench_calls(bench *b)
{
    stet_device *device;
    STI_TRY(bench_open_gpu(b, "launches", &device));
    if (!device) return STET_OK;
    stet_result result = measure_calls(b, device);
    if (result == STET_OK) result = bench_replays(b, device);
    if (result == STET_OK) result = bench_springs(b, device);
    stet_device_destroy(device);
    return result;
}
