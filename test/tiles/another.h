/*
 * Another renderer, for tests: pictures of random or dense layouts in arrays of any type, worlds drawn anew with random
 * numbers, random requests; and what the tensors must hold, by plain loops over the pictures. Included after cmocka.h.
 */
#ifndef TEST_TILES_ANOTHER_H
#define TEST_TILES_ANOTHER_H

#include "base/dice.h"
#include "device/host_mirror.h"
#include "stet/tiles.h"
#include "tiles/painter.h"

enum { WORLDS = 5, MOST_CAMERAS = 3, MOST_PICTURES = 3, MOST_REQUESTS = 8 };

/* ---- another renderer -------------------------------------------------------------------------------------------- */

/* A picture, its pixels as the host has them, and which worlds have any. */
typedef struct their_picture {
    stet_array *array;
    stet_foreign_picture def;
    int64_t first[WORLDS * MOST_CAMERAS];
    unsigned char *pixels;
} their_picture;

typedef struct renderer {
    stet_device *device;
    int ncamera, npicture, nrequest;
    stet_camera camera[MOST_CAMERAS];
    their_picture picture[MOST_PICTURES];
    stet_foreign_picture pictures[MOST_PICTURES];
    stet_foreign_request request[MOST_REQUESTS];
    stet_tiles *tiles;
} renderer;

static inline size_t element(const renderer *r, int k)
{
    return stet_dtype_size(r->device, r->picture[k].array->dtype);
}

static inline int64_t place(const their_picture *p, int64_t tile, int y, int x, int c)
{
    return p->first[tile] + y * p->def.row + x * p->def.pixel + c * p->def.channel;
}

/* A number that is what the type can have: reals are finite or special, all else is any bits. */
static inline void draw_element(renderer *r, int k, int64_t at, uint64_t *dice)
{
    their_picture *p = &r->picture[k];
    uint64_t bits = dice_next(dice);
    static const double special[] = {0, -0.0, 1, 65520, 6e-8, -3.5};
    double real = bits % 8 ? (double)(int64_t)(bits >> 20 & 0xffff) / 512 - 64 : special[bits / 8 % 6];
    float single = (float)real;
    unsigned char *to = p->pixels + (size_t)at * element(r, k);
    if (p->array->dtype != STET_DTYPE_REAL)
        memcpy(to, &bits, element(r, k));
    else if (element(r, k) == 4)
        memcpy(to, &single, 4);
    else
        memcpy(to, &real, 8);
}

/* Draws worlds anew. */
static inline void draw_worlds(renderer *r, const uint8_t *mask, uint64_t *dice)
{
    for (int k = 0; k < r->npicture; ++k) {
        their_picture *p = &r->picture[k];
        for (int64_t t = 0; t < (int64_t)WORLDS * r->ncamera; ++t) {
            const stet_camera *camera = &r->camera[t % r->ncamera];
            if (mask && !mask[t / r->ncamera]) continue;
            for (int y = 0; y < camera->height; ++y)
                for (int x = 0; x < camera->width; ++x)
                    for (int c = 0; c < p->def.channels; ++c) draw_element(r, k, place(p, t, y, x, c), dice);
        }
        OK(stet_array_write(p->array, p->pixels, stet_array_get_bytes(p->array)));
    }
}

/* ---- what a tensor must hold ------------------------------------------------------------------------------------- */

static inline void convert(const renderer *r, int k, const unsigned char *from, stet_dtype to, unsigned char *out)
{
    stet_dtype type = r->picture[k].array->dtype;
    size_t size = element(r, k), wanted = stet_dtype_size(r->device, to);
    uint32_t id;
    if (type == STET_DTYPE_U8 && (to == STET_DTYPE_REAL || to == STET_DTYPE_F16)) {
        double wide = from[0] / 255.0;
        float single = (float)from[0] / 255.0f;
        uint16_t half = half_of(r->device->real_size == 4 ? (double)single : wide);
        memcpy(out, to == STET_DTYPE_F16 ? (void *)&half : wanted == 4 ? (void *)&single : (void *)&wide, wanted);
    } else if (type == STET_DTYPE_REAL && to == STET_DTYPE_F16) {
        float single;
        double wide;
        memcpy(size == 4 ? (void *)&single : (void *)&wide, from, size);
        uint16_t half = half_of(size == 4 ? (double)single : wide);
        memcpy(out, &half, 2);
    } else if (type == STET_DTYPE_F16 && to == STET_DTYPE_REAL) {
        uint16_t half;
        memcpy(&half, from, 2);
        double wide = number_of(half);
        float single = (float)wide;
        memcpy(out, wanted == 4 ? (void *)&single : (void *)&wide, wanted);
    } else if (to == STET_DTYPE_I64 && type != to) {
        memcpy(&id, from, 4);
        int64_t whole = type == STET_DTYPE_INT ? (int64_t)(int32_t)id : (int64_t)id;
        memcpy(out, &whole, 8);
    } else if (to == STET_DTYPE_U8 && type != to) {
        memcpy(&id, from, 4);
        *out = (unsigned char)id;
    } else {
        memcpy(out, from, size);
    }
}

