/*
 * Which pairs of geoms are near in some lane of a group: the list from s + ph_near_pairs(m) on. Part of the kernels
 * that include it, after constraint.k.h.
 *
 * Pairs of one tree, with what cannot move, and explicit ones are rows of M_PAIR. In a scene of many trees those of two
 * trees are none: there are too many (tree_pairs.h). A step looks at the spheres of trees, and makes the description of
 * each pair that is near, in s. The list has the order of all pairs: explicit ones, then by the first and the second
 * geom. So no bit depends on which pairs are rows.
 */

#define KEPT_SIZE 8 /* dist, pos [3], normal [3], hit (1 or 0) */

/* Into how many shares the list of pairs is cut: more where a world has many threads. */
#if STET_GPU && STET_TEAM >= 32
#define PH_SHARES 32
#elif STET_GPU
#define PH_SHARES 16
#else
#define PH_SHARES 1
#endif

/* The flag of contact k of a pair, if it is on (1). */
LFN int ph_contact_bit(int on, int k) { return (int)((u32)on << k); }

/* Where the two parts of a model that a group of pairs is of are so near that pairs of it may be. */
LFN mask ph_group_near(const int *m, const ureal *f, const real *v, const real *w, int group)
{
    const int *of = m + m[M_GROUP] + 2 * group;
    return spheres_near(PH_AT(W_GEOM_XPOS) + 3 * of[0], PH_AT(W_GEOM_XPOS) + 3 * of[1],
                        par(m, f, v, M_GROUP_REACH, group));
}

/* What a model has none of is not in its code. */
#define PH_HAS_BOXED (PH_HAS_SEARCHED || PH_HAS_PAIR(PH_BOX, PH_BOX) || PH_HAS_PAIR(PH_PLANE, PH_MESH))

/*
 * Where the boxes of a pair that has them are within the margin (a plane's is all that is below it); of others,
 * everywhere.
 */
STET_CALLED LFN mask ph_boxes_near(const int *m, const ureal *f, const real *v, const real *w, const int *pair)
{
    int a = pair[B_OBJ1], b = pair[B_OBJ2];
    if (!is_boxed((m + m[M_GEOM_TYPE])[a], (m + m[M_GEOM_TYPE])[b])) return m_all();
    const real *p = PH_AT(W_GEOM_XPOS) + 3 * a, *q = PH_AT(W_GEOM_XPOS) + 3 * b;
    const real *mat = PH_AT(W_GEOM_XMAT) + 9 * a, *mat2 = PH_AT(W_GEOM_XMAT) + 9 * b;
    real margin = near_margin(ph_block_par(m, f, v, pair, P_REACH), ph_block_par(m, f, v, pair, P_MARGIN)), box[12];
    pars(m, f, v, M_GEOM_AABB, 6 * a, 6, box);
    pars(m, f, v, M_GEOM_AABB, 6 * b, 6, box + 6);
    if (PH_HAS_FIRST(PH_PLANE) && (m + m[M_GEOM_TYPE])[a] == PH_PLANE)
        return plane_box_near(p, mat, q, mat2, box + 6, margin);
    return boxes_near(p, mat, box, q, mat2, box + 6, margin);
}

/* Where the bounding spheres are within the margin; a plane has none, nor a height field below its greatest height. */
LFN mask ph_bounds_near(const int *m, const ureal *f, const real *v, const real *w, const int *pair)
{
    int a = pair[B_OBJ1];
    real reach = ph_block_par(m, f, v, pair, P_REACH);
    const real *p = PH_AT(W_GEOM_XPOS) + 3 * a, *q = PH_AT(W_GEOM_XPOS) + 3 * pair[B_OBJ2];
    if ((m + m[M_GEOM_TYPE])[a] <= PH_HFIELD) return plane_near(p, PH_AT(W_GEOM_XMAT) + 9 * a, q, reach);
    return spheres_near(p, q, reach);
}

