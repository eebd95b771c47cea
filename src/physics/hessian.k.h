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
#if STET_GPU && STET_TEAM >= 16
#define PH_STRIPE 1
#elif STET_GPU
#define PH_STRIPE 2
#else
#define PH_STRIPE 4
#endif

/* The first tile of each row of tiles, for the active slots. */
LFN void ph_profile(const int *m, int *s)
{
    const int *below = m + m[M_BELOW_ADR], *row = m + m[M_BELOW_ROW], *list = s + ph_active(m);
    int *first = s + ph_first(m), last = m[M_NV] - 1;
    each (g, ph_tiles(m)) {
        int least = g == m[M_NV] >> 2 ? 0 : g;
        rolled for (int i = 4 * g; i <= nmin(4 * g + 3, last); ++i)
        {
            int d = last - i;
            if (below[d] < below[d + 1]) least = nmin(least, (last - row[below[d]]) >> 2);
        }
        rolled for (int i = 0; i < ph_nactive(s); ++i)
        {
            const int *block = m + ph_slot_block(s, list[i]);
            if ((u32)block[B_TILES] >> (g & 31) & 1) least = nmin(least, block[B_LOW]);
        }
        first[g] = least;
    }
    sync();
}

/* H = M, and x in the row below it */
LFN void ph_fill_hessian(const int *m, real *w, const int *s, const real *x)
{
    const int *nnz = m + m[M_M_ROWNNZ], *adr = m + m[M_M_ROWADR];
    const int *below = m + m[M_BELOW_ADR], *row = m + m[M_BELOW_ROW], *entry = m + m[M_BELOW_ENTRY];
    const int *first = s + ph_first(m);
    const real *qM = PH_AT(W_QM);
    int last = m[M_NV] - 1;
    each (i, 4 * ph_tiles(m)) {
        real *to = PH_AT(W_H) + ph_row(i);
        int d = last - i;
        rolled for (int j = 4 * first[i >> 2]; j < 4 * (i >> 2) + 4; ++j) to[j] = splat(0);
        if (d >= 0) {
            to[i] = qM[adr[d] + nnz[d] - 1];
            rolled for (int k = below[d]; k < below[d + 1]; ++k) to[last - row[k]] =
                qM[entry[k]] + splat(0); /* -0 becomes 0, as by a slot that adds zeros */
        } else {
            to[i] = splat(1);
            for (int j = 0; d == -1 && j <= last; ++j) to[j] = x[last - j];
        }
    }
    sync();
}

/* Keeps the curve of slot k, whose block has `dim` rows. */
LFN void ph_put_curve(const int *m, const ureal *f, const real *v, real *w, const int *s, int k, int dim)
{
    int row = ph_slot_row(s, k);
    real C[PH_ROWS * PH_ROWS];
    ph_block_curve(m, f, v, m + ph_slot_block(s, k), dim, PH_AT(W_EFC_D) + row, PH_AT(W_EFC_JAR) + row, C);
    ph_copy(PH_AT(W_EFC_C) + m[M_BLOCKDIM] * row, C, dim * dim);
}

LFN void ph_curves(const int *m, const ureal *f, const real *v, real *w, const int *s)
{
    const int *list = s + ph_active(m);
    each (i, ph_nactive(s)) {
        int k = list[i], dim = (m + ph_slot_block(s, k))[B_DIM];
        if (PH_IS(1, dim))
            ph_put_curve(m, f, v, w, s, k, 1);
        else if (PH_IS(3, dim))
            ph_put_curve(m, f, v, w, s, k, 3);
        else if (PH_IS(4, dim))
            ph_put_curve(m, f, v, w, s, k, 4);
        else if (PH_IS(6, dim))
            ph_put_curve(m, f, v, w, s, k, 6);
        else if (PH_IS_OTHER)
            ph_put_curve(m, f, v, w, s, k, dim);
    }
    sync();
}

/* Row `own` of C J. */
LFN void ph_curve_row(const real *C, const real *J, int n, int dim, int own, real *a)
{
    for (int r = 0; r < dim; ++r) {
        real sum = splat(0);
        for (int q = 0; q < dim; ++q) sum = fma(C[r * dim + q], J[q * n + own], sum);
        a[r] = sum;
    }
}

/* Entry x of H, plus the product of a row of C J and column e of J. */
LFN real ph_curve_entry(const real *a, const real *J, int n, int dim, int e, real x)
{
    for (int r = 0; r < dim; ++r) x = fma(a[r], J[r * n + e], x);
    return x;
}

