/*
 * Memory that an array shares with tensors of other libraries: that of an exported array, or of an imported tensor.
 *
 * Invariants:
 *   SHARE-1  the memory, and the device that it came from, live until the array and the last tensor are gone
 *   SHARE-2  while a tensor lives through which somebody may write unannounced, and once after its end, each look at the array
 *       moves its generation
 *   SHARE-3  an imported tensor is ended when nothing of stet's is under way that touches it, but in the order of its own stream
 */
#ifndef STI_DEVICE_SHARE_H
#define STI_DEVICE_SHARE_H

#include "device/device.h"

struct DLManagedTensorVersioned;

/* Counts may change in any thread: whoever holds a tensor ends it where he likes. */
typedef struct sti_share {
    _Atomic int64_t refs;    /* the array's, and one for each tensor */
    _Atomic int64_t writers; /* tensors through which somebody may write unannounced */
    _Atomic bool written;    /* one of those ended since the last look */
    stet_device *device;
    bool streamed;                           /* an imported tensor that came ready in … */
    void *stream;                            /* … this stream */
    void *data;                              /* given back to the device at the end, unless */
    struct DLManagedTensorVersioned *tensor; /* it is an imported tensor's, whose deleter is called then */
} sti_share;

/* With one reference, the array's. */
stet_result sti_share_create(stet_device *device, void *data, struct DLManagedTensorVersioned *tensor, sti_share **out);
/* A tensor begins and ends; `writer`: somebody may write through it unannounced. */
void sti_share_begin(sti_share *share, bool writer);
void sti_share_end(sti_share *share, bool writer);
/* The array ends. */
void sti_share_leave(sti_share *share);

/* Does a tensor show the memory to somebody? And does one live through which somebody may write unannounced? */
bool sti_share_shown(sti_share *share);
bool sti_share_writer(sti_share *share);

/* Could somebody have written since the last look? *now: such a tensor lives. */
bool sti_share_poll_external_writes(sti_share *share, bool *now);

#endif
