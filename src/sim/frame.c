/*
 * Frames of a sim: starting them, and reading them; the present picture is drawn when it is read, if something moved.
 *
 *   FRAME-1  requests are in canonical order: camera by camera, output by output
 */
#include "sim/sim.h"

#include "base/hash.h"
#include "stage/stage.h"
#include "tiles/tiles.h"

#include <assert.h>
#include <string.h>

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static int count_bits(uint32_t bits) { return __builtin_popcount(bits); }

/* One request for each (camera, output), in the output's own element type with all its channels. */
static void list_requests(const stet_sim *sim, stet_tile_request *requests)
{
    int n = 0;
    for (int c = 0; c < sim->ncamera; ++c)
        for (int i = 0; i < STET_OUTPUT_COUNT; ++i) {
            if (!(sim->outputs >> i & 1u)) continue;
            requests[n++] =
                (stet_tile_request){.camera = c, .output = (stet_output)i, .dtype = stet_output_dtype((stet_output)i)};
        }
}

/* Index of the request for an output of a camera. */
static stet_result find_request(const stet_sim *sim, int camera, stet_output output, int *request)
{
    if (!sim->tiles) return sti_error(STET_ERROR_STATE, "sim: it was made without outputs; set `outputs` in its def");
    if (camera < 0 || camera >= sim->ncamera)
        return sti_error(STET_ERROR_NOT_FOUND, "sim: there is no camera %d; it has %d, from 0", camera, sim->ncamera);
    if ((unsigned)output >= STET_OUTPUT_COUNT)
        return sti_error(STET_ERROR_NOT_FOUND, "sim: there is no output %d", (int)output);
    if (!(sim->outputs >> output & 1u))
        return sti_error(STET_ERROR_NOT_FOUND, "sim: output %s was not asked for; add it to `outputs` in the sim's def",
                         stet_output_name(output));
    *request = camera * sim->noutput + count_bits(sim->outputs & ((1u << output) - 1));
    assert(*request >= 0 && *request < sim->ncamera * sim->noutput && "FRAME-1");
    return STET_OK;
}

static stet_result make_tiles(stet_sim *sim, const stet_sim_def *resolved)
{
    assert(sim->noutput > 0 && sim->ncamera > 0 && !sim->tiles);
    stet_tiles_def def = stet_default_tiles_def();
    stet_tile_request *requests;
    def.cameras = sim->cameras;
    def.ncamera = sim->ncamera;
    def.nrequest = sim->ncamera * sim->noutput;
    def.samples = resolved->samples;
    def.frames_in_flight = resolved->frames_in_flight;
    def.groups = resolved->groups;
    def.mode = resolved->mode;
    def.fog = resolved->fog;
    STI_TRY(sti_alloc(&requests, (size_t)def.nrequest * sizeof *requests, "requests"));
    list_requests(sim, requests);
    def.requests = requests;
    stet_result result = stet_tiles_create(sim->stage, &def, &sim->tiles);
    sti_free(requests);
    return result;
}

stet_result sti_sim_make_frames(stet_sim *sim, const stet_sim_def *resolved)
{
    sim->newest = -1;
    sim->outputs = resolved->outputs;
    sim->noutput = count_bits(resolved->outputs);
    return sim->outputs ? make_tiles(sim, resolved) : STET_OK;
}

/* ---- starting frames --------------------------------------------------------------------------------------------- */

/* Updates scene transforms from poses that are up to date. */
static stet_result follow_poses(stet_sim *sim)
{
    stet_array *xpos = sim->worlds->state.field[STI_FIELD_xpos];
    xpos->producing = true;
    stet_result result = sti_array_ensure(sti_stage_world(sim->stage));
    xpos->producing = false;
    return result;
}

/*
 * Brings poses and transforms up to date before the renderer does, so that each is timed by itself and computed once.
 * Not in audit mode, and not if one of them is recomputed at each read: then only the renderer reads them (*asked is
 * false).
 */
static stet_result time_scene(stet_sim *sim, bool *asked)
{
    const sti_mechanisms *m = &sim->device->mechanisms;
    *asked = !m->options.audit && sti_enabled(m, STET_MECHANISM_POSE_SYNC) && sti_enabled(m, STET_MECHANISM_HIERARCHY);
    if (!*asked) return STET_OK;
    STI_TRY_TIMED(sim, pose, sti_array_ensure(sim->worlds->state.field[STI_FIELD_xpos]));
    STI_TRY_TIMED(sim, hierarchy, follow_poses(sim));
    return STET_OK;
}

/* stet_tiles_render, or what has its arguments. */
typedef stet_result draw_fn(stet_tiles *tiles, const uint8_t *mask, int64_t *frame);

/* asked: the transforms are up to date. A frame that was made is the newest, also if its tensors could not be made. */
static stet_result draw(stet_sim *sim, draw_fn *tiles, const uint8_t *mask, bool asked)
{
    assert(!sti_stage_world(sim->stage)->producing);
    stet_array *transforms = sti_stage_world(sim->stage);
    transforms->producing = asked;
    stet_result result = tiles(sim->tiles, mask, &sim->newest);
    transforms->producing = false;
    assert((result != STET_OK || sim->newest >= 0) && "what was drawn is a frame");
    return result;
}

