/*
 * Stage after: what follows from accelerations and constraint forces, and no step needs: cacc with qacc, cfrc_ext,
 * cfrc_int, subtree_linvel, subtree_angmom, energy, and the contacts. Part of the kernels that include it, after
 * contact.k.h.
 *
 * ph_external runs for each group of lanes that was solved (stage solve), because slots are the group's; the rest runs
 * once, after all groups. Their results are in the memory from contact_seen(w) on, which a step does not have.
 */

/* ---- contacts and external forces -------------------------------------------------------------------------------- */

/* Numbers of a slot in W_SEEN, of which the middle ones mean nothing in lanes where `hit` is 0: */
#define PH_SEEN_DIST 1  /* hit (1 or 0), dist, … */
#define PH_SEEN_POS 2   /* … pos [3] … */
#define PH_SEEN_FRAME 5 /* … frame [9] … */
#define PH_SEEN_KEPT 14 /* … 1: it is listed, 0 */

/* The contacts of all slots: stage contact keeps nothing of them but rows. */
LFN void ph_see_contacts(ph_world w, mask group)
{
    each (p, w.ints[S_NNEAR]) {
        const int *near = w.ints + ph_near_pairs(w) + NEAR_SIZE * p, *pair = PH_PAIR(near[NEAR_PAIR]);
        int bits = near[NEAR_BITS], slot = near[NEAR_SLOT];
        if (bits) {
            contact con[PH_MOST_CONTACTS];
            real hint[3];
            ph_collide(w, pair, group, con, hint);
            rolled
            for (int k = 0; k < pair[B_SIDE]; ++k) {
                if (bits >> k & 1) {
                    real *to = contact_seen(w) + PH_SEEN * slot, frame[9];
                    contact_frame(con[k].normal, hint, frame);
                    to[0] = select(m_and(con[k].hit, group), splat(1), splat(0));
                    to[PH_SEEN_DIST] = con[k].dist;
                    ph_copy(to + PH_SEEN_POS, con[k].pos, 3);
                    ph_copy(to + PH_SEEN_FRAME, frame, 9);
                    slot = slot + 1;
                }
            }
        }
    }
    sync();
}

/* cfrc_ext of body b += sign times a torque and a force at p, in the lanes `on`. */
LFN void ph_add_external(ph_world w, int b, const real *p, const real *torque, const real *force, ureal sign, mask on)
{
    const real *com = subtree_com(w) + 3 * body_rootid(w)[b];
    real *out = cfrc_ext(w) + 6 * b;
    real off[3], t[3];
    if (b == 0) return;
    for (int k = 0; k < 3; ++k) off[k] = p[k] - com[k];
    ph_copy(t, torque, 3);
    ph_add_cross(off, force, t);
    for (int k = 0; k < 3; ++k) {
        out[k] = select(on, fma(splat(sign), t[k], out[k]), out[k]);
        out[3 + k] = select(on, fma(splat(sign), force[k], out[3 + k]), out[3 + k]);
    }
}

/* The force of a contact, in the axes of its frame, acts on the second body, and against the first. */
LFN void ph_contact_external(ph_world w, const int *block, const real *seen, const real *row)
{
    real local[6], torque[3], force[3];
    ph_zero(local, 6);
    ph_copy(local, row, block[B_DIM]);
    m3_mul_transposed(seen + PH_SEEN_FRAME, local, force);
    m3_mul_transposed(seen + PH_SEEN_FRAME, local + 3, torque);
    mask on = m_not(eq(seen[0], splat(0)));
    int first = geom_bodyid(w)[block[B_OBJ1]], second = geom_bodyid(w)[block[B_OBJ2]];
    ph_add_external(w, first, seen + PH_SEEN_POS, torque, force, -1, on);
    ph_add_external(w, second, seen + PH_SEEN_POS, torque, force, 1, on);
}

