/*
 * Native physics: MuJoCo's time step as one kernel. Kind world: a lane is a world, a team works on it.
 */
#define STET_CALLS 1
#include "stet/lang.h"

/*
 * A GPU's team for the code for all models. Native physics has others for its numbers of worlds, and gives them to
 * copies of the kernel (native.c); with a row the kernel is not in one module with those that read quantities.
 */
#define STET_TEAM_k_native_step 32, 8

#include "physics/forward.k.h"

/*
 * nstep time steps of the worlds whose `stepped` [1] is not 0; `how`: 0, PH_COUNT or PH_OWED. A world that has more
 * contacts than there is room for is held at the state before that time step, and owed [1] becomes how many steps it
 * lacks, else 0; with PH_OWED it is these that are made, whatever `stepped` is, at most nstep. fault [1] gets bits
 * PH_BAD_… of what was found; ticks [1] gets as many more as were made or, after a reset of the world (PH_WAS_RESET),
 * the steps since. most [1] becomes at least the contacts that the world wanted while no other shared its slots. Inputs
 * of a world that was reset become those of mj_resetData. clock [2]: the time at the last pull, and the one that worlds
 * were put back to since. near: memory of code that is made for its model, see
 * layout.k.h.
 */
world_kernel void k_native_step(const int *tables, const ureal *reals, const real *own, const lint *stepped,
                                treal *near, treal *memory, tint *ints, real *qpos, real *qvel, real *act,
                                real *history, real *ctrl, real *qfrc_applied, real *xfrc_applied, real *mocap_pos,
                                real *mocap_quat, real *warm, real *eq_active, real *sensordata, const real *clock,
                                lint *fault, lint *ticks, lint *most, lint *owed, int nstep, int how)
{
#ifdef PH_OWN_REALS
    real own_reals[PH_OWN_REALS] __attribute__((aligned(64)));
    int own_ints[PH_OWN_INTS];
    ph_world w = {tables, reals, own, own_reals, own_ints};
#else
    ph_world w = {tables, reals, own, memory, ints};
#endif
    lint due = stepped[0];
    if (PH_DOES(how, PH_OWED)) due = owed[0];
    mask on = m_not(ieq(due, isplat(0))), all = on, back = m_none(), gone = m_none();
    each (i, 0) near[i] = splat(0); /* PH_AT writes it */
    real begin = ph_begin_time(w, clock, fault[0]);
    lint faults = isplat(0), steps = ticks[0], left = isplat(0), wanted[1];
    wanted[0] = most[0];
    if (!any(on)) return;
    if (!PH_DOES(how, PH_OWED)) due = isplat(nstep);
    ph_take_history(w, history);
    ph_inputs inputs = {qpos, qvel, act, ctrl, qfrc_applied, xfrc_applied, mocap_pos, mocap_quat, warm, eq_active};
    ph_take(w, inputs);
    int autoreset = !(model_flags(w) & PH_NO_AUTORESET), nstage = integrator(w) == PH_RK4 ? 4 : 1;
    for (int step = 0; step < nstep; ++step) {
        mask ends = m_and(on, ieq(due, isplat(step + 1)));
        mask lost = m_and(on, ph_any_bad(qpos(w), nq(w)));
        lint found = ph_fault(lost, PH_BAD_QPOS);
        if (autoreset && any(lost)) ph_reset(w, lost);
        mask fast = m_and(on, ph_any_bad(qvel(w), nv(w)));
        found = found | ph_fault(fast, PH_BAD_QVEL);
        if (autoreset && any(fast)) ph_reset(w, fast);
        mask bad = m_none(), wild = m_none(), held = m_none();
        bad = ph_take_controls(w, 0);
        mask fresh = autoreset ? m_or(lost, fast) : m_none();
        found = found | ph_fault(bad, PH_BAD_CTRL);
        for (int stage = 0; stage < nstage; ++stage) {
            if (stage > 0) ph_stage_state(w, stage);
            if (stage > 0 && nhistory(w) > 0) bad = ph_take_controls(w, stage);
            ph_put_time(w, begin, steps, fresh, stage);
            int last = PH_DOES(how, PH_OWED) ? any(ends) : step == nstep - 1;
            int extra = ph_step_extra(w, stage, last);
            for (int pass = 0;; ++pass) {
                lint full = ph_forward(w, on, bad, step_ngeom(w), step_nsite(w), extra, pass == 0, wanted);
                if (holds_worlds(w))
                    held = m_or(held, m_not(ieq(full, isplat(0))));
                else
                    found = found | full;
                if (PH_DOES(how, PH_COUNT) || stage > 0 || pass > 0) break;
                wild = m_and(m_andnot(on, held), ph_any_bad(qacc(w), nv(w)));
                if (!autoreset || !any(wild)) break;
                ph_reset(w, wild);
                bad = ph_take_controls(w, 0);
                fresh = m_or(fresh, wild);
                ph_put_time(w, begin, steps, fresh, stage);
                found = iselect(wild, isplat(0), found);
            }
            if (PH_DOES(how, PH_COUNT)) break;
            if (nstage > 1) ph_stage_add(w, stage);
        }
        if (PH_DOES(how, PH_COUNT)) break;
        found = found | ph_fault(wild, PH_BAD_QACC);
        faults = faults | found;
        mask reset = m_or(lost, m_or(fast, wild));
        if (autoreset) gone = m_or(gone, reset);
        if (autoreset) steps = iselect(reset, isplat(0), steps);
        if (autoreset) begin = select(reset, splat(0), begin);
        if (any(held)) {
            if (nstage > 1) ph_stage_back(w);
            left = iselect(held, due - isplat(step), left);
            on = m_andnot(on, held);
            back = held;
            if (!any(on)) break; /* a lane alone: its state is in w */
            PH_PUT_MOVED(held);
            back = m_none();
            sync();
        }
        steps = iselect(on, steps + isplat(1), steps);
        align_teams();
        if (nhistory(w) > 0) ph_keep_history(w);
        ph_integrate(w);
        each (d, nv(w)) qacc_warmstart(w)[d] = qacc(w)[d];
        sync();
        if (PH_DOES(how, PH_OWED) && any(ends)) {
            if (!any(m_andnot(on, ends))) break;
            PH_PUT_MOVED(ends);
            PH_PUT_SENSORS(ends);
            on = m_andnot(on, ends);
            sync();
        }
    }
    if (PH_DOES(how, PH_COUNT)) {
        each (i, 1) most[i] = wanted[i];
        return;
    }
    PH_PUT_MOVED(m_or(on, back));
    PH_PUT_SENSORS(on);
    gone = m_and(gone, all);
    if (any(gone)) ph_reset_inputs(w, gone, ctrl, qfrc_applied, xfrc_applied, mocap_pos, mocap_quat, eq_active);
    faults = faults | ph_fault(gone, PH_WAS_RESET);
    each (i, 1) {
        fault[i] = fault[i] | iselect(all, faults, isplat(0));
        ticks[i] = iselect(all, steps, ticks[i]);
        most[i] = wanted[i];
        if (holds_worlds(w) || PH_DOES(how, PH_OWED)) owed[i] = iselect(all, left, owed[i]);
    }
}

