/* Plans tile layouts, and creates the tables on the device. TABLE-1 to TABLE-3: table.h. */
#include "tiles/table.h"

#include "base/plural.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- layouts ----------------------------------------------------------------------------------------------------- */

/* *sum += a * b * c, all not negative; returns false on overflow. */
static bool add_product(int64_t *sum, int64_t a, int64_t b, int64_t c)
{
    assert(*sum >= 0 && a >= 0 && b >= 0 && c >= 0);
    int64_t product;
    return !__builtin_mul_overflow(a, b, &product) && !__builtin_mul_overflow(product, c, &product) &&
           !__builtin_add_overflow(*sum, product, sum);
}

static int64_t rows_of_tiles(int64_t nworld, int columns) { return nworld / columns + (nworld % columns != 0); }

/* Number of columns that makes nworld tiles about square, within the width of a frame. */
static int columns_for(sti_tile_size size, int64_t nworld)
{
    assert(size.width >= 1 && size.width <= STI_FRAME_WIDTH && size.height >= 1 && nworld >= 1);
    int64_t most = STI_FRAME_WIDTH / size.width;
    int64_t square = (int64_t)ceil(sqrt((double)nworld * size.height / size.width));
    int64_t columns = square < most ? square : most;
    if (columns > nworld) columns = nworld;
    return columns < 1 ? 1 : (int)columns;
}

static stet_result check_sizes(const sti_tile_size *size, int ncamera, int64_t nworld)
{
    int64_t ntile;
    if (ncamera < 1 || nworld < 1)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "tiles: %d camera%s in %lld world%s; at least one of each is needed", ncamera, STI_S(ncamera),
                         (long long)nworld, STI_S(nworld));
    if (__builtin_mul_overflow(nworld, (int64_t)ncamera, &ntile) || ntile > INT32_MAX)
        return sti_error(STET_ERROR_LIMIT,
                         "tiles: %lld world%s with %d camera%s are more than %d tiles; use fewer worlds or cameras",
                         (long long)nworld, STI_S(nworld), ncamera, STI_S(ncamera), INT32_MAX);
    for (int c = 0; c < ncamera; ++c)
        if (size[c].width < 1 || size[c].height < 1 || size[c].width > STI_FRAME_WIDTH ||
            size[c].height > STI_FRAME_WIDTH)
            return sti_error(STET_ERROR_LIMIT, "tiles: camera %d has %d x %d pixels; 1 to %d are possible either way",
                             c, size[c].width, size[c].height, STI_FRAME_WIDTH);
    return STET_OK;
}

static stet_result too_many_pixels(int camera)
{
    return sti_error(
        STET_ERROR_LIMIT,
        "tiles: with camera %d there are more pixels than can be addressed; use fewer worlds or smaller pictures",
        camera);
}

/* Rounds up to the next position at which a part may start. */
static bool align_part(int64_t *at)
{
    return !__builtin_add_overflow(*at, STI_PART_ALIGN - 1, at) && (*at -= *at % STI_PART_ALIGN, true);
}

stet_result sti_tile_plan(const sti_tile_size *size, const bool *direct, int ncamera, int64_t nworld,
                          sti_tile_part *part, sti_tile_layout *out)
{
    int64_t at = 0, height = 0;
    int width = 0;
    STI_TRY(check_sizes(size, ncamera, nworld));
    for (int c = 0; c < ncamera; ++c) {
        int columns = direct[c] ? 1 : columns_for(size[c], nworld);
        part[c] = (sti_tile_part){.origin = at, .columns = columns, .pitch = size[c].width, .size = size[c]};
        if (!direct[c] && columns * size[c].width > width) width = columns * size[c].width;
        if (direct[c] && (!add_product(&at, nworld, size[c].width, size[c].height) || !align_part(&at)))
            return too_many_pixels(c);
    }
    for (int c = 0; c < ncamera; ++c) {
        if (direct[c]) continue;
        part[c].pitch = width;
        part[c].origin = at;
        if (!add_product(&part[c].origin, height, width, 1)) return too_many_pixels(c);
        if (!add_product(&height, rows_of_tiles(nworld, part[c].columns), size[c].height, 1)) return too_many_pixels(c);
    }
    *out = (sti_tile_layout){.nworld = nworld,
                             .npixel = at,
                             .image = at,
                             .image_height = height,
                             .image_width = width,
                             .ncamera = ncamera,
                             .part = part};
    if (!add_product(&out->npixel, height, width, 1)) return too_many_pixels(ncamera - 1);
    sti_validate_tile_layout(out);
    return STET_OK;
}

int64_t sti_tile_first(const sti_tile_layout *layout, int64_t world, int camera)
{
    assert(world >= 0 && world < layout->nworld && camera >= 0 && camera < layout->ncamera);
    const sti_tile_part *p = &layout->part[camera];
    int64_t row = world / p->columns, column = world % p->columns;
    return p->origin + row * p->size.height * p->pitch + column * p->size.width;
}

/* ---- views ------------------------------------------------------------------------------------------------------- */