#if STET_GPU
/* Up to PH_CHUNK entries of a row of H at a time. */
LFN void ph_add_block(const int *m, real *H, const int *dof, const real *C, const real *J, int n, int dim)
{
    int last = m[M_NV] - 1;
    each (q, ph_items(n)) {
        int row, first, count, to[PH_CHUNK];
        real a[PH_ROWS], x[PH_CHUNK];
        ph_item(m, q, &row, &first, &count);
        int own = n - 1 - row;
        ph_curve_row(C, J, n, dim, own, a);
        for (int j = 0; j < PH_CHUNK; ++j) {
            int e = own + first + j;
            to[j] = ph_row(last - dof[2 * own]) + last - dof[2 * nmin(e, n - 1)];
            x[j] = ph_curve_entry(a, J, n, dim, e, H[to[j]]);
        }
        for (int j = 0; j < PH_CHUNK; ++j)
            if (j < count) H[to[j]] = x[j];
    }
}
#else
/* A stripe of rows of H at a time. */
LFN void ph_add_block(const int *m, real *H, const int *dof, const real *C, const real *J, int n, int dim)
{
    int last = m[M_NV] - 1;
    each (t, (n + PH_STRIPE - 1) / PH_STRIPE) {
        real a[PH_STRIPE * PH_ROWS];
        int c = PH_STRIPE * t, to[PH_STRIPE], count = nmin(PH_STRIPE, n - c);
        for (int i = 0; i < PH_STRIPE; ++i) {
            int own = c + nmin(i, count - 1);
            to[i] = ph_row(last - dof[2 * own]);
            ph_curve_row(C, J, n, dim, own, a + i * dim);
        }
        rolled for (int e = c; e < c + count; ++e)
        {
            int j = last - dof[2 * e];
            rolled for (int i = 0; i <= e - c; ++i) H[to[i] + j] =
                ph_curve_entry(a + i * dim, J, n, dim, e, H[to[i] + j]);
        }
        for (int e = c + PH_STRIPE; e < n; ++e) {
            int j = last - dof[2 * e];
            for (int i = 0; i < PH_STRIPE; ++i) H[to[i] + j] = ph_curve_entry(a + i * dim, J, n, dim, e, H[to[i] + j]);
        }
    }
}
#endif

/* H += J' C J of slot k, whose block has `dim` rows, if that is not 0 in all lanes `on`. */
LFN void ph_add_slot(const int *m, real *w, const int *s, int k, int dim, mask on)
{
    const int *block = m + ph_slot_block(s, k), *dof = m + block[B_DOFS];
    int n = block[B_NDOF], last = m[M_NV] - 1;
    const real *J = PH_AT(W_EFC_J) + ph_slot_J(s, k), *C = PH_AT(W_EFC_C) + m[M_BLOCKDIM] * ph_slot_row(s, k);
    real *H = PH_AT(W_H);
    mask some = m_none();
    for (int r = 0; r < dim; ++r) some = m_or(some, m_not(eq(C[r * dim + r], splat(0))));
    if (!any(m_and(some, on))) return;
    if (n == 1 && dim == 1) {
        each (one, 1) {
            real *own = H + ph_row(last - dof[one]) + (last - dof[one]);
            *own = fma(fma(C[0], J[0], splat(0)), J[0], *own);
        }
    } else {
        ph_add_block(m, H, dof, C, J, n, dim);
    }
    sync();
}

/* sum [PH_STRIPE][4]: columns 4 h … 4 h + 3 of stripe p of rows, less the products of what is left of them. */
LFN void ph_tile_rest(const real *H, const int *first, int p, int h, real *sum)
{
    int g = (PH_STRIPE * p) >> 2, width = 4 * (h + 1), wide = 4 * (g + 1);
    const real *a = H + ph_row(PH_STRIPE * p), *c = H + ph_row(4 * h);
    for (int i = 0; i < PH_STRIPE; ++i) load4(a, i * wide + 4 * h, sum + 4 * i);
#if STET_GPU /* four numbers of a row are one load */
    rolled for (int k = 4 * nmax(first[g], first[h]); k < 4 * h; k += 4)
    {
        real row[4], x[16];
        for (int q = 0; q < 4; ++q) load4(c, q * width + k, x + 4 * q);
        for (int i = 0; i < PH_STRIPE; ++i) {
            load4(a, i * wide + k, row);
            for (int j = 0; j < 4; ++j)
                for (int q = 0; q < 4; ++q) sum[4 * i + q] = fma(-row[j], x[4 * q + j], sum[4 * i + q]);
        }
    }
#else
    rolled for (int k = 4 * nmax(first[g], first[h]); k < 4 * h;
                ++k) for (int i = 0; i < PH_STRIPE; ++i) for (int q = 0; q < 4; ++q) sum[4 * i + q] =
        fma(-a[i * wide + k], c[q * width + k], sum[4 * i + q]);
#endif
}

/* L [4][4], the factor of the tile on the diagonal, with the inverses of its diagonal. */
LFN void ph_factor_tile(const real *H, int h, real *L)
{
    const real *tile = H + ph_row(4 * h) + 4 * h;
    for (int i = 0; i < 4; ++i) load4(tile, 4 * (h + 1) * i, L + 4 * i);
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j <= i; ++j) {
            real x = L[4 * i + j];
            for (int k = 0; k < j; ++k) x = fma(-L[4 * i + k], L[4 * j + k], x);
            L[4 * i + j] = i == j ? splat(1) / sqrt(x) : x * L[4 * j + j];
        }
}

