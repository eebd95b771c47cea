/*
 * Blocks of arguments: a launch site's own memory on the device, written only when the bytes differ (mechanism args).
 *
 * A site is whoever launches again and again: a launch of a recording, or a caller that keeps a sti_args. All launches of a recording
 * share one block, one after the other. Launches without a site pass their arguments by value.
 *
 * Invariants:
 *   ARGS-1  `shadow` holds what the block holds in its first `known` slots; it changes only after an upload that succeeded
 *   ARGS-2  bytes that no argument uses are zero, in the block and in the shadow, so equal arguments are equal bytes
 *   ARGS-3  a block that is new or grew starts empty: `known` is 0, and no bytes are equal to nothing
 *   ARGS-4  what an upload reads is memory of the site, which stays as it is until the upload after it
 *   ARGS-5  a block is not written while a launch that reads it is running: on the host because `running` sees to it, on the device because all
 *       its work is one order, whichever streams it goes to (sti_device_ops.use_stream), so that an upload waits for the launches before
 *       it. One block a site is enough for that reason; whoever lets a device's streams overlap needs a block for each
 */
#ifndef STI_KERNEL_LAUNCH_ARGS_H
#define STI_KERNEL_LAUNCH_ARGS_H

#include "kernel/launch/kernel.h"

struct sti_list;

/* The zeroed struct is a site without a block. */
typedef struct sti_args {
    sti_slot *block;         /* on the device */
    sti_slot *shadow, *next; /* on the host: what the block holds, and what is being uploaded */
    int capacity;            /* slots, of all three */
    int known;               /* slots of the block that the shadow knows; 0: nothing */
    bool running;            /* ARGS-5 */
} sti_args;

/*
 * Sees to it that the block holds the slots; *out is the block. Counts a hit (equal bytes), or a miss with its reason. `what` names
 * the site in messages. On a failure nothing is known of the block any more, and the next call uploads.
 */
stet_result sti_args_put(stet_device *device, sti_args *a, const char *what, const sti_slot *slots, int nslot,
                         const sti_slot **out);
/*
 * The same for all launches of a list, whose slots lie in the block as they lie in the list. Each launch counts for itself, once. What
 * differs goes up, in as few uploads as that takes; equal launches between two that differ may go along, and then save no bytes.
 */
stet_result sti_args_put_list(stet_device *device, sti_args *a, const struct sti_list *list);
/*
 * Launches through the block. By value from inside a launch through the same site, with a reason (ARGS-5), and while a caller's stream is
 * being captured: his graph would read whatever the block holds by then.
 */
stet_result sti_args_launch(stet_device *device, sti_args *a, const sti_kernel *k, const sti_slot *slots, int nslot,
                            int64_t nblock);
/* Somebody else wrote the block. */
void sti_args_mark_written(sti_args *a);
void sti_args_free(stet_device *device, sti_args *a);

/* As STI_LAUNCH, through the block of a site. */
#define STI_LAUNCH_AT(site, kernel, device, count, ...)                                                                \
    sti_launch_at((site), (device), &(kernel), (count), (const sti_arg[]){__VA_ARGS__},                                \
                  (int)(sizeof((const sti_arg[]){__VA_ARGS__}) / sizeof(sti_arg)))
stet_result sti_launch_at(sti_args *site, stet_device *device, const sti_kernel *kernel, int64_t count,
                          const sti_arg *args, int narg);

#endif
