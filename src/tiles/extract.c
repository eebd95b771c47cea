/* Launches the extraction kernel. EXTRACT-1 and EXTRACT-2: extract.h. */
#include "tiles/extract.h"

#include "kernel/record/launch.h"

#include <assert.h>
#include <string.h>

extern const sti_kernel sti_k_extract;
extern const sti_kernel sti_k_extract_foreign;
extern const sti_kernel sti_k_carry_words;
extern const sti_kernel sti_k_carry_reals;

static_assert(STI_BUFFER_COLOUR == 0 && STI_BUFFER_DEPTH == 1 && STI_BUFFER_DISTANCE == 2 && STI_BUFFER_NORMAL == 3 &&
                  STI_BUFFER_ALBEDO == 4 && STI_BUFFER_GEOM == 5 && STI_BUFFER_BODY == 6 && STI_BUFFER_TYPE == 7 &&
                  STI_BUFFER_MOTION == 8 && STI_BUFFER_BODY_POINT == 9,
              "extract.k.h picks its sources by these numbers");

enum {
    BASE_BYTES = 64,       /* size of the array that places are relative to */
    STREAM_BYTES = 8 << 20 /* bytes; larger outputs bypass the caches, because no core's own cache would hold them */
};

/* ---- conversions ------------------------------------------------------------------------------------------------- */

static int colour_conversion(stet_dtype dtype, int channels)
{
    switch (dtype) {
    case STET_DTYPE_U8: return channels == 4 ? STI_TO_WORDS : STI_TO_BYTES;
    case STET_DTYPE_REAL: return STI_BYTES_REAL;
    case STET_DTYPE_F16: return STI_BYTES_HALF;
    default: return -1;
    }
}

static int real_conversion(stet_dtype dtype, bool all)
{
    switch (dtype) {
    case STET_DTYPE_REAL: return all ? STI_TO_REALS : STI_PICK_REALS;
    case STET_DTYPE_F16: return STI_REALS_HALF;
    default: return -1;
    }
}

static int int_conversion(stet_dtype dtype)
{
    switch (dtype) {
    case STET_DTYPE_INT:
    case STET_DTYPE_U32: return STI_TO_WORDS;
    case STET_DTYPE_U8: return STI_INT_BYTE;
    case STET_DTYPE_I64: return STI_INT_LONG;
    default: return -1;
    }
}

stet_result sti_conversion(stet_output output, stet_dtype dtype, int channels, int *conversion, bool *direct)
{
    assert((unsigned)output < STET_OUTPUT_COUNT && (unsigned)dtype < STET_DTYPE_COUNT);
    int most = stet_output_channels(output);
    const char *possible;
    if (channels < 1 || channels > most)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s with %d channels: it has %d; ask for 1 to %d, or 0 for all",
                         stet_output_name(output), channels, most, most);
    if (stet_output_dtype(output) == STET_DTYPE_U8) {
        *conversion = colour_conversion(dtype, channels);
        possible = "u8, real (0 to 1), f16 (0 to 1)";
    } else if (stet_output_dtype(output) == STET_DTYPE_REAL) {
        *conversion = real_conversion(dtype, channels == most);
        possible = "real, f16";
    } else {
        *conversion = int_conversion(dtype);
        possible = "int, u32, u8, i64";
    }
    *direct = *conversion == STI_TO_WORDS || *conversion == STI_TO_REALS;
    if (*conversion < 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s as %s: there is no such conversion; possible are %s",
                         stet_output_name(output), stet_dtype_name(dtype), possible);
    return STET_OK;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

