/*
 * Gradients of contacts: of their rows by the velocities of both bodies, and by where the contact is; before them what
 * the rows of any block give to what they are made of. Part of the kernels that include it, before rows.k.h.
 *
 * A row's force f is a function of x = J qacc - aref and D. The bar of J z is -f, that of x is C z_row, with
 * C = -df/dx; x has J qacc, B J qvel, what J changes by in time, and the spring K imp (pos - margin).
 */

/* The derivative of ph_impedance by the distance. */
LFN real ph_impedance_slope(ph_world w, const int *block, real dist)
{
    real low = ph_block_par(w, block, P_SOLIMP), high = ph_block_par(w, block, P_SOLIMP + 1);
    real width = ph_block_par(w, block, P_SOLIMP + 2), mid = ph_block_par(w, block, P_SOLIMP + 3);
    real p = ph_block_par(w, block, P_SOLIMP + 4), one = splat(1), zero = splat(0);
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

/*
 * Those of slot k, whose efc_jar is J qacc - aref, whose efc_jv is J z, and whose efc_aref is what its distance has of
 * its own (ph_clear_distances). In lanes without it all are 0.
 */
LFN void ph_pull_slot(ph_world w, int k, int dim, ph_row_bars *out)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k));
    int row = ph_slot_row(w, k), kind = block[B_KIND], touches = kind >= PH_CONTACT;
    const real *x = efc_jar(w) + row, *z = efc_jv(w) + row, *D = efc_D(w) + row;
    const real *pos = efc_pos(w) + row, *C = efc_c(w) + blockdim(w) * row;
    real force[PH_ROWS], power = splat(0), by_imp = splat(0), all2 = splat(0), zero = splat(0), one = splat(1);
    mask on = m_not(eq(D[0], zero));
    ph_zero(force, PH_ROWS);
    ph_block_force(w, block, dim, D, x, force);
    real margin = ph_block_par(w, block, P_MARGIN), dist = pos[0] - margin;
    for (int r = 0; r < dim; ++r) all2 = fma(pos[r], pos[r], all2);
    if (dim > 1 && !touches) dist = sqrt(all2);
    real K = ph_block_par(w, block, P_K), B = ph_block_par(w, block, P_B);
    real imp = ph_impedance(w, block, dist);
    real least = touches ? ph_block_par(w, block, P_LEAST_R) : splat(PHYSICS_MINVAL);
    mask stuck = m_none();
    if (kind == PH_FRICTION) stuck = ge(rabs(x[0]), ph_reach(w, block, D[0]));
    for (int r = 0; r < dim; ++r) {
        int friction = r > 0 && kind == PH_ELLIPTIC;
        real bar = zero, diag = ph_block_par(w, block, r < 3 || touches ? P_DIAG : P_DIAG + 1);
        for (int q = 0; q < dim; ++q) bar = fma(C[r * dim + q], z[q], bar);
        mask least_R = ge(least, (one - imp) * diag / imp);
        power = power + select(m_or(stuck, least_R), zero, z[r] * force[r]);
        out->z[r] = select(on, -force[r], zero);
        out->acc[r] = select(on, bar, zero);
        out->speed[r] = select(on, (friction ? ph_block_par(w, block, P_B_FRICTION) : B) * bar, zero);
        int springs = !touches || r == 0;
        if (springs) by_imp = fma(K * (pos[r] - margin), bar, by_imp);
        out->pos[r] = springs ? select(on, K * imp * bar, zero) : zero;
    }
    by_imp = by_imp - power / (imp * (one - imp));
    real by_dist = select(on, by_imp * ph_impedance_slope(w, block, dist), zero);
    if (dim > 1 && !touches) {
        mask still = le(dist, splat(PHYSICS_MINVAL));
        real scale = select(still, zero, by_dist / select(still, one, dist));
        for (int r = 0; r < dim; ++r) out->pos[r] = fma(scale, pos[r], out->pos[r]);
    } else {
        out->pos[0] = out->pos[0] + by_dist;
    }
    out->pos[0] = out->pos[0] + select(on, efc_aref(w)[row], zero);
}

/* ---- contacts ---------------------------------------------------------------------------------------------------- */

/*
 * What the rows of a contact give to the fields of one of its bodies (the second has them with sign 1), to its place
 * and to its frame.
 */
