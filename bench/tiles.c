/*
 * Extraction of tiles from a tiled frame into tensors, in turns with memcpy of as many bytes by as many threads; and
 * the direct path, which copies nothing.
 */
#include "bench/bench.h"
#include "bench/copies.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* A copy, and memcpy of as many bytes. */
typedef struct copying {
    bench_copies extraction;
    char *from, *to;
} copying;

/* ---- work -------------------------------------------------------------------------------------------------------- */

enum { PIECE = 1 << 20 };

static void copy_piece(void *context, int64_t i, int thread)
{
    (void)thread;
    copying *c = context;
    size_t at = (size_t)i * PIECE, n = c->extraction.bytes - at < PIECE ? c->extraction.bytes - at : PIECE;
    memcpy(c->to + at, c->from + at, n);
}

/* memcpy as it is for one thread; for more, in pieces that the threads share. */
static stet_result copy_plainly(void *context)
{
    copying *c = context;
    if (stet_device_get_threads(c->extraction.device) == 1)
        memcpy(c->to, c->from, c->extraction.bytes);
    else
        sti_device_parallel(c->extraction.device, (int64_t)((c->extraction.bytes + PIECE - 1) / PIECE), 0, copy_piece,
                            c);
    return STET_OK;
}

static stet_result open_copies(copying *c, stet_device *device, const bench_variant *v)
{
    STI_TRY(bench_copies_open(&c->extraction, device, v));
    STI_TRY(sti_alloc(&c->from, c->extraction.bytes, "memcpy's source"));
    STI_TRY(sti_alloc(&c->to, c->extraction.bytes, "memcpy's destination"));
    memset(c->from, 1, c->extraction.bytes);
    return STET_OK;
}

static void close_copies(copying *c)
{
    bench_copies_close(&c->extraction);
    sti_free(c->from);
    sti_free(c->to);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* The ratio of one variant; its samples also go to `ratio`. One thread is measured by the processor's time. */
static stet_result measure_bench_tiles(bench *b, const bench_variant *v, int64_t nworld, int edge, int threads,
                                       double *ratio)
{
    stet_device_def def = bench_cpu_def();
    stet_device *device;
    copying c = {.extraction = {.nworld = nworld, .size = {edge, edge}}};
    double seconds[2][BENCH_SAMPLES];
    bench_row *row;
    def.threads = threads;
    STI_TRY(stet_device_create(&def, &device));
    stet_result result = open_copies(&c, device, v);
    const bench_work work[] = {{bench_copies_extract, &c.extraction, NULL}, {copy_plainly, &c, NULL}};
    if (result == STET_OK)
        result = threads == 1 ? bench_on_core_in_turns(work, 2, 0.05, seconds) : bench_in_turns(work, 2, 0.05, seconds);
    for (int s = 0; result == STET_OK && s < BENCH_SAMPLES; ++s) ratio[s] = seconds[1][s] / seconds[0][s];
    if (result == STET_OK)
        result = bench_add(b, &row, ratio, BENCH_SAMPLES, "of memcpy", true,
                           "tiles/%s/%lldx%dx%d/threads_%d/ratio_to_memcpy", v->name, (long long)nworld, edge, edge,
                           threads);
    if (result == STET_OK && v->cpu_goal > 0) bench_goal(row, v->cpu_goal);
    if (result == STET_OK)
        bench_note(row, "%.1f GB/s written, memcpy of as many bytes %.1f GB/s",
                   (double)c.extraction.bytes / bench_median(seconds[0], BENCH_SAMPLES) * 1e-9,
                   (double)c.extraction.bytes / bench_median(seconds[1], BENCH_SAMPLES) * 1e-9);
    close_copies(&c);
    stet_device_destroy(device);
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
        STI_TRY(measure_bench_tiles(b, &bench_variants[0], sizes[k / 2].nworld, sizes[k / 2].edge,
                                    k % 2 ? b->threads : 1, ratio));
        if (*name && bench_median(ratio, BENCH_SAMPLES) >= bench_median(worst, BENCH_SAMPLES)) continue;
        memcpy(worst, ratio, sizeof worst);
        (void)snprintf(name, sizeof name, "%s", b->row[b->nrow - 1].name);
    }
    STI_TRY(bench_add(b, &row, worst, BENCH_SAMPLES, "of memcpy", true, "tiles/rgba8/ratio_to_memcpy"));
    bench_goal(row, bench_variants[0].cpu_goal);
    bench_note(row, "the lowest of the above: %s", name);
    return STET_OK;
}

stet_result bench_tiles(bench *b)
{
    double ratio[BENCH_SAMPLES];
    STI_TRY(measure_rgba8(b));
    for (size_t k = 1; k < BENCH_VARIANTS; ++k)
        STI_TRY(measure_bench_tiles(b, &bench_variants[k], 1225, 120, 1, ratio));
    return bench_direct(b);
}