/* mask NULL: all worlds. */
static stet_result render(stet_sim *sim, draw_fn *tiles, const uint8_t *mask)
{
    bool asked;
    STI_TRY(sti_not_listing(sim->device, "a picture"));
    STI_TRY(time_scene(sim, &asked));
    STI_TRY_TIMED(sim, render, draw(sim, tiles, mask, asked));
    return STET_OK;
}

stet_result stet_sim_render(stet_sim *sim, int64_t *frame) { return stet_sim_render_worlds(sim, NULL, frame); }

stet_result stet_sim_render_worlds(stet_sim *sim, const uint8_t *mask, int64_t *frame)
{
    if (!sim) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_sim_render: sim must not be NULL");
    if (!sim->tiles)
        return sti_error(STET_ERROR_STATE,
                         "sim: it was made without outputs, there is nothing to render; set `outputs` in its def");
    STI_TRY(render(sim, stet_tiles_render, mask));
    if (frame) *frame = sim->newest;
    return STET_OK;
}

int64_t stet_sim_get_latest_frame(const stet_sim *sim) { return sim && sim->tiles ? sim->newest : -1; }

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* draw_fn of all worlds, if something moved since the latest call that rendered. */
static stet_result follow(stet_tiles *tiles, const uint8_t *mask, int64_t *frame)
{
    (void)mask;
    return sti_tiles_follow(tiles, frame);
}

/* The number of a frame that a caller names; draws the present one. */
static stet_result number_frame(stet_sim *sim, int64_t *frame)
{
    if (*frame == STET_FRAME_LATEST) STI_TRY(render(sim, follow, NULL));
    if (*frame == STET_FRAME_LATEST || *frame == STET_FRAME_DRAWN) *frame = sim->newest;
    return STET_OK;
}

static stet_result tensor_of(stet_sim *sim, int64_t frame, int request, stet_array **out)
{
    STI_TRY_TIMED(sim, extract, stet_tiles_get_array(sim->tiles, frame, request, out));
    return STET_OK;
}

stet_result stet_sim_get_array(stet_sim *sim, int64_t frame, int camera, stet_output output, stet_array **out)
{
    int request = 0;
    if (!sim || !out) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_sim_get_array: sim and out must not be NULL");
    *out = NULL;
    STI_TRY(find_request(sim, camera, output, &request));
    STI_TRY(number_frame(sim, &frame));
    return tensor_of(sim, frame, request, out);
}

stet_result stet_sim_read(stet_sim *sim, int64_t frame, int camera, stet_output output, void *out, size_t size)
{
    stet_array *tensor;
    int request = 0;
    if (!sim || !out) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_sim_read: sim and out must not be NULL");
    STI_TRY(find_request(sim, camera, output, &request));
    if (size != stet_sim_get_output_bytes(sim, camera, output))
        return sti_error(
            STET_ERROR_INVALID_ARGUMENT, "stet_sim_read: %zu bytes given for %s of camera %s, which has %zu", size,
            stet_output_name(output), sim->cameras[camera].name, stet_sim_get_output_bytes(sim, camera, output));
    STI_TRY(number_frame(sim, &frame));
    STI_TRY(tensor_of(sim, frame, request, &tensor));
    STI_TRY_TIMED(sim, read, stet_array_read(tensor, out, size));
    return STET_OK;
}

size_t stet_sim_get_output_bytes(const stet_sim *sim, int camera, stet_output output)
{
    if (!sim || camera < 0 || camera >= sim->ncamera || (unsigned)output >= STET_OUTPUT_COUNT ||
        !(sim->outputs >> output & 1u))
        return 0;
    const stet_camera *c = &sim->cameras[camera];
    return (size_t)sim->worlds->nworld * (size_t)c->width * (size_t)c->height * (size_t)stet_output_channels(output) *
           stet_dtype_size(sim->device, stet_output_dtype(output));
}

static stet_result add_tensor(sti_hash *h, const stet_array *tensor)
{
    uint64_t content;
    STI_TRY(stet_array_hash(tensor, &content));
    sti_hash_add(h, &content, sizeof content);
    return STET_OK;
}

stet_result stet_sim_hash_frame(stet_sim *sim, int64_t frame, uint64_t *out)
{
    sti_hash h;
    if (!sim || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_sim_hash_frame: sim and out must not be NULL");
    if (!sim->tiles)
        return sti_error(STET_ERROR_STATE,
                         "sim: it was made without outputs, a frame has nothing to hash; set `outputs` in its def");
    STI_TRY(number_frame(sim, &frame));
    sti_hash_begin(&h);
    for (int k = 0; k < sim->ncamera * sim->noutput; ++k) {
        stet_array *tensor;
        STI_TRY(tensor_of(sim, frame, k, &tensor));
        STI_TRY_TIMED(sim, read, add_tensor(&h, tensor));
    }
    *out = sti_hash_end(&h);
    return STET_OK;
}
