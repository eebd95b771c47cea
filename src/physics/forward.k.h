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
 * Before LFN: what is large, and part of one other function (PH_WHOLE: of a step). CUDA code for one model has it
 * inlined: each load of a function that is called begins with where global memory is, which ptxas does not keep in
 * uniform registers for it, and what the caller knows to be 0, as bits of `extra`, is not known there.
 */
#if defined(PH_MODEL) && defined(__CUDA_ARCH__)
#define PH_PART __forceinline__
#define PH_WHOLE __forceinline__
#if !PH_HAS_HFIELD
#define CONVEX_PAIR __forceinline__
#endif
#else
#define PH_PART STET_CALLED
#define PH_WHOLE
#endif

#define RAY_LANES 1
#include "geom/ray.k.h"
#include "geom/wrap.k.h"
#include "physics/model/world.k.h"
#include "physics/model/math.k.h"
#include "physics/collide/box.k.h"
#include "physics/collide/box_box.k.h"
#include "physics/collide/broad.k.h"
#include "physics/collide/hfield.k.h"
#include "physics/collide/manifold.k.h"
#include "physics/collide/plane.k.h"
#include "physics/collide/plane_mesh.k.h"
#include "physics/collide/round.k.h"
#include "physics/model/spatial.k.h"
#include "physics/kinematics/kinematics.k.h"
#include "physics/dynamics/by_rows.k.h"
#include "physics/kinematics/inertia.k.h"
#include "physics/kinematics/tendon.k.h"
#include "physics/dynamics/twofold.k.h"
#include "physics/dynamics/velocity.k.h"
#include "physics/dynamics/fluid.k.h"
#include "physics/dynamics/controls.k.h"
#include "physics/dynamics/delay.k.h"
#include "physics/dynamics/muscle.k.h"
#include "physics/dynamics/site_transmission.k.h"
#include "physics/dynamics/motor.k.h"
#include "physics/dynamics/plugin_pid.k.h"
#include "physics/dynamics/orientation.k.h"
#include "physics/dynamics/actuation.k.h"
#include "physics/dynamics/slopes.k.h"
#include "physics/dynamics/discrete.k.h"
#include "physics/dynamics/integrate.k.h"
#include "physics/constraint/constraint.k.h"
#include "physics/dynamics/discrete_free.k.h"
#include "physics/contact/near_pairs.k.h"
#include "physics/contact/contact.k.h"
#include "physics/constraint/force.k.h"
#include "physics/solver/pattern.k.h"
#include "physics/solver/twofold_hessian.k.h"
#include "physics/solver/hessian.k.h"
#include "physics/sensors/after.k.h"
#include "physics/sensors/sensor.k.h"
#include "physics/sensors/contact_sensor.k.h"
#include "physics/sensors/touch_grid.k.h"
#include "physics/sensors/geom_distance.k.h"
#include "physics/sensors/show.k.h"
#include "physics/solver/line_search.k.h"
#include "physics/solver/products.k.h"
#include "physics/solver/islands.k.h"
#include "physics/solver/island_hessian.k.h"
#include "physics/solver/island_twofold.k.h"
#include "physics/constraint/adhesion.k.h"
#include "physics/solver/noslip.k.h"
#include "physics/solver/sums.k.h"
#include "physics/solver/island_solve.k.h"
#include "physics/solver/solve.k.h"

/*
 * Forward dynamics of the state in w, those `stages` (PH_STAGE_…) of it, before which the others up to them have run;
 * the lanes `bad` have no controls, and only those `on` are constrained: the others would have contacts that nobody
 * asks for. `extra`: bits PH_EXTRA_… of what is done beside; stage after needs the memory M_NMEMORY_ALL, and a list of
 * n contacts 1 + PH_LISTED * n reals behind it. `align`: all worlds come here, so teams do the stages together. most:
 * as in ph_constrain. Gives the bits of faults, which stage solve finds.
 */
PH_WHOLE LFN lint ph_forward(ph_world w, PH_TAKE_STAGES mask on, mask bad, int ngeom, int nsite, int extra, int align,
                             lint *most)
{
    lint faults = isplat(0);
    if (PH_RUNS(PH_STAGE_POSES)) {
        if (align) align_teams();
        ph_kinematics(w, ngeom, nsite);
        if (align) align_teams();
        ph_com(w);
        ph_tendon(w);
    }
    if (PH_RUNS(PH_STAGE_INERTIA)) {
        if (align) align_teams();
        ph_inertia(w);
        ph_tendon_armature(w);
        if (align) align_teams();
        if (!PH_BY_ROWS && integrator(w) != PH_DISCRETE) ph_factor_inertia(w);
    }
    if (PH_RUNS(PH_STAGE_FORCES)) {
        if (align) align_teams();
        ph_transmission(w);
        ph_velocity(w);
        if (align) align_teams();
        ph_fluid(w);
        ph_passive(w);
        ph_bias(w);
        if (align) align_teams();
        ph_actuation(w, bad);
        ph_acceleration(w);
    }
    if (PH_RUNS(PH_STAGE_CONTACTS | PH_STAGE_ROWS | PH_STAGE_SOLVE)) {
        if (align) align_teams();
        faults = ph_constrain(w, PH_GIVE_STAGES(stages) on, extra, align, most);
        if (integrator(w) == PH_DISCRETE && PH_RUNS(PH_STAGE_SOLVE)) ph_turn_free(w);
    }
    if (PH_RUNS(PH_STAGE_AFTER)) {
        if (align) align_teams();
        ph_after(w, extra);
        if (extra & PH_EXTRA_SENSORS) ph_sensors(w);
        if (extra & PH_EXTRA_SENSORS && nsensordistance(w) > 0) ph_sense_distances(w);
        if (extra & PH_EXTRA_SENSORS && nsensorcamera(w) > 0) ph_sense_cameras(w);
        if (extra & PH_EXTRA_SENSORS && npastsensor(w) > 0) ph_delay_sensors(w);
    }
    return faults;
}

