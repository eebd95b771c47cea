/* Shared by benchmarks of extraction: a tiled frame with pixels, a tensor, and the copy from one to the other. */
#ifndef STET_BENCH_COPIES_H
#define STET_BENCH_COPIES_H

#include "tiles/extract.h"

/* A frame of colour and depth, tensors, and what is copied. */
typedef struct bench_copies {
    stet_device *device; /* borrowed */
    int64_t nworld;
    sti_tile_size size;
    sti_tile_part part[STI_BUFFER_COUNT][1];
    sti_tile_layout layout[STI_BUFFER_COUNT];
    sti_tile_table table;
    stet_array *pixels[STI_BUFFER_COUNT];
    sti_extractor extractor;
    sti_copy copy;
    size_t bytes, source_bytes; /* of the tensor; of the pixels that are read */
} bench_copies;

typedef struct bench_variant {
    const char *name;
    stet_output output;
    stet_dtype dtype;
    int channels;
    double cpu_goal; /* speed on a CPU, of memcpy of as many bytes as the tensor has; 0: none */
} bench_variant;

enum { BENCH_VARIANTS = 6 };
extern const bench_variant bench_variants[BENCH_VARIANTS];

/* nworld and size must be set. Always call bench_copies_close, also after a failure. */
stet_result bench_copies_open(bench_copies *c, stet_device *device, const bench_variant *v);
void bench_copies_close(bench_copies *c);
/* Extracts all; context is the bench_copies. */
stet_result bench_copies_extract(void *context);

#endif
