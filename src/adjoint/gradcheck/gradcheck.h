/*
 * A check of gradients (stet_gradcheck): a kernel's parameters with their values, weights and gradients.
 *
 * The loss L is the sum over all written arrays of (a random weight) * (the written value). A world kernel has one L
 * for each world, an item kernel has one L. The adjoint's gradient of L is compared with (L(x + h) - L(x - h)) / 2h
 * for each element x of each array and for each real number. If they disagree, smaller steps are tried (compare.c).
 *
 * Each array has guard items behind its own items. They hold NaN, and in gradients a fixed number, and no kernel
 * should touch them. So a kernel whose arrays are too small is distinguished from one whose gradients are wrong, and
 * it writes into no other memory unless it reaches beyond the guard items.
 */
#ifndef STI_ADJOINT_GRADCHECK_GRADCHECK_H
#define STI_ADJOINT_GRADCHECK_GRADCHECK_H

#include "adjoint/launch/handle.h"
#include "kernel/signature.h"
#include "stet/adjoint.h"

enum { STI_GRADCHECK_MOST = 48 /* parameters */, STI_GRADCHECK_GUARDS = 256 /* guard items */ };

/* A parameter. Its values are doubles, [world][stride]. */
typedef struct sti_subject {
    stet_kernel_param p;
    stet_array *array, *gradient;
    stet_array *after;             /* what the kernel leaves in `array`, for an adjoint that reads that; else NULL */
    int64_t items, stride, count;  /* in a world; in a world with guard items; in all worlds */
    int64_t ngradient;             /* numbers in the gradient: one set for each world, or as many as the array has */
    double *base, *weight, *found; /* values before a launch; weights of a written array; the adjoint's gradient */
    double number;                 /* a real number's value */
    int64_t whole;
    char *bytes; /* content of an array of whole numbers before a launch */
    bool active;
} sti_subject;

/* L at x and on both sides of it. */
typedef struct sti_sides {
    double before, there, after, step;
    double size; /* sum of the absolute terms of `after` */
} sti_sides;

typedef struct sti_checking {
    const stet_gradcheck_def *def;
    stet_gradcheck_result *out;
    stet_device *device;
    stet_kernel *kernel;
    stet_adjoint *adjoint;
    const char *name;
    bool items; /* it is an item kernel */
    sti_subject s[STI_GRADCHECK_MOST];
    int n;
    int nloss; /* number of losses: one for each world, or one */
    uint64_t random;
    double *there, *loss; /* [nloss]: L at x, and the L computed last */
    double *size;         /* [nloss]: sum of the absolute terms of `loss`; its rounding error is proportional to that */
    sti_sides *sides, *closer; /* [nloss]: with the first step; with a smaller step */
    double *start;             /* [worlds]: the original values of the element that is changed */
    double *room;              /* for the content of an array, [most] */
    int64_t most;
} sti_checking;

/* values.c */
stet_result sti_subject_open(sti_checking *c, int i);
void sti_subject_close(sti_subject *s);
/* Resets all arrays to their values before a launch, and all gradients to the weights. */
stet_result sti_subjects_write(sti_checking *c);
/* INVALID_ARGUMENT: the kernel or its adjoint changed guard items. */
stet_result sti_subjects_check_guards(sti_checking *c);
stet_arg sti_subject_arg(const sti_subject *s);

/*
 * names.c. INVALID_ARGUMENT: the def has a value for a parameter that none of these `n` kernels has, or a value that
 * does not fit its parameter.
 */
stet_result sti_gradcheck_names(const stet_gradcheck_def *def, const sti_signature *const *k, int n);

/* compare.c: compares all elements of all subjects. The results go to c->out. */
stet_result sti_gradcheck_compare(sti_checking *c);

#endif