/* Of the lanes, where these are, and the boxes; nowhere for a pair that the lane's world leaves out (reach is NaN). */
LFN mask ph_near(const int *m, const ureal *f, const real *v, const real *w, const int *pair, mask lanes)
{
    mask near = m_and(lanes, ph_bounds_near(m, f, v, w, pair));
    if (PH_HAS_BOXED && any(near)) near = m_and(near, ph_boxes_near(m, f, v, w, pair));
    return near;
}

/* How many rows of M_PAIR have their flags in one word. */
LFN int ph_chunk(const int *m) { return m[M_NPAIR] > PH_MANY_PAIRS ? 32 : 1; }

/*
 * Flags of the rows that are near in some lane of the group: in the bits of the list's first entries. Where words have
 * one, pairs are in no groups (groups.h).
 */
LFN void ph_flag_near(const int *m, const ureal *f, const real *v, const real *w, int *pairs, mask group)
{
    const int *all = m + m[M_PAIR];
    int chunk = ph_chunk(m);
    each (p, chunk == 1 ? m[M_NPAIR] : 0) {
        mask near = m_and(group, ph_bounds_near(m, f, v, w, all + B_SIZE * p)); /* ph_near, inlined */
        if (PH_HAS_BOXED && any(near)) near = m_and(near, ph_boxes_near(m, f, v, w, all + B_SIZE * p));
        pairs[NEAR_SIZE * p + NEAR_BITS] = any(near);
    }
    /* of a group of pairs it is said in the slot of an entry, which has none yet */
    each (i, m[M_NGROUP]) pairs[NEAR_SIZE * i + NEAR_SLOT] = any(m_and(group, ph_group_near(m, f, v, w, i)));
    if (m[M_NGROUP] > 0) sync();
    each (i, chunk == 1 ? 0 : (m[M_NPAIR] + chunk - 1) / chunk) {
        int bits = 0, end = nmin(chunk * (i + 1), m[M_NPAIR]);
        rolled for (int p = chunk * i; p < end; ++p)
        {
            int of = (m + m[M_PAIR_GROUP])[p], near = 1;
            if (of >= 0) near = pairs[NEAR_SIZE * of + NEAR_SLOT];
            if (near) near = any(ph_near(m, f, v, w, all + B_SIZE * p, group));
            bits = bits | ph_contact_bit(near, p - chunk * i);
        }
        pairs[NEAR_SIZE * i + NEAR_BITS] = bits;
    }
    sync();
}

/* Where the list goes on: how many pairs are before that, and how many reals their contacts take that are kept. */
#define LIST_PAIRS 0
#define LIST_KEPT 1
#define LIST_SIZE 2

/* A pair more, of which `side` contacts are kept, if there is room in the list; if not `write`, it is only counted. */
LFN void ph_append(const int *m, int *s, int pair, int side, int write, int *next)
{
    int *near = s + ph_near_pairs(m) + NEAR_SIZE * next[LIST_PAIRS];
    int end = next[LIST_KEPT] + 3 + KEPT_SIZE * side;
    if (write && next[LIST_PAIRS] < m[M_NNEAR]) {
        near[NEAR_PAIR] = pair;
        near[NEAR_KEPT] = end <= m[W_EFC_J] - m[W_EFC_FORCE] ? next[LIST_KEPT] : -1;
    }
    next[LIST_PAIRS] = next[LIST_PAIRS] + 1;
    next[LIST_KEPT] = end;
}

/* The near rows from `row` to `end` whose second geom is none after `last`; returns the row after them. */
LFN int ph_append_rows(const int *m, int *s, int row, int end, int last, int write, int *next)
{
    int chunk = ph_chunk(m), at = row;
    rolled for (; at < end; ++at)
    {
        const int *pair = m + m[M_PAIR] + B_SIZE * at;
        int bits = (s + ph_near_pairs(m))[NEAR_SIZE * (at / chunk) + NEAR_BITS];
        if (nmax(pair[B_OBJ1], pair[B_OBJ2]) > last) break;
        if (bits >> at % chunk & 1) ph_append(m, s, at, pair[B_SIDE], write, next);
    }
    return at;
}

