/*
 * An estimate of how long time steps take (pace.h): sums over counts, each with a cost for mj_step and for a vector of
 * each width. How the costs were found: doc/design/physics.md, "Auto".
 */
#include "physics/pace.h"

#include "model/guard.h"
#include "physics/contact/pairs.h"
#include "physics/contact/tree_pairs.h"
#include "physics/features.h"

#include <string.h>

/* The kernel's own tests of what is near, in double. */
#define STET_W 1
#define STET_DOUBLE 1
#include "physics/collide/broad.k.h"

enum {
    WIDTHS = 3, /* 1, up to 8 and more lanes */
    FIRST_PAIRS = 1 << 12,
    CACHED_PAIRS = 1 << 17 /* whose tables a cache holds */
};

/* What is counted, and microseconds each. Pairs are those of native physics (pairs.h). */
#define COUNTS(X)                                                                                                      \
    /* name, mj_step, a vector of 1, 8, 16 worlds */                                                                   \
    X(step, .47, .31, .18, .28)       /* 1 */                                                                          \
    X(dof, .23, .14, .14, .15)        /* nv */                                                                         \
    X(inertia, .04, .045, .093, .12)  /* entries of qM */                                                              \
    X(row, .068, .067, .11, .15)      /* of constraints, in the state that a run begins with */                        \
    X(pair, .0045, .0092, .012, .015) /* of geoms that may touch, the first of them, */                                \
    X(more, .0019, .01, .022, .042)   /* the others, which MuJoCo does not look at, */                                 \
    X(far, 0, .05, .05, .06)          /* of these once more, where they are not in a cache */                          \
    X(tree, 0, .002, .004, .006)      /* geoms that are held against a later tree (tree_pairs.h) */                    \
    X(near, .016, .035, .025, .011)   /* those whose bounding spheres do */                                            \
    X(boxes, .0026, .018, .065, .073) /* of these, whose boxes are looked at, too */                                   \
    X(mesh, .17, 0, .026, .033)       /* of these, near ones with a mesh, that are searched */                         \
    X(plane_mesh, 4.2, 2.8, 4.4, 7.2) /* of a plane and a mesh, */                                                     \
    X(field, 1, .6, 1, 1.6)           /* of a height field */                                                          \
    X(touch, 4.3, 5.3, 20, 34)        /* searched ones that touch, without a mesh, */                                  \
    X(touch_mesh, 2.1, 1.6, 7.4, 12)  /* and with one */

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

/* A geom's place, axes and box, as the kernels have them. */
#define PLACE(g) (d->geom_xpos + 3 * (ptrdiff_t)(g))
#define AXES(g) (d->geom_xmat + 9 * (ptrdiff_t)(g))
#define BOX(g) (m->geom_aabb + 6 * (ptrdiff_t)(g))

/* As ph_near in contact.k.h: first the spheres, */
static bool are_spheres_near(const mjModel *m, const mjData *d, const sti_block *pair)
{
    int a = pair->obj[0], b = pair->obj[1];
    return any(m->geom_type[a] <= mjGEOM_HFIELD ? plane_near(PLACE(a), AXES(a), PLACE(b), pair->reach)
                                                : spheres_near(PLACE(a), PLACE(b), pair->reach));
}

/* then the boxes. */
static bool are_boxes_near(const mjModel *m, const mjData *d, const sti_block *pair)
{
    int a = pair->obj[0], b = pair->obj[1];
    double margin = near_margin(pair->reach, pair->margin);
    return any(m->geom_type[a] == mjGEOM_PLANE
                   ? plane_box_near(PLACE(a), AXES(a), PLACE(b), AXES(b), BOX(b), margin)
                   : boxes_near(PLACE(a), AXES(a), BOX(a), PLACE(b), AXES(b), BOX(b), margin));
}

/* Which count a pair of these types, in ascending order, is that is near or, if so, touches; NCOUNT: none. */
static count kind_of(int first, int second, bool touches)
{
    if (first == mjGEOM_HFIELD) return touches ? NCOUNT : COUNT_field;
    if (first == mjGEOM_PLANE && second == mjGEOM_MESH) return touches ? NCOUNT : COUNT_plane_mesh;
    if (!sti_physics_is_searched(first, second)) return NCOUNT;
    if (second == mjGEOM_MESH) return touches ? COUNT_touch_mesh : COUNT_mesh;
    return touches ? COUNT_touch : NCOUNT;
}

