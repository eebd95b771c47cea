/*
 * H = M + J' C J = L L' of islands (islands.k.h), and its solutions. Part of the kernels that include it, after
 * islands.k.h.
 *
 * H is tiles of PH_EDGE by PH_EDGE, those of a column of tiles after one another, the first on the diagonal; a tile is
 * stored by columns, so that what is done to a column is done to eight numbers that lie side by side. In place of a
 * tile on the diagonal comes its factor, with the inverses of its diagonal; what is above that means nothing. Rows
 * without a dof are the identity's. The right side, by columns of tiles, is in hessian_tiles(w).
 */
#define PH_EDGE 8
#define PH_NODE 64 /* reals of a tile */

/* Threads of a GPU share the columns of a tile. */
#if STET_GPU
#define PH_TILE_SHARES PH_EDGE
#else
#define PH_TILE_SHARES 1
#endif
#define PH_SHARE(t) ((t) % PH_TILE_SHARES * (PH_EDGE / PH_TILE_SHARES))
#define PH_SHARE_END(t) (PH_SHARE(t) + PH_EDGE / PH_TILE_SHARES)

/* Is the island of a column of tiles still to be solved? */
LFN int ph_column_goes(ph_world w, int c)
{
    int s = PH_ISLE(w, I_ISLE)[c];
    return s >= 0 && (PH_ISLE(w, I_GOES)[nmax(s, 0)] & PH_GOES);
}

/* Where in H the entry of the rows `place` and `other` of H is, which has a tile; of one tile: `other` is the row. */
LFN int ph_node_entry(ph_world w, int place, int other)
{
    int c = PH_ISLE(w, I_COLUMN)[place >> 3], a = PH_ISLE(w, I_COLUMN)[other >> 3];
    if (a >= c) return PH_NODE * ph_node_tile(w, a, c) + PH_EDGE * (place & 7) + (other & 7);
    return PH_NODE * ph_node_tile(w, c, a) + PH_EDGE * (other & 7) + (place & 7);
}

/* ---- H ----------------------------------------------------------------------------------------------------------- */

/* H = M, of discrete the metric, and the right side x. */
LFN void ph_begin_nodes(ph_world w, const real *x)
{
    const int *column = PH_TILE_COLUMN(w), *row = PH_TILE_ROW(w), *going = PH_GOING_DOFS(w), *place = dof_place(w);
    const int *nnz = M_rownnz(w), *adr = M_rowadr(w), *col = M_colind(w);
    const real *qM = PH_METRIC;
    real *H = hessian(w), *y = hessian_tiles(w);
    each (t, PH_TILE_SHARES * PH_ISLE(w, I_BEGIN)[nnode(w)]) {
        int tile = t / PH_TILE_SHARES;
        if (!ph_column_goes(w, column[tile])) continue;
        for (int j = PH_SHARE(t); j < PH_SHARE_END(t); ++j) {
            real *to = H + PH_NODE * tile + PH_EDGE * j;
            for (int i = 0; i < PH_EDGE; ++i) to[i] = splat(0);
            if (row[tile] == column[tile]) to[j] = splat(1); /* a row without a dof keeps it */
        }
    }
    each (k, PH_EDGE * nnode(w)) y[k] = splat(0);
    sync();
    each (i, ph_ngoing(w)) {
        int d = going[i];
        rolled
        for (int e = adr[d]; e < adr[d] + nnz[d]; ++e) H[ph_node_entry(w, place[d], place[col[e]])] = qM[e] + splat(0);
        y[PH_EDGE * PH_ISLE(w, I_COLUMN)[place[d] >> 3] + (place[d] & 7)] = x[d];
    }
    sync();
}

/* Where, after `begin`, the dofs of a block end that are in the node of its first one. */
LFN int ph_node_end(const int *places, int begin, int n)
{
    int end = begin + 1;
    for (; end < n && places[nmin(end, n - 1)] >> 3 == places[begin] >> 3;) end = end + 1;
    return end;
}

/*
 * To a tile of H, whose columns are those of the dofs first … last - 1 of a block, comes what its rows are coupled with
 * them by: CJ, for the dofs begin … end - 1 or, on a CPU, for the rows of the tile, from r * PH_EDGE on.
 */
LFN void ph_add_tile(real *T, const int *places, const real *J, const real *CJ, int n, int dim, int first, int last)
{
    rolled
    for (int j = first; j < last; ++j) {
        real *to = T + PH_EDGE * (places[j] & 7);
        for (int r = 0; r < dim; ++r) {
            real v = J[r * n + j];
            for (int i = 0; i < PH_EDGE; ++i) to[i] = fma(CJ[PH_EDGE * r + i], v, to[i]);
        }
    }
}

/* How many trees a block has dofs of. */
LFN int ph_count_trees(ph_world w, const int *places, int n)
{
    int count = 1;
    for (int c = 1; c < n; ++c) count = count + (node_tree(w)[places[c] >> 3] != node_tree(w)[places[c - 1] >> 3]);
    return count;
}

