/*
 * Stage contact: which pairs of geoms touch, and the rows of their contacts. Part of the kernels that include it, after
 * near_pairs.k.h.
 *
 * A pair has a block of constraint.k.h; B_SIDE is how many contacts it may have, B_OBJ1 and B_OBJ2 are its geoms, in
 * the order of their types. First the narrow phase finds which contacts hold in some lane of a group; once those have
 * slots, their rows are written. In between contacts are kept (PH_KEPT): a pair's hint, and KEPT_SIZE reals a contact
 * (near_pairs.k.h). What has no room there is computed again.
 */

/* Where the next slot goes, and how many contacts are before it. */
#define NEXT_SLOT 0
#define NEXT_ROW 1
#define NEXT_J 2
#define NEXT_CONTACT 3
#define NEXT 4

/* Into how many shares the numbers of slots are cut, and how many threads make the rows of a contact. */
#if STET_GPU && STET_TEAM >= 16
#define PH_SLOT_SHARES PH_SHARES
#define PH_PARTS 4
#else
#define PH_SLOT_SHARES 1
#define PH_PARTS 1
#endif

#if HFIELD_CONTACTS > PH_MOST_CONTACTS
#error "a height field has more contacts than an int has bits"
#endif

LFN void ph_geom(ph_world w, int g, geom *out)
{
    ph_copy(out->pos, geom_xpos(w) + 3 * g, 3);
    ph_copy(out->mat, geom_xmat(w) + 9 * g, 9);
    pars(w, M_GEOM_SIZE, 3 * g, 3, out->size);
}

#define PH_PLANE_CONTACTS 4 /* of a plane with any geom, at most */

/* The table of ints M_SHAPES. */
#define PH_SHAPES(w) ((const int *)((w).reals + PH_NUMBER(w, M_SHAPES)))

/*
 * Pairs with a mesh or without a function of their own, whose records are at `first` and `second` of M_SHAPES: how many
 * contacts it has filled in.
 */
STET_CALLED LFN int ph_collide_shapes(ph_world w, const int *pair, int first, int second, const geom *a, const geom *b,
                                      real margin, mask near, contact *con)
{
    const int *tables = PH_SHAPES(w), *type = geom_type(w);
    const ureal *reals = w.reals + PH_NUMBER(w, M_SHAPE_PRM);
    convex_search search = {tables, reals, margin, splat(w.reals[PH_NUMBER(w, M_CCD_TOLERANCE)]), ccd_iterations(w)};
    int one = pair[B_OBJ1], two = pair[B_OBJ2];
    convex c, d;
    convex_of_geom(b, type[two], second, &d);
    if (PH_HAS_FIRST(PH_HFIELD) && type[one] == PH_HFIELD) {
        const int *field = tables + first;
        const ureal *size = reals + field[2];
        hfield h;
        hfield_of_size(size, field[0], field[1], &h);
        int n = collide_hfield(a, &h, size + 4, &d, search, near, con);
        return n;
    }
    convex_of_geom(a, type[one], first, &c);
    collide_convex(&c, &d, search, near, con);
    if (PH_PULLED) con[MANIFOLD_FIRST] = con[0];
    int n = pair[B_SIDE];
    if (n == MANIFOLD_CONTACTS && !(model_flags(w) & PH_NO_MULTICCD) && any(con->hit))
        collide_manifold(&c, &d, tables, reals, margin, con);
    else
        contact_clear(con + 1, n - 1);
    return n;
}

/* Where in M_SHAPES the record of geom g is, whose mesh, if it has one, is this. */
LFN int ph_shape_of(ph_world w, int g, int mesh)
{
    return meshed(w) && geom_type(w)[g] == PH_MESH ? mesh_shape(w)[mesh] : geom_shape(w)[g];
}

/* Contacts of a plane with a mesh whose record is at `shape` of M_SHAPES. */
LFN void ph_collide_plane_shape(ph_world w, int shape, const geom *a, const geom *b, real margin, contact *con)
{
    const int *tables = PH_SHAPES(w);
    const int *hull = tables + shape;
    collide_plane_mesh(a, b, hull, tables, w.reals + PH_NUMBER(w, M_SHAPE_PRM), margin, con);
}

/*
 * The contacts of a pair of whose geoms worlds have other meshes, and how many: lanes of the same meshes are looked at
 * together.
 */
