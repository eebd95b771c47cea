/*
 * Extraction: copies tiles from the renderer's buffers into tensors, all in one launch.
 *
 * Invariants:
 *   EXTRACT-1  a launch marks each of its destinations as written, once
 *   EXTRACT-2  tables that the device has from the last launch are not uploaded again
 */
#ifndef STI_TILES_EXTRACT_H
#define STI_TILES_EXTRACT_H

#include "tiles/conversion.h"
#include "tiles/table.h"

/* A picture of another renderer: see stet_foreign_picture. */
typedef struct sti_foreign_picture {
    stet_array *array; /* the caller's */
    int channels;
    int64_t row, pixel, channel;
} sti_foreign_picture;

/*
 * One copy of a launch: the tiles of one camera in one buffer, or in a picture of another renderer, to `to`
 * [nworld][height][width][channels] or (planar) [nworld][channels][height][width].
 */
typedef struct sti_copy {
    sti_picture_buffer buffer;
    int camera, conversion, channels;
    sti_tile_size size;
    stet_array *to;
    int picture; /* of another renderer; `buffer` is not looked at */
    bool planar;
} sti_copy;

/* The pixels to copy from. */
typedef struct sti_tile_source {
    const sti_tile_table *table;
    int ncamera;
    stet_array *const *pixels; /* [STI_BUFFER_COUNT], NULL where not used */
} sti_tile_source;

/* The same, from another renderer. */
typedef struct sti_foreign_source {
    const sti_foreign_picture *picture;
    stet_array *first; /* I64 [pictures][nworld][ncamera]: first element of each tile */
    int ncamera;
} sti_foreign_source;

typedef struct sti_extractor {
    stet_device *device;
    int64_t nworld;
    int ncopy;                             /* most copies of a launch */
    stet_array *job, *place, *list, *base; /* of foreign frames there is no `job`, and `place` has the whole table */
    int *job_next, *list_next;             /* what the arrays are to hold */
    int64_t *place_next;
} sti_extractor;

/*
 * Finds the conversion of `output` to an element type and a number of channels. *direct: no conversion is needed, the
 * native pixel is the wanted element. INVALID_ARGUMENT: no such conversion, or more channels than the output has.
 */
stet_result sti_conversion(stet_output output, stet_dtype dtype, int channels, int *conversion, bool *direct);

/* nrow: most rows of the tables; a copy takes one, a planar one as many as it has channels. */
stet_result sti_extractor_create(stet_device *device, int64_t nworld, int ncopy, int64_t nrow, sti_extractor *out);
/* The same for sti_extract_foreign. */
stet_result sti_extractor_create_foreign(stet_device *device, int64_t nworld, int ncopy, sti_extractor *out);
void sti_extractor_destroy(sti_extractor *x);
/*
 * Runs ncopy copies for the n listed worlds (NULL: all) in one launch. Destinations of other worlds keep their bytes.
 * *bytes: number of bytes written. LIMIT: more blocks than a launch can have.
 */
stet_result sti_extract(sti_extractor *x, const sti_tile_source *source, const sti_copy *copies, int ncopy,
                        const int *worlds, int64_t n, int64_t *bytes);
/* The same from pictures of another renderer. */
stet_result sti_extract_foreign(sti_extractor *x, const sti_foreign_source *source, const sti_copy *copies, int ncopy,
                                const int *worlds, int64_t n, int64_t *bytes);
/*
 * Copies the tiles of the n listed worlds between two buffers of the same layout; dimensions of cameras in `size` (INT
 * [ncamera * 2]).
 */
stet_result sti_carry(sti_extractor *x, const sti_tile_source *source, sti_picture_buffer buffer, stet_array *to,
                      stet_array *size, const int *worlds, int64_t n);

#endif
