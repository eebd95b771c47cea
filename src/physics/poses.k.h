/* Poses of bodies from the present state: stage kinematics alone. Kind world. */
#include "stet/lang.h"

#include "physics/layout.k.h"
#include "physics/math.k.h"
#include "physics/spatial.k.h"
#include "physics/kinematics.k.h"

/* xpos, xquat of the worlds whose `due` [1] is not 0. w: team memory up to where W_GEOM_XPOS would begin. */
world_kernel void k_native_poses(const int *m, const ureal *f, const real *v, const lint *due, treal *w,
                                 const real *qpos, const real *mocap_pos, const real *mocap_quat, real *xpos,
                                 real *xquat)
{
    mask on = m_not(ieq(due[0], isplat(0)));
    if (!any(on)) return;
    each (i, m[M_NQ]) PH_AT(W_QPOS)[i] = qpos[i];
    each (i, 3 * m[M_NMOCAP]) PH_AT(W_MOCAP_POS)[i] = mocap_pos[i];
    each (i, 4 * m[M_NMOCAP]) PH_AT(W_MOCAP_QUAT)[i] = mocap_quat[i];
    sync();
    ph_kinematics(m, f, v, w, 0, 0);
    each (i, 3 * m[M_NBODY]) put(xpos, i, select(on, PH_AT(W_XPOS)[i], xpos[i]));
    each (i, 4 * m[M_NBODY]) put(xquat, i, select(on, PH_AT(W_XQUAT)[i], xquat[i]));
}
