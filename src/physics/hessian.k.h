/*
 * The Hessian of the solver, H = M + J' C J = L L'. Part of the kernels that include it, before solve.k.h.
 *
 * Rows and columns are dofs in descending order, so that leaves of the tree come first: a row then has nothing left of
 * the dofs below its own, but for what constraints couple. H is stored in rows of tiles of 4 by 4 up to the diagonal; s
 * says from ph_first on which tile of each may not be 0 first. The last tile is filled up with the identity.
 */

/* Rows of tiles, the last with row nv, and where row i begins, so that H + ph_row(i) has columns 0 … i. */
LFN int ph_tiles(const int *m) { return (m[M_NV] + 4) >> 2; }
LFN int ph_row(int i) { return 8 * (i >> 2) * ((i >> 2) + 1) + 4 * (i & 3) * ((i >> 2) + 1); }

/* Rows of H that are worked on at a time: they share what is loaded for them. It divides 4. */
#if STET_GPU
#define PH_STRIPE 2
#else
#define PH_STRIPE 4
#endif

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
            int all = block[B_NDOF], low = (last - dof[2 * all - 2]) >> 2;
            for (int c = 0; c < all - 1; ++c) {
                int g = (last - dof[2 * c]) >> 2;
                first[g] = nmin(first[g], low);
            }
        }
        first[m[M_NV] >> 2] = 0;
    }
    sync();
}

/* H = M, and x in the row below it */
LFN void ph_fill_hessian(const int *m, real *w, const int *s, const real *x)
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
        if (d >= 0) {
            to[i] = qM[adr[d] + nnz[d] - 1];
            for (int k = below[d]; k < below[d + 1]; ++k)
                to[last - row[k]] = qM[entry[k]] + splat(0); /* -0 becomes 0, as by a slot that adds zeros */
        } else {
            to[i] = splat(1);
            for (int j = 0; d == -1 && j <= last; ++j) to[j] = x[last - j];
        }
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
    ph_block_curve(m, f, v, block, dim, w + m[W_EFC_D] + row, w + m[W_EFC_JAR] + row, C);
    for (int r = 0; r < dim; ++r) some = m_or(some, m_not(eq(C[r * dim + r], splat(0))));
    if (!any(m_and(some, on))) return;
    if (n == 1 && dim == 1) {
        each (one, 1) {
            real *own = H + ph_row(last - dof[one]) + (last - dof[one]);
            *own = fma(fma(C[0], J[0], splat(0)), J[0], *own);
        }
        sync();
        return;
    }
    each (t, (n + PH_STRIPE - 1) / PH_STRIPE) {
        real a[PH_STRIPE * PH_MOST_ROWS];
        int c = PH_STRIPE * t, to[PH_STRIPE], count = nmin(PH_STRIPE, n - c);
        for (int i = 0; i < PH_STRIPE; ++i) {
            int own = c + nmin(i, count - 1);
            to[i] = ph_row(last - dof[2 * own]);
            for (int r = 0; r < dim; ++r) {
                real sum = splat(0);
                for (int q = 0; q < dim; ++q) sum = fma(C[r * dim + q], J[q * n + own], sum);
                a[i * dim + r] = sum;
            }
        }
        for (int e = c; e < c + count; ++e) {
            int j = last - dof[2 * e];
            for (int i = 0; i <= e - c; ++i) {
                real x = H[to[i] + j];
                for (int r = 0; r < dim; ++r) x = fma(a[i * dim + r], J[r * n + e], x);
                H[to[i] + j] = x;
            }
        }
        for (int e = c + PH_STRIPE; e < n; ++e) {
            int j = last - dof[2 * e];
            for (int i = 0; i < PH_STRIPE; ++i) {
                real x = H[to[i] + j];
                for (int r = 0; r < dim; ++r) x = fma(a[i * dim + r], J[r * n + e], x);
                H[to[i] + j] = x;
            }
        }
    }
    sync();
}

