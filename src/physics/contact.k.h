/*
 * Stage contact: which pairs of geoms touch, and the rows of their contacts. Part of the kernels that include it, after
 * constraint.k.h.
 *
 * A pair has a block of constraint.k.h; B_SIDE is how many contacts it may have, B_OBJ1 and B_OBJ2 are its geoms, in
 * the order of their types. The narrow phase runs twice: to find which contacts hold in some lane of a group, and, once
 * those have slots, to write their rows.
 */

#if HFIELD_CONTACTS > PH_MOST_CONTACTS
#error "a height field has more contacts than an int has bits"
#endif

/* The flag of contact k of a pair, if it is on (1). */
LFN int ph_contact_bit(int on, int k) { return (int)((u32)on << k); }

LFN void ph_geom(const int *m, const ureal *f, const real *v, const real *w, int g, geom *out)
{
    ph_copy(out->pos, w + m[W_GEOM_XPOS] + 3 * g, 3);
    ph_copy(out->mat, w + m[W_GEOM_XMAT] + 9 * g, 9);
    pars(m, f, v, M_GEOM_SIZE, 3 * g, 3, out->size);
}

/* Where the bounding spheres (a plane has none) are within the margin. */
LFN mask ph_near(const int *m, const ureal *f, const real *v, const real *w, const int *pair)
{
    int a = pair[B_OBJ1], b = pair[B_OBJ2];
    real margin = ph_block_par(m, f, v, pair, P_MARGIN), reach = par(m, f, v, M_GEOM_RBOUND, b);
    const real *p = w + m[W_GEOM_XPOS] + 3 * a, *q = w + m[W_GEOM_XPOS] + 3 * b;
    if ((m + m[M_GEOM_TYPE])[a] == 0) return plane_sphere_near(p, w + m[W_GEOM_XMAT] + 9 * a, q, reach, margin);
    return spheres_near(p, par(m, f, v, M_GEOM_RBOUND, a), q, reach, margin);
}

/* Pairs without a function of their own: one contact, or those of aligned faces and edges. */
STET_CALLED LFN void ph_collide_convex(const int *m, const ureal *f, const int *pair, const geom *a, const geom *b,
                                       real margin, mask near, contact *con)
{
    const int *tables = m + m[M_SHAPES], *type = m + m[M_GEOM_TYPE], *shape = m + m[M_GEOM_SHAPE];
    const ureal *reals = f + m[M_SHAPE_PRM];
    ureal tolerance = f[m[M_CCD_TOLERANCE]];
    int one = pair[B_OBJ1], two = pair[B_OBJ2];
    convex c, d;
    convex_of_geom(b, type[two], shape[two], &d);
    if (type[one] == PH_HFIELD) {
        const int *field = tables + shape[one];
        const ureal *size = reals + field[2];
        collide_hfield(a, size + 4, size, field[0], field[1], &d, tables, reals, margin, tolerance, m[M_CCD_ITERATIONS],
                       near, con);
        return;
    }
    convex_of_geom(a, type[one], shape[one], &c);
    collide_convex(&c, &d, tables, reals, margin, tolerance, m[M_CCD_ITERATIONS], near, con);
    if (pair[B_SIDE] == MANIFOLD_CONTACTS && !(m[M_FLAGS] & PH_NO_MULTICCD) && any(con->hit))
        collide_manifold(&c, &d, tables, reals, margin, con);
}

/* A plane (PH_PLANE) and a geom of another type. */
LFN void ph_collide_plane(const int *m, const ureal *f, const int *pair, const geom *a, const geom *b, real margin,
                          contact *con, real *hint)
{
    int second = (m + m[M_GEOM_TYPE])[pair[B_OBJ2]];
    if (second == PH_SPHERE) collide_plane_sphere(a, b, margin, con);
    if (second == PH_CAPSULE) {
        collide_plane_capsule(a, b, margin, con);
        m3_column(b->mat, 2, hint);
    }
    if (second == PH_ELLIPSOID) collide_plane_ellipsoid(a, b, margin, con);
    if (second == PH_CYLINDER) collide_plane_cylinder(a, b, margin, con);
    if (second == PH_BOX) collide_plane_box(a, b, margin, con);
    if (second == PH_MESH) {
        const int *tables = m + m[M_SHAPES];
        const int *hull = tables + (m + m[M_GEOM_SHAPE])[pair[B_OBJ2]];
        collide_plane_mesh(a, b, hull, tables, f + m[M_SHAPE_PRM], margin, con);
    }
}

