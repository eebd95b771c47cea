/*
 * The solver's Hessian with sums of two reals, for lanes in which a pivot of hessian.k.h is thin. Part of the kernels
 * that include it, after pattern.k.h; twofold.k.h says why.
 */

/* H of the tiles of the factor: 1, qM, and the row x below. */
LFN void ph_two_begin(ph_world w, const real *x)
{
    const int *list = w.ints + ph_tile_list(w), *entry = M_place(w), *place = dof_place(w);
    real *H = hessian(w), *low = hessian_low(w);
    each (t, 4 * (w.ints + ph_level_begin(w))[2 * w.ints[S_NLEVEL]]) {
        int g = list[t >> 2] >> 16, h = list[t >> 2] & 0xffff, i = 4 * g + (t & 3), at = ph_row(i);
        for (int j = 0; j < 4; ++j) {
            H[at + 4 * h + j] = splat(0);
            low[at + 4 * h + j] = splat(0);
        }
        if (g == h) H[at + i] = splat(1); /* a row without a dof keeps it */
    }
    sync();
    ph_low_inertia(w, 1, low);
    if (integrator(w) == PH_DISCRETE) ph_low_slopes(w, metric(w), 1, low);
    const real *qM = PH_METRIC;
    each (e, nC(w)) H[entry[e]] = qM[e];
    each (d, nv(w)) H[ph_row(nplace(w)) + place[d]] = x[d];
    sync();
}

/* H += J' C J of slot k, whose block has `dim` rows. */
LFN void ph_two_add_slot(ph_world w, int k, int dim)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k)), *place = block + block[B_PLACES];
    const real *J = efc_J(w) + ph_slot_J(w, k), *C = efc_c(w) + blockdim(w) * ph_slot_row(w, k);
    real *H = hessian(w), *low = hessian_low(w), zero = splat(0);
    int n = block[B_NDOF];
    each (own, n) {
        real a[2 * PH_ROWS], x[2];
        ph_zero(a, 2 * PH_ROWS);
        rolled
        for (int r = 0; r < dim; ++r) {
            rolled
            for (int q = 0; q < dim; ++q) ph_two_fma(C[r * dim + q], zero, J[q * n + own], zero, a + 2 * r);
            ph_two_round(a + 2 * r);
        }
        rolled
        for (int e = own; e < n; ++e) {
            int at = ph_row(place[own]) + place[e];
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

/* Has the factor tile h of the row of tiles g, which is not above it? */
LFN int ph_has_tile(ph_world w, int g, int h)
{
    return g == h || (w.ints[ph_tile_rows(w) + g * nword(w) + (h >> 5)] >> (h & 31) & 1);
}

/* Columns 4 h … 4 h + 3 of row i, less the products of what is left of them. */
LFN void ph_two_rest(ph_world w, int i, int h)
{
    const int *rows = w.ints + ph_tile_rows(w);
    real *H = hessian(w), *low = hessian_low(w), sum[8];
    int own = ph_row(i), words = nword(w);
    for (int q = 0; q < 4; ++q) {
        sum[2 * q] = H[own + 4 * h + q];
        sum[2 * q + 1] = low[own + 4 * h + q];
    }
    rolled
    for (int t = 0; t <= h >> 5; ++t) {
        u32 bits = (u32)rows[(i >> 2) * words + t] & (u32)rows[h * words + t];
        for (; bits; bits = bits & (bits - 1)) {
            int first = 128 * t + 4 * ph_lowest(bits);
            rolled
            for (int k = first; k < first + 4; ++k)
                for (int q = 0; q < 4; ++q) {
                    int other = ph_row(4 * h + q) + k;
                    ph_two_fma(-H[own + k], -low[own + k], H[other], low[other], sum + 2 * q);
                }
        }
    }
    for (int q = 0; q < 4; ++q) {
        ph_two_round(sum + 2 * q);
        H[own + 4 * h + q] = sum[2 * q];
        low[own + 4 * h + q] = sum[2 * q + 1];
    }
}

/* L of columns 4 h … 4 h + n - 1 of row i, from L of the tile on the diagonal above it. */
LFN void ph_two_row(ph_world w, int i, int h, int n)
{
    real *H = hessian(w), *low = hessian_low(w), x[8], l[2];
    int own = ph_row(i) + 4 * h;
    for (int q = 0; q < n; ++q) {
        int above = ph_row(4 * h + q) + 4 * h;
        real *sum = x + 2 * q;
        sum[0] = H[own + q];
        sum[1] = low[own + q];
        for (int k = 0; k < q; ++k) ph_two_fma(-H[above + k], -low[above + k], x[2 * k], x[2 * k + 1], sum);
        ph_two_round(sum);
        l[0] = H[above + q];
        l[1] = low[above + q];
        real kept[2];
        ph_copy(kept, sum, 2);
        ph_two_mul(kept, l, sum);
        H[own + q] = sum[0];
        low[own + q] = sum[1];
    }
}

/* L of a tile on the diagonal, with the inverses of its diagonal, in place; rounded, it goes to W_H_TILES, too. */
LFN void ph_two_tile(ph_world w, int h)
{
    real *H = hessian(w), *low = hessian_low(w), *tile = hessian_tiles(w) + 16 * h, sum[2], inverse[2];
    for (int i = 0; i < 4; ++i) {
        int at = ph_row(4 * h + i) + 4 * h;
        ph_two_row(w, 4 * h + i, h, i);
        sum[0] = H[at + i];
        sum[1] = low[at + i];
        for (int k = 0; k < i; ++k) ph_two_fma(-H[at + k], -low[at + k], H[at + k], low[at + k], sum);
        ph_two_round(sum);
        ph_two_inverse_root(sum, inverse);
        H[at + i] = inverse[0];
        low[at + i] = inverse[1];
        for (int k = 0; k <= i; ++k) tile[4 * i + k] = H[at + k];
    }
}

/* W_H and W_H_TILES become what ph_factor_hessian makes of H = M + J' C J and x, in two reals and rounded. */
STET_CALLED LFN void ph_two_hessian(ph_world w, const real *x)
{
    const int *list = w.ints + ph_active(w);
    int n = nplace(w);
    ph_two_begin(w, x);
    rolled
    for (int i = 0; i < ph_nactive(w); ++i) ph_two_add_slot(w, list[i], PH_BLOCK(ph_slot_block(w, list[i]))[B_DIM]);
    rolled
    for (int h = 0; 4 * h < n; ++h) {
        each (i, n + 1 - 4 * h)
            if (ph_has_tile(w, h + (i >> 2), h)) ph_two_rest(w, 4 * h + i, h);
        sync();
        each (one, 1) ph_two_tile(w, h + one);
        sync();
        each (i, n - 3 - 4 * h)
            if (ph_has_tile(w, h + 1 + (i >> 2), h)) ph_two_row(w, 4 * h + 4 + i, h, 4);
        sync();
    }
}
