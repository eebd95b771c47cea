/* Pictures of another renderer and requests for them: checked, and what tiles keep of them. */
#include "tiles/tiles.h"

#include <assert.h>
#include <string.h>

enum { FOREIGN_COOKIE = 0x57e71105 };

stet_foreign_def stet_default_foreign_def(void)
{
    return (stet_foreign_def){.cookie = FOREIGN_COOKIE, .frames_in_flight = 2};
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

/* How far from the first element of a tile the n-th one along a distance is; below 0 or above. */
static void reach(int64_t distance, int64_t n, int64_t *low, int64_t *high)
{
    assert(n >= 1 && *low <= 0 && *high >= 0);
    *(distance < 0 ? low : high) += distance * (n - 1);
}

static stet_result check_tiles(const stet_foreign_def *def, int k)
{
    const stet_foreign_picture *p = &def->pictures[k];
    int64_t count = stet_array_get_nelement(p->array);
    for (int c = 0; c < def->ncamera; ++c) {
        int64_t low = 0, high = 0;
        reach(p->row, def->cameras[c].height, &low, &high);
        reach(p->pixel, def->cameras[c].width, &low, &high);
        reach(p->channel, p->channels, &low, &high);
        for (int64_t w = 0; w < def->nworld; ++w) {
            int64_t first = p->first[w * def->ncamera + c];
            if (first < 0 || first >= count || first < -low || first >= count - high)
                return sti_error(
                    STET_ERROR_INVALID_ARGUMENT,
                    "tiles: picture %d: the tile of world %lld and camera %d, from element %lld on, is not "
                    "within array %s of %lld elements",
                    k, (long long)w, c, (long long)first, p->array->name, (long long)count);
        }
    }
    return STET_OK;
}

static bool is_distance(int64_t d) { return d > -(INT64_C(1) << 40) && d < INT64_C(1) << 40; }

static stet_result check_picture(const stet_device *device, const stet_foreign_def *def, int k)
{
    const stet_foreign_picture *p = &def->pictures[k];
    if (!p->array || !p->first)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tiles: picture %d has no %s", k,
                         p->array ? "table of tiles" : "array");
    if (p->array->device != device)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tiles: picture %d: array %s lives on another device", k,
                         p->array->name);
    if (p->array->worlds)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "tiles: picture %d: array %s is an array of worlds; give a plain one", k, p->array->name);
    if (p->channels < 1 || p->channels > STET_MAX_CHANNELS)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tiles: picture %d: %d channels; 1 to %d are possible", k,
                         p->channels, STET_MAX_CHANNELS);
    if (!is_distance(p->row) || !is_distance(p->pixel) || !is_distance(p->channel))
        return sti_error(STET_ERROR_LIMIT, "tiles: picture %d: distances of 2^40 elements and more are not possible",
                         k);
    return check_tiles(def, k);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static bool is_id(stet_dtype dtype) { return dtype == STET_DTYPE_INT || dtype == STET_DTYPE_U32; }

static int copy_of(size_t size)
{
    assert(size == 1 || size == 2 || size == 4 || size == 8);
    return size == 1   ? STI_FOREIGN_COPY_1
           : size == 2 ? STI_FOREIGN_COPY_2
           : size == 4 ? STI_FOREIGN_COPY_4
                       : STI_FOREIGN_COPY_8;
}

/* -1: there is none. */
static int conversion_of(const stet_device *device, stet_dtype from, stet_dtype to)
{
    if (from == to || (is_id(from) && is_id(to))) return copy_of(stet_dtype_size(device, from));
    if (from == STET_DTYPE_U8 && to == STET_DTYPE_REAL) return STI_FOREIGN_BYTE_REAL;
    if (from == STET_DTYPE_U8 && to == STET_DTYPE_F16) return STI_FOREIGN_BYTE_HALF;
    if (from == STET_DTYPE_REAL && to == STET_DTYPE_F16) return STI_FOREIGN_REAL_HALF;
    if (from == STET_DTYPE_F16 && to == STET_DTYPE_REAL) return STI_FOREIGN_HALF_REAL;
    if (is_id(from) && to == STET_DTYPE_U8) return STI_FOREIGN_ID_BYTE;
    if (is_id(from) && to == STET_DTYPE_I64)
        return from == STET_DTYPE_INT ? STI_FOREIGN_INT_LONG : STI_FOREIGN_U32_LONG;
    return -1;
}

