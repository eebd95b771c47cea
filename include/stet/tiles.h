/* Tiles: N cameras in one tiled frame, K frames in flight, outputs extracted at the first read. */
#ifndef STET_TILES_H
#define STET_TILES_H

#include "render.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stet_tiles stet_tiles;

/* A wanted output: one camera, one element type, and the first `channels` channels. */
typedef struct stet_tile_request {
    int camera;
    stet_output output;
    stet_dtype
        /*
         * the output's own, or a conversion: colours U8 → REAL (0…1) or F16; REAL → F16; INT → U32, U8 (-1 becomes
         * 255), I64
         */
        dtype;
    int channels; /* 1 … the output's channels; 0: all */
    /*
     * NULL: stet keeps a ring of arrays. Else the caller's plain array [nworld][height][width][channels], which must
     * outlive the tiles.
     */
    stet_array *bound;
} stet_tile_request;

typedef struct stet_tiles_def {
    uint32_t cookie;
    const stet_camera *cameras;
    int ncamera;
    const stet_tile_request *requests;
    int nrequest;
    int samples;          /* rays a pixel for colours, 1, 4 or 16; default 1 */
    int frames_in_flight; /* K, 1 … 16 */
    uint32_t groups;      /* of geoms that are drawn, bits 1u << group; default STET_GROUPS_DEFAULT */
} stet_tiles_def;
STET_API stet_tiles_def stet_default_tiles_def(void);
STET_API stet_result stet_tiles_create(stet_stage *stage, const stet_tiles_def *def, stet_tiles **out);
STET_API void stet_tiles_destroy(stet_tiles *tiles); /* drops pending frames and frees all memory */

/*
 * Starts a frame. *frame is its number: from 0, one more than the last; or the last frame's own number if nothing that
 * it shows has moved. `mask` ([nworld] bytes, or NULL) selects the worlds to draw; the others keep their pixels. If the
 * ring is full, the oldest unread frame is extracted first, and counted. If drawing fails, the frames are as they were.
 * If only a later part fails (the extraction with deferred_tiles switched off, or a comparison in audit mode), the
 * frame exists and has a new number.
 */
STET_API stet_result stet_tiles_render(stet_tiles *tiles, const uint8_t *mask, int64_t *frame);
/*
 * The tensor of a request in a frame (-1: the latest): [nworld][height][width][channels], on the device. The first read
 * of a frame extracts all requests, once. Borrowed until K further frames were started. Worlds that were never rendered
 * are all zero. NOT_FOUND: no such frame, or no longer kept. A bound array holds the frame that was extracted last and
 * never goes back. STATE: it holds a newer frame than the requested one; unbound requests can still be read.
 */
STET_API stet_result stet_tiles_get_array(stet_tiles *tiles, int64_t frame, int request, stet_array **out);
/* Whether a world has moved (a reset, a step, a write) since its pixels of the latest frame were drawn. */
STET_API bool stet_tiles_is_stale(stet_tiles *tiles, int64_t world);

#ifdef __cplusplus
}
#endif
#endif
