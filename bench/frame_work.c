/* What `stet bench frame` plays; see frame_work.h. */
#include "bench/frame_work.h"

#include "base/error.h"
#include "bench/bare.h"
#include "tiles/tiles.h"

#include <stdio.h>

static stet_result open_tiles(frame_work *w)
{
    static const stet_output outputs[FRAME_REQUESTS] = {STET_OUTPUT_RGB, STET_OUTPUT_DEPTH};
    w->camera = *stet_sim_get_camera(w->sim, 0);
    for (int k = 0; k < FRAME_REQUESTS; ++k)
        w->request[k] = (stet_tile_request){.output = outputs[k], .dtype = stet_output_dtype(outputs[k])};
    w->camera.width = w->width;
    w->camera.height = w->height;
    w->tiles_def = stet_default_tiles_def();
    w->tiles_def.cameras = &w->camera;
    w->tiles_def.ncamera = 1;
    w->tiles_def.requests = w->request;
    w->tiles_def.nrequest = FRAME_REQUESTS;
    w->tiles_def.frames_in_flight = 1;
    return stet_tiles_create(stet_sim_get_stage(w->sim), &w->tiles_def, &w->tiles);
}

stet_result frame_work_open(frame_work *w, bench *b)
{
    char path[512];
    stet_sim_def def = stet_default_sim_def();
    (void)snprintf(path, sizeof path, "%s/hand.xml", b->scenes);
    def.nworld = w->nworld;
    def.device = bench_device_def(b);
    def.physics = b->frame.physics;
    STI_TRY(stet_model_load(path, &w->model));
    STI_TRY(stet_sim_create(w->model, &def, &w->sim));
    bench_name_gpu(b, stet_sim_get_device(w->sim));
    w->external = stet_sim_get_physics(w->sim) == STET_PHYSICS_EXTERNAL;
    for (int k = 0; w->external && k < FRAME_PHASES; ++k) {
        STI_TRY(bench_recording_open(&w->recording[k], b, w->sim, "frame"));
        bench_recording_fill(&w->recording[k], k);
    }
    STI_TRY(open_tiles(w));
    return stet_snapshot_create(stet_sim_get_worlds(w->sim), &w->start);
}

void frame_work_close(frame_work *w)
{
    for (int k = 0; k < FRAME_PHASES; ++k) bench_recording_close(&w->recording[k]);
    stet_snapshot_destroy(w->start);
    stet_tiles_destroy(w->tiles);
    stet_sim_destroy(w->sim);
    stet_model_destroy(w->model);
}

static stet_result move_worlds(frame_work *w, int64_t frame)
{
    if (w->external)
        STI_TRY(bench_recording_write(&w->recording[frame % FRAME_PHASES]));
    else
        STI_TRY(stet_sim_control_noise(w->sim, 0.3, frame));
    return stet_sim_step(w->sim, FRAME_SUBSTEPS);
}

stet_result frame_work_hash(frame_work *w, stet_array *const *tensor, sti_hash *h)
{
    uint64_t content[FRAME_REQUESTS + 2];
    stet_array *xpos;
    stet_worlds *worlds = stet_sim_get_worlds(w->sim);
    for (int k = 0; k < FRAME_REQUESTS; ++k) STI_TRY(stet_array_hash(tensor[k], &content[k]));
    STI_TRY(stet_worlds_get_array(worlds, "xpos", &xpos));
    STI_TRY(stet_array_hash(xpos, &content[FRAME_REQUESTS]));
    STI_TRY(stet_worlds_hash(worlds, &content[FRAME_REQUESTS + 1]));
    sti_hash_add(h, content, sizeof content);
    return STET_OK;
}

static stet_result look_at(frame_work *w, stet_tiles *tiles, stet_array **tensor, sti_hash *h)
{
    stet_array *own[FRAME_REQUESTS] = {NULL}, **to = tensor ? tensor : own;
    STI_TRY(stet_tiles_render(tiles, NULL, NULL));
    for (int k = 0; k < FRAME_REQUESTS; ++k) STI_TRY(stet_tiles_get_array(tiles, -1, k, &to[k]));
    return h ? frame_work_hash(w, to, h) : STET_OK;
}

stet_result frame_work_play(frame_work *w, int64_t frame, stet_array **tensor, sti_hash *h)
{
    if (!w->rests || frame % 2 == 0) STI_TRY(move_worlds(w, frame));
    if (!w->variant->allocates) return look_at(w, w->tiles, tensor, h);
    stet_tiles *tiles;
    sti_painter borrowed = w->tiles->painter; /* the renderer's tables of the scene are not memory of a frame */
    borrowed.destroy = NULL;
    STI_TRY(sti_tiles_create_with(&borrowed, &w->tiles_def, &tiles));
    stet_result result = look_at(w, tiles, tensor, h);
    stet_tiles_destroy(tiles);
    return result;
}

stet_result frame_work_time(frame_work *w, int64_t first, int n, double *seconds)
{
    double start = bench_now();
    for (int k = 0; k < n; ++k) STI_TRY(frame_work_play(w, first + k, NULL, NULL));
    STI_TRY(stet_device_synchronize(stet_sim_get_device(w->sim)));
    *seconds = (bench_now() - start) / n;
    return STET_OK;
}

