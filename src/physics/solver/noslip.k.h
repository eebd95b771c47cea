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
LFN void ph_noslip_row(ph_world w, int k, int r)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k)), *dof = block + block[B_DOFS];
    const int *nnz = M_rownnz(w), *adr = M_rowadr(w), *col = M_colind(w);
    const real *L = qLD(w), *inv = qLDiagInv(w), *J = efc_J(w) + ph_slot_J(w, k) + r * block[B_NDOF];
    real *x = noslip_rows(w) + nv(w) * (ph_slot_row(w, k) + r);
    ph_zero(x, nv(w));
    rolled
    for (int c = 0; c < block[B_NDOF]; ++c) x[dof[2 * c]] = J[c];
    rolled
    for (int i = nv(w) - 1; i > 0; --i) {
        rolled
        for (int e = adr[i]; e < adr[i] + nnz[i] - 1; ++e) x[col[e]] = fma(-L[e], x[i], x[col[e]]);
    }
    rolled
    for (int i = 0; i < nv(w); ++i) {
        real y = x[i] * inv[i];
        rolled
        for (int e = adr[i]; e < adr[i] + nnz[i] - 1; ++e) y = fma(-L[e], x[col[e]], y);
        x[i] = y;
    }
}

/* J of row r of a slot times x [nv]. */
LFN real ph_noslip_dot(ph_world w, int k, int r, const real *x)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k)), *dof = block + block[B_DOFS];
    const real *J = efc_J(w) + ph_slot_J(w, k) + r * block[B_NDOF];
    real sum = splat(0);
    rolled
    for (int c = 0; c < block[B_NDOF]; ++c) sum = fma(J[c], x[dof[2 * c]], sum);
    return sum;
}

/* J M^-1 J' of rows q and r of a slot, and what J qacc - aref of row r is. */
LFN real ph_noslip_entry(ph_world w, int k, int q, int r)
{
    return ph_noslip_dot(w, k, q, noslip_rows(w) + nv(w) * (ph_slot_row(w, k) + r));
}
LFN real ph_noslip_residual(ph_world w, int k, int r)
{
    return ph_noslip_dot(w, k, r, qacc(w)) - efc_aref(w)[ph_slot_row(w, k) + r];
}

/* Forces of n rows of slot k, from r on, change by `by`, and qacc with them, in the lanes `on`. All threads call it. */
LFN void ph_noslip_move(ph_world w, int k, int r, int n, const real *by, mask on)
{
    int row = ph_slot_row(w, k) + r;
    sync(); /* what it changes has been read */
    each (d, nv(w)) {
        real x = qacc(w)[d];
        for (int q = 0; q < n; ++q) x = fma(noslip_rows(w)[nv(w) * (row + q) + d], by[q], x);
        qacc(w)[d] = select(on, x, qacc(w)[d]);
    }
    each (one, 1) {
        for (int q = 0; q < n; ++q) {
            real *force = efc_force(w) + row + q;
            force[one] = select(on, force[one] + by[q], force[one]);
        }
    }
    sync();
}

/* One force between -limit and limit: gives by how much the cost falls. */
LFN real ph_noslip_force(ph_world w, int k, int r, real limit, int touches, mask on)
{
    real old = efc_force(w)[ph_slot_row(w, k) + r], slip = ph_noslip_residual(w, k, r), by[1];
    real A = rmax(ph_noslip_entry(w, k, r, r), splat(PHYSICS_MINVAL));
    by[0] = clamp(old - slip / A, -limit, limit) - old;
    real change = by[0] * fma(splat((ureal)0.5) * A, by[0], slip);
    mask moves = m_and(on, m_not(eq(by[0], splat(0))));
    if (touches) moves = m_andnot(moves, gt(change, splat(PH_QCQP_LEAST)));
    ph_noslip_move(w, k, r, 1, by, moves);
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
LFN real ph_noslip_cone(ph_world w, int k, mask on)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k));
    int n = block[B_DIM] - 1;
    const real *force = efc_force(w) + ph_slot_row(w, k);
    real A[PH_TANGENTS * PH_TANGENTS], b[PH_TANGENTS], slip[PH_TANGENTS], mu[PH_TANGENTS], by[PH_TANGENTS];
    real normal = force[0], change = splat(0);
    mask moves = m_none();
    for (int i = 0; i < n; ++i) {
        mu[i] = ph_block_par(w, block, P_FRICTION + i);
        slip[i] = ph_noslip_residual(w, k, 1 + i);
        b[i] = slip[i];
        for (int j = 0; j < n; ++j) {
            A[n * i + j] = j < i ? A[n * j + i] : ph_noslip_entry(w, k, 1 + i, 1 + j);
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
    ph_noslip_move(w, k, 1, n, by, moves);
    return select(moves, -change, splat(0));
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* Half of the forces of the edges of a pyramid, by their directions; see above. */
LFN void ph_noslip_halves(ph_world w, int k)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k));
    const real *x = efc_jar(w) + ph_slot_row(w, k);
    real *half = efc_jv(w) + ph_slot_row(w, k), D = efc_D(w)[ph_slot_row(w, k)], high, low;
    if (block[B_KIND] != PH_PYRAMID) return;
    for (int r = 1; r < block[B_DIM]; ++r) {
        ph_edge(x, ph_block_par(w, block, P_FRICTION + r - 1), r, &high, &low);
        half[r] = splat((ureal)-0.5) * (D * (high + low));
    }
}

