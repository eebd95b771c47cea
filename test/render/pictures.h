/*
 * For tests of rendering: a scene with N worlds and cameras, and buffers of all kinds whose tiles lie one after the
 * other.
 */
#ifndef TEST_RENDER_PICTURES_H
#define TEST_RENDER_PICTURES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hash.h"
#include "device/picked.h"
#include "render/random_scene.h"
#include "render/render.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CAMERAS = 16 };

typedef struct pictures {
    stet_device *device;
    stet_model *model;
    stet_worlds *worlds;
    stet_stage *stage;
    sti_renderer *renderer;
    stet_camera camera[MAX_CAMERAS];
    int ncamera;
    int64_t nworld, npixel; /* npixel: of a world */
    stet_render_mode mode;  /* MuJoCo's, unless a test sets another before pictures_ready */
    bool fog;               /* false, likewise */
    sti_render_target target;
} pictures;

#define OK(expression)                                                                                                 \
    do {                                                                                                               \
        if ((expression) != STET_OK) fail_msg("%s: %s", #expression, stet_get_last_error());                           \
    } while (0)

/* A device and N worlds of a model; text is MJCF if it begins with '<', else a file. */
static inline void pictures_open(pictures *p, const char *text, int64_t nworld, const char *isa, int threads)
{
    memset(p, 0, sizeof *p);
    stet_device_def device = stet_default_device_def();
    device.isa = isa;
    device.threads = threads;
    picked_device(&device);
    OK(stet_device_create(&device, &p->device));
    if (*text == '<')
        OK(stet_model_load_string(text, &p->model));
    else
        OK(stet_model_load(text, &p->model));
    stet_worlds_def worlds = stet_default_worlds_def();
    worlds.nworld = p->nworld = nworld;
    OK(stet_worlds_create(p->device, p->model, &worlds, &p->worlds));
    OK(stet_stage_create(p->worlds, &p->stage));
}

/* Adds one of the model's cameras. */
static inline void pictures_model_camera(pictures *p, int index, int width, int height)
{
    stet_camera *c = &p->camera[p->ncamera++];
    OK(stet_stage_get_prim(p->stage, STET_PRIM_CAMERA, index, &c->prim));
    c->width = width;
    c->height = height;
    c->fovy = (float)p->model->mj->cam_fovy[index];
}

/* Adds a camera of one's own at `eye` that looks at `target`, up near z. */
static inline void pictures_camera(pictures *p, const double eye[3], const double target[3], float fovy, int width,
                                   int height)
{
    double back[3], right[3], up[3], n = 0;
    for (int k = 0; k < 3; ++k) n += (eye[k] - target[k]) * (eye[k] - target[k]);
    for (int k = 0; k < 3; ++k) back[k] = (eye[k] - target[k]) / sqrt(n);
    double flat = hypot(back[0], back[1]);
    right[0] = flat > 1e-6 ? -back[1] / flat : 1;
    right[1] = flat > 1e-6 ? back[0] / flat : 0;
    right[2] = 0;
    for (int k = 0; k < 3; ++k) up[k] = back[(k + 1) % 3] * right[(k + 2) % 3] - back[(k + 2) % 3] * right[(k + 1) % 3];
    float local[12];
    for (int k = 0; k < 3; ++k) {
        local[4 * k] = (float)right[k];
        local[4 * k + 1] = (float)up[k];
        local[4 * k + 2] = (float)back[k];
        local[4 * k + 3] = (float)eye[k];
    }
    stet_camera *c = &p->camera[p->ncamera];
    (void)snprintf(c->name, sizeof c->name, "camera%d", p->ncamera++);
    OK(stet_stage_add(p->stage, 0, c->name, local, false, &c->prim));
    c->width = width;
    c->height = height;
    c->fovy = fovy;
}

/* First pixel of the tile of world w and camera c. */
static inline int64_t pictures_first(const pictures *p, int64_t w, int c)
{
    int64_t first = w * p->npixel;
    for (int i = 0; i < c; ++i) first += (int64_t)p->camera[i].width * p->camera[i].height;
    return first;
}

/* The renderer and buffers of all kinds. */
static inline void pictures_ready(pictures *p)
{
    const sti_drawing drawing = {STET_GROUPS_DEFAULT, p->mode, p->fog};
    OK(sti_renderer_create(p->stage, p->camera, p->ncamera, drawing, &p->renderer));
    OK(sti_renderer_begin(p->renderer, true));
    for (int i = 0; i < p->ncamera; ++i) p->npixel += (int64_t)p->camera[i].width * p->camera[i].height;
    int64_t ntile = p->nworld * p->ncamera;
    int64_t *first = calloc((size_t)ntile, sizeof *first);
    int *pitch = calloc((size_t)ntile, sizeof *pitch);
    for (int64_t t = 0; t < ntile; ++t) {
        first[t] = pictures_first(p, t / p->ncamera, (int)(t % p->ncamera));
        pitch[t] = p->camera[t % p->ncamera].width;
    }
    for (int b = 0; b < STI_BUFFER_COUNT; ++b) {
        int64_t n = p->nworld * p->npixel * sti_buffer_channels((sti_picture_buffer)b);
        OK(STI_ARRAY(p->device, "pixels", sti_buffer_dtype((sti_picture_buffer)b), false, &p->target.pixels[b], n));
    }
    OK(STI_ARRAY(p->device, "first", STET_DTYPE_I64, false, &p->target.first, ntile));
    OK(STI_ARRAY(p->device, "pitch", STET_DTYPE_INT, false, &p->target.pitch, ntile));
    OK(stet_array_write(p->target.first, first, (size_t)ntile * sizeof *first));
    OK(stet_array_write(p->target.pitch, pitch, (size_t)ntile * sizeof *pitch));
    free(first);
    free(pitch);
}

/* Gives all bodies these poses, xpos [nworld][nbody][3] and xquat [nworld][nbody][4], and frees both. */
static inline void pictures_take_poses(pictures *p, float *pos, float *quat)
{
    stet_array *xpos, *xquat;
    OK(stet_worlds_get_array(p->worlds, "xpos", &xpos));
    OK(stet_worlds_get_array(p->worlds, "xquat", &xquat));
    OK(stet_array_write(xpos, pos, stet_array_get_bytes(xpos)));
    OK(stet_array_write(xquat, quat, stet_array_get_bytes(xquat)));
    free(pos);
    free(quat);
}

static inline void pictures_run(pictures *p)
{
    int *all = calloc((size_t)p->nworld, sizeof *all);
    for (int w = 0; w < p->nworld; ++w) all[w] = w;
    OK(sti_renderer_run(p->renderer, all, (int)p->nworld, &p->target));
    free(all);
}

/* A copy of a buffer; free it. */
static inline void *pictures_read(const pictures *p, sti_picture_buffer b)
{
    size_t size = stet_array_get_bytes(p->target.pixels[b]);
    void *out = malloc(size ? size : 1);
    OK(stet_array_read(p->target.pixels[b], out, size));
    return out;
}

/* Hash of one world's pixels in a buffer. */
static inline uint64_t pictures_hash(const pictures *p, sti_picture_buffer b, int64_t world)
{
    size_t size = stet_array_get_bytes(p->target.pixels[b]) / (size_t)p->nworld;
    char *bytes = pictures_read(p, b);
    uint64_t hash = sti_hash_bytes(bytes + (size_t)world * size, size);
    free(bytes);
    return hash;
}

static inline void pictures_close(pictures *p)
{
    for (int b = 0; b < STI_BUFFER_COUNT; ++b) stet_array_destroy(p->target.pixels[b]);
    stet_array_destroy(p->target.first);
    stet_array_destroy(p->target.pitch);
    sti_renderer_destroy(p->renderer);
    stet_stage_destroy(p->stage);
    stet_worlds_destroy(p->worlds);
    stet_model_destroy(p->model);
    stet_device_destroy(p->device);
}

#endif
