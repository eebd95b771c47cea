/*
 * Extraction of tiles out of a tiled frame into tensors, in turns with memcpy of as many bytes by as many threads; and
 * the direct path, which copies nothing.
 */
#include "cli/bench.h"

#include "base/error.h"
#include "tiles/extract.h"

#include <stdio.h>
#include <string.h>

/* A frame of colour and depth, tensors, and what is copied. */
typedef struct copying {
    stet_device *device;
    int64_t nworld;
    sti_tile_size size;
    sti_tile_part part[STI_BUFFER_COUNT][1];
    sti_tile_layout layout[STI_BUFFER_COUNT];
    sti_tile_table table;
    stet_array *pixels[STI_BUFFER_COUNT];
    sti_extractor extractor;
    sti_copy copy;
    char *from, *to; /* of memcpy */
    size_t bytes;
} copying;

typedef struct variant {
    const char *name;
    stet_output output;
    stet_dtype dtype;
    int channels;
} variant;

static const variant variants[] = {
    {"rgba8", STET_OUTPUT_RGBA, STET_U8, 4},       {"rgb8", STET_OUTPUT_RGB, STET_U8, 3},
    {"rgb16f", STET_OUTPUT_RGB, STET_F16, 3},      {"rgb32f", STET_OUTPUT_RGB, STET_REAL, 3},
    {"depth32f", STET_OUTPUT_DEPTH, STET_REAL, 1}, {"depth16f", STET_OUTPUT_DEPTH, STET_F16, 1},
};

/* ---- work ----------------------------------------------------------------------------------------------------- */

static stet_result extract(void *context)
{
    copying *c = context;
    sti_tile_source source = {&c->table, 1, c->pixels};
    int64_t bytes;
    return sti_extract(&c->extractor, &source, &c->copy, 1, NULL, 0, &bytes);
}

enum { PIECE = 1 << 20 };

static void copy_piece(void *context, int64_t i, int thread)
{
    (void)thread;
    copying *c = context;
    size_t at = (size_t)i * PIECE, n = c->bytes - at < PIECE ? c->bytes - at : PIECE;
    memcpy(c->to + at, c->from + at, n);
}

/* memcpy as it is for one thread; for more, in pieces that the threads share. */
static stet_result copy_plainly(void *context)
{
    copying *c = context;
    if (stet_device_threads(c->device) == 1)
        memcpy(c->to, c->from, c->bytes);
    else
        sti_device_parallel(c->device, (int64_t)((c->bytes + PIECE - 1) / PIECE), copy_piece, c);
    return STET_OK;
}

/* ---- set-up --------------------------------------------------------------------------------------------------- */

static stet_result fill_frame(stet_array *pixels)
{
    uint32_t *data = pixels->data;
    int64_t n = stet_array_count(pixels);
    bool real = stet_array_dtype(pixels) == STET_REAL;
    for (int64_t i = 0; i < n; ++i) {
        float depth = 1 + (float)(i % 1000) / 256;
        if (real)
            memcpy(&data[i], &depth, sizeof depth);
        else
            data[i] = (uint32_t)i * 2654435761u;
    }
    stet_array_mark_written(pixels);
    return STET_OK;
}

static stet_result open_frame(copying *c, sti_buffer buffer)
{
    bool used[STI_BUFFER_COUNT] = {false}, direct = false;
    used[buffer] = true;
    STI_TRY(sti_tile_plan(&c->size, &direct, 1, c->nworld, c->part[buffer], &c->layout[buffer]));
    STI_TRY(
        STI_ARRAY(c->device, "frame", sti_buffer_dtype(buffer), false, &c->pixels[buffer], c->layout[buffer].npixel));
    STI_TRY(fill_frame(c->pixels[buffer]));
    STI_TRY(sti_tile_table_create(c->device, c->layout, used, &c->table));
    return sti_extractor_create(c->device, c->nworld, 1, &c->extractor);
}

