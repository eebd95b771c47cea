/* Actuators as tables; see actuators.h. */
#include "physics/actuators.h"

#include "physics/layout.k.h"

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
    return m->actuator_trntype[i] == mjTRN_SITE || m->actuator_trntype[i] == mjTRN_SLIDERCRANK;
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

/* The dofs that actuator i moves, in the order of its moment; returns how many. */
static int moment_columns(const mjModel *m, int i, int *out)
{
    int id = m->actuator_trnid[2 * i], n = 0;
    if (is_on_site(m, i)) return site_columns(m, i, out, NULL);
    if (m->actuator_trntype[i] == mjTRN_BODY) return 0; /* those of its contacts */
    if (m->actuator_trntype[i] == mjTRN_TENDON) {
        for (n = 0; n < m->ten_J_rownnz[id]; ++n)
            if (out) out[n] = m->ten_J_colind[m->ten_J_rowadr[id] + n];
        return n;
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
    for (int i = 0; side && i < m->nactuator && sti_physics_count_site_actuators(m) > 0; ++i) {
        if (is_on_site(m, i)) site_columns(m, i, NULL, side + k);
        k += moment_columns(m, i, NULL);
    }
}

void sti_physics_put_moments(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    int all = 0, k = 0;
    for (int i = 0; i < m->nactuator; ++i) all += moment_columns(m, i, NULL);
    sti_physics_fill(b, M_NMOMENT, all);
    int *col = sti_physics_new_table(b, M_MOMENT_COLIND, all);
    for (int i = 0; col && i < m->nactuator; ++i) k += moment_columns(m, i, col + k);
    int *adr = sti_physics_new_table(b, M_MOMENT_ROWADR, m->nactuator + 1);
    for (int i = 0; adr && i < m->nactuator; ++i) adr[i + 1] = adr[i] + moment_columns(m, i, NULL);
    int *id = sti_physics_new_table(b, M_ACT_TRNID, m->nactuator);
    for (int i = 0; id && i < m->nactuator; ++i) id[i] = m->actuator_trnid[2 * i];
    int *ref = sti_physics_new_table(b, M_ACT_REFID, m->nactuator);
    for (int i = 0; ref && i < m->nactuator; ++i) ref[i] = is_on_site(m, i) ? m->actuator_trnid[2 * i + 1] : -1;
    int *act = sti_physics_new_table(b, M_ACT_ACTADR, m->nactuator);
    for (int i = 0; act && i < m->nactuator; ++i)
        act[i] = m->actuator_actnum[i] > 0 ? m->actuator_actadr[i] + m->actuator_actnum[i] - 1 : -1;
    put_sides(b, all);
}