stet_result frame_work_begin(frame_work *w, const frame_variant *v, bool rests)
{
    stet_device *device = stet_sim_get_device(w->sim);
    stet_mechanism_options options = stet_device_get_mechanisms(device);
    options.disabled = BENCH_ALL_MECHANISMS & ~v->on;
    w->variant = v;
    w->rests = rests;
    STI_TRY(stet_device_set_mechanisms(device, &options));
    return stet_sim_restore(w->sim, w->start);
}

/* ---- frames that the caller captured ----------------------------------------------------------------------------- */

/* Frames before the first one that is captured: all code and tables are there. Those before the first that is timed. */
enum { BEFORE = 2 * FRAME_PHASES, UNTIMED = BEFORE + 2 * FRAME_PHASES };

typedef struct captured {
    frame_work *work;
    bench_bare bare;
    int64_t frame;
    stet_array *tensor[FRAME_REQUESTS];
    void *graph[FRAME_PHASES];
    uint64_t recording[FRAME_PHASES];
} captured;

static stet_result play_captured(void *context)
{
    captured *c = context;
    return frame_work_play(c->work, c->frame, c->tensor, NULL);
}

static stet_result capture_phases(captured *c)
{
    stet_device *device = c->bare.device;
    for (int k = 0; k < FRAME_PHASES; ++k) {
        c->frame = k;
        STI_TRY(bench_bare_capture(&c->bare, play_captured, c, &c->graph[k]));
        c->recording[k] = stet_recording_get_last(device);
    }
    return STET_OK;
}

/* n frames, and the wait for them; *host: seconds until all are launched, *frame: until they are done, of one. */
static stet_result replay(captured *c, int n, double *host, double *frame)
{
    double start = bench_now();
    for (int k = 0; k < n; ++k) {
        STI_TRY(bench_bare_replay(&c->bare, c->graph[k % FRAME_PHASES], c->bare.stream));
        STI_TRY(stet_recording_mark_replayed(c->bare.device, c->recording[k % FRAME_PHASES]));
    }
    *host = (bench_now() - start) / n;
    STI_TRY(bench_bare_wait(&c->bare));
    *frame = (bench_now() - start) / n;
    return STET_OK;
}

static stet_result play_phases(frame_work *w, int n, stet_array **tensor)
{
    for (int k = 0; k < n; ++k) STI_TRY(frame_work_play(w, k % FRAME_PHASES, tensor, NULL));
    return STET_OK;
}

static stet_result hash_of(frame_work *w, stet_array *const *tensor, uint64_t *hash)
{
    sti_hash h;
    sti_hash_begin(&h);
    STI_TRY(frame_work_hash(w, tensor, &h));
    *hash = sti_hash_end(&h);
    return STET_OK;
}

/* Without graphs. */
static stet_result run_eager(frame_work *w, const frame_variant *v, int n, frame_times *out, uint64_t *hash)
{
    stet_device *device = stet_sim_get_device(w->sim);
    stet_array *tensor[FRAME_REQUESTS] = {NULL};
    STI_TRY(frame_work_begin(w, v, false));
    STI_TRY(play_phases(w, UNTIMED, tensor));
    STI_TRY(stet_device_synchronize(device));
    double start = bench_now();
    STI_TRY(play_phases(w, n, tensor));
    STI_TRY(stet_device_synchronize(device));
    out->eager = (bench_now() - start) / n;
    return hash_of(w, tensor, hash);
}

/*
 * A driver uploads a graph at its first launch, so that round counts for nothing. The host's time is that of the
 * second, for which the device's queue has room.
 */
static stet_result run_captured(captured *c, const frame_variant *v, int n, frame_times *out, uint64_t *hash)
{
    double other;
    STI_TRY(frame_work_begin(c->work, v, false));
    STI_TRY(play_phases(c->work, BEFORE, c->tensor));
    STI_TRY(stet_device_synchronize(c->bare.device));
    STI_TRY(stet_device_use_stream(c->bare.device, c->bare.stream));
    STI_TRY(capture_phases(c));
    STI_TRY(replay(c, FRAME_PHASES, &other, &other));
    STI_TRY(replay(c, FRAME_PHASES, &out->host, &other));
    STI_TRY(replay(c, n, &other, &out->captured));
    return hash_of(c->work, c->tensor, hash);
}

stet_result frame_work_captured(frame_work *w, const frame_variant *v, int n, frame_times *out)
{
    captured c = {.work = w};
    stet_device *device = stet_sim_get_device(w->sim);
    uint64_t hash[2] = {0, 0};
    n = (n / FRAME_PHASES + 1) * FRAME_PHASES; /* whole rounds of phases */
    STI_TRY(run_eager(w, v, n, out, &hash[0]));
    stet_result result = bench_bare_open(&c.bare, device);
    if (result == STET_OK) result = run_captured(&c, v, n, out, &hash[1]);
    if (result == STET_OK && hash[0] != hash[1])
        result = sti_error(STET_ERROR_STATE, "bench frame: frames that were captured are others (%016llx) than %016llx",
                           (unsigned long long)hash[1], (unsigned long long)hash[0]);
    for (int k = 0; k < FRAME_PHASES; ++k) bench_bare_graph_end(&c.bare, c.graph[k]);
    (void)stet_device_use_own_stream(device);
    bench_bare_close(&c.bare);
    return result;
}
