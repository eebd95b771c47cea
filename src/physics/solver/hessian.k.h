/*
 * The Hessian of the solver, H = M + J' C J = L L'. Part of the kernels that include it, after pattern.k.h.
 *
 * Rows and columns are dofs in descending order, so that leaves of the tree come first: a row then has nothing left of
 * the dofs below its own, but for what constraints couple. Rows without a dof, which let each tree begin with a tile
 * (src/physics/solver/places.h) and fill up the last one, are the identity's. H is stored in rows of tiles of 4 by 4 up
 * to the diagonal; w.ints says from ph_pattern on which of them the factor has, and only those are ever looked at.
 */

/* Rows of H that are worked on at a time: they share what is loaded for them. It divides 4. */
#if STET_GPU && STET_TEAM >= 16
#define PH_STRIPE 1
#elif STET_GPU
#define PH_STRIPE 2
#else
#define PH_STRIPE 4
#endif

/* H = 1, and the row below it 0, of the tiles of the factor. */
LFN void ph_clear_tiles(ph_world w, real *H)
{
    const int *list = w.ints + ph_tile_list(w);
    each (t, 4 * (w.ints + ph_level_begin(w))[2 * w.ints[S_NLEVEL]]) {
        int g = list[t >> 2] >> 16, h = list[t >> 2] & 0xffff, i = 4 * g + (t & 3);
        real *to = H + ph_row(i);
        for (int j = 0; j < 4; ++j) to[4 * h + j] = splat(0);
        if (g == h) to[i] = splat(1); /* a row without a dof keeps it */
    }
}

/* Keeps the curve of slot k, whose block has `dim` rows. */
LFN void ph_put_curve(ph_world w, int k, int dim)
{
    int row = ph_slot_row(w, k);
    real C[PH_ROWS * PH_ROWS];
    ph_block_curve(w, PH_BLOCK(ph_slot_block(w, k)), dim, efc_D(w) + row, efc_jar(w) + row, C);
    ph_copy(efc_c(w) + blockdim(w) * row, C, dim * dim);
}

LFN void ph_curves(ph_world w)
{
#define PH_DO(rows) ph_put_curve(w, k, rows)
    each (i, ph_nactive(w)) {
        PH_DO_SLOT(i, PH_DO);
    }
#undef PH_DO
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
LFN void ph_add_block(ph_world w, real *H, const int *place, const real *C, const real *J, int n, int dim)
{
    each (q, ph_items(n)) {
        int row, first, count, to[PH_CHUNK];
        real a[PH_ROWS], x[PH_CHUNK];
        ph_item(w, q, &row, &first, &count);
        int own = n - 1 - row;
        ph_curve_row(C, J, n, dim, own, a);
        for (int j = 0; j < PH_CHUNK; ++j) {
            int e = own + first + j;
            to[j] = ph_row(place[own]) + place[nmin(e, n - 1)];
            x[j] = ph_curve_entry(a, J, n, dim, e, H[to[j]]);
        }
        for (int j = 0; j < PH_CHUNK; ++j)
            if (j < count) H[to[j]] = x[j];
    }
}
#else
/* A stripe of rows of H at a time. */
LFN void ph_add_block(ph_world w, real *H, const int *place, const real *C, const real *J, int n, int dim)
{
    (void)w.tables;
    each (t, (n + PH_STRIPE - 1) / PH_STRIPE) {
        real a[PH_STRIPE * PH_ROWS];
        int c = PH_STRIPE * t, to[PH_STRIPE], count = nmin(PH_STRIPE, n - c);
        for (int i = 0; i < PH_STRIPE; ++i) {
            int own = c + nmin(i, count - 1);
            to[i] = ph_row(place[own]);
            ph_curve_row(C, J, n, dim, own, a + i * dim);
        }
        rolled
        for (int e = c; e < c + count; ++e) {
            int j = place[e];
            rolled
            for (int i = 0; i <= e - c; ++i) H[to[i] + j] = ph_curve_entry(a + i * dim, J, n, dim, e, H[to[i] + j]);
        }
        for (int e = c + PH_STRIPE; e < n; ++e) {
            int j = place[e];
            for (int i = 0; i < PH_STRIPE; ++i) H[to[i] + j] = ph_curve_entry(a + i * dim, J, n, dim, e, H[to[i] + j]);
        }
    }
}
#endif

/* H += J' C J of slot k, whose block has `dim` rows, if that is not 0 in all lanes `on`. */
LFN void ph_add_slot(ph_world w, int k, int dim, mask on)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k)), *place = block + block[B_PLACES];
    int n = block[B_NDOF];
    const real *J = efc_J(w) + ph_slot_J(w, k), *C = efc_c(w) + blockdim(w) * ph_slot_row(w, k);
    real *H = hessian(w);
    mask some = m_none();
    for (int r = 0; r < dim; ++r) some = m_or(some, m_not(eq(C[r * dim + r], splat(0))));
    if (!any(m_and(some, on))) return;
    if (n == 1 && dim == 1) {
        each (one, 1) {
            real *own = H + ph_row(place[one]) + place[one];
            *own = fma(fma(C[0], J[0], splat(0)), J[0], *own);
        }
    } else {
        ph_add_block(w, H, place, C, J, n, dim);
    }
    sync();
}

