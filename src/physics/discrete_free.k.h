/*
 * With integrator discrete, free bodies that no row holds: they turn as with implicitfast, by the exact derivative of
 * their gyroscopic forces, which no metric can have. Part of the kernels that include it, after constraint.k.h.
 */

/* Says in the lanes of a group which bodies of M_FREE_BODY have rows. */
LFN void ph_hold_free(const int *m, real *w, const int *s, mask group)
{
    each (i, m[M_NFREE]) {
        int first = (m + m[M_BODY_DOFADR])[(m + m[M_FREE_BODY])[i]];
        mask held = m_none();
        rolled for (int k = 0; k < s[S_NSLOT]; ++k)
        {
            const int *block = PH_BLOCK(ph_slot_block(s, k)), *dof = block + block[B_DOFS];
            int of = 0;
            for (int c = 0; c < block[B_NDOF]; ++c) of = of || (dof[2 * c] >= first && dof[2 * c] < first + 6);
            if (of) held = m_or(held, m_not(eq(PH_AT(W_EFC_D)[ph_slot_row(s, k)], splat(0))));
        }
        PH_AT(W_FREE_HELD)[i] = select(group, select(held, splat(1), splat(0)), PH_AT(W_FREE_HELD)[i]);
    }
    sync();
}

/* qacc of free bodies that no row holds, with the exact derivative of their gyroscopic forces. */
LFN void ph_turn_free(const int *m, const ureal *f, const real *v, real *w)
{
    each (i, m[M_NFREE]) {
        int b = (m + m[M_FREE_BODY])[i], first = (m + m[M_BODY_DOFADR])[b];
        mask held = m_not(eq(PH_AT(W_FREE_HELD)[i], splat(0)));
        real x[6];
        for (int k = 0; k < 6; ++k) x[k] = PH_AT(W_QFRC_SMOOTH)[first + k] + PH_AT(W_SHIFT)[first + k];
        ph_free_step(m, f, v, w, b, 6, x);
        for (int k = 0; k < 6; ++k) PH_AT(W_QACC)[first + k] = select(held, PH_AT(W_QACC)[first + k], x[k]);
    }
    sync();
}