/* Has a dimension of n this distance, as far as it matters? */
static bool lies(int64_t distance, int64_t n, int64_t expected) { return n == 1 || distance == expected; }

/* Do the camera's tiles lie as the tensor of a request does, all channels of all worlds without gaps? */
static bool is_dense(const stet_foreign_def *def, const stet_foreign_request *ask)
{
    const stet_foreign_picture *p = &def->pictures[ask->picture];
    int64_t w = def->cameras[ask->camera].width, h = def->cameras[ask->camera].height, n = p->channels;
    bool same = ask->planar ? lies(p->pixel, w, 1) && lies(p->row, h, w) && lies(p->channel, n, w * h)
                            : lies(p->channel, n, 1) && lies(p->pixel, w, n) && lies(p->row, h, w * n);
    for (int64_t k = 1; same && k < def->nworld; ++k)
        same = p->first[k * def->ncamera + ask->camera] == p->first[ask->camera] + k * w * h * n;
    return same;
}

stet_result sti_foreign_resolve(const stet_device *device, const stet_foreign_def *def, int k, sti_request *r)
{
    const stet_foreign_request *ask = &def->requests[k];
    const stet_foreign_picture *p = &def->pictures[ask->picture];
    const stet_camera *camera = &def->cameras[ask->camera];
    int channels = ask->channels ? ask->channels : p->channels;
    int64_t n = (int64_t)camera->width * camera->height * channels;
    if (channels < 1 || channels > p->channels)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "tiles: request %d: %d channels; picture %d has %d; ask for 1 to %d, or 0 for all", k,
                         channels, ask->picture, p->channels, p->channels);
    if (n > INT32_MAX)
        return sti_error(STET_ERROR_LIMIT, "tiles: request %d: a tile has %lld elements; at most %d are possible", k,
                         (long long)n, INT32_MAX);
    *r = (sti_request){.ask = {.camera = ask->camera, .dtype = ask->dtype, .channels = channels, .bound = ask->bound},
                       .name = p->array->name,
                       .picture = ask->picture,
                       .planar = ask->planar,
                       .conversion = conversion_of(device, p->array->dtype, ask->dtype),
                       .size = {camera->width, camera->height},
                       .frame = -1};
    if (r->conversion < 0)
        return sti_error(
            STET_ERROR_INVALID_ARGUMENT,
            "tiles: request %d: %s as %s: there is no such conversion; possible are its own type, u8 → real "
            "or f16, real → f16, f16 → real, int or u32 → the other, u8 or i64",
            k, stet_dtype_name(p->array->dtype), stet_dtype_name(ask->dtype));
    sti_request_set_shape(r, def->nworld, channels, ask->planar);
    r->direct = !ask->bound && r->conversion <= STI_FOREIGN_COPY_8 && channels == p->channels && is_dense(def, ask);
    r->offset = p->first[ask->camera] * (int64_t)stet_dtype_size(device, p->array->dtype);
    r->world_bytes = n * (int64_t)stet_dtype_size(device, ask->dtype);
    return STET_OK;
}