static inline void check_tensor(const renderer *r, int64_t frame, int k)
{
    const stet_foreign_request *ask = &r->request[k];
    const their_picture *p = &r->picture[ask->picture];
    const stet_camera *camera = &r->camera[ask->camera];
    int channels = ask->channels ? ask->channels : p->def.channels;
    size_t e = stet_dtype_size(r->device, ask->dtype), n = 0;
    stet_array *a;
    OK(stet_tiles_get_array(r->tiles, frame, k, &a));
    size_t size = stet_array_get_bytes(a);
    assert_int_equal(size, (size_t)WORLDS * (size_t)(camera->width * camera->height * channels) * e);
    assert_int_equal(a->shape[ask->planar ? 1 : 3], channels);
    unsigned char *got = malloc(size), *expected = malloc(size);
    for (int64_t w = 0; w < WORLDS; ++w)
        for (int i = 0; i < camera->width * camera->height * channels; ++i, n += e) {
            int c = ask->planar ? i / (camera->width * camera->height) : i % channels;
            int at = ask->planar ? i % (camera->width * camera->height) : i / channels;
            int64_t from = place(p, w * r->ncamera + ask->camera, at / camera->width, at % camera->width, c);
            convert(r, ask->picture, p->pixels + (size_t)from * element(r, ask->picture), ask->dtype, expected + n);
        }
    OK(stet_array_read(a, got, size));
    assert_memory_equal(got, expected, size);
    free(got);
    free(expected);
}

/* ---- set-up ------------------------------------------------------------------------------------------------------ */

/* Distances of rows, pixels and channels in a random order, with gaps, each forwards or backwards; tiles shuffled. */
static inline void place_tiles(their_picture *p, const renderer *r, uint64_t *dice, int64_t *count)
{
    int width = 1, height = 1, order[3] = {0, 1, 2};
    for (int c = 0; c < r->ncamera; ++c) {
        if (r->camera[c].width > width) width = r->camera[c].width;
        if (r->camera[c].height > height) height = r->camera[c].height;
    }
    int64_t extent[3] = {p->def.channels, width, height}, distance[3], step = 1, origin = 0;
    int64_t slot[WORLDS * MOST_CAMERAS], ntile = (int64_t)WORLDS * r->ncamera;
    for (int i = 2; i > 0; --i) {
        int j = (int)dice_below(dice, (size_t)i + 1), was = order[i];
        order[i] = order[j];
        order[j] = was;
    }
    for (int i = 0; i < 3; ++i) {
        distance[order[i]] = step;
        step = step * extent[order[i]] + (int64_t)dice_below(dice, 3);
    }
    for (int i = 0; i < 3; ++i) {
        if (dice_below(dice, 4)) continue;
        origin += distance[i] * (extent[i] - 1);
        distance[i] = -distance[i];
    }
    for (int64_t t = 0; t < ntile; ++t) slot[t] = t;
    for (int64_t t = ntile - 1; t > 0; --t) {
        size_t j = dice_below(dice, (size_t)t + 1);
        int64_t was = slot[t];
        slot[t] = slot[j];
        slot[j] = was;
    }
    for (int64_t t = 0; t < ntile; ++t) p->first[t] = slot[t] * step + origin;
    p->def.channel = distance[0];
    p->def.pixel = distance[1];
    p->def.row = distance[2];
    *count = ntile * step;
}

static inline void add_picture(renderer *r, stet_dtype dtype, int64_t count)
{
    their_picture *p = &r->picture[r->npicture];
    OK(STI_ARRAY(r->device, "theirs", dtype, false, &p->array, count));
    p->pixels = calloc(1, stet_array_get_bytes(p->array));
    p->def.array = p->array;
    p->def.first = p->first;
    r->pictures[r->npicture++] = p->def;
}

static inline void add_random_picture(renderer *r, uint64_t *dice)
{
    their_picture *p = &r->picture[r->npicture];
    int64_t count;
    p->def.channels = 1 + (int)dice_below(dice, 5);
    place_tiles(p, r, dice, &count);
    add_picture(r, (stet_dtype)dice_below(dice, STET_DTYPE_COUNT), count);
}

