/*
 * H of islands with sums of two reals, where a pivot of island_hessian.k.h is thin; twofold.k.h says why. Part of the
 * kernels that include it, after island_hessian.k.h.
 */

/* Low parts of H and of the right side. */
#define PH_LOW_SIDE(w) (hessian_tiles(w) + PH_EDGE * nnode(w))

/* H of the tiles of islands that go on: M, and the right side x. */
LFN void ph_two_begin_nodes(ph_world w, const real *x)
{
    const int *going = PH_GOING_DOFS(w), *place = dof_place(w);
    const int *nnz = M_rownnz(w), *adr = M_rowadr(w), *col = M_colind(w);
    real *low = hessian_low(w);
    each (k, PH_NODE * PH_ISLE(w, I_BEGIN)[nnode(w)]) low[k] = splat(0);
    each (k, PH_EDGE * nnode(w)) PH_LOW_SIDE(w)[k] = splat(0);
    sync();
    ph_low_inertia(w, 0, hessian(w)); /* in M's order first */
    if (integrator(w) == PH_DISCRETE) ph_low_slopes(w, metric(w), 0, hessian(w));
    each (i, ph_ngoing(w)) {
        int d = going[i];
        rolled
        for (int e = adr[d]; e < adr[d] + nnz[d]; ++e) low[ph_node_entry(w, place[d], place[col[e]])] = hessian(w)[e];
    }
    sync();
    ph_begin_nodes(w, x);
}

/* H += J' C J of slot k, whose block has `dim` rows. */
LFN void ph_two_add_to_nodes(ph_world w, int k, int dim)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k)), *places = block + block[B_PLACES];
    const real *J = efc_J(w) + ph_slot_J(w, k), *C = efc_c(w) + blockdim(w) * ph_slot_row(w, k);
    real *H = hessian(w), *low = hessian_low(w), zero = splat(0);
    int n = block[B_NDOF], apart = PH_ISLE(w, I_COLUMN)[nnode(w)];
    real times = splat((ureal)(apart ? ph_count_trees(w, places, n) : 1));
    each (own, n) {
        real a[2 * PH_ROWS], x[2];
        ph_zero(a, 2 * PH_ROWS);
        rolled
        for (int r = 0; r < dim; ++r) {
            rolled
            for (int q = 0; q < dim; ++q) ph_two_fma(times * C[r * dim + q], zero, J[q * n + own], zero, a + 2 * r);
            ph_two_round(a + 2 * r);
        }
        rolled
        for (int e = 0; e <= own; ++e) { /* places descend */
            if (apart && node_tree(w)[places[own] >> 3] != node_tree(w)[places[e] >> 3]) continue;
            int at = ph_node_entry(w, places[own], places[e]);
            x[0] = H[at];
            x[1] = low[at];
            rolled
            for (int r = 0; r < dim; ++r) ph_two_fma(a[2 * r], a[2 * r + 1], J[r * n + e], zero, x);
            ph_two_round(x);
            H[at] = x[0];
            low[at] = x[1];
        }
    }
    sync();
}

/* x [2], less the products of rows i and j of the tiles to the left of row a and column c. */
LFN void ph_two_take_left(ph_world w, int a, int c, int i, int j, real *x)
{
    const int *adr = PH_ISLE(w, I_LEFT), *left = PH_LEFT(w), *column = PH_TILE_COLUMN(w);
    const real *H = hessian(w), *low = hessian_low(w);
    int p = adr[a];
    rolled
    for (int q = adr[c]; q < adr[c + 1]; ++q) {
        int at = column[left[q]];
        for (; p < adr[a + 1] && column[left[p]] < at;) p = p + 1;
        if (p == adr[a + 1]) break;
        int one = PH_NODE * left[p] + i, two = PH_NODE * left[q] + j;
        rolled
        for (int k = 0; k < PH_NODE && column[left[p]] == at; k += PH_EDGE)
            ph_two_fma(-H[one + k], -low[one + k], H[two + k], low[two + k], x);
    }
    ph_two_round(x);
}