STET_CALLED LFN int ph_collide_own(ph_world w, const int *pair, const geom *a, const geom *b, real margin, mask near,
                                   contact *con)
{
    int one = pair[B_OBJ1], two = pair[B_OBJ2], ones[STET_W], twos[STET_W], most = 0;
    lint first = to_int(geom_mesh(w, one)), second = to_int(geom_mesh(w, two));
    mask left = near;
    contact some[PH_MOST_CONTACTS];
    istore(ones, first);
    istore(twos, second);
    contact_clear(con, PH_PLANE_CONTACTS);
    rolled
    for (int l = 0; l < STET_W; ++l) {
        mask here = m_and(left, m_and(ieq(first, isplat(ones[l])), ieq(second, isplat(twos[l]))));
        if (!any(here)) continue;
        int n = PH_PLANE_CONTACTS, shape = ph_shape_of(w, two, twos[l]);
        if (geom_type(w)[one] == PH_PLANE) {
            ph_collide_plane_shape(w, shape, a, b, margin, some);
        } else {
            n = ph_collide_shapes(w, pair, ph_shape_of(w, one, ones[l]), shape, a, b, margin, here, some);
        }
        contact_clear(con + most, nmax(n - most, 0));
        for (int k = 0; k < n; ++k) contact_copy_if(here, some + k, con + k);
        most = nmax(most, n);
        left = m_andnot(left, here);
    }
    return most;
}

/* Pairs without a function of their own: how many contacts it has filled in. */
LFN int ph_collide_convex(ph_world w, const int *pair, const geom *a, const geom *b, real margin, mask near,
                          contact *con)
{
    const int *shape = geom_shape(w);
    int n;
    if (meshed(w)) {
        n = ph_collide_own(w, pair, a, b, margin, near, con);
    } else {
        n = ph_collide_shapes(w, pair, shape[pair[B_OBJ1]], shape[pair[B_OBJ2]], a, b, margin, near, con);
    }
    return n;
}

/* A plane (PH_PLANE) and a geom of another type. */
LFN void ph_collide_plane(ph_world w, const int *pair, const geom *a, const geom *b, real margin, mask near,
                          contact *con, real *hint)
{
    int second = geom_type(w)[pair[B_OBJ2]];
    if (PH_HAS_PAIR(PH_PLANE, PH_SPHERE) && second == PH_SPHERE) collide_plane_sphere(a, b, margin, con);
    if (PH_HAS_PAIR(PH_PLANE, PH_CAPSULE) && second == PH_CAPSULE) {
        collide_plane_capsule(a, b, margin, con);
        m3_column(b->mat, 2, hint);
    }
    if (PH_HAS_PAIR(PH_PLANE, PH_ELLIPSOID) && second == PH_ELLIPSOID) collide_plane_ellipsoid(a, b, margin, con);
    if (PH_HAS_PAIR(PH_PLANE, PH_CYLINDER) && second == PH_CYLINDER) collide_plane_cylinder(a, b, margin, con);
    if (PH_HAS_PAIR(PH_PLANE, PH_BOX) && second == PH_BOX) collide_plane_box(a, b, margin, con);
    if (PH_HAS_PAIR(PH_PLANE, PH_MESH) && second == PH_MESH) {
        if (meshed(w)) {
            ph_collide_own(w, pair, a, b, margin, near, con);
        } else {
            ph_collide_plane_shape(w, geom_shape(w)[pair[B_OBJ2]], a, b, margin, con);
        }
    }
}

/*
 * The contacts of a pair, and how many: no lane has more. The first tangent of their frames follows `hint`, if that is
 * not 0. Those of other lanes than `lanes` mean nothing: of these some are not even looked for.
 */