/* The tiles of one camera one after the other, as [world][height][width][channels], or planar. */
static inline void add_dense_picture(renderer *r, stet_dtype dtype, int channels, bool planar, int64_t begin)
{
    their_picture *p = &r->picture[r->npicture];
    int64_t w = r->camera[0].width, h = r->camera[0].height;
    p->def.channels = channels;
    p->def.row = planar ? w : w * channels;
    p->def.pixel = planar ? 1 : channels;
    p->def.channel = planar ? w * h : 1;
    for (int k = 0; k < WORLDS; ++k) p->first[k] = begin + k * w * h * channels;
    add_picture(r, dtype, begin + WORLDS * w * h * channels);
}

static inline stet_dtype pick_type(const renderer *r, int picture, uint64_t *dice)
{
    stet_dtype type = r->picture[picture].array->dtype;
    static const stet_dtype colours[] = {STET_DTYPE_U8, STET_DTYPE_REAL, STET_DTYPE_F16};
    static const stet_dtype reals[] = {STET_DTYPE_REAL, STET_DTYPE_F16};
    static const stet_dtype halves[] = {STET_DTYPE_F16, STET_DTYPE_REAL};
    static const stet_dtype ids[] = {STET_DTYPE_INT, STET_DTYPE_U32, STET_DTYPE_U8, STET_DTYPE_I64};
    if (type == STET_DTYPE_U8) return colours[dice_below(dice, 3)];
    if (type == STET_DTYPE_REAL) return reals[dice_below(dice, 2)];
    if (type == STET_DTYPE_F16) return halves[dice_below(dice, 2)];
    if (type == STET_DTYPE_INT || type == STET_DTYPE_U32) return ids[dice_below(dice, 4)];
    return type;
}

static inline void add_random_request(renderer *r, uint64_t *dice)
{
    stet_foreign_request *ask = &r->request[r->nrequest++];
    int picture = (int)dice_below(dice, (size_t)r->npicture), channels = r->pictures[picture].channels;
    *ask = (stet_foreign_request){.picture = picture,
                                  .camera = (int)dice_below(dice, (size_t)r->ncamera),
                                  .dtype = pick_type(r, picture, dice),
                                  .channels = (int)dice_below(dice, (size_t)channels + 1),
                                  .planar = dice_below(dice, 2)};
    if (dice_below(dice, 4)) return;
    int64_t n = ask->channels ? ask->channels : channels, w = r->camera[ask->camera].width,
            h = r->camera[ask->camera].height;
    if (ask->planar)
        OK(STI_ARRAY(r->device, "ours", ask->dtype, false, &ask->bound, WORLDS, n, h, w));
    else
        OK(STI_ARRAY(r->device, "ours", ask->dtype, false, &ask->bound, WORLDS, h, w, n));
}

static inline stet_foreign_def def_of(const renderer *r, int depth)
{
    stet_foreign_def def = stet_default_foreign_def();
    def.nworld = WORLDS;
    def.cameras = r->camera;
    def.ncamera = r->ncamera;
    def.pictures = r->pictures;
    def.npicture = r->npicture;
    def.requests = r->request;
    def.nrequest = r->nrequest;
    def.frames_in_flight = depth;
    return def;
}

static inline void open_renderer(renderer *r, stet_device *device, int ncamera)
{
    static const int width[] = {7, 16, 1}, height[] = {5, 3, 9};
    *r = (renderer){.device = device, .ncamera = ncamera};
    for (int c = 0; c < ncamera; ++c) r->camera[c] = (stet_camera){.width = width[c], .height = height[c]};
}

static inline void open_foreign_tiles(renderer *r, int depth)
{
    stet_foreign_def def = def_of(r, depth);
    OK(stet_tiles_create_foreign(r->device, &def, &r->tiles));
    stet_device_clear_counters(r->device);
}

static inline void close_renderer(renderer *r)
{
    stet_tiles_destroy(r->tiles);
    for (int k = 0; k < r->nrequest; ++k) stet_array_destroy(r->request[k].bound);
    for (int k = 0; k < r->npicture; ++k) {
        stet_array_destroy(r->picture[k].array);
        free(r->picture[k].pixels);
    }
}

static inline int64_t accept(renderer *r, const uint8_t *mask)
{
    int64_t frame = -7;
    OK(stet_tiles_accept(r->tiles, mask, STET_READY_NOW, NULL, &frame));
    return frame;
}

static inline stet_counters counted(const renderer *r)
{
    stet_counters c = stet_device_get_counters(r->device);
    stet_device_clear_counters(r->device);
    return c;
}

static inline void set_mechanisms(const renderer *r, uint32_t disabled, bool audit)
{
    stet_mechanism_options o = stet_device_get_mechanisms(r->device);
    o.disabled = disabled;
    o.audit = audit;
    OK(stet_device_set_mechanisms(r->device, &o));
}

#endif
