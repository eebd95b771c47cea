/*
 * Reductions: the parts of bounds that depend on elements of arrays. A reduction is a maximal part of a bound that
 * begins with OVER or ELEMENT, contains an ELEMENT, and uses no variable from outside.
 *
 * All reductions of a kernel are in one generated item kernel (reduce_text.c). It computes those that a launch names,
 * in at most 64 blocks of 256, and the host combines the blocks' results. Numbers have 64 bits. Where a value would
 * leave ±2^62, or an element does not exist, the kernel reports that, and the host evaluates the bound itself (bound.c)
 * and makes the message.
 *
 * Invariants:
 *   REDUCE-1  a result is stored under the id of the reduction and a stamp of its inputs: numbers, identities,
 *       generations and sizes of arrays, and absent arrays. A failure is stored, too
 *   REDUCE-2  a result is stored once a device: no two have one id and one stamp. Users point to it and copy nothing
 *   REDUCE-3  a launch computes exactly the results that are not known, all in one launch with one read of the results
 *   REDUCE-4  a kernel's reductions have different ids: loops with equal bounds share one
 */
#ifndef STI_ADJOINT_SIZING_REDUCE_H
#define STI_ADJOINT_SIZING_REDUCE_H

#include "adjoint/sizing/bound.h"
#include "base/version.h"
#include "kernel/user/user.h"

enum { STI_REDUCTIONS = 60, STI_REDUCED = 256, STI_REDUCE_TEAM = 256, STI_REDUCE_BLOCKS = 64, STI_COUNT_INPUT = 63 };

/* A reduction of a kernel, as its bounds name it. */
typedef struct sti_reduction {
    sti_bound *bound;
    uint64_t id;
    uint64_t inputs; /* bit i: parameter i; bit STI_COUNT_INPUT: the launch's count */
} sti_reduction;

/* The result of a reduction. The device's list owns it. */
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

/* The reductions of a kernel's bounds. */
typedef struct sti_reducing {
    const stet_kernel_param *param;
    int nparam;
    sti_reduction reduction[STI_REDUCTIONS];
    int nreduction;
    stet_kernel *code; /* NULL: not needed so far */
    stet_array *out;   /* [reduction][block] */
    bool on_host;      /* one of its arrays has a type that the kernel cannot read */
    bool more;         /* there was no room for some of them: the host evaluates those */
} sti_reducing;

/* A launch that needs the values of its reductions. */
typedef struct sti_reduce_query {
    stet_device *device;
    sti_reducing *reducing;
    sti_known *known;
    const stet_kernel *kernel; /* whose adjoint is launched */
    const stet_arg *args;
    int64_t count;
    bool exported;  /* an exported tensor may have written one of the arrays */
    bool overflown; /* a stack was too short, so the arrays count as written */
    const sti_reduced *found[STI_REDUCTIONS];
} sti_reduce_query;

/* Returns the parameters that occur in a bound. */
uint64_t sti_reduce_inputs(const sti_reducing *r, const sti_bound *bound);
/* Adds the reductions of the bound at a place while there is room, and lets equal ones be one node. */
void sti_reduce_collect(sti_reducing *r, sti_bound **place);
/* Fills q->found (mechanism adstack). The arrays must be up to date. */
stet_result sti_reduce(sti_reduce_query *q);
/* Evaluates a bound whose reductions were found. */
stet_result sti_reduce_evaluate(const sti_reduce_query *q, sti_bound *bound, int64_t *out);
void sti_reducing_free(sti_reducing *r);

/* Makes the stamp of a value's inputs (REDUCE-1). */
void sti_reduce_stamp(const sti_reduce_query *q, uint64_t inputs, sti_stamp *out);
void sti_known_free(sti_known *known);
/* Debug builds: REDUCE-2 (no two results have one id and one stamp), and the order of use. */
void sti_validate_known(const sti_known *known);

/*
 * reduce_text.c: writes the kernel that computes the reductions. Its parameters: for each input, in the order of the
 * kernel's parameters, an array and its size, or a number; then which, blocks, out.
 */
void sti_reduce_text(const sti_reducing *r, uint64_t inputs, sti_text_buffer *out);
/* reduce_host.c: evaluates on the host. Its error messages are the ones that users see. */
stet_result sti_reduce_on_host(const sti_reduce_query *q, sti_bound *bound, int64_t *out);

#endif
