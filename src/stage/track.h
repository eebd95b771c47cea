/*
 * Cameras and lights that follow or aim at bodies, as tables for k_track.
 */
#ifndef STI_STAGE_TRACK_H
#define STI_STAGE_TRACK_H

#include "device/device.h"
#include "stage/tree.h"

/* For the layouts see k_track. Immutable after init. */
typedef struct sti_track {
    int n;
    stet_array *entry, *frame, *body, *part;
} sti_track;

stet_result sti_track_init(sti_track *track, stet_device *device, const sti_tree *tree);
void sti_track_free(sti_track *track);

#endif
