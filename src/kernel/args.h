/*
 * Blocks of arguments: a launch site's own memory on the device, written only when the bytes differ (mechanism args).
 *
 * A site is whoever launches again and again: an operation of a recording, or a caller that keeps a sti_args. Launches
 * without a site pass their arguments by value.
 *
 * Invariants:
 *   A1  `shadow` holds what the block holds in its first `known` slots; it changes only after an upload that succeeded
 *   A2  bytes that no argument uses are zero, in the block and in the shadow, so equal arguments are equal bytes
 *   A3  a block that is new or grew starts empty: `known` is 0, and no bytes are equal to nothing
 *   A4  what an upload reads is memory of the site, which stays as it is until the upload after it
 *   A5  a block is not written while a launch that reads it is running
 */
#ifndef STI_KERNEL_ARGS_H
#define STI_KERNEL_ARGS_H

#include "kernel/kernel.h"

/* The zeroed struct is a site without a block. */
typedef struct sti_args {
    sti_slot *block;         /* on the device */
    sti_slot *shadow, *next; /* on the host: what the block holds, and what is being uploaded */
    int capacity;            /* slots, of all three */
    int known;               /* slots of the block that the shadow knows; 0: nothing */
    bool running;            /* A5 */
} sti_args;

/*
 * Sees to it that the block holds the slots; *out is the block. Counts a hit (equal bytes), or a miss with its reason. `what` names
 * the site in messages. On a failure nothing is known of the block any more, and the next call uploads.
 */
stet_result sti_args_put(stet_device *device, sti_args *a, const char *what, const sti_slot *slots, int nslot,
                         const sti_slot **out);
/* Launches through the block. From inside a launch through the same site, by value, with a reason (A5). */
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
