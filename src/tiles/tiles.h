/*
 * Tiles, inside: requests, the ring of places, and the painter.
 *
 * Frame g is in place g mod (K + 1), which has the renderer's pixels of it and the tensors made from them. There is one
 * place more than frames in flight, so that a tensor that the renderer wrote itself (direct) lives for K further
 * frames, as an extracted one does.
 *
 * Invariants:
 *   TILES-1  a frame in a place has all its pixels; each world's pixels have the serial number of the rendering that
 *            made them; equal numbers mean equal pixels (0: never rendered, all zero)
 *   TILES-2  at most K frames are not extracted; starting one more extracts the oldest of them first, and counts it
 *   TILES-3  the frame number in a bound array only grows: an older frame never overwrites a newer one
 *   TILES-4  a world's pixels are valid while it has not changed since its generation in `drawn`, and the scene has the
 *            appearance and the connectivity of `look`
 *   TILES-5  the pixels of all worlds are those of the scene `whole`; while `whole` equals the present scene, no world
 *            is checked
 *   TILES-6  the newest of another renderer's frames (`foreign`) is in its pictures: no place has pixels, direct
 *            requests are views of the pictures, and an older frame has what was extracted of it, or is dropped
 */
#ifndef STI_TILES_TILES_H
#define STI_TILES_TILES_H

#include "stet/tiles.h"
#include "tiles/extract.h"

/* What pictures are made from. */
typedef struct sti_scene {
    /* borrowed until the next update: a world's generation, not 0, grows when the world may have moved */
    const sti_generations *changed;
    sti_version changes;  /* their version, */
    sti_version moves[3]; /* of all that may have moved, whether a bit did or not */
    int nmove;
    sti_version appearance; /* everything but the transforms */
    sti_version connectivity;
} sti_scene;

/* The code that renders pixels: the renderer over a stage, or a test. */
typedef struct sti_painter {
    void *context;
    stet_device *device;
    int64_t nworld;
    stet_result (*update)(void *context, sti_scene *out); /* brings the scene up to date */
    /* Renders all cameras of the n listed worlds (NULL: of all); other pixels do not change. */
    stet_result (*paint)(void *context, const int *worlds, int n, const sti_render_target *target);
    /*
     * For patches that stand; absent where the painter has none. make: allocates a place's record. carry: pixels of the
     * n listed worlds were copied from one place to another.
     */
    stet_result (*make_standing)(void *context, sti_standing *standing);
    stet_result (*carry)(void *context, sti_standing *from, sti_standing *to, const int *worlds, int n);
    void (*destroy)(void *context);
} sti_painter;

/* A resolved request. */
typedef struct sti_request {
    stet_tile_request ask; /* channels is never 0; of another renderer's frames `output` is not looked at */
    const char *name;      /* of the output, or of the picture's array */
    sti_picture_buffer buffer;
    int picture;    /* of another renderer */
    bool planar;    /* its channels lie apart */
    int64_t offset; /* of a direct request of its frames: bytes from the picture's begin */
    int conversion;
    bool direct; /* not bound, and the native pixel is the wanted element: the renderer writes the tensor itself */
    sti_tile_size size;
    int64_t shape[4];    /* of the tensor */
    int64_t world_bytes; /* of the tensor */
    /* For bound requests: what the array holds. */
    int64_t frame; /* -1: nothing yet */
    /* of the array after the last extraction; a different one means that code outside stet wrote the array */
    uint64_t generation;
    uint64_t held; /* the serial up to which it holds what was rendered, */
    bool known;    /* if its content is known */
} sti_request;

typedef struct sti_tile_place {
    int64_t frame; /* -1: none */
    stet_array *pixels[STI_BUFFER_COUNT];
    sti_standing standing; /* what the pixels were drawn from */
    stet_array **tensor;   /* [nrequest]: direct: a view of pixels; bound: NULL */
    /* [nrequest]: arrays of direct requests while `tiles` is switched off; created when first needed */
    stet_array **copy;
    sti_generations serial; /* of pixels (TILES-1) */
    bool unknown;           /* a failure has left other pixels than those */
    uint64_t taken;      /* the serial up to which tensors that are neither direct nor bound hold what was rendered */
    sti_stamp extracted; /* what the tensors were made from */
    /* of this place, so that its tables, which name the place's tensors, stand each time round the ring */
    sti_extractor extractor;
} sti_tile_place;

/* What tiles of another renderer's frames have. */
typedef struct sti_foreign_tiles {
    sti_foreign_picture *picture;
    int npicture;
    sti_foreign_source source;
} sti_foreign_tiles;

