/*
 * Poses of bodies, worked out when somebody reads them: the producer of xpos and xquat.
 */
#ifndef STI_WORLDS_POSES_H
#define STI_WORLDS_POSES_H

#include "worlds/restores.h"
#include "worlds/worlds.h"

/* Makes the arrays xpos and xquat follow the worlds; once, when they are made. */
void sti_poses_attach(stet_worlds *worlds);
/* If the caller wrote xpos or xquat since stet last looked, his poses stand in all worlds until they move (WORLDS-4). */
void sti_poses_take_written(stet_worlds *worlds);
/* The versions of xpos and xquat are no news from here on. */
void sti_poses_keep_written(stet_worlds *worlds);
/*
 * All worlds begin (again) with qpos and mocap poses whose content `key` names, and what else moved them was before: poses that were made under an equal
 * key come back without kinematics, and without crossing. NULL: the poses follow from something else. Two calls: the first adds their restores,
 * if there are any, and the second comes when the caller has made those, and whatever else the worlds begin with is in its place.
 */
stet_result sti_poses_give_first(stet_worlds *worlds, const uint64_t key[STI_POSE_INPUTS], sti_restores *restores,
                                 bool *given);
stet_result sti_poses_begin(stet_worlds *worlds, const uint64_t key[STI_POSE_INPUTS], bool given);
/* xpos and xquat were made just now, in all worlds (their host mirrors have them): keeps them, if they are those of a beginning. */
stet_result sti_poses_keep_first(stet_worlds *worlds);
/* They are not used again. */
void sti_poses_forget_first(stet_worlds *worlds);
/* The model that kinematics are computed with. */
static inline const mjModel *sti_pose_model(const stet_worlds *worlds)
{
    return worlds->pose_model ? worlds->pose_model : worlds->model->mj;
}

#endif
