/*
 * Reverse mode by source transformation: makes a text with the functions of a checked unit and their adjoints.
 *
 * A kernel k_x becomes k_x_adj. Each parameter keeps its place and each real one is followed by its gradient, an array
 * of worlds: for an array with the same number of items, for a number (`ureal`) with one item. doc/design/adjoint.md
 * says what the gradients hold before and after.
 */
#ifndef STI_ADJOINT_TRANSFORM_ADJOINT_H
#define STI_ADJOINT_TRANSFORM_ADJOINT_H

#include "adjoint/sizing/bound.h"
#include "kernel/compile/text_buffer.h"
#include "kernel/check/check.h"

typedef struct sti_adjoint_options {
    const char *const *constant; /* parameters of kernels that are declared constant: they get no gradient */
    int nconstant;
    const char *kernel; /* make only the adjoint of this kernel; NULL: of all kernels */
} sti_adjoint_options;

/* The flag of a tape that was too short is line + STI_MARK_LINES * (number of the file). */
enum { STI_MARK_LINES = 1 << 20 };

/* A list entry is `place * STI_LISTING_CODES + code`; the code is the number of the parameter among those listed. */
enum { STI_LISTING_CODES = 64 };

/* A parameter whose gradient is (also) listed. */
typedef struct sti_listing {
    const char *name; /* the kernel's parameter */
    int code;
    struct sti_listing *next;
} sti_listing;

/* What a launch of an adjoint passes in addition to the arguments and their gradients. */
typedef struct sti_adjoint_kernel {
    const char *name;   /* of the kernel: "k_x"; its adjoint is "k_x_adj" */
    uint64_t id;        /* hash of the source and the name; equal in all processes */
    bool taped;         /* the adjoint has the parameters of a tape, which spill.c declares */
    sti_bound *width;   /* iterations that run side by side: the greatest count of an each, 1 without one */
    sti_bound *depth;   /* slots that each iteration needs */
    bool items;         /* an item kernel: its adjoint is an item kernel with a tape of plain arrays */
    sti_bound *entries; /* an item kernel: slots of its lists for each item; NULL: it lists nothing */
    /*
     * The elements that its iterations list depend on plain whole numbers only, so it can have a plan (gather_plan.h).
     */
    bool uniform;
    sti_listing *listing; /* parameters whose gradients are (also) listed */
    struct sti_adjoint_kernel *next;
} sti_adjoint_kernel;

/* The unit owns everything but the text and the signatures. */
typedef struct sti_adjoint {
    sti_text_buffer text;
    sti_signature *signature; /* of all kernels in the text */
    int nsignature;
    sti_adjoint_kernel *kernel;
} sti_adjoint;

/*
 * Makes the adjoints. The unit must have no mistakes. Its tree is changed, so the unit must not be used otherwise
 * afterwards. STET_ERROR_UNSUPPORTED: something in it cannot be differentiated; the message has the first place, the
 * unit's diagnostics have all. The caller frees *out with sti_adjoint_free in any case.
 */
stet_result sti_adjoint_make(sti_unit *unit, const sti_adjoint_options *options, sti_adjoint *out);
void sti_adjoint_free(sti_adjoint *adjoint);

#endif
