/*
 * For tests of graphs with somebody else's work in them: such a work, which issues a copy and a kernel through the
 * driver.
 */
#ifndef TEST_DEVICE_GPU_FOREIGN_H
#define TEST_DEVICE_GPU_FOREIGN_H

#include "device/gpu/gpu_graph.h"

typedef struct foreign {
    rig *r;
    int times; /* that it was issued */
    enum { GOOD, FAILING, WAITING } kind;
} foreign;

/* Array 2 = 2 · array 1 + 7, as another library would do it. */
static inline stet_result issue_foreign(void *context, void *stream)
{
    foreign *f = context;
    sti_slot s[3] = {{.p = f->r->array[2]}, {.p = f->r->array[1]}, {.i = 7}};
    long long n = ITEMS;
    void *arguments[] = {s, &n};
    f->times++;
    if (f->kind == FAILING) return STET_ERROR_LIMIT;
    if (o.api.copy_async(f->r->array[2], f->r->array[1], ITEMS * sizeof(int), stream) != 0) return STET_ERROR_DEVICE;
    if (f->kind == WAITING && o.api.stream_synchronize(stream) != 900) return STET_ERROR_INVALID_ARGUMENT;
    return o.api.launch(f->r->foreign, ITEMS, 1, 1, 1, 1, 1, 0, stream, arguments, NULL) ? STET_ERROR_DEVICE : STET_OK;
}

static inline void on_the_host(rig *r)
{
    for (int i = 0; i < ITEMS; ++i) r->host[2][i] = 2 * r->host[1][i] + 7;
}

#endif
