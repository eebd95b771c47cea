/*
 * Greatest values over data: the parts of bounds that only elements of arrays tell. A reduction is a largest part of a bound that begins with OVER or
 * ELEMENT, has an ELEMENT in it, and no variable from outside.
 *
 * All reductions of a kernel are one item kernel of its own (reduce_text.c), which works out those that a launch names, 64 blocks of 256 at most; the host folds
 * what the blocks found. Whole numbers of 64 bits; where one would leave ±2^62, or an element is not there, the kernel says so, and the host's own
 * evaluation (bound.c) has the last word, and the sentence.
 *
 * Invariants:
 *   REDUCE-1  what was found is known by the id of the reduction and all that it was worked out from: numbers, identities, generations and sizes of arrays, and
 *       those that are absent; a failure, too
 *   REDUCE-2  it is kept once a device; who uses it looks at it and copies nothing
 *   REDUCE-3  a launch works out what is not known, all of it in one launch with one look at the result, and nothing else
 */
#ifndef STI_ADJOINT_SIZING_REDUCE_H
#define STI_ADJOINT_SIZING_REDUCE_H

#include "adjoint/sizing/bound.h"
#include "adjoint/launch/ids.h"
#include "base/version.h"
#include "kernel/compile/user.h"

enum { STI_REDUCTIONS = 60, STI_REDUCED = 256, STI_REDUCE_TEAM = 256, STI_REDUCE_BLOCKS = 64, STI_COUNT_INPUT = 63 };

/* Of a kernel, as its bounds name them. */
typedef struct sti_reduction {
    sti_bound *bound;
    uint64_t id;
    uint64_t inputs; /* bit i: parameter i; STI_COUNT_INPUT: the launch's count */
} sti_reduction;

/* What one gave. Owned by the device's list. */
typedef struct sti_reduced {
    uint64_t id, used;
    sti_stamp stamp; /* REDUCE-1 */
    int64_t value;
    stet_result result;
    char why[160]; /* of a failure */
} sti_reduced;

typedef struct sti_known {
    sti_reduced *reduced[STI_REDUCED];
    int n;
    uint64_t clock;
} sti_known;

/* What bounds of a kernel are worked out from. */
typedef struct sti_reducing {
    const stet_kernel_param *param;
    int nparam;
    sti_reduction reduction[STI_REDUCTIONS];
    int nreduction;
    stet_kernel *code; /* NULL: not needed yet */
    stet_array *out;   /* [reduction][block] */
    bool on_host;      /* an array in it is of a kind that the kernel cannot read */
    bool more;         /* there was no room for some: the host works them out */
} sti_reducing;

/* A launch, as it asks. */
typedef struct sti_question {
    stet_device *device;
    sti_reducing *reducing;
    sti_known *known;
    const stet_kernel *kernel; /* whose adjoint it is */
    const stet_arg *args;
    int64_t count;
    bool exported;  /* a tensor lives through which one of the arrays may have been written */
    bool overflown; /* a stack was too short, so its arrays were taken as written */
    const sti_reduced *found[STI_REDUCTIONS];
} sti_question;

/* The parameters that occur in a bound. */
uint64_t sti_reduce_inputs(const sti_reducing *r, const sti_bound *bound);
/* Adds the reductions of a bound, as long as there is room. */
void sti_reduce_collect(sti_reducing *r, sti_bound *bound);
/* Fills q->found (mechanism adstack). Arrays are up to date. */
stet_result sti_reduce(sti_question *q);
/* Value of a bound whose reductions were found. */
stet_result sti_reduce_evaluate(const sti_question *q, sti_bound *bound, int64_t *out);
void sti_reducing_free(sti_reducing *r);

/* reduce_known.c: the words that a value was worked out from (REDUCE-1). */
void sti_reduce_stamp(const sti_question *q, uint64_t inputs, sti_stamp *out);
/* Of the same numbers and arrays: with this stamp, or with another. NULL: there is none. */
sti_reduced *sti_known_find(const sti_question *q, const sti_reduction *r, const sti_stamp *now);
/* A new one; the one that was not asked for the longest goes for it. */
stet_result sti_known_add(sti_known *known, uint64_t id, sti_reduced **out);
void sti_known_free(sti_known *known);

/* reduce_text.c: the kernel that works them out. Its parameters: of each input in the order of the kernel's an array and its size, or a number; which, blocks, out. */
void sti_reduce_text(const sti_reducing *r, uint64_t inputs, sti_text_buffer *out);
/* reduce_host.c: the same on the host; its message is the one that counts. */
stet_result sti_reduce_on_host(const sti_question *q, sti_bound *bound, int64_t *out);

#endif