struct stet_tiles {
    stet_device *device;
    sti_painter painter;        /* all zero for another renderer's frames */
    sti_foreign_tiles *foreign; /* NULL: the painter makes the frames */
    int64_t nworld;
    int ncamera, nrequest, nplace, depth; /* depth: K; nplace: K + 1 */
    sti_tile_size *size;                  /* [ncamera] */
    sti_request *request;
    bool used[STI_BUFFER_COUNT];
    sti_tile_layout layout[STI_BUFFER_COUNT];
    sti_tile_table table;
    stet_array *sizes; /* INT [ncamera * 2] */
    sti_tile_place *place;
    int64_t newest;          /* frame; -1: none */
    uint64_t serial;         /* of the latest rendering */
    sti_generations painted; /* serial of each world's latest rendering */
    sti_generations drawn;   /* TILES-4; 0: none */
    sti_version look[2];     /* TILES-4 */
    sti_stamp frame_kept, frame_now, take_now;
    sti_stamp whole, scene_now; /* TILES-5 */
    sti_stamp asked;            /* the scene at the latest call that rendered all worlds */
    bool dropped;               /* a frame of another renderer was dropped, and warned of */
    bool follows;               /* the running call draws only if the scene is another; */
    bool asks;                  /* it renders all worlds of another scene */
    int *list, *carry;          /* [nworld]: worlds to paint, worlds to copy */
    const int *chosen;          /* the worlds to paint: `list`, or NULL: all, */
    int nlist;                  /* and their number */
    const uint8_t *wanted;      /* the mask of the running call; NULL: all worlds */
    uint64_t generation;        /* of the scene's changes in it */
    int64_t world_bytes;        /* of the pixels of one world */
    sti_copy *copies;           /* [nrequest], scratch */
    sti_span *spans;            /* [nrequest + buffers], scratch */
};

/* ---- tiles.c ----------------------------------------------------------------------------------------------------- */

/* Marks the direct tensors of a place as written; they are views with identities of their own. */
void sti_place_mark_direct(stet_tiles *tiles, sti_tile_place *place);
/* Extracts a new frame now if extraction is not deferred. */
stet_result sti_tiles_extract_at_once(stet_tiles *tiles);
/* Renders all worlds, unless nothing moved since the latest call that rendered all: *frame is the newest. */
stet_result sti_tiles_follow(stet_tiles *tiles, int64_t *frame);

/* ---- foreign.c --------------------------------------------------------------------------------------------------- */

/* Checks a def; the message is about the first error. */
stet_result sti_foreign_check(const stet_device *device, const stet_foreign_def *def);
/* Fills r from request k of a checked def. */
stet_result sti_foreign_resolve(const stet_device *device, const stet_foreign_def *def, int k, sti_request *r);
/* After a failure *out has what there is of it, to be destroyed. */
stet_result sti_foreign_make(stet_device *device, const stet_foreign_def *def, sti_foreign_tiles **out);
void sti_foreign_destroy(sti_foreign_tiles *foreign);

/* ---- request.c --------------------------------------------------------------------------------------------------- */

/* Checks the parts that all defs have. */
stet_result sti_tiles_check_flight(int frames_in_flight);
stet_result sti_tiles_check_cameras(const stet_camera *cameras, int ncamera);
/* A bound array must have the device, element type and shape of the tensor of request k. */
stet_result sti_tiles_check_bound(const stet_array *a, stet_dtype dtype, int k, const int64_t shape[4],
                                  const stet_device *device);
/* Checks a def against a number of worlds; the message is about the first error. */
stet_result sti_tiles_check(const stet_tiles_def *def, const stet_device *device, int64_t nworld);
/* The shape of the tensor of a request whose size is known. */
void sti_request_set_shape(sti_request *r, int64_t nworld, int64_t channels, bool planar);
/* Fills r from a checked request. */
stet_result sti_request_resolve(const stet_tiles_def *def, int k, int64_t nworld, const stet_device *device,
                                sti_request *r);

/* ---- ring.c ------------------------------------------------------------------------------------------------------ */

/* Creates tiles over a painter. The tiles own the painter afterwards; after a failure the caller still does. */
stet_result sti_tiles_create_with(const sti_painter *painter, const stet_tiles_def *def, stet_tiles **out);
/* Parts of that: sizes of cameras and room for requests; once those are resolved, scratch and places. */
stet_result sti_tiles_begin(stet_tiles *t, const stet_camera *cameras, int ncamera, int nrequest, int depth);
stet_result sti_tiles_make_places(stet_tiles *t);
STI_VALIDATE(tiles, stet_tiles)
static inline sti_tile_place *sti_place_of(stet_tiles *tiles, int64_t frame)
{
    return &tiles->place[frame % tiles->nplace];
}
/* The array of a direct request while `tiles` is switched off. */
stet_result sti_place_copy(stet_tiles *t, sti_tile_place *p, int k, stet_array **out);
/* Creates all of these if `tiles` is switched off, so that extracting a drawn frame cannot fail for lack of memory. */
stet_result sti_place_prepare(stet_tiles *tiles, sti_tile_place *place);

/* ---- extract_frames.c -------------------------------------------------------------------------------------------- */

/* Extracts all requests of a frame that are not extracted yet; `why`: the reason to count in that case. */
stet_result sti_tiles_extract_frame(stet_tiles *tiles, sti_tile_place *place, stet_reason why);
/* In audit mode, for reused parts of some work: `make` does the part again and must leave the outputs unchanged. */
stet_result sti_tiles_audit(stet_mechanism mechanism, const char *what, stet_result (*make)(void *context),
                            void *context, const sti_span *outputs, int noutput);

#endif