/* What the forces of slot k cost by their regularisation, which is gone. */
LFN real ph_noslip_cost(ph_world w, int k)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k));
    int row = ph_slot_row(w, k);
    real sum = splat(0), inverse;
    rolled
    for (int r = 0; r < block[B_DIM]; ++r) {
        int pyramid = block[B_KIND] == PH_PYRAMID;
        real D = efc_D(w)[pyramid ? row : row + r], force = efc_force(w)[row + r], square = force * force;
        mask none = eq(D, splat(0));
        inverse = splat(1) / select(none, splat(1), D);
        if (pyramid && r == 0) continue;
        if (pyramid) { /* two edges, half + y and half - y */
            real half = efc_jv(w)[row + r], y = force / (splat(2) * ph_block_par(w, block, P_FRICTION + r - 1));
            square = splat(2) * fma(half, half, y * y);
        }
        sum = fma(splat((ureal)0.5) * square, select(none, splat(0), inverse), sum);
    }
    return sum;
}

/* Gives by how much the cost of the lanes `on` falls by a change of the forces of friction of slot k. */
LFN real ph_noslip_slot(ph_world w, int k, mask on)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k));
    real sum = splat(0);
    on = m_andnot(on, eq(efc_D(w)[ph_slot_row(w, k)], splat(0)));
    if (block[B_KIND] == PH_FRICTION) sum = ph_noslip_force(w, k, 0, ph_block_par(w, block, P_LOSS), 0, on);
    if (block[B_KIND] == PH_ELLIPTIC) sum = ph_noslip_cone(w, k, on);
    rolled
    for (int r = 1; block[B_KIND] == PH_PYRAMID && r < block[B_DIM]; ++r) {
        real mu = ph_block_par(w, block, P_FRICTION + r - 1);
        real limit = splat(2) * mu * efc_jv(w)[ph_slot_row(w, k) + r];
        real gain = ph_noslip_force(w, k, r, limit, 1, on);
        sum = sum + gain;
    }
    return sum;
}

/* Slots in MuJoCo's order: blocks as they are, then contacts. Where lists of slots by part are, which nobody needs. */
LFN void ph_noslip_order(ph_world w)
{
    int *list = w.ints + ph_by_part(w);
    each (k, w.ints[S_NSLOT]) {
        int touches = PH_BLOCK(ph_slot_block(w, k))[B_TYPE] == PH_GEOMS, rank = 0;
        for (int j = 0; j < w.ints[S_NSLOT]; ++j) {
            int other = PH_BLOCK(ph_slot_block(w, j))[B_TYPE] == PH_GEOMS, before = j < k;
            if (touches && other) before = ph_slot_order(w, j) < ph_slot_order(w, k);
            rank = rank + (touches == other ? before : touches);
        }
        list[rank] = k;
    }
    sync();
}

/* qacc, qfrc_constraint, efc_force and solver_niter of the lanes `held`, in which something holds and is solved. */
PH_PART LFN void ph_noslip(ph_world w, mask held)
{
    const int *list = w.ints + ph_by_part(w);
    real *out = qfrc_constraint(w), *change = solver_search(w), niter = splat(0);
    real scale = solver_scale(w, 0), enough = noslip_tolerance(w, 0);
    mask on = held;
    if (PH_BY_ROWS) ph_factor_inertia(w); /* which has no factor of qM otherwise */
    each (i, PH_ROWS * w.ints[S_NSLOT]) {
        int k = i / PH_ROWS, r = i % PH_ROWS;
        const int *block = PH_BLOCK(ph_slot_block(w, k));
        if (ph_has_slip(block) && r >= ph_first_slip(block) && r < block[B_DIM]) ph_noslip_row(w, k, r);
        if (r == 0) ph_noslip_halves(w, k);
    }
    ph_noslip_order(w);
    ph_gather_rows(w, change);
    ph_solve(w, qLD(w), qLDiagInv(w), change);
    each (d, nv(w)) qacc(w)[d] = select(held, qacc_smooth(w)[d] + change[d], qacc(w)[d]);
    sync();
    rolled
    for (int i = 0; i < noslip_iterations(w) && any(on); ++i) {
        real gain = splat(0);
        rolled
        for (int t = 0; i == 0 && t < w.ints[S_NSLOT]; ++t) gain = gain + ph_noslip_cost(w, list[t]);
        rolled
        for (int t = 0; t < w.ints[S_NSLOT]; ++t) {
            real fall = ph_noslip_slot(w, list[t], on);
            gain = gain + fall;
        }
        niter = select(on, niter + splat(1), niter);
        on = m_andnot(on, lt(gain * scale, enough));
    }
    ph_gather_rows(w, change);
    each (d, nv(w)) out[d] = select(held, change[d], out[d]);
    each (one, 1) solver_niter(w)[one] = solver_niter(w)[one] + niter;
    sync();
}
