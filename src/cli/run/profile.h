/*
 * The profile of a run: times by kernel, by recording, and of copies by direction. If the device has times of its own,
 * rows are ranked and summed by them, and the host's times are shown beside. Launches in a device graph have no time;
 * their recording has.
 */
#ifndef STI_CLI_RUN_PROFILE_H
#define STI_CLI_RUN_PROFILE_H

#include "stet/stet.h"

#include <jansson.h>

enum { PROFILE_WAYS = 4 };

typedef struct profile {
    stet_profile_row *kernel;    /* [nkernel], longest total first; strings are borrowed from the device */
    stet_profile_row *recording; /* [nrecording], the same */
    int nkernel, nrecording;
    bool device; /* the device has times of its own */
    stet_profile_row
        /* uploads, uploads in the upload stream, downloads, copies on the device: all arrays together */
        way[PROFILE_WAYS];
    int64_t kernel_time; /* nanoseconds in all kernels */
    stet_trace_stats stats;
} profile;

/* Reads the totals of a device's trace; false: out of memory. Always call profile_free. */
bool profile_take(profile *p, const stet_device *device);
void profile_free(profile *p);
json_t *profile_json(const profile *p);
void profile_print(const profile *p);

#endif
