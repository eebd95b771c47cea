/*
 * Stage solve of a model of many trees (M_NNODE is not 0): each island by itself, as solve.k.h does it for a world.
 * Part of the kernels that include it, after island_twofold.k.h and sums.k.h.
 *
 * An island that has converged is not looked at again. The others go on side by side: what an iteration does is done to
 * their slots, dofs and tiles together, and each has sums and a line search of its own. The group is one lane; what is
 * computed in other lanes means nothing.
 */

/* Reals of an island, in isles(w). */
#define IS_PARTS 0 /* sums of slots or dofs, PH_TERMS for each of PH_SUMS parts */
#define IS_SUM (PH_SUMS * PH_TERMS)
#define IS_SEARCH                                                                                                      \
    (IS_SUM + PH_TERMS)        /* its line search, ph_search without masks; then whether the last slope was < 0 */
#define IS_G1 (IS_SEARCH + 10) /* slope without constraints at step 0, what it grows by with the step, … */
#define IS_G2 (IS_G1 + 1)
#define IS_SLOPE (IS_G1 + 2)  /* … slope at step 0 … */
#define IS_ENOUGH (IS_G1 + 3) /* … and that which ends the search */
#define IS_STEP (IS_G1 + 4)   /* the step that it ends with; of a start, 1: at qacc_warmstart */
#define IS_SIZE PH_ISLE_REALS
#define PH_ISLE_REAL(w, s) (isles(w) + IS_SIZE * (s))

LFN mask ph_is_set(real x) { return m_not(eq(x, splat(0))); }
LFN real ph_as_real(mask m) { return select(m, splat(1), splat(0)); }

/* Adds slots, or dofs, of island s to part p of the sums `what`, or (p < 0) each to its own part. */
LFN void ph_add_to_parts(ph_world w, int what, int s, int p, const real *x, real *parts)
{
    const int *part = w.ints + ph_parts(w), *slots = w.ints + ph_by_part(w), *dofs = PH_ISLE_DOFS(w);
    const int *slot = PH_ISLE(w, I_SLOT) + s, *dof = PH_ISLE(w, I_DOF) + s;
    real step = PH_ISLE_REAL(w, s)[IS_SEARCH];
    rolled
    for (int i = slot[0]; i < slot[1] && what <= PH_SUM_COST; ++i)
        if (p < 0 || part[slots[i]] == p)
            ph_add_term(w, what, slots[i], step, x, parts + PH_TERMS * (p < 0 ? part[slots[i]] : 0));
    rolled
    for (int i = dof[0]; i < dof[1] && what > PH_SUM_COST; ++i)
        if (p < 0 || dofs[i] % PH_SUMS == p)
            ph_add_dof(w, what, dofs[i], x, parts + PH_TERMS * (p < 0 ? dofs[i] % PH_SUMS : 0));
}

/* The sums `what` of islands that have the flag `which`, from IS_SUM on; a line's at the step that comes next. */
LFN void ph_isle_sums(ph_world w, int what, int which, const real *x)
{
    const int *goes = PH_ISLE(w, I_GOES);
    int shares = STET_GPU ? PH_SUMS : 1;
    each (t, shares * ph_nisle(w)) {
        int s = t / shares, p = t % shares;
        real own[PH_TERMS * (STET_GPU ? 1 : PH_SUMS)];
        if (!(goes[s] & which)) continue;
        ph_zero(own, PH_TERMS * (STET_GPU ? 1 : PH_SUMS));
        ph_add_to_parts(w, what, s, STET_GPU ? p : -1, x, own);
        ph_copy(PH_ISLE_REAL(w, s) + IS_PARTS + PH_TERMS * p, own, PH_TERMS * (STET_GPU ? 1 : PH_SUMS));
    }
    sync();
    each (s, ph_nisle(w)) {
        real *isle = PH_ISLE_REAL(w, s), sum[PH_TERMS];
        if (!(goes[s] & which)) continue;
        ph_zero(sum, PH_TERMS);
        for (int p = 0; p < PH_SUMS; ++p)
            for (int q = 0; q < PH_TERMS; ++q) sum[q] = sum[q] + isle[IS_PARTS + PH_TERMS * p + q];
        ph_copy(isle + IS_SUM, sum, PH_TERMS);
    }
    sync();
}

