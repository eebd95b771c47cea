/*
 * Gradients of kernels against central differences, in double, for random inputs.
 *
 * The function is L = sum over the arrays that the kernel writes of (a random weight) * (what it wrote); L of each world by itself. Its
 * gradient by the adjoint is compared with (L(x + h) - L(x - h)) / 2h for each element x of each array and each real number.
 */
#ifndef STI_ADJOINT_GRADCHECK_H
#define STI_ADJOINT_GRADCHECK_H

#include "adjoint/adjoint.h"

/* What a parameter is for the check; those that are not named get the usual. */
typedef struct sti_gradcheck_value {
    const char *name;
    int64_t number;       /* of a whole number its value */
    int64_t items;        /* of an array its size; 0: the usual */
    const int64_t *value; /* of an array of whole numbers: its content, `items` of them; NULL: i mod `modulus` */
    double low, high;     /* of reals: from where to where they lie; equal: the usual */
} sti_gradcheck_value;

typedef struct sti_gradcheck_def {
    const char *source; /* NULL: the file `path` */
    const char *path;   /* for messages, too */
    const char *const *folder;
    int nfolder;
    const char *kernel; /* NULL: all that the source has */
    const char *const *constant;
    int nconstant;
    const sti_gradcheck_value *value;
    int nvalue;
    int64_t number;   /* the usual value of whole numbers: 3 */
    int64_t items;    /* the usual size of arrays: 32 */
    int worlds;       /* 2 */
    double low, high; /* the usual range of reals: 0.1 … 0.9 */
    double tolerance; /* of |difference| / (1 + |gradient|): 1e-5 */
    uint64_t seed;
    const char *cache_folder; /* of compiled kernels; NULL: the usual */
} sti_gradcheck_def;

sti_gradcheck_def sti_default_gradcheck_def(void);

typedef struct sti_gradcheck_result {
    int64_t compared, wrong; /* elements */
    int64_t moving;          /* of them: not 0 by differences */
    double worst;            /* |difference| / (1 + |gradient|) */
    char where[160];         /* of the worst: "k_x: pos[7] of world 1: 0.25 by the adjoint, 0.5 by differences" */
} sti_gradcheck_result;

/*
 * STET_OK also where gradients are wrong: look at out->wrong. Other results: the source cannot be read, differentiated or compiled.
 */
stet_result sti_gradcheck(const sti_gradcheck_def *def, sti_gradcheck_result *out);

#endif
