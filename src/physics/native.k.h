/*
 * Native physics: MuJoCo's time step as one kernel. Kind world: a lane is a world, a team works on it.
 *
 * All stages run one after the other in the team's memory w; layout.k.h says where things are, and how a stage reads
 * the model. The order of every sum is that of the loops, so no bit depends on lanes, teams or neighbours.
 */
#define STET_CALLS 1
#include "stet/lang.h"

#ifndef STET_CALLED
#define STET_CALLED
#endif

#include "geom/ray.k.h"
#include "physics/layout.k.h"
#include "physics/math.k.h"
#include "physics/collide/box.k.h"
#include "physics/collide/box_box.k.h"
#include "physics/collide/broad.k.h"
#include "physics/collide/hfield.k.h"
#include "physics/collide/manifold.k.h"
#include "physics/collide/plane.k.h"
#include "physics/collide/plane_mesh.k.h"
#include "physics/collide/round.k.h"
#include "physics/spatial.k.h"
#include "physics/kinematics.k.h"
#include "physics/inertia.k.h"
#include "physics/velocity.k.h"
#include "physics/actuation.k.h"
#include "physics/integrate.k.h"
#include "physics/constraint.k.h"
#include "physics/contact.k.h"
#include "physics/force.k.h"
#include "physics/hessian.k.h"
#include "physics/after.k.h"
#include "physics/sensor.k.h"
#include "physics/show.k.h"
#include "physics/solve.k.h"

/*
 * Forward dynamics of the state in w; the lanes `bad` have no controls, and only those `on` are constrained: the others
 * would have contacts that nobody asks for. `extra`: bits PH_EXTRA_… of what is done beside; stage after needs the
 * memory M_NMEMORY_ALL, and a list of n contacts 1 + PH_LISTED * n reals behind it. `align`: all worlds
 * come here, so teams do the stages together. most: as in ph_constrain. Gives the bits of faults.
 */
LFN lint ph_forward(const int *m, const ureal *f, const real *v, real *w, int *s, mask on, mask bad, int ngeom,
                    int nsite, int extra, int align, lint *most)
{
    if (align) align_teams();
    ph_kinematics(m, f, v, w, ngeom, nsite);
    if (align) align_teams();
    ph_com(m, f, v, w);
    ph_tendon(m, f, v, w);
    if (align) align_teams();
    ph_inertia(m, f, v, w);
    ph_tendon_armature(m, f, v, w);
    each (e, m[M_NC]) PH_AT(W_QLD)[e] = PH_AT(W_QM)[e];
    sync();
    if (align) align_teams();
    ph_factor(m, PH_AT(W_QLD), PH_AT(W_QLDIAGINV));
    if (align) align_teams();
    ph_transmission(m, f, v, w);
    ph_velocity(m, w);
    if (align) align_teams();
    ph_passive(m, f, v, w);
    ph_bias(m, f, v, w);
    if (align) align_teams();
    ph_actuation(m, f, v, w, bad);
    ph_acceleration(m, w);
    if (align) align_teams();
    lint faults = ph_constrain(m, f, v, w, s, on, extra, align, most);
    if (align) align_teams();
    ph_after(m, f, v, w, extra);
    if (extra & PH_EXTRA_SENSORS) ph_sensors(m, f, v, w);
    return faults;
}

/* Copies the state and the inputs into w. */
LFN void ph_take(const int *m, real *w, const real *qpos, const real *qvel, const real *act, const real *ctrl,
                 const real *qfrc_applied, const real *xfrc_applied, const real *mocap_pos, const real *mocap_quat,
                 const real *warm, const real *eq_active)
{
    each (i, m[M_NEQ]) PH_AT(W_EQ_ACTIVE)[i] = select(eq(eq_active[i], splat(0)), splat(0), splat(1));
    each (i, m[M_NQ]) PH_AT(W_QPOS)[i] = qpos[i];
    each (i, m[M_NV]) {
        PH_AT(W_QVEL)[i] = qvel[i];
        PH_AT(W_QFRC_APPLIED)[i] = qfrc_applied[i];
        PH_AT(W_QACC_WARMSTART)[i] = warm[i];
    }
    each (i, m[M_NA]) PH_AT(W_ACT)[i] = act[i];
    each (i, m[M_NU]) PH_AT(W_CTRL)[i] = ctrl[i];
    each (i, 6 * m[M_NBODY]) PH_AT(W_XFRC_APPLIED)[i] = xfrc_applied[i];
    each (i, 3 * m[M_NMOCAP]) PH_AT(W_MOCAP_POS)[i] = mocap_pos[i];
    each (i, 4 * m[M_NMOCAP]) PH_AT(W_MOCAP_QUAT)[i] = mocap_quat[i];
    sync();
}