#define PH_TOUCH(one, two) (PH_HAS_PAIR(one, two) && first == (one) && second == (two))
STET_CALLED LFN int ph_collide(ph_world w, const int *pair, mask lanes, contact *con, real *hint)
{
    int first = geom_type(w)[pair[B_OBJ1]], second = geom_type(w)[pair[B_OBJ2]];
    real margin = ph_contact_margin(w, pair);
    mask near = ph_near(w, pair, lanes);
    geom a, b;
    ph_geom(w, pair[B_OBJ1], &a);
    ph_geom(w, pair[B_OBJ2], &b);
    int n = pair[B_SIDE];
    ph_zero(hint, 3);
    if (PH_PULLED) contact_clear(con + MANIFOLD_FIRST, 1);
    if (PH_HAS_FIRST(PH_PLANE) && first == PH_PLANE) {
        ph_collide_plane(w, pair, &a, &b, margin, near, con, hint);
    } else if (PH_TOUCH(PH_SPHERE, PH_SPHERE)) {
        collide_sphere_sphere(&a, &b, margin, con);
    } else if (PH_TOUCH(PH_SPHERE, PH_CAPSULE)) {
        collide_sphere_capsule(&a, &b, margin, con);
    } else if (PH_TOUCH(PH_SPHERE, PH_CYLINDER)) {
        collide_sphere_cylinder(&a, &b, margin, con);
    } else if (PH_TOUCH(PH_SPHERE, PH_BOX)) {
        collide_sphere_box(&a, &b, margin, con);
    } else if (PH_TOUCH(PH_CAPSULE, PH_CAPSULE)) {
        collide_capsule_capsule(&a, &b, margin, con);
    } else if (PH_TOUCH(PH_CAPSULE, PH_BOX)) {
        collide_capsule_box(&a, &b, margin, near, con);
    } else if (PH_TOUCH(PH_BOX, PH_BOX)) {
        collide_box_box(&a, &b, margin, con);
    } else if (PH_HAS_SEARCHED) {
        n = ph_collide_convex(w, pair, &a, &b, margin, near, con);
    }
    for (int k = 0; k < n; ++k) con[k].hit = m_and(m_and(con[k].hit, near), lt(con[k].dist, margin));
    return n;
}

/*
 * One part of the dofs of the rows of one contact: the relative velocity of the second body along the frame's axes,
 * then about them; 0 where it is not `on`.
 */
STET_CALLED LFN void ph_contact_rows(ph_world w, const int *block, const contact *c, const real *hint, int dim,
                                     int part, mask on, real *J)
{
    int n = block[B_NDOF];
    const int *dof = block + block[B_DOFS];
    real frame[9], lin[3];
    contact_frame(c->normal, hint, frame);
    for (int k = part; k < n; k += PH_PARTS) {
        const real *ang = cdof(w) + 6 * dof[2 * k];
        real sign = splat((ureal)(dof[2 * k + 1] == 2 ? 1 : -1));
        ph_point_velocity(w, dof[2 * k], c->pos, lin);
        for (int r = 0; r < dim; ++r) {
            real rate = sign * v3_dot(frame + 3 * (r % 3), r < 3 ? lin : ang);
            J[r * n + k] = select(on, rate, splat(0));
        }
    }
}

/*
 * How fast the surface of the second geom of a pair moves against that of the first at a contact: along the tangents,
 * and about the normal if the contact has more than 3 dimensions; into out [dim - 1].
 */
STET_CALLED LFN void ph_surface_motion(ph_world w, const int *pair, const contact *c, const real *hint, real *out)
{
    real frame[9], linear[3], angular[3];
    contact_frame(c->normal, hint, frame);
    ph_zero(linear, 3);
    ph_zero(angular, 3);
    for (int side = 0; side < 2; ++side) {
        int g = pair[side ? B_OBJ2 : B_OBJ1];
        real sign = splat((ureal)(side ? 1 : -1)), motion[6], spin[3], along[3], off[3];
        pars(w, M_GEOM_SURFACEVEL, 6 * g, 6, motion);
        m3_mul(geom_xmat(w) + 9 * g, motion, along);
        m3_mul(geom_xmat(w) + 9 * g, motion + 3, spin);
        for (int k = 0; k < 3; ++k) off[k] = c->pos[k] - geom_xpos(w)[3 * g + k];
        ph_add_cross(spin, off, along);
        ph_add_scaled(linear, along, sign, 3);
        ph_add_scaled(angular, spin, sign, 3);
    }
    for (int r = 1; r < pair[B_DIM]; ++r) {
        if (r < 3) out[r - 1] = v3_dot(frame + 3 * r, linear);
        if (r == 3) out[r - 1] = v3_dot(frame, angular);
        if (r > 3) out[r - 1] = splat(0);
    }
}

