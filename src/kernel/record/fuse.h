/*
 * Fusion: which operations of a recording run together, world by world (mechanism fusion). doc/design/fusion.md gives
 * the reasons.
 *
 * A list is cut into groups. A plain group is one operation. A *fused* group is a run of consecutive operations over
 * the same worlds: launches of world kernels and copies between arrays of worlds. A fused group runs all of its
 * operations for one world before, or beside, the same operations for another world.
 *
 * Invariants:
 *   FUSE-1  in a fused group no world touches memory that another world's part of the group writes. In an array of
 *       worlds (and in a plain array that is marked `by_world`) each world has its own part, the same for all
 *       operations of the group. Other plain memory that one operation writes is touched by no other operation of the
 *       group
 *   FUSE-2  the groups depend on the list's key alone, so they stay valid as long as the recording. Scalar arguments do
 *       not matter. The number of worlds does, and an array of worlds in the key determines it
 *   FUSE-3  a group whose code cannot be compiled is launched operation by operation, and a reason is counted
 *   FUSE-4  on a GPU a run is fused only if at least half of its launches depend on earlier launches of the run:
 *       independent launches run concurrently there, and fusion would put them one after the other
 */
#ifndef STI_KERNEL_RECORD_FUSE_H
#define STI_KERNEL_RECORD_FUSE_H

#include "kernel/record/list.h"

/* The most operations of a sequence that is compiled into code of its own. */
enum { STI_FUSE_UNIT = 64 };

/* Operations of a list that are issued together. */
typedef struct sti_group {
    int first, end; /* operations first … end - 1 of the list */
    int64_t nblock; /* of a fused group: blocks of worlds of each operation */
    bool fused;     /* runs world by world */
    /* The code of `unit` operations, which a fused group on a GPU repeats. Otherwise NULL. */
    const sti_code *code;
    int unit;
    sti_slot *slot; /* the arguments that the code was last launched with; room for code->nslot */
} sti_group;

typedef struct sti_groups {
    sti_group *group;
    int n;
    bool enabled; /* the mechanism was on when the groups were planned */
} sti_groups;

/*
 * Cuts the list into groups for this device. With the mechanism off each operation is a group. Counts what was fused
 * and what could not be. On a GPU it compiles the code of the groups. Nothing runs. On failure there are no groups.
 */
stet_result sti_groups_plan(stet_device *device, const sti_list *list, const char *what, sti_groups *out);
/* Each operation is a group. */
stet_result sti_groups_apart(const sti_list *list, sti_groups *out);
void sti_groups_free(sti_groups *groups);
/* The index of the group that contains this operation. There must be groups. */
int sti_group_of(const sti_groups *groups, int op);
/* The group that begins with this operation, or NULL. */
const sti_group *sti_group_at(const sti_groups *groups, int op);
/* Fills the slots that a fused group is launched with on a GPU: the list's arguments, and the addresses of copies. */
void sti_group_fill(const sti_group *group, const sti_list *list);
/* Runs a fused group. */
stet_result sti_group_run(stet_device *device, const sti_group *group, const sti_list *list);

/* ---- inside: for fuse.c, fuse_runs.c and tests ---- */

/* The bytes of one block of worlds of an array of worlds. */
static inline int64_t sti_block_bytes(const stet_array *a)
{
    return a->nblock > 0 ? (int64_t)(a->size / (size_t)a->nblock) : 0;
}
/* Describes a run of operations. */
typedef struct sti_stretch {
    bool together; /* it is worth fusing */
    bool cut;      /* it ends because of FUSE-1, or because the next operation has another number of worlds */
} sti_stretch;

/* Returns the end of the longest run that begins with operation `first` and that FUSE-1 allows to fuse. */
int sti_fuse_run_end(stet_device *device, const sti_list *list, int first, sti_stretch *run);
/* True if this operation may be part of a run; *nblock is its number of blocks then. */
bool sti_fuse_is_possible(stet_device *device, const sti_list *list, int op, int64_t *nblock);
/*
 * Looks for a repeating sequence in operations first … end - 1. *unit is the length of the sequence that begins at
 * `first` and whose repetitions cover most operations; *times is how often it occurs.
 */
void sti_fuse_period(const sti_list *list, int first, int end, int *unit, int *times);

#endif