/*
 * H += J' C J of slot k, whose block has `dim` rows, if that is not 0 in the lanes of the group. Where trees are apart,
 * of n trees come n times what each has by itself: x' J' C J x is no more than that, since (a + b)² ≤ 2 a² + 2 b².
 */
LFN void ph_add_to_nodes(ph_world w, int k, int dim, mask group)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k)), *places = block + block[B_PLACES];
    const real *J = efc_J(w) + ph_slot_J(w, k), *C = efc_c(w) + blockdim(w) * ph_slot_row(w, k);
    real *H = hessian(w);
    int n = block[B_NDOF], end = 0, last = 0, apart = PH_ISLE(w, I_COLUMN)[nnode(w)];
    real times = splat((ureal)(apart ? ph_count_trees(w, places, n) : 1));
    mask some = m_none();
    for (int r = 0; r < dim; ++r) some = m_or(some, m_not(eq(C[r * dim + r], splat(0))));
    if (!any(m_and(some, group))) return;
    rolled
    for (int begin = 0; begin < n; begin = end) { /* rows of tiles */
        int a = PH_ISLE(w, I_COLUMN)[places[begin] >> 3];
        end = ph_node_end(places, begin, n);
#if !STET_GPU
        real CJ[PH_ROWS * PH_EDGE];
        ph_zero(CJ, dim * PH_EDGE);
        rolled
        for (int i = begin; i < end; ++i)
            for (int r = 0; r < dim; ++r) {
                real sum = splat(0);
                for (int q = 0; q < dim; ++q) sum = fma(C[r * dim + q], J[q * n + i], sum);
                CJ[PH_EDGE * r + (places[i] & 7)] = times * sum;
            }
#endif
        rolled
        for (int first = 0; first < n; first = last) { /* columns of tiles */
            int c = PH_ISLE(w, I_COLUMN)[places[first] >> 3];
            last = ph_node_end(places, first, n);
            if (a < c) continue;
            if (apart && node_tree(w)[places[begin] >> 3] != node_tree(w)[places[first] >> 3]) continue;
            real *T = H + PH_NODE * ph_node_tile(w, a, c);
#if STET_GPU
            each (t, (end - begin) * (last - first)) {
                int i = begin + t % (end - begin), j = first + t / (end - begin);
                int at = PH_EDGE * (places[j] & 7) + (places[i] & 7);
                real x = T[at];
                for (int r = 0; r < dim; ++r) {
                    real sum = splat(0);
                    for (int q = 0; q < dim; ++q) sum = fma(C[r * dim + q], J[q * n + i], sum);
                    x = fma(times * sum, J[r * n + j], x);
                }
                T[at] = x;
            }
#else
            ph_add_tile(T, places, J, CJ, n, dim, first, last);
#endif
        }
    }
    sync();
}

/* ---- its factor -------------------------------------------------------------------------------------------------- */

/*
 * Columns from … to - 1 of a tile, less what is left of them: products of the tiles A and B before it, in rows a and c.
 */
LFN void ph_take_product(const real *A, const real *B, int from, int to, real *T)
{
    for (int j = from; j < to; ++j) {
        real s[PH_EDGE];
        for (int i = 0; i < PH_EDGE; ++i) s[i] = T[PH_EDGE * j + i];
        for (int k = 0; k < PH_EDGE; ++k)
            for (int i = 0; i < PH_EDGE; ++i) s[i] = fma(-A[PH_EDGE * k + i], B[PH_EDGE * k + j], s[i]);
        for (int i = 0; i < PH_EDGE; ++i) T[PH_EDGE * j + i] = s[i];
    }
}

/* The same of all tiles before it. */
LFN void ph_take_left(ph_world w, int t, int from, int to)
{
    const int *adr = PH_ISLE(w, I_LEFT), *left = PH_LEFT(w), *column = PH_TILE_COLUMN(w);
    int a = PH_TILE_ROW(w)[t], c = column[t], x = adr[a];
    real *H = hessian(w);
    rolled
    for (int y = adr[c]; y < adr[c + 1]; ++y) {
        int at = column[left[y]];
        for (; x < adr[a + 1] && column[left[x]] < at;) x = x + 1;
        if (x == adr[a + 1]) break;
        if (column[left[x]] == at)
            ph_take_product(H + PH_NODE * left[x], H + PH_NODE * left[y], from, to, H + PH_NODE * t);
    }
}

