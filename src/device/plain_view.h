/*
 * Plain views: what tensors of others show of an array of worlds whose own memory lies in blocks of lanes. A plain view is a copy [world][item] in
 * memory of its own that is kept in step with the array, both ways.
 *
 * Others read and write the view whenever stet is not at work. So it is brought in step where control passes between them: take_views before a call
 * of stet's (what others wrote goes into the array), show_views after it (what stet wrote goes into the view, mechanism plain_view).
 *
 * Invariants:
 *   PLAIN-1  an array has one view, or none; the memory lives until the array and the last tensor are gone, the list of a device has only arrays' own
 *   PLAIN-2  `last` is what stet put into `rows` or took from there last: where the two differ, and only there, others wrote
 *   PLAIN-3  what others wrote is later than what the array has, element by element; taking it moves the array's generation
 *   PLAIN-4  `shown` is the version of the array whose content `last` holds; it is invalid while the view is filled
 */
#ifndef STI_DEVICE_PLAIN_VIEW_H
#define STI_DEVICE_PLAIN_VIEW_H

#include "device/device.h"

typedef struct sti_plain_view {
    _Atomic int64_t refs; /* the array's, and one for each tensor */
    stet_array *array;
    struct sti_plain_view *next; /* of the device's list */
    bool writable;               /* a tensor was given out for writing */
    size_t size;                 /* bytes of the rows */
    sti_stamp shown;
    char *rows, *last;
} sti_plain_view;

/* Does its memory lie otherwise than the host sees it? */
static inline bool sti_array_blocked(const stet_array *a) { return a->worlds && a->device->lanes > 1; }

/* The view of a blocked array, made if there is none, and current; the caller has a reference for a tensor. STET_UNSUPPORTED: it cannot have one. */
stet_result sti_plain_view_open(stet_array *array, bool writable, sti_plain_view **out);
/* A tensor ends; from any thread. */
void sti_plain_view_close(sti_plain_view *view);
/* The array ends. */
void sti_plain_view_leave(stet_array *array);

#endif
