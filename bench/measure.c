/* Clocks, samples in turns, and the description of the machine; see bench.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mkdtemp */
#endif
#include "bench/bench.h"

#include "base/error.h"
#include "base/temporary.h"
#include "device/device.h"
#include "device/isa.h"
#include "kernel/compile/cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

stet_result bench_make_folder(char folder[BENCH_FOLDER])
{
    (void)snprintf(folder, BENCH_FOLDER, "/tmp/stet-bench-XXXXXX");
    if (mkdtemp(folder)) return sti_temporary_add(folder), STET_OK;
    return sti_error(STET_ERROR_IO, "bench: no folder can be made in /tmp: %s", strerror(errno));
}

void bench_remove_folder(const char *folder)
{
    sti_cache cache;
    if (sti_cache_open(folder, 0, true, &cache) == STET_OK) {
        int64_t removed;
        (void)sti_cache_clear(&cache, &removed);
        sti_cache_close(&cache);
    }
    (void)rmdir(folder);
    sti_temporary_drop(folder);
}

stet_device_def bench_cpu_def(void)
{
    stet_device_def def = stet_default_device_def();
    def.type = STET_DEVICE_CPU;
    return def;
}

void bench_name_gpu(bench *b, const stet_device *device)
{
    if (device->can.compiles) (void)snprintf(b->gpu, sizeof b->gpu, "%s", stet_device_get_name(device));
}

stet_device_def bench_device_def(const bench *b)
{
    stet_device_def def = b->device.type == STET_DEVICE_AUTO ? bench_cpu_def() : b->device;
    def.threads = b->threads;
    return def;
}

