/* Actuators as tables; see actuators.h. */
#include "physics/dynamics/actuators.h"

#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"
#include "physics/model/known_plugins.h"

#include <string.h>

int sti_physics_count_muscles(const mjModel *m)
{
    int n = 0;
    for (int i = 0; i < m->nactuator; ++i)
        n += m->actuator_dyntype[i] == mjDYN_MUSCLE || m->actuator_gaintype[i] == mjGAIN_MUSCLE ||
             m->actuator_biastype[i] == mjBIAS_MUSCLE;
    return n;
}

static bool is_on_site(const mjModel *m, int i)
{
    return m->actuator_trntype[i] == mjTRN_SITE || m->actuator_trntype[i] == mjTRN_SLIDERCRANK ||
           (m->actuator_trntype[i] == mjTRN_SO3 && m->actuator_trnid[2 * i + 1] >= 0);
}

int sti_physics_count_site_actuators(const mjModel *m)
{
    int n = 0;
    for (int i = 0; i < m->nactuator; ++i) n += is_on_site(m, i);
    return n;
}

int sti_physics_count_adhesion(const mjModel *m)
{
    int n = 0;
    for (int i = 0; i < m->nactuator; ++i) n += m->actuator_trntype[i] == mjTRN_BODY;
    return n;
}

int sti_physics_count_motors(const mjModel *m)
{
    int n = 0;
    for (int i = 0; i < m->nactuator; ++i)
        n += m->actuator_gaintype[i] == mjGAIN_DCMOTOR || m->actuator_gaintype[i] == mjGAIN_PID;
    return n;
}

int sti_physics_count_orientations(const mjModel *m)
{
    int n = 0;
    for (int i = 0; i < m->nactuator; ++i) n += m->actuator_trntype[i] == mjTRN_SO3;
    return n;
}

static bool has_quat_control(const mjModel *m, int i)
{
    return m->actuator_gaintype[i] == mjGAIN_SO3 && m->actuator_ctrlspec[i] == mjCHART_QUAT;
}

int sti_physics_count_quat_controls(const mjModel *m)
{
    int n = 0;
    for (int i = 0; i < m->nactuator; ++i) n += has_quat_control(m, i);
    return n;
}

