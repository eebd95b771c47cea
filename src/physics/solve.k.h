/*
 * Stage solve: the acceleration that constraints leave, by Newton's method. Part of the kernels that include it, after
 * constraint.k.h.
 *
 * qacc minimises (a - qacc_smooth)' M (a - qacc_smooth) / 2 + s(J a - aref), where s is a sum over blocks. Each
 * iteration solves H x = -gradient with H = M + J' C J and finds the minimum along x. A lane that has converged does
 * not change any more. Sums run over slots, rows and dofs in ascending order, so that slots which are empty in a lane
 * add zeros only.
 */

#if STET_DOUBLE
#define PH_ROUNDING ((ureal)1e-15) /* of a sum, relative to the sizes of what it adds */
#else
#define PH_ROUNDING ((ureal)5e-7)
#endif

/* The slots that hold in one of the lanes `on`: in all others those lanes have zeros only. */
LFN void ph_list_slots(const int *m, const real *w, int *s, mask on)
{
    int *list = s + ph_active(m);
    each (k, s[S_NSLOT]) list[k] = any(m_andnot(on, eq(PH_AT(W_EFC_D)[ph_slot_row(s, k)], splat(0))));
    sync();
    each (one, 1) {
        int n = one;
        rolled for (int k = 0; k < s[S_NSLOT]; ++k)
        {
            int held = list[k];
            if (held) list[n] = k;
            n = n + held;
        }
        s[S_NACTIVE + one] = n;
    }
    sync();
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* y = M x */
LFN void ph_mul_inertia(const int *m, const real *w, const real *x, real *y)
{
    const int *nnz = m + m[M_M_ROWNNZ], *adr = m + m[M_M_ROWADR], *col = m + m[M_M_COLIND];
    const int *below = m + m[M_BELOW_ADR], *row = m + m[M_BELOW_ROW], *entry = m + m[M_BELOW_ENTRY];
    const real *qM = PH_AT(W_QM);
    each (i, m[M_NV]) {
        real sum = splat(0);
        rolled for (int e = adr[i]; e < adr[i] + nnz[i]; ++e) sum = fma(qM[e], x[col[e]], sum);
        rolled for (int k = below[i + 1] - 1; k >= below[i]; --k) sum = fma(qM[entry[k]], x[row[k]], sum);
        y[i] = sum;
    }
}

/* The rows of a slot: y = J x, and y -= aref if `aref` is 1. */
LFN void ph_mul_slot(const int *m, const real *w, const int *s, int k, int dim, const real *x, real *y, int aref)
{
    const int *block = m + ph_slot_block(s, k), *dof = m + block[B_DOFS];
    const real *J = PH_AT(W_EFC_J) + ph_slot_J(s, k);
    int n = block[B_NDOF], row = ph_slot_row(s, k);
    real sum[PH_ROWS];
    for (int r = 0; r < dim; ++r) sum[r] = aref ? -PH_AT(W_EFC_AREF)[row + r] : splat(0);
    for (int c = 0; c < n; ++c)
        for (int r = 0; r < dim; ++r) sum[r] = fma(J[r * n + c], x[dof[2 * c]], sum[r]);
    for (int r = 0; r < dim; ++r) y[row + r] = sum[r];
}

/* The same for all active slots. */
LFN void ph_mul_rows(const int *m, const real *w, const int *s, const real *x, real *y, int aref)
{
    const int *list = s + ph_active(m);
    each (i, s[S_NACTIVE]) {
        int k = list[i], dim = (m + ph_slot_block(s, k))[B_DIM];
        if (PH_IS(1, dim))
            ph_mul_slot(m, w, s, k, 1, x, y, aref);
        else if (PH_IS(3, dim))
            ph_mul_slot(m, w, s, k, 3, x, y, aref);
        else if (PH_IS(4, dim))
            ph_mul_slot(m, w, s, k, 4, x, y, aref);
        else if (PH_IS(6, dim))
            ph_mul_slot(m, w, s, k, 6, x, y, aref);
        else if (PH_IS_OTHER)
            ph_mul_slot(m, w, s, k, dim, x, y, aref);
    }
}

/* Forces of the rows of a slot for the residuals in efc_jar, in the lanes `on`. */
LFN void ph_slot_force(const int *m, const ureal *f, const real *v, real *w, const int *s, int k, int dim, mask on)
{
    int row = ph_slot_row(s, k);
    real force[PH_ROWS], *to = PH_AT(W_EFC_FORCE) + row;
    ph_zero(force, dim);
    ph_block_force(m, f, v, m + ph_slot_block(s, k), dim, PH_AT(W_EFC_D) + row, PH_AT(W_EFC_JAR) + row, force);
    for (int r = 0; r < dim; ++r) to[r] = select(on, force[r], to[r]);
}

LFN void ph_forces(const int *m, const ureal *f, const real *v, real *w, const int *s, mask on)
{
    const int *list = s + ph_active(m);
    each (i, s[S_NACTIVE]) {
        int k = list[i], dim = (m + ph_slot_block(s, k))[B_DIM];
        if (PH_IS(1, dim))
            ph_slot_force(m, f, v, w, s, k, 1, on);
        else if (PH_IS(3, dim))
            ph_slot_force(m, f, v, w, s, k, 3, on);
        else if (PH_IS(4, dim))
            ph_slot_force(m, f, v, w, s, k, 4, on);
        else if (PH_IS(6, dim))
            ph_slot_force(m, f, v, w, s, k, 6, on);
        else if (PH_IS_OTHER)
            ph_slot_force(m, f, v, w, s, k, dim, on);
    }
    sync();
}

/* out += J' efc_force of a slot */
LFN void ph_gather_slot(const int *m, const real *w, const int *s, int k, int dim, real *out)
{
    const int *block = m + ph_slot_block(s, k), *dof = m + block[B_DOFS];
    const real *J = PH_AT(W_EFC_J) + ph_slot_J(s, k), *force = PH_AT(W_EFC_FORCE) + ph_slot_row(s, k);
    int n = block[B_NDOF];
    each (c, n) {
        real sum = out[dof[2 * c]];
        for (int r = 0; r < dim; ++r) sum = fma(J[r * n + c], force[r], sum);
        out[dof[2 * c]] = sum;
    }
    sync();
}

/* out = J' efc_force */
LFN void ph_gather_rows(const int *m, const real *w, const int *s, real *out)
{
    const int *list = s + ph_active(m);
    each (d, m[M_NV]) out[d] = splat(0);
    sync();
    rolled for (int i = 0; i < s[S_NACTIVE]; ++i)
    {
        int k = list[i], dim = (m + ph_slot_block(s, k))[B_DIM];
        if (PH_IS(1, dim))
            ph_gather_slot(m, w, s, k, 1, out);
        else if (PH_IS(3, dim))
            ph_gather_slot(m, w, s, k, 3, out);
        else if (PH_IS(4, dim))
            ph_gather_slot(m, w, s, k, 4, out);
        else if (PH_IS(6, dim))
            ph_gather_slot(m, w, s, k, 6, out);
        else if (PH_IS_OTHER)
            ph_gather_slot(m, w, s, k, dim, out);
    }
}

/* ---- line search ------------------------------------------------------------------------------------------------- */

/* The derivatives at alpha; g1 + alpha g2 is the slope of the part without constraints. */
LFN void ph_line_at(const int *m, const ureal *f, const real *v, const real *w, const int *s, real g1, real g2,
                    real alpha, ph_line *out)
{
    const int *list = s + ph_active(m);
    out->slope = fma(alpha, g2, g1);
    out->curve = g2;
    out->size = rabs(g1) + rabs(alpha * g2);
    rolled for (int i = 0; i < s[S_NACTIVE]; ++i)
    {
        const int *block = m + ph_slot_block(s, list[i]);
        int row = ph_slot_row(s, list[i]), dim = block[B_DIM];
        const real *jar = PH_AT(W_EFC_JAR) + row, *jv = PH_AT(W_EFC_JV) + row, *D = PH_AT(W_EFC_D) + row;
        if (PH_IS(1, dim))
            ph_block_line(m, f, v, block, 1, D, jar, jv, alpha, out);
        else if (PH_IS(3, dim))
            ph_block_line(m, f, v, block, 3, D, jar, jv, alpha, out);
        else if (PH_IS(4, dim))
            ph_block_line(m, f, v, block, 4, D, jar, jv, alpha, out);
        else if (PH_IS(6, dim))
            ph_block_line(m, f, v, block, 6, D, jar, jv, alpha, out);
        else if (PH_IS_OTHER)
            ph_block_line(m, f, v, block, dim, D, jar, jv, alpha, out);
    }
}

/*
 * The step at which the slope is at most `enough` from 0: Newton's method between bounds. `slope` is the slope at 0; as
 * the direction is that of Newton's method, the first step is 1.
 */
STET_CALLED LFN real ph_line_search(const int *m, const ureal *f, const real *v, const real *w, const int *s, real g1,
                                    real g2, real slope, real enough, mask on)
{
    real low = splat(0), high = splat(-1), best = splat(0), least = rabs(slope), next = splat(1);
    mask done = m_or(m_not(on), m_not(lt(slope, splat(0))));
    for (int i = 0; i < m[M_LS_ITERATIONS] && !all(done); ++i) {
        ph_line at;
        ph_line_at(m, f, v, w, s, g1, g2, next, &at);
        mask better = m_andnot(lt(rabs(at.slope), least), done), under = lt(at.slope, splat(0));
        best = select(better, next, best);
        least = select(better, rabs(at.slope), least);
        low = select(under, next, low);
        high = select(under, high, next);
        done = m_or(done, m_not(gt(rabs(at.slope), rmax(enough, splat(PH_ROUNDING) * at.size))));
        next = next - at.slope / at.curve;
        mask bounded = gt(high, splat(0));
        mask out = m_or(m_not(gt(next, low)), m_and(bounded, m_not(lt(next, high))));
        next = select(m_and(out, bounded), splat((ureal)0.5) * (low + high), next);
    }
    return best;
}

/* ---- iterations -------------------------------------------------------------------------------------------------- */

/* What constraints cost at the residuals x. */
LFN real ph_cost(const int *m, const ureal *f, const real *v, const real *w, const int *s, const real *x)
{
    real sum = splat(0);
    rolled for (int k = 0; k < s[S_NSLOT]; ++k)
    {
        const int *block = m + ph_slot_block(s, k);
        int row = ph_slot_row(s, k), dim = block[B_DIM];
        const real *D = PH_AT(W_EFC_D) + row;
        sum = sum + (PH_IS(3, dim)            ? ph_block_cost(m, f, v, block, 3, D, x + row)
                     : PH_IS(4, dim)          ? ph_block_cost(m, f, v, block, 4, D, x + row)
                     : PH_IS(6, dim)          ? ph_block_cost(m, f, v, block, 6, D, x + row)
                     : PH_IS_OTHER && dim > 1 ? ph_block_cost(m, f, v, block, dim, D, x + row)
                                              : ph_block_cost(m, f, v, block, 1, D, x + row));
    }
    return sum;
}

/* The lanes of a group in which a slot holds. */
LFN mask ph_held(const real *D, const int *s, mask group)
{
    mask held = m_none();
    rolled for (int k = 0; k < s[S_NSLOT]; ++k) held = m_or(held, m_not(eq(D[ph_slot_row(s, k)], splat(0))));
    return m_and(held, group);
}

/*
 * qacc, its residuals and M qacc where the iterations begin: at qacc_smooth or, in the lanes `held`, at qacc_warmstart
 * if that is better.
 */
LFN void ph_start(const int *m, const ureal *f, const real *v, real *w, const int *s, mask held)
{
    const real *warm = PH_AT(W_QACC_WARMSTART), *smooth = PH_AT(W_QACC_SMOOTH);
    real *jar = PH_AT(W_EFC_JAR), *other = PH_AT(W_EFC_JV), cost = splat(0);
    ph_mul_rows(m, w, s, smooth, jar, 1);
    mask better = m_none();
    if (!(m[M_FLAGS] & PH_NO_WARMSTART)) {
        ph_mul_rows(m, w, s, warm, other, 1);
        ph_mul_inertia(m, w, warm, PH_AT(W_MA));
        sync();
        rolled for (int d = 0; d < m[M_NV]; ++d) cost =
            fma(PH_AT(W_MA)[d] - PH_AT(W_QFRC_SMOOTH)[d], warm[d] - smooth[d], cost);
        cost = fma(splat((ureal)0.5), cost, ph_cost(m, f, v, w, s, other));
        better = m_and(held, lt(cost, ph_cost(m, f, v, w, s, jar)));
        sync();
        each (r, s[S_NROW]) jar[r] = select(better, other[r], jar[r]);
    }
    each (d, m[M_NV]) PH_AT(W_QACC)[d] = select(better, warm[d], smooth[d]);
    sync();
    if (!all(better)) ph_mul_inertia(m, w, PH_AT(W_QACC), PH_AT(W_MA));
    sync();
}

/* Forces, qfrc_constraint and the gradient of the lanes `on`; returns where it is less than tolerance or rounding. */
STET_CALLED LFN mask ph_gradient(const int *m, const ureal *f, const real *v, real *w, const int *s, mask on)
{
    real sum = splat(0), size = splat(0), *grad = PH_AT(W_GRAD), *out = PH_AT(W_QFRC_CONSTRAINT);
    const real *Ma = PH_AT(W_MA), *smooth = PH_AT(W_QFRC_SMOOTH);
    ph_forces(m, f, v, w, s, on);
    ph_gather_rows(m, w, s, grad);
    each (d, m[M_NV]) {
        out[d] = select(on, grad[d], out[d]);
        grad[d] = (Ma[d] - smooth[d]) - grad[d];
    }
    sync();
    rolled for (int d = 0; d < m[M_NV]; ++d)
    {
        real all3 = rabs(Ma[d]) + rabs(smooth[d]) + rabs(out[d]);
        sum = fma(grad[d], grad[d], sum);
        size = fma(all3, all3, size);
    }
    real enough = par(m, f, v, M_TOLERANCE, 0) / par(m, f, v, M_SOLVER_SCALE, 0);
    return m_not(ge(sqrt(sum), rmax(enough, splat(PH_ROUNDING) * sqrt(size))));
}

/*
 * One iteration of the lanes `on`; returns by how much their cost fell, were it quadratic: a difference of costs would
 * be all rounding near the minimum.
 */
LFN real ph_newton(const int *m, const ureal *f, const real *v, real *w, const int *s, mask on)
{
    const int *list = s + ph_active(m);
    real *search = PH_AT(W_SEARCH), *mv = PH_AT(W_MV);
    real g1 = splat(0), g2 = splat(0), size = splat(0), slope = splat(0);
    each (d, m[M_NV]) search[d] = splat(0) - PH_AT(W_GRAD)[d]; /* never -0: slots of other lanes add 0 */
    sync();
    ph_solve_hessian(m, f, v, w, s, search, on);
    ph_mul_inertia(m, w, search, mv);
    ph_mul_rows(m, w, s, search, PH_AT(W_EFC_JV), 0);
    sync();
    rolled for (int d = 0; d < m[M_NV]; ++d)
    {
        g1 = fma(search[d], PH_AT(W_MA)[d] - PH_AT(W_QFRC_SMOOTH)[d], g1);
        g2 = fma(search[d], mv[d], g2);
        size = fma(search[d], search[d], size);
        slope = fma(search[d], PH_AT(W_GRAD)[d], slope);
    }
    real scale = par(m, f, v, M_SOLVER_SCALE, 0);
    real enough = par(m, f, v, M_TOLERANCE, 0) * par(m, f, v, M_LS_TOLERANCE, 0) * sqrt(size) / scale;
    real alpha = select(on, ph_line_search(m, f, v, w, s, g1, g2, slope, enough, on), splat(0));
    real gain = splat((ureal)-0.5) * (alpha * slope);
    sync();
    each (d, m[M_NV]) {
        PH_AT(W_QACC)[d] = select(on, fma(alpha, search[d], PH_AT(W_QACC)[d]), PH_AT(W_QACC)[d]);
        PH_AT(W_MA)[d] = select(on, fma(alpha, mv[d], PH_AT(W_MA)[d]), PH_AT(W_MA)[d]);
    }
    each (i, s[S_NACTIVE]) {
        int row = ph_slot_row(s, list[i]), dim = (m + ph_slot_block(s, list[i]))[B_DIM];
        real *jar = PH_AT(W_EFC_JAR) + row;
        const real *jv = PH_AT(W_EFC_JV) + row;
        for (int r = 0; r < dim; ++r) jar[r] = select(on, fma(alpha, jv[r], jar[r]), jar[r]);
    }
    sync();
    return gain;
}

/*
 * qacc, qfrc_constraint, efc_force, solver_niter. A lane in which nothing holds has qacc_smooth, as it has if nothing
 * holds in any lane: rounding there must not find a better one.
 */
STET_CALLED LFN void ph_solve_constraints(const int *m, const ureal *f, const real *v, real *w, int *s, mask group)
{
    real niter = splat(0), enough = par(m, f, v, M_TOLERANCE, 0) / par(m, f, v, M_SOLVER_SCALE, 0);
    each (d, m[M_NV]) {
        PH_AT(W_QFRC_CONSTRAINT)[d] = splat(0);
        PH_AT(W_QACC)[d] = PH_AT(W_QACC_SMOOTH)[d];
    }
    each (one, 1) PH_AT(W_SOLVER_NITER)[one] = splat(0);
    sync();
    if (s[S_NSLOT] == 0) return;
    ph_list_slots(m, w, s, group);
    mask held = ph_held(PH_AT(W_EFC_D), s, group);
    ph_start(m, f, v, w, s, held);
    mask flat = ph_gradient(m, f, v, w, s, m_all());
    mask done = m_or(m_not(held), flat);
    int wide = 0;
    for (int i = 0; i < m[M_ITERATIONS] && !all(done); ++i) {
        mask on = m_not(done);
        if (i > 0) ph_list_slots(m, w, s, on);
        if (i == 0 || 4 * s[S_NACTIVE] < 3 * wide) { /* the profile of more slots serves fewer, too */
            wide = s[S_NACTIVE];
            ph_profile(m, s);
        }
        real gain = ph_newton(m, f, v, w, s, on);
        niter = select(on, niter + splat(1), niter);
        flat = ph_gradient(m, f, v, w, s, on);
        done = m_or(done, m_or(m_not(ge(gain, enough)), flat));
    }
    each (one, 1) PH_AT(W_SOLVER_NITER)[one] = niter;
    sync();
}

/* Keeps what was solved for a group, or (back) puts all of it where it belongs. */
LFN void ph_keep(const int *m, real *w, mask group, int back)
{
    int nv = m[M_NV];
    each (i, 2 * nv + 1) {
        real *at = i < nv       ? PH_AT(W_QACC) + i
                   : i < 2 * nv ? PH_AT(W_QFRC_CONSTRAINT) + (i - nv)
                                : PH_AT(W_SOLVER_NITER);
        real *kept = PH_AT(W_KEPT) + i;
        if (back)
            *at = *kept;
        else
            *kept = select(group, *at, *kept);
    }
    sync();
}

/*
 * Constraints of the lanes `on` and what they do; gives the bits of faults. Those lanes share slots, if there are
 * enough for the contacts of them all. If not, one lane after the other is solved by itself, so that a lane never lacks
 * room because of others. `extra`: bits PH_EXTRA_…; forces make cfrc_ext, and sensors read what the rows of a group do.
 * most[0] becomes at least the contacts of a lane where it is one alone: while lanes share slots, each has fewer.
 */
STET_CALLED LFN lint ph_constrain(const int *m, const ureal *f, const real *v, real *w, int *s, mask on, int extra,
                                  lint *most)
{
    mask todo = on;
    lint faults = isplat(0);
    if (extra & PH_EXTRA_FORCES) ph_applied(m, w);
    for (int i = -1; any(todo); ++i) {
        mask group = m_and(on, i < 0 ? m_all() : ieq(lane(), isplat(i)));
        ph_constraint(m, f, v, w, s, group, i >= 0);
        int full = s[S_FULL];
        if (!full || i >= 0) {
            ph_solve_constraints(m, f, v, w, s, group);
            if (extra & PH_EXTRA_FORCES) ph_external(m, f, v, w, s, group);
            if (extra & PH_EXTRA_SENSORS) ph_sense_rows(m, f, v, w, s, group);
            if (extra >= PH_EXTRA_LIST) ph_list_contacts(m, w, s, group, extra / PH_EXTRA_LIST);
            if (STET_W == 1 || i >= 0) most[0] = iselect(group, imax(most[0], isplat(s[S_WANTED])), most[0]);
            if (i >= 0) ph_keep(m, w, group, 0);
            if (full) faults = iselect(group, isplat(PH_CONTACTS_FULL), faults);
            todo = m_andnot(todo, group);
            if (i >= 0 && !any(todo)) ph_keep(m, w, group, 1);
        }
        sync();
    }
    return faults;
}
