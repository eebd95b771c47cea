/*
 * What each mechanism is worth: one workload with no mechanism, with each alone, with all but each, and with all.
 *
 * Physics is `external`, so that it does not dominate: poses come from a recording of the hand (scenes/recordings),
 * which each world plays from another position on. A frame of the workload:
 *
 *     poses of all worlds are written; SUBSTEPS steps; a frame is rendered (depth and geoms, EDGE x EDGE)
 *     its depth is read on the host, twice; its geoms are read as a tensor
 *     the same again, though nothing moved: a frame is rendered, the depth read, the geoms read
 *
 * Filling the buffer of poses stands for the other physics and is not timed.
 *
 * Invariants:
 *   ABLATION-1  configurations take turns in one process, on one sim, at the same frames; each first runs until it is
 *               steady
 *   ABLATION-2  the last frame of a turn has the same hash in all configurations, or nothing is reported
 */
#include "bench/recording.h"

#include "base/error.h"

#include <stdio.h>

enum { SUBSTEPS = 10, EDGE = 16, WARM_UP = 1, ALL = BENCH_ALL_MECHANISMS, IDLE = BENCH_IDLE_IN_FRAMES };

typedef struct configuration {
    char name[48];
    uint32_t on; /* mechanisms, a bit each */
    double seconds[BENCH_SAMPLES];
} configuration;

typedef struct moving {
    stet_model *model;
    stet_sim *sim;
    int64_t nworld;
    bench_recording recording;
    int frames; /* a turn */
    int nconfiguration;
    configuration configuration[2 * STET_MECHANISM_COUNT + 2];
} moving;

/* ---- the workload ------------------------------------------------------------------------------------------------ */

static stet_result look_bench_ablation(stet_sim *sim, int times)
{
    stet_array *tensor;
    const void *pixels;
    STI_TRY(stet_sim_render(sim, NULL));
    STI_TRY(stet_sim_get_array(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_DEPTH, &tensor));
    for (int i = 0; i < times; ++i) STI_TRY(stet_array_get_host(tensor, &pixels));
    return stet_sim_get_array(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_SEG_GEOM, &tensor);
}

static stet_result play_frame(moving *m)
{
    STI_TRY(bench_recording_write(&m->recording));
    STI_TRY(stet_sim_step(m->sim, SUBSTEPS));
    STI_TRY(look_bench_ablation(m->sim, 2));
    return look_bench_ablation(m->sim, 1);
}

static stet_result play_bench_ablation(moving *m, int64_t first, int n, double *seconds)
{
    *seconds = 0;
    for (int i = 0; i < n; ++i) {
        bench_recording_fill(&m->recording, first + i);
        double start = bench_now();
        STI_TRY(play_frame(m));
        *seconds += bench_now() - start;
    }
    return STET_OK;
}

/* ---- set-up ------------------------------------------------------------------------------------------------------ */

static stet_result open_moving(moving *m, bench *b)
{
    char path[512];
    stet_sim_def def = stet_default_sim_def();
    (void)snprintf(path, sizeof path, "%s/hand.xml", b->scenes);
    def.nworld = m->nworld;
    def.device = bench_device_def(b);
    def.physics = STET_PHYSICS_EXTERNAL;
    def.outputs = 1u << STET_OUTPUT_DEPTH | 1u << STET_OUTPUT_SEG_GEOM;
    def.width = def.height = EDGE;
    STI_TRY(stet_model_load(path, &m->model));
    STI_TRY(stet_sim_create(m->model, &def, &m->sim));
    bench_name_gpu(b, stet_sim_get_device(m->sim));
    return bench_recording_open(&m->recording, b, m->sim, "mechanisms");
}

static void close_moving(moving *m)
{
    bench_recording_close(&m->recording);
    stet_sim_destroy(m->sim);
    stet_model_destroy(m->model);
}

static void add_configuration(moving *m, uint32_t on, const char *how, const char *which)
{
    configuration *c = &m->configuration[m->nconfiguration++];
    (void)snprintf(c->name, sizeof c->name, "%s%s", how, which);
    c->on = on;
}

