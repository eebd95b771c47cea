/* Requests of tiles: checks them before anything is created. */
#include "tiles/tiles.h"

#include <assert.h>
#include <string.h>

enum { TILES_COOKIE = 0x57e71101, MOST_IN_FLIGHT = 16 };

stet_tiles_def stet_default_tiles_def(void)
{
    return (stet_tiles_def){.cookie = TILES_COOKIE, .samples = 1, .frames_in_flight = 2, .groups = STET_GROUPS_DEFAULT};
}

stet_result sti_tiles_check_flight(int frames_in_flight)
{
    if (frames_in_flight >= 1 && frames_in_flight <= MOST_IN_FLIGHT) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT, "tiles: %d frames in flight; 1 to %d are possible", frames_in_flight,
                     MOST_IN_FLIGHT);
}

static stet_result check_counts(const stet_tiles_def *def)
{
    if (def->cookie != TILES_COOKIE)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "tiles: the def is not initialised; start from stet_default_tiles_def()");
    if (def->nrequest < 1 || !def->requests)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tiles: nothing is requested; ask for at least one output");
    if (!sti_samples_known(def->samples))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tiles: %d samples a pixel; 1, 4 or 16 are possible",
                         def->samples);
    if ((unsigned)def->mode >= STET_RENDER_MODE_COUNT)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tiles: there is no mode %d of pictures; use STET_RENDER_x",
                         (int)def->mode);
    STI_TRY(sti_tiles_check_flight(def->frames_in_flight));
    if (def->groups & ~STET_GROUPS_ALL)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "tiles: groups 0x%x has bits beyond group 5; use 1u << group, from 0 to 5",
                         (unsigned)def->groups);
    return STET_OK;
}

stet_result sti_tiles_check_cameras(const stet_camera *cameras, int ncamera)
{
    if (ncamera < 1 || !cameras)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tiles: there is no camera; give at least one");
    for (int c = 0; c < ncamera; ++c) {
        const stet_camera *camera = &cameras[c];
        if (camera->width < 1 || camera->height < 1 || camera->width > STI_FRAME_WIDTH ||
            camera->height > STI_FRAME_WIDTH)
            return sti_error(STET_ERROR_INVALID_ARGUMENT,
                             "tiles: camera %d (%.63s) has %d x %d pixels; 1 to %d are possible either way", c,
                             camera->name, camera->width, camera->height, STI_FRAME_WIDTH);
    }
    return STET_OK;
}

stet_result sti_tiles_check_bound(const stet_array *a, stet_dtype dtype, int k, const int64_t shape[4],
                                  const stet_device *device)
{
    if (a->device != device)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tiles: request %d: array %s lives on another device", k,
                         a->name);
    if (a->read_only)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tiles: request %d: array %s was imported for reading", k,
                         a->name);
    if (a->worlds)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "tiles: request %d: array %s is an array of worlds; bind a plain one", k, a->name);
    if (a->dtype != dtype)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tiles: request %d: array %s holds %s, but %s is requested", k,
                         a->name, stet_dtype_name(a->dtype), stet_dtype_name(dtype));
    if (a->ndim != 4 || memcmp(a->shape, shape, 4 * sizeof *shape) != 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "tiles: request %d: array %s must have the shape %lld x %lld x %lld x %lld", k, a->name,
                         (long long)shape[0], (long long)shape[1], (long long)shape[2], (long long)shape[3]);
    return STET_OK;
}

static stet_result check_request(const stet_tiles_def *def, int k, const stet_device *device, int64_t nworld)
{
    const stet_tile_request *ask = &def->requests[k];
    sti_request r;
    if (ask->camera < 0 || ask->camera >= def->ncamera)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tiles: request %d is for camera %d, but there are %d", k,
                         ask->camera, def->ncamera);
    if ((unsigned)ask->output >= STET_OUTPUT_COUNT)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tiles: request %d: there is no output %d", k, (int)ask->output);
    stet_result result = sti_request_resolve(def, k, nworld, device, &r);
    if (result != STET_OK) return sti_error_prefix(result, "tiles: request %d", k);
    for (int i = 0; i < k && ask->bound; ++i)
        if (def->requests[i].bound == ask->bound)
            return sti_error(STET_ERROR_INVALID_ARGUMENT,
                             "tiles: requests %d and %d are bound to one array; bind one each", i, k);
    return ask->bound ? sti_tiles_check_bound(ask->bound, ask->dtype, k, r.shape, device) : STET_OK;
}

stet_result sti_tiles_check(const stet_tiles_def *def, const stet_device *device, int64_t nworld)
{
    STI_TRY(check_counts(def));
    STI_TRY(sti_tiles_check_cameras(def->cameras, def->ncamera));
    for (int k = 0; k < def->nrequest; ++k) STI_TRY(check_request(def, k, device, nworld));
    return STET_OK;
}

void sti_request_set_shape(sti_request *r, int64_t nworld, int64_t channels, bool planar)
{
    assert(nworld > 0 && channels > 0 && r->size.width > 0 && r->size.height > 0);
    int64_t width = r->size.width, height = r->size.height;
    const int64_t together[4] = {nworld, height, width, channels}, apart[4] = {nworld, channels, height, width};
    memcpy(r->shape, planar ? apart : together, sizeof r->shape);
}

stet_result sti_request_resolve(const stet_tiles_def *def, int k, int64_t nworld, const stet_device *device,
                                sti_request *r)
{
    const stet_camera *camera = &def->cameras[def->requests[k].camera];
    bool native;
    size_t bytes;
    *r = (sti_request){.ask = def->requests[k],
                       .name = stet_output_name(def->requests[k].output),
                       .size = {camera->width, camera->height},
                       .frame = -1};
    if (r->ask.channels == 0) r->ask.channels = stet_output_channels(r->ask.output);
    r->buffer = sti_output_buffer(r->ask.output);
    STI_TRY(sti_conversion(r->ask.output, r->ask.dtype, r->ask.channels, &r->conversion, &native));
    r->planar = r->ask.planar && r->ask.channels > 1;
    if (r->planar && native) {
        r->conversion = r->conversion == STI_TO_REALS ? STI_PICK_REALS : STI_TO_BYTES;
        native = false;
    }
    r->direct = native && !r->ask.bound;
    sti_request_set_shape(r, nworld, r->ask.channels, r->ask.planar);
    bytes = (size_t)camera->height * (size_t)camera->width * (size_t)r->ask.channels *
            stet_dtype_size(device, r->ask.dtype);
    r->world_bytes = (int64_t)bytes;
    return STET_OK;
}