static double read_clock(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double bench_now(void) { return read_clock(CLOCK_MONOTONIC); }

static int compare_bench_measure(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(const double *sample, int n)
{
    double sorted[BENCH_SAMPLES];
    memcpy(sorted, sample, sizeof *sample * (size_t)n);
    qsort(sorted, (size_t)n, sizeof *sorted, compare_bench_measure);
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static stet_result repeat(const bench_work *work, int64_t times, clockid_t clock, double *seconds)
{
    double start = read_clock(clock);
    for (int64_t k = 0; k < times; ++k) {
        stet_result result = work->run(work->context);
        if (result != STET_OK) return result;
    }
    stet_result result = work->finish ? work->finish(work->context) : STET_OK;
    if (result != STET_OK) return result;
    *seconds = read_clock(clock) - start;
    return STET_OK;
}

/* How often to repeat work so that it takes `least` seconds; doubles the count until it does. */
static stet_result calibrate(const bench_work *work, double least, clockid_t clock, int64_t *times)
{
    double seconds;
    stet_result result = repeat(work, 1, clock, &seconds);
    for (*times = 1; result == STET_OK; *times *= 2) {
        result = repeat(work, *times, clock, &seconds);
        if (seconds >= least / 2) break;
    }
    if (result == STET_OK && seconds < least) *times *= 2;
    return result;
}

enum { MAX_WORK = 8 };

static stet_result take_turns(const bench_work *work, int nwork, double least, clockid_t clock,
                              double seconds[][BENCH_SAMPLES])
{
    int64_t times[MAX_WORK];
    stet_result result = STET_OK;
    for (int i = 0; i < nwork && result == STET_OK; ++i) result = calibrate(&work[i], least, clock, &times[i]);
    for (int s = 0; s < BENCH_SAMPLES; ++s)
        for (int i = 0; i < nwork && result == STET_OK; ++i) {
            result = repeat(&work[i], times[i], clock, &seconds[i][s]);
            seconds[i][s] /= (double)times[i];
        }
    return result;
}

stet_result bench_in_turns(const bench_work *work, int nwork, double least, double seconds[][BENCH_SAMPLES])
{
    return take_turns(work, nwork, least, CLOCK_MONOTONIC, seconds);
}

stet_result bench_on_core_in_turns(const bench_work *work, int nwork, double least, double seconds[][BENCH_SAMPLES])
{
    return take_turns(work, nwork, least, CLOCK_PROCESS_CPUTIME_ID, seconds);
}

static stet_result time_calls(const bench_work *work, int calls, double *seconds)
{
    STI_TRY(work->finish(work->context));
    double start = bench_now();
    for (int k = 0; k < calls; ++k) STI_TRY(work->run(work->context));
    *seconds += bench_now() - start;
    return work->finish(work->context);
}

stet_result bench_host_in_turns(const bench_work *work, int nwork, int calls, int times,
                                double seconds[][BENCH_SAMPLES])
{
    for (int s = -1; s < BENCH_SAMPLES; ++s) /* the first round is not kept */
        for (int i = 0; i < nwork; ++i) {
            double total = 0;
            for (int t = 0; t < times; ++t) STI_TRY(time_calls(&work[i], calls, &total));
            if (s >= 0) seconds[i][s] = total / ((double)calls * times);
        }
    return STET_OK;
}

/* ---- the machine ------------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
/* 12 independent sums, 24 multiply-adds per iteration. */
__attribute__((target("avx512f"))) static float chains_avx512(int64_t turns)
{
    __m512 s[12], a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
    for (int i = 0; i < 12; ++i) s[i] = _mm512_set1_ps((float)i);
    for (int64_t k = 0; k < turns; ++k) {
#pragma GCC unroll 12
        for (int i = 0; i < 12; ++i) s[i] = _mm512_fmadd_ps(_mm512_fmadd_ps(s[i], a, b), a, b);
    }
    for (int i = 1; i < 12; ++i) s[0] = _mm512_add_ps(s[0], s[i]);
    return _mm512_cvtss_f32(s[0]);
}
__attribute__((target("avx2,fma"))) static float chains_avx2(int64_t turns)
{
    __m256 s[12], a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
    for (int i = 0; i < 12; ++i) s[i] = _mm256_set1_ps((float)i);
    for (int64_t k = 0; k < turns; ++k) {
#pragma GCC unroll 12
        for (int i = 0; i < 12; ++i) s[i] = _mm256_fmadd_ps(_mm256_fmadd_ps(s[i], a, b), a, b);
    }
    for (int i = 1; i < 12; ++i) s[0] = _mm256_add_ps(s[0], s[i]);
    return _mm256_cvtss_f32(s[0]);
}

double bench_peak_gflops(void)
{
    enum { TURNS = 200000 };
    double best = 0;
    bool wide = sti_isa_width(sti_isa_best()) == 16;
    if (!wide && sti_isa_width(sti_isa_best()) != 8) return 0;
    for (int k = 0; k < 25; ++k) {
        volatile float sink;
        double start = bench_now();
        sink = wide ? chains_avx512(TURNS) : chains_avx2(TURNS);
        double seconds = bench_now() - start;
        (void)sink;
        double gflops = 24.0 * 2 * (wide ? 16 : 8) * TURNS / seconds * 1e-9;
        if (gflops > best) best = gflops;
    }
    return best;
}
#else
double bench_peak_gflops(void) { return 0; }
#endif

double bench_peak_gbytes(void)
{
    enum { SUMS = 8, LEAST = 1 << 28 };
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE); /* of all cores */
    size_t n = (cache > LEAST / 2 ? 2 * (size_t)cache : LEAST) / sizeof(uint64_t) / SUMS * SUMS;
    uint64_t *words = malloc(n * sizeof *words), sum[SUMS] = {0};
    double best = 0;
    if (!words) return 0;
    memset(words, 1, n * sizeof *words);
    for (int k = 0; k < 9; ++k) {
        double start = bench_now();
        for (size_t i = 0; i < n; i += SUMS)
            for (int j = 0; j < SUMS; ++j) sum[j] += words[i + (size_t)j];
        double gbytes = (double)(n * sizeof *words) / (bench_now() - start) * 1e-9;
        if (gbytes > best) best = gbytes;
    }
    for (int j = 1; j < SUMS; ++j) sum[0] += sum[j];
    volatile uint64_t sink = sum[0];
    (void)sink;
    free(words);
    return best;
}

/* The processor's name as the system knows it. */
static void processor(char *out, size_t size)
{
    char line[512];
    FILE *f = fopen("/proc/cpuinfo", "r");
    (void)snprintf(out, size, "unknown processor");
    while (f && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        line[strcspn(line, "\n")] = 0;
        (void)snprintf(out, size, "%s", colon + 2);
        break;
    }
    if (f) (void)fclose(f);
}

void bench_machine(const bench *b, char *out, size_t size)
{
    char name[160];
    stet_device_def def = bench_cpu_def();
    stet_device *device;
    processor(name, sizeof name);
    if (stet_device_create(&def, &device) != STET_OK) {
        (void)snprintf(out, size, "%s", name);
        return;
    }
    int threads = stet_device_get_threads(device);
    (void)snprintf(out, size, "%s, %d processor%s, %s%s%s", name, threads, threads == 1 ? "" : "s",
                   stet_device_get_isa(device), *b->gpu ? "; " : "", b->gpu);
    stet_device_destroy(device);
}