/* sum [PH_STRIPE][4]: columns 4 h … 4 h + 3 of stripe p of rows, less the products of what is left of them. */
LFN void ph_tile_rest(const real *H, const int *first, int p, int h, real *sum)
{
    int g = (PH_STRIPE * p) >> 2, width = 4 * (h + 1), wide = 4 * (g + 1);
    const real *a = H + ph_row(PH_STRIPE * p), *c = H + ph_row(4 * h);
    for (int i = 0; i < PH_STRIPE; ++i)
        for (int q = 0; q < 4; ++q) sum[4 * i + q] = a[i * wide + 4 * h + q];
    for (int k = 4 * nmax(first[g], first[h]); k < 4 * h; ++k)
        for (int i = 0; i < PH_STRIPE; ++i)
            for (int q = 0; q < 4; ++q) sum[4 * i + q] = fma(-a[i * wide + k], c[q * width + k], sum[4 * i + q]);
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

/* H = L L', in place, and the row x below it becomes L^-1 x; H's diagonal gets the inverses of L's. */
LFN void ph_factor_hessian(const int *m, real *w, const int *s)
{
    const int *first = s + ph_first(m);
    real *H = w + m[W_H];
    int nstripe = m[M_NV] / PH_STRIPE + 1, side = 4 / PH_STRIPE;
    for (int h = 0; 4 * h < m[M_NV]; ++h) {
        const real *c = H + ph_row(4 * h) + 4 * h;
        int width = 4 * (h + 1);
        each (t, side) {
            real sum[4 * PH_STRIPE], *to = H + ph_row(4 * h + PH_STRIPE * t) + 4 * h;
            ph_tile_rest(H, first, side * h + t, h, sum);
            for (int i = 0; i < PH_STRIPE; ++i)
                for (int q = 0; q < 4; ++q) to[i * width + q] = sum[4 * i + q];
        }
        sync();
        each (one, 1) ph_factor_tile(H, h + one);
        sync();
        each (t, nstripe - side * (h + 1)) {
            int p = side * (h + 1) + t, g = (PH_STRIPE * p) >> 2;
            if (first[g] <= h) {
                real sum[4 * PH_STRIPE], *to = H + ph_row(PH_STRIPE * p) + 4 * h;
                ph_tile_rest(H, first, p, h, sum);
                for (int q = 0; q < 4; ++q)
                    for (int i = 0; i < PH_STRIPE; ++i) {
                        real x = sum[4 * i + q];
                        for (int k = 0; k < q; ++k) x = fma(-c[q * width + k], sum[4 * i + k], x);
                        sum[4 * i + q] = x * c[q * width + q];
                        to[4 * i * (g + 1) + q] = sum[4 * i + q];
                    }
            }
        }
        sync();
    }
}

/* Entry c of the solution, less what the n rows of tile h take from it; end: entry 0, the others lie before it. */
LFN void ph_take_rows(const real *L, int width, real *end, int h, int n, int c)
{
    real sum = end[-c];
    for (int j = n - 1; j >= 0; --j) sum = fma(-L[j * width + c], end[-4 * h - j], sum);
    end[-c] = sum;
}

/*
 * x = H^-1 x, with H = M + J' C J for the lanes `on`. x is one more row of H, so that its half of the solution comes
 * with the factor.
 */
STET_CALLED LFN void ph_solve_hessian(const int *m, const ureal *f, const real *v, real *w, const int *s, real *x,
                                      mask on)
{
    const int *first = s + ph_first(m), *list = s + ph_active(m);
    const real *H = w + m[W_H];
    int nv = m[M_NV];
    real *end = x + nv - 1; /* of row 0 */
    ph_fill_hessian(m, w, s, x);
    for (int i = 0; i < s[S_NACTIVE]; ++i) {
        int k = list[i], dim = (m + ph_slot_block(s, k))[B_DIM];
        if (dim == 1)
            ph_add_slot(m, f, v, w, s, k, 1, on);
        else if (dim == 3)
            ph_add_slot(m, f, v, w, s, k, 3, on);
        else if (PH_IS_4(dim))
            ph_add_slot(m, f, v, w, s, k, 4, on);
        else if (PH_IS_6(dim))
            ph_add_slot(m, f, v, w, s, k, 6, on);
        else
            ph_add_slot(m, f, v, w, s, k, dim, on);
    }
    ph_factor_hessian(m, w, s);
    each (i, nv) end[-i] = (H + ph_row(nv))[i];
    sync();
    for (int h = (nv - 1) >> 2; h >= 0; --h) {
        const real *L = H + ph_row(4 * h);
        int n = nmin(4, nv - 4 * h), width = 4 * (h + 1), low = 4 * first[h];
        each (one, 1) {
            for (int j = 4 * h + n - 1; j >= 4 * h + one; --j) {
                const real *own = L + (j - 4 * h) * width;
                real y = end[-j] * own[j];
                end[-j] = y;
                for (int c = 4 * h; c < j; ++c) end[-c] = fma(-own[c], y, end[-c]);
            }
        }
        sync();
        each (i, 4 * h - low) {
            if (n == 4)
                ph_take_rows(L, width, end, h, 4, low + i);
            else
                ph_take_rows(L, width, end, h, n, low + i);
        }
        sync();
    }
}