/*
 * H = M (of discrete: the metric) + J' C J for the lanes `on`, and x in the row below it; `whole`: not only in the
 * tiles of the factor.
 */
LFN void ph_make_hessian(ph_world w, int whole, const real *x, mask on)
{
    const int *entry = M_place(w), *place = dof_place(w);
    const real *qM = PH_METRIC;
    real *H = hessian(w), *y = H + ph_row(nplace(w));
    if (whole)
        ph_clear_rows(w, H);
    else
        ph_clear_tiles(w, H);
    sync();
    each (e, nC(w)) H[entry[e]] = qM[e] + splat(0); /* -0 becomes 0, as by a slot that adds zeros */
    each (d, nv(w)) y[place[d]] = x[d];
    sync();
#define PH_DO(rows) ph_add_slot(w, k, rows, on)
    rolled
    for (int i = 0; i < ph_nactive(w); ++i) {
        PH_DO_SLOT(i, PH_DO);
    }
#undef PH_DO
}

/* sum [PH_STRIPE][4]: columns 4 h … 4 h + 3 of stripe p of rows, less the products of what is left of them. */
LFN void ph_tile_rest(ph_world w, const real *H, const int *rows, int p, int h, real *sum)
{
    int g = (PH_STRIPE * p) >> 2, width = 4 * (h + 1), wide = 4 * (g + 1), words = nword(w);
    const real *a = H + ph_row(PH_STRIPE * p), *c = H + ph_row(4 * h);
    for (int i = 0; i < PH_STRIPE; ++i) load4(a, i * wide + 4 * h, sum + 4 * i);
    rolled
    for (int word = 0; word <= h >> 5; ++word) {
        u32 bits = (u32)rows[g * words + word] & (u32)rows[h * words + word];
        for (; bits;) {
            int from, end;
            bits = ph_take_run(bits, &from, &end);
#if STET_GPU /* four numbers of a row are one load */
            rolled
            for (int k = 128 * word + 4 * from; k < 128 * word + 4 * end; k += 4) {
                real row[4], x[16];
                for (int q = 0; q < 4; ++q) load4(c, q * width + k, x + 4 * q);
                for (int i = 0; i < PH_STRIPE; ++i) {
                    load4(a, i * wide + k, row);
                    for (int j = 0; j < 4; ++j)
                        for (int q = 0; q < 4; ++q) sum[4 * i + q] = fma(-row[j], x[4 * q + j], sum[4 * i + q]);
                }
            }
#else
            rolled
            for (int k = 128 * word + 4 * from; k < 128 * word + 4 * end; ++k)
                for (int i = 0; i < PH_STRIPE; ++i)
                    for (int q = 0; q < 4; ++q)
                        sum[4 * i + q] = fma(-a[i * wide + k], c[q * width + k], sum[4 * i + q]);
#endif
        }
    }
}

