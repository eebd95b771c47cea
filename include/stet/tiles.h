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
    /* NULL: stet keeps a ring of arrays. Else the caller's plain array of that shape, which must outlive the tiles. */
    stet_array *bound;
    bool planar; /* [nworld][channels][height][width] instead of [nworld][height][width][channels] */
} stet_tile_request;

typedef struct stet_tiles_def {
    uint32_t cookie;
    const stet_camera *cameras;
    int ncamera;
    const stet_tile_request *requests;
    int nrequest;
    int samples;           /* rays a pixel for colours, 1, 4 or 16; default 1 */
    int frames_in_flight;  /* K, 1 … 16 */
    uint32_t groups;       /* of geoms that are drawn, bits 1u << group; default STET_GROUPS_DEFAULT */
    stet_render_mode mode; /* default STET_RENDER_MODE_MUJOCO */
    bool fog;              /* in colours (render.h); default false */
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
 * The tensor of a request in a frame (-1: the latest), on the device, of the request's type and shape. The first read
 * of a frame extracts all requests, once. Borrowed until K further frames were started. Worlds that were never rendered
 * are all zero. NOT_FOUND: no such frame, or no longer kept. A bound array holds the frame that was extracted last and
 * never goes back. STATE: it holds a newer frame than the requested one; unbound requests can still be read.
 */
STET_API stet_result stet_tiles_get_array(stet_tiles *tiles, int64_t frame, int request, stet_array **out);
/* Whether a world has moved (a reset, a step, a write) since its pixels of the latest frame were drawn. */
STET_API bool stet_tiles_is_stale(stet_tiles *tiles, int64_t world);

/* ---- frames of another renderer ---------------------------------------------------------------------------------- */

/*
 * One kind of picture that another renderer makes: the tiles of all its worlds and cameras, in one array. Element c of
 * the pixel in row y and column x of tile t = world * ncamera + camera is number
 *
 *     first[t] + y * row + x * pixel + c * channel
 *
 * of the array, in C order. Distances may be negative: a picture whose last row comes first.
 */
typedef struct stet_foreign_picture {
    /*
     * the caller's plain array, such as an imported tensor (stet/dlpack.h; of any strides with stet_import_def.span);
     * must outlive the tiles
     */
    stet_array *array;
    int channels;                /* of a pixel, 1 … STET_MAX_CHANNELS */
    const int64_t *first;        /* the tile table [nworld * ncamera]; copied */
    int64_t row, pixel, channel; /* distances, in elements */
} stet_foreign_picture;
enum { STET_MAX_CHANNELS = 64 };

/* A wanted output of such pictures: one camera, one element type, and the first `channels` channels. */
typedef struct stet_foreign_request {
    int picture, camera;
    /*
     * the array's own, or a conversion: U8 → REAL (0…1) or F16; REAL → F16; F16 → REAL; INT or U32 → the other, U8
     * (its low byte) or I64
     */
    stet_dtype dtype;
    int channels; /* 1 … the picture's channels; 0: all */
    bool planar;  /* [nworld][channels][height][width] instead of [nworld][height][width][channels] */
    /* NULL: stet keeps a ring of arrays. Else the caller's plain array of that shape, as in stet_tile_request. */
    stet_array *bound;
} stet_foreign_request;

typedef struct stet_foreign_def {
    uint32_t cookie;
    int64_t nworld;
    const stet_camera *cameras; /* their sizes and names; the rest is not looked at */
    int ncamera;
    const stet_foreign_picture *pictures;
    int npicture;
    const stet_foreign_request *requests;
    int nrequest;
    int frames_in_flight; /* how many frames' tensors stay readable, 1 … 16; default 2 */
} stet_foreign_def;
STET_API stet_foreign_def stet_default_foreign_def(void);
/*
 * Tiles that take frames of another renderer. INVALID_ARGUMENT: the message names the picture or request, for example a
 * tile that is not within its array.
 */
STET_API stet_result stet_tiles_create_foreign(stet_device *device, const stet_foreign_def *def, stet_tiles **out);
/*
 * Starts a frame: the pictures hold the pixels that the other renderer made, of the worlds whose byte in `mask`
 * [nworld] is not 0 (NULL: all); those of other worlds are as they were. *frame (may be NULL) is its number, as in
 * stet_tiles_render. `ready`: when stet may read the pictures; with STET_READY_IN_STREAM after what `stream` has got so
 * far. The call counts as an announced write of their arrays.
 *
 * Nothing is copied yet: the first read of the frame (stet_tiles_get_array) extracts all requests in one launch, of the
 * worlds whose pixels the tensors lack. A request whose tiles have the layout and type of its tensor already costs
 * nothing: its tensor is a view of the picture. So the pictures belong to the frame until it is read (in audit mode:
 * until the next one is accepted). The other renderer may draw again once stet's work is done
 * (stet_device_signal_stream). A frame that was not read when the next one is accepted is dropped (NOT_FOUND; a miss of
 * deferred_tiles with the reason `dropped`, and a warning for the first), and a view shows the latest frame alone.
 */
STET_API stet_result stet_tiles_accept(stet_tiles *tiles, const uint8_t *mask, stet_ready ready, void *stream,
                                       int64_t *frame);

/* ---- ids: their names, labels and colours ------------------------------------------------------------------------ */

/*
 * The ids that pixels of one output have, each with a name, a colour, and a label that the user gives it. Things of one
 * label are a class: classes are numbered 1, 2 … in the order in which their labels first came; 0 is what has no label,
 * and -1 the sky and any id that is not in the table.
 */
typedef struct stet_id_table stet_id_table;
typedef struct stet_id_row {
    int id, class_id;
    const char *name;        /* the model's; what has none there: its kind and number, and its body */
    const char *label;       /* "": none; borrowed until the row's label changes */
    uint8_t colour[3];       /* of the id, R G B */
    uint8_t class_colour[3]; /* of its class */
} stet_id_row;

/*
 * The table of SEG_GEOM, SEG_BODY or SEG_TYPE, of the stage's model: tendons, flexes, skins and the sky have rows, too,
 * and the shapes that the stage has now, by their names.
 * The caller owns *out and destroys it before the stage.
 */
STET_API stet_result stet_id_table_create(stet_stage *stage, stet_output output, stet_id_table **out);
/* A table of the ids first … first + nid - 1, for pictures of another renderer; their names are the numbers. */
STET_API stet_result stet_id_table_create_plain(stet_device *device, int first, int nid, stet_id_table **out);
STET_API void stet_id_table_destroy(stet_id_table *table);
STET_API int stet_id_table_get_nrow(const stet_id_table *table);
STET_API stet_id_row stet_id_table_get_row(const stet_id_table *table, int row); /* in order of ids; 0 <= row < nrow */

/* Labels one id; NULL or "": no label. */
STET_API stet_result stet_id_table_label(stet_id_table *table, int id, const char *label);
/*
 * Labels what is at a prim of the stage and now below it: its geoms in a table of SEG_GEOM, its bodies in one of
 * SEG_BODY. A later label replaces an earlier one. INVALID_ARGUMENT: the table has neither geoms nor bodies.
 */
STET_API stet_result stet_id_table_label_prim(stet_id_table *table, int prim, const char *label);

/*
 * Writes the colours of n ids: `ids` is a plain array of n INT, such as a tensor of tiles or of another renderer's
 * frames; `colours` one of n * 3 (R G B) or n * 4 (R G B, and 255 but for -1) U8. by_class: of their classes.
 */
STET_API stet_result stet_id_table_colour(stet_id_table *table, const stet_array *ids, bool by_class,
                                          stet_array *colours);
/* Writes the classes of n ids to a plain array of n INT: a semantic segmentation. */
STET_API stet_result stet_id_table_classify(stet_id_table *table, const stet_array *ids, stet_array *classes);
/* The colour of an id in every table and picture: neighbours are apart, 0 is grey, -1 black. */
STET_API void stet_id_colour(int id, uint8_t colour[3]);

/* ---- depths as colours ------------------------------------------------------------------------------------------- */

/*
 * Writes the colours of n depths or distances, such as a tensor of tiles, on the device: `depth` is a plain array of n
 * REAL, `colours` one of n * 3 (R G B) or n * 4 (R G B, and 255 where something was hit) U8. From `near` to `far`, in
 * metres, they go from straw over orange, rose and violet to night blue, in even steps of 1 / depth, so that near
 * depths differ most; black where nothing was hit. INVALID_ARGUMENT: not 0 <= near < far.
 */
STET_API stet_result stet_depth_colours(const stet_array *depth, float near, float far, stet_array *colours);
/* The same of one depth, on the host. */
STET_API void stet_depth_colour(float depth, float near, float far, uint8_t colour[3]);

#ifdef __cplusplus
}
#endif
#endif
