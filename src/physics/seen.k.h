/* What quantities of the step are computed from: the state and the inputs before a time step. Kind world. */
#include "stet/lang.h"

#include "physics/model/layout.k.h"
#include "physics/seen_how.k.h"

LFN void ph_keep(mask on, const real *from, real *to, int n)
{
    each (i, n) put(to, i, select(on, from[i], to[i]));
}

/*
 * The state, the inputs and what says the time, from arrays that the step reads into those of the same names behind
 * them. `how` is one of SEEN_…; chosen and kept: [1].
 */
world_kernel void k_native_see(const lint *chosen, lint *kept, const real *qpos, const real *qvel, const real *act,
                               const real *history, const real *ctrl, const real *qfrc_applied,
                               const real *xfrc_applied, const real *mocap_pos, const real *mocap_quat,
                               const real *warm, const real *eq_active, const real *clock, const lint *fault,
                               const lint *ticks, real *seen_qpos, real *seen_qvel, real *seen_act, real *seen_history,
                               real *seen_ctrl, real *seen_qfrc_applied, real *seen_xfrc_applied, real *seen_mocap_pos,
                               real *seen_mocap_quat, real *seen_warm, real *seen_eq_active, real *seen_clock,
                               lint *seen_fault, lint *seen_ticks, int nq, int nv, int na, int nhistory, int nu,
                               int nbody, int nmocap, int neq, int how)
{
    mask on = m_not(ieq(chosen[0], isplat(0)));
    if (how == SEEN_BEGIN) on = ieq(kept[0], isplat(0));
    if (how == SEEN_LOST) {
        mask lost = m_not(ieq(fault[0] & isplat(PH_WAS_RESET), isplat(0)));
        on = m_and(on, m_and(lost, ieq(ticks[0], isplat(1))));
    }
    if (!any(on)) return;
    sync();
    if (how == SEEN_KEEP || how == SEEN_FORGET) {
        each (i, 1) kept[i] = iselect(on, isplat(how == SEEN_KEEP), kept[i]);
    }
    if (how == SEEN_FORGET) return;
    ph_keep(on, qpos, seen_qpos, nq);
    ph_keep(on, qvel, seen_qvel, nv);
    ph_keep(on, act, seen_act, na);
    ph_keep(on, history, seen_history, nhistory);
    ph_keep(on, ctrl, seen_ctrl, nu);
    ph_keep(on, qfrc_applied, seen_qfrc_applied, nv);
    ph_keep(on, xfrc_applied, seen_xfrc_applied, 6 * nbody);
    ph_keep(on, mocap_pos, seen_mocap_pos, 3 * nmocap);
    ph_keep(on, mocap_quat, seen_mocap_quat, 4 * nmocap);
    ph_keep(on, warm, seen_warm, nv);
    ph_keep(on, eq_active, seen_eq_active, neq);
    ph_keep(on, clock, seen_clock, 2);
    each (i, 1) {
        seen_fault[i] = iselect(on, fault[i], seen_fault[i]);
        seen_ticks[i] = iselect(on, ticks[i], seen_ticks[i]);
    }
}

/* n numbers of those that k_native_forward put one after the other, from `at` on, in worlds that are chosen. */
world_kernel void k_native_take_chosen(const real *all, const lint *chosen, real *out, int at, int n)
{
    mask on = m_not(ieq(chosen[0], isplat(0)));
    each (i, n) put(out, i, select(on, all[at + i], out[i]));
}