/* One contact where it is kept. */
LFN void ph_keep_contact(const contact *con, real *to)
{
    to[0] = con->dist;
    ph_copy(to + 1, con->pos, 3);
    ph_copy(to + 4, con->normal, 3);
    to[7] = select(con->hit, splat(1), splat(0));
}
LFN void ph_kept_contact(const real *from, contact *con)
{
    con->dist = from[0];
    ph_copy(con->pos, from + 1, 3);
    ph_copy(con->normal, from + 4, 3);
    con->hit = m_not(eq(from[7], splat(0)));
}

/* Puts the contacts `bits` of a pair, and its hint, where it keeps them. */
LFN void ph_keep_contacts(const int *pair, int bits, const contact *con, const real *hint, real *kept)
{
    ph_copy(kept, hint, 3);
    rolled
    for (int k = 0; k < pair[B_SIDE] && (u32)bits >> k; ++k)
        if (bits >> k & 1) ph_keep_contact(con + k, kept + 3 + KEPT_SIZE * k);
    if (PH_PULLED && pair[B_SIDE] == MANIFOLD_CONTACTS)
        ph_keep_contact(con + MANIFOLD_FIRST, kept + 3 + KEPT_SIZE * MANIFOLD_FIRST);
}
LFN void ph_kept_contacts(const int *pair, int bits, const real *kept, contact *con, real *hint)
{
    ph_copy(hint, kept, 3);
    rolled
    for (int k = 0; k < pair[B_SIDE] && (u32)bits >> k; ++k)
        if (bits >> k & 1) ph_kept_contact(kept + 3 + KEPT_SIZE * k, con + k);
    if (PH_PULLED && pair[B_SIDE] == MANIFOLD_CONTACTS)
        ph_kept_contact(kept + 3 + KEPT_SIZE * MANIFOLD_FIRST, con + MANIFOLD_FIRST);
}

/*
 * Writes a part of the rows of those contacts of a pair that have slots. A contact holds in the lanes of the group that
 * hit: there D is 1 until ph_references, and aref, where surfaces move, what they add to the velocity of the row.
 */
LFN void ph_place_contacts(ph_world w, const int *pair, int bits, int slot, int part, const contact *con,
                           const real *hint, mask group)
{
    rolled
    for (int k = 0; k < pair[B_SIDE] && (u32)bits >> k; ++k) {
        if (bits >> k & 1) {
            int row = ph_slot_row(w, slot);
            real *J = efc_J(w) + ph_slot_J(w, slot);
            mask on = m_and(con[k].hit, group);
#define PH_DO(rows) ph_contact_rows(w, pair, con + k, hint, rows, part, on, J)
            PH_WITH_ROWS(pair[B_DIM], PH_DO);
#undef PH_DO
            for (int r = 0; part == 0 && r < pair[B_DIM]; ++r) efc_pos(w)[row + r] = r == 0 ? con[k].dist : splat(0);
            if (part == 0) efc_D(w)[row] = select(on, splat(1), splat(0));
            if (part == 0 && surfaces(w)) ph_surface_motion(w, pair, con + k, hint, efc_aref(w) + row + 1);
            slot = slot + 1;
        }
    }
}

