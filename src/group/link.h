/*
 * What a group has with a device: how arrays cross between the ranks' devices.
 *
 * Invariants:
 *   LINK-1  all ranks use NCCL, or none does; the same of a transport that takes memory of GPUs
 *   LINK-2  arrays have the same bits after a call in all ways
 *   LINK-3  arrays of GPUs are in C order, because their lanes are one; others cross as the host sees them
 *   LINK-4  what has begun in the second stream is joined before arrays of the link are used in another stream, or
 *       replaced
 */
#ifndef STI_GROUP_LINK_H
#define STI_GROUP_LINK_H

#include "device/device.h"
#include "group/group.h"
#include "group/nccl.h"

typedef struct sti_link {
    stet_device *device; /* retained */
    bool direct;         /* by NCCL */
    bool aware;          /* by the transport, which takes memory of GPUs */
    sti_nccl nccl;
    void *second; /* the stream of what has begun and goes on beside other work; NULL: not made yet */
    bool flying;  /* some of it is not joined */
    char text[STI_GROUP_TEXT + 200];
    stet_array *arrived; /* a piece of an array that is streamed to rank 0; NULL: not made yet */
    /* Of stet_group_reduce (reduce.c); NULL: not made yet. */
    stet_array *merges, *nodes, *parts;
    int *first_node; /* [nrank + 1]: the nodes of each rank, in the order of all */
} sti_link;

/* Is the group linked with the array's device, and may the call be made now? NULL is refused. */
stet_result sti_link_check(const stet_group *group, const stet_array *array, const char *call);
/* Makes an array's memory on the device what its readers see; call it for those that are written, too. */
stet_result sti_link_prepare(stet_array *array);
/*
 * Around the work of a call: in the second stream (beside), or in the stream in use, behind what has begun. *used: for
 * the end, which follows each begin that succeeded.
 */
stet_result sti_link_begin(sti_link *link, bool beside, void **used);
void sti_link_end(sti_link *link, bool beside, void *used);
/* Later work comes after all that has begun. */
stet_result sti_link_join(sti_link *link);
/*
 * Exchanges messages; each rank lists its own, and those between two ranks are in one order on both. By the transport:
 * in an order of all messages, so that no two ranks wait for each other. A failure ends the group.
 */
stet_result sti_link_exchange(stet_group *group, const sti_message *messages, int n);

#endif