static stet_result create_tables(sti_extractor *x, int64_t njob, int64_t nplace)
{
    stet_device *device = x->device;
    if (njob) {
        STI_TRY(STI_ARRAY(device, "tile jobs", STET_DTYPE_INT, false, &x->job, njob));
        STI_TRY(sti_alloc(&x->job_next, (size_t)njob * sizeof(int), "tile jobs"));
    }
    STI_TRY(STI_ARRAY(device, "places of tile jobs", STET_DTYPE_I64, false, &x->place, nplace));
    STI_TRY(STI_ARRAY(device, "worlds of tile jobs", STET_DTYPE_INT, false, &x->list, x->nworld));
    STI_TRY(STI_ARRAY(device, "origin of places", STET_DTYPE_U8, false, &x->base, BASE_BYTES));
    stet_array *const made[4] = {x->base, x->place, x->list, x->job};
    for (int i = 0; i < 4 && made[i]; ++i) sti_array_held_by(made[i], STET_MECHANISM_TILES);
    for (int i = 1; i < 4 && made[i]; ++i) STI_TRY(sti_array_prepare_put(made[i]));
    STI_TRY(sti_alloc(&x->place_next, (size_t)nplace * sizeof(int64_t), "places of tile jobs"));
    return sti_alloc(&x->list_next, (size_t)x->nworld * sizeof(int), "worlds of tile jobs");
}

static stet_result create_extractor(stet_device *device, int64_t nworld, int ncopy, int64_t njob, int64_t nplace,
                                    sti_extractor *out)
{
    assert(nworld > 0 && ncopy > 0 && nplace > 0);
    *out = (sti_extractor){.device = device, .nworld = nworld, .ncopy = ncopy};
    stet_result result = create_tables(out, njob, nplace);
    if (result != STET_OK) sti_extractor_destroy(out);
    return result;
}

stet_result sti_extractor_create(stet_device *device, int64_t nworld, int ncopy, int64_t nrow, sti_extractor *out)
{
    return create_extractor(device, nworld, ncopy, nrow * STI_JOB_COLUMNS, nrow * STI_PLACE_COLUMNS, out);
}

stet_result sti_extractor_create_foreign(stet_device *device, int64_t nworld, int ncopy, sti_extractor *out)
{
    return create_extractor(device, nworld, ncopy, 0, (int64_t)ncopy * STI_FOREIGN_COLUMNS, out);
}

void sti_extractor_destroy(sti_extractor *x)
{
    stet_array_destroy(x->job);
    stet_array_destroy(x->place);
    stet_array_destroy(x->list);
    stet_array_destroy(x->base);
    sti_free(x->job_next);
    sti_free(x->place_next);
    sti_free(x->list_next);
    *x = (sti_extractor){0};
}

/* ---- launching --------------------------------------------------------------------------------------------------- */

/* EXTRACT-2. */
static stet_result upload(stet_array *array, const void *next)
{
    assert(array && next);
    return sti_array_put(array, next, stet_array_get_bytes(array));
}

/*
 * Four bytes are copied as a word only if the tensor is aligned to words; an imported tensor of bytes may start
 * anywhere.
 */
static int conversion_at(const sti_copy *c)
{
    bool odd = (uintptr_t)c->to->data % sizeof(int) != 0;
    return c->conversion == STI_TO_WORDS && odd ? STI_TO_BYTES : c->conversion;
}

/* Of n worlds, `bands` each: below 2^31 * 2^18 for each copy. */
static stet_result add_blocks(int64_t n, int bands, int64_t *nblock)
{
    assert(n >= 0 && bands >= 0 && *nblock >= 0);
    *nblock += n * bands;
    if (*nblock <= INT32_MAX) return STET_OK;
    return sti_error(STET_ERROR_LIMIT,
                     "tiles: extraction of %lld worlds has more than %d blocks; use fewer worlds or smaller pictures",
                     (long long)n, INT32_MAX);
}

/* Tiles that a block of a CPU reads together, where there is enough for all threads. */
static int group_of(const sti_extractor *x, const sti_copy *c, int64_t n)
{
    int64_t row = (int64_t)c->size.width * sti_buffer_channels(c->buffer) * (int64_t)sizeof(int);
    int64_t most = n / (4 * (int64_t)stet_device_get_threads(x->device)), tiles = (STI_STRIP_BYTES + row - 1) / row;
    if (x->device->can.teams || most < 1) return 1;
    return (int)(tiles < most ? tiles : most);
}

