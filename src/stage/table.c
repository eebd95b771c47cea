/* Tables; see table.h. */
#include "stage/table.h"

#include <string.h>

/* Destroys a new array that could not be filled. */
static stet_result keep_table(stet_result result, stet_array *made, stet_array **out)
{
    if (result == STET_OK)
        *out = made;
    else
        stet_array_destroy(made);
    return result;
}

stet_result sti_table_ints(stet_device *device, const char *name, const int *values, int64_t n, stet_array **out)
{
    stet_array *made;
    *out = NULL;
    STI_TRY(STI_ARRAY(device, name, STET_DTYPE_INT, false, &made, n > 0 ? n : 1));
    return keep_table(n > 0 ? stet_array_write(made, values, stet_array_get_bytes(made)) : STET_OK, made, out);
}

/* The device's reals may be narrower than the host's double. */
static stet_result write_reals(stet_array *to, const double *values, int64_t n)
{
    if (to->device->real_size == sizeof(double)) return stet_array_write(to, values, stet_array_get_bytes(to));
    float *narrow;
    STI_TRY(sti_alloc(&narrow, (size_t)n * sizeof *narrow, to->name));
    for (int64_t i = 0; i < n; i++) narrow[i] = (float)values[i];
    stet_result result = stet_array_write(to, narrow, stet_array_get_bytes(to));
    sti_free(narrow);
    return result;
}

stet_result sti_table_reals(stet_device *device, const char *name, const double *values, int64_t n, stet_array **out)
{
    stet_array *made;
    *out = NULL;
    STI_TRY(STI_ARRAY(device, name, STET_DTYPE_REAL, false, &made, n > 0 ? n : 1));
    return keep_table(n > 0 ? write_reals(made, values, n) : STET_OK, made, out);
}
