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

LFN int ph_slot_part(ph_world w, int k)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k));
    int n = (w.ints[S_SLOTS + 4 * k + 3] - nblock(w)) % PH_MOST_CONTACTS; /* of a contact, in its pair */
    return block[B_TYPE] == PH_GEOMS ? (block[B_PART] + 3 * n) % PH_SUMS : block[B_PART];
}

/*
 * The slots that hold in one of the lanes `on`: in all others those lanes have zeros only. Where sums are made side by
 * side, they are listed by part, too.
 */
LFN void ph_list_slots(ph_world w, mask on)
{
    int *part = w.ints + ph_parts(w), *begin = w.ints + S_PARTS;
    each (k, w.ints[S_NSLOT])
        part[k] = any(m_andnot(on, eq(efc_D(w)[ph_slot_row(w, k)], splat(0)))) ? ph_slot_part(w, k) : PH_SUMS;
    sync();
    each (t, PH_SIDE_BY_SIDE ? PH_SUMS + 1 : 1) {
        int all = !PH_SIDE_BY_SIDE || t == PH_SUMS, p = all ? PH_SUMS : t, n = 0;
        int *to = w.ints + (all ? ph_active(w) : ph_by_part(w));
        rolled
        for (int k = 0; k < w.ints[S_NSLOT] && !all; ++k) n = n + (part[k] < p);
        if (!all) begin[t] = n;
        rolled
        for (int k = 0; k < w.ints[S_NSLOT]; ++k)
            if (all ? part[k] < PH_SUMS : part[k] == p) {
                to[n] = k;
                n = n + 1;
            }
        if (all) begin[PH_SUMS + t - (PH_SIDE_BY_SIDE ? PH_SUMS : 0)] = n;
    }
    sync();
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* Element i of M x, of discrete with the metric. */
LFN real ph_inertia_row(ph_world w, int i, const real *x)
{
    const int *nnz = M_rownnz(w), *adr = M_rowadr(w), *col = M_colind(w);
    const int *below = below_adr(w), *row = below_row(w), *entry = below_entry(w);
    const real *qM = PH_METRIC;
    real sum = splat(0);
    rolled
    for (int e = adr[i]; e < adr[i] + nnz[i]; ++e) sum = fma(qM[e], x[col[e]], sum);
    rolled
    for (int k = below[i + 1] - 1; k >= below[i]; --k) sum = fma(qM[entry[k]], x[row[k]], sum);
    return sum;
}

/* y = M x */
LFN void ph_mul_inertia(ph_world w, const real *x, real *y)
{
    each (i, nv(w)) y[i] = ph_inertia_row(w, i, x);
}

/* The rows of a slot: y = J x, and y -= aref if `aref` is 1. */
LFN void ph_mul_slot(ph_world w, int k, int dim, const real *x, real *y, int aref)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k)), *dof = block + block[B_DOFS];
    const real *J = efc_J(w) + ph_slot_J(w, k);
    int n = block[B_NDOF], row = ph_slot_row(w, k);
    real sum[PH_ROWS];
    for (int r = 0; r < dim; ++r) sum[r] = aref ? -efc_aref(w)[row + r] : splat(0);
    for (int c = 0; c < n; ++c)
        for (int r = 0; r < dim; ++r) sum[r] = fma(J[r * n + c], x[dof[2 * c]], sum[r]);
    for (int r = 0; r < dim; ++r) y[row + r] = sum[r];
}

/* The same for all active slots. */
LFN void ph_mul_rows(ph_world w, const real *x, real *y, int aref){
#define PH_DO(rows) ph_mul_slot(w, k, rows, x, y, aref)
    each (i, ph_nactive(w)){PH_DO_SLOT(i, PH_DO);
}
#undef PH_DO
}

/* Forces of the rows of a slot for the residuals in efc_jar, in the lanes `on`. */
LFN void ph_slot_force(ph_world w, int k, int dim, mask on)
{
    int row = ph_slot_row(w, k);
    real force[PH_ROWS], *to = efc_force(w) + row;
    ph_zero(force, dim);
    ph_block_force(w, PH_BLOCK(ph_slot_block(w, k)), dim, efc_D(w) + row, efc_jar(w) + row, force);
    for (int r = 0; r < dim; ++r) to[r] = select(on, force[r], to[r]);
}

LFN void ph_forces(ph_world w, mask on)
{
#define PH_DO(rows) ph_slot_force(w, k, rows, on)
    each (i, ph_nactive(w)) {
        PH_DO_SLOT(i, PH_DO);
    }
#undef PH_DO
    sync();
}

/* out += J' efc_force of a slot */
LFN void ph_gather_slot(ph_world w, int k, int dim, real *out)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k)), *dof = block + block[B_DOFS];
    const real *J = efc_J(w) + ph_slot_J(w, k), *force = efc_force(w) + ph_slot_row(w, k);
    int n = block[B_NDOF];
    each (c, n) {
        real sum = out[dof[2 * c]];
        for (int r = 0; r < dim; ++r) sum = fma(J[r * n + c], force[r], sum);
        out[dof[2 * c]] = sum;
    }
    sync();
}

/* out = J' efc_force */
LFN void ph_gather_rows(ph_world w, real *out)
{
    each (d, nv(w)) out[d] = splat(0);
    sync();
#define PH_DO(rows) ph_gather_slot(w, k, rows, out)
    rolled
    for (int i = 0; i < ph_nactive(w); ++i) {
        PH_DO_SLOT(i, PH_DO);
    }
#undef PH_DO
}

/*
 * M times the search direction of the lanes `light`, where qM has a thin pivot: that product would be mostly rounding,
 * and H times the direction is the gradient without its sign. efc_force is what the direction changes it by, then.
 */
STET_CALLED LFN void ph_light_product(ph_world w, mask light)
{
    const int *list = w.ints + ph_active(w);
    real *mv = Mv(w), *rows = qacc_step(w); /* the integrator comes later */
    each (i, ph_nactive(w)) {
        int row = ph_slot_row(w, list[i]), dim = PH_BLOCK(ph_slot_block(w, list[i]))[B_DIM];
        const real *C = efc_c(w) + blockdim(w) * row, *jv = efc_jv(w) + row;
        real *force = efc_force(w) + row;
        rolled
        for (int r = 0; r < dim; ++r) {
            real sum = splat(0);
            rolled
            for (int q = 0; q < dim; ++q) sum = fma(-C[r * dim + q], jv[q], sum);
            force[r] = select(light, sum, force[r]);
        }
    }
    sync();
    ph_gather_rows(w, rows);
    each (d, nv(w)) mv[d] = select(light, rows[d] - solver_grad(w)[d], mv[d]);
    sync();
}
