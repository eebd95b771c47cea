/* Frames, tensors and the copies between; see copies.h. */
#include "bench/copies.h"

#include "base/error.h"
#include "device/host_mirror.h"

#include <string.h>

const bench_variant bench_variants[BENCH_VARIANTS] = {
    {"rgba8", STET_OUTPUT_RGBA, STET_DTYPE_U8, 4, 0.95},    {"rgb8", STET_OUTPUT_RGB, STET_DTYPE_U8, 3, 0.6},
    {"rgb16f", STET_OUTPUT_RGB, STET_DTYPE_F16, 3, 0.6},    {"rgb32f", STET_OUTPUT_RGB, STET_DTYPE_REAL, 3, 0.6},
    {"depth32f", STET_OUTPUT_DEPTH, STET_DTYPE_REAL, 1, 0}, {"depth16f", STET_OUTPUT_DEPTH, STET_DTYPE_F16, 1, 0.6},
};

static stet_result fill_frame(stet_array *pixels)
{
    void *mirror;
    STI_TRY(sti_array_mirror_write(pixels, &mirror));
    uint32_t *data = mirror;
    int64_t n = stet_array_get_nelement(pixels);
    bool real = stet_array_get_dtype(pixels) == STET_DTYPE_REAL;
    for (int64_t i = 0; i < n; ++i) {
        float depth = 1 + (float)(i % 1000) / 256;
        if (real)
            memcpy(&data[i], &depth, sizeof depth);
        else
            data[i] = (uint32_t)i * 2654435761u;
    }
    sti_array_mirror_written(pixels);
    return STET_OK;
}

static stet_result open_frame(bench_copies *c, sti_picture_buffer buffer)
{
    bool used[STI_BUFFER_COUNT] = {false}, direct = false;
    used[buffer] = true;
    STI_TRY(sti_tile_plan(&c->size, &direct, 1, c->nworld, c->part[buffer], &c->layout[buffer]));
    STI_TRY(
        STI_ARRAY(c->device, "frame", sti_buffer_dtype(buffer), false, &c->pixels[buffer], c->layout[buffer].npixel));
    STI_TRY(fill_frame(c->pixels[buffer]));
    STI_TRY(sti_tile_table_create(c->device, c->layout, used, &c->table));
    return sti_extractor_create(c->device, c->nworld, 1, 1, &c->extractor);
}

stet_result bench_copies_open(bench_copies *c, stet_device *device, const bench_variant *v)
{
    bool direct;
    c->device = device;
    c->copy = (sti_copy){.buffer = sti_output_buffer(v->output), .channels = v->channels, .size = c->size};
    STI_TRY(sti_conversion(v->output, v->dtype, v->channels, &c->copy.conversion, &direct));
    STI_TRY(STI_ARRAY(c->device, "tensor", v->dtype, false, &c->copy.to, c->nworld, c->size.height, c->size.width,
                      v->channels));
    c->bytes = stet_array_get_bytes(c->copy.to);
    c->source_bytes = (size_t)c->nworld * (size_t)c->size.width * (size_t)c->size.height *
                      stet_dtype_size(device, sti_buffer_dtype(c->copy.buffer));
    return open_frame(c, c->copy.buffer);
}

void bench_copies_close(bench_copies *c)
{
    sti_extractor_destroy(&c->extractor);
    sti_tile_table_destroy(&c->table);
    for (int k = 0; k < STI_BUFFER_COUNT; ++k) stet_array_destroy(c->pixels[k]);
    stet_array_destroy(c->copy.to);
}

stet_result bench_copies_extract(void *context)
{
    bench_copies *c = context;
    sti_tile_source source = {&c->table, 1, c->pixels};
    int64_t bytes;
    return sti_extract(&c->extractor, &source, &c->copy, 1, NULL, 0, &bytes);
}