/* ---- pairs of two trees ------------------------------------------------------------------------------------------ */

/* The radius of each tree's sphere around its central geom: the spheres of all its geoms are in it, with margins. */
LFN void ph_tree_spheres(const int *m, const ureal *f, const real *v, real *w)
{
    each (t, m[M_NTREE]) {
        const int *adr = m + m[M_TREE_ADR], *of = m + m[M_TREE_GEOM];
        const real *centre = PH_AT(W_GEOM_XPOS) + 3 * (m + m[M_TREE_CENTRE])[t];
        real radius = splat(0);
        rolled for (int k = adr[t]; k < adr[t + 1]; ++k)
        {
            real between[3];
            v3_sub(PH_AT(W_GEOM_XPOS) + 3 * of[k], centre, between);
            real far = sqrt(v3_dot(between, between)) * splat((ureal)(1 + 1e-5));
            radius = rmax(radius, far + par(m, f, v, M_GEOM_BOUND, of[k]));
        }
        PH_AT(W_TREE_REACH)[t] = radius;
    }
    sync();
}

/* Is it said of the geoms `one` and `two` that they do not touch? */
LFN int ph_is_apart(const int *m, int one, int two)
{
    const int *adr = m + m[M_APART_ADR] + one;
    int found = 0;
    for (int k = adr[0]; k < adr[1]; ++k) found = found | ((m + m[M_APART])[k] == two);
    return found;
}

/* The description of the geoms `one` and `two` of two trees, from that of their kinds; its lists are not made. */
LFN void ph_make_pair(const int *m, int one, int two, int kinds, int *row)
{
    const int *type = m + m[M_GEOM_TYPE], *chain = m + m[M_GEOM_CHAIN];
    const int *like = m + m[M_PAIR] + B_SIZE * (m[M_NPAIR] + kinds);
    int swap = type[one] > type[two];
    for (int k = 0; k < B_SIZE; ++k) row[k] = like[k];
    row[B_OBJ1] = swap ? two : one;
    row[B_OBJ2] = swap ? one : two;
    row[B_NDOF] = chain[2 * one + 1] + chain[2 * two + 1];
    row[B_PART] = (3 * row[B_OBJ1] + row[B_OBJ2]) % PH_SUMS;
}

/* The lists of the description at `place` in s, which are at the first slot of its contacts: dofs, rows of H, tiles. */
LFN void ph_list_dofs(const int *m, int *s, int place, int slot)
{
    int *row = s + place, *dof = s + ph_listed(m, slot);
    int ndof = row[B_NDOF], first = nmin(row[B_OBJ1], row[B_OBJ2]), second = nmax(row[B_OBJ1], row[B_OBJ2]), n = 0;
    int *places = dof + 2 * ndof, *tiles = dof + 3 * ndof;
    row[B_DOFS] = ph_listed(m, slot) - place;
    row[B_PLACES] = row[B_DOFS] + 2 * ndof;
    row[B_TILES] = row[B_DOFS] + 3 * ndof;
    for (int k = 0; k < m[M_NWORD]; ++k) tiles[k] = 0;
    for (int side = 0; side < 2; ++side) { /* the dofs of the first geom's tree are before those of the second's */
        int g = side ? second : first, bits = g == row[B_OBJ1] ? 1 : 2;
        const int *chain = m + m[M_GEOM_CHAIN] + 2 * g;
        rolled for (int k = 0; k < chain[1]; ++k)
        {
            int d = (m + chain[0])[k], at = (m + m[M_PLACE])[d];
            dof[2 * n] = d;
            dof[2 * n + 1] = bits;
            places[n] = at;
            tiles[at / 4 / 32] = tiles[at / 4 / 32] | ph_contact_bit(1, at / 4 % 32);
            row[B_LOW] = at / 4;
            n = n + 1;
        }
    }
}