static int band_of(const sti_extractor *x) { return x->device->can.teams ? STI_BAND_GPU : STI_BAND; }

/* Distance from the origin of places. It is computed from integers, because the allocations are different objects. */
static int64_t place_of(const sti_extractor *x, const stet_array *array)
{
    return (int64_t)((uintptr_t)array->data - (uintptr_t)x->base->data);
}

/*
 * Fills the rows of both tables for the copies: one each, of a planar copy one per channel. *njob: number of rows;
 * *nblock: number of blocks.
 */
static stet_result describe(sti_extractor *x, const sti_tile_source *source, const sti_copy *copies, int ncopy,
                            int64_t n, int *njob, int64_t *nblock, int64_t *bytes)
{
    int band = band_of(x);
    bool gpu = x->device->can.teams;
    memset(x->job_next, 0, stet_array_get_bytes(x->job));
    memset(x->place_next, 0, stet_array_get_bytes(x->place));
    *njob = 0;
    *nblock = *bytes = 0;
    for (int k = 0; k < ncopy; ++k) {
        const sti_copy *c = &copies[k];
        assert(c->to->device == x->device && c->channels >= 1 && c->camera >= 0 && c->camera < source->ncamera);
        assert(source->table->row[c->buffer] >= 0 && source->pixels[c->buffer] && "a copy of a buffer that is drawn");
        int planes = c->planar ? c->channels : 1, pixels = c->size.width * c->size.height;
        int bands = (pixels + band - 1) / band, group = group_of(x, c, n);
        int64_t pitch = (int64_t)(stet_array_get_bytes(c->to) / (size_t)x->nworld);
        assert(pitch % planes == 0 && stet_array_get_bytes(c->to) % (size_t)x->nworld == 0);
        for (int plane = 0; plane < planes; ++plane, ++*njob) {
            assert((int64_t)sizeof(int) * (*njob + 1) * STI_JOB_COLUMNS <= (int64_t)stet_array_get_bytes(x->job) &&
                   "the tables have a row for each channel of a planar copy");
            const int row[STI_JOB_COLUMNS] = {[STI_JOB_BLOCK] = (int)*nblock,
                                              [STI_JOB_BANDS] = bands,
                                              [STI_JOB_BUFFER] = (int)c->buffer,
                                              [STI_JOB_ROW] = source->table->row[c->buffer],
                                              [STI_JOB_CAMERA] = c->camera,
                                              [STI_JOB_WIDTH] = c->size.width,
                                              [STI_JOB_HEIGHT] = c->size.height,
                                              [STI_JOB_CONVERSION] = conversion_at(c),
                                              [STI_JOB_CHANNELS] = c->channels / planes,
                                              [STI_JOB_BAND] = band,
                                              [STI_JOB_CHANNEL] = plane,
                                              [STI_JOB_TILES] = group,
                                              [STI_JOB_WORLDS] = (int)n,
                                              [STI_JOB_STRIP] = gpu ? band : STI_STRIP_ROWS * c->size.width};
            memcpy(x->job_next + (ptrdiff_t)*njob * STI_JOB_COLUMNS, row, sizeof row);
            x->place_next[(ptrdiff_t)*njob * STI_PLACE_COLUMNS] = place_of(x, c->to) + pitch / planes * plane;
            x->place_next[*njob * STI_PLACE_COLUMNS + 1] = pitch;
            STI_TRY(add_blocks((n + group - 1) / group, bands, nblock));
        }
        *bytes += n * pitch;
    }
    return STET_OK;
}

static bool in_sequence(const int *worlds, int64_t n)
{
    for (int64_t i = 1; i < n; ++i)
        if (worlds[i] != worlds[0] + i) return false;
    return true;
}

