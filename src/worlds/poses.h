/*
 * Poses of bodies, which are computed when they are read: the producer of xpos and xquat.
 */
#ifndef STI_WORLDS_POSES_H
#define STI_WORLDS_POSES_H

#include "worlds/restores.h"
#include "worlds/worlds.h"

/* Sets the producer of the arrays xpos and xquat; called once, when worlds are created. */
void sti_poses_attach(stet_worlds *worlds);
/*
 * If the caller wrote xpos or xquat since the last check, these poses stay in all worlds until a world moves
 * (WORLDS-4).
 */
void sti_poses_take_written(stet_worlds *worlds);
/* Takes the present versions of xpos and xquat as known, so they do not count as a write of the caller. */
void sti_poses_keep_written(stet_worlds *worlds);
/*
 * All worlds begin (again) with qpos and mocap poses whose content `key` names. Poses that were computed under an equal
 * key are restored without kinematics and without an upload. key NULL: the poses are computed from something else. The
 * first function adds the restores, if there are any. The second is called when the caller has made them and all else
 * that worlds begin with is in place.
 */
stet_result sti_poses_give_first(stet_worlds *worlds, const uint64_t key[STI_POSE_INPUTS], sti_restores *restores,
                                 bool *given);
stet_result sti_poses_begin(stet_worlds *worlds, const uint64_t key[STI_POSE_INPUTS], bool given);
/*
 * xpos and xquat were just computed in all worlds (their host mirrors hold them). Keeps a copy if the worlds have not
 * moved since a beginning.
 */
stet_result sti_poses_keep_first(stet_worlds *worlds);
/* Drops the kept poses. */
void sti_poses_forget_first(stet_worlds *worlds);
/* The model that kinematics are computed with. */
static inline const mjModel *sti_pose_model(const stet_worlds *worlds)
{
    return worlds->poses.model ? worlds->poses.model : worlds->model->mj;
}

#endif
