/*
 * The solver's matrix H where each thread of a team has a row of it in registers. Part of the kernels that include it,
 * before hessian.k.h: of code for one model with teams of a warp.
 *
 * A row takes what the columns before have left of it, column by column, so an entry has the operations that it has by
 * tiles, in their order. Entries that are 0 throughout take part here: no bit of a finite solution shows that, but 0
 * times infinity is NaN.
 */
#if defined(PH_MODEL) && STET_TEAM == 32
#define PH_BY_ROWS (m[M_NPLACE] <= 32)
#define PH_UNROLLED _Pragma("unroll")
/* Columns that are made with as many registers for the rest of a row: fewer make more code. */
#define PH_COLUMNS 8
#define ph_of_row(x, row) sti_real_from_lane(sti_list_lanes(), x, (unsigned)(row))

/* H = 1, and the row below it 0. */
LFN void ph_clear_rows(const int *m, real *H)
{
    real zero[4] = {splat(0), splat(0), splat(0), splat(0)};
    each (t, ph_row(m[M_NPLACE] + 1) >> 2) put4(H, 4 * t, zero);
    sync();
    each (i, m[M_NPLACE]) H[ph_row(i) + i] = splat(1);
}

/*
 * Columns first … end - 1 of row i of the factor; a [width] has what is left of the row from column `first` on. x is
 * the row's number of the right side, which becomes that of L^-1 x, and inverse the inverse of its diagonal.
 */
LFN void ph_factor_columns(const int *m, real *w, int i, int first, int end, int width, real *a, real *x, real *inverse)
{
    real *row = PH_AT(W_H) + ph_row(i);
    rolled for (int j = first; j < end; ++j)
    {
        /* those of the rows below, from the next on; two columns take turns, so that one barrier is enough */
        real *column = PH_AT(W_H_TILES) + 4 * m[M_NTILE] * (j & 1);
        real inv = splat(1) / sqrt(ph_of_row(a[0], j)), own = a[0] * inv, solved = ph_of_row(*x, j) * inv;
        if (i == j) *inverse = inv;
        if (i == j) *x = solved;
        if (i > j && i < m[M_NPLACE]) {
            *x = fma(-own, solved, *x);
            row[j] = own;
            column[i - j - 1] = own;
        }
        sync();
        PH_UNROLLED for (int k = 0; k < width - 1; k += 4)
        {
            real other[4];
            load4(column, k, other);
            for (int q = 0; q < nmin(4, width - 1 - k); ++q) a[k + q] = fma(-own, other[q], a[k + q + 1]);
        }
    }
}

/* The row below H becomes H^-1 times itself; returns 0 where that is not finite. */
LFN int ph_solve_rows(const int *m, real *w)
{
    int n = m[M_NPLACE], finite = 0;
    real *H = PH_AT(W_H), *y = H + ph_row(n);
    each (i, 32) {
        int last = nmin(i, n - 1);
        real a[36], x = y[last], inverse = splat(1);
        PH_UNROLLED for (int h = 0; h < (n + 3) >> 2; ++h) load4(H + ph_row(last), 4 * nmin(h, last >> 2), a + 4 * h);
        PH_UNROLLED for (int c = 0; c < n; c += PH_COLUMNS)
            ph_factor_columns(m, w, i, c, nmin(n, c + PH_COLUMNS), n - c, a, &x, &inverse);
        sync();
        PH_UNROLLED for (int j = n - 1; j > 0; --j)
        {
            real solved = ph_of_row(x * inverse, j);
            if (i < j) x = fma(-H[ph_row(j) + i], solved, x);
        }
        x = x * inverse;
        finite = sti_vote(sti_list_lanes(), x - x != 0) == 0;
        if (i < n) y[i] = x;
    }
    sync();
    return finite;
}

#else
#define PH_BY_ROWS 0
#define ph_clear_rows(m, H) ((void)0)
#define ph_solve_rows(m, w) 0
#endif