/*
 * Worlds as a kernel takes them. Worlds that follow each other are passed as the first of them: uploading a list takes
 * longer than the copy of one world. Otherwise *list: the uploaded list.
 */
static stet_result pass_worlds(sti_extractor *x, const int *worlds, int64_t n, stet_array **list, int *start)
{
    assert(n >= 0 && n <= x->nworld && (!worlds || n > 0));
    for (int64_t i = 0; worlds && i < n; ++i) assert(worlds[i] >= 0 && worlds[i] < x->nworld);
    *list = NULL;
    *start = worlds ? worlds[0] : 0;
    if (!worlds || in_sequence(worlds, n)) return STET_OK;
    *list = x->list;
    memcpy(x->list_next, worlds, (size_t)n * sizeof *worlds);
    memset(x->list_next + n, 0, (size_t)(x->nworld - n) * sizeof *worlds);
    return upload(x->list, x->list_next);
}

stet_result sti_extract(sti_extractor *x, const sti_tile_source *source, const sti_copy *copies, int ncopy,
                        const int *worlds, int64_t n, int64_t *bytes)
{
    assert(x->job && ncopy <= x->ncopy && "an extractor of painted frames, with room");
    stet_array *const *pixels = source->pixels;
    stet_array *list;
    int64_t nblock;
    int njob, start;
    if (!worlds) n = x->nworld;
    STI_TRY(describe(x, source, copies, ncopy, n, &njob, &nblock, bytes));
    if (nblock == 0) return STET_OK;
    /*
     * The kernel writes through raw addresses, and worlds that are not listed keep their bytes, so host writes go up
     * first.
     */
    for (int k = 0; worlds && k < ncopy; ++k) STI_TRY(sti_array_to_device(copies[k].to));
    STI_TRY(upload(x->job, x->job_next));
    STI_TRY(upload(x->place, x->place_next));
    STI_TRY(pass_worlds(x, worlds, n, &list, &start));
    STI_TRY(STI_LAUNCH(sti_k_extract, x->device, nblock,
                       STI_BUFFERS(STI_BUFFER_ARG) sti_arg_array(source->table->first),
                       sti_arg_array(source->table->pitch), sti_arg_array(x->job), sti_arg_array(x->place),
                       sti_arg_array(list), sti_arg_int(start), sti_arg_int(njob), sti_arg_int(source->ncamera),
                       sti_arg_int(source->table->ntile), sti_arg_int(*bytes >= STREAM_BYTES), sti_arg_array(x->base)));
    for (int k = 0; k < ncopy; ++k) sti_version_bump(&copies[k].to->version); /* EXTRACT-1 */
    return STET_OK;
}

/* ---- frames of another renderer ---------------------------------------------------------------------------------- */

/* Fills the rows of the table; *nblock: number of blocks. A tile has at most INT32_MAX elements (foreign.c). */
static stet_result describe_foreign(sti_extractor *x, const sti_foreign_source *source, const sti_copy *copies,
                                    int ncopy, int64_t n, int64_t *nblock, int64_t *bytes)
{
    memset(x->place_next, 0, stet_array_get_bytes(x->place));
    *nblock = *bytes = 0;
    for (int k = 0; k < ncopy; ++k) {
        const sti_copy *c = &copies[k];
        const sti_foreign_picture *p = &source->picture[c->picture];
        assert(c->picture >= 0 && c->camera >= 0 && c->camera < source->ncamera && p->array && c->channels >= 1);
        int64_t band = band_of(x), all = (int64_t)c->size.width * c->size.height * c->channels;
        int bands = (int)((all + band - 1) / band);
        int64_t pitch = (int64_t)(stet_array_get_bytes(c->to) / (size_t)x->nworld);
        const int64_t row[STI_FOREIGN_COLUMNS] = {[STI_FOREIGN_BLOCK] = *nblock,
                                                  [STI_FOREIGN_BANDS] = bands,
                                                  [STI_FOREIGN_FROM] = place_of(x, p->array),
                                                  [STI_FOREIGN_TO] = place_of(x, c->to),
                                                  [STI_FOREIGN_PITCH] = pitch,
                                                  [STI_FOREIGN_FIRST] = c->picture * x->nworld * source->ncamera,
                                                  [STI_FOREIGN_CAMERA] = c->camera,
                                                  [STI_FOREIGN_WIDTH] = c->size.width,
                                                  [STI_FOREIGN_HEIGHT] = c->size.height,
                                                  [STI_FOREIGN_CHANNELS] = c->channels,
                                                  [STI_FOREIGN_PLANAR] = c->planar,
                                                  [STI_FOREIGN_CONVERSION] = c->conversion,
                                                  [STI_FOREIGN_ROW] = p->row,
                                                  [STI_FOREIGN_PIXEL] = p->pixel,
                                                  [STI_FOREIGN_CHANNEL] = p->channel,
                                                  [STI_FOREIGN_BAND] = band};
        memcpy(x->place_next + (ptrdiff_t)k * STI_FOREIGN_COLUMNS, row, sizeof row);
        *bytes += n * pitch;
        STI_TRY(add_blocks(n, bands, nblock));
    }
    return STET_OK;
}

