/*
 * The Hessian of the solver, H = M + J' C J = L L'. Part of the kernels that include it, before solve.k.h.
 *
 * Rows and columns are dofs in descending order, so that leaves of the tree come first: a row then has nothing left of
 * the dofs below its own, but for what constraints couple. H is stored in rows of tiles of 4 by 4 up to the diagonal; s
 * says from ph_first on which tile of each may not be 0 first. The last tile is filled up with the identity.
 */

/* Rows of tiles, and where row i begins, so that H + ph_row(i) has columns 0 … i. */
LFN int ph_tiles(const int *m) { return (m[M_NV] + 3) >> 2; }
LFN int ph_row(int i) { return 8 * (i >> 2) * ((i >> 2) + 1) + 4 * (i & 3) * ((i >> 2) + 1); }

/* The first tile of each row of tiles, for the active slots. */
LFN void ph_profile(const int *m, int *s)
{
    const int *below = m + m[M_BELOW_ADR], *row = m + m[M_BELOW_ROW], *list = s + ph_active(m);
    int *first = s + ph_first(m), last = m[M_NV] - 1;
    each (one, 1) {
        for (int g = one; g < ph_tiles(m); ++g) first[g] = g;
        for (int i = 0; i <= last; ++i) {
            int d = last - i, low = below[d] < below[d + 1] ? (last - row[below[d]]) >> 2 : i >> 2;
            first[i >> 2] = nmin(first[i >> 2], low);
        }
        for (int i = 0; i < s[S_NACTIVE]; ++i) {
            const int *block = m + ph_slot_block(s, list[i]), *dof = m + block[B_DOFS];
            int n = block[B_NDOF], low = (last - dof[2 * n - 2]) >> 2;
            for (int c = 0; c < n; ++c) {
                int g = (last - dof[2 * c]) >> 2;
                first[g] = nmin(first[g], low);
            }
        }
    }
    sync();
}

/* H = M */
LFN void ph_fill_hessian(const int *m, real *w, const int *s)
{
    const int *nnz = m + m[M_M_ROWNNZ], *adr = m + m[M_M_ROWADR];
    const int *below = m + m[M_BELOW_ADR], *row = m + m[M_BELOW_ROW], *entry = m + m[M_BELOW_ENTRY];
    const int *first = s + ph_first(m);
    const real *qM = w + m[W_QM];
    int last = m[M_NV] - 1;
    each (i, 4 * ph_tiles(m)) {
        real *to = w + m[W_H] + ph_row(i);
        int d = last - i;
        for (int j = 4 * first[i >> 2]; j < 4 * (i >> 2) + 4; ++j) to[j] = splat(0);
        to[i] = d < 0 ? splat(1) : qM[adr[d] + nnz[d] - 1];
        for (int k = d < 0 ? 0 : below[d]; d >= 0 && k < below[d + 1]; ++k)
            to[last - row[k]] = qM[entry[k]] + splat(0); /* -0 becomes 0, as by a slot that adds zeros */
    }
    sync();
}

/* H += J' C J of slot k, whose block has `dim` rows, if that is not 0 in all lanes `on`. */
LFN void ph_add_slot(const int *m, const ureal *f, const real *v, real *w, const int *s, int k, int dim, mask on)
{
    const int *block = m + ph_slot_block(s, k), *dof = m + block[B_DOFS];
    int n = block[B_NDOF], row = ph_slot_row(s, k), last = m[M_NV] - 1;
    const real *J = w + m[W_EFC_J] + ph_slot_J(s, k);
    real *H = w + m[W_H], C[PH_MOST_ROWS * PH_MOST_ROWS];
    mask some = m_none();
    ph_zero(C, PH_MOST_ROWS * PH_MOST_ROWS);
    ph_block_curve(m, f, v, block, dim, w + m[W_EFC_D] + row, w + m[W_EFC_JAR] + row, C);
    for (int r = 0; r < dim; ++r) some = m_or(some, m_not(eq(C[r * dim + r], splat(0))));
    if (!any(m_and(some, on))) return;
    each (t, (n + 1) / 2) {
        int c = 2 * t, next = c + 1 < n ? c + 1 : c;
        real a[PH_MOST_ROWS], b[PH_MOST_ROWS];
        real *one = H + ph_row(last - dof[2 * c]), *two = H + ph_row(last - dof[2 * next]);
        for (int r = 0; r < dim; ++r) {
            a[r] = splat(0);
            b[r] = splat(0);
            for (int q = 0; q < dim; ++q) {
                a[r] = fma(C[r * dim + q], J[q * n + c], a[r]);
                b[r] = fma(C[r * dim + q], J[q * n + next], b[r]);
            }
        }
        real own = one[last - dof[2 * c]];
        for (int r = 0; r < dim; ++r) own = fma(a[r], J[r * n + c], own);
        one[last - dof[2 * c]] = own;
        for (int e = c + 1; e < n; ++e) {
            int j = last - dof[2 * e];
            real x = one[j], y = two[j];
            for (int r = 0; r < dim; ++r) {
                x = fma(a[r], J[r * n + e], x);
                y = fma(b[r], J[r * n + e], y);
            }
            one[j] = x;
            two[j] = y;
        }
    }
    sync();
}

