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

/* One copy of the kernel: the tiles of one camera in one buffer, to `to` [nworld][height][width][channels]. */
typedef struct sti_copy {
    sti_picture_buffer buffer;
    int camera, conversion, channels;
    sti_tile_size size;
    stet_array *to;
} sti_copy;

/* The pixels to copy from. */
typedef struct sti_tile_source {
    const sti_tile_table *table;
    int ncamera;
    stet_array *const *pixels; /* [STI_BUFFER_COUNT], NULL where not used */
} sti_tile_source;

typedef struct sti_extractor {
    stet_device *device;
    int64_t nworld;
    int ncopy; /* most copies of a launch */
    stet_array *job, *place, *list, *base;
    int *job_next, *list_next; /* what the arrays are to hold */
    int64_t *place_next;
} sti_extractor;

/*
 * Finds the conversion of `output` to an element type and a number of channels. *direct: no conversion is needed, the
 * native pixel is the wanted element. INVALID_ARGUMENT: no such conversion, or more channels than the output has.
 */
stet_result sti_conversion(stet_output output, stet_dtype dtype, int channels, int *conversion, bool *direct);

stet_result sti_extractor_create(stet_device *device, int64_t nworld, int ncopy, sti_extractor *out);
void sti_extractor_destroy(sti_extractor *x);
/*
 * Runs ncopy copies for the n listed worlds (NULL: all) in one launch. Destinations of other worlds keep their bytes.
 * *bytes: number of bytes written. LIMIT: more blocks than a launch can have.
 */
stet_result sti_extract(sti_extractor *x, const sti_tile_source *source, const sti_copy *copies, int ncopy,
                        const int *worlds, int64_t n, int64_t *bytes);
/*
 * Copies the tiles of the n listed worlds between two buffers of the same layout; dimensions of cameras in `size` (INT
 * [ncamera * 2]).
 */
stet_result sti_carry(sti_extractor *x, const sti_tile_source *source, sti_picture_buffer buffer, stet_array *to,
                      stet_array *size, const int *worlds, int64_t n);

#endif
