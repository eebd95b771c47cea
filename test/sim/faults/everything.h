/*
 * A short run of everything, call by call, in which something fails: the call says so in a sentence, the same call made
 * again does what it should, and all numbers are those of a run without a failure.
 */
#ifndef TEST_SIM_EVERYTHING_H
#define TEST_SIM_EVERYTHING_H

#include "sim/room.h"

#include "stet/kernel.h"

enum { EVERYTHING_NUMBERS = 64, EVERYTHING_KERNELS = 3 };

/* How to run; zeros: as it comes, on the CPU or the device that the run is about. */
typedef struct everything_how {
    stet_mechanism_options options;
    void (*place)(stet_device_def *def); /* puts it on another device */
    bool (*fair)(stet_result result);    /* may a call fail so, as stet_get_last_error() says? */
    bool retry;                          /* what failed is asked for again; else the run ends there */
    const char *kernels; /* folder for compiled kernels: with kernels of the caller's in the step, and an export */
} everything_how;

typedef struct everything {
    const everything_how *how;
    stet_model *model;
    stet_sim *sim;
    stet_tiles *tiles;
    stet_array *bound, *seen;
    stet_snapshot *snapshot, *before;
    stet_kernel *kernel[EVERYTHING_KERNELS];
    struct DLManagedTensorVersioned *tensor;
    int prim[3];
    uint64_t number[EVERYTHING_NUMBERS]; /* what was seen */
    int nnumber, failures;
} everything;

/*
 * Runs it, and gives everything back. The numbers must be those of `reference`, which is taken from the first run if it
 * has none.
 */
stet_result everything_run(const everything_how *how, everything *reference);
/* After the last run. */
void everything_clean(void);

#endif
