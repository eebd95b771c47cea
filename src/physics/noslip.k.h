/*
 * Noslip iterations: what is left of slip once constraints are solved, MuJoCo's way. Part of the kernels that include
 * it, before solve.k.h.
 *
 * Forces of friction are solved for once more, without regularisation (R = 0), each limited by its loss or by the
 * normal force of its contact, which stays; so do those of equalities and limits. Blocks follow each other in MuJoCo's
 * order (Gauss-Seidel), so that a few iterations lead where they lead there. W_NOSLIP has M^-1 J' of each row, and qacc
 * goes along with each force. Once it is solved nobody needs efc_Jv: a pyramid's row r > 0 has there half of the forces
 * of its two edges, between which r shares them out.
 */

#define PH_QCQP_ITERATIONS 20
#define PH_QCQP_LEAST ((ureal)1e-10) /* of pivots and steps */
#define PH_TANGENTS (PH_ROWS - 1)

/* Has this block forces of friction, and in which of its rows is the first? */
LFN int ph_has_slip(const int *block) { return block[B_KIND] == PH_FRICTION || block[B_KIND] >= PH_PYRAMID; }
LFN int ph_first_slip(const int *block) { return block[B_KIND] == PH_FRICTION ? 0 : 1; }

/* M^-1 J' of row r of slot k, by one thread. */
LFN void ph_noslip_row(const int *m, real *w, const int *s, int k, int r)
{
    const int *block = PH_BLOCK(ph_slot_block(s, k)), *dof = block + block[B_DOFS];
    const int *nnz = m + m[M_M_ROWNNZ], *adr = m + m[M_M_ROWADR], *col = m + m[M_M_COLIND];
    const real *L = PH_AT(W_QLD), *inv = PH_AT(W_QLDIAGINV), *J = PH_AT(W_EFC_J) + ph_slot_J(s, k) + r * block[B_NDOF];
    real *x = PH_AT(W_NOSLIP) + m[M_NV] * (ph_slot_row(s, k) + r);
    ph_zero(x, m[M_NV]);
    rolled for (int c = 0; c < block[B_NDOF]; ++c) x[dof[2 * c]] = J[c];
    rolled for (int i = m[M_NV] - 1; i > 0; --i)
    {
        rolled for (int e = adr[i]; e < adr[i] + nnz[i] - 1; ++e) x[col[e]] = fma(-L[e], x[i], x[col[e]]);
    }
    rolled for (int i = 0; i < m[M_NV]; ++i)
    {
        real y = x[i] * inv[i];
        rolled for (int e = adr[i]; e < adr[i] + nnz[i] - 1; ++e) y = fma(-L[e], x[col[e]], y);
        x[i] = y;
    }
}

/* J of row r of a slot times x [nv]. */
LFN real ph_noslip_dot(const int *m, const real *w, const int *s, int k, int r, const real *x)
{
    const int *block = PH_BLOCK(ph_slot_block(s, k)), *dof = block + block[B_DOFS];
    const real *J = PH_AT(W_EFC_J) + ph_slot_J(s, k) + r * block[B_NDOF];
    real sum = splat(0);
    rolled for (int c = 0; c < block[B_NDOF]; ++c) sum = fma(J[c], x[dof[2 * c]], sum);
    return sum;
}

/* J M^-1 J' of rows q and r of a slot, and what J qacc - aref of row r is. */
LFN real ph_noslip_entry(const int *m, const real *w, const int *s, int k, int q, int r)
{
    return ph_noslip_dot(m, w, s, k, q, PH_AT(W_NOSLIP) + m[M_NV] * (ph_slot_row(s, k) + r));
}
LFN real ph_noslip_residual(const int *m, const real *w, const int *s, int k, int r)
{
    return ph_noslip_dot(m, w, s, k, r, PH_AT(W_QACC)) - PH_AT(W_EFC_AREF)[ph_slot_row(s, k) + r];
}

/* Forces of n rows of slot k, from r on, change by `by`, and qacc with them, in the lanes `on`. All threads call it. */
LFN void ph_noslip_move(const int *m, real *w, const int *s, int k, int r, int n, const real *by, mask on)
{
    int row = ph_slot_row(s, k) + r;
    sync(); /* what it changes has been read */
    each (d, m[M_NV]) {
        real x = PH_AT(W_QACC)[d];
        for (int q = 0; q < n; ++q) x = fma(PH_AT(W_NOSLIP)[m[M_NV] * (row + q) + d], by[q], x);
        PH_AT(W_QACC)[d] = select(on, x, PH_AT(W_QACC)[d]);
    }
    each (one, 1) {
        for (int q = 0; q < n; ++q) {
            real *force = PH_AT(W_EFC_FORCE) + row + q;
            force[one] = select(on, force[one] + by[q], force[one]);
        }
    }
    sync();
}

