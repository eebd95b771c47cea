/*
 * Plain views: what tensors of other libraries show of an array of worlds whose memory lies in blocks of lanes. A plain
 * view is a copy in [world][item] order, in memory of its own, which is kept equal to the array in both directions.
 *
 * The holder of a tensor may read and write the view whenever no call of stet is running. So views are updated where
 * control passes: take_views before a call of stet copies what was written to the view into the array; show_views after
 * it copies what stet wrote into the view (mechanism plain_view).
 *
 * Invariants:
 *   PLAIN-1  an array has at most one view; the view's memory lives until the array and the last tensor have ended; a
 *       device's list holds only views of arrays that are alive
 *   PLAIN-2  `last` is what stet put into `rows` or last took from there: exactly where the two differ, a tensor was
 *       written
 *   PLAIN-3  an element written through a tensor is later than the array's; taking it moves the array's generation
 *   PLAIN-4  `shown` is the version of the array whose content `last` holds; it is invalid while the view is being
 *       filled
 */
#ifndef STI_DEVICE_PLAIN_VIEW_H
#define STI_DEVICE_PLAIN_VIEW_H

#include "device/device.h"

typedef struct sti_plain_view {
    _Atomic int64_t refs; /* one for the array, one per tensor */
    stet_array *array;
    struct sti_plain_view *next; /* next in the device's list */
    bool writable;               /* a writable tensor was exported */
    size_t size;                 /* bytes of `rows` */
    sti_stamp shown;
    char *rows, *last;
} sti_plain_view;

/* True if the array's memory order differs from the host's [world][item]. */
static inline bool sti_array_blocked(const stet_array *a) { return a->worlds && a->device->lanes > 1; }

/*
 * Returns the up-to-date view of a blocked array, made if there is none, with a reference for a tensor.
 * STET_ERROR_UNSUPPORTED: the array cannot have one.
 */
stet_result sti_plain_view_open(stet_array *array, bool writable, sti_plain_view **out);
/* A tensor ends; any thread may call it. */
void sti_plain_view_close(sti_plain_view *view);
STI_VALIDATE(plain_view, sti_plain_view)
/* The array ends. */
void sti_plain_view_detach(stet_array *array);

#endif
