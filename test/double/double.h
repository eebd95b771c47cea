/*
 * The driver double: two shared objects, one with the entry points of the CUDA driver and of NVRTC, one with those of
 * HIP and hipRTC, over host memory, so that the GPU code is tested without a GPU. This header is for the tests that
 * steer one of them: they open the object, look up the one symbol `double_get_control`, and call through the table it
 * gives.
 *
 * What it does that a friendly driver does not:
 *   DOUBLE-1  device memory can be touched only by kernels and copies of the double: anybody else who does faults
 *       (config.protect)
 *   DOUBLE-2  fresh memory is full of garbage; freed memory too, and it stays closed for a while; zones around each
 *       block are checked
 *   DOUBLE-3  copies and launches run later, in an order between streams that changes with the seed unless events order
 *       them
 *   DOUBLE-4  the threads of a block run in an order that changes with the seed, between any two barriers
 *   DOUBLE-5  each call can be made to fail, once or for ever
 * Errors that a driver would not tell of (a write beyond a block, a barrier that not all threads reach) are kept in a
 * report.
 *
 * All calls may come from any thread; one lock serves them all, and what is waiting runs on the thread whose call makes
 * it run.
 */
#ifndef TEST_DOUBLE_DOUBLE_H
#define TEST_DOUBLE_DOUBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct double_config {
    uint64_t seed;
    int devices;       /* 0 … 4 */
    size_t memory;     /* bytes a device has */
    bool protect;      /* DOUBLE-1; slow where devices hold hundreds of megabytes */
    bool recycle;      /* a freed address is the next one handed out; else it rests as long as there is room */
    bool eager;        /* everything runs inside its own call: DOUBLE-3 off */
    int progress;      /* percent of calls that let something run that waits */
    int latency;       /* calls that an operation waits before it may run without being waited for */
    int cuda_version;  /* of the driver: 13000 is 13.0 */
    int hip_version;   /* 60443483 is 6.4.43483 */
    int nvrtc_version; /* 1300 is 13.0 */
    int major, minor;  /* compute capability */
    char gfx[16];      /* "gfx90a", for HIP */
    int multiprocessors;
    int shared_memory; /* bytes that a block may have */
    unsigned max_grid; /* blocks in x */
} double_config;

/* What is alive, over all devices. */
typedef struct double_alive {
    int64_t blocks, host_blocks, streams, events, modules, graphs, contexts, programs;
    size_t bytes;
} double_alive;

typedef struct double_control {
    double_config (*defaults)(void);
    /* Forgets everything (memory, streams, faults, counts, reports) and starts anew. */
    void (*start)(const double_config *config);
    /*
     * From now on the at-th call (from 1) of an entry point returns `code` without doing anything: once, or from then
     * on always. The entry has its neutral name: "alloc" (src/device/gpu/entries.inl), "rtc_compile"
     * (src/kernel/gpu/rtc.inl); NULL: any of the driver's, all counted together. At 0 nothing fails any more.
     */
    void (*fail_call)(const char *entry, int64_t at, int code, bool for_ever);
    /*
     * From now on the at-th kernel that runs ends with `code`, as one that reads a wrong address does: after the launch
     * has returned.
     */
    void (*fail_kernel)(int64_t at, int code);
    /*
     * From now on the compiler holds programs whose source has the text `with` and not `without` (may be NULL): their
     * compilation ends after a call that does not hold them. NULL: it holds none.
     */
    void (*hold)(const char *with, const char *without);
    int64_t (*calls)(const char *entry); /* since the start; NULL: of all entries */
    double_alive (*alive)(void);
    /* Checks the zones; the number of errors since the last report, and a sentence for the first of them. */
    int (*report)(char *text, size_t size);
    /* Runs one thing that waits, if there is one. */
    bool (*progress)(void);
    int64_t (*waiting)(void); /* operations that have not run */
    int64_t (*early)(void); /* kernels of graphs that ran, and might have been started while those before them ended */
    /* Address at which the test may look at device memory; NULL: not inside a live block. */
    void *(*look)(uint64_t address);
} double_control;

typedef const double_control *double_get_control_function(void);

#endif