stet_result sti_tile_view(const stet_array *of, int64_t offset, const char *name, stet_dtype dtype, int ndim,
                          const int64_t *shape, stet_array **out)
{
    assert(ndim >= 1 && ndim <= STET_MAX_DIMS && offset >= 0 && !of->worlds);
    stet_array *a;
    *out = NULL;
    STI_TRY(sti_alloc(&a, sizeof *a, "a view of tiles"));
    snprintf(a->name, sizeof a->name, "%s", name);
    a->device = of->device;
    a->dtype = dtype;
    a->borrowed = true;
    a->base = (stet_array *)of; /* a tensor exported from the view keeps the memory alive */
    a->ndim = ndim;
    a->nitem = 1;
    a->nblock = 1;
    for (int k = 0; k < ndim; ++k) {
        a->shape[k] = shape[k];
        a->nitem *= shape[k]; /* no overflow: the view lies within an array */
    }
    a->size = (size_t)a->nitem * stet_dtype_size(of->device, dtype);
    assert((size_t)offset + a->size <= of->size && "a view lies within its array");
    a->data = (char *)of->data + offset;
    a->version = sti_version_new();
    a->device->narray++;
    sti_device_retain(a->device);
    *out = a;
    return STET_OK;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static void fill_row(const sti_tile_layout *layout, int64_t *first, int *pitch)
{
    for (int64_t w = 0; w < layout->nworld; ++w)
        for (int c = 0; c < layout->ncamera; ++c) {
            first[w * layout->ncamera + c] = sti_tile_first(layout, w, c);
            pitch[w * layout->ncamera + c] = layout->part[c].pitch;
        }
}

/* Uploads host copies of all rows, once. */
static stet_result upload(const sti_tile_layout *layout, sti_tile_table *t, int nrow)
{
    int64_t *first;
    int *pitch = NULL;
    size_t n = (size_t)t->ntile * (size_t)nrow;
    assert(t->ntile > 0 && t->ntile <= INT32_MAX && "TABLE-1");
    STI_TRY(sti_alloc(&first, n * sizeof *first, "the tile table"));
    stet_result result = sti_alloc(&pitch, n * sizeof *pitch, "the tile table");
    if (result == STET_OK) {
        for (int b = 0; b < STI_BUFFER_COUNT; ++b)
            if (t->row[b] >= 0) fill_row(&layout[b], first + t->row[b] * t->ntile, pitch + t->row[b] * t->ntile);
        result = stet_array_write(t->first, first, n * sizeof *first);
    }
    if (result == STET_OK) result = stet_array_write(t->pitch, pitch, n * sizeof *pitch);
    sti_free(pitch);
    sti_free(first);
    return result;
}

static stet_result create_table(stet_device *device, const sti_tile_layout *layout, sti_tile_table *t, int nrow)
{
    assert(nrow > 0 && "some buffer is used");
    STI_TRY(STI_ARRAY(device, "first pixels of tiles", STET_DTYPE_I64, false, &t->first, nrow * t->ntile));
    STI_TRY(STI_ARRAY(device, "pitches of tiles", STET_DTYPE_INT, false, &t->pitch, nrow * t->ntile));
    sti_array_held_by(t->first, STET_MECHANISM_TILES);
    sti_array_held_by(t->pitch, STET_MECHANISM_TILES);
    return upload(layout, t, nrow);
}

stet_result sti_tile_table_create(stet_device *device, const sti_tile_layout *layout, const bool *used,
                                  sti_tile_table *out)
{
    int nrow = 0;
    *out = (sti_tile_table){0};
    for (int b = 0; b < STI_BUFFER_COUNT; ++b) {
        out->row[b] = used[b] ? nrow++ : -1;
        if (!used[b]) continue;
        assert((!out->ntile || out->ntile == layout[b].nworld * layout[b].ncamera) &&
               "all buffers have the same tiles");
        out->ntile = layout[b].nworld * layout[b].ncamera;
    }
    stet_result result = create_table(device, layout, out, nrow);
    if (result != STET_OK) sti_tile_table_destroy(out);
    return result;
}

void sti_tile_table_destroy(sti_tile_table *t)
{
    stet_array_destroy(t->first);
    stet_array_destroy(t->pitch);
    *t = (sti_tile_table){0};
}

#ifndef NDEBUG

void sti_validate_tile_layout(const sti_tile_layout *layout)
{
    int64_t ntile = layout->nworld * layout->ncamera;
    assert(layout->nworld >= 1 && layout->ncamera >= 1 && ntile <= INT32_MAX && "TABLE-1");
    assert(layout->image + layout->image_height * layout->image_width == layout->npixel && "TABLE-2");
    for (int c = 0; c < layout->ncamera; ++c) {
        const sti_tile_part *p = &layout->part[c];
        int64_t last = sti_tile_first(layout, layout->nworld - 1, c);
        bool direct = p->origin < layout->image;
        assert(p->columns >= 1 && p->columns * p->size.width <= p->pitch && "TABLE-2: tiles of a row lie side by side");
        assert(p->origin >= 0 && last + (p->size.height - 1) * (int64_t)p->pitch + p->size.width <= layout->npixel &&
               "TABLE-2: all pixels are below npixel");
        assert((!direct || (p->columns == 1 && p->pitch == p->size.width && p->origin % STI_PART_ALIGN == 0)) &&
               "TABLE-3");
        assert((direct || p->pitch == layout->image_width) && "tiles that are not direct lie in one image");
    }
}

#endif
