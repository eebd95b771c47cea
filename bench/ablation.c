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
#include "bench/bench.h"

#include "base/error.h"
#include "base/memory.h"
#include "cli/files/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUBSTEPS = 10, EDGE = 16, WARM_UP = 1, ALL = (1 << STET_MECHANISM_COUNT) - 1 };
/*
 * The switches of these mechanisms change nothing here: a frame compiles nothing, launches no kernel of the caller and
 * no adjoint, begins no round and reads no quantity, and no tensor is exported.
 */
enum {
    IDLE = 1 << STET_MECHANISM_KERNEL_CACHE | 1 << STET_MECHANISM_ROUNDS | 1 << STET_MECHANISM_ADSTACK |
           1 << STET_MECHANISM_ADSTACK_HANDLE | 1 << STET_MECHANISM_GATHER_PLAN | 1 << STET_MECHANISM_PLAIN_VIEW |
           1 << STET_MECHANISM_QUANTITIES
};

typedef struct configuration {
    char name[48];
    uint32_t on; /* mechanisms, a bit each */
    double seconds[BENCH_SAMPLES];
} configuration;

typedef struct moving {
    stet_model *model;
    stet_sim *sim;
    int64_t nworld, nrecorded;
    npy_array recorded[2]; /* xpos, xquat: [nrecorded][1][items] */
    stet_array *pose[2];
    float *buffer[2]; /* of all worlds */
    int frames;       /* a turn */
    int nconfiguration;
    configuration configuration[2 * STET_MECHANISM_COUNT + 2];
} moving;

/* ---- the workload ------------------------------------------------------------------------------------------------ */

/* Stands for the other physics: world w is 7 w frames ahead. */
static void fill_poses(moving *m, int64_t frame)
{
    for (int k = 0; k < 2; ++k) {
        size_t n = (size_t)(m->recorded[k].count / m->nrecorded);
        for (int64_t w = 0; w < m->nworld; ++w) {
            const double *from = m->recorded[k].data + (size_t)((frame + 7 * w) % m->nrecorded) * n;
            float *to = m->buffer[k] + (size_t)w * n;
            for (size_t i = 0; i < n; ++i) to[i] = (float)from[i];
        }
    }
}

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
    for (int k = 0; k < 2; ++k) STI_TRY(stet_array_write(m->pose[k], m->buffer[k], stet_array_get_bytes(m->pose[k])));
    STI_TRY(stet_sim_step(m->sim, SUBSTEPS));
    STI_TRY(look_bench_ablation(m->sim, 2));
    return look_bench_ablation(m->sim, 1);
}

static stet_result play_bench_ablation(moving *m, int64_t first, int n, double *seconds)
{
    *seconds = 0;
    for (int i = 0; i < n; ++i) {
        fill_poses(m, first + i);
        double start = bench_now();
        STI_TRY(play_frame(m));
        *seconds += bench_now() - start;
    }
    return STET_OK;
}

/* ---- set-up ------------------------------------------------------------------------------------------------------ */

static stet_result read_recording(moving *m, const bench *b, int k)
{
    static const char *const fields[] = {"xpos", "xquat"};
    char path[512];
    (void)snprintf(path, sizeof path, "%s/recordings/hand_%s.npy", b->scenes, fields[k]);
    const char *wrong = npy_read(path, &m->recorded[k]);
    if (wrong) return sti_error(STET_ERROR_IO, "bench mechanisms: %s: %s", path, wrong);
    STI_TRY(stet_worlds_get_array(stet_sim_get_worlds(m->sim), fields[k], &m->pose[k]));
    const npy_array *a = &m->recorded[k];
    if (a->ndim != 3 || a->shape[1] != 1 || a->shape[0] < 1 || a->shape[2] != stet_array_get_shape(m->pose[k])[1])
        return sti_error(STET_ERROR_PARSE,
                         "bench mechanisms: %s: not a recording of one world of the hand; record it anew", path);
    m->nrecorded = a->shape[0];
    return sti_alloc(&m->buffer[k], stet_array_get_bytes(m->pose[k]), "poses of all worlds");
}

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
    for (int k = 0; k < 2; ++k) STI_TRY(read_recording(m, b, k));
    if (m->recorded[0].shape[0] == m->recorded[1].shape[0]) return STET_OK;
    return sti_error(STET_ERROR_PARSE,
                     "bench mechanisms: the recordings of the hand differ in length; record them anew");
}

static void close_moving(moving *m)
{
    for (int k = 0; k < 2; ++k) {
        sti_free(m->buffer[k]);
        free(m->recorded[k].data);
    }
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
