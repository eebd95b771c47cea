/* Tiles of the random program's own: conversions, bound arrays, masks, cameras on added prims. */
#include "sim/program/program.h"

#include <stdlib.h>

enum { MOST_REQUESTS = 5 };

void own_close(program *p)
{
    own_tiles *o = &p->own;
    if (!o->tiles[SUBJECT]) return;
    say(p, " (close own tiles)");
    for (int i = 0; i < 2; ++i) {
        stet_tiles_destroy(o->tiles[i]);
        for (int k = 0; k < o->nrequest; ++k) stet_array_destroy(o->bound[i][k]);
    }
    gallery_close(&o->shown);
    *o = (own_tiles){0};
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static stet_dtype pick_dtype(program *p, stet_output output)
{
    static const stet_dtype colours[] = {STET_DTYPE_U8, STET_DTYPE_REAL, STET_DTYPE_F16},
                            reals[] = {STET_DTYPE_REAL, STET_DTYPE_F16},
                            ints[] = {STET_DTYPE_INT, STET_DTYPE_U32, STET_DTYPE_U8, STET_DTYPE_I64};
    switch (stet_output_dtype(output)) {
    case STET_DTYPE_U8: return colours[roll(p, 3)];
    case STET_DTYPE_REAL: return reals[roll(p, 2)];
    default: return ints[roll(p, 4)];
    }
}

static void pick_requests(program *p, stet_tile_request *requests, int n)
{
    for (int k = 0; k < n; ++k) {
        stet_output output = (stet_output)roll(p, STET_OUTPUT_COUNT);
        requests[k] = (stet_tile_request){.camera = roll(p, 2),
                                          .output = output,
                                          .dtype = pick_dtype(p, output),
                                          .channels = roll(p, stet_output_channels(output) + 1),
                                          .planar = once_in(p, 3)};
    }
}

/* An array for a request to be bound to. */
static stet_array *make_bound(program *p, int who, const stet_tile_request *r, const stet_camera *camera)
{
    stet_array_def def = stet_default_array_def();
    stet_array *array;
    int channels = r->channels ? r->channels : stet_output_channels(r->output);
    const int64_t shape[] = {p->nworld, camera->height, camera->width, channels},
                  planes[] = {p->nworld, channels, camera->height, camera->width};
    def.name = "bound";
    def.dtype = r->dtype;
    def.ndim = 4;
    memcpy(def.shape, r->planar ? planes : shape, sizeof shape);
    must(p, who, stet_array_create(device_of(p, who), &def, &array), "stet_array_create");
    return array;
}

/* One camera of the model or the sim, one on any added prim. */
static void pick_cameras(program *p, stet_camera cameras[2])
{
    p->own.camera_prim = p->nadded ? p->added[roll(p, p->nadded)].prim : stet_sim_get_camera(p->sim[SUBJECT], 0)->prim;
    for (int c = 0; c < 2; ++c)
        cameras[c] = (stet_camera){.prim = c ? p->own.camera_prim : stet_sim_get_camera(p->sim[SUBJECT], 0)->prim,
                                   .width = 1 + roll(p, 17),
                                   .height = 1 + roll(p, 9),
                                   .fovy = 30 + (float)roll(p, 60),
                                   .name = "own"};
}

void op_own_open(program *p)
{
    own_tiles *o = &p->own;
    stet_camera cameras[2];
    stet_tile_request requests[MOST_REQUESTS];
    stet_tiles_def def = stet_default_tiles_def();
    size_t bytes[MOST_REQUESTS];
    say(p, "open own tiles");
    own_close(p);
    o->nrequest = 1 + roll(p, MOST_REQUESTS);
    o->extracted = -1;
    pick_cameras(p, cameras);
    pick_requests(p, requests, o->nrequest);
    bool bound[MOST_REQUESTS];
    o->motion = false;
    for (int k = 0; k < o->nrequest; ++k) {
        bound[k] = once_in(p, 4);
        o->motion = o->motion || requests[k].output == STET_OUTPUT_MOTION;
    }
    def.cameras = cameras;
    def.ncamera = 2;
    def.nrequest = o->nrequest;
    def.requests = requests;
    for (int i = 0; i < 2; ++i) {
        def.frames_in_flight = 1 + roll(p, 3);
        for (int k = 0; k < o->nrequest; ++k) {
            const stet_camera *c = &cameras[requests[k].camera];
            requests[k].bound = NULL;
            if (bound[k]) requests[k].bound = o->bound[i][k] = make_bound(p, i, &requests[k], c);
            o->any_bound = o->any_bound || bound[k];
            int channels = requests[k].channels ? requests[k].channels : stet_output_channels(requests[k].output);
            bytes[k] = (size_t)(p->nworld * c->height * c->width * channels) *
                       stet_dtype_size(device_of(p, i), requests[k].dtype);
        }
        must(p, i, stet_tiles_create(stage_of(p, i), &def, &o->tiles[i]), "stet_tiles_create");
        if (i == SUBJECT) gallery_open(p, &o->shown, def.frames_in_flight, bytes, o->nrequest);
    }
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static void read_request(program *p, int who, int64_t frame, int request, void *out)
{
    stet_array *tensor;
    must(p, who, stet_tiles_get_array(p->own.tiles[who], frame, request, &tensor), "stet_tiles_get_array");
    fetch(p, who, tensor, once_in(p, 2), out);
}

void op_own_render(program *p)
{
    own_tiles *o = &p->own;
    uint8_t mask[8];
    int64_t frame[2];
    bool masked = once_in(p, 2);
    if (!o->tiles[SUBJECT]) {
        op_own_open(p);
        return;
    }
    for (int64_t w = 0; w < p->nworld; ++w) mask[w] = once_in(p, 2);
    say(p, "own render%s", masked ? " of" : "");
    for (int64_t w = 0; masked && w < p->nworld; ++w)
        if (mask[w]) say(p, " %lld", (long long)w);
    BOTH(p, stet_tiles_render(o->tiles[i], masked ? mask : NULL, &frame[i]));
    say(p, ": frame %lld", (long long)frame[SUBJECT]);
    for (int k = 0; k < o->nrequest; ++k) read_request(p, TWIN, -1, k, o->shown.fresh + o->shown.at[k]);
    gallery_show(p, &o->shown, frame[SUBJECT]);
    if (!sti_enabled(&device_of(p, SUBJECT)->mechanisms, STET_MECHANISM_DEFERRED_TILES)) o->extracted = frame[SUBJECT];
    /*
     * A world that was drawn is not stale, but for its motion, or where somebody may have written since without a word;
     * of the others one of the two may doubt alone.
     */
    bool known = !o->motion && !exported_silently(p);
    for (int64_t w = 0; known && once_in(p, 3) && w < p->nworld; ++w)
        for (int i = 0; i < 2; ++i)
            CHECK(p, (masked && !mask[w]) || !stet_tiles_is_stale(o->tiles[i], w), "world %lld is stale", (long long)w);
}

/* Of any frame that is kept. A bound array holds the newest that was extracted, and says so if asked for others. */
void op_own_read(program *p)
{
    own_tiles *o = &p->own;
    gallery *g = &o->shown;
    if (!o->tiles[SUBJECT] || g->newest < 0) {
        op_own_render(p);
        return;
    }
    int64_t frame = g->newest - roll(p, g->depth);
    int request = roll(p, o->nrequest);
    if (frame < 0) frame = g->newest;
    say(p, "own read of frame %lld of %lld, request %d", (long long)frame, (long long)g->newest, request);
    if (o->bound[SUBJECT][request] && frame < o->extracted) {
        stet_array *none;
        CHECK(p, stet_tiles_get_array(o->tiles[SUBJECT], frame, request, &none) == STET_ERROR_STATE,
              "a bound array went back to an older frame");
        return;
    }
    uint8_t *pixels = room(p, g->at[request + 1] - g->at[request]);
    read_request(p, SUBJECT, frame, request, pixels);
    char what[LINE];
    (void)snprintf(what, sizeof what, "own frame %lld, request %d%s", (long long)frame, request,
                   o->bound[SUBJECT][request] ? ", bound" : "");
    same_bytes(p, pixels, g->kept[frame % KEPT_FRAMES].pixels + g->at[request], g->at[request + 1] - g->at[request],
               what);
    free(pixels);
    if (frame > o->extracted) o->extracted = frame;
}

/* Somebody else writes a bound array; the next read brings the frame back. */
void op_own_scribble(program *p)
{
    own_tiles *o = &p->own;
    if (!o->tiles[SUBJECT] || !o->any_bound) {
        op_own_read(p);
        return;
    }
    say(p, "scribble on bound arrays");
    for (int k = 0; k < o->nrequest; ++k) {
        stet_array *a = o->bound[SUBJECT][k];
        if (!a) continue;
        uint8_t *junk = room(p, stet_array_get_bytes(a));
        memset(junk, roll(p, 100), stet_array_get_bytes(a));
        BOTH(p, stet_array_write(o->bound[i][k], junk, stet_array_get_bytes(a)));
        free(junk);
    }
}