/* The forces of a connect or a weld. The last rows of a weld are not torques: ph_weld_rows has their Jacobian. */
LFN void ph_weld_external(ph_world w, const int *block, const real *row, mask on)
{
    real torque[3], p[2][3], q[2][4];
    ph_zero(torque, 3);
    for (int k = 0; k < 2; ++k) ph_weld_point(w, block, k, p[k], q[k]);
    for (int i = 0; block[B_TYPE] == PH_EQ_WELD && i < 3; ++i) {
        real turn[4], spin[4], scale = eq_data(w, 15 * block[B_ID] + 14);
        for (int k = 0; k < 4; ++k) {
            turn[k] = k == 0 ? q[1][0] : -q[1][k];
            spin[k] = splat(k == 1 + i ? (ureal)0.5 : 0);
        }
        ph_quat_mul(turn, spin);
        ph_quat_mul(turn, q[0]);
        torque[i] = scale * v3_dot(row + 3, turn + 1);
    }
    for (int k = 0; k < 2; ++k) ph_add_external(w, block[k ? B_OBJ2 : B_OBJ1], p[k], torque, row, k ? -1 : 1, on);
}

/* The force along spatial tendons, in W_TEN_FORCE: of springs, dampers and actuators. */
LFN void ph_tension(ph_world w)
{
    const int *adr = tendon_act_adr(w), *act = tendon_act(w);
    each (t, ntendon(w)) {
        real sum = ph_tendon_spring(w, t) + ph_tendon_damper(w, t);
        int end = model_flags(w) & PH_NO_ACTUATION ? adr[t] : adr[t + 1];
        rolled
        for (int k = adr[t]; k < end; ++k) sum = fma(actuator_gear(w, 6 * act[k]), actuator_force(w)[act[k]], sum);
        ten_force(w)[t] = sum;
    }
    sync();
}

/* … += that of a row of an equality, a friction loss or a limit, in the lanes `on`. */
LFN void ph_add_tension(ph_world w, const int *block, real row, mask on)
{
    int type = block[B_TYPE], one = type == PH_EQ_TENDON ? block[B_OBJ1] : block[B_ID];
    real *sum = ten_force(w), force = select(on, row, splat(0)), value, slope;
    if (type == PH_EQ_TENDON && block[B_OBJ2] >= 0) {
        ph_couple(w, block, &value, &slope);
        sum[block[B_OBJ2]] = fma(-slope, force, sum[block[B_OBJ2]]);
    }
    if (type == PH_LIMIT_TENDON) force = splat((ureal)(-block[B_SIDE])) * force;
    if (type == PH_EQ_TENDON || type == PH_LOSS_TENDON || type == PH_LIMIT_TENDON) sum[one] = sum[one] + force;
}

/* W_TEN_FORCE -= what the armature of tendons resists. */
LFN void ph_resist(ph_world w)
{
    const int *adr = ten_J_rowadr(w), *col = ten_J_colind(w);
    each (t, ntendon(w)) {
        real acc = ph_tendon_drift(w, t);
        rolled
        for (int e = adr[t]; e < adr[t + 1]; ++e) acc = fma(ph_ten_j(w, e), qacc(w)[col[e]], acc);
        ten_force(w)[t] = fma(-tendon_armature(w, t), acc, ten_force(w)[t]);
    }
    sync();
}

/* cfrc_ext += what tendons do to the bodies of their paths. */
LFN void ph_pull_bodies(ph_world w)
{
    const int *adr = tendon_link_adr(w);
    rolled
    for (int t = 0; t < ntendon(w); ++t) rolled
    for (int l = adr[t]; l < adr[t + 1]; ++l) {
        const int *row = link_first(w) + LK_SIZE * l;
        const real *pull = link_pull(w) + 18 * l;
        int body[3];
        body[0] = site_bodyid(w)[row[LK_FROM]];
        body[1] = row[LK_GEOM] < 0 ? 0 : geom_bodyid(w)[row[LK_GEOM]];
        body[2] = site_bodyid(w)[row[LK_TO]];
        each (k, 6) {
            for (int e = 0; e < 3; ++e) {
                real *to = cfrc_ext(w) + 6 * body[e] + k;
                if (body[e] > 0) *to = fma(ten_force(w)[t], pull[6 * e + k], *to);
            }
        }
        sync();
    }
}

/* cfrc_ext = xfrc_applied, which acts at the bodies' centres of mass. */
LFN void ph_applied(ph_world w)
{
    if (nlink(w) > 0) ph_tension(w);
    each (b, nbody(w)) {
        const real *x = xfrc_applied(w) + 6 * b;
        ph_zero(cfrc_ext(w) + 6 * b, 6);
        ph_add_external(w, b, xipos(w) + 3 * b, x + 3, x, 1, m_all());
    }
    sync();
}

