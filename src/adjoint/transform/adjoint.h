/*
 * Reverse mode by source transformation: from a checked unit to a text that has its functions and their adjoints.
 *
 * A kernel k_x becomes k_x_adj. Each parameter keeps its place; behind each real one comes its gradient, an array of worlds: for an array of
 * the same number of items, for a number (`ureal`) of one item. See doc/design/adjoint.md for what they hold before and after.
 */
#ifndef STI_ADJOINT_TRANSFORM_ADJOINT_H
#define STI_ADJOINT_TRANSFORM_ADJOINT_H

#include "adjoint/sizing/bound.h"
#include "adjoint/launch/gather.h"
#include "kernel/compile/text_buffer.h"
#include "kernel/check/check.h"

typedef struct sti_adjoint_options {
    const char *const *constant; /* parameters of kernels that are declared to be constant: they get no gradient */
    int nconstant;
    const char *kernel; /* the only one whose adjoint is made; NULL: all that the source has */
} sti_adjoint_options;

/* Flags of tapes that were too short say where: line + STI_MARK_LINES * (number of the file). */
enum { STI_MARK_LINES = 1 << 20 };

/* What a launch of an adjoint has to pass beyond the arguments and their gradients. */
typedef struct sti_adjoint_kernel {
    const char *name;   /* of the kernel: "k_x"; its adjoint is "k_x_adj" */
    uint64_t id;        /* hash of the source and the name: equal in all processes */
    bool taped;         /* its adjoint takes a tape: the parameters that tape.h names */
    sti_bound *width;   /* iterations side by side: the greatest count of an each, 1 without one */
    sti_bound *depth;   /* slots that each of them needs */
    bool items;         /* of an item kernel: its adjoint is one, and its tape is plain arrays */
    sti_bound *entries; /* of an item kernel: slots of its lists an item; NULL: it lists nothing */
    bool
        uniform; /* what its iterations list follows from plain whole numbers alone: it can have a plan (gather_plan.h) */
    sti_listing *listing; /* parameters whose gradients are listed, too */
    struct sti_adjoint_kernel *next;
} sti_adjoint_kernel;

/* Owned by the unit, but for the text. */
typedef struct sti_adjoint {
    sti_text_buffer text;
    sti_adjoint_kernel *kernel;
} sti_adjoint;

/*
 * The unit has no mistakes; its tree is changed, so it is good for nothing else afterwards. STET_UNSUPPORTED: something in it cannot be
 * differentiated; the message has the first place, the unit's diagnostics have all. Free with sti_adjoint_free in any case.
 */
stet_result sti_adjoint_make(sti_unit *unit, const sti_adjoint_options *options, sti_adjoint *out);
void sti_adjoint_free(sti_adjoint *adjoint);

#endif