/* One force between -limit and limit: gives by how much the cost falls. */
LFN real ph_noslip_force(const int *m, real *w, const int *s, int k, int r, real limit, int touches, mask on)
{
    real old = PH_AT(W_EFC_FORCE)[ph_slot_row(s, k) + r], slip = ph_noslip_residual(m, w, s, k, r), by[1];
    real A = rmax(ph_noslip_entry(m, w, s, k, r, r), splat(PHYSICS_MINVAL));
    by[0] = clamp(old - slip / A, -limit, limit) - old;
    real change = by[0] * fma(splat((ureal)0.5) * A, by[0], slip);
    mask moves = m_and(on, m_not(eq(by[0], splat(0))));
    if (touches) moves = m_andnot(moves, gt(change, splat(PH_QCQP_LEAST)));
    ph_noslip_move(m, w, s, k, r, 1, by, moves);
    return select(moves, -change, splat(0));
}

/* ---- elliptic cones ---------------------------------------------------------------------------------------------- */

/*
 * x = -(A + shift)^-1 b, and *turn = x' (A + shift)^-1 x; gives the lanes that have no solution for MuJoCo: in which
 * the determinant is too small or, of five rows, a pivot.
 */
LFN mask ph_qcqp_solve(const real *A, const real *b, int n, real shift, real *x, real *turn)
{
    real L[PH_TANGENTS * PH_TANGENTS], y[PH_TANGENTS], product = splat(1);
    mask bad = m_none();
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) {
            real sum = A[n * i + j];
            if (i == j) sum = sum + shift;
            for (int q = 0; q < j; ++q) sum = fma(-L[n * i + q], L[n * j + q], sum);
            if (i == j) product = n > 3 ? sum : product * sum;
            if (i == j && (n > 3 || i == n - 1)) bad = m_or(bad, m_not(ge(product, splat(PH_QCQP_LEAST))));
            L[n * i + j] = i == j ? splat(1) / sqrt(rmax(sum, splat(PHYSICS_MINVAL))) : sum * L[n * j + j];
        }
    for (int i = 0; i < n; ++i) {
        x[i] = -b[i];
        for (int q = 0; q < i; ++q) x[i] = fma(-L[n * i + q], x[q], x[i]);
        x[i] = x[i] * L[n * i + i];
    }
    for (int i = n - 1; i >= 0; --i) {
        for (int q = i + 1; q < n; ++q) x[i] = fma(-L[n * q + i], x[q], x[i]);
        x[i] = x[i] * L[n * i + i];
    }
    *turn = splat(0);
    for (int i = 0; i < n; ++i) {
        y[i] = x[i];
        for (int q = 0; q < i; ++q) y[i] = fma(-L[n * i + q], y[q], y[i]);
        y[i] = y[i] * L[n * i + i];
        *turn = fma(y[i], y[i], *turn);
    }
    return bad;
}

/*
 * x [n], the minimum of x' A x / 2 + x' b where the sum of squares of x / mu is at most that of `normal`; 0 where A is
 * singular. Newton's method for the multiplier, as in MuJoCo, which stops as early.
 */
LFN void ph_qcqp(const real *A, const real *b, const real *mu, int n, real normal, real *x)
{
    real scaled[PH_TANGENTS * PH_TANGENTS], c[PH_TANGENTS], shift = splat(0), turn, size = shift, zero = shift;
    mask done = m_none(), bad = m_none();
    for (int i = 0; i < n; ++i) {
        c[i] = mu[i] * b[i];
        for (int j = 0; j < n; ++j) scaled[n * i + j] = A[n * i + j] * mu[i] * mu[j];
    }
    for (int t = 0; t < PH_QCQP_ITERATIONS && !all(done); ++t) {
        mask small = ph_qcqp_solve(scaled, c, n, shift, x, &turn);
        bad = m_or(bad, m_andnot(small, done));
        size = zero;
        for (int i = 0; i < n; ++i) size = fma(x[i], x[i], size);
        real beyond = fma(-normal, normal, size), step = beyond / (splat(2) * turn);
        done = m_or(done, m_or(bad, m_not(ge(beyond, splat(PH_QCQP_LEAST)))));
        done = m_or(done, m_not(ge(step, splat(PH_QCQP_LEAST))));
        shift = select(done, shift, shift + step);
    }
    real onto = sqrt(normal * normal / rmax(size, splat(PHYSICS_MINVAL)));
    onto = select(eq(shift, zero), splat(1), onto);
    for (int i = 0; i < n; ++i) x[i] = select(bad, zero, x[i] * mu[i] * onto);
}