/* L [4][4], the factor of a tile on the diagonal, with the inverses of its diagonal. */
LFN void ph_factor_tile(const real *tile, int width, real *L)
{
    for (int i = 0; i < 4; ++i) load4(tile, width * i, L + 4 * i);
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j <= i; ++j) {
            real x = L[4 * i + j];
            for (int k = 0; k < j; ++k) x = fma(-L[4 * i + k], L[4 * j + k], x);
            L[4 * i + j] = i == j ? splat(1) / sqrt(x) : x * L[4 * j + j];
        }
}

/*
 * H = L L', in place, and the row x below it becomes L^-1 x; tiles on the diagonal go to W_H_TILES. All columns of a
 * level are made together.
 */
LFN void ph_factor_hessian(ph_world w)
{
    const int *rows = w.ints + ph_tile_rows(w), *list = w.ints + ph_tile_list(w), *begin = w.ints + ph_level_begin(w);
    int side = 4 / PH_STRIPE;
    real *H = hessian(w), *tiles = hessian_tiles(w);
    rolled
    for (int l = 0; l < w.ints[S_NLEVEL]; ++l) {
        int first = begin[2 * l], other = begin[2 * l + 1], end = begin[2 * l + 2];
        each (t, l > 0 ? side * (end - first) : 0) {
            int g = list[first + t / side] >> 16, h = list[first + t / side] & 0xffff, p = side * g + t % side;
            if (PH_STRIPE * p > nplace(w)) continue;
            real sum[4 * PH_STRIPE], *to = H + ph_row(PH_STRIPE * p) + 4 * h;
            ph_tile_rest(w, H, rows, p, h, sum);
            for (int i = 0; i < PH_STRIPE; ++i) put4(to, 4 * (g + 1) * i, sum + 4 * i);
        }
        sync();
        each (t, other - first) {
            int h = list[first + t] >> 16;
            real L[16];
            ph_factor_tile(H + ph_row(4 * h) + 4 * h, 4 * (h + 1), L);
            for (int i = 0; i < 4; ++i) put4(tiles, 16 * h + 4 * i, L + 4 * i);
        }
        sync();
        each (t, side * (end - other)) {
            int g = list[other + t / side] >> 16, h = list[other + t / side] & 0xffff, p = side * g + t % side;
            if (PH_STRIPE * p > nplace(w)) continue;
            real L[16], *to = H + ph_row(PH_STRIPE * p) + 4 * h;
            for (int i = 0; i < 4; ++i) load4(tiles, 16 * h + 4 * i, L + 4 * i);
            for (int i = 0; i < PH_STRIPE; ++i) {
                real x[4];
                load4(to, 4 * (g + 1) * i, x);
                for (int q = 0; q < 4; ++q) {
                    for (int k = 0; k < q; ++k) x[q] = fma(-L[4 * q + k], x[k], x[q]);
                    x[q] = x[q] * L[4 * q + q];
                }
                put4(to, 4 * (g + 1) * i, x);
            }
        }
        sync();
    }
}

