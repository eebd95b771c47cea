/*
 * Stage solve: the acceleration that constraints leave, by Newton's method. Part of the kernels that include it, after
 * sums.k.h, noslip.k.h and island_solve.k.h.
 *
 * qacc minimises (a - qacc_smooth)' M (a - qacc_smooth) / 2 + s(J a - aref), where s is a sum over blocks. Each
 * iteration solves H x = -gradient with H = M + J' C J and finds the minimum along x. A lane that has converged does
 * not change any more. Slots that are empty in a lane add zeros only, and in no sum does their number move others.
 */

/* ---- line search ------------------------------------------------------------------------------------------------- */

/* The step at which the slope is at most `enough` from 0; it is `slope` at 0, and g1 + step g2 without constraints. */
PH_PART LFN real ph_line_search(ph_world w, real g1, real g2, real slope, real enough, mask on)
{
    ph_search search;
    ph_search_begin(slope, on, &search);
    for (int i = 0; i < ls_iterations(w) && !all(search.done); ++i) {
        real at[PH_TERMS], step = search.next;
        ph_sums(w, PH_SUM_LINE, 3, step, efc_jar(w), at);
        real size = (rabs(g1) + rabs(step * g2)) + at[2];
        ph_search_next(fma(step, g2, g1) + at[0], g2 + at[1], size, enough, &search);
    }
    return ph_search_end(&search, slope);
}

/* ---- iterations -------------------------------------------------------------------------------------------------- */

/*
 * qacc, its residuals and Ma where the iterations begin: at qacc_smooth or, where a slot holds, at qacc_warmstart if
 * that is better. Gives the lanes of the group in which one does.
 */
LFN mask ph_start(ph_world w, mask group)
{
    const real *warm = qacc_warmstart(w), *smooth = qacc_smooth(w);
    real *jar = efc_jar(w), *other = efc_jv(w), *change = solver_search(w), *Ma = Ma(w);
    real cost[PH_TERMS], at_warm[PH_TERMS], moved[PH_TERMS];
    ph_mul_rows(w, smooth, jar, 1);
    each (d, nv(w)) change[d] = warm[d] - smooth[d];
    sync();
    ph_sums(w, PH_SUM_COST, 2, splat(0), jar, cost);
    mask held = m_and(group, gt(cost[1], splat(0))), better = m_none();
    if (!(model_flags(w) & PH_NO_WARMSTART)) {
        ph_mul_rows(w, warm, other, 1);
        ph_mul_inertia(w, change, Ma);
        sync();
        ph_sums(w, PH_SUM_COST, 1, splat(0), other, at_warm);
        ph_sums(w, PH_SUM_WARM, 1, splat(0), change, moved);
        better = m_and(held, lt(fma(splat((ureal)0.5), moved[0], at_warm[0]), cost[0]));
        better = m_and(better, eq(qM_thin(w)[0], splat(0))); /* else M times it is mostly rounding */
        each (r, w.ints[S_NROW]) jar[r] = select(better, other[r], jar[r]);
    }
    each (d, nv(w)) {
        qacc(w)[d] = select(better, warm[d], smooth[d]);
        Ma[d] = select(better, Ma[d], splat(0));
    }
    sync();
    return held;
}

/*
 * Forces, qfrc_constraint and the gradient of the lanes `on`; returns where it is less than tolerance or, by inertias,
 * since what is light must not rest on the rounding of what is heavy, than rounding.
 */
PH_PART LFN mask ph_gradient(ph_world w, mask on)
{
    real *grad = solver_grad(w), *inverse = solver_search(w), *out = qfrc_constraint(w), sum[PH_TERMS];
    const real *Ma = Ma(w), *qM = PH_METRIC;
    ph_forces(w, on);
    ph_gather_rows(w, grad);
    each (d, nv(w)) { /* a thread a dof; PH_SUMS threads make the sums */
        inverse[d] = splat(1) / qM[M_rowadr(w)[d] + M_rownnz(w)[d] - 1];
        out[d] = select(on, grad[d], out[d]);
        grad[d] = Ma[d] - grad[d];
    }
    sync();
    ph_sums(w, PH_SUM_GRAD, 3, splat(0), grad, sum);
    real enough = solver_tolerance(w, 0) / solver_scale(w, 0);
    return m_or(lt(sqrt(sum[0]), enough), m_not(ge(sqrt(sum[1]), splat(PH_ROUNDING) * sqrt(sum[2]))));
}