#ifndef PH_MODEL /* code for one model is a step alone: each of its functions is called with those tables only */

/*
 * Forward dynamics of the present state, and what a list of quantities says into out. extra: as in ph_forward. lack [1]
 * becomes not 0 where there was no room for all contacts; with PH_OWED it is those worlds that are looked at again.
 */
world_kernel void k_native_forward(const int *tables, const ureal *reals, const real *own, const int *list,
                                   const ureal *points, treal *memory, tint *ints, const real *qpos, const real *qvel,
                                   const real *act, const real *history, const real *ctrl, const real *qfrc_applied,
                                   const real *xfrc_applied, const real *mocap_pos, const real *mocap_quat,
                                   const real *warm, const real *eq_active, const real *clock, const lint *fault,
                                   const lint *ticks, real *out, lint *lack, int nlist, int extra, int how)
{
    ph_world w = {tables, reals, own, memory, ints};
    if (how == PH_OWED && !any(m_not(ieq(lack[0], isplat(0))))) return;
    ph_take_history(w, history);
    ph_inputs inputs = {qpos, qvel, act, ctrl, qfrc_applied, xfrc_applied, mocap_pos, mocap_quat, warm, eq_active};
    ph_take(w, inputs);
    lint most[1];
    most[0] = isplat(0);
    ph_put_time(w, ph_begin_time(w, clock, fault[0]), ticks[0], m_none(), 0);
    mask bad = ph_take_controls(w, 0);
    lint full = ph_forward(w, m_all(), bad, ngeom(w), nsite(w), extra, 1, most);
    for (int k = 0; k < nlist; ++k) ph_show(w, list + Q_SIZE * k, points, out);
    each (i, 1) lack[i] = full;
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
