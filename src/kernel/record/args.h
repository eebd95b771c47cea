/*
 * Blocks of arguments: a launch site's own memory on the device, written only when the bytes differ (mechanism args).
 *
 * The launches of a recording share one block, one after the other; the recording is their site. Launches that are not
 * part of a recording pass their arguments by value.
 *
 * Invariants:
 *   ARGS-1  `shadow` holds what the block holds, if it is `known`; it changes only after an upload that succeeded
 *   ARGS-2  bytes that no argument uses are zero, in the block and in the shadow, so equal arguments are equal bytes
 *   ARGS-3  a block that is new starts empty: it is not `known`, and no bytes are equal to nothing. It never grows: the
 *       lists that a recording is played for have the same launches, hence as many slots
 *   ARGS-4  what an upload reads is memory of the site, which stays as it is until the upload after it
 *   ARGS-5  a block is not written while a launch that reads it is running: on the host because a list that is being
 *       played plays no other (record.h), on the device because all its work is one order, whichever streams it goes to
 *       (sti_device_ops.use_stream), so that an upload waits for the launches before it. One block a site is enough for
 *       that reason; whoever lets a device's streams overlap needs a block for each
 */
#ifndef STI_KERNEL_RECORD_ARGS_H
#define STI_KERNEL_RECORD_ARGS_H

#include "kernel/record/list.h"

/* The zeroed struct is a site without a block. */
typedef struct sti_args {
    sti_slot *block;         /* on the device */
    sti_slot *shadow, *next; /* on the host: what the block holds, and what is being uploaded */
    int capacity;            /* slots, of all three */
    bool known;              /* the shadow is what the block holds */
} sti_args;

/*
 * Sees to it that the block holds the arguments of all launches of a list, whose slots lie in the block as they lie in
 * the list. Each launch counts for itself, once: a hit (equal bytes), or a miss with its reason. What differs goes up,
 * in as few uploads as that takes; equal launches between two that differ may go along, and then save no bytes. On a
 * failure nothing is known of the block any more, and the next call uploads.
 */
stet_result sti_args_upload(stet_device *device, sti_args *a, const sti_list *list);
void sti_args_free(stet_device *device, sti_args *a);
STI_VALIDATE(args, sti_args)

#endif
