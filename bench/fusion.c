/*
 * Fusion: steps of the springs (bench/pilot/springs.h), 20 small launches each, replayed world by world and launch by
 * launch, for few worlds and for many; of the CPU, unless a GPU was asked for.
 */
#include "bench/bench.h"

#include "base/error.h"
#include "bench/pilot/springs.h"

#include <stdio.h>

enum { STEPS = 10 }; /* between two waits */

typedef struct stepping {
    stet_device *device;
    sti_springs springs;
} stepping;

static stet_result steps(void *context)
{
    stepping *s = context;
    for (int i = 0; i < STEPS; ++i) STI_TRY(sti_springs_step(&s->springs, true));
    return STET_OK;
}

static stet_result wait_idle(void *context) { return stet_device_synchronize(((stepping *)context)->device); }

static void close_stepping(stepping *s)
{
    sti_springs_destroy(&s->springs);
    stet_device_destroy(s->device);
}

static stet_result open_stepping(bench *b, int threads, int64_t nworld, bool fused, stepping *s)
{
    stet_device_def def = b->device;
    if (def.type == STET_DEVICE_AUTO) def.type = STET_DEVICE_CPU;
    def.threads = def.type == STET_DEVICE_CPU ? threads : 0;
    STI_TRY(stet_device_create(&def, &s->device));
    bench_name_gpu(b, s->device);
    stet_mechanism_options options = stet_device_get_mechanisms(s->device);
    if (!fused) options.disabled |= 1u << STET_MECHANISM_FUSION;
    STI_TRY(stet_device_set_mechanisms(s->device, &options));
    STI_TRY(sti_springs_create(s->device, nworld, &s->springs));
    return steps(s); /* listed, compared, replayed */
}

static stet_result compare_bits(const stepping *s)
{
    uint64_t hash[2];
    for (int k = 0; k < 2; ++k) STI_TRY(sti_springs_hash(&s[k].springs, &hash[k]));
    return hash[0] == hash[1] ? STET_OK
                              : sti_error(STET_ERROR_AUDIT, "bench fusion: steps have other bits with fusion");
}

static stet_result measure_bench_fusion(bench *b, int64_t nworld, stepping *s)
{
    double seconds[2][BENCH_SAMPLES], ratio[BENCH_SAMPLES];
    const bench_work work[2] = {{steps, &s[0], wait_idle}, {steps, &s[1], wait_idle}};
    bench_row *row;
    STI_TRY(compare_bits(s));
    STI_TRY(bench_in_turns(work, 2, bench_least(b, 0.05), seconds));
    for (int i = 0; i < BENCH_SAMPLES; ++i) {
        ratio[i] = seconds[0][i] / seconds[1][i];
        for (int k = 0; k < 2; ++k) seconds[k][i] *= 1e6 / STEPS;
    }
    for (int k = 0; k < 2; ++k) {
        STI_TRY(bench_add(b, &row, seconds[k], BENCH_SAMPLES, "us", false, "fusion/%lld/step_%s_us", (long long)nworld,
                          k ? "fused" : "by_launches"));
        bench_note(row, "%d launches over %lld worlds, %s", STI_SPRING_LAUNCHES, (long long)nworld,
                   stet_device_get_name(s[k].device));
    }
    STI_TRY(bench_add(b, &row, ratio, BENCH_SAMPLES, "times", true, "fusion/%lld/speedup", (long long)nworld));
    bench_note(row, "world by world, beside launch by launch; both replayed");
    return STET_OK;
}

static stet_result measure_worlds(bench *b, int threads, int64_t nworld)
{
    stepping s[2] = {{.device = NULL}};
    stet_result result = STET_OK;
    for (int k = 0; k < 2 && result == STET_OK; ++k) result = open_stepping(b, threads, nworld, k == 1, &s[k]);
    if (result == STET_OK) result = measure_bench_fusion(b, nworld, s);
    for (int k = 0; k < 2; ++k) close_stepping(&s[k]);
    return result;
}

stet_result bench_fusion(bench *b)
{
    static const int64_t nworld[] = {64, 1024, 8192, 65536};
    bool gpu = b->device.type != STET_DEVICE_AUTO && b->device.type != STET_DEVICE_CPU;
    if (b->quick) return measure_worlds(b, 1, 16);
    for (int k = 0; k < (gpu ? 4 : 3); ++k) STI_TRY(measure_worlds(b, 1, nworld[k]));
    return STET_OK;
}