/* L of a tile on the diagonal, and the part of L^-1 x in y. */
LFN void ph_factor_node(ph_world w, int c)
{
    const int *adr = PH_ISLE(w, I_LEFT), *left = PH_LEFT(w), *column = PH_TILE_COLUMN(w);
    const real *H = hessian(w), *all = hessian_tiles(w);
    real *T = hessian(w) + PH_NODE * PH_ISLE(w, I_BEGIN)[c], *y = hessian_tiles(w) + PH_EDGE * c;
    rolled
    for (int q = 0; q < PH_EDGE; ++q) {
        real s[PH_EDGE];
        for (int i = 0; i < PH_EDGE; ++i) s[i] = T[PH_EDGE * q + i];
        rolled
        for (int k = 0; k < q; ++k) {
            real l = T[PH_EDGE * k + q];
            for (int i = 0; i < PH_EDGE; ++i) s[i] = fma(-T[PH_EDGE * k + i], l, s[i]);
        }
        real inverse = splat(1) / sqrt(s[q]);
        for (int i = 0; i < PH_EDGE; ++i) T[PH_EDGE * q + i] = s[i] * inverse;
        T[PH_EDGE * q + q] = inverse;
    }
    real x[PH_EDGE];
    for (int i = 0; i < PH_EDGE; ++i) x[i] = y[i];
    rolled
    for (int k = adr[c]; k < adr[c + 1]; ++k) {
        const real *L = H + PH_NODE * left[k], *before = all + PH_EDGE * column[left[k]];
        for (int q = 0; q < PH_EDGE; ++q)
            for (int i = 0; i < PH_EDGE; ++i) x[i] = fma(-L[PH_EDGE * q + i], before[q], x[i]);
    }
    for (int q = 0; q < PH_EDGE; ++q) {
        x[q] = x[q] * T[PH_EDGE * q + q];
        for (int i = q + 1; i < PH_EDGE; ++i) x[i] = fma(-T[PH_EDGE * q + i], x[q], x[i]);
    }
    for (int i = 0; i < PH_EDGE; ++i) y[i] = x[i];
}

/* L of rows from … to - 1 of a tile below the diagonal. */
LFN void ph_finish_tile(ph_world w, int t, int from, int to)
{
    const real *D = hessian(w) + PH_NODE * PH_ISLE(w, I_BEGIN)[PH_TILE_COLUMN(w)[t]];
    real *T = hessian(w) + PH_NODE * t;
    for (int q = 0; q < PH_EDGE; ++q) {
        real s[PH_EDGE];
        for (int i = from; i < to; ++i) s[i - from] = T[PH_EDGE * q + i];
        for (int k = 0; k < q; ++k)
            for (int i = from; i < to; ++i) s[i - from] = fma(-T[PH_EDGE * k + i], D[PH_EDGE * k + q], s[i - from]);
        for (int i = from; i < to; ++i) T[PH_EDGE * q + i] = s[i - from] * D[PH_EDGE * q + q];
    }
}

/* H = L L', in place, and the right side becomes L^-1 x; all columns of a level are made together. */
LFN void ph_factor_nodes(ph_world w)
{
    const int *level = PH_ISLE(w, I_LEVEL), *begin = PH_ISLE(w, I_BEGIN), *column = PH_TILE_COLUMN(w);
    rolled
    for (int l = 0; l < w.ints[S_NLEVEL]; ++l) {
        int first = level[l], last = level[l + 1], tile = begin[first];
        each (t, l > 0 ? PH_TILE_SHARES * (begin[last] - tile) : 0)
            if (ph_column_goes(w, column[tile + t / PH_TILE_SHARES]))
                ph_take_left(w, tile + t / PH_TILE_SHARES, PH_SHARE(t), PH_SHARE_END(t));
        sync();
        each (c, last - first)
            if (ph_column_goes(w, first + c)) ph_factor_node(w, first + c);
        sync();
        each (t, PH_TILE_SHARES * (begin[last] - tile)) {
            int own = tile + t / PH_TILE_SHARES;
            if (PH_TILE_ROW(w)[own] == column[own] || !ph_column_goes(w, column[own])) continue;
            ph_finish_tile(w, own, PH_SHARE(t), PH_SHARE_END(t));
        }
        sync();
    }
}

/* The right side, which is L^-1 times what it was, becomes H^-1 times that. */
LFN void ph_solve_nodes(ph_world w)
{
    const int *level = PH_ISLE(w, I_LEVEL), *begin = PH_ISLE(w, I_BEGIN), *row = PH_TILE_ROW(w);
    const real *H = hessian(w), *all = hessian_tiles(w);
    rolled
    for (int l = w.ints[S_NLEVEL] - 1; l >= 0; --l) {
        int first = level[l];
        each (k, level[l + 1] - first) {
            int c = first + k;
            real *y = hessian_tiles(w) + PH_EDGE * c, x[PH_EDGE];
            const real *D = H + PH_NODE * begin[c];
            if (!ph_column_goes(w, c)) continue;
            for (int i = 0; i < PH_EDGE; ++i) x[i] = y[i];
            rolled
            for (int t = begin[c] + 1; t < begin[c + 1]; ++t) {
                const real *L = H + PH_NODE * t, *below = all + PH_EDGE * row[t];
                for (int i = 0; i < PH_EDGE; ++i)
                    for (int q = 0; q < PH_EDGE; ++q) x[q] = fma(-L[PH_EDGE * q + i], below[i], x[q]);
            }
            for (int q = PH_EDGE - 1; q >= 0; --q) {
                for (int i = q + 1; i < PH_EDGE; ++i) x[q] = fma(-D[PH_EDGE * q + i], x[i], x[q]);
                x[q] = x[q] * D[PH_EDGE * q + q];
            }
            for (int i = 0; i < PH_EDGE; ++i) y[i] = x[i];
        }
        sync();
    }
}