static void list_configurations(moving *m)
{
    add_configuration(m, 0, "none", "");
    for (int k = 0; k < STET_MECHANISM_COUNT; ++k)
        if (!(1 << k & IDLE)) add_configuration(m, 1u << k, "only_", stet_mechanism_name((stet_mechanism)k));
    for (int k = 0; k < STET_MECHANISM_COUNT; ++k)
        if (!(1 << k & IDLE))
            add_configuration(m, ALL & ~(1u << k), "without_", stet_mechanism_name((stet_mechanism)k));
    add_configuration(m, ALL, "all", "");
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

/* One sample of one configuration; *hash is that of its last frame. */
static stet_result take_turn(moving *m, int64_t first, configuration *c, int sample, uint64_t *hash)
{
    double unmeasured;
    stet_device *device = stet_sim_get_device(m->sim);
    stet_mechanism_options options = stet_device_get_mechanisms(device);
    options.disabled = ALL & ~c->on;
    STI_TRY(stet_device_set_mechanisms(device, &options));
    STI_TRY(play_bench_ablation(m, first, WARM_UP, &unmeasured));
    STI_TRY(play_bench_ablation(m, first + WARM_UP, m->frames, &c->seconds[sample]));
    c->seconds[sample] /= m->frames;
    return stet_sim_hash_frame(m->sim, STET_FRAME_LATEST, hash);
}

static stet_result take_turns(moving *m)
{
    for (int s = 0; s < BENCH_SAMPLES; ++s) {
        uint64_t expected = 0, hash;
        int64_t first = (int64_t)s * (WARM_UP + m->frames);
        for (int i = 0; i < m->nconfiguration; ++i) {
            configuration *c = &m->configuration[i];
            STI_TRY(take_turn(m, first, c, s, &hash));
            if (i == 0) expected = hash;
            if (hash != expected)
                return sti_error(STET_ERROR_STATE,
                                 "bench mechanisms: configuration %s drew another frame (%016llx) than none of them "
                                 "(%016llx)",
                                 c->name, (unsigned long long)hash, (unsigned long long)expected);
        }
    }
    return STET_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static stet_result add_rows(bench *b, const moving *m)
{
    double ms[BENCH_SAMPLES], ratio[BENCH_SAMPLES];
    const double *none = m->configuration[0].seconds;
    bench_row *row;
    for (int i = 0; i < m->nconfiguration; ++i) {
        const configuration *c = &m->configuration[i];
        for (int s = 0; s < BENCH_SAMPLES; ++s) {
            ms[s] = c->seconds[s] * 1e3;
            ratio[s] = c->seconds[s] / none[s];
        }
        STI_TRY(bench_add(b, &row, ms, BENCH_SAMPLES, "ms a frame", false, "ablation/hand/%lld/%s",
                          (long long)m->nworld, c->name));
        if (i > 0) bench_note(row, "%.4g of none", bench_median(ratio, BENCH_SAMPLES));
    }
    bench_note(&b->row[b->nrow - m->nconfiguration],
               "a frame: poses of %lld worlds written, %d external substeps, depth and seg_geom %d x %d drawn, depth "
               "read twice; then drawn and read once more though nothing moved; %d threads; kernel_cache, "
               "rounds and adstack have nothing to do in a frame",
               (long long)m->nworld, SUBSTEPS, EDGE, EDGE, b->threads);
    const double *all = m->configuration[m->nconfiguration - 1].seconds;
    for (int s = 0; s < BENCH_SAMPLES; ++s) ratio[s] = none[s] / all[s];
    STI_TRY(
        bench_add(b, &row, ratio, BENCH_SAMPLES, "times", true, "ablation/hand/%lld/speedup", (long long)m->nworld));
    bench_note(row, "all of them, over none");
    return STET_OK;
}

static stet_result measure_bench_ablation(bench *b, int64_t nworld)
{
    moving m = {.nworld = nworld, .frames = b->quick ? 1 : nworld < 256 ? 6 : 2};
    stet_result result = open_moving(&m, b);
    list_configurations(&m);
    if (result == STET_OK) result = take_turns(&m);
    if (result == STET_OK) result = add_rows(b, &m);
    close_moving(&m);
    return result;
}

stet_result bench_ablation(bench *b)
{
    if (b->quick) return measure_bench_ablation(b, 6);
    STI_TRY(measure_bench_ablation(b, 64));
    return measure_bench_ablation(b, 1024);
}
