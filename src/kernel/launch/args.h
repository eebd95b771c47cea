/*
 * Blocks of arguments: memory on the device that holds a launch site's arguments and is uploaded only when the bytes
 * differ (mechanism args).
 *
 * A site is a recording, or a caller that keeps a sti_args. All launches of a recording share one block, one after the
 * other. Launches without a site pass their arguments by value.
 *
 * Invariants:
 *   ARGS-1  `shadow` is equal to the first `known` slots of the block. It changes only after a successful upload
 *   ARGS-2  bytes that no argument uses are zero, in the block and in the shadow, so equal arguments are equal bytes
 *   ARGS-3  after a block was allocated or grew `known` is 0, so that the next call uploads all of it
 *   ARGS-4  an upload reads memory of the site, which does not change until the next upload
 *   ARGS-5  a block is not written while a launch that reads it is running. On the host `running` prevents it. On the
 *       device all work is in one order, whichever stream it goes to (sti_device_ops.use_stream), so an upload waits
 *       for the launches before it. If streams of a device were to overlap, each would need a block of its own
 */
#ifndef STI_KERNEL_LAUNCH_ARGS_H
#define STI_KERNEL_LAUNCH_ARGS_H

#include "kernel/launch/kernel.h"

struct sti_list;

/* The zeroed struct is a site without a block. */
typedef struct sti_args {
    sti_slot *block;         /* on the device */
    sti_slot *shadow, *next; /* on the host: the block's content, and the slots that are being uploaded */
    int capacity;            /* slots of each of the three */
    int known;               /* slots of the block that equal the shadow; 0: the block's content is unknown */
    bool running;            /* ARGS-5 */
} sti_args;

/*
 * Uploads the slots to the block if they differ; *out is the block. Counts a hit (equal bytes) or a miss with its
 * reason. `what` names the site in messages. After a failure the block's content is unknown, and the next call uploads.
 */
stet_result sti_args_put(stet_device *device, sti_args *a, const char *what, const sti_slot *slots, int nslot,
                         const sti_slot **out);
/*
 * Does the same for all launches of a list. Slots have the same places in the block and in the list. Each launch counts
 * once. Changed arguments are uploaded in few uploads: equal arguments between two changed ones may be uploaded with
 * them, and then count as no saved bytes.
 */
stet_result sti_args_put_list(stet_device *device, sti_args *a, const struct sti_list *list);
/*
 * Launches through the block. Passes arguments by value in two cases: from inside a launch through the same site
 * (ARGS-5, counted as a fallback), and while the caller's stream is being captured, because the caller's graph would
 * read what the block holds at its replay.
 */
stet_result sti_args_launch(stet_device *device, sti_args *a, const sti_kernel *k, const sti_slot *slots, int nslot,
                            int64_t nblock);
/* Must be called when something other than this module wrote the block. */
void sti_args_mark_written(sti_args *a);
void sti_args_free(stet_device *device, sti_args *a);

/* Like STI_LAUNCH, through the block of a site. */
#define STI_LAUNCH_AT(site, kernel, device, count, ...)                                                                \
    sti_launch_at((site), (device), &(kernel), (count), (const sti_arg[]){__VA_ARGS__},                                \
                  (int)(sizeof((const sti_arg[]){__VA_ARGS__}) / sizeof(sti_arg)))
stet_result sti_launch_at(sti_args *site, stet_device *device, const sti_kernel *kernel, int64_t count,
                          const sti_arg *args, int narg);

#endif