LFN void ph_pull_contact_rows(ph_world w, int dim, int body, ureal sign, const contact *con, const real *frame,
                              const ph_row_bars *bars, contact_grad *grad)
{
    for (int c = 0; c < 3; ++c) {
        const real *by = c == 0 ? bars->z : c == 1 ? bars->acc : bars->speed;
        const real *field = c == 0 ? PH_BODIES(GB_Z) : c == 1 ? PH_BODIES(GB_ACC) : cvel(w);
        int bar = c == 0 ? GB_FORCE : c == 1 ? GB_PUSH : GB_SPEED;
        real turn[3], push[3], velocity[3];
        ph_zero(turn, 3);
        ph_zero(push, 3);
        ph_at_point(w, body, con->pos, field, velocity);
        for (int r = 0; r < dim; ++r) {
            real share = splat(sign) * by[r];
            if (r < 3)
                ph_add_scaled(push, frame + 3 * r, share, 3);
            else
                ph_add_scaled(turn, frame + 3 * (r - 3), share, 3);
            ph_add_scaled(grad->frame + 3 * (r % 3), r < 3 ? velocity : field + 6 * body, share, 3);
        }
        ph_pull_point(w, body, con->pos, turn, push, field, bar, grad->pos);
    }
}

/* The gradients of one contact, which has slot k, from the bars of its rows; bars of fields are added. */
LFN void ph_pull_contact(ph_world w, int k, const contact *con, const real *hint, contact_grad *grad)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k)), *of = geom_bodyid(w);
    int dim = block[B_DIM];
    real frame[9];
    ph_row_bars bars;
    ph_pull_slot(w, k, dim, &bars);
    contact_frame(con->normal, hint, frame);
    ph_zero(grad->pos, 3);
    ph_zero(grad->frame, 9);
    grad->dist = bars.pos[0];
    ph_pull_contact_rows(w, dim, of[block[B_OBJ1]], -1, con, frame, &bars, grad);
    ph_pull_contact_rows(w, dim, of[block[B_OBJ2]], 1, con, frame, &bars, grad);
}

/* The contacts `bits` of near pair p in the lanes of a group, n of them; all numbers of others are those of none. */
LFN int ph_pulled_contacts(ph_world w, const int *near, mask group, contact *con, real *hint)
{
    const int *pair = PH_PAIR(near[NEAR_PAIR]);
    int at = near[NEAR_KEPT], n = pair[B_SIDE];
    contact_clear(con, n + (n == MANIFOLD_CONTACTS));
    if (at >= 0)
        ph_kept_contacts(pair, near[NEAR_BITS], PH_KEPT(w) + at, con, hint);
    else
        n = ph_collide(w, pair, group, con, hint);
    for (int k = 0; k < n + (n == MANIFOLD_CONTACTS); ++k) {
        con[k].hit = m_and(con[k].hit, group);
        for (int i = 0; i < 3; ++i) con[k].pos[i] = select(con[k].hit, con[k].pos[i], splat(0));
        for (int i = 0; i < 3; ++i) con[k].normal[i] = select(con[k].hit, con[k].normal[i], splat((ureal)(i == 0)));
        con[k].dist = select(con[k].hit, con[k].dist, splat(0));
    }
    return n;
}

STET_CALLED LFN void ph_pull_pair(ph_world w, int p, mask group)
{
    const int *near = w.ints + ph_near_pairs(w) + NEAR_SIZE * p, *pair = PH_PAIR(near[NEAR_PAIR]);
    const int *type = geom_type(w), *shape = geom_shape(w), *of = geom_bodyid(w);
    int bits = near[NEAR_BITS], slot = near[NEAR_SLOT], one = pair[B_OBJ1], two = pair[B_OBJ2];
    contact con[PH_MOST_CONTACTS];
    contact_grad grad[PH_MOST_CONTACTS];
    contacts_pair both;
    geom a, b;
    real hint[3];
    int n = ph_pulled_contacts(w, near, group, con, hint);
    for (int k = 0; k < n; ++k) {
        if (bits >> k & 1) {
            ph_pull_contact(w, slot, con + k, hint, grad + k);
            slot = slot + 1;
        } else {
            con[k].hit = m_none(); /* it had no room */
        }
    }
    ph_geom(w, one, &a);
    ph_geom(w, two, &b);
    convex_of_geom(&a, type[one], shape[one], &both.a);
    convex_of_geom(&b, type[two], shape[two], &both.b);
    geom_grad_clear(&both.a_grad);
    geom_grad_clear(&both.b_grad);
    contacts_pull(&both, PH_SHAPES(w), w.reals + PH_NUMBER(w, M_SHAPE_PRM), con, n, grad, group);
    ph_pull_place(w, of[one], a.pos, both.a_grad.torque, both.a_grad.force);
    ph_pull_place(w, of[two], b.pos, both.b_grad.torque, both.b_grad.force);
}

LFN void ph_pull_contacts(ph_world w, mask group)
{
    each (one, 1) {
        for (int p = one; PH_HAS_PAIRS && p < w.ints[S_NNEAR]; ++p)
            if ((w.ints + ph_near_pairs(w))[NEAR_SIZE * p + NEAR_BITS]) ph_pull_pair(w, p, group);
    }
    sync();
}