/* Where the time of worlds begins to which `ticks` time steps were added since: clock [2], or a reset's. */
LFN real ph_begin_time(ph_world w, const real *clock, lint fault)
{
    mask reset = m_not(ieq(fault & isplat(PH_WAS_RESET), isplat(0)));
    mask put_back = m_not(ieq(fault & isplat(PH_WAS_PUT_BACK), isplat(0)));
    if (ntime(w) == 0) return splat(0);
    return select(reset, splat(0), select(put_back, clock[1], clock[0]));
}

/* The time of worlds in a stage of a step (of Runge-Kutta's), 0 in those that were reset in it. */
LFN void ph_put_time(ph_world w, real begin, lint ticks, mask reset, int stage)
{
    if (ntime(w) == 0) return;
    real half = splat((ureal)0.5), part = stage == 0 ? splat(0) : stage == 3 ? splat(1) : half;
    real n = part + select(reset, splat(0), to_real(ticks));
    each (one, 1) time(w)[one] = fma(n, timestep(w, 0), select(reset, splat(0), begin));
    sync();
}

/* The state and the inputs of worlds, MuJoCo's arrays; warm: accelerations that the solver begins with. */
typedef struct ph_inputs {
    const real *qpos, *qvel, *act, *ctrl, *qfrc_applied, *xfrc_applied, *mocap_pos, *mocap_quat, *warm, *eq_active;
} ph_inputs;

/* Copies them into w. */
LFN void ph_take(ph_world w, ph_inputs from)
{
    each (i, neq(w)) eq_active(w)[i] = select(eq(from.eq_active[i], splat(0)), splat(0), splat(1));
    each (i, nq(w)) qpos(w)[i] = from.qpos[i];
    each (i, nv(w)) {
        qvel(w)[i] = from.qvel[i];
        qfrc_applied(w)[i] = from.qfrc_applied[i];
        qacc_warmstart(w)[i] = from.warm[i];
    }
    each (i, na(w)) act(w)[i] = from.act[i];
    each (i, nu(w)) ctrl(w)[i] = from.ctrl[i];
    each (i, 6 * nbody(w)) xfrc_applied(w)[i] = from.xfrc_applied[i];
    each (i, 3 * nmocap(w)) mocap_pos(w)[i] = from.mocap_pos[i];
    each (i, 4 * nmocap(w)) mocap_quat(w)[i] = from.mocap_quat[i];
    sync();
}

/* Before ph_take, which waits for it. */
LFN void ph_take_history(ph_world w, const real *history)
{
    each (i, nhistory(w)) history(w)[i] = history[i];
}

/* What a stage of a step does beside; last: of the last time step of a call. Sensors that are kept are told in each. */
LFN int ph_step_extra(ph_world w, int stage, int last)
{
    return stage == 0 && (last || npastsensor(w) > 0) ? step_extra(w) : 0;
}

/* The inputs in the arrays of the worlds `gone`, which ph_reset has reset in w. */
LFN void ph_reset_inputs(ph_world w, mask gone, real *ctrl, real *qfrc_applied, real *xfrc_applied, real *mocap_pos,
                         real *mocap_quat, real *eq_active)
{
    each (i, nu(w)) put(ctrl, i, select(gone, ctrl(w)[i], ctrl[i]));
    each (i, nv(w)) put(qfrc_applied, i, select(gone, splat(0), qfrc_applied[i]));
    each (i, 6 * nbody(w)) put(xfrc_applied, i, select(gone, splat(0), xfrc_applied[i]));
    each (i, 3 * nmocap(w)) put(mocap_pos, i, select(gone, mocap_pos(w)[i], mocap_pos[i]));
    each (i, 4 * nmocap(w)) put(mocap_quat, i, select(gone, mocap_quat(w)[i], mocap_quat[i]));
    each (i, neq(w)) put(eq_active, i, select(gone, eq_active(w)[i], eq_active[i]));
}

/* The state of the worlds `on` in w, and their sensors, go to arrays. (Functions would change what is inlined.) */
#define PH_PUT_MOVED(on)                                                                                               \
    each (i, nq(w)) put(qpos, i, select(on, qpos(w)[i], qpos[i]));                                                     \
    each (i, nv(w)) put(qvel, i, select(on, qvel(w)[i], qvel[i]));                                                     \
    each (i, nv(w)) put(warm, i, select(on, qacc_warmstart(w)[i], warm[i]));                                           \
    each (i, na(w)) put(act, i, select(on, act(w)[i], act[i]));                                                        \
    each (i, nhistory(w)) put(history, i, select(on, history(w)[i], history[i]))
#define PH_PUT_SENSORS(on)                                                                                             \
    each (i, nsensordata(w)) put(sensordata, i, select(on, sensordata(w)[i], sensordata[i]))

LFN lint ph_fault(mask where, int bits) { return iselect(where, isplat(bits), isplat(0)); }
