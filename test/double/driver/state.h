/*
 * What all of the double shares: its lock, its configuration, counts of calls and faults, random numbers, the report.
 *
 * Invariants:
 *   STATE-1  every entry point holds the lock, and counts its call before it does anything
 *   STATE-2  a call that is made to fail does nothing but be counted
 *   STATE-3  a device that is lost (a kernel ended with an error) answers every later call with that error
 */
#ifndef TEST_DOUBLE_STATE_H
#define TEST_DOUBLE_STATE_H

#include "double/double.h"

enum { DD_DEVICES = 4 };

/* The results that CUDA's driver and HIP have in common, with the same numbers. */
enum {
    DD_OK = 0,
    DD_INVALID_VALUE = 1,
    DD_OUT_OF_MEMORY = 2,
    DD_NOT_INITIALIZED = 3,
    DD_NO_DEVICE = 100,
    DD_INVALID_DEVICE = 101,
    DD_INVALID_IMAGE = 200,
    DD_INVALID_CONTEXT = 201,
    DD_NO_BINARY = 209,
    DD_INVALID_HANDLE = 400,
    DD_ILLEGAL_STATE = 401,
    DD_NOT_FOUND = 500,
    DD_NOT_READY = 600,
    DD_ILLEGAL_ADDRESS = 700,
    DD_OUT_OF_RESOURCES = 701,
    DD_LAUNCH_FAILED = 719,
    DD_NOT_SUPPORTED = 801,
    DD_CAPTURE_UNSUPPORTED = 900,
    DD_CAPTURE_INVALIDATED = 901,
    DD_CAPTURE_UNJOINED = 904,
    DD_CAPTURE_ISOLATION = 905,
    DD_CAPTURE_IMPLICIT = 906,
    DD_UNKNOWN = 999
};

typedef struct dd_device {
    int ordinal;
    int lost;     /* the error that ended it; 0: fine */
    int retained; /* how often the primary context is held */
    struct dd_memory *memory;
    struct dd_stream *legacy; /* the stream of no name; NULL: not used yet */
} dd_device;

typedef struct dd_state {
    double_config config;
    dd_device device[DD_DEVICES];
    bool initialized;
    int64_t tick; /* calls since the start */
    int64_t programs;
    double_alive alive;
    int64_t early; /* kernels that ran and might have been started early */
} dd_state;

/* Which of the two objects this is: it is compiled once for each. */
#ifndef DD_HIP
#define DD_HIP 0
#endif
static inline int dd_warp_width(void) { return DD_HIP ? 64 : 32; }

extern dd_state dd;
/* The device whose context is current on this thread; NULL: none. */
extern _Thread_local dd_device *dd_current;

void dd_lock(void);
void dd_unlock(void);
uint64_t dd_random(void);
static inline uint64_t dd_below(uint64_t n) { return dd_random() % n; }

/* Counts a call; its result if it is to fail. */
int dd_enter(const char *entry);
int dd_enter_compiler(const char *entry); /* the same; a fault of any entry does not mean these */
/* Counts a kernel that runs; the error with which it is to end. */
int dd_kernel_fault(void);
int64_t dd_calls(const char *entry);
void dd_fail(const char *entry, int64_t at, int code, bool for_ever);
void dd_fail_kernel(int64_t at, int code);

/* double_control.hold */
void dd_hold_compiler(const char *with, const char *without);

/* Adds a sentence to the report. */
void dd_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

const char *dd_error_name(int code);     /* without a vendor's prefix: "OUT_OF_MEMORY" */
const char *dd_error_sentence(int code); /* "out of memory" */

#endif
