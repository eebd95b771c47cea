/* A render when nothing moved: the time of the check, and the work that was done; and what the direct path copies. */
#include "bench/bench.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

enum { WORLDS = 64, MANY_WORLDS = 1024, EDGE = 32 };

typedef struct resting {
    stet_model *model;
    stet_sim *sim;
    stet_array *tensor;
    stet_output output;
} resting;

static stet_result ask_render(void *context) { return stet_sim_render(((resting *)context)->sim, NULL); }

static stet_result ask_tensor(void *context)
{
    resting *r = context;
    return stet_sim_get_array(r->sim, STET_FRAME_LATEST, 0, r->output, &r->tensor);
}

static stet_result open_resting(resting *r, const bench *b, int64_t nworld, stet_output output)
{
    char path[512];
    stet_sim_def def = stet_default_sim_def();
    (void)snprintf(path, sizeof path, "%s/hand.xml", b->scenes);
    r->output = output;
    def.nworld = nworld;
    def.device = bench_device_def(b);
    def.outputs = 1u << output;
    def.width = def.height = EDGE;
    STI_TRY(stet_model_load(path, &r->model));
    STI_TRY(stet_sim_create(r->model, &def, &r->sim));
    STI_TRY(stet_sim_step(r->sim, 1));
    STI_TRY(ask_render(r));
    return ask_tensor(r);
}

static void close_resting(resting *r)
{
    stet_sim_destroy(r->sim);
    stet_model_destroy(r->model);
}

/* ---- idle -------------------------------------------------------------------------------------------------------- */

static stet_result add_work(bench *b, const resting r[2])
{
    bench_row *row;
    stet_counters c;
    double launches = 0, bytes = 0;
    for (int k = 0; k < 2; ++k) {
        c = stet_device_get_counters(stet_sim_get_device(r[k].sim));
        launches += (double)c.launches;
        bytes += (double)c.bytes_copied;
    }
    STI_TRY(bench_add(b, &row, &launches, 1, "launches", false, "idle/launches"));
    bench_goal(row, 0);
    bench_note(row, "in all of the renders above");
    STI_TRY(bench_add(b, &row, &bytes, 1, "bytes", false, "idle/bytes_copied"));
    bench_goal(row, 0);
    return STET_OK;
}

/* In turns for few worlds and for many: the time must not depend on the number of worlds. */
static stet_result measure_idle(bench *b, resting r[2])
{
    static const int64_t nworld[2] = {WORLDS, MANY_WORLDS};
    static const char *const names[2] = {"idle/render_us", "idle/1024_worlds/render_us"};
    double seconds[2][BENCH_SAMPLES];
    bench_row *row;
    const bench_work work[] = {{.run = ask_render, .context = &r[0]}, {.run = ask_render, .context = &r[1]}};
    for (int k = 0; k < 2; ++k) {
        STI_TRY(open_resting(&r[k], b, nworld[k], STET_OUTPUT_RGB));
        stet_device_clear_counters(stet_sim_get_device(r[k].sim));
    }
    STI_TRY(bench_in_turns(work, 2, bench_least(b, 0.01), seconds));
    for (int k = 0; k < 2; ++k) {
        for (int s = 0; s < BENCH_SAMPLES; ++s) seconds[k][s] *= 1e6;
        STI_TRY(bench_add(b, &row, seconds[k], BENCH_SAMPLES, "us", false, "%s", names[k]));
        bench_goal(row, 1);
        bench_note(row, "of %lld worlds that stand: finds that there is nothing to draw", (long long)nworld[k]);
    }
    return add_work(b, r);
}

stet_result bench_idle(bench *b)
{
    resting r[2] = {0};
    stet_result result = measure_idle(b, r);
    for (int k = 0; k < 2; ++k) close_resting(&r[k]);
    return result;
}

/* ---- direct path ------------------------------------------------------------------------------------------------- */

/* Moving frames, drawn directly into the tensor: bytes that extraction copied for each. */
stet_result bench_direct(bench *b)
{
    resting r = {0};
    double bytes[BENCH_SAMPLES];
    bench_row *row;
    stet_result result = open_resting(&r, b, WORLDS, STET_OUTPUT_RGBA);
    for (int k = 0; k < BENCH_SAMPLES && result == STET_OK; ++k) {
        stet_counters c;
        stet_device_clear_counters(stet_sim_get_device(r.sim));
        result = stet_sim_step(r.sim, 1);
        if (result == STET_OK) result = ask_render(&r);
        if (result == STET_OK) result = ask_tensor(&r);
        c = stet_device_get_counters(stet_sim_get_device(r.sim));
        bytes[k] = (double)c.mechanism[STET_MECHANISM_TILES].done_bytes;
        if (result == STET_OK && c.mechanism[STET_MECHANISM_FRAME].misses != 1)
            result = sti_error(STET_ERROR_STATE, "bench tiles: a frame that moved was not drawn");
    }
    if (result == STET_OK)
        result = bench_add(b, &row, bytes, BENCH_SAMPLES, "bytes a frame", false, "tiles/direct/bytes");
    if (result == STET_OK) {
        bench_goal(row, 0);
        bench_note(row, "rgba of %d worlds, drawn where the caller reads them", WORLDS);
    }
    close_resting(&r);
    return result;
}
