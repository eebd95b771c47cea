/*
 * Putting worlds back to an initial state.
 */
#ifndef STI_WORLDS_RESET_H
#define STI_WORLDS_RESET_H

#include "worlds/restores.h"
#include "worlds/worlds.h"

/* The state of all worlds when they are made: the keyframe of their def, no noise, no faults; not counted as a reset. */
stet_result sti_worlds_begin(stet_worlds *worlds);
/*
 * That state once more, as if the worlds had been made just now: MuJoCo's data wholly, of the arrays those fields that are marked (CALLER, PHYSICS or
 * BOTH). What stands in the others counts as written by the caller since. With `poison`, MuJoCo's data are
 * filled with what cannot be taken for numbers first. Faults, numbers of resets and poses are left to the caller.
 * Fields that are on a device whose memory the host cannot reach (WORLDS-8) are so once the caller has made `restores`, to which theirs are added.
 */
stet_result sti_worlds_begin_again(stet_worlds *worlds, const bool fields[STI_FIELD_COUNT], bool poison,
                                   sti_restores *restores);
/* What fields begin with is made anew when it is needed again (WORLDS-8). */
void sti_worlds_forget_initial(stet_worlds *worlds);
/* A keyframe of the model, or -1: qpos0. The message says how many there are. */
stet_result sti_check_keyframe(const mjModel *m, int keyframe, const char *who);

/* All that stet_worlds_reset would refuse. */
stet_result sti_check_reset(const stet_worlds *worlds, const stet_reset_def *def);

#endif
