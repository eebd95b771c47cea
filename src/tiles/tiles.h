/*
 * Tiles, inside: requests, the ring of places, and who paints.
 *
 * Frame g lies in place g mod (K + 1): the renderer's pixels of it, and the tensors made from them. A place more than frames in flight,
 * so that a tensor that the renderer wrote itself (direct) outlives its frame by K others as an extracted one does.
 *
 * Invariants:
 *   TILES-1  a frame in a place has all its pixels; each world's pixels carry the serial number of the rendering that made them, and equal
 *       numbers mean equal pixels (0: never rendered, all zero)
 *   TILES-2  at most K frames were not extracted; starting one more extracts the oldest of them first, and counts it
 *   TILES-3  the frame in a bound array only grows: an older frame is never written over a newer one
 *   TILES-4  what the pixels of a world are made from is told by its record in `drawn`, complete: transforms, look, connectivity
 *   TILES-5  `whole` is the scene from which the records of all worlds are; while it stands, every world's pixels do, and no world is looked at
 */
#ifndef STI_TILES_TILES_H
#define STI_TILES_TILES_H

#include "stet/tiles.h"
#include "tiles/extract.h"

/* What pictures are made from. */
typedef struct sti_scene {
    const uint64_t
        *changed; /* [nworld], borrowed until the next update: a number that differs when a world may have moved */
    sti_version changes;    /* of all these numbers */
    sti_version appearance; /* all besides the transforms */
    sti_version connectivity;
} sti_scene;

/* Who paints the pixels: the renderer over a stage, or a test. */
typedef struct sti_painter {
    void *context;
    stet_device *device;
    int64_t nworld;
    stet_result (*update)(void *context, sti_scene *out); /* brings the scene up to date */
    /* Paints all cameras of the n worlds listed; other pixels stay. */
    stet_result (*paint)(void *context, const int *worlds, int n, const sti_render_target *target);
    void (*destroy)(void *context);
} sti_painter;

/* What a world's pixels are made from (TILES-4); all zero: it was never drawn (generations begin at 1). */
typedef struct sti_drawn {
    uint64_t changed, appearance, connectivity;
} sti_drawn;

/* A request, resolved. */
typedef struct sti_request {
    stet_tile_request ask; /* channels is never 0 */
    sti_picture_buffer buffer;
    int conversion;
    bool direct; /* not bound, and the native pixel is the element wanted: the renderer writes the tensor itself */
    sti_tile_size size;
    int64_t shape[4];    /* of the tensor */
    int64_t world_bytes; /* of the tensor */
    /* Bound requests: what the array holds. */
    int64_t frame;       /* -1: nothing yet */
    uint64_t generation; /* of the array after the last extraction; another one: somebody else has written it */
    uint64_t *held;      /* [nworld]: serials */
} sti_request;

typedef struct sti_tile_place {
    int64_t frame; /* -1: none */
    stet_array *pixels[STI_BUFFER_COUNT];
    stet_array **tensor; /* [nrequest]: direct: a view of pixels; bound: NULL */
    stet_array **copy;   /* [nrequest]: direct requests while `tiles` is switched off; made when first needed */
    uint64_t *serial;    /* [nworld]: of pixels (TILES-1) */
    uint64_t *taken;     /* [nworld]: of the tensors that are neither direct nor bound */
    sti_stamp extracted; /* what the tensors were made from */
} sti_tile_place;

struct stet_tiles {
    stet_device *device;
    sti_painter painter;
    int64_t nworld;
    int ncamera, nrequest, nplace, depth; /* depth: K; nplace: K + 1 */
    sti_tile_size *size;                  /* [ncamera] */
    sti_request *request;
    bool used[STI_BUFFER_COUNT];
    sti_tile_layout layout[STI_BUFFER_COUNT];
    sti_tile_table table;
    stet_array *sizes; /* INT [ncamera * 2] */
    sti_extractor extractor;
    sti_tile_place *place;
    int64_t newest; /* frame; -1: none */
    uint64_t serial;
    sti_drawn *drawn, *next; /* [nworld]: of the newest frame, and as it would be now */
    sti_stamp frame_kept, frame_now, take_now;
    sti_stamp whole, scene_now; /* TILES-5 */
    int *list, *carry;          /* [nworld]: worlds to paint, to carry over */
    int nlist;
    int64_t world_bytes; /* of the pixels of one world */
    sti_copy *copies;    /* [nrequest], scratch */
    sti_span *spans;     /* [nrequest + buffers], scratch */
};

/* ---- request.c ---- */

/* Checks a def against a number of worlds: one sentence for the first thing that is wrong. */
stet_result sti_tiles_check(const stet_tiles_def *def, const stet_device *device, int64_t nworld);
/* Fills r from a request that was checked. */
stet_result sti_request_resolve(const stet_tiles_def *def, int k, int64_t nworld, const stet_device *device,
                                sti_request *r);

/* ---- ring.c ---- */

/* Tiles over a painter, which belongs to the tiles from then on; after a failure it is still the caller's. */
stet_result sti_tiles_create_with(const sti_painter *painter, const stet_tiles_def *def, stet_tiles **out);
static inline sti_tile_place *sti_place_of(stet_tiles *tiles, int64_t frame)
{
    return &tiles->place[frame % tiles->nplace];
}
/* The array of a direct request while `tiles` is switched off. */
stet_result sti_place_copy(stet_tiles *t, sti_tile_place *p, int k, stet_array **out);
/* All of these, if it is switched off: a frame that is drawn does not lack the memory to be taken. */
stet_result sti_place_prepare(stet_tiles *tiles, sti_tile_place *place);

/* ---- extract_frames.c ---- */

/* Sees to it that all requests of a frame are extracted; `why`: the reason that counts if they are not. */
stet_result sti_tiles_extract_frame(stet_tiles *tiles, sti_tile_place *place, stet_reason why);
/* In audit mode, for a part of some work that stood: `make` does it again, and must leave the outputs as they are. */
stet_result sti_tiles_audit(stet_mechanism mechanism, const char *what, stet_result (*make)(void *context),
                            void *context, const sti_span *outputs, int noutput);

#endif
