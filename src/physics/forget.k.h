/* Gradients of worlds that were put back, which end there. Kind world. */
#include "stet/lang.h"

/* lost [1] becomes 0. */
world_kernel void k_native_unmark(lint *lost)
{
    each (i, 1) lost[i] = isplat(0);
}

/* x becomes 0 in the lanes `on`. */
LFN void ph_forget(mask on, real *x, int n)
{
    each (i, n) put(x, i, select(on, splat(0), x[i]));
}

/* Gradients of the state and the inputs become 0 in worlds whose lost [1] has one of `bits`. */
world_kernel void k_native_forget(const lint *lost, real *qpos, real *qvel, real *act, real *ctrl, real *qfrc_applied,
                                  real *xfrc_applied, real *mocap_pos, real *mocap_quat, real *eq_active, int nq,
                                  int nv, int na, int nu, int nbody, int nmocap, int neq, int bits)
{
    mask on = m_not(ieq(lost[0] & isplat(bits), isplat(0)));
    if (!any(on)) return;
    ph_forget(on, qpos, nq);
    ph_forget(on, qvel, nv);
    ph_forget(on, act, na);
    ph_forget(on, ctrl, nu);
    ph_forget(on, qfrc_applied, nv);
    ph_forget(on, xfrc_applied, 6 * nbody);
    ph_forget(on, mocap_pos, 3 * nmocap);
    ph_forget(on, mocap_quat, 4 * nmocap);
    ph_forget(on, eq_active, neq);
}
