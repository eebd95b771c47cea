/*
 * Tables: plain arrays that the stage fills on the host and its kernels read.
 */
#ifndef STI_STAGE_TABLE_H
#define STI_STAGE_TABLE_H

#include "device/device.h"

/*
 * Creates an array of n numbers with these values (at least one element, so that it has an address). The caller owns
 * *out.
 */
stet_result sti_table_ints(stet_device *device, const char *name, const int *values, int64_t n, stet_array **out);
stet_result sti_table_reals(stet_device *device, const char *name, const double *values, int64_t n, stet_array **out);

#endif