/* L of a tile on the diagonal, with the inverses of its diagonal, and the part of L^-1 x. */
LFN void ph_two_factor_node(ph_world w, int c)
{
    const int *adr = PH_ISLE(w, I_LEFT), *left = PH_LEFT(w), *column = PH_TILE_COLUMN(w);
    int at = PH_NODE * PH_ISLE(w, I_BEGIN)[c];
    real *T = hessian(w) + at, *low = hessian_low(w) + at, *y = hessian_tiles(w), *y_low = PH_LOW_SIDE(w);
    real x[2], inverse[2], product[2];
    ph_zero(inverse, 2);
    rolled
    for (int q = 0; q < PH_EDGE; ++q) {
        rolled
        for (int i = q; i < PH_EDGE; ++i) {
            x[0] = T[PH_EDGE * q + i];
            x[1] = low[PH_EDGE * q + i];
            rolled
            for (int k = 0; k < PH_EDGE * q; k += PH_EDGE) ph_two_fma(-T[k + i], -low[k + i], T[k + q], low[k + q], x);
            ph_two_round(x);
            if (i == q) ph_two_inverse_root(x, inverse);
            if (i == q)
                ph_copy(product, inverse, 2);
            else
                ph_two_mul(x, inverse, product);
            T[PH_EDGE * q + i] = product[0];
            low[PH_EDGE * q + i] = product[1];
        }
    }
    rolled
    for (int i = 0; i < PH_EDGE; ++i) {
        int own = PH_EDGE * c + i;
        x[0] = y[own];
        x[1] = y_low[own];
        rolled
        for (int t = adr[c]; t < adr[c + 1]; ++t) {
            const real *L = hessian(w) + PH_NODE * left[t] + i, *L_low = hessian_low(w) + PH_NODE * left[t] + i;
            int before = PH_EDGE * column[left[t]];
            rolled
            for (int k = 0; k < PH_EDGE; ++k)
                ph_two_fma(-L[PH_EDGE * k], -L_low[PH_EDGE * k], y[before + k], y_low[before + k], x);
        }
        rolled
        for (int k = 0; k < i; ++k)
            ph_two_fma(-T[PH_EDGE * k + i], -low[PH_EDGE * k + i], y[PH_EDGE * c + k], y_low[PH_EDGE * c + k], x);
        ph_two_round(x);
        inverse[0] = T[PH_EDGE * i + i];
        inverse[1] = low[PH_EDGE * i + i];
        ph_two_mul(x, inverse, product);
        y[own] = product[0];
        y_low[own] = product[1];
    }
}

/* L of row i of a tile below the diagonal. */
LFN void ph_two_finish_row(ph_world w, int t, int i)
{
    int diagonal = PH_NODE * PH_ISLE(w, I_BEGIN)[PH_TILE_COLUMN(w)[t]], at = PH_NODE * t;
    const real *D = hessian(w) + diagonal, *D_low = hessian_low(w) + diagonal;
    real *T = hessian(w) + at, *low = hessian_low(w) + at, x[2], inverse[2], product[2];
    rolled
    for (int q = 0; q < PH_EDGE; ++q) {
        x[0] = T[PH_EDGE * q + i];
        x[1] = low[PH_EDGE * q + i];
        rolled
        for (int k = 0; k < PH_EDGE * q; k += PH_EDGE) ph_two_fma(-T[k + i], -low[k + i], D[k + q], D_low[k + q], x);
        ph_two_round(x);
        inverse[0] = D[PH_EDGE * q + q];
        inverse[1] = D_low[PH_EDGE * q + q];
        ph_two_mul(x, inverse, product);
        T[PH_EDGE * q + i] = product[0];
        low[PH_EDGE * q + i] = product[1];
    }
}

