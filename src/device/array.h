/*
 * Arrays, inside the layer: what content.c and rows.c do for others.
 */
#ifndef STI_DEVICE_ARRAY_H
#define STI_DEVICE_ARRAY_H

#include "device/device.h"

/* Has the array's producer bring the content up to date, if it has one; whatever is being listed, what the producer launches runs at once. */
stet_result sti_array_follow(stet_array *array);

/*
 * `size` bytes of the rows first … first + n - 1 (worlds, or the first dimension) between the content and the host's memory. host mirror: where the content
 * can be reached on the host (sti_mirror_reach), NULL: nowhere. Neither checks anything, asks a producer or moves a generation.
 */
stet_result sti_rows_read(const stet_array *array, char *mirror, int64_t first, int64_t n, void *out, size_t size);
stet_result sti_rows_write(stet_array *array, char *mirror, int64_t first, int64_t n, const void *data, size_t size);

#endif
