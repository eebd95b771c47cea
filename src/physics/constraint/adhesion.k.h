/*
 * Adhesion: actuators that pull a body to what it touches, as MuJoCo has them. Part of the kernels that include it,
 * after products.k.h. Contacts within a gap count, too.
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

/* What adhesion adds, in the lanes of a group that has rows: to qfrc_actuator, qfrc_smooth and qacc_smooth. */
PH_PART LFN void ph_adhere(ph_world w, mask group)
{
    real *row = solver_search(w), *all = Mv(w); /* of the solver, which comes later */
    each (d, nv(w)) all[d] = splat(0);
    sync();
    if (PH_BY_ROWS) ph_factor_inertia(w); /* which has no factor of qM otherwise */
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
    each (d, nv(w)) {
        qfrc_actuator(w)[d] = select(group, qfrc_actuator(w)[d] + all[d], qfrc_actuator(w)[d]);
        qfrc_smooth(w)[d] = select(group, qfrc_smooth(w)[d] + all[d], qfrc_smooth(w)[d]);
    }
    sync();
    each (k, gaps(w) ? w.ints[S_NSLOT] : 0) {
        if (PH_BLOCK(ph_slot_block(w, k))[B_TYPE] == PH_GEOMS) ph_leave_gap(w, k);
    }
    ph_solve(w, qLD(w), qLDiagInv(w), all);
    each (d, nv(w)) qacc_smooth(w)[d] = select(group, qacc_smooth(w)[d] + all[d], qacc_smooth(w)[d]);
    sync();
}