/*
 * One iteration of the lanes `on`; returns by how much their cost fell, were it quadratic: a difference of costs would
 * be all rounding near the minimum.
 */
LFN real ph_newton(ph_world w, mask on)
{
    const int *list = w.ints + ph_active(w);
    real *search = solver_search(w), *mv = Mv(w), sum[PH_TERMS];
    each (d, nv(w)) search[d] = splat(0) - solver_grad(w)[d]; /* never -0: slots of other lanes add 0 */
    sync();
    ph_solve_hessian(w, search, on);
    ph_mul_inertia(w, search, mv);
    ph_mul_rows(w, search, efc_jv(w), 0);
    sync();
    mask light = m_and(on, m_not(eq(qM_thin(w)[0], splat(0))));
    if (any(light)) ph_light_product(w, light);
    ph_sums(w, PH_SUM_SEARCH, 4, splat(0), search, sum);
    real g1 = sum[0], g2 = sum[1], size = sum[2], slope = sum[3];
    real scale = solver_scale(w, 0);
    real part = ls_tolerance(w, 0);
    real enough = rmax(solver_tolerance(w, 0) * part * sqrt(size) / scale, part * rabs(slope));
    real alpha = select(on, ph_line_search(w, g1, g2, slope, enough, on), splat(0));
    mask moves = gt(alpha, splat(0)); /* not along a direction that is not finite, or not downhill */
    real gain = splat((ureal)-0.5) * (alpha * slope);
    sync();
    each (d, nv(w)) {
        qacc(w)[d] = select(moves, fma(alpha, search[d], qacc(w)[d]), qacc(w)[d]);
        Ma(w)[d] = select(moves, fma(alpha, mv[d], Ma(w)[d]), Ma(w)[d]);
    }
    each (i, ph_nactive(w)) {
        int row = ph_slot_row(w, list[i]), dim = PH_BLOCK(ph_slot_block(w, list[i]))[B_DIM];
        real *jar = efc_jar(w) + row;
        const real *jv = efc_jv(w) + row;
        for (int r = 0; r < dim; ++r) jar[r] = select(moves, fma(alpha, jv[r], jar[r]), jar[r]);
    }
    sync();
    return gain;
}

/*
 * qacc, qfrc_constraint, efc_force, solver_niter. A lane in which nothing holds has qacc_smooth, as it has if nothing
 * holds in any lane: rounding there must not find a better one.
 */
PH_PART LFN void ph_solve_constraints(ph_world w, mask group)
{
    real niter = splat(0), enough = solver_tolerance(w, 0) / solver_scale(w, 0);
    each (d, nv(w)) {
        qfrc_constraint(w)[d] = splat(0);
        qacc(w)[d] = qacc_smooth(w)[d];
    }
    each (one, 1) solver_niter(w)[one] = splat(0);
    sync();
    if (w.ints[S_NSLOT] == 0) return;
    ph_list_slots(w, group);
    if (nnode(w) > 0) {
        int some = ph_solve_islands(w, group);
        if (noslip_iterations(w) > 0 && some) {
            ph_list_slots(w, group);
            ph_noslip(w, group);
        }
        return;
    }
    mask held = ph_start(w, group);
    mask flat = ph_gradient(w, m_all());
    mask done = m_or(m_not(held), flat);
    int wide = 0;
    for (int i = 0; i < iterations(w) && !all(done); ++i) {
        mask on = m_not(done);
        if (i > 0) ph_list_slots(w, on);
        if (!PH_BY_ROWS && (i == 0 || 4 * ph_nactive(w) < 3 * wide)) { /* the pattern of more slots serves fewer, too */
            wide = ph_nactive(w);
            ph_find_pattern(w, on);
        }
        real gain = ph_newton(w, on);
        niter = select(on, niter + splat(1), niter);
        flat = ph_gradient(w, on);
        done = m_or(done, m_or(m_not(ge(gain, enough)), flat));
    }
    each (one, 1) solver_niter(w)[one] = niter;
    sync();
    if (noslip_iterations(w) > 0 && any(held)) {
        ph_list_slots(w, group);
        ph_noslip(w, held);
    }
}

