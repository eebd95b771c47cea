/*
 * Inside a check of gradients (stet_gradcheck): a kernel's parameters with their values, weights and gradients.
 *
 * The function is L = sum over the arrays that the kernel writes of (a random weight) * (what it wrote): in a world kernel L of each world by
 * itself, in an item kernel one L. Its gradient by the adjoint is compared with (L(x + h) - L(x - h)) / 2h for each element x of each array and each
 * real number; where they disagree, with smaller steps, too (compare.c).
 *
 * Behind the items of each array lie some that no kernel should touch: NaN, and in gradients a number that has to stay. So a kernel whose arrays are
 * too small for its numbers is told apart from one whose gradients are wrong, and writes into nobody's memory unless it reaches further still.
 */
#ifndef STI_ADJOINT_GRADCHECK_GRADCHECK_H
#define STI_ADJOINT_GRADCHECK_GRADCHECK_H

#include "stet/adjoint.h"

enum { STI_GRADCHECK_MOST = 48 /* parameters */, STI_GRADCHECK_BEHIND = 256 /* items */ };

/* A parameter. Values are [world][stride] of doubles. */
typedef struct sti_subject {
    stet_kernel_param p;
    stet_array *array, *gradient;
    int64_t items, stride, count;  /* of a world; with those behind them; of all */
    int64_t ngradient;             /* numbers in the gradient: of each world its own, or as many as the array has */
    double *base, *weight, *found; /* values before; of a written array its weights; the adjoint's gradient */
    double number;                 /* of a real number */
    int64_t whole;
    bool active;
} sti_subject;

/* L at x and on both sides of it. */
typedef struct sti_sides {
    double before, there, after, step;
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
    int nloss; /* of each world, or one */
    uint64_t random;
    double *there, *loss;      /* [nloss]: L at x, and where it was computed last */
    sti_sides *sides, *closer; /* [nloss]: with the first step, with a smaller one */
    double *start;             /* [worlds]: the element that moves, where it was */
    double *room;              /* for an array's content */
    int64_t most;
} sti_checking;

/* values.c */
stet_result sti_subject_open(sti_checking *c, int i);
void sti_subject_close(sti_subject *s);
/* All arrays get the values that they had before the kernel ran, all gradients the weights. */
stet_result sti_subjects_write(sti_checking *c);
/* INVALID_ARGUMENT: the kernel or its adjoint touched what lies behind an array's items. */
stet_result sti_subjects_look_behind(sti_checking *c);
stet_arg sti_subject_arg(const sti_subject *s);

/* compare.c: all elements of all subjects, into c->out. */
stet_result sti_gradcheck_compare(sti_checking *c);

#endif
