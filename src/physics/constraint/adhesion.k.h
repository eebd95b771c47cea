/*
 * Adhesion: actuators that pull a body to what it touches, and geoms that pull each other, as MuJoCo has them. Part of
 * the kernels that include it, after products.k.h. Contacts within a gap count, too.
 *
 * The moment of such an actuator is the mean of the normal rows of the body's contacts, without their sign. Contacts
 * have rows after the forces of actuators are known, so what it adds to these comes here, before rows are solved: its
 * force depends on nothing that it moves.
 */

/* The sum of the normal rows of the contacts of a body goes to x [nv], in lanes without contacts 0; how many. */
LFN real ph_adhesion_rows(ph_world w, int body, real *x)
{
    const int *of = geom_bodyid(w);
    real n = splat(0);
    each (d, nv(w)) x[d] = splat(0);
    sync();
    rolled
    for (int k = 0; k < w.ints[S_NSLOT]; ++k) {
        const int *block = PH_BLOCK(ph_slot_block(w, k)), *dof = block + block[B_DOFS];
        const real *J = efc_J(w) + ph_slot_J(w, k);
        if (block[B_TYPE] != PH_GEOMS || (of[block[B_OBJ1]] != body && of[block[B_OBJ2]] != body)) continue;
        n = n + select(eq(efc_D(w)[ph_slot_row(w, k)], splat(0)), splat(0), splat(1));
        each (c, block[B_NDOF]) x[dof[2 * c]] = x[dof[2 * c]] + J[c];
        sync();
    }
    return n;
}

/* What actuators that pull bodies add to all [nv]. */
LFN void ph_adhere_bodies(ph_world w, mask group, real *all)
{
    real *row = solver_search(w); /* of the solver, which comes later */
    rolled
    for (int i = 0; i < nactuator(w); ++i) {
        if (actuator_trntype(w)[i] != PH_TRN_BODY) continue;
        real n = ph_adhesion_rows(w, actuator_trnid(w)[i], row), rate = splat(0);
        real scale = splat(-1) / select(eq(n, splat(0)), splat(1), n);
        rolled
        for (int d = 0; d < nv(w); ++d) rate = fma(scale * row[d], qvel(w)[d], rate);
        each (d, nv(w)) all[d] = fma(actuator_force(w)[ph_out(w, i)], scale * row[d], all[d]);
        each (one, 1) {
            real *velocity = actuator_velocity(w) + ph_out(w, i);
            velocity[one] = select(group, rate, velocity[one]);
        }
        sync();
    }
    each (d, nv(w)) qfrc_actuator(w)[d] = select(group, qfrc_actuator(w)[d] + all[d], qfrc_actuator(w)[d]);
    sync();
}

/* The same of geoms that adhere. */
LFN void ph_adhere_geoms(ph_world w, mask group, real *all)
{
    real *sum = solver_search(w);
    each (d, nv(w)) sum[d] = splat(0);
    sync();
    rolled
    for (int k = 0; k < w.ints[S_NSLOT]; ++k) {
        const int *block = PH_BLOCK(ph_slot_block(w, k)), *dof = block + block[B_DOFS];
        const real *J = efc_J(w) + ph_slot_J(w, k);
        if (block[B_TYPE] != PH_GEOMS) continue;
        real pull = ph_block_par(w, block, P_ADHESION);
        each (c, block[B_NDOF]) sum[dof[2 * c]] = fma(-pull, J[c], sum[dof[2 * c]]);
        sync();
    }
    each (d, nv(w)) {
        qfrc_passive(w)[d] = select(group, qfrc_passive(w)[d] + sum[d], qfrc_passive(w)[d]);
        all[d] = all[d] + sum[d];
    }
    sync();
}

/* What adhesion adds, in the lanes of a group that has rows: to forces, qfrc_smooth and qacc_smooth. */
PH_PART LFN void ph_adhere(ph_world w, mask group)
{
    real *all = Mv(w); /* of the solver, which comes later */
    each (d, nv(w)) all[d] = splat(0);
    sync();
    if (PH_BY_ROWS) ph_factor_inertia(w); /* which has no factor of qM otherwise */
    if (nadhesion(w) > 0) ph_adhere_bodies(w, group, all);
    if (adhesive(w)) ph_adhere_geoms(w, group, all);
    each (d, nv(w)) qfrc_smooth(w)[d] = select(group, qfrc_smooth(w)[d] + all[d], qfrc_smooth(w)[d]);
    sync();
    each (k, gaps(w) ? w.ints[S_NSLOT] : 0) {
        if (PH_BLOCK(ph_slot_block(w, k))[B_TYPE] == PH_GEOMS) ph_leave_gap(w, k);
    }
    ph_solve(w, qLD(w), qLDiagInv(w), all);
    each (d, nv(w)) qacc_smooth(w)[d] = select(group, qacc_smooth(w)[d] + all[d], qacc_smooth(w)[d]);
    sync();
}

/* After the solver: contacts without a row have no force, whose sign the solver leaves to what other lanes have. */
LFN void ph_clear_gaps(ph_world w)
{
    each (k, w.ints[S_NSLOT]) {
        int row = ph_slot_row(w, k);
        mask none = eq(efc_D(w)[row], splat(0));
        rolled
        for (int r = 0; r < PH_BLOCK(ph_slot_block(w, k))[B_DIM]; ++r)
            efc_force(w)[row + r] = select(none, splat(0), efc_force(w)[row + r]);
    }
    sync();
}

/* After the solver: the force of a contact of geoms that adhere is what is left of it. */
LFN void ph_pull_apart(ph_world w, mask group)
{
    each (k, w.ints[S_NSLOT]) {
        const int *block = PH_BLOCK(ph_slot_block(w, k));
        if (block[B_TYPE] == PH_GEOMS) {
            int row = ph_slot_row(w, k);
            mask on = m_and(group, gt(efc_D(w)[row], splat(0)));
            real force = efc_force(w)[row], net = force - ph_block_par(w, block, P_ADHESION);
            efc_force(w)[row] = select(on, net, force);
        }
    }
    sync();
}