/* The pair[B_SIDE] contacts of a pair; the first tangent of their frames follows `hint`, if that is not 0. */
STET_CALLED LFN void ph_collide(const int *m, const ureal *f, const real *v, const real *w, const int *pair,
                                contact *con, real *hint)
{
    int first = (m + m[M_GEOM_TYPE])[pair[B_OBJ1]], second = (m + m[M_GEOM_TYPE])[pair[B_OBJ2]];
    real margin = ph_block_par(m, f, v, pair, P_MARGIN);
    geom a, b;
    ph_geom(m, f, v, w, pair[B_OBJ1], &a);
    ph_geom(m, f, v, w, pair[B_OBJ2], &b);
    contact_clear(con, pair[B_SIDE]);
    ph_zero(hint, 3);
    if (first == PH_PLANE) {
        ph_collide_plane(m, f, pair, &a, &b, margin, con, hint);
    } else if (first == PH_SPHERE && second == PH_SPHERE) {
        collide_sphere_sphere(&a, &b, margin, con);
    } else if (first == PH_SPHERE && second == PH_CAPSULE) {
        collide_sphere_capsule(&a, &b, margin, con);
    } else if (first == PH_SPHERE && second == PH_CYLINDER) {
        collide_sphere_cylinder(&a, &b, margin, con);
    } else if (first == PH_SPHERE && second == PH_BOX) {
        collide_sphere_box(&a, &b, margin, con);
    } else if (first == PH_CAPSULE && second == PH_CAPSULE) {
        collide_capsule_capsule(&a, &b, margin, con);
    } else if (first == PH_CAPSULE && second == PH_BOX) {
        collide_capsule_box(&a, &b, margin, con);
    } else if (first == PH_BOX && second == PH_BOX) {
        collide_box_box(&a, &b, margin, con);
    } else {
        ph_collide_convex(m, f, pair, &a, &b, margin, ph_near(m, f, v, w, pair), con);
    }
    for (int k = 0; k < pair[B_SIDE]; ++k) con[k].hit = m_and(con[k].hit, lt(con[k].dist, margin));
}

/* The rows of one contact: the relative velocity of the second body along the frame's axes, then about them. */
STET_CALLED LFN void ph_contact_rows(const int *m, const real *w, const int *block, const contact *c, const real *hint,
                                     real *pos, real *J)
{
    int n = block[B_NDOF], dim = block[B_DIM];
    const int *dof = m + block[B_DOFS];
    real frame[9], lin[3];
    contact_frame(c->normal, hint, frame);
    ph_zero(pos, dim);
    pos[0] = c->dist;
    for (int k = 0; k < n; ++k) {
        const real *ang = w + m[W_CDOF] + 6 * dof[2 * k];
        real sign = splat((ureal)(dof[2 * k + 1] == 2 ? 1 : -1));
        ph_point_velocity(m, w, dof[2 * k], c->pos, lin);
        for (int r = 0; r < dim; ++r) J[r * n + k] = sign * v3_dot(frame + 3 * (r % 3), r < 3 ? lin : ang);
    }
}

/* Writes the rows of those contacts of pair p that have slots; a contact holds in the lanes of the group that hit. */
LFN void ph_place_contacts(const int *m, const ureal *f, const real *v, real *w, const int *s, const int *pair,
                           int bits, int slot, const contact *con, const real *hint, mask group)
{
    for (int k = 0; k < pair[B_SIDE]; ++k) {
        if (bits >> k & 1) {
            int row = ph_slot_row(s, slot);
            real *J = w + m[W_EFC_J] + ph_slot_J(s, slot);
            mask on = m_and(con[k].hit, group);
            ph_contact_rows(m, w, pair, con + k, hint, w + m[W_EFC_POS] + row, J);
            for (int i = 0; i < pair[B_DIM] * pair[B_NDOF]; ++i) J[i] = select(on, J[i], splat(0));
            ph_block_reference(m, f, v, w, pair, row, J, on);
            slot = slot + 1;
        }
    }
}

/* Which of the first n contacts of ph_keep_deepest is the shallowest, of equal ones the last; a group of one lane. */
LFN int ph_shallowest(const int *m, const real *w, const int *s, int n, mask group)
{
    const real *dist = w + m[W_EFC_POS];
    const int *kept = s + S_SLOTS;
    int worst = 0;
    for (int i = 1; i < n; ++i) {
        int later = kept[4 * i] > kept[4 * worst];
        mask higher = later ? ge(dist[i], dist[worst]) : gt(dist[i], dist[worst]);
        if (any(m_and(group, higher))) worst = i;
    }
    return worst;
}

/*
 * Takes flags of contacts of a group of one lane away until those are left that are deepest, of equal ones the first,
 * and that there are slots for; in each (one, 1). The memory of slots and rows is free then: slot i has a contact's
 * number, row i its distance.
 */