/* Keeps what was solved for a group, or (back) puts all of it where it belongs. */
LFN void ph_keep(ph_world w, mask group, int back)
{
    int nv = nv(w);
    each (i, 2 * nv + 1) {
        real *at = i < nv ? qacc(w) + i : i < 2 * nv ? qfrc_constraint(w) + (i - nv) : solver_niter(w);
        real *kept = solver_kept(w) + i;
        if (back)
            *at = *kept;
        else
            *kept = select(group, *at, *kept);
    }
    sync();
}

/*
 * Constraints of the lanes `on` and what they do, as far as `stages` has contacts, rows and solve; gives the bits of
 * faults. Those lanes share slots, if there are enough for the contacts of them all. If not, one lane after the other
 * is solved by itself, so that a lane never lacks room because of others: in stage solve, or, where that has a lane
 * only, from its contacts on. `extra`: bits PH_EXTRA_…; forces make cfrc_ext, and sensors read what the rows of a group
 * do. Of many trees lanes share hardly any slots, and islands are a lane's own: they never go together. most[0] becomes
 * at least the contacts of a lane where it is one alone: while lanes share slots, each has fewer. `align`: as in
 * ph_forward.
 */
PH_PART LFN lint ph_constrain(ph_world w, PH_TAKE_STAGES mask on, int extra, int align, lint *most)
{
    mask todo = on;
    lint faults = isplat(0);
    if (PH_RUNS(PH_STAGE_SOLVE) && (extra & PH_EXTRA_FORCES)) ph_applied(w);
    for (int i = -1; any(todo) && (!PH_SINGLE || i < 0); ++i) {
        mask group = m_and(on, i < 0 ? m_all() : ieq(lane(), isplat(i)));
        if (i < 0 && PH_LANES_APART(w) && PH_RUNS(PH_STAGE_SOLVE)) continue;
        ph_constraint(w, PH_GIVE_STAGES(PH_SINGLE || i < 0 ? stages : PH_STAGES_FORWARD) group, PH_SINGLE || i >= 0,
                      align);
        if (!PH_RUNS(PH_STAGE_SOLVE)) break;
        int full = w.ints[S_FULL];
        if (align && i < 0) align_teams();
        if (!full || PH_SINGLE || i >= 0) {
            if (nadhesion(w) > 0 || adhesive(w)) ph_adhere(w, group);
            ph_solve_constraints(w, group);
            if (adhesive(w)) ph_pull_apart(w, group);
            if (gaps(w)) ph_clear_gaps(w);
            if (extra & (PH_EXTRA_FORCES | PH_EXTRA_CONTACTS)) ph_see_contacts(w, group);
            if (extra & PH_EXTRA_FORCES) ph_external(w, group);
            if (extra & PH_EXTRA_SENSORS) ph_sense_rows(w, group);
            if (extra & PH_EXTRA_CONTACTS) ph_sense_contacts(w, group);
            if (extra >= PH_EXTRA_LIST) ph_list_contacts(w, group, extra / PH_EXTRA_LIST);
            if (STET_W == 1 || i >= 0) most[0] = iselect(group, imax(most[0], isplat(w.ints[S_WANTED])), most[0]);
            if (i >= 0) ph_keep(w, group, 0);
            if (full || w.ints[S_FULL]) faults = iselect(group, isplat(PH_CONTACTS_FULL), faults);
            todo = m_andnot(todo, group);
            if (i >= 0 && !any(todo)) ph_keep(w, group, 1);
        }
        sync();
    }
    return faults;
}
