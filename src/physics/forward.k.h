/*
 * Forward dynamics of native physics, in stages, and what goes before and after them in a step. Part of the kernels
 * that include it: native.k.h runs all stages in one, stages.k.h some of them.
 *
 * Stages run one after the other in the memory w; layout.k.h says where things are, and how a stage reads the model.
 * The order of every sum is that of the loops, so no bit depends on lanes, teams or neighbours.
 *
 * In stages.k.h (PH_STAGED) some functions take the stages that they run, and a team of one lane has its slots to
 * itself from the beginning (PH_SINGLE); neither is in the code of native.k.h.
 */
#ifdef PH_STAGED
#define PH_TAKE_STAGES int stages,
#define PH_GIVE_STAGES(set) (set),
#define PH_RUNS(set) ((stages & (set)) != 0)
#define PH_SINGLE (STET_W == 1)
#else
#define PH_TAKE_STAGES
#define PH_GIVE_STAGES(set)
#define PH_RUNS(set) 1
#define PH_SINGLE 0
#endif

/*
 * Before LFN: what is large, and part of one other function. CUDA code for one model has it inlined: each load of a
 * function that is called begins with where global memory is, which ptxas does not keep in uniform registers for it.
 */
#if defined(PH_MODEL) && defined(__CUDA_ARCH__)
#define PH_PART
#else
#define PH_PART STET_CALLED
#endif

#define RAY_LANES 1
#include "geom/ray.k.h"
#include "geom/wrap.k.h"
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
#include "physics/by_rows.k.h"
#include "physics/inertia.k.h"
#include "physics/tendon.k.h"
#include "physics/twofold.k.h"
#include "physics/velocity.k.h"
#include "physics/fluid.k.h"
#include "physics/controls.k.h"
#include "physics/muscle.k.h"
#include "physics/site_transmission.k.h"
#include "physics/motor.k.h"
#include "physics/plugin_pid.k.h"
#include "physics/orientation.k.h"
#include "physics/actuation.k.h"
#include "physics/slopes.k.h"
#include "physics/discrete.k.h"
#include "physics/integrate.k.h"
#include "physics/constraint.k.h"
#include "physics/discrete_free.k.h"
#include "physics/near_pairs.k.h"
#include "physics/contact.k.h"
#include "physics/force.k.h"
#include "physics/pattern.k.h"
#include "physics/twofold_hessian.k.h"
#include "physics/hessian.k.h"
#include "physics/after.k.h"
#include "physics/sensor.k.h"
#include "physics/contact_sensor.k.h"
#include "physics/touch_grid.k.h"
#include "physics/geom_distance.k.h"
#include "physics/show.k.h"
#include "physics/line_search.k.h"
#include "physics/products.k.h"
#include "physics/adhesion.k.h"
#include "physics/noslip.k.h"
#include "physics/solve.k.h"

/*
 * Forward dynamics of the state in w, those `stages` (PH_STAGE_…) of it, before which the others up to them have run;
 * the lanes `bad` have no controls, and only those `on` are constrained: the others would have contacts that nobody
 * asks for. `extra`: bits PH_EXTRA_… of what is done beside; stage after needs the memory M_NMEMORY_ALL, and a list of
 * n contacts 1 + PH_LISTED * n reals behind it. `align`: all worlds come here, so teams do the stages together. most:
 * as in ph_constrain. Gives the bits of faults, which stage solve finds.
 */