static void add_count(double *counts, count kind)
{
    if (kind != NCOUNT) counts[kind]++;
}

static void count_near(const mjModel *m, const mjData *d, const sti_block *pair, double *counts)
{
    int first = m->geom_type[pair->obj[0]], second = m->geom_type[pair->obj[1]];
    if (!are_spheres_near(m, d, pair)) return;
    counts[COUNT_near]++;
    if (is_boxed(first, second)) {
        counts[COUNT_boxes]++;
        if (!are_boxes_near(m, d, pair)) return;
    }
    add_count(counts, kind_of(first, second, false));
}

/* Pairs of two trees that have no rows: what a step compares, and which are near. */
static void count_tree_pairs(const mjModel *m, const mjData *d, const sti_trees *trees, double *counts)
{
    for (int i = 0; i < trees->ngeom; ++i) {
        int a = trees->geom[i], tree = trees->of_geom[a];
        counts[COUNT_tree] += trees->ntree - tree - 1;
        for (int k = trees->adr[tree + 1]; k < trees->ngeom; ++k) {
            int b = trees->geom[k];
            double reach =
                m->geom_rbound[a] + m->geom_rbound[b] + sti_physics_geom_margin(m, a) + sti_physics_geom_margin(m, b);
            if (!any(spheres_near(PLACE(a), PLACE(b), 1.01 * reach)) || !sti_physics_may_touch(m, a, b)) continue;
            sti_block pair = sti_physics_geoms_block(m, a, b, -1);
            count_near(m, d, &pair, counts);
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
        count_near(m, d, &pair, counts);
    }
    count_tree_pairs(m, d, &trees, counts);
    sti_trees_free(&trees);
}

/* Contacts of a pair stand one after the other. */
static void count_touching(const mjModel *m, const mjData *d, double *counts)
{
    for (int i = 0; i < d->ncon; ++i) {
        const int *geom = d->contact[i].geom, *last = i > 0 ? d->contact[i - 1].geom : NULL;
        if (geom[0] < 0 || geom[1] < 0 || (last && geom[0] == last[0] && geom[1] == last[1])) continue;
        add_count(counts, kind_of(m->geom_type[geom[0]], m->geom_type[geom[1]], true));
    }
}

const char *sti_physics_pace_name(int k)
{
    static const char *const names[NCOUNT] = {
#define NAME(name, mujoco, one, eight, sixteen) #name,
        COUNTS(NAME)
#undef NAME
    };
    return k < NCOUNT ? names[k] : NULL;
}

bool sti_physics_pace_counts(const mjModel *m, int keyframe, double counts[STI_PACE_MOST])
{
    _Static_assert((int)NCOUNT <= STI_PACE_MOST, "there is room for all counts");
    beginning b = {.m = m, .keyframe = keyframe};
    bool good = sti_mujoco_guard(make_beginning, &b, NULL, 0) && b.d;
    memset(counts, 0, STI_PACE_MOST * sizeof *counts);
    if (good) {
        counts[COUNT_step] = 1;
        counts[COUNT_dof] = (double)m->nv;
        counts[COUNT_inertia] = (double)m->nC;
        counts[COUNT_row] = b.d->nefc;
        count_pairs(m, b.d, counts);
        count_touching(m, b.d, counts);
    }
    (void)sti_mujoco_guard(delete_beginning, &b, NULL, 0);
    return good;
}

/* ---- the estimate ------------------------------------------------------------------------------------------------ */

static double sum_costs(const double *counts, const double *costs)
{
    double sum = 0;
    for (int k = 0; k < NCOUNT; ++k) sum += counts[k] * costs[k];
    return sum;
}

sti_pace sti_physics_estimate_pace(const mjModel *m, int keyframe, int lanes, int64_t nworld)
{
    double counts[STI_PACE_MOST];
    if (!sti_physics_pace_counts(m, keyframe, counts)) return (sti_pace){0, 0};
    if (sti_physics_count_lanes(m, lanes) == 1) lanes = 1; /* whose worlds have a vector each, whatever its width */
    int64_t blocks = (nworld + lanes - 1) / lanes;
    double a_vector = sum_costs(counts, native_cost[lanes == 1 ? 0 : lanes <= 8 ? 1 : 2]);
    return (sti_pace){sum_costs(counts, mujoco_cost), a_vector * (double)blocks / (double)nworld};
}