/* The near pairs whose first geom is g: its rows, and geoms of later trees. */
LFN void ph_append_geom(const int *m, const ureal *f, const real *v, const real *w, int *s, int g, mask group,
                        int write, int *next)
{
    const int *adr = m + m[M_TREE_ADR], *kind = m + m[M_GEOM_KIND], *rows = m + m[M_ROW_ADR] + g;
    int row = rows[0], tree = (m + m[M_GEOM_TREE])[g];
    rolled for (int t = tree < 0 ? m[M_NTREE] : tree + 1; t < m[M_NTREE]; ++t)
    {
        real reach = PH_AT(W_TREE_REACH)[t] + par(m, f, v, M_GEOM_BOUND, g);
        const real *centre = PH_AT(W_GEOM_XPOS) + 3 * (m + m[M_TREE_CENTRE])[t];
        if (!any(m_and(group, spheres_near(PH_AT(W_GEOM_XPOS) + 3 * g, centre, reach)))) continue;
        rolled for (int k = adr[t]; k < adr[t + 1]; ++k)
        {
            int other = (m + m[M_TREE_GEOM])[k], pair[B_SIZE];
            int kinds = (m + m[M_KIND_PAIR])[m[M_NKIND] * kind[g] + kind[other]];
            if (kinds < 0 || ph_is_apart(m, g, other)) continue;
            ph_make_pair(m, g, other, kinds, pair);
            if (!any(ph_near(m, f, v, w, pair, group))) continue;
            row = ph_append_rows(m, s, row, rows[1], other, write, next);
            int *made = s + ph_made(m) + B_SIZE * next[LIST_PAIRS];
            for (int i = 0; write && next[LIST_PAIRS] < m[M_NNEAR] && i < B_SIZE; ++i) made[i] = pair[i];
            ph_append(m, s, m[M_NPAIR] + next[LIST_PAIRS], pair[B_SIDE], write, next);
        }
    }
    ph_append_rows(m, s, row, rows[1], m[M_NGEOM], write, next);
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

/*
 * The pairs that are near in some lane of the group, in their order, and where they keep contacts (-1: nowhere). All
 * pairs are shared out: first each share is counted, where there are no slots yet, then listed behind those before it.
 */
LFN void ph_list_near(const int *m, const ureal *f, const real *v, real *w, int *s, mask group)
{
    int *counted = s + S_SLOTS, shares = nmax(1, nmin(PH_SHARES, m[M_NSLOT]));
    int trees = PH_HAS_TREES && m[M_NTREE] > 0, n = trees ? m[M_NGEOM] : m[M_NPAIR];
    ph_flag_near(m, f, v, w, s + ph_near_pairs(m), group);
    if (trees) ph_tree_spheres(m, f, v, w);
    for (int pass = shares > 1 ? 0 : 1; pass < 2; ++pass) {
        each (t, shares) {
            int next[LIST_SIZE] = {0, 0}, begin = t * n / shares, end = (t + 1) * n / shares;
            for (int u = 0; pass && u < t; ++u)
                for (int q = 0; q < LIST_SIZE; ++q) next[q] = next[q] + counted[LIST_SIZE * u + q];
            if (trees) {
                if (t == 0) ph_append_rows(m, s, t, (m + m[M_ROW_ADR])[0], m[M_NGEOM], pass, next);
                rolled for (int g = begin; g < end; ++g) ph_append_geom(m, f, v, w, s, g, group, pass, next);
            } else {
                ph_append_rows(m, s, begin, end, m[M_NGEOM], pass, next);
            }
            for (int q = 0; !pass && q < LIST_SIZE; ++q) counted[LIST_SIZE * t + q] = next[q];
            if (pass && t == shares - 1) {
                int *to = s + (t - (shares - 1));
                to[S_NNEAR] = nmin(next[LIST_PAIRS], m[M_NNEAR]);
                to[S_MISSED] = nmax(0, next[LIST_PAIRS] - m[M_NNEAR]);
            }
        }
        sync();
    }
}
