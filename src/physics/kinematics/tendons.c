/* Tables of tendons; see tendons.h. */
#include "physics/kinematics/tendons.h"

#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"

#include <math.h>

static bool is_spatial(const mjModel *m, int64_t t)
{
    return m->tendon_num[t] > 0 && m->wrap_type[m->tendon_adr[t]] != mjWRAP_JOINT;
}

/* Where a walk along a path is: the wraps at which the present link begins and ends, and its pulley's divisor. */
typedef struct walk {
    int from, to;
    double divisor;
} walk;

/* The next link of tendon t; begins with to < 0. */
static bool next_link(const mjModel *m, int64_t t, walk *k)
{
    int begin = m->tendon_adr[t], end = begin + (is_spatial(m, t) ? m->tendon_num[t] : 0);
    if (k->to < 0) *k = (walk){begin, begin, 1};
    for (k->from = k->to; k->from + 1 < end; k->from++) {
        if (m->wrap_type[k->from] == mjWRAP_PULLEY) {
            k->divisor = m->wrap_prm[k->from];
        } else if (m->wrap_type[k->from + 1] != mjWRAP_PULLEY) {
            k->to = k->from + (m->wrap_type[k->from + 1] == mjWRAP_SITE ? 1 : 2);
            return true;
        }
    }
    return false;
}

static int count_links(const mjModel *m, int64_t t)
{
    int n = 0;
    for (walk k = {.to = -1}; next_link(m, t, &k);) ++n;
    return n;
}

int sti_physics_count_links(const mjModel *m)
{
    int n = 0;
    for (int64_t t = 0; t < m->ntendon; ++t) n += count_links(m, t);
    return n;
}

static void put_link(const mjModel *m, const walk *k, int *row)
{
    bool wraps = k->to - k->from == 2;
    row[LK_FROM] = m->wrap_objid[k->from];
    row[LK_TO] = m->wrap_objid[k->to];
    row[LK_GEOM] = wraps ? m->wrap_objid[k->from + 1] : -1;
    row[LK_SIDE] = wraps ? (int)lrint(m->wrap_prm[k->from + 1]) : -1;
    row[LK_SPHERE] = wraps && m->wrap_type[k->from + 1] == mjWRAP_SPHERE;
}

static void put_links(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    int *adr = sti_physics_new_table(b, M_TEN_LINK_ADR, m->ntendon + 1), n = 0;
    for (int64_t t = 0; adr && t < m->ntendon; ++t) adr[t + 1] = adr[t] + count_links(m, t);
    int *row = sti_physics_new_table(b, M_LINK, (int64_t)LK_SIZE * sti_physics_count_links(m));
    double *scale = sti_physics_new_parameter(b, M_LINK_SCALE, sti_physics_count_links(m));
    for (int64_t t = 0; row && scale && t < m->ntendon; ++t)
        for (walk k = {.to = -1}; next_link(m, t, &k); ++n) {
            put_link(m, &k, row + (ptrdiff_t)LK_SIZE * n);
            scale[n] = 1 / k.divisor;
        }
}

/* ---- what an entry of ten_J is made of --------------------------------------------------------------------------- */

static bool moves(const mjModel *m, int dof, int body)
{
    while (body > 0 && body != m->dof_bodyid[dof]) body = m->body_parentid[body];
    return body > 0;
}

/* Which of the forces of link l dof d feels: bits. Those on all that the link touches come to nothing together. */
static int felt(const mjModel *m, const int *row, int d)
{
    int bits = moves(m, d, m->site_bodyid[row[LK_FROM]]) ? 1 : 0, all = row[LK_GEOM] < 0 ? 5 : 7;
    if (row[LK_GEOM] >= 0 && moves(m, d, m->geom_bodyid[row[LK_GEOM]])) bits |= 2;
    if (moves(m, d, m->site_bodyid[row[LK_TO]])) bits |= 4;
    return bits == all ? 0 : bits;
}

/* The forces that entry e of tendon t is made of, into out if it is not NULL; how many. */
static int find_pulls(const sti_tables_builder *b, int64_t t, int e, int *out)
{
    const mjModel *m = b->model;
    const int *adr = b->t->m + b->t->m[M_TEN_LINK_ADR], *link = b->t->m + b->t->m[M_LINK];
    int n = 0;
    for (int l = adr[t]; l < adr[t + 1]; ++l) {
        int bits = felt(m, link + (ptrdiff_t)LK_SIZE * l, m->ten_J_colind[e]);
        for (int k = 0; k < 3; ++k) {
            if (!(bits >> k & 1)) continue;
            if (out) out[n] = 3 * l + k;
            ++n;
        }
    }
    return n;
}

static void put_pulls(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    bool any = b->t->m[M_NLINK] > 0;
    int n = 0, all = 0;
    int *adr = sti_physics_new_table(b, M_TEN_PULL_ADR, any ? m->nJten + 1 : 0);
    for (int64_t t = 0; any && adr && t < m->ntendon; ++t)
        for (int e = m->ten_J_rowadr[t]; e < m->ten_J_rowadr[t] + m->ten_J_rownnz[t]; ++e)
            all = adr[e + 1] = all + find_pulls(b, t, e, NULL);
    int *pull = sti_physics_new_table(b, M_TEN_PULL, all);
    for (int64_t t = 0; pull && t < m->ntendon; ++t)
        for (int e = m->ten_J_rowadr[t]; e < m->ten_J_rowadr[t] + m->ten_J_rownnz[t]; ++e)
            n += find_pulls(b, t, e, pull + n);
}

/* ---- fixed tendons ----------------------------------------------------------------------------------------------- */

/* The joint of tendon t that moves a dof, and the coefficient; MuJoCo's compiler lets a joint occur once. */
static int find_wrap(const mjModel *m, int64_t t, int dof)
{
    for (int k = m->tendon_adr[t]; k < m->tendon_adr[t] + m->tendon_num[t]; ++k)
        if (m->jnt_dofadr[m->wrap_objid[k]] == dof) return k;
    return -1;
}

static void put_fixed(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    int *adr = sti_physics_new_table(b, M_TEN_J_ROWADR, m->ntendon + 1), *at;
    for (int64_t t = 0; adr && t < m->ntendon; ++t) adr[t + 1] = adr[t] + m->ten_J_rownnz[t];
    at = sti_physics_new_table(b, M_TEN_J_QPOS, m->nJten);
    double *coef = sti_physics_new_parameter(b, M_TEN_COEF, m->nJten);
    for (int64_t t = 0; at && coef && t < m->ntendon; ++t)
        for (int e = m->ten_J_rowadr[t]; !is_spatial(m, t) && e < m->ten_J_rowadr[t] + m->ten_J_rownnz[t]; ++e) {
            int k = find_wrap(m, t, m->ten_J_colind[e]);
            at[e] = m->jnt_qposadr[m->wrap_objid[k]];
            coef[e] = m->wrap_prm[k];
        }
}

void sti_physics_put_tendons(sti_tables_builder *b)
{
    put_fixed(b);
    put_links(b);
    if (b->result == STET_OK) put_pulls(b);
}
