/*
 * The cost of a check when everything is unchanged: a row for each mechanism. launches.c has those of launches,
 * ablation.c what mechanisms are worth, idle.c a whole render when nothing moved.
 *
 * Each check is measured alone: checks that it would call (transforms check poses, frames check transforms) are told
 * that they were made already.
 */
#include "bench/bench.h"

#include "base/error.h"
#include "sim/sim.h"
#include "stage/stage.h"
#include "tiles/tiles.h"

#include <stdio.h>
#include <string.h>

enum { WORLDS = 64 };

/* ---- a sim at rest ----------------------------------------------------------------------------------------------- */

typedef struct resting {
    stet_model *model;
    stet_sim *sim;
    stet_array *xpos, *qacc, *transforms, *tensor;
} resting;

static stet_result ask_poses(void *context) { return sti_array_ensure(((resting *)context)->xpos); }

static stet_result ask_quantity(void *context) { return sti_array_ensure(((resting *)context)->qacc); }

static stet_result ask_transforms(void *context)
{
    resting *r = context;
    r->xpos->producing = true;
    stet_result result = sti_array_ensure(r->transforms);
    r->xpos->producing = false;
    return result;
}

static stet_result ask_frame(void *context)
{
    resting *r = context;
    r->transforms->producing = true;
    stet_result result = stet_tiles_render(r->sim->tiles, NULL, NULL);
    r->transforms->producing = false;
    return result;
}

/* The first read of a frame whose tensors the renderer wrote itself. */
static stet_result ask_tiles(void *context)
{
    stet_tiles *tiles = ((resting *)context)->sim->tiles;
    sti_tile_place *place = sti_place_of(tiles, tiles->newest);
    sti_stamp_invalidate(&place->extracted);
    return sti_tiles_extract_frame(tiles, place, STET_REASON_DEFERRED_TILES_FIRST_READ);
}

static stet_result ask_deferred(void *context)
{
    resting *r = context;
    return stet_tiles_get_array(r->sim->tiles, -1, 0, &r->tensor);
}

static stet_result ask_host(void *context)
{
    const void *pixels;
    return stet_array_get_host(((resting *)context)->tensor, &pixels);
}

static stet_result open_resting(resting *r, const bench *b)
{
    char path[512];
    stet_sim_def def = stet_default_sim_def();
    (void)snprintf(path, sizeof path, "%s/hand.xml", b->scenes);
    def.nworld = WORLDS;
    def.device = bench_device_def(b);
    def.outputs = 1u << STET_OUTPUT_RGBA;
    STI_TRY(stet_model_load(path, &r->model));
    STI_TRY(stet_sim_create(r->model, &def, &r->sim));
    STI_TRY(stet_sim_step(r->sim, 1));
    STI_TRY(stet_sim_render(r->sim, NULL));
    r->xpos = r->sim->worlds->state.field[STI_FIELD_xpos];
    r->transforms = sti_stage_world(r->sim->stage);
    STI_TRY(stet_worlds_get_array(r->sim->worlds, "qacc", &r->qacc));
    STI_TRY(ask_quantity(r));
    STI_TRY(ask_deferred(r));
    return ask_host(r);
}

static stet_result measure_resting(bench *b)
{
    static const struct {
        const char *name, *note;
        stet_result (*ask)(void *context);
    } asked[] = {
        {"pose_sync/hit_ns", "poses of 64 worlds, and what the caller may have written to the state", ask_poses},
        {"quantities/hit_ns", "accelerations of 64 worlds", ask_quantity},
        {"hierarchy/hit_ns", "transforms of 64 worlds", ask_transforms},
        {"frame/hit_ns", "a frame of 64 worlds", ask_frame},
        {"tiles/hit_ns", "first read of a frame that was drawn where the caller reads it", ask_tiles},
        {"deferred_tiles/hit_ns", "a tensor of a frame that was read before", ask_deferred},
        {"readback/hit_ns", "a tensor on the host", ask_host},
    };
    enum { N = sizeof asked / sizeof *asked };
    resting r = {0};
    bench_work work[N];
    double seconds[N][BENCH_SAMPLES];
    bench_row *row;
    stet_counters counters;
    for (int i = 0; i < N; ++i) work[i] = (bench_work){.run = asked[i].ask, .context = &r};
    stet_result result = open_resting(&r, b);
    if (result == STET_OK) {
        stet_device_clear_counters(stet_sim_get_device(r.sim));
        result = bench_in_turns(work, N, bench_least(b, 0.01), seconds);
    }
    if (result == STET_OK) {
        counters = stet_device_get_counters(stet_sim_get_device(r.sim));
        if (counters.launches || counters.bytes_copied || counters.kinematics)
            result = sti_error(STET_ERROR_STATE, "bench mechanisms: work was done though nothing had moved");
    }
    for (int i = 0; i < N && result == STET_OK; ++i) {
        result = bench_add_ns(b, seconds[i], 1, &row, asked[i].name);
        if (result == STET_OK) bench_note(row, "%s", asked[i].note);
    }
    stet_sim_destroy(r.sim);
    stet_model_destroy(r.model);
    return result;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

stet_result bench_mechanisms(bench *b)
{
    STI_TRY(measure_resting(b));
    STI_TRY(bench_launches(b));
    STI_TRY(bench_idle(b));
    return bench_ablation(b);
}