/* Which of the first n contacts of ph_keep_deepest is the shallowest, of equal ones the last; a group of one lane. */
LFN int ph_shallowest(ph_world w, int n, mask group)
{
    const real *dist = efc_pos(w);
    const int *kept = w.ints + S_SLOTS;
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
LFN void ph_keep_deepest(ph_world w, mask group)
{
    int *kept = w.ints + S_SLOTS, *pairs = w.ints + ph_near_pairs(w);
    int n = 0, room = nslot(w) - nblock(w);
    real *dist = efc_pos(w);
    for (int p = 0; PH_HAS_PAIRS && p < w.ints[S_NNEAR]; ++p) {
        int *near = pairs + NEAR_SIZE * p, bits = near[NEAR_BITS];
        const int *pair = PH_PAIR(near[NEAR_PAIR]);
        contact con[PH_MOST_CONTACTS];
        real hint[3];
        if (!bits) continue;
        ph_collide(w, pair, group, con, hint);
        near[NEAR_BITS] = 0;
        rolled
        for (int k = 0; k < pair[B_SIDE]; ++k) {
            int at = n;
            if (!(bits >> k & 1)) continue;
            if (n == room) {
                at = ph_shallowest(w, n, group);
                if (!any(m_and(group, lt(con[k].dist, dist[at])))) continue;
                int *gone = pairs + NEAR_SIZE * (kept[4 * at] / PH_MOST_CONTACTS);
                gone[NEAR_BITS] = gone[NEAR_BITS] & ~ph_contact_bit(1, kept[4 * at] % PH_MOST_CONTACTS);
            } else {
                n = n + 1;
            }
            kept[4 * at] = PH_MOST_CONTACTS * p + k;
            dist[at] = con[k].dist;
            near[NEAR_BITS] = near[NEAR_BITS] | ph_contact_bit(1, k);
        }
    }
}

/*
 * Slots from `next` on for what the flags of s name of blocks `begin` to `end`, behind which come the near pairs. If
 * not `write`, they are only counted. S_FULL: a contact has no room; `drop` takes its flag away.
 */
LFN void ph_number_some(ph_world w, int begin, int end, int write, int drop, int *next)
{
    const int *held = w.ints + S_SLOTS + 4 * nslot(w);
    rolled
    for (int i = begin; i < end; ++i) {
        int contacts = i >= nblock(w);
        int *near = w.ints + ph_near_pairs(w) + NEAR_SIZE * (contacts ? i - nblock(w) : 0);
        int bits = contacts ? near[NEAR_BITS] : held[i];
        if (!bits) continue;
        int at = contacts ? ph_pair_place(w, near[NEAR_PAIR]) : PH_NUMBER(w, M_BLOCK) + B_SIZE * i;
        const int *block = PH_BLOCK(at);
        int number = contacts ? nblock(w) + PH_MOST_CONTACTS * near[NEAR_PAIR] : i;
        int dim = block[B_DIM], size = dim * block[B_NDOF], listed = 0;
        if (contacts && write) near[NEAR_SLOT] = next[NEXT_SLOT];
        rolled
        for (int k = 0; k < PH_MOST_CONTACTS && (u32)bits >> k; ++k) {
            if (!(bits >> k & 1)) continue;
            int *slot = w.ints + S_SLOTS + 4 * next[NEXT_SLOT];
            int room = next[NEXT_SLOT] < nslot(w) && next[NEXT_ROW] + dim <= nrow(w) && next[NEXT_J] + size <= nefcj(w);
            next[NEXT_CONTACT] = next[NEXT_CONTACT] + contacts;
            if (write && !room) {
                w.ints[S_FULL] = 1;
                if (drop) near[NEAR_BITS] = near[NEAR_BITS] & ~ph_contact_bit(1, k);
                continue;
            }
            if (PH_HAS_TREES && write && at < 0 && !listed) {
                ph_list_dofs(w, ~at, next[NEXT_SLOT]);
                listed = 1;
            }
            if (write) {
                slot[0] = at;
                slot[1] = next[NEXT_ROW];
                slot[2] = next[NEXT_J];
                slot[3] = number + k;
            }
            next[NEXT_SLOT] = next[NEXT_SLOT] + 1;
            next[NEXT_ROW] = next[NEXT_ROW] + dim;
            next[NEXT_J] = next[NEXT_J] + size;
        }
    }
}

/*
 * Slots for all blocks and contacts that the flags of s name. They are shared out: first each share is counted, where
 * the solver will have its lists, then gets slots behind those before it. If not all have room, one share is all.
 */
LFN void ph_number_slots(ph_world w, int drop)
{
    int n = nblock(w) + (PH_HAS_PAIRS ? w.ints[S_NNEAR] : 0),
        shares = nmax(1, nmin(PH_SLOT_SHARES, 3 * nslot(w) / NEXT));
    int *counted = w.ints + ph_active(w);
    each (one, 1) w.ints[S_FULL + one] = 0;
    for (int pass = shares > 1 ? 0 : 1; pass < 2; ++pass) {
        each (t, shares) {
            int next[NEXT] = {0, 0, 0, 0}, total[NEXT] = {0, 0, 0, 0};
            for (int u = 0; pass && shares > 1 && u < shares; ++u)
                for (int q = 0; q < NEXT; ++q) {
                    if (u < t) next[q] = next[q] + counted[NEXT * u + q];
                    total[q] = total[q] + counted[NEXT * u + q];
                }
            int begin = t * n / shares, end = (t + 1) * n / shares, last = shares - 1;
            if (total[NEXT_SLOT] > nslot(w) || total[NEXT_ROW] > nrow(w) || total[NEXT_J] > nefcj(w)) {
                begin = 0;
                end = t > 0 ? 0 : n;
                last = 0;
                for (int q = 0; q < NEXT; ++q) next[q] = 0;
            }
            ph_number_some(w, begin, end, pass, drop, next);
            for (int q = 0; !pass && q < NEXT; ++q) counted[NEXT * t + q] = next[q];
            if (pass && t == last) {
                int *to = w.ints + (t - last);
                to[S_NSLOT] = next[NEXT_SLOT];
                to[S_NROW] = next[NEXT_ROW];
                to[S_NJ] = next[NEXT_J];
                to[S_WANTED] = next[NEXT_CONTACT];
            }
        }
        sync();
    }
}

/*
 * The same; S_FULL: not all have room, or not all near pairs had. If the group is one lane (`alone`), the deepest
 * contacts get slots.
 */
LFN void ph_assign_slots(ph_world w, mask group, int alone)
{
    ph_number_slots(w, !alone);
    int full = w.ints[S_FULL], missed = w.ints[S_MISSED],
        wanted = w.ints[S_WANTED] + missed; /* which may each have one */
    if (!missed && !(full && alone)) return;
    sync();
    if (full && alone) {
        each (one, 1) ph_keep_deepest(w, group);
        sync();
        ph_number_slots(w, 1);
    }
    each (one, 1) {
        w.ints[S_FULL + one] = 1;
        w.ints[S_WANTED + one] = wanted;
    }
    sync();
}

/*
 * Slots and rows of the lanes of a group, as far as there are stages contacts (which ends with slots) and rows; if that
 * is not one lane (`alone`), S_FULL says that there are none. `align`: as in ph_forward; a team that comes twice, alone
 * after S_FULL, is as often at a barrier as others.
 */
PH_PART LFN void ph_constraint(ph_world w, PH_TAKE_STAGES mask group, int alone, int align)
{
    int *held = w.ints + S_SLOTS + 4 * nslot(w), *pairs = w.ints + ph_near_pairs(w);
    if (PH_RUNS(PH_STAGE_CONTACTS)) {
        each (b, nblock(w)) held[b] = any(m_and(group, ph_block_holds(w, block_first(w) + B_SIZE * b)));
        ph_list_near(w, group);
    } else if (!PH_RUNS(PH_STAGE_ROWS) || (w.ints[S_FULL] && !alone)) {
        return;
    }
    for (int pass = PH_RUNS(PH_STAGE_CONTACTS) ? 0 : 1; pass < (PH_RUNS(PH_STAGE_ROWS) ? 2 : 1); ++pass) {
        int npair = PH_HAS_PAIRS ? w.ints[S_NNEAR] : 0;
        if (align && (PH_SINGLE || pass || !alone)) align_teams();
        each (i, pass ? PH_PARTS * npair : npair) {
            int p = pass ? i / PH_PARTS : i, part = i - PH_PARTS * p;
            int *near = pairs + NEAR_SIZE * p, bits = pass ? near[NEAR_BITS] : 0, at = near[NEAR_KEPT];
            const int *pair = PH_PAIR(near[NEAR_PAIR]);
            real *kept = PH_KEPT(w) + (at < 0 ? 0 : at);
            if (!pass || bits) {
                contact con[PH_MOST_CONTACTS];
                real hint[3];
                int n = 0;
                if (pass && at >= 0)
                    ph_kept_contacts(pair, bits, kept, con, hint);
                else
                    n = ph_collide(w, pair, group, con, hint);
                if (pass) {
                    ph_place_contacts(w, pair, bits, near[NEAR_SLOT], part, con, hint, group);
                } else {
                    for (int k = 0; k < n; ++k) bits = bits | ph_contact_bit(any(m_and(group, con[k].hit)), k);
                    near[NEAR_BITS] = bits;
                    if (bits && at >= 0) ph_keep_contacts(pair, bits, con, hint, kept);
                }
            }
        }
        sync();
        if (pass == 0) {
            if (align && (PH_SINGLE || !alone)) align_teams();
            ph_assign_slots(w, group, alone);
            if (w.ints[S_FULL] && !alone) return;
        }
    }
    if (!PH_RUNS(PH_STAGE_ROWS)) return;
    if (align) align_teams();
    ph_references(w, group);
    if (integrator(w) == PH_DISCRETE) ph_hold_free(w, group);
}