/*
 * H = L L', in place, and the row x below it becomes L^-1 x; H's diagonal gets the inverses of L's. Each thread makes
 * the factor of the tile on the diagonal for itself: nobody waits for it.
 */
LFN void ph_factor_hessian(const int *m, real *w, const int *s)
{
    const int *first = s + ph_first(m);
    real *H = PH_AT(W_H);
    int nstripe = m[M_NV] / PH_STRIPE + 1, side = 4 / PH_STRIPE;
    for (int h = 0; 4 * h < m[M_NV]; ++h) {
        real L[16];
        each (t, side) {
            real sum[4 * PH_STRIPE], *to = H + ph_row(4 * h + PH_STRIPE * t) + 4 * h;
            ph_tile_rest(H, first, side * h + t, h, sum);
            for (int i = 0; i < PH_STRIPE; ++i) put4(to, 4 * (h + 1) * i, sum + 4 * i);
        }
        sync();
        ph_factor_tile(H, h, L);
        each (t, nstripe - side * (h + 1)) {
            int p = side * (h + 1) + t, g = (PH_STRIPE * p) >> 2;
            if (first[g] <= h) {
                real sum[4 * PH_STRIPE], *to = H + ph_row(PH_STRIPE * p) + 4 * h;
                ph_tile_rest(H, first, p, h, sum);
                for (int i = 0; i < PH_STRIPE; ++i) {
                    for (int q = 0; q < 4; ++q) {
                        real x = sum[4 * i + q];
                        for (int k = 0; k < q; ++k) x = fma(-L[4 * q + k], sum[4 * i + k], x);
                        sum[4 * i + q] = x * L[4 * q + q];
                    }
                    put4(to, 4 * (g + 1) * i, sum + 4 * i);
                }
            }
        }
        sync();
        each (i, 4) put4(H + ph_row(4 * h) + 4 * h, 4 * (h + 1) * i, L + 4 * i);
    }
    sync();
}

/*
 * Entries 4 h … 4 h + n - 1 of the solution, and what they take from those before; end: entry 0, the others lie before
 * it. Each thread makes them for itself.
 */
LFN void ph_take_rows(const real *H, real *end, int h, int n, int low)
{
    const real *L = H + ph_row(4 * h);
    real y[4];
    int width = 4 * (h + 1);
    for (int j = 0; j < n; ++j) y[j] = end[-4 * h - j];
    for (int j = n - 1; j >= 0; --j) {
        y[j] = y[j] * L[j * width + 4 * h + j];
        for (int c = 0; c < j; ++c) y[c] = fma(-L[j * width + 4 * h + c], y[j], y[c]);
    }
    sync();
    each (i, 4 * h - low) {
        real sum = end[-low - i];
        for (int j = n - 1; j >= 0; --j) sum = fma(-L[j * width + low + i], y[j], sum);
        end[-low - i] = sum;
    }
    each (one, 1)
        for (int j = one; j < n; ++j) end[-4 * h - j] = y[j];
    sync();
}

/*
 * x = H^-1 x, with H = M + J' C J for the lanes `on`. x is one more row of H, so that its half of the solution comes
 * with the factor.
 */
STET_CALLED LFN void ph_solve_hessian(const int *m, const ureal *f, const real *v, real *w, const int *s, real *x,
                                      mask on)
{
    const int *first = s + ph_first(m), *list = s + ph_active(m);
    const real *H = PH_AT(W_H);
    int nv = m[M_NV];
    real *end = x + nv - 1; /* of row 0 */
    ph_curves(m, f, v, w, s);
    ph_fill_hessian(m, w, s, x);
    rolled for (int i = 0; i < ph_nactive(s); ++i)
    {
        int k = list[i], dim = (m + ph_slot_block(s, k))[B_DIM];
        if (PH_IS(1, dim))
            ph_add_slot(m, w, s, k, 1, on);
        else if (PH_IS(3, dim))
            ph_add_slot(m, w, s, k, 3, on);
        else if (PH_IS(4, dim))
            ph_add_slot(m, w, s, k, 4, on);
        else if (PH_IS(6, dim))
            ph_add_slot(m, w, s, k, 6, on);
        else if (PH_IS_OTHER)
            ph_add_slot(m, w, s, k, dim, on);
    }
    ph_factor_hessian(m, w, s);
    each (i, nv) end[-i] = (H + ph_row(nv))[i];
    sync();
    for (int h = (nv - 1) >> 2; h >= 0; --h) {
        if (nv >= 4 * h + 4)
            ph_take_rows(H, end, h, 4, 4 * first[h]);
        else
            ph_take_rows(H, end, h, nv - 4 * h, 4 * first[h]);
    }
}
