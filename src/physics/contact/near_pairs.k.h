/*
 * Which pairs of geoms are near in some lane of a group: the list from s + ph_near_pairs(m) on. Part of the kernels
 * that include it, after constraint.k.h.
 *
 * Pairs of one tree, with what cannot move, and explicit ones are rows of M_PAIR. In a scene of many trees those of two
 * trees are none: there are too many (tree_pairs.h). A step looks at the spheres of trees, and makes the description of
 * each pair that is near, in w.ints. The list has the order of all pairs: explicit ones, then by the first and the
 * second geom. So no bit depends on which pairs are rows.
 */

#define KEPT_SIZE 8 /* dist, pos [3], normal [3], hit (1 or 0) */
/*
 * Where contacts are kept: in memory that only the solver uses. A gradient (PH_PULLED, of pull.k.h) needs them behind
 * the solver, so there it is memory of the gradient (memory.k.h), with one contact a pair more (MANIFOLD_FIRST).
 */
#ifndef PH_PULLED
#define PH_PULLED 0
#define PH_KEPT(w) efc_force(w)
#endif

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
LFN mask ph_group_near(ph_world w, int group)
{
    const int *of = group_geom(w) + 2 * group;
    return spheres_near(geom_xpos(w) + 3 * of[0], geom_xpos(w) + 3 * of[1], group_reach(w, group));
}

/* What a model has none of is not in its code. */
#define PH_HAS_BOXED (PH_HAS_SEARCHED || PH_HAS_PAIR(PH_BOX, PH_BOX) || PH_HAS_PAIR(PH_PLANE, PH_MESH))

/* Contacts of a pair are nearer than that. */
LFN real ph_contact_margin(ph_world w, const int *pair)
{
    real margin = ph_block_par(w, pair, P_MARGIN);
    return gaps(w) ? margin + ph_block_par(w, pair, P_GAP) : margin;
}

/*
 * Where the boxes of a pair that has them are within the margin (a plane's is all that is below it); of others,
 * everywhere.
 */
STET_CALLED LFN mask ph_boxes_near(ph_world w, const int *pair)
{
    int a = pair[B_OBJ1], b = pair[B_OBJ2];
    if (!is_boxed(geom_type(w)[a], geom_type(w)[b])) return m_all();
    const real *p = geom_xpos(w) + 3 * a, *q = geom_xpos(w) + 3 * b;
    const real *mat = geom_xmat(w) + 9 * a, *mat2 = geom_xmat(w) + 9 * b;
    real margin = near_margin(ph_block_par(w, pair, P_REACH), ph_contact_margin(w, pair)), box[12];
    pars(w, M_GEOM_AABB, 6 * a, 6, box);
    pars(w, M_GEOM_AABB, 6 * b, 6, box + 6);
    if (PH_HAS_FIRST(PH_PLANE) && geom_type(w)[a] == PH_PLANE) return plane_box_near(p, mat, q, mat2, box + 6, margin);
    return boxes_near(p, mat, box, q, mat2, box + 6, margin);
}

/* Where the bounding spheres are within the margin; a plane has none, nor a height field below its greatest height. */
LFN mask ph_bounds_near(ph_world w, const int *pair)
{
    int a = pair[B_OBJ1];
    real reach = ph_block_par(w, pair, P_REACH);
    const real *p = geom_xpos(w) + 3 * a, *q = geom_xpos(w) + 3 * pair[B_OBJ2];
    if (geom_type(w)[a] <= PH_HFIELD) return plane_near(p, geom_xmat(w) + 9 * a, q, reach);
    return spheres_near(p, q, reach);
}

/* Of the lanes, where these are, and the boxes; nowhere for a pair that the lane's world leaves out (reach is NaN). */
LFN mask ph_near(ph_world w, const int *pair, mask lanes)
{
    mask near = m_and(lanes, ph_bounds_near(w, pair));
    if (PH_HAS_BOXED && any(near)) near = m_and(near, ph_boxes_near(w, pair));
    return near;
}

/* How many rows of M_PAIR have their flags in one word. */
LFN int ph_chunk(ph_world w) { return npair(w) > PH_MANY_PAIRS ? 32 : 1; }

/*
 * Flags of the rows that are near in some lane of the group: in the bits of the list's first entries. Where words have
 * one, pairs are in no groups (groups.h).
 */
