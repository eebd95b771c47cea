/*
 * Tiles: N cameras in one tiled frame, K frames in flight, outputs extracted when somebody reads them.
 */
#ifndef STET_TILES_H
#define STET_TILES_H

#include "render.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stet_tiles stet_tiles;

/* An output that is wanted: of one camera, in an element type, with its first `channels` channels. */
typedef struct stet_tile_request {
    int camera;
    stet_output output;
    stet_dtype
        dtype; /* the output's own, or: colours U8 → REAL (0…1) or F16; REAL → F16; INT → U32, U8 (of -1: 255), I64 */
    int channels; /* 1 … the output's; 0: all */
    /* NULL: stet keeps a ring; else the caller's array [nworld][height][width][channels], not of kind worlds, that outlives the tiles. */
    stet_array *bound;
} stet_tile_request;

typedef struct stet_tiles_def {
    uint32_t cookie;
    const stet_camera *cameras;
    int ncamera;
    const stet_tile_request *requests;
    int nrequest;
    int frames_in_flight; /* K, 1 … 16 */
} stet_tiles_def;
STET_API stet_tiles_def stet_default_tiles_def(void);
STET_API stet_result stet_tiles_create(stet_stage *stage, const stet_tiles_def *def, stet_tiles **out);
STET_API void stet_tiles_destroy(stet_tiles *tiles); /* drops what is pending, and all its memory */

/*
 * Starts a frame. *frame: its number, from 0, one more than the last; the last one's own if nothing that it is made from has moved. `mask`
 * [nworld] bytes or NULL: only these worlds are wanted (the others keep their pixels). If the ring has no free place, the oldest frame that was
 * not read is extracted first and counted. A failure to draw leaves the frames as they were; where only what follows failed (the
 * extraction, with deferred_tiles switched off; a comparison under audit) the frame is there, and the next number is one further.
 */
STET_API stet_result stet_tiles_render(stet_tiles *tiles, const uint8_t *mask, int64_t *frame);
/*
 * The tensor of a request in a frame (-1: the latest): [nworld][height][width][channels], on the device; the frame's first read extracts all
 * requests, once. Borrowed until K further frames were started. NOT_FOUND: no such frame, or no longer kept. A bound array holds the frame that
 * was extracted last and never goes back: STATE, if it holds a newer frame than the one asked for (requests that are not bound can still be
 * read). Worlds that were never rendered are all zero.
 */
STET_API stet_result stet_tiles_read(stet_tiles *tiles, int64_t frame, int request, stet_array **out);
/* Whether a world has moved (a reset, a step, a write) since its pixels in the latest frame were made. */
STET_API bool stet_tiles_stale(stet_tiles *tiles, int64_t world);

#ifdef __cplusplus
}
#endif
#endif
