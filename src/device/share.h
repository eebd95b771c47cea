/*
 * Memory that an array shares with tensors of other libraries: the memory of an exported array, or of an imported
 * tensor.
 *
 * Invariants:
 *   SHARE-1  the memory, and the device that it came from, live until the array and the last tensor have ended
 *   SHARE-2  while a tensor exists through which someone may write at any time, and once after its end, each poll of
 *       the array moves its generation
 *   SHARE-3  an imported tensor is released when no work of stet that touches it is running, or in the order of its own
 *       stream
 */
#ifndef STI_DEVICE_SHARE_H
#define STI_DEVICE_SHARE_H

#include "device/device.h"

struct DLManagedTensorVersioned;

/* The counts may change in any thread: the holder of a tensor may end it anywhere. */
typedef struct sti_share {
    _Atomic int64_t refs;    /* one for the array, one per tensor */
    _Atomic int64_t writers; /* tensors through which someone may write at any time */
    _Atomic bool written;    /* such a tensor ended since the last poll */
    stet_device *device;
    bool streamed; /* an imported tensor that is ready in the order of … */
    void *stream;  /* … this stream */
    void *data;    /* freed on the device at the end, unless … */
    /* … the memory is an imported tensor's: then its deleter is called */
    struct DLManagedTensorVersioned *tensor;
} sti_share;

/* Creates it with one reference, the array's. */
stet_result sti_share_create(stet_device *device, void *data, struct DLManagedTensorVersioned *tensor, sti_share **out);
/* A tensor begins and ends. `writer`: someone may write through it at any time. */
void sti_share_begin(sti_share *share, bool writer);
void sti_share_end(sti_share *share, bool writer);
/* The array ends. */
void sti_share_detach(sti_share *share);

/* Does a tensor show the memory? Is there one through which someone may write at any time? */
bool sti_share_shown(sti_share *share);
bool sti_share_writer(sti_share *share);

/* Could someone have written since the last poll? *now: such a tensor still exists. */
bool sti_share_poll_external_writes(sti_share *share, bool *now);

#endif
