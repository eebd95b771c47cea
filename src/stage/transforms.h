/*
 * Launches that compute world transforms: on the stage's device or, for a GPU without the mechanism hierarchy, on the
 * host, from copies of what they read. The host's kernels are the same, so the bits are, too.
 */
#ifndef STI_STAGE_TRANSFORMS_H
#define STI_STAGE_TRANSFORMS_H

#include "device/device.h"

/* The arrays that the launches read and write. */
enum {
    STI_TRANSFORMS_STALE,
    STI_TRANSFORMS_XPOS,
    STI_TRANSFORMS_XQUAT,
    STI_TRANSFORMS_LOCAL,
    STI_TRANSFORMS_WORLD,
    STI_TRANSFORMS_BODY,
    STI_TRANSFORMS_PARENT,
    STI_TRANSFORMS_PRIM,
    STI_TRANSFORMS_LEVEL,
    STI_TRANSFORMS_ENTRY,
    STI_TRANSFORMS_FRAME,
    STI_TRANSFORMS_FOLLOWED,
    STI_TRANSFORMS_PART,
    STI_TRANSFORMS_ARRAYS
};

/* What is launched, and over which arrays. Empty lists are not launched, and may be NULL. */
typedef struct sti_transforms {
    stet_device *device;
    int64_t nworld;
    stet_array *array[STI_TRANSFORMS_ARRAYS];
    int nbody, ntrack, nprim, nlevel;
} sti_transforms;

/* Copies on the host, made when they are first needed. */
typedef struct sti_host_transforms {
    stet_device *device; /* a CPU */
    struct {
        stet_array *array;
        sti_stamp from; /* the version that it holds */
    } copy[STI_TRANSFORMS_ARRAYS];
} sti_host_transforms;

/* Transforms of bodies, of prims that follow bodies, and of all other prims. *launches: how many are added. */
stet_result sti_transforms_launch(const sti_transforms *t, int64_t *launches);
/* The same on the host: what the launches read comes to it, and the world transforms go back. */
stet_result sti_transforms_on_host(const sti_transforms *t, sti_host_transforms *host, int64_t *launches);
void sti_host_transforms_free(sti_host_transforms *host);

#endif
