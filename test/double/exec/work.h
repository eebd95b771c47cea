/*
 * A piece of work: a copy, a fill, a kernel, a freeing. Streams queue them, graphs hold them.
 *
 * Invariants:
 *   WORK-1  work is checked when it is asked for, and owns all that it needs but memory of the device and of the host
 *   WORK-2  memory is looked at when the work runs, not before: so a host's buffer that is used again too early shows
 */
#ifndef TEST_DOUBLE_WORK_H
#define TEST_DOUBLE_WORK_H

#include "double/driver/module.h"
#include "double/driver/state.h"

typedef enum dd_work_kind { DD_NOTHING, DD_TO_DEVICE, DD_TO_HOST, DD_COPY, DD_FILL, DD_KERNEL, DD_FREE } dd_work_kind;

typedef struct dd_launch {
    dd_function *function;
    unsigned grid[3], block[3], shared;
    unsigned char *bytes; /* of all parameters, one after the other */
} dd_launch;

typedef struct dd_work {
    dd_work_kind kind;
    dd_device *device;
    uint64_t to, from; /* of the device */
    void *host_to;
    const void *host_from;
    size_t size;
    unsigned char byte;
    bool early; /* a kernel that a driver may start while those before it end: it has to wait by itself */
    dd_launch launch;
} dd_work;

/* Fill *out (WORK-1). */
int dd_work_to_device(dd_device *device, uint64_t to, const void *from, size_t size, dd_work *out);
int dd_work_to_host(dd_device *device, void *to, uint64_t from, size_t size, dd_work *out);
int dd_work_copy(dd_device *device, uint64_t to, uint64_t from, size_t size, dd_work *out);
int dd_work_fill(dd_device *device, uint64_t to, unsigned char byte, size_t size, dd_work *out);
int dd_work_free_later(dd_device *device, uint64_t address, dd_work *out);
int dd_work_kernel(dd_device *device, dd_function *function, const unsigned grid[3], const unsigned block[3],
                   unsigned shared, void **arguments, dd_work *out);
int dd_work_same(const dd_work *from, dd_work *out); /* a copy of its own */
/* Runs it; what it finds wrong loses the device (STATE-3). */
void dd_work_run(const dd_work *work);
void dd_work_drop(dd_work *work);

#endif
