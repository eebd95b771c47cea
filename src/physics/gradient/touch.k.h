/*
 * First touch: what a step gains by a row that begins in it jumps when the row begins a step later, and steps as they
 * were taken have no gradient of that (doc/design/gradients.md). Part of the kernels that include it, before rows.k.h.
 *
 * A contact or a limit whose distance d, which changes by d' in a second, is negative, but was not a step before,
 * d - h d' >= 0, begins in this step. Moving d by e changes in the part e / |d'| h of all phases of the step whether it
 * does, so the gradient by d gains x'_bar (x' without the row - x' with it) / |d'| h.
 */

/* Far enough for a row to do nothing, in m/s^2 or 1/s^2. */
#define PH_FAR_ACCELERATION 1e12

/* Does slot k begin in this step? efc_jv has J qvel. */
LFN mask ph_begins(ph_world w, int k)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k));
    int row = ph_slot_row(w, k), type = block[B_TYPE];
    real dist = efc_pos(w)[row] - ph_block_par(w, block, P_MARGIN), rate = efc_jv(w)[row], zero = splat(0);
    mask on = m_not(eq(efc_D(w)[row], zero));
    if (type < PH_LIMIT_JOINT) return m_none();
    return m_and(on, m_and(lt(rate, zero), ge(fma(-timestep(w, 0), rate, dist), zero)));
}

/* Bars of distances in the first rows of slots, by efc_aref, where rows have none of their own. */
LFN void ph_clear_distances(ph_world w)
{
    const int *list = w.ints + ph_active(w);
    each (i, ph_nactive(w)) {
        int row = ph_slot_row(w, list[i]), dim = PH_BLOCK(ph_slot_block(w, list[i]))[B_DIM];
        for (int r = 0; r < dim; ++r) efc_aref(w)[row + r] = splat(0);
    }
    sync();
}

/*
 * What GD_Z, the bar of qacc, makes of the accelerations without rows that begin, less those with them. The rows are
 * spent by that.
 */
LFN real ph_touch_jump(ph_world w, mask group)
{
    const int *list = w.ints + ph_active(w);
    real *kept = PH_DOFS(GD_AFTER), jump = splat(0);
    each (d, nv(w)) kept[d] = qacc(w)[d];
    each (i, ph_nactive(w)) {
        real *aref = efc_aref(w) + ph_slot_row(w, list[i]);
        mask begins = ph_begins(w, list[i]);
        *aref = select(begins, splat((ureal)-PH_FAR_ACCELERATION), *aref);
    }
    sync();
    ph_solve_constraints(w, group);
    rolled
    for (int d = 0; d < nv(w); ++d) jump = fma(PH_DOFS(GD_Z)[d], qacc(w)[d] - kept[d], jump);
    sync();
    each (d, nv(w)) qacc(w)[d] = kept[d];
    sync();
    return jump;
}

/* How many slots of a lane begin. */
LFN lint ph_count_begins(ph_world w, mask group)
{
    const int *list = w.ints + ph_active(w);
    lint n = isplat(0);
    rolled
    for (int i = 0; i < ph_nactive(w); ++i) {
        mask begins = ph_begins(w, list[i]);
        n = n + iselect(m_and(group, begins), isplat(1), isplat(0));
    }
    return n;
}

/* The bars of distances of rows that begin, each a part of the jump by its force; efc_jv has J qvel. */
LFN void ph_share_jump(ph_world w, mask group, real jump)
{
    const int *list = w.ints + ph_active(w);
    real all = splat(0), zero = splat(0), h = timestep(w, 0);
    ph_forces(w, group);
    rolled
    for (int i = 0; i < ph_nactive(w); ++i) {
        mask begins = ph_begins(w, list[i]);
        all = all + select(begins, rmax(efc_force(w)[ph_slot_row(w, list[i])], zero), zero);
    }
    ph_clear_distances(w);
    each (i, ph_nactive(w)) {
        int row = ph_slot_row(w, list[i]);
        mask counts = m_and(ph_begins(w, list[i]), gt(all, zero));
        real part = rmax(efc_force(w)[row], zero) / select(counts, all, splat(1));
        real steps = select(counts, -(h * efc_jv(w)[row]), splat(1));
        efc_aref(w)[row] = select(counts, -(part * jump / steps), zero); /* of z' r, which is subtracted */
    }
    sync();
}
