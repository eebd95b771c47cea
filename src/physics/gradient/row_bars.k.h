/*
 * What the rows of a block of constraints give to what they are made of. Part of the kernels that include it, after
 * actuate.k.h.
 *
 * A row's force f is a function of x = J qacc - aref and D. The bar of J z is -f, that of x is C z_row, with
 * C = -df/dx; x has J qacc, B J qvel, what J changes by in time, and the spring K imp (pos - margin).
 */

/* The derivative of ph_impedance by the distance. */
LFN real ph_impedance_slope(const int *m, const ureal *f, const real *v, const int *block, real dist)
{
    real low = ph_block_par(m, f, v, block, P_SOLIMP), high = ph_block_par(m, f, v, block, P_SOLIMP + 1);
    real width = ph_block_par(m, f, v, block, P_SOLIMP + 2), mid = ph_block_par(m, f, v, block, P_SOLIMP + 3);
    real p = ph_block_par(m, f, v, block, P_SOLIMP + 4), one = splat(1), zero = splat(0);
    mask flat = m_or(eq(low, high), le(width, splat(PHYSICS_MINVAL)));
    real over = select(flat, one, width), x = rabs(dist) / over;
    mask near = le(x, mid), full = m_or(flat, ge(x, one));
    real part = select(near, x / mid, (one - rmin(x, one)) / (one - mid));
    real slope = select(eq(p, one), one, select(eq(p, splat(2)), part * p, p * pow(part, p - one)));
    real way = select(gt(dist, zero), one, select(lt(dist, zero), -one, zero));
    return select(full, zero, slope * (high - low) / over * way);
}

/* Bars of what a block's rows are made of. */
typedef struct ph_row_bars {
    real z[PH_ROWS];     /* of J z */
    real acc[PH_ROWS];   /* of J qacc, and of what J changes by in time */
    real speed[PH_ROWS]; /* of J qvel */
    real pos[PH_ROWS];   /* of positions */
} ph_row_bars;

/* Those of slot k, whose efc_jar is J qacc - aref and whose efc_Jv is J z. In lanes without it all are 0. */
LFN void ph_pull_slot(const int *m, const ureal *f, const real *v, const real *w, const int *s, int k, int dim,
                      ph_row_bars *out)
{
    const int *block = PH_BLOCK(ph_slot_block(s, k));
    int row = ph_slot_row(s, k), kind = block[B_KIND], touches = kind >= PH_CONTACT;
    const real *x = PH_AT(W_EFC_JAR) + row, *z = PH_AT(W_EFC_JV) + row, *D = PH_AT(W_EFC_D) + row;
    const real *pos = PH_AT(W_EFC_POS) + row, *C = PH_AT(W_EFC_C) + m[M_BLOCKDIM] * row;
    real force[PH_ROWS], power = splat(0), by_imp = splat(0), all2 = splat(0), zero = splat(0), one = splat(1);
    mask on = m_not(eq(D[0], zero));
    ph_zero(force, PH_ROWS);
    ph_block_force(m, f, v, block, dim, D, x, force);
    real margin = ph_block_par(m, f, v, block, P_MARGIN), dist = pos[0] - margin;
    for (int r = 0; r < dim; ++r) all2 = fma(pos[r], pos[r], all2);
    if (dim > 1 && !touches) dist = sqrt(all2);
    real K = ph_block_par(m, f, v, block, P_K), B = ph_block_par(m, f, v, block, P_B);
    real imp = ph_impedance(m, f, v, block, dist);
    real least = touches ? ph_block_par(m, f, v, block, P_LEAST_R) : splat(PHYSICS_MINVAL);
    mask stuck = m_none();
    if (kind == PH_FRICTION) stuck = ge(rabs(x[0]), ph_reach(m, f, v, block, D[0]));
    for (int r = 0; r < dim; ++r) {
        int friction = r > 0 && kind == PH_ELLIPTIC;
        real bar = zero, diag = ph_block_par(m, f, v, block, r < 3 || touches ? P_DIAG : P_DIAG + 1);
        for (int q = 0; q < dim; ++q) bar = fma(C[r * dim + q], z[q], bar);
        mask least_R = ge(least, (one - imp) * diag / imp);
        power = power + select(m_or(stuck, least_R), zero, z[r] * force[r]);
        out->z[r] = select(on, -force[r], zero);
        out->acc[r] = select(on, bar, zero);
        out->speed[r] = select(on, (friction ? ph_block_par(m, f, v, block, P_B_FRICTION) : B) * bar, zero);
        int springs = !touches || r == 0;
        if (springs) by_imp = fma(K * (pos[r] - margin), bar, by_imp);
        out->pos[r] = springs ? select(on, K * imp * bar, zero) : zero;
    }
    by_imp = by_imp - power / (imp * (one - imp));
    real by_dist = select(on, by_imp * ph_impedance_slope(m, f, v, block, dist), zero);
    if (dim > 1 && !touches) {
        mask still = le(dist, splat(PHYSICS_MINVAL));
        real scale = select(still, zero, by_dist / select(still, one, dist));
        for (int r = 0; r < dim; ++r) out->pos[r] = fma(scale, pos[r], out->pos[r]);
    } else {
        out->pos[0] = out->pos[0] + by_dist;
    }
}