/* Entries 4 h … 4 h + n - 1 of the solution, and what they take from those before. Each thread makes them itself. */
LFN void ph_take_rows(const real *H, const real *tile, const int *row, real *x, int h, int n)
{
    const real *L = H + ph_row(4 * h);
    real y[4];
    int width = 4 * (h + 1);
    for (int j = 0; j < n; ++j) y[j] = x[4 * h + j];
    for (int j = n - 1; j >= 0; --j) {
        y[j] = y[j] * tile[4 * j + j];
        for (int c = 0; c < j; ++c) y[c] = fma(-tile[4 * j + c], y[j], y[c]);
    }
    sync();
#if STET_GPU
    each (i, 4 * h)
        if ((u32)row[i >> 7] >> (i >> 2 & 31) & 1) {
            real sum = x[i];
            for (int j = n - 1; j >= 0; --j) sum = fma(-L[j * width + i], y[j], sum);
            x[i] = sum;
        }
#else /* of many trees most tiles are not in the row */
    rolled
    for (int t = 0; 32 * t < h; ++t) {
        rolled
        for (u32 bits = (u32)row[t]; bits; bits = bits & (bits - 1))
            for (int q = 0; q < 4; ++q) {
                int i = 128 * t + 4 * ph_lowest(bits) + q;
                real sum = x[i];
                for (int j = n - 1; j >= 0; --j) sum = fma(-L[j * width + i], y[j], sum);
                x[i] = sum;
            }
    }
#endif
    each (one, 1)
        for (int j = one; j < n; ++j) x[4 * h + j] = y[j];
    sync();
}

/* The row below H, which is L^-1 times what it was, becomes H^-1 times that. */
LFN void ph_solve_tiles(ph_world w)
{
    const real *tiles = hessian_tiles(w);
    int n = nplace(w);
    real *H = hessian(w), *y = H + ph_row(n);
    /* where row n is in a tile on the diagonal, the factor of that has the end of it */
    each (i, n & 3) y[(n & ~3) + i] = tiles[4 * n + i];
    sync();
    for (int h = (n - 1) >> 2; h >= 0; --h) {
        const int *row = w.ints + ph_tile_rows(w) + h * nword(w);
        if (n >= 4 * h + 4)
            ph_take_rows(H, tiles + 16 * h, row, y, h, 4);
        else
            ph_take_rows(H, tiles + 16 * h, row, y, h, n - 4 * h);
    }
}

/* Keeps the diagonal of H where M times the search direction will be. */
LFN void ph_keep_diagonal(ph_world w)
{
    const int *place = dof_place(w);
    each (d, nv(w)) Mv(w)[d] = hessian(w)[ph_row(place[d]) + place[d]];
    sync();
}

/* Where a pivot of the factor of H is thin. */
LFN mask ph_is_hessian_thin(ph_world w)
{
    const int *place = dof_place(w);
    mask thin = m_none();
    rolled
    for (int d = 0; d < nv(w); ++d) {
        int row = place[d];
        real inverse = hessian_tiles(w)[16 * (row >> 2) + 5 * (row & 3)];
        thin = m_or(thin, ph_is_thin(Mv(w)[d], inverse * inverse, PH_THIN_HESSIAN));
    }
    return thin;
}

/*
 * x = H^-1 x, with H = M + J' C J for the lanes `on`. x is one more row of H, so that its half of the solution comes
 * with the factor. By tiles s has the pattern already; with a row a thread it is only needed where that fails.
 */
PH_PART LFN void ph_solve_hessian(ph_world w, real *x, mask on)
{
    const int *place = dof_place(w);
    const real *y = hessian(w) + ph_row(nplace(w));
    mask light = m_and(on, m_not(eq(qM_thin(w)[0], splat(0)))), thin = m_none();
    ph_curves(w);
    int solved = 0;
    for (int whole = PH_BY_ROWS; !solved; whole = 0) {
        if (PH_BY_ROWS && !whole) ph_find_pattern(w, on);
        ph_make_hessian(w, whole, x, on);
        solved = 1;
        if (whole) {
            solved = ph_solve_rows(w, 1) && !any(light);
            continue;
        }
        ph_keep_diagonal(w);
        ph_factor_hessian(w);
        thin = m_or(light, m_and(on, ph_is_hessian_thin(w)));
        ph_solve_tiles(w);
    }
    if (any(thin)) {
        real *kept = Mv(w);
        each (d, nv(w)) kept[d] = y[place[d]];
        sync();
        ph_two_hessian(w, x);
        ph_solve_tiles(w);
        each (d, nv(w)) x[d] = select(thin, y[place[d]], kept[d]);
    } else {
        each (d, nv(w)) x[d] = y[place[d]];
    }
    sync();
}
