/* See whole.h. */
#include "cli/files/whole.h"

#include "base/error.h"
#include "cli/report_error.h"
#include "group/group.h"

#include <stdlib.h>

bool whole_writes(const stet_group *group) { return !group || stet_group_get_rank(group) == 0; }

int64_t whole_nworld(const stet_group *group, int64_t own) { return group ? stet_group_get_nworld(group) : own; }

static size_t bytes_per_world(const stet_array *a)
{
    return stet_array_get_bytes(a) / (size_t)stet_array_get_shape(a)[0];
}

typedef struct appending {
    npy_writer *w;
    const char *wrong;
} appending;

static stet_result append(void *context, const void *data, size_t size)
{
    appending *a = context;
    a->wrong = npy_append(a->w, data, size);
    return a->wrong ? sti_error(STET_ERROR_IO, "%s", a->wrong) : STET_OK;
}

const char *whole_append(stet_group *group, stet_array *array, npy_writer *w)
{
    const void *own;
    appending a = {w, NULL};
    if (stet_array_get_host(array, &own) != STET_OK) return stet_get_last_error();
    if (!group) return npy_append(w, own, stet_array_get_bytes(array));
    if (sti_group_stream(group, own, bytes_per_world(array), append, &a) == STET_OK) return NULL;
    return a.wrong ? a.wrong : stet_get_last_error();
}

const char *whole_read(stet_group *group, stet_array *array, const void **data, void **buffer)
{
    const void *own;
    *data = *buffer = NULL;
    if (stet_array_get_host(array, &own) != STET_OK) return stet_get_last_error();
    if (!group) return *data = own, NULL;
    if (whole_writes(group)) {
        *buffer = malloc((size_t)stet_group_get_nworld(group) * bytes_per_world(array));
        if (!*buffer) return "out of memory for an array of all worlds; ask for fewer worlds";
    }
    *data = *buffer;
    return stet_group_gather(group, own, bytes_per_world(array), *buffer) == STET_OK ? NULL : stet_get_last_error();
}
