/*
 * Native physics: stages of MuJoCo's time step as kernels of their own. Kind world. They have the bits of native.k.h.
 *
 * What a stage leaves to those after it is in memory of its world, in the device's. On a GPU that is the memory of the
 * team, because there are as many teams as worlds. A thread of a processor has one for all: it copies what belongs to
 * its worlds.
 */
#define STET_CALLS 1
#define PH_STAGED 1
#include "stet/lang.h"

#define STET_NOT_SHIPPED /* is there to be measured */

#include "physics/forward.k.h"

LFN lint ph_flag(mask where) { return iselect(where, isplat(1), isplat(0)); }
LFN mask ph_is_flagged(lint flag) { return m_not(ieq(flag, isplat(0))); }

/* Memory of worlds and lists of a group of lanes come to a thread of a processor, or (back) go from it. */
LFN void ph_move_memory(ph_world w, real *kept, int *lists, int back)
{
    int size = PH_TABLES(w)[step_extra(w) & PH_EXTRA_BEHIND ? M_NMEMORY_ALL : M_NMEMORY];
    if (STET_GPU) return;
    each (i, back ? size : 0) put(kept, i, w.memory[i]);
    each (i, back ? 0 : size) w.memory[i] = kept[i];
    each (i, back ? nints(w) : 0) lists[i] = w.ints[i];
    each (i, back ? 0 : nints(w)) w.ints[i] = lists[i];
}

/*
 * The stages `stages` (PH_STAGE_…) of one time step, of a call's first if `first`, with `rest` of it behind it; with
 * Runge-Kutta's integrator of its pass `turn`. left [LEFT_SIZE]; kept, lists: of a processor's worlds and groups of
 * lanes; the rest as in k_native_step. On a GPU PH_STAGES says which stages are in the code.
 */
world_kernel void k_native_stages(const int *tables, const ureal *reals, const real *own, const lint *stepped,
                                  treal *near, treal *memory, tint *ints, real *kept, int *lists, lint *left,
                                  real *qpos, real *qvel, real *act, real *history, real *ctrl, real *qfrc_applied,
                                  real *xfrc_applied, real *mocap_pos, real *mocap_quat, real *warm, real *eq_active,
                                  real *sensordata, const real *clock, lint *fault, lint *ticks, lint *most, lint *owed,
                                  int stages, int turn, int first, int rest, int world)
{
    ph_world w = {tables, reals, own, memory, ints};
    mask on = m_andnot(ph_is_flagged(stepped[0]), ph_is_flagged(owed[0]));
    each (i, 0) near[i] = splat(0); /* PH_AT writes it */
    if (!any(on)) return;
#ifdef PH_STAGES
    int run = PH_STAGES;
#else
    int run = stages;
#endif
    int autoreset = !(model_flags(w) & PH_NO_AUTORESET), nturn = integrator(w) == PH_RK4 ? 4 : 1;
    int last = rest == 0, extra = ph_step_extra(w, turn, last);
    lint found = left[LEFT_FOUND], wanted[1];
    mask bad = ph_is_flagged(left[LEFT_BAD]), wild = ph_is_flagged(left[LEFT_WILD]);
    mask reset = ph_is_flagged(left[LEFT_RESET]);
    wanted[0] = most[0];
    ph_move_memory(w, kept, lists + (i64)(world / STET_W) * nints(w), 0);
    real begin = ph_begin_time(w, clock, fault[0]);
    if (run & PH_STAGE_BEGIN && turn > 0) {
        ph_stage_state(w, turn);
        if (nhistory(w) > 0) bad = ph_take_controls(w, turn);
    }
    if (run & PH_STAGE_BEGIN && turn == 0) {
        if (first) {
            ph_take_history(w, history);
            ph_inputs inputs = {qpos,         qvel,      act,        ctrl, qfrc_applied,
                                xfrc_applied, mocap_pos, mocap_quat, warm, eq_active};
            ph_take(w, inputs);
        }
        mask lost = m_and(on, ph_any_bad(qpos(w), nq(w)));
        if (autoreset && any(lost)) ph_reset(w, lost);
        mask fast = m_and(on, ph_any_bad(qvel(w), nv(w)));
        if (autoreset && any(fast)) ph_reset(w, fast);
        bad = ph_take_controls(w, 0);
        wild = m_none();
        reset = m_or(lost, fast);
        found = (ph_fault(lost, PH_BAD_QPOS) | ph_fault(fast, PH_BAD_QVEL)) | ph_fault(bad, PH_BAD_CTRL);
    }
    if (run & PH_STAGE_BEGIN) ph_put_time(w, begin, ticks[0], autoreset ? reset : m_none(), turn);
    lint full = isplat(0);
    if (run & PH_STAGES_FORWARD)
        full = ph_forward(w, run & PH_STAGES_FORWARD, on, bad, step_ngeom(w), step_nsite(w), extra, 1, wanted);
    found = found | full;
    lint lacks = isplat(holds_worlds(w) ? PH_CONTACTS_FULL : 0);
    if (run & PH_STAGE_SOLVE && turn == 0)
        wild = m_and(m_andnot(on, ph_is_flagged(found & lacks)), ph_any_bad(qacc(w), nv(w)));
    int again = turn == 0 && autoreset && any(wild);
    if (run & PH_STAGE_AGAIN && again) {
        ph_reset(w, wild);
        bad = ph_take_controls(w, 0);
        found = iselect(wild, isplat(0), found);
        ph_put_time(w, begin, ticks[0], m_or(reset, wild), turn);
        full = ph_forward(w, PH_STAGES_FORWARD, on, bad, step_ngeom(w), step_nsite(w), extra, 0, wanted);
        found = found | full;
    }
    int ends = run & (again ? PH_STAGE_AGAIN : PH_STAGE_END);
    if (run & PH_STAGE_END) align_teams();
    if (ends && nturn > 1) ph_stage_add(w, turn);
    if (ends && turn == nturn - 1) {
        mask held = m_and(on, ph_is_flagged(found & lacks)), goes = m_andnot(on, held);
        found = (found & ~lacks) | ph_fault(wild, PH_BAD_QACC);
        mask gone = autoreset ? m_and(on, m_or(reset, wild)) : m_none();
        if (any(held)) {
            if (nturn > 1) ph_stage_back(w);
            PH_PUT_MOVED(held);
            sync();
        }
        if (nhistory(w) > 0) ph_keep_history(w);
        ph_integrate(w);
        each (d, nv(w)) qacc_warmstart(w)[d] = qacc(w)[d];
        sync();
        if (last) {
            PH_PUT_MOVED(goes);
            PH_PUT_SENSORS(goes);
        }
        if (any(gone)) ph_reset_inputs(w, gone, ctrl, qfrc_applied, xfrc_applied, mocap_pos, mocap_quat, eq_active);
        found = found | ph_fault(gone, PH_WAS_RESET);
        each (i, 1) {
            fault[i] = fault[i] | iselect(on, found, isplat(0));
            ticks[i] = iselect(on, iselect(gone, isplat(0), ticks[i]) + iselect(goes, isplat(1), isplat(0)), ticks[i]);
            owed[i] = iselect(held, isplat(rest + 1), owed[i]);
        }
    }
    ph_move_memory(w, kept, lists + (i64)(world / STET_W) * nints(w), 1);
    sync(); /* all threads of the team have read what was left */
    each (i, 1) {
        left[i + LEFT_FOUND] = found;
        left[i + LEFT_BAD] = ph_flag(bad);
        left[i + LEFT_RESET] = ph_flag(reset);
        left[i + LEFT_WILD] = ph_flag(wild);
        most[i] = wanted[i];
    }
}
