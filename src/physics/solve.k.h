/*
 * Stage solve: the acceleration that constraints leave, by Newton's method. Part of the kernels that include it, after
 * constraint.k.h.
 *
 * qacc minimises (a - qacc_smooth)' M (a - qacc_smooth) / 2 + s(J a - aref), where s is a sum over blocks. Each
 * iteration solves H x = -gradient with H = M + J' C J and finds the minimum along x. A lane that has converged does
 * not change any more. Sums run over slots, rows and dofs in ascending order, so that slots which are empty in a lane
 * add zeros only.
 */

#define PH_MOST_ROWS 6
#if STET_DOUBLE
#define PH_ROUNDING ((ureal)1e-15) /* of a sum, relative to the sizes of what it adds */
#else
#define PH_ROUNDING ((ureal)5e-7)
#endif

/* What a block does with the residuals x of its rows: forces, their negative derivative C [dim][dim], and the cost. */
LFN void ph_edges(const real *x, const real *mu, int dim, real D, real *force, real *C, real *cost)
{
    real sum = splat(0);
    force[0] = splat(0);
    C[0] = splat(0);
    for (int k = 1; k < dim; ++k) {
        real high = rmin(fma(mu[k - 1], x[k], x[0]), splat(0)), low = rmin(fma(-mu[k - 1], x[k], x[0]), splat(0));
        real a = select(lt(high, splat(0)), D, splat(0)), b = select(lt(low, splat(0)), D, splat(0));
        real both = a + b, cross = mu[k - 1] * (a - b);
        force[0] = fma(-D, high + low, force[0]);
        force[k] = -(mu[k - 1] * (D * (high - low)));
        C[0] = C[0] + both;
        for (int j = 1; j < dim; ++j) C[k * dim + j] = splat(0);
        C[k * dim] = cross;
        C[k] = cross;
        C[k * dim + k] = mu[k - 1] * mu[k - 1] * both;
        sum = sum + (high * high + low * low);
    }
    *cost = splat((ureal)0.5) * (D * sum);
}

/* An elliptic cone: D [dim] of the rows, mu [0] its regularised friction, mu [1 …] those of the rows. */
LFN void ph_cone(const real *x, const real *mu, int dim, const real *D, real *force, real *C, real *cost)
{
    real U[PH_MOST_ROWS], square = splat(0), one = splat(1), zero = splat(0), half = splat((ureal)0.5);
    U[0] = mu[0] * x[0];
    for (int k = 1; k < dim; ++k) {
        U[k] = mu[k] * x[k];
        square = fma(U[k], U[k], square);
    }
    real T = sqrt(square), s = fma(-mu[0], T, U[0]);
    mask still = le(T, splat(PHYSICS_MINVAL));
    mask top = m_or(ge(U[0], mu[0] * T), m_and(still, ge(U[0], zero)));
    mask bottom = m_andnot(m_or(le(fma(mu[0], U[0], T), zero), m_and(still, lt(U[0], zero))), top);
    mask middle = m_not(m_or(top, bottom));
    real inv = select(middle, one / select(middle, T, one), zero);
    real Dm = D[0] / (mu[0] * mu[0] * fma(mu[0], mu[0], one)), flat = zero, slope[PH_MOST_ROWS];
    slope[0] = mu[0];
    for (int k = 1; k < dim; ++k) slope[k] = -(mu[0] * mu[k] * (U[k] * inv));
    for (int k = 0; k < dim; ++k) {
        flat = fma(D[k] * x[k], x[k], flat);
        force[k] = select(middle, -(Dm * s * slope[k]), select(bottom, -(D[k] * x[k]), zero));
        for (int j = 0; j < dim; ++j) {
            real h = slope[k] * slope[j];
            if (k > 0 && j > 0) {
                real turn = mu[k] * mu[j] * (((k == j ? one : zero) - U[k] * inv * (U[j] * inv)) * inv);
                h = fma(-(s * mu[0]), turn, h);
            }
            C[k * dim + j] = select(middle, Dm * h, k == j ? select(bottom, D[k], zero) : zero);
        }
    }
    *cost = select(middle, half * (Dm * s * s), select(bottom, half * flat, zero));
}

