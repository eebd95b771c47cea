/*
 * Sums of the solver over slots and over dofs: costs, their derivatives along a line, squares of the gradient. Part of
 * the kernels that include it, after products.k.h.
 */

/* ---- what a slot adds -------------------------------------------------------------------------------------------- */

/* Adds the derivatives of slot k at alpha. */
LFN void ph_slot_line(ph_world w, int k, real alpha, ph_line *line)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k));
    int row = ph_slot_row(w, k), dim = block[B_DIM];
    const real *jar = efc_jar(w) + row, *jv = efc_jv(w) + row, *D = efc_D(w) + row;
#define PH_DO(rows) ph_block_line(w, block, rows, D, jar, jv, alpha, line)
    PH_WITH_ROWS(dim, PH_DO);
#undef PH_DO
}

/* What slot k costs at the residuals x. */
LFN real ph_slot_cost(ph_world w, int k, const real *x)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k));
    int row = ph_slot_row(w, k), dim = block[B_DIM];
    const real *D = efc_D(w) + row;
    real cost = splat(0);
#define PH_DO(rows) cost = ph_block_cost(w, block, rows, D, x + row)
    PH_WITH_ROWS(dim, PH_DO);
#undef PH_DO
    return cost;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

#define PH_SUM_LINE 0   /* slope, curve, size of slots at the step alpha */
#define PH_SUM_COST 1   /* what slots cost at the residuals x, and how many hold */
#define PH_SUM_WARM 2   /* x' Ma of a warm start's x */
#define PH_SUM_GRAD 3   /* squares of the gradient; the same by inertias, also of the sizes of forces */
#define PH_SUM_SEARCH 4 /* slope and curve along the search direction without constraints, its square, its slope */
#define PH_TERMS 4      /* sums that are made together, at most */

/* Adds slot k to sums over slots. */
LFN void ph_add_term(ph_world w, int what, int k, real alpha, const real *x, real *sum)
{
    if (what == PH_SUM_LINE) {
        ph_line line;
        line.slope = sum[0];
        line.curve = sum[1];
        line.size = sum[2];
        ph_slot_line(w, k, alpha, &line);
        sum[0] = line.slope;
        sum[1] = line.curve;
        sum[2] = line.size;
    } else {
        mask holds = m_not(eq(efc_D(w)[ph_slot_row(w, k)], splat(0)));
        sum[0] = sum[0] + ph_slot_cost(w, k, x);
        sum[1] = sum[1] + select(holds, splat(1), splat(0));
    }
}

/* Adds dof d to sums over dofs. With PH_SUM_GRAD the place of the search direction has the inverses of inertias. */
LFN void ph_add_dof(ph_world w, int what, int d, const real *x, real *sum)
{
    const real *Ma = Ma(w), *grad = solver_grad(w), *search = solver_search(w);
    if (what == PH_SUM_WARM) {
        sum[0] = fma(Ma[d], x[d], sum[0]);
    } else if (what == PH_SUM_GRAD) {
        real all3 = rabs(Ma[d]) + rabs(qfrc_smooth(w)[d]) + rabs(qfrc_constraint(w)[d]), inverse = search[d];
        sum[0] = fma(grad[d], grad[d], sum[0]);
        sum[1] = fma(grad[d] * inverse, grad[d], sum[1]);
        sum[2] = fma(all3 * inverse, all3, sum[2]);
    } else {
        sum[0] = fma(search[d], Ma[d], sum[0]);
        sum[1] = fma(search[d], Mv(w)[d], sum[1]);
        sum[2] = fma(search[d], search[d], sum[2]);
        sum[3] = fma(search[d], grad[d], sum[3]);
    }
}

/* Part p of sums over dofs. */
LFN void ph_dof_part(ph_world w, int what, int p, const real *x, real *sum)
{
    rolled
    for (int d = p; d < nv(w); d += PH_SUMS) ph_add_dof(w, what, d, x, sum);
}

/* The first n of the sums `what`. */
LFN void ph_sums(ph_world w, int what, int n, real alpha, const real *x, real *sum)
{
    for (int q = 0; q < n; ++q) sum[q] = splat(0);
    const int *begin = w.ints + S_PARTS;
#if PH_SIDE_BY_SIDE
    const int *list = w.ints + ph_by_part(w);
    real *parts = solver_sums(w);
    each (p, PH_SUMS) {
        real own[PH_TERMS];
        ph_zero(own, PH_TERMS);
        rolled
        for (int i = begin[p]; i < begin[p + 1] && what <= PH_SUM_COST; ++i)
            ph_add_term(w, what, list[i], alpha, x, own);
        if (what > PH_SUM_COST) ph_dof_part(w, what, p, x, own);
        for (int q = 0; q < n; ++q) parts[PH_SUMS * q + p] = own[q];
    }
    sync();
    for (int q = 0; q < n; ++q)
        for (int p = 0; p < PH_SUMS; ++p) sum[q] = sum[q] + parts[PH_SUMS * q + p];
    sync();
#else
    const int *part = w.ints + ph_parts(w), *list = w.ints + ph_active(w);
    if (what <= PH_SUM_COST) {
        real parts[PH_SUMS * PH_TERMS];
        ph_zero(parts, PH_SUMS * PH_TERMS);
        rolled
        for (int i = 0; i < begin[PH_SUMS]; ++i)
            ph_add_term(w, what, list[i], alpha, x, parts + PH_TERMS * part[list[i]]);
        for (int p = 0; p < PH_SUMS; ++p)
            for (int q = 0; q < n; ++q) sum[q] = sum[q] + parts[PH_TERMS * p + q];
    } else {
        rolled
        for (int p = 0; p < PH_SUMS; ++p) {
            real own[PH_TERMS];
            ph_zero(own, PH_TERMS);
            ph_dof_part(w, what, p, x, own);
            for (int q = 0; q < n; ++q) sum[q] = sum[q] + own[q];
        }
    }
#endif
}