stet_result sti_extract_foreign(sti_extractor *x, const sti_foreign_source *source, const sti_copy *copies, int ncopy,
                                const int *worlds, int64_t n, int64_t *bytes)
{
    assert(!x->job && ncopy <= x->ncopy && "an extractor of another renderer's frames, with room");
    stet_array *list;
    int64_t nblock;
    int start;
    if (!worlds) n = x->nworld;
    STI_TRY(describe_foreign(x, source, copies, ncopy, n, &nblock, bytes));
    if (nblock == 0) return STET_OK;
    /* The kernel reads and writes through raw addresses: see sti_extract. */
    for (int k = 0; k < ncopy; ++k) {
        STI_TRY(sti_array_produce(source->picture[copies[k].picture].array));
        if (worlds) STI_TRY(sti_array_to_device(copies[k].to));
    }
    STI_TRY(upload(x->place, x->place_next));
    STI_TRY(pass_worlds(x, worlds, n, &list, &start));
    STI_TRY(STI_LAUNCH(sti_k_extract_foreign, x->device, nblock, sti_arg_array(source->first), sti_arg_array(x->place),
                       sti_arg_array(list), sti_arg_int(start), sti_arg_int(ncopy), sti_arg_int(source->ncamera),
                       sti_arg_array(x->base)));
    for (int k = 0; k < ncopy; ++k) sti_version_bump(&copies[k].to->version); /* EXTRACT-1 */
    return STET_OK;
}

stet_result sti_carry(sti_extractor *x, const sti_tile_source *source, sti_picture_buffer buffer, stet_array *to,
                      stet_array *size, const int *worlds, int64_t n)
{
    assert(source->table->row[buffer] >= 0 && to && "a buffer that is drawn");
    assert(n == 0 || to->size == source->pixels[buffer]->size);
    int stride = sti_buffer_channels(buffer);
    bool reals = sti_buffer_dtype(buffer) == STET_DTYPE_REAL;
    stet_array *list;
    int start;
    if (n == 0) return STET_OK;
    STI_TRY(pass_worlds(x, worlds, n, &list, &start));
    const sti_arg args[] = {sti_arg_array(source->pixels[buffer]),
                            sti_arg_array(to),
                            sti_arg_array(source->table->first),
                            sti_arg_array(source->table->pitch),
                            sti_arg_array(size),
                            sti_arg_array(list),
                            sti_arg_int(start),
                            sti_arg_int(source->ncamera),
                            sti_arg_int(source->table->row[buffer] * source->table->ntile),
                            sti_arg_int(stride)};
    return sti_launch_on(x->device, reals ? &sti_k_carry_reals : &sti_k_carry_words, n * source->ncamera, args,
                         (int)(sizeof args / sizeof *args));
}