/* ---- line search ------------------------------------------------------------------------------------------------- */

LFN void ph_keep_search(const ph_search *s, real *to)
{
    to[0] = s->next;
    to[1] = s->best;
    to[2] = s->low;
    to[3] = s->high;
    to[4] = s->low_slope;
    to[5] = s->high_slope;
    to[6] = s->width;
    to[7] = s->slow;
    to[8] = s->least;
    to[9] = ph_as_real(s->under);
}
LFN void ph_kept_search(const real *from, ph_search *s)
{
    s->next = from[0];
    s->best = from[1];
    s->low = from[2];
    s->high = from[3];
    s->low_slope = from[4];
    s->high_slope = from[5];
    s->width = from[6];
    s->slow = from[7];
    s->least = from[8];
    s->under = ph_is_set(from[9]);
    s->done = m_none();
}

/* How many islands still search: goes[nnode(w)]. */
LFN void ph_count_searches(ph_world w)
{
    each (one, 1) {
        int *goes = PH_ISLE(w, I_GOES) + one, n = 0;
        for (int s = 0; s < ph_nisle(w); ++s) n = n + (goes[s] >> 1 & 1);
        goes[nnode(w)] = n;
    }
    sync();
}

/* Searches of islands that go on begin, whose sums along the search direction are made. */
LFN void ph_begin_searches(ph_world w, mask group)
{
    int *goes = PH_ISLE(w, I_GOES);
    real scale = solver_scale(w, 0), part = ls_tolerance(w, 0), tolerance = solver_tolerance(w, 0);
    each (s, ph_nisle(w)) {
        real *isle = PH_ISLE_REAL(w, s);
        const real *sum = isle + IS_SUM;
        ph_search search;
        if (!(goes[s] & PH_GOES)) continue;
        isle[IS_G1] = sum[0];
        isle[IS_G2] = sum[1];
        isle[IS_SLOPE] = sum[3];
        isle[IS_ENOUGH] = rmax(tolerance * part * sqrt(sum[2]) / scale, part * rabs(sum[3]));
        ph_search_begin(sum[3], group, &search);
        ph_keep_search(&search, isle + IS_SEARCH);
        goes[s] = any(m_andnot(group, search.done)) ? PH_GOES | PH_SEARCHES : PH_GOES;
    }
    sync();
}

/* IS_STEP of islands that go on. */
LFN void ph_search_islands(ph_world w, mask group)
{
    int *goes = PH_ISLE(w, I_GOES);
    ph_begin_searches(w, group);
    ph_count_searches(w);
    rolled
    for (int i = 0; i < ls_iterations(w) && goes[nnode(w)] > 0; ++i) {
        ph_isle_sums(w, PH_SUM_LINE, PH_SEARCHES, efc_jar(w));
        each (s, ph_nisle(w)) {
            real *isle = PH_ISLE_REAL(w, s);
            const real *at = isle + IS_SUM;
            ph_search search;
            if (!(goes[s] & PH_SEARCHES)) continue;
            ph_kept_search(isle + IS_SEARCH, &search);
            real grown = search.next * isle[IS_G2], size = (rabs(isle[IS_G1]) + rabs(grown)) + at[2];
            real slope = fma(search.next, isle[IS_G2], isle[IS_G1]) + at[0];
            ph_search_next(slope, isle[IS_G2] + at[1], size, isle[IS_ENOUGH], &search);
            ph_keep_search(&search, isle + IS_SEARCH);
            if (!any(m_andnot(group, search.done))) goes[s] = PH_GOES;
        }
        sync();
        ph_count_searches(w);
    }
    each (s, ph_nisle(w)) {
        real *isle = PH_ISLE_REAL(w, s);
        ph_search search;
        if (!(goes[s] & PH_GOES)) continue;
        ph_kept_search(isle + IS_SEARCH, &search);
        real step = ph_search_end(&search, isle[IS_SLOPE]);
        isle[IS_STEP] = select(gt(step, splat(0)), step, splat(0)); /* not along what is not finite, or not downhill */
        goes[s] = PH_GOES;
    }
    sync();
}