/* The tangential forces of an elliptic contact. */
LFN real ph_noslip_cone(const int *m, const ureal *f, const real *v, real *w, const int *s, int k, mask on)
{
    const int *block = PH_BLOCK(ph_slot_block(s, k));
    int n = block[B_DIM] - 1;
    const real *force = PH_AT(W_EFC_FORCE) + ph_slot_row(s, k);
    real A[PH_TANGENTS * PH_TANGENTS], b[PH_TANGENTS], slip[PH_TANGENTS], mu[PH_TANGENTS], by[PH_TANGENTS];
    real normal = force[0], change = splat(0);
    mask moves = m_none();
    for (int i = 0; i < n; ++i) {
        mu[i] = ph_block_par(m, f, v, block, P_FRICTION + i);
        slip[i] = ph_noslip_residual(m, w, s, k, 1 + i);
        b[i] = slip[i];
        for (int j = 0; j < n; ++j) {
            A[n * i + j] = j < i ? A[n * j + i] : ph_noslip_entry(m, w, s, k, 1 + i, 1 + j);
            if (i == j) A[n * i + j] = rmax(A[n * i + j], splat(PH_QCQP_LEAST));
        }
    }
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) b[i] = fma(-A[n * i + j], force[1 + j], b[i]);
    ph_qcqp(A, b, mu, n, normal, by);
    mask none = lt(normal, splat(PHYSICS_MINVAL));
    for (int i = 0; i < n; ++i) {
        by[i] = select(none, splat(0), by[i]) - force[1 + i];
        moves = m_or(moves, m_not(eq(by[i], splat(0))));
    }
    for (int i = 0; i < n; ++i) {
        real sum = slip[i];
        for (int j = 0; j < n; ++j) sum = fma(splat((ureal)0.5) * A[n * i + j], by[j], sum);
        change = fma(by[i], sum, change);
    }
    moves = m_andnot(m_and(on, moves), gt(change, splat(PH_QCQP_LEAST)));
    ph_noslip_move(m, w, s, k, 1, n, by, moves);
    return select(moves, -change, splat(0));
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* Half of the forces of the edges of a pyramid, by their directions; see above. */
LFN void ph_noslip_halves(const int *m, const ureal *f, const real *v, real *w, const int *s, int k)
{
    const int *block = PH_BLOCK(ph_slot_block(s, k));
    const real *x = PH_AT(W_EFC_JAR) + ph_slot_row(s, k);
    real *half = PH_AT(W_EFC_JV) + ph_slot_row(s, k), D = PH_AT(W_EFC_D)[ph_slot_row(s, k)], high, low;
    if (block[B_KIND] != PH_PYRAMID) return;
    for (int r = 1; r < block[B_DIM]; ++r) {
        ph_edge(x, ph_block_par(m, f, v, block, P_FRICTION + r - 1), r, &high, &low);
        half[r] = splat((ureal)-0.5) * (D * (high + low));
    }
}

/* What the forces of slot k cost by their regularisation, which is gone. */
LFN real ph_noslip_cost(const int *m, const ureal *f, const real *v, const real *w, const int *s, int k)
{
    const int *block = PH_BLOCK(ph_slot_block(s, k));
    int row = ph_slot_row(s, k);
    real sum = splat(0), inverse;
    rolled for (int r = 0; r < block[B_DIM]; ++r)
    {
        int pyramid = block[B_KIND] == PH_PYRAMID;
        real D = PH_AT(W_EFC_D)[pyramid ? row : row + r], force = PH_AT(W_EFC_FORCE)[row + r], square = force * force;
        mask none = eq(D, splat(0));
        inverse = splat(1) / select(none, splat(1), D);
        if (pyramid && r == 0) continue;
        if (pyramid) { /* two edges, half + y and half - y */
            real half = PH_AT(W_EFC_JV)[row + r],
                 y = force / (splat(2) * ph_block_par(m, f, v, block, P_FRICTION + r - 1));
            square = splat(2) * fma(half, half, y * y);
        }
        sum = fma(splat((ureal)0.5) * square, select(none, splat(0), inverse), sum);
    }
    return sum;
}