/* cfrc_ext += the forces of contacts (W_SEEN), connects and welds, in the lanes of a group that was just solved. */
PH_PART LFN void ph_external(ph_world w, mask group)
{
    rolled
    for (int k = 0; k < w.ints[S_NSLOT]; ++k) {
        const int *block = PH_BLOCK(ph_slot_block(w, k));
        const real *seen = contact_seen(w) + PH_SEEN * k, *row = efc_force(w) + ph_slot_row(w, k);
        each (one, 1) {
            if (block[B_TYPE] == PH_GEOMS) ph_contact_external(w, block, seen + one, row);
            if (block[B_TYPE] <= PH_EQ_WELD) ph_weld_external(w, block, row + one, group);
            if (nlink(w) > 0) ph_add_tension(w, block, row[one], group);
        }
        sync();
    }
}

/* Which contacts the lanes of a group have among `slots`: if there are more, the deepest. Gives how many there are. */
LFN real ph_rank_contacts(ph_world w, int slots)
{
    real all = splat(0), one = splat(1), zero = splat(0);
    rolled
    for (int k = 0; k < w.ints[S_NSLOT]; ++k)
        if (PH_BLOCK(ph_slot_block(w, k))[B_TYPE] == PH_GEOMS) all = all + contact_seen(w)[PH_SEEN * k];
    int many = any(gt(all, splat((ureal)slots)));
    each (k, w.ints[S_NSLOT]) {
        real *seen = contact_seen(w) + PH_SEEN * k, deeper = zero;
        for (int j = 0; many && j < w.ints[S_NSLOT]; ++j) {
            const real *other = contact_seen(w) + PH_SEEN * j;
            mask less = lt(other[PH_SEEN_DIST], seen[PH_SEEN_DIST]), same = eq(other[PH_SEEN_DIST], seen[PH_SEEN_DIST]);
            mask before = j < k ? m_or(less, same) : less;
            if (PH_BLOCK(ph_slot_block(w, j))[B_TYPE] == PH_GEOMS)
                deeper = deeper + select(m_andnot(before, eq(other[0], zero)), one, zero);
        }
        int is_contact = PH_BLOCK(ph_slot_block(w, k))[B_TYPE] == PH_GEOMS;
        seen[PH_SEEN_KEPT] = is_contact ? select(lt(deeper, splat((ureal)slots)), seen[0], zero) : zero;
    }
    sync();
    return all;
}

/*
 * The contacts of a group's lanes as they are read, from nmemory_all(w) on: their number, then PH_LISTED numbers of
 * each of `slots`: geoms, dist, pos, frame, force. Each lane has its own contacts in the first slots.
 */
PH_PART LFN void ph_list_contacts(ph_world w, mask group, int slots)
{
    real *list = w.memory + nmemory_all(w), all = ph_rank_contacts(w, slots);
    each (one, 1) list[one] = select(group, all, list[one]);
    each (c, slots) {
        real row[PH_LISTED], place = splat(0);
        for (int i = 0; i < PH_LISTED; ++i) row[i] = splat(i < 2 ? -1 : 0);
        rolled
        for (int k = 0; k < w.ints[S_NSLOT]; ++k) {
            const int *block = PH_BLOCK(ph_slot_block(w, k));
            const real *seen = contact_seen(w) + PH_SEEN * k, *force = efc_force(w) + ph_slot_row(w, k);
            mask here = m_and(eq(place, splat((ureal)c)), m_not(eq(seen[PH_SEEN_KEPT], splat(0))));
            if (any(here)) {
                row[0] = select(here, splat((ureal)block[B_OBJ1]), row[0]);
                row[1] = select(here, splat((ureal)block[B_OBJ2]), row[1]);
                for (int i = 0; i < 13; ++i) row[2 + i] = select(here, seen[PH_SEEN_DIST + i], row[2 + i]);
                rolled
                for (int i = 0; i < block[B_DIM]; ++i) row[15 + i] = select(here, force[i], row[15 + i]);
            }
            place = place + seen[PH_SEEN_KEPT];
        }
        for (int i = 0; i < PH_LISTED; ++i) {
            real *to = list + 1 + PH_LISTED * c + i;
            *to = select(group, row[i], *to);
        }
    }
    sync();
}

/* ---- accelerations and internal forces --------------------------------------------------------------------------- */

