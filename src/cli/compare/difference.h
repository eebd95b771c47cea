/* The first bit in which two sets of arrays differ, in the order round, frame, world, array, item. */
#ifndef STI_CLI_COMPARE_DIFFERENCE_H
#define STI_CLI_COMPARE_DIFFERENCE_H

#include "cli/files/npy.h"

/* Which of an array's first axes are rounds, frames and worlds; the others are items. */
typedef struct array_axes {
    bool round, frame, world;
} array_axes;

typedef struct difference {
    bool found;
    int64_t round, frame, world; /* counted from 0; -1: the array has no such axis */
    char field[240];             /* "qvel[5]" */
    char type;                   /* as npy_raw's */
    int size;
    unsigned char a[8], b[8];
    int64_t narray, nnumber; /* compared until now */
} difference;

/*
 * Compares arrays of one type and shape, A's and B's; frame: of arrays without that axis, else ignored. A difference
 * replaces one that was found in a later round, frame or world.
 */
void difference_look(difference *d, const char *name, array_axes axes, int64_t frame, const npy_raw *a,
                     const npy_raw *b);
/*
 * Prints one line about the difference, or that all is equal; the names say whose numbers they are. Returns the exit
 * code: 0, or EXIT_WORK.
 */
int difference_report(const difference *d, const char *name_a, const char *name_b);

#endif