static stet_result check_foreign_request(const stet_device *device, const stet_foreign_def *def, int k)
{
    const stet_foreign_request *ask = &def->requests[k];
    sti_request r;
    if (ask->picture < 0 || ask->picture >= def->npicture)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tiles: request %d is for picture %d, but there are %d", k,
                         ask->picture, def->npicture);
    if (ask->camera < 0 || ask->camera >= def->ncamera)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tiles: request %d is for camera %d, but there are %d", k,
                         ask->camera, def->ncamera);
    if ((unsigned)ask->dtype >= STET_DTYPE_COUNT)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tiles: request %d: there is no element type %d", k,
                         (int)ask->dtype);
    STI_TRY(sti_foreign_resolve(device, def, k, &r));
    if (!ask->bound) return STET_OK;
    for (int i = 0; i < k; ++i)
        if (def->requests[i].bound == ask->bound)
            return sti_error(STET_ERROR_INVALID_ARGUMENT,
                             "tiles: requests %d and %d are bound to one array; bind one each", i, k);
    for (int i = 0; i < def->npicture; ++i)
        if (def->pictures[i].array == ask->bound)
            return sti_error(STET_ERROR_INVALID_ARGUMENT,
                             "tiles: request %d is bound to the array of picture %d; bind another", k, i);
    return sti_tiles_check_bound(ask->bound, ask->dtype, k, r.shape, device);
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

stet_result sti_foreign_check(const stet_device *device, const stet_foreign_def *def)
{
    if (def->cookie != FOREIGN_COOKIE)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "tiles: the def is not initialised; start from stet_default_foreign_def()");
    STI_TRY(sti_tiles_check_cameras(def->cameras, def->ncamera));
    if (def->nworld < 1 || def->nworld > INT32_MAX / def->ncamera)
        return sti_error(STET_ERROR_LIMIT, "tiles: %lld worlds; 1 to %d are possible, in tiles of all cameras",
                         (long long)def->nworld, INT32_MAX);
    if (def->npicture < 1 || !def->pictures || def->nrequest < 1 || !def->requests)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tiles: at least one picture and one request are needed");
    STI_TRY(sti_tiles_check_flight(def->frames_in_flight));
    for (int k = 0; k < def->npicture; ++k) STI_TRY(check_picture(device, def, k));
    for (int k = 0; k < def->nrequest; ++k) STI_TRY(check_foreign_request(device, def, k));
    return STET_OK;
}

static stet_result make_table(stet_device *device, const stet_foreign_def *def, sti_foreign_tiles *f)
{
    int64_t ntile = def->nworld * def->ncamera, *all;
    STI_TRY(
        STI_ARRAY(device, "tiles of another renderer", STET_DTYPE_I64, false, &f->source.first, def->npicture * ntile));
    sti_array_held_by(f->source.first, STET_MECHANISM_TILES);
    STI_TRY(sti_alloc(&all, (size_t)(def->npicture * ntile) * sizeof *all, "tiles of another renderer"));
    for (int k = 0; k < def->npicture; ++k)
        memcpy(all + k * ntile, def->pictures[k].first, (size_t)ntile * sizeof *all);
    stet_result result = stet_array_write(f->source.first, all, stet_array_get_bytes(f->source.first));
    sti_free(all);
    return result;
}

stet_result sti_foreign_make(stet_device *device, const stet_foreign_def *def, sti_foreign_tiles **out)
{
    sti_foreign_tiles *f;
    STI_TRY(sti_alloc(&f, sizeof *f, "pictures of another renderer"));
    *out = f;
    STI_TRY(sti_alloc(&f->picture, (size_t)def->npicture * sizeof *f->picture, "pictures of another renderer"));
    f->npicture = def->npicture;
    for (int k = 0; k < def->npicture; ++k) {
        const stet_foreign_picture *p = &def->pictures[k];
        f->picture[k] = (sti_foreign_picture){p->array, p->channels, p->row, p->pixel, p->channel};
    }
    f->source.picture = f->picture;
    f->source.ncamera = def->ncamera;
    return make_table(device, def, f);
}

void sti_foreign_destroy(sti_foreign_tiles *f)
{
    if (!f) return;
    stet_array_destroy(f->source.first);
    sti_free(f->picture);
    sti_free(f);
}
