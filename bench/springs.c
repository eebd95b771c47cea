/*
 * A GPU: one step of the springs, which is 20 small launches (bench/pilot/springs.h), replayed and launched one by one,
 * for few worlds and for many. Of each the host's time, and the device's from the first launch to the last: where that
 * is no more than the host's, the device waits for the host; where it grows with the worlds, it is full.
 */
#include "bench/bench.h"
#include "bench/bare.h"

#include "base/error.h"
#include "bench/pilot/springs.h"

enum { STEPS = 25 }; /* of a sample: 500 launches, which a queue takes */

typedef struct way {
    const char *name;
    bool recorded, bare;
    uint32_t disabled;
} way;

enum { WAYS = 4, BARE = 3 };
static const way ways[WAYS] = {
    {.name = "replayed", .recorded = true},
    {.name = "replayed_without_args", .recorded = true, .disabled = 1u << STET_MECHANISM_ARGS},
    {.name = "singly"},
    [BARE] = {.name = "bare_graph", .bare = true},
};

typedef struct stepping {
    sti_springs springs;
    bench_bare bare;
    void *graph; /* the driver's own, of a step's launches one after the other */
} stepping;

static stet_result prepare(stet_device *device, const way *w)
{
    stet_mechanism_options options = stet_device_get_mechanisms(device);
    options.disabled = w->disabled;
    return stet_device_set_mechanisms(device, &options);
}

static stet_result step(stepping *s, const way *w)
{
    if (w->bare) return bench_bare_replay(&s->bare, s->graph, stet_device_get_stream(s->springs.device));
    return sti_springs_step(&s->springs, w->recorded);
}

static stet_result step_singly(void *context) { return sti_springs_step(&((stepping *)context)->springs, false); }

/* What stet launches while it works in a stream that is captured. */
static stet_result capture_step(stepping *s)
{
    stet_device *device = s->springs.device;
    STI_TRY(stet_device_use_stream(device, s->bare.stream));
    stet_result result = bench_bare_capture(&s->bare, step_singly, s, &s->graph);
    stet_result back = stet_device_use_own_stream(device);
    return result == STET_OK ? back : result;
}

/* Steps that nothing waits for, in a device that has nothing else to do; seconds of one. */
static stet_result sample(stepping *s, const way *w, int steps, double *host, double *device)
{
    stet_device *on = s->springs.device;
    int64_t from, to, ns;
    STI_TRY(prepare(on, w));
    STI_TRY(on->ops->synchronize(on));
    STI_TRY(on->ops->moment(on, &from));
    double start = bench_now();
    for (int i = 0; i < steps; ++i) STI_TRY(step(s, w));
    *host = (bench_now() - start) / steps;
    STI_TRY(on->ops->moment(on, &to));
    stet_result result = on->ops->between(on, from, to, &ns);
    (void)on->ops->moment(on, NULL);
    *device = (double)ns * 1e-9 / steps;
    return result;
}

static stet_result add_rows(bench *b, const way *w, long long nworld, double *host, double *device)
{
    bench_row *row;
    for (int s = 0; s < BENCH_SAMPLES; ++s) host[s] *= 1e6, device[s] *= 1e6;
    STI_TRY(bench_add(b, &row, host, BENCH_SAMPLES, "us", false, "spring/%lld/%s/step_host_us", nworld, w->name));
    if (w == ways) bench_goal(row, 6);
    bench_note(row, "the host's time of a step of %d launches; %lld worlds", STI_SPRING_LAUNCHES, nworld);
    STI_TRY(bench_add(b, &row, device, BENCH_SAMPLES, "us", false, "spring/%lld/%s/step_device_us", nworld, w->name));
    bench_note(row, "the device's, from step to step");
    return STET_OK;
}

static stet_result add_ratio(bench *b, const char *name, long long nworld, const char *whose, const double *stet,
                             const double *bare)
{
    double ratio[BENCH_SAMPLES];
    bench_row *row;
    for (int s = 0; s < BENCH_SAMPLES; ++s) ratio[s] = stet[s] / bare[s];
    STI_TRY(bench_add(b, &row, ratio, BENCH_SAMPLES, "times", false, "spring/%lld/%s/%s_ratio_to_bare_graph", nworld,
                      name, whose));
    bench_note(row, "a step, over a plain graph of the driver with the same %d launches", STI_SPRING_LAUNCHES);
    return STET_OK;
}

static stet_result measure_bench_springs(bench *b, stepping *s)
{
    double host[WAYS][BENCH_SAMPLES], device[WAYS][BENCH_SAMPLES];
    int steps = b->quick ? 1 : STEPS;
    for (int w = 0; w < WAYS; ++w) /* recorded, compared, trusted; compiled */
        for (int i = 0; i < 3; ++i) STI_TRY(sample(s, &ways[w], 1, &host[w][0], &device[w][0]));
    for (int k = 0; k < BENCH_SAMPLES; ++k)
        for (int w = 0; w < WAYS; ++w) STI_TRY(sample(s, &ways[w], steps, &host[w][k], &device[w][k]));
    for (int w = 0; w < WAYS; ++w) STI_TRY(add_rows(b, &ways[w], s->springs.nworld, host[w], device[w]));
    for (int w = 0; w < WAYS; ++w) {
        if (ways[w].bare) continue;
        STI_TRY(add_ratio(b, ways[w].name, s->springs.nworld, "host", host[w], host[BARE]));
        STI_TRY(add_ratio(b, ways[w].name, s->springs.nworld, "device", device[w], device[BARE]));
    }
    return STET_OK;
}

static stet_result measure_worlds(bench *b, stet_device *device, int64_t nworld)
{
    stepping s = {.graph = NULL};
    STI_TRY(sti_springs_create(device, nworld, &s.springs));
    stet_result result = bench_bare_open(&s.bare, device);
    if (result == STET_OK) result = step_singly(&s); /* compiled before it is captured */
    if (result == STET_OK) result = capture_step(&s);
    if (result == STET_OK) result = measure_bench_springs(b, &s);
    (void)prepare(device, &ways[0]);
    (void)device->ops->synchronize(device);
    bench_bare_graph_end(&s.bare, s.graph);
    bench_bare_close(&s.bare);
    sti_springs_destroy(&s.springs);
    return result;
}

stet_result bench_springs(bench *b, stet_device *device)
{
    static const int64_t nworld[] = {64, 1024, 8192, 65536};
    if (b->quick) return measure_worlds(b, device, 2);
    for (int k = 0; k < 4; ++k) STI_TRY(measure_worlds(b, device, nworld[k]));
    return STET_OK;
}