static stet_result open_copies(copying *c, const variant *v)
{
    bool direct;
    c->copy = (sti_copy){.buffer = sti_output_buffer(v->output), .channels = v->channels, .size = c->size};
    STI_TRY(sti_conversion(v->output, v->dtype, v->channels, &c->copy.conversion, &direct));
    STI_TRY(STI_ARRAY(c->device, "tensor", v->dtype, false, &c->copy.to, c->nworld, c->size.height, c->size.width,
                      v->channels));
    c->bytes = stet_array_bytes(c->copy.to);
    STI_TRY(sti_alloc(&c->from, c->bytes, "memcpy's source"));
    STI_TRY(sti_alloc(&c->to, c->bytes, "memcpy's destination"));
    memset(c->from, 1, c->bytes);
    return open_frame(c, c->copy.buffer);
}

static void close_copies(copying *c)
{
    sti_extractor_destroy(&c->extractor);
    sti_tile_table_destroy(&c->table);
    for (int k = 0; k < STI_BUFFER_COUNT; ++k) stet_array_destroy(c->pixels[k]);
    stet_array_destroy(c->copy.to);
    sti_free(c->from);
    sti_free(c->to);
}

/* ---- rows ----------------------------------------------------------------------------------------------------- */

/* The ratio of one variant; its samples also go to `ratio`. */
static stet_result measure(bench *b, const variant *v, int64_t nworld, int edge, int threads, double *ratio)
{
    stet_device_def def = stet_default_device_def();
    copying c = {.nworld = nworld, .size = {edge, edge}};
    double seconds[2][BENCH_SAMPLES];
    bench_row *row;
    def.threads = threads;
    STI_TRY(stet_device_create(&def, &c.device));
    stet_result result = open_copies(&c, v);
    const bench_work work[] = {{extract, &c}, {copy_plainly, &c}};
    if (result == STET_OK) result = bench_in_turns(work, 2, 0.05, seconds);
    for (int s = 0; result == STET_OK && s < BENCH_SAMPLES; ++s) ratio[s] = seconds[1][s] / seconds[0][s];
    if (result == STET_OK)
        result = bench_add(b, &row, ratio, BENCH_SAMPLES, "of memcpy", true,
                           "tiles/%s/%lldx%dx%d/threads_%d/ratio_to_memcpy", v->name, (long long)nworld, edge, edge,
                           threads);
    if (result == STET_OK)
        bench_note(row, "%.1f GB/s written, memcpy of as many bytes %.1f GB/s",
                   (double)c.bytes / bench_median(seconds[0], BENCH_SAMPLES) * 1e-9,
                   (double)c.bytes / bench_median(seconds[1], BENCH_SAMPLES) * 1e-9);
    close_copies(&c);
    stet_device_destroy(c.device);
    return result;
}

/* rgba8 in both sizes, with one thread and all; the row without a size is the worst of them. */
static stet_result measure_rgba8(bench *b)
{
    static const struct {
        int64_t nworld;
        int edge;
    } sizes[] = {{1225, 120}, {16384, 64}};
    double worst[BENCH_SAMPLES] = {0}, ratio[BENCH_SAMPLES];
    char name[BENCH_NAME] = "";
    bench_row *row;
    for (int k = 0; k < 4; ++k) {
        if (k % 2 && b->threads == 1) continue;
        STI_TRY(measure(b, &variants[0], sizes[k / 2].nworld, sizes[k / 2].edge, k % 2 ? b->threads : 1, ratio));
        bench_goal(&b->row[b->nrow - 1], 0.9);
        if (*name && bench_median(ratio, BENCH_SAMPLES) >= bench_median(worst, BENCH_SAMPLES)) continue;
        memcpy(worst, ratio, sizeof worst);
        (void)snprintf(name, sizeof name, "%s", b->row[b->nrow - 1].name);
    }
    STI_TRY(bench_add(b, &row, worst, BENCH_SAMPLES, "of memcpy", true, "tiles/rgba8/ratio_to_memcpy"));
    bench_goal(row, 0.9);
    bench_note(row, "the lowest of the above: %s", name);
    return STET_OK;
}

stet_result bench_tiles(bench *b)
{
    double ratio[BENCH_SAMPLES];
    STI_TRY(measure_rgba8(b));
    for (size_t k = 1; k < sizeof variants / sizeof *variants; ++k)
        STI_TRY(measure(b, &variants[k], 1225, 120, 1, ratio));
    return bench_direct(b);
}
