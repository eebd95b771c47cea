/* Poses of bodies from the present state: stage kinematics alone. Kind world. */
#include "stet/lang.h"

#include "physics/model/world.k.h"
#include "physics/model/math.k.h"
#include "physics/model/spatial.k.h"
#include "physics/kinematics/kinematics.k.h"

/* xpos, xquat of the worlds whose `due` [1] is not 0. w: team memory up to where W_GEOM_XPOS would begin. */
world_kernel void k_native_poses(const int *tables, const ureal *reals, const real *own, const lint *due, treal *memory,
                                 const real *qpos, const real *mocap_pos, const real *mocap_quat, real *xpos,
                                 real *xquat)
{
    ph_world w = {tables, reals, own, memory, 0};
    mask on = m_not(ieq(due[0], isplat(0)));
    if (!any(on)) return;
    each (i, nq(w)) qpos(w)[i] = qpos[i];
    each (i, 3 * nmocap(w)) mocap_pos(w)[i] = mocap_pos[i];
    each (i, 4 * nmocap(w)) mocap_quat(w)[i] = mocap_quat[i];
    sync();
    ph_kinematics(w, 0, 0);
    each (i, 3 * nbody(w)) put(xpos, i, select(on, xpos(w)[i], xpos[i]));
    each (i, 4 * nbody(w)) put(xquat, i, select(on, xquat(w)[i], xquat[i]));
}
