/*
 * Places of the model's geoms, cameras and lights that differ between worlds (geom_pos, geom_quat, cam_pos, cam_quat,
 * light_pos, light_dir of stet/worlds.h): their local transforms are written when one has changed.
 */
#ifndef STI_STAGE_PLACE_H
#define STI_STAGE_PLACE_H

#include "device/device.h"
#include "stage/tree.h"
#include "worlds/worlds.h"

typedef struct sti_places {
    uint64_t clock;           /* place_clock (worlds/parameter.h) up to which they were written */
    unsigned kinds;           /* that ever had a place given, bits 1u << stet_prim_kind */
    int n;                    /* prims of these kinds */
    stet_array *prim, *frame; /* INT [n]; REAL [nworld][n][12] */
} sti_places;

/* Has a place changed since they were written? */
bool sti_places_due(const sti_places *places, const stet_worlds *worlds);
/* Is a prim one of those that are written? */
bool sti_places_have(const sti_places *places, const sti_prim *prim);
/* Writes them to the array of local transforms. */
stet_result sti_places_write(sti_places *places, const sti_tree *tree, stet_worlds *worlds, stet_array *local);
void sti_places_free(sti_places *places);

#endif
