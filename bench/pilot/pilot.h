/*
 * The pilots: three small kernels that prove the language (one Newton iteration, camera rays, one level of a
 * hierarchy), with inputs that are the same numbers on every machine. Used by the tests, the benchmarks and the check
 * on a GPU.
 */
#ifndef STET_BENCH_PILOT_PILOT_H
#define STET_BENCH_PILOT_PILOT_H

#include "kernel/record/launch.h"

typedef enum sti_pilot_kind { STI_PILOT_NEWTON, STI_PILOT_RAYS, STI_PILOT_LEVEL, STI_PILOT_COUNT } sti_pilot_kind;

enum { STI_PILOT_MAX_ARGS = 10, STI_PILOT_PRIMS = 32, STI_PILOT_TREE = 85, STI_PILOT_LEVEL_SIZE = 64 };

/* Inputs and outputs of one pilot as arguments of its kernel, in the order of the signature. */
typedef struct sti_pilot {
    sti_pilot_kind kind;
    const sti_kernel *kernel;
    int64_t count; /* worlds, or blocks of rays */
    int narg;
    sti_arg arg[STI_PILOT_MAX_ARGS];
    int noutput;
    stet_array *output[2]; /* among arg; owned with the others */
} sti_pilot;

extern const sti_embedded sti_pilot_sources[];

const char *sti_pilot_name(sti_pilot_kind kind);
/* size: worlds; for the rays, pixels of the edge of a square picture. */
stet_result sti_pilot_create(stet_device *device, sti_pilot_kind kind, int64_t size, sti_pilot *out);
void sti_pilot_destroy(sti_pilot *pilot);
stet_result sti_pilot_run(stet_device *device, sti_pilot *pilot);
/* Hash of the outputs. */
stet_result sti_pilot_hash(const sti_pilot *pilot, uint64_t *out);

#endif
