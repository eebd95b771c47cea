/*
 * The tile table: which pixels of which buffer belong to which (world, camera).
 *
 * All code that writes or reads a tile looks up its first pixel and its pitch in the table. The functions that plan a
 * layout are pure, so layouts far larger than this machine's memory can be tested.
 *
 * Invariants:
 *   TABLE-1  tile t = world * ncamera + camera; more than INT32_MAX tiles are an error, never silently fewer tiles
 *   TABLE-2  no two tiles share a pixel; all pixels are below npixel; offsets have 64 bits
 *   TABLE-3  the tiles of a direct camera are contiguous, [nworld][height][width], and start on a cache line
 */
#ifndef STI_TILES_TABLE_H
#define STI_TILES_TABLE_H

#include "device/device.h"
#include "render/render.h"

enum {
    STI_FRAME_WIDTH = 16384, /* pixels: no row of a tiled frame is longer */
    STI_PART_ALIGN = 16      /* pixels: a part starts on a cache line for every element size */
};

/* Size of a camera's tiles, pixels. */
typedef struct sti_tile_size {
    int width, height;
} sti_tile_size;

/* The tiles of one camera: rows of `columns` tiles, in an image whose rows are `pitch` pixels apart. */
typedef struct sti_tile_part {
    int64_t origin; /* first pixel */
    int columns, pitch;
    sti_tile_size size;
} sti_tile_part;

/* A buffer: the direct cameras one by one, then one image with a band of tile rows for each other camera. */
typedef struct sti_tile_layout {
    int64_t nworld, npixel;
    int64_t image;        /* first pixel of that image */
    int64_t image_height; /* its rows; 0: all cameras are direct */
    int image_width, ncamera;
    sti_tile_part *part; /* [ncamera] */
} sti_tile_layout;

/*
 * Plans a layout of nworld * ncamera tiles; direct[c]: camera c gets the layout of its tensor. `part` must have room
 * for ncamera. LIMIT: more than INT32_MAX tiles, a tile wider than a frame, or more pixels than int64_t can count.
 */
stet_result sti_tile_plan(const sti_tile_size *size, const bool *direct, int ncamera, int64_t nworld,
                          sti_tile_part *part, sti_tile_layout *out);
/* First pixel of a tile. */
int64_t sti_tile_first(const sti_tile_layout *layout, int64_t world, int camera);
STI_VALIDATE(tile_layout, sti_tile_layout)

/* The tables of all buffers on the device: a row of ntile entries for each used buffer. */
typedef struct sti_tile_table {
    int64_t ntile;
    int row[STI_BUFFER_COUNT]; /* -1: not used */
    stet_array *first, *pitch; /* I64, INT [nrow * ntile] */
} sti_tile_table;

/* layout[b] is used if used[b]. A failure leaves nothing behind. */
stet_result sti_tile_table_create(stet_device *device, const sti_tile_layout *layout, const bool *used,
                                  sti_tile_table *out);
void sti_tile_table_destroy(sti_tile_table *table);

/*
 * A plain array over the memory of another array, from byte `offset` on. It has an identity of its own, so code that
 * writes one must mark the other. Destroy it before `of`.
 */
stet_result sti_tile_view(const stet_array *of, int64_t offset, const char *name, stet_dtype dtype, int ndim,
                          const int64_t *shape, stet_array **out);

#endif
