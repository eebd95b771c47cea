/* The dofs of blocks; see moved.h. */
#include "physics/contact/moved.h"

#include "physics/model/layout.k.h"

int sti_physics_last_dof(const mjModel *m, int body)
{
    while (body > 0 && m->body_dofnum[body] == 0) body = m->body_parentid[body];
    return body > 0 ? m->body_dofadr[body] + m->body_dofnum[body] - 1 : -1;
}

/* A dof and those above it, ascending, into out; how many. */
static int list_chain(const mjModel *m, int last, int *out)
{
    int n = 0;
    for (int d = last; d >= 0; d = m->dof_parentid[d]) n++;
    for (int d = last, i = n; d >= 0; d = m->dof_parentid[d]) out[--i] = d;
    return n;
}

/* The dofs of one side of a block that is no pair of geoms, ascending, into out; how many. */
static int list_side(const mjModel *m, const sti_block *k, int side, int *out)
{
    int id = k->kind == PH_EQUALITY ? k->obj[side] : side == 0 ? k->id : -1, n = 0;
    if (id < 0) return 0;
    switch (k->type) {
    case PH_EQ_CONNECT:
    case PH_EQ_WELD: return list_chain(m, sti_physics_last_dof(m, id), out);
    case PH_EQ_JOINT:
    case PH_LIMIT_JOINT: out[0] = m->jnt_dofadr[id]; return 1;
    case PH_LIMIT_BALL:
        for (; n < 3; ++n) out[n] = m->jnt_dofadr[id] + n;
        return n;
    case PH_LOSS_DOF: out[0] = id; return 1;
    default:
        for (; n < m->ten_J_rownnz[id]; ++n) out[n] = m->ten_J_colind[m->ten_J_rowadr[id] + n];
        return n;
    }
}

/* Two ascending lists as one of pairs; `both`: with what is in both. */
static int merge_sides(const int *one, int none, const int *two, int ntwo, bool both, int *out)
{
    int n = 0, i = 0, j = 0;
    while (i < none || j < ntwo) {
        int first = j == ntwo || (i < none && one[i] <= two[j]), second = i == none || (j < ntwo && two[j] <= one[i]);
        if (both || !first || !second) {
            out[2 * n] = first ? one[i] : two[j];
            out[2 * n++ + 1] = (first ? 1 : 0) + (second ? 2 : 0);
        }
        i += first;
        j += second;
    }
    return n;
}

int sti_physics_list_bodies(const mjModel *m, sti_moved_bodies bodies, int *scratch, int *out)
{
    int *two = scratch + m->nv, none = list_chain(m, bodies.last[0], scratch);
    return merge_sides(scratch, none, two, list_chain(m, bodies.last[1], two), false, out);
}

int sti_physics_list_block(const mjModel *m, const sti_block *k, int *scratch, int *out)
{
    int *two = scratch + m->nv, none = list_side(m, k, 0, scratch);
    return merge_sides(scratch, none, two, list_side(m, k, 1, two), true, out);
}
