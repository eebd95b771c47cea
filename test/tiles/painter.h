/*
 * A painter for tests: each pixel is a hash of (what its world looks like, world, camera, x, y), so that any pixel that
 * went to the wrong place, or is of the wrong time, is seen. The expected tensors are worked out here by other means
 * than the library's.
 */
#ifndef TEST_TILES_PAINTER_H
#define TEST_TILES_PAINTER_H

#include "device/picked.h"
#include "device/reals.h"
#include "tiles/tiles.h"

#include <stdlib.h>
#include <string.h>

typedef struct painter {
    sti_painter base;
    uint64_t *value;         /* [nworld]: what a world looks like, as tests write it, */
    uint64_t *seen;          /* and what it was at the last update */
    sti_generations changed; /* … at which this follows */
    sti_version appearance, connectivity, changes;
    int ncamera;
    sti_tile_size size[8];
    int64_t painted, calls; /* worlds, calls so far */
    int64_t fail_at;        /* the call that fails, from 1 */
    uint64_t
        secret; /* part of the pixels that is not part of `changed`: a change that a broken scene forgets to announce */
    bool destroyed;
} painter;

static inline uint64_t paint_hash(const painter *p, int64_t w, int c, int x, int y, int b)
{
    uint64_t z = (p->value[w] + p->secret) * 0x9E3779B97F4A7C15u + p->appearance.generation * 0xD1B54A32D192ED03u;
    z += (uint64_t)w * 0xBF58476D1CE4E5B9u + (uint64_t)(c * 16 + b) * 0x94D049BB133111EBu + (uint64_t)(y * 16384 + x);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* Native pixels, channel k. */
static inline uint32_t paint_word(const painter *p, int64_t w, int c, int x, int y, int b)
{
    return (uint32_t)paint_hash(p, w, c, x, y, b);
}
static inline int32_t paint_id(const painter *p, int64_t w, int c, int x, int y, int b)
{
    return (int32_t)(paint_hash(p, w, c, x, y, b) % 200) - 1;
}
static inline float paint_real(const painter *p, int64_t w, int c, int x, int y, int b, int k)
{
    uint64_t h = paint_hash(p, w, c, x, y, b * 4 + k);
    static const uint32_t special[] = {0x7f800000, 0xff800000, 0x7fc00000, 0, 0x80000000u, 1, 0x477ff000, 0x33000000};
    uint32_t bits = h % 16 == 0 ? special[h >> 32 & 7] : (uint32_t)(h >> 16 & 0x83ffffff) | 0x3c000000;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* A buffer of a target and where its tiles lie, in the host's memory. */
typedef struct canvas {
    stet_array *array;
    void *pixels;
    int64_t *first;
    int *pitch;
} canvas;

static inline void paint_pixel(const painter *p, const canvas *to, int64_t at, int64_t w, int c, int x, int y, int b)
{
    if (to->array->dtype == STET_DTYPE_U32)
        ((uint32_t *)to->pixels)[at] = paint_word(p, w, c, x, y, b);
    else if (to->array->dtype == STET_DTYPE_INT)
        ((int32_t *)to->pixels)[at] = paint_id(p, w, c, x, y, b);
    else {
        int n = sti_buffer_channels((sti_picture_buffer)b);
        for (int k = 0; k < n; ++k)
            sti_mirror_set(to->array, to->pixels, 0, at * n + k, (double)paint_real(p, w, c, x, y, b, k));
    }
}

static inline void paint_world(const painter *p, const canvas *to, int64_t w, int b)
{
    for (int c = 0; c < p->ncamera; ++c) {
        int64_t tile = w * p->ncamera + c;
        for (int y = 0; y < p->size[c].height; ++y)
            for (int x = 0; x < p->size[c].width; ++x)
                paint_pixel(p, to, to->first[tile] + (int64_t)y * to->pitch[tile] + x, w, c, x, y, b);
    }
}

static inline stet_result painter_paint(void *context, const int *worlds, int n, const sti_render_target *target)
{
    painter *p = context;
    p->calls++;
    p->painted += n;
    for (int b = 0; b < STI_BUFFER_COUNT; ++b) {
        if (!target->pixels[b]) continue;
        int64_t *first = bytes_take(target->first), skip = target->row[b] * p->base.nworld * p->ncamera;
        int *pitch = bytes_take(target->pitch);
        canvas to = {target->pixels[b], bytes_take(target->pixels[b]), first + skip, pitch + skip};
        for (int i = 0; i < n; ++i) paint_world(p, &to, worlds ? worlds[i] : i, b);
        bytes_give(target->pixels[b], to.pixels, true);
        bytes_give(target->first, first, false);
        bytes_give(target->pitch, pitch, false);
        stet_array_mark_written(target->pixels[b]);
    }
    if (p->calls == p->fail_at) return sti_error(STET_ERROR_DEVICE, "painter: fails as it was told to");
    return STET_OK;
}

static inline stet_result painter_update(void *context, sti_scene *out)
{
    painter *p = context;
    uint8_t moved[256] = {0};
    if (p->base.nworld > (int64_t)sizeof moved) return sti_error(STET_ERROR_LIMIT, "painter: too many worlds");
    for (int64_t w = 0; w < p->base.nworld; ++w) moved[w] = p->value[w] != p->seen[w];
    (void)sti_generations_bump(&p->changed, &p->changes, moved);
    memcpy(p->seen, p->value, (size_t)p->base.nworld * sizeof *p->seen);
    *out = (sti_scene){.changed = &p->changed,
                       .changes = p->changes,
                       .moves = {p->changes},
                       .nmove = 1,
                       .appearance = p->appearance,
                       .connectivity = p->connectivity};
    return STET_OK;
}

static inline void painter_destroy(void *context) { ((painter *)context)->destroyed = true; }

static inline void painter_init(painter *p, stet_device *device, int64_t nworld, int ncamera, const sti_tile_size *size)
{
    *p = (painter){.base = {.context = p,
                            .device = device,
                            .nworld = nworld,
                            .update = painter_update,
                            .paint = painter_paint,
                            .destroy = painter_destroy},
                   .ncamera = ncamera};
    p->value = calloc((size_t)nworld, sizeof *p->value);
    p->appearance = sti_version_new();
    p->changes = sti_version_new();
    p->seen = calloc((size_t)nworld, sizeof *p->seen);
    p->changed = (sti_generations){.n = nworld, .own = calloc((size_t)nworld, sizeof(uint64_t))}; /* never fails */
    (void)sti_generations_bump(&p->changed, &p->changes, NULL);
    p->connectivity = sti_version_new();
    memcpy(p->size, size, (size_t)ncamera * sizeof *size);
}

static inline void painter_free(painter *p)
{
    free(p->value);
    free(p->seen);
    free(p->changed.own);
}

/* ---- what a tensor must hold ---- */

/* The bits of x in binary16, worked out in double: the nearest of all halves, ties to the one with an even last bit. */
static inline uint16_t half_of(double x)
{
    uint16_t sign = __builtin_signbit(x) ? 0x8000 : 0;
    double a = __builtin_fabs(x);
    if (x != x) return 0x7e00;
    if (a >= 65520.0) return sign | 0x7c00;
    int exponent = -14;
    while (exponent < 15 && a >= __builtin_ldexp(1.0, exponent + 1)) exponent++;
    double steps = __builtin_ldexp(a, 10 - exponent), low = __builtin_floor(steps), rest = steps - low;
    uint32_t n = (uint32_t)low;
    n += rest > 0.5 || (rest == 0.5 && (n & 1));
    /* 1024 steps and more are normal numbers: the leading one counts up the exponent field. */
    return (uint16_t)(sign | (a < __builtin_ldexp(1.0, -14) ? n : (uint32_t)(exponent + 14) * 1024u + n));
}

/* The number that a half is; NaN is the language's own. */
static inline double number_of(uint16_t half)
{
    int exponent = half >> 10 & 31, rest = half & 1023;
    double a = exponent == 0   ? __builtin_ldexp(rest, -24)
               : exponent < 31 ? __builtin_ldexp(1024 + rest, exponent - 25)
               : rest == 0     ? __builtin_inf()
                               : __builtin_nan("");
    return a != a ? a : half & 0x8000 ? -a : a;
}

/* One element of a request's tensor, at out. */
static inline void expect_element(const painter *p, const stet_tile_request *r, int64_t w, int x, int y, int k,
                                  void *out)
{
    int b = (int)sti_output_buffer(r->output), c = r->camera;
    if (stet_output_dtype(r->output) == STET_DTYPE_U8) {
        uint8_t v = (uint8_t)(paint_word(p, w, c, x, y, b) >> 8 * k);
        float f = (float)v / 255.0f;
        uint16_t h = half_of((double)f);
        if (r->dtype == STET_DTYPE_U8)
            memcpy(out, &v, 1);
        else if (r->dtype == STET_DTYPE_F16)
            memcpy(out, &h, 2);
        else
            memcpy(out, &f, 4);
    } else if (stet_output_dtype(r->output) == STET_DTYPE_REAL) {
        float f = paint_real(p, w, c, x, y, b, k);
        uint16_t h = half_of((double)f);
        if (r->dtype == STET_DTYPE_F16)
            memcpy(out, &h, 2);
        else
            memcpy(out, &f, 4);
    } else {
        int32_t id = paint_id(p, w, c, x, y, b);
        uint8_t v = (uint8_t)id;
        int64_t l = id;
        if (r->dtype == STET_DTYPE_U8)
            memcpy(out, &v, 1);
        else if (r->dtype == STET_DTYPE_I64)
            memcpy(out, &l, 8);
        else
            memcpy(out, &id, 4);
    }
}

/* The whole tensor of a request, on devices whose real is float; the caller frees. */
static inline unsigned char *expect_tensor(const painter *p, const stet_tile_request *r, int64_t nworld, size_t *size)
{
    int channels = r->channels ? r->channels : stet_output_channels(r->output);
    size_t e = stet_dtype_size(p->base.device, r->dtype);
    sti_tile_size s = p->size[r->camera];
    *size = (size_t)nworld * (size_t)s.width * (size_t)s.height * (size_t)channels * e;
    int64_t pixels = (int64_t)s.width * s.height, q = 0;
    unsigned char *all = malloc(*size);
    for (int64_t w = 0; w < nworld; ++w)
        for (int y = 0; y < s.height; ++y)
            for (int x = 0; x < s.width; ++x, ++q)
                for (int k = 0; k < channels; ++k) {
                    int64_t at = r->planar ? (w * channels + k) * pixels + q % pixels : q * channels + k;
                    expect_element(p, r, w, x, y, k, all + at * (int64_t)e);
                }
    return all;
}

#endif
