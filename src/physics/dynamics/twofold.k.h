/*
 * Matrices that a real has too few digits to factor: sums of two reals, and the factors of matrices in qM's pattern.
 * Part of the kernels that include it, after inertia.k.h.
 *
 * A pivot of a factor is what the pivots before have left of an entry of the diagonal. Where little is left, most of
 * its digits are gone, and a solution is wrong in the directions that move little mass, or the pivot is negative: at
 * the ends of long chains, with a heavy body at the end of light ones, and where constraints are much stiffer than what
 * they hold is heavy. A lane in which a pivot is so thin gets its factor once more, with a high and a low part for each
 * number, and rounded at its end. No other lane takes part in that, and the solution with the factor is one of reals.
 */

/* ---- sums: s [2], a high and a low part -------------------------------------------------------------------------- */

/* s += x: the error of the high part is exact (Knuth). */
LFN void ph_two_add(real *s, real x)
{
    real sum = s[0] + x, part = sum - s[0];
    s[1] = s[1] + ((s[0] - (sum - part)) + (x - part));
    s[0] = sum;
}
/* s += (a, a1) (b, b1) */
LFN void ph_two_fma(real a, real a1, real b, real b1, real *s)
{
    real product = a * b, rest = fma(a1, b, fma(a, b1, fma(a, b, -product)));
    ph_two_add(s, product);
    s[1] = s[1] + rest;
}
/* The high part becomes the sum rounded. */
LFN void ph_two_round(real *s)
{
    real sum = s[0] + s[1];
    s[1] = s[1] - (sum - s[0]);
    s[0] = sum;
}
/* out = a b */
LFN void ph_two_mul(const real *a, const real *b, real *out)
{
    ph_zero(out, 2);
    ph_two_fma(a[0], a[1], b[0], b[1], out);
    ph_two_round(out);
}
/* out = 1 / s */
LFN void ph_two_inverse(const real *s, real *out)
{
    out[0] = splat(1) / s[0];
    out[1] = out[0] * fma(-s[1], out[0], fma(-s[0], out[0], splat(1)));
}
/* out = 1 / sqrt(s); 0 where s is not above 0: a step then leaves that dof as it is. */
LFN void ph_two_inverse_root(const real *s, real *out)
{
    mask positive = gt(s[0], splat(0));
    real root = splat(1) / sqrt(s[0]), square = root * root, rest = fma(root, root, -square);
    real error = fma(-s[1], square, fma(-s[0], rest, fma(-s[0], square, splat(1))));
    out[0] = select(positive, root, splat(0));
    out[1] = select(positive, splat((ureal)0.5) * (root * error), splat(0));
}

/* ---- inertia ----------------------------------------------------------------------------------------------------- */

/* out [6][2] = the inertia i with low parts i1, as in ph_inertia_mul, times the motion a. */
LFN void ph_two_inertia_mul(const real *i, const real *i1, const real *a, real *out)
{
    real zero = splat(0);
    ph_zero(out, 12);
    for (int k = 0; k < 3; ++k) {
        int next = (k + 1) % 3, last = (k + 2) % 3;
        real *turn = out + 2 * k, *move = out + 6 + 2 * k;
        for (int c = 0; c < 3; ++c) {
            int at = c == k ? k : k + c + 2;
            ph_two_fma(i[at], i1[at], a[c], zero, turn);
        }
        ph_two_fma(i[6 + next], i1[6 + next], a[3 + last], zero, turn);
        ph_two_fma(i[6 + last], i1[6 + last], -a[3 + next], zero, turn);
        ph_two_fma(i[9], i1[9], a[3 + k], zero, move);
        ph_two_fma(i[6 + last], i1[6 + last], a[next], zero, move);
        ph_two_fma(i[6 + next], i1[6 + next], -a[last], zero, move);
    }
}

/* The low parts of composite inertias. */
LFN void ph_low_composites(ph_world w)
{
    const int *level = level_adr(w), *body = level_body(w), *adr = body_child_adr(w);
    const real *own = cinert(w), *crb = crb(w);
    real *low = crb_low(w);
    for (int l = nlevel(w) - 1; l >= 0; --l) {
        each (i, 10 * (level[l + 1] - level[l])) {
            int b = body[level[l] + i / 10], k = i % 10;
            real sum[2];
            sum[0] = own[10 * b + k];
            sum[1] = splat(0);
            rolled
            for (int c = adr[b]; c < adr[b + 1]; ++c) {
                int child = 10 * body_child(w)[c] + k;
                ph_two_add(sum, crb[child]);
                sum[1] = sum[1] + low[child];
            }
            low[10 * b + k] = (sum[0] - crb[10 * b + k]) + sum[1];
        }
        sync();
    }
}

/*
 * low = what each entry of qM lacks, as far as composite inertias and motion axes say it; `places`: where W_H has that
 * entry.
 */