/* cacc of body b with qacc, and in cfrc_int the force that this body needs beyond external ones. */
LFN void ph_body_acceleration(ph_world w, int b)
{
    const real *I = cinert(w) + 10 * b, *cvel = cvel(w) + 6 * b;
    int d = body_dofadr(w)[b], n = body_dofnum(w)[b];
    real a[6], force[6], momentum[6];
    ph_copy(a, cacc(w) + 6 * body_parentid(w)[b], 6);
    if (n > 0) {
        ph_add_motion(a, cdof_dot(w) + 6 * d, qvel(w) + d, n);
        ph_add_motion(a, cdof(w) + 6 * d, qacc(w) + d, n);
    }
    ph_copy(cacc(w) + 6 * b, a, 6);
    ph_inertia_mul(I, a, force);
    ph_inertia_mul(I, cvel, momentum);
    ph_add_cross_force(cvel, momentum, force);
    for (int k = 0; k < 6; ++k) cfrc_int(w)[6 * b + k] = force[k] - cfrc_ext(w)[6 * b + k];
}

/* Sums over subtrees, in place, from the leaves to the world: n items a body (at most 10). */
LFN void ph_gather_all(ph_world w, real *x, int n)
{
    const int *level = level_adr(w), *body = level_body(w);
    for (int l = nlevel(w); l >= 0; --l) {
        int first = l > 0 ? level[l - 1] : 0, size = l > 0 ? level[l] - first : 1;
        each (i, size) {
            int b = l > 0 ? body[first + i] : 0;
            ph_gather_children(w, b, n, x + n * b, x, x + n * b);
        }
        sync();
    }
}

/* cacc and cfrc_int, of which cfrc_ext is known but for what tendons do. */
LFN void ph_internal(ph_world w)
{
    const int *level = level_adr(w), *body = level_body(w);
    if (ph_drifts(w)) ph_resist(w);
    if (nlink(w) > 0) ph_pull_bodies(w);
    each (k, 6) cfrc_int(w)[k] = splat(0);
    rolled
    for (int l = 0; l < nlevel(w); ++l) {
        each (i, level[l + 1] - level[l]) ph_body_acceleration(w, body[level[l] + i]);
        sync();
    }
    ph_gather_all(w, cfrc_int(w), 6);
}

/* ---- momentum and energy ----------------------------------------------------------------------------------------- */

/* subtree_angmom of body b from those of its children. */
LFN void ph_body_momentum(ph_world w, int b)
{
    const real *com = subtree_com(w), *vel = subtree_linvel(w), *spin = cvel(w) + 6 * b;
    const real *own = cfrc(w) + 3 * b, *R = ximat(w) + 9 * b;
    const int *adr = body_child_adr(w), *child = body_child(w);
    real local[3], sum[3], off[3], relative[3], mass = body_mass(w, b);
    m3_mul_transposed(R, spin, local);
    for (int k = 0; k < 3; ++k) {
        local[k] = body_inertia(w, 3 * b + k) * local[k];
        off[k] = xipos(w)[3 * b + k] - com[3 * b + k];
        relative[k] = mass * (own[k] - vel[3 * b + k]);
    }
    m3_mul(R, local, sum);
    ph_add_cross(off, relative, sum);
    rolled
    for (int i = adr[b]; i < adr[b + 1]; ++i) {
        int c = child[i];
        real inv = body_invsubtreemass(w, c);
        mask none = eq(inv, splat(0));
        real all = select(none, splat(0), splat(1) / select(none, splat(1), inv));
        for (int k = 0; k < 3; ++k) {
            sum[k] = sum[k] + subtree_angmom(w)[3 * c + k];
            off[k] = com[3 * c + k] - com[3 * b + k];
            relative[k] = all * (vel[3 * c + k] - vel[3 * b + k]);
        }
        ph_add_cross(off, relative, sum);
    }
    ph_copy(subtree_angmom(w) + 3 * b, sum, 3);
}

/* subtree_linvel and subtree_angmom. Uses cfrc for the velocities of centres of mass. */
LFN void ph_subtree_velocity(ph_world w)
{
    const int *level = level_adr(w), *body = level_body(w);
    real *own = cfrc(w), *vel = subtree_linvel(w);
    each (b, nbody(w)) {
        real motion[6];
        ph_point_motion(w, b, xipos(w) + 3 * b, motion);
        ph_copy(own + 3 * b, motion + 3, 3);
        for (int k = 0; k < 3; ++k) vel[3 * b + k] = body_mass(w, b) * motion[3 + k];
    }
    sync();
    ph_gather_all(w, vel, 3);
    each (b, nbody(w)) {
        for (int k = 0; k < 3; ++k) vel[3 * b + k] = body_invsubtreemass(w, b) * vel[3 * b + k];
    }
    sync();
    for (int l = nlevel(w); l >= 0; --l) {
        int first = l > 0 ? level[l - 1] : 0, size = l > 0 ? level[l] - first : 1;
        each (i, size) ph_body_momentum(w, l > 0 ? body[first + i] : 0);
        sync();
    }
}