/* sum [2][4]: columns 4 h … 4 h + 3 of rows 2 p and 2 p + 1, less the products of what is left of them. */
LFN void ph_tile_rest(const real *H, const int *first, int p, int h, real *sum)
{
    int g = p >> 1, width = 4 * (h + 1);
    const real *a = H + ph_row(2 * p), *b = a + 4 * (g + 1), *c = H + ph_row(4 * h);
    for (int q = 0; q < 4; ++q) {
        sum[q] = a[4 * h + q];
        sum[4 + q] = b[4 * h + q];
    }
    for (int k = 4 * nmax(first[g], first[h]); k < 4 * h; ++k)
        for (int q = 0; q < 4; ++q) {
            sum[q] = fma(-a[k], c[q * width + k], sum[q]);
            sum[4 + q] = fma(-b[k], c[q * width + k], sum[4 + q]);
        }
}

/* The tile on the diagonal becomes its factor, with the inverses of the diagonal. */
LFN void ph_factor_tile(real *H, int h)
{
    int width = 4 * (h + 1);
    real *tile = H + ph_row(4 * h) + 4 * h, L[16];
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j <= i; ++j) L[4 * i + j] = tile[i * width + j];
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j <= i; ++j) {
            real x = L[4 * i + j];
            for (int k = 0; k < j; ++k) x = fma(-L[4 * i + k], L[4 * j + k], x);
            L[4 * i + j] = i == j ? splat(1) / sqrt(x) : x * L[4 * j + j];
        }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j <= i; ++j) tile[i * width + j] = L[4 * i + j];
}

/* H = M + J' C J = L L', in place; H's diagonal gets the inverses of L's. */
STET_CALLED LFN void ph_hessian(const int *m, const ureal *f, const real *v, real *w, const int *s, mask on)
{
    const int *first = s + ph_first(m), *list = s + ph_active(m);
    real *H = w + m[W_H];
    int ntile = ph_tiles(m);
    ph_fill_hessian(m, w, s);
    for (int i = 0; i < s[S_NACTIVE]; ++i) {
        int k = list[i], dim = (m + ph_slot_block(s, k))[B_DIM];
        if (dim == 1)
            ph_add_slot(m, f, v, w, s, k, 1, on);
        else if (dim == 3)
            ph_add_slot(m, f, v, w, s, k, 3, on);
        else
            ph_add_slot(m, f, v, w, s, k, dim, on);
    }
    for (int h = 0; h < ntile; ++h) {
        const real *c = H + ph_row(4 * h) + 4 * h;
        int width = 4 * (h + 1);
        each (t, 2) {
            real sum[8], *to = H + ph_row(4 * h + 2 * t) + 4 * h;
            ph_tile_rest(H, first, 2 * h + t, h, sum);
            for (int q = 0; q < 4; ++q) {
                to[q] = sum[q];
                to[width + q] = sum[4 + q];
            }
        }
        sync();
        each (one, 1) ph_factor_tile(H, h + one);
        sync();
        each (t, 2 * (ntile - h - 1)) {
            int p = 2 * h + 2 + t, g = p >> 1;
            if (first[g] <= h) {
                real sum[8], *to = H + ph_row(2 * p) + 4 * h;
                ph_tile_rest(H, first, p, h, sum);
                for (int q = 0; q < 4; ++q)
                    for (int side = 0; side < 2; ++side) {
                        real x = sum[4 * side + q];
                        for (int k = 0; k < q; ++k) x = fma(-c[q * width + k], sum[4 * side + k], x);
                        sum[4 * side + q] = x * c[q * width + q];
                        to[4 * side * (g + 1) + q] = sum[4 * side + q];
                    }
            }
        }
        sync();
    }
}

/* In place: x becomes H^-1 x. */
STET_CALLED LFN void ph_solve_hessian(const int *m, const real *w, const int *s, real *x)
{
    const int *first = s + ph_first(m);
    const real *H = w + m[W_H];
    int nv = m[M_NV];
    real *end = x + nv - 1; /* of row 0 */
    for (int j = 0; j < nv; ++j) {
        real y = end[-j] * H[ph_row(j) + j];
        sync();
        each (i, nv - j) {
            int r = i + j;
            if (r == j)
                end[-r] = y;
            else if (4 * first[r >> 2] <= j)
                end[-r] = fma(-H[ph_row(r) + j], y, end[-r]);
        }
        sync();
    }
    for (int j = nv - 1; j >= 0; --j) {
        int low = 4 * first[j >> 2];
        real y = end[-j] * H[ph_row(j) + j];
        sync();
        each (i, j - low + 1) {
            int c = low + i;
            if (c == j)
                end[-c] = y;
            else
                end[-c] = fma(-H[ph_row(j) + c], y, end[-c]);
        }
        sync();
    }
}