LFN void ph_flag_near(ph_world w, int *pairs, mask group)
{
    const int *all = pair_first(w);
    int chunk = ph_chunk(w);
    each (p, chunk == 1 ? npair(w) : 0) {
        mask near = m_and(group, ph_bounds_near(w, all + B_SIZE * p)); /* ph_near, inlined */
        if (PH_HAS_BOXED && any(near)) near = m_and(near, ph_boxes_near(w, all + B_SIZE * p));
        pairs[NEAR_SIZE * p + NEAR_BITS] = any(near);
    }
    /* of a group of pairs it is said in the slot of an entry, which has none yet */
    each (i, ngroup(w)) pairs[NEAR_SIZE * i + NEAR_SLOT] = any(m_and(group, ph_group_near(w, i)));
    if (ngroup(w) > 0) sync();
    each (i, chunk == 1 ? 0 : (npair(w) + chunk - 1) / chunk) {
        int bits = 0, end = nmin(chunk * (i + 1), npair(w));
        rolled
        for (int p = chunk * i; p < end; ++p) {
            int of = pair_group(w)[p], near = 1;
            if (of >= 0) near = pairs[NEAR_SIZE * of + NEAR_SLOT];
            if (near) near = any(ph_near(w, all + B_SIZE * p, group));
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
LFN void ph_append(ph_world w, int pair, int side, int write, int *next)
{
    int *near = w.ints + ph_near_pairs(w) + NEAR_SIZE * next[LIST_PAIRS];
    int end = next[LIST_KEPT] + 3 + KEPT_SIZE * (side + PH_PULLED);
    if (write && next[LIST_PAIRS] < nnear(w)) {
        near[NEAR_PAIR] = pair;
        near[NEAR_KEPT] = end <= PH_NUMBER(w, W_EFC_J) - PH_NUMBER(w, W_EFC_FORCE) ? next[LIST_KEPT] : -1;
    }
    next[LIST_PAIRS] = next[LIST_PAIRS] + 1;
    next[LIST_KEPT] = end;
}

/* The near rows from `row` to `end` whose second geom is none after `last`; returns the row after them. */
LFN int ph_append_rows(ph_world w, int row, int end, int last, int write, int *next)
{
    int chunk = ph_chunk(w), at = row;
    rolled
    for (; at < end; ++at) {
        const int *pair = pair_first(w) + B_SIZE * at;
        int bits = (w.ints + ph_near_pairs(w))[NEAR_SIZE * (at / chunk) + NEAR_BITS];
        if (nmax(pair[B_OBJ1], pair[B_OBJ2]) > last) break;
        if (bits >> at % chunk & 1) ph_append(w, at, pair[B_SIDE], write, next);
    }
    return at;
}

/* ---- pairs of two trees ------------------------------------------------------------------------------------------ */

/*
 * The sphere of each tree around its central geom: the spheres of all its geoms are in it, with margins. A row of
 * numbers of all trees comes after the other: x, y, z of the centre, the radius.
 */
LFN void ph_tree_spheres(ph_world w)
{
    each (t, ntree(w)) {
        const int *adr = tree_adr(w), *of = tree_geom(w);
        const real *centre = geom_xpos(w) + 3 * tree_centre(w)[t];
        real radius = splat(0);
        rolled
        for (int k = adr[t]; k < adr[t + 1]; ++k) {
            real between[3];
            v3_sub(geom_xpos(w) + 3 * of[k], centre, between);
            real far = sqrt(v3_dot(between, between)) * splat((ureal)(1 + 1e-5));
            radius = rmax(radius, far + geom_bound(w, of[k]));
        }
        for (int k = 0; k < 3; ++k) tree_spheres(w)[ntree(w) * k + t] = centre[k];
        tree_spheres(w)[3 * ntree(w) + t] = radius;
    }
    sync();
}

/* Is it said of the geoms `one` and `two` that they do not touch? */
LFN int ph_is_apart(ph_world w, int one, int two)
{
    const int *adr = geom_apart_adr(w) + one;
    int found = 0;
    for (int k = adr[0]; k < adr[1]; ++k) found = found | (geom_apart(w)[k] == two);
    return found;
}

/* The description of the geoms `one` and `two` of two trees, from that of their kinds; its lists are not made. */
LFN void ph_make_pair(ph_world w, int one, int two, int kinds, int *row)
{
    const int *type = geom_type(w), *chain = geom_chain(w);
    const int *like = pair_first(w) + B_SIZE * (npair(w) + kinds);
    int swap = type[one] > type[two];
    for (int k = 0; k < B_SIZE; ++k) row[k] = like[k];
    row[B_OBJ1] = swap ? two : one;
    row[B_OBJ2] = swap ? one : two;
    row[B_NDOF] = chain[2 * one + 1] + chain[2 * two + 1];
    row[B_PART] = (3 * row[B_OBJ1] + row[B_OBJ2]) % PH_SUMS;
}

/*
 * The lists of the description at `place` in w.ints, which are at the first slot of its contacts: dofs, rows of H,
 * tiles.
 */
LFN void ph_list_dofs(ph_world w, int place, int slot)
{
    int *row = w.ints + place, *dof = w.ints + ph_listed(w, slot);
    int ndof = row[B_NDOF], first = nmin(row[B_OBJ1], row[B_OBJ2]), second = nmax(row[B_OBJ1], row[B_OBJ2]), n = 0;
    int *places = dof + 2 * ndof, *tiles = dof + 3 * ndof;
    row[B_DOFS] = ph_listed(w, slot) - place;
    row[B_PLACES] = row[B_DOFS] + 2 * ndof;
    row[B_TILES] = row[B_DOFS] + 3 * ndof;
    for (int k = 0; k < nword(w); ++k) tiles[k] = 0;
    for (int side = 0; side < 2; ++side) { /* the dofs of the first geom's tree are before those of the second's */
        int g = side ? second : first, bits = g == row[B_OBJ1] ? 1 : 2;
        const int *chain = geom_chain(w) + 2 * g;
        rolled
        for (int k = 0; k < chain[1]; ++k) {
            int d = (PH_TABLES(w) + chain[0])[k], at = dof_place(w)[d];
            dof[2 * n] = d;
            dof[2 * n + 1] = bits;
            places[n] = at;
            if (nword(w) > 0) tiles[at / 4 / 32] = tiles[at / 4 / 32] | ph_contact_bit(1, at / 4 % 32);
            row[B_LOW] = at / 4;
            n = n + 1;
        }
    }
}

/* Bits of the trees from `first` on, up to 32, whose spheres a geom's is near in some lane of the group. */
LFN u32 ph_trees_near(ph_world w, int g, int first, mask group)
{
    const real *x = tree_spheres(w) + first, *y = x + ntree(w), *z = y + ntree(w), *radius = z + ntree(w);
    const real *pos = geom_xpos(w) + 3 * g;
    real bound = geom_bound(w, g), px = pos[0], py = pos[1], pz = pos[2];
    u32 bits = 0;
    int n = nmin(32, ntree(w) - first);
    for (int k = 0; k < n; ++k) {
        real dx = x[k] - px, dy = y[k] - py, dz = z[k] - pz, reach = radius[k] + bound;
        mask near = le(fma(dz, dz, fma(dy, dy, dx * dx)), reach * reach);
        bits = bits | (u32)any(m_and(group, near)) << k;
    }
    return bits;
}

/* The near pairs of geom g and those of tree t, whose rows of g are before them from `row` on; the row after them. */
LFN int ph_append_tree(ph_world w, int g, int t, int row, mask group, int write, int *next)
{
    const int *adr = tree_adr(w), *kind = geom_kind(w);
    int at = row;
    rolled
    for (int k = adr[t]; k < adr[t + 1]; ++k) {
        int other = tree_geom(w)[k], pair[B_SIZE];
        int kinds = kind_pair(w)[nkind(w) * kind[g] + kind[other]];
        if (kinds < 0 || ph_is_apart(w, g, other)) continue;
        ph_make_pair(w, g, other, kinds, pair);
        if (!any(ph_near(w, pair, group))) continue;
        at = ph_append_rows(w, at, geom_pair_adr(w)[g + 1], other, write, next);
        int *made = w.ints + ph_made(w) + B_SIZE * next[LIST_PAIRS];
        for (int i = 0; write && next[LIST_PAIRS] < nnear(w) && i < B_SIZE; ++i) made[i] = pair[i];
        ph_append(w, npair(w) + next[LIST_PAIRS], pair[B_SIDE], write, next);
    }
    return at;
}

/* The near pairs whose first geom is g: its rows, and geoms of later trees. */
LFN void ph_append_geom(ph_world w, int g, mask group, int write, int *next)
{
    int row = geom_pair_adr(w)[g], tree = geom_tree(w)[g];
    rolled
    for (int first = tree < 0 ? ntree(w) : tree + 1; first < ntree(w); first += 32) {
        rolled
        for (u32 bits = ph_trees_near(w, g, first, group); bits; bits = bits & (bits - 1))
            row = ph_append_tree(w, g, first + ph_lowest(bits), row, group, write, next);
    }
    ph_append_rows(w, row, geom_pair_adr(w)[g + 1], ngeom(w), write, next);
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

/*
 * The pairs that are near in some lane of the group, in their order, and where they keep contacts (-1: nowhere). All
 * pairs are shared out: first each share is counted, where there are no slots yet, then listed behind those before it.
 */
LFN void ph_list_near(ph_world w, mask group)
{
    int *counted = w.ints + S_SLOTS, shares = nmax(1, nmin(PH_SHARES, nslot(w)));
    int trees = PH_HAS_TREES && ntree(w) > 0, n = trees ? ngeom(w) : npair(w);
    ph_flag_near(w, w.ints + ph_near_pairs(w), group);
    if (trees) ph_tree_spheres(w);
    for (int pass = shares > 1 ? 0 : 1; pass < 2; ++pass) {
        each (t, shares) {
            int next[LIST_SIZE] = {0, 0}, begin = t * n / shares, end = (t + 1) * n / shares;
            for (int u = 0; pass && u < t; ++u)
                for (int q = 0; q < LIST_SIZE; ++q) next[q] = next[q] + counted[LIST_SIZE * u + q];
            if (trees) {
                if (t == 0) ph_append_rows(w, t, geom_pair_adr(w)[0], ngeom(w), pass, next);
                rolled
                for (int g = begin; g < end; ++g) ph_append_geom(w, g, group, pass, next);
            } else {
                ph_append_rows(w, begin, end, ngeom(w), pass, next);
            }
            for (int q = 0; !pass && q < LIST_SIZE; ++q) counted[LIST_SIZE * t + q] = next[q];
            if (pass && t == shares - 1) {
                int *to = w.ints + (t - (shares - 1));
                to[S_NNEAR] = nmin(next[LIST_PAIRS], nnear(w));
                to[S_MISSED] = nmax(0, next[LIST_PAIRS] - nnear(w));
            }
        }
        sync();
    }
}
