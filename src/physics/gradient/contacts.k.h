/*
 * Gradients of contacts: of their rows by the velocities of both bodies, and by where the contact is. Part of the
 * kernels that include it, before rows.k.h.
 */

/*
 * What the rows of a contact give to the fields of one of its bodies (the second has them with sign 1), to its place
 * and to its frame.
 */
LFN void ph_pull_contact_rows(const int *m, real *w, int dim, int body, ureal sign, const contact *con,
                              const real *frame, const ph_row_bars *bars, contact_grad *grad)
{
    for (int c = 0; c < 3; ++c) {
        const real *by = c == 0 ? bars->z : c == 1 ? bars->acc : bars->speed;
        const real *field = c == 0 ? PH_BODIES(GB_Z) : c == 1 ? PH_BODIES(GB_ACC) : PH_AT(W_CVEL);
        int bar = c == 0 ? GB_FORCE : c == 1 ? GB_PUSH : GB_SPEED;
        real turn[3], push[3], velocity[3];
        ph_zero(turn, 3);
        ph_zero(push, 3);
        ph_at_point(m, w, body, con->pos, field, velocity);
        for (int r = 0; r < dim; ++r) {
            real share = splat(sign) * by[r];
            if (r < 3)
                ph_add_scaled(push, frame + 3 * r, share, 3);
            else
                ph_add_scaled(turn, frame + 3 * (r - 3), share, 3);
            ph_add_scaled(grad->frame + 3 * (r % 3), r < 3 ? velocity : field + 6 * body, share, 3);
        }
        ph_pull_point(m, w, body, con->pos, turn, push, field, bar, grad->pos);
    }
}

/* The gradients of one contact, which has slot k, from the bars of its rows; bars of fields are added. */
LFN void ph_pull_contact(const int *m, const ureal *f, const real *v, real *w, const int *s, int k, const contact *con,
                         const real *hint, contact_grad *grad)
{
    const int *block = PH_BLOCK(ph_slot_block(s, k)), *of = m + m[M_GEOM_BODYID];
    int dim = block[B_DIM];
    real frame[9];
    ph_row_bars bars;
    ph_pull_slot(m, f, v, w, s, k, dim, &bars);
    contact_frame(con->normal, hint, frame);
    ph_zero(grad->pos, 3);
    ph_zero(grad->frame, 9);
    grad->dist = bars.pos[0];
    ph_pull_contact_rows(m, w, dim, of[block[B_OBJ1]], -1, con, frame, &bars, grad);
    ph_pull_contact_rows(m, w, dim, of[block[B_OBJ2]], 1, con, frame, &bars, grad);
}

/* The contacts of near pair p, as ph_see_contacts finds them again. */
STET_CALLED LFN void ph_pull_pair(const int *m, const ureal *f, const real *v, real *w, const int *s, int p, mask group)
{
    const int *near = s + ph_near_pairs(m) + NEAR_SIZE * p, *pair = PH_PAIR(near[NEAR_PAIR]);
    const int *type = m + m[M_GEOM_TYPE], *shape = m + m[M_GEOM_SHAPE], *of = m + m[M_GEOM_BODYID];
    int bits = near[NEAR_BITS], slot = near[NEAR_SLOT], one = pair[B_OBJ1], two = pair[B_OBJ2];
    contact con[PH_MOST_CONTACTS];
    contact_grad grad[PH_MOST_CONTACTS];
    contacts_pair both;
    geom a, b;
    real hint[3];
    int n = ph_collide(m, f, v, w, pair, group, con, hint);
    for (int k = 0; k < n; ++k) {
        con[k].hit = m_and(con[k].hit, group);
        for (int i = 0; i < 3; ++i) con[k].pos[i] = select(con[k].hit, con[k].pos[i], splat(0));
        for (int i = 0; i < 3; ++i) con[k].normal[i] = select(con[k].hit, con[k].normal[i], splat((ureal)(i == 0)));
        con[k].dist = select(con[k].hit, con[k].dist, splat(0));
        if (bits >> k & 1) {
            ph_pull_contact(m, f, v, w, s, slot, con + k, hint, grad + k);
            slot = slot + 1;
        } else {
            con[k].hit = m_none(); /* it had no room */
        }
    }
    ph_geom(m, f, v, w, one, &a);
    ph_geom(m, f, v, w, two, &b);
    convex_of_geom(&a, type[one], shape[one], &both.a);
    convex_of_geom(&b, type[two], shape[two], &both.b);
    geom_grad_clear(&both.a_grad);
    geom_grad_clear(&both.b_grad);
    both.tolerance = f[m[M_CCD_TOLERANCE]];
    both.iterations = m[M_CCD_ITERATIONS];
    contacts_pull(&both, PH_SHAPES(m, f), f + m[M_SHAPE_PRM], con, n, grad, group);
    ph_pull_place(m, w, of[one], a.pos, both.a_grad.torque, both.a_grad.force);
    ph_pull_place(m, w, of[two], b.pos, both.b_grad.torque, both.b_grad.force);
}

LFN void ph_pull_contacts(const int *m, const ureal *f, const real *v, real *w, const int *s, mask group)
{
    each (one, 1) {
        for (int p = one; PH_HAS_PAIRS && p < s[S_NNEAR]; ++p)
            if ((s + ph_near_pairs(m))[NEAR_SIZE * p + NEAR_BITS]) ph_pull_pair(m, f, v, w, s, p, group);
    }
    sync();
}
