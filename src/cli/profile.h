/*
 * Where the time went: kernel by kernel, recording by recording, and copies by their direction. Where a device has times of its own they are
 * what is ranked and summed, and the host's stand beside them. Launches inside a device's graph have none: their recording has.
 */
#ifndef STI_CLI_PROFILE_H
#define STI_CLI_PROFILE_H

#include "stet/stet.h"

#include <jansson.h>

enum { PROFILE_WAYS = 4 };

typedef struct profile {
    stet_profile_row *kernel;    /* [nkernel], the longest total first; texts are borrowed from the device */
    stet_profile_row *recording; /* [nrecording], likewise */
    int nkernel, nrecording;
    bool device; /* it has times of its own */
    stet_profile_row
        way[PROFILE_WAYS]; /* uploads, those beside what runs, downloads, copies on the device: all arrays together */
    int64_t kernel_time;   /* nanoseconds in all kernels */
    stet_trace_stats stats;
} profile;

/* Takes the totals of a device's trace; false: there is no memory for them. profile_free is due in each case. */
bool profile_take(profile *p, const stet_device *device);
void profile_free(profile *p);
json_t *profile_json(const profile *p);
void profile_print(const profile *p);

#endif
