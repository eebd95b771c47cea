/*
 * Resets worlds to an initial state.
 */
#ifndef STI_WORLDS_RESET_H
#define STI_WORLDS_RESET_H

#include "worlds/restores.h"
#include "worlds/worlds.h"

/*
 * MuJoCo's reset of d to a keyframe (-1: qpos0), guarded. With `poison`, d is first filled with bytes that are no valid
 * numbers. Returns false if MuJoCo reported an error.
 */
bool sti_reset_data(const mjModel *m, mjData *d, int keyframe, bool poison);
/* Gives all worlds their state at creation: the keyframe of their def, no noise, no faults. Not counted as a reset. */
stet_result sti_worlds_begin(stet_worlds *worlds);
/*
 * Gives all worlds that state again, as if they had just been created: all of MuJoCo's data, and of the arrays those
 * fields that are marked (CALLER, PHYSICS or BOTH). Content of the other fields counts as written by the caller since.
 * With `poison`, MuJoCo's data are first filled with bytes that are no valid numbers. The caller resets faults, reset
 * counts and poses. On a device whose memory the host cannot access (WORLDS-8), the fields' copies are added to
 * `restores`, which the caller then makes.
 */
stet_result sti_worlds_begin_again(stet_worlds *worlds, const bool fields[STI_FIELD_COUNT], bool poison,
                                   sti_restores *restores);
/* Drops the initial content of fields; it is computed again when needed (WORLDS-8). */
void sti_worlds_forget_initial(stet_worlds *worlds);
/* Checks for a keyframe of the model, or -1: qpos0. The message says how many there are. */
stet_result sti_check_keyframe(const mjModel *m, int keyframe, const char *who);

/*
 * A reset by the physics' own kernel (WORLDS-10), which may be listed. mask, as stet_reset_def.mask_array: the worlds
 * where it is not 0, and all worlds count as moved; NULL: those that are marked, which are those of def->mask.
 */
stet_result sti_worlds_reset_on_device(stet_worlds *worlds, stet_array *mask, const stet_reset_def *def);
/* Whether that is all that a reset has to do. */
bool sti_worlds_reset_is_on_device(const stet_worlds *worlds);

/* A mask on the device, as stet_reset_def.mask_array (NULL is fine), beside one on the host: checks it for `who`. */
stet_result sti_check_mask_array(const stet_worlds *worlds, const char *who, const uint8_t *mask, const stet_array *a);
/* *mask becomes its content, in the worlds' memory, for those that need it on the host. NULL: *mask stays. */
stet_result sti_read_mask_array(stet_worlds *worlds, stet_array *array, const uint8_t **mask);

/* Checks everything that stet_worlds_reset would refuse. */
stet_result sti_check_reset(const stet_worlds *worlds, const stet_reset_def *def);

#endif
