/* The three pilots on one core. */
#include "bench/bench.h"

#include "base/error.h"
#include "bench/pilot/pilot.h"

typedef struct running {
    stet_device *device;
    sti_pilot pilot;
} running;

static stet_result run_bench_pilots(void *context)
{
    running *r = context;
    return sti_pilot_run(r->device, &r->pilot);
}

/* Multiply-adds of one Newton iteration: the tiles of the lower triangle over 50 rows, Cholesky, two substitutions. */
static double newton_flops(void) { return 2 * (45 * 9 * 50.0 + 27.0 * 27 * 27 / 6 + 27 * 27); }

static stet_result add_bench_pilots(bench *b, sti_pilot_kind kind, const double *seconds)
{
    static const double items[] = {1000, 512.0 * 512, 1000}, scale[] = {1e6, 1e9, 1e9};
    static const char *const units[] = {"us/world/core", "ns/ray", "ns/world"};
    double sample[BENCH_SAMPLES];
    for (int s = 0; s < BENCH_SAMPLES; ++s) sample[s] = seconds[s] / items[kind] * scale[kind];
    bench_row *row;
    STI_TRY(bench_add(b, &row, sample, BENCH_SAMPLES, units[kind], false, "pilots/%s", sti_pilot_name(kind)));
    if (kind != STI_PILOT_NEWTON) return STET_OK;
    bench_goal(row, 0.6);
    double peak = bench_peak_gflops(), rate = newton_flops() / row->value * 1e-3;
    if (peak > 0)
        bench_note(row,
                   "27 dofs, 50 rows, 1000 worlds: %.0f of the %.0f GFLOP/s that one core reaches with multiply-adds "
                   "alone (%.0f %%)",
                   rate, peak, 100 * rate / peak);
    return STET_OK;
}

stet_result bench_pilots(bench *b)
{
    static const int64_t sizes[] = {1000, 512, 1000};
    stet_device_def def = bench_cpu_def();
    running r;
    def.threads = 1;
    STI_TRY(stet_device_create(&def, &r.device));
    stet_result result = STET_OK;
    for (int kind = 0; kind < STI_PILOT_COUNT && result == STET_OK; ++kind) {
        double seconds[1][BENCH_SAMPLES];
        result = sti_pilot_create(r.device, (sti_pilot_kind)kind, sizes[kind], &r.pilot);
        if (result != STET_OK) break;
        result = bench_in_turns(&(bench_work){run_bench_pilots, &r, NULL}, 1, 0.02, seconds);
        if (result == STET_OK) result = add_bench_pilots(b, (sti_pilot_kind)kind, seconds[0]);
        sti_pilot_destroy(&r.pilot);
    }
    stet_device_destroy(r.device);
    return result;
}
