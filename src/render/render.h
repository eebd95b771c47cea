/*
 * The renderer: from the stage's transforms to pixels, for listed worlds.
 *
 * A table says where each pixel goes: for each buffer a row with the first pixel and the pitch (pixels from one row to
 * the next) of each tile. So the same kernel fills a tiled frame or, if the layouts agree, the destination
 * itself.
 */
#ifndef STI_RENDER_RENDER_H
#define STI_RENDER_RENDER_H

#include "geom/geom.h"
#include "render/stand.h"
#include "stage/stage.h"
#include "stet/render.h"

typedef struct sti_renderer sti_renderer;

/*
 * The buffers of pictures: enumerator, type and number of a pixel's elements, buffers that it is made of (bits
 * 1u << buffer). Colours are one U32 (R | G << 8 | B << 16 | A << 24). Rays fill the first ones; the others are made of
 * those (surface.h).
 */
#define STI_BUFFERS_CAST(X)                                                                                            \
    X(COLOUR, U32, 1, 0)                                                                                               \
    X(DEPTH, REAL, 1, 0)                                                                                               \
    X(DISTANCE, REAL, 1, 0)                                                                                            \
    X(NORMAL, REAL, 3, 0)                                                                                              \
    X(ALBEDO, U32, 1, 0)                                                                                               \
    X(GEOM, INT, 1, 0)                                                                                                 \
    X(BODY, INT, 1, 0)                                                                                                 \
    X(TYPE, INT, 1, 0)
#define STI_BUFFERS_MADE(X)                                                                                            \
    X(MOTION, REAL, 2, 1u << STI_BUFFER_DEPTH | 1u << STI_BUFFER_GEOM)                                                 \
    X(BODY_POINT, REAL, 3, 1u << STI_BUFFER_DEPTH | 1u << STI_BUFFER_GEOM)
#define STI_BUFFERS(X) STI_BUFFERS_CAST(X) STI_BUFFERS_MADE(X)
typedef enum sti_picture_buffer {
#define STI_BUFFER_ENUM(name, dtype, channels, needs) STI_BUFFER_##name,
    STI_BUFFERS(STI_BUFFER_ENUM)
#undef STI_BUFFER_ENUM
        STI_BUFFER_COUNT
} sti_picture_buffer;
enum { STI_BUFFER_CAST = STI_BUFFER_MOTION };             /* how many the rays fill */
sti_picture_buffer sti_output_buffer(stet_output output); /* RGB and RGBA share COLOUR */
stet_dtype sti_buffer_dtype(sti_picture_buffer buffer);
int sti_buffer_channels(sti_picture_buffer buffer);
unsigned sti_buffer_needs(sti_picture_buffer buffer);
/* The arrays of a target's buffers as arguments of a kernel, each with a comma behind it. */
#define STI_BUFFER_ARG(name, dtype, channels, needs) sti_arg_array(pixels[STI_BUFFER_##name]),

/* Tile t = world * ncamera + camera. */
typedef struct sti_render_target {
    stet_array *pixels[STI_BUFFER_COUNT]; /* NULL: not wanted */
    int row[STI_BUFFER_COUNT];            /* of wanted buffers: their row in the tile table; buffers may share one */
    stet_array *first;                    /* I64 [nrow * ntile]: first pixel of each tile */
    stet_array *pitch;                    /* INT [nrow * ntile] */
    sti_standing *standing;               /* of this target, by which patches stand; NULL: all are drawn */
} sti_render_target;

/* What is drawn and how, for the renderer's whole life. */
typedef struct sti_drawing {
    uint32_t groups; /* of geoms, bits 1u << group */
    stet_render_mode mode;
    bool fog;
} sti_drawing;
#define STI_DRAWING_DEFAULT ((sti_drawing){STET_GROUPS_DEFAULT, STET_RENDER_MODE_MUJOCO, false})

stet_result sti_renderer_create(stet_stage *stage, const stet_camera *cameras, int ncamera, sti_drawing drawing,
                                sti_renderer **out);
void sti_renderer_destroy(sti_renderer *renderer);
/*
 * Pictures with or without colours (or albedo) are going to be asked for: begins to compile the code for them, where a
 * GPU has to, and makes the memory that it needs.
 */
stet_result sti_renderer_begin(sti_renderer *renderer, bool colours);
/*
 * Takes over looks of worlds that have changed (stet/worlds.h), and increases the generation of the appearance. A run
 * does so, too; this is for who asks before it whether anything is to be drawn.
 */
stet_result sti_renderer_update(sti_renderer *renderer);
/*
 * Renders all cameras of the n listed worlds (host indices) into target. Flushes the stage first. Pixels of other
 * worlds do not change.
 */
stet_result sti_renderer_run(sti_renderer *renderer, const int *worlds, int n, const sti_render_target *target);
/* Allocates the record of a target for patches that stand. */
stet_result sti_renderer_make_standing(sti_renderer *renderer, sti_standing *standing);
/* Of the n listed worlds pixels, and what is known of them, are those of another target. */
stet_result sti_renderer_carry(sti_renderer *renderer, sti_standing *from, sti_standing *to, const int *worlds, int n);
/* How many patches the last run had that could stand, and how many did. Waits for the device. */
stet_result sti_renderer_count_patches(sti_renderer *renderer, int64_t *stood, int64_t *of);
/* Version of everything but transforms that pixels are made from: materials, lights, cameras. */
const sti_version *sti_renderer_appearance(const sti_renderer *renderer);
/* Changes the angle of view of a camera and increases the generation of the appearance. */
stet_result sti_renderer_set_fovy(sti_renderer *renderer, int camera, float fovy);
/* Rays a pixel for colours: 1 (at creation), 4 or 16. Others are refused. */
stet_result sti_renderer_set_samples(sti_renderer *renderer, int samples);
bool sti_samples_known(int samples);

#endif
