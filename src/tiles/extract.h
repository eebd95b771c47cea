/*
 * Extraction: copies of tiles out of the renderer's buffers into tensors, all of them in one launch.
 *
 * Invariants:
 *   EXTRACT-1  a launch marks each of its destinations as written, once
 *   EXTRACT-2  tables that the last launch already has on the device are not uploaded again
 */
#ifndef STI_TILES_EXTRACT_H
#define STI_TILES_EXTRACT_H

#include "tiles/conversion.h"
#include "tiles/table.h"

/* A request as the kernel sees it: the tiles of one camera in one buffer, to `to` [nworld][height][width][channels]. */
typedef struct sti_copy {
    sti_picture_buffer buffer;
    int camera, conversion, channels;
    sti_tile_size size;
    stet_array *to;
} sti_copy;

/* Where the pixels are. */
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
    int *job_host, *list_host; /* what the arrays hold */
    int64_t *place_host;
    int *job_next, *list_next;
    int64_t *place_next;
} sti_extractor;

/*
 * The conversion of `output` to an element type and a number of channels. *direct: none is needed, the native pixel is the element wanted.
 * INVALID_ARGUMENT: no such conversion, or more channels than the output has.
 */
stet_result sti_conversion(stet_output output, stet_dtype dtype, int channels, int *conversion, bool *direct);

stet_result sti_extractor_create(stet_device *device, int64_t nworld, int ncopy, sti_extractor *out);
void sti_extractor_destroy(sti_extractor *x);
/*
 * Copies the tiles of the worlds listed (n of them; NULL: all) for n copies, in one launch. Worlds not listed keep what the destinations hold.
 * *bytes: how many were written. LIMIT: more blocks than a launch has.
 */
stet_result sti_extract(sti_extractor *x, const sti_tile_source *source, const sti_copy *copies, int ncopy,
                        const int *worlds, int64_t n, int64_t *bytes);
/* Copies the tiles of the worlds listed between two buffers of the same layout; dimensions of cameras in `size` (INT [ncamera * 2]). */
stet_result sti_carry(sti_extractor *x, const sti_tile_source *source, sti_picture_buffer buffer, stet_array *to,
                      stet_array *size, const int *worlds, int64_t n);

#endif
