/*
 * An estimate of how long time steps take (pace.h): sums over counts, each with a cost for mj_step and for a vector of
 * each width. How the costs were found: doc/design/physics.md, "Auto".
 */
#include "physics/pace.h"

#include "model/guard.h"
#include "physics/pairs.h"
#include "physics/tree_pairs.h"

#include <string.h>

enum {
    WIDTHS = 3, /* 1, up to 8 and more lanes */
    FIRST_PAIRS = 1 << 12,
    CACHED_PAIRS = 1 << 17 /* whose tables a cache holds */
};

/* What is counted, and microseconds each. Pairs are those of native physics (pairs.h). */
#define COUNTS(X)                                                                                                      \
    /* name, mj_step, a vector of 1, 8, 16 worlds */                                                                   \
    X(step, 1.1, .84, .87, .95)               /* 1 */                                                                  \
    X(dof, .084, .081, .098, .097)            /* nv */                                                                 \
    X(inertia, .033, .031, .055, .07)         /* entries of qM */                                                      \
    X(row, .209, .095, .1, .125)              /* of constraints, in the state that a run begins with */                \
    X(pair, .004, .008, .011, .012)           /* of geoms that may touch, the first of them, */                        \
    X(more, 0, .006, .008, .01)               /* the others, which MuJoCo does not look at, */                         \
    X(far, 0, .05, .05, .06)                  /* of these once more, where they are not in a cache */                  \
    X(tree, 0, .002, .004, .006)              /* geoms that are held against a later tree (tree_pairs.h) */            \
    X(near, .042, .051, .078, .09)            /* those whose bounding spheres do */                                    \
    X(search, .421, .393, .69, .83)           /* near pairs of round shapes without a closed form */                   \
    X(field, 1, .6, 1, 1.2)                   /* of a height field */                                                  \
    X(vertex, .00006, .00008, .00012, .00035) /* vertices of the hulls of near pairs with a mesh */                    \
    X(touching_vertex, 0, .0004, .0013, .005) /* and again of those that touch */                                      \
    X(plane_vertex, 0, .00018, .00033, .0008) /* of a plane and a mesh that are near */

typedef enum count {
#define COUNT(name, mujoco, one, eight, sixteen) COUNT_##name,
    COUNTS(COUNT)
#undef COUNT
        NCOUNT
} count;

static const double mujoco_cost[NCOUNT] = {
#define COST(name, mujoco, one, eight, sixteen) mujoco,
    COUNTS(COST)
#undef COST
};
static const double native_cost[WIDTHS][NCOUNT] = {
#define ONE(name, mujoco, one, eight, sixteen) one,
#define EIGHT(name, mujoco, one, eight, sixteen) eight,
#define SIXTEEN(name, mujoco, one, eight, sixteen) sixteen,
    {COUNTS(ONE)}, {COUNTS(EIGHT)}, {COUNTS(SIXTEEN)}
#undef ONE
#undef EIGHT
#undef SIXTEEN
};

/* ---- counting ---------------------------------------------------------------------------------------------------- */

typedef struct beginning {
    const mjModel *m;
    int keyframe;
    mjData *d;
} beginning;

static void make_beginning(void *context)
{
    beginning *b = context;
    b->d = mj_makeData(b->m);
    if (!b->d) return;
    if (b->keyframe >= 0) mj_resetDataKeyframe(b->m, b->d, b->keyframe);
    mj_forward(b->m, b->d);
}

static void delete_beginning(void *context)
{
    beginning *b = context;
    mj_deleteData(b->d);
}