/* The energy of a spring whose force is -ph_spring(k, p, x). */
LFN real ph_spring_energy(real k, const real *p, real x)
{
    real third = splat((ureal)(1.0 / 3)) * p[0], quarter = splat((ureal)0.25) * p[1];
    return x * x * fma(x, fma(x, quarter, third), splat((ureal)0.5) * k);
}

LFN real ph_joint_energy(ph_world w, int j)
{
    int type = jnt_type(w)[j], q = jnt_qposadr(w)[j], flags = jnt_flags(w)[j];
    const real *qpos = qpos(w);
    real p[2], x[3], quat[4], from[4], sum = splat(0);
    if (!(flags & PH_JNT_STIFF)) return sum;
    real k = ph_coefficients(w, M_JNT_STIFFNESS, M_JNT_STIFFNESSPOLY, flags & PH_JNT_POLY, j, p);
    if (type >= PH_SLIDE) return ph_spring_energy(k, p, qpos[q] - qpos_spring(w, q));
    if (type == PH_FREE) {
        for (int c = 0; c < 3; ++c) x[c] = qpos[q + c] - qpos_spring(w, q + c);
        sum = v3_dot(x, x);
        q += 3;
    }
    pars(w, M_QPOS_SPRING, q, 4, from);
    for (int c = 1; c < 4; ++c) from[c] = -from[c];
    ph_copy(quat, qpos + q, 4);
    ph_quat_unit(quat);
    ph_quat_mul(from, quat);
    ph_quat_log(from, x);
    return splat((ureal)0.5) * (k * (sum + v3_dot(x, x)));
}

LFN real ph_tendon_energy(ph_world w, int t)
{
    int flags = tendon_flags(w)[t];
    real p[2];
    if (!(flags & PH_TEN_STIFF)) return splat(0);
    real k = ph_coefficients(w, M_TEN_STIFFNESS, M_TEN_STIFFNESSPOLY, flags & PH_TEN_STIFF_POLY, t, p);
    return ph_spring_energy(k, p, ph_tendon_stretch(w, t));
}

LFN real ph_potential_energy(ph_world w)
{
    real sum = splat(0), gravity[3];
    pars(w, M_GRAVITY, 0, 3, gravity);
    rolled
    for (int b = 1; b < nbody(w); ++b) sum = fma(-body_mass(w, b), v3_dot(gravity, xipos(w) + 3 * b), sum);
    if (model_flags(w) & PH_NO_SPRING) return sum;
    rolled
    for (int j = 0; j < njnt(w); ++j) sum = sum + ph_joint_energy(w, j);
    rolled
    for (int t = 0; t < ntendon(w); ++t) sum = sum + ph_tendon_energy(w, t);
    return sum;
}

LFN real ph_kinetic_energy(ph_world w)
{
    const int *nnz = M_rownnz(w), *adr = M_rowadr(w), *col = M_colind(w);
    const real *qM = qM(w), *qvel = qvel(w);
    real sum = splat(0), half = splat((ureal)0.5);
    rolled
    for (int i = 0; i < nv(w); ++i) {
        int last = adr[i] + nnz[i] - 1;
        real force = half * (qM[last] * qvel[i]);
        rolled
        for (int e = adr[i]; e < last; ++e) force = fma(qM[e], qvel[col[e]], force);
        sum = fma(force, qvel[i], sum);
    }
    return sum;
}

/* What stage after leaves to do when all groups are solved, of what is wanted: bits PH_EXTRA_…. */
PH_PART LFN void ph_after(ph_world w, int extra)
{
    if (extra & PH_EXTRA_FORCES) ph_internal(w);
    if (extra & PH_EXTRA_MOMENTA) ph_subtree_velocity(w);
    if (!(extra & PH_EXTRA_ENERGY)) return;
    each (one, 1) {
        energy(w)[one] = ph_potential_energy(w);
        energy(w)[one + 1] = ph_kinetic_energy(w);
    }
    sync();
}
