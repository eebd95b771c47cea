/*
 * Adhesion: actuators that pull a body to what it touches, as MuJoCo has them. Part of the kernels that include it,
 * after products.k.h.
 *
 * The moment of such an actuator is the mean of the normal rows of the body's contacts, without their sign. Contacts
 * have rows after the forces of actuators are known, so what it adds to these comes here, before rows are solved: its
 * force depends on nothing that it moves.
 */

/* The sum of the normal rows of the contacts of a body goes to x [nv], in lanes without contacts 0; how many. */
LFN real ph_adhesion_rows(const int *m, const real *w, const int *s, int body, real *x)
{
    const int *of = m + m[M_GEOM_BODYID];
    real n = splat(0);
    each (d, m[M_NV]) x[d] = splat(0);
    sync();
    rolled for (int k = 0; k < s[S_NSLOT]; ++k)
    {
        const int *block = PH_BLOCK(ph_slot_block(s, k)), *dof = block + block[B_DOFS];
        const real *J = PH_AT(W_EFC_J) + ph_slot_J(s, k);
        if (block[B_TYPE] != PH_GEOMS || (of[block[B_OBJ1]] != body && of[block[B_OBJ2]] != body)) continue;
        n = n + select(eq(PH_AT(W_EFC_D)[ph_slot_row(s, k)], splat(0)), splat(0), splat(1));
        each (c, block[B_NDOF]) x[dof[2 * c]] = x[dof[2 * c]] + J[c];
        sync();
    }
    return n;
}

/* What adhesion adds, in the lanes of a group that has rows: to qfrc_actuator, qfrc_smooth and qacc_smooth. */
PH_PART LFN void ph_adhere(const int *m, const ureal *f, const real *v, real *w, const int *s, mask group)
{
    real *row = PH_AT(W_SEARCH), *all = PH_AT(W_MV); /* of the solver, which comes later */
    each (d, m[M_NV]) all[d] = splat(0);
    sync();
    if (PH_BY_ROWS) ph_factor_inertia(m, f, v, w); /* which has no factor of qM otherwise */
    rolled for (int i = 0; i < m[M_NACTUATOR]; ++i)
    {
        if ((m + m[M_ACT_TRNTYPE])[i] != 5) continue;
        real n = ph_adhesion_rows(m, w, s, (m + m[M_ACT_TRNID])[i], row), rate = splat(0);
        real scale = splat(-1) / select(eq(n, splat(0)), splat(1), n);
        rolled for (int d = 0; d < m[M_NV]; ++d) rate = fma(scale * row[d], PH_AT(W_QVEL)[d], rate);
        each (d, m[M_NV]) all[d] = fma(PH_AT(W_ACTUATOR_FORCE)[ph_out(m, i)], scale * row[d], all[d]);
        each (one, 1) {
            real *velocity = PH_AT(W_ACTUATOR_VELOCITY) + ph_out(m, i);
            velocity[one] = select(group, rate, velocity[one]);
        }
        sync();
    }
    each (d, m[M_NV]) {
        PH_AT(W_QFRC_ACTUATOR)[d] = select(group, PH_AT(W_QFRC_ACTUATOR)[d] + all[d], PH_AT(W_QFRC_ACTUATOR)[d]);
        PH_AT(W_QFRC_SMOOTH)[d] = select(group, PH_AT(W_QFRC_SMOOTH)[d] + all[d], PH_AT(W_QFRC_SMOOTH)[d]);
    }
    sync();
    ph_solve(m, PH_AT(W_QLD), PH_AT(W_QLDIAGINV), all);
    each (d, m[M_NV])
        PH_AT(W_QACC_SMOOTH)[d] = select(group, PH_AT(W_QACC_SMOOTH)[d] + all[d], PH_AT(W_QACC_SMOOTH)[d]);
    sync();
}
