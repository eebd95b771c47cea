/*
 * Which slots the solver looks at, and products with their Jacobians and with the inertia matrix. Part of the kernels
 * that include it, after force.k.h.
 */

/*
 * Sums over slots and over dofs are made in PH_SUMS parts, which are added up in their order: side by side by a team
 * that has the threads, else by each thread for itself. A slot's part follows from what it constrains, a dof's from the
 * dof: neither depends on what holds in other lanes, nor on what else there is.
 */
#if STET_GPU && STET_TEAM >= PH_SUMS
#define PH_SIDE_BY_SIDE 1
#else
#define PH_SIDE_BY_SIDE 0
#endif

LFN int ph_slot_part(const int *m, const int *s, int k)
{
    const int *block = PH_BLOCK(ph_slot_block(s, k));
    int n = (s[S_SLOTS + 4 * k + 3] - m[M_NBLOCK]) % PH_MOST_CONTACTS; /* of a contact, in its pair */
    return block[B_TYPE] == PH_GEOMS ? (block[B_PART] + 3 * n) % PH_SUMS : block[B_PART];
}

/*
 * The slots that hold in one of the lanes `on`: in all others those lanes have zeros only. Where sums are made side by
 * side, they are listed by part, too.
 */
LFN void ph_list_slots(const int *m, const real *w, int *s, mask on)
{
    int *part = s + ph_parts(m), *begin = s + S_PARTS;
    each (k, s[S_NSLOT])
        part[k] = any(m_andnot(on, eq(PH_AT(W_EFC_D)[ph_slot_row(s, k)], splat(0)))) ? ph_slot_part(m, s, k) : PH_SUMS;
    sync();
    each (t, PH_SIDE_BY_SIDE ? PH_SUMS + 1 : 1) {
        int all = !PH_SIDE_BY_SIDE || t == PH_SUMS, p = all ? PH_SUMS : t, n = 0;
        int *to = s + (all ? ph_active(m) : ph_by_part(m));
        rolled for (int k = 0; k < s[S_NSLOT] && !all; ++k) n = n + (part[k] < p);
        if (!all) begin[t] = n;
        rolled for (int k = 0; k < s[S_NSLOT]; ++k) if (all ? part[k] < PH_SUMS : part[k] == p)
        {
            to[n] = k;
            n = n + 1;
        }
        if (all) begin[PH_SUMS + t - (PH_SIDE_BY_SIDE ? PH_SUMS : 0)] = n;
    }
    sync();
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* y = M x, of discrete with the metric */
LFN void ph_mul_inertia(const int *m, const real *w, const real *x, real *y)
{
    const int *nnz = m + m[M_M_ROWNNZ], *adr = m + m[M_M_ROWADR], *col = m + m[M_M_COLIND];
    const int *below = m + m[M_BELOW_ADR], *row = m + m[M_BELOW_ROW], *entry = m + m[M_BELOW_ENTRY];
    const real *qM = PH_METRIC;
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
    const int *block = PH_BLOCK(ph_slot_block(s, k)), *dof = block + block[B_DOFS];
    const real *J = PH_AT(W_EFC_J) + ph_slot_J(s, k);
    int n = block[B_NDOF], row = ph_slot_row(s, k);
    real sum[PH_ROWS];
    for (int r = 0; r < dim; ++r) sum[r] = aref ? -PH_AT(W_EFC_AREF)[row + r] : splat(0);
    for (int c = 0; c < n; ++c)
        for (int r = 0; r < dim; ++r) sum[r] = fma(J[r * n + c], x[dof[2 * c]], sum[r]);
    for (int r = 0; r < dim; ++r) y[row + r] = sum[r];
}

/* The same for all active slots. */
LFN void ph_mul_rows(const int *m, const real *w, const int *s, const real *x, real *y, int aref){
#define PH_DO(rows) ph_mul_slot(m, w, s, k, rows, x, y, aref)
    each (i, ph_nactive(s)){PH_DO_SLOT(i, PH_DO);
}
#undef PH_DO
}

/* Forces of the rows of a slot for the residuals in efc_jar, in the lanes `on`. */
LFN void ph_slot_force(const int *m, const ureal *f, const real *v, real *w, const int *s, int k, int dim, mask on)
{
    int row = ph_slot_row(s, k);
    real force[PH_ROWS], *to = PH_AT(W_EFC_FORCE) + row;
    ph_zero(force, dim);
    ph_block_force(m, f, v, PH_BLOCK(ph_slot_block(s, k)), dim, PH_AT(W_EFC_D) + row, PH_AT(W_EFC_JAR) + row, force);
    for (int r = 0; r < dim; ++r) to[r] = select(on, force[r], to[r]);
}

LFN void ph_forces(const int *m, const ureal *f, const real *v, real *w, const int *s, mask on)
{
#define PH_DO(rows) ph_slot_force(m, f, v, w, s, k, rows, on)
    each (i, ph_nactive(s)) {
        PH_DO_SLOT(i, PH_DO);
    }
#undef PH_DO
    sync();
}

/* out += J' efc_force of a slot */
LFN void ph_gather_slot(const int *m, const real *w, const int *s, int k, int dim, real *out)
{
    const int *block = PH_BLOCK(ph_slot_block(s, k)), *dof = block + block[B_DOFS];
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
    each (d, m[M_NV]) out[d] = splat(0);
    sync();
#define PH_DO(rows) ph_gather_slot(m, w, s, k, rows, out)
    rolled for (int i = 0; i < ph_nactive(s); ++i) { PH_DO_SLOT(i, PH_DO); }
#undef PH_DO
}