/* What ph_factor_nodes makes of H = M + J' C J and the right side x, in two reals. */
STET_CALLED LFN void ph_two_nodes(ph_world w, const real *x)
{
    const int *list = w.ints + ph_active(w), *level = PH_ISLE(w, I_LEVEL), *begin = PH_ISLE(w, I_BEGIN);
    const int *row = PH_TILE_ROW(w), *column = PH_TILE_COLUMN(w);
    real *H = hessian(w), *low = hessian_low(w);
    ph_two_begin_nodes(w, x);
    rolled
    for (int i = 0; i < ph_nactive(w); ++i) ph_two_add_to_nodes(w, list[i], PH_BLOCK(ph_slot_block(w, list[i]))[B_DIM]);
    rolled
    for (int l = 0; l < w.ints[S_NLEVEL]; ++l) {
        int first = level[l], last = level[l + 1], tile = begin[first];
        each (e, l > 0 ? PH_NODE * (begin[last] - tile) : 0) {
            int t = tile + e / PH_NODE, j = e % PH_NODE / PH_EDGE, i = e % PH_EDGE;
            real sum[2];
            if (!ph_column_goes(w, column[t]) || (row[t] == column[t] && i < j)) continue;
            sum[0] = H[PH_NODE * t + PH_EDGE * j + i];
            sum[1] = low[PH_NODE * t + PH_EDGE * j + i];
            ph_two_take_left(w, row[t], column[t], i, j, sum);
            H[PH_NODE * t + PH_EDGE * j + i] = sum[0];
            low[PH_NODE * t + PH_EDGE * j + i] = sum[1];
        }
        sync();
        each (c, last - first)
            if (ph_column_goes(w, first + c)) ph_two_factor_node(w, first + c);
        sync();
        each (e, PH_EDGE * (begin[last] - tile)) {
            int t = tile + e / PH_EDGE;
            if (row[t] != column[t] && ph_column_goes(w, column[t])) ph_two_finish_row(w, t, e % PH_EDGE);
        }
        sync();
    }
}

/* ---- x = H^-1 x -------------------------------------------------------------------------------------------------- */

/* Keeps the diagonal of H where M times the search direction will be. */
LFN void ph_keep_node_diagonal(ph_world w)
{
    const int *place = dof_place(w), *going = PH_GOING_DOFS(w);
    each (i, ph_ngoing(w)) Mv(w)[going[i]] = hessian(w)[ph_node_entry(w, place[going[i]], place[going[i]])];
    sync();
}

/* Where a pivot of the factor is thin. */
LFN mask ph_is_node_thin(ph_world w)
{
    const int *place = dof_place(w), *going = PH_GOING_DOFS(w);
    mask thin = m_none();
    rolled
    for (int i = 0; i < ph_ngoing(w); ++i) {
        real inverse = hessian(w)[ph_node_entry(w, place[going[i]], place[going[i]])];
        thin = m_or(thin, ph_is_thin(Mv(w)[going[i]], inverse * inverse, PH_THIN_HESSIAN));
    }
    return thin;
}

/* As ph_solve_hessian, of the dofs of islands that go on. */
PH_PART LFN void ph_solve_going(ph_world w, real *x, mask group)
{
    const int *place = dof_place(w), *going = PH_GOING_DOFS(w);
    const real *y = hessian_tiles(w);
    ph_curves(w);
    ph_begin_nodes(w, x);
#define PH_DO(rows) ph_add_to_nodes(w, k, rows, group)
    rolled
    for (int i = 0; i < ph_nactive(w); ++i) {
        PH_DO_SLOT(i, PH_DO);
    }
#undef PH_DO
    ph_keep_node_diagonal(w);
    ph_factor_nodes(w);
    mask thin = m_or(m_not(eq(qM_thin(w)[0], splat(0))), ph_is_node_thin(w));
    if (any(m_and(group, thin))) ph_two_nodes(w, x);
    ph_solve_nodes(w);
    each (i, ph_ngoing(w)) {
        int at = place[going[i]];
        x[going[i]] = y[PH_EDGE * PH_ISLE(w, I_COLUMN)[at >> 3] + (at & 7)];
    }
    sync();
}