/* As in the kernel (ph_near in contact.k.h). */
static bool is_near(const mjModel *m, const mjData *d, const sti_block *pair)
{
    const mjtNum *a = d->geom_xpos + 3 * pair->obj[0], *b = d->geom_xpos + 3 * pair->obj[1];
    const mjtNum *mat = d->geom_xmat + 9 * pair->obj[0];
    double off[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
    if (m->geom_type[pair->obj[0]] <= mjGEOM_HFIELD)
        return off[0] * mat[2] + off[1] * mat[5] + off[2] * mat[8] <= pair->reach;
    return off[0] * off[0] + off[1] * off[1] + off[2] * off[2] <= pair->reach * pair->reach;
}

/* Vertices of a geom's hull; 0: it has none, or there is no geom. */
static int count_vertices(const mjModel *m, int g)
{
    int mesh = g >= 0 && m->geom_type[g] == mjGEOM_MESH ? m->geom_dataid[g] : -1;
    return mesh >= 0 && m->mesh_graphadr[mesh] >= 0 ? m->mesh_graph[m->mesh_graphadr[mesh]] : 0;
}

static void count_near(const mjModel *m, const sti_block *pair, double *counts)
{
    int first = m->geom_type[pair->obj[0]], second = m->geom_type[pair->obj[1]];
    double vertices = count_vertices(m, pair->obj[0]) + count_vertices(m, pair->obj[1]);
    counts[COUNT_near]++;
    if (first == mjGEOM_HFIELD)
        counts[COUNT_field]++;
    else if (second == mjGEOM_MESH)
        counts[first == mjGEOM_PLANE ? COUNT_plane_vertex : COUNT_vertex] += vertices;
    else if (sti_physics_is_searched(first, second))
        counts[COUNT_search]++;
}

/* Pairs of two trees that have no rows: what a step compares, and which are near. */
static void count_tree_pairs(const mjModel *m, const mjData *d, const sti_trees *trees, double *counts)
{
    for (int i = 0; i < trees->ngeom; ++i) {
        int a = trees->geom[i], tree = trees->of_geom[a];
        counts[COUNT_tree] += trees->ntree - tree - 1;
        for (int k = trees->adr[tree + 1]; k < trees->ngeom; ++k) {
            int b = trees->geom[k];
            const mjtNum *p = d->geom_xpos + 3 * (ptrdiff_t)a, *q = d->geom_xpos + 3 * (ptrdiff_t)b;
            double off[3] = {q[0] - p[0], q[1] - p[1], q[2] - p[2]};
            double reach = m->geom_rbound[a] + m->geom_rbound[b] + m->geom_margin[a] + m->geom_margin[b];
            if (off[0] * off[0] + off[1] * off[1] + off[2] * off[2] > 1.01 * reach * reach) continue;
            if (!sti_physics_may_touch(m, a, b)) continue;
            sti_block pair = sti_physics_geoms_block(m, a, b, -1);
            if (is_near(m, d, &pair)) count_near(m, &pair, counts);
        }
    }
}

static void count_pairs(const mjModel *m, const mjData *d, double *counts)
{
    sti_pair_place at = {.next = 0};
    sti_trees trees;
    if (sti_trees_find(m, &trees) != STET_OK) sti_trees_free(&trees); /* then all pairs have rows */
    for (int n = 0; sti_trees_next_pair(m, &trees, &at); ++n) {
        sti_block pair = sti_physics_geoms_block(m, at.geom[0], at.geom[1], at.pair);
        counts[n < FIRST_PAIRS ? COUNT_pair : COUNT_more]++;
        if (n >= CACHED_PAIRS) counts[COUNT_far]++;
        if (is_near(m, d, &pair)) count_near(m, &pair, counts);
    }
    count_tree_pairs(m, d, &trees, counts);
    sti_trees_free(&trees);
}

/* Contacts of a pair stand one after the other; those with planes are counted as near. */
static void count_touching(const mjModel *m, const mjData *d, double *counts)
{
    for (int i = 0; i < d->ncon; ++i) {
        const int *geom = d->contact[i].geom, *last = i > 0 ? d->contact[i - 1].geom : NULL;
        if (last && geom[0] == last[0] && geom[1] == last[1]) continue;
        if (geom[0] >= 0 && m->geom_type[geom[0]] == mjGEOM_PLANE) continue;
        counts[COUNT_touching_vertex] += count_vertices(m, geom[0]) + count_vertices(m, geom[1]);
    }
}

static double sum_costs(const double *counts, const double *costs)
{
    double sum = 0;
    for (int k = 0; k < NCOUNT; ++k) sum += counts[k] * costs[k];
    return sum;
}

sti_pace sti_physics_estimate_pace(const mjModel *m, int keyframe, int lanes, int64_t nworld)
{
    beginning b = {.m = m, .keyframe = keyframe};
    double counts[NCOUNT] = {[COUNT_step] = 1, [COUNT_dof] = (double)m->nv, [COUNT_inertia] = (double)m->nC};
    sti_pace pace = {0, 0};
    if (sti_mujoco_guard(make_beginning, &b, NULL, 0) && b.d) {
        int64_t blocks = (nworld + lanes - 1) / lanes, least = lanes > 1 ? 2 : 1;
        double each = (double)nworld / (double)blocks;
        counts[COUNT_row] = b.d->nefc;
        count_pairs(m, b.d, counts);
        count_touching(m, b.d, counts);
        pace.mujoco = sum_costs(counts, mujoco_cost);
        pace.native = sum_costs(counts, native_cost[lanes == 1 ? 0 : lanes <= 8 ? 1 : 2]);
        pace.native /= each > (double)least ? each : (double)least;
    }
    (void)sti_mujoco_guard(delete_beginning, &b, NULL, 0);
    return pace;
}
