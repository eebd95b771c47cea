/*
 * With integrator discrete, free bodies that no row holds: they turn as with implicitfast, by the exact derivative of
 * their gyroscopic forces, which no metric can have. Part of the kernels that include it, after constraint.k.h.
 */

/* Says in the lanes of a group which bodies of M_FREE_BODY have rows. */
LFN void ph_hold_free(ph_world w, mask group)
{
    each (i, nfree(w)) {
        int first = body_dofadr(w)[free_body(w)[i]];
        mask held = m_none();
        rolled
        for (int k = 0; k < w.ints[S_NSLOT]; ++k) {
            const int *block = PH_BLOCK(ph_slot_block(w, k)), *dof = block + block[B_DOFS];
            int of = 0;
            for (int c = 0; c < block[B_NDOF]; ++c) of = of || (dof[2 * c] >= first && dof[2 * c] < first + 6);
            if (of) held = m_or(held, m_not(eq(efc_D(w)[ph_slot_row(w, k)], splat(0))));
        }
        free_held(w)[i] = select(group, select(held, splat(1), splat(0)), free_held(w)[i]);
    }
    sync();
}

/* qacc of free bodies that no row holds, with the exact derivative of their gyroscopic forces. */
LFN void ph_turn_free(ph_world w)
{
    each (i, nfree(w)) {
        int b = free_body(w)[i], first = body_dofadr(w)[b];
        mask held = m_not(eq(free_held(w)[i], splat(0)));
        real x[6];
        for (int k = 0; k < 6; ++k) x[k] = qfrc_smooth(w)[first + k] + shift(w)[first + k];
        ph_free_step(w, b, 6, x);
        for (int k = 0; k < 6; ++k) qacc(w)[first + k] = select(held, qacc(w)[first + k], x[k]);
    }
    sync();
}
