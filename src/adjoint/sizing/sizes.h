/*
 * Sizes of the stacks of one launch: width, depth and entries, from the bounds of its adjoint.
 *
 * Invariants:
 *   SIZES-1  a launch whose inputs are those of one of the last four finds its sizes by comparing these inputs, each once, and allocates nothing
 *   SIZES-2  content that somebody else makes (a producer) is brought up to date before anything is asked, so a producer may launch adjoints itself
 *   SIZES-3  a launch whose inputs are those of the launch before it lists no stamp: it is compared word by word with the one that is kept
 */
#ifndef STI_ADJOINT_SIZING_SIZES_H
#define STI_ADJOINT_SIZING_SIZES_H

#include "adjoint/sizing/reduce.h"

enum { STI_WIDTH, STI_DEPTH, STI_ENTRIES, STI_SIZES };
enum { STI_SIZED = 4 };

typedef struct sti_sized {
    sti_stamp stamp;
    int64_t size[STI_SIZES];
    uint64_t used;
} sti_sized;

typedef struct sti_sizing {
    sti_bound *bound[STI_SIZES]; /* NULL: 1 */
    uint64_t inputs;             /* of all three; bits as in sti_reduction */
    sti_reducing reducing;
    sti_sized kept[STI_SIZED];
    sti_sized *latest; /* of kept: of the launch before this one; NULL: there was none */
    uint64_t clock;
    sti_stamp now; /* of the launch that asks, unless it is `asked` from inside another */
    bool asked;
    bool overflown; /* since the last time that they were worked out */
} sti_sizing;

struct sti_adjoint_kernel;
void sti_sizing_open(sti_sizing *sizing, const struct sti_adjoint_kernel *k, const stet_kernel_param *param,
                     int nparam);
/* The sizes of a launch with these arguments (mechanism adstack_handle). Messages name the kernel. */
stet_result sti_sizing_find(sti_sizing *sizing, const stet_kernel *kernel, sti_known *known, int64_t count,
                            const stet_arg *args, int64_t size[STI_SIZES]);
/* A stack was too short: an array that its size comes from was written unannounced. Now it is announced. */
void sti_sizing_overflown(sti_sizing *sizing, const stet_arg *args);
void sti_sizing_free(sti_sizing *sizing);

#endif