/* Gives by how much the cost of the lanes `on` falls by a change of the forces of friction of slot k. */
LFN real ph_noslip_slot(const int *m, const ureal *f, const real *v, real *w, const int *s, int k, mask on)
{
    const int *block = PH_BLOCK(ph_slot_block(s, k));
    real sum = splat(0);
    on = m_andnot(on, eq(PH_AT(W_EFC_D)[ph_slot_row(s, k)], splat(0)));
    if (block[B_KIND] == PH_FRICTION) sum = ph_noslip_force(m, w, s, k, 0, ph_block_par(m, f, v, block, P_LOSS), 0, on);
    if (block[B_KIND] == PH_ELLIPTIC) sum = ph_noslip_cone(m, f, v, w, s, k, on);
    rolled for (int r = 1; block[B_KIND] == PH_PYRAMID && r < block[B_DIM]; ++r)
    {
        real mu = ph_block_par(m, f, v, block, P_FRICTION + r - 1);
        real limit = splat(2) * mu * PH_AT(W_EFC_JV)[ph_slot_row(s, k) + r];
        real gain = ph_noslip_force(m, w, s, k, r, limit, 1, on);
        sum = sum + gain;
    }
    return sum;
}

/* Slots in MuJoCo's order: blocks as they are, then contacts. Where lists of slots by part are, which nobody needs. */
LFN void ph_noslip_order(const int *m, int *s)
{
    int *list = s + ph_by_part(m);
    each (k, s[S_NSLOT]) {
        int touches = PH_BLOCK(ph_slot_block(s, k))[B_TYPE] == PH_GEOMS, rank = 0;
        for (int j = 0; j < s[S_NSLOT]; ++j) {
            int other = PH_BLOCK(ph_slot_block(s, j))[B_TYPE] == PH_GEOMS, before = j < k;
            if (touches && other) before = ph_slot_order(m, s, j) < ph_slot_order(m, s, k);
            rank = rank + (touches == other ? before : touches);
        }
        list[rank] = k;
    }
    sync();
}

/* qacc, qfrc_constraint, efc_force and solver_niter of the lanes `held`, in which something holds and is solved. */
PH_PART LFN void ph_noslip(const int *m, const ureal *f, const real *v, real *w, int *s, mask held)
{
    const int *list = s + ph_by_part(m);
    real *out = PH_AT(W_QFRC_CONSTRAINT), *change = PH_AT(W_SEARCH), niter = splat(0);
    real scale = par(m, f, v, M_SOLVER_SCALE, 0), enough = par(m, f, v, M_NOSLIP_TOLERANCE, 0);
    mask on = held;
    if (PH_BY_ROWS) ph_factor_inertia(m, f, v, w); /* which has no factor of qM otherwise */
    each (i, PH_ROWS * s[S_NSLOT]) {
        int k = i / PH_ROWS, r = i % PH_ROWS;
        const int *block = PH_BLOCK(ph_slot_block(s, k));
        if (ph_has_slip(block) && r >= ph_first_slip(block) && r < block[B_DIM]) ph_noslip_row(m, w, s, k, r);
        if (r == 0) ph_noslip_halves(m, f, v, w, s, k);
    }
    ph_noslip_order(m, s);
    ph_gather_rows(m, w, s, change);
    ph_solve(m, PH_AT(W_QLD), PH_AT(W_QLDIAGINV), change);
    each (d, m[M_NV]) PH_AT(W_QACC)[d] = select(held, PH_AT(W_QACC_SMOOTH)[d] + change[d], PH_AT(W_QACC)[d]);
    sync();
    rolled for (int i = 0; i < m[M_NOSLIP_ITERATIONS] && any(on); ++i)
    {
        real gain = splat(0);
        rolled for (int t = 0; i == 0 && t < s[S_NSLOT]; ++t) gain = gain + ph_noslip_cost(m, f, v, w, s, list[t]);
        rolled for (int t = 0; t < s[S_NSLOT]; ++t)
        {
            real fall = ph_noslip_slot(m, f, v, w, s, list[t], on);
            gain = gain + fall;
        }
        niter = select(on, niter + splat(1), niter);
        on = m_andnot(on, lt(gain * scale, enough));
    }
    ph_gather_rows(m, w, s, change);
    each (d, m[M_NV]) out[d] = select(held, change[d], out[d]);
    each (one, 1) PH_AT(W_SOLVER_NITER)[one] = PH_AT(W_SOLVER_NITER)[one] + niter;
    sync();
}
