/*
 * Putting worlds back to an initial state.
 */
#ifndef STI_WORLDS_RESET_H
#define STI_WORLDS_RESET_H

#include "worlds/worlds.h"

/* The state of all worlds when they are made: the keyframe of their def, no noise, no faults; not counted as a reset. */
void sti_worlds_begin(stet_worlds *worlds);
/* A keyframe of the model, or -1: qpos0. The message says how many there are. */
stet_result sti_check_keyframe(const mjModel *m, int keyframe, const char *who);

#endif
