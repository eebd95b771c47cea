/*
 * Arrays inside the layer: what content.c and rows.c provide to the other files.
 */
#ifndef STI_DEVICE_ARRAY_H
#define STI_DEVICE_ARRAY_H

#include "device/device.h"

/*
 * Calls the array's producer, if there is one. What the producer launches runs at once, even while launches are listed.
 */
stet_result sti_array_call_producer(stet_array *array);

/*
 * Copy `size` bytes between the rows first … first + n - 1 (worlds, or the first dimension) and host memory. mirror:
 * where the host can access the content (sti_mirror_address); NULL: nowhere. Both check nothing, call no producer and
 * move no generation.
 */
stet_result sti_rows_read(const stet_array *array, char *mirror, int64_t first, int64_t n, void *out, size_t size);
stet_result sti_rows_write(stet_array *array, char *mirror, int64_t first, int64_t n, const void *data, size_t size);

#endif