/* ---- iterations -------------------------------------------------------------------------------------------------- */

/* The island of slot k. */
LFN int ph_slot_isle(ph_world w, int k)
{
    const int *block = PH_BLOCK(ph_slot_block(w, k));
    return ph_isle_of(w, block[block[B_PLACES]]);
}

/* As ph_start: qacc, its residuals and Ma where the iterations begin, island by island. */
LFN void ph_start_islands(ph_world w)
{
    const real *warm = qacc_warmstart(w), *smooth = qacc_smooth(w);
    const int *list = w.ints + ph_active(w), *going = PH_GOING_DOFS(w), *place = dof_place(w);
    real *jar = efc_jar(w), *other = efc_jv(w), *change = solver_search(w), *Ma = Ma(w);
    int warms = !(model_flags(w) & PH_NO_WARMSTART);
    ph_mul_rows(w, smooth, jar, 1);
    if (warms) ph_mul_rows(w, warm, other, 1);
    each (d, nv(w)) change[d] = warm[d] - smooth[d];
    sync();
    each (i, warms ? ph_ngoing(w) : 0) Ma[going[i]] = ph_inertia_row(w, going[i], change);
    ph_isle_sums(w, PH_SUM_COST, PH_GOES, jar);
    each (s, ph_nisle(w)) {
        real *isle = PH_ISLE_REAL(w, s);
        isle[IS_SLOPE] = isle[IS_SUM]; /* what slots cost at qacc_smooth */
        isle[IS_ENOUGH] = splat(0);
    }
    sync();
    if (warms) {
        ph_isle_sums(w, PH_SUM_COST, PH_GOES, other);
        each (s, ph_nisle(w)) {
            real *isle = PH_ISLE_REAL(w, s);
            isle[IS_ENOUGH] = isle[IS_SUM];
        }
        sync();
        ph_isle_sums(w, PH_SUM_WARM, PH_GOES, change);
    }
    each (s, ph_nisle(w)) {
        real *isle = PH_ISLE_REAL(w, s);
        mask better = lt(fma(splat((ureal)0.5), isle[IS_SUM], isle[IS_ENOUGH]), isle[IS_SLOPE]);
        better = m_and(better, eq(qM_thin(w)[0], splat(0))); /* else M times it is mostly rounding */
        isle[IS_STEP] = warms ? ph_as_real(better) : splat(0);
    }
    sync();
    each (i, ph_ngoing(w)) {
        int d = going[i];
        mask better = ph_is_set(PH_ISLE_REAL(w, ph_isle_of(w, place[d]))[IS_STEP]);
        qacc(w)[d] = select(better, warm[d], smooth[d]);
        Ma[d] = select(better, Ma[d], splat(0));
    }
    each (i, warms ? ph_nactive(w) : 0) {
        int row = ph_slot_row(w, list[i]), dim = PH_BLOCK(ph_slot_block(w, list[i]))[B_DIM];
        mask better = ph_is_set(PH_ISLE_REAL(w, ph_slot_isle(w, list[i]))[IS_STEP]);
        for (int r = 0; r < dim; ++r) jar[row + r] = select(better, other[row + r], jar[row + r]);
    }
    sync();
}

/* As ph_gradient, of islands that go on; those end whose gradient is that small, or gain too little (IS_STEP). */
LFN void ph_island_gradients(ph_world w, mask group)
{
    const int *going = PH_GOING_DOFS(w);
    real *grad = solver_grad(w), *inverse = solver_search(w), *out = qfrc_constraint(w);
    const real *Ma = Ma(w), *qM = PH_METRIC;
    int *goes = PH_ISLE(w, I_GOES);
    real enough = solver_tolerance(w, 0) / solver_scale(w, 0);
    ph_forces(w, group);
    ph_gather_rows(w, grad);
    each (i, ph_ngoing(w)) {
        int d = going[i];
        inverse[d] = splat(1) / qM[M_rowadr(w)[d] + M_rownnz(w)[d] - 1];
        out[d] = grad[d];
        grad[d] = Ma[d] - grad[d];
    }
    sync();
    ph_isle_sums(w, PH_SUM_GRAD, PH_GOES, grad);
    each (s, ph_nisle(w)) {
        const real *isle = PH_ISLE_REAL(w, s), *sum = isle + IS_SUM;
        if (!(goes[s] & PH_GOES)) continue;
        mask flat = m_or(lt(sqrt(sum[0]), enough), m_not(ge(sqrt(sum[1]), splat(PH_ROUNDING) * sqrt(sum[2]))));
        mask done = m_or(flat, m_not(ge(isle[IS_STEP], enough)));
        if (any(m_and(group, done))) goes[s] = 0;
    }
    sync();
    each (one, 1) ph_list_going(w);
    sync();
}

