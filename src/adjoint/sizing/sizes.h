/*
 * The sizes of one launch's stacks: width, depth and entries, from the bounds of its adjoint. They are computed once
 * and reused until their inputs change.
 *
 * Invariants:
 *   SIZES-1  a launch with the same inputs as one of the last four finds its sizes by comparing these inputs, each
 *       once, and allocates nothing
 *   SIZES-2  arrays with a producer are brought up to date first, so that a producer may launch adjoints itself
 */
#ifndef STI_ADJOINT_SIZING_SIZES_H
#define STI_ADJOINT_SIZING_SIZES_H

#include "adjoint/sizing/reduce.h"

enum { STI_WIDTH, STI_DEPTH, STI_ENTRIES, STI_SIZES };
enum { STI_SIZED = 4 };

typedef struct sti_sizes_entry {
    sti_stamp stamp;
    int64_t size[STI_SIZES];
    uint64_t used;
} sti_sizes_entry;

typedef struct sti_sizing {
    sti_bound *bound[STI_SIZES]; /* NULL: the size is 1 */
    uint64_t inputs;             /* of all three bounds; bits as in sti_reduction */
    sti_reducing reducing;
    sti_sizes_entry kept[STI_SIZED];
    uint64_t clock;
    sti_stamp now;  /* of the current launch, unless that is nested in another one */
    bool nested;    /* a launch is being sized, so the next one is nested in it */
    bool overflown; /* a stack was too short since the sizes were computed last */
} sti_sizing;

/* The bounds of width, depth and entries; NULL: that size is 1. */
void sti_sizing_open(sti_sizing *sizing, sti_bound *const bound[STI_SIZES], const stet_kernel_param *param, int nparam);
/* Finds the sizes of a launch with these arguments (mechanism adstack_handle). Messages name the kernel. */
stet_result sti_sizing_find(sti_sizing *sizing, const stet_kernel *kernel, sti_known *known, int64_t count,
                            const stet_arg *args, int64_t size[STI_SIZES]);
/*
 * Must be called when a stack was too short: an array that its size depends on was written without being marked. Marks
 * the arrays as written.
 */
void sti_sizing_overflown(sti_sizing *sizing, const stet_arg *args);
void sti_sizing_free(sti_sizing *sizing);

#endif
