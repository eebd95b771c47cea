/*
 * Matrices of all dofs with a row a thread, in registers: the solver's H (hessian.k.h), and those in qM's pattern. Part
 * of the kernels that include it; by rows is only code for one model with teams of a warp.
 *
 * A row takes what the columns before have left of it, column by column, so an entry has the operations that it has by
 * tiles or from list to list, in their order. Entries that are 0 throughout take part here: no bit of a finite solution
 * shows that, but 0 times infinity is NaN.
 */

/*
 * A pivot is what the pivots before it have left of an entry of the diagonal. It is thin if that is less than one of
 * `parts` of the entry: what it has left of its digits makes a bad solution, see twofold.k.h. inverse: 1 / pivot. With
 * the solver's H a solution is a direction, and iterations go on until forces agree: there it may lose two digits more.
 */
#if STET_DOUBLE
#define PH_THIN ((ureal)1e12)
#else
#define PH_THIN ((ureal)1e4)
#endif
#define PH_THIN_HESSIAN ((ureal)100 * PH_THIN)
LFN mask ph_is_thin(real diagonal, real inverse, ureal parts)
{
    return m_not(le(rabs(diagonal * inverse), splat(parts)));
}

/* Where row i of H begins, so that H + ph_row(i) has columns 0 … i. */
LFN int ph_row(int i) { return 8 * (i >> 2) * ((i >> 2) + 1) + 4 * (i & 3) * ((i >> 2) + 1); }

#if defined(PH_MODEL) && STET_TEAM == 32
#define PH_BY_ROWS (nplace(w) <= 32)
#define PH_UNROLLED _Pragma("unroll")
/* Columns that are made with as many registers for the rest of a row: fewer make more code. */
#define PH_COLUMNS 8
#define ph_of_row(x, row) sti_real_from_lane(sti_list_lanes(), x, (unsigned)(row))

/* H = 1, and the row below it 0. */
LFN void ph_clear_rows(ph_world w, real *H)
{
    real zero[4] = {splat(0), splat(0), splat(0), splat(0)};
    each (t, ph_row(nplace(w) + 1) >> 2) put4(H, 4 * t, zero);
    sync();
    each (i, nplace(w)) H[ph_row(i) + i] = splat(1);
}

/*
 * PH_COLUMNS columns from `first` on of row i of the factor, of L L' or, without `root`, of L D L' (where a pivot is at
 * least 1e-15); a has what is left of the row from column `first` on. x is the row's number of the right side, which
 * becomes that of L^-1 x, and inverse the inverse of its diagonal.
 */
LFN void ph_factor_columns(ph_world w, int root, int i, int first, real *a, real *x, real *inverse)
{
    int end = nmin(nplace(w), first + PH_COLUMNS), width = nplace(w) - first;
    real *row = hessian(w) + ph_row(i);
    rolled
    for (int j = first; j < end; ++j) {
        /* What the rows below have in column j. Columns have two places in turn, so one barrier for each is enough. */
        real *column = hessian_tiles(w) + 4 * ntile(w) * (j & 1);
        real pivot = ph_of_row(a[0], j), inv = splat(1) / (root ? sqrt(pivot) : rmax(splat(PHYSICS_MINVAL), pivot));
        real own = a[0] * inv, factor = root ? own : a[0], solved = ph_of_row(*x, j);
        if (root) solved = solved * inv;
        if (i == j) *inverse = inv;
        if (i == j) *x = solved;
        if (i > j && i < nplace(w)) {
            *x = fma(-own, solved, *x);
            row[j] = own;
            column[i - j - 1] = own;
        }
        sync();
        PH_UNROLLED
        for (int k = 0; k < width - 1; k += 4) {
            real other[4];
            load4(column, k, other);
            for (int q = 0; q < nmin(4, width - 1 - k); ++q) a[k + q] = fma(-factor, other[q], a[k + q + 1]);
        }
    }
}

/* The row below H becomes H^-1 times itself; returns 0 where that is not finite, or a pivot is thin. */
LFN int ph_solve_rows(ph_world w, int root)
{
    int n = nplace(w), good = 0;
    real *H = hessian(w), *y = H + ph_row(n);
    each (i, 32) {
        int last = nmin(i, n - 1);
        real a[36], x = y[last], inverse = splat(1);
        PH_UNROLLED
        for (int h = 0; h < (n + 3) >> 2; ++h) load4(H + ph_row(last), 4 * nmin(h, last >> 2), a + 4 * h);
        PH_UNROLLED
        for (int c = 0; c < n; c += PH_COLUMNS) ph_factor_columns(w, root, i, c, a, &x, &inverse);
        sync();
        if (!root) x = x * inverse;
        PH_UNROLLED
        for (int j = n - 1; j > 0; --j) {
            real solved = ph_of_row(root ? x * inverse : x, j);
            if (i < j) x = fma(-H[ph_row(j) + i], solved, x);
        }
        if (root) x = x * inverse;
        mask thin = root ? ph_is_thin(H[ph_row(last) + last], inverse * inverse, PH_THIN_HESSIAN)
                         : ph_is_thin(H[ph_row(last) + last], inverse, PH_THIN);
        good = sti_vote(sti_list_lanes(), x - x != 0 || thin) == 0;
        if (i < n) y[i] = x;
    }
    sync();
    return good;
}

/* x [nv] becomes A^-1 x, for A in qM's pattern; returns 0, and x stays, where ph_solve_rows does or not by rows. */
LFN int ph_solve_pattern(ph_world w, const real *A, real *x)
{
    if (!PH_BY_ROWS) return 0;
    const int *entry = M_place(w), *place = dof_place(w);
    real *H = hessian(w), *y = H + ph_row(nplace(w));
    ph_clear_rows(w, H);
    sync();
    each (e, nC(w)) H[entry[e]] = A[e];
    each (d, nv(w)) y[place[d]] = x[d];
    sync();
    int good = ph_solve_rows(w, 0);
    if (good)
        each (d, nv(w)) x[d] = y[place[d]];
    sync();
    return good;
}
#else
#define PH_BY_ROWS 0
#define ph_clear_rows(w, H) ((void)0)
#define ph_solve_rows(w, root) 0
#define ph_solve_pattern(w, A, x) 0
#endif