/* The search direction, what it changes Ma and residuals by: H^-1 times the gradient without its sign. */
LFN void ph_island_direction(ph_world w, mask group)
{
    const int *going = PH_GOING_DOFS(w);
    real *search = solver_search(w), *mv = Mv(w);
    each (i, ph_ngoing(w)) search[going[i]] = splat(0) - solver_grad(w)[going[i]];
    sync();
    ph_solve_going(w, search, group);
    each (i, ph_ngoing(w)) mv[going[i]] = ph_inertia_row(w, going[i], search);
    ph_mul_rows(w, search, efc_jv(w), 0);
    sync();
    mask light = m_and(group, m_not(eq(qM_thin(w)[0], splat(0))));
    if (any(light)) ph_light_product(w, light);
    ph_isle_sums(w, PH_SUM_SEARCH, PH_GOES, search);
}

/* One iteration of islands that go on; IS_STEP becomes by how much the cost of each fell, were it quadratic. */
LFN void ph_island_newton(ph_world w, mask group)
{
    const int *list = w.ints + ph_active(w), *going = PH_GOING_DOFS(w), *place = dof_place(w);
    ph_island_direction(w, group);
    ph_search_islands(w, group);
    each (i, ph_ngoing(w)) {
        int d = going[i];
        real step = PH_ISLE_REAL(w, ph_isle_of(w, place[d]))[IS_STEP];
        mask moves = ph_is_set(step);
        qacc(w)[d] = select(moves, fma(step, solver_search(w)[d], qacc(w)[d]), qacc(w)[d]);
        Ma(w)[d] = select(moves, fma(step, Mv(w)[d], Ma(w)[d]), Ma(w)[d]);
    }
    each (i, ph_nactive(w)) {
        int row = ph_slot_row(w, list[i]), dim = PH_BLOCK(ph_slot_block(w, list[i]))[B_DIM];
        real *jar = efc_jar(w) + row, step = PH_ISLE_REAL(w, ph_slot_isle(w, list[i]))[IS_STEP];
        const real *jv = efc_jv(w) + row;
        for (int r = 0; r < dim; ++r) jar[r] = select(ph_is_set(step), fma(step, jv[r], jar[r]), jar[r]);
    }
    sync();
    each (s, ph_nisle(w)) {
        real *isle = PH_ISLE_REAL(w, s);
        isle[IS_STEP] = splat((ureal)-0.5) * (isle[IS_STEP] * isle[IS_SLOPE]);
    }
    sync();
}

/*
 * As ph_solve_constraints, of the group's one lane, whose slots are listed; solver_niter is that of the island that
 * took the most iterations. 1: some slot holds.
 */
PH_PART LFN int ph_solve_islands(ph_world w, mask group)
{
    int niter = 0, held = ph_nactive(w) > 0;
    ph_find_islands(w, 0);
    ph_start_islands(w);
    each (s, ph_nisle(w))
        PH_ISLE_REAL(w, s)[IS_STEP] = solver_tolerance(w, 0) / solver_scale(w, 0); /* none gains less */
    sync();
    ph_island_gradients(w, group);
    rolled
    for (; niter < iterations(w) && ph_nactive(w) > 0; ++niter) {
        ph_island_newton(w, group);
        ph_island_gradients(w, group);
    }
    each (one, 1) solver_niter(w)[one] = splat((ureal)niter);
    sync();
    return held;
}
