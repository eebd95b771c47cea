/*
 * Spatial tendons as prims: each has pieces, capsules along its path, whose world transforms k_tendons writes
 * (tendon.k.h says what they are). Flexes of one dimension have such pieces, too, cylinders.
 */
#ifndef STI_STAGE_TENDON_H
#define STI_STAGE_TENDON_H

#include "device/device.h"
#include "stage/tree.h"
#include "worlds/worlds.h"

/* Links as tables for k_tendons. */
typedef struct sti_tendons {
    int nlink, npiece;
    stet_array *link, *look;
    int *geom;          /* [nlink], that a link goes around; -1: none */
    bool wraps;         /* a link does */
    stet_array *radius; /* REAL [nworld][nlink] of these; NULL: sizes of geoms never differed between worlds */
    uint64_t clock;     /* look_clock (worlds/parameter.h) up to which it was written */
} sti_tendons;

/* How many pieces a tendon has: 0 unless it is spatial; a flex: 0 unless it has one dimension. */
int sti_tendon_pieces(const mjModel *m, int tendon);
int sti_flex_pieces(const mjModel *m, int flex);
/* The prims of kind TENDON are those of tendon 0, 1, …, then of flex 0, 1, … */
stet_result sti_tendons_init(sti_tendons *tendons, stet_device *device, const sti_tree *tree);
/* Takes over radii of worlds if sizes of geoms have changed, which *changed says. */
stet_result sti_tendons_update(sti_tendons *tendons, const stet_worlds *worlds, bool *changed);
void sti_tendons_free(sti_tendons *tendons);

#endif