/* The inputs in the arrays of the worlds `gone`, which ph_reset has reset in w. */
LFN void ph_reset_inputs(const int *m, const real *w, mask gone, real *ctrl, real *qfrc_applied, real *xfrc_applied,
                         real *mocap_pos, real *mocap_quat, real *eq_active)
{
    each (i, m[M_NU]) put(ctrl, i, select(gone, splat(0), ctrl[i]));
    each (i, m[M_NV]) put(qfrc_applied, i, select(gone, splat(0), qfrc_applied[i]));
    each (i, 6 * m[M_NBODY]) put(xfrc_applied, i, select(gone, splat(0), xfrc_applied[i]));
    each (i, 3 * m[M_NMOCAP]) put(mocap_pos, i, select(gone, PH_AT(W_MOCAP_POS)[i], mocap_pos[i]));
    each (i, 4 * m[M_NMOCAP]) put(mocap_quat, i, select(gone, PH_AT(W_MOCAP_QUAT)[i], mocap_quat[i]));
    each (i, m[M_NEQ]) put(eq_active, i, select(gone, PH_AT(W_EQ_ACTIVE)[i], eq_active[i]));
}

LFN lint ph_fault(mask where, int bits) { return iselect(where, isplat(bits), isplat(0)); }

/*
 * nstep time steps of the worlds whose `stepped` [1] is not 0. fault [1] gets bits PH_BAD_… of what was found; ticks
 * [1] gets nstep more or, after a reset of the world (PH_WAS_RESET), the steps since. most [1] becomes at least the
 * contacts that the world wanted while no other shared its slots. Inputs of a world that was reset become those of
 * mj_resetData. near: memory of code that is made for its model, see layout.k.h.
 */
