/*
 * Groups of pairs; see groups.h. A part of a model is a body, or one geom of what cannot move: that may be as large as
 * the scene. A part's place is that of one of its geoms, a group's reach holds for all of its pairs.
 */
#include "physics/contact/groups.h"

#include "base/memory.h"
#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { LEAST = 4 }; /* pairs of a group: fewer are looked at one by one */

/* A pair by the parts that its geoms belong to, the lower one first; key -1: it is in no group. */
typedef struct member {
    int64_t key;
    int pair;
} member;

static int part_of(const mjModel *m, int g)
{
    int body = m->geom_bodyid[g];
    return m->body_weldid[body] == 0 ? (int)m->nbody + g : body;
}

static member find_member(const mjModel *m, const int *block, int pair)
{
    int a = block[B_OBJ1], b = block[B_OBJ2], p = part_of(m, a), q = part_of(m, b);
    if (m->geom_type[a] <= mjGEOM_HFIELD) return (member){-1, pair};
    return (member){((int64_t)(p < q ? p : q) << 32) + (p < q ? q : p), pair};
}

static int compare_members(const void *a, const void *b)
{
    const member *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->pair > y->pair) - (x->pair < y->pair);
}

static double distance(const double *p, const double *q)
{
    return sqrt((p[0] - q[0]) * (p[0] - q[0]) + (p[1] - q[1]) * (p[1] - q[1]) + (p[2] - q[2]) * (p[2] - q[2]));
}

int sti_physics_central_geom(const mjModel *m, int body)
{
    int first = m->body_geomadr[body], n = m->body_geomnum[body], best = first;
    assert(body >= 0 && body < m->nbody && n > 0 && "a body with geoms");
    double least = INFINITY;
    for (int g = first; g < first + n; ++g) {
        double radius = 0;
        for (int o = first; o < first + n; ++o)
            if (m->geom_contype[o] || m->geom_conaffinity[o])
                radius = fmax(radius, distance(m->geom_pos + 3 * g, m->geom_pos + 3 * o) + m->geom_rbound[o]);
        if (radius < least) best = g;
        if (radius < least) least = radius;
    }
    return best;
}

static int central_geom(const mjModel *m, int part)
{
    return part >= m->nbody ? part - (int)m->nbody : sti_physics_central_geom(m, part);
}

static int count_equal(const member *all, int i, int n)
{
    int k = i + 1;
    while (k < n && all[k].key == all[i].key) ++k;
    return k - i;
}

/* Numbers of pairs' groups, and of each group its two geoms; returns how many groups there are. */
static int number_groups(const mjModel *m, const member *all, int n, int *of_pair, int *geoms)
{
    int ngroup = 0;
    bool many = n > PH_MANY_PAIRS;
    for (int i = 0, k; i < n; i += k) {
        k = count_equal(all, i, n);
        bool grouped = many && all[i].key >= 0 && k >= LEAST;
        for (int j = i; j < i + k; ++j) of_pair[all[j].pair] = grouped ? ngroup : -1;
        if (!grouped) continue;
        assert((all[i].key & INT32_MAX) >= all[i].key >> 32 && "the lower part comes first");
        geoms[2 * ngroup] = central_geom(m, (int)(all[i].key >> 32));
        geoms[2 * ngroup++ + 1] = central_geom(m, (int)(all[i].key & INT32_MAX));
    }
    return ngroup;
}

void sti_physics_put_group_values(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    const int *t = b->t->m;
    int ngroup = t[M_NGROUP];
    double *reach = sti_physics_new_parameter(b, M_GROUP_REACH, ngroup);
    const double *prm = b->t->f + (b->begin ? b->begin[M_BLOCK_PRM - PH_PARAMETER_FIRST] : t[M_BLOCK_PRM]);
    if (!reach) return;
    for (int i = 0; i < ngroup; ++i) reach[i] = 0;
    for (int p = 0; p < t[M_NPAIR]; ++p) {
        const int *block = t + t[M_PAIR] + (ptrdiff_t)B_SIZE * p;
        int group = t[t[M_PAIR_GROUP] + p];
        if (group < 0) continue;
        assert(group < ngroup);
        double all = prm[block[B_PRM] + P_REACH]; /* NaN: the pair is left out */
        for (int k = 0; k < 2; ++k) {
            int g = block[B_OBJ1 + k], c = t[t[M_GROUP] + 2 * group];
            if (part_of(m, g) != part_of(m, c)) c = t[t[M_GROUP] + 2 * group + 1];
            all += distance(m->geom_pos + 3 * (ptrdiff_t)g, m->geom_pos + 3 * (ptrdiff_t)c) * (1 + 1e-5);
        }
        reach[group] = fmax(reach[group], all);
    }
}

void sti_physics_put_groups(sti_tables_builder *b)
{
    member *all = NULL;
    int *of_pair = NULL, *geoms = NULL, ngroup = 0;
    if (b->result != STET_OK) return;
    int n = b->t->m[M_NPAIR];
    b->result = sti_alloc(&all, (size_t)n * sizeof *all + 1, "pairs of the physics");
    if (b->result == STET_OK) b->result = sti_alloc(&geoms, 2 * (size_t)n * sizeof *geoms + 1, "pairs of the physics");
    of_pair = sti_physics_new_table(b, M_PAIR_GROUP, n);
    if (of_pair) {
        for (int p = 0; p < n; ++p)
            all[p] = find_member(b->model, b->t->m + b->t->m[M_PAIR] + (ptrdiff_t)B_SIZE * p, p);
        qsort(all, (size_t)n, sizeof *all, compare_members);
        ngroup = number_groups(b->model, all, n, of_pair, geoms);
    }
    sti_physics_fill(b, M_NGROUP, ngroup);
    int *table = sti_physics_new_table(b, M_GROUP, 2 * (int64_t)ngroup);
    for (int i = 0; table && i < 2 * ngroup; ++i) table[i] = geoms[i];
    sti_free(geoms);
    sti_free(all);
    sti_physics_put_group_values(b);
}