LFN void ph_block_force(const int *m, const ureal *f, const real *v, const int *block, const real *D, const real *x,
                        real *force, real *C, real *cost)
{
    int dim = block[B_DIM], kind = block[B_KIND];
    real half = splat((ureal)0.5), mu[PH_MOST_ROWS];
    if (kind == PH_PYRAMID) {
        for (int k = 1; k < dim; ++k) mu[k - 1] = ph_block_par(m, f, v, block, P_FRICTION + k - 1);
        ph_edges(x, mu, dim, D[0], force, C, cost);
    } else if (kind == PH_ELLIPTIC) {
        mu[0] = ph_block_par(m, f, v, block, P_MU);
        for (int k = 1; k < dim; ++k) mu[k] = ph_block_par(m, f, v, block, P_FRICTION + k - 1);
        ph_cone(x, mu, dim, D, force, C, cost);
    } else if (kind == PH_FRICTION) {
        real loss = ph_block_par(m, f, v, block, P_LOSS), reach = loss / D[0], size = rabs(x[0]);
        real c = clamp(x[0], -reach, reach), beyond = size - rabs(c);
        force[0] = -(D[0] * c);
        C[0] = select(lt(size, reach), D[0], splat(0));
        *cost = fma(half * D[0], c * c, select(gt(beyond, splat(0)), loss * beyond, splat(0)));
    } else {
        real sum = splat(0);
        for (int r = 0; r < dim; ++r) {
            mask on = kind == PH_EQUALITY ? m_all() : lt(x[r], splat(0));
            for (int j = 0; j < dim; ++j) C[r * dim + j] = splat(0);
            C[r * dim + r] = select(on, D[r], splat(0));
            force[r] = select(on, -(D[r] * x[r]), splat(0));
            sum = fma(force[r], -x[r], sum);
        }
        *cost = half * sum;
    }
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* y = M x */
LFN void ph_mul_inertia(const int *m, const real *w, const real *x, real *y)
{
    const int *nnz = m + m[M_M_ROWNNZ], *adr = m + m[M_M_ROWADR], *col = m + m[M_M_COLIND];
    const int *below = m + m[M_BELOW_ADR], *row = m + m[M_BELOW_ROW], *entry = m + m[M_BELOW_ENTRY];
    const real *qM = w + m[W_QM];
    each (i, m[M_NV]) {
        real sum = splat(0);
        for (int e = adr[i]; e < adr[i] + nnz[i]; ++e) sum = fma(qM[e], x[col[e]], sum);
        for (int k = below[i + 1] - 1; k >= below[i]; --k) sum = fma(qM[entry[k]], x[row[k]], sum);
        y[i] = sum;
    }
}

/* y = J x, and y -= aref if `aref` is 1. */
LFN void ph_mul_rows(const int *m, const real *w, const int *s, const real *x, real *y, int aref)
{
    each (k, s[S_NSLOT]) {
        const int *block = m + ph_slot_block(s, k), *dof = m + block[B_DOFS];
        const real *J = w + m[W_EFC_J] + ph_slot_J(s, k);
        int n = block[B_NDOF], row = ph_slot_row(s, k);
        for (int r = 0; r < block[B_DIM]; ++r) {
            real sum = aref ? -(w + m[W_EFC_AREF])[row + r] : splat(0);
            for (int c = 0; c < n; ++c) sum = fma(J[r * n + c], x[dof[2 * c]], sum);
            y[row + r] = sum;
        }
    }
}

/* Forces of all rows for the residuals in efc_jar. */
LFN void ph_forces(const int *m, const ureal *f, const real *v, real *w, const int *s)
{
    each (k, s[S_NSLOT]) {
        const int *block = m + ph_slot_block(s, k);
        int row = ph_slot_row(s, k);
        real C[PH_MOST_ROWS * PH_MOST_ROWS], force[PH_MOST_ROWS], cost;
        ph_block_force(m, f, v, block, w + m[W_EFC_D] + row, w + m[W_EFC_JAR] + row, force, C, &cost);
        for (int r = 0; r < block[B_DIM]; ++r) (w + m[W_EFC_FORCE])[row + r] = force[r];
    }
    sync();
}

/* qfrc_constraint = J' efc_force */
LFN void ph_gather_rows(const int *m, real *w, const int *s)
{
    real *out = w + m[W_QFRC_CONSTRAINT];
    each (d, m[M_NV]) out[d] = splat(0);
    sync();
    for (int k = 0; k < s[S_NSLOT]; ++k) {
        const int *block = m + ph_slot_block(s, k), *dof = m + block[B_DOFS];
        const real *J = w + m[W_EFC_J] + ph_slot_J(s, k), *force = w + m[W_EFC_FORCE] + ph_slot_row(s, k);
        int n = block[B_NDOF];
        each (c, n) {
            real sum = out[dof[2 * c]];
            for (int r = 0; r < block[B_DIM]; ++r) sum = fma(J[r * n + c], force[r], sum);
            out[dof[2 * c]] = sum;
        }
        sync();
    }
}

/* ---- Hessian ----------------------------------------------------------------------------------------------------- */

/* Where row i of H begins, so that H + ph_row(i) has columns 0 … i. */
LFN int ph_row(int i) { return i * (i + 1) / 2; }

/* The first column of each row of H that may not be 0. */
LFN void ph_profile(const int *m, int *s)
{
    int *first = s + S_SLOTS + 4 * m[M_NSLOT] + m[M_NBLOCK] + 2 * m[M_NPAIR];
    each (one, 1) {
        for (int i = 0; i < m[M_NV]; ++i) first[i] = (m + m[M_M_COLIND])[(m + m[M_M_ROWADR])[i]];
        for (int k = 0; k < s[S_NSLOT]; ++k) {
            const int *block = m + ph_slot_block(s, k), *dof = m + block[B_DOFS];
            for (int c = 0; c < block[B_NDOF]; ++c) first[dof[2 * c]] = nmin(first[dof[2 * c]], dof[0]);
        }
    }
    sync();
}

/* H += J' C J of slot k. */
LFN void ph_add_block(const int *m, const ureal *f, const real *v, real *w, const int *s, int k)
{
    const int *block = m + ph_slot_block(s, k), *dof = m + block[B_DOFS];
    int n = block[B_NDOF], dim = block[B_DIM], row = ph_slot_row(s, k);
    const real *J = w + m[W_EFC_J] + ph_slot_J(s, k);
    real *H = w + m[W_H];
    real C[PH_MOST_ROWS * PH_MOST_ROWS], force[PH_MOST_ROWS], cost;
    mask some = m_none();
    ph_block_force(m, f, v, block, w + m[W_EFC_D] + row, w + m[W_EFC_JAR] + row, force, C, &cost);
    for (int r = 0; r < dim; ++r) some = m_or(some, m_not(eq(C[r * dim + r], splat(0))));
    if (!any(some)) return;
    each (i, n) {
        real CJ[PH_MOST_ROWS], *to = H + ph_row(dof[2 * i]);
        for (int r = 0; r < dim; ++r) {
            CJ[r] = splat(0);
            for (int q = 0; q < dim; ++q) CJ[r] = fma(C[r * dim + q], J[q * n + i], CJ[r]);
        }
        for (int j = 0; j <= i; ++j) {
            real sum = to[dof[2 * j]];
            for (int r = 0; r < dim; ++r) sum = fma(CJ[r], J[r * n + j], sum);
            to[dof[2 * j]] = sum;
        }
    }
    sync();
}

/* H = M + J' C J = L L', in place; H's diagonal gets the inverses of L's. */
LFN void ph_hessian(const int *m, const ureal *f, const real *v, real *w, const int *s)
{
    const int *nnz = m + m[M_M_ROWNNZ], *adr = m + m[M_M_ROWADR], *col = m + m[M_M_COLIND];
    const int *first = s + S_SLOTS + 4 * m[M_NSLOT] + m[M_NBLOCK] + 2 * m[M_NPAIR];
    real *H = w + m[W_H];
    int nv = m[M_NV];
    each (i, nv) {
        real *to = H + ph_row(i);
        for (int j = first[i]; j <= i; ++j) to[j] = splat(0);
        for (int e = adr[i]; e < adr[i] + nnz[i]; ++e) to[col[e]] = (w + m[W_QM])[e];
    }
    sync();
    for (int k = 0; k < s[S_NSLOT]; ++k) ph_add_block(m, f, v, w, s, k);
    for (int j = 0; j < nv; ++j) {
        const real *b = H + ph_row(j);
        each (i, nv - j) {
            real *a = H + ph_row(i + j);
            if (first[i + j] <= j) {
                real sum = a[j];
                for (int k = nmax(first[i + j], first[j]); k < j; ++k) sum = fma(-a[k], b[k], sum);
                a[j] = sum;
            }
        }
        sync();
        real inv = splat(1) / sqrt(b[j]);
        sync();
        each (i, nv - j) {
            real *a = H + ph_row(i + j);
            if (first[i + j] <= j) a[j] = i == 0 ? inv : a[j] * inv;
        }
        sync();
    }
}

/* In place: x becomes H^-1 x. */
LFN void ph_solve_hessian(const int *m, const real *w, const int *s, real *x)
{
    const int *first = s + S_SLOTS + 4 * m[M_NSLOT] + m[M_NBLOCK] + 2 * m[M_NPAIR];
    const real *H = w + m[W_H];
    int nv = m[M_NV];
    for (int j = 0; j < nv; ++j) {
        real y = x[j] * H[ph_row(j) + j];
        sync();
        each (i, nv - j) {
            if (i == 0)
                x[i + j] = y;
            else if (first[i + j] <= j)
                x[i + j] = fma(-H[ph_row(i + j) + j], y, x[i + j]);
        }
        sync();
    }
    for (int j = nv - 1; j >= 0; --j) {
        real y = x[j] * H[ph_row(j) + j];
        sync();
        each (i, j - first[j] + 1) {
            int c = first[j] + i;
            if (c == j)
                x[c] = y;
            else
                x[c] = fma(-H[ph_row(j) + c], y, x[c]);
        }
        sync();
    }
}

/* ---- line search ------------------------------------------------------------------------------------------------- */

typedef struct ph_line {
    real alpha, slope, curve; /* a step, and the first two derivatives of the cost there */
    real noise;               /* what rounding may have done to the slope */
} ph_line;

/* The derivatives at alpha; g1 + alpha g2 is the slope of the part without constraints. */
LFN void ph_line_at(const int *m, const ureal *f, const real *v, const real *w, const int *s, real g1, real g2,
                    real alpha, ph_line *out)
{
    real slope = fma(alpha, g2, g1), curve = g2, size = rabs(g1) + rabs(alpha * g2);
    for (int k = 0; k < s[S_NSLOT]; ++k) {
        const int *block = m + ph_slot_block(s, k);
        int row = ph_slot_row(s, k), dim = block[B_DIM];
        const real *jar = w + m[W_EFC_JAR] + row, *jv = w + m[W_EFC_JV] + row;
        real C[PH_MOST_ROWS * PH_MOST_ROWS], force[PH_MOST_ROWS], x[PH_MOST_ROWS], cost;
        for (int r = 0; r < dim; ++r) x[r] = fma(alpha, jv[r], jar[r]);
        ph_block_force(m, f, v, block, w + m[W_EFC_D] + row, x, force, C, &cost);
        for (int r = 0; r < dim; ++r) {
            slope = fma(-force[r], jv[r], slope);
            size = size + rabs(force[r] * jv[r]);
            for (int q = 0; q < dim; ++q) curve = fma(C[r * dim + q] * jv[q], jv[r], curve);
        }
    }
    out->alpha = alpha;
    out->slope = slope;
    out->curve = curve;
    out->noise = splat(PH_ROUNDING) * size;
}

/* The step at which the slope is at most `enough` from 0: Newton's method between bounds. */
LFN real ph_line_search(const int *m, const ureal *f, const real *v, const real *w, const int *s, real g1, real g2,
                        real enough, mask on)
{
    ph_line at;
    ph_line_at(m, f, v, w, s, g1, g2, splat(0), &at);
    real low = splat(0), high = splat(-1), best = splat(0), least = rabs(at.slope);
    mask done = m_or(m_not(on), m_not(lt(at.slope, splat(0))));
    for (int i = 0; i < m[M_LS_ITERATIONS] && !all(done); ++i) {
        real next = at.alpha - at.slope / at.curve;
        mask bounded = gt(high, splat(0));
        mask out = m_or(m_not(gt(next, low)), m_and(bounded, m_not(lt(next, high))));
        next = select(m_and(out, bounded), splat((ureal)0.5) * (low + high), next);
        ph_line_at(m, f, v, w, s, g1, g2, next, &at);
        mask better = m_andnot(lt(rabs(at.slope), least), done), under = lt(at.slope, splat(0));
        best = select(better, next, best);
        least = select(better, rabs(at.slope), least);
        low = select(under, next, low);
        high = select(under, high, next);
        done = m_or(done, m_not(gt(rabs(at.slope), rmax(enough, at.noise))));
    }
    return best;
}

/* ---- iterations -------------------------------------------------------------------------------------------------- */

/* The cost at w[W_QACC], of which efc_jar and W_MA are known, without a constant. */
LFN real ph_cost(const int *m, const ureal *f, const real *v, const real *w, const int *s)
{
    real sum = splat(0);
    for (int d = 0; d < m[M_NV]; ++d) {
        real force = (w + m[W_MA])[d] - (w + m[W_QFRC_SMOOTH])[d];
        sum = fma(force, (w + m[W_QACC])[d] - (w + m[W_QACC_SMOOTH])[d], sum);
    }
    sum = splat((ureal)0.5) * sum;
    for (int k = 0; k < s[S_NSLOT]; ++k) {
        const int *block = m + ph_slot_block(s, k);
        int row = ph_slot_row(s, k);
        real C[PH_MOST_ROWS * PH_MOST_ROWS], force[PH_MOST_ROWS], cost;
        ph_block_force(m, f, v, block, w + m[W_EFC_D] + row, w + m[W_EFC_JAR] + row, force, C, &cost);
        sum = sum + cost;
    }
    return sum;
}

/* Residuals and M a of the acceleration in qacc; returns its cost. */
LFN real ph_start_at(const int *m, const ureal *f, const real *v, real *w, const int *s)
{
    ph_mul_inertia(m, w, w + m[W_QACC], w + m[W_MA]);
    ph_mul_rows(m, w, s, w + m[W_QACC], w + m[W_EFC_JAR], 1);
    sync();
    return ph_cost(m, f, v, w, s);
}

/* qacc = where the iterations begin: the better of qacc_warmstart and qacc_smooth. */
LFN void ph_start(const int *m, const ureal *f, const real *v, real *w, const int *s)
{
    real warm = splat(0), cold;
    int use = !(m[M_FLAGS] & PH_NO_WARMSTART);
    if (use) {
        each (d, m[M_NV]) (w + m[W_QACC])[d] = (w + m[W_QACC_WARMSTART])[d];
        sync();
        warm = ph_start_at(m, f, v, w, s);
        sync();
    }
    each (d, m[M_NV]) (w + m[W_QACC])[d] = (w + m[W_QACC_SMOOTH])[d];
    sync();
    cold = ph_start_at(m, f, v, w, s);
    sync();
    mask better = lt(warm, cold);
    if (!use || !any(better)) return;
    each (d, m[M_NV]) (w + m[W_QACC])[d] = select(better, (w + m[W_QACC_WARMSTART])[d], (w + m[W_QACC_SMOOTH])[d]);
    sync();
    warm = ph_start_at(m, f, v, w, s);
    sync();
}

/* Gradient of the cost; returns its norm. */
LFN real ph_gradient(const int *m, const ureal *f, const real *v, real *w, const int *s)
{
    real sum = splat(0);
    ph_forces(m, f, v, w, s);
    ph_gather_rows(m, w, s);
    each (d, m[M_NV])
        (w + m[W_GRAD])[d] = ((w + m[W_MA])[d] - (w + m[W_QFRC_SMOOTH])[d]) - (w + m[W_QFRC_CONSTRAINT])[d];
    sync();
    for (int d = 0; d < m[M_NV]; ++d) sum = fma((w + m[W_GRAD])[d], (w + m[W_GRAD])[d], sum);
    return sqrt(sum);
}

/*
 * One iteration of the lanes `on`; returns by how much their cost fell, were it quadratic: a difference of costs would
 * be all rounding near the minimum.
 */
LFN real ph_newton(const int *m, const ureal *f, const real *v, real *w, const int *s, mask on)
{
    real *search = w + m[W_SEARCH], *mv = w + m[W_MV];
    real g1 = splat(0), g2 = splat(0), size = splat(0), slope = splat(0);
    ph_hessian(m, f, v, w, s);
    each (d, m[M_NV]) search[d] = -(w + m[W_GRAD])[d];
    sync();
    ph_solve_hessian(m, w, s, search);
    ph_mul_inertia(m, w, search, mv);
    ph_mul_rows(m, w, s, search, w + m[W_EFC_JV], 0);
    sync();
    for (int d = 0; d < m[M_NV]; ++d) {
        g1 = fma(search[d], (w + m[W_MA])[d] - (w + m[W_QFRC_SMOOTH])[d], g1);
        g2 = fma(search[d], mv[d], g2);
        size = fma(search[d], search[d], size);
        slope = fma(search[d], (w + m[W_GRAD])[d], slope);
    }
    real scale = par(m, f, v, M_SOLVER_SCALE, 0);
    real enough = par(m, f, v, M_TOLERANCE, 0) * par(m, f, v, M_LS_TOLERANCE, 0) * sqrt(size) / scale;
    real alpha = select(on, ph_line_search(m, f, v, w, s, g1, g2, enough, on), splat(0));
    real gain = splat((ureal)-0.5) * (alpha * slope);
    sync();
    each (d, m[M_NV]) {
        (w + m[W_QACC])[d] = select(on, fma(alpha, search[d], (w + m[W_QACC])[d]), (w + m[W_QACC])[d]);
        (w + m[W_MA])[d] = select(on, fma(alpha, mv[d], (w + m[W_MA])[d]), (w + m[W_MA])[d]);
    }
    each (r, s[S_NROW]) {
        real *jar = w + m[W_EFC_JAR];
        jar[r] = select(on, fma(alpha, (w + m[W_EFC_JV])[r], jar[r]), jar[r]);
    }
    sync();
    return gain;
}

/* qacc, qfrc_constraint, efc_force, solver_niter. */
LFN void ph_solve_constraints(const int *m, const ureal *f, const real *v, real *w, int *s, mask group)
{
    real niter = splat(0), scale = par(m, f, v, M_SOLVER_SCALE, 0), tolerance = par(m, f, v, M_TOLERANCE, 0);
    each (d, m[M_NV]) {
        (w + m[W_QFRC_CONSTRAINT])[d] = splat(0);
        (w + m[W_QACC])[d] = (w + m[W_QACC_SMOOTH])[d];
    }
    each (one, 1) (w + m[W_SOLVER_NITER])[one] = splat(0);
    sync();
    if (s[S_NSLOT] == 0) return;
    ph_profile(m, s);
    ph_start(m, f, v, w, s);
    real norm = ph_gradient(m, f, v, w, s);
    mask done = m_or(m_not(group), m_not(ge(scale * norm, tolerance)));
    for (int i = 0; i < m[M_ITERATIONS] && !all(done); ++i) {
        real gain = ph_newton(m, f, v, w, s, m_not(done));
        niter = select(done, niter, niter + splat(1));
        norm = ph_gradient(m, f, v, w, s);
        done = m_or(done, m_or(m_not(ge(scale * gain, tolerance)), m_not(ge(scale * norm, tolerance))));
    }
    each (one, 1) (w + m[W_SOLVER_NITER])[one] = niter;
    sync();
}

/* Keeps what was solved for a group, or (back) puts all of it where it belongs. */
LFN void ph_keep(const int *m, real *w, mask group, int back)
{
    int nv = m[M_NV];
    each (i, 2 * nv + 1) {
        real *at = i < nv       ? w + m[W_QACC] + i
                   : i < 2 * nv ? w + m[W_QFRC_CONSTRAINT] + (i - nv)
                                : w + m[W_SOLVER_NITER];
        real *kept = w + m[W_KEPT] + i;
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
 */
LFN lint ph_constrain(const int *m, const ureal *f, const real *v, real *w, int *s, mask on, int extra)
{
    mask todo = on;
    lint faults = isplat(0);
    if (extra & PH_EXTRA_FORCES) ph_applied(m, w);
    for (int i = -1; any(todo); ++i) {
        mask group = m_and(on, i < 0 ? m_all() : ieq(lane(), isplat(i)));
        ph_constraint(m, f, v, w, s, group);
        int full = s[S_FULL];
        if (!full || i >= 0) {
            ph_solve_constraints(m, f, v, w, s, group);
            if (extra & PH_EXTRA_FORCES) ph_external(m, f, v, w, s, group);
            if (extra & PH_EXTRA_SENSORS) ph_sense_rows(m, f, v, w, s, group);
            if (extra >= PH_EXTRA_LIST) ph_list_contacts(m, w, s, group, extra / PH_EXTRA_LIST);
            if (i >= 0) ph_keep(m, w, group, 0);
            if (full) faults = iselect(group, isplat(PH_CONTACTS_FULL), faults);
            todo = m_andnot(todo, group);
            if (i >= 0 && !any(todo)) ph_keep(m, w, group, 1);
        }
        sync();
    }
    return faults;
}