LFN void ph_low_inertia(ph_world w, int places, real *low)
{
    const int *nnz = M_rownnz(w), *adr = M_rowadr(w), *col = M_colind(w);
    ph_low_composites(w);
    each (i, nv(w)) {
        int simple = dof_flags(w)[i] & PH_DOF_SIMPLE, body = 10 * dof_bodyid(w)[i];
        const real *cdof = cdof(w), *crb = crb(w) + body;
        real force[12], rounded[6], armature = dof_armature(w, i);
        ph_two_inertia_mul(crb, crb_low(w) + body, cdof + 6 * i, force);
        ph_inertia_mul(crb, cdof + 6 * i, rounded);
        rolled
        for (int e = adr[i]; e < adr[i] + nnz[i]; ++e) {
            real sum[2], entry = ph_dot6(cdof + 6 * col[e], rounded);
            ph_zero(sum, 2);
            for (int k = 0; k < 6; ++k) ph_two_fma(force[2 * k], force[2 * k + 1], cdof[6 * col[e] + k], splat(0), sum);
            if (col[e] == i) entry = entry + armature;
            if (col[e] == i) ph_two_add(sum, armature);
            low[places ? M_place(w)[e] : e] = simple ? splat(0) : (sum[0] - entry) + sum[1];
        }
    }
    sync();
}

/* ---- factors in qM's pattern ------------------------------------------------------------------------------------- */

/* In place: L and 1 / D as of ph_factor, of a matrix with the low parts `low`, which are lost. */
LFN void ph_two_factor(ph_world w, real *H, real *low, real *inv)
{
    const int *nnz = M_rownnz(w), *adr = M_rowadr(w);
    for (int i = nv(w) - 1; i >= 0; --i) {
        const int *above = M_colind(w) + adr[i];
        int n = nnz[i] - 1;
        real *row = H + adr[i], *rest = low + adr[i], pivot[2], inverse[2];
        pivot[0] = row[n];
        pivot[1] = rest[n];
        ph_two_round(pivot);
        mask enough = gt(pivot[0], splat(PHYSICS_MINVAL));
        pivot[0] = select(enough, pivot[0], splat(PHYSICS_MINVAL));
        pivot[1] = select(enough, pivot[1], splat(0));
        ph_two_inverse(pivot, inverse);
        each (q, ph_items(n)) {
            int a, first, count;
            real c[2], x[2], scaled[2];
            ph_item(w, q, &a, &first, &count);
            x[0] = -row[a];
            x[1] = -rest[a];
            ph_two_mul(x, inverse, c);
            rolled
            for (int j = first; j < first + count; ++j) {
                int at = adr[above[a]] + j;
                scaled[0] = H[at];
                scaled[1] = low[at];
                ph_two_fma(c[0], c[1], row[j], rest[j], scaled);
                ph_two_round(scaled);
                H[at] = scaled[0];
                low[at] = scaled[1];
            }
        }
        sync();
        each (e, n) row[e] = fma(rest[e], inverse[0], fma(row[e], inverse[1], row[e] * inverse[0]));
        each (one, 1) inv[i + one] = inverse[0];
    }
    sync();
}

/* Where 1 / D of a matrix says that a pivot is thin. */
LFN mask ph_any_thin(ph_world w, const real *A, const real *inv)
{
    const int *nnz = M_rownnz(w), *adr = M_rowadr(w);
    mask thin = m_none();
    rolled
    for (int i = 0; i < nv(w); ++i) thin = m_or(thin, ph_is_thin(A[adr[i] + nnz[i] - 1], inv[i], PH_THIN));
    return thin;
}

/* L and 1 / D of the lanes `thin` anew, of a matrix A in qM's pattern with the low parts in W_H_LOW, which are lost. */
STET_CALLED LFN void ph_mend_factor(ph_world w, mask thin, const real *A, real *L, real *inv)
{
    real *high = hessian(w), *inverse = high + nC(w); /* W_H has a row more than dofs */
    each (e, nC(w)) high[e] = A[e];
    sync();
    ph_two_factor(w, high, hessian_low(w), inverse);
    each (e, nC(w)) L[e] = select(thin, high[e], L[e]);
    each (d, nv(w)) inv[d] = select(thin, inverse[d], inv[d]);
    sync();
}

/* Says in which lanes a pivot of qM is thin. */
LFN void ph_put_thin(ph_world w, mask thin)
{
    each (one, 1) qM_thin(w)[one] = select(thin, splat(1), splat(0));
    sync();
}

/* qLD, qLDiagInv and W_THIN of qM. */
LFN void ph_factor_inertia(ph_world w)
{
    each (e, nC(w)) qLD(w)[e] = qM(w)[e];
    sync();
    ph_factor(w, qLD(w), qLDiagInv(w));
    mask thin = ph_any_thin(w, qM(w), qLDiagInv(w));
    ph_put_thin(w, thin);
    if (!any(thin)) return;
    ph_low_inertia(w, 0, hessian_low(w));
    ph_mend_factor(w, thin, qM(w), qLD(w), qLDiagInv(w));
}
