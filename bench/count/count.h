/*
 * Kernels that count their operations and bytes (bench/README.md, "What a ray costs"): other builds of a kernel file,
 * which a device on the CPU runs in place of the library's.
 */
#ifndef STET_BENCH_COUNT_H
#define STET_BENCH_COUNT_H

#include "device/slot.h"

#include <stdint.h>

struct stet_device;

typedef struct bench_memory {
    uint64_t begin, size;
} bench_memory;

/* Of all kernels that count, since somebody set them to 0; of one thread. */
typedef struct bench_count {
    uint64_t flops, bytes;
    bench_memory stack, team; /* of the kernel that runs: what is there is not counted */
} bench_count;
extern bench_count bench_counts;

/* A row of a table of kernels, which ends with a name that is NULL; kernelcount.c writes tables. */
typedef struct bench_counted {
    const char *name;
    sti_call *call;
} bench_counted;
extern const bench_counted bench_counted_render[];

/* From now on this device, of one thread and the instruction set w1, runs these kernels. Only one does at a time. */
void bench_count_on(struct stet_device *device, const bench_counted *kernels);

#endif
