/*
 * Code that a GPU has for a scene: one kernel for pictures without colours, three for parts of those with them
 * (PART_HITS … in scene.k.h), and what parts hand over. Elsewhere, and for small frames, there is none.
 *
 * Invariants:
 *   PARTS-1  parts have the bits of the kernel that does all, however many patches they do at a time
 */
#ifndef STI_RENDER_PARTS_H
#define STI_RENDER_PARTS_H

#include "kernel/kernel.h"

enum { STI_PART_ALL, STI_PART_HITS, STI_PART_SHADOWS, STI_PART_COLOURS, STI_PARTS };

/* All zero: there is no code for the scene. */
typedef struct sti_parts {
    sti_kernel kernel[STI_PARTS];
    char constants[STI_PARTS][192];
    bool coloured;            /* pictures with colours are going to be asked for */
    bool has[STI_PARTS];      /* that of shadows if a lamp casts them */
    int64_t npatch;           /* that parts do at a time; 0: one kernel does all */
    stet_array *hits, *words; /* REAL, INT [npatch][…]: what parts hand over; or NULL */
} sti_parts;

/* What of a renderer the code depends on. */
typedef struct sti_parts_def {
    unsigned types, has; /* of the appearance */
    int side;            /* of the grid of a pixel's samples */
    bool boxes;          /* there may be more geoms than a list takes */
    int64_t npatch;      /* of all worlds */
    int64_t nsample;     /* likewise */
} sti_parts_def;

/* Names the code that is wanted now, instead of what was before. `coloured` stays. */
stet_result sti_parts_make(stet_device *device, const sti_parts_def *def, sti_parts *parts);
void sti_parts_free(stet_device *device, sti_parts *parts);
/* Begins to compile the code for pictures with or without colours, and makes the memory that it needs. */
stet_result sti_parts_begin(stet_device *device, const sti_parts_def *def, bool coloured, sti_parts *parts);
/* *whole: the kernel that does all of a picture; NULL: parts do. lit: with colours or albedo. */
stet_result sti_parts_choose(stet_device *device, const sti_parts *parts, bool lit, const sti_kernel **whole);

#endif