int sti_physics_actuator_of(const mjModel *m, int out)
{
    int low = 0, high = (int)m->nactuator - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (m->actuator_outadr[middle] <= out)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* ---- damping and armature ---------------------------------------------------------------------------------------- */

/* Is actuator i on joint or tendon `id`, as a dof's or a tendon's? */
static bool is_on(const mjModel *m, int i, bool tendon, int id)
{
    int type = m->actuator_trntype[i];
    bool fits = tendon ? type == mjTRN_TENDON : type == mjTRN_JOINT || type == mjTRN_JOINTINPARENT;
    return fits && m->actuator_trnid[2 * i] == id;
}

/* The square of the gear of an actuator with one output. */
static double gear_squared(const mjModel *m, int i)
{
    double gear = m->actuator_gear[6 * m->actuator_outadr[i]];
    return gear * gear;
}

double sti_physics_damping(const mjModel *m, bool tendon, int id, double *poly)
{
    int of = tendon ? id : m->dof_jntid[id];
    bool some = (tendon ? m->tendon_actuatorid[of] : m->jnt_actuatorid[of]) != -1;
    double damping = tendon ? m->tendon_damping[id] : m->dof_damping[id];
    memcpy(poly, (tendon ? m->tendon_dampingpoly : m->dof_dampingpoly) + (ptrdiff_t)mjNPOLY * id,
           mjNPOLY * sizeof *poly);
    for (int i = 0; some && i < m->nactuator; ++i) {
        if (!is_on(m, i, tendon, of)) continue;
        damping += m->actuator_damping[i] * gear_squared(m, i);
        for (int k = 0; k < mjNPOLY; ++k) poly[k] += m->actuator_dampingpoly[mjNPOLY * i + k] * gear_squared(m, i);
    }
    return damping;
}

double sti_physics_armature(const mjModel *m, bool tendon, int id)
{
    int of = tendon ? id : m->dof_jntid[id];
    bool some = (tendon ? m->tendon_actuatorid[of] : m->jnt_actuatorid[of]) != -1;
    double armature = tendon ? m->tendon_armature[id] : m->dof_armature[id];
    for (int i = 0; some && i < m->nactuator; ++i)
        if (is_on(m, i, tendon, of)) armature += m->actuator_armature[i] * gear_squared(m, i);
    return armature;
}

void sti_physics_put_damping(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    for (int tendon = 0; tendon < 2; ++tendon) {
        int n = (int)(tendon ? m->ntendon : m->nv);
        double poly[mjNPOLY], *damping = sti_physics_new_parameter(b, tendon ? M_TEN_DAMPING : M_DOF_DAMPING, n);
        for (int i = 0; damping && i < n; ++i) damping[i] = sti_physics_damping(m, tendon, i, poly);
        double *others = sti_physics_new_parameter(b, tendon ? M_TEN_DAMPINGPOLY : M_DOF_DAMPINGPOLY, 2 * (int64_t)n);
        for (int i = 0; others && i < n; ++i) {
            (void)sti_physics_damping(m, tendon, i, poly);
            memcpy(others + (ptrdiff_t)2 * i, poly, 2 * sizeof *poly);
        }
        double *armature = sti_physics_new_parameter(b, tendon ? M_TEN_ARMATURE : M_DOF_ARMATURE, n);
        for (int i = 0; armature && i < n; ++i) armature[i] = sti_physics_armature(m, tendon, i);
    }
}

/* ---- controls and activations ------------------------------------------------------------------------------------ */

static void put_controls(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    bool clamps = !(m->opt.disableflags & mjDSBL_CLAMPCTRL);
    int k = 0, *limited = sti_physics_new_table(b, M_CTRL_LIMITED, m->nu);
    for (int i = 0; limited && i < m->nu; ++i) limited[i] = m->actuator_ctrllimited[i] ? clamps ? 3 : 2 : 0;
    int *quat = sti_physics_new_table(b, M_QUATCTRL, sti_physics_count_quat_controls(m));
    for (int i = 0; quat && i < m->nactuator; ++i)
        if (has_quat_control(m, i)) quat[k++] = m->actuator_ctrladr[i];
}

/* Which activations a motor has follows from its parameters. */
static void fill_slots(const mjModel *m, int i, int *slot)
{
    const mjtNum *dyn = m->actuator_dynprm + mjNDYN * i, *gain = m->actuator_gainprm + mjNGAIN * i;
    bool motor = m->actuator_gaintype[i] == mjGAIN_DCMOTOR, pid = m->actuator_dyntype[i] == mjDYN_PID;
    bool has[PH_MOTOR_SLOTS] = {motor ? dyn[7] > 0 : pid && dyn[1] > 0, motor ? gain[5] > 0 : pid && gain[0] > 0,
                                motor && dyn[2] > 0, motor && dyn[5] > 0, motor && dyn[0] > 0};
    int at = m->actuator_actadr[i];
    if (sti_physics_is_plugin_pid(m, i)) { /* in its own order */
        for (int k = 0; k < PH_MOTOR_SLOTS; ++k) slot[k] = -1;
        if (sti_physics_plugin_integrates(m, i)) slot[PH_INTEGRAL] = at++;
        if (sti_physics_plugin_slews(m, i)) slot[PH_SLEW] = at;
        return;
    }
    for (int k = 0; k < PH_MOTOR_SLOTS; ++k) slot[k] = has[k] ? at++ : -1;
}

static void put_slots(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    bool any = sti_physics_count_motors(m) + sti_physics_count_plugin_pids(m) > 0;
    int *slot = sti_physics_new_table(b, M_ACT_SLOT, any ? PH_MOTOR_SLOTS * m->nactuator : 0);
    for (int i = 0; slot && any && i < m->nactuator; ++i) fill_slots(m, i, slot + (ptrdiff_t)PH_MOTOR_SLOTS * i);
}

/* ---- moments ----------------------------------------------------------------------------------------------------- */

/* Does dof d move this body, or one that it hangs on? */
static bool moves(const mjModel *m, int d, int body)
{
    for (; body > 0; body = m->body_parentid[body])
        if (m->dof_bodyid[d] == body) return true;
    return false;
}

/* The dofs that move one of the two sites of actuator i, but not both; how many. side: 1, the first, -1: the other. */
static int site_columns(const mjModel *m, int i, int *out, int *side)
{
    int ref = m->actuator_trnid[2 * i + 1], n = 0;
    int one = m->site_bodyid[m->actuator_trnid[2 * i]], two = ref < 0 ? 0 : m->site_bodyid[ref];
    for (int d = 0; d < m->nv; ++d) {
        bool first = moves(m, d, one);
        if (first == moves(m, d, two)) continue;
        if (out) out[n] = d;
        if (side) side[n] = first ? 1 : -1;
        ++n;
    }
    return n;
}

/* The dofs that output o of an actuator moves, in the order of its moment; returns how many. */
static int moment_columns(const mjModel *m, int o, int *out)
{
    int i = sti_physics_actuator_of(m, o), id = m->actuator_trnid[2 * i], n = 0;
    if (is_on_site(m, i)) return site_columns(m, i, out, NULL);
    if (m->actuator_trntype[i] == mjTRN_BODY) return 0; /* those of its contacts */
    if (m->actuator_trntype[i] == mjTRN_TENDON) {
        for (n = 0; n < m->ten_J_rownnz[id]; ++n)
            if (out) out[n] = m->ten_J_colind[m->ten_J_rowadr[id] + n];
        return n;
    }
    if (m->actuator_trntype[i] == mjTRN_SO3) { /* an axis of a ball joint */
        if (out) out[0] = m->jnt_dofadr[id] + o - m->actuator_outadr[i];
        return 1;
    }
    int all = m->jnt_type[id] == mjJNT_FREE ? 6 : m->jnt_type[id] == mjJNT_BALL ? 3 : 1;
    for (n = 0; n < all; ++n)
        if (out) out[n] = m->jnt_dofadr[id] + n;
    return n;
}

static void put_sides(sti_tables_builder *b, int all)
{
    const mjModel *m = b->model;
    int k = 0, *side = sti_physics_new_table(b, M_MOMENT_SIDE, sti_physics_count_site_actuators(m) > 0 ? all : 0);
    for (int o = 0; side && o < m->nout && sti_physics_count_site_actuators(m) > 0; ++o) {
        int i = sti_physics_actuator_of(m, o);
        if (is_on_site(m, i)) site_columns(m, i, NULL, side + k);
        k += moment_columns(m, o, NULL);
    }
}

void sti_physics_put_moments(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    int all = 0, k = 0;
    for (int o = 0; o < m->nout; ++o) all += moment_columns(m, o, NULL);
    sti_physics_fill(b, M_NMOMENT, all);
    int *col = sti_physics_new_table(b, M_MOMENT_COLIND, all);
    for (int o = 0; col && o < m->nout; ++o) k += moment_columns(m, o, col + k);
    int *adr = sti_physics_new_table(b, M_MOMENT_ROWADR, m->nout + 1);
    for (int o = 0; adr && o < m->nout; ++o) adr[o + 1] = adr[o] + moment_columns(m, o, NULL);
    int *id = sti_physics_new_table(b, M_ACT_TRNID, m->nactuator);
    for (int i = 0; id && i < m->nactuator; ++i) id[i] = m->actuator_trnid[2 * i];
    int *ref = sti_physics_new_table(b, M_ACT_REFID, m->nactuator);
    for (int i = 0; ref && i < m->nactuator; ++i) ref[i] = is_on_site(m, i) ? m->actuator_trnid[2 * i + 1] : -1;
    int *act = sti_physics_new_table(b, M_ACT_ACTADR, m->nactuator);
    for (int i = 0; act && i < m->nactuator; ++i)
        act[i] = m->actuator_actnum[i] > 0 ? m->actuator_actadr[i] + m->actuator_actnum[i] - 1 : -1;
    put_sides(b, all);
    put_controls(b);
    put_slots(b);
}
