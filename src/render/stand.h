/*
 * Patches that stand (stand.k.h): what a target's pixels were drawn from.
 *
 * Invariants:
 *   STAND-1  while a record is not stale, it tells of each world what its pixels in the target were drawn from, or that
 *            this is not known
 *   STAND-2  what pixels are made from is a transform of the world, or the clock has another time since it changed
 *
 * Records and the clock are on the device, so recordings that others replay compare with what was drawn last.
 */
#ifndef STI_RENDER_STAND_H
#define STI_RENDER_STAND_H

#include "device/device.h"

/* Of one target. All zero: nothing is known. */
typedef struct sti_standing {
    stet_array *before; /* REAL [nworld][nitem]: world transforms */
    stet_array *range;  /* REAL [nworld][npatch][2]: least and greatest depth of hits */
    stet_array *drawn;  /* INT [nworld]: time of the clock, 0: not known */
    bool stale;         /* pixels were drawn or written without it */
} sti_standing;

/* Of the renderer. */
typedef struct sti_stand {
    stet_device *device;
    stet_array *clock;           /* INT [1]: the time, which is that of the last change */
    stet_array *stands;          /* INT [nworld][npatch], of the last run */
    stet_array *worlds;          /* INT [nworld]: those that are carried */
    int *carried;                /* [nworld], staging for them */
    int64_t nworld, npatch, ran; /* ran: worlds of the last run */
    int time;
} sti_stand;

/* What the renderer has for its launches. */
typedef struct sti_stand_rows {
    stet_array *xform, *worlds, *scene, *own, *lens, *size, *bounds;
    int stride, lens_stride, shapes, n;
    bool coloured;
} sti_stand_rows;

stet_result sti_stand_create(stet_device *device, int64_t nworld, int64_t npatch, sti_stand *out);
void sti_stand_free(sti_stand *stand);
/* Something that is no transform changed: no patch stands in the next run. */
stet_result sti_stand_change(sti_stand *stand);

/* Allocates a record, or again if a world has another number of transforms. */
stet_result sti_standing_make(const sti_stand *stand, int64_t nitem, sti_standing *standing);
void sti_standing_free(sti_standing *standing);
/* Finds the patches that stand, which `stands` tells, and takes over what is drawn now. */
stet_result sti_standing_run(sti_stand *stand, sti_standing *standing, const sti_stand_rows *rows);
/* Pixels of the n listed worlds were copied from one target to another. */
stet_result sti_standing_carry(sti_stand *stand, sti_standing *from, sti_standing *to, const int *worlds, int n);
/* Counts the patches of the last run, and those of them that stood. Waits for the device. */
stet_result sti_stand_count(sti_stand *stand, int64_t *stood, int64_t *of);

#endif
