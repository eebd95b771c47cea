/*
 * Fusion: what of a recording is done world by world (mechanism fusion). doc/design/fusion.md says why.
 *
 * A list is cut into groups. A group is one operation; or it is *fused*: launches of world kernels, and copies of arrays of worlds between
 * them, that follow each other over the same worlds. One world's share of all of them is done before, or beside, another world's.
 *
 * Invariants:
 *   FUSE-1  in a fused group no world touches memory that another world's share of the group writes: of arrays of worlds (and of plain ones that
 *       keep worlds apart, `by_world`) each world has its own part, the same for all that is in the group; other plain memory that one
 *       operation writes no other one touches
 *   FUSE-2  what is in a group follows from the list alone, so it stands as long as the recording; arguments do not matter, but how many worlds
 *       there are does, and an array of worlds in the list's key says it
 *   FUSE-3  a group whose code cannot be made is launched one by one, with a reason
 *   FUSE-4  on a GPU a run is fused only if at least half of its launches come after others of it: launches that wait for nobody run side by
 *       side there, and would come one after the other
 */
#ifndef STI_KERNEL_RECORD_FUSE_H
#define STI_KERNEL_RECORD_FUSE_H

#include "kernel/record/list.h"

/* Operations of the longest sequence that is made into code of its own. */
enum { STI_FUSE_UNIT = 64 };

/* Operations of the list that are issued together. */
typedef struct sti_group {
    int first, end; /* operations */
    int64_t nblock; /* FUSED: of each operation */
    bool fused;     /* done world by world */
    const sti_code
        *code; /* of a GPU: of `unit` operations that come again and again; NULL: the group is one operation */
    int unit;
    sti_slot *slot; /* … its arguments, as they were given last; room for code->nslot */
} sti_group;

typedef struct sti_groups {
    sti_group *group;
    int n;
    bool enabled; /* the mechanism was on when they were planned */
} sti_groups;

/*
 * Cuts the list into groups, for the device to run. With the mechanism off each operation is a group. Counts what was fused, and what could
 * not be; on a GPU compiles what the groups need. Nothing runs. On failure there are no groups.
 */
stet_result sti_groups_plan(stet_device *device, const sti_list *list, const char *what, sti_groups *out);
void sti_groups_free(sti_groups *groups);
/* The number of the group that has this operation; there are groups. */
int sti_group_of(const sti_groups *groups, int op);
/* The group that begins with this operation, or NULL. */
const sti_group *sti_group_at(const sti_groups *groups, int op);
/* Puts what a fused group of a GPU is launched with into its slots: arguments as they lie in the list, addresses of copies. */
void sti_group_fill(const sti_group *group, const sti_list *list);
/* Runs a fused group. */
stet_result sti_group_run(stet_device *device, const sti_group *group, const sti_list *list);

/* ---- inside: for fuse.c, fuse_runs.c and tests ---- */

/* Bytes that one block of worlds has of an array of worlds. */
static inline int64_t sti_block_bytes(const stet_array *a)
{
    return a->nblock > 0 ? (int64_t)(a->size / (size_t)a->nblock) : 0;
}
/* What a run of operations is. */
typedef struct sti_stretch {
    bool together; /* it is worth being done world by world */
    bool cut;      /* it ends because of FUSE-1, or because the next operation has other worlds */
} sti_stretch;

/* The end of the longest run that begins with operation `first` and that FUSE-1 lets fuse. */
int sti_fuse_run_end(stet_device *device, const sti_list *list, int first, sti_stretch *run);
/* May this operation be part of a run, and over how many blocks? */
bool sti_fuse_may(stet_device *device, const sti_list *list, int op, int64_t *nblock);
/* Of operations first … end - 1: how long the sequence is that comes again from `first` on, and how often, so that most are covered. */
void sti_fuse_period(const sti_list *list, int first, int end, int *unit, int *times);

#endif
