/*
 * Integrator discrete: forces at the end of the time step, to first order, within forward dynamics. Part of the kernels
 * that include it, after slopes.k.h.
 *
 * What springs and dampers do along the step is an inertia: qacc is what M + h D + h^2 K, the metric, makes of the
 * forces and of what they change by at the present velocity, and the solver minimises in it. So qacc is the step. D and
 * K are of joints, tendons, actuators and the drag of the medium, as far as they have a stable side. A row of
 * constraints is a spring and a damper, too: the force that it has at the end of the step is that of a softer row,
 * whose reference acceleration is less.
 */

/* The matrix that accelerations are solved with. */
#define PH_METRIC (integrator(w) == PH_DISCRETE ? metric(w) : qM(w))

/* What forces of springs and actuators change by in the time step, at the velocity of dof d. */
LFN real ph_dof_shift(ph_world w, int d)
{
    const int *ten = dof_ten_adr(w), *row = dof_ten(w);
    const int *act = dof_act_adr(w), *pair = dof_act(w);
    real s = ph_dof_stiffness(w, d) * qvel(w)[d];
    rolled
    for (int k = ten[d]; k < ten[d + 1]; ++k) {
        int t = row[2 * k];
        real rate = ph_tendon_stiffness(w, t) * ten_velocity(w)[t];
        s = fma(rate, ph_ten_j(w, row[2 * k + 1]), s);
    }
    rolled
    for (int k = act[d]; k < act[d + 1]; ++k) {
        int i = pair[2 * k];
        real rate = ph_actuator_stiffness(w, i) * actuator_velocity(w)[i];
        s = fma(rate, actuator_moment(w)[pair[2 * k + 1]], s);
    }
    return -(timestep(w, 0) * s);
}

/* The metric, and what forces change by. */
LFN void ph_metric(ph_world w)
{
    const int *nnz = M_rownnz(w), *adr = M_rowadr(w);
    real h = timestep(w, 0);
    ph_slopes(w);
    each (d, nv(w)) {
        int last = adr[d] + nnz[d] - 1;
        rolled
        for (int e = adr[d]; e <= last; ++e) {
            real x = qM(w)[e] + splat(0);
            if (ph_is_implicit(w, e, last)) x = fma(h, ph_implicit_slope(w, d, e), x);
            metric(w)[e] = x;
        }
        shift(w)[d] = ph_dof_shift(w, d);
    }
    sync();
}

/* Its factor, and W_THIN. */
LFN void ph_factor_metric(ph_world w)
{
    each (e, nC(w)) qLD(w)[e] = metric(w)[e];
    sync();
    ph_factor(w, qLD(w), qLDiagInv(w));
    mask thin = ph_any_thin(w, metric(w), qLDiagInv(w));
    ph_put_thin(w, thin);
    if (any(thin)) ph_mend_implicit(w, thin, metric(w));
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define PH_MOST_IMPEDANCE ((ureal)0.9999) /* mjMAXIMP */

/*
 * A spring and damper (K, B) that the time step cannot resolve becomes the stiffest one without a rebound, of the same
 * damping ratio where that leaves an impedance within MuJoCo's bound. ratio 0: it stays.
 */
LFN void ph_resolve_row(real h, real imp, real ratio, real *K, real *B)
{
    real one = splat(1), least = splat(PH_MOST_IMPEDANCE / (1 - PH_MOST_IMPEDANCE)) * ((one - imp) / imp);
    mask hard = m_and(gt(ratio, splat(0)), gt(h * h * (*K * imp), one));
    real damping = rmax(splat(0), rmin(splat(2) * ratio / sqrt(imp), least - splat(2)));
    *K = select(hard, one / (h * h * imp), *K);
    *B = select(hard, damping / h, *B);
}

/*
 * By how much a row with this Jacobian is easier to move in the metric than in qM, as their diagonals have it; 1 where
 * it moves nothing. edge: what of the second row of a pyramid is in its edges.
 */
LFN real ph_row_ease(ph_world w, const int *block, const real *J, real edge)
{
    const int *dof = block + block[B_DOFS];
    int n = block[B_NDOF], second = block[B_KIND] == PH_PYRAMID && block[B_DIM] > 1;
    real late = splat(0), bare = splat(0);
    for (int k = 0; k < n; ++k) {
        int d = dof[2 * k], last = M_rowadr(w)[d] + M_rownnz(w)[d] - 1;
        real x = second ? fma(edge, J[n + k], J[k]) : J[k] + splat(0);
        late = fma(x * x, splat(1) / metric(w)[last], late);
        bare = fma(x * x, splat(1) / qM(w)[last], bare);
    }
    mask none = le(bare, splat(0));
    return select(none, splat(1), late / select(none, splat(1), bare));
}
