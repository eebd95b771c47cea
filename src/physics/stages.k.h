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

#include "physics/forward.k.h"

LFN lint ph_flag(mask where) { return iselect(where, isplat(1), isplat(0)); }
LFN mask ph_is_flagged(lint flag) { return m_not(ieq(flag, isplat(0))); }

/* Memory of worlds and lists of a group of lanes come to a thread of a processor, or (back) go from it. */
LFN void ph_move_memory(const int *m, real *w, int *s, real *kept, int *lists, int back)
{
    int size = m[m[M_STEP_EXTRA] & PH_EXTRA_BEHIND ? M_NMEMORY_ALL : M_NMEMORY];
    if (STET_GPU) return;
    each (i, back ? size : 0) put(kept, i, w[i]);
    each (i, back ? 0 : size) w[i] = kept[i];
    each (i, back ? m[M_NINTS] : 0) lists[i] = s[i];
    each (i, back ? 0 : m[M_NINTS]) s[i] = lists[i];
}

/*
 * The stages `stages` (PH_STAGE_…) of one time step, of a call's first if `first`, with `rest` of it behind it; with
 * Runge-Kutta's integrator of its pass `turn`. left [LEFT_SIZE]; kept, lists: of a processor's worlds and groups of
 * lanes; the rest as in k_native_step. On a GPU PH_STAGES says which stages are in the code.
 */
world_kernel void k_native_stages(const int *tables, const ureal *f, const real *v, const lint *stepped, treal *near,
                                  treal *w, tint *s, real *kept, int *lists, lint *left, real *qpos, real *qvel,
                                  real *act, real *ctrl, real *qfrc_applied, real *xfrc_applied, real *mocap_pos,
                                  real *mocap_quat, real *warm, real *eq_active, real *sensordata, const real *clock,
                                  lint *fault, lint *ticks, lint *most, lint *owed, int stages, int turn, int first,
                                  int rest, int world)
{
    const int *m = PH_TABLES(tables);
    mask on = m_andnot(ph_is_flagged(stepped[0]), ph_is_flagged(owed[0]));
    each (i, 0) near[i] = splat(0); /* PH_AT writes it */
    if (!any(on)) return;
#ifdef PH_STAGES
    int run = PH_STAGES;
#else
    int run = stages;
#endif
    int autoreset = !(m[M_FLAGS] & PH_NO_AUTORESET), nturn = m[M_INTEGRATOR] == PH_RK4 ? 4 : 1;
    int last = rest == 0, extra = turn == 0 && last ? m[M_STEP_EXTRA] : 0;
    lint found = left[LEFT_FOUND], wanted[1];
    mask bad = ph_is_flagged(left[LEFT_BAD]), wild = ph_is_flagged(left[LEFT_WILD]);
    mask reset = ph_is_flagged(left[LEFT_RESET]);
    wanted[0] = most[0];
    ph_move_memory(m, w, s, kept, lists + (i64)(world / STET_W) * m[M_NINTS], 0);
    real begin = ph_begin_time(m, clock, fault[0]);
    if (run & PH_STAGE_BEGIN && turn > 0) ph_stage_state(m, f, v, w, turn);
    if (run & PH_STAGE_BEGIN && turn == 0) {
        if (first)
            ph_take(m, w, qpos, qvel, act, ctrl, qfrc_applied, xfrc_applied, mocap_pos, mocap_quat, warm, eq_active);
        mask lost = m_and(on, ph_any_bad(PH_AT(W_QPOS), m[M_NQ]));
        if (autoreset && any(lost)) ph_reset(m, f, v, w, lost);
        mask fast = m_and(on, ph_any_bad(PH_AT(W_QVEL), m[M_NV]));
        if (autoreset && any(fast)) ph_reset(m, f, v, w, fast);
        bad = ph_bad_controls(m, f, v, w);
        wild = m_none();
        reset = m_or(lost, fast);
        found = (ph_fault(lost, PH_BAD_QPOS) | ph_fault(fast, PH_BAD_QVEL)) | ph_fault(bad, PH_BAD_CTRL);
    }
    if (run & PH_STAGE_BEGIN) ph_put_time(m, f, v, w, begin, ticks[0], autoreset ? reset : m_none(), turn);
    lint full = isplat(0);
    if (run & PH_STAGES_FORWARD)
        full = ph_forward(m, f, v, w, s, run & PH_STAGES_FORWARD, on, bad, m[M_STEP_NGEOM], m[M_STEP_NSITE], extra, 1,
                          wanted);
    found = found | full;
    lint lacks = isplat(m[M_HOLDS] ? PH_CONTACTS_FULL : 0);
    if (run & PH_STAGE_SOLVE && turn == 0)
        wild = m_and(m_andnot(on, ph_is_flagged(found & lacks)), ph_any_bad(PH_AT(W_QACC), m[M_NV]));
    int again = turn == 0 && autoreset && any(wild);
    if (run & PH_STAGE_AGAIN && again) {
        ph_reset(m, f, v, w, wild);
        bad = m_andnot(bad, wild);
        found = iselect(wild, isplat(0), found);
        ph_put_time(m, f, v, w, begin, ticks[0], m_or(reset, wild), turn);
        full =
            ph_forward(m, f, v, w, s, PH_STAGES_FORWARD, on, bad, m[M_STEP_NGEOM], m[M_STEP_NSITE], extra, 0, wanted);
        found = found | full;
    }
    int ends = run & (again ? PH_STAGE_AGAIN : PH_STAGE_END);
    if (run & PH_STAGE_END) align_teams();
    if (ends && nturn > 1) ph_stage_add(m, w, turn);
    if (ends && turn == nturn - 1) {
        mask held = m_and(on, ph_is_flagged(found & lacks)), goes = m_andnot(on, held);
        found = (found & ~lacks) | ph_fault(wild, PH_BAD_QACC);
        mask gone = autoreset ? m_and(on, m_or(reset, wild)) : m_none();
        if (any(held)) {
            if (nturn > 1) ph_stage_back(m, w);
            PH_PUT_MOVED(held);
            sync();
        }
        ph_integrate(m, f, v, w);
        each (d, m[M_NV]) PH_AT(W_QACC_WARMSTART)[d] = PH_AT(W_QACC)[d];
        sync();
        if (last) {
            PH_PUT_MOVED(goes);
            PH_PUT_SENSORS(goes);
        }
        if (any(gone)) ph_reset_inputs(m, w, gone, ctrl, qfrc_applied, xfrc_applied, mocap_pos, mocap_quat, eq_active);
        found = found | ph_fault(gone, PH_WAS_RESET);
        each (i, 1) {
            fault[i] = fault[i] | iselect(on, found, isplat(0));
            ticks[i] = iselect(on, iselect(gone, isplat(0), ticks[i]) + iselect(goes, isplat(1), isplat(0)), ticks[i]);
            owed[i] = iselect(held, isplat(rest + 1), owed[i]);
        }
    }
    ph_move_memory(m, w, s, kept, lists + (i64)(world / STET_W) * m[M_NINTS], 1);
    sync(); /* all threads of the team have read what was left */
    each (i, 1) {
        left[i + LEFT_FOUND] = found;
        left[i + LEFT_BAD] = ph_flag(bad);
        left[i + LEFT_RESET] = ph_flag(reset);
        left[i + LEFT_WILD] = ph_flag(wild);
        most[i] = wanted[i];
    }
}