world_kernel void k_native_step(const int *tables, const ureal *f, const real *v, const lint *stepped, treal *near,
                                treal *w, tint *s, real *qpos, real *qvel, real *act, real *ctrl, real *qfrc_applied,
                                real *xfrc_applied, real *mocap_pos, real *mocap_quat, real *warm, real *eq_active,
                                real *sensordata, lint *fault, lint *ticks, lint *most, int nstep)
{
    const int *m = PH_TABLES(tables);
    mask on = m_not(ieq(stepped[0], isplat(0))), gone = m_none();
    each (i, 0) near[i] = splat(0); /* PH_AT writes it */
#ifdef PH_OWN_REALS
    real own[PH_OWN_REALS] __attribute__((aligned(64)));
    int own_ints[PH_OWN_INTS];
    w = own;
    s = own_ints;
#endif
    lint faults = isplat(0), steps = ticks[0], wanted[1];
    wanted[0] = most[0];
    if (!any(on)) return;
    ph_take(m, w, qpos, qvel, act, ctrl, qfrc_applied, xfrc_applied, mocap_pos, mocap_quat, warm, eq_active);
    int autoreset = !(m[M_FLAGS] & PH_NO_AUTORESET), nstage = m[M_INTEGRATOR] == PH_RK4 ? 4 : 1;
    for (int step = 0; step < nstep; ++step) {
        mask lost = m_and(on, ph_any_bad(PH_AT(W_QPOS), m[M_NQ]));
        lint found = ph_fault(lost, PH_BAD_QPOS);
        if (autoreset && any(lost)) ph_reset(m, f, v, w, lost);
        mask fast = m_and(on, ph_any_bad(PH_AT(W_QVEL), m[M_NV]));
        found = found | ph_fault(fast, PH_BAD_QVEL);
        if (autoreset && any(fast)) ph_reset(m, f, v, w, fast);
        mask bad = ph_bad_controls(m, f, v, w), wild = m_none();
        found = found | ph_fault(bad, PH_BAD_CTRL);
        for (int stage = 0; stage < nstage; ++stage) {
            if (stage > 0) ph_stage_state(m, f, v, w, stage);
            int extra = stage == 0 && step == nstep - 1 ? m[M_STEP_EXTRA] : 0;
            for (int pass = 0;; ++pass) {
                lint full =
                    ph_forward(m, f, v, w, s, on, bad, m[M_STEP_NGEOM], m[M_STEP_NSITE], extra, pass == 0, wanted);
                found = found | full;
                if (stage > 0 || pass > 0) break;
                wild = m_and(on, ph_any_bad(PH_AT(W_QACC), m[M_NV]));
                if (!autoreset || !any(wild)) break;
                ph_reset(m, f, v, w, wild);
                bad = m_andnot(bad, wild);
                found = iselect(wild, isplat(0), found);
            }
            if (nstage > 1) ph_stage_add(m, w, stage);
        }
        found = found | ph_fault(wild, PH_BAD_QACC);
        faults = faults | found;
        mask reset = m_or(lost, m_or(fast, wild));
        if (autoreset) gone = m_or(gone, reset);
        if (autoreset) steps = iselect(reset, isplat(0), steps);
        steps = steps + isplat(1);
        align_teams();
        ph_integrate(m, f, v, w);
        each (d, m[M_NV]) PH_AT(W_QACC_WARMSTART)[d] = PH_AT(W_QACC)[d];
        sync();
    }
    each (i, m[M_NQ]) put(qpos, i, select(on, PH_AT(W_QPOS)[i], qpos[i]));
    each (i, m[M_NV]) put(qvel, i, select(on, PH_AT(W_QVEL)[i], qvel[i]));
    each (i, m[M_NV]) put(warm, i, select(on, PH_AT(W_QACC_WARMSTART)[i], warm[i]));
    each (i, m[M_NA]) put(act, i, select(on, PH_AT(W_ACT)[i], act[i]));
    each (i, m[M_NSENSORDATA]) put(sensordata, i, select(on, PH_AT(W_SENSORDATA)[i], sensordata[i]));
    gone = m_and(gone, on);
    if (any(gone)) ph_reset_inputs(m, w, gone, ctrl, qfrc_applied, xfrc_applied, mocap_pos, mocap_quat, eq_active);
    faults = faults | ph_fault(gone, PH_WAS_RESET);
    each (i, 1) {
        fault[i] = fault[i] | iselect(on, faults, isplat(0));
        ticks[i] = iselect(on, steps, ticks[i]);
        most[i] = wanted[i];
    }
}

#ifndef PH_MODEL /* code for one model is a step alone: each of its functions is called with those tables only */

/*
 * Forward dynamics of the present state, and what a list of quantities says into out. extra: as in ph_forward.
 */
world_kernel void k_native_forward(const int *m, const ureal *f, const real *v, const int *list, const ureal *points,
                                   treal *w, tint *s, const real *qpos, const real *qvel, const real *act,
                                   const real *ctrl, const real *qfrc_applied, const real *xfrc_applied,
                                   const real *mocap_pos, const real *mocap_quat, const real *warm,
                                   const real *eq_active, real *out, int nlist, int extra)
{
    ph_take(m, w, qpos, qvel, act, ctrl, qfrc_applied, xfrc_applied, mocap_pos, mocap_quat, warm, eq_active);
    lint most[1];
    most[0] = isplat(0);
    lint full = ph_forward(m, f, v, w, s, m_all(), ph_bad_controls(m, f, v, w), m[M_NGEOM], m[M_NSITE], extra, 1, most);
    if (any(ilt(full, isplat(0)))) return;
    for (int k = 0; k < nlist; ++k) ph_show(m, w, list + Q_SIZE * k, points, out);
}

/* One quantity of those that k_native_forward put one after the other: n numbers from `at` on. */
world_kernel void k_native_take(const real *all, real *out, int at, int n)
{
    each (i, n) put(out, i, all[at + i]);
}
world_kernel void k_native_take_ints(const real *all, lint *out, int at, int n)
{
    each (i, n) out[i] = to_int(all[at + i]);
}

#endif