LFN void ph_keep_deepest(const int *m, const ureal *f, const real *v, real *w, int *s, mask group)
{
    int *kept = s + S_SLOTS, *pairs = kept + 4 * m[M_NSLOT] + m[M_NBLOCK];
    int n = 0, room = m[M_NSLOT] - m[M_NBLOCK];
    real *dist = w + m[W_EFC_POS];
    for (int p = 0; p < m[M_NPAIR]; ++p) {
        const int *pair = m + m[M_PAIR] + B_SIZE * p;
        contact con[PH_MOST_CONTACTS];
        real hint[3];
        int bits = pairs[2 * p];
        if (!bits) continue;
        ph_collide(m, f, v, w, pair, con, hint);
        pairs[2 * p] = 0;
        for (int k = 0; k < pair[B_SIDE]; ++k) {
            int at = n;
            if (!(bits >> k & 1)) continue;
            if (n == room) {
                at = ph_shallowest(m, w, s, n, group);
                if (!any(m_and(group, lt(con[k].dist, dist[at])))) continue;
                int gone = kept[4 * at] / PH_MOST_CONTACTS;
                pairs[2 * gone] = pairs[2 * gone] & ~ph_contact_bit(1, kept[4 * at] % PH_MOST_CONTACTS);
            } else {
                n = n + 1;
            }
            kept[4 * at] = PH_MOST_CONTACTS * p + k;
            dist[at] = con[k].dist;
            pairs[2 * p] = pairs[2 * p] | ph_contact_bit(1, k);
        }
    }
}

/*
 * Slots for all blocks and contacts that the flags of s name, in each (one, 1). S_FULL: some have no room; `drop` takes
 * their flags away.
 */
LFN void ph_number_slots(const int *m, int *s, int drop)
{
    int *held = s + S_SLOTS + 4 * m[M_NSLOT], *pairs = held + m[M_NBLOCK];
    s[S_NSLOT] = 0;
    s[S_NROW] = 0;
    s[S_NJ] = 0;
    s[S_FULL] = 0;
    for (int b = 0; b < m[M_NBLOCK]; ++b)
        if (held[b]) ph_append_slot(m, s, m[M_BLOCK] + B_SIZE * b, b);
    for (int p = 0; p < m[M_NPAIR]; ++p) {
        int at = m[M_PAIR] + B_SIZE * p, bits = pairs[2 * p];
        const int *pair = m + at;
        if (!bits) continue;
        pairs[2 * p + 1] = s[S_NSLOT];
        for (int k = 0; k < pair[B_SIDE]; ++k) {
            int size = pair[B_DIM] * pair[B_NDOF];
            if (!(bits >> k & 1)) continue;
            if (s[S_NSLOT] < m[M_NSLOT] && s[S_NROW] + pair[B_DIM] <= m[M_NROW] && s[S_NJ] + size <= m[M_NEFCJ]) {
                ph_append_slot(m, s, at, m[M_NBLOCK] + PH_MOST_CONTACTS * p + k);
            } else {
                s[S_FULL] = 1;
                if (drop) pairs[2 * p] = pairs[2 * p] & ~ph_contact_bit(1, k);
            }
        }
    }
}

/* The same; S_FULL: not all have room. If the group is one lane (`alone`), the deepest contacts get slots. */
LFN void ph_assign_slots(const int *m, const ureal *f, const real *v, real *w, int *s, mask group, int alone)
{
    ph_number_slots(m, s, !alone);
    if (!s[S_FULL] || !alone) return;
    ph_keep_deepest(m, f, v, w, s, group);
    ph_number_slots(m, s, 1);
    s[S_FULL] = 1;
}

/* Slots and rows of the lanes of a group; if that is not one lane (`alone`), S_FULL says that there are none. */
STET_CALLED LFN void ph_constraint(const int *m, const ureal *f, const real *v, real *w, int *s, mask group, int alone)
{
    int *held = s + S_SLOTS + 4 * m[M_NSLOT], *pairs = held + m[M_NBLOCK];
    each (b, m[M_NBLOCK]) held[b] = any(m_and(group, ph_block_holds(m, f, v, w, m + m[M_BLOCK] + B_SIZE * b)));
    for (int pass = 0; pass < 2; ++pass) {
        each (p, m[M_NPAIR]) {
            const int *pair = m + m[M_PAIR] + B_SIZE * p;
            int bits = 0, wanted = pass ? pairs[2 * p] : any(m_and(group, ph_near(m, f, v, w, pair)));
            if (wanted) {
                contact con[PH_MOST_CONTACTS];
                real hint[3];
                ph_collide(m, f, v, w, pair, con, hint);
                if (pass) {
                    ph_place_contacts(m, f, v, w, s, pair, wanted, pairs[2 * p + 1], con, hint, group);
                } else {
                    for (int k = 0; k < pair[B_SIDE]; ++k)
                        bits = bits | ph_contact_bit(any(m_and(group, con[k].hit)), k);
                }
            }
            if (!pass) pairs[2 * p] = bits;
        }
        sync();
        if (pass == 0) {
            each (one, 1) ph_assign_slots(m, f, v, w, s + one, group, alone);
            sync();
            if (s[S_FULL] && !alone) return;
        }
    }
    ph_static_rows(m, f, v, w, s, group);
}
