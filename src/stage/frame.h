/*
 * Frames of the model's objects: their poses in the frame of their body, as the model gives them.
 */
#ifndef STI_STAGE_FRAME_H
#define STI_STAGE_FRAME_H

#include "model/model.h"
#include "stet/stage.h"

/*
 * Computes the local transform (3x4 by rows, metres) of the index-th object of a kind. A light shines along its -z
 * axis.
 */
void sti_frame_local(const mjModel *m, stet_prim_kind kind, int index, double out[12]);
/*
 * For a camera or light that follows a body without turning: computes its orientation in the world and, in the last
 * column, its offset (metres, world axes) from the body's origin, or from the centre of mass of the body's subtree.
 */
void sti_frame_track(const mjModel *m, stet_prim_kind kind, int index, double out[12]);

#endif