LFN lint ph_forward(const int *m, const ureal *f, const real *v, real *w, int *s, PH_TAKE_STAGES mask on, mask bad,
                    int ngeom, int nsite, int extra, int align, lint *most)
{
    lint faults = isplat(0);
    if (PH_RUNS(PH_STAGE_POSES)) {
        if (align) align_teams();
        ph_kinematics(m, f, v, w, ngeom, nsite);
        if (align) align_teams();
        ph_com(m, f, v, w);
        ph_tendon(m, f, v, w);
    }
    if (PH_RUNS(PH_STAGE_INERTIA)) {
        if (align) align_teams();
        ph_inertia(m, f, v, w);
        ph_tendon_armature(m, f, v, w);
        if (align) align_teams();
        if (!PH_BY_ROWS && m[M_INTEGRATOR] != PH_DISCRETE) ph_factor_inertia(m, f, v, w);
    }
    if (PH_RUNS(PH_STAGE_FORCES)) {
        if (align) align_teams();
        ph_transmission(m, f, v, w);
        ph_velocity(m, w);
        if (align) align_teams();
        ph_fluid(m, f, v, w);
        ph_passive(m, f, v, w);
        ph_bias(m, f, v, w);
        if (align) align_teams();
        ph_actuation(m, f, v, w, bad);
        ph_acceleration(m, f, v, w);
    }
    if (PH_RUNS(PH_STAGE_CONTACTS | PH_STAGE_ROWS | PH_STAGE_SOLVE)) {
        if (align) align_teams();
        faults = ph_constrain(m, f, v, w, s, PH_GIVE_STAGES(stages) on, extra, align, most);
        if (m[M_INTEGRATOR] == PH_DISCRETE && PH_RUNS(PH_STAGE_SOLVE)) ph_turn_free(m, f, v, w);
    }
    if (PH_RUNS(PH_STAGE_AFTER)) {
        if (align) align_teams();
        ph_after(m, f, v, w, extra);
        if (extra & PH_EXTRA_SENSORS) ph_sensors(m, f, v, w);
        if (extra & PH_EXTRA_SENSORS && m[M_NSENSORDISTANCE] > 0) ph_sense_distances(m, f, v, w);
        if (extra & PH_EXTRA_SENSORS && m[M_NSENSORCAMERA] > 0) ph_sense_cameras(m, f, v, w);
    }
    return faults;
}

/* Where the time of worlds begins to which `ticks` time steps were added since: clock [2], or a reset's. */
LFN real ph_begin_time(const int *m, const real *clock, lint fault)
{
    mask reset = m_not(ieq(fault & isplat(PH_WAS_RESET), isplat(0)));
    mask put_back = m_not(ieq(fault & isplat(PH_WAS_PUT_BACK), isplat(0)));
    if (m[M_NTIME] == 0) return splat(0);
    return select(reset, splat(0), select(put_back, clock[1], clock[0]));
}

/* The time of worlds in a stage of a step (of Runge-Kutta's), 0 in those that were reset in it. */
LFN void ph_put_time(const int *m, const ureal *f, const real *v, real *w, real begin, lint ticks, mask reset,
                     int stage)
{
    if (m[M_NTIME] == 0) return;
    real half = splat((ureal)0.5), part = stage == 0 ? splat(0) : stage == 3 ? splat(1) : half;
    real n = part + select(reset, splat(0), to_real(ticks));
    each (one, 1) PH_AT(W_TIME)[one] = fma(n, par(m, f, v, M_TIMESTEP, 0), select(reset, splat(0), begin));
    sync();
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
    each (i, m[M_NU]) put(ctrl, i, select(gone, PH_AT(W_CTRL)[i], ctrl[i]));
    each (i, m[M_NV]) put(qfrc_applied, i, select(gone, splat(0), qfrc_applied[i]));
    each (i, 6 * m[M_NBODY]) put(xfrc_applied, i, select(gone, splat(0), xfrc_applied[i]));
    each (i, 3 * m[M_NMOCAP]) put(mocap_pos, i, select(gone, PH_AT(W_MOCAP_POS)[i], mocap_pos[i]));
    each (i, 4 * m[M_NMOCAP]) put(mocap_quat, i, select(gone, PH_AT(W_MOCAP_QUAT)[i], mocap_quat[i]));
    each (i, m[M_NEQ]) put(eq_active, i, select(gone, PH_AT(W_EQ_ACTIVE)[i], eq_active[i]));
}

/* The state of the worlds `on` in w, and their sensors, go to arrays. (Functions would change what is inlined.) */
#define PH_PUT_MOVED(on)                                                                                               \
    each (i, m[M_NQ]) put(qpos, i, select(on, PH_AT(W_QPOS)[i], qpos[i]));                                             \
    each (i, m[M_NV]) put(qvel, i, select(on, PH_AT(W_QVEL)[i], qvel[i]));                                             \
    each (i, m[M_NV]) put(warm, i, select(on, PH_AT(W_QACC_WARMSTART)[i], warm[i]));                                   \
    each (i, m[M_NA]) put(act, i, select(on, PH_AT(W_ACT)[i], act[i]))
#define PH_PUT_SENSORS(on)                                                                                             \
    each (i, m[M_NSENSORDATA]) put(sensordata, i, select(on, PH_AT(W_SENSORDATA)[i], sensordata[i]))

LFN lint ph_fault(mask where, int bits) { return iselect(where, isplat(bits), isplat(0)); }
